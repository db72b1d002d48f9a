// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the runners launch, as Kokkos functors: a stage, a whole solve, or all solves of a batch.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <solder/core/batch_team.hpp>
#include <solder/core/column_pieces.hpp>
#include <solder/core/column_team.hpp>
#include <solder/core/on_chip.hpp>
#include <solder/core/runners/gate.hpp>
#include <solder/core/runners/programs.hpp>
#include <solder/core/status.hpp>

namespace Solder::Impl {

/// \brief How many right-hand sides a GPU's kernel has: one, known to the compiler.
struct OneColumn {
  std::int32_t most_sums;  ///< of all stages: what the scratch is laid out for

  template <TeamOf Kind, class Member>
  KOKKOS_FORCEINLINE_FUNCTION auto team(Member const& member, int league) const {
    return DeviceTeam<Member, Kind>(member, member.league_rank(), league, most_sums);
  }
};

/// \brief The same: several.
struct SomeColumns {
  std::int32_t columns;

  template <TeamOf, class Member>
  KOKKOS_FORCEINLINE_FUNCTION auto team(Member const& member, int) const {
    return ColumnTeam<Member>(member, columns);
  }
};

/// \brief A stage in a league: reads the control block, works if it is its phase, passes the block
/// on.
SOLDER_FOR_HOST_OR_DEVICE
template <class Stage, class Team>
KOKKOS_FORCEINLINE_FUNCTION void run_in_league(Stage const& stage, Team const& team, At const& at,
                                               Control const* in, Control* out,
                                               StatusWriter const& status, bool posts) {
  using Known = std::conditional_t<Team::has_columns, Control const&, Control const>;
  Known now = in[team.column()];
  Control next;  // of several columns known to the first thread of each alone
  if constexpr (!Team::has_columns) next = now;
  stage.run(team, at, now, next);
  if (team.league_rank() != 0) return;
  bool const is_first = team.slot() == 0;
  if (is_first) status.record(team.column(), now, next);
  if (posts) status.post(team, next);
  if (is_first) out[team.column()] = next;
}

/// \brief A stage on a GPU.
///
/// \tparam Width OneColumn or SomeColumns
template <class Stage, class Width>
struct StageKernel {
  Stage stage;
  Control const* in;  ///< [columns]
  Control* out;
  StatusWriter status;
  At at;
  Width width;
  bool posts;  ///< the last stage of a batch: sends a status

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    run_in_league(stage, width.template team<TeamOf::stage>(member, member.league_size()), at, in,
                  out, status, posts);
  }
};

/// \brief The control blocks of all columns, on the stack of a host's thread.
class HostControls {
 public:
  HostControls(Control const* from, std::int32_t columns) {
    std::memcpy(memory_, from, std::size_t(columns) * sizeof(Control));
  }
  Control& operator[](std::int32_t c) { return reinterpret_cast<Control*>(memory_)[c]; }

 private:
  static_assert(std::is_trivially_copyable_v<Control>);
  alignas(Control) std::byte memory_[most_columns * sizeof(Control)];
};

/// \brief A stage in a league of host threads.
struct HostStageKernel {
  HostStep step;
  Control const* in;  ///< [columns]
  Control* out;
  StatusWriter status;
  At at;
  bool posts;
  LeftSums* left_sums;  ///< where there are other ranks

  void operator()(int league_rank) const {
    std::int32_t const columns = status.columns;
    HostControls now(in, columns), next(in, columns);
    HostTeam const team{league_rank, step.teams(), 0, -1, columns, 0, -1, left_sums};
    step.run(step.stage, team, at, now[0], next[0]);
    if (league_rank != 0) return;
    for (std::int32_t c = columns - 1; c >= 0; --c) {  // the first column completes the status
      status.record(c, now[c], next[c]);
      if (posts) status.post(team.for_column(c), next[c]);
      out[c] = next[c];
    }
  }
};

/// \brief The control block of a thread's right-hand side in a kernel of a whole solve: in the
/// registers of each thread, because all decide alike.
template <class Team>
class CurrentControl {
 public:
  KOKKOS_FORCEINLINE_FUNCTION CurrentControl(Team const&, Control const* from) : now_(*from) {}
  KOKKOS_FORCEINLINE_FUNCTION Control const& now() const { return now_; }
  KOKKOS_FORCEINLINE_FUNCTION Control next() const { return now_; }
  KOKKOS_FORCEINLINE_FUNCTION void set(Control const& next) { now_ = next; }

 private:
  Control now_;
};

