// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// name: auto, as make_solver() makes it; test_candidates.cpp has what it goes by.
#include "auto.hpp"
#include "reals.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <compiled/wanted.hpp>
#include <solder/core/deadline.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/elasticity.hpp>

namespace {

using namespace SolderTest;
using Solder::Attempt;
using Solder::HostCsr;

TEST_F(Auto, SolvesEveryKindOfMatrix) {
  EXPECT_EQ(expect_solved(Solder::fem_poisson_2d<double>(60)).attempts[0].solver, "cg");
  EXPECT_LE(expect_solved(Solder::poisson_3d_7pt<double>(12)).attempts.size(), 2u);  // with a trial
  EXPECT_EQ(expect_solved(Solder::elasticity_3d<double>(4)).attempts[0].solver, "cg");
  EXPECT_EQ(expect_solved(Solder::random_spd<double>(500, 7, 1)).attempts[0].solver, "cg");
  for (auto const convection : {Solder::Convection::upwind, Solder::Convection::central})
    EXPECT_NE(expect_solved(Solder::convection_diffusion_2d<double>(30, {40, 20}, convection))
                  .attempts[0]
                  .solver,
              "cg");
  // Indefinite, negative definite, nonsymmetric without dominance, a diagonal of zeros, triangular,
  // diagonal, one by one.
  expect_solved(tridiagonal(200, -1, 1.3, -1));
  expect_solved(tridiagonal(200, 1, -2.5, 1));
  expect_solved(tridiagonal(200, -1.9, 2, -0.1));
  expect_solved(tridiagonal(200, 1, 0, 1));
  expect_solved(tridiagonal(200, 1, 2, 0));
  expect_solved(tridiagonal(200, 0, 7, 0));
  expect_solved(tridiagonal(1, 0, -4, 0));
}

TEST_F(Auto, SolvesWhatIsBadlyScaled) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(20);
  std::vector<double> scale(A.rows);
  for (int i = 0; i < A.rows; ++i) scale[i] = std::pow(10.0, i % 7 - 3);
  for (int i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= scale[i] * scale[A.columns[k]];
  EXPECT_EQ(expect_solved(A).attempts[0].solver, "cg");
}

/// A saddle point whose diagonal is positive: CG finds out.
TEST_F(Auto, GoesOnWhereCgFindsAnIndefiniteMatrix) {
  int const n = 60;
  HostCsr<double> A = tridiagonal(n, -1, 1.2, -1);  // eigenvalues from -0.8 on; no pair is outsized
  Report const report = expect_solved(A, {{"candidates", "cg+jacobi cg+ic0 gmres+ilu0"}});
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].solver, "cg");
  EXPECT_EQ(report.attempts[0].reason, Reason::indefinite_matrix);
  EXPECT_NE(report.attempts[0].ended, "");
  for (std::size_t k = 1; k < report.attempts.size(); ++k)
    EXPECT_NE(report.attempts[k].solver, "cg");
}

/// Positive entries near the diagonal, in rows that are not dominant.
template <class Entry>
HostCsr<double> band(int n, Entry const& at_distance) {
  HostCsr<double> A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 12); j <= std::min(n - 1, i + 12); ++j) {
      A.columns.push_back(j);
      A.values.push_back(at_distance(std::abs(i - j)));
    }
    A.row_offsets.push_back(std::int64_t(A.columns.size()));
  }
  return A;
}

/// Eigenvalues from 1e-4 to 5.
HostCsr<double> slow_for_jacobi() {
  return band(20000, [](int distance) {
    return std::exp(-distance * distance / 9.0) + (distance == 0 ? 1e-4 : 0);
  });
}

