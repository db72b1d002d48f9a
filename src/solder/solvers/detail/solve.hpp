// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/runners/batch.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/log.hpp>
#include <solder/solvers/detail/checks.hpp>
#include <solder/solvers/detail/compaction.hpp>
#include <solder/solvers/detail/residual_check.hpp>
#include <solder/solvers/detail/system.hpp>

namespace Solder::Impl {

/// \brief What a method solves at once: some right-hand sides, entry i of column c being number
/// i * columns + c of their vectors; or the systems of a batch.
struct Many {
  std::int32_t columns = 1;
  BatchRows batch{};  ///< without systems: there is none
  std::int32_t sharing =
      1;  ///< solves of one right-hand side each that share a GPU: see Concurrent
  Serving serving = Serving::one;
};

/// \brief What an iteration of a form moves: words of A and of M so many times, and words a row.
struct Cost {
  double A, M, row;
};

/// \brief What is to be known of a method with its options, for A and M of given types.
struct MethodTraits {
  char const* name;   ///< "Solder::Cg"
  char const* label;  ///< of a whole solve in one kernel
  Traits plan;        ///< what a plan asks
  Cycle cycle;
  bool on_device;     ///< the host has no part in an iteration
  bool takes_many;    ///< several right-hand sides at once
  bool can_be_batch;  ///< as far as A and M do
};

template <class Scalar>
struct SetZero {
  Scalar* x;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { x[i] = {}; }
};

/// \brief Copies the columns of a mask.
template <class Scalar>
struct CopyMasked {
  Scalar const* from;
  Scalar* to;
  std::int32_t columns;
  std::uint32_t mask;

  KOKKOS_FUNCTION void operator()(std::int64_t e) const {
    if ((mask >> (e % columns)) & 1) to[e] = from[e];
  }
};

/// \brief What every solve does, whatever the method, A and M: memory, set-up, solves and reports.
/// MethodBase adds what needs their types.
template <class Exec, class Scalar>
class Solve {
 public:
  using Use = std::function<void(AnyPrograms<Exec> const&)>;

  Solve(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
        std::shared_ptr<SolverOptions const> options, MethodTraits const& method, Many const& many);
  virtual ~Solve();
  Solve(Solve const&) = delete;
  Solve& operator=(Solve const&) = delete;

  /// \brief Puts the programs together for the first time, which allocates all that they need.
  void reserve();
  /// \brief What reserve() would allocate. Allocates nothing, and makes this solve useless
  /// afterwards.
  std::size_t workspace_bytes();
  /// \brief Solves A x = b from the x given.
  /// \throws std::invalid_argument where M, set up anew, has another size
  Report solve(Scalar const* b, Scalar* x);
  /// \brief The same on a GPU, led by the caller; null where there are no rows.
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x);
  /// \brief The report of a solve that was started and has ended.
  Report report(Underway const* underway, Scalar* x) const;
  /// \brief The same for several right-hand sides together.
  std::vector<Report> solve_columns(Scalar const* b, Scalar* x);
  /// \brief The same for the systems of a batch.
  std::vector<Report> solve_batch(Scalar const* b, Scalar* x);

 protected:
  /// \brief use(the programs of the form).
  virtual void with_programs(Scalar const* b, Scalar* x, Use const& use) = 0;
  void note(std::string_view form, Cost const& cost) {
    form_ = form;
    cost_ = cost;
  }
  SystemBase<Exec> const& system() const { return *system_; }
  SolverOptions const& options() const { return *options_; }

  // ---- What forms ask for ----

