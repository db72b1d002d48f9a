// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The programs of a solve as the engine has them, whatever their types. On GPUs a stage is
/// then compiled once for all programs that it is part of; only a kernel of a whole solve, or of a
/// batch, needs the types of all stages together.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <solder/core/plan.hpp>
#include <solder/core/runners/kernels.hpp>
#include <solder/core/runners/team_policy.hpp>

namespace Solder::Impl {

/// \brief What programs are run for: one right-hand side, several together, or the systems of a
/// batch. Each has kernels of its own, which are compiled where it is used.
enum class Serving { one, columns, batch };

/// \brief The right-hand sides of an engine.
struct Width {
  std::int32_t columns = 1;
  std::int64_t rows = 0;    ///< of each; of one column not read
  std::int32_t league = 0;  ///< teams of all stages on GPUs; of one column not read

  std::int64_t entries() const { return rows * columns; }
};

/// \brief What the stages of both programs need of a team's scratch. All get as much, so that the
/// multiprocessors need not repartition their memory between two stages.
struct ScratchNeeds {
  std::int32_t most_sums = 0;
  int workspace = 0;  ///< doubles

  void add(std::int32_t sums, int doubles) {
    most_sums = std::max(most_sums, sums);
    workspace = std::max(workspace, doubles);
  }
  /// \brief Of a program whose stages are all a GPU's.
  template <class Program>
  void add(Program const& program, At const& at) {
    program.for_each_stage(at, [&](auto const& stage, At const&) {
      add(std::remove_cvref_t<decltype(stage)>::most_sums, stage.workspace());
    });
  }
  int bytes() const { return DeviceTeam<int>::scratch_bytes(most_sums, workspace); }
};

/// \brief What the launch of a kernel is given beside its stages.
template <class Exec>
struct Launch {
  Exec const& exec;
  Machine const& machine;
  Width const& width;
  ScratchNeeds const& needs;  ///< of one column

  // ---- Policies of several columns ----

  bool has_many_entries() const {
    return width.entries() > constants_of(machine).many_entries_of_columns;
  }
  template <int Threads>
  auto policy_of_rows() const {
    int const most = has_many_entries() ? 2 * column_threads : column_threads;
    return policy_of<Threads, 1>(width.league, ColumnTeam<int>::sums_at_once * most);
  }
  /// \tparam LeastTeams that a multiprocessor is to hold at once
  /// \param doubles of scratch
  template <int Threads, int LeastTeams>
  auto policy_of(int teams, int doubles) const {
    return team_policy<Exec, Threads, LeastTeams>(exec, teams, Threads,
                                                  ColumnTeam<int>::scratch_bytes(doubles));
  }
};

/// \brief The same, of one stage: see StageKernel.
template <class Exec>
struct StageLaunch : Launch<Exec> {
  Control const* in;
  Control* out;
  StatusWriter status;
  At at;
  bool posts;
};

/// \brief A stage on a GPU: how to launch it.
template <class Exec>
struct DeviceStep {
  std::int32_t most_sums;
  int workspace;  ///< doubles
  void const* stage;
  void (*launch)(void const* stage, StageLaunch<Exec> const&);
  HostStage const* work;  ///< not null: no kernel, but this

  template <Serving For>
  struct Maker {
    template <class Stage>
    static DeviceStep of(Stage const& stage) {
      if constexpr (std::is_same_v<Stage, HostStage>)
        return {0, 0, nullptr, nullptr, &stage};
      else
        return {Stage::most_sums, stage.workspace(), &stage, &launch_stage<Stage, For>, nullptr};
    }
  };