// Nothing that is seen of A tells that a few iterations do, so they are tried.
TEST_F(Auto, TriesTheCheapestIterationsBeforeAFactorisation) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  HostCsr<double> const A = band(20000, [](int distance) { return std::exp(-distance); });
  Report const report = expect_solved(A);
  ASSERT_EQ(report.attempts.size(), 1u);
  EXPECT_EQ(report.attempts[0].preconditioner, "jacobi");
  EXPECT_LT(report.iterations, 60);
  // Who wants a number of iterations has no trial, nor have several right-hand sides.
  EXPECT_TRUE(contains(make_solver(exec, Matrix(exec, A), {{"tolerance", 0.0}}).explain(),
                       "first: cg with ic0"));
  EXPECT_TRUE(contains(make_solver(exec, Matrix(exec, A), {}, {.columns = 2}).explain(),
                       "first: cg with ic0"));
  EXPECT_TRUE(contains(make_solver(exec, Matrix(exec, A), {}).explain(), "first: cg with jacobi"));
  auto const b = to_device(exec, random_vector<double>(2 * A.rows, 3)),
             x = to_device(exec, std::vector<double>(2 * A.rows));
  auto const reports = make_solver(exec, Matrix(exec, A), {})
                           .solve(Columns(b.data(), A.rows, 2), Columns(x.data(), A.rows, 2));
  ASSERT_EQ(reports[0].attempts.size(), 1u);
  EXPECT_EQ(reports[0].attempts[0].preconditioner, "ic0");
  // The set-up of ic0, which the solve began with, counts. Its columns are solved one by one.
  EXPECT_GE(reports[0].setup_seconds, reports[0].attempts[0].setup_seconds);
  EXPECT_DOUBLE_EQ(reports[0].attempts[0].solve_seconds,
                   reports[0].solve_seconds + reports[1].solve_seconds);
}
TEST_F(Auto, GivesATrialUpThatDoesNotPromiseToBeDoneSooner) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  HostCsr<double> const A = slow_for_jacobi();
  Report const report = expect_solved(A);
  ASSERT_GT(report.attempts.size(), 1u);
  EXPECT_EQ(report.attempts[0].preconditioner, "jacobi");
  EXPECT_GE(report.attempts[0].iterations, 20);
  EXPECT_LT(report.attempts[0].iterations, 200);
  EXPECT_TRUE(contains(report.attempts[0].ended, "given up")) << report.attempts[0].ended;
}

/// No other solver takes less time than CG with the same M, so CG is not given up for one, nor does
/// it leave one half of the iterations.
TEST_F(Auto, GivesCgUpForAnotherPreconditionerAlone) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  HostCsr<double> const A = slow_for_jacobi();
  auto const by = [&](std::string const& candidates, double most) {
    return solve(make_solver(exec, Matrix(exec, A),
                             {{"candidates", candidates}, {"max_iterations", most}}),
                 random_vector<double>(A.rows, 3))
        .report;
  };
  Report const alone = by("cg+jacobi gmres+jacobi", 10000);
  EXPECT_EQ(alone.reason, Reason::converged) << alone;
  ASSERT_EQ(alone.attempts.size(), 1u) << alone;
  Report const scarce = by("cg+jacobi gmres+jacobi", alone.iterations + 10);
  EXPECT_EQ(scarce.reason, Reason::converged) << scarce;
  EXPECT_EQ(scarce.iterations, alone.iterations);
  for (std::string const candidates : {"cg+jacobi cg+ic0", "cg+jacobi gmres+jacobi cg+ic0"}) {
    Report const report = by(candidates, 10000);
    EXPECT_TRUE(contains(report.attempts[0].ended, "given up: ")) << report;
    EXPECT_LT(report.attempts[0].iterations, alone.iterations / 2);
  }
}

/// A beam on soft ground takes CG many iterations, and its factor has three entries a row, as auto
/// finds out.
TEST_F(Auto, CountsWhatACompleteFactorTakes) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  auto const beam = [](std::int32_t n) {
    HostCsr<double> A{n, n, {0}, {}, {}};
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = std::max(0, i - 2); j <= std::min(n - 1, i + 2); ++j) {
        A.columns.push_back(j);
        A.values.push_back(i == j ? 6.00001 : std::abs(i - j) == 1 ? -4 : 1);
      }
      A.row_offsets.push_back(std::int64_t(A.columns.size()));
    }
    return A;
  };
  auto solver = make_solver(exec, Matrix(exec, beam(2000)), {});
  for (std::int32_t const n : {2000, 1500}) {  // another pattern has another order
    if (n == 1500) solver.set_matrix(Matrix(exec, beam(n)), Solder::Pattern::different);
    auto const b = random_vector<double>(n, 3);
    auto const [report, x] = solve(solver, b);
    EXPECT_EQ(report.reason, Reason::converged) << report;
    EXPECT_LE(residual(beam(n), b, x), 1.001e-8);
    ASSERT_EQ(report.attempts.size(), 2u) << report;
    EXPECT_EQ(report.attempts[0].preconditioner, "jacobi");
    EXPECT_EQ(report.attempts[1].why, "the factor is complete: a direct solve");
    EXPECT_LE(report.attempts[1].iterations, 3);
  }
}

