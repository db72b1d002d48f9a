// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// name: auto: the table of candidates, the haste, and what make_solver() makes of them.
#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <compiled/candidates.hpp>
#include <compiled/watch.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solver.hpp>

namespace {

using namespace SolderTest;
using Solder::analyse;
using Solder::Analysis;
using Solder::Attempt;
using Solder::HostCsr;
using Solder::Machine;
using Solder::make_solver;
using Solder::Parameters;
using Solder::Reason;
using Solder::Report;
using Solder::Compiled::Candidate;
using Solder::Compiled::candidates_for;
using Solder::Compiled::Haste;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Solder::CsrMatrix<double, Exec>;

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// ---- The table ----

/// What analyse() would see of a mesh with so many rows.
Analysis mesh(std::int32_t n) {
  Analysis seen;
  seen.symmetry.is_square = seen.symmetry.is_finite = seen.symmetry.pattern = true;
  seen.symmetry.hermitian.difference = seen.symmetry.symmetric.difference = 0;
  seen.rows = {.rows = n, .nonzeros = 7 * std::int64_t(n), .shortest = 3, .longest = 7, .mean = 7};
  seen.diagonal = seen.row_sizes = seen.column_sizes = {.smallest = 6, .largest = 6, .zeros = 0};
  seen.dominant_rows = n;
  seen.dominance = 1;
  seen.off_diagonals = seen.opposite = 6 * std::int64_t(n);
  seen.lower = 3 * std::int64_t(n);
  return seen;
}
Analysis general(std::int32_t n) {
  Analysis seen = mesh(n);
  seen.symmetry.hermitian.difference = seen.symmetry.symmetric.difference = 1;
  return seen;
}
std::vector<std::string> names(std::vector<Candidate> const& candidates) {
  std::vector<std::string> all;
  for (Candidate const& candidate : candidates) all.push_back(candidate.name());
  return all;
}
bool is_among(std::string const& name, std::vector<std::string> const& all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

TEST(Candidates, OfADefiniteMatrixBeginWithCg) {
  for (bool const is_host : {true, false})
    for (std::int32_t const n : {1, 10, 1000, 100000, 10000000}) {
      auto const candidates = candidates_for(mesh(n), Machine{.is_host = is_host});
      EXPECT_EQ(candidates[0].solver, "cg") << n;
      EXPECT_TRUE(candidates[0].needs_definite);
      // Should it turn out to be indefinite, there are others.
      EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                              [](Candidate const& each) { return !each.needs_definite; }));
      for (Candidate const& each : candidates) {
        EXPECT_FALSE(each.because.empty());
        EXPECT_GT(each.iteration, 0);
        EXPECT_GE(each.likely, 1);
        EXPECT_TRUE(std::isfinite(each.promise()));
      }
    }
}

TEST(Candidates, OfALargeMeshBeginWithMultigridAndOfASmallOneWithout) {
  EXPECT_EQ(candidates_for(mesh(1000000), Machine{})[0].preconditioner, "amg");
  EXPECT_NE(candidates_for(mesh(100), Machine{})[0].preconditioner, "amg");
}

TEST(Candidates, OfADiagonallyDominantMatrixBeginWithJacobi) {
  Analysis seen = mesh(1000000);
  seen.dominance = 3;  // the condition number is 2 at most
  Candidate const first = candidates_for(seen, Machine{})[0];
  EXPECT_EQ(first.name(), "cg+jacobi");
  EXPECT_LE(first.likely, 14);
}

/// No other solver promises to be done before CG with the same preconditioner, and rows like hubs are
/// not for what would fill up.
TEST(Candidates, WithANamedPreconditionerAreJudgedWithThisOne) {
  for (std::int32_t const n : {200, 5000, 200000}) {
    auto const all = candidates_for(mesh(n), Machine{}, {.preconditioner = "jacobi"});
    EXPECT_EQ(all[0].name(), "cg+jacobi");
    for (Candidate const& each : all) EXPECT_GE(each.promise(), all[0].promise()) << each.name();
  }
  EXPECT_NE(candidates_for(mesh(200), Machine{}, {.preconditioner = "ilut"})[0].solver, "cg")
      << "ilut is not Hermitian";
}
TEST(Candidates, OfAnArrowHaveNoApproximateInverseAndNoMultigrid) {
  Analysis arrow = mesh(3000);
  arrow.rows.longest = 3000;
  for (std::string const& name : names(candidates_for(arrow, Machine{})))
    EXPECT_TRUE(name != "cg+fsai" && name != "cg+amg") << name;
}

