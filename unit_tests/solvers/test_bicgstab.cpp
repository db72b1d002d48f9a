// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BiCGStab against textbook BiCGStab and Gaussian elimination, for every scalar, on the default
// space; the other spaces are met in test_bicgstab_reasons.cpp.
#include "basics.hpp"
#include "bicgstab.hpp"
#include "problems.hpp"

#include <algorithm>

namespace {

using namespace SolderTest;

template <class Scalar>
struct PlainBiCgStab {
  std::vector<Scalar> x;
  int iterations = 0;
  double residual = 0;  ///< of the recursion, relative
};

/// Textbook right-preconditioned BiCGStab (van der Vorst 1992), no safeguards; `inverse` is empty
/// or 1 / diag(A).
template <class Scalar>
PlainBiCgStab<Scalar> plain_bicgstab(HostCsr<Scalar> const& A, std::vector<Scalar> const& inverse,
                                     std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                                     double tolerance, int max_iterations) {
  std::size_t const n = b.size();
  auto const preconditioned = [&](std::vector<Scalar> z) {
    if (!inverse.empty())
      for (std::size_t i = 0; i < n; ++i) z[i] *= inverse[i];
    return z;
  };
  auto const scalar = [](Complex const& s) { return entry<Scalar>(s.real(), s.imag()); };
  PlainBiCgStab<Scalar> run;
  run.x = x0;
  auto r = b;
  auto const Ax = multiply(A, x0);
  for (std::size_t i = 0; i < n; ++i) r[i] -= Ax[i];
  auto const shadow = r;
  auto p = r;
  Complex rho = inner(shadow, r);
  double const norm_b = norm(b);
  for (run.residual = norm(r) / norm_b; run.residual > tolerance && run.iterations < max_iterations;
       ++run.iterations) {
    auto const p_hat = preconditioned(p);
    auto const v = multiply(A, p_hat);
    Complex const alpha = rho / inner(shadow, v);
    auto s = r;
    for (std::size_t i = 0; i < n; ++i) s[i] -= scalar(alpha) * v[i];
    auto const s_hat = preconditioned(s);
    auto const t = multiply(A, s_hat);
    Complex const omega = inner(t, s) / inner(t, t);
    for (std::size_t i = 0; i < n; ++i) {
      run.x[i] += scalar(alpha) * p_hat[i] + scalar(omega) * s_hat[i];
      r[i] = s[i] - scalar(omega) * t[i];
    }
    Complex const rho_next = inner(shadow, r);
    Complex const beta = rho_next / rho * alpha / omega;
    for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + scalar(beta) * (p[i] - scalar(omega) * v[i]);
    rho = rho_next;
    run.residual = norm(r) / norm_b;
  }
  return run;
}

template <class C>
struct BiCgStabOn : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;
};
TYPED_TEST_SUITE(BiCgStabOn, CasesOfDefault, TypeName);

