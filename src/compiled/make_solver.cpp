// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <solder/core/errors.hpp>
#include <solder/matrix/distributed_analysis.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/symmetry.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>
#include <tuple>
#include <utility>
#include <variant>

#include "made.hpp"
#include "with_preconditioner.hpp"

namespace Solder {
namespace Compiled {
namespace {

/// \brief Calls f(the matrix in its format, the format and the reason).
/// \param known the rows of A, or null
template <class T, class Exec, class Function>
void with_matrix(Exec const& exec, Wanted const& wanted, CsrMatrix<T, Exec> const& A,
                 RowStatistics const* known, Function const& f) {
  if (wanted.is_block() && wanted.format == MatrixFormat::automatic)
    return f(A, {MatrixFormat::csr, "for a block of right-hand sides"});
  auto const made = [&] {
    try {
      return Impl::formatted(exec, A, wanted.format, known);
    } catch (InputError const& error) {
      throw std::invalid_argument(std::string("Solder::make_solver: matrix_format: ") +
                                  error.what());
    }
  }();
  std::visit([&](auto const& matrix) { f(matrix, made.choice); }, made.matrix);
}

template <class T, class Exec, class Function>
void with_matrix(Exec const&, Wanted const& wanted, DistributedMatrix<T, Exec> const& A,
                 RowStatistics const*, Function const& f) {
  if (wanted.format != MatrixFormat::automatic && wanted.format != MatrixFormat::csr)
    throw std::invalid_argument(
        "Solder::make_solver: matrix_format must be auto or csr for a matrix over ranks");
  if (wanted.is_block())
    throw std::invalid_argument("Solder::make_solver: block_cg does not work over ranks; use cg");
  f(A, {MatrixFormat::csr, "its rows are distributed over ranks"});
}

/// \brief A, or this rank's own block of it.
template <class T, class Exec>
CsrMatrix<T, Exec> const& own_block(Exec const&, CsrMatrix<T, Exec> const& A) {
  return A;
}
template <class T, class Exec>
CsrMatrix<T, Exec> own_block(Exec const& exec, DistributedMatrix<T, Exec> const& A) {
  return A.own_block(exec);
}

template <class Exec, class OpenedA, class OpenedM>
std::unique_ptr<Impl::AnyMethod<Exec, typename OpenedA::scalar_type>> make_method(
    Exec const& exec, Wanted const& wanted, SolverInputs const& inputs,
    std::shared_ptr<Impl::System<Exec, OpenedA, OpenedM>> const& system) {
  using namespace Impl;
  return std::visit(
      [&]<class Options>(Options options) {
        options.runner = wanted.runner;
        options.monitor = inputs.monitor;
        options.log = inputs.log;
        options.allow_stale_preconditioner = wanted.allow_stale_preconditioner;
        auto method = [&] {
          if constexpr (std::is_same_v<Options, CgOptions>)
            return compiled_method<CgMethod>(exec, system, options);
          else if constexpr (std::is_same_v<Options, BiCgStabOptions>)
            return compiled_method<BiCgStabMethod>(exec, system, options);
          else if constexpr (std::is_same_v<Options, GmresOptions>)
            return compiled_method<GmresMethod>(exec, system, options);
          else if constexpr (std::is_same_v<Options, IdrOptions>)
            return compiled_method<IdrMethod>(exec, system, options);
          else
            return compiled_method<BlockCgMethod>(exec, system, options);
        }();
        check_system(std::string(method->name()), *system, options);
        if (wanted.is_block()) check_block(system->rows(), method->columns->are_solved_at_once());
        return method;
      },
      wanted.options);
}

template <class Exec, class Matrix>
void check_symmetric(Exec const& exec, Wanted const& wanted, Matrix const& A) {
  if (wanted.needs_symmetry() && wanted.check_symmetry)
    check_hermitian(wanted, check_symmetry(exec, A));
}

/// \brief Calls f with the preconditioner as solvers on hosts see it.
template <class T, class Exec, class Of, class Function>
void with_opened(std::shared_ptr<AnyPreconditioner<T, Exec, Of>> const& M, Function const& f) {
  [&]<class... Opened>(std::type_identity<std::variant<Opened...>>) {
    std::size_t at = 0;
    ((M->opened_as() == at++ && (f(OpenedAs<T, Exec, Of, Opened>(M)), true)) || ...);
  }(std::type_identity<OpenedOnHost<T>>());
}

/// \brief Whether applications of M read a matrix in this format.
template <class M, class Matrix>
inline constexpr bool reads = requires {
  requires std::is_same_v<typename M::matrix_type, Matrix>;
};

/// \tparam Given CsrMatrix, or DistributedMatrix
template <class T, class Exec, class Given>
class Made final : public Impl::MadeSolver<T, Exec> {
  using Csr = CsrMatrix<T, Exec>;
  static constexpr bool over_ranks = !std::is_same_v<Given, Csr>;

