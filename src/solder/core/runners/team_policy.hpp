// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief The policy of a kernel of `teams` teams: ranges on hosts (one team is one thread), Kokkos
/// teams else.
///
/// \tparam LeastTeams that a GPU's multiprocessor is to hold at once: limits the registers
template <class Exec, int Threads, int LeastTeams = (Threads > league_threads ? 1 : resident_teams)>
auto team_policy(Exec const& exec, int teams, int threads, int scratch_bytes) {
  if constexpr (is_host_space<Exec>) {
    return Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<int>>(
        exec, 0, teams);
  } else {
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Threads, LeastTeams>>(exec, teams,
                                                                               threads / warp, warp)
        .set_scratch_size(0, Kokkos::PerTeam(scratch_bytes));
  }
}

}  // namespace Solder::Impl
