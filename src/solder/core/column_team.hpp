// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <solder/core/control.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief GPU threads of a team for several right-hand sides, and such teams that a GPU's
/// multiprocessor holds at once.
inline constexpr int column_threads = 256, column_teams = 4;
static_assert(column_threads / warp % 2 == 0);  // Kokkos begins a team's scratch by its warps

/// \brief Teams of a league for several right-hand sides: two a multiprocessor, for every team
/// reads what all have left for each column, unless there is a lot to do.
///
/// \param entries of a vector, of all columns
template <class Exec>
int column_league(Exec const& exec, std::int64_t entries) {
  int const most = multiprocessors(exec) * (entries > 4'000'000 ? column_teams : 2);
  return static_cast<int>(
      std::clamp<std::int64_t>((entries + column_threads - 1) / column_threads, 1, most));
}

/// \brief What a stage of a solve for several right-hand sides sees of a GPU: each thread has a
/// column, the same for all its rows, and neighbours have neighbouring columns.
///
/// Threads of different columns may go different ways; what all threads of a team do together is
/// any_column, gather_for_column with total_of_column, leave_together and barrier alone.
template <class Member>
class ColumnTeam {
 public:
  static constexpr bool knows_control = false, has_columns = true;
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
        scratch_(reinterpret_cast<double*>(told_ - column_ + most_columns)) {
    std::int32_t const of_warp = warp / columns;
    slot_ = slot_ == of_warp ? slots_ : slot_ + team.team_rank() * of_warp;
  }

  /// \brief Scratch bytes that so many sums at once need, in a team of `threads`.
  static constexpr int scratch_bytes(int sums, int threads) {
    return static_cast<int>(sizeof(Told)) * most_columns +
           static_cast<int>(sizeof(double)) * sums * (threads + most_columns);
  }

