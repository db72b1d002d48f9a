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

/// \brief The x whose mix_bits(x) this is.
constexpr std::uint64_t unmix_bits(std::uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3u;  // inverses modulo 2^64
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089u;
  return x ^ (x >> 30) ^ (x >> 60);
}
static_assert(unmix_bits(mix_bits(0x0123456789abcdefu)) == 0x0123456789abcdefu);

}  // namespace Solder::Impl
