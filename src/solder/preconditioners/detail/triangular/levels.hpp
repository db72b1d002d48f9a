// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The levels of a triangular pattern, and the colours of a symmetric one, found on the
/// device, where the pattern is.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/preconditioners/detail/triangular/marks.hpp>
#include <solder/preconditioners/detail/triangular/pattern.hpp>

namespace Solder::Impl::triangular {

/// \brief The number of entries of a triangle. Waits for the result.
template <class Exec>
SOLDER_MAKES_LAMBDAS std::int64_t entries_of(Exec const& exec, DeviceTriangle const& T) {
  std::int64_t entries = 0;
  Kokkos::parallel_reduce(
      "Solder::triangular::count", Kokkos::RangePolicy<Exec>(exec, 0, T.rows),
      KOKKOS_LAMBDA(int i, std::int64_t& sum) { sum += T.end(i) - T.begin(i); }, entries);
  return entries;
}

/// \brief The level of a row: the length of the longest chain of needed rows that leads to it.
struct LevelOfRow {
  static constexpr char const* kernel = "Solder::triangular::levels";
  std::int32_t level = 0;

  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t of_needed) {
    level = level > of_needed ? level : of_needed + 1;
  }
  template <class ForEachNeeded>
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t value(ForEachNeeded const&) const {
    return level;
  }
};

/// \brief The colour of a row: the first one that no needed row has.
struct ColourOfRow {
  static constexpr char const* kernel = "Solder::triangular::colours";
  static constexpr std::int32_t at_once = 64;
  std::uint64_t taken = 0;  ///< of the first colours, a bit each

  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t of_needed) {
    if (of_needed < at_once) taken |= std::uint64_t(1) << of_needed;
  }
  /// \param for_each_needed calls a function with the colour of each needed row
  template <class ForEachNeeded>
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t value(ForEachNeeded const& for_each_needed) const {
    std::uint64_t these = taken;
    std::int32_t first = 0;
    while (~these == 0) {
      first += at_once;
      these = 0;
      for_each_needed([&](std::int32_t of_needed) {
        if (of_needed >= first && of_needed < first + at_once)
          these |= std::uint64_t(1) << (of_needed - first);
      });
    }
    return first + Kokkos::countr_zero(~these);
  }
};

/// \brief Finds a number of each row that follows from those of the rows that it needs.
///
/// On GPUs this is one kernel. A warp takes the next 32 rows in the order in which they are solved.
/// Each lane goes through the rows that its row needs, as far as their numbers are known. It reads
/// numbers of the warp's own rows, which mostly wait for each other, from scratch, and others from
/// memory. All rows that a lane waits for have been taken by a running warp: see has_progress. On
/// hosts this is a loop.
/// \tparam Row LevelOfRow or ColourOfRow
template <class Row>
struct FindInTurn {
  static constexpr std::int32_t unknown = -1;
  static constexpr int warps = 8, teams_at_once = 4;  ///< per team, per multiprocessor
  static constexpr int scratch_bytes() { return warps * warp * int(sizeof(std::int32_t)); }

  DeviceTriangle T;
  std::int32_t* number;  ///< unknown at first
  std::int32_t most;     ///< numbers; if there are more, all warps give up
  std::int32_t* ticket;  ///< 0 at first
  std::int32_t* many;    ///< 0 at first; 1 if there are more than `most` numbers