 public:
  /// \param own in place of the preconditioner that is wanted; null: there is none
  /// \param rows of A, or null
  Made(Exec const& exec, Given const& A, Wanted const& wanted, SolverInputs const& inputs,
       Apply<T, Exec> const* own, RowStatistics const* rows)
      : exec_(exec), wanted_(wanted), inputs_(inputs) {
    if (own != nullptr) own_ = *own;
    parts_ = made(A, rows);
  }

  Exec const& exec() const override { return exec_; }
  std::string_view name() const override { return parts_->method->name(); }
  std::string describe() const override {
    return described(wanted_) + "  runner: " + std::string(to_string(wanted_.runner)) +
           parts_->method->plan() + "\n  matrix: " + std::string(matrix_format()) + ", " +
           std::to_string(rows()) + " rows, " + std::to_string(nonzeros()) + " nonzeros (" +
           parts_->format.reason +
           ")\n  preconditioner: " + (own_ ? "given\n" : described(wanted_.preconditioner, "    "));
  }
  std::int32_t rows() const override { return parts_->A.rows(); }
  std::int64_t nonzeros() const override { return parts_->A.nonzeros(); }
  std::string_view matrix_format() const override { return to_string(parts_->format.format); }
  std::string_view format_reason() const override { return parts_->format.reason; }
  bool solves_columns_at_once() const override { return many().columns->are_solved_at_once(); }
  std::size_t workspace_bytes(std::int32_t columns) const override {
    if (columns == 0 && !wanted_.is_block()) return parts_->method->workspace_bytes();
    return many().columns->workspace_bytes(std::max(columns, 1), rows());
  }
  std::string failure() const override { return parts_->failure(); }
  std::string explain() const override {
    return wanted_.name + " with " + wanted_.preconditioner.name + ", as named\n";
  }
  void reserve() override { parts_->method->reserve(); }
  Report solve(T const* b, T* x) override {
    begin_solve();
    if (!wanted_.is_block()) return parts_->method->solve(b, x);
    return many().columns->solve(Impl::ColumnsView<T const>(OneColumn<T const>(b, rows(), 1)),
                                 Impl::ColumnsView<T>(OneColumn<T>(x, rows(), 1)))[0];
  }
  std::vector<Report> solve(Impl::ColumnsView<T const> const& b,
                            Impl::ColumnsView<T> const& x) override {
    begin_solve();
    return many().columns->solve(b, x);
  }
  std::vector<Report> solve(T const* b, T* x, Batch<Exec> const& batch) override {
    if (parts_->format.format != MatrixFormat::csr && !parts_->make_many)
      throw std::invalid_argument("Solder::make_solver: a batch needs matrix_format: csr, not " +
                                  std::string(matrix_format()));
    begin_solve();
    return many().batch->solve(b, x, batch);
  }
  void set_matrix([[maybe_unused]] Csr const& A, [[maybe_unused]] Pattern pattern) override {
    if constexpr (over_ranks)
      throw std::invalid_argument(std::string(name()) +
                                  ": set_matrix does not work over ranks; change the values in "
                                  "place, call values_changed() of the matrix, and refresh()");
    else
      take_matrix(A, pattern);
  }
  void refresh() override {
    Impl::together(Impl::ranks_of(parts_->A), [&] {
      update_matrix();
      parts_->refresh(parts_->A);
      parts_->of_preconditioner = Impl::MadeOf(parts_->A.version());
    });
  }

