// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/ranks.hpp>
#include <solder/core/sums.hpp>

namespace Solder {

/// \brief The rows that the vector stages of a program deal to their teams.
///
/// On hosts team t owns the contiguous slice [bounds[t], bounds[t+1]), t < teams, balanced by work,
/// so that a row meets the same core in every stage; a league has one team or as many as there are
/// slices. On GPUs rows are dealt cyclically, thread by thread, and bounds is not read for that.
struct Rows {
  std::int32_t count;          ///< of all teams together
  std::int32_t teams;          ///< the league that vector stages take
  std::int32_t const* bounds;  ///< [teams + 1], on hosts; see above

  /// \brief Whether the same rows are dealt in the same way.
  bool operator==(Rows const&) const = default;
};

namespace Impl {

/// \brief GPU threads of a team in a league, of the one team of the team runner, and of the largest
/// team of any kernel.
inline constexpr int league_threads = 256, team_threads = 512, most_threads = 1024;

/// \brief Right-hand sides that are solved together, at most: more are solved in groups. A GPU's
/// warp then has threads of every column, and the matrix's share of the words is small.
inline constexpr std::int32_t most_columns = 32;

/// \brief The most rows that kernels take. They count rows in 32 bits, and loops over rows step
/// beyond the last one before they compare: by 256 rows a warp of all teams at most, which is less
/// than what is left up to 2^31 on 512 multiprocessors.
inline constexpr std::int32_t most_rows = std::numeric_limits<std::int32_t>::max() - (1 << 22);

/// \brief The row of entry i of vectors with so many columns. Not `columns == 1 ? i :`, which
/// compilers drop, because i / 1 is i: they then divide for a single column too, 5 cycles a row.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t row_of_entry(std::int32_t i, std::int32_t columns) {
  return columns > 1 ? i / columns : i;
}

/// \brief Tells a consumer of rows, or what it is made of, that row i comes, if it wants to know.
template <class Consume>
KOKKOS_FORCEINLINE_FUNCTION void ask_for_row(Consume const& consume, std::int32_t i) {
  if constexpr (requires { consume.ask_for(i); }) consume.ask_for(i);
}

/// \brief Teams of a league that a GPU's multiprocessor holds at once: leaves 85 registers a thread
/// of an H100, enough for all loads of a row to be in flight. With 4 (64 registers), or with more
/// teams than fit, it is slower.
inline constexpr int resident_teams = 3;

/// \brief Teams of a league that a GPU holds at once: its multiprocessors take 2048 threads.
template <class Exec>
int resident_league(Exec const& exec) {
  return std::max(1, static_cast<int>(exec.concurrency()) / 2048 * resident_teams);
}

/// \brief Teams of a league over `items` rows (times lanes): one per thread on hosts, else as many
/// as are resident at once on a GPU.
template <class Exec>
int vector_teams(Exec const& exec, std::int64_t items) {
  std::int64_t const concurrency = exec.concurrency();
  if (is_host_space<Exec>) return static_cast<int>(std::clamp<std::int64_t>(items, 1, concurrency));
  return static_cast<int>(std::clamp<std::int64_t>((items + league_threads - 1) / league_threads, 1,
                                                   resident_league(exec)));
}

/// \brief A column's partial sums, gathered by one thread alone.
template <std::size_t... N>
KOKKOS_FORCEINLINE_FUNCTION Sums<(N + ...)> gather_alone(std::int32_t column, std::int32_t columns,
                                                         Sum<N> const&... sums_of) {
  Sums<(N + ...)> sums{};
  std::size_t at = 0;
  (sums_of.for_each_value([&](double const* values) {
    for (std::int32_t j = column; j < sums_of.parts; j += columns) sums[at] += values[j];
    ++at;
  }),
   ...);
  return sums;
}

/// \brief One of the partial sums of each.
template <std::size_t... N>
KOKKOS_FORCEINLINE_FUNCTION Sums<(N + ...)> part_of(std::int32_t part, Sum<N> const&... sums_of) {
  Sums<(N + ...)> sums;
  std::size_t at = 0;
  (sums_of.for_each_value([&](double const* values) { sums[at++] = values[part]; }), ...);
  return sums;
}

/// \brief What a stage sees of a CPU: a team is one thread.
///
/// All team types offer the same members; stages are written once against them.
///
/// Where a solve has several right-hand sides their vectors are one array, entry c of all columns
/// being together: entry i of column c is number i * columns() + c. What a stage calls a row is
/// that number, and a team has one column() at a time.
///
/// Where it has a system of a batch, whose rows are a window, it leaves sums and keeps scalars at
/// place(), apart from those of other systems.
struct HostTeam {
  static constexpr bool knows_control = false, has_columns = false, asks_ahead = false;
  /// Rows of a window, whose entries of all columns stay in the cache.
  static constexpr std::int32_t window_rows = 128;

