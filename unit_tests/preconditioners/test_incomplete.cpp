// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../solvers/real_matrices.hpp"
#include "../support.hpp"
#include "incomplete_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include <solder/io/matrix_market.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::Factorisation;
using Solder::HostCsr;
using Solder::Incomplete;
using Solder::IncompleteOptions;
using Solder::Ordering;
using Solder::Reason;
using Solder::Report;
using Solder::TriangularSchedule;

template <class C>
struct IncompleteOf : testing::Test {};
TYPED_TEST_SUITE(IncompleteOf, AllCases, TypeName);

TYPED_TEST(IncompleteOf, FactorsArePlainOnes) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const spd = Solder::random_spd<Scalar>(400, 6, 3);
  auto general = spd;
  auto const noise = random_vector<Scalar>(general.values.size(), 9);
  for (std::size_t k = 0; k < noise.size(); ++k) general.values[k] += noise[k] * Scalar(0.1f);
  for (auto const kind : {Factorisation::ic0, Factorisation::ilu0})
    for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::multicolour}) {
      SCOPED_TRACE(to_string(ordering));
      auto const& host = kind == Factorisation::ic0 ? spd : general;
      CsrMatrix<Scalar, Exec> const A(exec, host);
      Incomplete M(exec, A, kind, {TriangularSchedule::automatic, ordering});
      EXPECT_EQ(M.failure(), "");
      EXPECT_EQ(M.shift(), 0);
      auto sorted = M.elimination();
      std::sort(sorted.begin(), sorted.end());
      for (std::int32_t i = 0; i < host.rows; ++i) ASSERT_EQ(sorted[i], i);
      expect_factors(exec, M, PlainFactors(host, M.elimination()), 200 * epsilon<Scalar>);

      auto twice = host;  // new values: the same pattern
      for (auto& value : twice.values) value *= Scalar(2);
      auto const before = to_host(exec, M.factor_values());
      M.refresh(exec, CsrMatrix<Scalar, Exec>(exec, twice));
      expect_factors(exec, M, PlainFactors(twice, M.elimination()), 200 * epsilon<Scalar>);
      M.refresh(exec, A);
      EXPECT_TRUE(same_bits(to_host(exec, M.factor_values()), before));
      auto const smaller = Solder::random_spd<Scalar>(50, 3, 3);  // a new pattern
      M.refresh(exec, CsrMatrix<Scalar, Exec>(exec, smaller));
      EXPECT_EQ(M.rows(), 50);
      expect_factors(exec, M, PlainFactors(smaller, M.elimination()), 200 * epsilon<Scalar>);
    }
}

using Exec = Kokkos::DefaultExecutionSpace;

TEST(Ordering, ColoursAreFewAndBandsNarrow) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(30);
  CsrMatrix<double, Exec> const A(exec, host);
  auto const with = [&](Ordering ordering) {
    return Incomplete(exec, A, Factorisation::ilu0, {TriangularSchedule::automatic, ordering});
  };
  // The triangles' corners take three colours or four, by a greedy choice; and so many levels.
  EXPECT_LE(with(Ordering::multicolour).lower().levels, 4);
  EXPECT_EQ(with(Ordering::natural).lower().levels, 59);
  auto const order = with(Ordering::rcm).elimination();
  std::vector<int> rank(host.rows);
  for (int i = 0; i < host.rows; ++i) rank[order[i]] = i;
  int band = 0;
  for (int i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      band = std::max(band, std::abs(rank[i] - rank[host.columns[k]]));
  EXPECT_LE(band, 45);  // natural: 31; from a corner, by diagonals: at most 1.5 times as much
}

