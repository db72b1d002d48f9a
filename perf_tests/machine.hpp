// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <map>
#include <string>

#include "bandwidth.hpp"
#include "driver/spaces.hpp"

namespace Solder::Perf {

/// \brief The bandwidth of each space, measured when first asked for; and its threads.
class Machine {
 public:
  struct Space {
    Bandwidth bandwidth;
    int concurrency = 0;
  };

  Space const& at(std::string const& name) {
    auto const [place, is_new] = spaces_.try_emplace(name);
    if (is_new)
      Driver::with_space(name, [&](auto const& exec) {
        place->second = {measure_bandwidth(exec), exec.concurrency()};
      });
    return place->second;
  }

 private:
  std::map<std::string, Space> spaces_;
};

}  // namespace Solder::Perf
