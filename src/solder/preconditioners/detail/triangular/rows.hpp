// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/runners/waiting.hpp>
#include <solder/core/source.hpp>
#include <solder/preconditioners/detail/triangular/marks.hpp>
#include <solder/preconditioners/detail/triangular/strands.hpp>

namespace Solder::Impl::triangular {

/// \brief The strands of a host's threads; see Strands. There are none on GPUs.
struct StrandsOfHost {
  /// Integers from one strand's counters to the next strand's: each counter has its own cache line.
  static constexpr std::int32_t counters = 64, done = 32;

  std::int32_t count = 0;
  std::int32_t const *first = nullptr, *begin = nullptr, *needs_begin = nullptr;  ///< see Strands
  StrandNeed const* needs = nullptr;
  bool follow = false;  ///< most rows need the one that is solved before them

  bool operator==(StrandsOfHost const&) const = default;
};

/// \brief The device side of a triangular matrix: its rows in the order of a schedule.
///
/// Slot s is row rows[s]. Its off-diagonal entries are k = offsets[s], ..., offsets[s + 1] - 1. On
/// GPUs columns[k] is a slot, so that rows which are solved at the same time load neighbouring
/// entries of x. Entries from own[s] on belong to the same tile; their slots are relative to its
/// first one. On hosts columns[k] is a column, there are strands instead of tiles, and the entries
/// of a row are in the order in which their columns are solved. Values are multiplied by the
/// inverse of the diagonal there, so that only one operation separates a row from the one it
/// depends on.
template <class Scalar>
struct TriangularOperator {
  /// Entries that a lane waits for at once, and entries of its own tile that it keeps in registers.
  static constexpr int batch = 4, kept = 8;

  std::int32_t const* rows;
  std::int32_t const* right;  ///< the place of each slot's entry in the right-hand side
  std::int32_t const* begin;  ///< [tiles + 1]: the first slot of each tile
  std::int32_t const* depth;  ///< of each tile: rows on the longest path within it
  std::int32_t const* offsets;
  std::int32_t const* own;
  std::int32_t const* columns;
  Scalar const* values;
  Scalar const* inverse;  ///< of the diagonal, slot by slot; null: ones
  std::int32_t tiles;
  std::int32_t lane_bits;  ///< 2^lane_bits lanes share a row
  StrandsOfHost strands;

  bool operator==(TriangularOperator const&) const = default;
};

/// \brief The rows of x = T^-1 b, as a source. The counters must be 0 before the stage. After it, x
/// is complete: in the order of rows on hosts, in the order of slots on GPUs. On GPUs all of x must
/// be "not yet" before the stage.
///
/// One kernel without a barrier. On a GPU a warp takes the next free tile. Everything that it can
/// wait for has therefore been taken by a running warp. It waits for the entries of x that belong
/// to other tiles and then solves its own rows: Algorithm 1 of paper 3, external edges first, with
/// registers as its local memory. This needs teams that make progress once they have started
/// (has_progress).
///
/// A thread of a host works through the tasks of its strand. It starts each task when the other
/// strands have done what the task needs. A thread that has been blocked for a while takes a task
/// of another strand that is ready. So the solve completes with any number of threads.
///
/// The order of summation is fixed, but which team hands out a row is not, so a consumer must not
/// sum.
///
/// Words: T's entries, 4 a row, on GPUs one more if `marked` is set, and x once for each entry that
/// refers to another tile.
template <class Scalar, class Vector>
struct TriangularRows {
  TriangularOperator<Scalar> T;
  std::int32_t league;
  std::int32_t workers;  ///< warps of a GPU that take tiles, spread over the league
  Vector b;
  Scalar* x;
  std::int32_t* counters;    ///< on GPUs a single ticket
  Scalar* marked = nullptr;  ///< on GPUs: the x of a later solve, marked "not yet" along the way

