// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every way in which a solve ends, and what the report then says; in double, on every space.
#include "solve.hpp"

#include <algorithm>

#include <solder/matrix/generators/poisson.hpp>
#include <solder/matrix/generators/random.hpp>

namespace {

using namespace SolderTest;
using Vector = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

template <class Exec>
struct CgEnds : testing::Test {
  Exec exec;
  static constexpr double tolerance = 1e-10;

  /// Solves in every way, or in those with one preconditioner, and hands each result to
  /// check(solved, jacobi).
  template <class Check>
  void each(HostCsr<double> const& A, Vector const& b, Vector const& x0, int max_iterations,
            Check const& check) {
    in_every_way(tolerance, max_iterations, [&](CgOptions const& options, bool jacobi) {
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
TYPED_TEST_SUITE(CgEnds, Spaces::Types, TypeName);

TYPED_TEST(CgEnds, MaxIterations) {
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

TYPED_TEST(CgEnds, AtOnceFromThePerfectGuess) {
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

TYPED_TEST(CgEnds, ZeroRightHandSide) {
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

TYPED_TEST(CgEnds, ZeroRightHandSideOfASingularOrBrokenMatrix) {
  this->each(HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {0, 0}, {0, 5}, 100,
             [](Solved<double> const& s, bool) {
               EXPECT_EQ(s.report.reason, Reason::converged);
               EXPECT_EQ(s.x, Vector(2)) << "the guess is a solution, but not this one";
             });
  this->each(diagonal<double>({1, nan}), {0, 0}, {0, 5}, 100, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::not_finite) << "whatever x, A x = b is not true";
  });
}

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

TYPED_TEST(CgEnds, EmptyRow) {
  // Row 3 has no entries at all.
  auto const A = sparse<double>({{2, 1, 0}, {1, 3, 0}, {0, 0, 0}});
  this->expect(Reason::converged, "", A, {1, 2, 0}, true, false);
  this->each(A, {1, 2, 1}, {0, 0, 0}, 100, [&](Solved<double> const& s, bool) {
    EXPECT_NE(s.report.reason, Reason::converged);
    EXPECT_NE(s.report.reason, Reason::running);
  });
  this->expect(Reason::breakdown, "row 3 ", A, {1, 2, 0}, false, true);
}

TYPED_TEST(CgEnds, ZeroDiagonalNamesTheRow) {
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

TYPED_TEST(CgEnds, NotFinite) {
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

TYPED_TEST(CgEnds, ANormOfBThatUnderflowsIsNeverConverged) {
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

TYPED_TEST(CgEnds, ANormOfBThatIsSmallConverges) {
  auto const A = Solder::random_spd<double>(20, 5, 1);
  this->expect(Reason::converged, "", A, Vector(20, 1e-128));
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
  in_every_way(1e-17, 20000, [&](CgOptions const& options, bool jacobi) {
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

TYPED_TEST(CgEnds, NoUnknowns) {
  this->each(diagonal<double>({}), {}, {}, 10, [](Solved<double> const& s, bool) {
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.iterations, 0);
    EXPECT_EQ(s.report.true_relative_residual, 0);
    EXPECT_NE(s.report.runner, Runner::automatic);
  });
}

// ---- The report's other numbers, the monitor, and what is refused ----

TYPED_TEST(CgEnds, ReportsKernelsWordsTimesAndRunner) {
  using Exec = TypeParam;
  auto const A = Solder::fem_poisson_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 1);
  double const matrix = double(A.nonzeros()) * 1.5 + A.rows * 0.5;
  in_every_way(1e-8, 100, [&](CgOptions const& options, bool jacobi) {
    Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
    bool const pipelined = options.form == CgForm::pipelined;
    EXPECT_EQ(report.kernels_per_iteration, options.runner == Runner::team ? 0 : pipelined ? 2 : 3);
    EXPECT_DOUBLE_EQ(report.words_per_iteration,
                     matrix + ((pipelined ? 9 : 11) + (jacobi ? 2 : 0)) * A.rows);
    EXPECT_GE(report.setup_seconds, 0);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_LT(report.solve_seconds, 60);
  });
  CgOptions const automatic;
  Report const report = solve(Exec(), A, false, b, Vector(A.rows), automatic).report;
  EXPECT_EQ(report.reason, Reason::converged);
  EXPECT_NE(report.runner, Runner::automatic);
}

TYPED_TEST(CgEnds, MonitorSeesTheIterationsPass) {
  auto const A = Solder::fem_poisson_2d<double>(20);
  auto const b = random_vector<double>(A.rows, 1);
  in_every_way(1e-8, 1000, [&](CgOptions options, bool jacobi) {
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

TYPED_TEST(CgEnds, RefusesWhatCannotBe) {
  using Matrix = CsrMatrix<double, TypeParam>;
  TypeParam const exec;
  auto wide = diagonal<double>({1, 2, 3});
  wide.columns_count = 4;
  EXPECT_THROW((Cg<TypeParam, Matrix>(exec, Matrix(exec, wide))), std::invalid_argument);

  Matrix const A(exec, diagonal<double>({1, 2, 3}));
  CgOptions options;
  for (double const tolerance : {-1.0, -1e-300, nan}) {
    options.tolerance = tolerance;
    EXPECT_THROW((Cg<TypeParam, Matrix>(exec, A, {}, options)), std::invalid_argument) << tolerance;
  }
  options = {};
  options.max_iterations = -1;
  EXPECT_THROW((Cg<TypeParam, Matrix>(exec, A, {}, options)), std::invalid_argument);

  Cg<TypeParam, Matrix> cg(exec, A);
  auto const three = to_device(exec, Vector(3, 1.0)), two = to_device(exec, Vector(2, 1.0));
  EXPECT_THROW(cg.solve(three, two), std::invalid_argument);
  EXPECT_THROW(cg.solve(two, three), std::invalid_argument);
  Kokkos::View<double**, Kokkos::LayoutRight, TypeParam> const table("SolderTest::table", 3, 2);
  auto const strided = Kokkos::subview(table, Kokkos::ALL, 0);
  EXPECT_THROW(cg.solve(three, strided), std::invalid_argument);
  EXPECT_THROW(cg.solve(strided, to_device(exec, Vector(3))), std::invalid_argument);
  EXPECT_EQ(cg.solve(three, to_device(exec, Vector(3))).reason, Reason::converged);
}

/// The long way round: 9,000 iterations exceed every batch and the letter of the team runner.
TYPED_TEST(CgEnds, LongHistoriesArriveComplete) {
  auto const A = Solder::random_spd<double>(30, 5, 1);
  auto const b = random_vector<double>(30, 1);
  Vector first;
  for (Runner const runner : {Runner::launch, Runner::graph, Runner::team}) {
    CgOptions options;
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

}  // namespace
