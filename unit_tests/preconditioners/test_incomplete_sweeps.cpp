// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete factors by sweeps, and their solves by sweeps.
#include "../support.hpp"
#include "applied.hpp"
#include "incomplete_oracle.hpp"

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
using Solder::IncompleteOptions;
using Solder::Ordering;
using Solder::Reason;
using Solder::Report;
using Solder::Trisolve;

/// The factors of so many sweeps: all entries at once from those of the sweep before, A at first
/// (Chow and Patel 2015, with L U's diagonal in place of L).
template <class Scalar>
PlainRows swept(HostCsr<Scalar> const& A, std::vector<std::int32_t> const& order, int sweeps,
                double shift = 0) {
  PlainRows const given = in_order(A, order, shift);
  PlainRows v = given;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    PlainRows const old = v;
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto& [j, value] : v[i]) {
        value = given[i].at(j);
        for (auto const& [k, v_ik] : old[i])
          if (k < std::min(i, j))
            if (auto const v_kj = old[k].find(j); v_kj != old[k].end())
              value -= v_ik * v_kj->second / old[k].at(k);
      }
  }
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto& [j, value] : v[i])
      if (j < i) value /= v[j].at(j);
  return v;
}

/// z = M r by so many sweeps of Jacobi's iteration for each triangle of the factors, from r and
/// from D^-1 y.
template <class Scalar>
std::vector<Scalar> solved_by_sweeps(PlainRows const& rows, std::vector<std::int32_t> const& order,
                                     int sweeps, std::vector<Scalar> const& r) {
  auto const n = static_cast<std::int32_t>(rows.size());
  std::vector<Complex> given(n), y(n), z(n);
  for (std::int32_t i = 0; i < n; ++i) y[i] = given[i] = plain(r[order[i]]);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    auto const old = y;
    for (std::int32_t i = 0; i < n; ++i) {
      y[i] = given[i];
      for (auto const& [j, l] : rows[i])
        if (j < i) y[i] -= l * old[j];
    }
  }
  for (std::int32_t i = 0; i < n; ++i) z[i] = y[i] / rows[i].at(i);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    auto const old = z;
    for (std::int32_t i = 0; i < n; ++i) {
      z[i] = y[i];
      for (auto const& [j, u] : rows[i])
        if (j > i) z[i] -= u * old[j];
      z[i] /= rows[i].at(i);
    }
  }
  std::vector<Scalar> result(n);
  for (std::int32_t i = 0; i < n; ++i) result[order[i]] = rounded<Scalar>(z[i]);
  return result;
}

template <class C>
struct Sweeps : testing::Test {};
TYPED_TEST_SUITE(Sweeps, AllCases, TypeName);

/// Diagonally dominant, so that sweeps converge; of symmetric pattern.
template <class Scalar>
HostCsr<Scalar> dominant(Factorisation kind) {
  auto host = Solder::random_spd<Scalar>(300, 6, 3);
  if (kind == Factorisation::ic0) return host;
  auto const noise = random_vector<Scalar>(host.values.size(), 9);
  for (std::size_t k = 0; k < noise.size(); ++k) host.values[k] += noise[k] * Scalar(0.1f);
  return host;
}

TYPED_TEST(Sweeps, MakeTheFactorsOfPlainOnes) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  for (auto const kind : {Factorisation::ic0, Factorisation::ilu0})
    for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::multicolour})
      for (int const sweeps : {1, 2, 5}) {
        SCOPED_TRACE(std::string(to_string(ordering)) + ", " + std::to_string(sweeps));
        auto const host = dominant<Scalar>(kind);
        CsrMatrix<Scalar, Exec> const A(exec, host);
        IncompleteOptions options;
        options.ordering = ordering;
        options.sweeps = sweeps;
        Incomplete M(exec, A, kind, options);
        ASSERT_EQ(M.failure(), "");
        expect_factors(exec, M, swept(host, M.elimination(), sweeps), 200 * epsilon<Scalar>);
        auto const before = to_host(exec, M.factor_values());

        auto twice = host;  // new values: nothing is left of the old ones
        for (auto& value : twice.values) value *= Scalar(2);
        M.refresh(exec, CsrMatrix<Scalar, Exec>(exec, twice));
        expect_factors(exec, M, swept(twice, M.elimination(), sweeps), 200 * epsilon<Scalar>);
        M.refresh(exec, A);
        EXPECT_TRUE(same_bits(to_host(exec, M.factor_values()), before));
      }
}

