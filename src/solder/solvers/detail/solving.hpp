// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <solder/core/open.hpp>
#include <solder/core/runners/batch_engine.hpp>
#include <solder/core/runners/column_engine.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/solvers/detail/narrowing.hpp>

namespace Solder::Impl {

/// \brief What a solver asks of A and M, whatever their types. Called where a solve begins.
template <class Exec, class OpenedA_, class OpenedM_>
class System {
 public:
  using OpenedA = OpenedA_;
  using OpenedM = OpenedM_;

  virtual ~System() = default;
  virtual std::int32_t rows() const = 0;
  virtual std::int32_t columns() const = 0;
  virtual std::int64_t nonzeros() const = 0;
  /// \brief GPU threads that A gives work to: its rows, times the lanes that share one.
  virtual std::int64_t items() const = 0;
  /// \brief Whether the team of a GPU that has row i in vector stages is handed out that row of A;
  /// see OnChipTeam.
  virtual bool keeps_rows() const = 0;
  /// \brief Whether each of so many threads of a GPU can keep all that it needs of A, or of a split
  /// M's first factor, in a kernel of a whole solve.
  virtual bool keeps_all_rows(std::int64_t threads) const = 0;
  virtual double matrix_words() const = 0;
  virtual OpenedA open_matrix(Arena<Exec>& arena, std::int32_t most_teams) const = 0;

