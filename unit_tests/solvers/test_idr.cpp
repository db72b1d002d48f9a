// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDR(s) against the textbook's IDR(s) and Gaussian elimination, for every scalar, on the default
// space; the other spaces are met in test_idr_reasons.cpp.
#include "basics.hpp"
#include "idr_oracle.hpp"
#include "problems.hpp"

#include <algorithm>

#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;

template <class Scalar>
constexpr bool is_wide = epsilon<Scalar> < 1e-10;

template <class Scalar>
std::vector<Problem<Scalar>> more_problems() {
  auto list = problems<Scalar>();
  list.push_back({"fem_poisson_2d", Solder::fem_poisson_2d<Scalar>(16)});
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back({"magnetic_laplacian_2d", Solder::magnetic_laplacian_2d<Scalar>(16, 0.1)});
  return list;
}

/// The first residuals, before rounding has grown.
template <class Scalar>
void expect_same_start(std::vector<double> const& history, std::vector<double> const& expected) {
  std::size_t const steps = is_wide<Scalar> ? 20 : 5;
  double const share = is_wide<Scalar> ? 1e-6 : 1e-3;
  for (std::size_t k = 0; k <= steps && k < expected.size() && k < history.size(); ++k)
    EXPECT_NEAR(history[k], expected[k], share * expected[k] + 2000 * epsilon<Scalar>)
        << "iteration " << k;
}

template <class C>
struct IdrOn : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;

  Solved<Scalar> solved(HostCsr<Scalar> const& A, IdrOptions const& options, bool jacobi = true,
                        unsigned seed = 31) {
    return solve(exec, A, jacobi, random_vector<Scalar>(A.rows, seed), std::vector<Scalar>(A.rows),
                 options);
  }
};
TYPED_TEST_SUITE(IdrOn, CasesOfDefault, TypeName);

TYPED_TEST(IdrOn, GoesAsTheTextbooksIdrDoes) {
  using Scalar = typename TypeParam::Scalar;
  int count = 0;
  for (auto const& [name, A] : more_problems<Scalar>()) {
    auto const b = random_vector<Scalar>(A.rows, 31);
    for (int const s : {1, 2, 4, 8, 9, 32}) {
      for (bool const jacobi : {false, true}) {
        for (bool const smoothing : {false, true}) {
          SCOPED_TRACE(name + ", s = " + std::to_string(s) + (jacobi ? ", jacobi" : "") +
                       (smoothing ? ", smoothed" : ""));
          auto const x0 =
              ++count % 3 == 0 ? random_vector<Scalar>(A.rows, 32) : std::vector<Scalar>(A.rows);
          auto options =
              with_limits(idr(s, smoothing), reachable<Scalar>, 1000, every_runner[count % 4]);
          auto const oracle = plain_idr(A, inverse_if(jacobi, A), b, x0, options);
          auto const got = solve(this->exec, A, jacobi, b, x0, options);
          EXPECT_EQ(got.report.reason, Reason::converged) << got.report.detail;
          // In single precision other orders of summation are other iterations where s is large.
          if (is_wide<Scalar> || s <= 8) {
            EXPECT_NEAR(first_claim(got.report.history, options.tolerance), oracle.iterations(),
                        std::max(2.0, (is_wide<Scalar> ? 0.05 : 0.2) * oracle.iterations()));
          }
          expect_same_start<Scalar>(got.report.history, oracle.history);
          expect_true_report(A, b, got, options);
          EXPECT_EQ(got.report.relative_residual, got.report.history.back());
          EXPECT_EQ(got.report.runner, options.runner);
          EXPECT_EQ(got.report.form, smoothing ? "smoothed" : "biorthogonal");
          EXPECT_EQ(got.report.detail, "");
        }
      }
    }
  }
}

/// The x too, wherever in a cycle the limit ends the solve.
TYPED_TEST(IdrOn, AnIterateIsTheTextbooksIterate) {
  using Scalar = typename TypeParam::Scalar;
  for (auto const& [name, A] : problems<Scalar>()) {
    auto const b = random_vector<Scalar>(A.rows, 33), x0 = random_vector<Scalar>(A.rows, 34);
    for (int const s : {1, 3, 9})
      for (int iterations = 0; iterations <= s + 5; ++iterations)
        for (bool const smoothing : {false, true}) {
          bool const jacobi = iterations % 2 == 0;
          SCOPED_TRACE(name + ", s = " + std::to_string(s) + (smoothing ? ", smoothed, " : ", ") +
                       std::to_string(iterations) + " iterations");
          auto options =
              with_limits(idr(s, smoothing), 1e-20, iterations, every_runner[(iterations + s) % 4]);
          options.keep_guess = false;
          auto const got = solve(this->exec, A, jacobi, b, x0, options);
          auto const oracle = plain_idr(A, inverse_if(jacobi, A), b, x0, options);
          EXPECT_EQ(got.report.reason, Reason::max_iterations);
          EXPECT_EQ(got.report.iterations, iterations);
          double difference = 0, size = 0;
          for (std::int32_t i = 0; i < A.rows; ++i) {
            difference += std::norm(plain(got.x[i]) - Complex(oracle.x[i]));
            size += std::norm(Complex(oracle.x[i]));
          }
          EXPECT_LE(std::sqrt(difference / size), 1e5 * epsilon<Scalar>);
          expect_true_report(A, b, got, options);
        }
  }
}

