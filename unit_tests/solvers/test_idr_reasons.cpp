// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How IDR(s) in particular ends, in double, on every space; what holds of every solver is in
// ends.hpp.
#include "ends.hpp"
#include "idr.hpp"

#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;

template <class Exec>
struct IdrEnds : Ends<IdrOptions, Exec> {};
TYPED_TEST_SUITE(IdrEnds, Spaces::Types, TypeName);

/// Turns by 90 degrees, each plane's with a length of its own: (A r, r) is nothing but rounding.
HostCsr<double> skew_symmetric(int planes) {
  std::vector<Vector> rows(2 * planes, Vector(2 * planes));
  for (int k = 0; k < planes; ++k) {
    rows[2 * k][2 * k + 1] = 1 + k;
    rows[2 * k + 1][2 * k] = -(1 + k);
  }
  return sparse(rows);
}

TYPED_TEST(IdrEnds, SkewSymmetricMatricesLeaveNoOmega) {
  int const n = 301;  // a tridiagonal one
  std::vector<Vector> rows(n, Vector(n));
  auto const values = random_vector<double>(n, 7);
  for (int i = 0; i + 1 < n; ++i) {
    rows[i][i + 1] = values[i];
    rows[i + 1][i] = -values[i];
  }
  for (auto const& A : {skew_symmetric(60), sparse(rows)}) {
    auto const b = random_vector<double>(A.rows, 3);
    this->each(A, b, Vector(A.rows), 500, [&](Solved<double> const& s, bool jacobi) {
      if (jacobi) return;
      EXPECT_EQ(to_string(s.report.reason), "breakdown");
      // After the last beginning either divisor may be the first that is lost.
      EXPECT_TRUE(contains(s.report.detail, "(A M r, r), which omega comes from, = ") ||
                  contains(s.report.detail, "(p, g), p of the shadow space and g = A u, = "))
          << s.report.detail;
      IdrOptions options;
      options.tolerance = this->tolerance;
      expect_true_report(A, b, s, options);
    });
    auto const one = solve(this->exec, A, false, b, Vector(A.rows), idr(1));
    EXPECT_TRUE(contains(one.report.detail, "(A M r, r), which omega comes from, = "))
        << one.report.detail;
  }
}

/// As many shadow vectors as rows: the residual is gone before an omega is needed.
TYPED_TEST(IdrEnds, ASmallSkewSymmetricMatrixNeedsNoOmega) {
  for (Runner const runner : every_runner)
    for (bool const smoothing : {false, true}) {
      auto const options = with_limits(idr(4, smoothing), 1e-10, 100, runner);
      auto const A = skew_symmetric(1);
      auto const s = solve(this->exec, A, false, {1, 2}, {0, 0}, options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      EXPECT_EQ(s.report.iterations, 2);
      expect_true_report(A, {1, 2}, s, options);
    }
}

TYPED_TEST(IdrEnds, BreakdownOfASingularMatrix) {
  auto const zero = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {0, 0}};
  this->expect(Reason::breakdown, "(p, g), p of the shadow space and g = A u, = 0 at iteration 0",
               zero, {1, 2}, true, false);
  this->expect(Reason::breakdown, "row 1 ", zero, {1, 2}, false, true);
  // b is not in the range.
  auto const singular = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}};
  this->expect(Reason::breakdown, " = 0 at iteration ", singular, {0, 1}, true, false);
  this->each(singular, {1, 1}, {0, 0}, 100, [](Solved<double> const& s, bool jacobi) {
    if (jacobi) return;
    // Or x overflows: its component outside the range costs no residual.
    EXPECT_NE(s.report.reason, Reason::converged);
  });
}

TYPED_TEST(IdrEnds, ConvergesOnASingularMatrixWithBInItsRange) {
  this->expect(Reason::converged, "", HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {3, 0},
               true, false);
  this->expect(Reason::converged, "", sparse<double>({{1, -1, 0}, {-1, 2, -1}, {0, -1, 1}}),
               {1, 1, -2});
}