TEST(Candidates, OfAnyOtherMatrixHaveNoCg) {
  Analysis indefinite = mesh(1000);
  indefinite.outsized = 1;
  for (Analysis const& seen : {general(1000), indefinite}) {
    auto const candidates = candidates_for(seen, Machine{});
    for (Candidate const& each : candidates) EXPECT_NE(each.solver, "cg");
    EXPECT_TRUE(is_among("bicgstab+ilu0", names(candidates)));
    EXPECT_TRUE(is_among("gmres+ilu0", names(candidates)));
  }
}

/// Where the most promising one does not do, its likes seldom do.
TEST(Candidates, GoFromTheMostPromisingToTheStrongOnes) {
  Analysis plain = mesh(5000);  // positive definite, as far as one can see, but no mesh
  plain.opposite = 0;
  auto const of_plain = names(candidates_for(plain, Machine{}));
  ASSERT_GT(of_plain.size(), 4u);
  EXPECT_EQ(of_plain[0].substr(0, 3), "cg+");
  EXPECT_EQ(of_plain[1], "gmres+ilut");
  EXPECT_TRUE(is_among("cg+amg", {of_plain.begin() + 2, of_plain.end()}));
  plain.rows.rows = plain.dominant_rows = 50000;
  EXPECT_EQ(names(candidates_for(plain, Machine{}))[1], "cg+ict");
  auto const of_general = names(candidates_for(general(5000), Machine{}));
  EXPECT_EQ(of_general[1], "gmres+ilut");
  // What is large is not factorised completely before all else has failed; what is huge, never.
  auto const is_complete = [](Candidate const& each) {
    return each.preconditioner_options.find("fill_factor") != nullptr &&
           each.because.find("nothing is left out") != std::string::npos;
  };
  for (std::int32_t const n : {5000, 50000, 500000}) {
    auto const all = candidates_for(general(n), Machine{});
    auto const found = std::find_if(all.begin(), all.end(), is_complete);
    EXPECT_EQ(found != all.end(), n < 100000) << n;
    EXPECT_EQ(found != all.end() && found + 1 == all.end(), n == 50000) << n;
    if (found == all.end()) continue;
    double const fill = *found->preconditioner_options.find("fill_factor")->as_real();
    EXPECT_LE(fill * double(general(n).rows.nonzeros), 1e8);
  }
}

TEST(Candidates, NeedTheDiagonalThatTheyDivideBy) {
  Analysis seen = general(1000);
  seen.diagonal.zeros = 1;
  for (Candidate const& each : candidates_for(seen, Machine{}))
    EXPECT_NE(each.preconditioner, "jacobi");
}

TEST(Candidates, AreRestrictedByWhatIsNamed) {
  for (Candidate const& each : candidates_for(general(1000), Machine{}, {.solver = "gmres"}))
    EXPECT_EQ(each.solver, "gmres");
  for (Candidate const& each : candidates_for(general(1000), Machine{}, {.preconditioner = "ilu0"}))
    EXPECT_EQ(each.preconditioner, "ilu0");
  EXPECT_EQ(names(candidates_for(mesh(1000), Machine{}, {.candidates = "gmres+ilu0, cg+amg"})),
            (std::vector<std::string>{"gmres+ilu0", "cg+amg"}));
  // Who asks for cg where it does not suit gets it.
  EXPECT_EQ(candidates_for(general(1000), Machine{}, {.solver = "cg"})[0].solver, "cg");
  for (Candidate const& each : candidates_for(mesh(1000), Machine{}, {.solver = "block_cg"}))
    EXPECT_EQ(each.solver, "block_cg");
  for (char const* const wrong : {"cg", "cg+ilu7", "sor+jacobi", " , "})
    EXPECT_THROW(candidates_for(mesh(1000), Machine{}, {.candidates = wrong}),
                 std::invalid_argument)
        << wrong;
}

