// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES against the minimum over the Krylov space and against Gaussian elimination, for every
// scalar, on the default space; the other spaces are met in test_gmres_reasons.cpp.
#include "basics.hpp"
#include "gmres.hpp"
#include "problems.hpp"

#include <algorithm>

namespace {

using namespace SolderTest;

using Dense = std::vector<Complex>;

template <class Scalar>
Dense plain_product(HostCsr<Scalar> const& A, Dense const& x) {
  Dense y(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      y[i] += plain(A.values[k]) * x[A.columns[k]];
  return y;
}

double length(Dense const& v) {
  double sum = 0;
  for (auto const& entry : v) sum += std::norm(entry);
  return std::sqrt(sum);
}

void add(Dense& y, Complex const& factor, Dense const& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

/// w <- (w - sum (v_k, w) v_k) / its length, and `twin` likewise with the vectors of `twins`;
/// false where nothing is left of w.
bool make_orthonormal(Dense& w, std::vector<Dense> const& v, Dense& twin,
                      std::vector<Dense> const& twins) {
  double const before = length(w);
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < v.size(); ++k) {
      Complex dot = 0;
      for (std::size_t i = 0; i < w.size(); ++i) dot += std::conj(v[k][i]) * w[i];
      add(w, -dot, v[k]);
      add(twin, -dot, twins[k]);
    }
  double const left = length(w);
  if (!(left > 1e-13 * before)) return false;
  for (auto& entry : w) entry /= left;
  for (auto& entry : twin) entry /= left;
  return true;
}

struct PlainGmres {
  Dense x;
  std::vector<double> history;  ///< relative
  std::vector<int> starts;      ///< the iteration with which the cycle of each entry began
};

/// GMRES(restart) by its definition, in double: an orthonormal basis U of A M K of the Krylov space
/// K; the residual is what is left of r without its part in U. `inverse` is empty or 1 / diag(A).
template <class Scalar>
PlainGmres plain_gmres(HostCsr<Scalar> const& A, std::vector<Scalar> const& inverse,
                       std::vector<Scalar> const& b, std::vector<Scalar> const& x0, int restart,
                       double tolerance, int max_iterations) {
  PlainGmres run;
  double const norm_b = norm(b);
  for (auto const& value : x0) run.x.push_back(plain(value));
  int iterations = 0;
  while (true) {
    Dense r = plain_product(A, run.x);
    for (std::int32_t i = 0; i < A.rows; ++i) r[i] = plain(b[i]) - r[i];
    if (iterations == 0) {
      run.history.push_back(length(r) / norm_b);
      run.starts.push_back(0);
    }
    Dense v = r, none = v;
    std::vector<Dense> V, U, P;  // U = A P, and P spans M K
    int const start = iterations;
    for (int j = 0; j < restart; ++j) {
      if (run.history.back() <= tolerance || iterations == max_iterations) return run;
      if (!make_orthonormal(v, V, none, V)) return run;
      V.push_back(v);
      Dense p = v;
      if (!inverse.empty())
        for (std::size_t i = 0; i < p.size(); ++i) p[i] *= plain(inverse[i]);
      Dense u = v = plain_product(A, p);
      if (!make_orthonormal(u, U, p, P)) return run;
      Complex dot = 0;
      for (std::size_t i = 0; i < u.size(); ++i) dot += std::conj(u[i]) * r[i];
      add(run.x, dot, p);
      add(r, -dot, u);
      U.push_back(std::move(u));
      P.push_back(std::move(p));
      ++iterations;
      run.history.push_back(length(r) / norm_b);
      run.starts.push_back(start);
    }
  }
}

/// Whether a residual norm is as expected, up to a rounding of the cycle's and of the solve's first
/// one. Simpler GMRES takes it as the root of a difference of squares.
bool is_near(double residual, double expected, double of_cycle, double of_solve, bool simpler,
             double epsilon) {
  double const rounding = 1000 * epsilon * of_solve;
  if (!simpler) return std::abs(residual - expected) <= rounding;
  return std::abs(residual * residual - expected * expected) <=
         1000 * epsilon * of_cycle * of_cycle + 2 * rounding * expected;
}

template <class C>
struct GmresOn : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;
};
TYPED_TEST_SUITE(GmresOn, CasesOfDefault, TypeName);

/// f(options, jacobi) in all forms, with these cycles.
template <class F>
void with_restarts(std::initializer_list<int> restarts, double tolerance, int max_iterations,
                   F const& f) {
  for (int const restart : restarts)
    in_every_way<GmresOptions>(tolerance, max_iterations, [&](GmresOptions options, bool jacobi) {
      SCOPED_TRACE(restart);
      options.restart = restart;
      f(options, jacobi);
    });
}

TYPED_TEST(GmresOn, EveryResidualIsTheLeastOfTheKrylovSpace) {
  using Scalar = typename TypeParam::Scalar;
  double const tolerance = reachable<Scalar>;
  int const most = 45;
  auto list = problems<Scalar>();
  list.push_back({"small", Solder::convection_diffusion_2d<Scalar>(6)});
  for (auto const& [name, A] : list) {
    SCOPED_TRACE(name);
    auto const b = random_vector<Scalar>(A.rows, 31), x0 = random_vector<Scalar>(A.rows, 32);
    // A cycle as long as A has rows, and longer, where that is soon reached; else shorter ones.
    for (int const restart : {1, 5, 30, 36, 1000}) {
      if ((restart > 30) != (name == "small")) continue;
      PlainGmres const oracles[] = {
          plain_gmres(A, {}, b, x0, restart, tolerance, most),
          plain_gmres(A, inverse_diagonal(A), b, x0, restart, tolerance, most)};
      with_restarts({restart}, tolerance, most, [&](GmresOptions const& options, bool jacobi) {
        auto const s = solve(this->exec, A, jacobi, b, x0, options);
        auto const& [x, expected, starts] = oracles[jacobi];
        bool const simpler = options.form == GmresForm::pipelined;
        // Simpler GMRES begins a cycle anew where rounding hides the residual, in float soon.
        double const hidden = simpler ? (epsilon<Scalar> < 1e-10 ? 1e-5 : 0.05) : 0;
        std::size_t k = 0;
        for (; k < expected.size(); ++k) {
          double const of_cycle = expected[starts[k]];
          if (expected[k] <= 1.01 * tolerance || expected[k] < hidden * of_cycle) break;
          // And its basis loses digits in a long cycle, which then x lacks too.
          if (simpler && (k - starts[k] > 22 || (restart > 5 && starts[k] > 0))) break;
          ASSERT_LT(k, s.report.history.size());
          ASSERT_PRED_FORMAT2(
              ([&](char const*, char const*, double residual, double least) {
                return is_near(residual, least, of_cycle, expected[0], simpler, epsilon<Scalar>)
                           ? testing::AssertionSuccess()
                           : testing::AssertionFailure() << "iteration " << k << ": " << residual
                                                         << ", but the least is " << least;
              }),
              s.report.history[k], expected[k]);
        }
        EXPECT_GE(k, std::min<std::size_t>(expected.size() - 1, 2)) << "little was compared";
        double const iterations = double(expected.size() - 1);
        EXPECT_GE(s.report.iterations, iterations - 1);
        // In float a cycle of simpler GMRES hides its residual after three digits: up to two
        // restarts.
        double const restarts = !simpler ? 1 : epsilon<Scalar> < 1e-10 ? 2 : 3;
        EXPECT_LE(s.report.iterations, restarts * iterations + 1);
        expect_true_report(A, b, s, options);
        EXPECT_EQ(s.report.relative_residual, s.report.history.back());
        EXPECT_EQ(s.report.runner, runs_by<typename TypeParam::Exec>(options));
        EXPECT_EQ(s.report.detail, "");
      });
    }
  }
}

TYPED_TEST(GmresOn, AnIterateIsTheMinimiser) {
  using Scalar = typename TypeParam::Scalar;
  double const unreachable = 1e-20;
  for (auto const& [name, A] : problems<Scalar>()) {
    SCOPED_TRACE(name);
    auto const b = random_vector<Scalar>(A.rows, 33), x0 = random_vector<Scalar>(A.rows, 34);
    // A limit within a cycle: x has all steps done.
    for (int const iterations : {1, 4, 5, 8}) {
      PlainGmres const oracles[] = {
          plain_gmres(A, {}, b, x0, 5, unreachable, iterations),
          plain_gmres(A, inverse_diagonal(A), b, x0, 5, unreachable, iterations)};
      with_restarts({5}, unreachable, iterations, [&](GmresOptions const& options, bool jacobi) {
        auto const s = solve(this->exec, A, jacobi, b, x0, options);
        auto const& oracle = oracles[jacobi];
        EXPECT_EQ(s.report.reason, Reason::max_iterations);
        EXPECT_EQ(s.report.iterations, iterations);
        double difference = 0;
        for (std::int32_t i = 0; i < A.rows; ++i)
          difference += std::norm(plain(s.x[i]) - oracle.x[i]);
        double const rounding = options.form == GmresForm::pipelined ? 1e5 : 1e3;
        EXPECT_LE(std::sqrt(difference), rounding * epsilon<Scalar> * length(oracle.x));
        EXPECT_NEAR(s.report.true_relative_residual, oracle.history.back(),
                    1000 * epsilon<Scalar> * oracle.history.front());
        expect_true_report(A, b, s, options);
      });
    }
  }
}

TYPED_TEST(GmresOn, SolvesWhatEliminationSolves) {
  using Scalar = typename TypeParam::Scalar;
  std::vector<HostCsr<Scalar>> list{Solder::convection_diffusion_2d<Scalar>(8),
                                    random_nonsymmetric<Scalar>(60, 7, 5)};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back(Solder::helmholtz_2d<Scalar>(9, 3, 0.5));
  for (auto const& A : list) {
    auto const b = random_vector<Scalar>(A.rows, 35);
    auto const expected = dense_solve(A, b);
    with_restarts({30}, reachable<Scalar>, 1000, [&](GmresOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      double difference = 0;
      for (std::int32_t i = 0; i < A.rows; ++i)
        difference += std::norm(plain(s.x[i]) - expected[i]);
      // Condition numbers are below 100.
      EXPECT_LE(std::sqrt(difference), 100 * reachable<Scalar> * length(expected));
    });
  }
}

TYPED_TEST(GmresOn, RepeatsBitForBit) {
  using Scalar = typename TypeParam::Scalar;
  auto const A = problems<Scalar>().front().A;
  auto const b = random_vector<Scalar>(A.rows, 41), x0 = random_vector<Scalar>(A.rows, 42);
  in_every_way<GmresOptions>(
      reachable<Scalar>, 1000, [&](GmresOptions const& options, bool jacobi) {
        auto const once = solve(this->exec, A, jacobi, b, x0, options),
                   again = solve(this->exec, A, jacobi, b, x0, options);
        EXPECT_GT(once.report.iterations, options.restart) << "one cycle says less";
        EXPECT_TRUE(same_bits(once.x, again.x));
        EXPECT_TRUE(same_bits(once.report.history, again.report.history));
      });
}

TYPED_TEST(GmresOn, ToleranceZeroRunsEveryIteration) {
  using Scalar = typename TypeParam::Scalar;
  // Far beyond the attainable accuracy; where every residual is zero from the first iteration on;
  // where the Krylov space ends before the solution is in it; and where it grows no residual.
  HostCsr<Scalar> const matrices[] = {
      random_nonsymmetric<Scalar>(100, 5, 6), diagonal(std::vector<Scalar>(100, 2)),
      sparse<Scalar>({{1, 1}, {1, 1}}), sparse<Scalar>({{0, 0, 1}, {1, 0, 0}, {0, 1, 0}})};
  for (auto const& A : matrices) {
    auto const b = random_vector<Scalar>(A.rows, 36);
    for (int const iterations : {0, 1, 16, 137, 1000}) {
      int way = 0;
      in_every_way<GmresOptions>(0, iterations, [&](GmresOptions const& options, bool jacobi) {
        // 1000 are for every fifth way: all forms, all runners, with Jacobi and without.
        if (++way % 5 != 0 && iterations == 1000) return;
        if (jacobi && A.rows == 3) return;  // a zero diagonal
        auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::max_iterations) << s.report.detail;
        EXPECT_EQ(s.report.iterations, iterations);
        EXPECT_EQ(s.report.history.size(), std::size_t(iterations) + 1);
        auto const [relative, rounding] = true_residual(A, b, s.x);
        EXPECT_NEAR(s.report.true_relative_residual, relative, rounding);
        EXPECT_TRUE(options.form != GmresForm::cgs2 || relative <= 1.001) << "x was spoilt";
        for (double const residual : s.report.history) ASSERT_TRUE(std::isfinite(residual));
      });
    }
  }
}