/// b for which the first vectors of these shadow spaces have (p, A b) = 0.
Vector orthogonal(HostCsr<double> const& A, std::vector<std::uint64_t> const& seeds) {
  auto b = random_vector<double>(A.rows, 5);
  std::vector<Vector> done;
  for (auto const seed : seeds) {
    Vector w(A.rows);
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        w[A.columns[k]] += A.values[k] * Solder::ShadowSpace<double>{seed}.entry(i, 0);
    for (auto const& v : done) {
      double const share = dot(v, w) / dot(v, v);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= share * v[i];
    }
    done.push_back(w);
  }
  for (int round = 0; round < 2; ++round)
    for (auto const& v : done) {
      double const share = dot(v, b) / dot(v, v);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] -= share * v[i];
    }
  return b;
}

TYPED_TEST(IdrEnds, AShadowSpaceThatFailsIsReplacedOnce) {
  constexpr std::uint64_t seed = 1, other = seed + 0x5eed;
  auto const A = Solder::convection_diffusion_2d<double>(12);
  for (auto const& [name, form] : Method<IdrOptions>::forms())
    for (Runner const runner : every_runner) {
      SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
      auto options = with_limits(form, 1e-8, 1000, runner);
      options.seed = seed;
      auto const once = orthogonal(A, {seed}), twice = orthogonal(A, {seed, other});
      auto const s = solve(this->exec, A, false, once, Vector(A.rows), options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      expect_true_report(A, once, s, options);
      // It went on as one that has had the other from the beginning.
      options.seed = other;
      auto const with_other = solve(this->exec, A, false, once, Vector(A.rows), options);
      EXPECT_TRUE(same_bits(s.x, with_other.x));
      EXPECT_TRUE(same_bits(s.report.history, with_other.report.history));

      options.seed = seed;
      auto const broken = solve(this->exec, A, false, twice, Vector(A.rows), options);
      EXPECT_EQ(broken.report.reason, Reason::breakdown);
      EXPECT_EQ(broken.report.iterations, 0);
      EXPECT_TRUE(contains(broken.report.detail, "(p, g), p of the shadow space and g = A u, = "))
          << broken.report.detail;
      expect_true_report(A, twice, broken, options);
    }
}

TYPED_TEST(IdrEnds, DiagonalMatrices) {
  // omega ends a cycle of one that is a multiple of the identity.
  this->each(diagonal(Vector(300, 1)), random_vector<double>(300, 6), Vector(300), 50,
             [](Solved<double> const& s, bool) {
               EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
               EXPECT_LE(s.report.iterations, 2);
             });
  this->each(diagonal<double>({-4}), {2}, {0}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.iterations, 1);
    EXPECT_NEAR(s.x[0], -0.5, 1e-15);
  });
  Vector entries;
  for (int i = 0; i < 300; ++i) entries.push_back(1 + i % 7);
  this->expect(Reason::converged, "", diagonal(entries), random_vector<double>(300, 6));
}

TYPED_TEST(IdrEnds, Stagnated) {
  // A recursion goes on to fall below any tolerance; the true residual cannot.
  auto A = Solder::convection_diffusion_2d<double>(15);
  Vector scales;
  for (std::int32_t i = 0; i < A.rows; ++i) scales.push_back(std::pow(10.0, i % 4 * 0.5));
  scale_both_sides(A, scales);
  auto const b = random_vector<double>(A.rows, 5);
  in_every_way<IdrOptions>(1e-17, 20000, [&](IdrOptions const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
    EXPECT_EQ(to_string(s.report.reason), "stagnated") << s.report.detail;
    EXPECT_LE(s.report.true_relative_residual, 1e-11) << "it gave up early";
    expect_true_report(A, b, s, options);
  });
}

