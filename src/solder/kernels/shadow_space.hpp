// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <solder/core/mix_bits.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/sums.hpp>

namespace Solder {

/// \brief Random vectors p_0, p_1, ... that are never stored. Entry i of p_j is a function of i, j
/// and the seed, so products with them move no words.
///
/// Real and imaginary parts are separate numbers, uniform among 2^16 values between -1/2 and 1/2.
/// Four of them come from one scrambled word.
template <class Scalar>
struct ShadowSpace {
  static constexpr int most = 32;  ///< vectors

  std::uint64_t seed;

  bool operator==(ShadowSpace const&) const = default;

  /// \brief The expected ||p_j||^2 for vectors of `rows` rows.
  static constexpr double squared_norm(std::int64_t rows) {
    return double(parts<Scalar>) * double(rows) / 12;
  }
  /// \brief The seed of rows from `first_row` on: row i of that space is row first_row + i of this
  /// seed's.
  static constexpr std::uint64_t seed_from(std::uint64_t seed, std::int64_t first_row) {
    if (first_row == 0) return seed;
    return Impl::unmix_bits(Impl::mix_bits(seed) +
                            static_cast<std::uint64_t>(first_row) * (2 * most / numbers) * golden);
  }

  /// \brief Adds conj(p[i]) value, for the vectors p = p_(first + j), j < count, to sums[at + j],
  /// or if complex to the pair at sums[at + 2 j]. count is at most Width; first is a multiple of 4.
  template <int Width, std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void add_products(Sums<N>& sums, std::size_t at, std::int32_t first,
                                                std::int32_t count, std::int32_t i,
                                                Scalar const& value) const {
    constexpr int vectors = numbers / static_cast<int>(parts<Scalar>);
    static_assert(Width % vectors == 0);
    for (int j = 0; j < Width; j += vectors) {
      if (j >= count) break;
      auto const p = entries(i, (first + j) / vectors);
      for (int u = 0; u < vectors; ++u) {
        if constexpr (ScalarTraits<Scalar>::is_complex) {
          double const re = value.real(), im = value.imag();
          sums[at + 2 * (j + u)] += p[2 * u] * re + p[2 * u + 1] * im;
          sums[at + 2 * (j + u) + 1] += p[2 * u] * im - p[2 * u + 1] * re;
        } else {
          sums[at + j + u] += p[u] * double(value);
        }
      }
    }
  }

  /// \brief p_j[i], for inspection.
  KOKKOS_FUNCTION Wide<Scalar> entry(std::int32_t i, std::int32_t j) const {
    constexpr int vectors = numbers / static_cast<int>(parts<Scalar>);
    auto const p = entries(i, j / vectors);
    if constexpr (ScalarTraits<Scalar>::is_complex)
      return {p[2 * (j % vectors)], p[2 * (j % vectors) + 1]};
    else
      return p[j % vectors];
  }

 private:
  static constexpr int numbers = 4;  ///< per scrambled word
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

  KOKKOS_FORCEINLINE_FUNCTION Kokkos::Array<double, numbers> entries(std::int32_t i,
                                                                     std::int32_t group) const {
    auto const place =
        static_cast<std::uint64_t>(i) * (2 * most / numbers) + static_cast<std::uint64_t>(group);
    std::uint64_t const bits = Impl::mix_bits(Impl::mix_bits(seed) + place * golden);
    Kokkos::Array<double, numbers> p;
    for (int u = 0; u < numbers; ++u) {
      // 16 bits below the exponent of 1: a number in [1, 2).
      std::uint64_t const one = 0x3ff0000000000000u | (bits >> (16 * u) & 0xffffu) << 36;
      p[u] = Kokkos::bit_cast<double>(one) - (1.5 - 0x1p-17);
    }
    return p;
  }
};

}  // namespace Solder
