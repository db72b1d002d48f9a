// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/core/kokkos_ext.hpp>

namespace Solder {

/// \brief N sums, kept together so that they share their barriers.
template <std::size_t N>
using Sums = Kokkos::Array<double, N>;

/// \brief The rows that the vector stages of a program deal to their teams.
///
/// On hosts team t owns the contiguous slice [bounds[t], bounds[t+1]), balanced by work, so that a row meets the
/// same core in every stage. On GPUs rows are dealt cyclically, thread by thread, and bounds is not used.
struct Rows {
  std::int32_t count;
  std::int32_t const* bounds;

  bool operator==(Rows const&) const = default;
};

namespace Impl {

/// \brief GPU threads of a team in a league, and of the one team of the team runner.
inline constexpr int league_threads = 256, team_threads = 1024;

/// \brief Teams of a league over the rows of a vector stage: one per thread on hosts, enough blocks of threads
/// to fill half of a GPU else.
template <class Exec>
int vector_teams(Exec const& exec, std::int64_t items) {
  std::int64_t const concurrency = exec.concurrency();
  std::int64_t const most = is_host_space<Exec> ? concurrency : std::max<std::int64_t>(1, concurrency / (2 * league_threads));
  std::int64_t const chunk = is_host_space<Exec> ? 1 : league_threads;
  return static_cast<int>(std::clamp<std::int64_t>((items + chunk - 1) / chunk, 1, most));
}

/// \brief What a stage sees of a CPU: a team is one thread.
///
/// Both team types offer the same members; stages are written once against them.
struct HostTeam {
  int league_rank_, league_size_;

  KOKKOS_FUNCTION int league_rank() const { return league_rank_; }
  KOKKOS_FUNCTION int league_size() const { return league_size_; }
  KOKKOS_FUNCTION int rank() const { return 0; }
  KOKKOS_FUNCTION int size() const { return 1; }
  KOKKOS_FUNCTION void barrier() const {}

  KOKKOS_FUNCTION std::int32_t first(Rows const& rows) const {
    return league_size_ == 1 ? 0 : rows.bounds[league_rank_];
  }
  KOKKOS_FUNCTION std::int32_t last(Rows const& rows) const {
    return league_size_ == 1 ? rows.count : rows.bounds[league_rank_ + 1];
  }

  /// \brief f(i) for every row i of this team; all threads of the team take part.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    std::int32_t const end = last(rows);
    for (std::int32_t i = first(rows); i < end; ++i) f(i);
  }

  /// \brief The sums over the team's threads, known to all of them.
  template <std::size_t N>
  KOKKOS_FUNCTION Sums<N> sum(Sums<N> const& mine) const {
    return mine;
  }
};

/// \brief What a stage sees of a GPU: a Kokkos team of `lanes` vector lanes by team_size() threads.
template <class Member>
struct DeviceTeam {
  Member const& member;
  int lanes;  ///< vector length of the policy
  int lane;   ///< this thread's lane
  int league_rank_, league_size_;

  KOKKOS_FUNCTION DeviceTeam(Member const& team, int vector_length, int league_rank, int league_size)
      : member(team), lanes(vector_length), lane(0), league_rank_(league_rank), league_size_(league_size) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, vector_length), [this](int l) { lane = l; });
  }

  KOKKOS_FUNCTION int league_rank() const { return league_rank_; }
  KOKKOS_FUNCTION int league_size() const { return league_size_; }
  KOKKOS_FUNCTION int rank() const { return member.team_rank() * lanes + lane; }
  KOKKOS_FUNCTION int size() const { return member.team_size() * lanes; }
  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Rows const& rows, F const& f) const {
    std::int32_t const stride = league_size() * size();
    for (std::int32_t i = league_rank() * size() + rank(); i < rows.count; i += stride) f(i);
  }

  /// \brief Scratch bytes that sum<N> needs for a team of `threads` threads.
  static constexpr int scratch_bytes(int sums, int threads) {
    return static_cast<int>(sizeof(double)) * sums * (threads + groups(threads));
  }

  /// \brief All N sums in two barriers, in a fixed order.
  ///
  /// Every thread writes its terms to scratch; `groups` threads a sum add a column each; all threads add the
  /// columns. Both scratch areas may be reused by the next call without a further barrier: its first barrier
  /// separates the last readers of the columns from their next writers.
  template <std::size_t N>
  KOKKOS_FUNCTION Sums<N> sum(Sums<N> const& mine) const {
    int const threads = size(), t = rank(), columns = groups(threads);
    double* const terms = static_cast<double*>(member.team_scratch(0).get_shmem(0));
    double* const partial = terms + N * threads;
    for (std::size_t v = 0; v < N; ++v) terms[v * threads + t] = mine[v];
    barrier();
    if (t < int(N) * columns) {
      int const v = t / columns, c = t % columns;
      double total = 0;
      for (int j = c; j < threads; j += columns) total += terms[v * threads + j];
      partial[t] = total;
    }
    barrier();
    Sums<N> totals;
    for (std::size_t v = 0; v < N; ++v) {
      double total = 0;
      for (int c = 0; c < columns; ++c) total += partial[v * columns + c];
      totals[v] = total;
    }
    return totals;
  }

  /// \brief Columns of the two-level sum: about the square root of the team.
  KOKKOS_FUNCTION static constexpr int groups(int threads) { return threads > 256 ? 32 : 16; }
};

}  // namespace Impl

/// \brief The partial sums that a stage of `teams` teams left for the stages after it: N rows of `teams` values.
template <std::size_t N>
struct Partials {
  double* values;
  std::int32_t teams;

  bool operator==(Partials const&) const = default;

  /// \brief This thread's share of the totals, to be completed by team.sum.
  template <class Team, std::size_t M>
  KOKKOS_FUNCTION void gather(Team const& team, Sums<M>& into, int offset) const {
    for (std::int32_t j = team.rank(); j < teams; j += team.size())
      for (std::size_t v = 0; v < N; ++v) into[offset + v] += values[v * teams + j];
  }

  /// \brief Leaves this team's sums for later stages.
  template <class Team>
  KOKKOS_FUNCTION void leave(Team const& team, Sums<N> const& mine) const {
    Sums<N> const totals = team.sum(mine);
    if (team.rank() == 0)
      for (std::size_t v = 0; v < N; ++v) values[v * teams + team.league_rank()] = totals[v];
  }
};

}  // namespace Solder