  KOKKOS_FUNCTION int league_rank() const { return member_.league_rank(); }
  KOKKOS_FUNCTION int league_size() const { return member_.league_size(); }
  KOKKOS_FUNCTION int rank() const { return rank_; }
  KOKKOS_FUNCTION int size() const { return size_; }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }
  KOKKOS_FUNCTION std::int32_t columns() const { return columns_; }
  KOKKOS_FUNCTION std::int32_t column() const { return column_; }
  KOKKOS_FUNCTION std::int32_t place() const { return column_; }
  /// \brief A slot is the threads, all of one warp, that have the same row: as many as columns.
  /// slots() of them are in the team; a warp's threads that are left over have the number slots().
  KOKKOS_FUNCTION std::int32_t slots() const { return slots_; }
  KOKKOS_FUNCTION std::int32_t slot() const { return slot_; }
  KOKKOS_FUNCTION bool writes() const { return league_rank() == 0 && slot_ == 0; }
  /// \brief Whether any column says yes: a warp has threads of all of them.
  KOKKOS_FUNCTION bool any_column(bool yes) const { return lane_votes(yes) != 0; }

  /// \brief Memory of the team, of scratch_bytes; free where no sums are gathered or left.
  KOKKOS_FUNCTION double* scratch() const { return scratch_; }

  /// \brief What the first thread of a column tells the others of it; a barrier is to be between.
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION void tell(Scalars const& scalars) const {
    static_assert(sizeof(Scalars) <= sizeof(told_->scalars) && alignof(Scalars) <= 16);
    *reinterpret_cast<Scalars*>(told_->scalars) = scalars;
  }
  KOKKOS_FORCEINLINE_FUNCTION void tell_control(Control const& control, bool goes_on) const {
    told_->control = control;
    told_->goes_on = goes_on;
  }
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION Scalars const& told() const {
    return *reinterpret_cast<Scalars const*>(told_->scalars);
  }
  KOKKOS_FORCEINLINE_FUNCTION Control const& told_control() const { return told_->control; }
  KOKKOS_FORCEINLINE_FUNCTION bool told_to_go_on() const { return told_->goes_on; }

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

  /// \brief This thread's shares of its column's partial sums.
  template <std::size_t... N>
  KOKKOS_FORCEINLINE_FUNCTION auto gather_for_column(Sum<N> const&... sums_of) const {
    constexpr int at_once = 4;
    Sums<(N + ...)> share{};
    if (slot_ == slots_) return share;
    std::int32_t const step = slots_ * columns_;
    std::size_t at = 0;
    (sums_of.for_each_value([&](double const* values) {
      for (std::int32_t j = slot_ * columns_ + column_; j < sums_of.parts; j += at_once * step) {
        double loaded[at_once];
        for (int u = 0; u < at_once; ++u)
          loaded[u] = j + u * step < sums_of.parts ? values[j + u * step] : 0;
        for (int u = 0; u < at_once; ++u) share[at] += loaded[u];
      }
      ++at;
    }),
     ...);
    return share;
  }
  /// \brief The totals of the shares of a column's threads, in a fixed order, known to all of them.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> total_of_column(Sums<N> share) const {
    for (std::size_t v = 0; v < N; ++v) keep_share(v, share[v]);
    barrier();
    double* const totals = scratch_ + N * size_;
    for (std::int32_t v = slot_; v < std::int32_t(N) && slot_ < slots_; v += slots_)
      totals[v * columns_ + column_] = sum_of_shares(v);
    barrier();
    for (std::size_t v = 0; v < N; ++v) share[v] = totals[v * columns_ + column_];
    barrier();
    return share;
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

  /// \brief Says where the team's sums are to be left, twice at most; leave_together does it.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(double* values, std::int32_t parts,
                                         Sums<N> const& mine) const {
    for (std::size_t v = 0; v < N; ++v) scratch_[(left_ + v) * size_ + rank_] = mine[v];
    (left_ == 0 ? first_ : second_) = {values, parts, static_cast<std::int32_t>(N)};
    left_ += static_cast<std::int32_t>(N);
  }
  /// \brief All threads call this when each has called leave, or has nothing to leave.
  /// \tparam N sums, at most, that any column leaves
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave_together() const {
    Sums<N> mine;
    for (std::size_t v = 0; v < N; ++v) mine[v] = scratch_[v * size_ + rank_];
    barrier();
    for (std::size_t v = 0; v < N; ++v) keep_share(v, mine[v]);
    barrier();
    for (std::int32_t v = slot_; v < left_ && slot_ < slots_; v += slots_) {
      Leaving const& to = v < first_.count ? first_ : second_;
      std::int32_t const of = v < first_.count ? v : v - first_.count;
      to.values[of * to.parts + league_rank() * columns_ + column_] = sum_of_shares(v);
    }
    left_ = 0;
    barrier();
  }

 private:
  struct Told {
    alignas(16) char scalars[64];
    Control control;
    bool goes_on;
  };
  struct Leaving {
    double* values;
    std::int32_t parts, count;
  };

  KOKKOS_FUNCTION std::int32_t stride() const { return league_size() * slots_ * columns_; }
  KOKKOS_FUNCTION std::int32_t first_entry(std::int32_t last) const {
    return slot_ == slots_ ? last : (league_rank() * slots_ + slot_) * columns_ + column_;
  }

  /// \brief Puts a share into scratch. Where a warp has whole rows its lanes add theirs first, and
  /// it has one share for each column.
  KOKKOS_FORCEINLINE_FUNCTION void keep_share(std::size_t v, double share) const {
    if (!is_power_) {
      if (slot_ < slots_) scratch_[v * size_ + slot_ * columns_ + column_] = share;
      return;
    }
    for (std::int32_t m = warp / 2; m >= columns_; m /= 2) share += lane_exchange(share, m);
    int const lane = rank_ % warp;
    if (lane < columns_) scratch_[v * size_ + rank_ / warp * columns_ + lane] = share;
  }
  KOKKOS_FORCEINLINE_FUNCTION double sum_of_shares(std::int32_t v) const {
    std::int32_t const many = is_power_ ? size_ / warp : slots_;
    double sum = 0;
    for (std::int32_t k = 0; k < many; ++k) sum += scratch_[v * size_ + k * columns_ + column_];
    return sum;
  }

  Member const& member_;
  std::int32_t columns_, size_, rank_, slots_, slot_, column_;
  bool is_power_;  ///< columns() is a power of two
  Told* told_;     ///< of this column
  double* scratch_;
  mutable std::int32_t left_ = 0;
  mutable Leaving first_{}, second_{};
};

}  // namespace Solder::Impl
