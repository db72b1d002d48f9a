// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "signals.hpp"

#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace Solder::Driver {
namespace {

struct Named {
  int signal;
  std::string_view name;
};
constexpr Named watched[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
constexpr std::int64_t at_once = 200'000'000;  // nanoseconds

// What a signal handler may access.
std::atomic<int> caught = 0;
std::atomic<std::int64_t> caught_at = 0;
sem_t news;
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void on_signal(int signal) {
  int const before = errno;
  int none = 0;
  if (caught.compare_exchange_strong(none, signal)) {
    caught_at = now();
    sem_post(&news);
  } else if (caught_at != 0 && now() - caught_at > at_once) {
    _exit(128 + signal);
  }
  errno = before;
}

/// Waits for a signal, or for the end of the watch.
void wait_for_news(std::function<void(std::string_view)> const& last_words) {
  while (sem_wait(&news) != 0) {  // a handler interrupted it
  }
  int const signal = caught;
  for (Named const& each : watched)
    if (each.signal == signal) try {
        last_words(each.name);
      } catch (...) {  // cannot be reported
      }
  if (signal != 0) _exit(128 + signal);
}

}  // namespace

SignalWatch::SignalWatch(std::function<void(std::string_view)> last_words) {
  caught = 0;
  caught_at = 0;
  sem_init(&news, 0, 0);
  try {
    thread_ = std::thread([words = std::move(last_words)] { wait_for_news(words); });
  } catch (std::system_error const&) {  // no thread is available: signals keep their actions
    return;
  }
  struct sigaction action = {}, old = {};
  for (Named const& each : watched) {
    sigaction(each.signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;  // as set by nohup and shells
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(each.signal, &action, nullptr);
    before_.emplace_back(each.signal, old);
  }
}

SignalWatch::~SignalWatch() {
  if (!thread_.joinable()) return;
  for (auto const& [signal, old] : before_) sigaction(signal, &old, nullptr);
  sem_post(&news);
  thread_.join();
}

}  // namespace Solder::Driver