  bool operator==(TriangularRows const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  /// \brief None: a tile is solved by whichever team takes it first.
  Rows dealt_rows() const { return {}; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    if (!prepare()) return false;
    auto const* const right = vector_at(b, at);
    if constexpr (std::is_same_v<Team, HostTeam>) {
      solve_strands(team.league_rank(), team.league_size(), right, consume);
    } else if (team.warp_rank() * team.league_size() + team.league_rank() < workers) {
      auto const take = [&] { return team.lane() == 0 ? add_one_release(counters) : 0; };
      std::int32_t t = lane_value(take(), 0);
      while (t < T.tiles) {
        std::int32_t const next = take();  // requested before the work, needed after it
        solve_tile_of_warp(team.lane(), t, right, consume);
        t = lane_value(next, 0);
      }
    }
    return true;
  }

 private:
  template <class Consume>
  void solve_strands(std::int32_t rank, std::int32_t threads, Scalar const* right,
                     Consume const& consume) const {
    StrandsOfHost const& strands = T.strands;
    // Turns of waiting after which a thread looks at strands other than its own.
    std::int32_t const own = rank % strands.count, faithful = threads < strands.count ? 0 : 64;
    Waiting<true> const fresh{};
    for (Waiting<true> waiting = {};;) {
      bool all_taken = true, worked = false;
      for (std::int32_t k = 0; k < strands.count && !worked; ++k) {
        std::int32_t const s = own + k < strands.count ? own + k : own + k - strands.count;
        std::int32_t* const taken = counters + s * StrandsOfHost::counters;
        std::int32_t const next = load_acquire(taken);
        if (strands.first[s] + next == strands.first[s + 1]) continue;
        all_taken = false;
        if (k > 0 && waiting.turns < faithful) break;
        if (!is_ready(s, next) || compare_exchange(taken, next, next + 1) != next) continue;
        solve_task(strands.first[s] + next, right, consume);
        store_release(taken + StrandsOfHost::done, next + 1);
        worked = true;
      }
      if (all_taken) return;
      if (worked)
        waiting = {};
      else
        waiting.turn();
    }
  }
  /// \brief Whether everything that task `next` of strand s needs is done.
  bool is_ready(std::int32_t s, std::int32_t next) const {
    auto const has_done = [&](std::int32_t strand, std::int32_t tasks) {
      return load_acquire(counters + strand * StrandsOfHost::counters + StrandsOfHost::done) >=
             tasks;
    };
    if (!has_done(s, next)) return false;
    std::int32_t const task = T.strands.first[s] + next;
    for (std::int32_t k = T.strands.needs_begin[task]; k < T.strands.needs_begin[task + 1]; ++k)
      if (!has_done(T.strands.needs[k].strand, T.strands.needs[k].tasks)) return false;
    return true;
  }
  template <class Consume>
  void solve_task(std::int32_t task, Scalar const* right, Consume const& consume) const {
    if (T.strands.follow)
      solve_rows<true>(task, right, consume);
    else
      solve_rows<false>(task, right, consume);
  }
  /// \tparam follow the last entry of most rows is in the column of the row before, whose x is
  /// still in a register: from the cache it comes some five cycles later, for which all would wait
  template <bool follow, class Consume>
  void solve_rows(std::int32_t task, Scalar const* right, Consume const& consume) const {
    std::int32_t before = -1;
    Scalar of_before{};
    for (std::int32_t s = T.strands.begin[task]; s < T.strands.begin[task + 1]; ++s) {
      std::int32_t const i = T.rows[s], end = T.offsets[s + 1];
      Scalar solved = T.inverse == nullptr ? right[i] : right[i] * T.inverse[s];
      std::int32_t k = T.offsets[s];
      for (; k < end - follow; ++k) solved -= T.values[k] * x[T.columns[k]];
      if (follow && k < end) {
        if (T.columns[k] == before)
          solved -= T.values[k] * of_before;
        else
          solved -= T.values[k] * x[T.columns[k]];
      }
      x[i] = solved;
      consume(i, solved);
      before = i;
      of_before = solved;
    }
  }

  /// \brief Solves a tile, which has at most a warp's lanes divided by 2^lane_bits rows. All lanes
  /// of a row know its sum.
  ///
  /// Within the tile, the lanes repeat the solve `depth` times, for all rows at once, from the
  /// current values of the rows that they need. After k times the rows of depth k are correct and
  /// no longer change.
  template <class Consume>
  KOKKOS_FORCEINLINE_FUNCTION void solve_tile_of_warp(int lane, std::int32_t t, Scalar const* right,
                                                      Consume const& consume) const {
    constexpr int batch = TriangularOperator<Scalar>::batch,
                  kept = TriangularOperator<Scalar>::kept;
    std::int32_t const lanes = 1 << T.lane_bits, begin = T.begin[t], depth = T.depth[t];
    std::int32_t const place = lane >> T.lane_bits, of_row = lane & (lanes - 1);
    bool const is_row = place < T.begin[t + 1] - begin;
    std::int32_t const s = begin + (is_row ? place : 0), i = T.rows[s];
    std::int32_t const own = T.own[s], end = T.offsets[s + 1];
    Scalar const of_b = right[T.right[s]],
                 inverse = T.inverse == nullptr ? Scalar(1) : T.inverse[s];

    Scalar value[kept];
    std::int32_t slot[kept];
    for (int u = 0; u < kept; ++u) {
      bool const is = own + u < end;
      slot[u] = is ? T.columns[own + u] << T.lane_bits : -1;
      value[u] = is ? T.values[own + u] * inverse : Scalar{};
    }
    std::int32_t const most_own = most_of_warp(end - own);

    Scalar sum{};
    for (std::int32_t k = T.offsets[s] + of_row; k < own; k += batch * lanes)
      sum += others(k, own, lanes);
    lane_barrier();
    for (int m = lanes / 2; m > 0; m /= 2) sum += lane_exchange(sum, m);

    Scalar const outer = (of_b - sum) * inverse;
    Scalar solved = outer;
    if (most_own <= 2)
      solve_within<2>(depth, outer, value, slot, solved);
    else if (most_own == 3)
      solve_within<3>(depth, outer, value, slot, solved);
    else if (most_own == 4)
      solve_within<4>(depth, outer, value, slot, solved);
    else if (most_own <= kept)
      solve_within<kept>(depth, outer, value, slot, solved);
    else
      for (std::int32_t turn = 1; turn < depth; ++turn) {
        Scalar rest = outer;
        for (std::int32_t k = own; k < own + most_own; ++k) {
          Scalar const needed = lane_value(solved, (k < end ? T.columns[k] : 0) << T.lane_bits);
          if (k < end) rest -= T.values[k] * inverse * needed;
        }
        solved = rest;
      }
    if (!is_row || of_row > 0) return;
    Scalar const handed_out = but_marked(solved);
    store_relaxed(x + s, handed_out);
    if (marked != nullptr) marked[s] = not_yet<Scalar>();
    consume(i, handed_out);
  }

  /// \brief The repeated solves within a tile, each of whose rows needs at most N others of the
  /// tile; slot -1: none.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION static void solve_within(std::int32_t depth, Scalar const& outer,
                                                       Scalar const* value,
                                                       std::int32_t const* slot, Scalar& solved) {
    for (std::int32_t turn = 1; turn < depth; ++turn) {
      Scalar rest = outer;
      for (int u = 0; u < N; ++u) {
        Scalar const needed = lane_value(solved, slot[u] < 0 ? 0 : slot[u]);
        if (slot[u] >= 0) rest -= value[u] * needed;
      }
      solved = rest;
    }
  }

