// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

namespace Impl {
inline constexpr int most_shadow_dimension = 32;
}

/// \brief Options of Idr.
struct IdrOptions : SolverOptions {
  int shadow_dimension = 4;  ///< s; as many as A has rows at most
  bool smoothing = false;    ///< of residuals: they never grow then
  std::uint64_t seed = 1;    ///< of the random shadow space

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(
        Option("shadow_dimension", &IdrOptions::shadow_dimension,
               from_to(1, Impl::most_shadow_dimension),
               "random vectors that residuals are kept orthogonal to; a cycle has one product more")
            .formerly("shadow_space"),
        Option("smoothing", &IdrOptions::smoothing, "of residuals: they never grow then"),
        Option("seed", &IdrOptions::seed, "of the shadow space"));
  }
};

}  // namespace Solder