  void operator()(int) const {
    for (std::int32_t turn = 0; turn < T.rows && *many == 0; ++turn) {
      Row row;
      std::int32_t passed = 0;
      std::int32_t const i = T.in_turn(turn);
      look(i, turn, nullptr, passed, row);
      keep(i, value(i, turn, nullptr, row));
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const lane = lane_number();
    auto* const scratch =
        static_cast<std::int32_t*>(member.team_scratch(0).get_shmem(scratch_bytes())) +
        member.team_rank() * warp;
    while (true) {
      std::int32_t const t = lane_value(lane == 0 ? add_one_release(ticket) : 0, 0);
      if (std::int64_t(t) * warp >= T.rows) return;
      std::int32_t const first = t * warp, turn = first + lane,
                         i = T.in_turn(turn < T.rows ? turn : 0);
      Row row;
      std::int32_t passed = 0;
      bool waits = turn < T.rows;
      store_relaxed(scratch + lane, unknown);
      lane_barrier();
      while (lane_votes(waits) != 0) {
        if (waits && look(i, first, scratch, passed, row)) {
          std::int32_t const own = value(i, first, scratch, row);
          store_relaxed(scratch + lane, own);
          keep(i, own);
          waits = false;
        }
        lane_barrier();
      }
      if (lane_value(load_relaxed(many), 0) != 0) return;  // all lanes, or none
    }
  }

 private:
  /// \brief The number of the p-th row that row i needs, in the order in which they are solved.
  /// Those of turns from `first` on are in `scratch`.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t of_needed(std::int32_t i, std::int32_t p,
                                                     std::int32_t first,
                                                     std::int32_t const* scratch) const {
    std::int32_t const needed = T.columns[T.lower ? T.begin(i) + p : T.end(i) - 1 - p],
                       turn = T.in_turn(needed);
    return load_relaxed(turn < first ? number + needed : scratch + (turn - first));
  }
  /// \brief Continues through the rows that row i needs; `passed` of them are done. Returns whether
  /// all their numbers are known.
  KOKKOS_FORCEINLINE_FUNCTION bool look(std::int32_t i, std::int32_t first,
                                        std::int32_t const* scratch, std::int32_t& passed,
                                        Row& row) const {
    for (std::int32_t const count = T.end(i) - T.begin(i); passed < count; ++passed) {
      std::int32_t const of = of_needed(i, passed, first, scratch);
      if (of == unknown) return false;
      row.add(of);
    }
    return true;
  }
  /// \brief The number of row i, once those of all needed rows are known.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t value(std::int32_t i, std::int32_t first,
                                                 std::int32_t const* scratch,
                                                 Row const& row) const {
    return row.value([&](auto const& f) {
      for (std::int32_t p = 0; p < T.end(i) - T.begin(i); ++p) f(of_needed(i, p, first, scratch));
    });
  }
  /// \brief Stores the number of a row, even beyond `most`, because others may wait for it.
  KOKKOS_FORCEINLINE_FUNCTION void keep(std::int32_t i, std::int32_t own) const {
    store_relaxed(number + i, own);
    if (own >= most) store_relaxed(many, std::int32_t(1));
  }
};

/// \brief The rows level by level or colour by colour, and within one in the order in which they
/// are solved.
template <class Exec>
struct RowsByLevel {
  using Indices = DeviceArray<std::int32_t, Exec>;

  std::int32_t levels = 0;  ///< 0: there are more than were wanted, or no rows
  Indices level = no_view<Indices>(), order = level;
  double seconds = 0;  ///< that the search took
};

/// \brief Sorts rows by their levels, bit by bit: two kernels for each bit.
template <class Exec>
SOLDER_MAKES_LAMBDAS void sort_by_level(Exec const& exec, RowsByLevel<Exec>& rows) {
  auto const count = static_cast<std::int32_t>(rows.order.extent(0));
  auto other = allocate<std::int32_t>(exec, "Solder::triangular::order", count);
  Kokkos::RangePolicy<Exec> const all(exec, 0, count);
  for (int bit = 0; bit < std::bit_width(static_cast<std::uint32_t>(rows.levels - 1)); ++bit) {
    auto const *const from = rows.order.data(), *const level = rows.level.data();
    auto* const to = other.data();
    std::int32_t zeros = 0;
    Kokkos::parallel_reduce(
        "Solder::triangular::sort", all,
        KOKKOS_LAMBDA(int i, std::int32_t& sum) { sum += 1 - ((level[i] >> bit) & 1); }, zeros);
    Kokkos::parallel_scan(
        "Solder::triangular::sort", all, KOKKOS_LAMBDA(int p, std::int32_t& before, bool last) {
          bool const is_zero = ((level[from[p]] >> bit) & 1) == 0;
          if (last) to[is_zero ? before : zeros + (p - before)] = from[p];
          before += is_zero;
        });
    std::swap(rows.order, other);
  }
}

