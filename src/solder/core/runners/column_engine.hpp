// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <solder/core/column_mailbox.hpp>
#include <solder/core/column_team.hpp>
#include <solder/core/runners/engine.hpp>

namespace Solder::Impl {

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
/// graph; on hosts what any column is in need of is launched.
template <class Exec>
class ColumnEngine {
 public:
  ColumnEngine(Exec const& exec, std::int32_t columns, Runner runner)
      : exec_(exec),
        columns_(columns),
        runner_(is_host_space<Exec> || runner == Runner::launch ? Runner::launch : Runner::graph),
        mailbox_(exec, columns, 2 * batch),
        slots_(Kokkos::view_alloc("Solder::control", exec, Kokkos::WithoutInitializing),
               4 * std::size_t(columns)),
        outbox_(Kokkos::view_alloc("Solder::mailbox::outbox", exec, Kokkos::WithoutInitializing)),
        controls_(columns),
        histories_(columns) {
    for (auto& history : histories_) history.reserve(1024);
    Kokkos::deep_copy(exec, outbox_, mailbox_.outbox());
    Kokkos::deep_copy(exec, slots_, Control{});
    exec.fence("Solder::engine: the mailbox is ready");
  }

  /// \brief Solves; see Engine::solve. A report for each column; all have the time of the whole.
  template <class Judgement, class Iteration>
  std::vector<Report> solve(Judgement const& judgement, Iteration const& iteration,
                            SolverOptions const& options) {
    if constexpr (is_host_space<Exec>)
      return solve_with(HostProgram(judgement), HostProgram(iteration), options);
    else
      return solve_with(judgement, iteration, options);
  }

 private:
  /// Iterations of a letter.
  static constexpr std::int32_t batch = is_host_space<Exec> ? 1 : 16;

  template <class Judgement, class Iteration>
  std::vector<Report> solve_with(Judgement const& judgement, Iteration const& iteration,
                                 SolverOptions const& options) {
    Kokkos::Timer timer;
    Programs<Judgement, Iteration> const programs{judgement, iteration};
    prepare(programs);
    double const setup_seconds = timer.seconds();
    timer.reset();
    try {
      iterate(programs, [&] {
        if (options.monitor) options.monitor(progress(timer.seconds()));
      });
    } catch (...) {  // a monitor threw: nothing may go on with b and x
      exec_.fence("Solder::engine: the solve was abandoned");
      throw;
    }
    double const seconds = timer.seconds();
    int kernels = 0;
    programs.iteration.for_each_stage({}, [&](auto const&, At const&) { ++kernels; });
    std::vector<Report> reports;
    for (std::int32_t c = 0; c < columns_; ++c) {
      reports.push_back(report_of(controls_[c], histories_[c], setup_seconds, seconds));
      reports.back().kernels_per_iteration = kernels;
      reports.back().runner = runner_;
    }
    return reports;
  }

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
      needs_ = {};
      needs_.add(programs.judgement, {});
      needs_.add(programs.iteration, {});
      auto const* const before = std::any_cast<All>(&recorded_);
      if (before != nullptr && *before == programs) return;
      recorded_ = programs;
      chain_.reset();
      if (runner_ != Runner::graph) return;
      chain_ = std::make_unique<KernelChain<Exec>>(exec_, [&](auto& node) {
        emit_batch(programs, [&](char const* label, auto const& policy, auto const& kernel) {
          node = node.then_parallel_for(std::string(label), policy, kernel);
        });
      });
    }
  }

  bool any_in(std::initializer_list<Phase> phases) const {
    return std::any_of(controls_.begin(), controls_.end(), [&](Control const& control) {
      return std::find(phases.begin(), phases.end(), control.phase) != phases.end();
    });
  }
  bool all_finished() const {
    return std::all_of(controls_.begin(), controls_.end(),
                       [](Control const& c) { return c.phase == Phase::finished; });
  }

  template <class All, class Monitor>
  void iterate(All const& programs, Monitor const& monitor) {
    mailbox_.clear();
    std::fill(controls_.begin(), controls_.end(), Control{});
    for (auto& history : histories_) history.clear();
    std::int32_t sent = 0, received = 0;
    auto const judge = [&](bool fresh) {
      emit(fresh, launch, [&](auto const& f) { programs.judgement.for_each_stage({}, f); });
    };
    auto const submit = [&] {
      if constexpr (is_host_space<Exec>) {
        if (any_in({Phase::judge, Phase::begin}))
          judge(false);
        else
          emit(false, launch, [&](auto const& f) { programs.iteration.for_each_stage({}, f); });
      } else if (chain_ != nullptr) {
        chain_->submit(exec_);
      } else {
        emit_batch(programs, launch);
      }
      ++sent;
    };
    judge(true);
    ++sent;
    while (received < sent) {
      // On GPUs a batch is sent ahead while the letter of the one before is awaited.
      if (!is_host_space<Exec> && sent == received + 1 && !all_finished()) submit();
      mailbox_.receive(exec_, ++received, controls_, histories_);
      monitor();
      if (received == sent && !all_finished()) submit();
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
        // All leagues have the same scratch, so that the multiprocessors need not divide their
        // memory anew between two of them.
        constexpr int threads = Stage::threads > column_threads ? Stage::threads : column_threads;
        constexpr int least_teams = threads > column_threads ? 1 : column_teams;
        int const sums = threads > column_threads ? Stage::most_sums : needs_.most_sums;
        send(stage.label,
             team_policy<Exec, threads, least_teams>(exec_, stage.teams(), threads,
                                                     ColumnTeam<int>::scratch_bytes(sums, threads)),
             kernel);
      }
      ++k;
    });
  }
  template <class All, class Send>
  void emit_batch(All const& programs, Send const& send) {
    emit(false, send, [&](auto const& f) {
      programs.judgement.for_each_stage({}, f);
      for (int k = 0; k < batch; ++k) programs.iteration.for_each_stage({}, f);
    });
  }

  Exec exec_;
  std::int32_t columns_;
  Runner runner_;
  ColumnMailbox<Exec> mailbox_;
  Kokkos::View<Control*, typename Exec::memory_space> slots_;
  Kokkos::View<ColumnOutbox, typename Exec::memory_space> outbox_;
  ScratchNeeds needs_;
  std::unique_ptr<KernelChain<Exec>> chain_;
  std::any recorded_;  ///< the programs of the graph
  std::vector<Control> controls_;
  std::vector<std::vector<double>> histories_;
};

}  // namespace Solder::Impl
