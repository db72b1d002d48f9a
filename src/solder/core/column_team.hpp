// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief GPU threads of a team that takes products for several right-hand sides. Each has as many
/// registers as a thread in a kernel of a whole solve may have.
inline constexpr int column_threads = 512;
static_assert(column_threads / warp % 2 == 0);  // Kokkos begins a team's scratch by its warps

/// \brief Teams of a league for several right-hand sides: at most one for each multiprocessor,
/// because every team reads the sums that all teams have left for each column.
template <class Exec>
int column_league(Exec const& exec, std::int64_t rows, std::int32_t columns) {
  return static_cast<int>(std::clamp<std::int64_t>(
      (rows * columns + column_threads - 1) / column_threads, 1, multiprocessors(exec)));
}

/// \brief What a stage of a solve for several right-hand sides sees of a GPU: each thread has a
/// column, the same for all its rows, and neighbours have neighbouring columns.
///
/// Threads of different columns may diverge. All threads of a team together call only any_column,
/// gather_for_column with total_of_column, leave_together, shared_by_column and barrier. Only the
/// first thread of a column knows its control block; it tells the others what they need.
template <class Member>
class ColumnTeam {
 public:
  static constexpr bool knows_control = false, has_columns = true, asks_ahead = false;
  KOKKOS_FUNCTION ColumnTeam(Member const& team, std::int32_t columns)
      : member_(team),
        columns_(columns),
        size_(team.team_size() * warp),
        rank_(team.team_rank() * warp + lane_number()),
        slots_(team.team_size() * (warp / columns)),
        slot_(lane_number() / columns),
        column_(lane_number() - slot_ * columns),
        is_power_((columns & (columns - 1)) == 0),
        told_(static_cast<Told*>(team.team_scratch(0).get_shmem(0)) + column_),
        totals_(reinterpret_cast<double*>(told_ - column_ + most_columns)),
        scratch_(totals_ + sums_at_once * most_columns) {
    std::int32_t const of_warp = warp / columns;
    slot_ = slot_ == of_warp ? slots_ : slot_ + team.team_rank() * of_warp;
  }

  /// Sums that are totalled at the same time, at most.
  static constexpr int sums_at_once = 4;
  /// \brief Scratch bytes of a team, with `doubles` in scratch(): sums times threads.
  static constexpr int scratch_bytes(int doubles) {
    return static_cast<int>(sizeof(Told)) * most_columns +
           static_cast<int>(sizeof(double)) * (sums_at_once * most_columns + doubles);
  }

