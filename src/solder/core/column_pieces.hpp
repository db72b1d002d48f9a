// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief Memory in which the columns of a solve lie beside one another: `count` rows, each with an
/// item of `bytes` (whole 32-bit words) for every column.
struct ColumnPiece {
  void* data;
  std::int64_t count;
  std::int32_t bytes;
};

/// \brief The columns of a wider solve that a narrower one has.
struct ChosenColumns {
  std::int32_t wide = 0;            ///< columns that there are
  std::int32_t narrow = 0;          ///< that the narrower solve has
  std::int32_t of[most_columns]{};  ///< the number of each of these in the wider one

  void add(std::int32_t column) { of[narrow++] = column; }
};

/// \brief Copies a piece for `columns` of the chosen columns, by words: from a wider solve, or
/// back.
template <bool Back>
struct CopyColumnPiece {
  std::uint32_t const* from;
  std::uint32_t* to;
  ChosenColumns chosen;
  std::int32_t words, columns;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    std::int64_t const item = k / words, row = item / columns;
    auto const word = k - item * words;
    auto const c = item - row * columns;
    std::int64_t const in_wide = (row * chosen.wide + chosen.of[c]) * words + word,
                       in_narrow = (row * chosen.narrow + c) * words + word;
    to[Back ? in_wide : in_narrow] = from[Back ? in_narrow : in_wide];
  }
};

/// \brief Copies the first `columns` chosen columns of a piece to a narrower solve, or back.
template <bool Back = false, class Exec>
void copy_columns(Exec const& exec, ColumnPiece const& from, void* to, ChosenColumns const& chosen,
                  std::int32_t columns) {
  auto const words = static_cast<std::int32_t>(from.bytes / sizeof(std::uint32_t));
  Kokkos::parallel_for(
      "Solder::columns::narrow",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                 from.count * columns * words),
      CopyColumnPiece<Back>{static_cast<std::uint32_t const*>(from.data),
                            static_cast<std::uint32_t*>(to), chosen, words, columns});
}

}  // namespace Solder::Impl
