// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <solder/core/runners/waiting.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/detail/triangular/device.hpp>
#include <solder/preconditioners/detail/triangular/marks.hpp>
#include <solder/preconditioners/detail/triangular/pivots.hpp>

namespace Solder::Impl::triangular {

/// \brief Which pivots a factorisation accepts.
enum class Pivots : std::int32_t { nonzero, positive };

/// \brief A = L U within a pattern, row by row: Saad, Iterative Methods for Sparse Linear Systems,
/// algorithm 10.4 (IKJ). Columns ascend in each row. The pattern is A's, or has fill besides.
///
/// Rows are processed in an order in which every row comes after the rows that it needs. A row is
/// computed outside the array of the factors, which is "not yet" everywhere at first. It waits for
/// each entry of the rows that it needs: flag and value are one word. The first row with an
/// unusable pivot is recorded. On GPUs the other rows still continue, although their results are
/// then useless.
///
/// On GPUs a warp takes a row, and a lane an entry. The places of needed entries depend only on the
/// pattern, so they are looked up before the entries are waited for, `batch` rows at a time.
///
/// On hosts each thread spreads the row over an array with a place for every column. What
/// elimination adds in columns outside the pattern lands there, too, and is never read, so nothing
/// is looked up. Only where a needed row is a hub's, far longer than the rest of this one, are the
/// columns of the shorter one looked up in it.
template <class Scalar>
struct IncompleteRows {
  using Real = typename ScalarTraits<Scalar>::Real;
  static constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();

  std::int32_t rows;
  std::int32_t const* offsets;
  std::int32_t const* columns;
  std::int32_t const* diagonal;  ///< places of the diagonal entries
  std::int32_t const* order;     ///< null, on hosts: as the rows come
  /// On hosts: where the rows that a thread takes at once begin in `order`, and the end; null: all
  /// are taken by one.
  std::int32_t const* begin;
  std::int32_t tickets;  ///< of these
  /// The place of each entry in `given`, -1 for one that A does not have; null: the same place.
  std::int32_t const* source;
  Scalar const* given;  ///< A's values
  Real of_diagonal;     ///< the factor that A's diagonal is multiplied by
  Scalar* values;       ///< the factors; "not yet" at first
  /// On GPUs as many values, for rows too long for a warp's lanes; on hosts `rows` for each thread.
  Scalar* work;
  std::int32_t* ticket;  ///< 0 at first
  /// `none` at first; set to the first row with an unusable pivot, if there is one; on hosts to its
  /// place in `order`.
  std::int32_t* wrong;
  Pivots pivots;
  /// The least size of each row's pivot: a smaller one is replaced, counted in repaired[0], and the
  /// first such row is repaired[1]. Null: none is.
  Real const* least = nullptr;
  std::int32_t* repaired = nullptr;

  /// \brief One thread of a host. After an unusable pivot it takes no more rows: those that were
  /// taken, all of which it goes through, need only rows that were taken before.
  void operator()(int thread) const {
    Scalar* const row = work + std::size_t(thread) * std::size_t(rows);
    while (load_relaxed(wrong) == none) {
      std::int32_t const t = add_one_release(ticket);
      if (t >= tickets) break;
      std::int32_t const end = begin == nullptr ? rows : begin[t + 1];
      for (std::int32_t p = begin == nullptr ? 0 : begin[t]; p < end; ++p)
        if (!eliminate_on_host(order == nullptr ? p : order[p], row)) {
          Kokkos::atomic_min(wrong, p);
          if (tickets == 1) break;  // nobody waits for the rest
        }
    }
  }

  /// \brief A team of warps of a GPU.
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const&) const {
    int const lane = lane_number();
    while (true) {
      std::int32_t const t = lane_value(lane == 0 ? add_one_release(ticket) : 0, 0);
      if (t >= rows) break;
      std::int32_t const i = order[t];
      if (eliminate_in_lanes(i, lane)) continue;
      bool const is_usable = eliminate_in_memory(i, lane);
      if (lane == 0 && !is_usable) Kokkos::atomic_min(wrong, i);
    }
  }

