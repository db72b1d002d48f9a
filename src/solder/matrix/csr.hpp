// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/matrix/kept.hpp>
#include <solder/matrix/partition.hpp>

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
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(Team const& team,
                                                        Impl::KeptShare<CsrOperator, Weight> const& kept,
                                                        Made const& x, Prepare const& prepare,
                                                        Consumer const& consume) const {
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

namespace Impl {

/// \brief Nonzeros of the longest row.
template <class Exec, class Offset>
std::int32_t longest_row(Exec const& exec, Offset const* offsets, std::int32_t rows) {
  std::int32_t longest = 0;
  Kokkos::parallel_reduce(
      "Solder::csr::longest_row", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int i, std::int32_t& most) {
        auto const length = static_cast<std::int32_t>(offsets[i + 1] - offsets[i]);
        if (length > most) most = length;
      },
      Kokkos::Max<std::int32_t>(longest));
  return std::max(longest, 0);
}

/// \brief Puts the rows of more than `above` and at most `most` nonzeros, ascending, into list from
/// `at` on; answers how many they are. Without a list it only counts.
template <class Exec, class Offset>
std::int32_t list_rows(Exec const& exec, Offset const* offsets, std::int32_t rows,
                       std::int64_t above, std::int64_t most, std::int32_t* list = nullptr,
                       std::int32_t at = 0) {
  std::int32_t count = 0;
  Kokkos::parallel_scan(
      "Solder::csr::list_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int i, std::int32_t& c, bool last) {
        auto const length = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
        if (length <= above || length > most) return;
        if (last && list != nullptr) list[at + c] = i;
        ++c;
      },
      count);
  return count;
}

/// \brief to[0], to[1], to[2] = a, b, c.
template <class Exec>
void set_three(Exec const& exec, std::int32_t* to, std::int32_t a, std::int32_t b, std::int32_t c) {
  Kokkos::parallel_for(
      "Solder::csr::note_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, 3), KOKKOS_LAMBDA(int k) {
        to[k] = k == 0 ? a : k == 1 ? b : c;
      });
}

/// \brief What is known of the lengths of a matrix's rows.
struct RowLengths {
  std::int32_t most = -1;  ///< of them; -1: nothing is known
};

template <class V>
concept IsView = Kokkos::is_view_v<V>;

/// \brief Whether kernels of Exec can access the memory of these views.
template <class Exec, class... Views>
inline constexpr bool can_access =
    (Kokkos::SpaceAccessibility<Exec, typename Views::memory_space>::accessible && ...);

}  // namespace Impl

/// \brief A type with the members of Kokkos Kernels' CrsMatrix.
template <class M>
concept CrsMatrixLike = requires(M const& m) {
  m.graph.row_map.data();
  m.graph.entries.data();
  m.values.data();
  { m.numRows() } -> std::convertible_to<std::int64_t>;
  { m.numCols() } -> std::convertible_to<std::int64_t>;
};

/// \brief A sparse matrix in compressed rows, on the device of Exec.
///
/// \tparam Scalar float, double or Kokkos::complex of them
/// \tparam Offset of the row offsets: int32; int64 for more than 2^31 - 1 nonzeros; std::size_t as
/// Tpetra has
///
/// Shares the arrays it was made from (views count references) and adds the row partition. The
/// pattern must not change afterwards; values may. Entries of a row may be in any order; where
/// several have the same column, they count as their sum. What host data say is checked; device
/// data are believed, unless one asks to validate them.
template <class Scalar, class Exec, class Offset = std::int32_t>
class CsrMatrix {
 public:
  using scalar_type = Scalar;
  using execution_space = Exec;
  using memory_space = typename Exec::memory_space;
  using Operator = CsrOperator<Scalar, Offset>;
  using Offsets = Kokkos::View<Offset const*, memory_space>;
  using Columns = Kokkos::View<std::int32_t const*, memory_space>;
  using Values = Kokkos::View<Scalar const*, memory_space>;