  Exec const& exec() const { return exec_; }
  Arena<Exec>& arena() { return arena_; }
  /// \brief A vector of a right-hand side's rows; several.
  Scalar* vector(char const* label) { return arena_.template vector<Scalar>(label, rows()); }
  template <class... Label>
  std::array<Scalar*, sizeof...(Label)> vectors(Label const*... labels) {
    return {vector(labels)...};
  }
  /// \brief For decisions, which take a tolerance of 0 as never converging.
  Limits limits() const {
    double const least = options_->never_converges() ? 0 : std::numeric_limits<double>::min();
    return {std::max(options_->tolerance, least),
            only_checked_ || is_stopped_ ? 0 : options_->max_iterations};
  }
  Enough enough() const { return {options_->absolute_tolerance, options_->guess_tolerance}; }
  /// \brief For the residual check, which keeps the guess where there is a place.
  Checked<Scalar> checked(Scalar const* b, Scalar* x) {
    bool const keeps = options_->keep_guess && !options_->never_converges();
    Scalar* const guess = keeps ? vector("Solder::guess") : nullptr;
    if (guess_ == nullptr) guess_ = guess;  // a later one is that of compacted columns
    return {limits(), enough(), b, x, guess};
  }
  /// \brief Rows of vectors that a stage changes in place, but for those that are const.
  template <class... Vectors>
  auto entries(Rows const& rows, Vectors const&... vectors) const {
    return arena_.template entries<Scalar>(rows, vectors...);
  }
  std::int32_t rows() const { return system_->rows(); }
  /// \brief Rows of all ranks, and of those before this one.
  std::int64_t all_rows() const { return ranks() == nullptr ? rows() : ranks()->rows(); }
  std::int64_t first_row() const { return ranks() == nullptr ? 0 : ranks()->first_row(); }
  std::int32_t columns() const { return arena_.columns(); }
  /// \brief Whether the solve is one kernel of a GPU each of whose threads holds a row at most: a
  /// stage then costs more than what it computes.
  bool merges_stages() const {
    return plan_.merges_stages &&
           hold_rows(system_->shape(), std::int64_t(plan_.teams) * plan_.threads);
  }

 private:
  Ranks const* ranks() const { return system_->ranks(); }

  void begin_solve(Scalar* x);
  /// \brief Of vectors of all columns.
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> entries() const {
    return {exec_, 0, std::int64_t(rows()) * columns()};
  }

  /// \brief Through which the monitor hears of a solve; may be empty.
  typename Engine<Exec>::Listener listener();
  /// \brief Adds what the engine does not know, and gives guesses back.
  std::vector<Report> finished(std::vector<Report> reports, Scalar* x) const;
  /// \brief The report of a system without rows.
  Report trivial() const;
  /// \brief What the engine does not know.
  Report complete(Report report) const;
  /// \brief For each column: its share of what is read once for all columns. An M that is not
  /// pointwise counts as if the column were alone.
  double words_per_iteration() const;

  Plan plan_for(Many const& many) const;
  Arena<Exec> arena_for(Many const& many) const;

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Exec exec_;
  std::shared_ptr<SystemBase<Exec>> system_;
  std::shared_ptr<SolverOptions const> options_;
  MethodTraits method_;
  Serving serving_;
  Plan plan_;
  Arena<Exec> arena_;
  BatchRows systems_;
  std::unique_ptr<Engine<Exec>> engine_;   ///< but for a batch; made by reserve()
  std::unique_ptr<BatchRun<Exec>> batch_;  ///< for a batch; likewise
  Compaction<Exec, Scalar> compaction_{exec_};
  std::string form_;
  Cost cost_{};
  double setup_seconds_ = 0;
  // Of this solve:
  Scalar* guess_ = nullptr;    ///< where it is kept
  std::string failure_;        ///< why the preconditioner cannot be applied
  bool only_checked_ = false;  ///< since it cannot
  bool is_stopped_ = false;    ///< by the monitor
};

template <class Exec, class Scalar>
Solve<Exec, Scalar>::Solve(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
                           std::shared_ptr<SolverOptions const> options, MethodTraits const& method,
                           Many const& many)
    : exec_(exec),
      system_(std::move(system)),
      options_(std::move(options)),
      method_(method),
      serving_(many.serving),
      plan_(plan_for(many)),
      arena_(arena_for(many)),
      systems_(many.batch) {}

template <class Exec, class Scalar>
Solve<Exec, Scalar>::~Solve() = default;