TEST_F(Auto, SaysThatRowsDifferWhereNothingHasSolved) {
  HostCsr<double> A = tridiagonal(40, -1, 2, -1);
  A.values.front() = A.values.back() = 1;  // Neumann's Laplacian, and b is not in its range
  auto const b = random_vector<double>(40, 3);
  auto const end = [&] { return solve(make_solver(exec, Matrix(exec, A), {}), b).report; };
  Report const even = end();
  EXPECT_NE(even.reason, Reason::converged);
  EXPECT_FALSE(contains(even.detail, "rows of A differ")) << even;
  for (int i = 0; i < 40; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= i % 2 == 0 ? 1e8 : 1e-8;
  Report const uneven = end();
  EXPECT_NE(uneven.reason, Reason::converged);
  EXPECT_TRUE(contains(uneven.detail, "rows of A differ by a factor of 2e+16")) << uneven;
}

/// Of a random graph, whose complete factor would have some 20 million entries, for a tolerance
/// that rounding does not allow. (With an absolute tolerance nobody looks at rounding.)
TEST_F(Auto, PassesOverACompleteFactorThatWouldTakeTooLong) {
  int const n = 20000;
  Solder::TripletBuilder<double> builder;
  std::mt19937 draw(7);
  for (int i = 0; i < n; ++i) {
    builder.add(i, i, 1e-8);
    for (int k = 0; k < 4; ++k) {
      int const j = int(draw() % unsigned(n));
      if (j == i) continue;
      builder.add(i, j, -1);
      builder.add(j, i, -1);
      builder.add(i, i, 1);
      builder.add(j, j, 1);
    }
  }
  HostCsr<double> const A = builder.build(n, n);
  std::vector<double> const b(n, 1.0);
  Parameters const parameters{
      {"name", "cg"}, {"preconditioner", "auto"}, {"absolute_tolerance", 1e-300}};
  auto const [report, x] = solve(make_solver(exec, Matrix(exec, A), parameters), b);
  EXPECT_NE(report.reason, Reason::converged) << report;
  EXPECT_GT(residual(A, b, x), 1e-8);
  EXPECT_GT(report.attempts.size(), 3u) << report;
  for (Attempt const& attempt : report.attempts) EXPECT_LT(attempt.setup_seconds, 30) << attempt;
  EXPECT_TRUE(contains(report.detail, "; cg+ict was not begun: its factors would take about"))
      << report;
  EXPECT_TRUE(contains(report.detail, "auto allows 60 s without a time_limit")) << report;
}

/// Where the last candidate promises less than one that was given up, that one goes on.
TEST_F(Auto, GivesTheLastCandidateUpForOneThatWasGivenUp) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  HostCsr<double> A = Solder::fem_poisson_2d<double>(40);
  auto const numbers = random_vector<double>(A.rows, 5);
  for (int i = 0; i < A.rows; ++i)  // neither preconditioner mends such rows
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= std::pow(10, 1.5 * numbers[i]);
  Report const report = expect_solved(A, {{"candidates", "gmres+jacobi gmres+none"}});
  ASSERT_GE(report.attempts.size(), 3u) << report;
  for (int const k : {0, 1})
    EXPECT_TRUE(contains(report.attempts[k].ended, "given up: ")) << report;
  EXPECT_EQ(report.attempts[1].preconditioner, "none");
  EXPECT_EQ(report.attempts[2].preconditioner, "jacobi");
}

/// What is slow for one of several right-hand sides is given up for all of them, whether they are
/// solved at once, as by cg, or one by one, as by gmres.
TEST_F(Auto, GivesUpForSeveralRightHandSides) {
  if (!is_host) GTEST_SKIP() << "a GPU's costs lead to other candidates";
  HostCsr<double> const A = slow_for_jacobi();
  auto const b = to_device(exec, random_vector<double>(3 * A.rows, 3));
  for (std::string const first : {"cg", "gmres"}) {
    SCOPED_TRACE(first);
    auto const x = to_device(exec, std::vector<double>(3 * A.rows));
    auto const reports =
        make_solver(exec, Matrix(exec, A), {{"candidates", first + "+jacobi cg+ic0"}})
            .solve(Columns(b.data(), A.rows, 3), Columns(x.data(), A.rows, 3));
    for (Report const& report : reports) {
      EXPECT_EQ(report.reason, Reason::converged) << report;
      ASSERT_EQ(report.attempts.size(), 2u) << report;
      EXPECT_TRUE(contains(report.attempts[0].ended, "given up: ")) << report;
      EXPECT_LT(report.attempts[0].iterations, 2000);
    }
  }
}

