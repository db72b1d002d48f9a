// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <solder/core/plan.hpp>
#include <solder/core/runners/kernels.hpp>
#include <solder/core/runners/team_policy.hpp>

namespace Solder::Impl {

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
  bool is_checked = true;  ///< each ends with a residual check
};

/// \brief The right-hand sides of an engine.
struct Width {
  std::int32_t columns = 1;
  std::int64_t rows = 0;    ///< of each; of one column not read
  std::int32_t league = 0;  ///< teams of all stages on GPUs; of one column not read
};

/// \brief A solve that its caller leads from status to status, so that one thread of the host can
/// lead several.
class Underway {
 public:
  virtual ~Underway() = default;
  virtual bool has_ended() const = 0;
  /// \brief Reads the statuses that have come, and launches what is next, without waiting. \return
  /// whether there was a status
  virtual bool advance() = 0;
  /// \brief Waits for a status of a solve that has been advanced and has not ended, and reads it.
  virtual void wait() = 0;
  /// \brief Of a solve that has ended.
  virtual Report report() const = 0;
};

/// \brief Executes a solver's programs, for one right-hand side or several: the residual check at
/// the start and whenever the iteration claims an end, the iteration in between, by any of the
/// runners.
///
/// The control blocks, one for each column, stay on the device. The host learns of them through the
/// status, once per batch of iterations, while on GPUs the next batch already runs; nothing here
/// fences, allocates or copies. Of several columns one may be checked while another one iterates: a
/// stage does the work of the columns whose phase is its own.
template <class Exec>
class Engine {
 public:
  /// \brief Hears of each status: how far the columns have come.
  using Listener = std::function<void(Engine const&)>;

  /// \param label of a whole solve in one kernel
  /// \param plan of several columns: with the runner that was asked for, perhaps automatic
  /// \param cycle of a method that has some; the iteration is then one of its steps
  /// \param on_device false: the programs have host stages
  Engine(Exec const& exec, std::string const& label, Plan const& plan, Cycle const& cycle,
         bool on_device, Width const& width = {})
      : exec_(exec),
        label_(label),
        machine_(machine_of(exec)),
        plan_(plan),
        ran_(plan),
        cycle_(cycle),
        width_(width),
        whole_cycles_(cycle.steps > 0 && (!is_host_space<Exec> || plan.runner == Runner::graph)),
        steps_(whole_cycles_
                   ? cycle.steps * (cycle.is_checked ? 1 : std::max(1, batch / cycle.steps))
               : on_device ? batch
                           : 1),
        status_(exec, width.columns,
                may_be_whole() ? room()
                               : static_cast<std::int32_t>(
                                     std::bit_ceil(2 * static_cast<std::uint32_t>(steps_)))),
        slots_(
            allocate_view<decltype(slots_)>(exec, "Solder::control", 4 * std::size_t(columns()))),
        controls_(columns()),
        histories_(columns()) {
    if (!on_device && plan.runner != Runner::launch)
      throw std::invalid_argument(label + ": the runner must be launch, not " +
                                  std::string(to_string(plan.runner)) +
                                  ", where the host has a part in every iteration");
    if (columns() == 1 && plan.runner == Runner::resident && !has_progress<Exec>)
      throw std::invalid_argument(label +
                                  ": the runner resident is for CPUs and the GPUs of "
                                  "CUDA and HIP; others promise no teams that wait");
    if (plan.teams > 1 || (columns() > 1 && may_be_whole()))
      gate_ = allocate_zero_view<decltype(gate_)>(exec, "Solder::engine::gate", 1);
    for (auto& history : histories_) history.reserve(columns() == 1 ? 4096 : 1024);
    Kokkos::parallel_for("Solder::engine::slots",
                         Kokkos::RangePolicy<Exec>(exec_, 0, 4 * columns()),
                         NewControls{slots_.data()});
    exec.fence("Solder::engine: the status is ready");
  }

  std::int32_t columns() const { return width_.columns; }
  std::int64_t rows() const { return width_.rows; }

