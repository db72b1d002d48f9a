// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What advice() says is followed.
#include "auto.hpp"
#include "reals.hpp"

#include <string>
#include <vector>

namespace {

using namespace SolderTest;
using Solder::HostCsr;

TEST_F(Auto, AdvisesToLeaveMoreToAutoWhereASolverOrAPreconditionerIsNamed) {
  HostCsr<double> const A = tridiagonal(60, -1, 0.9, -1);  // indefinite
  auto const b = random_vector<double>(60, 3);
  for (Parameters const& named :
       {Parameters{{"name", "cg"}, {"preconditioner", {{"name", "auto"}}}},
        {{"candidates", "cg+ic0 cg+ict"}}}) {
    Report const report = solve(make_solver(exec, Matrix(exec, A), named), b).report;
    ASSERT_NE(report.reason, Reason::converged) << report;
    EXPECT_TRUE(contains(advice(report), "leave both the solver and the preconditioner to auto"))
        << report;
  }
  EXPECT_EQ(solve(make_solver(exec, Matrix(exec, A), {}), b).report.reason, Reason::converged);
}

struct Advice : Auto {
  static Report ended(Reason reason) {
    Report report;
    report.reason = reason;
    report.true_relative_residual = 0.5;
    return report;
  }
  Report by(HostCsr<double> const& A, Parameters const& parameters, std::vector<double> const& b) {
    auto const [report, x] = solve(make_solver(exec, Matrix(exec, A), parameters), b);
    if (report.reason == Reason::converged) {
      EXPECT_LE(residual(A, b, x), 1.001 * 1e-8);
    }
    return report;
  }
};

TEST_F(Advice, OfTooFewIterations) {
  HostCsr<double> const A = Solder::fem_poisson_2d<double>(40);
  auto const b = random_vector<double>(A.rows, 3);
  Report const report = by(A, {{"name", "cg"}, {"max_iterations", 20}}, b);
  ASSERT_EQ(report.reason, Reason::max_iterations);
  ASSERT_TRUE(contains(advice(report),
                       "more iterations, or take a stronger preconditioner, or the solver auto"));
  EXPECT_EQ(by(A, {{"name", "cg"}, {"max_iterations", 2000}}, b).reason, Reason::converged);
  EXPECT_EQ(by(A, {{"name", "cg"}, {"max_iterations", 40}, {"preconditioner", "amg"}}, b).reason,
            Reason::converged);
  EXPECT_EQ(by(A, {{"name", "auto"}}, b).reason, Reason::converged);
}

TEST_F(Advice, OfAMatrixThatIsIndefinite) {
  HostCsr<double> const A = tridiagonal(40, -1, 1.2, -1);
  auto const b = random_vector<double>(A.rows, 3);
  Report const report = by(A, {{"name", "cg"}}, b);
  ASSERT_EQ(report.reason, Reason::indefinite_matrix);
  ASSERT_TRUE(contains(advice(report), "take gmres, bicgstab or idr, or the solver auto"));
  for (char const* const name : {"gmres", "bicgstab", "idr"})
    EXPECT_EQ(by(A, {{"name", name}, {"preconditioner", "ilu0"}}, b).reason, Reason::converged)
        << name;
  EXPECT_EQ(by(A, {}, b).reason, Reason::converged);
}

TEST_F(Advice, OfAPreconditionerThatIsIndefinite) {
  HostCsr<double> A = tridiagonal(40, -1, 3, -1);
  A.values[A.row_offsets[20] + 1] = -3;  // Jacobi's M is then indefinite, and so is A
  auto const b = random_vector<double>(A.rows, 3);
  for (char const* const form : {"classical", "pipelined"}) {
    Report const report = by(A, {{"name", "cg"}, {"form", form}, {"preconditioner", "jacobi"}}, b);
    ASSERT_EQ(report.reason, Reason::indefinite_preconditioner) << report;
    ASSERT_TRUE(contains(advice(report), "gmres, bicgstab or idr with this one"));
  }
  for (char const* const name : {"gmres", "bicgstab", "idr"})
    EXPECT_EQ(by(A, {{"name", name}, {"preconditioner", "jacobi"}}, b).reason, Reason::converged)
        << name;
}

TEST_F(Advice, OfABreakdown) {
  HostCsr<double> const A = tridiagonal(40, -1, 0, 1);  // no diagonal to divide by
  auto const b = random_vector<double>(A.rows, 3);
  Report const report = by(A, {{"name", "bicgstab"}, {"preconditioner", "jacobi"}}, b);
  ASSERT_EQ(report.reason, Reason::breakdown) << report;
  ASSERT_TRUE(contains(advice(report), "another method or preconditioner, or the solver auto"));
  EXPECT_EQ(by(A, {}, b).reason, Reason::converged);
}

TEST_F(Advice, OfAToleranceBeyondRounding) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(A.rows, 3);
  auto const check = [&](std::string const& name, double tolerance, Reason reason) {
    Report const report = by(A, {{"name", name}, {"tolerance", tolerance}}, b);
    ASSERT_EQ(report.reason, reason) << report;
    std::string const text = advice(report), above = "a tolerance above ";
    ASSERT_TRUE(contains(text, above)) << text;
    double const other = std::stod(text.substr(text.find(above) + above.size()));
    EXPECT_GT(other, tolerance);
    EXPECT_LT(other, 1e-10);
    EXPECT_EQ(by(A, {{"name", name}, {"tolerance", other}}, b).reason, Reason::converged) << name;
  };
  check("cg", 1e-18, Reason::stagnated);
  check("idr", 1e-300,
        Reason::breakdown);  // what the squares of its residuals come to is no number
}