TEST_F(Auto, SaysTheTruthOfASingularMatrix) {
  // Neumann's Laplacian: its null space is constant.
  HostCsr<double> A = tridiagonal(50, -1, 2, -1);
  A.values.front() = A.values.back() = 1;
  std::vector<double> b(50, 1.0);  // not in its range
  auto const [report, x] = solve(make_solver(exec, Matrix(exec, A), {}), b);
  EXPECT_NE(report.reason, Reason::converged);
  EXPECT_NEAR(residual(A, b, x), report.true_relative_residual, 1e-6);
  EXPECT_GT(report.attempts.size(), 1u);
  EXPECT_TRUE(contains(report.detail, "candidates that were tried")) << report.detail;
  std::vector<double> const u = random_vector<double>(50, 1);  // in its range
  for (int i = 0; i < 50; ++i) {
    b[i] = 0;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      b[i] += A.values[k] * u[A.columns[k]];
  }
  auto const [in_range, y] = solve(make_solver(exec, Matrix(exec, A), {}), b);
  EXPECT_EQ(in_range.reason, Reason::converged) << in_range;
  EXPECT_LE(residual(A, b, y), 1.001e-8);
}

/// Rows 0 and 1 share the only column that they have: whatever stands there, A is singular.
TEST_F(Auto, SaysThatAMatrixIsSingularWhateverItsValuesAre) {
  int const n = 80;
  HostCsr<double> A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    auto const add = [&](int j, double value) {
      A.columns.push_back(j);
      A.values.push_back(value);
    };
    if (i == n / 2) add(1, 1);
    add(i < 2 ? 0 : i, 3);
    if (i >= 2) add((i + 1) % n, 1);
    A.row_offsets.push_back(std::int64_t(A.columns.size()));
  }
  auto const solver = make_solver(exec, Matrix(exec, A), {});
  std::vector<double> b(n, 1.0);
  b[1] = 2;  // row 0 says otherwise
  auto const [report, x] = solve(solver, b);
  EXPECT_NE(report.reason, Reason::converged);
  EXPECT_TRUE(contains(report.detail, "A is structurally singular: ")) << report.detail;
  EXPECT_TRUE(contains(solver.explain(),
                       "structurally singular: row 2 (counted from 1) cannot be "
                       "matched with a column of its own"))
      << solver.explain();
  EXPECT_TRUE(contains(advice(report), "check A for rows or columns that lack entries"))
      << advice(report);
  std::set<std::string> tried;
  for (Attempt const& attempt : report.attempts)
    tried.insert(attempt.solver + "+" + attempt.preconditioner);
  EXPECT_LE(tried.size(), 4u) << report;
  // The advice: with a b in its range, or with the entries that were missing.
  b[1] = 1;
  auto const [in_range, y] = solve(make_solver(exec, Matrix(exec, A), {}), b);
  EXPECT_EQ(in_range.reason, Reason::converged) << in_range;
  EXPECT_LE(residual(A, b, y), 1.001e-8);
  EXPECT_TRUE(advice(in_range).empty()) << advice(in_range);
  A.columns[1] = 1;
  expect_solved(A);
}

/// The first candidate comes nearer than the second, but not near enough for its x to be gone on
/// from.
TEST_F(Auto, GivesTheBestXBackWhereNoneHasSolved) {
  HostCsr<double> A = tridiagonal(10, -1, 2, -1);
  A.values.front() = A.values.back() = 1;  // Neumann's Laplacian, and b is not in its range
  std::vector<double> b(10, 0.0);
  b[0] = 1;
  auto const [report, x] =
      solve(make_solver(exec, Matrix(exec, A), {{"candidates", "gmres+none bicgstab+ilu0"}}), b);
  EXPECT_NE(report.reason, Reason::converged);
  ASSERT_EQ(report.attempts.size(), 2u);
  double const first = report.attempts[0].true_relative_residual,
               last = report.attempts[1].true_relative_residual;
  ASSERT_TRUE(last > 1.1 * first) << report;
  EXPECT_NEAR(first, std::sqrt(0.1), 1e-3);  // the part of b that no x can give
  EXPECT_EQ(report.true_relative_residual, first);
  EXPECT_NEAR(residual(A, b, x), first, 1e-12);
  EXPECT_TRUE(contains(report.detail, "x is that of gmres+none, which has the smallest residual"))
      << report.detail;
  EXPECT_FALSE(contains(report.detail, "x is the guess")) << report.detail;
}

