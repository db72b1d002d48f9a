// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of solves with multigrid share.

#include "../solvers/bicgstab.hpp"
#include "../solvers/cg.hpp"
#include "../solvers/gmres.hpp"
#include "../solvers/idr.hpp"
#include "amg.hpp"

#include <cstdint>
#include <vector>

namespace SolderTest {

inline HostCsr<double> const rectangular{4, 5, {0, 0, 1, 1, 2}, {3, 4}, {1.0, 2.0}};

/// diag(A, scale B).
inline HostCsr<double> side_by_side(HostCsr<double> const& A, HostCsr<double> const& B,
                                    double scale) {
  auto C = A;
  C.rows = C.columns_count = A.rows + B.rows;
  for (std::int32_t i = 1; i <= B.rows; ++i)
    C.row_offsets.push_back(A.nonzeros() + B.row_offsets[i]);
  for (auto const& column : B.columns) C.columns.push_back(A.rows + column);
  for (auto const& value : B.values) C.values.push_back(scale * value);
  return C;
}

inline HostCsr<double> negated(HostCsr<double> A) {
  for (double& value : A.values) value = -value;
  return A;
}

inline double* entry_of(HostCsr<double>& A, std::int32_t i, std::int32_t j) {
  for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
    if (A.columns[k] == j) return &A.values[k];
  return nullptr;
}

using MatrixOf = CsrMatrix<double, Default>;
using AmgOf = Amg<double, Default>;

template <class Options>
Solved<double> solved(MatrixOf const& A, AmgOf const& M, std::vector<double> const& b,
                      Options const& options) {
  Default const exec;
  SolverOf<Options, Default, double, AmgOf> solver(exec, A, M, options);
  auto const x = to_device(exec, std::vector<double>(b.size()));
  Solved<double> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  return s;
}

/// \brief To 1e-10 within 60 iterations, and what is said of it is true.
template <class Options>
void expect_solved(HostCsr<double> const& host, MatrixOf const& A, AmgOf const& M,
                   std::vector<double> const& b, Options options) {
  options.tolerance = 1e-10;
  options.max_iterations = 60;
  auto const s = solved(A, M, b, options);
  EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
  expect_true_report(host, b, s, options);
}

inline CgOptions cg(Runner runner, double tolerance = 1e-10, int max_iterations = 300) {
  CgOptions options;
  options.form = Solder::CgForm::classical;
  options.runner = runner;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return options;
}

/// Set-up and solve.
inline Solved<double> solved_by_cg(HostCsr<double> const& host, std::vector<double> const& b,
                                   CgOptions const& options, AmgOptions const& amg_options = {}) {
  Default const exec;
  MatrixOf const A(exec, host);
  return solved(A, AmgOf(exec, A, amg_options), b, options);
}

}  // namespace SolderTest