/// Another tolerance may lead to other candidates, so twice what was reached is asked for.
TEST_F(Advice, OfAToleranceBeyondRoundingToAuto) {
  HostCsr<double> const A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(A.rows, 3);
  Report const report = by(A, {{"tolerance", 1e-18}, {"candidates", "cg+jacobi gmres+ilu0"}}, b);
  ASSERT_EQ(report.reason, Reason::stagnated) << report;
  std::string const text = advice(report), above = "a tolerance above ";
  ASSERT_TRUE(contains(text, above)) << text;
  double const tolerance = std::stod(text.substr(text.find(above) + above.size()));
  EXPECT_GE(tolerance, 2 * report.true_relative_residual);
  EXPECT_LT(tolerance, 2.3 * report.true_relative_residual);
  EXPECT_EQ(by(A, {{"tolerance", tolerance}}, b).reason, Reason::converged);
}

TEST_F(Advice, OfABThatIsOutOfRange) {
  HostCsr<double> const A = Solder::fem_poisson_2d<double>(8);
  for (double const size : {1e-200, 1e200})
    for (Parameters const& named : {Parameters{{"name", "cg"}}, Parameters{}}) {
      Report const report = by(A, named, std::vector<double>(A.rows, size));
      ASSERT_EQ(report.reason, Reason::breakdown) << report;
      EXPECT_TRUE(contains(report.detail, ": scale b")) << report;
      EXPECT_EQ(advice(report), "");
    }
}

TEST_F(Advice, OfNoNumbers) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(8);
  std::vector<double> b(A.rows, 1.0);
  b[3] = std::numeric_limits<double>::infinity();
  Report const report = by(A, {{"name", "cg"}}, b);
  ASSERT_EQ(report.reason, Reason::not_finite);
  ASSERT_TRUE(contains(advice(report), "check A, b and the guess for a NaN or an infinity"));
  b[3] = 1;
  EXPECT_EQ(by(A, {{"name", "cg"}}, b).reason, Reason::converged);
}

TEST_F(Advice, OfGmresThatStagnates) {
  HostCsr<double> A{40, 40, {0}, {}, {}};  // a cyclic shift: nothing happens in 39 steps
  for (int i = 0; i < 40; ++i) {
    A.columns.push_back((i + 39) % 40);
    A.values.push_back(1);
    A.row_offsets.push_back(i + 1);
  }
  std::vector<double> b(40, 0.0);
  b[0] = 1;
  Report const report = by(A, {{"name", "gmres"}, {"restart", 10}}, b);
  ASSERT_EQ(report.reason, Reason::stagnated) << report;
  ASSERT_TRUE(contains(advice(report), "a longer restart of gmres, or the solver auto"));
  EXPECT_EQ(by(A, {{"name", "gmres"}, {"restart", 40}}, b).reason, Reason::converged);
}

}  // namespace
