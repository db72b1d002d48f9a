// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the runners launch: a stage, or a whole solve, as a Kokkos functor.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/mailbox.hpp>
#include <solder/core/on_chip.hpp>
#include <solder/core/program.hpp>
#include <solder/core/runners/gate.hpp>

namespace Solder::Impl {

/// \brief A stage in a league: reads the control block, works if it is its phase, passes the block
/// on.
SOLDER_FOR_HOST_OR_DEVICE
template <class Stage, class Team>
KOKKOS_FORCEINLINE_FUNCTION void run_in_league(Stage const& stage, Team const& team, At const& at,
                                               Control const* in, Control* out,
                                               Outbox const& outbox, bool posts, bool fresh) {
  Control const now = fresh ? Control{} : *in;
  Control next = now;
  stage.run(team, at, now, next);
  if (team.league_rank() != 0) return;
  if (team.rank() == 0) outbox.record(now, next);
  if (posts) outbox.post(team, next);
  if (team.rank() == 0) *out = next;
}

/// \brief Runs a stage as part of a whole solve. Answers whether the next one must wait for it.
SOLDER_FOR_HOST_OR_DEVICE
template <class Stage, class Team>
KOKKOS_FORCEINLINE_FUNCTION bool run_in_solve(Stage const& stage, Team const& team, At const& at,
                                              Control const& now, Control& next) {
  stage.run(team, at, now, next);
  return !is_idle(stage, now, next);
}

/// \brief What a kernel of a whole solve takes along beside the programs.
struct WholeSolve {
  Control* slots;  ///< [3]: where the solve stands, and two by turns
  Gate* gate;
  Outbox outbox;
  std::int32_t league;  ///< teams
  std::int32_t letter;  ///< history entries that fill it
  bool fresh;           ///< begins with a new control block

  /// \brief Runs the control block through the stages that `programs` holds until the solve has
  /// ended, or the letter is full and no cycle is under way: barriers take the place of launches.
  /// run_stage(stage, team, at, now, next) runs a stage and answers whether the next one must wait
  /// for it.
  ///
  /// What all teams decide in the same way stays in registers. Where only the first one knows, it
  /// leaves the control block in one of two slots, by turns.
  ///
  /// \param on_chip what the stages of the iteration have in scratch
  SOLDER_FOR_HOST_OR_DEVICE
  template <class Team, class Programs, class OnChip, class Run>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team, Programs const& programs, OnChip& on_chip,
                                       Run const& run_stage) const {
    Residence<Team> residence(team, gate);
    bool const all_here = residence.join();
    bool const first_team = team.league_rank() == 0, first = first_team && team.rank() == 0;
    Control now = fresh ? Control{} : slots[0];
    int turn = 1;
    auto const pass = [&](auto const& stage, At const& at) {
      if (now.phase != stage.phase) return;
      Control next = now;
      int const teams = stage.teams();
      bool waits = true;
      if constexpr (std::is_same_v<Team, HostTeam>) {
        // A matrix may have more slices of rows than this league has threads; the first of a
        // thread's slices has its word, so that the first of all has the first thread's.
        for (int rank = team.league_rank(); rank < teams; rank += league) {
          Control each = now;
          bool const wrote = run_stage(stage, HostTeam{rank, teams}, at, now, each);
          if (rank != team.league_rank()) continue;
          next = each;
          waits = wrote;
        }
      } else if (team.league_size() == 1 || team.league_rank() < teams) {
        waits = run_stage(stage, team.in_league(teams), at, now, next);
      }
      if (first) outbox.record(now, next);
      if (team.league_size() > 1 && (teams < league || is_decided_by_first(stage))) {
        turn = 3 - turn;
        if (first) slots[turn] = next;
        residence.wait();
        now = slots[turn];
      } else {
        if (waits) residence.wait();
        now = next;
      }
    };
    auto const has_room = [&] { return now.recorded - now.posted < letter || now.step > 0; };
    while (all_here && now.phase != Phase::finished && has_room()) {
      if (now.phase == Phase::judge) {
        if (on_chip.bring_back(team)) residence.wait();
        programs.judgement.for_each_stage({}, pass);
      } else {
        on_chip.take(team);
        programs.iteration.for_each_stage({now.step, 0}, pass);
      }
    }
    on_chip.bring_back(team);
    if (first_team) {
      outbox.post(team, now, !all_here);
      if (first) slots[0] = now;
    }
    residence.leave();
  }
};