/// The first candidate comes near enough for its x to be gone on from, and the second, which is not
/// given up, no nearer.
TEST_F(Auto, SaysWhoseXALaterCandidateHasGivenBack) {
  if (!is_host) GTEST_SKIP() << "one kernel of a GPU takes all iterations, none is given up";
  HostCsr<double> A = tridiagonal(40, -1, 2, -1);
  A.values.front() = A.values.back() = 1;  // Neumann's Laplacian
  std::vector<double> b(40, 0.01);         // which is not in its range
  b.front() += 1;
  b.back() -= 1;
  auto const [report, x] =
      solve(make_solver(exec, Matrix(exec, A),
                        {{"candidates", "gmres+none cg+none"}, {"max_iterations", 60}}),
            b);
  ASSERT_EQ(report.attempts.size(), 2u) << report;
  double const first = report.attempts[0].true_relative_residual;
  EXPECT_LT(first, 0.1);
  EXPECT_EQ(report.true_relative_residual, first);
  EXPECT_NEAR(residual(A, b, x), first, 1e-6);
  EXPECT_FALSE(report.kept_guess) << report;
  EXPECT_FALSE(contains(report.detail, "x is the guess")) << report;
  EXPECT_TRUE(contains(report.detail, "x is that of gmres+none")) << report;
}

TEST_F(Auto, RefusesCandidatesThatThereAreNotBeforeItLooksAtA) {
  try {
    Solder::Compiled::read_solver(
        {{"candidates", "cg+amg, gmres+iluo block_cg+jacobi cg"}, {"tolerance", -1.0}});
    ADD_FAILURE() << "no error";
  } catch (std::invalid_argument const& error) {
    std::string const what = error.what();
    for (char const* const part :
         {"candidates: 'gmres+iluo' has an unknown preconditioner; valid: none, jacobi,",
          "did you mean ilu0?",
          "candidates: 'block_cg+jacobi' has an unknown solver; valid: cg, bicgstab, gmres or "
          "idr",
          "candidates: 'cg' must be solver+preconditioner", "tolerance"})
      EXPECT_TRUE(contains(what, part)) << part << " is not in\n" << what;
  }
  EXPECT_THROW(Solder::Compiled::read_solver({{"candidates", " , "}}), std::invalid_argument);
}

/// A set-up that takes longer than a solve may is ended, and the next candidate tried.
TEST_F(Auto, LimitsTheTimeOfSetups) {
  HostCsr<double> const A = Solder::convection_diffusion_2d<double>(150, {40, 20});
  auto const b = random_vector<double>(A.rows, 3);
  auto const solver = make_solver(exec, Matrix(exec, A),
                                  {{"time_limit", 1e-4}, {"candidates", "gmres+ilut idr+none"}});
  Report const report = solve(solver, b).report;
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].preconditioner, "ilut");
  EXPECT_TRUE(contains(report.attempts[0].ended, "it took longer than the")) << report;
  EXPECT_LT(report.attempts[0].setup_seconds, 0.5);
  EXPECT_EQ(report.reason, Reason::stopped);
  EXPECT_EQ(make_solver(exec, Matrix(exec, A),
                        {{"time_limit", 1000}, {"candidates", "gmres+ilut idr+none"}})
                .name(),
            "Solder::Gmres");
}

/// The first candidate ends within milliseconds, and the next one's set-up, of a full matrix, would
/// take seconds.
TEST_F(Auto, TellsThatTheTimeIsUpWhereNothingIsSetUp) {
  HostCsr<double> A = full();
  A.values[7 * (A.rows + 1)] = 0;  // jacobi breaks down
  auto const solver = make_solver(exec, Matrix(exec, A),
                                  {{"time_limit", 0.5}, {"candidates", "idr+jacobi gmres+ilut"}});
  for (int turn = 0; turn < 2; ++turn) {
    Report const report = solve(solver, random_vector<double>(A.rows, 3)).report;
    EXPECT_EQ(report.reason, Reason::stopped) << report;
    EXPECT_TRUE(contains(report.detail, "time_limit, 0.5 s, was reached")) << report;
    EXPECT_EQ(solver.matrix_format(), "csr");
    EXPECT_FALSE(solver.format_reason().empty());
    EXPECT_TRUE(contains(solver.describe(), "none of 2 candidates is set up"));
  }
}

/// No solver can be set up in time, and all of them together have this time.
TEST_F(Auto, HasOneTimeLimitForAllSetups) {
  Matrix const A(exec, full());
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_THROW(make_solver(exec, A, {{"time_limit", 0.5}, {"preconditioner", "ilut"}}),
               Solder::Impl::OutOfTime);
  double const seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(seconds, 0.5);
  EXPECT_LT(seconds, 1.4);  // there are three candidates
}