 private:
  void take_matrix(Csr const& A, Pattern pattern) {
    if (pattern == Pattern::different) {
      check_symmetric(exec_, wanted_, A);
      parts_ = made(A, nullptr);
      return;
    }
    if (A.rows() != rows() || A.columns() != parts_->A.columns() || A.nonzeros() != nonzeros())
      throw std::invalid_argument(
          std::string(name()) + ": set_matrix: a matrix of the same pattern has " +
          std::to_string(rows()) + " rows and " + std::to_string(nonzeros()) + " nonzeros, not " +
          std::to_string(A.rows()) + " and " + std::to_string(A.nonzeros()) +
          "; pass Pattern::different for a matrix of another pattern");
    parts_->A = A;
    parts_->set_matrix(A);
    parts_->of_matrix = Impl::MadeOf(A.version());
  }
  template <class Entry>
  using OneColumn = Kokkos::View<Entry**, Kokkos::LayoutRight, typename Exec::memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Method = Impl::AnyMethod<Exec, T>;
  /// What is made for a matrix.
  struct Parts {
    Given A;
    Impl::MadeOf of_matrix, of_preconditioner;  ///< the values that the solver and M have
    FormatChoice format{};
    std::function<void(Given const&)> set_matrix{}, refresh{};
    std::function<std::string()> failure{};  ///< see failure()
    std::unique_ptr<Method> method{};
    /// Makes the one for several right-hand sides, if that is not `method`.
    std::function<std::unique_ptr<Method>()> make_many{};
    std::unique_ptr<Method> many{};  ///< that one, once it is needed
  };

  /// \brief The method for several right-hand sides, or a batch. They need compressed rows: if the
  /// automatic format is another one, they have a method of their own, except where M reads the
  /// matrix in that format.
  Method& many() const {
    if (!parts_->make_many) return *parts_->method;
    if (parts_->many == nullptr) parts_->many = parts_->make_many();
    return *parts_->many;
  }

  std::unique_ptr<Parts> made(Given const& A, RowStatistics const* rows) const {
    Impl::MadeOf const values(A.version());
    auto parts = std::make_unique<Parts>(Parts{A, values, values});
    with_matrix(exec_, wanted_, A, rows, [&]<class Matrix>(Matrix matrix, FormatChoice format) {
      parts->format = std::move(format);
      auto const with_M = [&](auto const& M, auto const& refresh) {
        using System = Impl::SystemOf<Exec, Matrix, std::decay_t<decltype(M)>>;
        auto const system = std::make_shared<System>(matrix, M);
        auto const current = std::make_shared<Matrix>(matrix);
        // An older M that reads the matrix in this format goes on reading the older values.
        bool const keeps =
            reads<std::decay_t<decltype(M)>, Matrix> && wanted_.allow_stale_preconditioner;
        parts->set_matrix = [system, current, keeps, on = exec_](Given const& anew) {
          if constexpr (std::is_same_v<Matrix, Given>)
            system->set_matrix(*current = anew);
          else if (keeps)
            system->set_matrix(*current = current->with_values_of(on, anew));
          else
            current->refresh(on, anew);
        };
        parts->refresh = [current, again = refresh, on = exec_](Given const& anew) mutable {
          again(on, own_block(on, anew), *current);
        };
        parts->failure = [system] { return system->failure(); };
        parts->method =
            make_method(exec_, wanted_, inputs_, std::shared_ptr<typename System::AsSeen>(system));
        if constexpr (!std::is_same_v<Matrix, Given> && !reads<std::decay_t<decltype(M)>, Matrix>)
          if (wanted_.format == MatrixFormat::automatic) {
            using OfRows = Impl::SystemOf<Exec, Given, std::decay_t<decltype(M)>>;
            auto const of_rows = std::make_shared<OfRows>(A, M);
            parts->set_matrix = [of_rows, set = parts->set_matrix](Given const& anew) {
              set(anew);
              of_rows->set_matrix(anew);
            };
            parts->make_many = [this, of_rows] {
              return make_method(exec_, wanted_, inputs_,
                                 std::shared_ptr<typename OfRows::AsSeen>(of_rows));
            };
          }
      };
      if constexpr (Impl::is_host_space<Exec>) {
        if (own_) return with_M(*own_, [](auto const&...) {});
        auto const M =
            make_any(exec_, wanted_.preconditioner, inputs_.coordinates, own_block(exec_, A), A);
        with_opened(M, [&](auto const& opened) {
          with_M(opened,
                 [M](Exec const& on, Csr const& own, [[maybe_unused]] Matrix const& in_format) {
                   if constexpr (over_ranks)
                     M->refresh(on, own, in_format);
                   else
                     M->refresh(on, own);
                 });
        });
      } else {
        with_preconditioner(exec_, wanted_.preconditioner, inputs_.coordinates, A, matrix, with_M);
      }
    });
    return parts;
  }

