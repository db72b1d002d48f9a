// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Smoothed aggregation multigrid, its cycle and its solves, against plain loops.
#include "../kokkos_events.hpp"
#include "amg_solves.hpp"
#include "applied.hpp"

#include <algorithm>
#include <stdexcept>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Solder::AmgSmoother;

HostCsr<double> const rectangular{4, 5, {0, 0, 1, 1, 2}, {3, 4}, {1.0, 2.0}};

// ---- The cycle ----

/// A^-1 b.
Vector solve_densely(Plain const& A, Vector const& b) {
  std::vector<std::vector<ComplexDouble>> rows(b.size(), std::vector<ComplexDouble>(b.size()));
  for (std::int32_t i = 0; i < A.size(); ++i)
    for (auto const& [j, a] : A.rows[i]) rows[i][j] = ComplexDouble(a.real(), a.imag());
  return dense_solve(sparse(rows), std::vector<ComplexDouble>(b.begin(), b.end()));
}

/// A cycle, textbook, of the matrices of a hierarchy.
struct PlainCycle {
  struct Level {
    Plain A, P, R, G, GH;
    double largest;
  };
  std::vector<Level> levels;
  bool is_direct;
  AmgOptions options;

  template <class Scalar>
  PlainCycle(amg::Hierarchy<Scalar, Default> const& H, AmgOptions const& o)
      : is_direct(H.is_direct), options(o) {
    bool const with_fsai = options.smoother == AmgSmoother::fsai;
    for (std::size_t l = 0; l < H.levels.size(); ++l) {
      auto const& level = H.levels[l];
      Plain const P = level.P ? Plain(*level.P) : Plain(0, 0),
                  G = with_fsai && !(is_direct && l + 1 == H.levels.size()) ? Plain(level.fsai->G())
                                                                            : Plain(0, 0);
      levels.push_back({Plain(level.A), P, P.adjoint(), G, G.adjoint(),
                        with_fsai ? level.largest_of_fsai : level.largest});
    }
  }

  /// For residuals that lie in [0.2, 1] of the largest eigenvalue: the zeros of a Chebyshev
  /// polynomial there.
  double weight(std::size_t l, int k, int sweeps) const {
    double const pi = std::acos(-1.0), top = levels[l].largest;
    if (options.smoother == AmgSmoother::jacobi) return 4 / (3 * top);
    return 1 / (0.6 * top + 0.4 * top * std::cos(pi * (k + 0.5) / sweeps));
  }
  Vector residual(std::size_t l, Vector const& b, Vector const& x) const {
    auto r = levels[l].A.times(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    return r;
  }
  void sweep(std::size_t l, double weight, Vector const& b, Vector& x) const {
    auto r = residual(l, b, x);
    if (options.smoother == AmgSmoother::fsai)
      r = levels[l].GH.times(levels[l].G.times(r));
    else
      for (std::size_t i = 0; i < r.size(); ++i)
        r[i] /= levels[l].A.at(std::int32_t(i), std::int32_t(i));
    for (std::size_t i = 0; i < r.size(); ++i) x[i] += weight * r[i];
  }
  Vector operator()(Vector const& b) const {
    Vector x(b.size());
    cycle(0, b, x);
    return x;
  }
  void cycle(std::size_t l, Vector const& b, Vector& x) const {
    bool const is_last = l + 1 == levels.size();
    if (is_last && is_direct) {
      x = solve_densely(levels[l].A, b);
      return;
    }
    for (int k = 0; k < options.pre; ++k) sweep(l, weight(l, k, options.pre), b, x);
    if (!is_last) {
      auto const r = levels[l].R.times(residual(l, b, x));
      Vector e(r.size());
      bool const twice = options.cycle == Solder::AmgCycle::w && l + 2 < levels.size();
      for (int k = 0; k < (twice ? 2 : 1); ++k) cycle(l + 1, r, e);
      auto const Pe = levels[l].P.times(e);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += Pe[i];
    }
    for (int k = options.post; k-- > 0;) sweep(l, weight(l, k, options.post), b, x);
  }
};

/// Every smoother, with these sweeps.
template <class Scalar>
void check_cycles(HostCsr<Scalar> const& host, AmgOptions options, std::size_t levels, bool direct,
                  std::vector<std::pair<int, int>> const& sweeps) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const u = random_vector<Scalar>(host.rows, 1), v = random_vector<Scalar>(host.rows, 2);
  for (auto const smoother : {AmgSmoother::jacobi, AmgSmoother::chebyshev, AmgSmoother::fsai}) {
    options.smoother = smoother;
    auto const made = hierarchy(A, options);
    auto const& H = *made;
    EXPECT_EQ(H.levels.size(), levels);
    EXPECT_EQ(H.is_direct, direct);
    for (auto const& [pre, post] : sweeps) {
      SCOPED_TRACE(std::string(to_string(smoother)) + ", " + std::to_string(pre) + " and " +
                   std::to_string(post) + " sweeps");
      options.pre = pre;
      options.post = post;
      Amg<Scalar, Default> const M(exec, A, options);
      ASSERT_EQ(M.failure(), "");
      ASSERT_EQ(M.levels().size(), H.levels.size());
      auto const Mu = applied(M, u), Mv = applied(M, v);
      auto const expected = PlainCycle(H, options)(plain(v));
      double const size = norm_of(expected);
      for (std::int32_t i = 0; i < host.rows; ++i)
        ASSERT_LE(std::abs(SolderTest::plain(Mv[i]) - expected[i]), 1e-12 * size) << "row " << i;

      if (pre == post) {  // Hermitian positive definite
        Complex const uMv = inner(plain(u), plain(Mv)), Muv = inner(plain(Mu), plain(v));
        EXPECT_LE(std::abs(uMv - Muv), 1e-12 * norm(u) * norm(Mv));
        Complex const uMu = inner(plain(u), plain(Mu));
        EXPECT_GT(uMu.real(), 0);
        EXPECT_LE(std::abs(uMu.imag()), 1e-12 * norm(u) * norm(Mu));
      }

      EXPECT_TRUE(same_bits(applied(M, v), Mv));
      Amg<Scalar, Default> again(exec, A, options);
      EXPECT_TRUE(same_bits(applied(again, v), Mv));
      again.refresh(exec, A);
      EXPECT_TRUE(same_bits(applied(again, v), Mv));
      // One team takes the rows in the same order, one by one: nothing is summed across them.
      if (Solder::Impl::is_host_space<Default>) {
        EXPECT_TRUE(same_bits(applied(M, v, true), Mv));
      }
    }
  }
}
template <class Scalar>
void check_cycles(HostCsr<Scalar> const& host, AmgOptions const& options, std::size_t levels,
                  bool direct) {
  check_cycles(host, options, levels, direct, {{1, 1}, {2, 2}, {3, 3}, {8, 8}});
}

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
