// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Ways in which a solve of any solver ends, and what the report then says; in double. A
/// solver's test instantiates SolverEnds with WaysOf<its options>.

#include "reals.hpp"
#include "solve.hpp"

#include <algorithm>

#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>

namespace SolderTest {

/// \brief Solves in every way and looks at how they end.
template <class Options, class Exec_>
struct Ends : testing::Test {
  using Exec = Exec_;
  Exec exec;
  static constexpr double tolerance = 1e-10;

  /// Solves in every way, or in those with one preconditioner, and hands each result to
  /// check(solved, jacobi).
  template <class Check>
  void each(HostCsr<double> const& A, Vector const& b, Vector const& x0, int max_iterations,
            Check const& check) {
    in_every_way<Options>(tolerance, max_iterations, [&](Options const& options, bool jacobi) {
      auto const s = solve(exec, A, jacobi, b, x0, options);
      EXPECT_EQ(s.report.history.size(), std::size_t(s.report.iterations) + 1);
      check(s, jacobi);
    });
  }

  /// Expects the reason, and text in the detail, of every way with these preconditioners.
  void expect(Reason reason, std::string const& text, HostCsr<double> const& A, Vector const& b,
              bool identity = true, bool jacobi = true) {
    each(A, b, Vector(b.size()), 500, [&](Solved<double> const& s, bool with_jacobi) {
      if (!(with_jacobi ? jacobi : identity)) return;
      EXPECT_EQ(to_string(s.report.reason), to_string(reason));
      EXPECT_TRUE(contains(s.report.detail, text)) << s.report.detail;
      auto const [relative, rounding] = true_residual(A, b, s.x);
      if (reason != Reason::not_finite) {
        EXPECT_NEAR(s.report.true_relative_residual, relative, rounding + 1e-12 * relative);
      }
    });
  }
};
/// \brief Options of a solver, and a space.
template <class O, class E>
struct Way {
  using Options = O;
  using Exec = E;
  static char const* name() { return E::name(); }
};

template <class Options, class Execs>
struct WaysOn;
template <class Options, class... E>
struct WaysOn<Options, testing::Types<E...>> {
  using Types = testing::Types<Way<Options, E>...>;
};
template <class Options>
using WaysOf = typename WaysOn<Options, Spaces::Types>::Types;

template <class W>
struct SolverEnds : Ends<typename W::Options, typename W::Exec> {};
TYPED_TEST_SUITE_P(SolverEnds);

TYPED_TEST_P(SolverEnds, MaxIterations) {
  auto const A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(400, 1), x0 = random_vector<double>(400, 2);
  for (int const most : {0, 1, 2, 15, 16, 17, 31}) {
    this->each(A, b, x0, most, [&](Solved<double> const& s, bool) {
      EXPECT_EQ(s.report.reason, Reason::max_iterations);
      EXPECT_EQ(s.report.iterations, most);
      EXPECT_EQ(s.report.detail, "");
      EXPECT_NEAR(s.report.true_relative_residual, true_residual(A, b, s.x).relative, 1e-12);
      if (most == 0) {
        EXPECT_EQ(s.x, x0);
      }
    });
  }
}

TYPED_TEST_P(SolverEnds, AtOnceFromThePerfectGuess) {
  auto const A = Solder::random_spd<double>(100, 5, 1);
  auto const x0 = random_vector<double>(100, 2);
  for (int const most : {0, 100}) {
    this->each(A, multiply(A, x0), x0, most, [&](Solved<double> const& s, bool) {
      EXPECT_EQ(s.report.reason, Reason::converged);
      EXPECT_EQ(s.report.iterations, 0);
      EXPECT_LE(s.report.true_relative_residual, this->tolerance);
      EXPECT_EQ(s.x, x0);
    });
  }
}

/// What is of no use is measured by where the solve begins, too: by a guess that is far away, or by
/// the solution of a system with a larger right-hand side.
TYPED_TEST_P(SolverEnds, APoorGuessIsNotDivergence) {
  auto const A = Solder::random_spd<double>(50, 5, 1);
  auto const b = random_vector<double>(50, 2);
  auto const grown = [](Vector v, double by) {
    for (double& value : v) value *= by;
    return v;
  };
  auto const expect_an_end = [&](Vector const& rhs, Vector const& x0) {
    this->each(A, rhs, x0, 500, [&](Solved<double> const& s, bool) {
      EXPECT_NE(to_string(s.report.reason), "diverged") << s.report.detail;
      EXPECT_GT(s.report.iterations, 0);
      // b - A x0 has no digits of b: what is left of it is the rounding of where it began.
      EXPECT_LT(s.report.true_relative_residual, 1e-3);
    });
  };
  expect_an_end(b, grown(random_vector<double>(50, 3), 1e16));
  expect_an_end(grown(b, 1e-13), random_vector<double>(50, 3));
}

TYPED_TEST_P(SolverEnds, ZeroRightHandSide) {
  auto const A = Solder::random_spd<double>(100, 5, 1);
  Vector const not_a_number(100, nan), huge(100, 1e200), tiny(100, 1e-200);
  Vector signed_zero(100, 0.0);
  signed_zero[3] = -0.0;
  for (Vector const& x0 : {Vector(100), random_vector<double>(100, 2), not_a_number, huge, tiny}) {
    for (Vector const& b : {Vector(100), signed_zero}) {
      this->each(A, b, x0, 100, [&](Solved<double> const& s, bool) {
        EXPECT_EQ(to_string(s.report.reason), "converged")
            << "x0 = " << x0[0] << ": " << s.report.detail;
        EXPECT_EQ(s.report.iterations, 0);
        EXPECT_EQ(s.report.true_relative_residual, 0);
        EXPECT_EQ(s.report.relative_residual, 0);
        EXPECT_EQ(s.x, Vector(100));
      });
    }
  }
}

/// Tolerance 0: exactly as many iterations as were asked for, whatever b.
TYPED_TEST_P(SolverEnds, ZeroRightHandSideOfABenchmark) {
  auto const A = Solder::random_spd<double>(100, 5, 1);
  in_every_way<typename TypeParam::Options>(0, 20, [&](auto const& options, bool jacobi) {
    auto const s =
        solve(this->exec, A, jacobi, Vector(100), random_vector<double>(100, 2), options);
    EXPECT_EQ(to_string(s.report.reason), "max_iterations") << s.report.detail;
    EXPECT_EQ(s.report.iterations, 20);
    EXPECT_EQ(s.report.true_relative_residual, 0);
    EXPECT_EQ(s.x, Vector(100));
  });
}

TYPED_TEST_P(SolverEnds, ZeroRightHandSideOfASingularOrBrokenMatrix) {
  this->each(HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {0, 0}, {0, 5}, 100,
             [](Solved<double> const& s, bool) {
               EXPECT_EQ(s.report.reason, Reason::converged);
               EXPECT_EQ(s.x, Vector(2)) << "the guess is a solution, but not this one";
             });
  this->each(diagonal<double>({1, nan}), {0, 0}, {0, 5}, 100, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::not_finite) << "whatever x, A x = b is not true";
  });
}

