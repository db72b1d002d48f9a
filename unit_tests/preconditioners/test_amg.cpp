// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Smoothed aggregation multigrid, its cycle and its solves, against plain loops.
#include "../kokkos_events.hpp"
#include "../solvers/bicgstab.hpp"
#include "../solvers/cg.hpp"
#include "../solvers/gmres.hpp"
#include "../solvers/idr.hpp"
#include "amg.hpp"
#include "applied.hpp"

#include <algorithm>
#include <stdexcept>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Solder::AmgSmoother;

HostCsr<double> const rectangular{4, 5, {0, 0, 1, 1, 2}, {3, 4}, {1.0, 2.0}};

// ---- Matrices ----

/// diag(A, scale B).
HostCsr<double> side_by_side(HostCsr<double> const& A, HostCsr<double> const& B, double scale) {
  auto C = A;
  C.rows = C.columns_count = A.rows + B.rows;
  for (std::int32_t i = 1; i <= B.rows; ++i)
    C.row_offsets.push_back(A.nonzeros() + B.row_offsets[i]);
  for (auto const& column : B.columns) C.columns.push_back(A.rows + column);
  for (auto const& value : B.values) C.values.push_back(scale * value);
  return C;
}

HostCsr<double> negated(HostCsr<double> A) {
  for (double& value : A.values) value = -value;
  return A;
}

double* entry_of(HostCsr<double>& A, std::int32_t i, std::int32_t j) {
  for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
    if (A.columns[k] == j) return &A.values[k];
  return nullptr;
}

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
      ASSERT_EQ(M.defect(), "");
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
    check_cycles(grid, {.coarsest = 4}, 4, true);
  }
  {
    SCOPED_TRACE("with sweeps on the coarsest level");
    check_cycles(grid, {.levels = 3, .coarsest = 1}, 3, false);
  }
  {
    SCOPED_TRACE("one level");
    check_cycles(diagonal(std::vector<double>(200, 3.0)), {}, 1, false);
  }
  SCOPED_TRACE("random");
  check_cycles(Solder::random_spd<double>(400, 5, 4), {.coarsest = 10}, 3, true);
}

TEST(AmgCycle, MayHaveOtherSweepsAfterThanBefore) {
  auto const grid = Solder::fem_poisson_2d<double>(24);
  std::vector<std::pair<int, int>> const sweeps{{0, 1}, {1, 0}, {0, 3}, {2, 0},
                                                {1, 2}, {3, 1}, {2, 5}};
  check_cycles(grid, {.coarsest = 4}, 4, true, sweeps);
  check_cycles(grid, {.levels = 3, .coarsest = 1}, 3, false, sweeps);
  check_cycles(grid, {}, 2, true, sweeps);
}

TEST(AmgCycle, GoesTwiceThroughLevels) {
  auto const grid = Solder::fem_poisson_2d<double>(40);
  std::vector<std::pair<int, int>> const sweeps{{1, 1}, {2, 2}, {3, 3}, {0, 1}, {2, 1}, {1, 2}};
  AmgOptions options{.cycle = Solder::AmgCycle::w, .coarsest = 2};
  check_cycles(grid, options, 5, true, sweeps);
  options.levels = 4;
  check_cycles(grid, options, 4, false, sweeps);
  options.levels = 2;
  check_cycles(grid, options, 2, false, sweeps);
}

TEST(AmgCycle, IsThatOfPlainLoopsInComplex) {
  check_cycles(Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1), {.coarsest = 10}, 3, true);
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

using MatrixOf = CsrMatrix<double, Default>;
using AmgOf = Amg<double, Default>;

template <class Options>
Solved<double> solved(MatrixOf const& A, AmgOf const& M, std::vector<double> const& b,
                      Options const& options) {
  Default const exec;
  SolverOf<Options, Default, double, AmgOf> solver(exec, A, M, options);
  auto const x = to_device(exec, std::vector<double>(b.size()));
  Solved<double> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  return s;
}

