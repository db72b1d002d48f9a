// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/compiled.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/detail/block_sums.hpp>
#include <solder/matrix/detail/slice_products.hpp>

namespace Solder {

/// \cond kernels

/// \brief The device side of a BlockMatrix: what kernels need to hand out row products.
///
/// A slice has `in_slice` rows of blocks. Block j of its row q of blocks is number `first + j *
/// in_slice + q` of all; padding has column -1 and reads no x.
///
/// On hosts a slice is one row of blocks, and a block is stored by columns. On GPUs lane q * size +
/// c goes through column c of the blocks of row q, so that it loads one entry of x a block; what
/// all lanes load together is stored together.
template <class Scalar>
struct BlockOperator {
  std::int32_t const* columns;  ///< of blocks
  Scalar const* values;
  std::int64_t const* slice_offsets;  ///< the first block of each slice; finally their number
  Rows rows;
  std::int32_t slices;
  std::int32_t size;      ///< of a block; on GPUs 2, 3 or 5
  std::int32_t in_slice;  ///< rows of blocks
  std::int32_t step;      ///< rows of a slice: in_slice * size
  std::int32_t teams;

  /// \brief See CsrOperator.
  static constexpr bool takes_twice = true;
  static constexpr std::int32_t lane_bits = 0;  ///< a lane hands out a row
  /// Blocks pay where a system is large, and a kernel for each stage costs little.
  static constexpr bool has_whole_kernels = false;

  /// On hosts the rows of a team's slices are not always those between two bounds.
  static constexpr bool in_order() { return false; }

  bool operator==(BlockOperator const&) const = default;

  /// \brief Where entry (r, c) is of block j in row q of blocks, of the slice that begins at block
  /// `first`.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t first, std::int32_t j, std::int32_t q,
                                                 std::int32_t r, std::int32_t c) const {
    if (in_slice == 1) return ((first + j) * size + c) * size + r;
    return first * size * size + (j * size + r) * std::int64_t(step) + q * size + c;
  }

  /// \brief A lane's column of the blocks of a slice, from one of them on.
  struct Slice {
    std::int64_t block = 0;            ///< its number
    std::int64_t value = 0;            ///< where its first entry is
    std::int32_t width = 0, row = -1;  ///< blocks left; the row that is handed out, -1: none
  };

  /// \brief Calls prepare() and returns its result. If that is true, calls consume(i, (A x)_i) once
  /// for every row i of this team, in one thread, with the value in a register. See SellOperator.
  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(Team const& team, Operand const& x,
                                                        Prepare const& prepare,
                                                        Consumer const& consume) const {
    if constexpr (std::is_same_v<Team, Impl::HostTeam>) {
      if (!prepare()) return false;
      host_products(team, x, consume);
      return true;
    } else {
      return Impl::slice_products(team, *this, x, prepare, consume);
    }
  }

  // ---- What slice_products calls ----

  KOKKOS_FORCEINLINE_FUNCTION Slice slice(std::int32_t s, std::int32_t lane) const {
    Slice found;
    std::int32_t const q = lane / size, row = s * step + lane;
    if (q >= in_slice || row >= rows.count) return found;
    std::int64_t const first = slice_offsets[s];
    found.block = first + q;
    found.value = first * size * size + lane;
    found.width = static_cast<std::int32_t>((slice_offsets[s + 1] - first) / in_slice);
    found.row = row;
    return found;
  }

  static constexpr bool asks_ahead = false;  ///< there are no registers for it
  /// Blocks that a lane has in flight at a time, at most; see lane_sum.
  template <class X>
  static constexpr int columns_at_once = Impl::TwiceTheDigits<X> ? 2 : 4;

  template <int batch>
  KOKKOS_FORCEINLINE_FUNCTION void load_columns(Slice const& of, std::int32_t,
                                                std::int32_t (&column)[batch]) const {
    SOLDER_UNROLLED
    for (int j = 0; j < batch; ++j)
      column[j] = j < of.width ? columns[of.block + j * in_slice] : -1;
  }

