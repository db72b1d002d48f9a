// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief A solver on the matrices of the folder that are not SPD: it converges, or says truly why
/// not. With Jacobi where the diagonal has no zero; up to 1000 rows without it too.
///
/// $SOLDER_MATRICES_ROWS is the most rows of a matrix; the table goes to $SOLDER_MATRICES_TABLE, if
/// given. b = 1, as in the tables of docs/convergence/.
#include "../long.hpp"
#include "real_matrices.hpp"
#include "solve.hpp"

#include <algorithm>

#include <solder/io/matrix_market.hpp>

namespace SolderTest {

class OutcomeTable {
 public:
  OutcomeTable() {
    if (char const* const name = std::getenv("SOLDER_MATRICES_TABLE")) stream_.open(name);
    stream_ << "name\trows\tpreconditioner\tform\treason\titerations\ttrue residual\tseconds\n";
  }
  void add(RealMatrix const& matrix, bool jacobi, std::string const& form, Report const& report) {
    stream_ << matrix.name << '\t' << matrix.rows << '\t' << (jacobi ? "jacobi" : "none") << '\t'
            << form << '\t' << to_string(report.reason) << '\t' << report.iterations << '\t'
            << report.true_relative_residual << '\t' << report.solve_seconds << std::endl;
  }

 private:
  std::ofstream stream_;
};

/// \brief One solve; whether it converged, and truly.
template <class Scalar, class Options>
bool expect_true_outcome(RealMatrix const& matrix, HostCsr<Scalar> const& A, bool jacobi,
                         std::string const& form, Options const& options, OutcomeTable& table) {
  SCOPED_TRACE(matrix.name + ", " + form + (jacobi ? ", jacobi" : ", none"));
  std::vector<Scalar> const b(A.rows, Scalar(1));
  auto const s =
      solve(Kokkos::DefaultExecutionSpace(), A, jacobi, b, std::vector<Scalar>(A.rows), options);
  Report const& report = s.report;
  table.add(matrix, jacobi, form, report);
  auto const [truth, rounding] = true_residual(A, b, s.x);
  EXPECT_NEAR(report.true_relative_residual, truth, rounding + 1e-12 * truth);
  EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
  if (report.reason != Reason::converged) {
    EXPECT_GT(truth, options.tolerance - rounding) << to_string(report.reason);
    EXPECT_NE(report.reason, Reason::not_finite) << report.detail;
    return false;
  }
  EXPECT_LE(truth, options.tolerance + rounding);
  return true;
}

/// \brief All solves with one matrix; how many converged.
template <class Scalar, class Forms>
int converged_with(RealMatrix const& matrix, Forms const& forms, OutcomeTable& table) {
  auto const A = Solder::read_matrix_market<Scalar>(matrix_file(matrix));
  auto const inverse = inverse_diagonal(A);
  bool const has_inverse = std::all_of(inverse.begin(), inverse.end(), [](Scalar const& d) {
    return d != Scalar{} && std::isfinite(std::abs(plain(d)));
  });
  int converged = 0;
  for (auto const& [name, options] : forms) {
    if (has_inverse) converged += expect_true_outcome(matrix, A, true, name, options, table);
    if (!has_inverse || matrix.rows <= 1000)
      converged += expect_true_outcome(matrix, A, false, name, options, table);
  }
  return converged;
}

struct Sample {
  int most_rows;        ///< of a matrix
  int least_converged;  ///< solves
};

/// \brief Solves with every matrix of a sample (`all` in `./test --long`) in these forms (options,
/// each with a name). $SOLDER_MATRICES_ROWS asks for other matrices, and for as many solves as
/// `all`.
template <class Forms>
void expect_true_outcomes(Sample const& quick, Sample const& all, Forms const& forms) {
  char const* const given = std::getenv("SOLDER_MATRICES_ROWS");
  Sample const& sample = given || is_long() ? all : quick;
  auto const list = real_matrices(given ? std::stoi(given) : sample.most_rows);
  if (list.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
  OutcomeTable table;
  int converged = 0;
  for (auto const& matrix : list)
    if (!matrix.spd)
      converged += matrix.is_complex ? converged_with<Kokkos::complex<double>>(matrix, forms, table)
                                     : converged_with<double>(matrix, forms, table);
  EXPECT_GE(converged, sample.least_converged);
}

}  // namespace SolderTest