CgOptions cg(Runner runner, double tolerance = 1e-10, int max_iterations = 300) {
  CgOptions options;
  options.form = Solder::CgForm::classical;
  options.runner = runner;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return options;
}

/// Set-up and solve.
Solved<double> solved_by_cg(HostCsr<double> const& host, std::vector<double> const& b,
                            CgOptions const& options, AmgOptions const& amg_options = {}) {
  Default const exec;
  MatrixOf const A(exec, host);
  return solved(A, AmgOf(exec, A, amg_options), b, options);
}

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
      AmgOf const M(exec, A, {.pre = sweeps, .post = sweeps, .levels = levels, .coarsest = 20});
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
                     .levels = levels,
                     .coarsest = 2});
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
      auto const check = [&](auto options) {
        options.tolerance = 1e-10;
        options.max_iterations = 60;
        auto const s = solved(A, M, b, options);
        EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
        expect_true_report(host, b, s, options);
      };
      check(BiCgStabOptions{});
      check(GmresOptions{});
      check(IdrOptions{});
    }
}

// ---- In single precision ----

template <class Scalar, class Stored>
void check_single(HostCsr<Scalar> const& host, AmgOptions const& amg_options) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  Amg<Scalar, Default> const M(exec, A, amg_options);
  Amg<Scalar, Default, Stored> single(exec, A, amg_options);
  ASSERT_EQ(single.defect(), "");
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
                              {.pre = 2, .post = 2, .coarsest = 20});
  check_single<ComplexDouble, Kokkos::complex<float>>(
      Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1), {.coarsest = 10});
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
    EXPECT_NE(M.defect().find("in single precision"), std::string::npos) << M.defect();
    EXPECT_EQ(AmgOf(exec, MatrixOf(exec, scaled)).defect(), "");
  }
}

// ---- Odd matrices ----

/// A solve of a system that has a solution, in whatever way it ends.
Solved<double> ended(HostCsr<double> const& host, std::vector<double> const& b,
                     Runner runner = Runner::launch, AmgOptions const& amg_options = {}) {
  auto const options = cg(runner);
  auto const s = solved_by_cg(host, b, options, amg_options);
  EXPECT_NE(s.report.reason, Reason::running);
  if (s.report.reason != Reason::not_finite) expect_true_report(host, b, s, options);
  return s;
}

void expect_solved(HostCsr<double> const& host, int most_iterations,
                   AmgOptions const& options = {}) {
  for (Runner const runner : {Runner::launch, Runner::team}) {
    auto const report = ended(host, random_vector<double>(host.rows, 7), runner, options).report;
    EXPECT_EQ(report.reason, Reason::converged) << report.detail;
    EXPECT_LE(report.iterations, most_iterations);
  }
}

TEST(AmgOfOddMatrices, SolvesSmallAndDiagonalOnes) {
  expect_solved(diagonal<double>({4}), 1);
  expect_solved(diagonal<double>({1, 20, 3}), 2);
  expect_solved(sparse<double>({{2, 1}, {1, 2}}), 2);
  expect_solved(diagonal(std::vector<double>(500, 1.0)), 1);
  std::vector<double> entries;
  for (int i = 0; i < 500; ++i) entries.push_back(std::pow(10.0, i % 7));
  expect_solved(diagonal(entries), 2);
  entries.resize(100);
  expect_solved(diagonal(entries), 2);
}

TEST(AmgOfOddMatrices, ThoseWithoutEntries) {
  Default const exec;
  for (std::int32_t const n : {0, 3, 500}) {
    HostCsr<double> const host{n, n, std::vector<std::int64_t>(n + 1), {}, {}};
    MatrixOf const A(exec, host);
    AmgOf const M(exec, A);
    EXPECT_EQ(M.rows(), n);
    EXPECT_EQ(M.defect().empty(), n == 0) << M.defect();
    auto const report = solved(A, M, std::vector<double>(n, 1.0), cg(Runner::launch)).report;
    EXPECT_EQ(report.reason, n == 0 ? Reason::converged : Reason::breakdown);
  }
}