TYPED_TEST(IdrOn, SolvesWhatEliminationSolves) {
  using Scalar = typename TypeParam::Scalar;
  std::vector<HostCsr<Scalar>> list{Solder::convection_diffusion_2d<Scalar>(8),
                                    random_nonsymmetric<Scalar>(60, 7, 5)};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back(Solder::helmholtz_2d<Scalar>(9, 3, 0.5));
  for (auto const& A : list) {
    auto const expected = dense_solve(A, random_vector<Scalar>(A.rows, 35));
    in_every_way<IdrOptions>(reachable<Scalar>, 1000, [&](IdrOptions const& options, bool jacobi) {
      auto const s = this->solved(A, options, jacobi, 35);
      // Condition numbers are below 100.
      EXPECT_LE(relative_difference(s.x, expected), 100 * reachable<Scalar>);
    });
  }
}

TYPED_TEST(IdrOn, SolvesAnewWithTheSameBits) {
  using Scalar = typename TypeParam::Scalar;
  expect_solves_anew_in_every_way<IdrOptions>(this->exec, problems<Scalar>().back().A,
                                              reachable<Scalar>);
}

TYPED_TEST(IdrOn, RunnersGoTheSameWay) {
  using Scalar = typename TypeParam::Scalar;
  for (auto const& [name, A] : problems<Scalar>()) {
    SCOPED_TRACE(name);
    std::vector<double> first;
    std::string form;
    in_every_way<IdrOptions>(reachable<Scalar>, 1000, [&](IdrOptions const& options, bool jacobi) {
      if (!jacobi) return;
      auto const s = this->solved(A, options);
      EXPECT_EQ(s.report.reason, Reason::converged);
      if (name_of(options) != form) {
        form = name_of(options);
        first = s.report.history;
      }
      expect_same_start<Scalar>(s.report.history, first);
    });
  }
}

TYPED_TEST(IdrOn, TheSeedDecides) {
  using Scalar = typename TypeParam::Scalar;
  auto const A = problems<Scalar>()[0].A;
  for (int const s : {1, 4, 9}) {
    auto options = with_limits(idr(s), reachable<Scalar>, 1000, Runner::launch);
    std::vector<std::vector<double>> histories;
    for (std::uint64_t const seed : {1ull, 2ull, 3ull, 0ull, ~0ull, 1ull}) {
      options.seed = seed;
      auto const got = this->solved(A, options);
      EXPECT_EQ(got.report.reason, Reason::converged);
      histories.push_back(got.report.history);
    }
    for (std::size_t i = 0; i + 1 < histories.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GT(std::abs(histories[i][3] - histories[j][3]), 1e-4 * histories[i][3])
            << "s = " << s << ", seeds " << i << " and " << j;
    EXPECT_TRUE(same_bits(histories.front(), histories.back()));
    EXPECT_TRUE(
        same_bits(this->solved(A, with_limits(idr(s), reachable<Scalar>, 1000, Runner::launch))
                      .report.history,
                  histories.front()))
        << "the default is 1";
  }
}

TYPED_TEST(IdrOn, SmoothedResidualsNeverGrow) {
  using Scalar = typename TypeParam::Scalar;
  bool plain_one_grows = false;
  for (auto const& [name, A] : more_problems<Scalar>())
    for (int const s : {1, 2, 4, 8, 9})
      for (bool const jacobi : {false, true}) {
        SCOPED_TRACE(name + ", s = " + std::to_string(s));
        auto const run = [&](bool smoothing) {
          return this->solved(
              A, with_limits(idr(s, smoothing), reachable<Scalar>, 1000, Runner::launch), jacobi);
        };
        auto const smooth = run(true);
        auto const rough = run(false).report.history;
        auto const& history = smooth.report.history;
        // But it may begin anew, from the truth, where it has claimed the end.
        for (std::size_t k = 1; k < history.size() && history[k - 1] > reachable<Scalar>; ++k)
          EXPECT_LE(history[k], history[k - 1] * (1 + 1e-12)) << "iteration " << k;
        plain_one_grows = plain_one_grows || !std::is_sorted(rough.rbegin(), rough.rend());
        // x is the one that this residual is of.
        auto const b = random_vector<Scalar>(A.rows, 31);
        auto const [relative, rounding] = true_residual(A, b, smooth.x);
        EXPECT_NEAR(relative, history.back(), 100 * rounding + 1e-12 * relative);
        EXPECT_LE(history.size(), rough.size());
      }
  EXPECT_TRUE(plain_one_grows) << "there was nothing to smooth";
}

TYPED_TEST(IdrOn, ToleranceZeroRunsEveryIteration) {
  using Scalar = typename TypeParam::Scalar;
  // Far beyond the attainable accuracy; where every residual is zero from the first iterations on;
  // and where the method breaks down.
  HostCsr<Scalar> const matrices[] = {
      random_nonsymmetric<Scalar>(100, 5, 6), diagonal(std::vector<Scalar>(100, 2)),
      sparse<Scalar>({{1, 1}, {-1, 1}}), sparse<Scalar>({{0, 1}, {-1, 0}})};
  for (auto const& A : matrices) {
    SCOPED_TRACE(A.rows);
    auto const b = random_vector<Scalar>(A.rows, 36);
    bool const has_diagonal = std::abs(plain(inverse_diagonal(A)[0])) > 0;
    for (int const iterations : {0, 1, 16, 137})
      in_every_way<IdrOptions>(0, iterations, [&](IdrOptions const& options, bool jacobi) {
        if (jacobi && !has_diagonal) return;
        auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::max_iterations) << s.report.detail;
        EXPECT_EQ(s.report.iterations, iterations);
        EXPECT_EQ(s.report.history.size(), std::size_t(iterations) + 1);
        auto const [relative, rounding] = true_residual(A, b, s.x);
        EXPECT_NEAR(s.report.true_relative_residual, relative, rounding);
      });
  }
}

