// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// \brief Every SPD matrix of the matrices folder, up to 300,000 rows (4,000 in a quick run):
/// Jacobi-CG converges, or says truly why not.

#include "../long.hpp"
#include "../support.hpp"
#include "real_matrices.hpp"

#include <solder/io/matrix_market.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/cg.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;

/// Solves A x = A ones; true where it converged.
template <class Scalar>
bool ends_truly(RealMatrix const& matrix) {
  std::string const& name = matrix.name;
  auto const host = Solder::read_matrix_market<Scalar>(matrix_file(matrix));
  std::vector<Scalar> b(host.rows), x(host.rows);
  for (int i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k) b[i] += host.values[k];

  Exec const exec;
  Solder::CsrMatrix<Scalar, Exec> const A(exec, host);
  Solder::Jacobi<Scalar, Exec> const M(exec, A);
  auto const b_device = to_device(exec, b), x_device = to_device(exec, x);
  Solder::CgOptions options;
  options.tolerance = 1e-8;
  options.max_iterations = 20000;
  Solder::Report const report = Solder::Cg(exec, A, M, options).solve(b_device, x_device);
  x = to_host(exec, x_device);

  auto const [truth, rounding] = true_residual(host, b, x);
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
  auto const list = real_matrices(is_long() ? 300000 : 4000);
  if (list.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
  int converged = 0, all = 0;
  for (auto const& matrix : list) {
    if (!matrix.spd) continue;
    converged += matrix.is_complex ? ends_truly<Kokkos::complex<double>>(matrix)
                                   : ends_truly<double>(matrix);
    ++all;
  }
  // All but nos7, whose attainable accuracy lies near the tolerance, did when this was written.
  EXPECT_GE(converged + 3, all);
}

}  // namespace
