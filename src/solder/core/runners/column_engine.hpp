// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/column_mailbox.hpp>
#include <solder/core/column_pieces.hpp>
#include <solder/core/column_team.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/core/runners/gate.hpp>

namespace Solder::Impl {

/// \brief Entries of a vector of all columns up to which a kernel of the whole solve beats a graph
/// of kernels: where its launch takes the programs along, and where they lie in memory; see "Many
/// right-hand sides" in docs/performance.md.
inline constexpr std::int64_t column_crossover = 1'200'000, column_crossover_in_memory = 400'000;
/// \brief The same from which stages that take no products have more threads.
inline constexpr std::int64_t many_column_entries = 12'000'000;

/// \brief A stage on a GPU, for all columns.
template <class Stage>
struct ColumnStageKernel {
  Stage stage;
  Control const* in;  ///< [columns]
  Control* out;
  ColumnOutbox const* outbox;
  At at;
  std::int32_t columns;
  bool posts;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    ColumnTeam<Member> const team(member, columns);
    std::int32_t const column = team.column();
    Control const& now = in[column];  // which no team writes in this stage
    Control next;                     // of a column's first thread
    stage.run(team, at, now, next);
    if (team.league_rank() != 0) return;
    if (team.slot() == 0) {
      outbox->record(column, now, next);
      if (posts) outbox->put(column, next);
      out[column] = next;
    }
    if (!posts) return;
    team.barrier();
    if (team.rank() == 0) outbox->send(next.posts);
  }
};

/// \brief A whole solve of all columns on a GPU, as one kernel of as many teams as the device
/// holds: see WholeSolve. A stage that no column has work in is passed over.
///
/// \tparam Held CarriedPrograms or CopiedPrograms
template <class Held>
struct ColumnSolveKernel {
  Held held;
  Control* slots;  ///< [columns]: where the solve stands
  Gate* gate;
  ColumnOutbox const* outbox;
  std::int32_t columns;
  std::int32_t letter;  ///< history entries of a column that fill it
  bool fresh;           ///< begins with new control blocks

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    ColumnTeam<Member> const team(member, columns);
    auto const& programs = held.here(team);
    Residence<ColumnTeam<Member>> residence(team, gate);
    bool const all_here = residence.join(), is_first = team.slot() == 0;
    int turn = 0;
    if (is_first) team.current(turn) = fresh ? Control{} : slots[team.column()];
    team.barrier();
    auto const now = [&]() -> Control const& { return team.current(turn); };
    auto const pass = [&](auto const& stage, At const& at) {
      if (!team.any_column(now().phase == stage.phase)) return;
      Control next;
      auto const& mine = Held::ready(stage);
      mine.run(team, at, now(), next);
      if (is_first) {
        if (team.league_rank() == 0) outbox->record(team.column(), now(), next);
        team.current(1 - turn) = next;
      }
      turn = 1 - turn;
      residence.wait();
    };
    auto const goes_on = [&] {
      return team.any_column(now().phase != Phase::finished) &&
             !team.any_column(now().recorded - now().posted >= letter);
    };
    while (all_here && goes_on()) {
      programs.judgement.for_each_stage({}, pass);
      programs.iteration.for_each_stage({}, pass);
    }
    if (team.league_rank() == 0) {
      if (team.slot() < team.slots())
        outbox->put_history(team.column(), now(), team.slot(), team.slots());
      Control last = now();
      if (is_first) {
        outbox->put_control(team.column(), last);
        slots[team.column()] = last;
      }
      team.barrier();
      if (team.rank() == 0) outbox->send(last.posts, !all_here);
    }
    residence.leave();
  }
};

/// \brief Hands columns on to a narrower solve, whose letters are its own.
struct TakeControls {
  Control const* wide;
  Control* narrow;
  ChosenColumns chosen;

  KOKKOS_FUNCTION void operator()(std::int32_t c) const {
    Control control = wide[chosen.of[c]];
    control.posts = 0;
    narrow[c] = control;
  }
};

/// \brief A stage in a league of host threads, for all columns.
struct HostColumnStageKernel {
  HostStep step;
  Control const* in;  ///< [columns]
  Control* out;
  ColumnOutbox outbox;
  At at;
  bool posts;

  void operator()(int league_rank) const {
    std::int32_t const columns = outbox.columns;
    Control now[most_columns], next[most_columns];
    for (std::int32_t c = 0; c < columns; ++c) next[c] = now[c] = in[c];
    HostTeam const team{league_rank, step.teams(), 0, -1, columns};
    step.run(step.stage, team, at, *now, *next);
    if (league_rank != 0) return;
    for (std::int32_t c = 0; c < columns; ++c) {
      outbox.record(c, now[c], next[c]);
      if (posts) outbox.put(c, next[c]);
      out[c] = next[c];
    }
    if (posts) outbox.send(next[0].posts);
  }
};

