// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/runners/engine.hpp>

namespace Solder::Impl {

/// \brief GPU threads of a team that solves one system of a batch: one for about four rows of the
/// largest system.
inline int batch_threads(BatchRows const& systems) {
  int threads = warp;
  while (threads < league_threads && 4 * threads < systems.largest) threads *= 2;
  return threads;
}

/// \brief Teams that solve systems of a batch at once.
template <class Exec>
int batch_teams(Exec const& exec, BatchRows const& systems) {
  int const most = is_host_space<Exec>
                       ? exec.concurrency()
                       : resident_league(exec) * (league_threads / batch_threads(systems));
  return std::clamp<int>(systems.count, 1, most);
}

/// \brief x = guess in system k, if it ended worse than that.
template <class Scalar>
struct GiveBack {
  std::int32_t const* starts;
  Control const* controls;
  Scalar const* guess;
  Scalar* x;

  KOKKOS_FUNCTION void operator()(std::int32_t k) const {
    if (ended_worse(controls[k]))
      for (std::int32_t i = starts[k]; i < starts[k + 1]; ++i) x[i] = guess[i];
  }
};

/// \brief Runs a method's programs for the systems of a batch, each alone by one team or thread, in
/// one kernel.
template <class Exec>
class BatchRun {
 public:
  BatchRun(Exec const& exec, BatchRows const& systems)
      : exec_(exec),
        systems_(systems),
        taken_(allocate_view<decltype(taken_)>(exec, "Solder::batch::taken", 1)),
        controls_(
            allocate_view<decltype(controls_)>(exec, "Solder::batch::controls", systems.count)),
        ends_(allocate_view<decltype(ends_)>(Kokkos::DefaultHostExecutionSpace(),
                                             "Solder::batch::ends", systems.count)) {}

  /// \brief A report for each system; all have the time of the whole, and none a history. A fence.
  std::vector<Report> operator()(char const* label, AnyPrograms<Exec> const& programs,
                                 SolverOptions const& options) const {
    Kokkos::Timer timer;
    Impl::clear(exec_, taken_);
    BatchSolve const solve{systems_, taken_.data(), controls_.data()};
    int const teams = batch_teams(exec_, systems_);
    if constexpr (is_host_space<Exec>)
      Kokkos::parallel_for(label, team_policy<Exec, 1>(exec_, teams, 1, 0),
                           HostBatchKernel{programs.residual_check, programs.iteration, solve});
    else
      programs.type->launch_batch(programs.all,
                                  {exec_, label, teams, batch_threads(systems_), solve});
    Impl::copy(exec_, ends_, controls_);
    exec_.fence("Solder::batch: all systems are solved");
    double const seconds = timer.seconds();
    std::vector<Report> reports;
    reports.reserve(systems_.count);
    Progress worst{0, 0, seconds};
    for (std::int32_t k = 0; k < systems_.count; ++k) {
      Report report = report_of(ends_[k], {}, 0, seconds);
      report.runner = Runner::team;
      report.runner_because = "a team solves one system of the batch after another";
      worst.iteration = std::max(worst.iteration, report.iterations);
      worst.relative_residual = worse(report.relative_residual, worst.relative_residual);
      reports.push_back(std::move(report));
    }
    if (options.monitor) options.monitor(worst);
    return reports;
  }

  /// \brief x = guess in the systems that ended worse than it.
  template <class Scalar>
  void give_back(Scalar const* guess, Scalar* x) const {
    Kokkos::parallel_for("Solder::keep_guess", Kokkos::RangePolicy<Exec>(exec_, 0, systems_.count),
                         GiveBack<Scalar>{systems_.starts, controls_.data(), guess, x});
  }

 private:
  Exec exec_;
  BatchRows systems_;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> taken_;
  Kokkos::View<Control*, typename Exec::memory_space> controls_;
  Kokkos::View<Control*, Kokkos::HostSpace> ends_;
};

}  // namespace Solder::Impl
