// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CG against textbook CG and Gaussian elimination, for every space and scalar.
#include "basics.hpp"
#include "cg.hpp"

#include <algorithm>

#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;

template <class Scalar>
struct Problem {
  std::string name;
  HostCsr<Scalar> A;
};

/// Well-conditioned systems of a few hundred unknowns.
template <class Scalar>
std::vector<Problem<Scalar>> problems() {
  std::vector<Problem<Scalar>> list{{"fem_poisson_2d", Solder::fem_poisson_2d<Scalar>(23)},
                                    {"poisson_3d_7pt", Solder::poisson_3d_7pt<Scalar>(8)},
                                    {"random_spd", Solder::random_spd<Scalar>(300, 9, 1)}};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back({"magnetic_laplacian_2d", Solder::magnetic_laplacian_2d<Scalar>(17, 0.13)});
  return list;
}

/// A tolerance that plain CG reaches in the scalar's own precision.
template <class Scalar>
constexpr double reachable = epsilon<Scalar> < 1e-10 ? 1e-10 : 1e-4;

template <class C>
struct CgOn : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;
};
TYPED_TEST_SUITE(CgOn, AllCases, TypeName);

TYPED_TEST(CgOn, GoesAsTextbookCgDoes) {
  using Scalar = typename TypeParam::Scalar;
  double const tolerance = reachable<Scalar>;
  for (auto const& [name, A] : problems<Scalar>()) {
    SCOPED_TRACE(name);
    auto const b = random_vector<Scalar>(A.rows, 31);
    for (bool const guess : {false, true}) {
      auto const x0 = guess ? random_vector<Scalar>(A.rows, 32) : std::vector<Scalar>(A.rows);
      PlainCg<Scalar> plain_runs[2];
      for (int j : {0, 1})
        plain_runs[j] =
            plain_cg(A, j ? inverse_diagonal(A) : std::vector<Scalar>{}, b, x0, tolerance, 1000);
      in_every_way<CgOptions>(tolerance, 1000, [&](CgOptions const& options, bool jacobi) {
        auto const s = solve(this->exec, A, jacobi, b, x0, options);
        auto const& oracle = plain_runs[jacobi];
        EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
        EXPECT_NEAR(s.report.iterations, oracle.iterations, 0.05 * oracle.iterations + 1);
        expect_true_report(A, b, s, options);
        EXPECT_EQ(s.report.relative_residual, s.report.history.back());
        EXPECT_NEAR(s.report.history.front(), true_residual(A, b, x0).relative,
                    10 * true_residual(A, b, x0).rounding);
        EXPECT_EQ(s.report.runner, runs_by<typename TypeParam::Exec>(options));
        EXPECT_EQ(s.report.detail, "");
      });
    }
  }
}

TYPED_TEST(CgOn, AnIterateIsTextbookCgsIterate) {
  using Scalar = typename TypeParam::Scalar;
  auto const list = problems<Scalar>();
  auto const& A = list.back().A;
  auto const b = random_vector<Scalar>(A.rows, 33), x0 = random_vector<Scalar>(A.rows, 34);
  for (int const iterations : {1, 2, 7}) {
    in_every_way<CgOptions>(
        reachable<Scalar>, iterations, [&](CgOptions const& options, bool jacobi) {
          auto const s = solve(this->exec, A, jacobi, b, x0, options);
          auto const oracle = plain_cg(A, jacobi ? inverse_diagonal(A) : std::vector<Scalar>{}, b,
                                       x0, reachable<Scalar>, iterations);
          EXPECT_EQ(s.report.reason, Reason::max_iterations);
          EXPECT_EQ(s.report.iterations, iterations);
          double difference = 0;
          for (std::int32_t i = 0; i < A.rows; ++i)
            difference += std::norm(plain(s.x[i]) - plain(oracle.x[i]));
          EXPECT_LE(std::sqrt(difference), 200 * epsilon<Scalar> * norm(oracle.x))
              << iterations << " iterations";
          expect_true_report(A, b, s, options);
        });
  }
}

TYPED_TEST(CgOn, SolvesWhatEliminationSolves) {
  using Scalar = typename TypeParam::Scalar;
  std::vector<HostCsr<Scalar>> list{Solder::fem_poisson_2d<Scalar>(9),
                                    Solder::random_spd<Scalar>(60, 7, 5)};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back(Solder::magnetic_laplacian_2d<Scalar>(9, 0.21));
  for (auto const& A : list) {
    auto const b = random_vector<Scalar>(A.rows, 35);
    auto const expected = dense_solve(A, b);
    in_every_way<CgOptions>(reachable<Scalar>, 1000, [&](CgOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      // Condition numbers are below 100.
      EXPECT_LE(relative_difference(s.x, expected), 100 * reachable<Scalar>);
    });
  }
}

TYPED_TEST(CgOn, SolvesAnewWithTheSameBits) {
  using Scalar = typename TypeParam::Scalar;
  expect_solves_anew_in_every_way<CgOptions>(this->exec, problems<Scalar>().back().A,
                                             reachable<Scalar>);
}

