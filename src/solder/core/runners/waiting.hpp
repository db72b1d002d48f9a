// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How threads wait for each other, and how long a host's thread has waited for a core.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#if defined(__linux__)
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#endif

#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief How a thread waits. On a GPU one thread of each team polls; a poll takes most of a
/// microsecond.
template <bool OnHost>
struct Waiting {
  KOKKOS_FUNCTION void turn() { ++turns; }
  /// \brief Some milliseconds: all teams start together, or not before another kernel has ended.
  KOKKOS_FUNCTION bool is_too_long() const { return turns > 5000; }

  std::int32_t turns = 0;
};

/// \brief A word that threads of a host wait for, and whose change wakes them.
struct SleepersWord {
  std::int32_t value, sleepers;

  /// \brief Sleeps while the word is this, or for some milliseconds.
  void sleep_while([[maybe_unused]] std::int32_t seen) {
    std::atomic_ref<std::int32_t>(sleepers).fetch_add(1);
#if defined(__linux__)
    timespec const most{0, 5'000'000};
    syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, &most, nullptr, 0);
#else
    std::this_thread::sleep_for(std::chrono::microseconds(50));
#endif
    std::atomic_ref<std::int32_t>(sleepers).fetch_sub(1);
  }
  /// \brief Changes the word and wakes who sleeps.
  void set(std::int32_t to) {
    std::atomic_ref<std::int32_t>(value).store(to);  // in one order with the number of sleepers
#if defined(__linux__)
    if (std::atomic_ref<std::int32_t>(sleepers).load() > 0)
      syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr,
              nullptr, 0);
#endif
  }
};

/// \brief On a host a thread polls for some microseconds and then sleeps, because the thread that
/// it waits for may need the core. One that has slept soon gets a core again, even from busy
/// processes; one that has spun, or has yielded, waits for all their time slices.
///
/// After polling in vain the thread polls for half as long the next time, down to half a
/// microsecond; otherwise for twice as long. After eight times in vain it is as patient as at
/// first, to see whether that pays again.
template <>
struct Waiting<true> {
  void turn() {
    if (asks_again()) return spin_pause();
    std::this_thread::sleep_for(std::max(Microseconds(Clock::now() - since) / 2, least_nap));
  }
  /// \brief The same for a thread that waits for a word to change.
  /// \param seen what it was
  void turn(SleepersWord& word, std::int32_t seen) {
    if (asks_again()) return spin_pause();
    word.sleep_while(seen);
  }
  /// \brief A fifth of a second: threads may lose their cores for a while.
  bool is_too_long() const {
    return sleeps && Clock::now() - since > std::chrono::milliseconds(200);
  }

  std::int32_t turns = 0;

 private:
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  static constexpr int clock_turns = 16, most_in_vain = 8;
  /// About what it takes to sleep and to be woken. (A system makes of naps what its timers can.)
  static constexpr Microseconds patience{50}, least_nap{10};
  inline static thread_local int in_vain = 0;  ///< waits of this thread, less those that were not

  bool asks_again() {
    if (++turns == 1) {
      before = in_vain;
      in_vain = is_as_at_first() ? 0 : before - 1;
    }
    if (sleeps || turns % clock_turns != 0) return !sleeps;
    auto const now = Clock::now();
    if (turns == clock_turns) since = now;
    sleeps = now - since > patience / (1 << before % most_in_vain);
    if (sleeps) in_vain = before + 1;
    return !sleeps;
  }
  bool is_as_at_first() const { return before % most_in_vain == 0; }

  int before = 0;  ///< waits in vain
  bool sleeps = false;
  Clock::time_point since{};
};

/// \brief Seconds for which this thread, ready to go on, has waited for a core that others had; 0
/// where the system does not tell. Linux does, in a microsecond.
inline double seconds_without_core() {
#if defined(__linux__)
  struct File {
    int const number = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ~File() {
      if (number >= 0) close(number);
    }
  };
  static thread_local File const file;
  char text[64] = {};
  unsigned long long waited = 0;  // nanoseconds; behind those that it has run
  if (file.number >= 0 && pread(file.number, text, sizeof(text) - 1, 0) > 0 &&
      std::sscanf(text, "%*u %llu", &waited) == 1)
    return 1e-9 * static_cast<double>(waited);
#endif
  return 0;
}

/// \brief Measures a solve, from here on, and on hosts whether the cores were busy.
template <class Exec>
class SolveTimer {
 public:
  void reset() {
    timer_.reset();
    without_core_ = is_host_space<Exec> ? seconds_without_core() : 0;
  }
  double seconds() const { return timer_.seconds(); }
  /// \brief Report::busy_cores of a solve that has taken so long; on the thread that began it.
  double busy_cores(double seconds) const {
    if (!is_host_space<Exec> || seconds <= 0) return 0;
    return std::clamp((seconds_without_core() - without_core_) / seconds, 0.0, 1.0);
  }

 private:
  Kokkos::Timer timer_;
  double without_core_ = is_host_space<Exec> ? seconds_without_core() : 0;
};

}  // namespace Solder::Impl