 private:
  template <class Stage, Serving For>
  static void launch_stage(void const* where, StageLaunch<Exec> const& with) {
    auto const& stage = *static_cast<Stage const*>(where);
    auto const here = bound(stage, with.at);
    using Bound = std::remove_const_t<decltype(here)>;
    constexpr int threads = Stage::threads;
    auto const kernel_of = [&]<class Number>(Number const& number) {
      StageKernel<Bound, Number> const kernel{here,    with.in, with.out,  with.status,
                                              with.at, number,  with.posts};
      static_assert(sizeof(kernel) <= largest_functor);
      return kernel;
    };
    if constexpr (For == Serving::one) {
      Kokkos::parallel_for(
          stage.label,
          team_policy<Exec, threads>(with.exec, stage.teams(), threads, with.needs.bytes()),
          kernel_of(OneColumn{with.needs.most_sums}));
    } else {
      auto const kernel = kernel_of(SomeColumns{with.width.columns});
      if constexpr (goes_through_rows<Stage>)
        launch_rows<!Stage::takes_products>(stage.label, with, kernel);
      else
        Kokkos::parallel_for(stage.label,
                             with.template policy_of<threads, 2 * column_threads / threads>(
                                 stage.teams(), Stage::most_sums * threads),
                             kernel);
    }
  }
  /// \brief A kernel that goes through rows of several columns. One that takes no products needs
  /// fewer registers: where there are many entries it has twice the threads, for more rows in
  /// flight. Both then have as much scratch, so that the multiprocessors need not repartition their
  /// memory between them.
  template <bool MayHaveMore, class Kernel>
  static void launch_rows(char const* label, StageLaunch<Exec> const& with, Kernel const& kernel) {
    if constexpr (MayHaveMore)
      if (with.has_many_entries())
        return Kokkos::parallel_for(label, with.template policy_of_rows<2 * column_threads>(),
                                    kernel);
    Kokkos::parallel_for(label, with.template policy_of_rows<column_threads>(), kernel);
  }
};

/// \brief What a launch of a whole solve is given beside the programs.
template <class Exec>
struct WholeLaunch : Launch<Exec> {
  char const* label;
  Plan const& plan;
  WholeSolve solve;
  ProgramMemory<Exec>& memory;  ///< of programs that the launch does not take along
  OnChipPlan& chip;
};

/// \brief What a launch of a batch is given beside the programs.
template <class Exec>
struct BatchLaunch {
  Exec const& exec;
  char const* label;
  int teams, threads;
  BatchSolve solve;
};

template <class Exec>
struct AnyPrograms;

/// \brief What is compiled of programs for GPUs.
struct Compiled {
  Serving serving = Serving::one;
  WholeKernels whole{};  ///< kernels of a whole solve
  bool owns = false;     ///< with vectors on chip, too: some are Owned
};

/// \brief A type of programs that devices run: what can be done with them.
template <class Exec>
struct ProgramsType {
  /// \brief A kernel of the whole solve.
  struct Whole {
    WholeKernels kernels = no_whole_kernels;
    void (*launch)(void const* programs, WholeLaunch<Exec> const&) = nullptr;  ///< null: none
    bool is_carried = false;  ///< the launch takes the programs along
  };

  std::size_t size;  ///< bytes that may be copied
  bool (*are_equal)(void const*, void const*);
  AnyPrograms<Exec> (*at)(void const* programs);
  Whole whole;
  void (*launch_batch)(void const* programs, BatchLaunch<Exec> const&);  ///< null: none
};

/// \brief The programs of a solve, whatever their types.
template <class Exec>
struct AnyPrograms {
  using Step = std::conditional_t<is_host_space<Exec>, HostStep, DeviceStep<Exec>>;

  ErasedProgram<Step> residual_check, iteration;
  void const* all = nullptr;                 ///< on GPUs both programs, of `type`
  ProgramsType<Exec> const* type = nullptr;  ///< null on hosts, or where the host has a part
};

/// \brief Programs of known types as the engine has them; these must outlive the result.
template <class Exec, Compiled What, class ResidualCheck, class Iteration>
class TypedPrograms {
  using All = Programs<ResidualCheck, Iteration>;

 public:
  static AnyPrograms<Exec> erased(All const& all) {
    using Step = typename AnyPrograms<Exec>::Step;
    if constexpr (is_host_space<Exec>) {
      return {ErasedProgram<Step>(all.residual_check), ErasedProgram<Step>(all.iteration)};
    } else {
      std::type_identity<typename Step::template Maker<What.serving>> const maker;
      AnyPrograms<Exec> any{ErasedProgram<Step>(all.residual_check, maker),
                            ErasedProgram<Step>(all.iteration, maker)};
      if constexpr (All::on_device) {
        static_assert(std::equality_comparable<All> && std::is_trivially_copyable_v<All>,
                      "Solder: a stage that devices run must be a plain, comparable struct");
        static_assert(alignof(All) <= alignof(std::max_align_t));
        static constexpr ProgramsType<Exec> type{sizeof(All), &are_equal, &at, whole(), batch()};
        any.all = &all;
        any.type = &type;
      }
      return any;
    }
  }

 private:
  static All const& typed(void const* all) { return *static_cast<All const*>(all); }
  static bool are_equal(void const* one, void const* other) { return typed(one) == typed(other); }
  static AnyPrograms<Exec> at(void const* all) { return erased(typed(all)); }

  // ---- A kernel of the whole solve ----

  using Number = std::conditional_t<What.serving == Serving::columns, SomeColumns, OneColumn>;
  static constexpr bool has_whole =
      What.serving == Serving::one
          ? What.whole.of_team || What.whole.of_league
          : What.serving == Serving::columns && What.whole.of_league && All::goes_through_rows;
  static constexpr bool is_carried =
      sizeof(SolveKernel<CarriedPrograms<All>, Number, TeamOf::solve>) + sizeof(OnChipPlan) <=
      most_argument_bytes;

