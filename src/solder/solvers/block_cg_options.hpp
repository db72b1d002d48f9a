// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief Options of BlockCg.
struct BlockCgOptions : SolverOptions {
  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() { return std::tuple(); }
};

}  // namespace Solder
