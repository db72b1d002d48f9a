// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace Solder::Driver {

/// \brief While this object lives, SIGINT, SIGTERM and SIGHUP end the program in an orderly way,
/// whatever it is doing; signals that were ignored before stay ignored. last_words("SIGINT") is
/// called in a separate thread, and the program exits with 128 + the number of the signal. A second
/// signal ends it at once, unless it follows within a fifth of a second, because many senders send
/// a signal twice. There may only be one watch at a time.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(std::string_view)> last_words);
  ~SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;  ///< signals and their previous actions
  std::thread thread_;
};

}  // namespace Solder::Driver
