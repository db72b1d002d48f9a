// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <functional>
#include <ostream>
#include <solder/core/report.hpp>
#include <string>

namespace Solder::Driver {

/// \brief One line on a terminal that shows the progress of a solve. It appears after a second,
/// changes at most five times a second, and disappears at the end.
class ProgressLine {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// \brief `label` names the solve. Tests replace the clock.
  ProgressLine(std::ostream& stream, std::string label,
               Clock clock = std::chrono::steady_clock::now);
  ~ProgressLine();
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;

  void show(Progress const& progress);

 private:
  std::ostream& stream_;
  std::string label_;
  Clock clock_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

/// \brief Erases the progress line, if there is one.
void erase_progress(std::ostream& stream);

/// \brief Whether standard error is a terminal that can erase a line.
bool progress_wanted();

}  // namespace Solder::Driver