  /// \brief Computes entry e of row i from the `old` entries; see FactorSweep.
  ///
  /// Goes through the lower part of row i or, if the pattern is symmetric and it is shorter,
  /// through the lower part of row j, which mirrors the entry's column j.
  KOKKOS_FORCEINLINE_FUNCTION Scalar swept(std::int32_t i, std::int32_t e, Scalar const* old,
                                           bool symmetric) const {
    Scalar value = of_A(e, diagonal[i]);
    if (old == nullptr) return value;
    std::int32_t const j = columns[e], end = e < diagonal[i] ? e : diagonal[i],
                       of_mirror = diagonal[j] - offsets[j];
    bool const mirrored = symmetric && of_mirror < end - offsets[i];
    std::int32_t const shorter = mirrored ? j : i, first = offsets[shorter], least = i < j ? i : j;
    for (std::int32_t k = first; k < (mirrored ? diagonal[j] : end); ++k) {
      std::int32_t const m = columns[k];
      if (m >= least) break;
      std::int32_t const last = offsets[m + 1];
      std::int32_t const u = place_of(columns, diagonal[m] + 1, last, j);
      if (!(u < last && columns[u] == j)) continue;
      std::int32_t const l = mirrored ? place_of(columns, offsets[i], end, m) : k;
      if (l < end && columns[l] == m) value -= old[l] / old[diagonal[m]] * old[u];
    }
    return value;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_fine(Scalar const& pivot) const {
    Wide<Scalar> const wide = pivot;
    return is_finite(wide) &&
           (pivots == Pivots::positive ? real_part(wide) > 0 : pivot != Scalar{});
  }
  /// \brief Whether sweeps are near convergence, if the next one would replace this pivot by
  /// `next`: the pivot must stay positive or, for ilu0, change by no more than its own size.
  KOKKOS_FORCEINLINE_FUNCTION bool is_near(Scalar const& pivot, Scalar const& next) const {
    return pivots == Pivots::positive ? is_fine(next)
                                      : Kokkos::abs(Wide<Scalar>(next) - Wide<Scalar>(pivot)) <=
                                            Kokkos::abs(Wide<Scalar>(pivot));
  }

 private:
  static constexpr int batch = 4;  ///< rows that are waited for at once

  KOKKOS_FORCEINLINE_FUNCTION Scalar of_A(std::int32_t place, std::int32_t pivot_place) const {
    std::int32_t const from = source == nullptr ? place : source[place];
    Scalar const value = from < 0 ? Scalar{} : given[from];
    return place == pivot_place ? of_diagonal * value : value;
  }
  template <bool on_host>
  KOKKOS_FORCEINLINE_FUNCTION Scalar wait_for(std::int32_t place) const {
    Scalar value = load_relaxed(values + place);
    for (Waiting<on_host> wait; is_not_yet(value); value = load_relaxed(values + place))
      wait.turn();
    return value;
  }

  /// \brief A finite pivot of row i that is large enough; see `least`.
  KOKKOS_FORCEINLINE_FUNCTION Scalar repaired_pivot(std::int32_t i, Scalar const& pivot) const {
    if (least == nullptr) return pivot;
    double const size = size_of(pivot);
    if (!(size < least[i])) return pivot;
    Kokkos::atomic_inc(repaired);
    Kokkos::atomic_min(repaired + 1, i);
    return enlarged_pivot(pivot, least[i]);
  }

  /// \brief Eliminates a row in a warp's lanes. Returns false if the row, or the part right of the
  /// diagonal of a row that it needs, has more entries than a warp has lanes.
  KOKKOS_FORCEINLINE_FUNCTION bool eliminate_in_lanes(std::int32_t i, int lane) const {
    std::int32_t const begin = offsets[i], size = offsets[i + 1] - begin,
                       lower = diagonal[i] - begin;
    if (size > warp) return false;
    std::int32_t const column = lane < size ? columns[begin + lane] : rows;
    std::int32_t const upper = lane < lower ? diagonal[column] : 0,
                       upper_size = lane < lower ? offsets[column + 1] - upper : 0;
    if (lane_votes(upper_size > warp) != 0) return false;
    Scalar value = lane < size ? of_A(begin + lane, diagonal[i]) : Scalar{};
    for (std::int32_t first = 0; first < lower; first += batch) {
      std::int32_t from[batch];  // the lane of the needed row's entry in this lane's column, or -1
      Scalar entry[batch];
      for (int b = 0; b < batch; ++b) {
        std::int32_t const k = first + b < lower ? first + b : first;
        std::int32_t const place = lane_value(upper, k), count = lane_value(upper_size, k);
        from[b] = lane_of(column, lane < count ? columns[place + lane] : rows, count);
      }
      bool all = false;
      for (int b = 0; b < batch; ++b) entry[b] = first + b < lower ? not_yet<Scalar>() : Scalar{};
      while (!all) {
        all = true;
        for (int b = 0; b < batch; ++b) {
          std::int32_t const k = first + b < lower ? first + b : first;
          std::int32_t const place = lane_value(upper, k), count = lane_value(upper_size, k);
          if (is_not_yet(entry[b]))
            entry[b] = lane < count ? load_relaxed(values + place + lane) : Scalar{};
        }
        for (int b = 0; b < batch; ++b) all = all && !is_not_yet(entry[b]);
        all = lane_votes(!all) == 0;
      }
      for (int b = 0; b < batch; ++b) {
        if (first + b >= lower) break;
        Scalar const factor = lane_value(value, first + b) / lane_value(entry[b], 0);
        Scalar const needed = lane_value(entry[b], from[b] < 0 ? 0 : from[b]);
        if (lane == first + b)
          value = factor;
        else if (lane > first + b && from[b] >= 0)
          value -= factor * needed;
      }
    }
    if (lane == lower) value = repaired_pivot(i, value);
    if (lane < size) store_relaxed(values + begin + lane, but_marked(value));
    if (lane == lower && !is_fine(value)) Kokkos::atomic_min(wrong, i);
    return true;
  }

  /// \brief The lane, among the first `count`, whose `of_lane` is `wanted`, or -1. The values of
  /// `of_lane` ascend.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t lane_of(std::int32_t wanted, std::int32_t of_lane,
                                                          std::int32_t count) {
    std::int32_t from = 0;
    for (std::int32_t step = warp / 2; step > 0; step /= 2) {
      std::int32_t const next = from + step;
      std::int32_t const there = lane_value(of_lane, next < warp ? next : 0);
      if (next < count && there <= wanted) from = next;
    }
    std::int32_t const found = lane_value(of_lane, from);
    return found == wanted ? from : -1;
  }

