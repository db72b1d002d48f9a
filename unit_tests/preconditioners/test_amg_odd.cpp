// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid of matrices that are not what it is made for, and set up anew.
#include "../kokkos_events.hpp"
#include "amg_solves.hpp"
#include "applied.hpp"

#include <algorithm>
#include <stdexcept>

namespace {

using namespace SolderTest;
using Solder::AmgSmoother;

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
    EXPECT_EQ(M.failure().empty(), n == 0) << M.failure();
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

TEST(AmgOfOddMatrices, SolvesAnArrow) { expect_solved(arrow(3000), 10); }

// ---- Hubs: rows of thousands of entries ----

/// A path, and `hubs` rows that couple to all of it, in places as strongly as its rows.
HostCsr<double> path_with_hubs(std::int32_t n, std::int32_t hubs) {
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < n; ++i) {
    builder.add(i, i, i < hubs ? n : 2.5);
    for (std::int32_t j = 0; i >= hubs && j < hubs; ++j)
      couple(builder, i, j, -0.1 * (0.55 + 0.45 * std::sin(i + 7 * j)));
    if (i > hubs) couple(builder, i - 1, i, -0.55 - 0.45 * std::sin(3 * i));
  }
  return builder.build(n, n);
}

/// Without filling up: neither its levels nor any array.
void expect_solved_in_little_memory(HostCsr<double> const& host, int most_iterations) {
  Default const exec;
  MatrixOf const A(exec, host);
  KokkosEvents events;
  AmgOf M(exec, A);
  events.stop();
  EXPECT_EQ(M.failure(), "");
  EXPECT_LE(M.operator_complexity(), 2);
  auto const bytes = static_cast<std::uint64_t>(12 * host.nonzeros());
  for (auto const& allocation : events.allocations)
    if (allocation.label != "Solder::product::tables" && allocation.label.find("Kokkos::") != 0) {
      // On GPUs small arrays are parts of one of 8 MB, whatever the matrix.
      std::uint64_t const shared = allocation.label == "Solder::pool" ? 8 << 20 : 0;
      EXPECT_LE(allocation.bytes, std::max(2 * bytes, shared)) << allocation.label;
    }
  auto const b = random_vector<double>(host.rows, 7);
  auto const s = solved(A, M, b, cg(Runner::launch));
  EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
  EXPECT_LE(s.report.iterations, most_iterations);
  expect_true_report(host, b, s, cg(Runner::launch));
  auto const before = applied(M, b);
  M.refresh(exec, A);
  EXPECT_TRUE(same_bits(applied(M, b), before));
}

TEST(AmgOfHubs, TakesLittleMemory) {
  expect_solved_in_little_memory(path_with_hubs(10'000, 1), 14);
  expect_solved_in_little_memory(path_with_hubs(3000, 2), 14);
}

/// Sixty rows, none of which is long, become one.
TEST(AmgOfHubs, ThatAreBornOnTheWayTakeLittleMemory) {
  constexpr std::int32_t stars = 60, leaves = 60, n = stars * (leaves + 1);
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < n; ++i) builder.add(i, i, i < stars ? 70 : 2.5);
  for (std::int32_t i = 0; i < stars; ++i)
    for (std::int32_t j = 0; j < i; ++j) couple(builder, i, j, -1);
  for (std::int32_t i = stars; i < n; ++i) {
    couple(builder, i, (i - stars) / leaves, -0.02 * (0.55 + 0.45 * std::sin(i)));
    if (i > stars) couple(builder, i - 1, i, -0.55 - 0.45 * std::sin(3 * i));
  }
  auto const host = builder.build(n, n);
  ASSERT_LE(stars + leaves + 1, 20 * host.nonzeros() / n + 50);  // entries of the longest rows
  expect_solved_in_little_memory(host, 14);
}

/// Leaves of hubs that form a grid belong to their hub: the coarse grid sees stars as a whole.
TEST(AmgOfHubs, GathersStars) {
  constexpr std::int32_t size = 6, hubs = size * size, leaves = 300, n = hubs * (leaves + 1);
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t h = 0; h < hubs; ++h) {
    if (h % size > 0) edges.push_back({h - 1, h, 1});
    if (h >= size) edges.push_back({h - size, h, 1});
    for (std::int32_t k = 0; k < leaves; ++k)
      edges.push_back({h, hubs + h * leaves + k, 0.55 + 0.45 * std::sin(k)});
  }
  auto host = graph_laplacian(n, edges);
  for (std::int32_t i = 0; i < n; ++i) *entry_of(host, i, i) += 1e-6;
  expect_solved_in_little_memory(host, 10);
  EXPECT_EQ(AmgOf(Default(), MatrixOf(Default(), host)).levels().at(1).rows, hubs);
}