TEST(AmgOfOddMatrices, SolvesPositiveOffDiagonals) {
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < 900; ++i) {
    builder.add(i, i, 4.1);
    if (i % 30 > 0) builder.add(i, i - 1, 1);
    if (i % 30 < 29) builder.add(i, i + 1, 1);
    if (i >= 30) builder.add(i, i - 30, 1);
    if (i < 870) builder.add(i, i + 30, 1);
  }
  expect_solved(builder.build(900, 900), 100);
}

TEST(AmgOfOddMatrices, SolvesAnArrow) {
  Solder::TripletBuilder<double> builder;
  builder.add(0, 0, 3000);
  for (std::int32_t i = 1; i < 3000; ++i) {
    builder.add(i, i, 1);
    builder.add(i, 0, -0.5);
    builder.add(0, i, -0.5);
  }
  expect_solved(builder.build(3000, 3000), 10);
}

TEST(AmgOfOddMatrices, SolvesGridsSideBySide) {
  auto const A = Solder::fem_poisson_2d<double>(30), B = Solder::fem_poisson_2d<double>(26);
  expect_solved(side_by_side(A, B, 1), 25);
  expect_solved(side_by_side(A, B, 1e-6), 25);
}

/// Two grids have nothing to do with each other: the scale of one does not matter to the other.
TEST(AmgOfOddMatrices, SolvesGridsOfDifferentScales) {
  auto const grid = Solder::fem_poisson_2d<double>(60);
  auto b = random_vector<double>(2 * grid.rows, 7);
  for (std::int32_t i = 0; i < grid.rows; ++i) b[i] = 0;  // only the second one is to be solved
  auto const iterations = [&](double scale) {
    auto const s = solved_by_cg(side_by_side(grid, grid, scale), b, cg(Runner::launch));
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    return s.report.iterations;
  };
  int const alike = iterations(1);
  for (double const scale : {1e12, 1e-6, 1e-12, 1e-13, 1e-16, 1e-20})
    EXPECT_LE(std::abs(iterations(scale) - alike), 2) << scale;
}

TEST(AmgOfOddMatrices, NamesAZeroOnTheDiagonal) {
  auto host = Solder::fem_poisson_2d<double>(20);
  *entry_of(host, 6, 6) = 0;
  Default const exec;
  AmgOf const M(exec, MatrixOf(exec, host));
  EXPECT_NE(M.defect().find("row 7 "), std::string::npos) << M.defect();
  EXPECT_TRUE(std::isnan(M.setup().largest_eigenvalue));
  auto const b = random_vector<double>(host.rows, 7);
  for (Runner const runner : every_runner) {
    auto const s = ended(host, b, runner);
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_EQ(s.report.detail, M.defect());
  }
  for (AmgSmoother const smoother :
       {AmgSmoother::jacobi, AmgSmoother::chebyshev, AmgSmoother::fsai}) {
    AmgOf const of_smoother(exec, MatrixOf(exec, host), {.smoother = smoother});
    EXPECT_EQ(of_smoother.words<double>(host.rows), 0);
    auto const s = ended(host, b, Runner::launch, {.smoother = smoother});
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_EQ(s.report.detail, of_smoother.defect());
  }
}

TEST(AmgOfOddMatrices, NamesWhatIsNotPositive) {
  Default const exec;
  for (auto const& host : {negated(Solder::fem_poisson_2d<double>(20)), diagonal<double>({-1}),
                           negated(diagonal(std::vector<double>(500, 1.0)))}) {
    EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).defect(), "");
    auto const s = ended(host, random_vector<double>(host.rows, 7));
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_NE(s.report.detail, "");
  }
  // Only the coarse grid tells: the constant has a negative energy.
  auto host = grid_laplacian(20);
  for (std::int32_t i = 0; i < host.rows; ++i) *entry_of(host, i, i) -= 0.1;
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).defect(), "");
  EXPECT_NE(ended(host, random_vector<double>(host.rows, 7)).report.reason, Reason::converged);
  // One row has a negative diagonal.
  auto indefinite = Solder::fem_poisson_2d<double>(20);
  *entry_of(indefinite, 50, 50) = -4;
  auto const s = ended(indefinite, random_vector<double>(indefinite.rows, 7));
  EXPECT_NE(s.report.reason, Reason::max_iterations);
}

