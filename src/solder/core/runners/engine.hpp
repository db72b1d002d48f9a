// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/runners/any_programs.hpp>
#include <solder/core/runners/underway.hpp>

namespace Solder::Impl {

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
  using Listener = std::function<Heard(Engine const&)>;

  /// \param label of a whole solve in one kernel
  /// \param plan of several columns: with the runner that was asked for, perhaps automatic
  /// \param cycle of a method that has some; the iteration is then one of its steps
  /// \param on_device false: the programs have host stages
  /// \param ranks that solve together, on hosts; null: this one alone
  Engine(Exec const& exec, std::string const& label, Plan const& plan, Cycle const& cycle,
         bool on_device, Width const& width = {}, Ranks const* ranks = nullptr)
      : exec_(exec),
        ranks_(ranks),
        label_(label),
        machine_(machine_of(exec)),
        plan_(plan),
        ran_(plan),
        cycle_(cycle),
        width_(width),
        whole_cycles_(has_whole_cycles(plan, cycle)),
        most_steps_(steps_of_batch(plan, cycle, on_device)),
        steps_(most_steps_),
        status_(exec, width.columns, capacity_of(plan, cycle, on_device, width.columns)),
        slots_(
            allocate_view<decltype(slots_)>(exec, "Solder::control", 4 * std::size_t(columns()))),
        controls_(columns()),
        histories_(columns()) {
    if (ranks != nullptr && plan.runner != Runner::launch)
      throw std::invalid_argument(label + ": the runner must be launch, not " +
                                  std::string(to_string(plan.runner)) +
                                  ", because several ranks solve together");
    if (!on_device && plan.runner != Runner::launch)
      throw std::invalid_argument(label + ": the runner must be launch, not " +
                                  std::string(to_string(plan.runner)) +
                                  ", because the host takes part in every iteration");
    if (columns() == 1 && plan.runner == Runner::resident && !has_progress<Exec>)
      throw std::invalid_argument(label +
                                  ": the runner resident works on CPUs and on GPUs by CUDA and "
                                  "HIP; on others, teams cannot wait for each other");
    if (has_gate(plan, columns()))
      gate_ = allocate_zero_view<decltype(gate_)>(exec, "Solder::engine::gate", 1);
    for (auto& history : histories_) history.reserve(columns() == 1 ? 4096 : 1024);
    checks_.reserve(64);
    NewControls const make{slots_.data()};
    if constexpr (is_host_space<Exec>)  // other threads may have no core
      for (std::int32_t k = 0; k < 4 * columns(); ++k) make(k);
    else
      Kokkos::parallel_for("Solder::engine::slots",
                           Kokkos::RangePolicy<Exec>(exec_, 0, 4 * columns()), make);
  }

  /// \brief Bytes that an engine allocates, reserve() for these programs included.
  static std::size_t bytes(Plan const& plan, Cycle const& cycle, bool on_device,
                           std::int32_t columns, AnyPrograms<Exec> const& programs) {
    std::size_t size =
        StatusReader<Exec>::bytes(columns, capacity_of(plan, cycle, on_device, columns)) +
        4 * std::size_t(columns) * sizeof(Control);
    if (has_gate(plan, columns)) size += sizeof(Gate);
    if (programs.type != nullptr && may_be_whole(plan, columns) &&
        programs.type->whole.launch != nullptr && !programs.type->whole.is_carried)
      size += 2 * programs.type->size;
    return size;
  }

  std::int32_t columns() const { return width_.columns; }
  std::int64_t rows() const { return width_.rows; }

  /// \brief Takes the memory that these programs need, so that no solve allocates.
  void reserve(AnyPrograms<Exec> const& programs) {
    if constexpr (!is_host_space<Exec>) {
      Plan const plan = plan_of(programs);
      if (plan.runner == Runner::graph) make_chain();
      if (programs.type == nullptr) return;
      held_.reserve(programs.type->size);
      if (plan.teams > 0 && !programs.type->whole.is_carried)
        memory_.reserve(exec_, programs.type->size);
    }
  }

