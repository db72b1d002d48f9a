// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How GMRES in particular ends, in double, on every space; what holds of every solver is in
// ends.hpp.
#include "ends.hpp"
#include "gmres.hpp"

#include <map>

#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;

template <class Exec>
struct GmresEnds : Ends<GmresOptions, Exec> {
  /// check(solved, options) without a preconditioner, in all forms and runners.
  template <class Check>
  void with_restart(int restart, HostCsr<double> const& A, Vector const& b, int max_iterations,
                    Check const& check) {
    in_every_way<GmresOptions>(
        this->tolerance, max_iterations, [&](GmresOptions options, bool jacobi) {
          if (jacobi) return;
          options.restart = restart;
          auto const s = solve(this->exec, A, false, b, Vector(b.size()), options);
          EXPECT_EQ(s.report.history.size(), std::size_t(s.report.iterations) + 1);
          EXPECT_NE(s.report.reason, Reason::not_finite);
          for (double const value : s.x) ASSERT_TRUE(std::isfinite(value));
          for (double const value : s.report.history) ASSERT_TRUE(std::isfinite(value));
          check(s, options);
        });
  }
};
TYPED_TEST_SUITE(GmresEnds, Spaces::Types, TypeName);

/// A e_i = e_i+1, and of the last e_1 or 0.
HostCsr<double> shift(int n, bool cyclic) {
  std::vector<Vector> rows(n, Vector(n));
  for (int i = 0; i < n; ++i)
    if (i > 0 || cyclic) rows[i][(i + n - 1) % n] = 1;
  return sparse(rows);
}

Vector unit(int n, int i) {
  Vector e(n);
  e[i] = 1;
  return e;
}

TYPED_TEST(GmresEnds, HappyBreakdownConverges) {
  this->each(diagonal(Vector(300, 4)), Vector(300, 2), Vector(300), 10,
             [](Solved<double> const& s, bool) {
               EXPECT_EQ(to_string(s.report.reason), "converged");
               EXPECT_EQ(s.report.detail, "");
               EXPECT_EQ(s.report.iterations, 1);
               for (double const value : s.x) EXPECT_NEAR(value, 0.5, 1e-15);
             });
  for (double const value : {-4.0, 1.0, 1e-30, 1e30})
    this->each(diagonal<double>({value}), {2}, {0}, 10, [&](Solved<double> const& s, bool) {
      EXPECT_EQ(to_string(s.report.reason), "converged");
      EXPECT_EQ(s.report.iterations, 1);
      EXPECT_NEAR(s.x[0] * value, 2, 1e-15);
    });
  // A minimal polynomial of degree 3: the space ends there.
  Vector entries(100);
  for (int i = 0; i < 100; ++i) entries[i] = 1 + i % 3;
  this->each(diagonal(entries), random_vector<double>(100, 3), Vector(100), 30,
             [](Solved<double> const& s, bool jacobi) {
               EXPECT_EQ(to_string(s.report.reason), "converged");
               EXPECT_EQ(s.report.iterations, jacobi ? 1 : 3);
             });
}

/// Tolerance 0 runs on where the space has ended: what is there stays.
TYPED_TEST(GmresEnds, GoesOnBeyondTheEndOfTheSpace) {
  Vector entries(100);
  for (int i = 0; i < 100; ++i) entries[i] = 1 + i % 3;
  for (GmresForm const form : {GmresForm::cgs2, GmresForm::flexible})
    for (auto const round :
         {Solder::GmresReorthogonalisation::lost, Solder::GmresReorthogonalisation::halved}) {
      SCOPED_TRACE(std::string(Solder::to_string(form)) + ", " +
                   std::string(Solder::to_string(round)));
      GmresOptions options;
      options.form = form;
      options.reorthogonalisation = round;
      options.restart = options.max_iterations = 80;
      options.tolerance = 0;
      auto const s = solve(this->exec, diagonal(entries), false, random_vector<double>(100, 3),
                           Vector(100), options);
      EXPECT_EQ(to_string(s.report.reason), "max_iterations") << s.report.detail;
      EXPECT_EQ(s.report.iterations, 80);
      EXPECT_LE(s.report.true_relative_residual, 1e-12);
      for (double const value : s.report.history) EXPECT_TRUE(std::isfinite(value));
    }
}