/// A solution exists; any is fine.
TEST(AmgOfOddMatrices, SolvesConsistentNeumannProblems) {
  for (auto const& host : {grid_laplacian(30), grid_laplacian(8), path_laplacian(300, 0.7)}) {
    SCOPED_TRACE(host.rows);
    auto const b = multiply(host, random_vector<double>(host.rows, 8));
    for (Runner const runner : {Runner::launch, Runner::team}) {
      auto const s = ended(host, b, runner);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      EXPECT_LE(s.report.iterations, 40);
      EXPECT_LT(norm(s.x), 1e3 * norm(b) * host.rows);
    }
  }
}

/// Where the coarsest grid is the constant of each component alone, its matrix is nothing but
/// rounding.
TEST(AmgOfOddMatrices, EndsNeumannProblemsDownToTheConstant) {
  Default const exec;
  for (int const n : {2, 3, 4, 60, 61, 62, 63, 64, 65, 66}) {
    SCOPED_TRACE(n);
    auto const host = path_laplacian(n, 0.7);
    auto const s =
        ended(host, multiply(host, random_vector<double>(n, 8)), Runner::launch, {.coarsest = 1});
    EXPECT_NE(s.report.reason, Reason::max_iterations);
  }
}

TEST(AmgOfOddMatrices, SolvesNeumannProblemsDownToTheConstant) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> star, pairs;
  for (std::int32_t i = 1; i < 1000; ++i) star.push_back({0, i, 1 + std::abs(std::sin(i))});
  for (std::int32_t i = 0; i < 200; i += 2) pairs.push_back({i, i + 1, 1});
  for (auto const& host : {path_laplacian(2), path_laplacian(4, 0.7), graph_laplacian(1000, star),
                           graph_laplacian(200, pairs)}) {
    SCOPED_TRACE(host.rows);
    auto const b = multiply(host, random_vector<double>(host.rows, 8));
    auto const s = ended(host, b);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_LT(norm(s.x), 1e3 * norm(b) * host.rows);
  }
}

TEST(AmgOfOddMatrices, EndsWhereNumbersAreNotFinite) {
  Default const exec;
  double const nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (double const value : {nan, infinity, -infinity})
    for (auto const& [i, j] : {std::pair(50, 50), std::pair(50, 51)})
      for (int const nodes : {10, 20}) {
        auto host = Solder::fem_poisson_2d<double>(nodes);
        *entry_of(host, i, j) = value;
        *entry_of(host, j, i) = value;
        AmgOf const M(exec, MatrixOf(exec, host));
        EXPECT_NE(M.defect(), "");
        for (Runner const runner : {Runner::launch, Runner::team}) {
          auto const s =
              solved_by_cg(host, random_vector<double>(host.rows, 7), cg(runner, 1e-10, 50));
          EXPECT_EQ(to_string(s.report.reason), to_string(Reason::not_finite)) << value;
        }
      }
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, diagonal<double>({nan}))).defect(), "");
}