  /// \brief Runs the stages of Phase::check of a program once, and waits for them. One column.
  template <class Program>
  void run_once(Program const& program) {
    begin();
    enqueue(program);
    receive();
    if (ranks_ != nullptr) left_sums_.agree(*ranks_);
  }
  /// \brief The same, without waiting.
  template <class Program>
  void enqueue(Program const& program) {
    Programs<Program, Solder::Program<>> const all{program, {}};
    programs_ = any_programs<Exec, Compiled{.whole = no_whole_kernels}>(all);
    find_needs();
    emit(exec_, true, [&](auto const& f) { programs_.residual_check.for_each_stage({}, f); });
  }

  // ---- A solve: begin(), then run() or start(), then reports() ----

  /// \brief No kernel of an earlier solve may be in flight.
  void begin() {
    status_.clear();
    left_sums_.clear();
    std::fill(controls_.begin(), controls_.end(), Control{});
    for (auto& history : histories_) history.clear();
    checks_.clear();
    abandoned_ = begun_ = is_stopping_ = false;
    sent_ = received_ = 0;
    half_ended_at_ = -1;
    most_of_rest_ = columns() - 1;
    room_ = room_if_monitored;
    received_at_ = told_at_ = pause_ = 0;
    resume_ = 0;
    setup_seconds_ = seconds_ = busy_cores_ = 0;
    timer_.reset();
  }