  KOKKOS_FUNCTION int league_rank() const { return member_.league_rank(); }
  KOKKOS_FUNCTION int league_size() const { return member_.league_size(); }
  KOKKOS_FUNCTION int rank() const { return rank_; }
  KOKKOS_FUNCTION int size() const { return size_; }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }
  KOKKOS_FUNCTION std::int32_t columns() const { return columns_; }
  KOKKOS_FUNCTION std::int32_t column() const { return column_; }
  KOKKOS_FUNCTION std::int32_t place() const { return column_; }
  /// \brief A slot is the threads of one warp that have the same row, one for each column. The team
  /// has slots() of them; the threads of a warp that are left over have the slot number slots().
  KOKKOS_FUNCTION std::int32_t slots() const { return slots_; }
  KOKKOS_FUNCTION std::int32_t slot() const { return slot_; }
  KOKKOS_FUNCTION bool writes() const { return league_rank() == 0 && slot_ == 0; }
  /// \brief Whether any column says yes: a warp has threads of all of them.
  KOKKOS_FUNCTION bool any_column(bool yes) const { return lane_votes(yes) != 0; }

  /// \brief Memory of the team, of scratch_bytes; free where no sums are totalled or left.
  KOKKOS_FUNCTION double* scratch() const { return scratch_; }

  /// \brief The column's first thread tells this to the others, which read it after a barrier.
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION void tell(Scalars const& scalars) const {
    static_assert(sizeof(Scalars) <= sizeof(told_->scalars) && alignof(Scalars) <= 16);
    *reinterpret_cast<Scalars*>(told_->scalars) = scalars;
  }
  KOKKOS_FORCEINLINE_FUNCTION void tell_to_go_on(bool goes_on) const { told_->goes_on = goes_on; }
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION Scalars const& told() const {
    return *reinterpret_cast<Scalars const*>(told_->scalars);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool told_to_go_on() const { return told_->goes_on; }

  /// \brief Shares the control block that a column's first thread has with all its threads; two
  /// barriers. All threads of the team call this together. It overwrites current(1).
  KOKKOS_FORCEINLINE_FUNCTION Control const& shared_by_column(Control const& control) const {
    barrier();  // somebody may still read there
    if (slot_ == 0) told_->current[1] = control;
    barrier();
    return told_->current[1];
  }
  /// \brief Where a kernel of a whole solve keeps the column's control block, double buffered.
  KOKKOS_FORCEINLINE_FUNCTION Control& current(int turn) const { return told_->current[turn]; }

  /// \brief f(number of the entry) for all rows of the team, by the first thread of a column alone:
  /// for what happens seldom.
  template <class F>
  KOKKOS_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    for (std::int32_t row = league_rank(); row < rows.count; row += league_size())
      f(row * columns_ + column_);
  }
  /// \brief Two rows are loaded ahead.
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Rows const& rows, Load const& load,
                                                Prepare const& prepare, F const& f) const {
    std::int32_t const last = rows.count * columns_, step = stride();
    std::int32_t i = first_entry(last);
    auto row = load(i < last ? i : 0);
    auto next = load(i < last - step ? i + step : 0);
    if (!prepare()) return false;
    while (i < last) {
      auto const now = row;
      row = next;
      if (i < last - 2 * step) next = load(i + 2 * step);
      f(i, now);
      i += step;
    }
    return true;
  }

  /// \brief This thread's shares of its column's partial sums, all loaded together if there are no
  /// more than a league of 132 teams leaves.
  template <std::size_t... N>
  KOKKOS_FORCEINLINE_FUNCTION auto gather_for_column(Sum<N> const&... sums_of) const {
    constexpr std::size_t sums = (N + ...);
    constexpr int at_once = sums <= 3 ? 5 : 3;
    Sums<sums> share{};
    if (slot_ == slots_) return share;
    std::int32_t most = 0;
    ((most = sums_of.parts > most ? sums_of.parts : most), ...);
    std::int32_t const step = slots_ * columns_;
    for (std::int32_t j = slot_ * columns_ + column_; j < most; j += at_once * step) {
      double loaded[sums][at_once];
      std::size_t at = 0;
      (sums_of.for_each_value([&](double const* values) {
        for (int u = 0; u < at_once; ++u)
          loaded[at][u] = j + u * step < sums_of.parts ? values[j + u * step] : 0;
        ++at;
      }),
       ...);
      for (std::size_t v = 0; v < sums; ++v)
        for (int u = 0; u < at_once; ++u) share[v] += loaded[v][u];
    }
    return share;
  }
  /// \brief The totals of the shares of a column's threads, in a fixed order, known to the first of
  /// them.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> total_of_column(Sums<N> const& share) const {
    Sums<N> all{};
    for_some_sums<N>(share, [&](auto first, auto many) {
      for (std::int32_t v = slot_; v < many; v += slots_)
        totals_[v * columns_ + column_] = sum_of_shares(v);
      barrier();
      if (slot_ == 0)
        for (std::size_t v = 0; v < many; ++v) all[first + v] = totals_[v * columns_ + column_];
    });
    return all;
  }

  /// \brief The column's partial sums, gathered by each thread alone: for what happens seldom.
  template <std::size_t... N>
  KOKKOS_FUNCTION auto gather(std::int32_t, Sum<N> const&... sums_of) const {
    return gather_alone(column_, columns_, sums_of...);
  }
  template <std::size_t N>
  KOKKOS_FUNCTION Sums<N> total(Sums<N> const& share, std::int32_t) const {
    return share;
  }

  /// \brief Notes where leave_together is to leave the stage's sums, in their order. The first
  /// thread of a column calls this, once or twice.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(double* values, std::int32_t parts, Sums<N> const&) const {
    told_->leaving[told_->left > 0] = {values, parts, static_cast<std::int32_t>(N)};
    told_->left += static_cast<std::int32_t>(N);
  }
  KOKKOS_FORCEINLINE_FUNCTION void leave_nothing() const { told_->left = 0; }
  /// \brief All threads call this with the stage's sums, after the first thread of each column has
  /// called leave_nothing and then, if it has something to leave, leave.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave_together(Sums<N> const& mine) const {
    for_some_sums<N>(mine, [&](auto first, auto many) {
      for (std::int32_t v = slot_; v < many; v += slots_) {
        std::int32_t const number = static_cast<std::int32_t>(first) + v;
        if (number >= told_->left) break;
        bool const is_first = number < told_->leaving[0].count;
        Leaving const to = told_->leaving[is_first ? 0 : 1];
        std::int32_t const of = is_first ? number : number - told_->leaving[0].count;
        to.values[of * to.parts + league_rank() * columns_ + column_] = sum_of_shares(v);
      }
      barrier();
    });
  }

 private:
  struct Leaving {
    double* values;
    std::int32_t parts, count;
  };
  struct Told {
    alignas(16) char scalars[64];
    Leaving leaving[2];
    std::int32_t left;
    bool goes_on;
    Control current[2];
    char padding[128 - (88 + 2 * sizeof(Control)) % 128];
  };
  static_assert(sizeof(Told) % 128 == 16);  // neighbours' are in different banks of scratch

  KOKKOS_FUNCTION std::int32_t stride() const { return league_size() * slots_ * columns_; }
  KOKKOS_FUNCTION std::int32_t first_entry(std::int32_t last) const {
    return slot_ == slots_ ? last : (league_rank() * slots_ + slot_) * columns_ + column_;
  }

  /// \brief Calls use(number of the first sum, how many) for some sums at a time, when each warp
  /// has put its share of them into scratch. `use` has a barrier after the last read of the shares.
  template <std::size_t N, std::size_t First = 0, class Use>
  KOKKOS_FORCEINLINE_FUNCTION void for_some_sums(Sums<N> const& share, Use const& use) const {
    constexpr std::size_t many = N - First < sums_at_once ? N - First : sums_at_once;
    for (std::size_t v = 0; v < many; ++v) keep_share(v, share[First + v]);
    barrier();
    use(std::integral_constant<std::size_t, First>{},
        std::integral_constant<std::int32_t, std::int32_t(many)>{});
    if constexpr (First + many < N) for_some_sums<N, First + many>(share, use);
  }

  /// \brief Puts a warp's share of each column into scratch.
  KOKKOS_FORCEINLINE_FUNCTION void keep_share(std::size_t v, double share) const {
    int const lane = rank_ % warp;
    double sum = share;
    if (is_power_) {
      for (std::int32_t m = warp / 2; m >= columns_; m /= 2) sum += lane_exchange(sum, m);
    } else {
      for (std::int32_t from = columns_; from + columns_ <= warp; from += columns_)
        sum += lane_value(share, lane + from < warp ? lane + from : lane);
    }
    if (lane < columns_) scratch_[v * size_ + rank_ / warp * columns_ + lane] = sum;
  }
  /// \brief The sum of the warps' shares of this column.
  KOKKOS_FORCEINLINE_FUNCTION double sum_of_shares(std::int32_t v) const {
    constexpr int at_once = 8;  // a team has a multiple of this many warps
    double const* const shares = scratch_ + v * size_ + column_;
    Sums<at_once> sums{};
    for (std::int32_t k = 0; k < size_ / warp; k += at_once)
      for (int u = 0; u < at_once; ++u) sums[u] += shares[(k + u) * columns_];
    for (int u = at_once / 2; u > 0; u /= 2)
      for (int w = 0; w < u; ++w) sums[w] += sums[w + u];
    return sums[0];
  }

  Member const& member_;
  std::int32_t columns_, size_, rank_, slots_, slot_, column_;
  bool is_power_;  ///< columns() is a power of two
  Told* told_;     ///< of this column
  double *totals_, *scratch_;
};

}  // namespace Solder::Impl
