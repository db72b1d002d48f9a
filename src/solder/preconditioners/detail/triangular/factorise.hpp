// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <solder/core/runners/gate.hpp>
#include <solder/core/scalar.hpp>

namespace Solder::Impl::triangular {

/// \brief Which pivots a factorisation takes.
enum class Pivots : std::int32_t { nonzero, positive };

/// \brief A = L U within the pattern of A, in place, row by row: Saad, Iterative Methods for Sparse
/// Linear Systems, algorithm 10.4 (IKJ). Columns ascend in each row.
///
/// A row takes its turn in an order in which what it needs comes before it, and waits until the
/// rows that it needs are done; a warp a row on GPUs, whose lanes wait for a row each. A pivot that
/// does not do is remembered, the first one by rows, and the rest goes on, to nobody's use.
template <class Scalar>
struct IncompleteRows {
  std::int32_t rows;
  std::int32_t const* offsets;
  std::int32_t const* columns;
  std::int32_t const* diagonal;  ///< places of the diagonal entries
  std::int32_t const* order;
  Scalar* values;
  std::int32_t* done;    ///< [rows] 0 at first
  std::int32_t* ticket;  ///< 0 at first
  std::int32_t* wrong;   ///< the first row with a pivot that does not do; else as it was
  Pivots pivots;

  /// \brief One thread of a host.
  void operator()(int) const {
    for (std::int32_t t = add_one_release(ticket); t < rows; t = add_one_release(ticket))
      eliminate(order[t], 0, 1, Waiting<true>{.patient = 256});
  }

  /// \brief A team of warps of a GPU.
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const&) const {
    int const lane = lane_number();
    while (true) {
      std::int32_t const t = lane_value(lane == 0 ? add_one_release(ticket) : 0, 0);
      if (t >= rows) break;
      eliminate(order[t], lane, warp, Waiting<false>{});
    }
  }

 private:
  template <class Wait>
  KOKKOS_FORCEINLINE_FUNCTION void eliminate(std::int32_t i, int lane, int lanes,
                                             Wait const& patience) const {
    std::int32_t const begin = offsets[i], end = offsets[i + 1], pivot_place = diagonal[i];
    for (std::int32_t k = begin + lane; k < pivot_place; k += lanes)
      for (Wait wait = patience; load_acquire(done + columns[k]) == 0;) wait.turn();
    lane_barrier();
    for (std::int32_t k = begin; k < pivot_place; ++k) {
      std::int32_t const j = columns[k];
      Scalar const factor = values[k] / values[diagonal[j]];
      lane_barrier();  // all have read values[k]
      if (lane == 0) values[k] = factor;
      // The shorter of what is left of row i and of row j's part of U is gone through, and its
      // columns are looked up in the other one: hubs have rows that are long for all who need them.
      std::int32_t const first = diagonal[j] + 1, last = offsets[j + 1];
      if (last - first <= end - k)
        for (std::int32_t e = first + lane; e < last; e += lanes) {
          std::int32_t const at = find(columns[e], k + 1, end);
          if (at < end && columns[at] == columns[e]) values[at] -= factor * values[e];
        }
      else
        for (std::int32_t at = k + 1 + lane; at < end; at += lanes) {
          std::int32_t const e = find(columns[at], first, last);
          if (e < last && columns[at] == columns[e]) values[at] -= factor * values[e];
        }
      lane_barrier();
    }
    if (lane == 0 && !is_fine(values[pivot_place])) Kokkos::atomic_min(wrong, i);
    lane_barrier();
    if (lane == 0) store_release(done + i, 1);
  }

  /// \brief The first place from `from` on whose column is not before `column`.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t find(std::int32_t column, std::int32_t from,
                                                std::int32_t to) const {
    while (from < to) {
      std::int32_t const middle = from + (to - from) / 2;
      if (columns[middle] < column)
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_fine(Scalar const& pivot) const {
    Wide<Scalar> const wide = pivot;
    return is_finite(wide) &&
           (pivots == Pivots::positive ? real_part(wide) > 0 : pivot != Scalar{});
  }
};

}  // namespace Solder::Impl::triangular
