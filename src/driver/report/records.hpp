// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plot.hpp"

namespace Solder::Charts {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// \brief What the pictures and tables need of a run, or of another way to do what was measured.
/// Numbers that are not there are NaN, texts empty.
struct Run {
  // What was solved
  std::string problem;  ///< with its parameters
  std::string family;   ///< the same without the size
  std::string scalar;
  double rows = unknown, nonzeros = unknown, columns = unknown;  ///< columns: right-hand sides
  // How
  std::string file;  ///< of results
  std::string who;   ///< "solder", or another library
  std::string solver, preconditioner, space, runner, format;
  // What came of it
  std::string reason, detail, runner_reason, format_reason;
  std::string ranks;  ///< what several had and said to each other
  double iterations = unknown, residual = unknown, true_residual = unknown, tolerance = unknown;
  double setup = unknown, solve = unknown, per_iteration = unknown;  ///< seconds
  double bytes = unknown;      ///< that an iteration, or what was measured, moves
  double bandwidth = unknown;  ///< of a copy, bytes a second
  double busy_cores = unknown;
  std::vector<double> samples;  ///< seconds, every single one of what `measured()` is the median of
  std::vector<double> history;  ///< relative residuals; NaN where they are not finite
  std::vector<Point> checks;    ///< (iteration, true relative residual)
  std::vector<std::pair<std::string, double>> parts;  ///< seconds of set-up phases or kernels
  using Words = std::vector<std::pair<std::string, std::string>>;  ///< names and what they say
  std::vector<Words> attempts;                                     ///< of auto, in their order
  std::vector<std::pair<std::string, std::string>> keys;  ///< "section.key" and its value, all

  bool has_ended_well() const { return reason.empty() || reason == "converged"; }
  bool is_fixed() const { return tolerance == 0; }  ///< a benchmark of so many iterations
  /// \brief What runs that may be compared share: problem, rows and right-hand sides.
  std::string what() const;
  /// \brief The time that counts: of a benchmark an iteration's, else set-up and solve.
  double measured() const;
};

/// \brief A file of results.
struct Record {
  std::string name;                                        ///< of the JSON file
  std::vector<std::pair<std::string, std::string>> facts;  ///< machine, versions, date
  std::string device, command, yaml_name, yaml, stopped;
  std::vector<Run> runs;
  std::vector<std::string> absent;         ///< why others gave nothing
  double load = unknown, cores = unknown;  ///< when the runs began; of all processes
};

/// \brief Reads what solder-driver or solder_perf has written. What is missing, or of another type,
/// is unknown. InputError where the text is not JSON or has no list `runs`.
Record read_record(std::string const& name, std::string_view json);

/// \brief The lower quartile, the median and the upper one, between neighbours as fits. Of none,
/// NaN.
struct Quartiles {
  double lower, median, upper;
};
Quartiles quartiles(std::vector<double> values);

}  // namespace Solder::Charts