  /// \brief Takes the memory that these programs need, so that no solve allocates.
  template <class Number, class ResidualCheck, class Iteration>
  void reserve(ResidualCheck const&, Iteration const&) {
    using All = Programs<ResidualCheck, Iteration>;
    if constexpr (All::on_device)
      static_assert(std::equality_comparable<All> && std::is_trivially_copyable_v<All>,
                    "Solder: a stage that devices run must be a plain, comparable struct");
    if constexpr (!is_host_space<Exec> && All::on_device && !is_carried<All, Number>)
      if (plan_of<All, Number>().teams > 0) memory_.template reserve<All>(exec_);
  }

  /// \brief Runs the stages of Phase::check of a program once, and waits for them. One column.
  template <class Program>
  void run_once(Program const& program) {
    begin();
    if constexpr (is_host_space<Exec>) {
      HostProgram const steps(program);
      emit<OneColumn>(true, launch, [&](auto const& f) { steps.for_each_stage({}, f); });
    } else {
      needs_ = {};
      needs_.add(program, {});
      emit<OneColumn>(true, launch, [&](auto const& f) { program.for_each_stage({}, f); });
    }
    receive();
  }

  // ---- A solve: begin(), then run() or start(), then reports() ----

  /// \brief No kernel of an earlier solve may be in flight.
  void begin() {
    status_.clear();
    std::fill(controls_.begin(), controls_.end(), Control{});
    for (auto& history : histories_) history.clear();
    abandoned_ = begun_ = false;
    sent_ = received_ = 0;
    half_ended_at_ = -1;
    most_of_rest_ = columns() - 1;
    setup_seconds_ = seconds_ = busy_cores_ = 0;
    timer_.reset();
  }
  /// \brief Whom the monitor of these options, which are to live on, hears the solve through; may
  /// be empty.
  static Listener listener(SolverOptions const& options) {
    if (!options.monitor) return {};
    return [&options](Engine const& engine) { options.monitor(engine.progress()); };
  }

  /// \brief Runs, from where the columns are, until all have ended; or, where these `may_leave`,
  /// until a narrower engine should have those that go on.
  ///
  /// \tparam Number OneColumn or SomeColumns
  /// \tparam Owns whether the iteration has Owned vectors: `owned`, of so many rows
  template <class Number, bool Owns = false, class ResidualCheck, class Iteration>
  void run(ResidualCheck const& residual_check, Iteration const& iteration,
           Listener const& listener = {}, bool may_leave = false, OwnedVectors const& owned = {},
           std::int32_t rows = 0) {
    if constexpr (is_host_space<Exec>)
      run_programs<Number>(
          Programs<HostProgram, HostProgram>{HostProgram(residual_check), HostProgram(iteration)},
          listener, may_leave);
    else
      run_programs<Number>(
          with_owned(Programs<ResidualCheck, Iteration, Owns>{residual_check, iteration}, owned,
                     rows),
          listener, may_leave);
  }

  /// \brief The same on a GPU, led by the caller; the engine and what the programs need are to
  /// outlive it. One column.
  template <bool Owns, class ResidualCheck, class Iteration>
  std::unique_ptr<Underway> start(ResidualCheck const& residual_check, Iteration const& iteration,
                                  Listener const& listener, OwnedVectors const& owned,
                                  std::int32_t rows) {
    using All = Programs<ResidualCheck, Iteration, Owns>;
    auto led = std::make_unique<Led<All>>(
        *this, with_owned(All{residual_check, iteration}, owned, rows), listener);
    prepare<OneColumn>(led->programs);
    return led;
  }

  /// \brief Of a solve that has ended; all columns have the time of the whole.
  std::vector<Report> reports() const {
    std::vector<Report> reports;
    for (std::int32_t c = 0; c < columns(); ++c) {
      Report report = report_of(controls_[c], histories_[c], setup_seconds_, seconds_);
      report.kernels_per_iteration = is_whole() ? 0 : kernels_;
      report.busy_cores = busy_cores_;
      report.runner = ran();
      report.runner_because = abandoned_ ? too_busy : ran_.because;
      if (abandoned_ && report.detail.empty()) report.detail = too_busy;
      reports.push_back(std::move(report));
    }
    return reports;
  }

