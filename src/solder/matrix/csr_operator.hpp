// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/kept.hpp>

namespace Solder {

/// \brief The device side of a CSR matrix: what kernels need to hand out row products.
///
/// On GPUs a row is worked on by 2^lane_bits lanes, and the rows are dealt cyclically to all teams.
/// Rows longer than `short_row` wait until the others are done and are worked on by groups of 8
/// times the lanes, by warps or by whole teams, so that a few long rows do not hold up many short
/// ones.
/// On hosts each team takes the contiguous slice of `rows`, balanced by work.
///
/// It is small, for a stage may take several along: on GPUs, where slices have no bounds,
/// `rows.bounds` lists the long rows: how many are for groups, for warps and for teams, then the
/// rows in this order. Null: there are none.
template <class Scalar, class Offset>
struct CsrOperator {
  Offset const* row_offsets;
  std::int32_t const* columns;
  Scalar const* values;
  Rows rows;
  std::int32_t lane_bits;
  std::int32_t teams;

  /// Whether it takes vectors of several right-hand sides, and systems of a batch; see HostTeam.
  static constexpr bool takes_columns = true, takes_batches = true;

  bool operator==(CsrOperator const&) const = default;

  /// \brief If prepare(), whose answer is returned, says so: gives consume(i, (A x)_i) for every
  /// row i of this team, once, by one thread, the value in a register.
  ///
  /// All threads of the team call this together; prepare must answer the same in all. Reads the
  /// matrix once, from the last row to the first: what the vector stages, which go upwards, touched
  /// last is still in the cache. x is an array, or whatever answers x[i]; its scalar, which is the
  /// product's too, may be more precise than the matrix.
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

  /// \brief Whether each of so many threads has one row at most, so that a kernel of a whole solve
  /// can keep() it.
  bool keeps_all_rows(std::int64_t threads) const {
    return rows.bounds == nullptr &&
           (static_cast<std::int64_t>(rows.count) << lane_bits) <= threads;
  }
  /// \brief What a thread keeps of its row, for the made vector x; see MadeProduct.
  template <class Team, class Vector>
  KOKKOS_FORCEINLINE_FUNCTION auto keep(Team const& team, Vector const& x) const {
    std::int32_t const lanes = 1 << lane_bits, at_once = team.size() >> lane_bits,
                       base = team.first_place(rows.count, at_once, team.size());
    Row const row =
        row_at(base + (team.rank() >> lane_bits), rows.count, rows.count, rows.count, nullptr);
    return Impl::keep_share(*this, x, {row.row, row.begin + (team.rank() & (lanes - 1)), row.end},
                            lanes);
  }
  template <class Team, class Weight, class Made, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(
      Team const& team, Impl::KeptShare<CsrOperator, Weight> const& kept, Made const& x,
      Prepare const& prepare, Consumer const& consume) const {
    return Impl::kept_product(team, *this, kept, lane_bits, std::int64_t(1) << lane_bits, x,
                              prepare, consume);
  }

  /// \brief Whether, on a GPU, the team of a whole solve that has row i of a vector hands out row
  /// i.
  bool keeps_rows() const { return rows.bounds == nullptr; }

  /// \brief Nonzeros of the longest row that is not listed.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int32_t short_row(std::int32_t lane_bits) {
    return 16 << lane_bits;
  }

  /// Nonzeros of the longest row of a warp; longer ones are a whole team's.
  static constexpr std::int32_t most_of_warp = 2048;