TYPED_TEST(Sweeps, AsManyAsThereAreLevelsMakeTheFactorsOfElimination) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = dominant<Scalar>(Factorisation::ilu0);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  Incomplete const eliminated(exec, A, Factorisation::ilu0);
  IncompleteOptions options;
  options.sweeps = std::min(100, eliminated.lower().levels);
  Incomplete const M(exec, A, Factorisation::ilu0, options);
  expect_factors(exec, M, PlainFactors(host, M.elimination()).rows, 200 * epsilon<Scalar>);
}

using Exec = Kokkos::DefaultExecutionSpace;

template <class Scalar>
void expect_solves_of_plain_ones(Factorisation kind) {
  Exec const exec;
  auto const host = dominant<Scalar>(kind);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  auto const r = random_vector<Scalar>(host.rows, 5);
  for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::multicolour})
    for (int const sweeps : {0, 3})
      for (int const of_solve : {1, 2, 3, 4, 7})
        for (bool const one_team : {false, true}) {
          SCOPED_TRACE(std::string(to_string(ordering)) + ", " + std::to_string(sweeps) + ", " +
                       std::to_string(of_solve));
          Incomplete const M(exec, A, kind,
                             {.ordering = ordering,
                              .sweeps = sweeps,
                              .trisolve = Trisolve::jacobi,
                              .trisolve_sweeps = of_solve});
          ASSERT_EQ(M.failure(), "");
          auto const rows = sweeps > 0 ? swept(host, M.elimination(), sweeps)
                                       : PlainFactors(host, M.elimination()).rows;
          auto const expected = solved_by_sweeps(rows, M.elimination(), of_solve, r),
                     z = applied(M, r, one_team);
          double largest = 0;
          for (auto const& value : expected) largest = std::max(largest, std::abs(plain(value)));
          for (std::size_t i = 0; i < z.size(); ++i)
            ASSERT_LE(std::abs(plain(z[i]) - plain(expected[i])), 500 * epsilon<Scalar> * largest)
                << i;
          EXPECT_TRUE(same_bits(z, applied(M, r, one_team)));
        }
}

TEST(SolveSweeps, AreThoseOfPlainLoops) {
  expect_solves_of_plain_ones<double>(Factorisation::ic0);
  expect_solves_of_plain_ones<double>(Factorisation::ilu0);
  expect_solves_of_plain_ones<float>(Factorisation::ilu0);
  expect_solves_of_plain_ones<Kokkos::complex<double>>(Factorisation::ic0);
}

/// Sorted rows are looked at on the device, others on the host.
TEST(SolveSweeps, KnowRowsInAnyOrder) {
  Exec const exec;
  auto const sorted = dominant<double>(Factorisation::ilu0);
  auto turned = sorted;
  for (std::int32_t i = 0; i < turned.rows; ++i) {
    auto const begin = turned.row_offsets[i], end = turned.row_offsets[i + 1];
    std::reverse(turned.columns.begin() + begin, turned.columns.begin() + end);
    std::reverse(turned.values.begin() + begin, turned.values.begin() + end);
  }
  auto const r = random_vector<double>(sorted.rows, 5);
  auto const of = [&](HostCsr<double> const& host) {
    CsrMatrix<double, Exec, std::int64_t> const A(exec, host);
    return Incomplete(exec, A, Factorisation::ilu0, {.sweeps = 3, .trisolve = Trisolve::jacobi});
  };
  auto M = of(sorted);
  auto const z = applied(M, r);
  EXPECT_TRUE(same_bits(applied(of(turned), r), z));
  M.refresh(exec, CsrMatrix<double, Exec>(exec, turned));
  EXPECT_TRUE(same_bits(applied(M, r), z));
}

/// With factors of sweeps that have not converged by far.
TEST(SolveSweeps, LeaveMHermitian) {
  using Scalar = Kokkos::complex<double>;
  Exec const exec;
  auto const host = Solder::magnetic_laplacian_2d<Scalar>(15, 0.1);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  auto const u = random_vector<Scalar>(host.rows, 5), v = random_vector<Scalar>(host.rows, 6);
  auto const dot = [](auto const& a, auto const& b) {
    Complex sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(plain(a[i])) * plain(b[i]);
    return sum;
  };
  for (auto const trisolve : {Trisolve::exact, Trisolve::jacobi}) {
    SCOPED_TRACE(to_string(trisolve));
    Incomplete const M(exec, A, Factorisation::ic0, {.sweeps = 1, .trisolve = trisolve});
    auto const Mu = applied(M, u), Mv = applied(M, v);
    EXPECT_LE(std::abs(dot(u, Mv) - dot(Mu, v)), 1e-13 * std::abs(dot(u, Mu)));
    EXPECT_GT(dot(u, Mu).real(), 0);
  }
}