  // ---- Compaction: columns that go on are handed to a narrower engine ----

  std::int32_t active() const {
    return static_cast<std::int32_t>(
        std::count_if(controls_.begin(), controls_.end(),
                      [](Control const& c) { return c.phase != Phase::finished; }));
  }
  bool all_finished() const { return active() == 0; }
  /// \brief In this solve.
  Runner ran() const { return abandoned_ ? fallback : ran_.runner; }
  /// \brief The columns of a narrower engine, a power of two: first those that go on, `active()` of
  /// them, then ended ones.
  ChosenColumns rest() const {
    ChosenColumns chosen{.wide = columns()};
    std::int32_t const width = width_of_rest();
    for (bool const ended : {false, true})
      for (std::int32_t c = 0; c < columns(); ++c)
        if (chosen.narrow != width && (controls_[c].phase == Phase::finished) == ended)
          chosen.add(c);
    return chosen;
  }
  /// \brief Takes these columns of another engine, which has left them, and goes on as it would.
  void take(Engine& wide, ChosenColumns const& chosen) {
    begin();
    for (std::int32_t c = 0; c < columns(); ++c) {
      controls_[c] = wide.controls_[chosen.of[c]];
      histories_[c].swap(wide.histories_[chosen.of[c]]);
    }
    Kokkos::parallel_for("Solder::columns::take", Kokkos::RangePolicy<Exec>(exec_, 0, columns()),
                         TakeControls{wide.slots_.data(), slots_.data(), chosen});
    begun_ = true;
  }
  /// \brief What making a narrower solve took, of the time since begin().
  void count_as_setup(double seconds) { setup_seconds_ += seconds; }
  /// \brief In this solve, no narrower engine of so many columns is to be had.
  void leave_only_below(std::int32_t width) { most_of_rest_ = width - 1; }
  /// \brief Lets that engine know how far its columns have come.
  void tell(Engine& wide, ChosenColumns const& chosen) const {
    for (std::int32_t c = 0; c < columns(); ++c) wide.controls_[chosen.of[c]] = controls_[c];
    wide.note_time();
  }
  /// \brief Gives them back, when they have ended.
  void give_back(Engine& wide, ChosenColumns const& chosen) {
    for (std::int32_t c = 0; c < columns(); ++c) histories_[c].swap(wide.histories_[chosen.of[c]]);
    wide.count_as_setup(setup_seconds_);
    tell(wide, chosen);
  }

 private:
  /// What runs where the teams of a whole solve did not meet.
  static constexpr Runner fallback = is_host_space<Exec> ? Runner::launch : Runner::graph;
  /// Iterations per status of the launch and graph runners; a cycle and its residual check on GPUs,
  /// for a method that has cycles. On hosts nothing runs ahead, and a status is free.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;
  /// Iterations of at most half of the columns after which a narrower engine should have them.
  static constexpr std::int32_t patience = 16;
  /// Most history entries of a column in a status of a kernel of a whole solve, and how many end
  /// it, but for the rest of a cycle; fewer where a monitor is to hear of them.
  std::int32_t room() const { return columns() == 1 ? 4096 : 1024; }
  std::int32_t room_to_use() const { return columns() == 1 ? 3072 : 1000; }
  static constexpr std::int32_t room_if_monitored = 256;

  template <class All>
  class Led final : public Underway {
   public:
    Led(Engine& engine, All const& all, Listener const& listener)
        : programs(all), engine_(engine), listener_(listener) {}

    bool has_ended() const override { return engine_.has_ended(); }
    bool advance() override {
      bool any = false;
      while (!has_ended()) {
        engine_.template send<OneColumn>(programs, bool(listener_));
        if (!engine_.status_.has(engine_.received_ + 1)) break;
        engine_.receive(listener_);
        any = true;
      }
      return any;
    }
    void wait() override { engine_.receive(listener_); }
    Report report() const override { return engine_.reports()[0]; }

    All const programs;

   private:
    Engine& engine_;
    Listener listener_;
  };

