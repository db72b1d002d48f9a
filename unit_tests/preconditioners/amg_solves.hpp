// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of solves with multigrid share.

#include "../solvers/bicgstab.hpp"
#include "../solvers/cg.hpp"
#include "../solvers/gmres.hpp"
#include "../solvers/idr.hpp"
#include "amg.hpp"
#include "applied.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
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

/// \brief By every runner: converged truly, in the first one's iterations or one more or less, and
/// to the same bits again. \param options_by(runner) of the solver
template <class OptionsBy>
void expect_alike_by_every_runner(HostCsr<double> const& host, MatrixOf const& A, AmgOf const& M,
                                  std::vector<double> const& b, OptionsBy const& options_by) {
  auto const first = solved(A, M, b, options_by(Runner::launch));
  EXPECT_EQ(first.report.reason, Reason::converged) << first.report.detail;
  for (Runner const runner : every_runner) {
    auto const options = options_by(runner);
    auto const s = solved(A, M, b, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_NEAR(s.report.iterations, first.report.iterations, 1);
    expect_true_report(host, b, s, options);
    EXPECT_TRUE(same_bits(solved(A, M, b, options).x, s.x));
  }
}

/// \brief For b of ones, with a hierarchy stored as Stored.
template <class Stored, class Scalar, class Options>
void expect_solved_as(HostCsr<Scalar> const& host, AmgOptions const& amg_options,
                      Options const& options, int most_iterations) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  Amg<Scalar, Default, Stored> const M(exec, A, amg_options);
  ASSERT_EQ(M.failure(), "");
  SolverOf<Options, Default, Scalar, Amg<Scalar, Default, Stored>> solver(exec, A, M, options);
  std::vector<Scalar> const b(host.rows, Scalar(1));
  auto const x = to_device(exec, std::vector<Scalar>(b.size()));
  Solved<Scalar> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
  EXPECT_LE(s.report.iterations, most_iterations);
  expect_true_report(host, b, s, options);
}
/// \brief In complex, and stored in single precision. \param in_phases the matrix with phases that
/// should not matter
template <class Options>
void expect_solved_in_complex_and_in_single(HostCsr<double> const& real,
                                            HostCsr<ComplexDouble> const& in_phases,
                                            AmgOptions const& amg_options, Options const& options,
                                            int most_iterations) {
  expect_solved_as<ComplexDouble>(in_phases, amg_options, options, most_iterations);
  expect_solved_as<Kokkos::complex<float>>(in_phases, amg_options, options, most_iterations);
  expect_solved_as<float>(real, amg_options, options, most_iterations);
}

/// \brief \param why part of the message
inline void expect_refused(HostCsr<double> const& host, AmgOptions const& options,
                           std::string const& why) {
  Default const exec;
  try {
    AmgOf(exec, MatrixOf(exec, host), options);
    ADD_FAILURE() << why;
  } catch (std::invalid_argument const& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}
/// \brief With a near-nullspace of one's own.
inline void expect_modes_refused(HostCsr<double> const& host, AmgOptions const& options) {
  Default const exec;
  MatrixOf const A(exec, host);
  Kokkos::View<double**, Default> const modes("modes", A.rows(), 1);
  Kokkos::deep_copy(modes, 1.0);
  EXPECT_THROW(Amg(exec, A, modes, options), std::invalid_argument);
}

/// \brief Refreshed for a matrix of the same pattern, whose couplings are others: all is as in a
/// new set-up, with one sweep and with two.
inline void expect_refreshed_as_anew(HostCsr<double> const& first, HostCsr<double> const& second,
                                     AmgOptions options) {
  Default const exec;
  ASSERT_EQ(first.columns, second.columns);
  auto const v = random_vector<double>(first.rows, 2);
  for (int const sweeps : {1, 2}) {
    options.pre = options.post = sweeps;
    MatrixOf const A(exec, first), B(exec, second);
    AmgOf M(exec, A, options);
    auto const before = applied(M, v);
    M.refresh(exec, B);
    EXPECT_TRUE(same_bits(applied(M, v), applied(AmgOf(exec, B, options), v)));
    M.refresh(exec, A);
    EXPECT_TRUE(same_bits(applied(M, v), before));
  }
}

}  // namespace SolderTest
