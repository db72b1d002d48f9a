// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

struct BlockCgOptions : SolverOptions {
  static constexpr auto described() { return std::tuple(); }
};

}  // namespace Solder