/// \brief Executes a solver's programs for several right-hand sides at once: Engine, with a control
/// block for each column.
///
/// A column may be judged while another one iterates: a stage does the work of the columns whose
/// phase is its own. On GPUs a batch is the judgement and some iterations, all kernels or one
/// graph, or the whole solve is one kernel; on hosts what any column is in need of is launched.
template <class Exec>
class ColumnEngine {
 public:
  /// \param label of a whole solve in one kernel
  /// \param wanted automatic: the engine picks, when it has seen the programs
  /// \param league teams of all stages on GPUs
  ColumnEngine(Exec const& exec, std::string const& label, std::int64_t rows, std::int32_t columns,
               Runner wanted, int league)
      : exec_(exec),
        label_(label),
        rows_(rows),
        columns_(columns),
        league_(league),
        wanted_(wanted),
        mailbox_(exec, columns, may_be_whole() ? room_of_letter : 2 * batch),
        slots_(allocate_view<decltype(slots_)>(exec, "Solder::control", 4 * std::size_t(columns))),
        outbox_(allocate_view<decltype(outbox_)>(exec, "Solder::mailbox::outbox")),
        controls_(columns),
        histories_(columns) {
    for (auto& history : histories_) history.reserve(1024);
    Kokkos::deep_copy(exec, outbox_, mailbox_.outbox());
    Kokkos::deep_copy(exec, slots_, Control{});
    if (may_be_whole())
      gate_ = allocate_zero_view<decltype(gate_)>(exec, "Solder::engine::gate", 1);
    exec.fence("Solder::engine: the mailbox is ready");
  }

  /// \brief Takes the memory that these programs need, so that no solve allocates.
  template <class Judgement, class Iteration>
  void reserve(Judgement const&, Iteration const&) {
    using All = Programs<Judgement, Iteration>;
    if constexpr (takes_whole<All> && !is_carried<All>)
      if (choose<All>() == Runner::resident) memory_.template reserve<All>(exec_);
  }

  /// \brief Hears of each letter: how far the columns have come.
  using Listener = std::function<void(ColumnEngine const&)>;

  /// \brief Solves; see Engine::solve. A report for each column; all have the time of the whole.
  template <class Judgement, class Iteration>
  std::vector<Report> solve(Judgement const& judgement, Iteration const& iteration,
                            SolverOptions const& options) {
    begin();
    run(judgement, iteration, listener(options), false);
    return reports();
  }

  /// \brief The same in parts: first of all.
  void begin() {
    clear();
    timer_.reset();
  }
  /// \brief Whom the monitor of these options hears the solve through, which has begun; may be
  /// empty.
  Listener listener(SolverOptions const& options) const {
    if (!options.monitor) return {};
    return [this, &options](ColumnEngine const& engine) {
      options.monitor(engine.progress(timer_.seconds() - setup_seconds_));
    };
  }
  /// \brief Runs, from where the columns are, until all have ended; or, where these `may_leave`,
  /// until a narrower engine should have those that go on.
  template <class Judgement, class Iteration>
  void run(Judgement const& judgement, Iteration const& iteration, Listener const& listener,
           bool may_leave) {
    if constexpr (is_host_space<Exec>)
      run_programs(HostProgram(judgement), HostProgram(iteration), listener, may_leave);
    else
      run_programs(judgement, iteration, listener, may_leave);
  }
  std::vector<Report> reports() const {
    double const seconds = timer_.seconds() - setup_seconds_,
                 busy_cores = timer_.busy_cores(timer_.seconds());
    std::vector<Report> reports;
    for (std::int32_t c = 0; c < columns_; ++c) {
      reports.push_back(report_of(controls_[c], histories_[c], setup_seconds_, seconds));
      reports.back().kernels_per_iteration = ran_ == Runner::resident ? 0 : kernels_;
      reports.back().busy_cores = busy_cores;
      reports.back().runner = ran_;
      if (abandoned_ && reports.back().detail.empty()) reports.back().detail = too_busy;
    }
    return reports;
  }

