// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How CG in particular ends, in double, on every space; what holds of every solver is in ends.hpp.
#include "cg.hpp"
#include "ends.hpp"

namespace {

using namespace SolderTest;
template <class Exec>
struct CgEnds : Ends<CgOptions, Exec> {};
TYPED_TEST_SUITE(CgEnds, Spaces::Types, TypeName);

TYPED_TEST(CgEnds, Breakdown) {
  auto const zero = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {0, 0}};
  this->expect(Reason::breakdown, "(p, A p) = 0 at iteration 0", zero, {1, 2}, true, false);
  this->expect(Reason::breakdown, "row 1 ", zero, {1, 2}, false, true);
  // Singular, and b is not in its range: exact in these small integers.
  auto const singular = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}};
  this->expect(Reason::breakdown, "(p, A p) = 0 at iteration 0", singular, {0, 1}, true, false);
  this->expect(Reason::breakdown, "(p, A p) = 0 at iteration 1", singular, {1, 1}, true, false);
  // Indefinite by a permutation: the first direction has no curvature.
  this->expect(Reason::breakdown, "(p, A p) = 0 at iteration 0", sparse<double>({{0, 1}, {1, 0}}),
               {1, 0}, true, false);
  // The preconditioner's form vanishes.
  this->expect(Reason::breakdown, "(r, z) = 0 at iteration 0", sparse<double>({{1, 3}, {3, -1}}),
               {1, 1}, false, true);
}

TYPED_TEST(CgEnds, ConvergesOnASingularMatrixWithBInItsRange) {
  this->expect(Reason::converged, "", HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {3, 0},
               true, false);
  this->expect(Reason::converged, "", sparse<double>({{1, -1, 0}, {-1, 2, -1}, {0, -1, 1}}),
               {1, 1, -2});
}

TYPED_TEST(CgEnds, IndefiniteMatrix) {
  this->expect(Reason::indefinite_matrix, "(p, A p) = -3 at iteration 0",
               sparse<double>({{1, 0}, {0, -1}}), {1, 2}, true, false);
  this->expect(Reason::indefinite_matrix, "(p, A p) = -2 at iteration 0",
               sparse<double>({{1, 2}, {2, 1}}), {1, -1});
  auto A = Solder::fem_poisson_2d<double>(12);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] == i) A.values[k] -= 0.5;
  this->expect(Reason::indefinite_matrix, "not positive definite", A,
               random_vector<double>(A.rows, 3));
}

TYPED_TEST(CgEnds, IndefinitePreconditioner) {
  this->expect(Reason::indefinite_preconditioner, "(r, z) = -3 at iteration 0",
               sparse<double>({{-1, 0}, {0, 1}}), {2, 1}, false, true);
  auto A = Solder::random_spd<double>(50, 5, 1);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] == i && i % 2 == 0) A.values[k] = -0.01;
  this->expect(Reason::indefinite_preconditioner, "the preconditioner is not positive definite", A,
               random_vector<double>(A.rows, 3), false, true);
}

TYPED_TEST(CgEnds, ScalesOutOfRangeAreNamedAndNeverConverged) {
  auto const good = Solder::random_spd<double>(300, 5, 1);
  this->each(good, Vector(300, 1e200), Vector(300), 100, [&](Solved<double> const& s, bool) {
    EXPECT_EQ(to_string(s.report.reason), "breakdown");
    EXPECT_EQ(s.report.detail, "||b||^2 overflows: scale b");
    EXPECT_TRUE(std::isnan(s.report.true_relative_residual));
  });
  auto const expect_true_or_named = [&](HostCsr<double> const& A, Vector const& b) {
    this->each(A, b, Vector(300), 100, [&](Solved<double> const& s, bool) {
      Report const& report = s.report;
      if (report.reason == Reason::converged) {
        auto const [relative, rounding] = true_residual(A, b, s.x);
        EXPECT_LE(relative, this->tolerance + rounding);
      } else {
        EXPECT_TRUE(report.reason == Reason::breakdown || report.reason == Reason::not_finite)
            << to_string(report.reason);
        // The classical form does not need (A p, M A p); the pipelined one says that it does.
        EXPECT_TRUE(contains(report.detail, "(A p, M A p) = ") ||
                    contains(report.detail, "(p, A p) = "))
            << report.detail;
      }
    });
  };
  for (double const size : {1e-160, 1e-300, 1e160, 1e200}) {
    SCOPED_TRACE(size);
    auto scaled = good;
    for (double& value : scaled.values) value *= size;
    expect_true_or_named(scaled, random_vector<double>(300, 2));
  }
  auto huge = good;  // A p itself overflows, unless Jacobi scales p
  for (double& value : huge.values) value *= 1e300;
  expect_true_or_named(huge, Vector(300, 1e100));
  this->expect(Reason::not_finite, "(p, A p) = ", huge, Vector(300, 1e100), true, false);
}

