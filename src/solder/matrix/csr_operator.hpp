// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/compressed_rows.hpp>
#include <solder/matrix/kept.hpp>

namespace Solder {

/// \brief The device side of a CSR matrix: what kernels need to hand out row products.
///
/// On GPUs 2^lane_bits lanes share a row, and rows are dealt cyclically to all teams. Rows longer
/// than `short_row` are postponed until the others are done. Groups of 8 times as many lanes, warps
/// or whole teams then compute them, so that a few long rows do not hold up many short ones.
/// On hosts each team takes a contiguous slice of `rows`, balanced by work.
///
/// The struct is small, because a stage may contain several. On GPUs, where slices need no bounds,
/// `rows.bounds` lists the long rows instead: the numbers of rows for groups, for warps and for
/// teams, then the rows in this order. Null: there are none.
template <class Scalar, class Offset>
struct CsrOperator {
  Offset const* row_offsets;
  std::int32_t const* columns;
  Scalar const* values;
  Rows rows;
  std::int32_t lane_bits;
  std::int32_t teams;

  /// Whether it accepts vectors of several right-hand sides, and systems of a batch; see HostTeam.
  static constexpr bool takes_columns = true, takes_batches = true;
  /// Whether it accepts an x with twice the digits of double; see Widened.
  static constexpr bool takes_twice = true;

  bool operator==(CsrOperator const&) const = default;

  /// \brief Calls prepare() and returns its result. If that is true, calls consume(i, (A x)_i) once
  /// for every row i of this team, in one thread, with the value in a register.
  ///
  /// All threads of the team call this together; prepare must return the same in all of them. Reads
  /// the matrix once: on GPUs from the last row to the first, because vector stages go upwards and
  /// what they accessed last is still in the cache; on hosts, which fetch ahead, upwards. x is an
  /// array, or anything with x[i]. Its scalar, which is also the product's, may be more precise
  /// than the matrix's (Impl::Widened).
  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(Team const& team, Operand const& x,
                                                        Prepare const& prepare,
                                                        Consumer const& consume) const {
    if constexpr (std::is_same_v<Team, Impl::HostTeam>) {
      if (!prepare()) return false;
      Impl::compressed_products(team, rows, row_offsets, columns, values, x, consume);
      return true;
    } else if constexpr (Team::has_columns) {
      return column_products(team, x, prepare, consume);
    } else {
      return device_products(team, x, prepare, consume);
    }
  }

  /// \brief The number of threads at which each thread has one row at most, so that a kernel of a
  /// whole solve can keep() it; 0: some rows are too long for that.
  std::int64_t threads_to_hold() const {
    return rows.bounds != nullptr ? 0 : static_cast<std::int64_t>(rows.count) << lane_bits;
  }
  /// \brief What a thread keeps of its row, for a made vector x; see MadeProduct.
  template <class Team, class Vector>
  KOKKOS_FORCEINLINE_FUNCTION auto keep(Team const& team, Vector const& x) const {
    std::int32_t const lanes = 1 << lane_bits, at_once = team.size() >> lane_bits,
                       base = team.first_place(rows.count, at_once, team.size());
    Row const row =
        row_at(base + (team.rank() >> lane_bits), rows.count, rows.count, rows.count, nullptr);
    Impl::RowShare const share{row.row,
                               static_cast<std::int64_t>(row.begin) + (team.rank() & (lanes - 1)),
                               static_cast<std::int64_t>(row.end)};
    return Impl::keep_share(*this, x, share, lanes);
  }
  template <class Team, class Weight, class Made, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(
      Team const& team, Impl::KeptShare<CsrOperator, Weight> const& kept, Made const& x,
      Prepare const& prepare, Consumer const& consume) const {
    return Impl::kept_product(team, *this, kept, lane_bits, std::int64_t(1) << lane_bits, x,
                              prepare, consume);
  }

  /// \brief Whether, on a GPU, row i of a product is computed by the team of a whole solve that
  /// owns row i of a vector.
  bool is_aligned() const { return rows.bounds == nullptr; }

  /// \brief Nonzeros of the longest row that is not listed.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int32_t short_row(std::int32_t lane_bits) {
    return 16 << lane_bits;
  }

  /// Nonzeros of the longest row for a warp; whole teams compute longer ones.
  static constexpr std::int32_t most_of_warp = 2048;