TEST_F(Auto, SetsUpOnceAPreconditionerThatCannotBeApplied) {
  HostCsr<double> const A = tridiagonal(60, 1, -3, 1);  // ic0 has no pivot that is positive
  auto const solver = make_solver(exec, Matrix(exec, A), {{"preconditioner", "ic0"}});
  ASSERT_TRUE(contains(solver.explain(), "if it fails or is slow:")) << solver.explain();
  for (int turn = 0; turn < 2; ++turn) {
    Report const report = solve(solver, random_vector<double>(60, 3)).report;
    EXPECT_EQ(report.reason, Reason::breakdown) << report;
    EXPECT_EQ(report.attempts.size(), 1u) << report;
    EXPECT_TRUE(contains(report.detail, "is not positive")) << report;
  }
  solver.set_matrix(Matrix(exec, tridiagonal(50, -1, 3, -1)), Solder::Pattern::different);
  EXPECT_EQ(solve(solver, random_vector<double>(50, 3)).report.reason, Reason::converged);
  // One that can be is set up for each solver.
  auto const last =
      solve(make_solver(exec, Matrix(exec, A), {{"candidates", "cg+ic0 cg+jacobi gmres+ilu0"}}),
            random_vector<double>(60, 3))
          .report;
  EXPECT_EQ(last.reason, Reason::converged) << last;
}

TEST_F(Auto, EndsAtOnceWhereThereAreNoNumbers) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(10);
  std::vector<double> b(A.rows, 1.0);
  b[7] = std::nan("");
  auto const wrong_b = solve(make_solver(exec, Matrix(exec, A), {}), b).report;
  EXPECT_EQ(wrong_b.reason, Reason::not_finite);
  EXPECT_EQ(wrong_b.attempts.size(), 1u);
  b[7] = 1;
  A.values[20] = std::nan("");
  auto const wrong_A = solve(make_solver(exec, Matrix(exec, A), {}), b).report;
  EXPECT_EQ(wrong_A.reason, Reason::not_finite);
  EXPECT_EQ(wrong_A.attempts.size(), 1u);
}

TEST_F(Auto, ChoosesAlikeEveryTime) {
  HostCsr<double> const A = tridiagonal(60, -1, 1.2, -1);
  auto const b = random_vector<double>(60, 3);
  auto const one = solve(make_solver(exec, Matrix(exec, A), {}), b),
             other = solve(make_solver(exec, Matrix(exec, A), {}), b);
  EXPECT_EQ(one.x, other.x);
  EXPECT_EQ(one.report.history, other.report.history);
  ASSERT_EQ(one.report.attempts.size(), other.report.attempts.size());
  for (std::size_t k = 0; k < one.report.attempts.size(); ++k) {
    EXPECT_EQ(one.report.attempts[k].solver, other.report.attempts[k].solver);
    EXPECT_EQ(one.report.attempts[k].preconditioner, other.report.attempts[k].preconditioner);
    EXPECT_EQ(one.report.attempts[k].iterations, other.report.attempts[k].iterations);
  }
}

TEST_F(Auto, KeepsWhatHasSolvedAndSearchesAgainWhereThatFails) {
  HostCsr<double> const indefinite = tridiagonal(60, -1, 1.2, -1);
  HostCsr<double> const definite = tridiagonal(60, -1, 2.5, -1);
  auto const b = random_vector<double>(60, 3);
  Matrix const A(exec, indefinite);
  auto const solver = make_solver(exec, A, {});
  auto const first = solve(solver, b).report;
  EXPECT_GT(first.attempts.size(), 1u);
  auto const second = solve(solver, b).report;
  ASSERT_EQ(second.attempts.size(), 1u);
  EXPECT_EQ(second.attempts[0].solver, first.attempts.back().solver);
  EXPECT_EQ(second.attempts[0].setup_seconds, 0);
  // Other values, by set_matrix and in place.
  solver.set_matrix(Matrix(exec, definite));
  EXPECT_THROW(solve(solver, b), std::logic_error);
  solver.refresh();
  auto const [third, x] = solve(solver, b);
  EXPECT_EQ(third.reason, Reason::converged);
  EXPECT_LE(residual(definite, b, x), 1.001e-8);

  // What cg has solved, and then cannot.
  auto const other = make_solver(exec, Matrix(exec, definite), {});
  EXPECT_EQ(solve(other, b).report.attempts[0].solver, "cg");
  other.set_matrix(Matrix(exec, indefinite));
  other.refresh();
  auto const [fourth, y] = solve(other, b);
  EXPECT_EQ(fourth.reason, Reason::converged) << fourth;
  EXPECT_EQ(fourth.attempts[0].solver, "cg");
  EXPECT_NE(fourth.attempts.back().solver, "cg");
  EXPECT_LE(residual(indefinite, b, y), 1.001e-8);

  other.set_matrix(Matrix(exec, Solder::fem_poisson_2d<double>(9)), Solder::Pattern::different);
  EXPECT_EQ(other.name(),
            make_solver(exec, Matrix(exec, Solder::fem_poisson_2d<double>(9)), {}).name());
  EXPECT_EQ(solve(other, random_vector<double>(81, 1)).report.reason, Reason::converged);
}

