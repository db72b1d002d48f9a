// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Smoothed aggregation multigrid, its cycle and its solves, against plain loops.
#include "../kokkos_events.hpp"
#include "amg_solves.hpp"
#include "applied.hpp"
#include "plain_cycle.hpp"

#include <algorithm>
#include <stdexcept>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Solder::AmgSmoother;

HostCsr<double> const rectangular{4, 5, {0, 0, 1, 1, 2}, {3, 4}, {1.0, 2.0}};

// ---- The cycle ----

TEST(AmgCycle, IsThatOfPlainLoops) {
  auto const grid = Solder::fem_poisson_2d<double>(24);
  {
    SCOPED_TRACE("to a direct solver");
    check_cycles(grid, {}, 2, true);
  }
  {
    SCOPED_TRACE("down to few rows");
    check_cycles(grid, {.max_coarse_size = 4}, 4, true);
  }
  {
    SCOPED_TRACE("with sweeps on the coarsest level");
    check_cycles(grid, {.max_levels = 3, .max_coarse_size = 1}, 3, false);
  }
  {
    SCOPED_TRACE("one level");
    check_cycles(diagonal(std::vector<double>(200, 3.0)), {}, 1, false);
  }
  SCOPED_TRACE("random");
  check_cycles(Solder::random_spd<double>(400, 5, 4), {.max_coarse_size = 10}, 3, true);
}

TEST(AmgCycle, MayHaveOtherSweepsAfterThanBefore) {
  auto const grid = Solder::fem_poisson_2d<double>(24);
  std::vector<std::pair<int, int>> const sweeps{{0, 1}, {1, 0}, {0, 3}, {2, 0},
                                                {1, 2}, {3, 1}, {2, 5}};
  check_cycles(grid, {.max_coarse_size = 4}, 4, true, sweeps);
  check_cycles(grid, {.max_levels = 3, .max_coarse_size = 1}, 3, false, sweeps);
  check_cycles(grid, {}, 2, true, sweeps);
}

TEST(AmgCycle, GoesTwiceThroughLevels) {
  auto const grid = Solder::fem_poisson_2d<double>(40);
  std::vector<std::pair<int, int>> const sweeps{{1, 1}, {2, 2}, {3, 3}, {0, 1}, {2, 1}, {1, 2}};
  AmgOptions options{.cycle = Solder::AmgCycle::w, .max_coarse_size = 2};
  check_cycles(grid, options, 5, true, sweeps);
  options.max_levels = 4;
  check_cycles(grid, options, 4, false, sweeps);
  options.max_levels = 2;
  check_cycles(grid, options, 2, false, sweeps);
}

TEST(AmgCycle, IsThatOfPlainLoopsInComplex) {
  check_cycles(Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1), {.max_coarse_size = 10}, 3,
               true);
}

/// Duplicates count as their sum, in any order.
TEST(AmgCycle, TakesMatricesAsTheyCome) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(16);
  HostCsr<double> split{host.rows, host.rows, {0}, {}, {}};
  for (std::int32_t i = 0; i < host.rows; ++i) {
    for (auto k = host.row_offsets[i + 1]; k-- > host.row_offsets[i];)
      for (double const part : {0.25, 0.75}) {
        split.columns.push_back(host.columns[k]);
        split.values.push_back(part * host.values[k]);
      }
    split.row_offsets.push_back(static_cast<std::int64_t>(split.columns.size()));
  }
  auto const r = random_vector<double>(host.rows, 5);
  Amg<double, Default> const M(exec, CsrMatrix<double, Default>(exec, host)),
      of_split(exec, CsrMatrix<double, Default>(exec, split));
  EXPECT_TRUE(same_bits(applied(M, r), applied(of_split, r)));
}

// ---- Solves ----

/// The last one included, which is handed out; with more sweeps there is one to begin, and what is
/// handed out is a copy.
int kernels_of_cycle(std::size_t levels, int sweeps, bool direct) {
  int const others = static_cast<int>(levels) - 1;
  return others * 2 * sweeps + (direct ? 1 : 2 * sweeps - 1) + (sweeps > 1 ? 2 : 0);
}

/// Of a W-cycle: each level but the first and the last has two more, and all that is below
/// it twice.
int kernels_of_w_cycle(std::size_t levels, int sweeps, bool direct) {
  int below = direct ? 1 : 2 * sweeps - 1;
  for (std::size_t l = levels - 1; l-- > 0;) {
    below += 2 * sweeps;
    if (l > 0) below = 2 * below + 2;
  }
  return below + (sweeps > 1 ? 2 : 0);
}

/// Of a V-cycle with G^H G: three a sweep but for the last one after the coarse grid, which leaves
/// no residual, and three with the coarse grid; one to begin, one that hands out.
int kernels_of_split_cycle(std::size_t levels, int sweeps) {
  return (static_cast<int>(levels) - 1) * (2 * 3 * sweeps - 1 + 3) + 1 + 2;
}

