// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace Solder::Driver {

/// \brief As long as it lives, SIGINT, SIGTERM and SIGHUP, those that were not ignored before, end
/// the program in order, whatever it is doing: last_words("SIGINT") is called in a thread of its
/// own, and the program exits with 128 + the number of the signal. A further signal ends it at
/// once, but for one that follows within a fifth of a second: many senders send theirs twice. There
/// is one watch at a time.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(std::string_view)> last_words);
  ~SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;  ///< signals, and what they did
  std::thread thread_;
};

}  // namespace Solder::Driver