/// Triangles without an entry, one row, and none.
TEST(SolveSweeps, TakeDiagonals) {
  Exec const exec;
  IncompleteOptions const options{.sweeps = 2, .trisolve = Trisolve::jacobi};
  for (std::vector<double> const& entries :
       {std::vector<double>{2, 4, 8}, std::vector<double>{4}, std::vector<double>{}}) {
    CsrMatrix<double, Exec> const A(exec, diagonal<double>(entries));
    Incomplete const M(exec, A, Factorisation::ic0, options);
    EXPECT_EQ(M.failure(), "");
    auto expected = entries;
    for (double& entry : expected) entry = 1 / entry;
    EXPECT_EQ(applied(M, std::vector<double>(entries.size(), 1.0)), expected);
  }
}

/// Rows of dozens, of which a team's lanes share one, and a last row of all.
TEST(SolveSweeps, TakeLongRows) {
  Exec const exec;
  std::int32_t const rows = 400;
  std::vector<std::vector<double>> dense(rows, std::vector<double>(rows, 0.0));
  auto const noise = random_vector<double>(rows * 41, 5);
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t k = -20; k <= 20; ++k)
      if (i + k >= 0 && i + k < rows) dense[i][i + k] = 0.01 * noise[i * 41 + k + 20];
    dense[i][rows - 1] = dense[rows - 1][i] = 0.001;
    dense[i][i] = 4;
  }
  for (bool const symmetric : {true, false}) {
    if (!symmetric) dense[3][rows - 1] = 0;
    auto const host = sparse<double>(dense);
    CsrMatrix<double, Exec> const A(exec, host);
    Incomplete const M(exec, A, Factorisation::ilu0, {.sweeps = 2, .trisolve = Trisolve::jacobi});
    auto const factors = swept(host, M.elimination(), 2);
    expect_factors(exec, M, factors, 1e-13);
    auto const r = random_vector<double>(rows, 5), z = applied(M, r),
               expected = solved_by_sweeps(factors, M.elimination(), 3, r);
    for (std::int32_t i = 0; i < rows; ++i) ASSERT_NEAR(z[i], expected[i], 1e-13) << i;
  }
}

// ---- In solvers ----

template <class Solver, class Scalar>
Report expect_solution(Solver& solver, HostCsr<Scalar> const& host) {
  Exec const exec;
  auto const b = random_vector<Scalar>(host.rows, 31);
  auto const x = to_device(exec, std::vector<Scalar>(b.size()));
  Report const report = solver.solve(to_device(exec, b), x);
  EXPECT_EQ(report.reason, Reason::converged) << report.detail;
  auto const residual = true_residual(host, b, to_host(exec, x));
  EXPECT_LE(residual.relative, 1.01e-8 + residual.rounding);
  return report;
}

TEST(SweepsInSolvers, NeedFewerIterationsTheMoreTheyAre) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  CsrMatrix<double, Exec> const A(exec, host);
  auto const iterations = [&](IncompleteOptions const& options) {
    Incomplete const M(exec, A, Factorisation::ic0, options);
    std::vector<int> counts;
    for (auto const runner : every_runner) {
      Solder::CgOptions of_solver;
      of_solver.runner = runner;
      Solder::Cg solver(exec, A, M, of_solver);
      Report const report = expect_solution(solver, host), again = expect_solution(solver, host);
      EXPECT_TRUE(same_bits(report.history, again.history));
      counts.push_back(report.iterations);
    }
    for (int const count : counts) EXPECT_NEAR(count, counts[0], 1);
    return counts[0];
  };
  int const exact = iterations({.ordering = Ordering::natural});  // as with sweeps
  EXPECT_LE(iterations({.sweeps = 5}), exact + 3);
  int const one = iterations({.trisolve = Trisolve::jacobi, .trisolve_sweeps = 1}),
            three = iterations({.sweeps = 3, .trisolve = Trisolve::jacobi}),
            many = iterations({.trisolve = Trisolve::jacobi, .trisolve_sweeps = 30});
  EXPECT_LT(three, one);
  EXPECT_LT(exact, three);
  EXPECT_LE(many, exact + 2);
}

TEST(SweepsInSolvers, SolveWithIlu0) {
  Exec const exec;
  auto const host = Solder::convection_diffusion_2d<double>(30, {40, 20});
  CsrMatrix<double, Exec> const A(exec, host);
  Incomplete const M(exec, A, Factorisation::ilu0, {.sweeps = 4, .trisolve = Trisolve::jacobi});
  Solder::BiCgStab solver(exec, A, M, Solder::BiCgStabOptions{});
  Solder::BiCgStab plain(exec, A);
  EXPECT_LT(expect_solution(solver, host).iterations, expect_solution(plain, host).iterations);
}

