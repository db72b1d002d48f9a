// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How BiCGStab in particular ends, in double, on every space; what holds of every solver is in
// ends.hpp.
#include "bicgstab.hpp"
#include "ends.hpp"

#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/stand_in.hpp>

namespace {

using namespace SolderTest;

template <class Exec>
struct BiCgStabEnds : Ends<BiCgStabOptions, Exec> {};
TYPED_TEST_SUITE(BiCgStabEnds, Spaces::Types, TypeName);

TYPED_TEST(BiCgStabEnds, Breakdown) {
  auto const zero = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {0, 0}};
  this->expect(Reason::breakdown, "(rs, A p), rs the shadow residual, = 0 at iteration 0", zero,
               {1, 2}, true, false);
  this->expect(Reason::breakdown, "row 1 ", zero, {1, 2}, false, true);
  // Skew-symmetric: A p is orthogonal to p, here exactly.
  this->expect(Reason::breakdown, "(rs, A p), rs the shadow residual, = 0 at iteration 0",
               sparse<double>({{0, 1}, {-1, 0}}), {1, 0}, true, false);
  // A turn by 90 degrees after the half step: (A s, s) = 0 where (rs, A p) is not.
  this->expect(Reason::breakdown, "(A s, s) = 0 at iteration ",
               sparse<double>({{1, 0, 0}, {1, 0, 1}, {0, -1, 0}}), {1, 0, 0}, true, false);
  // Singular, and b is not in its range.
  auto const singular = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}};
  this->expect(Reason::breakdown, " = 0 at iteration 0", singular, {0, 1}, true, false);
  this->expect(Reason::breakdown, "", singular, {1, 1}, true, false);
}

/// rs = r of the beginning is a poor shadow for these: after a breakdown that has won nothing the
/// solve begins anew with another.
TYPED_TEST(BiCgStabEnds, ABreakdownThatWonNothingIsNotTheEnd) {
  int solves = 0, converged = 0, breakdowns = 0;
  for (int const seed : {0, 1, 2, 3}) {
    auto const A = Solder::stand_in<double>("1138_bus", seed);
    Vector const ones(A.rows, 1);
    in_every_way<BiCgStabOptions>(1e-8, 10000, [&](BiCgStabOptions const& options, bool jacobi) {
      if (!jacobi) return;
      auto const s = solve(this->exec, A, true, ones, Vector(A.rows), options);
      expect_true_report(A, ones, s, options);
      ++solves;
      converged += s.report.reason == Reason::converged;
      breakdowns += s.report.reason == Reason::breakdown;
    });
  }
  // Rounding differs from machine to machine: with one shadow a third to a half break down.
  EXPECT_LE(breakdowns, solves / 24);
  EXPECT_GE(converged, solves / 2);
}

TYPED_TEST(BiCgStabEnds, NearBreakdown) {
  // Skew-symmetric, so that (rs, A p) is nothing but rounding.
  int const n = 301;
  std::vector<Vector> rows(n, Vector(n));
  auto const values = random_vector<double>(n, 7);
  for (int i = 0; i + 1 < n; ++i) {
    rows[i][i + 1] = values[i];
    rows[i + 1][i] = -values[i];
  }
  this->expect(Reason::breakdown, "(rs, A p), rs the shadow residual, = ", sparse(rows),
               random_vector<double>(n, 8), true, false);
}

TYPED_TEST(BiCgStabEnds, ConvergesOnASingularMatrixWithBInItsRange) {
  this->expect(Reason::converged, "", HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {3, 0},
               true, false);
  this->expect(Reason::converged, "", sparse<double>({{1, -1, 0}, {-1, 2, -1}, {0, -1, 1}}),
               {1, 1, -2});
}