  /// \brief Takes values that have changed.
  void update_matrix() {
    if (parts_->of_matrix.is_of(parts_->A.version())) return;
    parts_->set_matrix(parts_->A);
    parts_->of_matrix = Impl::MadeOf(parts_->A.version());
  }
  void begin_solve() {
    Impl::together(Impl::ranks_of(parts_->A), [&] {
      update_matrix();
      bool const has_set_up =
          wanted_.preconditioner.name != "none" || wanted_.preconditioner.scaling.is_wanted();
      if (has_set_up && !wanted_.allow_stale_preconditioner &&
          !parts_->of_preconditioner.is_of(parts_->A.version()))
        throw std::logic_error(
            std::string(name()) +
            ": the values of the matrix have changed since the preconditioner was "
            "set up: call refresh(), or set allow_stale_preconditioner: true to keep using it");
    });
  }

  Exec exec_;
  Wanted wanted_;
  SolverInputs inputs_;
  std::optional<Apply<T, Exec>> own_;
  std::unique_ptr<Parts> parts_;
};

/// \brief A solver and a preconditioner that are named; see Made. Over ranks all call it together.
template <class T, class Exec, class Given>
std::shared_ptr<Impl::MadeSolver<T, Exec>> named(Exec const& exec, Given const& A,
                                                 Wanted const& wanted, SolverInputs const& inputs,
                                                 Apply<T, Exec> const* own,
                                                 RowStatistics const* rows) {
  check_symmetric(exec, wanted, A);
  return std::make_shared<Made<T, Exec, Given>>(exec, A, wanted, inputs, own, rows);
}

/// \brief Refuses what is named beside a preconditioner that is given.
void check_own(Wanted const& wanted) {
  if (wanted.name == "auto")
    throw std::invalid_argument(
        "Solder::make_solver: name a solver: auto does not take a preconditioner of your own");
  if (wanted.preconditioner.name != "none")
    throw std::invalid_argument(
        "Solder::make_solver: preconditioner: " + wanted.preconditioner.name +
        ", but a preconditioner object is given, too; give one of the two");
}

template <class T, class Exec>
Solver<T, Exec> made_over_ranks(Exec const& exec, DistributedMatrix<T, Exec> const& A,
                                Parameters const& parameters, SolverInputs const& inputs,
                                Apply<T, Exec> const* own) {
  std::shared_ptr<Impl::MadeSolver<T, Exec>> made;
  Impl::together(A.ranks(), [&] {
    Wanted const wanted = read_solver(parameters);
    if (own != nullptr) check_own(wanted);
    Impl::with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
      made = wanted.is_auto() ? make_auto<T, Exec>(exec, A, wanted, inputs)
                              : named<T, Exec>(exec, A, wanted, inputs, own, nullptr);
    });
  });
  return Solver<T, Exec>(made);
}

}  // namespace