  template <class All>
  All const& with_owned(All const& all, OwnedVectors const& owned, std::int32_t rows) {
    chip_ = {owned, rows, Blocks::of(std::max(plan_.teams, 2))};
    return all;
  }

  // ---- The course of a solve ----

  bool has_ended() const { return all_finished() && received_ == sent_; }
  bool any_in(std::initializer_list<Phase> phases) const {
    return std::any_of(controls_.begin(), controls_.end(), [&](Control const& control) {
      return std::find(phases.begin(), phases.end(), control.phase) != phases.end();
    });
  }

  template <class Number, class All>
  void run_programs(All const& programs, Listener const& listener, bool may_leave) {
    prepare<Number>(programs);
    try {
      bool leaves = false;
      while (!has_ended() && !(leaves && received_ == sent_)) {
        if (!leaves) send<Number>(programs, bool(listener));
        receive(listener);
        leaves = leaves || (may_leave && !is_whole() && should_leave());
      }
    } catch (...) {  // a monitor or a host stage threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
  }

  /// \brief Launches what can be launched before the next status.
  ///
  /// With nothing in flight the phases say what that is. On GPUs a batch is sent ahead while the
  /// status of the one before is awaited; should that status end the iteration, the batch does
  /// nothing, and its status is awaited too.
  template <class Number, class All>
  void send(All const& programs, bool is_monitored) {
    if (received_ == sent_) {
      if (is_whole())
        run_whole<Number>(programs, is_monitored ? room_if_monitored : room_to_use());
      else if (any_in({Phase::check, Phase::begin}))
        emit<Number>(!begun_, launch,
                     [&](auto const& f) { programs.residual_check.for_each_stage({}, f); });
      else
        submit<Number>(programs, controls_[0].step);
      begun_ = true;
      ++sent_;
    } else if (!any_in({Phase::iterate})) {
      return;
    }
    if (!is_host_space<Exec> && !is_whole() && sent_ == received_ + 1) {
      submit<Number>(programs, 0);
      ++sent_;
    }
  }

  /// \brief Waits for the next status, and tells of it.
  void receive(Listener const& listener = {}) {
    status_.receive(exec_, ++received_, controls_, histories_);
    note_time();
    if (is_whole() && status_.abandoned(received_))
      abandoned_ = true;
    else if (listener)
      listener(*this);
  }
  void note_time() {
    seconds_ = timer_.seconds() - setup_seconds_;
    if (all_finished()) busy_cores_ = timer_.busy_cores(seconds_);
  }

  /// \brief The most iterations, and the largest residual, of the columns that have not ended; of
  /// all where all have.
  Progress progress() const {
    Progress worst{0, 0, seconds_};
    bool const ended = all_finished();
    for (Control const& control : controls_) {
      if (control.phase == Phase::finished && !ended) continue;
      worst.iteration = std::max<int>(worst.iteration, control.iteration);
      worst.relative_residual =
          worse(control.relative(control.residual_squared), worst.relative_residual);
    }
    return worst;
  }

  std::int32_t width_of_rest() const {
    return std::max(2, static_cast<std::int32_t>(std::bit_ceil(std::uint32_t(active()))));
  }
  /// \brief Whether at most half of the columns have gone on for some iterations, which cost about
  /// what a narrower engine takes to begin.
  bool should_leave() {
    if (all_finished() || 2 * active() > columns() || width_of_rest() > most_of_rest_) return false;
    std::int32_t iteration = 0;
    for (Control const& control : controls_)
      if (control.phase != Phase::finished) iteration = std::max(iteration, control.iteration);
    if (half_ended_at_ < 0) half_ended_at_ = iteration;
    return iteration >= half_ended_at_ + patience;
  }

  // ---- The runner ----

  /// Whether a kernel of the whole solve takes these programs, and whether its launch does.
  template <class All, class Number>
  static constexpr bool has_kernel = All::on_device &&
                                     (std::is_same_v<Number, OneColumn> ||
                                      (!is_host_space<Exec> && All::goes_through_rows));
  template <class All, class Number>
  static constexpr bool is_carried =
      sizeof(SolveKernel<CarriedPrograms<All>, Number, TeamOf::solve>) + sizeof(OnChipPlan) <=
      most_argument_bytes;

  /// \brief Whether some programs may be run as one kernel.
  bool may_be_whole() const {
    if (columns() == 1) return plan_.teams > 0;
    return !is_host_space<Exec> && has_progress<Exec> && plan_.runner != Runner::launch &&
           plan_.runner != Runner::graph;
  }
  template <class All, class Number>
  Plan plan_of() const {
    if constexpr (std::is_same_v<Number, OneColumn>) {
      return plan_;
    } else {
      Plan plan = plan_columns(machine_, rows() * columns(), plan_.runner, has_kernel<All, Number>,
                               is_carried<All, Number>);
      if (plan.runner == Runner::resident) plan.teams = width_.league;
      return plan;
    }
  }
  /// \brief Whether a kernel runs the whole solve.
  bool is_whole() const { return ran_.teams > 0 && !abandoned_; }

  template <class Number>
  Number number_of_columns() const {
    if constexpr (std::is_same_v<Number, OneColumn>)
      return {needs_.most_sums};
    else
      return {columns()};
  }

  /// \brief Readies the runner for these programs: scratch, and the graph, which is recorded anew
  /// only when they have changed. On hosts, whose graphs are lists of launches, it is launched.
  template <class Number, class All>
  void prepare(All const& programs) {
    double const before = timer_.seconds();
    if (!begun_) ran_ = plan_of<All, Number>();
    kernels_ = kernels_per_iteration(programs);
    if constexpr (!is_host_space<Exec>) {
      if constexpr (std::is_same_v<Number, OneColumn>) {
        needs_ = {};
        needs_.add(programs.residual_check, {});
        needs_.add(programs.iteration, {std::max(cycle_.steps, 1) - 1, 0});
      }
      if constexpr (All::on_device) {
        auto const* const last = std::any_cast<All>(&recorded_);
        if (last == nullptr || !(*last == programs)) {
          recorded_.reset();
          chain_.reset();
          if (ran_.runner == Runner::graph) record<Number>(programs);
          if constexpr (has_kernel<All, Number> && !is_carried<All, Number>)
            if (is_whole()) memory_.put(programs);
          recorded_ = programs;
        }
      }
    }
    setup_seconds_ += timer_.seconds() - before;
  }

  template <class Number, class All>
  void record(All const& programs) {
    chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
      emit_batch<Number>(programs, 0,
                         [&](char const* label, auto const& policy, auto const& kernel) {
                           node = node.then_parallel_for(std::string(label), policy, kernel);
                         });
    });
  }

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

  Control* slot(int number) const {
    return slots_.data() + static_cast<std::ptrdiff_t>(number) * columns();
  }

  /// \brief Calls send(label, policy, kernel) for each stage that `stages` hands out, in its turn;
  /// the last one, which is a kernel, posts a status.
  ///
  /// The first stage reads slot 0, or, of a fresh solve, slot 3, which nobody writes; the last one
  /// writes slot 0; between, two other slots are used as a double buffer.
  template <class Number, class Send, class Stages>
  void emit(bool fresh, Send const& send, Stages const& stages) {
    int size = 0, k = 0;
    stages([&](auto const& stage, At const&) { size += !is_host_work(stage); });
    stages([&](auto const& stage, At const& at) {
      using Stage = std::remove_cvref_t<decltype(stage)>;
      bool const last = k + 1 == size;
      Control const* const in = slot(k > 0 ? 1 + k % 2 : fresh ? 3 : 0);
      Control* const out = slot(last ? 0 : 2 - k % 2);
      if constexpr (std::is_same_v<Stage, HostStep>) {
        if (stage.work != nullptr) {
          if (in->phase == stage.phase) stage.work->work(at);
          return;
        }
        send(stage.label, team_policy<Exec, 1>(exec_, stage.teams(), 1, 0),
             HostStageKernel{stage, in, out, status_.writer(), at, last});
      } else if constexpr (std::is_same_v<Stage, HostStage>) {
        stage.work(at);
        return;
      } else {
        auto const here = bound(stage, at);
        StageKernel<std::remove_const_t<decltype(here)>, Number> const kernel{
            here, in, out, status_.writer(), at, number_of_columns<Number>(), last};
        static_assert(sizeof(kernel) <= largest_functor);
        send_stage<Stage>(stage, send, kernel);
      }
      ++k;
    });
  }
  template <class Stage, class Send, class Kernel>
  void send_stage(Stage const& stage, Send const& send, Kernel const& kernel) const {
    constexpr int threads = Stage::threads;
    if constexpr (std::is_same_v<decltype(kernel.width), OneColumn>)
      send(stage.label, team_policy<Exec, threads>(exec_, stage.teams(), threads, needs_.bytes()),
           kernel);
    else if constexpr (goes_through_rows<Stage>)
      send_rows<!Stage::takes_products>(stage.label, send, kernel);
    else
      send(stage.label,
           policy_of<threads, 2 * column_threads / threads>(stage.teams(),
                                                            Stage::most_sums * threads),
           kernel);
  }
  /// \brief A kernel that goes through rows of several columns. One that takes no products, and so
  /// is content with fewer registers, has twice the threads where there are many entries, for more
  /// rows in flight. Both then have as much scratch, so that the multiprocessors need not divide
  /// their memory anew between them.
  template <bool MayHaveMore, class Send, class Kernel>
  void send_rows(char const* label, Send const& send, Kernel const& kernel) const {
    if constexpr (MayHaveMore)
      if (has_many_entries()) return send(label, policy_of_rows<2 * column_threads>(), kernel);
    send(label, policy_of_rows<column_threads>(), kernel);
  }
  bool has_many_entries() const {
    return rows() * columns() > constants_of(machine_).many_entries_of_columns;
  }
  template <int Threads>
  auto policy_of_rows() const {
    int const most = has_many_entries() ? 2 * column_threads : column_threads;
    return policy_of<Threads, 1>(width_.league, ColumnTeam<int>::sums_at_once * most);
  }
  /// \tparam LeastTeams that a multiprocessor is to hold at once
  /// \param doubles of scratch
  template <int Threads, int LeastTeams>
  auto policy_of(int teams, int doubles) const {
    return team_policy<Exec, Threads, LeastTeams>(exec_, teams, Threads,
                                                  ColumnTeam<int>::scratch_bytes(doubles));
  }

  /// \brief The stages of a batch whose first iteration is step `first` of its cycle. Where columns
  /// end at different times, or cycles do, the residual check is part of it.
  template <class Number, class All, class Send>
  void emit_batch(All const& programs, std::int32_t first, Send const& send) {
    bool const is_checked =
        columns() > 1 ? !is_host_space<Exec> : whole_cycles_ && cycle_.is_checked;
    emit<Number>(false, send, [&](auto const& f) {
      for (int k = first; k < first + steps_; ++k)
        programs.iteration.for_each_stage({cycle_.steps > 0 ? k % cycle_.steps : 0, 0}, f);
      if (is_checked) programs.residual_check.for_each_stage({}, f);
    });
  }

  /// \brief Launches a batch; with nothing in flight `step` is where the cycle stands, else 0.
  template <class Number, class All>
  void submit(All const& programs, std::int32_t step) {
    if constexpr (!is_host_space<Exec>) {
      if (ran_.runner != Runner::launch) {
        if (chain_ == nullptr) record<Number>(programs);  // a whole solve was abandoned
        return chain_->submit(exec_);
      }
    }
    emit_batch<Number>(programs, step, launch);
  }

  template <class Number, class All>
  void run_whole(All const& programs, std::int32_t room) {
    [[maybe_unused]] WholeSolve const solve{slot(0),          slot(begun_ ? 0 : 3), gate_.data(),
                                            status_.writer(), ran_.teams,           room};
    if constexpr (is_host_space<Exec>) {
      launch(label_.c_str(), team_policy<Exec, 1>(exec_, ran_.teams, 1, 0),
             HostSolveKernel{programs.residual_check, programs.iteration, solve});
    } else if constexpr (has_kernel<All, Number>) {
      if constexpr (std::is_same_v<Number, SomeColumns>) {
        launch_held<Number>(programs, policy_of_rows<column_threads>(), [&](auto const& held) {
          return whole_kernel<Number, TeamOf::solve>(held, solve);
        });
      } else {
        if constexpr (All::owns)
          if (ran_.on_chip) return launch_on_chip(programs, solve);
        auto const policy =
            team_policy<Exec, team_threads>(exec_, ran_.teams, ran_.threads, needs_.bytes());
        if (ran_.teams == 1)
          launch_held<Number>(programs, policy, [&](auto const& held) {
            return whole_kernel<Number, TeamOf::solve_alone>(held, solve);
          });
        else
          launch_held<Number>(programs, policy, [&](auto const& held) {
            return whole_kernel<Number, TeamOf::solve>(held, solve);
          });
      }
    }
  }
  template <class Number, TeamOf Kind, class Held>
  SolveKernel<Held, Number, Kind> whole_kernel(Held const& held, WholeSolve const& solve) const {
    return {held, solve, number_of_columns<Number>()};
  }
  template <class All>
  void launch_on_chip(All const& programs, WholeSolve const& solve) {
    chip_.before = needs_.workspace;
    chip_.set_room(most_scratch_bytes - needs_.bytes());
    launch_held<OneColumn>(programs,
                           team_policy<Exec, league_threads>(exec_, ran_.teams, ran_.threads,
                                                             needs_.bytes() + chip_.bytes()),
                           [&](auto const& held) {
                             return OnChipKernel<std::remove_cvref_t<decltype(held)>>{
                                 held, solve, chip_, needs_.most_sums};
                           });
  }
  /// \brief Launches kernel_with(the programs as the launch has them).
  template <class Number, class All, class Policy, class KernelWith>
  void launch_held(All const& programs, Policy const& policy, KernelWith const& kernel_with) {
    if constexpr (is_carried<All, Number>) {
      launch(label_.c_str(), with_arguments(policy), kernel_with(CarriedPrograms<All>{programs}));
    } else {
      launch(label_.c_str(), policy, kernel_with(memory_.template next<All>()));
      memory_.launched();
    }
  }

  /// \brief On average over a whole cycle, its residual check included, where the iteration is a
  /// cycle.
  template <class All>
  double kernels_per_iteration(All const& programs) const {
    int kernels = 0;
    auto const count = [&](auto const& stage, At const&) { kernels += !is_host_work(stage); };
    int const steps = std::max(cycle_.steps, 1);
    for (int step = 0; step < steps; ++step) programs.iteration.for_each_stage({step, 0}, count);
    if (cycle_.steps > 0 && cycle_.is_checked) programs.residual_check.for_each_stage({}, count);
    return double(kernels) / steps;
  }

  Exec exec_;
  std::string label_;
  Machine machine_;
  Plan plan_, ran_;  ///< ran_: of this solve
  Cycle cycle_;
  Width width_;
  bool whole_cycles_;   ///< a batch is a cycle and its residual_check, or some cycles
  std::int32_t steps_;  ///< of a batch
  StatusReader<Exec> status_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;  ///< [4][columns]: see emit()
  Kokkos::View<Gate*, typename Exec::memory_space> gate_;
  ScratchNeeds needs_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  std::any recorded_;  ///< the programs of the graph, or those in memory_
  ProgramMemory<Exec> memory_;
  OnChipPlan chip_;

  // Of this solve:
  std::vector<Control> controls_;  ///< as the last status has them
  std::vector<std::vector<double>> histories_;
  std::int32_t sent_ = 0, received_ = 0;  ///< batches and statuses
  bool abandoned_ = false;                ///< its kernel's teams did not meet
  bool begun_ = false;                    ///< there are control blocks to go on from
  std::int32_t half_ended_at_ = -1;       ///< iteration at which at most half went on; -1: more do
  std::int32_t most_of_rest_ = 0;         ///< columns of a narrower engine, at most
  double kernels_ = 0, setup_seconds_ = 0, seconds_ = 0, busy_cores_ = 0;
  SolveTimer<Exec> timer_;
};

}  // namespace Solder::Impl