/// \brief A stage on a GPU.
template <class Stage>
struct StageKernel {
  Stage stage;
  Control const* in;
  Control* out;
  Outbox outbox;
  At at;
  std::int32_t most_sums;  ///< of all stages: what the scratch is laid out for
  bool posts;              ///< the last stage of a batch: sends a letter
  bool fresh;              ///< the first stage of a solve: begins with a new control block

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    DeviceTeam<Member> const team(member, member.league_rank(), member.league_size(), most_sums);
    run_in_league(stage, team, at, in, out, outbox, posts, fresh);
  }
};

/// \brief The two programs of a solve.
///
/// \tparam Owns whether the iteration has Owned vectors
template <class Judgement, class Iteration, bool Owns = false>
struct Programs {
  static constexpr bool owns = Owns;

  Judgement judgement;
  Iteration iteration;

  static constexpr bool on_device = Judgement::on_device && Iteration::on_device,
                        goes_through_rows =
                            Judgement::goes_through_rows && Iteration::goes_through_rows;
  bool operator==(Programs const&) const = default;
};

/// \brief Programs that a launch takes along.
template <class Programs>
struct CarriedPrograms {
  Programs programs;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Programs const& here(Team const&) const {
    return programs;
  }
  /// \brief What a thread can keep of them for the whole solve.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION auto kept(Team const& team) const {
    return kept_of(programs.iteration, team);
  }
  /// \brief A stage as it is to be run.
  template <class Stage>
  KOKKOS_FORCEINLINE_FUNCTION static Stage const& ready(Stage const& stage) {
    return stage;
  }
};

/// \brief Programs of too many bytes for that: the first kernel that sees them copies them from
/// memory of the host.
template <class Programs>
struct CopiedPrograms {
  Programs const* from;  ///< null: they have been copied
  Programs* programs;

  /// \brief All threads call this, before the teams meet.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Programs const& here(Team const& team) const {
    if (from != nullptr && team.league_rank() == 0) {
      static_assert(sizeof(Programs) % sizeof(std::int32_t) == 0);
      auto const* const source = reinterpret_cast<std::int32_t const*>(from);
      auto* const target = reinterpret_cast<std::int32_t*>(programs);
      for (int k = team.rank(); k < int(sizeof(Programs) / sizeof(std::int32_t)); k += team.size())
        target[k] = source[k];
      team.barrier();
    }
    return *programs;
  }
  /// \brief Nothing: until the teams have met, the copy that another team makes may not be there.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION NothingKept kept(Team const&) const {
    return {};
  }
  /// \brief In registers: nothing that it writes is part of it.
  template <class Stage>
  KOKKOS_FORCEINLINE_FUNCTION static Stage ready(Stage const& stage) {
    return stage;
  }
};