TYPED_TEST_P(SolverEnds, EmptyRow) {
  // Row 3 has no entries at all.
  auto const A = sparse<double>({{2, 1, 0}, {1, 3, 0}, {0, 0, 0}});
  this->expect(Reason::converged, "", A, {1, 2, 0}, true, false);
  this->each(A, {1, 2, 1}, {0, 0, 0}, 100, [&](Solved<double> const& s, bool) {
    EXPECT_NE(s.report.reason, Reason::converged);
    EXPECT_NE(s.report.reason, Reason::running);
  });
  this->expect(Reason::breakdown, "row 3 ", A, {1, 2, 0}, false, true);
}

TYPED_TEST_P(SolverEnds, ZeroDiagonalNamesTheRow) {
  auto const stored = HostCsr<double>{4, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 3}, {1, 2, 0, 3}};
  this->expect(Reason::breakdown, "row 3 ", stored, {1, 1, 1, 1}, false, true);
  auto const missing = sparse<double>({{4, 1, 0}, {1, 0, 1}, {0, 1, 0}});
  this->expect(Reason::breakdown, "row 2 ", missing, {1, 1, 1}, false, true);
  this->each(missing, {0, 0, 0}, {1, 2, 3}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged) << "b = 0";
  });
  this->each(missing, {0, nan, 0}, {0, 0, 0}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::not_finite) << s.report.detail;
  });
}

