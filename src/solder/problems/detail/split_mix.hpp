// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/mix_bits.hpp>

namespace Solder::Impl {

/// \brief SplitMix64 with its own distributions, so that a seed gives the same numbers on every
/// platform.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(mix_bits(seed)) {}
  std::uint64_t bits() { return mix_bits(state_ += step); }
  /// \brief As if bits() had been called so many times.
  void skip(std::uint64_t count) { state_ += count * step; }
  /// \brief An integer from 0 to limit - 1, for 1 <= limit <= 2^32 (bias below 2^-32).
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>((bits() >> 32) * static_cast<std::uint64_t>(limit) >> 32);
  }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
};

/// \brief 53 random bits as a number in [-1, 1).
inline double symmetric_unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

}  // namespace Solder::Impl