  static constexpr typename ProgramsType<Exec>::Whole whole() {
    if constexpr (has_whole)
      return {What.whole, &launch_whole, is_carried};
    else
      return {};
  }
  static void launch_whole(void const* where, WholeLaunch<Exec> const& with) {
    All const& all = typed(where);
    if constexpr (What.serving == Serving::columns) {
      SomeColumns const number{with.width.columns};
      launch_held(all, with, with.template policy_of_rows<column_threads>(), [&](auto const& held) {
        return whole_kernel<TeamOf::solve>(held, with, number);
      });
    } else {
      if constexpr (What.owns)
        if (with.plan.on_chip) return launch_on_chip(all, with);
      OneColumn const number{with.needs.most_sums};
      auto const policy = team_policy<Exec, team_threads>(with.exec, with.plan.teams,
                                                          with.plan.threads, with.needs.bytes());
      if (with.plan.teams == 1) {
        if constexpr (What.whole.of_team)
          launch_held(all, with, policy, [&](auto const& held) {
            return whole_kernel<TeamOf::solve_alone>(held, with, number);
          });
      } else if constexpr (What.whole.of_league) {
        launch_held(all, with, policy, [&](auto const& held) {
          return whole_kernel<TeamOf::solve>(held, with, number);
        });
      }
    }
  }
  template <TeamOf Kind, class Held>
  static SolveKernel<Held, Number, Kind> whole_kernel(Held const& held,
                                                      WholeLaunch<Exec> const& with,
                                                      Number const& number) {
    return {held, with.solve, number};
  }
  static void launch_on_chip(All const& all, WholeLaunch<Exec> const& with) {
    OnChipPlan& chip = with.chip;
    chip.before = with.needs.workspace;
    chip.set_room(most_scratch_bytes - with.needs.bytes());
    launch_held(all, with,
                team_policy<Exec, league_threads>(with.exec, with.plan.teams, with.plan.threads,
                                                  with.needs.bytes() + chip.bytes()),
                [&](auto const& held) {
                  return OnChipKernel<std::remove_cvref_t<decltype(held)>>{held, with.solve, chip,
                                                                           with.needs.most_sums};
                });
  }
  /// \brief Launches kernel_with(the programs as the launch has them).
  template <class Policy, class KernelWith>
  static void launch_held(All const& all, WholeLaunch<Exec> const& with, Policy const& policy,
                          KernelWith const& kernel_with) {
    if constexpr (is_carried) {
      Kokkos::parallel_for(with.label, with_arguments(policy),
                           kernel_with(CarriedPrograms<All>{all}));
    } else {
      Kokkos::parallel_for(with.label, policy, kernel_with(with.memory.template next<All>()));
      with.memory.launched();
    }
  }

  // ---- A kernel for the systems of a batch ----

  static constexpr auto batch() {
    if constexpr (What.serving == Serving::batch)
      return &launch_batch;
    else
      return static_cast<void (*)(void const*, BatchLaunch<Exec> const&)>(nullptr);
  }
  static void launch_batch(void const* where, BatchLaunch<Exec> const& with) {
    All const& all = typed(where);
    ScratchNeeds needs;
    needs.add(all.residual_check, {});
    needs.add(all.iteration, {});
    auto const policy =
        team_policy<Exec, league_threads>(with.exec, with.teams, with.threads, needs.bytes());
    BatchKernel<All> const kernel{all, with.solve, needs.most_sums};
    if constexpr (sizeof(kernel) <= most_argument_bytes)
      Kokkos::parallel_for(with.label, with_arguments(policy), kernel);
    else
      Kokkos::parallel_for(with.label, policy, kernel);
  }
};

template <class Exec, Compiled What = Compiled{}, class ResidualCheck, class Iteration>
AnyPrograms<Exec> any_programs(Programs<ResidualCheck, Iteration> const& programs) {
  return TypedPrograms<Exec, What, ResidualCheck, Iteration>::erased(programs);
}

/// \brief A copy of programs that devices run.
template <class Exec>
class HeldPrograms {
 public:
  /// \brief Takes the memory for programs of so many bytes.
  void reserve(std::size_t size) { bytes_.reserve(size); }
  /// \brief Holds these, in place of others. \return whether they differ
  bool hold(AnyPrograms<Exec> const& programs) {
    if (programs.type == type_ && type_->are_equal(bytes_.data(), programs.all)) return false;
    type_ = programs.type;
    auto const* const from = static_cast<std::byte const*>(programs.all);
    bytes_.assign(from, from + type_->size);
    return true;
  }
  AnyPrograms<Exec> programs() const { return type_->at(bytes_.data()); }

 private:
  ProgramsType<Exec> const* type_ = nullptr;
  std::vector<std::byte> bytes_;
};

}  // namespace Solder::Impl