// ---- More odd matrices ----

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
  EXPECT_NE(M.failure().find("row 7 "), std::string::npos) << M.failure();
  EXPECT_TRUE(std::isnan(M.setup().largest_eigenvalue));
  auto const b = random_vector<double>(host.rows, 7);
  for (Runner const runner : every_runner) {
    auto const s = ended(host, b, runner);
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_EQ(s.report.detail, M.failure());
  }
  for (AmgSmoother const smoother :
       {AmgSmoother::jacobi, AmgSmoother::chebyshev, AmgSmoother::fsai}) {
    AmgOf const of_smoother(exec, MatrixOf(exec, host), {.smoother = smoother});
    EXPECT_EQ(of_smoother.words<double>(host.rows), 0);
    auto const s = ended(host, b, Runner::launch, {.smoother = smoother});
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_EQ(s.report.detail, of_smoother.failure());
  }
}

TEST(AmgOfOddMatrices, NamesWhatIsNotPositive) {
  Default const exec;
  for (auto const& host : {negated(Solder::fem_poisson_2d<double>(20)), diagonal<double>({-1}),
                           negated(diagonal(std::vector<double>(500, 1.0)))}) {
    EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).failure(), "");
    auto const s = ended(host, random_vector<double>(host.rows, 7));
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_NE(s.report.detail, "");
  }
  // Only the coarse grid tells: the constant has a negative energy.
  auto host = grid_laplacian(20);
  for (std::int32_t i = 0; i < host.rows; ++i) *entry_of(host, i, i) -= 0.1;
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).failure(), "");
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
    auto const s = ended(host, multiply(host, random_vector<double>(n, 8)), Runner::launch,
                         {.max_coarse_size = 1});
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
        EXPECT_NE(M.failure(), "");
        for (Runner const runner : {Runner::launch, Runner::team}) {
          auto const s =
              solved_by_cg(host, random_vector<double>(host.rows, 7), cg(runner, 1e-10, 50));
          EXPECT_EQ(to_string(s.report.reason), to_string(Reason::not_finite)) << value;
        }
      }
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, diagonal<double>({nan}))).failure(), "");
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
  for (int const levels : {-1, 0, 1, 17}) EXPECT_TRUE(refuses({.max_levels = levels}));
  for (int const coarsest : {-1, 0, 1001}) EXPECT_TRUE(refuses({.max_coarse_size = coarsest}));
  EXPECT_FALSE(
      refuses({.strength = 0, .pre = 8, .post = 8, .max_levels = 16, .max_coarse_size = 1000}));
  EXPECT_FALSE(
      refuses({.strength = 1, .pre = 0, .post = 1, .max_levels = 2, .max_coarse_size = 1}));
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
    AmgOptions const options{.max_coarse_size = 20};
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
  AmgOptions const options{.max_coarse_size = 10};
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
    EXPECT_EQ(kernel.label.find("Solder::amg::mark_strong"), std::string::npos);
    EXPECT_EQ(kernel.label.find("Solder::product::count"), std::string::npos);
    EXPECT_EQ(kernel.label.find("Solder::product::store"), std::string::npos);  // hosts' rows
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
  EXPECT_EQ(M.failure(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
  // A failure is no exception, and goes away.
  M.refresh(exec, MatrixOf(exec, negated(host)));
  EXPECT_NE(M.failure(), "");
  M.refresh(exec, MatrixOf(exec, host));
  EXPECT_EQ(M.failure(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
}

}  // namespace
