// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <functional>
#include <ostream>
#include <solder/core/report.hpp>
#include <string>

namespace Solder::Driver {

/// \brief What a progress line knows of the solve beforehand.
struct Aim {
  std::string label;       ///< which run it is: "run 3 of 12: bus, cg, jacobi"
  double tolerance = 0;    ///< of the relative residual; 0: it runs to max_iterations
  int max_iterations = 0;  ///< that it may take
  std::size_t width = 80;  ///< characters of the terminal's line
};

/// \brief How many seconds a solve still takes where its residual goes on falling as it did, and
/// at most to its last iteration; negative where nothing is known yet.
double seconds_left(Progress const& progress, Aim const& aim);

/// \brief One line on a terminal that shows the progress of a solve: the run, its iterations, the
/// residual beside the tolerance, and the time left. It appears after a second, changes at most
/// five times a second, and disappears at the end.
class ProgressLine {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// \brief Tests replace the clock.
  ProgressLine(std::ostream& stream, Aim aim, Clock clock = std::chrono::steady_clock::now);
  ~ProgressLine();
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;

  void show(Progress const& progress);

 private:
  std::ostream& stream_;
  Aim aim_;
  Clock clock_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

/// \brief Erases the progress line, if there is one.
void erase_progress(std::ostream& stream);

/// \brief Whether standard error is a terminal that can erase a line.
bool progress_wanted();

}  // namespace Solder::Driver