TEST(AmgOfOddMatrices, RefusesWhatCannotBe) {
  Default const exec;
  MatrixOf const A(exec, Solder::fem_poisson_2d<double>(5));
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const refuses = [&](AmgOptions const& options) {
    try {
      AmgOf(exec, A, options);
      return false;
    } catch (std::invalid_argument const& error) {
      return std::string(error.what()).find("Solder::Amg: ") == 0;
    }
  };
  for (double const strength : {-0.1, 1.1, nan}) EXPECT_TRUE(refuses({.strength = strength}));
  for (int const sweeps : {-1, 9}) {
    EXPECT_TRUE(refuses({.pre = sweeps}));
    EXPECT_TRUE(refuses({.post = sweeps}));
  }
  EXPECT_TRUE(refuses({.pre = 0, .post = 0}));
  for (int const levels : {-1, 0, 1, 17}) EXPECT_TRUE(refuses({.levels = levels}));
  for (int const coarsest : {-1, 0, 1001}) EXPECT_TRUE(refuses({.coarsest = coarsest}));
  EXPECT_FALSE(refuses({.strength = 0, .pre = 8, .post = 8, .levels = 16, .coarsest = 1000}));
  EXPECT_FALSE(refuses({.strength = 1, .pre = 0, .post = 1, .levels = 2, .coarsest = 1}));
  EXPECT_THROW(AmgOf(exec, MatrixOf(exec, rectangular)), std::invalid_argument);
  using Solver = SolverOf<CgOptions, Default, double, AmgOf>;
  EXPECT_THROW(Solver(exec, MatrixOf(exec, Solder::fem_poisson_2d<double>(6)), AmgOf(exec, A)),
               std::invalid_argument);
}

/// The scale of a matrix is nobody's business, though squares of its entries have left the range.
TEST(AmgOfOddMatrices, MayHaveAnyScale) {
  Default const exec;
  auto const check = [&](auto const& host) {
    using Scalar = std::remove_cvref_t<decltype(host.values[0])>;
    using Of = Amg<Scalar, Default>;
    AmgOptions const options{.coarsest = 20};
    Of const M(exec, CsrMatrix<Scalar, Default>(exec, host), options);
    auto const r = random_vector<Scalar>(host.rows, 3), expected = applied(M, r);
    for (double const scale : {std::ldexp(1.0, -680), std::ldexp(1.0, 680)}) {
      auto scaled = host;
      for (Scalar& value : scaled.values) value *= scale;
      Of const of_scaled(exec, CsrMatrix<Scalar, Default>(exec, scaled), options);
      EXPECT_EQ(of_scaled.setup().level_nonzeros, M.setup().level_nonzeros);
      auto z = applied(of_scaled, r);
      for (Scalar& value : z) value *= scale;
      EXPECT_TRUE(same_bits(z, expected)) << scale;
    }
  };
  check(Solder::fem_poisson_2d<double>(24));
  check(Solder::magnetic_laplacian_2d<ComplexDouble>(18, 0.1));
}

// ---- Refresh ----

TEST(AmgRefresh, FollowsTheValuesInAllCopiesAndSolvers) {
  Default const exec;
  auto const first = Solder::fem_poisson_2d<double>(24);
  auto second = first;  // couplings as strong on all levels
  for (double& value : second.values) value *= 4;
  auto const third = Solder::random_spd<double>(first.rows, 5, 1);  // another pattern
  auto const b = random_vector<double>(first.rows, 3);
  MatrixOf const A(exec, first), B(exec, second), C(exec, third);
  AmgOptions const options{.coarsest = 10};
  AmgOf M(exec, A, options);
  auto const copy = M;
  for (auto const* matrix : {&B, &C, &A, &B}) {
    M.refresh(exec, *matrix);
    AmgOf const fresh(exec, *matrix, options);
    EXPECT_EQ(copy.setup().largest_eigenvalue, fresh.setup().largest_eigenvalue);
    EXPECT_EQ(copy.setup().level_rows, fresh.setup().level_rows);
    EXPECT_TRUE(same_bits(applied(copy, b), applied(fresh, b)));
    for (Runner const runner : {Runner::launch, Runner::team})
      EXPECT_TRUE(same_bits(solved(*matrix, copy, b, cg(runner)).x,
                            solved(*matrix, fresh, b, cg(runner)).x));
  }
  // One solver, of M set up anew between its solves, with more levels and with fewer.
  M.refresh(exec, A);
  using Solver = SolverOf<CgOptions, Default, double, AmgOf>;
  auto const solve_with = [&](Solver& solver) {
    auto const x = to_device(exec, std::vector<double>(b.size()));
    solver.solve(to_device(exec, b), x);
    return to_host(exec, x);
  };
  MatrixOf const easy(exec, diagonal(std::vector<double>(first.rows, 2.0)));
  for (Runner const runner : every_runner) {
    Solver solver(exec, A, copy, cg(runner));
    auto const before = solve_with(solver);
    M.refresh(exec, easy);
    Solver other(exec, A, AmgOf(exec, easy, options), cg(runner));
    EXPECT_TRUE(same_bits(solve_with(solver), solve_with(other))) << to_string(runner);
    M.refresh(exec, A);
    EXPECT_TRUE(same_bits(solve_with(solver), before)) << to_string(runner);
  }
}

