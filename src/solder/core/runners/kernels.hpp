// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the runners launch: a stage, or a whole solve, as a Kokkos functor.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <solder/core/mailbox.hpp>
#include <solder/core/program.hpp>

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

/// \brief Runs `now` through the stages that `programs` holds until the solve has ended or the
/// letter is full: barriers take the place of launches. run(stage, at, now, next) runs a stage.
SOLDER_FOR_HOST_OR_DEVICE
template <class Team, class Programs, class Run>
KOKKOS_FORCEINLINE_FUNCTION void run_whole_solve(Team const& team, Programs const& programs,
                                                 Control* control, Outbox const& outbox, bool fresh,
                                                 Run const& run) {
  Control now = fresh ? Control{} : *control;
  auto const pass = [&](auto const& stage, At const& at) {
    if (now.phase != stage.phase) return;
    Control next = now;
    run(stage, at, now, next);
    if (team.rank() == 0) outbox.record(now, next);
    team.barrier();
    now = next;
  };
  while (now.phase != Phase::finished && now.recorded - now.posted < outbox.capacity) {
    if (now.phase == Phase::judge)
      programs.judgement.for_each_stage({}, pass);
    else
      programs.iteration.for_each_stage({now.step, 0}, pass);
  }
  outbox.post(team, now);
  if (team.rank() == 0) *control = now;
}

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
template <class Judgement, class Iteration>
struct Programs {
  Judgement judgement;
  Iteration iteration;

  static constexpr bool on_device = Judgement::on_device && Iteration::on_device;
  bool operator==(Programs const&) const = default;
};

/// \brief A whole solve as one GPU kernel of one team.
///
/// Ends early when the letter is full; the host then launches it again and it goes on where it was.
template <class Programs>
struct SolveKernel {
  Programs programs;
  Control* control;
  Outbox outbox;
  std::int32_t most_sums;
  bool fresh;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    DeviceTeam<Member> const team(member, 0, 1, most_sums);
    run_whole_solve(team, programs, control, outbox, fresh,
                    [&](auto const& stage, At const& at, Control const& now, Control& next) {
                      stage.run(team, at, now, next);
                    });
  }
};

/// \brief The same for programs of too many bytes for a launch to take along: the first kernel that
/// sees them copies them from memory of the host.
template <class Programs>
struct CopiedSolveKernel {
  Programs const* from;  ///< null: they have been copied
  Programs* programs;
  Control* control;
  Outbox outbox;
  std::int32_t most_sums;
  bool fresh;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    DeviceTeam<Member> const team(member, 0, 1, most_sums);
    if (from != nullptr) {
      static_assert(sizeof(Programs) % sizeof(std::int32_t) == 0);
      auto const* const source = reinterpret_cast<std::int32_t const*>(from);
      auto* const target = reinterpret_cast<std::int32_t*>(programs);
      for (int k = team.rank(); k < int(sizeof(Programs) / sizeof(std::int32_t)); k += team.size())
        target[k] = source[k];
      team.barrier();
    }
    run_whole_solve(team, *programs, control, outbox, fresh,
                    [&](auto const& stage, At const& at, Control const& now, Control& next) {
                      auto const mine =
                          stage;  // in registers: nothing that the stage writes is part of it
                      mine.run(team, at, now, next);
                    });
  }
};

/// \brief A stage on a host: where it is, and how to run it. A stage is compiled once for all host
/// spaces, runners and programs.
struct HostStep {
  char const* label;
  Phase phase;
  int teams;
  void const* stage;
  void (*run)(void const* stage, HostTeam const&, At const&, Control const&, Control&);
  HostStage const* work;  ///< not null: no kernel, but this
};

template <class Stage>
HostStep host_step(Stage const& stage) {
  if constexpr (std::is_same_v<Stage, HostStage>)
    return {"", stage.phase, 0, nullptr, nullptr, &stage};
  else
    return {stage.label,
            stage.phase,
            stage.teams(),
            &stage,
            [](void const* where, HostTeam const& team, At const& at, Control const& now,
               Control& next) {
              // A copy: the compiler then knows that nothing the stage writes is part of it.
              Stage const mine = *static_cast<Stage const*>(where);
              mine.run(team, at, now, next);
            },
            nullptr};
}

/// \brief A program on a host, whatever its stages.
class HostProgram {
 public:
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
    run_in_league(*this, HostTeam{league_rank, step.teams}, at, in, out, outbox, posts, fresh);
  }
};

/// \brief A whole solve on one core of a host.
struct HostSolveKernel {
  HostProgram judgement, iteration;
  Control* control;
  Outbox outbox;
  bool fresh;

  void operator()(int) const {
    HostTeam const team{0, 1};
    run_whole_solve(team, *this, control, outbox, fresh,
                    [&](HostStep const& step, At const& at, Control const& now, Control& next) {
                      step.run(step.stage, team, at, now, next);
                    });
  }
};

}  // namespace Solder::Impl