template <class Exec, class Scalar>
void Solve<Exec, Scalar>::reserve() {
  if (serving_ == Serving::batch)
    batch_ = std::make_unique<BatchRun<Exec>>(exec_, systems_);
  else
    engine_ = std::make_unique<Engine<Exec>>(exec_, method_.label, plan_, method_.cycle,
                                             method_.on_device,
                                             Width{columns(), rows(), arena_.teams(1)}, ranks());
  with_programs(nullptr, nullptr, [&](AnyPrograms<Exec> const& programs) {
    if (engine_ != nullptr) engine_->reserve(programs);
  });
  setup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <class Exec, class Scalar>
std::size_t Solve<Exec, Scalar>::workspace_bytes() {
  arena_.only_count();
  std::size_t size = 0;
  with_programs(nullptr, nullptr, [&](AnyPrograms<Exec> const& programs) {
    size = arena_.bytes() +
           Engine<Exec>::bytes(plan_, method_.cycle, method_.on_device, columns(), programs);
  });
  return size;
}

template <class Exec, class Scalar>
Report Solve<Exec, Scalar>::solve(Scalar const* b, Scalar* x) {
  begin_solve(x);
  if (all_rows() == 0) return complete(trivial());
  engine_->begin();
  do {  // again, with another limit, where the monitor has stopped it
    arena_.rewind();
    AllOrNone made(ranks());
    with_programs(b, x, [&](AnyPrograms<Exec> const& programs) {
      made.reach();
      engine_->run(programs, listener(), false, arena_.owned(), rows());
    });
    is_stopped_ = is_stopped_ || engine_->is_stopping();
  } while (!engine_->all_finished());
  return finished(engine_->reports(), x)[0];
}

template <class Exec, class Scalar>
std::unique_ptr<Underway> Solve<Exec, Scalar>::start(Scalar const* b, Scalar* x) {
  begin_solve(x);
  std::unique_ptr<Underway> underway;
  if (rows() == 0) return underway;
  engine_->begin();
  auto const with = [this, b, x](Use const& use) {
    arena_.rewind();
    with_programs(b, x, use);
  };
  with([&](AnyPrograms<Exec> const& programs) {
    underway = engine_->start(programs, listener(), arena_.owned(), rows(), [this, with] {
      with([&](AnyPrograms<Exec> const& limited) {
        engine_->prepare(limited, arena_.owned(), rows());
      });
    });
  });
  return underway;
}

template <class Exec, class Scalar>
Report Solve<Exec, Scalar>::report(Underway const* underway, Scalar* x) const {
  if (underway == nullptr) return complete(trivial());
  return finished({underway->report()}, x)[0];
}

template <class Exec, class Scalar>
std::vector<Report> Solve<Exec, Scalar>::solve_columns(Scalar const* b, Scalar* x) {
  begin_solve(x);
  if (rows() == 0) return std::vector<Report>(columns(), complete(trivial()));
  engine_->begin();
  bool const is_block = method_.plan.is_block;
  compaction_.run(
      arena_, *engine_, b, x,
      [&](Scalar const* b_, Scalar* x_, Use const& use) {
        with_programs(b_, x_, [&](AnyPrograms<Exec> const& programs) {
          if (is_block && guess_ != nullptr && !is_stopped_)
            Kokkos::parallel_for("Solder::guess", entries(),
                                 CopyMasked<Scalar>{x_, guess_, columns(), ~std::uint32_t(0)});
          use(programs);
        });
      },
      listener(), !is_block);
  return finished(engine_->reports(), x);
}

template <class Exec, class Scalar>
std::vector<Report> Solve<Exec, Scalar>::solve_batch(Scalar const* b, Scalar* x) {
  begin_solve(x);
  std::vector<Report> reports;
  if (rows() > 0)
    with_programs(b, x, [&](AnyPrograms<Exec> const& programs) {
      reports = (*batch_)(method_.label, programs, *options_);
    });
  return finished(std::move(reports), x);
}

template <class Exec, class Scalar>
void Solve<Exec, Scalar>::begin_solve(Scalar* x) {
  together(ranks(), [&] {
    check_system(method_.name, *system_, *options_);
    check_fresh(method_.name, *system_, *options_);
  });
  arena_.rewind();
  failure_ = system_->failure();
  only_checked_ = !failure_.empty();
  if (ranks() != nullptr) {
    double failed = only_checked_;
    ranks()->sum(&failed, 1);
    only_checked_ = failed > 0;
    if (only_checked_ && failure_.empty())
      failure_ = "the preconditioner cannot be applied on another rank, whose report says why";
  }
  is_stopped_ = false;
  guess_ = nullptr;
  if (options_->zero_guess)
    Kokkos::parallel_for("Solder::zero_guess", entries(), SetZero<Scalar>{x});
}

template <class Exec, class Scalar>
typename Engine<Exec>::Listener Solve<Exec, Scalar>::listener() {
  if (!options_->monitor) return {};
  return [this](Engine<Exec> const& engine) {
    Progress const progress = engine.progress();
    options_->monitor(progress);
    is_stopped_ = progress.stops;
    return Heard{progress.stops, progress.pause, progress.resume};
  };
}

template <class Exec, class Scalar>
std::vector<Report> Solve<Exec, Scalar>::finished(std::vector<Report> reports, Scalar* x) const {
  std::uint32_t worse = 0;  // columns
  bool any = false;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    Report& report = reports[k] = complete(reports[k]);
    report.kept_guess = report.kept_guess && guess_ != nullptr;
    if (!report.kept_guess) continue;
    any = true;
    worse |= std::uint32_t(1) << k % most_columns;
    if (!report.detail.empty()) report.detail += "; ";
    report.detail += std::string(x_is_the_guess) + rounded_text(report.true_relative_residual);
    report.true_relative_residual = report.guess_relative_residual;
  }
  if (any && batch_ != nullptr)
    batch_->give_back(guess_, x);
  else if (any)
    Kokkos::parallel_for("Solder::keep_guess", entries(),
                         CopyMasked<Scalar>{guess_, x, columns(), worse});
  if (options_->log != nullptr)
    for (Report const& report : reports) options_->log->add(method_.name, report);
  return reports;
}

