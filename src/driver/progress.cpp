// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace Solder::Driver {
namespace {

constexpr auto first_after = std::chrono::seconds(1);
constexpr auto then_every = std::chrono::milliseconds(200);
constexpr char const* erase_line = "\r\x1b[K";

}  // namespace

void erase_progress(std::ostream& stream) { stream << erase_line << std::flush; }

ProgressLine::ProgressLine(std::ostream& stream, std::string label, Clock clock)
    : stream_(stream),
      label_(std::move(label)),
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
  char text[96];
  std::snprintf(text, sizeof(text), "  %d iterations  residual %.2e  %.0f/s", progress.iteration,
                progress.relative_residual,
                progress.seconds > 0 ? progress.iteration / progress.seconds : 0.0);
  stream_ << erase_line << label_.substr(0, 30) << text << std::flush;
}

bool progress_wanted() {
  char const* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace Solder::Driver
