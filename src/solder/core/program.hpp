// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/mailbox.hpp>
#include <solder/core/team.hpp>

namespace Solder {

/// \brief An ordered list of stages; a stage is one kernel.
///
/// A stage is a type with
///   - `static constexpr char const* label` (starts with "Solder::"),
///   - `static constexpr Phase phase`: when it has work,
///   - `static int teams(Data const&)`: its league,
///   - `template <class Team> static void run(Data const&, Team const&, Control const& now,
///   Control& next)`.
///
/// Data is the solver's plain struct of raw pointers and numbers, the same for all stages of the
/// solver, with `static constexpr int max_sums`, the most values a stage sums at once. run is
/// called by every thread of every team, and returns at once unless it is the stage's phase; each
/// thread changes `next` in the same way, and team 0's copy goes to the next stage.
template <class... Stages>
struct Program {
  static constexpr int size = sizeof...(Stages);
  static_assert(size >= 2,
                "the control block alternates between slots: a program has at least two stages");
};

namespace Impl {

/// \brief Kokkos keeps functors above this out of the ordinary argument space before 5.0.
inline constexpr std::size_t largest_functor = 448;

/// \brief A stage as a Kokkos functor: reads the control block, works if it is its phase, passes
/// the block on.
template <class Data, class Stage>
struct StageKernel {
  Data data;
  Control const* in;
  Control* out;
  Outbox outbox;
  std::int32_t post_every;  ///< 0: never posts a letter; 1: always; 2^k: at every 2^k-th tick
  bool fresh;               ///< the first stage of a solve: begins with a new control block

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(HostTeam{static_cast<int>(where), Stage::teams(data)});
    else
      execute(DeviceTeam<Where>(where, where.league_rank(), where.league_size(), Data::max_sums));
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    Control const now = fresh ? Control{} : *in;
    Control next = now;
    Stage::run(data, team, now, next);
    if (team.league_rank() != 0) return;
    if (team.rank() == 0) outbox.record(now, next);
    if (post_every == 1 || (post_every > 1 && (++next.tick & (post_every - 1)) == 0))
      outbox.post(team, next);
    if (team.rank() == 0) *out = next;
  }
};

/// \brief A whole solve as one Kokkos functor of one team: barriers take the place of launches.
///
/// Ends early when the letter is full; the host then launches it again and it goes on where it was.
template <class Data, class Judgement, class Iteration>
struct SolveKernel {
  Data data;
  Control* control;
  Outbox outbox;
  bool fresh;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(HostTeam{0, 1});
    else
      execute(DeviceTeam<Where>(where, 0, 1, Data::max_sums));
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    Control now = fresh ? Control{} : *control;
    while (now.phase != Phase::finished && now.recorded - now.posted < outbox.capacity) {
      if (now.phase == Phase::judge)
        pass(team, now, Judgement{});
      else
        pass(team, now, Iteration{});
    }
    outbox.post(team, now);
    if (team.rank() == 0) *control = now;
  }

  /// \brief One pass through a program. A stage whose phase it is not is skipped, as in a league.
  template <class Team, class... Stages>
  KOKKOS_FORCEINLINE_FUNCTION void pass(Team const& team, Control& now, Program<Stages...>) const {
    (
        [&] {
          if (now.phase != Stages::phase) return;
          Control next = now;
          Stages::run(data, team, now, next);
          if (team.rank() == 0) outbox.record(now, next);
          team.barrier();
          now = next;
        }(),
        ...);
  }
};

}  // namespace Impl
}  // namespace Solder