 private:
  /// Lanes of a group, in bits, that share a listed row.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t group_bits() const {
    return lane_bits + 3 < 5 ? lane_bits + 3 : 5;
  }

  /// \brief The terms begin, begin + step, ... below end of a row product, 8 of them in flight at a
  /// time.
  template <class X, class Operand>
  KOKKOS_FORCEINLINE_FUNCTION X part(Operand const& x, Offset begin, Offset end,
                                     Offset step) const {
    constexpr int batch = 8;
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

  /// \brief A row, and where its entries are; row -1: none.
  struct Row {
    std::int32_t row;
    Offset begin, end;
  };

  /// \brief What is at one of `places`: without a list the rows from last - 1 downwards, those from
  /// `end` on being none.
  KOKKOS_FORCEINLINE_FUNCTION Row row_at(std::int32_t place, std::int32_t places, std::int32_t last,
                                         std::int32_t end, std::int32_t const* list) const {
    if (place >= places) return {-1, 0, 0};
    std::int32_t const i = list == nullptr ? last - 1 - place : list[place];
    if (list == nullptr && i >= end) return {-1, 0, 0};
    return {i, row_offsets[i], row_offsets[i + 1]};
  }

  /// \brief A column of an x of several.
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

  /// \brief Each slot of the team (see ColumnTeam) has two rows at a time. A thread computes one of
  /// them, for its own column and for its neighbour's, so that two columns are one load, and the
  /// neighbours exchange a sum. The longest rows are shared by all threads of a column, and all
  /// rows by some where there are more threads than rows. Columns are even, and x is aligned to
  /// pairs.
  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool column_products(Team const& team, Operand const& x,
                                                   Prepare const& prepare,
                                                   Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    std::int32_t const width = team.columns(), odd = team.column() & 1,
                       step = team.league_size() * 2 * team.slots(), sharing = sharing_bits(team);
    bool const lists = rows.bounds != nullptr;
    std::int32_t base = team.league_rank() * 2 * team.slots();
    auto const row_of = [&](std::int32_t first) {
      std::int32_t const row = first + 2 * team.slot() + odd;
      bool const none = team.slot() == team.slots() || row >= rows.count;
      return none ? Row{-1, 0, 0} : Row{row, row_offsets[row], row_offsets[row + 1]};
    };
    Row next = sharing > 0 ? shared_row(team, 0, sharing) : row_of(base);
    bool const went_on = prepare();
    if (!team.any_column(went_on)) return false;
    if (sharing > 0) {
      shared_rows(team, x, sharing, next, went_on, consume);
      return went_on;
    }
    for (; base < rows.count; base += step) {
      Row const now = next;
      next = row_of(base + step);
      X sums[2]{};
      if (now.row >= 0 && !(lists && is_longest(now.row)))
        add_pair(x, now.begin, now.end, team.column() & ~1, width, sums);
      X const got = Impl::lane_exchange(odd != 0 ? sums[0] : sums[1], 1);
      if (!went_on || team.slot() == team.slots()) continue;
      std::int32_t const lower = base + 2 * team.slot();
      if (lower < rows.count && !(lists && is_longest(lower)))
        consume(lower * width + team.column(), odd != 0 ? got : sums[0]);
      if (lower + 1 < rows.count && !(lists && is_longest(lower + 1)))
        consume((lower + 1) * width + team.column(), odd != 0 ? sums[1] : got);
    }
    if (lists) longest_rows(team, x, went_on, consume);
    return went_on;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_longest(std::int32_t row) const {
    return static_cast<std::int64_t>(row_offsets[row + 1] - row_offsets[row]) > most_of_warp;
  }

  /// \brief Adds the terms of the entries begin to end - 1 of the columns `pair` and pair + 1.
  template <class Operand, class X>
  KOKKOS_FORCEINLINE_FUNCTION void add_pair(Operand const& x, Offset begin, Offset end,
                                            std::int32_t pair, std::int32_t width,
                                            X (&sums)[2]) const {
    constexpr int batch = 4;
    for (Offset k = begin; k < end; k += batch) {
      Scalar value[batch];
      Impl::Pair<X> factor[batch];
      std::int32_t column[batch];
      for (int j = 0; j < batch; ++j) {
        Offset const at = k + j < end ? k + j : end - 1;
        column[j] = columns[at];
        value[j] = k + j < end ? values[at] : Scalar{};
      }
      for (int j = 0; j < batch; ++j) factor[j] = pair_at<X>(x, column[j] * width + pair);
      for (int j = 0; j < batch; ++j) {
        sums[0] += X(value[j]) * factor[j].first;
        sums[1] += X(value[j]) * factor[j].second;
      }
    }
  }

  /// \brief Threads of a column that share a row, in bits: up to the lanes that would.
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

  /// \brief The products of as few rows, of which `now` is the thread's first: their shares are
  /// added in the team's scratch.
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
      X total;
      if constexpr (ScalarTraits<X>::is_complex) {
        Sums<2> const sums =
            team.total_of_column(Sums<2>{{double(share.real()), double(share.imag())}});
        total = X(Impl::to_real<X>(sums[0]), Impl::to_real<X>(sums[1]));
      } else {
        total = static_cast<X>(team.total_of_column(Sums<1>{{double(share)}})[0]);
      }
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
    // First all rows but the listed ones; then the groups' list, then the warps'.
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
      Row next = row_at(base + (team.rank() >> bits), places, first + places, end, list);
      if (pass == 0 && !prepare()) return false;
      // All lanes of a warp make the same number of turns, for they exchange their sums.
      while (base < places) {
        Row const now = next;
        base = team.next_place(base, at_once, block);
        next = row_at(base + (team.rank() >> bits), places, first + places, end, list);
        bool const mine = now.row >= 0 &&
                          (Team::has_window || pass > 0 ||
                           static_cast<std::int64_t>(now.end - now.begin) <= short_row(lane_bits));
        X sum = mine ? part<X>(x, now.begin + lane, now.end, lanes) : X{};
        for (int m = lanes / 2; m > 0; m /= 2) sum += Impl::lane_exchange(sum, m);
        if (mine && lane == 0) consume(team.own(now.row), sum);
      }
    }
    for (std::int32_t k = team.league_rank(); k < team_rows; k += team.league_size()) {
      std::int32_t const row = rows.bounds[3 + group_rows + warp_rows + k];
      X const mine = part<X>(x, row_offsets[row] + team.rank(), row_offsets[row + 1], team.size());
      X total;
      if constexpr (ScalarTraits<X>::is_complex) {
        Sums<2> const sums = team.sum(Sums<2>{{double(mine.real()), double(mine.imag())}});
        total = X(Impl::to_real<X>(sums[0]), Impl::to_real<X>(sums[1]));
      } else {
        total = static_cast<X>(team.sum(Sums<1>{{double(mine)}})[0]);
      }
      if (team.rank() == 0) consume(team.own(row), total);
    }
    return true;
  }
};

}  // namespace Solder