TEST(Candidates, AreTheSameEveryTimeAndAreExplained) {
  auto const candidates = candidates_for(mesh(5000), Machine{});
  EXPECT_EQ(names(candidates), names(candidates_for(mesh(5000), Machine{})));
  std::string const text = explained(mesh(5000), candidates);
  for (Candidate const& each : candidates) {
    EXPECT_TRUE(has(text, each.name())) << text;
    EXPECT_TRUE(has(text, each.because)) << text;
  }
  EXPECT_TRUE(has(text, "5000 rows"));
}

// ---- Haste ----

/// The iteration at which it gives up a candidate whose residual falls by `factor` each; -1: never.
int gives_up(double factor, double next, double tolerance = 1e-8) {
  Haste haste;
  haste.begin(10, 1, next, tolerance);  // a set-up of ten iterations
  double residual = 1;
  for (int k = 0; k < 10000 && residual > tolerance; ++k, residual *= factor)
    if (haste.gives_up(k, residual)) return k;
  return -1;
}

TEST(Haste, LeavesWhatIsSlowWhenItHasCostAsMuchAsTheNextPromises) {
  EXPECT_EQ(gives_up(0.9999, 100), 90);
  EXPECT_EQ(gives_up(1.0, 100), 90);
  EXPECT_EQ(gives_up(0.9, 100), -1);   // 175 iterations: the rest is soon done
  EXPECT_EQ(gives_up(0.9999, 0), -1);  // there is no other
  EXPECT_EQ(gives_up(0.9999, 100, 0), -1);
  EXPECT_EQ(gives_up(0.9999, 1), 20);  // not before it can be judged
}

TEST(Haste, GoesByTheLatterHalfOfTheIterations) {
  Haste haste;
  haste.begin(0, 1, 100, 1e-8);
  bool left = false;
  for (int k = 0; k <= 140; ++k)  // nothing for 60 iterations, then a digit every ten
    left = left || haste.gives_up(k, k < 60 ? 1.0 : std::pow(10.0, -(k - 60) / 10.0));
  EXPECT_FALSE(left);
}

/// Looking less often leaves what is slow a twentieth later at most.
TEST(Haste, IsAskedAFewTimes) {
  for (double const factor : {0.9999, 1.0, 0.9, 0.98})
    for (double const next : {1.0, 100.0, 1000.0, 0.0}) {
      Haste haste;
      haste.begin(10, 1, next, 1e-8);
      int asked = 0, left = -1;
      for (int k = 0; k < 10000 && left < 0 && std::pow(factor, k) > 1e-8;) {
        ++asked;
        if (haste.gives_up(k, std::pow(factor, k))) left = k;
        EXPECT_GT(haste.next_look(k), k);
        k = haste.next_look(k);
      }
      int const wanted = gives_up(factor, next);
      SCOPED_TRACE(std::to_string(factor) + " " + std::to_string(next));
      EXPECT_EQ(left < 0, wanted < 0);
      EXPECT_GE(left, wanted);
      EXPECT_LE(left, 1.05 * wanted + 1);
      EXPECT_LE(asked, next == 0 ? 1 : 100);
    }
}

TEST(Watch, PausesUnlessAUserOrAClockIsToBeAsked) {
  using Solder::Compiled::Watch;
  Solder::AutoOptions options;
  auto const resumed = [&](Solder::Monitor const& user) {
    Watch watch(user, options);
    watch.begin_solve();
    watch.begin_attempt(0, 1, 500, true);
    Solder::Progress const progress{1, 1.0, 0.0};
    watch.listen(progress);
    return progress.resume;
  };
  EXPECT_EQ(resumed({}), 250);
  EXPECT_EQ(resumed([](Solder::Progress const&) {}), 0);
  options.time_limit = 10;
  EXPECT_EQ(resumed({}), 0);
}

// ---- make_solver ----

struct Auto : testing::Test {
  Exec exec;

