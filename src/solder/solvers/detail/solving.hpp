// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <solder/core/application.hpp>
#include <solder/core/runners/engine.hpp>

namespace Solder::Impl {

/// \brief What all solvers are but for their method: the system, its memory and its runner, and
/// the checks of what users give.
template <class Exec, class Matrix, class Preconditioner>
class Solving {
  static_assert(LinearOperator<Matrix>,
                "Solder: a matrix needs scalar_type, rows(), columns(), nonzeros(), words() and "
                "device_operator(): see CsrMatrix");
  static_assert(PreconditionerOn<Preconditioner, Exec>,
                "Solder: a preconditioner needs rows(), words<Scalar>(rows) and open(arena): see "
                "Application in core/application.hpp");

 public:
  using Scalar = typename Matrix::scalar_type;

  /// \param name of the solver, for people: "Solder::Cg"
  /// \param label of a whole solve in one kernel
  /// \param cycle as of Engine
  /// \throws std::invalid_argument where A is not square, M has another size, or an option is out
  /// of range
  Solving(std::string const& name, std::string const& label, Exec const& exec, Matrix const& A,
          Preconditioner const& M, SolverOptions const& options, Cycle const& cycle = {})
      : name_(name),
        exec_(exec),
        matrix_(A),
        preconditioner_(M),
        options_(checked(options)),
        league_(choose_league(exec, options_.runner,
                              options_.runner == Runner::team ? A.rows() : items(A))),
        arena_(exec, is_host_space<Exec> && league_.teams > 1 ? 0 : league_.teams),
        engine_(exec, label, options_.runner, cycle, on_device, league_) {}

  /// \brief Puts the programs together for the first time, which allocates all that they need;
  /// programs(b, x, use) calls use(judgement, iteration).
  template <class Programs>
  void reserve(Programs const& programs) {
    programs(static_cast<Scalar const*>(nullptr), static_cast<Scalar*>(nullptr),
             [&](auto const& judgement, auto const& iteration) {
               engine_.reserve(judgement, iteration);
               return Report{};
             });
    setup_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// \brief Solves A x = b from the x given.
  /// \throws std::invalid_argument where b or x has another length or is strided, or M, set up
  /// anew, another size
  template <class B, class X, class Programs>
  Report solve(B const& b, X const& x, Programs const& programs) {
    using Access = Kokkos::SpaceAccessibility<Exec, typename B::memory_space>;
    using AccessX = Kokkos::SpaceAccessibility<Exec, typename X::memory_space>;
    static_assert(Access::accessible && AccessX::accessible,
                  "Solder: the solver's execution space cannot access the memory of b or x");
    check_vectors(b, x);
    check_preconditioner();
    Report report;
    std::string const defect = defect_of_preconditioner();
    if (matrix_.rows() == 0) {
      report.reason = Reason::converged;
      report.history = {0};
      report.runner = options_.runner;
    } else {
      arena_.rewind();
      only_judged_ = !defect.empty();
      report = programs(b.data(), x.data(), [&](auto const& judgement, auto const& iteration) {
        return engine_.solve(judgement, iteration, options_);
      });
    }
    if constexpr (requires { preconditioner_.setup(); })
      report.preconditioner = preconditioner_.setup();
    if (!defect.empty() && report.reason == Reason::max_iterations) {
      report.reason = Reason::breakdown;
      report.detail = defect;
    }
    report.setup_seconds += setup_seconds_;
    return report;
  }

  Matrix const& matrix() const { return matrix_; }
  Arena<Exec>& arena() { return arena_; }
  auto open_preconditioner() { return preconditioner_.open(arena_); }
  Limits limits() const { return {options_.tolerance, only_judged_ ? 0 : options_.max_iterations}; }

  std::int32_t rows() const { return matrix_.rows(); }
  /// \brief Words of sizeof(Scalar) that one application of M moves, the vector it is applied to
  /// and the result apart.
  double preconditioner_words() const {
    return preconditioner_.template words<Scalar>(matrix_.rows());
  }

 private:
  using Opened = OpenedOf<Preconditioner, Exec>;
  static constexpr bool on_device = is_on_device<Opened>;

  SolverOptions checked(SolverOptions options) const {
    auto const& A = matrix_;
    if (A.rows() != A.columns())
      throw std::invalid_argument(name_ + ": a square matrix is needed, not " +
                                  std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
    check_preconditioner();
    if (!(options.tolerance >= 0) || options.max_iterations < 0)
      throw std::invalid_argument(name_ + ": tolerance and max_iterations must not be negative");
    if (options.runner == Runner::automatic && !on_device)
      options.runner = Runner::launch;
    else
      options.runner = choose_runner(exec_, options.runner, A.rows(), A.nonzeros());
    return options;
  }

  /// \brief GPU threads that A gives work to: its rows, times the lanes that share one.
  static std::int64_t items(Matrix const& A) {
    return std::max<std::int64_t>(A.rows(),
                                  A.device_operator().teams * std::int64_t(league_threads));
  }

  void check_preconditioner() const {
    std::int32_t const rows = preconditioner_.rows();
    if (rows >= 0 && rows != matrix_.rows())
      throw std::invalid_argument(name_ + ": the preconditioner has " + std::to_string(rows) +
                                  " rows, and the matrix " + std::to_string(matrix_.rows()));
  }

  template <class B, class X>
  void check_vectors(B const& b, X const& x) const {
    auto const n = static_cast<std::size_t>(matrix_.rows());
    if (b.extent(0) != n || x.extent(0) != n)
      throw std::invalid_argument(name_ + ": b and x need " + std::to_string(n) + " entries, not " +
                                  std::to_string(b.extent(0)) + " and " +
                                  std::to_string(x.extent(0)));
    if (n > 0 && !(b.span_is_contiguous() && x.span_is_contiguous()))
      throw std::invalid_argument(name_ + ": b and x must be contiguous, not strided, views");
  }

  std::string defect_of_preconditioner() const {
    if constexpr (requires { preconditioner_.defect(); })
      return preconditioner_.defect();
    else
      return {};
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string name_;
  Exec exec_;
  Matrix matrix_;
  Preconditioner preconditioner_;
  SolverOptions options_;
  WholeLeague league_;
  Arena<Exec> arena_;
  Engine<Exec> engine_;
  double setup_seconds_ = 0;
  bool only_judged_ = false;  ///< in this solve: the preconditioner cannot be applied
};

}  // namespace Solder::Impl