  int league_rank_, league_size_;
  std::int32_t first_ = 0, last_ = -1;  ///< of a window; last_ < 0: all rows of the team
  std::int32_t columns_ = 1, column_ = 0;
  std::int32_t of_batch_ = -1;     ///< its place in a batch; -1: it is in none
  LeftSums* left_sums_ = nullptr;  ///< where there are other ranks

  /// \brief The same thread, for some of its rows.
  KOKKOS_FUNCTION HostTeam window(std::int32_t first, std::int32_t last) const {
    return {league_rank_, league_size_, first, last, columns_, column_, of_batch_, left_sums_};
  }
  /// \brief The same thread, for this column.
  KOKKOS_FUNCTION HostTeam for_column(std::int32_t column) const {
    return {league_rank_, league_size_, first_, last_, columns_, column, of_batch_, left_sums_};
  }
  KOKKOS_FUNCTION std::int32_t place() const { return of_batch_ < 0 ? column_ : of_batch_; }
  KOKKOS_FUNCTION std::int32_t columns() const { return columns_; }
  KOKKOS_FUNCTION std::int32_t column() const { return column_; }
  /// \brief f(the same thread for a window) for windows of the team's rows.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_window(Rows const& rows, F const& f) const {
    std::int32_t const end = last(rows);
    for (std::int32_t i = first(rows); i < end; i += window_rows)
      f(window(i, end - i > window_rows ? i + window_rows : end));
  }
  /// \brief See ColumnTeam.
  KOKKOS_FUNCTION static constexpr std::int32_t slot() { return 0; }
  KOKKOS_FUNCTION static constexpr std::int32_t slots() { return 1; }
  KOKKOS_FUNCTION static constexpr bool any_column(bool yes) { return yes; }
  template <class T>
  KOKKOS_FUNCTION T const& shared_by_column(T const& value) const {
    return value;
  }
  KOKKOS_FUNCTION int league_rank() const { return league_rank_; }
  KOKKOS_FUNCTION int league_size() const { return league_size_; }
  KOKKOS_FUNCTION int rank() const { return 0; }
  KOKKOS_FUNCTION int size() const { return 1; }
  KOKKOS_FUNCTION void barrier() const {}
  KOKKOS_FUNCTION HostTeam without_first() const {
    HostTeam rest{league_rank_ - 1, league_size_ - 1};
    rest.left_sums_ = left_sums_;
    return rest;
  }
  KOKKOS_FUNCTION int lane() const { return 0; }
  KOKKOS_FUNCTION static constexpr int lanes() { return 1; }
  KOKKOS_FUNCTION int warp_rank() const { return 0; }
  KOKKOS_FUNCTION int warps_of_team() const { return 1; }
  KOKKOS_FUNCTION double* workspace(double* memory, int values) const {
    return memory + static_cast<std::ptrdiff_t>(league_rank_) * values;
  }
  template <std::size_t N>
  KOKKOS_FUNCTION static void sum_lanes(Sums<N>&) {}

  KOKKOS_FUNCTION std::int32_t first(Rows const& rows) const {
    return last_ >= 0 ? first_ : league_size_ == 1 ? 0 : rows.bounds[league_rank_];
  }
  KOKKOS_FUNCTION std::int32_t last(Rows const& rows) const {
    return last_ >= 0 ? last_ : league_size_ == 1 ? rows.count : rows.bounds[league_rank_ + 1];
  }
  /// \brief The same thread for all its rows, if `rows` are dealt to this league; in a batch, for
  /// its window.
  KOKKOS_FUNCTION HostTeam whole(Rows const& rows) const {
    bool const is_dealt =
        rows.teams == league_size_ && (league_size_ == 1 || rows.bounds != nullptr);
    HostTeam team = *this;
    if (is_dealt && of_batch_ < 0) team.last_ = -1;
    return team;
  }