/// A basis vector of GMRES is another array in each step.
TEST(SweepsInSolvers, SolveWithGmres) {
  Exec const exec;
  auto const host = Solder::convection_diffusion_2d<double>(30, {40, 20});
  CsrMatrix<double, Exec> const A(exec, host);
  std::vector<int> counts;
  for (int const many : {3, 100}) {  // the more, the nearer to exact solves
    Incomplete const M(exec, A, Factorisation::ilu0,
                       {.trisolve = Trisolve::jacobi, .trisolve_sweeps = many});
    for (auto const runner : every_runner) {
      Solder::GmresOptions options;
      options.runner = runner;
      Solder::Gmres solver(exec, A, M, options);
      counts.push_back(expect_solution(solver, host).iterations);
    }
  }
  Incomplete const exact(exec, A, Factorisation::ilu0);
  Solder::Gmres solver(exec, A, exact, Solder::GmresOptions{});
  int const least = expect_solution(solver, host).iterations;
  EXPECT_NEAR(counts.back(), least, 1);
  EXPECT_LT(counts.front(), 3 * least);
}

/// A copy and a solver see the refresh: to another size, to a matrix without factors, and back.
TEST(SweepsInSolvers, GoOnAfterRefreshes) {
  Exec const exec;
  using Rows = std::vector<std::vector<double>>;
  auto const good = sparse<double>(Rows{{4, 1}, {1, 5}});
  auto const bad = sparse<double>(Rows{{4, 1}, {0, 5}});
  CsrMatrix<double, Exec> const A(exec, good);
  Incomplete M(exec, A, Factorisation::ic0, {.sweeps = 2, .trisolve = Trisolve::jacobi});
  auto const copy = M;
  Solder::Cg solver(exec, A, copy, Solder::CgOptions{});
  expect_solution(solver, good);
  M.refresh(exec, CsrMatrix<double, Exec>(exec, bad));
  auto const b = to_device(exec, std::vector<double>{1, 2}),
             x = to_device(exec, std::vector<double>{0, 0});
  Report const refused = solver.solve(b, x);
  EXPECT_EQ(refused.reason, Reason::breakdown);
  EXPECT_NE(refused.detail.find("mirror image is missing"), std::string::npos);
  auto const larger = dominant<double>(Factorisation::ic0);
  CsrMatrix<double, Exec> const B(exec, larger);
  M.refresh(exec, B);
  EXPECT_THROW(solver.solve(b, x), std::invalid_argument);  // M has another size
  Solder::Cg another(exec, B, copy, Solder::CgOptions{});
  expect_solution(another, larger);
  M.refresh(exec, A);
  expect_solution(solver, good);
  // One that was never good: solvers can be made, and say why they do not start.
  Incomplete const none(exec, CsrMatrix<double, Exec>(exec, bad), Factorisation::ic0,
                        {.trisolve = Trisolve::jacobi});
  Solder::Cg with_none(exec, A, none, Solder::CgOptions{});
  EXPECT_EQ(with_none.solve(b, x).detail, none.failure());
}

/// An application adds 2 kernels a sweep to CG's own.
TEST(SweepsInSolvers, TakeTwoKernelsEach) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  CsrMatrix<double, Exec> const A(exec, host);
  Solder::CgOptions options;
  options.runner = Solder::Runner::launch;
  auto const kernels = [&](IncompleteOptions const& of_M) {
    Incomplete const M(exec, A, Factorisation::ic0, of_M);
    Solder::Cg solver(exec, A, M, options);
    return expect_solution(solver, host).kernels_per_iteration;
  };
  double const exact = kernels({});  // 3 of them M's
  for (int const sweeps : {1, 2, 5})
    EXPECT_EQ(kernels({.trisolve = Trisolve::jacobi, .trisolve_sweeps = sweeps}),
              exact - 3 + 2 * sweeps);
}

TEST(SweepErrors, AreNamed) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(4));
  for (auto const kind : {Factorisation::ic0, Factorisation::ilu0}) {
    auto const failure = [&](std::vector<std::vector<double>> const& rows) {
      CsrMatrix<double, Exec> const B(exec, sparse<double>(rows));
      return Incomplete(exec, B, kind, {.sweeps = 1, .trisolve = Trisolve::jacobi}).failure();
    };
    EXPECT_NE(failure({{1, 2}, {3, 0}}).find("row 2 (counted from 1) has no diagonal entry"),
              std::string::npos);
    EXPECT_EQ(failure({{1, 2}, {0, 3}}).find("row 1 (counted from 1) has an entry whose mirror "),
              kind == Factorisation::ic0 ? 0 : std::string::npos);
  }
  for (IncompleteOptions const& options :
       {IncompleteOptions{.sweeps = -1}, IncompleteOptions{.sweeps = 101},
        IncompleteOptions{.trisolve = Trisolve::jacobi, .trisolve_sweeps = 0},
        IncompleteOptions{.trisolve_sweeps = 101}})
    EXPECT_THROW(Incomplete(exec, A, Factorisation::ic0, options), std::invalid_argument);
}