TYPED_TEST(CgOn, ToleranceZeroRunsEveryIteration) {
  using Scalar = typename TypeParam::Scalar;
  // Far beyond the attainable accuracy, and where every residual is zero from the first iteration
  // on.
  HostCsr<Scalar> const matrices[] = {Solder::random_spd<Scalar>(100, 5, 6),
                                      diagonal(std::vector<Scalar>(50, 2))};
  for (auto const& A : matrices) {
    auto const b = random_vector<Scalar>(A.rows, 36);
    for (int const iterations : {0, 1, 16, 137}) {
      in_every_way<CgOptions>(0, iterations, [&](CgOptions const& options, bool jacobi) {
        auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::max_iterations) << s.report.detail;
        EXPECT_EQ(s.report.iterations, iterations);
        EXPECT_EQ(s.report.history.size(), std::size_t(iterations) + 1);
        auto const [relative, rounding] = true_residual(A, b, s.x);
        EXPECT_NEAR(s.report.true_relative_residual, relative, rounding);
      });
    }
  }
}

/// Positive definite, with a condition number of up to 10^(4 decades).
template <class Scalar>
HostCsr<Scalar> ill_conditioned(unsigned seed, double decades) {
  HostCsr<Scalar> A;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    A = Solder::magnetic_laplacian_2d<Scalar>(7 + seed % 5, 0.01 * seed);
  else
    A = Solder::random_spd<Scalar>(40 + seed % 50, 5 + seed % 4, seed);
  auto const exponents = random_vector<double>(A.rows, seed + 1);
  std::vector<double> scales;
  for (double const e : exponents) scales.push_back(std::pow(10.0, decades * e));
  scale_both_sides(A, scales);
  return A;
}

TYPED_TEST(CgOn, NeverClaimsWhatTheResidualDenies) {
  using Scalar = typename TypeParam::Scalar;
  int converged = 0, other = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    auto const A =
        ill_conditioned<Scalar>(seed, (seed % 6) * (epsilon<Scalar> < 1e-10 ? 0.8 : 0.4));
    auto const b = random_vector<Scalar>(A.rows, seed + 2);
    CgOptions options;
    options.tolerance = std::pow(10.0, (epsilon<Scalar> < 1e-10 ? -5.0 : -2.0) - 2.0 * (seed % 5));
    options.max_iterations = 2000;
    options.form = seed % 2 ? CgForm::classical : CgForm::pipelined;
    options.runner = every_runner[seed % 4];
    for (bool const jacobi : {false, true}) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      expect_true_report(A, b, s, options);
      ++(s.report.reason == Reason::converged ? converged : other);
      EXPECT_NE(s.report.reason, Reason::not_finite) << s.report.detail;
      EXPECT_NE(s.report.reason, Reason::breakdown) << s.report.detail;
      EXPECT_NE(s.report.reason, Reason::indefinite_preconditioner) << s.report.detail;
    }
  }
  // Both outcomes must have been met for this test to say anything.
  EXPECT_GE(converged, 20);
  EXPECT_GE(other, 10);
}

TYPED_TEST(CgOn, AResidualThatDriftedIsReplaced) {
  using Scalar = typename TypeParam::Scalar;
  // From a guess this large the rounding of the first updates stays in the true residual for good,
  // while the recursive one falls below any tolerance.
  auto const list = problems<Scalar>();
  auto const& A = list.back().A;
  auto const b = random_vector<Scalar>(A.rows, 51);
  auto x0 = random_vector<Scalar>(A.rows, 52);
  double const size = epsilon<Scalar> < 1e-10 ? 1e9 : 1e5;
  for (auto& entry : x0) entry *= static_cast<typename Solder::ScalarTraits<Scalar>::Real>(size);
  double const tolerance = reachable<Scalar>;
  in_every_way<CgOptions>(tolerance, 3000, [&](CgOptions const& options, bool jacobi) {
    auto const oracle =
        plain_cg(A, jacobi ? inverse_diagonal(A) : std::vector<Scalar>{}, b, x0, tolerance, 3000);
    ASSERT_LE(oracle.residual, tolerance);
    ASSERT_GT(true_residual(A, b, oracle.x).relative, 5 * tolerance)
        << "this system does not need the replacement";
    auto const s = solve(this->exec, A, jacobi, b, x0, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_GT(s.report.iterations, oracle.iterations);
    expect_true_report(A, b, s, options);
  });
}

TYPED_TEST(CgOn, EntriesHugeAndSmall) {
  using Scalar = typename TypeParam::Scalar;
  expect_convergence_whatever_the_size<CgOptions>(this->exec, problems<Scalar>().back().A,
                                                  epsilon<Scalar> < 1e-10 ? 1e40 : 1e15,
                                                  reachable<Scalar>);
}

TYPED_TEST(CgOn, FewerRowsThanATeamHasThreads) {
  using Scalar = typename TypeParam::Scalar;
  for (int const n : {1, 2, 3, 31, 33, 257}) {
    auto const A = Solder::random_spd<Scalar>(n, std::min(n, 5), 7);
    auto const b = random_vector<Scalar>(n, 54);
    in_every_way<CgOptions>(reachable<Scalar>, 1000, [&](CgOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(n), options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      EXPECT_LE(s.report.iterations, n == 1 ? 1 : n + 1);
      expect_true_report(A, b, s, options);
    });
  }
}

}  // namespace