TEST(AmgSolves, InEveryRunnerAlike) {
  for (auto const& host :
       {Solder::fem_poisson_2d<double>(63), Solder::poisson_3d_27pt<double>(16)}) {
    auto const b = random_vector<double>(host.rows, 6);
    int iterations = -1;
    for (Runner const runner : every_runner) {
      SCOPED_TRACE(to_string(runner));
      auto const options = cg(runner);
      auto const s = solved_by_cg(host, b, options), again = solved_by_cg(host, b, options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      expect_true_report(host, b, s, options);
      EXPECT_LE(s.report.iterations, 30);
      if (iterations < 0) iterations = s.report.iterations;
      EXPECT_LE(std::abs(s.report.iterations - iterations), 1);
      EXPECT_TRUE(same_bits(s.x, again.x));
      EXPECT_TRUE(same_bits(s.report.history, again.report.history));
    }
  }
}

TEST(AmgSolves, TakesTheKernelsThatItSays) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  auto const b = random_vector<double>(host.rows, 6);
  for (int const sweeps : {1, 2, 3})
    for (int const levels : {2, 16}) {
      AmgOf const M(exec, A,
                    {.pre = sweeps, .post = sweeps, .max_levels = levels, .max_coarse_size = 20});
      auto const report = solved(A, M, b, cg(Runner::launch)).report;
      EXPECT_EQ(report.reason, Reason::converged);
      EXPECT_EQ(report.kernels_per_iteration,
                3 + kernels_of_cycle(M.levels().size(), sweeps, levels == 16));
      EXPECT_EQ(report.preconditioner.level_rows.size(), M.levels().size());
      EXPECT_EQ(report.preconditioner.level_rows[0], host.rows);
      AmgOf const W(exec, A,
                    {.cycle = Solder::AmgCycle::w,
                     .pre = sweeps,
                     .post = sweeps,
                     .max_levels = levels,
                     .max_coarse_size = 2});
      auto const of_W = solved(A, W, b, cg(Runner::launch)).report;
      EXPECT_EQ(of_W.reason, Reason::converged);
      EXPECT_LE(of_W.iterations, report.iterations);
      EXPECT_EQ(of_W.kernels_per_iteration,
                3 + kernels_of_w_cycle(W.levels().size(), sweeps, levels == 16));
    }
  for (int const sweeps : {1, 2}) {
    AmgOf const M(exec, A, {.smoother = AmgSmoother::fsai, .pre = sweeps, .post = sweeps});
    auto const report = solved(A, M, b, cg(Runner::launch)).report;
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_EQ(report.kernels_per_iteration, 3 + kernels_of_split_cycle(M.levels().size(), sweeps));
  }
}

TEST(AmgSolves, WithEverySolver) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A);
  auto const b = random_vector<double>(host.rows, 6);
  auto const check = [&](auto options) {
    options.tolerance = 1e-10;
    options.max_iterations = 100;
    auto const s = solved(A, M, b, options), again = solved(A, M, b, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    expect_true_report(host, b, s, options);
    EXPECT_TRUE(same_bits(s.x, again.x));
  };
  auto pipelined = cg(Runner::launch);
  pipelined.form = Solder::CgForm::pipelined;
  check(pipelined);
  check(BiCgStabOptions{});
  check(GmresOptions{});
  check(IdrOptions{});
}

/// The coarse grid takes what is smooth: M r falls by many more digits than r, and where it goes by
/// a recurrence its rounding must not.
TEST(AmgSolves, ToAllDigits) {
  Default const exec;
  for (auto const& host :
       {Solder::poisson_3d_27pt<double>(16), Solder::fem_poisson_2d<double>(60)}) {
    MatrixOf const A(exec, host);
    AmgOf const M(exec, A);
    std::vector<double> const b(host.rows, 1.0);
    auto const check = [&](auto options, int products) {
      options.tolerance = 1e-13;
      options.max_iterations = 200;
      for (Runner const runner : every_runner) {
        options.runner = runner;
        auto const s = solved(A, M, b, options);
        EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
        EXPECT_LE(products * s.report.iterations, 50);
        expect_true_report(host, b, s, options);
      }
    };
    for (auto const form : {Solder::BiCgStabForm::classical, Solder::BiCgStabForm::pipelined}) {
      BiCgStabOptions options;
      options.form = form;
      check(options, 2);
    }
    for (auto const form : {Solder::CgForm::classical, Solder::CgForm::pipelined}) {
      CgOptions options;
      options.form = form;
      check(options, 1);
    }
  }
}

TEST(AmgSolves, WithoutSymmetryWhereNoneIsNeeded) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  auto const b = random_vector<double>(host.rows, 6);
  for (auto const& [pre, post] : {std::pair(1, 0), std::pair(0, 1), std::pair(2, 1)})
    for (auto const smoother : {AmgSmoother::chebyshev, AmgSmoother::fsai}) {
      AmgOf const M(exec, A, {.smoother = smoother, .pre = pre, .post = post});
      expect_solved(host, A, M, b, BiCgStabOptions{});
      expect_solved(host, A, M, b, GmresOptions{});
      expect_solved(host, A, M, b, IdrOptions{});
    }
}