TYPED_TEST(BiCgStabOn, GoesAsTextbookBiCgStabDoes) {
  using Scalar = typename TypeParam::Scalar;
  double const tolerance = reachable<Scalar>;
  for (auto const& [name, A] : problems<Scalar>()) {
    SCOPED_TRACE(name);
    auto const b = random_vector<Scalar>(A.rows, 31);
    for (bool const guess : {false, true}) {
      auto const x0 = guess ? random_vector<Scalar>(A.rows, 32) : std::vector<Scalar>(A.rows);
      PlainBiCgStab<Scalar> const oracles[] = {
          plain_bicgstab(A, {}, b, x0, tolerance, 1000),
          plain_bicgstab(A, inverse_diagonal(A), b, x0, tolerance, 1000)};
      in_every_way<BiCgStabOptions>(
          tolerance, 1000, [&](BiCgStabOptions const& options, bool jacobi) {
            auto const s = solve(this->exec, A, jacobi, b, x0, options);
            auto const& oracle = oracles[jacobi];
            EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
            EXPECT_NEAR(s.report.iterations, oracle.iterations,
                        (epsilon<Scalar> < 1e-10 ? 0.05 : 0.2) * oracle.iterations + 1);
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

TYPED_TEST(BiCgStabOn, AnIterateIsTextbookBiCgStabsIterate) {
  using Scalar = typename TypeParam::Scalar;
  double const unreachable = 1e-20;
  for (auto const& [name, A] : problems<Scalar>()) {
    SCOPED_TRACE(name);
    auto const b = random_vector<Scalar>(A.rows, 33), x0 = random_vector<Scalar>(A.rows, 34);
    for (int const iterations : {1, 2, 5}) {
      PlainBiCgStab<Scalar> const oracles[] = {
          plain_bicgstab(A, {}, b, x0, unreachable, iterations),
          plain_bicgstab(A, inverse_diagonal(A), b, x0, unreachable, iterations)};
      auto const once = [&](BiCgStabOptions const& options, bool jacobi) {
        auto const s = solve(this->exec, A, jacobi, b, x0, options);
        auto const& oracle = oracles[jacobi];
        EXPECT_EQ(s.report.reason, Reason::max_iterations);
        EXPECT_EQ(s.report.iterations, iterations);
        double difference = 0;
        for (std::int32_t i = 0; i < A.rows; ++i)
          difference += std::norm(plain(s.x[i]) - plain(oracle.x[i]));
        EXPECT_LE(std::sqrt(difference), 1000 * epsilon<Scalar> * norm(oracle.x))
            << iterations << " iterations";
        EXPECT_NEAR(s.report.history.back(), oracle.residual,
                    1000 * epsilon<Scalar> * s.report.history.front());
        expect_true_report(A, b, s, options);
      };
      in_every_way<BiCgStabOptions>(unreachable, iterations, once);
    }
  }
}

TYPED_TEST(BiCgStabOn, SolvesWhatEliminationSolves) {
  using Scalar = typename TypeParam::Scalar;
  std::vector<HostCsr<Scalar>> list{Solder::convection_diffusion_2d<Scalar>(8),
                                    random_nonsymmetric<Scalar>(60, 7, 5)};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back(Solder::helmholtz_2d<Scalar>(9, 3, 0.5));
  for (auto const& A : list) {
    auto const b = random_vector<Scalar>(A.rows, 35);
    auto const expected = dense_solve(A, b);
    auto const once = [&](BiCgStabOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      // Condition numbers are below 100.
      EXPECT_LE(relative_difference(s.x, expected), 100 * reachable<Scalar>);
    };
    in_every_way<BiCgStabOptions>(reachable<Scalar>, 1000, once);
  }
}

TYPED_TEST(BiCgStabOn, SolvesAnewWithTheSameBits) {
  using Scalar = typename TypeParam::Scalar;
  expect_solves_anew_in_every_way<BiCgStabOptions>(this->exec, problems<Scalar>().back().A,
                                                   reachable<Scalar>);
}

TYPED_TEST(BiCgStabOn, ToleranceZeroRunsEveryIteration) {
  using Scalar = typename TypeParam::Scalar;
  // Far beyond the attainable accuracy; where every residual is zero from the first iteration on;
  // and where the method breaks down in the first.
  HostCsr<Scalar> const matrices[] = {random_nonsymmetric<Scalar>(100, 5, 6),
                                      diagonal(std::vector<Scalar>(100, 2)),
                                      sparse<Scalar>({{1, 1}, {-1, 1}})};
  for (auto const& A : matrices) {
    auto const b = random_vector<Scalar>(A.rows, 36);
    for (int const iterations : {0, 1, 16, 137, 1000}) {
      int way = 0;
      auto const once = [&](BiCgStabOptions const& options, bool jacobi) {
        // 1000 are for every third way: both forms, all runners, with Jacobi and without.
        if (++way % 3 != 0 && iterations == 1000) return;
        auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::max_iterations) << s.report.detail;
        EXPECT_EQ(s.report.iterations, iterations);
        EXPECT_EQ(s.report.history.size(), std::size_t(iterations) + 1);
        auto const [relative, rounding] = true_residual(A, b, s.x);
        EXPECT_NEAR(s.report.true_relative_residual, relative, rounding);
      };
      in_every_way<BiCgStabOptions>(0, iterations, once);
    }
  }
}

TYPED_TEST(BiCgStabOn, NeverClaimsWhatTheResidualDenies) {
  using Scalar = typename TypeParam::Scalar;
  bool const wide = epsilon<Scalar> < 1e-10;
  int converged = 0, other = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    // A condition number of up to 10^(4 decades).
    auto A = random_nonsymmetric<Scalar>(40 + seed % 50, 5 + seed % 4, seed);
    auto const exponents = random_vector<double>(A.rows, seed + 1);
    std::vector<double> scales;
    for (double const e : exponents)
      scales.push_back(std::pow(10.0, (seed % 6) * (wide ? 0.8 : 0.4) * e));
    scale_both_sides(A, scales);
    auto const b = random_vector<Scalar>(A.rows, seed + 2);
    BiCgStabOptions options;
    options.tolerance = std::pow(10.0, (wide ? -5.0 : -2.0) - 2.0 * (seed % 5));
    options.max_iterations = 700;
    options.form = seed % 2 ? BiCgStabForm::classical : BiCgStabForm::pipelined;
    options.runner = every_runner[seed % 4];
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

TYPED_TEST(BiCgStabOn, AResidualThatDriftedIsReplaced) {
  using Scalar = typename TypeParam::Scalar;
  // From a guess this large the rounding of the first updates stays in the true residual for good,
  // while the recursive one falls below any tolerance.
  auto const A = problems<Scalar>()[2].A;
  auto const b = random_vector<Scalar>(A.rows, 51);
  auto x0 = random_vector<Scalar>(A.rows, 52);
  double const size = epsilon<Scalar> < 1e-10 ? 1e9 : 1e5;
  for (auto& value : x0) value *= static_cast<typename Solder::ScalarTraits<Scalar>::Real>(size);
  double const tolerance = reachable<Scalar>;
  PlainBiCgStab<Scalar> const oracles[] = {
      plain_bicgstab(A, {}, b, x0, tolerance, 3000),
      plain_bicgstab(A, inverse_diagonal(A), b, x0, tolerance, 3000)};
  auto const once = [&](BiCgStabOptions const& options, bool jacobi) {
    auto const& oracle = oracles[jacobi];
    ASSERT_LE(oracle.residual, tolerance);
    ASSERT_GT(true_residual(A, b, oracle.x).relative, 5 * tolerance)
        << "this system does not need the replacement";
    auto const s = solve(this->exec, A, jacobi, b, x0, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_GT(s.report.iterations, oracle.iterations);
    expect_true_report(A, b, s, options);
  };
  in_every_way<BiCgStabOptions>(tolerance, 3000, once);
}

TYPED_TEST(BiCgStabOn, EntriesHugeAndSmall) {
  using Scalar = typename TypeParam::Scalar;
  expect_convergence_whatever_the_size<BiCgStabOptions>(this->exec, problems<Scalar>()[2].A,
                                                        epsilon<Scalar> < 1e-10 ? 1e40 : 1e12,
                                                        reachable<Scalar>);
}

TYPED_TEST(BiCgStabOn, FewerRowsThanATeamHasThreads) {
  using Scalar = typename TypeParam::Scalar;
  for (int const n : {1, 2, 3, 31, 33, 257}) {
    SCOPED_TRACE(n);
    auto const A = random_nonsymmetric<Scalar>(n, std::min(n, 5), 7);
    auto const b = random_vector<Scalar>(n, 54);
    auto const once = [&](BiCgStabOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(n), options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      expect_true_report(A, b, s, options);
    };
    in_every_way<BiCgStabOptions>(reachable<Scalar>, 1000, once);
  }
}

}  // namespace
