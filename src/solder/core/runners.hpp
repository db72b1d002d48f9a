// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <solder/core/program.hpp>

namespace Solder::Impl {

/// \brief Work of an iteration, in matrix entries plus 4 per row, up to which one team beats a
/// league.
///
/// Measured; see "Crossover of the runners" in docs/performance.md.
template <class Exec>
inline constexpr std::int64_t team_crossover = is_host_space<Exec> ? 6'000 : 16'000;

/// \brief The runner that `auto` stands for.
template <class Exec>
Runner choose_runner(Runner wanted, std::int64_t rows, std::int64_t nonzeros) {
  if (wanted != Runner::automatic) return wanted;
  if (nonzeros + 4 * rows <= team_crossover<Exec>) return Runner::team;
  return is_host_space<Exec> ? Runner::launch : Runner::graph;
}

/// \brief The policy of a kernel of `teams` teams: ranges on hosts (one team is one thread), Kokkos
/// teams else.
template <class Exec, int Threads>
auto team_policy(Exec const& exec, int teams, int threads, int sums) {
  if constexpr (is_host_space<Exec>) {
    return Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<int>>(
        exec, 0, teams);
  } else {
    constexpr int least_teams = Threads > league_threads ? 1 : resident_teams;
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Threads, least_teams>>(
               exec, teams, threads / warp, warp)
        .set_scratch_size(0, Kokkos::PerTeam(DeviceTeam<int>::scratch_bytes(sums)));
  }
}

/// \brief Executes a solver's programs: Judgement at the start and whenever the iteration claims an
/// end, Iteration in between, by any of the three runners.
///
/// The control block stays on the device. The host learns of it through the mailbox, once per batch
/// of iterations, while on GPUs the next batch already runs; nothing here fences, allocates or
/// copies.
template <class Exec, class Data, class Judgement, class Iteration>
class Engine {
 public:
  explicit Engine(Exec const& exec, Runner runner)
      : exec_(exec),
        runner_(runner),
        mailbox_(exec, runner == Runner::team ? team_batch : 2 * batch),
        slots_(Kokkos::view_alloc("Solder::control", exec, Kokkos::WithoutInitializing),
               Judgement::size + Iteration::size) {
    history_.reserve(4096);
    exec.fence("Solder::engine: the mailbox is ready");
  }

  /// \brief Solves, and reports all but words_per_iteration and the solver's construction time.
  Report solve(Data const& data, SolverOptions const& options) {
    Kokkos::Timer timer;
    prepare(data);
    Report report;
    report.setup_seconds = timer.seconds();
    timer.reset();
    Control const control = iterate(data, [&](Control const& c) {
      if (options.monitor)
        options.monitor({c.iteration, c.relative(c.residual_squared), timer.seconds()});
    });
    report.solve_seconds = timer.seconds();
    report.reason = control.reason;
    report.detail = describe(control);
    report.iterations = control.iteration;
    report.relative_residual = control.relative(control.residual_squared);
    report.true_relative_residual = control.relative(control.true_squared);
    report.history = history_;
    report.kernels_per_iteration = runner_ == Runner::team ? 0 : Iteration::size;
    report.runner = runner_;
    return report;
  }

 private:
  /// \brief Readies the runner for `data`: the graph is recorded anew only when data has changed.
  void prepare(Data const& data) {
    static_assert(std::is_trivially_copyable_v<Data>);
    if (runner_ != Runner::graph || (chain_ && data == recorded_)) return;
    chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
      auto const append = [&](char const* label, auto const& policy, auto const& kernel) {
        node = node.then_parallel_for(std::string(label), policy, kernel);
      };
      for (int k = 0; k < batch; ++k) each_stage(data, Iteration{}, 0, batch, false, append);
    });
    recorded_ = data;
  }

  /// \brief The final control block; monitor is called with each letter's.
  template <class Monitor>
  Control iterate(Data const& data, Monitor const& monitor) {
    mailbox_.clear();
    history_.clear();
    std::int32_t sent = 0, received = 0;
    auto const receive = [&] {
      Control const control = mailbox_.receive(exec_, ++received, history_);
      monitor(control);
      return control;
    };
    auto const launch = [&](char const* label, auto const& policy, auto const& kernel) {
      Kokkos::parallel_for(label, policy, kernel);
    };

    // With nothing in flight the phase says what to launch. On GPUs a batch is sent ahead while the
    // letter of the one before is awaited; should that letter end the iteration, the batch does
    // nothing.
    bool const ahead = !is_host_space<Exec> && runner_ != Runner::team;
    Control control;
    while (control.phase != Phase::finished) {
      if (received == sent) {
        if (runner_ == Runner::team)
          run_team(data, sent == 0);
        else if (control.phase == Phase::judge)
          each_stage(data, Judgement{}, Iteration::size, 1, sent == 0, launch);
        else
          submit(data, launch);
        ++sent;
      }
      if (ahead && sent == received + 1) {
        submit(data, launch);
        ++sent;
      }
      control = receive();
      while (control.phase != Phase::iterate && received < sent) control = receive();
    }
    return control;
  }

  /// Iterations per letter of the launch and graph runners. On hosts nothing runs ahead, and a
  /// letter is free.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;
  /// Most iterations in one kernel of the team runner.
  static constexpr std::int32_t team_batch = 4096;

  /// \brief Calls emit(label, policy, kernel) for each stage of a program.
  ///
  /// The first stage reads slot 0 and the last writes it; the slots between belong to the program
  /// and begin at `base`.
  template <class... Stages, class Emit>
  void each_stage(Data const& data, Program<Stages...>, int base, std::int32_t post_every,
                  bool fresh, Emit const& emit) {
    constexpr int size = sizeof...(Stages);
    int k = 0;
    auto const one = [&]<class Stage>(Stage) {
      int const in = k == 0 ? 0 : base + k, out = k + 1 == size ? 0 : base + k + 1;
      StageKernel<Data, Stage> const kernel{data,
                                            slots_.data() + in,
                                            slots_.data() + out,
                                            mailbox_.outbox(),
                                            k + 1 == size ? post_every : 0,
                                            fresh && k == 0};
      static_assert(sizeof(kernel) <= largest_functor);
      emit(Stage::label,
           team_policy<Exec, league_threads>(exec_, Stage::teams(data), league_threads,
                                             Data::max_sums),
           kernel);
      ++k;
    };
    (one(Stages{}), ...);
  }

  template <class Launch>
  void submit(Data const& data, Launch const& launch) {
    if (runner_ == Runner::graph)
      chain_->submit(exec_);
    else
      for (int k = 0; k < batch; ++k) each_stage(data, Iteration{}, 0, batch, false, launch);
  }

  void run_team(Data const& data, bool fresh) {
    int threads = league_threads;
    while (threads < team_threads && threads < data.rows.count) threads *= 2;
    SolveKernel<Data, Judgement, Iteration> const kernel{data, slots_.data(), mailbox_.outbox(),
                                                         fresh};
    static_assert(sizeof(kernel) <= largest_functor);
    Kokkos::parallel_for(
        Data::label, team_policy<Exec, team_threads>(exec_, 1, threads, Data::max_sums), kernel);
  }

  Exec exec_;
  Runner runner_;
  Mailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  Data recorded_{};
  std::vector<double> history_;
};

}  // namespace Solder::Impl