/// GPUs need few levels for exact solves with ic0, where more iterations are no harm; ilut needs
/// little fill.
TEST(Ordering, IsByColoursForIc0OnGpusAndByDegreeForIlut) {
  auto const taken = [](Factorisation kind, IncompleteOptions const& options, bool on_host) {
    return ordering_of(kind, options, on_host);
  };
  EXPECT_EQ(taken(Factorisation::ic0, {}, false), Ordering::multicolour);
  EXPECT_EQ(taken(Factorisation::ic0, {}, true), Ordering::natural);
  for (bool const on_host : {true, false}) {
    for (auto const kind :
         {Factorisation::ilu0, Factorisation::ick, Factorisation::iluk, Factorisation::ict})
      EXPECT_EQ(taken(kind, {}, on_host), Ordering::natural);
    EXPECT_EQ(taken(Factorisation::ilut, {}, on_host), Ordering::amd);
  }
  for (IncompleteOptions const& options : {IncompleteOptions{.sweeps = 3},
                                           {.trisolve = Solder::Trisolve::jacobi},
                                           {.schedule = TriangularSchedule::levels}})
    EXPECT_EQ(taken(Factorisation::ic0, options, false), Ordering::natural);
  for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::amd})
    EXPECT_EQ(taken(Factorisation::ic0, {.ordering = ordering}, false), ordering);

  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(30));
  Incomplete const M(exec, A, Factorisation::ic0);
  bool const on_host = Solder::Impl::is_host_space<Exec>;
  EXPECT_EQ(M.setup().ordering, on_host ? "natural" : "multicolour");
  EXPECT_EQ(M.lower().levels <= 4, !on_host);
}

// ---- In solvers, beside the oracle's own application ----

template <class Solver, class Scalar>
Report solve(Solver& solver, HostCsr<Scalar> const& host, std::vector<Scalar> const& b) {
  Exec const exec;
  auto const device_b = to_device(exec, b), x = to_device(exec, std::vector<Scalar>(b.size()));
  Report const report = solver.solve(device_b, x);
  auto const residual = true_residual(host, b, to_host(exec, x));
  if (report.reason == Reason::converged) {
    EXPECT_LE(residual.relative, 1.01e-8 + residual.rounding);
  }
  return report;
}

template <class Scalar, class Options, template <class, class, class> class Solver>
void expect_iterations_of_oracle(HostCsr<Scalar> const& host, Factorisation kind,
                                 IncompleteOptions const& incomplete, Options options) {
  Exec const exec;
  CsrMatrix<Scalar, Exec> const A(exec, host);
  Incomplete M(exec, A, kind, incomplete);
  ASSERT_EQ(M.failure(), "");
  PlainFactors const factors(host, M.elimination(), M.shift());
  auto const oracle = Solder::Apply<Scalar, Exec>::on_host(
      host.rows, [&](std::span<Scalar const> r, std::span<Scalar> z) { factors.apply(r, z); });
  auto const b = random_vector<Scalar>(host.rows, 31);
  options.tolerance = 1e-8;
  options.max_iterations = 2000;
  auto const with_runner = [&](Solder::Runner runner) {
    options.runner = runner;
    Solver<Exec, CsrMatrix<Scalar, Exec>, Incomplete<Scalar, Exec>> solver(exec, A, M, options);
    return solve(solver, host, b);
  };
  options.runner = Solder::Runner::launch;
  Solver<Exec, CsrMatrix<Scalar, Exec>, Solder::Apply<Scalar, Exec>> expected_by(exec, A, oracle,
                                                                                 options);
  Report const expected = solve(expected_by, host, b);
  for (auto const runner : every_runner) {
    SCOPED_TRACE(to_string(runner));
    Report const report = with_runner(runner), again = with_runner(runner);
    EXPECT_EQ(report.reason, expected.reason) << report.detail;
    EXPECT_NEAR(report.iterations, expected.iterations, 1 + 0.02 * expected.iterations);
    EXPECT_TRUE(same_bits(report.history, again.history));
  }
}

template <class Scalar>
void expect_cg(HostCsr<Scalar> const& host, IncompleteOptions const& options = {}) {
  expect_iterations_of_oracle<Scalar, Solder::CgOptions, Solder::Cg>(host, Factorisation::ic0,
                                                                     options, {});
}

TEST(IncompleteInSolvers, CgTakesTheIterationsOfTheOracle) {
  for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::multicolour})
    for (auto const schedule :
         {TriangularSchedule::natural, TriangularSchedule::levels, TriangularSchedule::partition}) {
      SCOPED_TRACE(std::string(to_string(ordering)) + ", " + std::string(to_string(schedule)));
      expect_cg(Solder::fem_poisson_2d<double>(40), {schedule, ordering});
    }
  expect_cg(Solder::magnetic_laplacian_2d<Kokkos::complex<double>>(20, 0.1));
}