TYPED_TEST_P(SolverEnds, NotFinite) {
  auto const good = Solder::random_spd<double>(300, 5, 1);
  auto const b = random_vector<double>(300, 2);
  auto const expect_not_finite = [&](char const* what, auto const& A, auto const& rhs,
                                     auto const& x0) {
    SCOPED_TRACE(what);
    this->each(A, rhs, x0, 100, [&](Solved<double> const& s, bool) {
      EXPECT_EQ(to_string(s.report.reason), "not_finite");
      EXPECT_TRUE(contains(s.report.detail, "NaN")) << s.report.detail;
      EXPECT_TRUE(std::isnan(s.report.true_relative_residual)) << s.report.true_relative_residual;
    });
  };
  for (double const value : {nan, infinity, -infinity}) {
    for (std::size_t const where :
         {std::size_t(0), good.values.size() / 2, good.values.size() - 1}) {
      auto A = good;
      A.values[where] = value;
      expect_not_finite("in A", A, b, Vector(300));
    }
    for (int const where : {0, 150, 299}) {
      auto bad = b;
      bad[where] = value;
      expect_not_finite("in b", good, bad, Vector(300));
      auto x0 = Vector(300);
      x0[where] = value;
      expect_not_finite("in x", good, b, x0);
    }
  }
}

TYPED_TEST_P(SolverEnds, ANormOfBThatUnderflowsIsNeverConverged) {
  for (double const size : {1e-131, 1e-160, 1e-200, 1e-300, 5e-324}) {
    SCOPED_TRACE(size);
    this->each(Solder::random_spd<double>(20, 5, 1), Vector(20, size), Vector(20), 100,
               [&](Solved<double> const& s, bool) {
                 EXPECT_EQ(to_string(s.report.reason), "breakdown");
                 EXPECT_TRUE(contains(s.report.detail, "||b||")) << s.report.detail;
                 EXPECT_EQ(s.report.iterations, 0);
                 EXPECT_EQ(s.x, Vector(20));
               });
  }
}

TYPED_TEST_P(SolverEnds, ANormOfBThatIsSmallConverges) {
  auto const A = Solder::random_spd<double>(20, 5, 1);
  this->expect(Reason::converged, "", A, Vector(20, 1e-128));
}

TYPED_TEST_P(SolverEnds, NoUnknowns) {
  this->each(diagonal<double>({}), {}, {}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.iterations, 0);
    EXPECT_EQ(s.report.true_relative_residual, 0);
    EXPECT_NE(s.report.runner, Runner::automatic);
  });
}

TYPED_TEST_P(SolverEnds, MonitorSeesTheIterationsPass) {
  auto const A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(A.rows, 1);
  in_every_way<typename TypeParam::Options>(
      1e-8, 1000, [&](typename TypeParam::Options options, bool jacobi) {
        std::vector<Solder::Progress> seen;
        options.monitor = [&](Solder::Progress const& progress) { seen.push_back(progress); };
        Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
        ASSERT_FALSE(seen.empty());
        for (std::size_t k = 0; k < seen.size(); ++k) {
          EXPECT_LE(seen[k].iteration, report.iterations);
          EXPECT_GE(seen[k].seconds, 0);
          if (k > 0) {
            EXPECT_GE(seen[k].iteration, seen[k - 1].iteration);
          }
        }
        EXPECT_EQ(seen.back().iteration, report.iterations);
        EXPECT_EQ(seen.back().relative_residual, report.relative_residual);
      });
}