template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_named(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                      Wanted const& wanted,
                                                      SolverInputs const& inputs,
                                                      RowStatistics const* rows) {
  return named<T, Exec>(exec, A, wanted, inputs, nullptr, rows);
}
template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_named(Exec const& exec,
                                                      DistributedMatrix<T, Exec> const& A,
                                                      Wanted const& wanted,
                                                      SolverInputs const& inputs,
                                                      RowStatistics const* rows) {
  std::shared_ptr<Impl::MadeSolver<T, Exec>> made;
  Impl::together(A.ranks(), [&] { made = named<T, Exec>(exec, A, wanted, inputs, nullptr, rows); });
  return made;
}

}  // namespace Compiled

template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs) {
  Compiled::Wanted const wanted = Compiled::read_solver(parameters);
  return Impl::with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
    return Solver<Scalar, Exec>(wanted.is_auto()
                                    ? Compiled::make_auto<Scalar, Exec>(exec, A, wanted, inputs)
                                    : Compiled::make_named<Scalar, Exec>(exec, A, wanted, inputs));
  });
}

template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Apply<Scalar, Exec> const& M, Parameters const& parameters,
                                 SolverInputs const& inputs) {
  if (!Impl::is_host_space<Exec>)
    throw std::invalid_argument(
        "Solder::make_solver: a preconditioner of your own works on hosts only");
  Compiled::Wanted const wanted = Compiled::read_solver(parameters);
  Compiled::check_own(wanted);
  return Impl::with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
    return Solver<Scalar, Exec>(
        Compiled::named<Scalar, Exec>(exec, A, wanted, inputs, &M, nullptr));
  });
}

template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs) {
  return Compiled::made_over_ranks<Scalar, Exec>(exec, A, parameters, inputs, nullptr);
}
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                                 Apply<Scalar, Exec> const& M, Parameters const& parameters,
                                 SolverInputs const& inputs) {
  return Compiled::made_over_ranks(exec, A, parameters, inputs, &M);
}

namespace Compiled {

/// \brief Taking a function's address compiles it.
template <class T>
auto solvers() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    using Of = Solver<T, Exec>;
    using Csr = CsrMatrix<T, Exec>;
    using Named = std::shared_ptr<Impl::MadeSolver<T, Exec>>;
    Named (*const of_names)(Exec const&, Csr const&, Wanted const&, SolverInputs const&,
                            RowStatistics const*) = &make_named<T, Exec>;
    Of (*const of_csr)(Exec const&, Csr const&, Parameters const&, SolverInputs const&) =
        &make_solver<T, Exec>;
    Of (*const of_own)(Exec const&, Csr const&, Apply<T, Exec> const&, Parameters const&,
                       SolverInputs const&) = &make_solver<T, Exec>;
    if constexpr (Impl::is_host_space<Exec> && has_ranks) {
      using Rows = DistributedMatrix<T, Exec>;
      Of (*const of_rows)(Exec const&, Rows const&, Parameters const&, SolverInputs const&) =
          &make_solver<T, Exec>;
      Of (*const with_own)(Exec const&, Rows const&, Apply<T, Exec> const&, Parameters const&,
                           SolverInputs const&) = &make_solver<T, Exec>;
      Named (*const of_names_rows)(Exec const&, Rows const&, Wanted const&, SolverInputs const&,
                                   RowStatistics const*) = &make_named<T, Exec>;
      return std::tuple(of_csr, of_own, of_names, of_rows, with_own, of_names_rows);
    } else {
      return std::tuple(of_csr, of_own, of_names);
    }
  });
}

template auto solvers<SOLDER_SCALAR>();

}  // namespace Compiled

}  // namespace Solder
