// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/batch_team.hpp>
#include <solder/core/runners/engine.hpp>

namespace Solder::Impl {

/// \brief What a kernel of a batch takes along beside the programs.
struct BatchSolve {
  BatchRows systems;
  std::int32_t* taken;  ///< systems that a team has taken so far
  Control* controls;    ///< [count]: how each solve ended

  /// \brief A whole solve: runs a control block through the stages that `programs` holds.
  /// run_stage(stage, at, now, next) answers whether the next one must wait for it, by wait().
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
      if (now.phase == Phase::judge)
        programs.judgement.for_each_stage({}, pass);
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
  HostProgram judgement, iteration;
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

/// \brief Executes a solver's programs for many systems at once, each alone by one team or thread:
/// all solves are one kernel.
template <class Exec>
class BatchEngine {
 public:
  /// \param label of the kernel
  BatchEngine(Exec const& exec, std::string const& label, BatchRows const& systems)
      : exec_(exec),
        label_(label),
        systems_(systems),
        taken_(allocate_view<decltype(taken_)>(exec, "Solder::batch::taken", 1)),
        controls_(
            allocate_view<decltype(controls_)>(exec, "Solder::batch::controls", systems.count)),
        ends_(allocate_view<decltype(ends_)>(Kokkos::DefaultHostExecutionSpace(),
                                             "Solder::batch::ends", systems.count)) {}

  /// \brief Teams that solve at once.
  static int places(Exec const& exec, BatchRows const& systems) {
    int const most = is_host_space<Exec>
                         ? exec.concurrency()
                         : resident_league(exec) * (league_threads / threads(systems));
    return std::clamp<int>(systems.count, 1, most);
  }

  /// \brief A report for each system; all have the time of the whole, and none a history.
  template <class Judgement, class Iteration>
  std::vector<Report> solve(Judgement const& judgement, Iteration const& iteration,
                            SolverOptions const& options) {
    Kokkos::Timer timer;
    Kokkos::deep_copy(exec_, taken_, 0);
    BatchSolve const solve{systems_, taken_.data(), controls_.data()};
    int const teams = places(exec_, systems_);
    if constexpr (is_host_space<Exec>) {
      Kokkos::parallel_for(label_, team_policy<Exec, 1>(exec_, teams, 1, 0),
                           HostBatchKernel{HostProgram(judgement), HostProgram(iteration), solve});
    } else {
      using All = Programs<Judgement, Iteration>;
      All const programs{judgement, iteration};
      ScratchNeeds needs;
      needs.add(judgement, {});
      needs.add(iteration, {});
      auto const policy =
          team_policy<Exec, league_threads>(exec_, teams, threads(systems_), needs.bytes());
      BatchKernel<All> const kernel{programs, solve, needs.most_sums};
      if constexpr (sizeof(kernel) <= most_argument_bytes)
        Kokkos::parallel_for(label_, with_arguments(policy), kernel);
      else
        Kokkos::parallel_for(label_, policy, kernel);
    }
    Kokkos::deep_copy(exec_, ends_, controls_);
    exec_.fence("Solder::batch: all systems are solved");
    double const seconds = timer.seconds();
    std::vector<Report> reports;
    reports.reserve(systems_.count);
    Progress worst{0, 0, seconds};
    for (std::int32_t k = 0; k < systems_.count; ++k) {
      reports.push_back(report_of(ends_[k], {}, 0, seconds));
      Report& report = reports.back();
      report.runner = Runner::team;
      worst.iteration = std::max(worst.iteration, report.iterations);
      worst.relative_residual = worse(report.relative_residual, worst.relative_residual);
    }
    if (options.monitor) options.monitor(worst);
    return reports;
  }

 private:
  /// \brief GPU threads of a team: one for about four rows of the largest system.
  static int threads(BatchRows const& systems) {
    int threads = warp;
    while (threads < league_threads && 4 * threads < systems.largest) threads *= 2;
    return threads;
  }

  Exec exec_;
  std::string label_;
  BatchRows systems_;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> taken_;
  Kokkos::View<Control*, typename Exec::memory_space> controls_;
  Kokkos::View<Control*, Kokkos::HostSpace> ends_;
};

}  // namespace Solder::Impl
