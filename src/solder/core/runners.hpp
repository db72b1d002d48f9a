// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
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
auto team_policy(Exec const& exec, int teams, int threads, int scratch_bytes) {
  if constexpr (is_host_space<Exec>) {
    return Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<int>>(
        exec, 0, teams);
  } else {
    constexpr int least_teams = Threads > league_threads ? 1 : resident_teams;
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Threads, least_teams>>(
               exec, teams, threads / warp, warp)
        .set_scratch_size(0, Kokkos::PerTeam(scratch_bytes));
  }
}

/// \brief GPU threads of a team of a stage.
template <class Stage>
constexpr int stage_threads() {
  if constexpr (requires { Stage::threads; })
    return Stage::threads;
  else
    return league_threads;
}

/// \brief Scratch of a team: the same in all stages of a solver, so that the multiprocessors need
/// not divide their memory anew between two of them.
template <class Data>
int scratch_bytes(Data const& data) {
  int workspace = 0;
  if constexpr (requires { data.scratch_values(); }) workspace = data.scratch_values();
  return DeviceTeam<int>::scratch_bytes(Data::max_sums, workspace);
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
  /// \param restart steps of a cycle, where the iteration is one
  Engine(Exec const& exec, Runner runner, std::int32_t restart = 1)
      : exec_(exec),
        runner_(runner),
        whole_cycles_(Iteration::is_cycle && (!is_host_space<Exec> || runner == Runner::graph)),
        restart_(restart),
        steps_(whole_cycles_ ? restart : batch),
        mailbox_(exec, runner == Runner::team ? team_batch
                                              : static_cast<std::int32_t>(std::bit_ceil(
                                                    2 * static_cast<std::uint32_t>(steps_)))),
        slots_(Kokkos::view_alloc("Solder::control", exec, Kokkos::WithoutInitializing), 3) {
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
    report.kernels_per_iteration = runner_ == Runner::team ? 0 : kernels_per_iteration();
    report.runner = runner_;
    return report;
  }

 private:
  /// \brief Readies the runner for `data`: the graph is recorded anew only when data has changed.
  /// On hosts, whose graphs are lists of launches, it is launched as such.
  void prepare(Data const& data) {
    static_assert(std::is_trivially_copyable_v<Data>);
    if constexpr (!is_host_space<Exec>) {
      if (runner_ != Runner::graph || (chain_ && data == recorded_)) return;
      chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
        auto const append = [&](char const* label, auto const& policy, auto const& kernel) {
          node = node.then_parallel_for(std::string(label), policy, kernel);
        };
        emit_batch(data, 0, append);
      });
      recorded_ = data;
    }
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
          emit(data, sent == 0, launch, [](auto const& f) {
            Judgement::for_each_stage(0, [&](auto stage) { f(stage, 0); });
          });
        else
          submit(data, control.step, launch);
        ++sent;
      }
      if (ahead && sent == received + 1) {
        submit(data, 0, launch);
        ++sent;
      }
      control = receive();
      while (control.phase != Phase::iterate && received < sent) control = receive();
    }
    return control;
  }

  /// Iterations per letter of the launch and graph runners; a cycle and its judgement on GPUs, for
  /// a method that has cycles. On hosts nothing runs ahead, and a letter is free.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;
  /// Most iterations in one kernel of the team runner.
  static constexpr std::int32_t team_batch = 4096;

  /// \brief Calls send(label, policy, kernel) for each stage, with its step, that `stages` hands
  /// out; the last one posts a letter.
  ///
  /// The first stage reads slot 0 and the last writes it; between, two other slots take turns.
  template <class Send, class Stages>
  void emit(Data const& data, bool fresh, Send const& send, Stages const& stages) {
    int size = 0, k = 0;
    stages([&](auto, std::int32_t) { ++size; });
    stages([&](auto stage, std::int32_t step) {
      using Stage = decltype(stage);
      bool const last = k + 1 == size;
      StageKernel<Data, Stage> const kernel{data,
                                            slots_.data() + (k == 0 ? 0 : 1 + k % 2),
                                            slots_.data() + (last ? 0 : 2 - k % 2),
                                            mailbox_.outbox(),
                                            step,
                                            last,
                                            fresh && k == 0};
      static_assert(sizeof(kernel) <= largest_functor);
      constexpr int threads = stage_threads<Stage>();
      send(Stage::label,
           team_policy<Exec, threads>(exec_, Stage::teams(data), threads, scratch_bytes(data)),
           kernel);
      ++k;
    });
  }

  /// \brief The stages of a batch whose first iteration is step `first` of its cycle.
  template <class Send>
  void emit_batch(Data const& data, std::int32_t first, Send const& send) {
    emit(data, false, send, [&](auto const& f) {
      for (int k = first; k < first + steps_; ++k)
        Iteration::for_each_stage(k, [&](auto stage) { f(stage, k); });
      if (whole_cycles_) Judgement::for_each_stage(0, [&](auto stage) { f(stage, 0); });
    });
  }

  /// \brief Launches a batch; with nothing in flight `step` is where the cycle stands, else 0.
  template <class Launch>
  void submit(Data const& data, std::int32_t step, Launch const& launch) {
    if constexpr (!is_host_space<Exec>) {
      if (runner_ == Runner::graph) return chain_->submit(exec_);
    }
    emit_batch(data, step, launch);
  }

  void run_team(Data const& data, bool fresh) {
    int threads = league_threads;
    while (threads < team_threads && threads < data.rows.count) threads *= 2;
    SolveKernel<Data, Judgement, Iteration> const kernel{data, slots_.data(), mailbox_.outbox(),
                                                         fresh};
    static_assert(sizeof(kernel) <= largest_functor);
    Kokkos::parallel_for(Data::label,
                         team_policy<Exec, team_threads>(exec_, 1, threads, scratch_bytes(data)),
                         kernel);
  }

  /// \brief On average over a whole cycle, its judgement included, where the iteration is a cycle.
  double kernels_per_iteration() const {
    int kernels = 0;
    auto const count = [&](auto) { ++kernels; };
    for (int step = 0; step < restart_; ++step) Iteration::for_each_stage(step, count);
    if (Iteration::is_cycle) Judgement::for_each_stage(0, count);
    return double(kernels) / restart_;
  }

  Exec exec_;
  Runner runner_;
  bool whole_cycles_;             ///< a batch is a cycle and its judgement
  std::int32_t restart_, steps_;  ///< of a cycle, and of a batch
  Mailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  Data recorded_{};
  std::vector<double> history_;
};

}  // namespace Solder::Impl