/// Other values in the same pattern: no aggregates are sought, and nothing is counted. Those of
/// another pattern are set up as by a new one.
TEST(AmgRefresh, ComputesOnlyValuesInTheSamePattern) {
  Default const exec;
  auto const first = Solder::fem_poisson_2d<double>(40);
  auto second = first, third = Solder::poisson_3d_27pt<double>(11);
  for (int i = 0; i < second.rows; ++i)
    for (auto k = second.row_offsets[i]; k < second.row_offsets[i + 1]; ++k)
      if (std::abs(second.columns[k] - i) == 1) second.values[k] *= 0.5;
  auto const b = random_vector<double>(first.rows, 3);
  MatrixOf const A(exec, first), B(exec, second);
  AmgOf M(exec, A);
  auto const before = applied(M, b);
  auto const setup = M.setup();
  KokkosEvents events;
  M.refresh(exec, B);
  events.stop();
  for (auto const& kernel : events.kernels) {
    EXPECT_EQ(kernel.label.find("Solder::amg::decide"), std::string::npos);
    EXPECT_EQ(kernel.label.find("Solder::amg::count_strong"), std::string::npos);
    EXPECT_EQ(kernel.label.find("Solder::product::count"), std::string::npos);
  }
  EXPECT_EQ(M.setup().level_rows, setup.level_rows);
  EXPECT_EQ(M.setup().level_nonzeros, setup.level_nonzeros);
  EXPECT_FALSE(same_bits(applied(M, b), before));
  EXPECT_LE(solved(B, M, b, cg(Runner::launch)).report.iterations, 30);
  M.refresh(exec, A);
  EXPECT_TRUE(same_bits(applied(M, b), before));

  // As many entries in each row, one of them elsewhere.
  auto moved = first;
  auto& columns = moved.columns;
  auto const last = columns.begin() + moved.row_offsets[801];
  ASSERT_LT(*(last - 1), first.rows - 1);
  *(last - 1) = first.rows - 1;
  MatrixOf const D(exec, moved);
  M.refresh(exec, D);
  EXPECT_TRUE(same_bits(applied(M, b), applied(AmgOf(exec, D), b)));

  std::vector<double> const r(third.rows, 1.0);
  MatrixOf const C(exec, third);
  M.refresh(exec, C);
  EXPECT_TRUE(same_bits(applied(M, r), applied(AmgOf(exec, C), r)));
}

TEST(AmgRefresh, ThatThrowsLeavesEverythingAsItWas) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  AmgOf M(exec, MatrixOf(exec, host));
  auto const r = random_vector<double>(host.rows, 3), before = applied(M, r);
  EXPECT_THROW(M.refresh(exec, MatrixOf(exec, rectangular)), std::invalid_argument);
  EXPECT_EQ(M.rows(), host.rows);
  EXPECT_EQ(M.defect(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
  // A defect is no exception, and goes away.
  M.refresh(exec, MatrixOf(exec, negated(host)));
  EXPECT_NE(M.defect(), "");
  M.refresh(exec, MatrixOf(exec, host));
  EXPECT_EQ(M.defect(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
}

}  // namespace