  /// \brief f(i) for every row i of this team; all threads of the team take part.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    std::int32_t const end = last(rows) * columns_;
    for (std::int32_t i = first(rows) * columns_ + column_; i < end; i += columns_) f(i);
  }

  /// \brief If prepare() says so, f(i, load(i)) for every row i of this team. \return what
  /// prepare() says
  ///
  /// On GPUs the first row is loaded before prepare is called, to hide the latency of its sums.
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Rows const& rows, Load const& load,
                                                Prepare const& prepare, F const& f) const {
    if (!prepare()) return false;
    for_each_row(rows, [&](std::int32_t i) { f(i, load(i)); });
    return true;
  }

  /// \brief The sums over the team's threads, known to all of them.
  template <std::size_t N>
  KOKKOS_FUNCTION Sums<N> sum(Sums<N> const& mine) const {
    return mine;
  }

  /// \brief The same, known only to the thread of rank 0.
  template <std::size_t N>
  KOKKOS_FUNCTION Sums<N> sum_for_first(Sums<N> const& mine) const {
    return mine;
  }

  /// \brief Leaves the sums of the team, as one of `parts` partial sums, in values.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(double* values, std::int32_t parts,
                                         Sums<N> const& mine) const {
    std::int32_t const part = of_batch_ < 0 ? league_rank_ * columns_ + column_ : of_batch_;
    for (std::size_t v = 0; v < N; ++v) values[v * parts + part] = mine[v];
    has_left(values, N, parts);
  }
  /// \brief Says that this league leaves sums, which other ranks are to know.
  KOKKOS_FORCEINLINE_FUNCTION void has_left(double* values, std::int32_t count,
                                            std::int32_t parts) const {
    KOKKOS_IF_ON_HOST(
        (if (left_sums_ != nullptr && league_rank_ == 0) left_sums_->add(values, count, parts);))
  }
  /// \brief Whether this thread is to write what is written once for a league and column.
  KOKKOS_FUNCTION bool writes() const { return league_rank_ == 0; }

  /// \brief This thread's shares of the partial sums that earlier stages left; `most` is the
  /// largest number of parts among them.
  template <std::size_t... N>
  KOKKOS_FORCEINLINE_FUNCTION auto gather(std::int32_t, Sum<N> const&... sums_of) const {
    if (of_batch_ >= 0) return part_of(of_batch_, sums_of...);
    return gather_alone(column_, columns_, sums_of...);
  }

  /// \brief Whether gather has so little to load that it pays to gather ahead what may not be
  /// needed.
  KOKKOS_FUNCTION static constexpr bool gathers_ahead(std::int32_t) { return false; }

  /// \brief The totals of the shares of all threads, in a fixed order, known to all of them.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> total(Sums<N> const& share, std::int32_t) const {
    return share;
  }
};

/// \brief What kernel a GPU's team belongs to: a stage's, or a whole solve's, in a league or alone.
enum class TeamOf { stage, solve, solve_alone };

/// \brief What a stage sees of a GPU: a Kokkos team whose vector lanes are a warp.
template <class Member, TeamOf Kind = TeamOf::stage>
class DeviceTeam {
 public:
  static constexpr bool knows_control = Kind != TeamOf::stage, alone = Kind == TeamOf::solve_alone,
                        has_columns = false, has_window = false;
  /// Whether what a row needs is asked for before its turn. Not in a kernel of a whole solve: it
  /// has no registers to spare, and its data are in the caches.
  static constexpr bool asks_ahead = !knows_control;

  /// \param most_sums the largest N of this kernel's sums: what its scratch was made for
  KOKKOS_FUNCTION DeviceTeam(Member const& team, int league_rank, int league_size, int most_sums)
      : member_(team),
        league_rank_(league_rank),
        league_size_(league_size),
        lane_(lane_number()),
        slots_in_set_(most_sums * warps),
        scratch_(static_cast<double*>(team.team_scratch(0).get_shmem(0))) {}