TYPED_TEST(GmresEnds, ConvergesOnASingularMatrixWithBInItsRange) {
  this->expect(Reason::converged, "", HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}}, {3, 0},
               true, false);
  this->expect(Reason::converged, "", sparse<double>({{1, -1, 0}, {-1, 2, -1}, {0, -1, 1}}),
               {1, 1, -2});
}

TYPED_TEST(GmresEnds, NeverConvergesWhereBIsNotInTheRange) {
  auto const neither = [](double least) {
    return [least](Solved<double> const& s, GmresOptions const& options) {
      EXPECT_TRUE(s.report.reason == Reason::breakdown || s.report.reason == Reason::stagnated)
          << to_string(s.report.reason);
      EXPECT_GE(s.report.true_relative_residual, least - 1e-12);
      if (options.form == GmresForm::cgs2 || options.form == GmresForm::pipelined) {
        EXPECT_NEAR(s.report.true_relative_residual, least, 1e-12);
      }
    };
  };
  auto const zero = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {0, 0}};
  auto const projector = HostCsr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 0}};
  auto const laplacian = sparse<double>({{1, -1, 0}, {-1, 2, -1}, {0, -1, 1}});
  for (int const restart : {1, 2, 5}) {
    SCOPED_TRACE(restart);
    this->with_restart(restart, zero, {1, 2}, 100, neither(1));
    this->with_restart(restart, projector, {0, 1}, 100, neither(1));
    // Nilpotent: A e_n = 0.
    this->with_restart(restart, shift(10, false), unit(10, 9), 100, neither(1));
  }
  // What is left is b's part outside the range.
  this->with_restart(30, projector, {1, 1}, 100, neither(std::sqrt(0.5)));
  this->with_restart(30, laplacian, {1, 2, 4}, 100, neither(7 / std::sqrt(63)));
  // No x is better than 0, but only the last vector of the space tells.
  this->with_restart(30, shift(10, false), unit(10, 0), 100, neither(1));
  this->with_restart(4, shift(10, false), unit(10, 0), 100, neither(1));
}

TYPED_TEST(GmresEnds, AShiftStagnatesInEveryCycleShorterThanItself) {
  int const n = 12;
  auto const A = shift(n, true);
  auto const b = unit(n, 0);
  for (int const restart : {1, 5, 11})
    this->with_restart(restart, A, b, 100, [&](Solved<double> const& s, GmresOptions const&) {
      EXPECT_EQ(to_string(s.report.reason), "stagnated") << s.report.detail;
      EXPECT_EQ(s.report.true_relative_residual, 1);
    });
  for (int const restart : {12, 13, 1000})
    this->with_restart(restart, A, b, 100, [&](Solved<double> const& s, GmresOptions const&) {
      EXPECT_EQ(to_string(s.report.reason), "converged") << s.report.detail;
      EXPECT_EQ(s.report.iterations, n);
      EXPECT_EQ(s.report.history[n - 1], 1);
    });
}

TYPED_TEST(GmresEnds, ALimitWithinACycleKeepsItsSteps) {
  auto const A = Solder::convection_diffusion_2d<double>(15);
  auto const b = random_vector<double>(A.rows, 4);
  double before = 1;
  for (int const most : {1, 3, 4, 5, 9, 12}) {
    double residual = 0;
    this->with_restart(5, A, b, most, [&](Solved<double> const& s, GmresOptions const&) {
      EXPECT_EQ(s.report.reason, Reason::max_iterations);
      EXPECT_EQ(s.report.iterations, most);
      residual = s.report.true_relative_residual;
      EXPECT_LT(residual, before);
      EXPECT_NEAR(s.report.history.back(), residual, 1e-10 * residual);
      EXPECT_NEAR(true_residual(A, b, s.x).relative, residual, 1e-12);
    });
    before = residual;
  }
}