TEST(IncompleteInSolvers, BiCgStabAndGmresTakeTheIterationsOfTheOracle) {
  auto const host = Solder::convection_diffusion_2d<double>(30, {40, 20});
  expect_iterations_of_oracle<double, Solder::BiCgStabOptions, Solder::BiCgStab>(
      host, Factorisation::ilu0, {}, {});
  expect_iterations_of_oracle<double, Solder::GmresOptions, Solder::Gmres>(
      host, Factorisation::ilu0, {}, {});
}

TEST(IncompleteInSolvers, APolynomialGoesOverIt) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  CsrMatrix<double, Exec> const A(exec, host);
  Incomplete const ic(exec, A, Factorisation::ic0);
  Solder::Chebyshev const polynomial(exec, A, ic, {2});
  auto const b = random_vector<double>(host.rows, 31);
  Solder::Cg plain(exec, A, ic, Solder::CgOptions{});
  Solder::Cg by_polynomial(exec, A, polynomial, Solder::CgOptions{});
  Report const one = solve(plain, host, b), other = solve(by_polynomial, host, b);
  EXPECT_EQ(other.reason, Reason::converged);
  EXPECT_LE(other.iterations, one.iterations * 0.75);
}

// ---- What cannot be factorised ----

std::string failure_of(HostCsr<double> const& host, Factorisation kind,
                       IncompleteOptions const& options = {}) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, host);
  Incomplete const M(exec, A, kind, options);
  Solder::BiCgStab solver(exec, A, M, Solder::BiCgStabOptions{});
  std::vector<double> const ones(host.rows, 1.0);
  auto const b = to_device(exec, ones), x = to_device(exec, ones);
  Report const report = solver.solve(b, x);
  EXPECT_EQ(report.reason == Reason::breakdown && !report.detail.empty(), !M.failure().empty());
  return M.failure();
}

TEST(IncompleteErrors, NameTheRow) {
  using Rows = std::vector<std::vector<double>>;
  EXPECT_NE(failure_of(sparse<double>(Rows{{1, 2}, {3, 0}}), Factorisation::ilu0)
                .find("row 2 (counted from 1) has no diagonal entry"),
            std::string::npos);
  auto zero = sparse<double>(Rows{{1, 2}, {3, 6}});  // u_22 = 6 - 3 * 2
  EXPECT_NE(failure_of(zero, Factorisation::ilu0).find("pivot of row 2 (counted from 1) of ilu0"),
            std::string::npos);
  EXPECT_NE(failure_of(sparse<double>(Rows{{1, 2}, {0, 3}}), Factorisation::ic0)
                .find("row 1 (counted from 1) has an entry whose mirror image is missing"),
            std::string::npos);
  auto const negative = sparse<double>(Rows{{1, 1}, {1, -5}});
  EXPECT_NE(failure_of(negative, Factorisation::ic0).find("pivot of row 2 (counted from 1) of ic0"),
            std::string::npos);
  EXPECT_EQ(failure_of(negative, Factorisation::ilu0), "");
  EXPECT_EQ(failure_of(sparse<double>(Rows{{1, 2}, {0, 3}}), Factorisation::ilu0), "");

  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, negative);
  EXPECT_THROW(Incomplete(exec, A, Factorisation::ic0, IncompleteOptions{.shift = -1}),
               std::invalid_argument);
  EXPECT_THROW(Incomplete(exec, A, Factorisation::ic0, IncompleteOptions{.shift = 2}),
               std::invalid_argument);
  HostCsr<double> wide = negative;
  wide.columns_count = 3;
  EXPECT_THROW(Incomplete(exec, CsrMatrix<double, Exec>(exec, wide), Factorisation::ilu0),
               std::invalid_argument);
}

TEST(IncompleteErrors, APivotWithoutAnInverseIsNamed) {
  for (auto const kind : {Factorisation::ic0, Factorisation::ilu0})
    EXPECT_NE(failure_of(diagonal<double>({1, 1e-310, 2}), kind)
                  .find("the pivot of row 2 (counted from 1)"),
              std::string::npos);
}