  /// \brief Rows of M; -1: it is for any.
  virtual std::int32_t preconditioner_rows() const = 0;
  /// \brief Words of sizeof(Scalar) that one application of M moves, the vector it is applied to
  /// and the result apart.
  virtual double preconditioner_words() const = 0;
  virtual OpenedM open_preconditioner(Arena<Exec>& arena) const = 0;
  /// \brief Why M cannot be applied; empty where it can.
  virtual std::string defect() const = 0;
  virtual SetupReport setup() const = 0;
  /// \brief Whether A and M take vectors of several right-hand sides.
  virtual bool takes_columns() const = 0;
  /// \brief Whether A and M take the systems of a batch.
  virtual bool takes_batches() const = 0;
  /// \brief The first row of A with an entry in a column of another system, or -1; takes_batches().
  virtual std::int32_t first_coupled_row(Exec const& exec, BatchRows const& systems) const = 0;
};

/// \brief What a method solves at once: some right-hand sides, entry i of column c being number
/// i * columns + c of their vectors; or the systems of a batch.
struct Many {
  std::int32_t columns = 1;
  BatchRows batch{};        ///< without systems: there is none
  std::int32_t beside = 1;  ///< solves of one right-hand side each that share a GPU: see Beside
};

/// \brief Whether a method is for blocks of right-hand sides alone.
template <class Method>
inline constexpr bool is_block_method = requires {
  Method::is_block;
};

template <class Exec, class Matrix, class Preconditioner>
class SystemOf final : public System<Exec, OpenedMatrixOf<Matrix, Exec>,
                                     OpenedOf<Preconditioner, Exec, typename Matrix::scalar_type>> {
  using Scalar = typename Matrix::scalar_type;

 public:
  using OpenedA = OpenedMatrixOf<Matrix, Exec>;
  using AsSeen = System<Exec, OpenedA, OpenedOf<Preconditioner, Exec, Scalar>>;

  SystemOf(Matrix const& A, Preconditioner const& M) : A_(A), M_(M) {}

  std::int32_t rows() const override { return A_.rows(); }
  std::int32_t columns() const override { return A_.columns(); }
  std::int64_t nonzeros() const override { return A_.nonzeros(); }
  std::int64_t items() const override {
    return std::max<std::int64_t>(A_.rows(),
                                  A_.device_operator().teams * std::int64_t(league_threads));
  }
  bool keeps_rows() const override {
    if constexpr (OpenedA::knows_rows)
      return A_.device_operator().keeps_rows();
    else
      return false;
  }
  bool keeps_all_rows([[maybe_unused]] std::int64_t threads) const override {
    if constexpr (is_host_space<Exec>)
      return false;
    else if constexpr (requires { M_.keeps_all_rows(threads); })
      return M_.keeps_all_rows(threads);
    else if constexpr (OpenedA::can_keep_rows)
      return A_.device_operator().keeps_all_rows(threads);
    else
      return false;
  }
  double matrix_words() const override { return A_.words(); }
  OpenedMatrixOf<Matrix, Exec> open_matrix(Arena<Exec>& arena,
                                           std::int32_t most_teams) const override {
    return Solder::open_matrix(arena, A_, most_teams);
  }

  std::int32_t preconditioner_rows() const override { return M_.rows(); }
  double preconditioner_words() const override { return M_.template words<Scalar>(A_.rows()); }
  OpenedOf<Preconditioner, Exec, Scalar> open_preconditioner(Arena<Exec>& arena) const override {
    return Solder::open_preconditioner<Scalar>(arena, M_);
  }
  std::string defect() const override {
    if constexpr (requires { M_.defect(); })
      return M_.defect();
    else
      return {};
  }
  SetupReport setup() const override {
    if constexpr (requires { M_.setup(); })
      return M_.setup();
    else
      return {};
  }
  bool takes_columns() const override { return Solder::takes_columns<Operator, OpenedAsGiven>; }
  bool takes_batches() const override { return batches; }
  std::int32_t first_coupled_row(Exec const& exec, BatchRows const& systems) const override {
    if constexpr (batches)
      return Impl::first_coupled_row(exec, A_, systems);
    else
      return -1;
  }

 private:
  using Operator = std::remove_cvref_t<decltype(std::declval<Matrix const&>().device_operator())>;
  // On hosts its type says nothing any more once it is opened there.
  using OpenedAsGiven = std::remove_cvref_t<decltype(std::declval<Preconditioner const&>().open(
      std::declval<Arena<Exec>&>()))>;
  static constexpr bool batches =
      Solder::takes_batches<Operator, OpenedAsGiven> && requires(Matrix const& A) {
    A.row_offsets();
    A.column_indices();
  };

  Matrix A_;
  Preconditioner M_;
};

/// \brief Refuses what no solver takes.
template <class System>
void check_system(std::string const& name, System const& system, SolverOptions const& options) {
  if (system.rows() != system.columns())
    throw std::invalid_argument(name + ": a square matrix is needed, not " +
                                std::to_string(system.rows()) + " x " +
                                std::to_string(system.columns()));
  std::int32_t const of_M = system.preconditioner_rows();
  if (of_M >= 0 && of_M != system.rows())
    throw std::invalid_argument(name + ": the preconditioner has " + std::to_string(of_M) +
                                " rows, and the matrix " + std::to_string(system.rows()));
  if (!(options.tolerance >= 0) || options.max_iterations < 0)
    throw std::invalid_argument(name + ": tolerance and max_iterations must not be negative");
}

/// \brief Refuses vectors of other lengths than n, or strided ones.
inline void check_vectors(std::string_view name, std::int32_t n, std::size_t b, std::size_t x,
                          bool contiguous) {
  if (b != std::size_t(n) || x != std::size_t(n))
    throw std::invalid_argument(std::string(name) + ": b and x need " + std::to_string(n) +
                                " entries, not " + std::to_string(b) + " and " + std::to_string(x));
  if (n > 0 && !contiguous)
    throw std::invalid_argument(std::string(name) +
                                ": b and x must be contiguous, not strided, views");
}

/// \brief Refuses a solution that would be written into the right-hand side, of which the true
/// residual is to be taken: b and x share an entry, or lie in the same piece of memory by different
/// strides. Columns of one table, side by side, do not.
template <class B, class X>
void check_apart(std::string_view name, B const& b, X const& x) {
  if (b.size() == 0 || x.size() == 0) return;
  auto const begin = [](auto const& view) { return reinterpret_cast<std::intptr_t>(view.data()); };
  auto const end = [&](auto const& view) {
    return begin(view) + static_cast<std::intptr_t>(view.span() * sizeof(*view.data()));
  };
  if (begin(b) >= end(x) || begin(x) >= end(b)) return;
  struct Strides {
    std::int64_t row, column;

    bool operator==(Strides const&) const = default;
  };
  std::int64_t const rows = b.extent(0), columns = b.extent(1);  // 1 where there are none
  auto const strides = [&](auto const& view) {
    return Strides{rows > 1 ? std::int64_t(view.stride(0)) : 0,
                   columns > 1 ? std::int64_t(view.stride(B::rank() - 1)) : 0};
  };
  Strides const by = strides(b);
  std::int64_t const bytes = begin(x) - begin(b), size = sizeof(*x.data());
  bool overlap = by != strides(x) || bytes % size != 0;
  for (std::int64_t c = 1 - columns; c < columns && !overlap; ++c) {
    std::int64_t const left = bytes / size - c * by.column;  // that rows are to make up for
    overlap = by.row == 0 ? left == 0 : left % by.row == 0 && std::abs(left / by.row) < rows;
  }
  if (overlap)
    throw std::invalid_argument(std::string(name) + ": b and x overlap; x needs memory of its own");
}

/// \brief Refuses vectors that the execution space cannot access.
template <class Exec, class B, class X>
constexpr void check_access() {
  using Access = Kokkos::SpaceAccessibility<Exec, typename B::memory_space>;
  using AccessX = Kokkos::SpaceAccessibility<Exec, typename X::memory_space>;
  static_assert(Access::accessible && AccessX::accessible,
                "Solder: the solver's execution space cannot access the memory of b or x");
}

/// \brief Refuses several right-hand sides and solutions of other extents than n rows, that
/// overlap, or that the execution space cannot access.
template <class Exec, class B, class X>
void check_columns(std::string_view name, std::int32_t n, B const& b, X const& x) {
  check_access<Exec, B, X>();
  if (b.extent(0) != std::size_t(n) || x.extent(0) != std::size_t(n) ||
      b.extent(1) != x.extent(1)) {
    auto const extents = [](auto const& view) {
      return std::to_string(view.extent(0)) + " x " + std::to_string(view.extent(1));
    };
    throw std::invalid_argument(std::string(name) + ": b and x need " + std::to_string(n) +
                                " rows, and the same columns, not " + extents(b) + " and " +
                                extents(x));
  }
  check_apart(name, b, x);
}

/// \brief What all methods share: the system, its memory and its runner.
///
/// \tparam Owns whether the method's iteration has Owned vectors
/// \tparam Saves whether it can be had with fewer stages: see saves_stages()
template <class Exec, class OpenedA, class OpenedM, bool Owns = false, bool Saves = false>
class Solving {
 public:
  using Scalar = typename OpenedA::scalar_type;
  using GivenSystem = System<Exec, OpenedA, OpenedM>;