TYPED_TEST(GmresEnds, StagnatesAtTheAttainableAccuracy) {
  auto A = Solder::convection_diffusion_2d<double>(15);
  Vector scales;
  for (std::int32_t i = 0; i < A.rows; ++i) scales.push_back(std::pow(10.0, i % 4 * 0.5));
  scale_both_sides(A, scales);
  auto const b = random_vector<double>(A.rows, 5);
  in_every_way<GmresOptions>(1e-17, 20000, [&](GmresOptions options, bool jacobi) {
    options.restart = 40;
    auto const s = solve(this->exec, A, jacobi, b, Vector(A.rows), options);
    EXPECT_EQ(to_string(s.report.reason), "stagnated") << s.report.detail;
    EXPECT_LE(s.report.true_relative_residual, 1e-11) << "it gave up early";
    expect_true_report(A, b, s, options);
  });
}

/// Orthogonality once is not enough: the entries of a graded matrix cancel in the sums.
TYPED_TEST(GmresEnds, ASecondRoundIsMadeWhereOneIsNotEnough) {
  int const n = 60;
  std::vector<Vector> rows(n, Vector(n));
  for (int i = 0; i < n; ++i) {
    rows[i][i] = std::pow(10.0, -8.0 * i / n);
    for (int j = i + 1; j < n; ++j) rows[i][j] = 0.3 * rows[i][i] / (j - i);
  }
  auto const A = sparse(rows);
  auto const b = multiply(A, Vector(n, 1.0));
  int iterations[2];
  for (auto const form : {GmresForm::cgs2, GmresForm::cgs}) {
    GmresOptions options = gmres(form, n);
    options.tolerance = 1e-12;
    options.max_iterations = 10 * n;
    auto const s = solve(this->exec, A, false, b, Vector(n), options);
    iterations[form == GmresForm::cgs] = s.report.iterations;
    if (form == GmresForm::cgs2) {
      EXPECT_EQ(to_string(s.report.reason), "converged");
    }
  }
  EXPECT_LE(iterations[0], n);
  EXPECT_GT(iterations[1], n);
}

TYPED_TEST(GmresEnds, FormsTakeTheSameIterations) {
  for (int const size : {15, 31, 45}) {
    for (auto const& A : {Solder::convection_diffusion_2d<double>(size),
                          Solder::convection_diffusion_3d<double>(size / 3)}) {
      auto const b = random_vector<double>(A.rows, 9);
      std::vector<int> iterations;
      for (auto const& [name, options] : Method<GmresOptions>::forms(30)) {
        auto const s = solve(this->exec, A, true, b, Vector(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::converged);
        iterations.push_back(s.report.iterations);
        // Simpler GMRES sees its residual fall by 6 decades and then begins a new cycle: a few
        // iterations more where the others converge within their first.
        int const more = options.form == GmresForm::pipelined && iterations.front() <= 30 ? 4 : 1;
        EXPECT_NEAR(iterations.back(), iterations.front(), 0.05 * iterations.front() + more)
            << name << ", " << A.rows << " rows";
      }
    }
  }
}

TYPED_TEST(GmresEnds, RefusesARestartThatCannotBe) {
  using Exec = TypeParam;
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, diagonal<double>({1, 2, 3}));
  for (int const restart : {-1, 0, 1001})
    EXPECT_THROW(
        (SolverOf<GmresOptions, Exec, double>(exec, A, {}, gmres(GmresForm::mgs, restart))),
        std::invalid_argument);
}

