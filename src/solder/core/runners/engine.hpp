// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <solder/core/runners/kernels.hpp>

namespace Solder::Impl {

/// \brief Work of an iteration, in matrix entries plus 4 per row, up to which one team beats a
/// league.
///
/// Measured; see "Crossover of the runners" in docs/performance.md.
template <class Exec>
inline constexpr std::int64_t team_crossover = is_host_space<Exec> ? 6'000 : 16'000;

/// \brief The same, up to which a kernel of as many teams as the device holds at once beats a graph
/// of kernels, on devices like those that it was measured on.
template <class Exec>
inline constexpr std::int64_t resident_crossover = is_host_space<Exec> ? 1'000'000 : 6'000'000;

/// \brief The same of a method with Owned vectors, where a GPU's kernel keeps some on chip.
template <class Exec>
inline constexpr std::int64_t on_chip_crossover =
    is_host_space<Exec> ? resident_crossover<Exec> : 24'000'000;

/// \brief The same of a method that has cycles, and with them more stages an iteration, where M has
/// none of its own.
template <class Exec>
inline constexpr std::int64_t cycle_crossover =
    is_host_space<Exec> ? resident_crossover<Exec> : 20'000'000;

/// \brief Rows for each multiprocessor from which on vectors on chip pay: with fewer the L2 cache
/// holds what they would save.
inline constexpr std::int64_t least_rows_on_chip = 2'700;

/// \brief Nonzeros of a row, on average, up to which they do: of more words they save too few.
inline constexpr std::int64_t most_of_row_on_chip = 16;

/// \brief Whether a barrier of all teams is quick, as far as one can know: on devices like those
/// that it was measured on; on hosts with no more threads than cores.
template <class Exec>
bool can_meet(Exec const& exec) {
  if (!is_host_space<Exec>) return is_measured(exec);
  return exec.concurrency() > 1 &&
         static_cast<unsigned>(exec.concurrency()) <= std::thread::hardware_concurrency();
}

/// \brief The runner that `auto` stands for.
///
/// \param owns whether the method has Owned vectors
/// \param most work of a kernel of a whole solve where none of them is kept on chip
template <class Exec>
Runner choose_runner(Exec const& exec, Runner wanted, std::int64_t rows, std::int64_t nonzeros,
                     bool owns = false, std::int64_t most = resident_crossover<Exec>) {
  if (wanted != Runner::automatic) return wanted;
  std::int64_t const work = nonzeros + 4 * rows;
  if (work <= team_crossover<Exec>) return Runner::team;
  bool const on_chip = owns && rows >= multiprocessors(exec) * least_rows_on_chip &&
                       nonzeros <= most_of_row_on_chip * rows;
  if (work <= (on_chip ? on_chip_crossover<Exec> : most) && can_meet(exec)) return Runner::resident;
  return is_host_space<Exec> ? Runner::launch : Runner::graph;
}

/// \brief The league of a kernel of a whole solve, and the GPU threads of its teams.
struct WholeLeague {
  int teams = 0;  ///< 0: there is no such kernel
  int threads = league_threads;
  bool on_chip = false;  ///< keeps Owned vectors there
};

/// \brief One team, or as many as have work and are sure to fit: one for each multiprocessor, more
/// where vectors are kept on chip; all threads of a host.
///
/// \param items rows, times lanes that share one
/// \param owns whether the method has Owned vectors
/// \param beside solves that share the device
template <class Exec>
WholeLeague choose_league(Exec const& exec, Runner runner, std::int64_t items, bool owns = false,
                          std::int32_t beside = 1) {
  WholeLeague league;
  if (runner == Runner::team) {
    league.teams = 1;
    while (league.threads < team_threads && league.threads < items) league.threads *= 2;
  } else if (runner == Runner::resident) {
    std::int64_t const most = std::max(2, multiprocessors(exec) / beside);
    if (is_host_space<Exec>) {
      league.teams = multiprocessors(exec);
    } else if (owns && beside == 1 && is_measured(exec) && items >= most * least_rows_on_chip) {
      league.on_chip = true;
      league.teams = resident_league(exec);
    } else {
      if (items > most * league.threads) league.threads = team_threads;
      league.teams = static_cast<int>(
          std::clamp<std::int64_t>((items + league.threads - 1) / league.threads, 2, most));
    }
  }
  return league;
}

/// \brief The policy of a kernel of `teams` teams: ranges on hosts (one team is one thread), Kokkos
/// teams else.
///
/// \tparam LeastTeams that a GPU's multiprocessor is to hold at once: limits the registers
template <class Exec, int Threads, int LeastTeams = (Threads > league_threads ? 1 : resident_teams)>
auto team_policy(Exec const& exec, int teams, int threads, int scratch_bytes) {
  if constexpr (is_host_space<Exec>) {
    return Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<int>>(
        exec, 0, teams);
  } else {
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Threads, LeastTeams>>(exec, teams,
                                                                               threads / warp, warp)
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

/// \brief What the end of a solve says of itself; all but the runner and its kernels.
inline Report report_of(Control const& control, std::vector<double> const& history,
                        double setup_seconds, double solve_seconds) {
  Report report;
  report.reason = control.reason;
  report.detail = describe(control);
  report.iterations = control.iteration;
  report.relative_residual = control.relative(control.residual_squared);
  report.true_relative_residual = control.relative(control.true_squared);
  report.history = history;
  report.setup_seconds = setup_seconds;
  report.solve_seconds = solve_seconds;
  return report;
}

/// \brief Why the teams of a whole solve did not meet.
inline constexpr char const* too_busy =
    "the runner resident found the device too busy to hold all its teams at once";

/// \brief The cycles of a method.
struct Cycle {
  std::int32_t steps = 0;  ///< of each; 0: the method has no cycles
  bool is_judged = true;   ///< each ends with a judgement
};

/// \brief A solve that its caller leads from letter to letter, so that one thread of the host can
/// lead several.
class Underway {
 public:
  virtual ~Underway() = default;
  virtual bool has_ended() const = 0;
  /// \brief Reads the letters that have come, and launches what is next, without waiting. \return
  /// whether there was a letter
  virtual bool advance() = 0;
  /// \brief Waits for a letter of a solve that has been advanced and has not ended, and reads it.
  virtual void wait() = 0;
  /// \brief Of a solve that has ended.
  virtual Report report() const = 0;
};

/// \brief Executes a solver's programs: the judgement at the start and whenever the iteration
/// claims an end, the iteration in between, by any of the runners.
///
/// The control block stays on the device. The host learns of it through the mailbox, once per batch
/// of iterations, while on GPUs the next batch already runs; nothing here fences, allocates or
/// copies.
template <class Exec>
class Engine {
 public:
  /// \param cycle of a method that has some; the iteration is then one of its steps
  /// \param on_device false: the programs have host stages
  /// \param league of the kernel of a whole solve, where the runner has one
  Engine(Exec const& exec, std::string const& label, Runner runner, Cycle const& cycle,
         bool on_device, WholeLeague league = {})
      : exec_(exec),
        label_(label),
        runner_(runner),
        league_(league),
        cycle_(cycle),
        whole_cycles_(cycle.steps > 0 && (!is_host_space<Exec> || runner == Runner::graph)),
        steps_(whole_cycles_
                   ? cycle.steps * (cycle.is_judged ? 1 : std::max(1, batch / cycle.steps))
               : on_device ? batch
                           : 1),
        mailbox_(exec, league.teams > 0 ? room_of_letter
                                        : static_cast<std::int32_t>(std::bit_ceil(
                                              2 * static_cast<std::uint32_t>(steps_)))),
        slots_(allocate_view<decltype(slots_)>(exec, "Solder::control", 3)) {
    if (!on_device && runner != Runner::launch)
      throw std::invalid_argument(label + ": the runner must be launch, not " +
                                  std::string(to_string(runner)) +
                                  ", where the host has a part in every iteration");
    if (runner == Runner::resident && !has_progress<Exec>)
      throw std::invalid_argument(label +
                                  ": the runner resident is for CPUs and the GPUs of "
                                  "CUDA and HIP; others promise no teams that wait");
    if (league.teams > 1)
      gate_ = allocate_zero_view<decltype(gate_)>(exec, "Solder::engine::gate", 1);
    history_.reserve(4096);
    exec.fence("Solder::engine: the mailbox is ready");
  }

  /// \brief Takes the memory that these programs need, so that no solve allocates.
  template <class Judgement, class Iteration>
  void reserve(Judgement const&, Iteration const&) {
    using All = Programs<Judgement, Iteration>;
    if constexpr (All::on_device)
      static_assert(std::equality_comparable<All> && std::is_trivially_copyable_v<All>,
                    "Solder: a stage that devices run must be a plain, comparable struct");
    if constexpr (!is_host_space<Exec> && All::on_device && !is_carried<All>) {
      if (league_.teams > 0) memory_.template reserve<All>(exec_);
    }
  }

  /// \brief Runs the stages of Phase::judge of a program once, and waits for them.
  template <class Program>
  void run(Program const& program) {
    mailbox_.clear();
    history_.clear();
    if constexpr (is_host_space<Exec>) {
      HostProgram const steps(program);
      emit(true, launch, [&](auto const& f) { steps.for_each_stage({}, f); });
    } else {
      needs_ = {};
      needs_.add(program, {});
      emit(true, launch, [&](auto const& f) { program.for_each_stage({}, f); });
    }
    mailbox_.receive(exec_, 1, history_);
  }

  /// \brief Solves, and reports all but the form, words_per_iteration and the construction's time.
  ///
  /// \tparam Owns whether the iteration has Owned vectors: `owned`, of so many rows
  template <bool Owns = false, class Judgement, class Iteration>
  Report solve(Judgement const& judgement, Iteration const& iteration, SolverOptions const& options,
               OwnedVectors const& owned = {}, std::int32_t rows = 0) {
    plan_ = {owned, rows, Blocks::of(std::max(league_.teams, 2))};
    if constexpr (is_host_space<Exec>)
      return solve_with<false>(HostProgram(judgement), HostProgram(iteration), options);
    else
      return solve_with<Owns>(judgement, iteration, options);
  }

  /// \brief The same on a GPU, led by the caller; the engine and what the programs need are to
  /// outlive it.
  template <bool Owns = false, class Judgement, class Iteration>
  std::unique_ptr<Underway> start(Judgement const& judgement, Iteration const& iteration,
                                  SolverOptions const& options, OwnedVectors const& owned,
                                  std::int32_t rows) {
    plan_ = {owned, rows, Blocks::of(std::max(league_.teams, 2))};
    using All = Programs<Judgement, Iteration, Owns>;
    return std::make_unique<Led<All>>(*this, All{judgement, iteration}, options);
  }

 private:
  template <bool Owns, class Judgement, class Iteration>
  Report solve_with(Judgement const& judgement, Iteration const& iteration,
                    SolverOptions const& options) {
    using All = Programs<Judgement, Iteration, Owns>;
    Course<All> course = begin(All{judgement, iteration}, options);
    try {
      while (!course.has_ended()) {
        send(course);
        receive(course);
      }
    } catch (...) {  // a monitor or a host stage threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
    return report(course);
  }

  /// \brief How far a solve has come.
  template <class All>
  struct Course {
    All programs;
    std::function<void(Progress const&)> monitor;
    double setup_seconds;
    SolveTimer<Exec> timer = {};  ///< from the first launch on
    Control control = {};         ///< as the last letter has it
    std::int32_t sent = 0, received = 0;
    double solve_seconds = 0, busy_cores = 0;

    bool has_ended() const { return control.phase == Phase::finished && received == sent; }
  };

  template <class All>
  class Led final : public Underway {
   public:
    Led(Engine& engine, All const& programs, SolverOptions const& options)
        : engine_(engine), course_(engine.begin(programs, options)) {}

    bool has_ended() const override { return course_.has_ended(); }
    bool advance() override {
      bool any = false;
      while (!course_.has_ended()) {
        engine_.send(course_);
        if (!engine_.mailbox_.has(course_.received + 1)) break;
        engine_.receive(course_);
        any = true;
      }
      return any;
    }
    void wait() override { engine_.receive(course_); }
    Report report() const override { return engine_.report(course_); }

   private:
    Engine& engine_;
    Course<All> course_;
  };

  template <class All>
  Course<All> begin(All const& programs, SolverOptions const& options) {
    Kokkos::Timer timer;
    abandoned_ = false;
    most_of_this_letter_ = options.monitor ? monitored : most_of_letter;
    prepare(programs);
    mailbox_.clear();
    history_.clear();
    return {programs, options.monitor, timer.seconds()};
  }

  /// \brief Of a solve that has ended.
  template <class All>
  Report report(Course<All> const& course) const {
    Report report = report_of(course.control, history_, course.setup_seconds, course.solve_seconds);
    report.kernels_per_iteration = is_whole() ? 0 : kernels_per_iteration(course.programs);
    report.busy_cores = course.busy_cores;
    report.runner = abandoned_ ? fallback : runner_;
    if (abandoned_ && report.detail.empty()) report.detail = too_busy;
    return report;
  }

  /// \brief What runs where the teams of a whole solve did not meet.
  static constexpr Runner fallback = is_host_space<Exec> ? Runner::launch : Runner::graph;

  /// \brief Whether a kernel runs the whole solve.
  bool is_whole() const { return league_.teams > 0 && !abandoned_; }

  /// \brief Readies the runner for these programs: scratch, and the graph, which is recorded anew
  /// only when they have changed. On hosts, whose graphs are lists of launches, it is launched.
  template <class Programs>
  void prepare(Programs const& programs) {
    if constexpr (!is_host_space<Exec>) {
      needs_ = {};
      needs_.add(programs.judgement, {});
      needs_.add(programs.iteration, {std::max(cycle_.steps, 1) - 1, 0});
      if constexpr (Programs::on_device) {
        auto const* const before = std::any_cast<Programs>(&recorded_);
        if (before != nullptr && *before == programs) return;
        recorded_.reset();
        chain_.reset();
        if (runner_ == Runner::graph) record(programs);
        if constexpr (!is_carried<Programs>)
          if (is_whole()) memory_.put(programs);
        recorded_ = programs;
      }
    }
  }

  template <class Programs>
  void record(Programs const& programs) {
    chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
      emit_batch(programs, 0, [&](char const* label, auto const& policy, auto const& kernel) {
        node = node.then_parallel_for(std::string(label), policy, kernel);
      });
    });
  }

  /// \brief Launches what can be launched before the next letter.
  ///
  /// With nothing in flight the phase says what that is. On GPUs a batch is sent ahead while the
  /// letter of the one before is awaited; should that letter end the iteration, the batch does
  /// nothing, and its letter is awaited too.
  template <class All>
  void send(Course<All>& course) {
    Control const& control = course.control;
    if (control.phase != Phase::iterate && course.received < course.sent) return;
    if (course.received == course.sent) {
      if (is_whole())
        run_whole(course.programs, course.sent == 0);
      else if (control.phase == Phase::judge)
        emit(course.sent == 0, launch,
             [&](auto const& f) { course.programs.judgement.for_each_stage({}, f); });
      else
        submit(course.programs, control.step);
      ++course.sent;
    }
    if (!is_host_space<Exec> && !is_whole() && course.sent == course.received + 1) {
      submit(course.programs, 0);
      ++course.sent;
    }
  }
  /// \brief Waits for the next letter, of which the monitor is told.
  template <class All>
  void receive(Course<All>& course) {
    course.control = mailbox_.receive(exec_, ++course.received, history_);
    course.solve_seconds = course.timer.seconds();
    Control const& control = course.control;
    if (control.phase == Phase::finished)
      course.busy_cores = course.timer.busy_cores(course.solve_seconds);
    if (is_whole() && mailbox_.abandoned(course.received))
      abandoned_ = true;
    else if (course.monitor)
      course.monitor(
          {control.iteration, control.relative(control.residual_squared), course.solve_seconds});
  }

  /// Iterations per letter of the launch and graph runners; a cycle and its judgement on GPUs, for
  /// a method that has cycles. On hosts nothing runs ahead, and a letter is free.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;
  /// Most iterations in a letter of a kernel of a whole solve, and how many end it, but for the
  /// rest of a cycle; fewer where a monitor is to hear of them.
  static constexpr std::int32_t room_of_letter = 4096, most_of_letter = 3072, monitored = 256;

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
        send(stage.label, team_policy<Exec, 1>(exec_, stage.teams(), 1, 0),
             HostStageKernel{stage, in, out, mailbox_.outbox(), at, last, fresh && k == 0});
      } else if constexpr (std::is_same_v<Stage, HostStage>) {
        stage.work(at);
        return;
      } else {
        auto const here = bound(stage, at);
        StageKernel<std::remove_const_t<decltype(here)>> const kernel{
            here, in, out, mailbox_.outbox(), at, needs_.most_sums, last, fresh && k == 0};
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
        programs.iteration.for_each_stage({cycle_.steps > 0 ? k % cycle_.steps : 0, 0}, f);
      if (whole_cycles_ && cycle_.is_judged) programs.judgement.for_each_stage({}, f);
    });
  }

  /// \brief Launches a batch; with nothing in flight `step` is where the cycle stands, else 0.
  template <class Programs>
  void submit(Programs const& programs, std::int32_t step) {
    if constexpr (!is_host_space<Exec>) {
      if (runner_ != Runner::launch) {
        if (chain_ == nullptr) record(programs);  // a whole solve was abandoned
        return chain_->submit(exec_);
      }
    }
    emit_batch(programs, step, launch);
  }

  template <class All>
  void run_whole(All const& programs, bool fresh) {
    WholeSolve const solve{slots_.data(), gate_.data(),         mailbox_.outbox(),
                           league_.teams, most_of_this_letter_, fresh};
    if constexpr (is_host_space<Exec>) {
      launch(label_.c_str(), team_policy<Exec, 1>(exec_, league_.teams, 1, 0),
             HostSolveKernel{programs.judgement, programs.iteration, solve});
    } else if constexpr (All::on_device) {
      if constexpr (All::owns)
        if (league_.on_chip) return launch_on_chip(programs, solve);
      if (league_.teams == 1)
        launch_whole<TeamOf::solve_alone>(programs, solve);
      else
        launch_whole<TeamOf::solve>(programs, solve);
    }
  }

  template <TeamOf Kind, class All>
  void launch_whole(All const& programs, WholeSolve const& solve) {
    launch_held(
        programs,
        team_policy<Exec, team_threads>(exec_, league_.teams, league_.threads, needs_.bytes()),
        [&](auto const& held) {
          return SolveKernel<std::remove_cvref_t<decltype(held)>, Kind>{held, solve,
                                                                        needs_.most_sums};
        });
  }
  template <class All>
  void launch_on_chip(All const& programs, WholeSolve const& solve) {
    plan_.before = needs_.workspace;
    plan_.set_room(most_scratch_bytes - needs_.bytes());
    launch_held(programs,
                team_policy<Exec, league_threads>(exec_, league_.teams, league_.threads,
                                                  needs_.bytes() + plan_.bytes()),
                [&](auto const& held) {
                  return OnChipKernel<std::remove_cvref_t<decltype(held)>>{held, solve, plan_,
                                                                           needs_.most_sums};
                });
  }
  /// \brief Launches kernel_with(the programs as the launch has them).
  template <class All, class Policy, class KernelWith>
  void launch_held(All const& programs, Policy const& policy, KernelWith const& kernel_with) {
    if constexpr (is_carried<All>) {
      launch(label_.c_str(), with_arguments(policy), kernel_with(CarriedPrograms<All>{programs}));
    } else {
      launch(label_.c_str(), policy, kernel_with(memory_.template next<All>()));
      memory_.launched();
    }
  }

  /// Whether the launch of a whole solve takes the programs along.
  template <class All>
  static constexpr bool is_carried = sizeof(SolveKernel<CarriedPrograms<All>, TeamOf::solve>) +
                                         sizeof(OnChipPlan) <=
                                     most_argument_bytes;

  /// \brief On average over a whole cycle, its judgement included, where the iteration is a cycle.
  template <class Programs>
  double kernels_per_iteration(Programs const& programs) const {
    int kernels = 0;
    auto const count = [&](auto const& stage, At const&) { kernels += !is_host_work(stage); };
    int const steps = std::max(cycle_.steps, 1);
    for (int step = 0; step < steps; ++step) programs.iteration.for_each_stage({step, 0}, count);
    if (cycle_.steps > 0 && cycle_.is_judged) programs.judgement.for_each_stage({}, count);
    return double(kernels) / steps;
  }

  Exec exec_;
  std::string label_;
  Runner runner_;
  WholeLeague league_;
  Cycle cycle_;
  bool whole_cycles_;   ///< a batch is a cycle and its judgement, or some cycles
  std::int32_t steps_;  ///< of a batch
  Mailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  Kokkos::View<Gate*, typename Exec::memory_space> gate_;
  std::int32_t most_of_this_letter_ = most_of_letter;
  bool abandoned_ = false;  ///< in this solve: its kernel's teams did not meet
  ScratchNeeds needs_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  std::any recorded_;  ///< the programs of the graph, or those in memory_
  ProgramMemory<Exec> memory_;
  std::vector<double> history_;
  OnChipPlan plan_;
};

}  // namespace Solder::Impl
