// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "text.hpp"

namespace Solder::Driver {
namespace {

constexpr auto first_after = std::chrono::seconds(1);
constexpr auto then_every = std::chrono::milliseconds(200);
constexpr char const* erase_line = "\r\x1b[K";

/// "45 s", "12 min", "3.5 h".
std::string duration(double seconds) {
  if (seconds < 100) return format("%.0f s", seconds);
  return seconds < 6000 ? format("%.0f min", seconds / 60) : format("%.1f h", seconds / 3600);
}

}  // namespace

double seconds_left(Progress const& progress, Aim const& aim) {
  if (progress.iteration <= 0 || !(progress.seconds > 0)) return -1;
  double left = progress.seconds * (aim.max_iterations - progress.iteration) / progress.iteration;
  double const residual = progress.relative_residual;
  if (aim.tolerance > 0 && residual < 1 && residual > 0)
    left = std::min(left, progress.seconds * (std::log(aim.tolerance) / std::log(residual) - 1));
  return std::max(left, 0.0);
}

void erase_progress(std::ostream& stream) { stream << erase_line << std::flush; }

ProgressLine::ProgressLine(std::ostream& stream, Aim aim, Clock clock)
    : stream_(stream),
      aim_(std::move(aim)),
      clock_(std::move(clock)),
      next_(clock_() + first_after) {}

ProgressLine::~ProgressLine() {
  if (shown_) erase_progress(stream_);
}

void ProgressLine::show(Progress const& progress) {
  auto const now = clock_();
  if (now < next_) return;
  next_ = now + then_every;
  shown_ = true;
  std::string text =
      format("%d iterations, residual %.1e", progress.iteration, progress.relative_residual);
  if (aim_.tolerance > 0) text += format(" of %.1e", aim_.tolerance);
  if (double const left = seconds_left(progress, aim_); left >= 0)
    text += ", about " + duration(left) + " left";
  std::size_t const room = aim_.width - std::min(aim_.width, characters(text) + 3);
  stream_ << erase_line << shortened(aim_.label, std::max<std::size_t>(room, 1)) << ": "
          << shortened(text, aim_.width - 4) << std::flush;
}

bool progress_wanted() {
  char const* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace Solder::Driver