  /// \brief Runs, from where the columns are, until all have ended. Or until the listener asks for
  /// a stop: the programs are then to be given again, with a limit that the iteration has reached.
  /// Or, where the columns `may_leave`, until a narrower engine should take those that go on.
  ///
  /// \param owned vectors of the programs, of so many rows
  void run(AnyPrograms<Exec> const& programs, Listener const& listener = {}, bool may_leave = false,
           OwnedVectors const& owned = {}, std::int32_t rows = 0) {
    prepare(programs, owned, rows);
    bool const was_stopping = is_stopping_;
    try {
      bool leaves = false;
      while (!has_ended() && !(leaves && received_ == sent_)) {
        if (!leaves) send(bool(listener));
        receive(listener);
        leaves =
            leaves || is_stopping_ != was_stopping || (may_leave && !is_whole() && should_leave());
      }
      if (ranks_ != nullptr && all_finished()) left_sums_.agree(*ranks_);
    } catch (...) {  // a monitor or a host stage threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
  }

  /// \brief Whether the listener has asked for a stop.
  bool is_stopping() const { return is_stopping_; }

  /// \brief The same on a GPU, led by the caller; the engine is to outlive it. One column.
  /// \param stop calls prepare() with the programs that are to be given where the solve stops
  std::unique_ptr<Underway> start(AnyPrograms<Exec> const& programs, Listener const& listener,
                                  OwnedVectors const& owned, std::int32_t rows,
                                  std::function<void()> const& stop) {
    prepare(programs, owned, rows);
    return std::make_unique<Led>(*this, listener, stop);
  }
  /// \brief Readies the runner for these programs: scratch, and the graph, which is forgotten only
  /// when they have changed. Hosts have no graph: they launch the kernels again.
  void prepare(AnyPrograms<Exec> const& programs, OwnedVectors const& owned, std::int32_t rows) {
    double const before = timer_.seconds();
    if (is_stopping_) exec_.fence("Solder::engine: the solve is to stop");
    if (!begun_) ran_ = plan_of(programs);
    programs_ = programs;
    kernels_ = kernels_per_iteration();
    steps_ = steps_for(kernels_);
    if constexpr (!is_host_space<Exec>) {
      chip_ = {owned, rows, Blocks::of(std::max(plan_.teams, 2))};
      find_needs();
      if (has_checked_cycles()) first_part_ = steps_of_first_part();
      if (programs.type != nullptr) {
        if (is_whole() && !programs.type->whole.kernels.has(ran_.runner))
          throw std::logic_error(label_ +
                                 ": the plan has a kernel of a whole solve that there is not");
        if (held_.hold(programs)) {
          if (chain_ != nullptr) chain_->forget();
          is_launched_ = false;
          ends_early_ = true;
          if (is_whole() && !programs.type->whole.is_carried)
            memory_.put(programs.all, programs.type->size);
        }
        programs_ = held_.programs();
      }
    }
    setup_seconds_ += timer_.seconds() - before;
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
      if (columns() == 1) report.checks = checks_;
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
  /// \brief From now on in this solve, columns leave only for an engine narrower than this.
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
  /// Kernels of such a batch on a GPU, at most, if it is more than one iteration or cycle: they
  /// take longer than the host takes to send the next batch.
  static constexpr double kernels_of_batch = 48;
  /// Iterations with at most half of the columns after which a narrower engine should take these.
  static constexpr std::int32_t patience = 16;
  /// Most history entries of a column in a status of a kernel of a whole solve, and how many end
  /// the kernel, after the rest of a cycle; fewer where a monitor is to hear of them.
  static std::int32_t room(std::int32_t columns) { return columns == 1 ? 4096 : 1024; }
  std::int32_t room_to_use() const { return columns() == 1 ? 3072 : 1000; }
  static constexpr std::int32_t room_if_monitored = is_host_space<Exec> ? 1 : 64;

  class Led final : public Underway {
   public:
    Led(Engine& engine, Listener const& listener, std::function<void()> const& stop)
        : engine_(engine), listener_(listener), stop_(stop) {}

    bool has_ended() const override { return engine_.has_ended(); }
    bool advance() override {
      bool any = false;
      while (!has_ended()) {
        bool const drains = engine_.is_stopping() && !has_stopped_;
        if (drains && engine_.received_ == engine_.sent_) {
          stop_();
          has_stopped_ = true;
        }
        if (!drains || has_stopped_) engine_.send(bool(listener_));
        if (!engine_.status_.has(engine_.received_ + 1)) break;
        engine_.receive(listener_);
        any = true;
      }
      return any;
    }
    void wait() override { engine_.receive(listener_); }
    Report report() const override { return engine_.reports()[0]; }

   private:
    Engine& engine_;
    Listener listener_;
    std::function<void()> stop_;
    bool has_stopped_ = false;
  };

  // ---- The course of a solve ----

  bool has_ended() const { return all_finished() && received_ == sent_; }
  bool any_in(std::initializer_list<Phase> phases) const {
    return std::any_of(controls_.begin(), controls_.end(), [&](Control const& control) {
      return std::find(phases.begin(), phases.end(), control.phase) != phases.end();
    });
  }

  /// \brief Launches what can be launched before the next status.
  ///
  /// With nothing in flight the phases say what that is. On GPUs a batch is sent ahead while the
  /// status of the one before is awaited; should that status end the iteration, the batch does
  /// nothing, and its status is awaited too. No batch is sent ahead of the first one's status,
  /// because many solves with a strong M end there; nor before or after a part of a cycle, because
  /// only the status tells what follows it.
  void send(bool is_monitored) {
    if (received_ == sent_) {
      if (is_whole())
        run_whole(is_monitored ? room_ : room_to_use());
      else if (any_in({Phase::check, Phase::begin}))
        emit(exec_, !begun_,
             [&](auto const& f) { programs_.residual_check.for_each_stage({}, f); });
      else
        submit(controls_[0].step);
      begun_ = true;
      ++sent_;
    } else if (!any_in({Phase::iterate})) {
      return;
    }
    bool const is_waited_for =
        sent_ == 2 || (has_checked_cycles() && controls_[0].step > 0) || begins_in_parts();
    if (!is_host_space<Exec> && !is_whole() && sent_ == received_ + 1 && !is_waited_for) {
      submit(0);
      ++sent_;
    }
  }

  /// \brief Waits for the next status, and tells of it.
  void receive(Listener const& listener = {}) {
    double const before = controls_[0].true_squared;
    status_.receive(exec_, ++received_, controls_, histories_);
    note_time();
    if (columns() == 1) note_check(received_ == 1, before);
    if (is_whole() && status_.abandoned(received_))
      abandoned_ = true;
    else if (listener && !is_stopping_)
      tell_listener(listener);
    is_stopping_ = is_stopping_ || left_sums_.is_to_stop();
  }
  /// \brief Tells the listener, unless it pauses. Where the solve is one kernel, the next kernel
  /// has as many iterations as fit into the pause.
  void tell_listener(Listener const& listener) {
    double const last = std::max(seconds_ - received_at_, 1e-9);
    received_at_ = seconds_;
    int const iteration = progress().iteration;
    if (seconds_ >= told_at_ + pause_ && iteration >= resume_)
      guarded([&] {
        Heard const heard = listener(*this);
        told_at_ = seconds_;
        pause_ = heard.pause > 0 ? heard.pause : 0;  // also for a NaN
        resume_ = heard.resume;
        if (ranks_ == nullptr)
          is_stopping_ = heard.stops;
        else if (heard.stops)
          left_sums_.ask_to_stop();
      });
    std::int32_t const least = std::min(room_if_monitored, room_to_use());
    double const paused = std::max(room_ * pause_ / last, double(resume_) - iteration);
    room_ = static_cast<std::int32_t>(std::clamp(paused, double(least), double(room_to_use())));
  }
  /// \brief f(), which users have written. Where other ranks wait for this one's sums, an exception
  /// of f is kept until these have been sent.
  template <class F>
  void guarded(F const& f) {
    if (ranks_ == nullptr) return f();
    try {
      f();
    } catch (...) {
      left_sums_.fail();
    }
  }
  /// \brief Keeps the true residual that a status is the first to tell.
  void note_check(bool is_first, double before) {
    Control const& now = controls_[0];
    if (is_first && now.recorded > 0) checks_.push_back({0, now.relative(now.guess_squared)});
    double const known = is_first ? now.guess_squared : before;
    if (now.true_squared != known)
      checks_.push_back({now.iteration, now.relative(now.true_squared)});
  }
  void note_time() {
    seconds_ = timer_.seconds() - setup_seconds_;
    if (all_finished()) busy_cores_ = timer_.busy_cores(seconds_);
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

  /// \brief Whether some programs may be run as one kernel.
  static bool may_be_whole(Plan const& plan, std::int32_t columns) {
    if (columns == 1) return plan.teams > 0;
    return !is_host_space<Exec> && has_progress<Exec> && plan.runner != Runner::launch &&
           plan.runner != Runner::graph;
  }
  static bool has_gate(Plan const& plan, std::int32_t columns) {
    return plan.teams > 1 || (columns > 1 && may_be_whole(plan, columns));
  }
  static bool has_whole_cycles(Plan const& plan, Cycle const& cycle) {
    return cycle.steps > 0 && (!is_host_space<Exec> || plan.runner == Runner::graph);
  }
  static std::int32_t steps_of_batch(Plan const& plan, Cycle const& cycle, bool on_device) {
    return has_whole_cycles(plan, cycle)
               ? cycle.steps * (cycle.is_checked ? 1 : std::max(1, batch / cycle.steps))
           : on_device ? batch
                       : 1;
  }
  /// \brief The same for programs of so many kernels an iteration: fewer where there are many,
  /// because those after the last iteration are launched in vain. With several columns always the
  /// most, because some are checked while others iterate.
  std::int32_t steps_for(double kernels) const {
    if (is_host_space<Exec> || columns() > 1 || has_checked_cycles()) return most_steps_;
    auto const steps = static_cast<std::int32_t>(kernels_of_batch / std::max(kernels, 1.0));
    std::int32_t const unit = whole_cycles_ ? cycle_.steps : 1;
    return std::clamp(steps / unit * unit, unit, most_steps_);
  }
  /// \brief Whether a batch of one column is a cycle and its residual check.
  bool has_checked_cycles() const { return whole_cycles_ && cycle_.is_checked && columns() == 1; }
  /// \brief Whether the next cycle is sent in parts; see submit().
  bool begins_in_parts() const {
    return has_checked_cycles() && ends_early_ && first_part_ < cycle_.steps;
  }
  /// \brief The first steps of a cycle, of kernels_of_batch kernels at most if it is more than one
  /// step.
  std::int32_t steps_of_first_part() const {
    int steps = 1, kernels = kernels_of(programs_.iteration, 0);
    while (steps < cycle_.steps &&
           (kernels += kernels_of(programs_.iteration, steps)) <= kernels_of_batch)
      ++steps;
    return steps;
  }
  /// \brief Most history entries of a column in a status; a power of two.
  static std::int32_t capacity_of(Plan const& plan, Cycle const& cycle, bool on_device,
                                  std::int32_t columns) {
    if (may_be_whole(plan, columns)) return room(columns);
    std::int32_t const steps = steps_of_batch(plan, cycle, on_device);
    return static_cast<std::int32_t>(std::bit_ceil(2 * static_cast<std::uint32_t>(steps)));
  }
  Plan plan_of(AnyPrograms<Exec> const& programs) const {
    if (columns() == 1) return plan_;
    auto const whole =
        programs.type == nullptr ? typename ProgramsType<Exec>::Whole{} : programs.type->whole;
    Plan plan = plan_columns(machine_, width_.entries(), plan_.runner, whole.launch != nullptr,
                             whole.is_carried);
    if (plan.runner == Runner::resident) plan.teams = width_.league;
    return plan;
  }
  /// \brief Whether a kernel runs the whole solve.
  bool is_whole() const { return ran_.teams > 0 && !abandoned_; }

  void find_needs() {
    if constexpr (!is_host_space<Exec>) {
      needs_ = {};
      auto const add = [&](auto const& step, At const&) {
        needs_.add(step.most_sums, step.workspace);
      };
      programs_.residual_check.for_each_stage({}, add);
      programs_.iteration.for_each_stage({std::max(cycle_.steps, 1) - 1, 0}, add);
    }
  }

  void make_chain() {
    if constexpr (!is_host_space<Exec>)
      if (chain_ == nullptr) chain_ = std::make_unique<KernelChain<Exec>>(exec_);
  }
  /// \brief Submits the graph of a batch, which is recorded before.
  void submit_graph() {
    make_chain();
    if (!chain_->is_recorded()) {
      double const before = timer_.seconds();
      chain_->record(
          [&](Exec const& recorder) { emit_batch(recorder, 0, steps_, checks_batches()); });
      setup_seconds_ += timer_.seconds() - before;
    }
    chain_->submit();
  }

  Control* slot(int number) const {
    return slots_.data() + static_cast<std::ptrdiff_t>(number) * columns();
  }
  Launch<Exec> launch_on(Exec const& exec) const { return {exec, machine_, width_, needs_}; }

  /// \brief Launches each stage that `stages` hands out, in its turn; the last one, which is a
  /// kernel, posts a status.
  ///
  /// The first stage reads slot 0, or, of a fresh solve, slot 3, which nobody writes; the last one
  /// writes slot 0; between, two other slots are used as a double buffer.
  template <class Stages>
  void emit(Exec const& exec, bool fresh, Stages const& stages) {
    int size = 0, k = 0;
    stages([&](auto const& step, At const&) { size += step.work == nullptr; });
    stages([&](auto const& step, At const& at) {
      bool const last = k + 1 == size;
      Control const* const in = slot(k > 0 ? 1 + k % 2 : fresh ? 3 : 0);
      Control* const out = slot(last ? 0 : 2 - k % 2);
      if (step.work != nullptr) {
        if (!is_host_space<Exec> || in->phase == step.work->phase)
          guarded([&] { step.work->work(at); });
        return;
      }
      if constexpr (is_host_space<Exec>) {
        if (ranks_ != nullptr && step.reads_sums) left_sums_.sum_over(*ranks_);
        Kokkos::parallel_for(step.label, team_policy<Exec, 1>(exec, step.teams(), 1, 0),
                             HostStageKernel{step, in, out, status_.writer(), at, last,
                                             ranks_ == nullptr ? nullptr : &left_sums_});
      } else {
        step.launch(step.stage, {launch_on(exec), in, out, status_.writer(), at, last});
      }
      ++k;
    });
  }

  /// \brief Launches the stages of a batch: `count` iterations from step `first` of a cycle on, and
  /// where a residual check is part of it, that.
  void emit_batch(Exec const& exec, std::int32_t first, std::int32_t count, bool is_checked) {
    emit(exec, false, [&](auto const& f) {
      for (int k = first; k < first + count; ++k)
        programs_.iteration.for_each_stage({cycle_.steps > 0 ? k % cycle_.steps : 0, 0}, f);
      if (is_checked) programs_.residual_check.for_each_stage({}, f);
    });
  }
  /// \brief Whether a residual check is part of each batch: where columns end at different times,
  /// or cycles do.
  bool checks_batches() const {
    return columns() > 1 ? !is_host_space<Exec> : has_checked_cycles();
  }

  /// \brief Launches a batch; with nothing in flight `step` is where the cycle stands, else 0.
  ///
  /// The first batch of new programs is launched kernel by kernel, because to record it takes
  /// longer: a graph is for those that follow, in this solve or the next.
  ///
  /// Where a batch is a cycle, GPUs begin a solve with as few of its steps as other methods have in
  /// a batch: with a strong M the others would be launched in vain. These follow if they are
  /// needed. From then on each batch is a cycle.
  void submit(std::int32_t step) {
    if constexpr (!is_host_space<Exec>) {
      if (has_checked_cycles() && step > 0) {
        is_launched_ = true;
        ends_early_ = false;
        return emit_batch(exec_, step, cycle_.steps - step, true);
      }
      if (begins_in_parts()) return emit_batch(exec_, 0, first_part_, false);
      if (ran_.runner != Runner::launch && std::exchange(is_launched_, true)) return submit_graph();
    }
    emit_batch(exec_, step, steps_, checks_batches());
  }

  void run_whole(std::int32_t room) {
    WholeSolve const solve{slot(0),          slot(begun_ ? 0 : 3), gate_.data(),
                           status_.writer(), ran_.teams,           room};
    if constexpr (is_host_space<Exec>)
      Kokkos::parallel_for(label_, team_policy<Exec, 1>(exec_, ran_.teams, 1, 0),
                           HostSolveKernel{programs_.residual_check, programs_.iteration, solve});
    else
      programs_.type->whole.launch(programs_.all,
                                   {launch_on(exec_), label_.c_str(), ran_, solve, memory_, chip_});
  }

  /// \brief Kernels per iteration; of a method with cycles on average over a cycle, which includes
  /// its residual check.
  double kernels_per_iteration() const {
    int kernels = 0;
    int const steps = std::max(cycle_.steps, 1);
    for (int step = 0; step < steps; ++step) kernels += kernels_of(programs_.iteration, step);
    if (cycle_.steps > 0 && cycle_.is_checked) kernels += kernels_of(programs_.residual_check, 0);
    return double(kernels) / steps;
  }
  /// \brief Kernels of a program in this step of a cycle.
  static int kernels_of(auto const& program, int step) {
    int kernels = 0;
    program.for_each_stage({step, 0},
                           [&](auto const& stage, At const&) { kernels += stage.work == nullptr; });
    return kernels;
  }

  Exec exec_;
  Ranks const* ranks_;  ///< null: this process alone
  LeftSums left_sums_;
  std::string label_;
  Machine machine_;
  Plan plan_, ran_;  ///< ran_: of this solve
  Cycle cycle_;
  Width width_;
  bool whole_cycles_;                ///< a batch is a cycle and its residual_check, or some cycles
  std::int32_t most_steps_, steps_;  ///< of a batch
  StatusReader<Exec> status_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;  ///< [4][columns]: see emit()
  Kokkos::View<Gate*, typename Exec::memory_space> gate_;
  ScratchNeeds needs_;
  std::unique_ptr<std::conditional_t<is_host_space<Exec>, int, KernelChain<Exec>>> chain_;
  bool is_launched_ = false;     ///< a batch of these programs was
  bool ends_early_ = true;       ///< no solve by them has gone on after the first part of a cycle
  std::int32_t first_part_ = 0;  ///< its steps
  HeldPrograms<Exec> held_;      ///< on GPUs: those of the graph, or those in memory_
  AnyPrograms<Exec> programs_;   ///< of this solve
  ProgramMemory<Exec> memory_;
  OnChipPlan chip_;

  // Of this solve:
  std::vector<Control> controls_;  ///< as the last status has them
  std::vector<std::vector<double>> histories_;
  std::vector<Report::Check> checks_;     ///< of one column
  std::int32_t sent_ = 0, received_ = 0;  ///< batches and statuses
  bool abandoned_ = false;                ///< its kernel's teams did not meet
  bool begun_ = false;                    ///< there are control blocks to go on from
  bool is_stopping_ = false;              ///< the listener has asked for a stop
  std::int32_t half_ended_at_ = -1;       ///< iteration at which at most half went on; -1: more do
  std::int32_t most_of_rest_ = 0;         ///< columns of a narrower engine, at most
  std::int32_t room_ = 1;                 ///< of the next kernel of a solve that is monitored
  double received_at_ = 0, told_at_ = 0;  ///< seconds: the last status, and when the listener heard
  double pause_ = 0;                      ///< for which it need not hear then
  int resume_ = 0;                        ///< iteration up to which it need not hear
  double kernels_ = 0, setup_seconds_ = 0, seconds_ = 0, busy_cores_ = 0;
  SolveTimer<Exec> timer_;
};

}  // namespace Solder::Impl