TYPED_TEST(GmresOn, NeverClaimsWhatTheResidualDenies) {
  using Scalar = typename TypeParam::Scalar;
  bool const wide = epsilon<Scalar> < 1e-10;
  auto const forms = Method<GmresOptions>::forms();
  int converged = 0, other = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    // A condition number of up to 10^(4 decades).
    auto A = random_nonsymmetric<Scalar>(40 + seed % 50, 5 + seed % 4, seed);
    auto const exponents = random_vector<double>(A.rows, seed + 1);
    std::vector<double> scales;
    for (double const e : exponents)
      scales.push_back(std::pow(10.0, (seed % 6) * (wide ? 0.8 : 0.4) * e));
    scale_both_sides(A, scales);
    auto const b = random_vector<Scalar>(A.rows, seed + 2);
    GmresOptions options = forms[seed % 4].second;
    options.restart = 5 + seed % 40;
    options.tolerance = std::pow(10.0, (wide ? -5.0 : -2.0) - 2.0 * (seed % 5));
    options.max_iterations = 700;
    options.runner = every_runner[seed % 4];
    for (bool const jacobi : {false, true}) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
      expect_true_report(A, b, s, options);
      ++(s.report.reason == Reason::converged ? converged : other);
      EXPECT_NE(s.report.reason, Reason::not_finite) << s.report.detail;
      // Not so where the basis may lose its orthogonality.
      if (options.form == GmresForm::cgs2 || options.form == GmresForm::mgs) {
        EXPECT_LE(s.report.true_relative_residual, 1.001) << "worse than x = 0";
      }
    }
  }
  // Both outcomes must have been met for this test to say anything.
  EXPECT_GE(converged, 20);
  EXPECT_GE(other, 10);
}