/// \brief A whole solve as one GPU kernel, of one team or of as many as the device holds.
///
/// Ends early when the letter is full; the host then launches it again and it goes on where it was.
///
/// \tparam Held CarriedPrograms or CopiedPrograms
/// \tparam Kind TeamOf::solve or solve_alone
template <class Held, TeamOf Kind>
struct SolveKernel {
  Held held;
  WholeSolve solve;
  std::int32_t most_sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    using Team = DeviceTeam<Member, Kind>;
    Team const team(member, member.league_rank(), solve.league, most_sums);
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

/// \brief Where programs lie that a launch does not take along: their own memory, of host and
/// device.
template <class Exec>
class ProgramMemory {
 public:
  /// \brief Takes the memory.
  template <class Programs>
  void reserve(Exec const& exec) {
    on_host_ = decltype(on_host_)("Solder::engine::programs", exec, sizeof(Programs));
    on_device_ =
        allocate_view<decltype(on_device_)>(exec, "Solder::engine::programs", sizeof(Programs));
    exec.fence("Solder::engine: memory of programs is ready");
  }
  /// \brief These are to be run from now on. No kernel may be in flight.
  template <class Programs>
  void put(Programs const& programs) {
    std::memcpy(on_host_.data(), &programs, sizeof(Programs));
    is_new_ = true;
  }
  /// \brief What the next kernel takes along; when that is launched, launched() is to be called.
  template <class Programs>
  CopiedPrograms<Programs> next() const {
    return {is_new_ ? reinterpret_cast<Programs const*>(on_host_.data()) : nullptr,
            reinterpret_cast<Programs*>(on_device_.data())};
  }
  void launched() { is_new_ = false; }

 private:
  MailboxArray<char, Exec> on_host_;
  Kokkos::View<char*, typename Exec::memory_space> on_device_;
  bool is_new_ = false;
};

/// \brief A stage on a host: where it is, and how to run it (see WholeSolve::run). A stage is
/// compiled once for all host spaces, runners and programs.
struct HostStep {
  char const* label;
  Phase phase;
  std::int32_t league;
  void const* stage;
  bool first_decides;
  bool (*run)(void const* stage, HostTeam const&, At const&, Control const&, Control&);
  HostStage const* work;  ///< not null: no kernel, but this

  KOKKOS_FUNCTION int teams() const { return league; }
};

template <class Stage>
HostStep host_step(Stage const& stage) {
  if constexpr (std::is_same_v<Stage, HostStep>)
    return stage;
  else if constexpr (std::is_same_v<Stage, HostStage>)
    return {"", stage.phase, 0, nullptr, false, nullptr, &stage};
  else
    return {stage.label,
            stage.phase,
            stage.teams(),
            &stage,
            is_decided_by_first(stage),
            [](void const* where, HostTeam const& team, At const& at, Control const& now,
               Control& next) {
              // A copy: the compiler then knows that nothing the stage writes is part of it.
              Stage const mine = *static_cast<Stage const*>(where);
              return run_in_solve(mine, team, at, now, next);
            },
            nullptr};
}

/// \brief A program on a host, whatever its stages; or a part of one.
class HostProgram {
 public:
  static constexpr bool on_device = true, goes_through_rows = false;

  template <class Program>
  explicit HostProgram(Program const& program)
      : program_(&program), visit_([](void const* where, At const& from, Visitor const& visitor) {
          static_cast<Program const*>(where)->for_each_stage(
              from, [&](auto const& stage, At const& at) {
                visitor.call(visitor.f, host_step(stage), at);
              });
        }) {}

  template <class F>
  void for_each_stage(At const& at, F const& f) const {
    visit_(program_, at, {&f, [](void const* where, HostStep const& step, At const& when) {
                            (*static_cast<F const*>(where))(step, when);
                          }});
  }
  bool operator==(HostProgram const&) const = default;

 private:
  struct Visitor {
    void const* f;
    void (*call)(void const* f, HostStep const&, At const&);
  };
  void const* program_;
  void (*visit_)(void const*, At const&, Visitor const&);
};

/// \brief A stage in a league of host threads.
struct HostStageKernel {
  HostStep step;
  Control const* in;
  Control* out;
  Outbox outbox;
  At at;
  bool posts, fresh;

  void run(HostTeam const& team, At const& when, Control const& now, Control& next) const {
    step.run(step.stage, team, when, now, next);
  }
  void operator()(int league_rank) const {
    run_in_league(*this, HostTeam{league_rank, step.teams()}, at, in, out, outbox, posts, fresh);
  }
};

/// \brief A whole solve as one parallel region of a host: its threads are held for all of it.
struct HostSolveKernel {
  HostProgram judgement, iteration;
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

}  // namespace Solder::Impl