TYPED_TEST(BiCgStabEnds, ConvergesInHalfAStep) {
  // s = 0 exactly, and t = 0: omega would be 0 / 0.
  this->each(diagonal(Vector(300, 4)), Vector(300, 2), Vector(300), 10,
             [](Solved<double> const& s, bool) {
               EXPECT_EQ(s.report.reason, Reason::converged);
               EXPECT_EQ(s.report.detail, "");
               EXPECT_EQ(s.report.iterations, 1);
               EXPECT_EQ(s.report.relative_residual, 0);
               EXPECT_EQ(s.x, Vector(300, 0.5));
             });
  this->each(diagonal<double>({-4}), {2}, {0}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.iterations, 1);
    EXPECT_EQ(s.x, Vector{-0.5});
  });
}

TYPED_TEST(BiCgStabEnds, Diverged) {
  // (rs, A p) is small but not zero: the first step throws the residual far out.
  this->each(
      sparse<double>({{1e-13, 1e3}, {-1e3, 1e-13}}), {1, 0}, {0, 0}, 50,
      [](Solved<double> const& s, bool jacobi) {
        if (jacobi) return;
        EXPECT_TRUE(s.report.reason == Reason::diverged || s.report.reason == Reason::breakdown)
            << to_string(s.report.reason);
      });
}

TYPED_TEST(BiCgStabEnds, Stagnated) {
  // A recursion goes on to fall below any tolerance; the true residual cannot.
  auto A = Solder::convection_diffusion_2d<double>(15);
  Vector scales;
  for (std::int32_t i = 0; i < A.rows; ++i) scales.push_back(std::pow(10.0, i % 4 * 0.5));
  scale_both_sides(A, scales);
  auto const b = random_vector<double>(A.rows, 5);
  in_every_way<BiCgStabOptions>(1e-17, 20000, [&](BiCgStabOptions const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
    EXPECT_EQ(to_string(s.report.reason), "stagnated") << s.report.detail;
    EXPECT_LE(s.report.true_relative_residual, 1e-11) << "it gave up early";
    expect_true_report(A, b, s, options);
  });
}

TYPED_TEST(BiCgStabEnds, FormsTakeTheSameIterations) {
  for (int const size : {15, 31, 63}) {
    for (auto const& A : {Solder::convection_diffusion_2d<double>(size),
                          Solder::convection_diffusion_3d<double>(size / 3)}) {
      auto const b = random_vector<double>(A.rows, 9);
      int iterations[2];
      for (auto const form : {BiCgStabForm::classical, BiCgStabForm::pipelined}) {
        BiCgStabOptions options;
        options.form = form;
        auto const s = solve(this->exec, A, false, b, Vector(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::converged);
        iterations[form == BiCgStabForm::pipelined] = s.report.iterations;
      }
      EXPECT_NEAR(iterations[0], iterations[1], 0.05 * iterations[0] + 1) << A.rows << " rows";
    }
  }
}

TYPED_TEST(BiCgStabEnds, ReportsKernelsWordsTimesAndRunner) {
  auto const A = Solder::fem_poisson_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 1);
  double const matrix = double(A.nonzeros()) * 1.5 + A.rows * 0.5;
  in_every_way<BiCgStabOptions>(1e-8, 100, [&](BiCgStabOptions const& options, bool jacobi) {
    Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
    bool const pipelined = options.form == BiCgStabForm::pipelined;
    EXPECT_EQ(report.kernels_per_iteration, is_whole(runs_by<TypeParam>(options)) ? 0
                                            : pipelined                           ? 4
                                                                                  : 5);
    bool const keeps_rows =
        pipelined && is_whole(options.runner) && !Solder::Impl::is_host_space<TypeParam>;
    EXPECT_DOUBLE_EQ(report.words_per_iteration, 2 * matrix + (keeps_rows  ? (jacobi ? 17 : 15)
                                                               : pipelined ? (jacobi ? 20 : 17)
                                                                           : (jacobi ? 24 : 20)) *
                                                                  A.rows);
    EXPECT_GE(report.setup_seconds, 0);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_LT(report.solve_seconds, 60);
  });
}

INSTANTIATE_TYPED_TEST_SUITE_P(BiCgStab, SolverEnds, WaysOf<BiCgStabOptions>, TypeName);

}  // namespace