TYPED_TEST(GmresOn, EntriesHugeAndSmall) {
  using Scalar = typename TypeParam::Scalar;
  expect_convergence_whatever_the_size<GmresOptions>(this->exec, problems<Scalar>()[2].A,
                                                     epsilon<Scalar> < 1e-10 ? 1e40 : 1e12,
                                                     reachable<Scalar>);
}

TYPED_TEST(GmresOn, FewerRowsThanATeamHasThreadsAndThanACycleHasSteps) {
  using Scalar = typename TypeParam::Scalar;
  for (int const n : {1, 2, 3, 33, 257}) {
    SCOPED_TRACE(n);
    auto const A = random_nonsymmetric<Scalar>(n, std::min(n, 5), 7);
    auto const b = random_vector<Scalar>(n, 54);
    with_restarts({8, 300}, reachable<Scalar>, 1000, [&](GmresOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(n), options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      if (n <= 3) {
        EXPECT_LE(s.report.iterations, n);
      }
      expect_true_report(A, b, s, options);
    });
  }
}

/// Of five values on a diagonal the fifth polynomial is rid, in all of many rows.
TYPED_TEST(GmresOn, ManyRowsAndFiveEigenvalues) {
  using Scalar = typename TypeParam::Scalar;
  constexpr float values[] = {1, 2, 3, 5, 8};
  HostCsr<Scalar> A;
  A.rows = A.columns_count = 20000;
  A.row_offsets = {0};
  for (std::int32_t i = 0; i < A.rows; ++i) {
    A.columns.push_back(i);
    A.values.push_back(Scalar(values[i % 5]));
    A.row_offsets.push_back(i + 1);
  }
  auto const b = random_vector<Scalar>(A.rows, 55);
  with_restarts({8}, reachable<Scalar>, 1000, [&](GmresOptions const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_EQ(s.report.iterations, jacobi ? 1 : 5);
    expect_true_report(A, b, s, options);
  });
}

}  // namespace