/// The recursion and the truth may stand an ulp apart with the tolerance between them: neither may
/// send the solve back to the other for ever. (What does not end here, ctest ends.)
TYPED_TEST_P(SolverEnds, ToleranceBetweenTheRecursionAndTheTruth) {
  using Options = typename TypeParam::Options;
  auto const expect_an_end = [&](HostCsr<double> const& A, Vector const& b, Vector const& x0,
                                 Options const& options, bool jacobi) {
    auto const s = solve(this->exec, A, jacobi, b, x0, options);
    auto const [relative, rounding] = true_residual(A, b, s.x);
    EXPECT_NEAR(s.report.true_relative_residual, relative, rounding + 1e-12 * relative);
    EXPECT_LE(s.report.iterations, options.max_iterations);
    EXPECT_NE(s.report.reason, Reason::running);
    if (s.report.reason == Reason::converged) {
      EXPECT_LE(s.report.true_relative_residual, options.tolerance * (1 + 1e-15));
    } else {
      EXPECT_GE(s.report.true_relative_residual, options.tolerance * (1 - 1e-15));
    }
  };
  auto const identity = diagonal(Vector(3, 1.0));
  Vector const ones(3, 1.0), near{.3, .4, .6};
  for (int const most : {1, 2, 100})
    in_every_way<Options>(0.5802298395176403, most, [&](Options const& options, bool jacobi) {
      expect_an_end(identity, ones, near, options, jacobi);
    });
  for (int k = 0; k < 40; ++k) {
    int const n = 3 + k % 7;
    auto const A = Solder::random_spd<double>(n, 3, 100 + k);
    auto const b = random_vector<double>(n, 200 + k);
    in_every_way<Options>(0.3, 100, [&](Options options, bool jacobi) {
      auto const before = solve(this->exec, A, jacobi, b, Vector(n), options);
      options.tolerance = before.report.true_relative_residual;
      if (options.tolerance > 0) expect_an_end(A, b, before.x, options, jacobi);
    });
  }
}

/// What no tolerance can be met with: the limit holds wherever the recursion has got to.
TYPED_TEST_P(SolverEnds, TheLimitHoldsBeyondTheAttainableAccuracy) {
  auto const A = Solder::random_spd<double>(40, 5, 3);
  auto const b = random_vector<double>(40, 4);
  for (int most = 1; most <= 60; ++most)
    in_every_way<typename TypeParam::Options>(
        1e-17, most, [&](typename TypeParam::Options const& options, bool jacobi) {
          auto const s = solve(this->exec, A, jacobi, b, Vector(40), options);
          expect_true_report(A, b, s, options);
        });
}

/// The exception comes out; b and x may go at once, and the solver knows nothing of it later.
TYPED_TEST_P(SolverEnds, AMonitorMayThrow) {
  using Exec = typename TypeParam::Exec;
  using Options = typename TypeParam::Options;
  struct Enough {};
  auto const host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Exec> const A(this->exec, host);
  auto const b = random_vector<double>(host.rows, 1);
  Vector const x0(host.rows);
  in_every_way<Options>(1e-8, 1000, [&](Options options, bool jacobi) {
    if (jacobi) return;
    auto const alone = solve(this->exec, host, false, b, x0, options);
    int calls = 0, enough = 0;
    options.monitor = [&](Solder::Progress const&) {
      if (++calls == enough) throw Enough();
    };
    SolverOf<Options, Exec, double> solver(this->exec, A, Identity{}, options);
    for (enough = 1; enough <= 3; ++enough) {
      calls = 0;
      if (is_whole(options.runner) && enough > 1) break;  // it hears but of the end
      {
        auto const other = to_device(this->exec, random_vector<double>(host.rows, 9));
        auto const gone = to_device(this->exec, x0);
        EXPECT_THROW(solver.solve(other, gone), Enough);
      }
      calls = 100;
      auto const b_device = to_device(this->exec, b), x = to_device(this->exec, x0);
      Report const report = solver.solve(b_device, x);
      EXPECT_EQ(report.reason, Reason::converged);
      EXPECT_EQ(report.history, alone.report.history);
      EXPECT_EQ(to_host(this->exec, x), alone.x);
    }
  });
}