  static HostCsr<double> tridiagonal(int n, double lower, double diagonal, double upper) {
    HostCsr<double> A{n, n, {0}, {}, {}};
    for (int i = 0; i < n; ++i) {
      auto const add = [&](int j, double value) {
        if (j < 0 || j >= n || value == 0) return;
        A.columns.push_back(j);
        A.values.push_back(value);
      };
      add(i - 1, lower);
      add(i, diagonal);
      add(i + 1, upper);
      A.row_offsets.push_back(std::int64_t(A.columns.size()));
    }
    return A;
  }
  struct Solved {
    Report report;
    std::vector<double> x;
  };
  template <class Solver>
  Solved solve(Solver const& solver, std::vector<double> const& b, std::vector<double> guess = {}) {
    guess.resize(b.size());
    auto const r = to_device(exec, b), x = to_device(exec, guess);
    Report const report = solver.solve(r, x);
    return {report, to_host(exec, x)};
  }
  /// ||b - A x|| / ||b||, by a loop.
  static double residual(HostCsr<double> const& A, std::vector<double> const& b,
                         std::vector<double> const& x) {
    long double squares = 0, of_b = 0;
    for (int i = 0; i < A.rows; ++i) {
      long double r = b[i];
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        r -= (long double)A.values[k] * x[A.columns[k]];
      squares += r * r;
      of_b += (long double)b[i] * b[i];
    }
    return double(std::sqrt(squares / of_b));
  }
  /// Solves with all defaults; what is claimed must be so.
  Report expect_solved(HostCsr<double> const& host, Parameters const& parameters = {}) {
    auto const b = random_vector<double>(host.rows, 3);
    auto const solver = make_solver(exec, Matrix(exec, host), parameters);
    auto const [report, x] = solve(solver, b);
    EXPECT_EQ(report.reason, Reason::converged) << report;
    EXPECT_LE(residual(host, b, x), 1.001e-8);
    EXPECT_FALSE(report.attempts.empty());
    int iterations = 0;
    for (Attempt const& attempt : report.attempts) iterations += attempt.iterations;
    EXPECT_EQ(iterations, report.iterations);
    EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
    EXPECT_EQ(report.attempts.back().reason, report.reason);
    return report;
  }
};

