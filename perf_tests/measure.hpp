// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "driver/methods.hpp"
#include "driver/problem.hpp"
#include "driver/scalars.hpp"
#include "driver/solve.hpp"
#include "peers/peer.hpp"

namespace Solder::Perf {

/// \brief Calls f with a system, which has to be of a scalar of this build; check_runs() refuses
/// the others.
template <class Function>
void visit_built(Function const& f, Driver::AnySystem const& any) {
  std::visit(
      [&]<class T>(std::shared_ptr<Driver::System<T> const> const& system) {
        if constexpr (Driver::is_built(Driver::yaml_name<T>))
          f(system);
        else
          throw std::logic_error("no scalar of this build");
      },
      any);
}

/// \brief Steps of a cycle of the run's solver, 1 where it has none: what is timed is whole cycles.
inline int cycle_of(Driver::RunConfig const& config) {
  Driver::SolverConfig const& solver = config.solver;
  if (solver.name == "gmres") return solver.gmres.restart;
  return solver.name == "idr" ? solver.idr.shadow_dimension + 1 : 1;
}

/// \brief Solver times for a fixed number of iterations, and how to ask the same of others.
struct Measurement {
  Report report;  ///< of a timed solve of exactly `iterations`; solve_seconds: the median
  std::string space;
  std::string matrix_format{}, format_reason{};
  int iterations = 0;
  int repeats = 0;                ///< solves to time, all in all
  int check_iterations = 0;       ///< few enough that every correct solver has the same residual
  double check_residual = 0;      ///< Solder's after these
  std::vector<double> samples{};  ///< seconds of each solve
  std::vector<double> medians{};  ///< seconds of a solve, of each call of time_solves

  double seconds_per_iteration() const {
    return report.solve_seconds / std::max(1, report.iterations);
  }
};

/// \brief Solves that never converge (tolerance 0).
template <class T>
class TimedSolves {
 public:
  TimedSolves(Driver::RunConfig config, Driver::System<T> const& system)
      : config_(std::move(config)), system_(system) {
    Driver::shared_options(config_.solver).tolerance = 0;
  }

  /// \brief Chooses how many iterations, and how many repeats, make a measurement.
  ///
  /// As many iterations as solver.max_iterations says where the file gives it; else as take 100 ms:
  /// the start and the recomputed residual at the end cost about three iterations. Of a solver with
  /// cycles, whole ones and at least two. On hosts no further than to a residual of 1e-100, with
  /// more repeats instead: the squares of what follows are denormal numbers, on which many CPUs are
  /// slower. At least 9 repeats.
  Measurement calibrate() {
    constexpr int trial = 64, most_iterations = 1'000'000, least_repeats = 9, most_repeats = 200;
    constexpr double enough = 0.1;
    Measurement result;
    result.iterations = whole_cycles(Driver::shared_options(config_.solver).max_iterations);
    result.repeats = std::max(config_.execution.repeat, least_repeats);
    if (config_.where("solver.max_iterations") != config_.where("")) return result;
    double const guess = run(whole_cycles(trial), 3).report.solve_seconds / whole_cycles(trial);
    result.iterations =
        whole_cycles(static_cast<int>(std::clamp<double>(enough / guess, trial, most_iterations)));
    if (Driver::on_host(config_.execution.space)) {
      auto const history = run(result.iterations, 1).report.history;
      auto const tiny = [](double residual) { return residual < 1e-100; };
      auto const end = std::find_if(history.begin(), history.end(), tiny) - history.begin();
      if (end > 1 && end < result.iterations) {
        double const fewer = double(result.iterations) / double(end);
        result.iterations = whole_cycles(static_cast<int>(end));
        result.repeats = static_cast<int>(std::min<double>(result.repeats * fewer, most_repeats));
      }
    }
    return result;
  }

  /// \brief Times `repeats` solves and adds what they gave to a measurement.
  void time_solves(Measurement& measurement, int repeats) {
    Driver::Solved<T> solved = run(measurement.iterations, repeats);
    auto const& history = solved.report.history;
    int const most =
        std::min<int>(most_checked, cycle_of(config_) > 1 ? cycle_of(config_) : most_checked);
    for (int i = 0; i < int(history.size()) && i <= most; ++i)
      if (i == 0 || history[i] > 1e-4) {
        measurement.check_iterations = i;
        measurement.check_residual = history[i];
      }
    measurement.samples.insert(measurement.samples.end(), solved.seconds.begin(),
                               solved.seconds.end());
    measurement.medians.push_back(solved.report.solve_seconds);
    measurement.report = std::move(solved.report);
    measurement.report.solve_seconds = median(measurement.medians);
    measurement.space = std::move(solved.space);
    measurement.matrix_format = std::move(solved.matrix_format);
    measurement.format_reason = std::move(solved.format_reason);
  }

 private:
  static constexpr int most_checked = 20;

  int whole_cycles(int iterations) const {
    int const cycle = cycle_of(config_);
    if (cycle == 1) return iterations;
    return std::max(2, (iterations + cycle - 1) / cycle) * cycle;
  }

  Driver::Solved<T> run(int iterations, int repeats) {
    Driver::shared_options(config_.solver).max_iterations = iterations;
    config_.execution.repeat = repeats;
    return Driver::solve<T>(config_, system_, {});
  }

  Driver::RunConfig config_;
  Driver::System<T> const& system_;
};

}  // namespace Solder::Perf