TYPED_TEST_P(SolverEnds, RefusesWhatCannotBe) {
  using Exec = typename TypeParam::Exec;
  using Options = typename TypeParam::Options;
  using Matrix = CsrMatrix<double, Exec>;
  using Solver = SolverOf<Options, Exec, double>;
  Exec const exec;
  auto wide = diagonal<double>({1, 2, 3});
  wide.columns_count = 4;
  EXPECT_THROW(Solver(exec, Matrix(exec, wide)), std::invalid_argument);

  Matrix const A(exec, diagonal<double>({1, 2, 3}));
  Options options;
  for (double const tolerance : {-1.0, -1e-300, nan}) {
    options.tolerance = tolerance;
    EXPECT_THROW(Solver(exec, A, {}, options), std::invalid_argument) << tolerance;
  }
  options = {};
  options.max_iterations = -1;
  EXPECT_THROW(Solver(exec, A, {}, options), std::invalid_argument);

  using WithJacobi = SolverOf<Options, Exec, double, Jacobi<double, Exec>>;
  for (int const other : {0, 1, 2, 4, 1000}) try {
      WithJacobi(exec, A, Jacobi<double, Exec>(exec, Matrix(exec, diagonal(Vector(other, 1.0)))));
      ADD_FAILURE() << "a Jacobi of " << other << " rows was taken for 3";
    } catch (std::invalid_argument const& error) {
      EXPECT_TRUE(contains(error.what(), "the preconditioner has " + std::to_string(other) +
                                             " rows, and the matrix 3"))
          << error.what();
    }

  Solver solver(exec, A);
  auto const three = to_device(exec, Vector(3, 1.0)), two = to_device(exec, Vector(2, 1.0));
  EXPECT_THROW(solver.solve(three, two), std::invalid_argument);
  EXPECT_THROW(solver.solve(two, three), std::invalid_argument);
  Kokkos::View<double**, Kokkos::LayoutRight, Exec> const table("SolderTest::table", 3, 2);
  auto const strided = Kokkos::subview(table, Kokkos::ALL, 0);
  EXPECT_THROW(solver.solve(three, strided), std::invalid_argument);
  EXPECT_THROW(solver.solve(strided, to_device(exec, Vector(3))), std::invalid_argument);
  EXPECT_THROW(solver.solve(three, three), std::invalid_argument);
  auto const five = to_device(exec, Vector(5));
  auto const part = [&](int from) { return Kokkos::subview(five, std::pair(from, from + 3)); };
  EXPECT_THROW(solver.solve(part(0), part(2)), std::invalid_argument);
  EXPECT_THROW(solver.solve(part(2), part(0)), std::invalid_argument);
  EXPECT_EQ(solver.solve(three, to_device(exec, Vector(3))).reason, Reason::converged);
}

/// The long way round: 9,000 iterations exceed every batch and the letter of the team runner.
TYPED_TEST_P(SolverEnds, LongHistoriesArriveComplete) {
  auto const A = Solder::random_spd<double>(30, 5, 1);
  auto const b = random_vector<double>(30, 1);
  Vector first;
  for (Runner const runner : every_runner) {
    typename TypeParam::Options options;
    options.tolerance = 0;
    options.max_iterations = 9000;
    options.runner = runner;
    Report const report = solve(this->exec, A, true, b, Vector(30), options).report;
    EXPECT_EQ(report.iterations, 9000);
    ASSERT_EQ(report.history.size(), 9001u);
    if (first.empty()) first = report.history;
    for (int k = 0; k < 6; ++k)
      EXPECT_NEAR(report.history[k], first[k], 1e-10) << to_string(runner);
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    SolverEnds, MaxIterations, AtOnceFromThePerfectGuess, APoorGuessIsNotDivergence,
    ZeroRightHandSide, ZeroRightHandSideOfABenchmark, ZeroRightHandSideOfASingularOrBrokenMatrix,
    EmptyRow, ZeroDiagonalNamesTheRow, NotFinite, ANormOfBThatUnderflowsIsNeverConverged,
    ANormOfBThatIsSmallConverges, NoUnknowns, MonitorSeesTheIterationsPass,
    ToleranceBetweenTheRecursionAndTheTruth, TheLimitHoldsBeyondTheAttainableAccuracy,
    AMonitorMayThrow, RefusesWhatCannotBe, LongHistoriesArriveComplete);

}  // namespace SolderTest
