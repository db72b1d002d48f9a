// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driver/problem.hpp"
#include "driver/solve.hpp"

namespace Solder::Perf {

/// \brief Solder's time for a fixed number of iterations, and how to ask the same of others.
struct Measurement {
  Report report;  ///< of the timed solves: exactly `iterations`, the median of `repeats`
  std::string space;
  int iterations = 0, repeats = 0;
  int check_iterations = 0;   ///< few enough that every correct CG has the same residual
  double check_residual = 0;  ///< Solder's after these

  double seconds_per_iteration() const {
    return report.solve_seconds / std::max(1, report.iterations);
  }
};

/// \brief Times solves that never converge (tolerance 0).
///
/// As many iterations as solver.max_iterations says where the file gives it; else as take 100 ms:
/// the start and the recomputed residual at the end cost about three iterations. On hosts no
/// further than to a residual of 1e-100, with more repeats instead: the squares of what follows are
/// denormal numbers, on which many CPUs are slower. At least 9 repeats.
template <class T>
Measurement measure(Driver::RunConfig config, Driver::System<T> const& system) {
  constexpr int trial = 64, most_iterations = 1'000'000, least_repeats = 9, most_repeats = 200;
  bool const host = Driver::on_host(config.execution.space);
  bool const fixed = config.where("solver.max_iterations") != config.where("");
  double const enough = 0.1;
  config.solver.tolerance = 0;
  Driver::Solved<T> solved;
  auto const run = [&](int iterations, int repeats) {
    config.solver.max_iterations = iterations;
    config.execution.repeat = repeats;
    solved = Driver::solve<T>(config, system, {});
    return solved.report.solve_seconds / std::max(1, solved.report.iterations);
  };

  Measurement result;
  result.iterations = config.solver.max_iterations;
  result.repeats = std::max(config.execution.repeat, least_repeats);
  if (!fixed) {
    double const guess = run(trial, 3);
    result.iterations =
        static_cast<int>(std::clamp<double>(enough / guess, trial, most_iterations));
    if (host) {
      run(result.iterations, 1);
      auto const& history = solved.report.history;
      auto const tiny = [](double residual) { return residual < 1e-100; };
      auto const end = std::find_if(history.begin(), history.end(), tiny) - history.begin();
      if (end > 1 && end < result.iterations) {
        double const fewer = double(result.iterations) / double(end);
        result.iterations = static_cast<int>(end);
        result.repeats = static_cast<int>(std::min<double>(result.repeats * fewer, most_repeats));
      }
    }
  }
  run(result.iterations, result.repeats);
  auto const& history = solved.report.history;
  for (int i = 0; i < int(history.size()) && i <= 20; ++i)
    if (i == 0 || history[i] > 1e-4) {
      result.check_iterations = i;
      result.check_residual = history[i];
    }
  result.report = std::move(solved.report);
  result.space = std::move(solved.space);
  return result;
}

}  // namespace Solder::Perf