/// What has solved with another one's help needs more iterations alone: it is left in peace, or,
/// where the limit may be too low for it, searched for again.
TEST_F(Auto, SolvesAlikeWhatItHasSolved) {
  HostCsr<double> const A = tridiagonal(40, -1.5, 2.1, -0.3);
  int helped = 0;
  for (int const most : {50, 10000})
    for (unsigned seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(std::to_string(most) + " iterations, b of " + std::to_string(seed));
      auto const b = random_vector<double>(40, seed);
      auto const solver = make_solver(exec, Matrix(exec, A),
                                      {{"max_iterations", most}, {"preconditioner", "none"}});
      auto const first = solve(solver, b).report;
      if (first.reason != Reason::converged) continue;
      helped += first.attempts.size() > 1;
      auto const second = solve(solver, b).report;
      EXPECT_EQ(second.reason, Reason::converged) << second;
      for (int repeat = 0; repeat < 2; ++repeat)
        EXPECT_EQ(solve(solver, b).report.history, second.history);
    }
  if (is_host) {
    EXPECT_GT(helped, 0);
  }
}

TEST_F(Auto, LeavesOneOfTheTwoToTheUser) {
  HostCsr<double> const A = Solder::fem_poisson_2d<double>(30);
  Report const with_solver =
      expect_solved(A, {{"name", "gmres"}, {"preconditioner", "auto"}, {"restart", 20}});
  for (Attempt const& each : with_solver.attempts) EXPECT_EQ(each.solver, "gmres");
  Report const with_preconditioner = expect_solved(
      A, {{"name", "auto"}, {"preconditioner", Parameters{{"name", "fsai"}, {"k", 2}}}});
  for (Attempt const& each : with_preconditioner.attempts) EXPECT_EQ(each.preconditioner, "fsai");
  Report const listed = expect_solved(A, {{"candidates", "idr+jacobi gmres+ilu0"}});
  EXPECT_EQ(listed.attempts[0].solver, "idr");
  Report const cg = expect_solved(A, {{"name", "cg"}, {"preconditioner", "auto"}});
  EXPECT_EQ(cg.attempts[0].solver, "cg");
  EXPECT_THROW(make_solver(exec, Matrix(exec, tridiagonal(9, 1, 3, 2)),
                           {{"name", "cg"}, {"preconditioner", "auto"}}),
               std::invalid_argument);
  // A solver that is named has no preconditioner unless one is asked for.
  auto const plain = make_solver(exec, Matrix(exec, A), {{"name", "cg"}});
  EXPECT_TRUE(contains(plain.describe(), "preconditioner: none"));
  EXPECT_THROW(make_solver(exec, Matrix(exec, A), {{"restart", 5}}), std::invalid_argument);
  EXPECT_THROW(Solder::make_preconditioner(exec, Matrix(exec, A), {{"name", "auto"}}),
               std::invalid_argument);
}

TEST_F(Auto, GivesCgNoCycleThatIsNotSymmetric) {
  Matrix const A(exec, Solder::fem_poisson_2d<double>(30));
  for (Parameters const& amg : {Parameters{{"name", "amg"}, {"interpolation", "air"}},
                                Parameters{{"name", "amg"}, {"pre", 1}, {"post", 2}}}) {
    std::string const said = make_solver(exec, A, {{"preconditioner", amg}}).explain();
    EXPECT_FALSE(contains(said, "first: cg")) << said;
    EXPECT_TRUE(contains(said, "first: ")) << said;
  }
}

