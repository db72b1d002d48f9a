// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../support.hpp"

#include <solder/matrix/csr.hpp>
#include <solder/solvers/cg.hpp>

namespace SolderTest {

using Solder::Cg;
using Solder::CgForm;
using Solder::CgOptions;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::Identity;
using Solder::Jacobi;
using Solder::Reason;
using Solder::Report;
using Solder::Runner;

template <class Scalar>
struct Solved {
  Report report;
  std::vector<Scalar> x;
};

/// \brief One solve with a solver of its own.
template <class Exec, class Scalar>
Solved<Scalar> solve(Exec const& exec, HostCsr<Scalar> const& host, bool jacobi,
                     std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                     CgOptions const& options) {
  using Matrix = CsrMatrix<Scalar, Exec>;
  Matrix const A(exec, host);
  auto const b_device = to_device(exec, b), x = to_device(exec, x0);
  Solved<Scalar> s;
  if (jacobi) {
    Cg<Exec, Matrix, Jacobi<Scalar, Exec>> cg(exec, A, Jacobi<Scalar, Exec>(exec, A), options);
    s.report = cg.solve(b_device, x);
  } else {
    Cg<Exec, Matrix> cg(exec, A, Identity{}, options);
    s.report = cg.solve(b_device, x);
  }
  s.x = to_host(exec, x);
  return s;
}

/// \brief f(options, jacobi) for both forms, all runners and both preconditioners.
template <class F>
void in_every_way(double tolerance, int max_iterations, F const& f) {
  for (CgForm const form : {CgForm::classical, CgForm::pipelined}) {
    for (Runner const runner : {Runner::launch, Runner::graph, Runner::team}) {
      for (bool const jacobi : {false, true}) {
        SCOPED_TRACE(std::string(to_string(form)) + ", " + std::string(to_string(runner)) +
                     (jacobi ? ", jacobi" : ", identity"));
        CgOptions options;
        options.tolerance = tolerance;
        options.max_iterations = max_iterations;
        options.form = form;
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
                        Solved<Scalar> const& s, CgOptions const& options) {
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

}  // namespace SolderTest