/// The first row needs and is needed by all: the work is the nonzeros', not the rows' squared.
TEST(IncompleteErrors, AHubIsEliminatedInItsTurn) {
  std::int32_t const rows = 100000;
  HostCsr<double> arrow;
  arrow.rows = arrow.columns_count = rows;
  arrow.row_offsets = {0};
  for (std::int32_t i = 0; i < rows; ++i) {
    if (i == 0)
      for (std::int32_t j = 0; j < rows; ++j) arrow.columns.push_back(j);
    else
      arrow.columns.insert(arrow.columns.end(), {0, i});
    arrow.row_offsets.push_back(static_cast<std::int64_t>(arrow.columns.size()));
  }
  arrow.values.assign(arrow.columns.size(), -1);
  arrow.values[0] = rows;
  for (std::int32_t i = 1; i < rows; ++i) arrow.values[arrow.row_offsets[i + 1] - 1] = 4;
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, arrow);
  Kokkos::Timer timer;
  Incomplete const M(exec, A, Factorisation::ic0);
  EXPECT_EQ(M.failure(), "");
  EXPECT_LT(timer.seconds(), 20);  // a tenth of a second, and minutes by the square
}

/// A positive definite matrix whose IC(0) breaks down (Kershaw 1978): the diagonal is increased.
TEST(IncompleteErrors, AShiftMendsPivotsThatAreNotPositive) {
  auto const host = sparse<double>({{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}});
  ASSERT_FALSE(PlainFactors(host, {0, 1, 2, 3}).positive);
  IncompleteOptions const natural{.ordering = Ordering::natural};
  IncompleteOptions unshifted = natural;
  unshifted.shift = 0;
  EXPECT_NE(failure_of(host, Factorisation::ic0, unshifted).find("is not positive"),
            std::string::npos);
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, host);
  Incomplete const M(exec, A, Factorisation::ic0, natural);
  EXPECT_EQ(M.failure(), "");
  EXPECT_GT(M.shift(), 0);
  EXPECT_EQ(M.setup().shift, M.shift());
  EXPECT_TRUE(PlainFactors(host, {0, 1, 2, 3}, M.shift()).positive);
  EXPECT_FALSE(PlainFactors(host, {0, 1, 2, 3}, M.shift() / 2).positive);
  expect_factors(exec, M, PlainFactors(host, {0, 1, 2, 3}, M.shift()), 1e-12);
}

TEST(IncompleteErrors, DuplicatesAreSummed) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, 2, 2, to_device(exec, std::vector<int>{0, 3, 6}),
                                  to_device(exec, std::vector<int>{1, 0, 0, 1, 0, 1}),
                                  to_device(exec, std::vector<double>{1, 1, 3, 2, 1, 3}));
  Incomplete M(exec, A, Factorisation::ic0);
  expect_factors(exec, M, PlainFactors(sparse<double>({{4, 1}, {1, 5}}), {0, 1}), 1e-15);
  CsrMatrix<double, Exec> const twice(exec, 2, 2, A.row_offsets(), A.column_indices(),
                                      to_device(exec, std::vector<double>{2, 2, 6, 4, 2, 6}));
  M.refresh(exec, twice);
  expect_factors(exec, M, PlainFactors(sparse<double>({{8, 2}, {2, 10}}), {0, 1}), 1e-15);
}

// ---- Analysis ----