template <class Exec, class Scalar>
Report Solve<Exec, Scalar>::trivial() const {
  Report report;
  report.reason = Reason::converged;
  report.history = {0};
  report.runner = plan_.runner;
  report.runner_because = plan_.because;
  return report;
}

template <class Exec, class Scalar>
Report Solve<Exec, Scalar>::complete(Report report) const {
  report.preconditioner = system_->setup();
  if (only_checked_ && report.reason == Reason::max_iterations) {
    report.reason = Reason::breakdown;
    report.detail = failure_;
  } else if (is_stopped_ && report.reason == Reason::max_iterations &&
             report.iterations < options_->max_iterations) {
    report.reason = Reason::stopped;
    report.detail = "the monitor stopped the solve";
  }
  report.setup_seconds += setup_seconds_;
  report.form = form_;
  report.words_per_iteration = words_per_iteration();
  return report;
}

template <class Exec, class Scalar>
double Solve<Exec, Scalar>::words_per_iteration() const {
  double const columns = arena_.columns(), of_A = system_->matrix_words() / columns,
               of_M = system_->preconditioner_words() / (method_.plan.pointwise ? columns : 1);
  return cost_.A * of_A + cost_.M * of_M + cost_.row * rows();
}

template <class Exec, class Scalar>
Plan Solve<Exec, Scalar>::plan_for(Many const& many) const {
  if (many.batch.count > 0) return {.runner = Runner::team};
  if (many.columns == 1)
    return plan_solve(machine_of(exec_), system_->shape(), method_.plan, options_->runner,
                      many.sharing);
  // The engine chooses, when it has seen the programs.
  if (is_host_space<Exec>) return {.runner = Runner::launch};
  return {.runner = options_->runner == Runner::team ? Runner::resident : options_->runner};
}

template <class Exec, class Scalar>
Arena<Exec> Solve<Exec, Scalar>::arena_for(Many const& many) const {
  if (many.batch.count > 0) {
    int const teams = batch_teams(exec_, many.batch);
    return {exec_, teams, 1, 1, teams};
  }
  return {exec_, is_host_space<Exec> && plan_.teams > 1 ? 0 : plan_.teams, many.columns,
          column_league(exec_, rows(), many.columns)};
}

/// \brief Makes solves of a method, for A and M of given types, with its options but for the
/// monitor. Empty where there are none.
template <class Exec, class Scalar>
using MakeSolve = std::function<std::unique_ptr<Solve<Exec, Scalar>>(
    Exec const& exec, Monitor const& monitor, Many const& many)>;

/// \brief A solve that has taken all its memory. All ranks make theirs together.
template <class Exec, class Scalar>
std::unique_ptr<Solve<Exec, Scalar>> make_ready(MakeSolve<Exec, Scalar> const& make,
                                                Ranks const* ranks, Exec const& exec,
                                                Monitor const& monitor, Many const& many = {}) {
  std::unique_ptr<Solve<Exec, Scalar>> solve;
  together(ranks, [&] {
    solve = make(exec, monitor, many);
    solve->reserve();
  });
  return solve;
}

}  // namespace Solder::Impl