// ---- In single precision ----

template <class Scalar, class Stored>
void check_single(HostCsr<Scalar> const& host, AmgOptions const& amg_options) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  Amg<Scalar, Default> const M(exec, A, amg_options);
  Amg<Scalar, Default, Stored> single(exec, A, amg_options);
  ASSERT_EQ(single.failure(), "");
  auto const v = random_vector<Scalar>(host.rows, 2), expected = applied(M, v),
             Mv = applied(single, v);
  double difference = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    difference = std::max<double>(difference, Kokkos::abs(Mv[i] - expected[i]));
  // It is in single precision. (Couplings that are exp(i t) are alike up to rounding: there the
  // aggregates may be others.)
  EXPECT_GT(difference, 1e-10 * norm(expected));
  if (!Solder::ScalarTraits<Scalar>::is_complex) {
    EXPECT_LE(difference, 1e-4 * norm(expected));
  }
  double const words = M.template words<Scalar>(host.rows);
  EXPECT_LT(single.template words<Scalar>(host.rows), 0.8 * words);
  EXPECT_GT(single.template words<Scalar>(host.rows), 0.5 * words);

  auto const b = random_vector<Scalar>(host.rows, 3);
  for (Runner const runner : every_runner) {
    auto const options = cg(runner, 1e-11);
    auto const solve = [&]<class M_>(M_ const& preconditioner) {
      Solder::Cg solver(exec, A, preconditioner, options);
      auto const x = to_device(exec, std::vector<Scalar>(b.size()));
      Solved<Scalar> s;
      s.report = solver.solve(to_device(exec, b), x);
      s.x = to_host(exec, x);
      return s;
    };
    auto const s = solve(single);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    expect_true_report(host, b, s, options);
    EXPECT_NEAR(s.report.iterations, solve(M).report.iterations, 1);
    EXPECT_TRUE(same_bits(solve(single).x, s.x));
  }
  single.refresh(exec, A);
  EXPECT_TRUE(same_bits(applied(single, v), Mv));
}

TEST(AmgInSingle, SolvesAsTruly) {
  check_single<double, float>(Solder::fem_poisson_2d<double>(40), {});
  check_single<double, float>(Solder::poisson_3d_27pt<double>(12),
                              {.pre = 2, .post = 2, .max_coarse_size = 20});
  check_single<ComplexDouble, Kokkos::complex<float>>(
      Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1), {.max_coarse_size = 10});
}

/// Vectors are in the solver's precision: whatever the scale of b, the same iterations.
TEST(AmgInSingle, TakesRightHandSidesOfAnyScale) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  for (int const sweeps : {1, 2}) {
    Amg<double, Default, float> const M(exec, A, {.pre = sweeps, .post = sweeps});
    int expected = -1;
    for (double const scale : {1.0, 1e60, 5e38, 1e-38, 1e-42, 1e-60}) {
      auto b = random_vector<double>(host.rows, 3);
      for (double& entry : b) entry *= scale;
      Solder::Cg solver(exec, A, M, cg(Runner::launch));
      auto const x = to_device(exec, std::vector<double>(b.size()));
      auto const report = solver.solve(to_device(exec, b), x);
      EXPECT_EQ(report.reason, Reason::converged) << report.detail;
      if (expected < 0) expected = report.iterations;
      EXPECT_NEAR(report.iterations, expected, 1) << scale;
    }
  }
}

/// 1e9 + 4 and -1e9 are 4, and 4 in single precision too.
TEST(AmgInSingle, SumsDuplicatesBefore) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(16);
  HostCsr<double> split{host.rows, host.rows, {0}, {}, {}};
  for (std::int32_t i = 0; i < host.rows; ++i) {
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      for (double const part : {1073741824.0, -1073741824.0 + host.values[k]}) {
        split.columns.push_back(host.columns[k]);
        split.values.push_back(part);
      }
    split.row_offsets.push_back(static_cast<std::int64_t>(split.columns.size()));
  }
  auto const r = random_vector<double>(host.rows, 5);
  Amg<double, Default, float> const M(exec, MatrixOf(exec, host)),
      of_split(exec, MatrixOf(exec, split));
  auto const expected = applied(M, r), z = applied(of_split, r);
  for (std::size_t i = 0; i < r.size(); ++i)
    ASSERT_NEAR(z[i], expected[i], 1e-5 * norm(expected)) << "row " << i;
}

TEST(AmgInSingle, RefusesEntriesThatItCannotHold) {
  Default const exec;
  auto host = Solder::fem_poisson_2d<double>(20);
  for (double const scale : {1e60, 1e-60}) {
    auto scaled = host;
    for (double& value : scaled.values) value *= scale;
    Amg<double, Default, float> const M(exec, MatrixOf(exec, scaled));
    EXPECT_NE(M.failure().find("in single precision"), std::string::npos) << M.failure();
    EXPECT_EQ(AmgOf(exec, MatrixOf(exec, scaled)).failure(), "");
  }
}

}  // namespace