/// A positive definite matrix whose IC(0) breaks down (Kershaw 1978), by sweeps, too.
TEST(SweepErrors, AShiftMendsPivotsThatAreNotPositive) {
  auto const host = sparse<double>({{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}});
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, host);
  for (auto const trisolve : {Trisolve::exact, Trisolve::jacobi}) {
    Incomplete const none(exec, A, Factorisation::ic0,
                          {.shift = 0, .sweeps = 4, .trisolve = trisolve});
    EXPECT_NE(none.failure().find("the pivot of row 4 (counted from 1) of ic0 is not positive"),
              std::string::npos)
        << none.failure();
    Incomplete const M(exec, A, Factorisation::ic0, {.sweeps = 4, .trisolve = trisolve});
    EXPECT_EQ(M.failure(), "");
    EXPECT_GT(M.shift(), 0);
    expect_factors(exec, M, swept(host, {0, 1, 2, 3}, 4, M.shift()), 1e-12);
  }
}

/// A pivot that is zero between two sweeps leaves an infinite entry behind, and good pivots.
TEST(SweepErrors, EntriesThatAreNotFiniteAreNamed) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, 4, 4, to_device(exec, std::vector<int>{0, 2, 5, 8, 9}),
                                  to_device(exec, std::vector<int>{0, 1, 0, 1, 3, 1, 2, 3, 3}),
                                  to_device(exec, std::vector<double>{1, 1, 1, 0, 1, 1, 1, 1, 1}));
  Incomplete const one(exec, A, Factorisation::ilu0, {.sweeps = 1});
  EXPECT_NE(one.failure().find("row 3 (counted from 1) of ilu0"), std::string::npos)
      << one.failure();
  EXPECT_NE(one.failure().find("or the sweeps have not converged (sweeps: 1)"), std::string::npos);
  EXPECT_EQ(Incomplete(exec, A, Factorisation::ilu0, {.sweeps = 2}).failure(), "");
}

/// The last row needs and is needed by all: not the work of all with all.
TEST(SweepErrors, AHubCostsNoMoreThanItsEntries) {
  Exec const exec;
  std::int32_t const rows = 100000;
  HostCsr<double> arrow;
  arrow.rows = arrow.columns_count = rows;
  arrow.row_offsets = {0};
  for (std::int32_t i = 0; i < rows; ++i) {
    if (i + 1 == rows)
      for (std::int32_t j = 0; j < rows - 1; ++j) arrow.columns.push_back(j);
    else
      arrow.columns.push_back(i);
    arrow.columns.push_back(rows - 1);
    arrow.row_offsets.push_back(static_cast<std::int64_t>(arrow.columns.size()));
  }
  arrow.values.assign(arrow.columns.size(), -1);
  for (std::int32_t i = 0; i + 1 < rows; ++i) arrow.values[arrow.row_offsets[i]] = 4;
  arrow.values.back() = rows;
  CsrMatrix<double, Exec> const A(exec, arrow);
  Kokkos::Timer timer;
  Incomplete const M(exec, A, Factorisation::ic0, {.sweeps = 3, .trisolve = Trisolve::jacobi});
  EXPECT_EQ(M.failure(), "");
  EXPECT_LT(timer.seconds(), 20);  // a tenth of a second, and minutes by the square
}

TEST(SweepErrors, PivotsWithoutAnInverseAreNamed) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, diagonal<double>({1, 1e-310, 2}));
  Incomplete const M(exec, A, Factorisation::ilu0, {.sweeps = 1, .trisolve = Trisolve::jacobi});
  EXPECT_NE(M.failure().find("the pivot of row 2 (counted from 1)"), std::string::npos);
  CsrMatrix<double, Exec> const Z(exec, sparse<double>({{1, 2}, {3, 6}}));
  Incomplete const zero(exec, Z, Factorisation::ilu0, {.sweeps = 2, .trisolve = Trisolve::jacobi});
  EXPECT_NE(zero.failure().find("the pivot of row 2 (counted from 1) of ilu0 is zero"),
            std::string::npos);
}

}  // namespace