  KOKKOS_FUNCTION int league_rank() const { return alone ? 0 : league_rank_; }
  KOKKOS_FUNCTION int league_size() const { return alone ? 1 : league_size_; }
  KOKKOS_FUNCTION int rank() const { return member_.team_rank() * warp + lane_; }
  KOKKOS_FUNCTION int size() const { return member_.team_size() * warp; }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }
  KOKKOS_FUNCTION static constexpr std::int32_t columns() { return 1; }
  KOKKOS_FUNCTION static constexpr std::int32_t column() { return 0; }
  KOKKOS_FUNCTION static constexpr std::int32_t place() { return 0; }
  /// \brief See ColumnTeam: there is one column, and all threads know what its first one does.
  KOKKOS_FUNCTION int slot() const { return rank(); }
  KOKKOS_FUNCTION int slots() const { return size(); }
  KOKKOS_FUNCTION static constexpr bool any_column(bool yes) { return yes; }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T const& shared_by_column(T const& value) const {
    barrier();
    return value;
  }
  KOKKOS_FUNCTION bool writes() const { return league_rank() == 0 && rank() == 0; }
  /// \brief The rows that the league shares.
  KOKKOS_FUNCTION static constexpr std::int32_t first(Rows const&) { return 0; }
  KOKKOS_FUNCTION static constexpr std::int32_t last(Rows const& rows) { return rows.count; }

  /// \brief What a body is given for row i; see OnChipTeam.
  KOKKOS_FUNCTION static constexpr std::int32_t own(std::int32_t i) { return i; }
  /// \brief The places that a product goes through for so many rows, `at_once` of them at a time:
  /// dealt cyclically, whatever the block, which is as long as a team has threads.
  KOKKOS_FUNCTION static constexpr std::int32_t places(std::int32_t count, std::int32_t) {
    return count;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t first_place(std::int32_t, std::int32_t at_once,
                                                       std::int32_t) const {
    return league_rank() * at_once;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t next_place(std::int32_t place, std::int32_t at_once,
                                                      std::int32_t) const {
    return place + league_size() * at_once;
  }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    std::int32_t const stride = league_size() * size();
    for (std::int32_t i = league_rank() * size() + rank(); i < rows.count; i += stride) f(i);
  }

  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Rows const& rows, Load const& load,
                                                Prepare const& prepare, F const& f) const {
    return walk(league_rank() * size() + rank(), rows.count, league_size() * size(), 0, load,
                prepare, f);
  }

  /// \brief for_each_row, the last turn first: what another stage, going upwards, read last is
  /// still in the cache.
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_downwards(Rows const& rows, Load const& load,
                                                          Prepare const& prepare,
                                                          F const& f) const {
    std::int32_t const stride = league_size() * size(), first = league_rank() * size() + rank();
    std::int32_t i = first;
    if (rows.count > stride) i += (rows.count - 1 - first) / stride * stride;
    auto row = load(i < rows.count ? i : 0);
    if (!prepare()) return false;
    if (i >= rows.count) return true;
    while (true) {
      f(i, row);
      i -= stride;
      if (i < 0) return true;
      row = load(i);
    }
  }

  /// \brief Scratch bytes that sum<N> needs, a slot a warp and value, twice; and `workspace`
  /// doubles.
  static constexpr int scratch_bytes(int sums, int workspace) {
    return static_cast<int>(sizeof(double)) * (2 * sums * warps + workspace);
  }

  /// \brief This team in the league of all but the first one.
  KOKKOS_FUNCTION DeviceTeam without_first() const {
    DeviceTeam other = *this;
    --other.league_rank_;
    --other.league_size_;
    return other;
  }
  /// \brief This team in the league of the first `teams` ones.
  KOKKOS_FUNCTION DeviceTeam in_league(int teams) const {
    DeviceTeam other = *this;
    other.league_size_ = teams;
    return other;
  }

  /// \brief f(i, load(i)) for i, i + stride, ... before `last`. The first row is loaded before
  /// prepare(), or the row `spare` where there is none; each other row after f of the row before.
  template <class Load, class Prepare, class F>
  KOKKOS_FORCEINLINE_FUNCTION static bool walk(std::int32_t i, std::int32_t last,
                                               std::int32_t stride, std::int32_t spare,
                                               Load const& load, Prepare const& prepare,
                                               F const& f) {
    auto row = load(i < last ? i : spare);
    if (!prepare()) return false;
    while (i < last) {
      f(i, row);
      i += stride;
      if (i < last) row = load(i);
    }
    return true;
  }

  KOKKOS_FUNCTION int lane() const { return lane_; }
  KOKKOS_FUNCTION static constexpr int lanes() { return warp; }
  KOKKOS_FUNCTION int warp_rank() const { return member_.team_rank(); }
  KOKKOS_FUNCTION int warps_of_team() const { return member_.team_size(); }

  /// \brief The team's own doubles: in scratch, or on hosts its part of `memory`, which has as many
  /// for each team.
  KOKKOS_FUNCTION double* workspace(double*, int) const { return scratch_ + 2 * slots_in_set_; }

  /// \brief Sums over the lanes of a warp, known to all of them.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION static void sum_lanes(Sums<N>& mine) {
    butterfly(mine, warp / 2);
  }

  /// \brief The sums over the team's threads, known to all of them: one barrier for all N, in a
  /// fixed order. The team has a power of two of warps.
  ///
  /// Butterflies within the warps, a slot in scratch for each warp, butterflies over the slots. The
  /// slots are used in two sets alternately, which do not overlap whatever N: the barrier of the
  /// next sum separates this one's readers from the writers after it.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> sum(Sums<N> const& mine) const {
    return sum_slots(fill_slots(mine), mine);
  }

  /// \brief The same, known only to the thread of rank 0.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> sum_for_first(Sums<N> const& mine) const {
    double const* const slots = fill_slots(mine);
    return member_.team_rank() == 0 ? sum_slots(slots, mine) : mine;
  }

  /// \brief Leaves the sums of the team, as one of `parts` partial sums, in values.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(double* values, std::int32_t parts,
                                         Sums<N> const& mine) const {
    Sums<N> const sums = sum_for_first(mine);
    if (rank() == 0)
      for (std::size_t v = 0; v < N; ++v) values[v * parts + league_rank()] = sums[v];
  }

  template <std::size_t... N>
  KOKKOS_FORCEINLINE_FUNCTION auto gather(std::int32_t most, Sum<N> const&... sums_of) const {
    Sums<(N + ...)> share{};
    std::size_t at = 0;
    if (most <= few) {
      // All loads before the first addition: they wait together.
      Sums<(N + ...)> high{};
      std::int32_t const j = most == 1 ? 0 : lane_;
      (sums_of.for_each_value([&](double const* values) {
        if (j < sums_of.parts) share[at] = values[j];
        if (j + warp < sums_of.parts) high[at] = values[j + warp];
        ++at;
      }),
       ...);
      for (std::size_t v = 0; v < (N + ...); ++v) share[v] += high[v];
    } else if (is_for_each_warp(most)) {
      double more[(N + ...)][loads]{};
      (sums_of.for_each_value([&](double const* values) {
        for (int u = 0; u < loads; ++u)
          if (lane_ + u * warp < sums_of.parts) more[at][u] = values[lane_ + u * warp];
        ++at;
      }),
       ...);
      for (std::size_t v = 0; v < (N + ...); ++v)
        for (int u = 0; u < loads; ++u) share[v] += more[v][u];
    } else {
      (sums_of.for_each_value([&](double const* values) {
        for (std::int32_t j = rank(); j < sums_of.parts; j += size()) share[at] += values[j];
        ++at;
      }),
       ...);
    }
    return share;
  }

  KOKKOS_FUNCTION static constexpr bool gathers_ahead(std::int32_t most) { return most <= few; }

  /// Few partial sums are summed by every warp for itself, without a barrier; one needs no sum at
  /// all. In a kernel of a whole solve `few` are more: its teams are fewer, and wait more often.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> total(Sums<N> share, std::int32_t most) const {
    if (most == 1) return share;
    if (!is_for_each_warp(most)) return sum(share);
    butterfly(share, warp / 2);
    return share;
  }

 private:
  /// Partial sums that a warp can gather with two loads a lane.
  static constexpr std::int32_t few = 2 * warp;
  /// And with this many, in a kernel of a whole solve.
  static constexpr int loads = 5;
  KOKKOS_FUNCTION static constexpr bool is_for_each_warp(std::int32_t most) {
    return most <= (knows_control ? loads * warp : few);
  }
  /// Warps, that is Kokkos threads, of the largest team.
  static constexpr int warps = most_threads / warp;

  /// \brief Leaves each warp's sums in the slots that are free, for all to see.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION double const* fill_slots(Sums<N> mine) const {
    double* const slots = scratch_ + turn_ * slots_in_set_;
    turn_ ^= 1;
    butterfly(mine, warp / 2);
    if (lane_ == 0)
      for (std::size_t v = 0; v < N; ++v) slots[v * warps + member_.team_rank()] = mine[v];
    barrier();
    return slots;
  }

  /// \brief The sums of the slots; a warp calls this together.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION Sums<N> sum_slots(double const* slots, Sums<N> mine) const {
    int const used = member_.team_size();
    for (std::size_t v = 0; v < N; ++v) mine[v] = slots[v * warps + (lane_ & (used - 1))];
    butterfly(mine, used / 2);
    return mine;
  }

  /// \brief Sums over aligned groups of 2 * mask lanes, known to all of them.
  template <std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION static void butterfly(Sums<N>& mine, int mask) {
    for (int m = mask; m > 0; m /= 2)
      for (std::size_t v = 0; v < N; ++v) mine[v] += lane_exchange(mine[v], m);
  }

  Member const& member_;
  int league_rank_, league_size_, lane_, slots_in_set_;
  double* scratch_;
  mutable int turn_ = 0;
};

}  // namespace Impl

}  // namespace Solder