TYPED_TEST(GmresEnds, ReportsKernelsWordsTimesAndRunner) {
  auto const A = Solder::fem_poisson_2d<double>(10);
  auto const b = random_vector<double>(A.rows, 1);
  in_every_way<GmresOptions>(1e-8, 200, [&](GmresOptions const& options, bool jacobi) {
    Report const report = solve(this->exec, A, jacobi, b, Vector(A.rows), options).report;
    std::map<GmresForm, double> const of_a_cycle_of_8{{GmresForm::pipelined, 34},
                                                      {GmresForm::cgs, 28},
                                                      {GmresForm::cgs2, 44},
                                                      {GmresForm::mgs, 48}};
    EXPECT_EQ(report.kernels_per_iteration,
              is_whole(runs_by<TypeParam>(options)) ? 0 : of_a_cycle_of_8.at(options.form) / 8);
    EXPECT_GT(report.words_per_iteration, A.nonzeros() * 1.5 * 9 / 8 + 10 * A.rows);
    EXPECT_LT(report.words_per_iteration, A.nonzeros() * 1.5 * 9 / 8 + 30 * A.rows);
    EXPECT_GE(report.setup_seconds, 0);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_LT(report.solve_seconds, 60);
  });
}

/// The last step may meet a tolerance that the truth does not: no step more is taken for that.
template <class Scalar>
void expect_no_step_beyond_the_limit(double tolerance) {
  Kokkos::DefaultExecutionSpace const exec;
  auto const A = Solder::random_spd<Scalar>(40, 5, 3);
  auto const b = random_vector<Scalar>(40, 4);
  std::vector<Scalar> const x0(40);
  int at_limit = 0;
  for (GmresForm const form :
       {GmresForm::cgs2, GmresForm::cgs, GmresForm::mgs, GmresForm::pipelined, GmresForm::flexible})
    for (Runner const runner : {Runner::launch, Runner::team, Runner::resident})
      for (bool const jacobi : {false, true})
        for (int most = 1; most <= 24; ++most) {
          if (jacobi != (form == GmresForm::flexible)) continue;  // flexible keeps all M v_j
          auto options = gmres(form, 8);
          options.runner = runner;
          options.tolerance = tolerance;
          options.max_iterations = most;
          SCOPED_TRACE(name_of(options) + ", " + std::string(to_string(runner)) +
                       (jacobi ? ", jacobi" : ", none") + ", at most " + std::to_string(most));
          auto const s = solve(exec, A, jacobi, b, x0, options);
          expect_true_report(A, b, s, options);
          at_limit += s.report.reason == Reason::max_iterations;
        }
  EXPECT_GT(at_limit, 0);
}

TEST(GmresLimit, HoldsWhereTheRecursionMeetsWhatTheTruthDoesNot) {
  expect_no_step_beyond_the_limit<float>(1e-7);
  expect_no_step_beyond_the_limit<Kokkos::complex<float>>(1e-7);
  expect_no_step_beyond_the_limit<double>(1e-16);
}

/// What is left of b beyond the range of A no cycle can win; the next one goes far along the null
/// space, which is undone.
TEST(GmresOfASingularMatrix, StagnatesWhereBIsNotInItsRange) {
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 30;
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {  // Neumann's Laplacian: its null space are the constants
    rows[i][i] = i == 0 || i == n - 1 ? 1 : 2;
    if (i > 0) rows[i][i - 1] = rows[i - 1][i] = -1;
  }
  auto const A = sparse(rows);
  auto const b = random_vector<double>(n, 1);
  double sum = 0;
  for (double const entry : b) sum += entry;
  double const least = std::abs(sum) / std::sqrt(n) / norm(b);
  for (GmresForm const form :
       {GmresForm::cgs2, GmresForm::cgs, GmresForm::mgs, GmresForm::pipelined}) {
    auto const s = solve(exec, A, false, b, std::vector<double>(n), gmres(form, 30));
    SCOPED_TRACE(std::string(to_string(form)) + ", " + s.report.detail);
    EXPECT_EQ(to_string(s.report.reason), "stagnated");
    EXPECT_GE(s.report.true_relative_residual, (1 - 1e-6) * least);
    EXPECT_LE(s.report.true_relative_residual, 1);
  }
}

INSTANTIATE_TYPED_TEST_SUITE_P(Gmres, SolverEnds, WaysOf<GmresOptions>, TypeName);

}  // namespace