/// Near the attainable accuracy a claim may be true or not; it must be found out.
TYPED_TEST(IdrEnds, TolerancesNearTheAttainableAccuracy) {
  auto const A = Solder::convection_diffusion_2d<double>(15);
  auto const b = random_vector<double>(A.rows, 5);
  int converged = 0;
  for (double const tolerance : {1e-14, 1e-15, 3e-16, 1e-16})
    in_every_way<IdrOptions>(tolerance, 1000, [&](IdrOptions const& options, bool jacobi) {
      auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
      EXPECT_TRUE(s.report.reason == Reason::converged || s.report.reason == Reason::stagnated ||
                  s.report.reason == Reason::breakdown)
          << to_string(s.report.reason);
      EXPECT_LE(s.report.true_relative_residual, 1e-13);
      expect_true_report(A, b, s, options);
      converged += s.report.reason == Reason::converged;
    });
  EXPECT_GT(converged, 0);
}

/// Products of norms neither underflow nor overflow: scaled by a power of 2 a solve has the same
/// bits.
TYPED_TEST(IdrEnds, TheSizeOfBIsOfNoImportance) {
  auto const A = Solder::convection_diffusion_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 5);
  in_every_way<IdrOptions>(1e-10, 1000, [&](IdrOptions const& options, bool jacobi) {
    if (options.runner != Runner::launch) return;
    auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    for (int const exponent : {-420, -250, -100, 100, 250, 480}) {
      auto scaled = b, expected = s.x;
      for (auto& value : scaled) value = std::ldexp(value, exponent);
      for (auto& value : expected) value = std::ldexp(value, exponent);
      auto const other = solve(this->exec, A, jacobi, scaled, Vector(A.rows), options);
      EXPECT_EQ(to_string(other.report.reason), "converged") << other.report.detail;
      EXPECT_TRUE(same_bits(other.x, expected)) << "2^" << exponent;
      EXPECT_TRUE(same_bits(other.report.history, s.report.history)) << "2^" << exponent;
    }
  });
}

TYPED_TEST(IdrEnds, RefusesShadowSpacesThatCannotBe) {
  using Solver = SolverOf<IdrOptions, TypeParam, double>;
  CsrMatrix<double, TypeParam> const A(this->exec, diagonal<double>({1, 2, 3}));
  for (int const s : {-1, 0, 33, 1000}) try {
      Solver(this->exec, A, {}, idr(s));
      ADD_FAILURE() << s << " shadow vectors were taken";
    } catch (std::invalid_argument const& error) {
      EXPECT_EQ(error.what(),
                "Solder::Idr: shadow_dimension must be an integer from 1 to 32, not " +
                    std::to_string(s));
    }
  for (int const s : {1, 32}) EXPECT_NO_THROW(Solver(this->exec, A, {}, idr(s)));
}

TYPED_TEST(IdrEnds, ReportsKernelsWordsAndRunner) {
  auto const A = Solder::fem_poisson_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 1);
  double const matrix = double(A.nonzeros()) * 1.5 + A.rows * 0.5;
  in_every_way<IdrOptions>(1e-8, 500, [&](IdrOptions const& options, bool jacobi) {
    Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
    double const s = options.shadow_dimension;
    // The matrix, and per cycle: a product writes g and reads r at the end; an update reads and
    // writes x and r, g, u, reads G and U, and writes the next u. A kernel for the products with
    // the shadow space reads g, and r at the end, once for eight of its vectors.
    bool const has_kernel = has_shadow_kernel(options);
    double const vectors =
        (2 * s * s + 11 * s + 8 + (has_kernel ? std::ceil(s / 8) * (s + 2) : 0)) / (s + 1);
    EXPECT_DOUBLE_EQ(report.words_per_iteration,
                     matrix + (vectors + (options.smoothing ? 4 : 0) + (jacobi ? 1 : 0)) * A.rows);
    EXPECT_EQ(report.kernels_per_iteration, is_whole(options.runner) ? 0 : has_kernel ? 3 : 2);
    EXPECT_EQ(report.form, options.smoothing ? "smoothed" : "biorthogonal");
    EXPECT_GE(report.setup_seconds, 0);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_LT(report.solve_seconds, 60);
  });
}

INSTANTIATE_TYPED_TEST_SUITE_P(Idr, SolverEnds, WaysOf<IdrOptions>, TypeName);

}  // namespace