  template <bool, class Operand, int batch>
  KOKKOS_FORCEINLINE_FUNCTION auto lane_product(Operand const& x, Slice const& now, Slice const&,
                                                std::int32_t lane,
                                                std::int32_t (&column)[batch]) const {
    switch (size) {
      case 2:
        return lane_sum<2>(x, now, lane, column);
      case 3:
        return lane_sum<3>(x, now, lane, column);
      default:
        return lane_sum<5>(x, now, lane, column);
    }
  }

 private:
  /// \brief A lane's row: it goes through its column of the blocks, some 8 entries in flight at a
  /// time, and exchanges sums with the other columns' lanes.
  template <int Size, class Operand, int most>
  KOKKOS_FORCEINLINE_FUNCTION auto lane_sum(Operand const& x, Slice now, std::int32_t lane,
                                            std::int32_t (&column)[most]) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    constexpr int batch = most < 9 / Size ? most : 9 / Size;
    std::int32_t const q = lane / Size, own = lane - q * Size;
    X sums[Size] = {};
    do {
      Scalar value[batch * Size];
      X factor[batch];
      SOLDER_UNROLLED
      for (int e = 0; e < batch * Size; ++e)
        value[e] = e / Size < now.width ? values[now.value + e * step] : Scalar{};
      SOLDER_UNROLLED
      for (int j = 0; j < batch; ++j) factor[j] = column[j] >= 0 ? x[column[j] * Size + own] : X{};
      now.block += batch * in_slice;
      now.value += batch * Size * step;
      now.width -= batch;
      if (now.width > 0) load_columns(now, lane, column);
      SOLDER_UNROLLED
      for (int e = 0; e < batch * Size; ++e) sums[e % Size] += X(value[e]) * factor[e / Size];
    } while (now.width > 0);
    // Lane q * Size + c has the terms of column c in all rows, and gets those of row c. In turn k
    // it asks the lane of column c + k, and is asked for row c - k, both modulo Size.
    X sum{};
    SOLDER_UNROLLED
    for (int k = 0; k < Size; ++k) {
      std::int32_t const from = own + k < Size ? own + k : own + k - Size,
                         row = own >= k ? own - k : own - k + Size;
      X mine = sums[0];
      SOLDER_UNROLLED
      for (int r = 1; r < Size; ++r)
        if (row == r) mine = sums[r];
      sum += Impl::lane_value(mine, q * Size + from < Impl::warp ? q * Size + from : 0);
    }
    return sum;
  }

  template <class Operand, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION void host_products(Impl::HostTeam const& team, Operand const& x,
                                                 Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    constexpr std::int32_t at_once = Impl::HostTeam::window_rows;  // blocks may reach beyond it
    X sums[at_once + Impl::most_block_size];
    auto const blocks_before = [&](std::int32_t row) { return (row + size - 1) / size; };
    std::int32_t const last = blocks_before(team.last(rows));
    for (std::int32_t begin = blocks_before(team.first(rows)), end = 0; begin < last; begin = end) {
      end = Kokkos::min(last, begin + (at_once + Impl::most_block_size) / size);
      Impl::BlockSums<Scalar> const blocks{slice_offsets, columns, values};
      constexpr bool has_loops = std::is_pointer_v<Operand> &&
                                 (std::is_same_v<X, Scalar> || std::is_same_v<X, Wide<Scalar>>);
      if constexpr (has_loops && Impl::is_compiled<Impl::Host, Scalar>)
        Impl::compiled_sum_block_rows(blocks, size, begin, end, x, sums);
      else if constexpr (has_loops)
        Impl::sum_block_rows(blocks, size, begin, end, x, sums);
      else
        blocks.template sum<0>(size, begin, end, x, sums);
      for (std::int32_t i = begin * size; i < end * size; ++i) consume(i, sums[i - begin * size]);
    }
  }
};

/// \endcond

}  // namespace Solder