TYPED_TEST(IdrOn, NeverClaimsWhatTheResidualDenies) {
  using Scalar = typename TypeParam::Scalar;
  int converged = 0, other = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    // A condition number of up to 10^(4 decades).
    auto A = random_nonsymmetric<Scalar>(40 + seed % 50, 5 + seed % 4, seed);
    auto const exponents = random_vector<double>(A.rows, seed + 1);
    std::vector<double> scales;
    for (double const e : exponents)
      scales.push_back(std::pow(10.0, (seed % 6) * (is_wide<Scalar> ? 0.8 : 0.4) * e));
    scale_both_sides(A, scales);
    auto const b = random_vector<Scalar>(A.rows, seed + 2);
    auto const options =
        with_limits(idr(1 + seed % 10, seed % 3 == 0),
                    std::pow(10.0, (is_wide<Scalar> ? -5.0 : -2.0) - 2.0 * (seed % 5)), 700,
                    every_runner[seed % 4]);
    for (bool const jacobi : {false, true}) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      expect_true_report(A, b, s, options);
      ++(s.report.reason == Reason::converged ? converged : other);
      EXPECT_NE(s.report.reason, Reason::not_finite) << s.report.detail;
    }
  }
  // Both outcomes must have been met for this test to say anything.
  EXPECT_GE(converged, 20);
  EXPECT_GE(other, 10);
}

TYPED_TEST(IdrOn, AResidualThatDriftedIsReplaced) {
  using Scalar = typename TypeParam::Scalar;
  // From a guess this large the rounding of the first updates stays in the true residual for good,
  // while the recursive one falls below any tolerance.
  auto const A = problems<Scalar>()[2].A;
  auto const b = random_vector<Scalar>(A.rows, 51);
  auto x0 = random_vector<Scalar>(A.rows, 52);
  double const size = is_wide<Scalar> ? 1e9 : 1e5;
  for (auto& value : x0) value *= static_cast<typename Solder::ScalarTraits<Scalar>::Real>(size);
  int textbooks[2] = {};
  in_every_way<IdrOptions>(reachable<Scalar>, 3000, [&](IdrOptions const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, x0, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    expect_true_report(A, b, s, options);
    // It knows nothing of runners: one for all of them.
    if (options.runner == every_runner[0])
      textbooks[jacobi] = plain_idr(A, inverse_if(jacobi, A), b, x0, options).iterations();
    EXPECT_GT(s.report.iterations, textbooks[jacobi])
        << "this system does not need the replacement";
  });
}

TYPED_TEST(IdrOn, EntriesHugeAndSmall) {
  using Scalar = typename TypeParam::Scalar;
  expect_convergence_whatever_the_size<IdrOptions>(
      this->exec, problems<Scalar>()[2].A, is_wide<Scalar> ? 1e40 : 1e12, reachable<Scalar>);
}

/// Where s is more than the rows it is as many as those.
TYPED_TEST(IdrOn, FewerRowsThanATeamHasThreads) {
  using Scalar = typename TypeParam::Scalar;
  for (int const n : {1, 2, 3, 31, 33, 257}) {
    SCOPED_TRACE(n);
    auto const A = random_nonsymmetric<Scalar>(n, std::min(n, 5), 7);
    auto const b = random_vector<Scalar>(n, 54);
    in_every_way<IdrOptions>(reachable<Scalar>, 1000, [&](IdrOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(n), options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      expect_true_report(A, b, s, options);
      if (options.shadow_dimension >= n && n < 9) {
        EXPECT_LE(s.report.iterations, n);  // all of the space
      }
    });
  }
}

}  // namespace