TEST_F(Auto, SolvesEveryKindOfMatrix) {
  EXPECT_EQ(expect_solved(Solder::fem_poisson_2d<double>(60)).attempts[0].solver, "cg");
  EXPECT_EQ(expect_solved(Solder::poisson_3d_7pt<double>(12)).attempts.size(), 1u);
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

TEST_F(Auto, SaysTheTruthOfASingularMatrix) {
  // Neumann's Laplacian: its null space is constant.
  HostCsr<double> A = tridiagonal(50, -1, 2, -1);
  A.values.front() = A.values.back() = 1;
  std::vector<double> b(50, 1.0);  // not in its range
  auto const [report, x] = solve(make_solver(exec, Matrix(exec, A), {}), b);
  EXPECT_NE(report.reason, Reason::converged);
  EXPECT_NEAR(residual(A, b, x), report.true_relative_residual, 1e-6);
  EXPECT_GT(report.attempts.size(), 1u);
  EXPECT_TRUE(has(report.detail, "candidates that were tried")) << report.detail;
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
  EXPECT_TRUE(has(report.detail, "A is singular, whatever its values are")) << report.detail;
  EXPECT_TRUE(has(solver.explain(), "singular, whatever its values are: 1 row has no column left"))
      << solver.explain();
  EXPECT_TRUE(has(advice(report), "which rows of A lack entries")) << advice(report);
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
  EXPECT_TRUE(has(report.detail, "x is that of gmres+none, the best that any had"))
      << report.detail;
}

TEST_F(Auto, RefusesCandidatesThatThereAreNotBeforeItLooksAtA) {
  try {
    Solder::Compiled::read_solver(
        {{"candidates", "cg+amg, gmres+iluo block_cg+jacobi cg"}, {"tolerance", -1.0}});
    ADD_FAILURE() << "no error";
  } catch (std::invalid_argument const& error) {
    std::string const what = error.what();
    for (char const* const part :
         {"candidates: 'gmres+iluo' names no preconditioner: none, jacobi,", "did you mean ilu0?",
          "candidates: 'block_cg+jacobi' names no solver that auto knows: cg, bicgstab, gmres or "
          "idr",
          "candidates: 'cg' is no solver+preconditioner", "tolerance"})
      EXPECT_TRUE(has(what, part)) << part << " is not in\n" << what;
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
  EXPECT_TRUE(has(report.attempts[0].ended, "it has taken longer than the")) << report;
  EXPECT_LT(report.attempts[0].setup_seconds, 0.5);
  EXPECT_EQ(report.reason, Reason::stopped);
  EXPECT_EQ(make_solver(exec, Matrix(exec, A),
                        {{"time_limit", 1000}, {"candidates", "gmres+ilut idr+none"}})
                .name(),
            "Solder::Gmres");
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
  EXPECT_TRUE(has(plain.describe(), "preconditioner: none"));
  EXPECT_THROW(make_solver(exec, Matrix(exec, A), {{"restart", 5}}), std::invalid_argument);
  EXPECT_THROW(Solder::make_preconditioner(exec, Matrix(exec, A), {{"name", "auto"}}),
               std::invalid_argument);
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
  EXPECT_TRUE(has(few.detail, "max_iterations")) << few.detail;
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
  EXPECT_TRUE(has(late.detail, "time limit")) << late.detail;
  EXPECT_EQ(late.attempts.size(), 1u);
}

TEST_F(Auto, TakesColumnsAndBatches) {
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight, Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
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
    EXPECT_TRUE(has(error.what(), "take batches")) << error.what();
  }
}

TEST_F(Auto, IsDescribedAndKnowsItsMemory) {
  Matrix const A(exec, Solder::fem_poisson_2d<double>(30));
  auto const solver = make_solver(exec, A, {});
  EXPECT_TRUE(has(solver.describe(), "auto, number 1 of")) << solver.describe();
  EXPECT_TRUE(has(solver.explain(), "900 rows")) << solver.explain();
  EXPECT_TRUE(has(solver.explain(), "taken: cg with")) << solver.explain();
  EXPECT_GE(solver.workspace_bytes(), 900 * sizeof(double));
  std::string const table = Solder::explain_solver(exec, A, {});
  EXPECT_TRUE(has(table, "candidates, in this order")) << table;
  EXPECT_TRUE(has(Solder::explain_solver(exec, A, {{"name", "cg"}}), "cg with none"));
}

// ---- What advice() says is followed ----

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
  ASSERT_TRUE(
      has(advice(report), "more iterations, or take a stronger preconditioner, or name: auto"));
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
  ASSERT_TRUE(has(advice(report), "take gmres, bicgstab or idr, or name: auto"));
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
    ASSERT_TRUE(has(advice(report), "gmres, bicgstab or idr with this one"));
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
  ASSERT_TRUE(has(advice(report), "another method or preconditioner, or name: auto"));
  EXPECT_EQ(by(A, {}, b).reason, Reason::converged);
}

TEST_F(Advice, OfAToleranceBeyondRounding) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(A.rows, 3);
  Report const report = by(A, {{"name", "cg"}, {"tolerance", 1e-18}}, b);
  ASSERT_EQ(report.reason, Reason::stagnated) << report;
  std::string const text = advice(report), above = "a tolerance above ";
  ASSERT_TRUE(has(text, above)) << text;
  double const tolerance = std::stod(text.substr(text.find(above) + above.size()));
  EXPECT_GT(tolerance, 1e-18);
  EXPECT_LT(tolerance, 1e-10);
  EXPECT_EQ(by(A, {{"name", "cg"}, {"tolerance", tolerance}}, b).reason, Reason::converged);
}

TEST_F(Advice, OfNoNumbers) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(8);
  std::vector<double> b(A.rows, 1.0);
  b[3] = std::numeric_limits<double>::infinity();
  Report const report = by(A, {{"name", "cg"}}, b);
  ASSERT_EQ(report.reason, Reason::not_finite);
  ASSERT_TRUE(has(advice(report), "a NaN or an infinity in A, b and the guess"));
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
  ASSERT_TRUE(has(advice(report), "a longer restart of gmres, or name: auto"));
  EXPECT_EQ(by(A, {{"name", "gmres"}, {"restart", 40}}, b).reason, Reason::converged);
}

}  // namespace