  bool all_finished() const { return active() == 0; }
  std::int64_t rows() const { return rows_; }
  /// \brief In this solve.
  Runner ran() const { return ran_; }
  /// \brief The columns of a narrower engine, a power of two: first those that go on, `active()` of
  /// them, then ended ones.
  ChosenColumns rest() const {
    ChosenColumns chosen{.wide = columns_};
    std::int32_t const width = width_of_rest();
    for (bool const ended : {false, true})
      for (std::int32_t c = 0; c < columns_; ++c)
        if (chosen.narrow != width && (controls_[c].phase == Phase::finished) == ended)
          chosen.add(c);
    return chosen;
  }
  std::int32_t active() const {
    return static_cast<std::int32_t>(
        std::count_if(controls_.begin(), controls_.end(),
                      [](Control const& c) { return c.phase != Phase::finished; }));
  }
  /// \brief Takes these columns of another engine, which has left them, and goes on as it would.
  void take(ColumnEngine& wide, ChosenColumns const& chosen) {
    clear();
    for (std::int32_t c = 0; c < columns_; ++c) {
      controls_[c] = wide.controls_[chosen.of[c]];
      histories_[c].swap(wide.histories_[chosen.of[c]]);
    }
    Kokkos::parallel_for("Solder::columns::take", Kokkos::RangePolicy<Exec>(exec_, 0, columns_),
                         TakeControls{wide.slots_.data(), slots_.data(), chosen});
    begun_ = true;
  }
  /// \brief What making a narrower solve took, of the time since begin().
  void count_as_setup(double seconds) { setup_seconds_ += seconds; }
  /// \brief In this solve, no narrower engine of so many columns is to be had.
  void leave_only_below(std::int32_t width) { most_of_rest_ = width - 1; }
  /// \brief Lets that engine know how far its columns have come.
  void tell(ColumnEngine& wide, ChosenColumns const& chosen) const {
    for (std::int32_t c = 0; c < columns_; ++c) wide.controls_[chosen.of[c]] = controls_[c];
  }
  /// \brief Gives them back, when they have ended.
  void give_back(ColumnEngine& wide, ChosenColumns const& chosen) {
    tell(wide, chosen);
    for (std::int32_t c = 0; c < columns_; ++c) histories_[c].swap(wide.histories_[chosen.of[c]]);
    wide.count_as_setup(setup_seconds_);
  }

 private:
  /// Iterations of a letter.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;
  /// Iterations of at most half of the columns after which a narrower engine should have them.
  static constexpr std::int32_t patience = 16;
  /// Most history entries of a column in a letter of a kernel of a whole solve, and how many end
  /// it; fewer where a monitor is to hear of them.
  static constexpr std::int32_t room_of_letter = 1024, most_of_letter = 1000, monitored = 256;

  /// Whether a kernel of a whole solve takes these programs, and whether its launch does.
  template <class All>
  static constexpr bool takes_whole = !is_host_space<Exec> && All::goes_through_rows;
  template <class All>
  static constexpr bool is_carried =
      sizeof(ColumnSolveKernel<CarriedPrograms<All>>) <= most_argument_bytes;

  /// Whether some programs may be run as one kernel.
  bool may_be_whole() const {
    return !is_host_space<Exec> && has_progress<Exec> && wanted_ != Runner::launch &&
           wanted_ != Runner::graph;
  }
  /// \brief The runner of these programs.
  template <class All>
  Runner choose() const {
    if (is_host_space<Exec> || wanted_ == Runner::launch) return Runner::launch;
    if (!takes_whole<All> || !may_be_whole()) return Runner::graph;
    bool const is_small =
        rows_ * columns_ <= (is_carried<All> ? column_crossover : column_crossover_in_memory);
    return wanted_ != Runner::automatic || (is_small && can_meet(exec_)) ? Runner::resident
                                                                         : Runner::graph;
  }

