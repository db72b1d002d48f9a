// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What callers of an engine see of a solve: its cycles, how it is led and listened to, its report.

#include <cstdint>
#include <vector>

#include <solder/core/control.hpp>
#include <solder/core/report.hpp>

namespace Solder::Impl {

/// \brief The report of a solve that has ended, without the runner and its kernels.
inline Report report_of(Control const& control, std::vector<double> const& history,
                        double setup_seconds, double solve_seconds) {
  Report report;
  report.reason = control.reason;
  report.detail = describe(control);
  report.iterations = control.iteration;
  report.relative_residual = control.relative(control.residual_squared);
  report.true_relative_residual = control.relative(control.true_squared);
  report.guess_relative_residual = control.relative(control.guess_squared);
  report.kept_guess = ended_worse(control);  // where one is kept
  report.history = history;
  report.setup_seconds = setup_seconds;
  report.solve_seconds = solve_seconds;
  return report;
}

/// \brief Why the teams of a whole solve did not meet.
inline constexpr char const* too_busy =
    "the runner resident found the device too busy to hold all its teams at once";

/// \brief The cycles of a method.
struct Cycle {
  std::int32_t steps = 0;  ///< of each; 0: the method has no cycles
  bool is_checked = true;  ///< each ends with a residual check
};

/// \brief A solve that its caller leads from status to status, so that one thread of the host can
/// lead several.
class Underway {
 public:
  virtual ~Underway() = default;
  virtual bool has_ended() const = 0;
  /// \brief Reads the statuses that have come, and launches what is next, without waiting. \return
  /// whether there was a status
  virtual bool advance() = 0;
  /// \brief Waits for a status of a solve that has been advanced and has not ended, and reads it.
  virtual void wait() = 0;
  /// \brief Of a solve that has ended.
  virtual Report report() const = 0;
};

/// \brief What a listener answers; see Progress.
struct Heard {
  bool stops;
  double pause;
  int resume;
};

}  // namespace Solder::Impl
