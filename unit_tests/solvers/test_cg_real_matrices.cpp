// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// \brief Every SPD matrix of the matrices folder, up to 300,000 rows: Jacobi-CG converges, or says
/// truly why not.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/matrix_market.hpp>
#include <solder/solvers/cg.hpp>

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

struct Entry {
  std::string name;
  bool is_complex;
};

std::string folder() {
  char const* const named = std::getenv("SOLDER_MATRICES");
  return named ? named : std::string(SOLDER_SOURCE_DIR) + "/../shared/matrices";
}

/// The rows of INDEX.tsv that are marked SPD and have at most 300,000 rows.
std::vector<Entry> spd_matrices() {
  std::vector<Entry> entries;
  std::ifstream index(folder() + "/INDEX.tsv");
  std::string line;
  std::getline(index, line);
  while (std::getline(index, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (cells.size() > 7 && cells[7] == "yes" && std::stol(cells[1]) <= 300000)
      entries.push_back({cells[0], cells[5] == "complex"});
  }
  return entries;
}

std::complex<double> plain(double v) { return v; }
std::complex<double> plain(Kokkos::complex<double> const& v) { return {v.real(), v.imag()}; }

struct Residual {
  double relative;  ///< ||b - A x|| / ||b||
  double rounding;  ///< by which two sums of the same terms in double may differ
};

/// By plain loops over the host's own copy of the matrix.
template <class Scalar>
Residual residual(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                  std::vector<Scalar> const& x) {
  double r2 = 0, b2 = 0, terms2 = 0;
  for (int i = 0; i < A.rows; ++i) {
    std::complex<double> r = plain(b[i]);
    double terms = std::abs(r);
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      auto const term = plain(A.values[k]) * plain(x[A.columns[k]]);
      r -= term;
      terms += std::abs(term);
    }
    r2 += std::norm(r);
    b2 += std::norm(plain(b[i]));
    terms2 += terms * terms;
  }
  return {std::sqrt(r2 / b2),
          8 * std::numeric_limits<double>::epsilon() * std::sqrt(terms2 / b2)};
}

/// Solves A x = A ones; true where it converged.
template <class Scalar>
bool solve(std::string const& name) {
  auto const host = Solder::read_matrix_market<Scalar>(folder() + "/" + name + ".mtx.gz");
  std::vector<Scalar> b(host.rows), x(host.rows);
  for (int i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k) b[i] += host.values[k];

  Exec const exec;
  Solder::CsrMatrix<Scalar, Exec> const A(exec, host);
  Solder::Jacobi<Scalar, Exec> const M(exec, A);
  Kokkos::View<Scalar*, Exec> const b_device("Solder::test::b", b.size()),
      x_device("Solder::test::x", x.size());
  using Host = Kokkos::View<Scalar*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(b_device, Host(b.data(), b.size()));
  Solder::CgOptions options;
  options.tolerance = 1e-8;
  options.max_iterations = 20000;
  Solder::Report const report = Solder::Cg(exec, A, M, options).solve(b_device, x_device);
  Kokkos::deep_copy(Host(x.data(), x.size()), x_device);

  auto const [truth, rounding] = residual(host, b, x);
  EXPECT_NEAR(report.true_relative_residual, truth, rounding) << name;
  EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1) << name;
  if (report.reason == Solder::Reason::converged) {
    EXPECT_LE(truth, 1e-8 + rounding) << name;
    return true;
  }
  // What CG may truly meet on an SPD matrix: the limit, or the end of double's digits.
  EXPECT_TRUE(report.reason == Solder::Reason::max_iterations ||
              report.reason == Solder::Reason::stagnated)
      << name << ": " << to_string(report.reason) << ", " << report.detail;
  EXPECT_GT(truth, 1e-8 - rounding) << name;
  return false;
}

TEST(CgRealMatrices, ConvergeOrSayWhyNot) {
  auto const entries = spd_matrices();
  if (entries.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << folder() << "; set SOLDER_MATRICES to the folder";
  std::size_t converged = 0;
  for (Entry const& entry : entries)
    converged +=
        entry.is_complex ? solve<Kokkos::complex<double>>(entry.name) : solve<double>(entry.name);
  // All but nos7, whose attainable accuracy lies near the tolerance, did when this was written.
  EXPECT_GE(converged + 3, entries.size());
}

}  // namespace