  template <class Judgement, class Iteration>
  void run_programs(Judgement const& judgement, Iteration const& iteration,
                    Listener const& listener, bool may_leave) {
    using All = Programs<Judgement, Iteration>;
    All const programs{judgement, iteration};
    if (!begun_) ran_ = choose<All>();
    double const before = timer_.seconds();
    prepare(programs);
    setup_seconds_ += timer_.seconds() - before;
    kernels_ = 0;
    programs.iteration.for_each_stage({}, [&](auto const&, At const&) { ++kernels_; });
    try {
      if constexpr (takes_whole<All>)
        if (ran_ == Runner::resident) run_whole(programs, listener);
      if (ran_ != Runner::resident) iterate(programs, listener, may_leave);
    } catch (...) {  // a monitor threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
  }

  /// \brief Solves in kernels of the whole solve, a letter each; or leaves it to the graph where
  /// their teams do not meet, as far as it has come.
  template <class All>
  void run_whole(All const& programs, Listener const& listener) {
    std::int32_t const letter = listener ? monitored : most_of_letter;
    while (!all_finished()) {
      auto const run = [&](auto const& policy, auto const& held) {
        launch(label_.c_str(), policy,
               ColumnSolveKernel<std::remove_cvref_t<decltype(held)>>{
                   held, slots_.data(), gate_.data(), outbox_.data(), columns_, letter, !begun_});
      };
      auto const policy = policy_of_rows<column_threads>();
      if constexpr (is_carried<All>)
        run(with_arguments(policy), CarriedPrograms<All>{programs});
      else
        run(policy, memory_.template next<All>());
      memory_.launched();
      begun_ = true;
      receive();
      if (mailbox_.abandoned(received_)) {
        abandoned_ = true;
        ran_ = Runner::graph;
        break;
      }
      if (listener) listener(*this);
    }
  }
  void receive() { mailbox_.receive(exec_, ++received_, controls_, histories_); }

  /// \brief The most iterations, and the largest residual, of the columns that have not ended; of
  /// all where all have.
  Progress progress(double seconds) const {
    Progress worst{0, 0, seconds};
    bool const ended = all_finished();
    for (Control const& control : controls_) {
      if (control.phase == Phase::finished && !ended) continue;
      worst.iteration = std::max<int>(worst.iteration, control.iteration);
      worst.relative_residual =
          worse(control.relative(control.residual_squared), worst.relative_residual);
    }
    return worst;
  }

  template <class All>
  void prepare(All const& programs) {
    if constexpr (!is_host_space<Exec>) {
      auto const* const before = std::any_cast<All>(&recorded_);
      if (before != nullptr && *before == programs) return;
      recorded_.reset();
      chain_.reset();
      if (ran_ == Runner::graph) record(programs);
      if constexpr (takes_whole<All> && !is_carried<All>)
        if (ran_ == Runner::resident) memory_.put(programs);
      recorded_ = programs;
    }
  }

  template <class All>
  void record(All const& programs) {
    chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
      emit_batch(programs, [&](char const* label, auto const& policy, auto const& kernel) {
        node = node.then_parallel_for(std::string(label), policy, kernel);
      });
    });
  }

  bool any_in(std::initializer_list<Phase> phases) const {
    return std::any_of(controls_.begin(), controls_.end(), [&](Control const& control) {
      return std::find(phases.begin(), phases.end(), control.phase) != phases.end();
    });
  }

  void clear() {
    mailbox_.clear();
    std::fill(controls_.begin(), controls_.end(), Control{});
    for (auto& history : histories_) history.clear();
    abandoned_ = begun_ = false;
    received_ = kernels_ = 0;
    half_ended_at_ = -1;
    most_of_rest_ = columns_ - 1;
    setup_seconds_ = 0;
  }

  std::int32_t width_of_rest() const {
    return std::max(2, static_cast<std::int32_t>(std::bit_ceil(std::uint32_t(active()))));
  }
  /// \brief Whether at most half of the columns have gone on for some iterations, which cost about
  /// what a narrower engine takes to begin.
  bool should_leave() {
    if (2 * active() > columns_ || width_of_rest() > most_of_rest_) return false;
    std::int32_t iteration = 0;
    for (Control const& control : controls_)
      if (control.phase != Phase::finished) iteration = std::max(iteration, control.iteration);
    if (half_ended_at_ < 0) half_ended_at_ = iteration;
    return iteration >= half_ended_at_ + patience;
  }

  template <class All>
  void iterate(All const& programs, Listener const& listener, bool may_leave) {
    bool leaves = false;
    std::int32_t sent = received_;
    auto const judge = [&](bool fresh) {
      emit(fresh, launch, [&](auto const& f) { programs.judgement.for_each_stage({}, f); });
    };
    auto const submit = [&] {
      if constexpr (is_host_space<Exec>) {
        if (any_in({Phase::judge, Phase::begin}))
          judge(false);
        else
          emit(false, launch, [&](auto const& f) { programs.iteration.for_each_stage({}, f); });
      } else if (ran_ == Runner::graph) {
        if (chain_ == nullptr) record(programs);  // a whole solve was abandoned
        chain_->submit(exec_);
      } else {
        emit_batch(programs, launch);
      }
      ++sent;
    };
    if (begun_) {
      submit();
    } else {
      judge(true);
      ++sent;
    }
    begun_ = true;
    while (received_ < sent) {
      // On GPUs a batch is sent ahead while the letter of the one before is awaited.
      if (!is_host_space<Exec> && sent == received_ + 1 && !leaves && !all_finished()) submit();
      receive();
      if (listener) listener(*this);
      leaves = leaves || (may_leave && should_leave());
      if (received_ == sent && !leaves && !all_finished()) submit();
    }
  }

  static constexpr auto launch = [](char const* label, auto const& policy, auto const& kernel) {
    Kokkos::parallel_for(label, policy, kernel);
  };

  /// \brief See Engine::emit.
  template <class Send, class Stages>
  void emit(bool fresh, Send const& send, Stages const& stages) {
    int size = 0, k = 0;
    stages([&](auto const&, At const&) { ++size; });
    stages([&](auto const& stage, At const& at) {
      using Stage = std::remove_cvref_t<decltype(stage)>;
      bool const last = k + 1 == size;
      Control const* const in = slots_.data() + (k > 0   ? 1 + k % 2
                                                 : fresh ? 3
                                                         : 0) *
                                                    columns_;  // 3: nobody writes it
      Control* const out = slots_.data() + (last ? 0 : 2 - k % 2) * columns_;
      if constexpr (std::is_same_v<Stage, HostStep>) {
        send(stage.label, team_policy<Exec, 1>(exec_, stage.teams(), 1, 0),
             HostColumnStageKernel{stage, in, out, mailbox_.outbox(), at, last});
      } else {
        auto const here = bound(stage, at);
        ColumnStageKernel<std::remove_const_t<decltype(here)>> const kernel{
            here, in, out, outbox_.data(), at, columns_, last};
        static_assert(sizeof(kernel) <= largest_functor);
        if constexpr (goes_through_rows<Stage>)
          send_rows<!Stage::takes_products>(stage.label, send, kernel);
        else
          send(stage.label,
               policy_of<Stage::threads, 2 * column_threads / Stage::threads>(
                   stage.teams(), Stage::most_sums * Stage::threads),
               kernel);
      }
      ++k;
    });
  }
  /// \brief A kernel that goes through rows. One that takes no products, and so is content with
  /// fewer registers, has twice the threads where there are many entries, for more rows in flight.
  /// Both then have as much scratch, so that the multiprocessors need not divide their memory anew
  /// between them.
  template <bool MayHaveMore, class Send, class Kernel>
  void send_rows(char const* label, Send const& send, Kernel const& kernel) const {
    if constexpr (MayHaveMore)
      if (has_many_entries()) return send(label, policy_of_rows<2 * column_threads>(), kernel);
    send(label, policy_of_rows<column_threads>(), kernel);
  }
  bool has_many_entries() const { return rows_ * columns_ > many_column_entries; }
  template <int Threads>
  auto policy_of_rows() const {
    int const most = has_many_entries() ? 2 * column_threads : column_threads;
    return policy_of<Threads, 1>(league_, ColumnTeam<int>::sums_at_once * most);
  }
  /// \tparam LeastTeams that a multiprocessor is to hold at once
  /// \param doubles of scratch
  template <int Threads, int LeastTeams>
  auto policy_of(int teams, int doubles) const {
    return team_policy<Exec, Threads, LeastTeams>(exec_, teams, Threads,
                                                  ColumnTeam<int>::scratch_bytes(doubles));
  }
  template <class All, class Send>
  void emit_batch(All const& programs, Send const& send) {
    emit(false, send, [&](auto const& f) {
      programs.judgement.for_each_stage({}, f);
      for (int k = 0; k < batch; ++k) programs.iteration.for_each_stage({}, f);
    });
  }

  Exec exec_;
  std::string label_;
  std::int64_t rows_;
  std::int32_t columns_;
  int league_;
  Runner wanted_, ran_ = wanted_;    ///< ran_: in this solve
  bool abandoned_ = false;           ///< in this solve: its kernel's teams did not meet
  bool begun_ = false;               ///< in this solve: there are control blocks to go on from
  std::int32_t received_ = 0;        ///< letters of this solve
  std::int32_t kernels_ = 0;         ///< of an iteration
  std::int32_t half_ended_at_ = -1;  ///< iteration at which at most half went on; -1: more do
  std::int32_t most_of_rest_ = 0;    ///< columns of a narrower engine in this solve, at most
  double setup_seconds_ = 0;
  SolveTimer<Exec> timer_;
  ColumnMailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  Kokkos::View<ColumnOutbox, typename Exec::memory_space> outbox_;
  Kokkos::View<Gate*, typename Exec::memory_space> gate_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  std::any recorded_;  ///< the programs of the graph, or those in memory_
  ProgramMemory<Exec> memory_;
  std::vector<Control> controls_;
  std::vector<std::vector<double>> histories_;
};

}  // namespace Solder::Impl
