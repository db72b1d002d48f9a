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
///   - `static constexpr int threads`, if its teams have more GPU threads than league_threads,
///   - `template <class Team> static void run(Data const&, Team const&, Control const& now,
///   Control& next)`.
///
/// Data is the solver's plain struct of raw pointers and numbers, the same for all stages of the
/// solver, with `static constexpr int max_sums`, the most values a stage sums at once. run is
/// called by every thread of every team, and returns at once unless it is the stage's phase; each
/// thread of team 0 changes `next` in the same way, and team 0's copy goes to the next stage.
template <class... Stages>
struct Program {
  static constexpr bool is_cycle = false;

  /// \brief f(stage) for each stage in turn; which step it is does not matter.
  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr void for_each_stage(std::int32_t, F const& f) {
    (f(Stages{}), ...);
  }
};

/// \brief The steps of a restarted method: a list of stages, each run Stage::times(step) times in
/// step 0, 1, ..., data.restart - 1 of a cycle. Every cycle ends with a judgement.
template <class... Stages>
struct Cycle {
  static constexpr bool is_cycle = true;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr void for_each_stage(std::int32_t step, F const& f) {
    (
        [&] {
          for (int k = 0; k < Stages::times(step); ++k) f(Stages{});
        }(),
        ...);
  }
};

/// \brief A stage whose teams go through the rows of the matrix.
struct ProductStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) {
    return d.product_teams;
  }
};

/// \brief A stage whose teams go through vectors.
struct VectorStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) {
    return d.vector_teams;
  }
};

namespace Impl {

/// \brief Kokkos keeps what a launch takes along, 512 bytes and more, out of the ordinary argument
/// space before 5.0; 152 of them are the team policy's.
inline constexpr std::size_t largest_functor = 352;

/// \brief A stage as a Kokkos functor: reads the control block, works if it is its phase, passes
/// the block on.
template <class Data, class Stage>
struct StageKernel {
  Data data;
  Control const* in;
  Control* out;
  Outbox outbox;
  std::int32_t step;  ///< of its cycle: known before the control block has arrived
  bool posts;         ///< the last stage of a batch: sends a letter
  bool fresh;         ///< the first stage of a solve: begins with a new control block

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(HostTeam{static_cast<int>(where), Stage::teams(data)});
    else
      execute(DeviceTeam<Where>(where, where.league_rank(), where.league_size(), Data::max_sums));
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    Control now = fresh ? Control{} : *in;
    Control next = now;
    if constexpr (Stage::phase == Phase::iterate) now.step = step;
    Stage::run(data, team, now, next);
    if (team.league_rank() != 0) return;
    if (team.rank() == 0) outbox.record(now, next);
    if (posts) outbox.post(team, next);
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
  template <class Team, class Stages>
  KOKKOS_FORCEINLINE_FUNCTION void pass(Team const& team, Control& now, Stages) const {
    Stages::for_each_stage(now.step, [&](auto stage) {
      using Stage = decltype(stage);
      if (now.phase != Stage::phase) return;
      Control next = now;
      Stage::run(data, team, now, next);
      if (team.rank() == 0) outbox.record(now, next);
      team.barrier();
      now = next;
    });
  }
};

}  // namespace Impl
}  // namespace Solder