  /// \brief Wraps three views without copying: rows + 1 offsets, and columns and values of each
  /// nonzero. Does not compile for views of memory that Exec cannot access.
  /// \throws std::invalid_argument where the extents do not fit together
  /// \throws std::length_error where rows or nonzeros are too many for the index types
  template <Impl::IsView RowOffsets, Impl::IsView ColumnIndices, Impl::IsView EntryValues>
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns,
            RowOffsets const& row_offsets, ColumnIndices const& column_indices,
            EntryValues const& values, Impl::RowLengths lengths = {})
      : CsrMatrix(exec, rows, columns, wrapped<Offsets>(row_offsets),
                  wrapped<Columns>(column_indices), wrapped<Values>(values), lengths) {}

  /// \brief The same.
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns, Offsets const& row_offsets,
            Columns const& column_indices, Values const& values, Impl::RowLengths lengths = {})
      : rows_(rows),
        columns_(columns),
        row_offsets_(row_offsets),
        column_indices_(column_indices),
        values_(values) {
    if (rows < 0 || columns < 0)
      throw std::invalid_argument("Solder::CsrMatrix: " + std::to_string(rows) + " rows and " +
                                  std::to_string(columns) + " columns must not be negative");
    if (row_offsets.extent(0) != std::size_t(rows) + 1)
      throw std::invalid_argument("Solder::CsrMatrix: " + std::to_string(rows) + " rows need " +
                                  std::to_string(rows + std::int64_t(1)) + " row offsets, not " +
                                  std::to_string(row_offsets.extent(0)));
    if (column_indices.extent(0) != values.extent(0))
      throw std::invalid_argument(
          "Solder::CsrMatrix: as many values as column indices are needed, " +
          std::to_string(column_indices.extent(0)) + ", not " + std::to_string(values.extent(0)));
    if (nonzeros() > most_nonzeros)
      throw std::length_error("Solder::CsrMatrix: " + std::to_string(nonzeros()) +
                              " nonzeros do not fit these row offsets; use Offset = std::int64_t");
    if (std::max(rows, columns) > Impl::most_rows)
      throw std::length_error("Solder::CsrMatrix: at most " + std::to_string(Impl::most_rows) +
                              " rows and columns");
    partition(exec, lengths);
  }

  /// \brief Wraps raw device arrays without copying.
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns, std::int64_t nonzeros,
            Offset const* row_offsets, std::int32_t const* column_indices, Scalar const* values)
      : CsrMatrix(exec, rows, columns, Offsets(row_offsets, std::size_t(rows) + 1),
                  Columns(column_indices, nonzeros), Values(values, nonzeros)) {}

  /// \brief Wraps a Kokkos Kernels CrsMatrix, or any type with its members, without copying.
  template <CrsMatrixLike M>
  CsrMatrix(Exec const& exec, M const& m)
      : CsrMatrix(exec, checked_rows(m.numRows()), checked_rows(m.numCols()),
                  Offsets(m.graph.row_map.data(), std::size_t(m.numRows()) + 1),
                  Columns(m.graph.entries.data(), m.graph.entries.extent(0)),
                  Values(m.values.data(), m.values.extent(0))) {
    static_assert(
        Impl::can_access<Exec, std::remove_cvref_t<decltype(m.graph.row_map)>,
                         std::remove_cvref_t<decltype(m.graph.entries)>,
                         std::remove_cvref_t<decltype(m.values)>>,
        "Solder::CsrMatrix: Exec cannot access the memory of this matrix; copy it to a matrix in "
        "Exec::memory_space");
  }

  /// \brief Copies host data to the device.
  /// \throws std::invalid_argument where HostCsr::validate does
  /// \throws std::length_error where the nonzeros do not fit Offset
  CsrMatrix(Exec const& exec, HostCsr<Scalar> const& host)
      : CsrMatrix(exec, checked(host).rows, host.columns_count, row_offsets_of(exec, host),
                  to_device<std::int32_t>(exec, host.columns, "Solder::csr::columns"),
                  to_device<Scalar>(exec, host.values, "Solder::csr::values")) {}

  std::int32_t rows() const { return rows_; }
  std::int32_t columns() const { return columns_; }
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values_.extent(0)); }
  /// \brief Nonzeros of the longest row, or, where the library made this matrix, at least as many.
  std::int32_t longest_row() const { return longest_row_; }
  Offsets const& row_offsets() const { return row_offsets_; }
  Columns const& column_indices() const { return column_indices_; }
  Values const& values() const { return values_; }

  /// \brief Looks through the pattern once, for data that the constructor could only believe. Two
  /// kernels; waits for them.
  /// \throws std::invalid_argument where row offsets do not begin at 0, descend or do not end with
  /// the nonzeros, or a column is out of range; names the row
  void validate(Exec const& exec) const {
    Offset const* const offsets = row_offsets_.data();
    std::int32_t const* const indices = column_indices_.data();
    std::int32_t const n = rows_, count = columns_;
    std::int32_t const none = std::numeric_limits<std::int32_t>::max();
    std::int64_t const entries = nonzeros();
    std::int32_t wrong = none;
    Kokkos::parallel_reduce(
        "Solder::csr::validate_offsets", Kokkos::RangePolicy<Exec>(exec, 0, n + 1),
        KOKKOS_LAMBDA(int i, std::int32_t& first) {
          auto const previous = static_cast<std::int64_t>(i == 0 ? 0 : offsets[i - 1]);
          auto const offset = static_cast<std::int64_t>(offsets[i]);
          if (i < first && Impl::is_wrong_offset(i, n, previous, offset, entries)) first = i;
        },
        Kokkos::Min<std::int32_t>(wrong));
    if (wrong != none) {
      auto const pair = to_host(exec, row_offsets_, std::max(wrong - 1, 0), wrong + 1);
      throw std::invalid_argument("Solder::CsrMatrix: " +
                                  Impl::wrong_offset(wrong, static_cast<std::int64_t>(pair.front()),
                                                     static_cast<std::int64_t>(pair.back()),
                                                     entries));
    }
    Kokkos::parallel_reduce(
        "Solder::csr::validate_columns", Kokkos::RangePolicy<Exec>(exec, 0, n),
        KOKKOS_LAMBDA(int i, std::int32_t& first) {
          if (i >= first) return;
          for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
            if (indices[k] < 0 || indices[k] >= count) first = i;
        },
        Kokkos::Min<std::int32_t>(wrong));
    if (wrong == none) return;
    auto const bounds = to_host(exec, row_offsets_, wrong, wrong + 2);
    auto const row = to_host(exec, column_indices_, bounds.front(), bounds.back());
    auto const column =
        std::find_if(row.begin(), row.end(), [&](auto j) { return j < 0 || j >= count; });
    throw std::invalid_argument("Solder::CsrMatrix: " + Impl::wrong_column(wrong, *column, count));
  }

  /// \brief What kernels take along, by value. Valid while this matrix, or a copy of it, lives.
  Operator device_operator() const {
    return {row_offsets_.data(), column_indices_.data(),
            values_.data(),      {rows_, vector_teams_, bounds_.data()},
            lane_bits_,          teams_};
  }

  /// \brief Words of sizeof(Scalar) that one product reads of the matrix.
  double words() const {
    return static_cast<double>(nonzeros()) * (1 + double(sizeof(std::int32_t)) / sizeof(Scalar)) +
           static_cast<double>(rows_) * sizeof(Offset) / sizeof(Scalar);
  }

  /// \brief The most nonzeros, and the most rows or columns: the indices keep room for a stride
  /// beyond the last, as loops add one before they compare.
  static constexpr std::int64_t most_nonzeros = std::numeric_limits<Offset>::max() / 2 >
                                                        (std::int64_t(1) << 31)
                                                    ? std::numeric_limits<std::int64_t>::max() / 2
                                                    : std::numeric_limits<std::int32_t>::max() -
                                                          (1 << 16);
  static constexpr std::int32_t most_rows = Impl::most_rows;

 private:
  static std::int32_t checked_rows(std::int64_t count) {
    if (count < 0 || count > Impl::most_rows)
      throw std::length_error("Solder::CsrMatrix: at most " + std::to_string(Impl::most_rows) +
                              " rows and columns, not " + std::to_string(count));
    return static_cast<std::int32_t>(count);
  }

  template <class To, class From>
  static To wrapped(From const& view) {
    constexpr bool fine = Impl::can_access<Exec, From>;
    static_assert(fine,
                  "Solder::CsrMatrix: Exec cannot access the memory of these views; copy them to "
                  "Exec::memory_space, or wrap host data in a HostCsr");
    if constexpr (fine)
      return view;
    else
      return {};
  }

  static HostCsr<Scalar> const& checked(HostCsr<Scalar> const& host) {
    if (host.nonzeros() > most_nonzeros)
      throw std::length_error("Solder::CsrMatrix: " + std::to_string(host.nonzeros()) +
                              " nonzeros do not fit these row offsets; use Offset = std::int64_t");
    host.validate();
    return host;
  }

  /// \brief A default-made matrix has none on the host.
  static Offsets row_offsets_of(Exec const& exec, HostCsr<Scalar> const& host) {
    std::string const label = "Solder::csr::row_offsets";
    if (host.row_offsets.empty()) return to_device<Offset>(exec, std::vector<Offset>(1), label);
    return to_device<Offset>(exec, host.row_offsets, label);
  }

  /// \brief Entries first to last - 1 of a view.
  template <class View>
  static auto to_host(Exec const& exec, View const& view, std::int64_t first, std::int64_t last) {
    std::vector<typename View::non_const_value_type> host(last - first);
    Kokkos::deep_copy(exec,
                      Kokkos::View<typename View::non_const_value_type*, Kokkos::HostSpace>(
                          host.data(), host.size()),
                      Kokkos::subview(view, std::make_pair(first, last)));
    exec.fence("Solder::csr: copied to the host");
    return host;
  }

  template <class To, class From>
  static Kokkos::View<To const*, memory_space> to_device(Exec const& exec,
                                                         std::vector<From> const& host,
                                                         std::string const& label) {
    Kokkos::View<To*, memory_space> device(
        Kokkos::view_alloc(label, exec, Kokkos::WithoutInitializing), host.size());
    auto const staging = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, device);
    exec.fence("Solder::csr: staging is free");
    std::copy(host.begin(), host.end(), staging.data());
    Kokkos::deep_copy(exec, device, staging);
    exec.fence("Solder::csr: copied to the device");
    return device;
  }

  /// \brief Lanes a row, long rows and teams for GPUs; slices of equal work for hosts.
  void partition(Exec const& exec, Impl::RowLengths lengths) {
    Offset const* const offsets = row_offsets_.data();
    std::int32_t const n = rows_;
    if constexpr (Impl::is_host_space<Exec>) {
      longest_row_ = lengths.most < 0 ? Impl::longest_row(exec, offsets, n) : lengths.most;
      teams_ = vector_teams_ =
          static_cast<std::int32_t>(std::clamp<std::int64_t>(n, 1, exec.concurrency()));
      bounds_ = Impl::balanced_bounds<memory_space>(
          "Solder::csr::bounds", teams_, n, 1, [&](std::int32_t i) {
            return Impl::host_work(static_cast<std::int64_t>(offsets[i]), i);
          });
    } else {
      double const mean = n == 0 ? 0 : static_cast<double>(nonzeros()) / n;
      lane_bits_ = 0;
      while (lane_bits_ < 5 && (10 << lane_bits_) < mean) ++lane_bits_;
      teams_ = Impl::vector_teams(exec, std::int64_t(n) << lane_bits_);
      vector_teams_ = Impl::vector_teams(exec, n);
      longest_row_ = lengths.most;
      if (longest_row_ < 0 || longest_row_ > Operator::short_row(lane_bits_)) list_long_rows(exec);
    }
  }

 public:
  /// \brief Finds the longest row, and lists those that are long. Rows of groups: one batch of
  /// loads for each lane; of warps: up to 8 batches. (Public, for CUDA takes lambdas of public
  /// functions only.)
  void list_long_rows(Exec const& exec) {
    Offset const* const offsets = row_offsets_.data();
    constexpr std::int64_t most_of_warp = Operator::most_of_warp,
                           no_limit = std::numeric_limits<std::int64_t>::max();
    std::int64_t const short_row = Operator::short_row(lane_bits_);
    std::int64_t const most_of_group = lane_bits_ < 2 ? 64 << lane_bits_ : most_of_warp;
    std::int32_t groups = 0, warps = 0, teams = 0;
    Kokkos::parallel_reduce(
        "Solder::csr::count_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, rows_),
        KOKKOS_LAMBDA(int i, std::int32_t& longest, std::int32_t& of_groups, std::int32_t& of_warps,
                      std::int32_t& of_teams) {
          auto const length = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
          longest = Kokkos::max(longest, static_cast<std::int32_t>(length));
          of_groups += length > short_row && length <= most_of_group;
          of_warps += length > short_row && length > most_of_group && length <= most_of_warp;
          of_teams += length > short_row && length > most_of_warp;
        },
        Kokkos::Max<std::int32_t>(longest_row_), groups, warps, teams);
    longest_row_ = std::max(longest_row_, 0);
    if (groups + warps + teams == 0) return;
    bounds_ =
        Impl::allocate<std::int32_t>(exec, "Solder::csr::long_rows", groups + warps + teams + 3);
    auto const list = [&](std::int32_t count, std::int64_t above, std::int64_t most,
                          std::int32_t at) {
      if (count > 0) Impl::list_rows(exec, offsets, rows_, above, most, bounds_.data() + 3, at);
    };
    list(groups, short_row, most_of_group, 0);
    list(warps, most_of_group, most_of_warp, groups);
    list(teams, most_of_warp, no_limit, groups + warps);
    Impl::set_three(exec, bounds_.data(), groups, warps, teams);
  }

 private:
  std::int32_t rows_ = 0, columns_ = 0;
  Offsets row_offsets_;
  Columns column_indices_;
  Values values_;
  Kokkos::View<std::int32_t*, memory_space> bounds_;
  std::int32_t longest_row_ = 0, lane_bits_ = 0, teams_ = 1, vector_teams_ = 1;
};

template <class Exec, Impl::IsView RowOffsets, Impl::IsView ColumnIndices, Impl::IsView EntryValues>
CsrMatrix(Exec const&, std::int32_t, std::int32_t, RowOffsets const&, ColumnIndices const&,
          EntryValues const&) -> CsrMatrix<typename EntryValues::non_const_value_type, Exec,
                                           typename RowOffsets::non_const_value_type>;
template <class Exec, CrsMatrixLike M>
CsrMatrix(Exec const&, M const&)
    -> CsrMatrix<std::remove_cvref_t<decltype(*std::declval<M const&>().values.data())>, Exec,
                 std::remove_cvref_t<decltype(*std::declval<M const&>().graph.row_map.data())>>;

}  // namespace Solder
