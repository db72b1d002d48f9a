// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When a solve ends: the tolerances, the guess, and a monitor that stops it. For each method, by
// each runner, for one right-hand side and several.
#include "batches.hpp"
#include "bicgstab.hpp"
#include "cg.hpp"
#include "columns.hpp"
#include "gmres.hpp"
#include "idr.hpp"
#include "reals.hpp"

#include <cmath>
#include <vector>

#include <solder/solvers/block_cg.hpp>

namespace SolderTest {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Vector = std::vector<double>;

/// Of condition 1e8 or so: residuals oscillate.
HostCsr<double> scaled(HostCsr<double> A) {
  auto const exponents = random_vector<double>(A.rows, 7);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= std::pow(10, 2 * (exponents[i] + exponents[A.columns[k]]));
  return A;
}

template <class Options>
class Stopping : public ::testing::Test {
 protected:
  Exec exec;
  HostCsr<double> host = Solder::fem_poisson_2d<double>(20);
  HostCsr<double> hard = scaled(host);
  Vector b = random_vector<double>(host.rows, 1), x0 = random_vector<double>(host.rows, 2);
  double norm_b = norm(b);
  double of_guess = true_residual(host, b, x0).relative;  // ||b - A x_0|| / ||b||

  /// f(options) for each form and runner.
  template <class F>
  void in_each_form(F const& f) {
    for (auto const& [name, form] : Method<Options>::forms())
      for (Runner const runner : every_runner) {
        SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
        Options options = form;
        options.runner = runner;
        f(options);
      }
  }
  Solved<double> solved(Options const& options, Vector const& guess) {
    return solved(host, options, guess);
  }
  Solved<double> solved(HostCsr<double> const& A, Options const& options, Vector const& guess) {
    auto s = solve(exec, A, false, b, guess, options);
    auto const [relative, rounding] = true_residual(A, b, s.x);
    EXPECT_NEAR(s.report.true_relative_residual, relative, rounding + 1e-12 * relative);
    return s;
  }
};

using Methods = ::testing::Types<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions>;
TYPED_TEST_SUITE(Stopping, Methods);

/// The largest tolerance counts, whichever it is; the iterations are those of a solve that is given
/// it relative to ||b||.
TYPED_TEST(Stopping, TheLargestToleranceCounts) {
  this->in_each_form([&](TypeParam const& form) {
    TypeParam plain = form;
    plain.tolerance = 1e-4;
    auto const expected = this->solved(plain, this->x0);
    ASSERT_EQ(expected.report.reason, Reason::converged);
    EXPECT_NEAR(expected.report.guess_relative_residual, this->of_guess, 1e-12 * this->of_guess);
    EXPECT_EQ(expected.report.guess_relative_residual, expected.report.history[0]);

    TypeParam absolute = form, of_guess = form, all = form;
    absolute.tolerance = 0;
    absolute.absolute_tolerance = 1e-4 * this->norm_b;
    of_guess.tolerance = 1e-9;
    of_guess.guess_tolerance = 1e-4 / this->of_guess;
    all.tolerance = 1e-4;
    all.absolute_tolerance = 1e-7 * this->norm_b;
    all.guess_tolerance = 1e-6 / this->of_guess;
    for (TypeParam const& options : {absolute, of_guess, all}) {
      auto const s = this->solved(options, this->x0);
      EXPECT_EQ(s.report.reason, Reason::converged);
      EXPECT_EQ(s.report.iterations, expected.report.iterations);
      EXPECT_TRUE(same_bits(s.x, expected.x));
      EXPECT_LE(s.report.true_relative_residual, 1e-4 * (1 + 1e-12));
    }
    absolute.absolute_tolerance = 1.01 * this->of_guess * this->norm_b;
    EXPECT_EQ(this->solved(absolute, this->x0).report.iterations, 0);
    of_guess.guess_tolerance = 1 + 1e-12;
    EXPECT_EQ(this->solved(of_guess, this->x0).report.iterations, 0);
  });
}

TYPED_TEST(Stopping, WithoutAnyToleranceAllIterationsRun) {
  this->in_each_form([&](TypeParam options) {
    options.tolerance = 0;
    options.max_iterations = 33;
    auto const s = this->solved(options, this->x0);
    EXPECT_EQ(s.report.reason, Reason::max_iterations);
    EXPECT_EQ(s.report.iterations, 33);
  });
}

TYPED_TEST(Stopping, TolerancesThatAreNegativeOrNoNumbersAreRefused) {
  CsrMatrix<double, Exec> const A(this->exec, this->host);
  for (double const wrong : {-1e-8, nan}) {
    TypeParam absolute, of_guess;
    absolute.absolute_tolerance = of_guess.guess_tolerance = wrong;
    for (TypeParam const& options : {absolute, of_guess})
      EXPECT_THROW((SolverOf<TypeParam, Exec, double>(this->exec, A, Identity{}, options)),
                   std::invalid_argument);
  }
}

TYPED_TEST(Stopping, AZeroGuessIsZeroWhateverXHolds) {
  this->in_each_form([&](TypeParam options) {
    auto const expected = this->solved(options, Vector(this->x0.size()));
    options.zero_guess = true;
    auto const s = this->solved(options, Vector(this->x0.size(), nan));
    EXPECT_EQ(s.report.reason, Reason::converged);
    EXPECT_EQ(s.report.guess_relative_residual, 1);
    EXPECT_TRUE(same_bits(s.x, expected.x));
    EXPECT_TRUE(same_bits(s.report.history, expected.report.history));
  });
}

/// Hosts hear of each iteration, but a graph's of a cycle; GPUs of batches. The iteration under way
/// is finished, on GPUs the batches under way.
TYPED_TEST(Stopping, AMonitorStopsTheSolve) {
  this->in_each_form([&](TypeParam options) {
    options.tolerance = 0;
    int calls = 0, at = -1;
    options.monitor = [&](Solder::Progress const& progress) {
      ++calls;
      EXPECT_EQ(at, -1) << "the monitor was called after it had stopped the solve";
      if (progress.iteration < 7) return;
      at = progress.iteration;
      progress.stop();
    };
    auto const s = this->solved(options, this->x0);
    EXPECT_EQ(s.report.reason, Reason::stopped);
    EXPECT_NE(s.report.detail.find("the monitor stopped the solve"), std::string::npos);
    EXPECT_GE(s.report.iterations, at);
    if (Solder::Impl::is_host_space<Exec>) {
      EXPECT_LE(s.report.iterations, at + 1);
    }
    EXPECT_EQ(s.report.history.size(), std::size_t(s.report.iterations) + 1);
  });
}

/// A solve then has the bits that it has without a monitor.
TYPED_TEST(Stopping, AMonitorMayPause) {
  this->in_each_form([&](auto options) {
    options.tolerance = 1e-8;
    auto const alone = this->solved(options, this->x0);
    int calls = 0;
    options.monitor = [&](Solder::Progress const& progress) {
      ++calls;
      progress.pause_for(3600);
    };
    auto const paused = this->solved(options, this->x0);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(paused.x, alone.x);
    EXPECT_EQ(paused.report.history, alone.report.history);
    // The pause over, it is called again.
    calls = 0;
    options.tolerance = 0;
    options.monitor = [&](Solder::Progress const& progress) {
      progress.pause_for(1e-9);
      if (++calls == 2) progress.stop();
    };
    EXPECT_EQ(this->solved(options, this->x0).report.reason, Reason::stopped);
    EXPECT_EQ(calls, 2);
  });
}

/// A pause that is no number is none, and one up to an iteration ends there.
TYPED_TEST(Stopping, AMonitorMayPauseUntilAnIteration) {
  this->in_each_form([&](auto options) {
    options.tolerance = 1e-8;
    auto const alone = this->solved(options, this->x0);
    std::vector<int> heard, all;
    options.monitor = [&](Solder::Progress const& progress) { all.push_back(progress.iteration); };
    this->solved(options, this->x0);
    options.monitor = [&](Solder::Progress const& progress) {
      heard.push_back(progress.iteration);
      progress.pause_for(std::nan(""));
    };
    EXPECT_EQ(this->solved(options, this->x0).x, alone.x);
    EXPECT_EQ(heard, all);
    heard.clear();
    options.monitor = [&](Solder::Progress const& progress) {
      heard.push_back(progress.iteration);
      progress.pause_until(9);
    };
    auto const paused = this->solved(options, this->x0);
    EXPECT_EQ(paused.x, alone.x);
    EXPECT_EQ(paused.report.history, alone.report.history);
    ASSERT_GT(alone.report.iterations, 9);
    if (Solder::Impl::is_host_space<Exec>) {
      ASSERT_GE(heard.size(), 2u);
      EXPECT_LE(heard[1], 16);  // the end of a cycle of GMRES
    }
    for (std::size_t k = 1; k < heard.size(); ++k) EXPECT_GE(heard[k], 9);
  });
}

/// The same solver solves as ever afterwards.
TYPED_TEST(Stopping, AStoppedSolverSolvesAgain) {
  for (int const columns : {1, 5, 40}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    CsrMatrix<double, Exec> const A(this->exec, this->host);
    bool stops = true;
    TypeParam options;
    options.tolerance = 1e-12;
    options.monitor = [&](Solder::Progress const& progress) {
      if (stops) progress.stop();
    };
    SolverOf<TypeParam, Exec, double> solver(this->exec, A, Identity{}, options);
    auto const b = random_columns<double>(this->host.rows, columns, 3);
    for (bool const stopped : {true, false}) {
      stops = stopped;
      auto const x =
          columns_to_device(Vectors<double>(columns, Vector(std::size_t(this->host.rows))));
      auto const reports = solver.solve(columns_to_device(b), x);
      auto const of = columns_to_host(x);
      ASSERT_EQ(reports.size(), std::size_t(columns));
      for (int c = 0; c < columns; ++c) {
        Report const& report = reports[std::size_t(c)];
        // A GPU may have converged before the host hears of the first iteration.
        if (stopped && Solder::Impl::is_host_space<Exec>) {
          EXPECT_EQ(report.reason, Reason::stopped);
          EXPECT_LE(report.iterations, 1);
        } else if (report.reason != Reason::stopped || !stopped) {
          EXPECT_EQ(report.reason, Reason::converged);
        }
        auto const [relative, rounding] = true_residual(this->host, b[c], of[c]);
        EXPECT_NEAR(report.true_relative_residual, relative, rounding + 1e-12 * relative);
      }
    }
  }
}

/// A solve that ends further away than it began, since it has few iterations.
TYPED_TEST(Stopping, TheGuessComesBackWhereXIsWorse) {
  // The residual of all methods but GMRES grows at first.
  Vector const guess(this->x0.size(), 1e-6);
  int kept = 0;
  this->in_each_form([&](TypeParam options) {
    options.tolerance = 1e-13;
    for (int const limit : {1, 2, 3, 5, 8}) {
      options.max_iterations = limit;
      options.keep_guess = false;
      auto const worse = this->solved(this->hard, options, guess);
      EXPECT_FALSE(worse.report.kept_guess);
      options.keep_guess = true;
      auto const s = this->solved(this->hard, options, guess);
      EXPECT_EQ(s.report.reason, worse.report.reason);
      EXPECT_EQ(s.report.iterations, worse.report.iterations);
      EXPECT_TRUE(same_bits(s.report.history, worse.report.history));
      bool const is_worse =
          !(worse.report.true_relative_residual <= worse.report.guess_relative_residual);
      EXPECT_EQ(s.report.kept_guess, is_worse);
      EXPECT_TRUE(same_bits(s.x, is_worse ? guess : worse.x));
      EXPECT_LE(s.report.true_relative_residual, s.report.guess_relative_residual);
      if (is_worse) {
        ++kept;
        EXPECT_NE(s.report.detail.find("x is the guess"), std::string::npos) << s.report.detail;
      }
    }
  });
  bool const may_grow = !std::is_same_v<TypeParam, GmresOptions>;
  EXPECT_EQ(kept > 0, may_grow);
}

/// Of columns each has its own guess back.
TYPED_TEST(Stopping, EachColumnHasItsOwnGuessBack) {
  CsrMatrix<double, Exec> const A(this->exec, this->hard);
  for (int const columns : {2, 7, 33}) {
    auto const b = random_columns<double>(this->host.rows, columns, 3);
    auto x0 = random_columns<double>(this->host.rows, columns, 60);
    for (int c = 0; c < columns; c += 2) x0[c].assign(x0[c].size(), 0.0);
    std::vector<Vectors<double>> of;
    std::vector<std::vector<Report>> reports;
    for (bool const keeps : {false, true}) {
      TypeParam options;
      options.tolerance = 1e-13;
      options.max_iterations = 3;
      options.keep_guess = keeps;
      SolverOf<TypeParam, Exec, double> solver(this->exec, A, Identity{}, options);
      auto const x = columns_to_device(x0);
      reports.push_back(solver.solve(columns_to_device(b), x));
      of.push_back(columns_to_host(x));
    }
    for (int c = 0; c < columns; ++c) {
      Report const &plain = reports[0][c], &report = reports[1][c];
      bool const is_worse = !(plain.true_relative_residual <= plain.guess_relative_residual);
      EXPECT_EQ(report.kept_guess, is_worse) << c;
      EXPECT_TRUE(same_bits(of[1][c], is_worse ? x0[c] : of[0][c])) << c;
    }
  }
}

TEST(StoppingOfBatches, EachSystemHasItsOwnGuessBack) {
  Exec const exec;
  HostBatch<double> host;
  for (int k = 0; k < 9; ++k) host.append(scaled(Solder::fem_poisson_2d<double>(4 + k)));
  CsrMatrix<double, Exec> const A(exec, host.matrix);
  Batch<Exec> const batch(exec, host.starts);
  auto const b = random_vector<double>(A.rows(), 5);
  auto x0 = random_vector<double>(A.rows(), 6);
  for (std::size_t k = 0; k < 9; k += 3)
    std::fill(x0.begin() + host.starts[k], x0.begin() + host.starts[k + 1], 0.0);
  Vector of[2];
  std::vector<Report> reports[2];
  int kept = 0;
  for (int const keeps : {0, 1}) {
    CgOptions options;
    options.tolerance = 1e-13;
    options.max_iterations = 2;
    options.keep_guess = keeps == 1;
    SolverOf<CgOptions, Exec, double> solver(exec, A, Identity{}, options);
    auto const x = to_device(exec, x0);
    reports[keeps] = solver.solve(to_device(exec, b), x, batch);
    of[keeps] = to_host(exec, x);
  }
  for (std::size_t k = 0; k < 9; ++k) {
    Report const &plain = reports[0][k], &report = reports[1][k];
    bool const is_worse = !(plain.true_relative_residual <= plain.guess_relative_residual);
    EXPECT_EQ(report.kept_guess, is_worse) << k;
    kept += is_worse;
    Vector const& expected = is_worse ? x0 : of[0];
    for (auto i = host.starts[k]; i < host.starts[k + 1]; ++i) EXPECT_EQ(of[1][i], expected[i]);
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 9);
}

TEST(StoppingOfBlocks, HaveTheSame) {
  Exec const exec;
  auto const host = scaled(Solder::fem_poisson_2d<double>(6));
  CsrMatrix<double, Exec> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 4, 3),
             x0 = Vectors<double>(4, Vector(host.rows, 1e-6));
  auto const solved = [&](Solder::BlockCgOptions const& options, Vectors<double>& x) {
    Solder::BlockCg solver(exec, A, Identity{}, options);
    auto const device = columns_to_device(x0);
    auto const reports = solver.solve(columns_to_device(b), device);
    x = columns_to_host(device);
    for (std::size_t c = 0; c < 4; ++c) {
      auto const [relative, rounding] = true_residual(host, b[c], x[c]);
      EXPECT_NEAR(reports[c].true_relative_residual, relative, rounding + 1e-12 * relative);
      EXPECT_LE(relative, reports[c].guess_relative_residual + rounding);
    }
    return reports;
  };
  Vectors<double> x;
  Solder::BlockCgOptions options;
  options.tolerance = 0;
  options.absolute_tolerance = 1e-5;
  for (Report const& report : solved(options, x)) EXPECT_EQ(report.reason, Reason::converged);
  for (std::size_t c = 0; c < 4; ++c)
    EXPECT_LE(true_residual(host, b[c], x[c]).relative * norm(b[c]), 1e-5 * (1 + 1e-10));
  options.tolerance = 1e-13;
  options.absolute_tolerance = 0;
  int kept = 0;
  for (int const limit : {1, 2, 3, 5}) {
    options.max_iterations = limit;
    auto const reports = solved(options, x);
    for (std::size_t c = 0; c < 4; ++c) {
      kept += reports[c].kept_guess;
      if (reports[c].kept_guess) {
        EXPECT_TRUE(same_bits(x[c], x0[c]));
      }
    }
  }
  EXPECT_GT(kept, 0);
  options.max_iterations = 1000;
  options.monitor = [](Solder::Progress const& progress) {
    if (progress.iteration > 4) progress.stop();
  };
  for (Report const& report : solved(options, x)) EXPECT_EQ(report.reason, Reason::stopped);
}

}  // namespace
}  // namespace SolderTest