TYPED_TEST(CgEnds, Diverged) {
  // CG's residual may grow by half the root of the condition number in one step, and does so here.
  this->expect(Reason::diverged, "", diagonal<double>({1, 1e28}), {1, 1e-14}, true, false);
}

TYPED_TEST(CgEnds, Stagnated) {
  // A recursion goes on to fall below any tolerance; the true residual cannot.
  auto A = Solder::fem_poisson_2d<double>(20);
  Vector scales;
  for (std::int32_t i = 0; i < A.rows; ++i) scales.push_back(std::pow(10.0, i % 4 * 0.5));
  scale_both_sides(A, scales);
  auto const b = random_vector<double>(A.rows, 5);
  in_every_way<CgOptions>(1e-17, 20000, [&](CgOptions const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
    EXPECT_EQ(to_string(s.report.reason), "stagnated");
    EXPECT_TRUE(contains(s.report.detail, "attainable accuracy")) << s.report.detail;
    EXPECT_LE(s.report.true_relative_residual, 1e-11) << "it gave up early";
    expect_true_report(A, b, s, options);
  });
}

TYPED_TEST(CgEnds, OneByOne) {
  this->each(diagonal<double>({4}), {2}, {0}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.iterations, 1);
    EXPECT_EQ(s.x, Vector{0.5});
  });
  this->expect(Reason::indefinite_matrix, "(p, A p) = -16", diagonal<double>({-4}), {2}, true,
               false);
  this->expect(Reason::indefinite_preconditioner, "(r, z) = -1 ", diagonal<double>({-4}), {2},
               false, true);
}

TYPED_TEST(CgEnds, ReportsKernelsWordsTimesAndRunner) {
  using Exec = TypeParam;
  auto const A = Solder::fem_poisson_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 1);
  double const matrix = double(A.nonzeros()) * 1.5 + A.rows * 0.5;
  in_every_way<CgOptions>(1e-8, 100, [&](CgOptions const& options, bool jacobi) {
    Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
    bool const pipelined = options.form == CgForm::pipelined;
    EXPECT_EQ(report.kernels_per_iteration, is_whole(runs_by<Exec>(options)) ? 0
                                            : pipelined                      ? 2
                                                                             : 3);
    bool const keeps_rows =
        pipelined && is_whole(options.runner) && !Solder::Impl::is_host_space<Exec>;
    EXPECT_DOUBLE_EQ(report.words_per_iteration, matrix + (keeps_rows  ? (jacobi ? 9 : 8)
                                                           : pipelined ? (jacobi ? 11 : 9)
                                                                       : (jacobi ? 13 : 11)) *
                                                              A.rows);
    EXPECT_GE(report.setup_seconds, 0);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_LT(report.solve_seconds, 60);
  });
  CgOptions const automatic;
  Report const report = solve(Exec(), A, false, b, Vector(A.rows), automatic).report;
  EXPECT_EQ(report.reason, Reason::converged);
  EXPECT_NE(report.runner, Runner::automatic);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Cg, SolverEnds, WaysOf<CgOptions>, TypeName);

}  // namespace
