// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief What a program has spent in solvers: name it in SolverOptions::log or SolverInputs::log,
/// and print it at the end.
///
///     std::cout << log;
///
/// It prints a line for each method, form and runner: solves, those that converged, iterations,
/// seconds of the last set-up and of all solves, and microseconds of an iteration. Below it is why
/// that runner was chosen, and the phases of the preconditioner's last set-up. Several solvers of
/// one thread may share a log.
class Log {
 public:
  /// \param solver for people: "Solder::Cg"
  void add(std::string_view solver, Report const& report) {
    auto const it = std::find_if(entries_.begin(), entries_.end(), [&](Entry const& entry) {
      return entry.solver == solver && entry.form == report.form && entry.runner == report.runner;
    });
    Entry& entry = it != entries_.end() ? *it : entries_.emplace_back();
    entry.solver = solver;
    entry.form = report.form;
    entry.runner = report.runner;
    entry.because = report.runner_because;
    entry.preconditioner = report.preconditioner.phases;
    ++entry.solves;
    entry.converged += report.reason == Reason::converged;
    entry.iterations += report.iterations;
    entry.setup_seconds = report.setup_seconds;
    entry.solve_seconds += report.solve_seconds;
  }
  /// \brief Whether nothing was added.
  bool empty() const { return entries_.empty(); }

  friend std::ostream& operator<<(std::ostream& out, Log const& log) {
    out << text("%-18s %-12s %-9s %8s %9s %11s %11s %11s %12s\n", "solver", "form", "runner",
                "solves", "converged", "iterations", "set-up, s", "solves, s", "us/iteration");
    for (Entry const& entry : log.entries_) {
      out << text("%-18s %-12s %-9s %8lld %9lld %11lld %11.3g %11.3g %12.3g\n",
                  entry.solver.c_str(), entry.form.c_str(),
                  std::string(to_string(entry.runner)).c_str(), entry.solves, entry.converged,
                  entry.iterations, entry.setup_seconds, entry.solve_seconds,
                  1e6 * entry.solve_seconds / double(std::max(entry.iterations, 1LL)));
      if (!entry.because.empty()) out << "  runner: " << entry.because << "\n";
      for (SetupReport::Phase const& phase : entry.preconditioner)
        out << text("  set-up of the preconditioner: %.3g s, ", phase.seconds) << phase.name
            << "\n";
    }
    return out;
  }

 private:
  struct Entry {
    std::string solver, form, because;
    Runner runner = Runner::automatic;
    std::vector<SetupReport::Phase> preconditioner;
    long long solves = 0, converged = 0, iterations = 0;
    double setup_seconds = 0, solve_seconds = 0;
  };

  template <class... Values>
  static std::string text(char const* format, Values const&... values) {
    char line[256];
    std::snprintf(line, sizeof line, format, values...);
    return line;
  }

  std::vector<Entry> entries_;
};

}  // namespace Solder
