// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <solder/core/runners/kernels.hpp>

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

/// \brief What the stages of both programs need of a team's scratch: the same for all of them, so
/// that the multiprocessors need not divide their memory anew between two of them.
struct ScratchNeeds {
  std::int32_t most_sums = 0;
  int workspace = 0;  ///< doubles

  template <class Program>
  void add(Program const& program, At const& at) {
    program.for_each_stage(at, [&](auto const& stage, At const&) {
      using Stage = std::remove_cvref_t<decltype(stage)>;
      if constexpr (!std::is_same_v<Stage, HostStage>) {
        most_sums = std::max(most_sums, Stage::most_sums);
        workspace = std::max(workspace, stage.workspace());
      }
    });
  }
  int bytes() const { return DeviceTeam<int>::scratch_bytes(most_sums, workspace); }
};

/// \brief Executes a solver's programs: the judgement at the start and whenever the iteration
/// claims an end, the iteration in between, by any of the three runners.
///
/// The control block stays on the device. The host learns of it through the mailbox, once per batch
/// of iterations, while on GPUs the next batch already runs; nothing here fences, allocates or
/// copies.
template <class Exec>
class Engine {
 public:
  /// \param restart steps of a cycle, of a restarted method; 0: the iteration is no cycle. The
  /// iteration of a cycle is one of its steps, and each cycle ends with a judgement.
  /// \param on_device false: the programs have host stages
  Engine(Exec const& exec, std::string const& label, Runner runner, std::int32_t restart,
         bool on_device)
      : exec_(exec),
        label_(label),
        runner_(runner),
        restart_(restart),
        whole_cycles_(restart > 0 && (!is_host_space<Exec> || runner == Runner::graph)),
        steps_(whole_cycles_ ? restart
               : on_device   ? batch
                             : 1),
        mailbox_(exec, runner == Runner::team ? team_batch
                                              : static_cast<std::int32_t>(std::bit_ceil(
                                                    2 * static_cast<std::uint32_t>(steps_)))),
        slots_(Kokkos::view_alloc("Solder::control", exec, Kokkos::WithoutInitializing), 3) {
    if (!on_device && runner != Runner::launch)
      throw std::invalid_argument(label + ": the runner must be launch, not " +
                                  std::string(to_string(runner)) +
                                  ", where the host has a part in every iteration");
    history_.reserve(4096);
    exec.fence("Solder::engine: the mailbox is ready");
  }

  /// \brief GPU threads of the team runner's team, for systems of `rows` rows.
  void size_team(std::int32_t rows) {
    team_size_ = league_threads;
    while (team_size_ < team_threads && team_size_ < rows) team_size_ *= 2;
  }

  /// \brief Takes the memory that these programs need, so that no solve allocates.
  template <class Judgement, class Iteration>
  void reserve(Judgement const&, Iteration const&) {
    using All = Programs<Judgement, Iteration>;
    if constexpr (All::on_device)
      static_assert(std::equality_comparable<All> && std::is_trivially_copyable_v<All>,
                    "Solder: a stage that devices run must be a plain, comparable struct");
    if constexpr (!is_host_space<Exec> && All::on_device && !is_carried<All>) {
      if (runner_ != Runner::team) return;
      on_host_ = decltype(on_host_)("Solder::engine::programs", exec_, sizeof(All));
      on_device_ = decltype(on_device_)(
          Kokkos::view_alloc("Solder::engine::programs", exec_, Kokkos::WithoutInitializing),
          sizeof(All));
      exec_.fence("Solder::engine: memory of programs is ready");
    }
  }

  /// \brief Runs the stages of Phase::judge of a program once, and waits for them.
  template <class Program>
  void run(Program const& program) {
    mailbox_.clear();
    history_.clear();
    needs_ = {};
    needs_.add(program, {});
    if constexpr (is_host_space<Exec>) {
      HostProgram const steps(program);
      emit(true, launch, [&](auto const& f) { steps.for_each_stage({}, f); });
    } else {
      emit(true, launch, [&](auto const& f) { program.for_each_stage({}, f); });
    }
    mailbox_.receive(exec_, 1, history_);
  }

  /// \brief Solves, and reports all but the form, words_per_iteration and the construction's time.
  template <class Judgement, class Iteration>
  Report solve(Judgement const& judgement, Iteration const& iteration,
               SolverOptions const& options) {
    if constexpr (is_host_space<Exec>)
      return solve_with(HostProgram(judgement), HostProgram(iteration), options);
    else
      return solve_with(judgement, iteration, options);
  }