  /// \param name of the solver, for people: "Solder::Cg"
  /// \param label of a whole solve in one kernel
  /// \param cycle as of Engine
  /// \param many what each solve has
  /// \param saves whether the form that is asked for can be had with fewer stages
  /// \throws std::invalid_argument where A is not square, M has another size, or an option is out
  /// of range
  Solving(std::string const& name, std::string const& label, Exec const& exec,
          std::shared_ptr<GivenSystem> system, SolverOptions const& options,
          Cycle const& cycle = {}, Many const& many = {}, bool saves = Saves)
      : name_(name),
        exec_(exec),
        system_(std::move(system)),
        saves_(Saves && saves),
        options_(checked(options, cycle, many)),
        league_(many.columns > 1 ? WholeLeague{}
                                 : choose_league(exec, options_.runner, items(),
                                                 Owns && system_->keeps_rows(), many.beside)),
        arena_(arena_for(exec, many)) {
    if (many.batch.count > 0)
      batch_engine_ = std::make_unique<BatchEngine<Exec>>(exec, label, many.batch);
    else if (many.columns > 1)
      column_engine_ = std::make_unique<ColumnEngine<Exec>>(
          exec, label, system_->rows(), many.columns, options_.runner, arena_.teams(1));
    else
      engine_ = std::make_unique<Engine<Exec>>(exec, label, options_.runner, cycle,
                                               is_on_device<OpenedM>, league_);
  }

