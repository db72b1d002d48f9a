// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

namespace Solder::Impl {

/// \brief Thrown out of a set-up that takes longer than its Deadline allows.
class OutOfTime : public std::runtime_error {
 public:
  /// \param seconds that it had
  explicit OutOfTime(double seconds) : std::runtime_error(text_of(seconds)) {}

 private:
  static std::string text_of(double seconds) {
    if (seconds <= 0) return "time_limit left no time for it";
    char text[96];
    std::snprintf(text, sizeof text, "it took longer than the %.2g s that time_limit left",
                  seconds);
    return text;
  }
};

/// \brief The seconds that set-ups of this thread may take as long as this object lives. A set-up
/// that can take long calls check(): between its phases, and on the host every few rows.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// \param seconds from now; infinite: there is none
  explicit Deadline(double seconds) : before_(now_) {
    if (!(seconds < 1e9)) return;
    std::chrono::duration<double> const rest(std::max(seconds, 0.0));
    now_ = {Clock::now() + std::chrono::duration_cast<Clock::duration>(rest), rest.count()};
  }
  ~Deadline() { now_ = before_; }
  Deadline(Deadline const&) = delete;
  Deadline& operator=(Deadline const&) = delete;

  /// \brief Whether set-ups of this thread have one.
  static bool is_set() { return now_.ends != Clock::time_point::max(); }
  /// \throws OutOfTime
  static void check() {
    if (is_set() && Clock::now() >= now_.ends) throw OutOfTime(now_.seconds);
  }
  /// \brief The same in a loop, at every 64th row.
  static void check(std::int64_t row) {
    if (row % 64 == 0) check();
  }

 private:
  struct End {
    Clock::time_point ends;
    double seconds;
  };
  static inline thread_local End now_{Clock::time_point::max(),
                                      std::numeric_limits<double>::infinity()};
  End before_;
};

}  // namespace Solder::Impl