/// Rows of `entries(i)`, a set of columns without i, of ones, and a diagonal that dominates.
template <class Entries>
HostCsr<double> dominant(std::int32_t rows, Entries const& entries) {
  HostCsr<double> A;
  A.rows = A.columns_count = rows;
  A.row_offsets = {0};
  for (std::int32_t i = 0; i < rows; ++i) {
    std::set<std::int32_t> columns = entries(i);
    columns.insert(i);
    for (std::int32_t const j : columns) {
      A.columns.push_back(j);
      A.values.push_back(j == i ? 2.0 * static_cast<double>(columns.size()) : -1 - 0.1 * (j % 7));
    }
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  return A;
}

/// Where a GPU makes the schedule of a triangle, of both, or of none: factors and one application
/// are those of plain loops.
TEST(IncompleteAnalysis, GivesPlainFactorsAndSolvesWhoeverDoesIt) {
  using Solder::TriangularSchedule;
  using Columns = std::set<std::int32_t>;
  Exec const exec;
  struct Case {
    char const* what;
    HostCsr<double> A;
    IncompleteOptions options;
  };
  IncompleteOptions const by_levels{.schedule = TriangularSchedule::levels};
  IncompleteOptions by_sweeps = by_levels;
  by_sweeps.trisolve = Solder::Trisolve::jacobi;
  Case const cases[] = {
      {"levels are wanted", Solder::poisson_3d_27pt<double>(12), by_levels},
      {"only the order of elimination", Solder::poisson_3d_27pt<double>(12), by_sweeps},
      {"colours",
       Solder::poisson_3d_27pt<double>(12),
       {.schedule = TriangularSchedule::levels, .ordering = Ordering::multicolour}},
      {"wide levels of long rows",
       dominant(6000,
                [](std::int32_t i) {
                  Columns block;
                  for (std::int32_t k = 0; k < 20; ++k) block.insert(i / 20 * 20 + k);
                  return block;
                }),
       {}},
      {"L is the device's, U the host's",
       dominant(6000,
                [](std::int32_t i) {
                  Columns row;
                  if (i + 1 < 6000) row.insert(i + 1);
                  for (std::int32_t k = 0; i >= 3000 && k < 25; ++k)
                    row.insert((i * 7 + k * 119) % 3000);
                  return row;
                }),
       {}}};
  for (auto const& [what, host, options] : cases) {
    SCOPED_TRACE(what);
    CsrMatrix<double, Exec> const A(exec, host);
    Incomplete const M(exec, A, Factorisation::ilu0, options);
    EXPECT_EQ(M.failure(), "");
    PlainFactors const factors(host, M.elimination());
    expect_factors(exec, M, factors, 1e-12);
    if (options.trisolve == Solder::Trisolve::jacobi) continue;

    // A step of GMRES from zero goes along M b.
    auto const b = random_vector<double>(host.rows, 4);
    auto const x = to_device(exec, std::vector<double>(host.rows));
    Solder::GmresOptions one;
    one.max_iterations = 1;
    Solder::Gmres(exec, A, M, one).solve(to_device(exec, b), x);
    auto const step = to_host(exec, x);
    std::vector<double> z(host.rows);
    factors.apply(std::span<double const>(b), std::span<double>(z));
    double const length =
        std::sqrt(std::inner_product(step.begin(), step.end(), step.begin(), 0.0) /
                  std::inner_product(z.begin(), z.end(), z.begin(), 0.0));
    ASSERT_GT(length, 0);
    for (std::int32_t i = 0; i < host.rows; ++i)
      ASSERT_NEAR(step[i] / length, z[i], 1e-12 * (1 + std::abs(z[i]))) << i;
  }
}

// ---- Real matrices ----

TEST(IncompleteOfRealMatrices, IsThatOfTheOracleAndSoAreTheIterations) {
  auto const list = real_matrices(1200);
  if (list.empty())
    GTEST_SKIP() << "no matrices at " << matrices_folder() << "; set SOLDER_MATRICES to the folder";
  Exec const exec;
  int checked = 0;
  for (auto const& matrix : list) {
    if (matrix.is_complex) continue;
    SCOPED_TRACE(matrix.name);
    auto const host = Solder::read_matrix_market<double>(matrix_file(matrix));
    CsrMatrix<double, Exec> const A(exec, host);
    auto const kind = matrix.spd ? Factorisation::ic0 : Factorisation::ilu0;
    Incomplete const M(exec, A, kind);
    if (!M.failure().empty()) continue;
    PlainFactors const factors(host, M.elimination(), M.shift());
    double largest = 0, smallest = 1e300;  // growth tells how much rounding may show
    for (std::int32_t i = 0; i < host.rows; ++i)
      for (auto const& [j, value] : factors.rows[i]) {
        largest = std::max(largest, std::abs(value));
        if (i == j) smallest = std::min(smallest, std::abs(value));
      }
    if (!(largest < 1e6 * smallest)) continue;
    expect_factors(exec, M, factors, 1e-9);
    ++checked;
    if (matrix.spd) expect_cg(host);
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
