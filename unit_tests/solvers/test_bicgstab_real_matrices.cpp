// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// \brief BiCGStab on the matrices of the folder that are not SPD: it converges, or says truly why
/// not. With Jacobi where the diagonal has no zero.
///
/// $SOLDER_MATRICES_ROWS, 1000 unless given, is the most rows of a matrix; the table goes to
/// $SOLDER_MATRICES_TABLE, if given. b = 1, as in the table of docs/convergence.md.
#include "../support.hpp"
#include "real_matrices.hpp"

#include <solder/matrix/csr.hpp>
#include <solder/matrix/matrix_market.hpp>
#include <solder/solvers/bicgstab.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using Solder::BiCgStabForm;

template <class Scalar, class Preconditioner>
Solder::Report solve(Exec const& exec, Solder::CsrMatrix<Scalar, Exec> const& A,
                     Preconditioner const& M, Solder::BiCgStabOptions const& options,
                     std::vector<Scalar> const& b, std::vector<Scalar>& x) {
  auto const b_device = to_device(exec, b), x_device = to_device(exec, x);
  auto const report = Solder::BiCgStab(exec, A, M, options).solve(b_device, x_device);
  x = to_host(exec, x_device);
  return report;
}

class Table {
 public:
  Table() {
    if (char const* const name = std::getenv("SOLDER_MATRICES_TABLE")) stream_.open(name);
    stream_ << "name\trows\tpreconditioner\tform\treason\titerations\ttrue residual\tseconds\n";
  }
  void add(RealMatrix const& matrix, bool jacobi, BiCgStabForm form, Solder::Report const& report) {
    stream_ << matrix.name << '\t' << matrix.rows << '\t' << (jacobi ? "jacobi" : "none") << '\t'
            << to_string(form) << '\t' << to_string(report.reason) << '\t' << report.iterations
            << '\t' << report.true_relative_residual << '\t' << report.solve_seconds << std::endl;
  }

 private:
  std::ofstream stream_;
};

/// Both forms, with and without Jacobi; how many of the solves converged.
template <class Scalar>
int solve_in_every_way(RealMatrix const& matrix, Table& table) {
  SCOPED_TRACE(matrix.name);
  auto const host = Solder::read_matrix_market<Scalar>(matrix_file(matrix));
  Exec const exec;
  Solder::CsrMatrix<Scalar, Exec> const A(exec, host);
  Solder::Jacobi<Scalar, Exec> const M(exec, A);
  std::vector<Scalar> const b(host.rows, Scalar(1));
  int converged = 0;
  for (bool const jacobi : {true, false}) {
    if (jacobi && M.zero_row() >= 0) continue;
    for (BiCgStabForm const form : {BiCgStabForm::pipelined, BiCgStabForm::classical}) {
      SCOPED_TRACE(to_string(form));
      Solder::BiCgStabOptions options;
      options.form = form;
      std::vector<Scalar> x(host.rows);
      auto const report = jacobi ? solve(exec, A, M, options, b, x)
                                 : solve(exec, A, Solder::Identity{}, options, b, x);
      table.add(matrix, jacobi, form, report);
      auto const [truth, rounding] = true_residual(host, b, x);
      EXPECT_NEAR(report.true_relative_residual, truth, rounding + 1e-12 * truth);
      EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
      if (report.reason == Solder::Reason::converged) {
        EXPECT_LE(truth, options.tolerance + rounding);
        ++converged;
      } else {
        EXPECT_GT(truth, options.tolerance - rounding) << to_string(report.reason);
        EXPECT_NE(report.reason, Solder::Reason::not_finite) << report.detail;
      }
    }
  }
  return converged;
}

TEST(BiCgStabRealMatrices, ConvergeOrSayWhyNot) {
  char const* const most = std::getenv("SOLDER_MATRICES_ROWS");
  auto const list = real_matrices(most ? std::stoi(most) : 1000);
  if (list.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
  Table table;
  int converged = 0;
  for (auto const& matrix : list)
    if (!matrix.spd)
      converged += matrix.is_complex ? solve_in_every_way<Kokkos::complex<double>>(matrix, table)
                                     : solve_in_every_way<double>(matrix, table);
  EXPECT_GE(converged, 50);
}

}  // namespace
