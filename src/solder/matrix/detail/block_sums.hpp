// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

inline constexpr std::int32_t most_block_size = 6;

/// \brief Rows of square blocks on a host. A block is stored by columns.
template <class Scalar>
struct BlockSums {
  std::int64_t const* offsets;  ///< of the first block of each row
  std::int32_t const* columns;  ///< of blocks
  Scalar const* values;

  /// \brief sums[i] = row first * size + i of A x, for the rows of blocks from first to last - 1.
  /// \tparam Size of a block; 0: known at run time, as `size`
  template <int Size, class Operand, class X>
  void sum(std::int32_t size, std::int32_t first, std::int32_t last, Operand const& x,
           X* sums) const {
    std::int32_t const n = Size == 0 ? size : Size;
    for (std::int32_t i = first; i < last; ++i) {
      X row[Size == 0 ? most_block_size : Size] = {};
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
        std::int32_t const column = columns[k] * n;
        Scalar const* const block = values + k * n * n;
        for (std::int32_t c = 0; c < n; ++c) {
          X const factor = x[column + c];
          for (std::int32_t r = 0; r < n; ++r) row[r] += X(block[c * n + r]) * factor;
        }
      }
      for (std::int32_t r = 0; r < n; ++r) *sums++ = row[r];
    }
  }
};

/// \brief The same with a loop for each size.
template <class Scalar, class X>
void sum_block_rows(BlockSums<Scalar> const& rows, std::int32_t size, std::int32_t first,
                    std::int32_t last, X const* x, X* sums) {
  switch (size) {
    case 2:
      return rows.template sum<2>(size, first, last, x, sums);
    case 3:
      return rows.template sum<3>(size, first, last, x, sums);
    case 4:
      return rows.template sum<4>(size, first, last, x, sums);
    case 5:
      return rows.template sum<5>(size, first, last, x, sums);
    default:
      return rows.template sum<6>(size, first, last, x, sums);
  }
}

/// \brief sum_block_rows(), compiled separately in src/compiled.
template <class Scalar, class X>
void compiled_sum_block_rows(BlockSums<Scalar> const& rows, std::int32_t size, std::int32_t first,
                             std::int32_t last, X const* x, X* sums);

}  // namespace Solder::Impl