  /// \brief The sum of the products of entries k, k + step, ... before `end`, `batch` of them, as
  /// soon as their entries of x are there. These belong to tiles that were taken earlier, by warps
  /// that do not wait for this one.
  KOKKOS_FORCEINLINE_FUNCTION Scalar others(std::int32_t k, std::int32_t end,
                                            std::int32_t step) const {
    constexpr int batch = TriangularOperator<Scalar>::batch;
    Scalar value[batch], entry[batch];
    std::int32_t column[batch];
    for (int u = 0; u < batch; ++u) {
      bool const is = k + u * step < end;
      column[u] = is ? T.columns[k + u * step] : 0;
      value[u] = is ? T.values[k + u * step] : Scalar{};
      entry[u] = is ? not_yet<Scalar>() : Scalar{};
    }
    bool all = false;
    while (!all) {
      all = true;
      for (int u = 0; u < batch; ++u)
        if (is_not_yet(entry[u])) entry[u] = load_relaxed(x + column[u]);
      for (int u = 0; u < batch; ++u) all = all && !is_not_yet(entry[u]);
    }
    Scalar sum{};
    for (int u = 0; u < batch; ++u) sum += value[u] * entry[u];
    return sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t most_of_warp(std::int32_t count) {
    for (int m = warp / 2; m > 0; m /= 2) {
      std::int32_t const other = lane_exchange(count, m);
      count = other > count ? other : count;
    }
    return count;
  }
};

/// \brief A stage that prepares the solves with both factors: sets the counters to 0 and, on GPUs,
/// x and y to "not yet". Words: 2 a row on GPUs.
template <class Scalar>
struct NothingSolved {
  static constexpr char const* label = "Solder::triangular::begin";
  static constexpr int threads = league_threads, most_sums = 1;

  static constexpr bool reads_sums = false;

  Phase phase;
  Rows rows;
  std::int32_t league;
  Scalar *x, *y;
  std::int32_t* counters;
  std::int32_t many;  ///< number of counters

  bool operator==(NothingSolved const&) const = default;
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return league; }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team, At const&, Control const& now,
                                       Control&) const {
    if (now.phase != phase) return;
    if constexpr (!std::is_same_v<Team, HostTeam>)
      team.for_each_row(rows, [&](std::int32_t i) {
        x[i] = not_yet<Scalar>();
        y[i] = not_yet<Scalar>();
      });
    if (team.league_rank() == 0 && team.rank() == 0)
      for (std::int32_t k = 0; k < many; ++k) counters[k] = 0;
  }
};

/// \brief A body that does nothing with a row, because its source stores the rows itself.
struct Keep {
  bool operator==(Keep const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t, auto const&) const {}
};

/// \brief Stores rows in the order of rows, whatever order their source stores them in.
template <class Scalar>
struct StoreRows {
  Scalar* x;
  bool operator==(StoreRows const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value) const { x[i] = value; }
};

}  // namespace Solder::Impl::triangular
