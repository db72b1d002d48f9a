// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace Solder::Impl {

/// \brief Scrambles 64 bits: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
KOKKOS_FORCEINLINE_FUNCTION constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace Solder::Impl