/// \brief The same of several columns: in the team's scratch, double buffered, because a column's
/// first thread decides for all its threads.
template <class Member>
class CurrentControl<ColumnTeam<Member>> {
 public:
  KOKKOS_FORCEINLINE_FUNCTION CurrentControl(ColumnTeam<Member> const& team, Control const* from)
      : team_(team) {
    if (team.slot() == 0) team.current(0) = from[team.column()];
    team.barrier();
  }
  KOKKOS_FORCEINLINE_FUNCTION Control const& now() const { return team_.current(turn_); }
  KOKKOS_FORCEINLINE_FUNCTION Control next() const {
    return {};
  }  // the first thread's stage sets it
  KOKKOS_FORCEINLINE_FUNCTION void set(Control const& next) {
    if (team_.slot() == 0) team_.current(1 - turn_) = next;
    turn_ = 1 - turn_;
  }

 private:
  ColumnTeam<Member> const& team_;
  int turn_ = 0;
};

/// \brief What a kernel of a whole solve takes along beside the programs.
struct WholeSolve {
  Control* slots;       ///< [columns] where the solve stands; then, of one column, two more
  Control const* from;  ///< [columns]: slots, or new control blocks
  Gate* gate;
  StatusWriter status;
  std::int32_t league;  ///< teams
  std::int32_t room;    ///< history entries of a column that fill a status

  /// \brief Runs the programs until the solve of every column has ended, or a status is full and
  /// no cycle is under way: barriers take the place of launches. run_stage(stage, team, at, now,
  /// next) runs a stage and answers whether the next one must wait for it.
  ///
  /// A control block that all teams decide alike stays on the chip. Where only the first team knows
  /// it, this team leaves it in one of two slots, double buffered.
  ///
  /// \param on_chip what the stages of the iteration have in scratch
  SOLDER_FOR_HOST_OR_DEVICE
  template <class Team, class Programs, class OnChip, class Run>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team, Programs const& programs, OnChip& on_chip,
                                       Run const& run_stage) const {
    Residence<Team> residence(team, gate);
    bool const all_here = residence.join();
    bool const first_team = team.league_rank() == 0, first = first_team && team.slot() == 0;
    CurrentControl<Team> control(team, from);
    int turn = 1;
    auto const pass = [&](auto const& stage, At const& at) {
      Control const& now = control.now();
      if (!team.any_column(now.phase == stage.phase)) return;
      Control next = control.next();
      int const teams = stage.teams();
      bool waits = true, is_for_all = true;
      if constexpr (std::is_same_v<Team, HostTeam>) {
        // A matrix may have more slices of rows than this league has threads. A thread takes the
        // decision of its first slice; so the first thread takes that of the first slice of all.
        for (int rank = team.league_rank(); rank < teams; rank += league) {
          Control each = now;
          bool const wrote = run_stage(stage, HostTeam{rank, teams}, at, now, each);
          if (rank != team.league_rank()) continue;
          next = each;
          waits = wrote;
        }
      } else if constexpr (Team::has_columns) {
        run_stage(stage, team, at, now, next);
      } else if (team.league_size() == 1 || team.league_rank() < teams) {
        waits = run_stage(stage, team.in_league(teams), at, now, next);
      }
      if constexpr (!Team::has_columns)
        is_for_all = team.league_size() == 1 || !(teams < league || is_decided_by_first(stage));
      if (first) status.record(team.column(), now, next);
      if (is_for_all) {
        control.set(next);
        if (waits) residence.wait();
      } else {
        turn = 3 - turn;
        if (first) slots[turn] = next;
        residence.wait();
        control.set(slots[turn]);
      }
    };
    auto const check = [&] {
      if (on_chip.bring_back(team)) residence.wait();
      programs.residual_check.for_each_stage({}, pass);
    };
    auto const iterate = [&] {
      on_chip.take(team);
      programs.iteration.for_each_stage({control.now().step, 0}, pass);
    };
    auto const has_room = [&] {
      Control const& now = control.now();
      return !team.any_column(now.recorded - now.posted >= room && now.step == 0);
    };
    while (all_here && team.any_column(control.now().phase != Phase::finished) && has_room()) {
      bool const checks = team.any_column(control.now().phase == Phase::check);
      if constexpr (Team::has_columns) {
        if (checks) check();
        if (team.any_column(control.now().phase == Phase::iterate)) iterate();
      } else {  // a status may be due between a check and the next cycle
        checks ? check() : iterate();
      }
    }
    on_chip.bring_back(team);
    if (first_team) {
      Control last = control.now();
      status.post(team, last, !all_here);
      if (first) slots[team.column()] = last;
    }
    residence.leave();
  }
};

/// \brief A whole solve as one GPU kernel, of one team or of as many as the device holds.
///
/// Ends early when a status is full; the host then launches it again and it goes on where it was.
///
/// \tparam Held CarriedPrograms or CopiedPrograms
/// \tparam Kind TeamOf::solve or solve_alone
template <class Held, class Width, TeamOf Kind>
struct SolveKernel {
  Held held;
  WholeSolve solve;
  Width width;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const team = width.template team<Kind>(member, solve.league);
    using Team = std::remove_const_t<decltype(team)>;
    NothingOnChip none;
    auto const& programs = held.here(team);
    auto const kept = held.kept(team);
    solve.run(team, programs, none,
              [&](auto const& stage, Team const& stage_team, At const& at, Control const& now,
                  Control& next) {
                auto const& mine = Held::ready(stage);
                return run_in_solve(with_kept(mine, kept), stage_team, at, now, next);
              });
  }
};