/// \brief Rows by their levels or colours.
/// \param most of them; the search gives up if there are more
template <class Row, class Exec>
SOLDER_MAKES_LAMBDAS RowsByLevel<Exec> rows_by(Exec const& exec, DeviceTriangle const& T,
                                               std::int32_t most) {
  using Find = FindInTurn<Row>;
  Kokkos::Timer timer;
  RowsByLevel<Exec> found;
  if (T.rows == 0 || most == 0) return found;
  found.level = allocate<std::int32_t>(exec, "Solder::triangular::level", T.rows);
  found.order = allocate<std::int32_t>(exec, "Solder::triangular::order", T.rows);
  auto const counters = allocate_zeros<std::int32_t>(exec, "Solder::triangular::counters", 2);
  Kokkos::deep_copy(exec, found.level, Find::unknown);
  Find const find{T, found.level.data(), most, counters.data(), counters.data() + 1};
  if constexpr (is_host_space<Exec>) {
    Kokkos::parallel_for(Row::kernel, Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>>(exec, 0, 1),
                         find);
  } else {
    constexpr int warps = Find::warps, at_once = Find::teams_at_once;
    std::int64_t const wanted = (std::int64_t(T.rows) + warps * warp - 1) / (warps * warp),
                       most_teams = std::int64_t(multiprocessors(exec)) * at_once;
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<warps * warp, at_once>>;
    Kokkos::parallel_for(Row::kernel,
                         Policy(exec, static_cast<int>(std::min(wanted, most_teams)), warps, warp)
                             .set_scratch_size(0, Kokkos::PerTeam(Find::scratch_bytes())),
                         find);
  }
  auto const* const level = found.level.data();
  auto const* const many = find.many;
  std::int32_t levels = 0;
  Kokkos::parallel_reduce(
      Row::kernel, Kokkos::RangePolicy<Exec>(exec, 0, T.rows),
      KOKKOS_LAMBDA(int i, std::int32_t& largest) {
        std::int32_t const own = *many != 0 ? 0 : level[i] + 1;
        largest = largest > own ? largest : own;
      },
      Kokkos::Max<std::int32_t>(levels));
  found.levels = levels;
  if (levels == 0) return found;
  auto* const order = found.order.data();
  Kokkos::parallel_for(
      "Solder::triangular::order", Kokkos::RangePolicy<Exec>(exec, 0, T.rows),
      KOKKOS_LAMBDA(int turn) { order[turn] = T.in_turn(turn); });
  sort_by_level(exec, found);
  exec.fence("Solder::triangular: the rows are sorted");
  found.seconds = timer.seconds();
  return found;
}

/// \brief Rows by their levels.
/// \param most levels; the search gives up if there are more
template <class Exec>
RowsByLevel<Exec> rows_by_level(Exec const& exec, DeviceTriangle const& T, std::int32_t most) {
  return rows_by<LevelOfRow>(exec, T, most);
}

/// \brief A symmetric pattern, whose rows are sorted and in natural order, colour by colour. Each
/// row gets the first colour that none of the neighbours before it has, as from by_colour() of the
/// host.
template <class Exec>
DevicePattern<Exec> coloured(Exec const& exec, DevicePattern<Exec> const& natural) {
  natural.place_missing_ones(exec, true);
  return natural.in_order(
      exec, rows_by<ColourOfRow>(exec, device_triangle(natural, true), natural.rows).order);
}

/// \brief Whether a tile begins at place p: `most` rows of one level, or the rest of the level.
struct BeginsTile {
  std::int32_t const *level, *order, *first;  ///< `first`: the first place of each level
  std::int32_t most;

  KOKKOS_FUNCTION bool operator()(std::int32_t p) const {
    return (p - first[level[order[p]]]) % most == 0;
  }
};

/// \brief Cuts the rows, in the order of levels, into tiles of at most `most` rows of one level:
/// where each tile begins, and the end.
template <class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<std::int32_t, Exec> tiles_of_levels(Exec const& exec,
                                                                     RowsByLevel<Exec> const& rows,
                                                                     std::int32_t most) {
  auto const count = static_cast<std::int32_t>(rows.order.extent(0));
  auto const first = allocate<std::int32_t>(exec, "Solder::triangular::first", rows.levels);
  auto const *const level = rows.level.data(), *const order = rows.order.data();
  auto* const firsts = first.data();
  Kokkos::RangePolicy<Exec> const all(exec, 0, count);
  Kokkos::parallel_for(
      "Solder::triangular::first", all, KOKKOS_LAMBDA(int p) {
        if (p == 0 || level[order[p]] != level[order[p - 1]]) firsts[level[order[p]]] = p;
      });
  BeginsTile const begins{level, order, firsts, most};
  std::int32_t tiles = 0;
  Kokkos::parallel_reduce(
      "Solder::triangular::tiles", all,
      KOKKOS_LAMBDA(int p, std::int32_t& sum) { sum += begins(p); }, tiles);
  auto const begin =
      allocate<std::int32_t>(exec, "Solder::triangular::tiles", std::int64_t(tiles) + 1);
  auto* const to = begin.data();
  Kokkos::parallel_scan(
      "Solder::triangular::tiles", Kokkos::RangePolicy<Exec>(exec, 0, count + 1),
      KOKKOS_LAMBDA(int p, std::int32_t& before, bool last) {
        bool const is_begin = p == count || begins(p);
        if (last && is_begin) to[before] = p;
        before += is_begin;
      });
  return begin;
}

}  // namespace Solder::Impl::triangular
