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
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/runners/batch.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/log.hpp>
#include <solder/solvers/detail/checks.hpp>
#include <solder/solvers/detail/compaction.hpp>
#include <solder/solvers/detail/residual_check.hpp>
#include <solder/solvers/detail/system.hpp>
#include <solder/solvers/detail/whole_solves.hpp>

namespace Solder::Impl {

/// \brief What a method solves at once: some right-hand sides, entry i of column c being number
/// i * columns + c of their vectors; or the systems of a batch.
struct Many {
  std::int32_t columns = 1;
  BatchRows batch{};  ///< without systems: there is none
  std::int32_t sharing =
      1;  ///< solves of one right-hand side each that share a GPU: see Concurrent
};

/// \brief What an iteration of a form moves: words of A and of M so many times, and words a row.
struct Cost {
  double A, M, row;
};

/// \brief A form of a method: its two programs, and what is said of it.
///
/// \tparam Whole the kernels of a whole solve: see whole_solves.hpp
/// \tparam Owns whether the iteration has Owned vectors
/// \tparam Merged whether it has fewer stages, for one right-hand side whose rows threads hold
template <WholeKernels Whole, bool Owns, bool Merged, class ResidualCheck, class Iteration>
struct Form {
  static constexpr WholeKernels whole = Whole;
  static constexpr bool owns = Owns, merged = Merged;

  std::string_view name;
  Cost cost;
  Programs<ResidualCheck, Iteration> programs;
};

template <WholeKernels Whole, bool Owns = false, bool Merged = false, class ResidualCheck,
          class Iteration>
Form<Whole, Owns, Merged, ResidualCheck, Iteration> form(std::string_view name, Cost const& cost,
                                                         ResidualCheck const& residual_check,
                                                         Iteration const& iteration) {
  return {name, cost, {residual_check, iteration}};
}
template <class ResidualCheck, class Iteration>
auto merged_form(std::string_view name, Cost const& cost, ResidualCheck const& residual_check,
                 Iteration const& iteration) {
  return form<WholeKernels{}, false, true>(name, cost, residual_check, iteration);
}

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

/// \brief What a method, A and M can; see Traits.
template <class Method, class Options>
Traits traits_of(typename Method::System const& system, Options const& options) {
  using M = typename Method::System::OpenedM;
  constexpr bool split = [] {
    if constexpr (M::is_pointwise)
      return false;
    else
      return bool(M::is_split);
  }();
  return {.on_device = is_on_device<M> && system.ranks() == nullptr,
          .kernels = is_host_space<typename Method::Space> ? WholeKernels{}
                                                           : Method::whole_kernels_for(options),
          .has_cycles = Method::has_cycles,
          .pointwise = M::is_pointwise,
          .split = split,
          .owns = Method::owns && system.is_aligned(),
          .merges = Method::merges(options),
          .together = Method::can_be_together && system.takes_columns(),
          .concurrent = Method::can_be_concurrent,
          .is_block = Method::is_block};
}

/// \brief What every method does: memory, set-up, solves and reports. A method adds its forms.
///
/// A method derives from this and has
///   - `name`, "Solder::Cg"; `label`, that of a whole solve in one kernel; and `check_label`, that
///     of the residual check,
///   - `with_form(b, x, use)`: calls use(the Form that the options name). It is made anew for each
///     solve and is given the same memory, so it asks the arena for the same things in the same
///     order.
///
/// and hides, where they are others for it, the constants and static functions that stand first.
template <class Method, class Exec, class OpenedA_, class OpenedM_, class Options_>
class MethodBase {
 public:
  using Space = Exec;
  using OpenedA = OpenedA_;
  using OpenedM = OpenedM_;
  using Options = Options_;
  using Scalar = typename OpenedA::scalar_type;
  using System = Impl::System<Exec, OpenedA, OpenedM>;
  using Use = std::function<void(AnyPrograms<Exec> const&)>;