/// \brief The same of a league that keeps owned vectors on chip.
template <class Held>
struct OnChipKernel {
  Held held;
  WholeSolve solve;
  OnChipPlan plan;
  std::int32_t most_sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    using Team = OnChipTeam<Member>;
    Team const team(member, member.league_rank(), solve.league, most_sums, plan.blocks);
    OnChipMemory on_chip(plan, team.workspace(nullptr, 0));
    solve.run(team, held.here(team), on_chip,
              [&](auto const& stage, Team const& stage_team, At const& at, Control const& now,
                  Control& next) {
                auto const& mine = Held::ready(stage);
                return run_in_solve(at_home(mine, on_chip), stage_team, at, now, next);
              });
  }
};

/// \brief A whole solve as one parallel region of a host: its threads are held for all of it.
struct HostSolveKernel {
  HostProgram residual_check, iteration;
  WholeSolve solve;

  struct RunStep {
    KOKKOS_FUNCTION bool operator()(HostStep const& step, HostTeam const& team, At const& at,
                                    Control const& now, Control& next) const {
      return step.run(step.stage, team, at, now, next);
    }
  };
  void operator()(int league_rank) const {
    NothingOnChip none;
    solve.run(HostTeam{league_rank, solve.league}, *this, none, RunStep{});
  }
};

/// \brief Makes control blocks of solves that have not begun.
struct NewControls {
  Control* controls;

  KOKKOS_FUNCTION void operator()(std::int32_t k) const { controls[k] = Control{}; }
};

/// \brief Hands columns on to a narrower solve, whose statuses are its own.
struct TakeControls {
  Control const* wide;
  Control* narrow;
  ChosenColumns chosen;

  KOKKOS_FUNCTION void operator()(std::int32_t c) const {
    Control control = wide[chosen.of[c]];
    control.posts = 0;
    narrow[c] = control;
  }
};

/// \brief What a kernel of a batch takes along beside the programs.
struct BatchSolve {
  BatchRows systems;
  std::int32_t* taken;  ///< systems that a team has taken so far
  Control* controls;    ///< [count]: how each solve ended

  /// \brief A whole solve of one system. run_stage(stage, at, now, next) answers whether the next
  /// stage must wait for it, by wait().
  SOLDER_FOR_HOST_OR_DEVICE
  template <class Programs, class Run, class Wait>
  KOKKOS_FORCEINLINE_FUNCTION static Control run(Programs const& programs, Run const& run_stage,
                                                 Wait const& wait) {
    Control now;
    auto const pass = [&](auto const& stage, At const& at) {
      if (now.phase != stage.phase) return;
      Control next = now;
      if (run_stage(stage, at, now, next)) wait();
      now = next;
    };
    while (now.phase != Phase::finished) {
      if (now.phase == Phase::check)
        programs.residual_check.for_each_stage({}, pass);
      else
        programs.iteration.for_each_stage({}, pass);
    }
    return now;
  }
};

/// \brief Solves of a batch on a GPU, one by each team; it takes another system when it is done.
template <class Programs>
struct BatchKernel {
  Programs programs;
  BatchSolve solve;
  std::int32_t most_sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    while (true) {
      std::int32_t k = 0;
      Kokkos::single(
          Kokkos::PerTeam(member),
          [&](std::int32_t& mine) { mine = Kokkos::atomic_fetch_add(solve.taken, 1); }, k);
      if (k >= solve.systems.count) return;
      BatchTeam<Member> const team(member, most_sums, solve.systems.starts[k],
                                   solve.systems.starts[k + 1]);
      Control const end = BatchSolve::run(
          programs,
          [&](auto const& stage, At const& at, Control const& now, Control& next) {
            return run_in_solve(stage, team, at, now, next);
          },
          [&] { team.barrier(); });
      if (team.rank() == 0) solve.controls[k] = end;
      team.barrier();
    }
  }
};

/// \brief The same on a host, by each thread.
struct HostBatchKernel {
  HostProgram residual_check, iteration;
  BatchSolve solve;

  void operator()(int place) const {
    while (true) {
      std::int32_t const k = Kokkos::atomic_fetch_add(solve.taken, 1);
      if (k >= solve.systems.count) return;
      HostTeam const team{0, 1, solve.systems.starts[k], solve.systems.starts[k + 1], 1, 0, place};
      solve.controls[k] = BatchSolve::run(
          *this,
          [&](HostStep const& step, At const& at, Control const& now, Control& next) {
            return step.run(step.stage, team, at, now, next);
          },
          [] {});
    }
  }
};

}  // namespace Solder::Impl