  /// \brief Puts the programs together for the first time, which allocates all that they need;
  /// programs(b, x, use) calls use(judgement, iteration), which answers nothing.
  template <class Programs>
  void reserve(Programs const& programs) {
    use_programs<Exec>(programs, static_cast<Scalar const*>(nullptr), static_cast<Scalar*>(nullptr),
                       [&](auto const& judgement, auto const& iteration) {
                         if (engine_ != nullptr) engine_->reserve(judgement, iteration);
                         if (column_engine_ != nullptr)
                           column_engine_->reserve(judgement, iteration);
                       });
    setup_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// \brief The same of `fewer` where stages are saved.
  template <class Programs, class Fewer>
  void reserve(Programs const& programs, Fewer const& fewer) {
    if constexpr (Saves)
      if (saves_stages()) return reserve(fewer);
    reserve(programs);
  }

  /// \brief Solves A x = b from the x given.
  /// \throws std::invalid_argument where M, set up anew, has another size
  /// \tparam Keeps whether these have Owned vectors
  template <bool Keeps = Owns, class Programs>
  Report solve(Scalar const* b, Scalar* x, Programs const& programs) {
    begin_solve();
    Report report = trivial();
    if (rows() > 0)
      use_programs<Exec>(programs, b, x, [&](auto const& judgement, auto const& iteration) {
        report =
            engine_->template solve<Keeps>(judgement, iteration, options_, arena_.owned(), rows());
      });
    return complete(report);
  }

  /// \brief The same by `fewer`, without Owned vectors, where stages are saved.
  template <class Programs, class Fewer>
  Report solve(Scalar const* b, Scalar* x, Programs const& programs, Fewer const& fewer) {
    if constexpr (Saves)
      if (saves_stages()) return solve<false>(b, x, fewer);
    return solve(b, x, programs);
  }

  /// \brief The same on a GPU, led by the caller; null where there are no rows.
  template <bool Keeps = Owns, class Programs>
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x, Programs const& programs) {
    begin_solve();
    std::unique_ptr<Underway> underway;
    if (rows() > 0)
      use_programs<Exec>(programs, b, x, [&](auto const& judgement, auto const& iteration) {
        underway =
            engine_->template start<Keeps>(judgement, iteration, options_, arena_.owned(), rows());
      });
    return underway;
  }
  template <class Programs, class Fewer>
  std::unique_ptr<Underway> start(Scalar const* b, Scalar* x, Programs const& programs,
                                  Fewer const& fewer) {
    if constexpr (Saves)
      if (saves_stages()) return start<false>(b, x, fewer);
    return start(b, x, programs);
  }
  /// \brief Of a solve that was started, and has ended.
  Report report(Underway const* underway) const {
    return complete(underway == nullptr ? trivial() : underway->report());
  }

  /// \brief The same for all right-hand sides, or systems.
  /// \tparam Independent whether each is solved as if it were alone
  template <bool Independent = true, class Programs>
  std::vector<Report> solve_many(Scalar const* b, Scalar* x, Programs const& programs) {
    begin_solve();
    std::vector<Report> reports(arena_.columns(), trivial());
    if (rows() > 0 && batch_engine_ == nullptr) {
      column_engine_->begin();
      narrowing_.template run<Independent>(arena_, *column_engine_, b, x, programs,
                                           column_engine_->listener(options_));
      reports = column_engine_->reports();
    } else if (rows() > 0) {
      if constexpr (Independent && takes_batches<OpenedA, OpenedM>)
        use_programs<Exec>(programs, b, x, [&](auto const& judgement, auto const& iteration) {
          reports = batch_engine_->solve(judgement, iteration, options_);
        });
    }
    for (Report& report : reports) report = complete(report);
    return reports;
  }

  /// \brief Whether the solve is one kernel of a GPU each of whose threads has a row at most:
  /// a stage then costs more than what it computes.
  bool saves_stages() const {
    return saves_ && engine_ != nullptr && league_.teams > 0 && !league_.on_chip &&
           system_->keeps_all_rows(std::int64_t(league_.teams) * league_.threads);
  }