  /// \brief Eliminates a row; see IncompleteRows. Answers whether its pivot is usable.
  /// \param row a place for every column
  bool eliminate_on_host(std::int32_t i, Scalar* row) const {
    std::int32_t const begin = offsets[i], end = offsets[i + 1], pivot_place = diagonal[i];
    for (std::int32_t k = begin; k < end; ++k) row[columns[k]] = of_A(k, pivot_place);
    for (std::int32_t k = begin; k < pivot_place; ++k) {
      std::int32_t const j = columns[k], first = diagonal[j] + 1, last = offsets[j + 1];
      Scalar const factor = row[j] = row[j] / wait_for<true>(diagonal[j]);
      if (last - first <= std::int64_t(8) * (end - k)) {
        for (std::int32_t e = first; e < last; ++e) row[columns[e]] -= factor * wait_for<true>(e);
      } else {  // a hub's row, which many short ones need
        for (std::int32_t at = k + 1; at < end; ++at) {
          std::int32_t const e = place_of(columns, first, last, columns[at]);
          if (e < last && columns[e] == columns[at]) row[columns[at]] -= factor * wait_for<true>(e);
        }
      }
    }
    row[i] = repaired_pivot(i, row[i]);
    for (std::int32_t k = begin; k < end; ++k)
      store_relaxed(values + k, but_marked(row[columns[k]]));
    return is_fine(row[i]);
  }

  /// \brief Eliminates a row of a GPU. Answers, in lane 0, whether its pivot is usable. Goes
  /// through the shorter one of a needed row's part of U and the rest of row i, and looks up its
  /// columns in the other: hubs have long rows that many others need.
  KOKKOS_FORCEINLINE_FUNCTION bool eliminate_in_memory(std::int32_t i, int lane) const {
    std::int32_t const begin = offsets[i], end = offsets[i + 1], pivot_place = diagonal[i];
    for (std::int32_t k = begin + lane; k < end; k += warp) work[k] = of_A(k, pivot_place);
    lane_barrier();
    for (std::int32_t k = begin; k < pivot_place; ++k) {
      std::int32_t const j = columns[k];
      Scalar const factor = work[k] / wait_for<false>(diagonal[j]);
      lane_barrier();  // all have read work[k]
      if (lane == 0) work[k] = factor;
      std::int32_t const first = diagonal[j] + 1, last = offsets[j + 1];
      if (last - first <= end - k)
        for (std::int32_t e = first + lane; e < last; e += warp) {
          std::int32_t const at = place_of(columns, k + 1, end, columns[e]);
          if (at < end && columns[at] == columns[e]) work[at] -= factor * wait_for<false>(e);
        }
      else
        for (std::int32_t at = k + 1 + lane; at < end; at += warp) {
          std::int32_t const e = place_of(columns, first, last, columns[at]);
          if (e < last && columns[at] == columns[e]) work[at] -= factor * wait_for<false>(e);
        }
      lane_barrier();
    }
    if (lane == 0) work[pivot_place] = repaired_pivot(i, work[pivot_place]);
    lane_barrier();
    for (std::int32_t k = begin + lane; k < end; k += warp)
      store_relaxed(values + k, but_marked(work[k]));
    bool const is_usable = is_fine(work[pivot_place]);
    lane_barrier();
    return is_usable;
  }
};

}  // namespace Solder::Impl::triangular