 private:
  /// The base-2 logarithm of the lanes of a group, which share a listed row.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t group_bits() const {
    return lane_bits + 3 < 5 ? lane_bits + 3 : 5;
  }

  /// The loads that a lane has in flight at a time. With twice the digits there are only 4, because
  /// these must not take more registers than an iteration does.
  template <class X>
  static constexpr int batch_of = Impl::TwiceTheDigits<X> ? 4 : 8;

  /// \brief The sum of the terms begin, begin + step, ... below end of a row product, a batch at
  /// a time.
  template <class X, class Operand>
  KOKKOS_FORCEINLINE_FUNCTION X part(Operand const& x, Offset begin, Offset end,
                                     Offset step) const {
    constexpr int batch = batch_of<X>;
    X sum{};
    for (Offset k = begin; k < end; k += batch * step) {
      Scalar value[batch];
      X factor[batch];
      std::int32_t column[batch];
      for (int j = 0; j < batch; ++j) column[j] = k + j * step < end ? columns[k + j * step] : -1;
      for (int j = 0; j < batch; ++j)
        value[j] = k + j * step < end ? values[k + j * step] : Scalar{};
      for (int j = 0; j < batch; ++j) factor[j] = column[j] >= 0 ? x[column[j]] : X{};
      for (int j = 0; j < batch; ++j) sum += X(value[j]) * factor[j];
    }
    return sum;
  }

  /// \brief What a lane sums of a row: the entries begin, begin + step, ... below end.
  struct Share {
    Offset begin = 0, end = 0;
  };

  /// \brief The first columns of a share; -1 beyond its end.
  template <int batch>
  KOKKOS_FORCEINLINE_FUNCTION void load_columns(Share const& of, Offset step,
                                                std::int32_t (&column)[batch]) const {
    for (int j = 0; j < batch; ++j) column[j] = -1;
    if (of.begin >= of.end) return;
    for (int j = 0; j < batch; ++j)
      if (of.begin + j * step < of.end) column[j] = columns[of.begin + j * step];
  }
  /// \brief part() of a share whose first columns are loaded. Those of the share that comes next
  /// are loaded while the entries of x are under way. (part() as a case of it made kernels of whole
  /// solves with vectors on chip 5% slower.)
  template <class X, class Operand, int batch>
  KOKKOS_FORCEINLINE_FUNCTION X part_ahead(Operand const& x, Share now, Share const& next,
                                           Offset step, std::int32_t (&column)[batch]) const {
    X sum{};
    do {
      Scalar value[batch];
      X factor[batch];
      for (int j = 0; j < batch; ++j)
        value[j] = now.begin + j * step < now.end ? values[now.begin + j * step] : Scalar{};
      for (int j = 0; j < batch; ++j) factor[j] = column[j] >= 0 ? x[column[j]] : X{};
      now.begin += batch * step;
      load_columns(now.begin < now.end ? now : next, step, column);
      for (int j = 0; j < batch; ++j) sum += X(value[j]) * factor[j];
    } while (now.begin < now.end);
    return sum;
  }

  /// \brief A row and the range of its entries; row -1: none.
  struct Row {
    std::int32_t row;
    Offset begin, end;
  };

  /// \brief The row at `place`, out of `places`. Without a list, rows go from last - 1 downwards,
  /// and those from `end` on count as none.
  KOKKOS_FORCEINLINE_FUNCTION Row row_at(std::int32_t place, std::int32_t places, std::int32_t last,
                                         std::int32_t end, std::int32_t const* list) const {
    if (place >= places) return {-1, 0, 0};
    std::int32_t const i = list == nullptr ? last - 1 - place : list[place];
    if (list == nullptr && i >= end) return {-1, 0, 0};
    return {i, row_offsets[i], row_offsets[i + 1]};
  }

  /// \brief One column of an x with several columns.
  template <class Operand>
  struct Column {
    Operand const& x;
    std::int32_t columns, column;

    KOKKOS_FORCEINLINE_FUNCTION auto operator[](std::int32_t i) const {
      return x[i * columns + column];
    }
  };

  /// \brief Entries of two neighbouring columns: number `at`, which is even, and the next one.
  template <class X, class Operand>
  KOKKOS_FORCEINLINE_FUNCTION static Impl::Pair<X> pair_at(Operand const& x, std::int32_t at) {
    if constexpr (std::is_pointer_v<Operand>)
      return Impl::load_pair(x + at);
    else
      return {x[at], x[at + 1]};
  }

  /// \brief See slot_products. All threads of a column share each of the longest rows. If there are
  /// more threads than rows, several threads share every row. The number of columns is even, and x
  /// is aligned to pairs.
  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool column_products(Team const& team, Operand const& x,
                                                   Prepare const& prepare,
                                                   Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    std::int32_t const sharing = sharing_bits(team);
    if (sharing > 0) {
      Row const first = shared_row(team, 0, sharing);
      bool const went_on = prepare();
      if (team.any_column(went_on)) shared_rows(team, x, sharing, first, went_on, consume);
      return went_on;
    }
    constexpr int most = sizeof(X) <= 8 ? 4 : 2;
    bool const went_on = team.columns() >= 8 && team.columns() % most == 0
                             ? slot_products<most>(team, x, prepare, consume)
                             : slot_products<2>(team, x, prepare, consume);
    if (rows.bounds != nullptr && team.any_column(went_on)) longest_rows(team, x, went_on, consume);
    return went_on;
  }

  /// \brief Each slot of the team (see ColumnTeam) computes AtOnce rows at a time, two or four. Its
  /// threads share each row equally: a thread computes AtOnce columns of one row, in pairs of
  /// neighbours. So an entry of A is loaded once for AtOnce columns, and the threads of a row load
  /// adjacent entries of x: on an H100 the throughput of the nearest cache limits such products.
  /// Afterwards each thread gets its own column's sums for all these rows.
  template <int AtOnce, class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool slot_products(Team const& team, Operand const& x,
                                                 Prepare const& prepare,
                                                 Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    std::int32_t const width = team.columns(), threads = width / AtOnce,  // per row
        number = team.column() / threads,                                 // of the thread's row
        at_once = AtOnce * team.slots(), step = team.league_size() * at_once;
    // A thread's pairs are 2 * threads columns apart. The first pairs of neighbouring rows' threads
    // are in the same cache banks, so these threads begin with different pairs.
    bool const swaps = AtOnce == 4 && threads < 8 && (number & (threads > 2 ? 1 : 2)) != 0;
    std::int32_t const first = 2 * (team.column() - number * threads),
                       pair = swaps ? first + 2 * threads : first,
                       hop = swaps ? -2 * threads : 2 * threads;
    // The place of this thread's own column among the AtOnce columns of the threads that compute
    // it, and the lane of the first of these threads.
    std::int32_t const own = (team.column() & 1) + (team.column() >= 2 * threads ? 2 : 0),
                       from =
                           Impl::lane_number() - team.column() + team.column() % (2 * threads) / 2;
    bool const lists = rows.bounds != nullptr;
    std::int32_t base = team.league_rank() * at_once;
    auto const row_of = [&](std::int32_t lowest) {
      std::int32_t const row = lowest + AtOnce * team.slot() + number;
      bool const none = team.slot() == team.slots() || row >= rows.count;
      return none ? Row{-1, 0, 0} : Row{row, row_offsets[row], row_offsets[row + 1]};
    };
    Row next = row_of(base);
    bool const went_on = prepare();
    if (!team.any_column(went_on)) return false;
    for (; base < rows.count; base += step) {
      Row const now = next;
      next = row_of(base + step);
      X sums[AtOnce]{};
      if (now.row >= 0 && !(lists && is_longest(now.row)))
        add_pairs(x, now.begin, now.end, width, pair, hop, sums);
      if (swaps) exchange_places(sums, 2);
      // In turn k a thread gives away its sum number ^ k and gets its own column's of row own ^ k.
      exchange_places(sums, number);
      for (int k = 0; k < AtOnce; ++k)
        sums[k] = Impl::lane_value(sums[k], from + (own ^ k) * threads);
      exchange_places(sums, own);
      if (!went_on || team.slot() == team.slots()) continue;
      std::int32_t const lowest = base + AtOnce * team.slot();
      for (int k = 0; k < AtOnce; ++k)
        if (lowest + k < rows.count && !(lists && is_longest(lowest + k)))
          consume((lowest + k) * width + team.column(), sums[k]);
    }
    return went_on;
  }

  /// \brief Sets each values[k] to the former values[k ^ with].
  template <int N, class X>
  KOKKOS_FORCEINLINE_FUNCTION static void exchange_places(X (&values)[N], std::int32_t with) {
    for (int bit = 1; bit < N; bit *= 2)
      for (int k = 0; k < N; ++k) {
        if ((k & bit) != 0) continue;
        X const low = values[k], high = values[k + bit];
        values[k] = (with & bit) != 0 ? high : low;
        values[k + bit] = (with & bit) != 0 ? low : high;
      }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_longest(std::int32_t row) const {
    return static_cast<std::int64_t>(row_offsets[row + 1] - row_offsets[row]) > most_of_warp;
  }

  /// \brief Adds the terms of entries begin to end - 1 for columns `pair` and pair + 1 and, if N is
  /// 4, pair + hop and pair + hop + 1. As many loads are in flight at a time as there are registers
  /// for, and half as many at the end. (Unrolling would use these registers for several turns.)
  template <class Operand, class X, int N>
  KOKKOS_FORCEINLINE_FUNCTION void add_pairs(Operand const& x, Offset begin, Offset end,
                                             std::int32_t width, std::int32_t pair,
                                             std::int32_t hop, X (&sums)[N]) const {
    constexpr int batch = N * sizeof(X) > 16 ? 6 : 8;
    auto const add = [&](auto many, auto all, Offset k) {
      Scalar value[many()];
      Impl::Pair<X> factor[N / 2][many()];
      std::int32_t column[many()];
      for (int j = 0; j < many(); ++j) {
        bool const is_there = all() || k + j < end;
        Offset const at = is_there ? k + j : end - 1;
        column[j] = columns[at];
        value[j] = is_there ? values[at] : Scalar{};
      }
      for (int j = 0; j < many(); ++j)
        for (int p = 0; p < N / 2; ++p)
          factor[p][j] = pair_at<X>(x, column[j] * width + pair + p * hop);
      for (int j = 0; j < many(); ++j)
        for (int p = 0; p < N / 2; ++p) {
          sums[2 * p] += X(value[j]) * factor[p][j].first;
          sums[2 * p + 1] += X(value[j]) * factor[p][j].second;
        }
    };
    Offset k = begin;
    SOLDER_NO_UNROLLING
    for (; k + batch <= end; k += batch)
      add(std::integral_constant<int, batch>{}, std::true_type{}, k);
    SOLDER_NO_UNROLLING
    for (; k < end; k += batch / 2)
      add(std::integral_constant<int, batch / 2>{}, std::false_type{}, k);
  }

  /// \brief The base-2 logarithm of the threads of a column that share a row: at most as many as
  /// the lanes that share it for a single column.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t sharing_bits(Team const& team) const {
    std::int32_t const slots = team.slots(), all = team.league_size() * slots;
    std::int32_t bits = 0;
    while (bits < lane_bits && all >> (bits + 1) >= rows.count && slots >> (bits + 1) > 0) ++bits;
    return bits;
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Row shared_row(Team const& team, std::int32_t turn,
                                             std::int32_t bits) const {
    std::int32_t const at_once = team.slots() >> bits, place = team.slot() >> bits,
                       row = (turn * team.league_size() + team.league_rank()) * at_once + place;
    bool const none = place >= at_once || row >= rows.count;
    return none ? Row{-1, 0, 0} : Row{row, row_offsets[row], row_offsets[row + 1]};
  }

  /// \brief The products of so few rows that several threads share each; `now` is the thread's
  /// first row. The threads' shares are added in the team's scratch.
  template <class Team, class Operand, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION void shared_rows(Team const& team, Operand const& x,
                                               std::int32_t bits, Row now, bool went_on,
                                               Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    Column<Operand> const mine{x, team.columns(), team.column()};
    std::int32_t const sharing = 1 << bits, number = team.slot() & (sharing - 1),
                       turns = rows.count / (team.league_size() * (team.slots() >> bits)) + 1;
    X* const share =
        reinterpret_cast<X*>(team.scratch()) + team.slot() * team.columns() + team.column();
    for (std::int32_t turn = 0; turn < turns; ++turn) {
      if (turn > 0) now = shared_row(team, turn, bits);
      if (now.row >= 0) *share = part<X>(mine, now.begin + number, now.end, Offset(sharing));
      team.barrier();
      if (now.row >= 0 && number == 0 && went_on) {
        X sum{};
        for (std::int32_t k = 0; k < sharing; ++k) sum += share[k * team.columns()];
        consume(now.row * team.columns() + team.column(), sum);
      }
      team.barrier();
    }
  }

  template <class Team, class Operand, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION void longest_rows(Team const& team, Operand const& x, bool went_on,
                                                Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    Column<Operand> const mine{x, team.columns(), team.column()};
    std::int32_t const listed = rows.bounds[0] + rows.bounds[1], longest = rows.bounds[2];
    for (std::int32_t k = team.league_rank(); k < longest; k += team.league_size()) {
      std::int32_t const row = rows.bounds[3 + listed + k];
      X share{};
      if (team.slot() < team.slots())
        share = part<X>(mine, row_offsets[row] + team.slot(), row_offsets[row + 1], team.slots());
      X const total =
          Impl::sum_of_threads(share, [&](auto const& mine) { return team.total_of_column(mine); });
      if (went_on && team.slot() == 0) consume(row * team.columns() + team.column(), total);
    }
  }

  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool device_products(Team const& team, Operand const& x,
                                                   Prepare const& prepare,
                                                   Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    std::int32_t group_rows = 0, warp_rows = 0, team_rows = 0;
    if (!Team::has_window && rows.bounds != nullptr) {
      group_rows = rows.bounds[0];
      warp_rows = rows.bounds[1];
      team_rows = rows.bounds[2];
    }
    // First all rows that are not listed, then the list for groups, then the list for warps.
    int const passes = group_rows + warp_rows == 0 ? 1 : 3;
    for (int pass = 0; pass < passes; ++pass) {
      std::int32_t const* const list =
          pass == 0 ? nullptr : rows.bounds + (pass == 1 ? 3 : 3 + group_rows);
      std::int32_t const bits = pass == 0 ? lane_bits : pass == 1 ? group_bits() : 5;
      std::int32_t const lanes = 1 << bits, lane = team.rank() & (lanes - 1);
      std::int32_t const at_once = team.size() >> bits, block = pass == 0 ? team.size() : at_once;
      std::int32_t const first = team.first(rows), end = team.last(rows);
      std::int32_t const places = pass == 0   ? team.places(end - first, block)
                                  : pass == 1 ? group_rows
                                              : warp_rows;
      std::int32_t base = team.first_place(places, at_once, block);
      auto const is_short = [&](Row const& of) {
        return Team::has_window || pass > 0 ||
               static_cast<std::int64_t>(of.end - of.begin) <= short_row(lane_bits);
      };
      auto const share = [&](Row const& of) {
        return is_short(of) ? Share{of.begin + lane, of.end} : Share{};
      };
      Row next = row_at(base + (team.rank() >> bits), places, first + places, end, list);
      std::int32_t column[batch_of<X>];
      if (Team::asks_ahead) load_columns(share(next), lanes, column);
      if (pass == 0 && !prepare()) return false;
      // All lanes of a warp make the same number of turns, because they exchange their sums.
      while (base < places) {
        Row const now = next;
        base = team.next_place(base, at_once, block);
        next = row_at(base + (team.rank() >> bits), places, first + places, end, list);
        bool const mine = now.row >= 0 && is_short(now);
        X sum{};
        if constexpr (Team::asks_ahead) {
          if (mine && lane == 0) Impl::ask_for_row(consume, now.row);
          sum = part_ahead<X>(x, share(now), share(next), lanes, column);
        } else {
          if (mine) sum = part<X>(x, now.begin + lane, now.end, lanes);
        }
        for (int m = lanes / 2; m > 0; m /= 2) sum += Impl::lane_exchange(sum, m);
        if (mine && lane == 0) consume(team.own(now.row), sum);
      }
    }
    for (std::int32_t k = team.league_rank(); k < team_rows; k += team.league_size()) {
      std::int32_t const row = rows.bounds[3 + group_rows + warp_rows + k];
      X const mine = part<X>(x, row_offsets[row] + team.rank(), row_offsets[row + 1], team.size());
      X const total =
          Impl::sum_of_threads(mine, [&](auto const& numbers) { return team.sum(numbers); });
      if (team.rank() == 0) consume(team.own(row), total);
    }
    return true;
  }
};

}  // namespace Solder