TEST_F(Auto, KeepsToItsLimits) {
  HostCsr<double> const A = tridiagonal(4000, 1, 0.01, -1);  // slow for all
  std::vector<double> const b = random_vector<double>(4000, 3);
  auto const few =
      solve(make_solver(exec, Matrix(exec, A),
                        {{"max_iterations", 25}, {"candidates", "idr+none gmres+none"}}),
            b)
          .report;
  EXPECT_EQ(few.reason, Reason::max_iterations) << few;
  EXPECT_EQ(few.iterations, 25);
  EXPECT_EQ(few.attempts.size(), 1u);
  EXPECT_TRUE(contains(few.detail, "max_iterations")) << few.detail;
  HostCsr<double> const indefinite = tridiagonal(400, -1, 1.2, -1);
  auto const rest =
      solve(make_solver(exec, Matrix(exec, indefinite),
                        {{"max_iterations", 30}, {"candidates", "cg+jacobi idr+none"}}),
            random_vector<double>(400, 3))
          .report;
  EXPECT_EQ(rest.reason, Reason::max_iterations) << rest;
  EXPECT_EQ(rest.iterations, 30);
  EXPECT_EQ(rest.attempts.size(), 2u);

  int most = 0;
  Solder::SolverInputs inputs;
  inputs.monitor = [&](Solder::Progress const& progress) {
    EXPECT_GE(progress.iteration, most);
    most = std::max(most, progress.iteration);
    if (progress.iteration >= 30) progress.stop();
  };
  auto const stopped =
      solve(make_solver(exec, Matrix(exec, A), {{"candidates", "idr+none gmres+none"}}, inputs), b)
          .report;
  EXPECT_EQ(stopped.reason, Reason::stopped);

  auto const late =
      solve(make_solver(exec, Matrix(exec, A),
                        {{"time_limit", 1e-9}, {"candidates", "idr+none gmres+none"}}),
            b)
          .report;
  EXPECT_EQ(late.reason, Reason::stopped);
  EXPECT_TRUE(contains(late.detail, "time_limit")) << late.detail;
  EXPECT_EQ(late.attempts.size(), 1u);
}

TEST_F(Auto, TakesColumnsAndBatches) {
  HostCsr<double> const A = tridiagonal(60, -1, 1.2, -1);
  auto const b = random_vector<double>(180, 3);
  auto const r = to_device(exec, b), x = to_device(exec, std::vector<double>(180));
  auto const reports = make_solver(exec, Matrix(exec, A), {})
                           .solve(Columns(r.data(), 60, 3), Columns(x.data(), 60, 3));
  ASSERT_EQ(reports.size(), 3u);
  auto const solution = to_host(exec, x);
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(reports[c].reason, Reason::converged) << reports[c];
    EXPECT_GT(reports[c].attempts.size(), 1u);
    // An attempt has the time of all columns and, where it has solved them, their largest residual.
    auto const& last = reports[c].attempts.back();
    double setups = 0;
    for (auto const& attempt : reports[c].attempts) setups += attempt.setup_seconds;
    EXPECT_GE(reports[c].setup_seconds, setups - reports[c].attempts[0].setup_seconds);
    EXPECT_GE(last.true_relative_residual, reports[c].true_relative_residual);
    std::vector<double> of_b, of_x;
    for (int i = 0; i < 60; ++i) {
      of_b.push_back(b[3 * i + c]);
      of_x.push_back(solution[3 * i + c]);
    }
    EXPECT_LE(residual(A, of_b, of_x), 1.001e-8);
  }

  Solder::HostBatch<double> systems;
  for (int size : {3, 8, 5}) systems.append(Solder::fem_poisson_2d<double>(size));
  Matrix const blocks(exec, systems.matrix);
  Solder::Batch<Exec> const batch(exec, systems.starts);
  auto const ones = to_device(exec, std::vector<double>(systems.matrix.rows, 1.0)),
             y = to_device(exec, std::vector<double>(systems.matrix.rows));
  auto const of_batch = make_solver(exec, blocks, {}).solve(ones, y, batch);
  ASSERT_EQ(of_batch.size(), 3u);
  for (Report const& report : of_batch) EXPECT_EQ(report.reason, Reason::converged);
  try {
    make_solver(exec, blocks, {{"preconditioner", "ilu0"}}).solve(ones, y, batch);
    ADD_FAILURE() << "no error";
  } catch (std::invalid_argument const& error) {
    EXPECT_TRUE(contains(error.what(), "solve batches")) << error.what();
  }
}

TEST_F(Auto, IsDescribedAndKnowsItsMemory) {
  Matrix const A(exec, Solder::fem_poisson_2d<double>(30));
  auto const solver = make_solver(exec, A, {});
  EXPECT_TRUE(contains(solver.describe(), "auto, number 1 of")) << solver.describe();
  EXPECT_TRUE(contains(solver.explain(), "900 rows")) << solver.explain();
  EXPECT_TRUE(contains(solver.explain(), "first: cg with")) << solver.explain();
  EXPECT_GE(solver.workspace_bytes(), 900 * sizeof(double));
  std::string const table = Solder::explain_solver(exec, A, {});
  EXPECT_TRUE(contains(table, "candidates, in this order")) << table;
  EXPECT_TRUE(contains(Solder::explain_solver(exec, A, {{"name", "cg"}}), "cg with none"));
}

}  // namespace
