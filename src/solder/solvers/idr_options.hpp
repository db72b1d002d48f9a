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
  int shadow_dimension = 4;  ///< s; at most the number of A's rows
  bool smoothing = false;    ///< of residuals, which then never grow
  std::uint64_t seed = 1;    ///< of the random shadow space

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(Option("shadow_dimension", &IdrOptions::shadow_dimension,
                             from_to(1, Impl::most_shadow_dimension),
                             "s, random vectors of the shadow space; a cycle has s + 1 products")
                          .formerly("shadow_space"),
                      Option("smoothing", &IdrOptions::smoothing,
                             "report the residual of smallest norm so far, which never grows"),
                      Option("seed", &IdrOptions::seed, "seed of the shadow space"));
  }
};

}  // namespace Solder
