// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The programs of a solve as kernels have them: as arguments, in memory, or on hosts as lists of
// functions.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <solder/core/allocate.hpp>
#include <solder/core/program.hpp>

namespace Solder::Impl {

/// \brief The two programs of a solve.
template <class ResidualCheck, class Iteration>
struct Programs {
  ResidualCheck residual_check;
  Iteration iteration;

  static constexpr bool on_device = ResidualCheck::on_device && Iteration::on_device,
                        goes_through_rows =
                            ResidualCheck::goes_through_rows && Iteration::goes_through_rows;
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

/// \brief The memory, of host and device, of programs that a launch does not take along.
template <class Exec>
class ProgramMemory {
 public:
  /// \brief Takes the memory for programs of so many bytes.
  void reserve(Exec const& exec, std::size_t size) {
    on_host_ = decltype(on_host_)("Solder::engine::programs", size);
    on_device_ = allocate_view<decltype(on_device_)>(exec, "Solder::engine::programs", size);
    exec.fence("Solder::engine: memory of programs is ready");
  }
  /// \brief These are to be run from now on. No kernel may be in flight.
  void put(void const* programs, std::size_t size) {
    std::memcpy(on_host_.data(), programs, size);
    is_new_ = true;
  }
  /// \brief What the next kernel takes along; call launched() when that kernel has been launched.
  template <class Programs>
  CopiedPrograms<Programs> next() const {
    return {is_new_ ? reinterpret_cast<Programs const*>(on_host_.data()) : nullptr,
            reinterpret_cast<Programs*>(on_device_.data())};
  }
  void launched() { is_new_ = false; }

 private:
  StatusArray<char, Exec> on_host_;
  Kokkos::View<char*, typename Exec::memory_space> on_device_;
  bool is_new_ = false;
};

/// \brief Runs a stage as part of a whole solve. Answers whether the next one must wait for it.
SOLDER_FOR_HOST_OR_DEVICE
template <class Stage, class Team>
KOKKOS_FORCEINLINE_FUNCTION bool run_in_solve(Stage const& stage, Team const& team, At const& at,
                                              Control const& now, Control& next) {
  stage.run(team, at, now, next);
  return !is_idle(stage, now, next);
}

/// \brief Whether a stage reads sums that earlier ones have left. A stage with a run() of its own
/// may, unless it says otherwise.
template <class S>
inline constexpr bool stage_reads_sums = [] {
  if constexpr (requires { S::reads_sums; })
    return S::reads_sums;
  else
    return true;
}();
template <class Source, class Body>
inline constexpr bool stage_reads_sums<Stage<Source, Body>> = sums_needed_by<Body>() > 0;

/// \brief A stage on a host: where it is, and how to run it (see WholeSolve::run). A stage is
/// compiled once for all host spaces, runners and programs.
struct HostStep {
  char const* label;
  Phase phase;
  std::int32_t league;
  void const* stage;
  bool first_decides;
  bool reads_sums;  ///< that earlier stages have left
  /// now and next are the first of as many control blocks as there are columns.
  bool (*run)(void const* stage, HostTeam const&, At const&, Control const& now, Control& next);
  HostStage const* work;  ///< not null: no kernel, but this

  KOKKOS_FUNCTION int teams() const { return league; }

  template <class Stage>
  static HostStep of(Stage const& stage) {
    if constexpr (std::is_same_v<Stage, HostStep>)
      return stage;
    else if constexpr (std::is_same_v<Stage, HostStage>)
      return {"", stage.phase, 0, nullptr, false, false, nullptr, &stage};
    else
      return {stage.label,
              stage.phase,
              stage.teams(),
              &stage,
              is_decided_by_first(stage),
              stage_reads_sums<Stage>,
              [](void const* where, HostTeam const& team, At const& at, Control const& now,
                 Control& next) {
                // A copy: the compiler then knows that nothing the stage writes is part of it.
                Stage const mine = *static_cast<Stage const*>(where);
                return run_in_solve(mine, team, at, now, next);
              },
              nullptr};
  }
};

/// \brief A program, whatever its stages: it hands them out as Steps. Or a part of a program.
///
/// \tparam Step HostStep, or DeviceStep
template <class Step>
class ErasedProgram {
 public:
  static constexpr bool on_device = true, goes_through_rows = false;

  ErasedProgram() = default;
  /// \param program is to outlive this
  /// \tparam Maker has `static Step of(stage)`
  template <class Program, class Maker = Step>
  explicit ErasedProgram(Program const& program, std::type_identity<Maker> = {})
      : program_(&program), visit_([](void const* where, At const& from, Visitor const& visitor) {
          auto const hand_out = [&](auto const& stage, At const& at) {
            visitor.call(visitor.f, Maker::of(stage), at);
          };
          auto const& stages = *static_cast<Program const*>(where);
          if constexpr (std::is_same_v<Step, HostStep>)
            stages.for_each_stage(from, ForHost{hand_out});
          else
            stages.for_each_stage(from, hand_out);
        }) {}

  template <class F>
  void for_each_stage(At const& at, F const& f) const {
    visit_(program_, at, {&f, [](void const* where, Step const& step, At const& when) {
                            (*static_cast<F const*>(where))(step, when);
                          }});
  }
  bool operator==(ErasedProgram const&) const = default;

 private:
  struct Visitor {
    void const* f;
    void (*call)(void const* f, Step const&, At const&);
  };
  void const* program_ = nullptr;
  void (*visit_)(void const*, At const&, Visitor const&) = nullptr;
};

using HostProgram = ErasedProgram<HostStep>;

}  // namespace Solder::Impl