  Arena<Exec>& arena() { return arena_; }
  OpenedA open_matrix(std::int32_t most_teams = std::numeric_limits<std::int32_t>::max()) {
    return system_->open_matrix(arena_, most_teams);
  }
  OpenedM open_preconditioner() { return system_->open_preconditioner(arena_); }
  Limits limits() const { return {options_.tolerance, only_judged_ ? 0 : options_.max_iterations}; }

  std::int32_t rows() const { return system_->rows(); }
  /// \brief Words of the matrix, and of an application of M, for each column: a column's share of
  /// what is read once for all, but for an M that is not pointwise, which is counted as if alone.
  double matrix_words() const { return system_->matrix_words() / arena_.columns(); }
  double preconditioner_words() const {
    double const words = system_->preconditioner_words();
    return OpenedM::is_pointwise ? words / arena_.columns() : words;
  }

 private:
  void begin_solve() {
    check_system(name_, *system_, options_);
    arena_.rewind();
    only_judged_ = !system_->defect().empty();
  }
  /// \brief Of a system without rows.
  Report trivial() const {
    Report report;
    report.reason = Reason::converged;
    report.history = {0};
    report.runner = options_.runner;
    return report;
  }
  /// \brief What the engine does not know.
  Report complete(Report report) const {
    report.preconditioner = system_->setup();
    if (only_judged_ && report.reason == Reason::max_iterations) {
      report.reason = Reason::breakdown;
      report.detail = system_->defect();
    }
    report.setup_seconds += setup_seconds_;
    return report;
  }

  Arena<Exec> arena_for(Exec const& exec, Many const& many) const {
    if (many.batch.count > 0) {
      int const places = BatchEngine<Exec>::places(exec, many.batch);
      return {exec, places, 1, 1, places};
    }
    return {exec, is_host_space<Exec> && league_.teams > 1 ? 0 : league_.teams, many.columns,
            column_league(exec, rows(), many.columns)};
  }

  SolverOptions checked(SolverOptions options, Cycle const& cycle, Many const& many) const {
    check_system(name_, *system_, options);
    if (many.batch.count > 0)
      options.runner = Runner::team;
    else if (many.columns > 1)
      options.runner = is_host_space<Exec> ? Runner::launch
                       : options.runner == Runner::team
                           ? Runner::resident
                           : options.runner;  // automatic: the engine's
    else if (options.runner == Runner::automatic && !is_on_device<OpenedM>)
      options.runner = Runner::launch;
    else if (options.runner == Runner::automatic && saves_ && system_->keeps_all_rows(team_threads))
      options.runner = Runner::team;
    else if (options.runner == Runner::automatic && saves_ && can_meet(exec_) &&
             system_->keeps_all_rows(multiprocessors(exec_) / many.beside *
                                     std::int64_t(team_threads)))
      options.runner = Runner::resident;
    else
      options.runner = choose_runner(
          exec_, options.runner, rows(), system_->nonzeros(), Owns && system_->keeps_rows(),
          cycle.steps > 0 && OpenedM::is_pointwise ? cycle_crossover<Exec>
                                                   : resident_crossover<Exec>);
    return options;
  }

  /// \brief What the threads of a kernel of a whole solve are chosen for.
  std::int64_t items() const {
    if (options_.runner != Runner::team) return system_->items();
    return saves_ && system_->keeps_all_rows(team_threads) &&
                   !system_->keeps_all_rows(league_threads)
               ? team_threads
               : rows();
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string name_;
  Exec exec_;
  std::shared_ptr<GivenSystem> system_;
  bool saves_;
  SolverOptions options_;
  WholeLeague league_;
  Arena<Exec> arena_;
  std::unique_ptr<Engine<Exec>> engine_;               ///< for one column
  std::unique_ptr<ColumnEngine<Exec>> column_engine_;  ///< for more
  Narrowing<Exec, Scalar> narrowing_{exec_};
  std::unique_ptr<BatchEngine<Exec>> batch_engine_;  ///< for a batch
  double setup_seconds_ = 0;
  bool only_judged_ = false;  ///< in this solve: the preconditioner cannot be applied
};

}  // namespace Solder::Impl