  /// Whether it takes several right-hand sides at once; is for blocks of them alone.
  static constexpr bool takes_many = false, is_block = false;
  /// Whether it has cycles; and vectors that may stay on chip.
  static constexpr bool has_cycles = false, owns = false;
  /// \brief Whether the form has a program of fewer stages for rows that threads hold.
  static bool merges(Options const&) { return false; }
  /// What it can do where the true residual contradicts its claim.
  static constexpr Recovery recovery{};
  /// \brief The kernels of the whole solve that GPUs have for the form: see whole_solves.hpp.
  static WholeKernels whole_kernels_for(Options const&) { return whole_kernels<OpenedM>; }
  static Cycle cycle(Options const&, std::int64_t /*rows*/) { return {}; }

  /// Whether the method, A and M can solve several right-hand sides together, or concurrently; or
  /// the systems of a batch.
  static constexpr bool can_be_together = Method::takes_many && takes_columns<OpenedA, OpenedM>,
                        can_be_concurrent =
                            !is_host_space<Exec> && !Method::is_block && is_on_device<OpenedM>,
                        can_be_batch = Method::takes_many && !Method::is_block &&
                                       takes_batches<OpenedA, OpenedM>;

  /// \throws std::invalid_argument where A is not square, M has another size, or an option is out
  /// of range
  MethodBase(Exec const& exec, std::shared_ptr<System> system, Options const& options,
             Many const& many = {})
      : exec_(exec),
        system_((check_system(Method::name, *system, options), std::move(system))),
        options_(options),
        plan_(plan_for(many)),
        arena_(arena_for(many)),
        systems_(many.batch) {}