 private:
  template <class Judgement, class Iteration>
  Report solve_with(Judgement const& judgement, Iteration const& iteration,
                    SolverOptions const& options) {
    Kokkos::Timer timer;
    Programs<Judgement, Iteration> const programs{judgement, iteration};
    prepare(programs);
    Report report;
    report.setup_seconds = timer.seconds();
    timer.reset();
    Control control;
    try {
      control = iterate(programs, [&](Control const& c) {
        if (options.monitor)
          options.monitor({c.iteration, c.relative(c.residual_squared), timer.seconds()});
      });
    } catch (...) {  // a monitor or a host stage threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
    report.solve_seconds = timer.seconds();
    report.reason = control.reason;
    report.detail = describe(control);
    report.iterations = control.iteration;
    report.relative_residual = control.relative(control.residual_squared);
    report.true_relative_residual = control.relative(control.true_squared);
    report.history = history_;
    report.kernels_per_iteration = runner_ == Runner::team ? 0 : kernels_per_iteration(programs);
    report.runner = runner_;
    return report;
  }

  /// \brief Readies the runner for these programs: scratch, and the graph, which is recorded anew
  /// only when they have changed. On hosts, whose graphs are lists of launches, it is launched.
  template <class Programs>
  void prepare(Programs const& programs) {
    if constexpr (!is_host_space<Exec>) {
      needs_ = {};
      needs_.add(programs.judgement, {});
      needs_.add(programs.iteration, {std::max(restart_, 1) - 1, 0});
      if constexpr (Programs::on_device) {
        auto const* const before = std::any_cast<Programs>(&recorded_);
        changed_ = before == nullptr || !(*before == programs);
        if (!changed_) return;
        recorded_ = programs;
        if (runner_ == Runner::graph)
          chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
            emit_batch(programs, 0, [&](char const* label, auto const& policy, auto const& kernel) {
              node = node.then_parallel_for(std::string(label), policy, kernel);
            });
          });
        if (runner_ == Runner::team && !is_carried<Programs>)
          std::memcpy(on_host_.data(), &programs, sizeof(Programs));
      }
    }
  }

  /// \brief The final control block; monitor is called with each letter's.
  template <class Programs, class Monitor>
  Control iterate(Programs const& programs, Monitor const& monitor) {
    mailbox_.clear();
    history_.clear();
    std::int32_t sent = 0, received = 0;
    auto const receive = [&] {
      Control const control = mailbox_.receive(exec_, ++received, history_);
      monitor(control);
      return control;
    };

    // With nothing in flight the phase says what to launch. On GPUs a batch is sent ahead while the
    // letter of the one before is awaited; should that letter end the iteration, the batch does
    // nothing.
    bool const ahead = !is_host_space<Exec> && runner_ != Runner::team;
    Control control;
    while (control.phase != Phase::finished) {
      if (received == sent) {
        if (runner_ == Runner::team)
          run_team(programs, sent == 0);
        else if (control.phase == Phase::judge)
          emit(sent == 0, launch, [&](auto const& f) { programs.judgement.for_each_stage({}, f); });
        else
          submit(programs, control.step);
        ++sent;
      }
      if (ahead && sent == received + 1) {
        submit(programs, 0);
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

  static constexpr auto launch = [](char const* label, auto const& policy, auto const& kernel) {
    Kokkos::parallel_for(label, policy, kernel);
  };

  /// \brief Whether a step of a program is the host's own work.
  template <class Stage>
  static bool is_host_work(Stage const& stage) {
    if constexpr (std::is_same_v<Stage, HostStep>)
      return stage.work != nullptr;
    else
      return std::is_same_v<Stage, HostStage>;
  }

  /// \brief Calls send(label, policy, kernel) for each stage that `stages` hands out, in its turn;
  /// the last one, which is a kernel, posts a letter.
  ///
  /// The first stage reads slot 0 and the last writes it; between, two other slots take turns.
  template <class Send, class Stages>
  void emit(bool fresh, Send const& send, Stages const& stages) {
    int size = 0, k = 0;
    stages([&](auto const& stage, At const&) { size += !is_host_work(stage); });
    stages([&](auto const& stage, At const& at) {
      using Stage = std::remove_cvref_t<decltype(stage)>;
      Control const* const in = slots_.data() + (k == 0 ? 0 : 1 + k % 2);
      bool const last = k + 1 == size;
      Control* const out = slots_.data() + (last ? 0 : 2 - k % 2);
      if constexpr (std::is_same_v<Stage, HostStep>) {
        if (stage.work != nullptr) {
          if ((fresh && k == 0 ? Control{} : *in).phase == stage.phase) stage.work->work(at);
          return;
        }
        send(stage.label, team_policy<Exec, 1>(exec_, stage.teams, 1, 0),
             HostStageKernel{stage, in, out, mailbox_.outbox(), at, last, fresh && k == 0});
      } else if constexpr (std::is_same_v<Stage, HostStage>) {
        stage.work(at);
        return;
      } else {
        StageKernel<Stage> const kernel{
            stage, in, out, mailbox_.outbox(), at, needs_.most_sums, last, fresh && k == 0};
        static_assert(sizeof(kernel) <= largest_functor);
        constexpr int threads = Stage::threads;
        send(stage.label, team_policy<Exec, threads>(exec_, stage.teams(), threads, needs_.bytes()),
             kernel);
      }
      ++k;
    });
  }

  /// \brief The stages of a batch whose first iteration is step `first` of its cycle.
  template <class Programs, class Send>
  void emit_batch(Programs const& programs, std::int32_t first, Send const& send) {
    emit(false, send, [&](auto const& f) {
      for (int k = first; k < first + steps_; ++k)
        programs.iteration.for_each_stage({restart_ > 0 ? k : 0, 0}, f);
      if (whole_cycles_) programs.judgement.for_each_stage({}, f);
    });
  }

  /// \brief Launches a batch; with nothing in flight `step` is where the cycle stands, else 0.
  template <class Programs>
  void submit(Programs const& programs, std::int32_t step) {
    if constexpr (!is_host_space<Exec>) {
      if (runner_ == Runner::graph) return chain_->submit(exec_);
    }
    emit_batch(programs, step, launch);
  }

  template <class Judgement, class Iteration>
  void run_team(Programs<Judgement, Iteration> const& programs, bool fresh) {
    if constexpr (is_host_space<Exec>) {
      launch(label_.c_str(), team_policy<Exec, 1>(exec_, 1, 1, 0),
             HostSolveKernel{programs.judgement, programs.iteration, slots_.data(),
                             mailbox_.outbox(), fresh});
    } else if constexpr (Programs<Judgement, Iteration>::on_device) {
      using All = Programs<Judgement, Iteration>;
      auto const policy = team_policy<Exec, team_threads>(exec_, 1, team_size_, needs_.bytes());
      if constexpr (is_carried<All>) {
        SolveKernel<All> const kernel{programs, slots_.data(), mailbox_.outbox(), needs_.most_sums,
                                      fresh};
        launch(label_.c_str(), with_arguments(policy), kernel);
      } else {
        CopiedSolveKernel<All> const kernel{
            changed_ ? reinterpret_cast<All const*>(on_host_.data()) : nullptr,
            reinterpret_cast<All*>(on_device_.data()),
            slots_.data(),
            mailbox_.outbox(),
            needs_.most_sums,
            fresh};
        changed_ = false;
        launch(label_.c_str(), policy, kernel);
      }
    }
  }

  /// Whether the launch of a whole solve takes the programs along.
  template <class All>
  static constexpr bool is_carried = sizeof(SolveKernel<All>) <= most_argument_bytes;

  /// \brief On average over a whole cycle, its judgement included, where the iteration is a cycle.
  template <class Programs>
  double kernels_per_iteration(Programs const& programs) const {
    int kernels = 0;
    auto const count = [&](auto const& stage, At const&) { kernels += !is_host_work(stage); };
    int const steps = std::max(restart_, 1);
    for (int step = 0; step < steps; ++step) programs.iteration.for_each_stage({step, 0}, count);
    if (restart_ > 0) programs.judgement.for_each_stage({}, count);
    return double(kernels) / steps;
  }

  Exec exec_;
  std::string label_;
  Runner runner_;
  std::int32_t restart_;
  bool whole_cycles_;   ///< a batch is a cycle and its judgement
  std::int32_t steps_;  ///< of a batch
  int team_size_ = league_threads;
  Mailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  ScratchNeeds needs_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  std::any recorded_;     ///< the programs of the graph, or those on the device
  bool changed_ = false;  ///< since they were last copied to the device
  MailboxArray<char, Exec> on_host_;
  Kokkos::View<char*, typename Exec::memory_space> on_device_;
  std::vector<double> history_;
};

}  // namespace Solder::Impl
