// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of all solvers share. Method<Options> says which solver they are about:
/// see cg.hpp.

#include "../support.hpp"

#include <utility>

#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace SolderTest {

using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::Identity;
using Solder::Jacobi;
using Solder::Reason;
using Solder::Report;
using Solder::Runner;

/// \brief Of a solver, named by its options' type: the class template Solver<Exec, Matrix,
/// Preconditioner> and forms(), options that differ in the form, each with a name for people.
template <class Options>
struct Method;

/// \brief forms(), and what each solver has besides.
template <class Options>
auto every_form() {
  if constexpr (requires { Method<Options>::every_form(); })
    return Method<Options>::every_form();
  else
    return Method<Options>::forms();
}

/// \brief Who runs a solve: whoever is asked for, or a graph on GPUs where whole solves of the form
/// are no kernel, by Method<Options>::has_whole_solve(options, pointwise), or no kernel of a
/// league.
template <class Exec, class Options>
Runner runs_by(Options const& options, bool pointwise = true, bool of_league = true) {
  bool has_kernel =
      Solder::Impl::is_host_space<Exec> || of_league || options.runner != Runner::resident;
  if constexpr (!Solder::Impl::is_host_space<Exec> &&
                requires { Method<Options>::has_whole_solve(options, pointwise); })
    has_kernel = has_kernel && Method<Options>::has_whole_solve(options, pointwise);
  return has_kernel || !is_whole(options.runner) ? options.runner : Runner::graph;
}

template <class Options, class Exec, class Matrix, class Preconditioner>
using SolverOn = typename Method<Options>::template Solver<Exec, Matrix, Preconditioner>;

template <class Options, class Exec, class Scalar, class Preconditioner = Identity>
using SolverOf = SolverOn<Options, Exec, CsrMatrix<Scalar, Exec>, Preconditioner>;

template <class Scalar>
struct Solved {
  Report report;
  std::vector<Scalar> x;
};

/// \brief One solve with a solver of its own.
template <class Exec, class Scalar, class Options>
Solved<Scalar> solve(Exec const& exec, HostCsr<Scalar> const& host, bool jacobi,
                     std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                     Options const& options) {
  CsrMatrix<Scalar, Exec> const A(exec, host);
  auto const b_device = to_device(exec, b), x = to_device(exec, x0);
  Solved<Scalar> s;
  if (jacobi) {
    SolverOf<Options, Exec, Scalar, Jacobi<Scalar, Exec>> solver(
        exec, A, Jacobi<Scalar, Exec>(exec, A), options);
    s.report = solver.solve(b_device, x);
  } else {
    SolverOf<Options, Exec, Scalar> solver(exec, A, Identity{}, options);
    s.report = solver.solve(b_device, x);
  }
  s.x = to_host(exec, x);
  return s;
}

/// \brief f(options, jacobi) for all forms, all runners and both preconditioners.
template <class Options, class F>
void in_every_way(double tolerance, int max_iterations, F const& f) {
  for (auto const& [name, form] : Method<Options>::forms()) {
    for (Runner const runner : every_runner) {
      for (bool const jacobi : {false, true}) {
        SCOPED_TRACE(name + ", " + std::string(to_string(runner)) +
                     (jacobi ? ", jacobi" : ", identity"));
        Options options = form;
        options.tolerance = tolerance;
        options.max_iterations = max_iterations;
        options.runner = runner;
        f(options, jacobi);
      }
    }
  }
}

/// \brief What holds of every solve whose numbers are finite: "converged" is said where the
/// recomputed residual says so, and nowhere else.
template <class Scalar>
void expect_true_report(HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                        Solved<Scalar> const& s, Solder::SolverOptions const& options) {
  Report const& report = s.report;
  auto const [relative, rounding] = true_residual(A, b, s.x);
  ASSERT_TRUE(std::isfinite(relative));
  EXPECT_NE(report.reason, Reason::running);
  EXPECT_NEAR(report.true_relative_residual, relative, rounding + 1e-12 * relative);
  if (report.reason == Reason::converged) {
    EXPECT_LE(report.true_relative_residual, options.tolerance);
    EXPECT_LE(relative, options.tolerance + rounding);
  } else {
    EXPECT_GT(report.true_relative_residual, options.tolerance) << to_string(report.reason);
  }
  EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
  EXPECT_LE(report.iterations, options.max_iterations);
}

/// \brief Solves with one solver: b1, b2 in other views, b1 again, b1 once more; a rerun gives the
/// same bits.
template <class Exec, class Scalar, class Preconditioner, class Options>
void expect_solves_anew(Exec const& exec, HostCsr<Scalar> const& host,
                        CsrMatrix<Scalar, Exec> const& A, Preconditioner const& M,
                        Options const& options) {
  bool const jacobi = !std::is_same_v<Preconditioner, Identity>;
  SolverOf<Options, Exec, Scalar, Preconditioner> solver(exec, A, M, options);
  std::vector<Scalar> const b[] = {random_vector<Scalar>(host.rows, 41),
                                   random_vector<Scalar>(host.rows, 42)};
  std::vector<Scalar> const x0[] = {std::vector<Scalar>(host.rows),
                                    random_vector<Scalar>(host.rows, 43)};
  decltype(to_device(exec, b[0])) const b_device[] = {to_device(exec, b[0]), to_device(exec, b[1])},
                                        x[] = {to_device(exec, x0[0]), to_device(exec, x0[1])};
  Solved<Scalar> const alone[] = {solve(exec, host, jacobi, b[0], x0[0], options),
                                  solve(exec, host, jacobi, b[1], x0[1], options)};
  for (int const which : {0, 1, 0, 0, 1}) {
    Kokkos::deep_copy(x[which], to_device(exec, x0[which]));
    Report const report = solver.solve(b_device[which], x[which]);
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_TRUE(same_bits(report.history, alone[which].report.history)) << "system " << which;
    EXPECT_TRUE(same_bits(to_host(exec, x[which]), alone[which].x)) << "system " << which;
    EXPECT_EQ(report.true_relative_residual, alone[which].report.true_relative_residual);
    EXPECT_TRUE(same_bits(to_host(exec, b_device[which]), b[which])) << "b was written to";
  }
}

}  // namespace SolderTest