  /// \brief Puts the programs together for the first time, which allocates all that they need.
  template <Serving For>
  void reserve() {
    if constexpr (For == Serving::batch)
      batch_ = std::make_unique<BatchRun<Exec>>(exec_, systems_);
    else
      engine_ = std::make_unique<Engine<Exec>>(exec_, Method::label, plan_, cycle(), on_device,
                                               Width{columns(), rows(), arena_.teams(1)}, ranks());
    with_programs<For>(nullptr, nullptr, [&](AnyPrograms<Exec> const& programs) {
      if (engine_ != nullptr) engine_->reserve(programs);
    });
    setup_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// \brief What reserve() would allocate. It allocates nothing, and is of no use afterwards.
  template <Serving For>
  std::size_t workspace_bytes() {
    arena_.only_count();
    std::size_t size = 0;
    with_programs<For>(nullptr, nullptr, [&](AnyPrograms<Exec> const& programs) {
      size = arena_.bytes() + Engine<Exec>::bytes(plan_, cycle(), on_device, columns(), programs);
    });
    return size;
  }

  /// \brief Solves A x = b from the x given.
  /// \throws std::invalid_argument where M, set up anew, has another size
  Report solve(Scalar const* b, Scalar* x) {
    begin_solve(x);
    if (all_rows() == 0) return complete(trivial());
    engine_->begin();
    do {  // again, with another limit, where the monitor has stopped it
      arena_.rewind();
      AllOrNone made(ranks());
      with_programs<Serving::one>(b, x, [&](AnyPrograms<Exec> const& programs) {
        made.reach();
        engine_->run(programs, listener(), false, arena_.owned(), rows());
      });
      is_stopped_ = is_stopped_ || engine_->is_stopping();
    } while (!engine_->all_finished());
    return finished(engine_->reports(), x)[0];
  }

  /// \brief The same on a GPU, led by the caller; null where there are no rows.
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x) {
    begin_solve(x);
    std::unique_ptr<Underway> underway;
    if (rows() == 0) return underway;
    engine_->begin();
    auto const with = [this, b, x](Use const& use) {
      arena_.rewind();
      with_programs<Serving::one>(b, x, use);
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
  /// \brief Of a solve that was started, and has ended.
  Report report(Underway const* underway, Scalar* x) const {
    if (underway == nullptr) return complete(trivial());
    return finished({underway->report()}, x)[0];
  }

  /// \brief The same for several right-hand sides together.
  std::vector<Report> solve_columns(Scalar const* b, Scalar* x) requires can_be_together {
    begin_solve(x);
    if (rows() == 0) return std::vector<Report>(columns(), complete(trivial()));
    engine_->begin();
    compaction_.template run<!Method::is_block>(
        arena_, *engine_, b, x,
        [&](Scalar const* b_, Scalar* x_, Use const& use) {
          with_programs<Serving::columns>(b_, x_, [&](AnyPrograms<Exec> const& programs) {
            if (Method::is_block && guess_ != nullptr && !is_stopped_)
              Kokkos::parallel_for("Solder::guess", entries(),
                                   CopyMasked<Scalar>{x_, guess_, columns(), ~std::uint32_t(0)});
            use(programs);
          });
        },
        listener());
    return finished(engine_->reports(), x);
  }

  /// \brief The same for the systems of a batch.
  std::vector<Report> solve_batch(Scalar const* b, Scalar* x) requires can_be_batch {
    begin_solve(x);
    std::vector<Report> reports;
    if (rows() > 0)
      with_programs<Serving::batch>(b, x, [&](AnyPrograms<Exec> const& programs) {
        reports = (*batch_)(Method::label, programs, options_);
      });
    return finished(std::move(reports), x);
  }

  // ---- What forms ask for ----

  Exec const& exec() const { return exec_; }
  Options const& options() const { return options_; }
  Arena<Exec>& arena() { return arena_; }
  OpenedA open_matrix(std::int32_t most_teams = std::numeric_limits<std::int32_t>::max()) {
    return system_->open_matrix(arena_, most_teams);
  }
  OpenedM open_preconditioner() { return system_->open_preconditioner(arena_); }
  /// \brief A vector of a right-hand side's rows; several.
  Scalar* vector(char const* label) { return arena_.template vector<Scalar>(label, rows()); }
  template <class... Label>
  std::array<Scalar*, sizeof...(Label)> vectors(Label const*... labels) {
    return {vector(labels)...};
  }
  /// \brief For decisions: any tolerance but 0 says that there is one.
  Limits limits() const {
    double const least = options_.never_converges() ? 0 : std::numeric_limits<double>::min();
    return {std::max(options_.tolerance, least),
            only_checked_ || is_stopped_ ? 0 : options_.max_iterations};
  }
  Enough enough() const { return {options_.absolute_tolerance, options_.guess_tolerance}; }
  /// \brief For the residual check, which keeps the guess where there is a place.
  Checked<Scalar> checked(Scalar const* b, Scalar* x) {
    bool const keeps = options_.keep_guess && !options_.never_converges();
    Scalar* const guess = keeps ? vector("Solder::guess") : nullptr;
    if (guess_ == nullptr) guess_ = guess;  // else of columns that are compacted
    return {limits(), enough(), b, x, guess};
  }
  /// \brief Rows of vectors that a stage changes in place, but for those that are const.
  template <class... Vectors>
  auto entries(Rows const& rows, Vectors const&... vectors) const {
    return arena_.template entries<Scalar>(rows, vectors...);
  }
  /// \brief The stages of Phase::check, named Method::check_label.
  /// \param s free while a claim is checked; see Impl::residual_check for the others
  template <class Begin>
  auto residual_check(OpenedA const& A, Rows const& rows, Scalar const* b, Scalar* x, Scalar* s,
                      Begin const& begin, Scalar const* before = nullptr) {
    return Impl::residual_check(arena_, Method::check_label, A, rows, checked(b, x),
                                Method::recovery, s, begin, before);
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
  static constexpr bool on_device = is_on_device<OpenedM>;

  /// \brief use(the programs of the form).
  template <Serving For>
  void with_programs(Scalar const* b, Scalar* x, Use const& use) {
    self().with_form(b, x, [&](auto const& form) {
      using Form = std::remove_cvref_t<decltype(form)>;
      if constexpr (For == Serving::one || !Form::merged) {
        note(form.name, form.cost);
        use(any_programs<Exec, Compiled{For, Form::whole, Form::owns}>(form.programs));
      }
    });
  }
  void note(std::string_view form, Cost const& cost) {
    form_ = form;
    cost_ = cost;
  }
  Ranks const* ranks() const { return system_->ranks(); }
  Cycle cycle() const { return Method::cycle(options_, all_rows()); }
  Method& self() { return static_cast<Method&>(*this); }

  void begin_solve(Scalar* x) {
    together(ranks(), [&] {
      check_system(Method::name, *system_, options_);
      check_fresh(Method::name, *system_, options_);
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
    if (options_.zero_guess)
      Kokkos::parallel_for("Solder::zero_guess", entries(), SetZero<Scalar>{x});
  }
  /// \brief Of vectors of all columns.
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> entries() const {
    return {exec_, 0, std::int64_t(rows()) * columns()};
  }

  /// \brief Through which the monitor hears of a solve; may be empty.
  typename Engine<Exec>::Listener listener() {
    if (!options_.monitor) return {};
    return [this](Engine<Exec> const& engine) {
      Progress const progress = engine.progress();
      options_.monitor(progress);
      is_stopped_ = progress.stops;
      return Heard{progress.stops, progress.pause, progress.resume};
    };
  }

  /// \brief What the engine does not know. Gives guesses back.
  std::vector<Report> finished(std::vector<Report> reports, Scalar* x) const {
    std::uint32_t worse = 0;  // columns
    bool any = false;
    for (std::size_t k = 0; k < reports.size(); ++k) {
      Report& report = reports[k] = complete(reports[k]);
      report.kept_guess = report.kept_guess && guess_ != nullptr;
      if (!report.kept_guess) continue;
      any = true;
      worse |= std::uint32_t(1) << k % most_columns;
      if (!report.detail.empty()) report.detail += "; ";
      report.detail += "x is the guess: the residual at the end was " +
                       number_text(report.true_relative_residual);
      report.true_relative_residual = report.guess_relative_residual;
    }
    if (any && batch_ != nullptr)
      batch_->give_back(guess_, x);
    else if (any)
      Kokkos::parallel_for("Solder::keep_guess", entries(),
                           CopyMasked<Scalar>{guess_, x, columns(), worse});
    if (options_.log != nullptr)
      for (Report const& report : reports) options_.log->add(Method::name, report);
    return reports;
  }
  /// \brief Of a system without rows.
  Report trivial() const {
    Report report;
    report.reason = Reason::converged;
    report.history = {0};
    report.runner = plan_.runner;
    report.runner_because = plan_.because;
    return report;
  }
  /// \brief What the engine does not know.
  Report complete(Report report) const {
    report.preconditioner = system_->setup();
    if (only_checked_ && report.reason == Reason::max_iterations) {
      report.reason = Reason::breakdown;
      report.detail = failure_;
    } else if (is_stopped_ && report.reason == Reason::max_iterations &&
               report.iterations < options_.max_iterations) {
      report.reason = Reason::stopped;
      report.detail = "the monitor stopped the solve";
    }
    report.setup_seconds += setup_seconds_;
    report.form = form_;
    report.words_per_iteration = words_per_iteration();
    return report;
  }
  /// \brief Of each column: its share of what is read once for all, but for an M that is not
  /// pointwise, which is counted as if alone.
  double words_per_iteration() const {
    double const columns = arena_.columns(), of_A = system_->matrix_words() / columns,
                 of_M = system_->preconditioner_words() / (OpenedM::is_pointwise ? columns : 1);
    return cost_.A * of_A + cost_.M * of_M + cost_.row * rows();
  }

  Plan plan_for(Many const& many) const {
    if (many.batch.count > 0) return {.runner = Runner::team};
    if (many.columns == 1)
      return plan_solve(machine_of(exec_), system_->shape(), traits_of<Method>(*system_, options_),
                        options_.runner, many.sharing);
    // The engine chooses, when it has seen the programs.
    if (is_host_space<Exec>) return {.runner = Runner::launch};
    return {.runner = options_.runner == Runner::team ? Runner::resident : options_.runner};
  }
  Arena<Exec> arena_for(Many const& many) const {
    if (many.batch.count > 0) {
      int const teams = batch_teams(exec_, many.batch);
      return {exec_, teams, 1, 1, teams};
    }
    return {exec_, is_host_space<Exec> && plan_.teams > 1 ? 0 : plan_.teams, many.columns,
            column_league(exec_, rows(), many.columns)};
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
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

/// \brief A method that has taken all its memory. All ranks make theirs together.
template <class Method, Serving For>
std::unique_ptr<Method> make_ready(typename Method::Space const& exec,
                                   std::shared_ptr<typename Method::System> const& system,
                                   typename Method::Options const& options, Many const& many = {}) {
  std::unique_ptr<Method> method;
  together(system->ranks(), [&] {
    method = std::make_unique<Method>(exec, system, options, many);
    method->template reserve<For>();
  });
  return method;
}

}  // namespace Solder::Impl
