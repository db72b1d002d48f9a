// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <optional>
#include <solder/core/errors.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/symmetry.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>
#include <utility>
#include <variant>

#include "parameter_reader.hpp"
#include "preconditioners.hpp"

namespace Solder {
namespace Compiled {
namespace {

// ---- What is asked for ----

struct WantedPreconditioner {
  std::string name;
  bool is_single = false, has_rigid_bodies = false;
  FsaiOptions fsai;
  ChebyshevOptions chebyshev;
  IncompleteOptions incomplete;
  AmgOptions amg;
  std::string inner;  ///< of chebyshev; its options are in fsai
};

struct Wanted {
  std::string name;
  std::variant<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions, BlockCgOptions> options;
  Runner runner = Runner::automatic;
  MatrixFormat format = MatrixFormat::automatic;
  bool check_symmetry = true;
  WantedPreconditioner preconditioner;

  bool is_block() const { return name == "block_cg"; }
  bool needs_symmetry() const { return name == "cg" || is_block(); }
};

WantedPreconditioner read_preconditioner(Parameters const& parameters,
                                         std::vector<std::string>& errors) {
  WantedPreconditioner wanted;
  ParameterReader reader(parameters, "preconditioner.", errors);
  std::string const& name = wanted.name =
      reader.object("none", {"none", "jacobi", "fsai", "ic0", "ilu0", "chebyshev", "amg"});
  if (name.empty()) return wanted;
  if (name == "fsai" || name == "amg")
    wanted.is_single = reader.word("precision", "same", {"same", "single"}) == "single";
  if (name == "fsai") reader.read(wanted.fsai);
  if (name == "ic0" || name == "ilu0") reader.read(wanted.incomplete, {{"name", name}});
  if (name == "chebyshev") {
    reader.read(wanted.chebyshev);
    Parameters const inner = reader.tree("inner");
    ParameterReader inner_reader(inner, "preconditioner.inner.", errors);
    wanted.inner = inner_reader.object("jacobi", {"none", "jacobi", "fsai"});
    if (wanted.inner == "fsai") inner_reader.read(wanted.fsai);
    if (!wanted.inner.empty()) inner_reader.finish(wanted.inner);
  }
  if (name == "amg") {
    std::string const near = reader.word("near_nullspace", "constant", {"constant", "rigid_body"});
    wanted.has_rigid_bodies = near == "rigid_body";
    reader.read(wanted.amg, {{"near_nullspace", near}});
  }
  reader.finish(name);
  return wanted;
}

Wanted read(Parameters const& parameters) {
  Wanted wanted;
  std::vector<std::string> errors;
  ParameterReader reader(parameters, "", errors);
  wanted.name = reader.object("", {"cg", "bicgstab", "gmres", "idr", "block_cg"});
  if (wanted.name == "bicgstab") wanted.options = BiCgStabOptions();
  if (wanted.name == "gmres") wanted.options = GmresOptions();
  if (wanted.name == "idr") wanted.options = IdrOptions();
  if (wanted.name == "block_cg") wanted.options = BlockCgOptions();
  if (!wanted.name.empty())
    std::visit(
        [&](auto& options) {
          reader.read(static_cast<SolverOptions&>(options));
          reader.read(options);
        },
        wanted.options);
  wanted.runner = reader.word("runner", Runner::automatic);
  wanted.format = reader.word("matrix_format", MatrixFormat::automatic);
  wanted.check_symmetry = reader.flag("check_symmetry", true);
  wanted.preconditioner = read_preconditioner(reader.tree("preconditioner"), errors);
  if (!wanted.name.empty()) reader.finish(wanted.name);
  if (wanted.is_block() && (wanted.runner == Runner::team || wanted.runner == Runner::resident))
    errors.push_back("runner must be auto, launch or graph with block_cg, not " +
                     std::string(to_string(wanted.runner)));
  if (wanted.preconditioner.name == "amg") {
    std::string const why = Impl::amg::sweeps_failure(
        wanted.preconditioner.amg, "preconditioner.",
        wanted.needs_symmetry() && wanted.check_symmetry ? wanted.name : "");
    if (!why.empty()) errors.push_back(why);
  }
  if (errors.empty()) return wanted;
  std::string text = "Solder::make_solver:";
  for (std::string const& error : errors) text += (errors.size() > 1 ? "\n  " : " ") + error;
  throw std::invalid_argument(text);
}

// ---- A, M and the method ----

/// \brief Makes none, jacobi or fsai, and calls f(preconditioner).
template <class T, class Exec, class Function>
void with_plain_preconditioner(std::string const& name, Exec const& exec, FsaiOptions const& fsai,
                               CsrMatrix<T, Exec> const& A, Function const& f) {
  if (name == "none") f(Identity{});
  if (name == "jacobi") f(Jacobi<T, Exec>(exec, A));
  if (name == "fsai") f(Make<T, Exec>::fsai(exec, A, fsai));
}

/// \brief Makes the preconditioner and calls f(preconditioner). It is made from A; a polynomial is
/// made from `matrix`, which is A in the format of the solver.
template <class T, class Exec, class Matrix, class Function>
void with_preconditioner(Exec const& exec, WantedPreconditioner const& wanted,
                         SolverInputs const& inputs, CsrMatrix<T, Exec> const& A,
                         Matrix const& matrix, Function const& f) {
  using M = Make<T, Exec>;
  std::string const& name = wanted.name;
  bool const is_single = wanted.is_single && !std::is_same_v<T, Single<T>>;
  typename M::Coordinates coordinates;
  if (wanted.has_rigid_bodies) {
    coordinates = inputs.coordinates;
    std::size_t const nodes = coordinates.extent(0), dimensions = coordinates.extent(1);
    if ((dimensions != 2 && dimensions != 3) || nodes * dimensions != std::size_t(A.rows()))
      throw std::invalid_argument(
          "Solder::make_solver: preconditioner.near_nullspace: rigid_body needs "
          "SolverInputs::coordinates of 2 or 3 dimensions, an unknown each: they are " +
          std::to_string(nodes) + " x " + std::to_string(dimensions) + ", for " +
          std::to_string(A.rows()) + " unknowns");
  } else if (inputs.coordinates.size() > 0) {
    throw std::invalid_argument(
        "Solder::make_solver: SolverInputs::coordinates are for preconditioner amg with "
        "near_nullspace: rigid_body alone");
  }
  if (name == "chebyshev") {
    using Of = PolynomialMatrix<Matrix, T, Exec>;
    with_plain_preconditioner(wanted.inner, exec, wanted.fsai, A, [&](auto const& inner) {
      if constexpr (std::is_same_v<Of, Matrix>)
        f(M::chebyshev(exec, matrix, inner, wanted.chebyshev));
      else
        f(M::chebyshev(exec, A, inner, wanted.chebyshev));
    });
  } else if (name == "fsai" && is_single) {
    f(M::single_fsai(exec, A, wanted.fsai));
  } else if (name == "ic0" || name == "ilu0") {
    f(M::incomplete(exec, A, name == "ic0" ? Factorisation::ic0 : Factorisation::ilu0,
                    wanted.incomplete));
  } else if (name == "amg" && is_single) {
    f(M::template amg<Single<T>>(exec, A, wanted.amg, coordinates));
  } else if (name == "amg") {
    f(M::template amg<T>(exec, A, wanted.amg, coordinates));
  } else {
    with_plain_preconditioner(name, exec, wanted.fsai, A, f);
  }
}

/// \brief Converts the matrix to its format and calls f(matrix, the format and the reason). If the
/// format is automatic, CSR is used if memory does not suffice for another one.
template <class T, class Exec, class Function>
void with_matrix(Exec const& exec, Wanted const& wanted, CsrMatrix<T, Exec> const& A,
                 Function const& f) {
  if (wanted.is_block() && wanted.format == MatrixFormat::automatic)
    return f(A, {MatrixFormat::csr, "for a block of right-hand sides"});
  RowStatistics const rows = row_statistics(exec, A);
  FormatChoice choice;
  std::optional<SellMatrix<T, Exec>> padded;
  try {
    choice = choose_format(wanted.format, rows, sizeof(T), Impl::is_host_space<Exec>);
    if (choice.format == MatrixFormat::ell) padded = SellMatrix<T, Exec>::ell(exec, A);
    if (choice.format == MatrixFormat::sell) padded = SellMatrix<T, Exec>::sell(exec, A);
  } catch (InputError const& error) {
    throw std::invalid_argument(std::string("Solder::make_solver: matrix_format: ") + error.what());
  } catch (OutOfMemory const&) {
    if (wanted.format != MatrixFormat::automatic) throw;
    choice = {MatrixFormat::csr, "no memory for " + std::string(to_string(choice.format))};
  }
  if (padded)
    f(*padded, choice);
  else
    f(A, choice);
}

template <class Exec, class OpenedA, class OpenedM>
std::unique_ptr<Impl::AnyMethod<Exec, typename OpenedA::scalar_type>> make_method(
    Exec const& exec, Wanted const& wanted, std::function<void(Progress const&)> const& monitor,
    std::shared_ptr<Impl::System<Exec, OpenedA, OpenedM>> const& system) {
  using namespace Impl;
  return std::visit(
      [&]<class Options>(Options options) {
        options.runner = wanted.runner;
        options.monitor = monitor;
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

template <class T, class Exec>
class Made final : public Impl::MadeSolver<T, Exec> {
 public:
  Made(Exec const& exec, CsrMatrix<T, Exec> const& A, Wanted const& wanted,
       SolverInputs const& inputs)
      : rows_(A.rows()), nonzeros_(A.nonzeros()), is_block_(wanted.is_block()) {
    with_matrix(exec, wanted, A, [&](auto const& matrix, FormatChoice const& choice) {
      format_ = choice.format;
      reason_ = choice.reason;
      with_preconditioner(exec, wanted.preconditioner, inputs, A, matrix, [&](auto const& M) {
        using System =
            Impl::SystemOf<Exec, std::decay_t<decltype(matrix)>, std::decay_t<decltype(M)>>;
        std::shared_ptr<typename System::AsSeen> const system = std::make_shared<System>(matrix, M);
        method_ = make_method(exec, wanted, inputs.monitor, system);
      });
    });
    describe(wanted);
  }

  std::string_view name() const override { return method_->name(); }
  std::string describe() const override { return description_; }
  std::int32_t rows() const override { return rows_; }
  std::int64_t nonzeros() const override { return nonzeros_; }
  std::string_view matrix_format() const override { return to_string(format_); }
  std::string_view format_reason() const override { return reason_; }
  bool solves_columns_at_once() const override { return method_->columns->are_solved_at_once(); }
  void reserve() override { method_->reserve(); }
  Report solve(T const* b, T* x) override {
    if (!is_block_) return method_->solve(b, x);
    return method_->columns->solve(Impl::ColumnsView<T const>(OneColumn<T const>(b, rows_, 1)),
                                   Impl::ColumnsView<T>(OneColumn<T>(x, rows_, 1)))[0];
  }
  std::vector<Report> solve(Impl::ColumnsView<T const> const& b,
                            Impl::ColumnsView<T> const& x) override {
    return method_->columns->solve(b, x);
  }
  std::vector<Report> solve(T const* b, T* x, Batch<Exec> const& batch) override {
    if (format_ != MatrixFormat::csr)
      throw std::invalid_argument("Solder::make_solver: a batch needs matrix_format: csr, not " +
                                  std::string(to_string(format_)));
    return method_->batch->solve(b, x, batch);
  }

 private:
  template <class Entry>
  using OneColumn = Kokkos::View<Entry**, Kokkos::LayoutRight, typename Exec::memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <class Options>
  void add(std::string const& indent, Options const& options, Choices const& choices = {}) {
    for_each_option_that_counts(options, choices, [&](auto const& option) {
      description_ += indent + std::string(option.name) + ": ";
      if constexpr (std::remove_cvref_t<decltype(option)>::has_words)
        description_ += option.word(options.*option.member);
      else
        description_ += Impl::number_text(double(options.*option.member));
      description_ += "\n";
    });
  }
  void describe(Wanted const& wanted) {
    description_ = wanted.name + "\n";
    std::visit(
        [&](auto const& options) {
          add("  ", static_cast<SolverOptions const&>(options));
          add("  ", options);
        },
        wanted.options);
    description_ += "  runner: " + std::string(to_string(wanted.runner)) + "\n";
    description_ += "  matrix: " + std::string(to_string(format_)) + ", " + std::to_string(rows_) +
                    " rows, " + std::to_string(nonzeros_) + " nonzeros (" + reason_ + ")\n";
    WantedPreconditioner const& M = wanted.preconditioner;
    description_ += "  preconditioner: " + M.name + "\n";
    std::string const indent = "    ";
    if (M.name == "fsai") add(indent, M.fsai);
    if (M.name == "ic0" || M.name == "ilu0") add(indent, M.incomplete, {{"name", M.name}});
    if (M.name == "amg")
      add(indent, M.amg, {{"near_nullspace", M.has_rigid_bodies ? "rigid_body" : "constant"}});
    if (M.name == "chebyshev") {
      add(indent, M.chebyshev);
      description_ += indent + "inner: " + M.inner + "\n";
      if (M.inner == "fsai") add(indent + "  ", M.fsai);
    }
    if (M.is_single) description_ += indent + "precision: single\n";
  }

  std::int32_t rows_;
  std::int64_t nonzeros_;
  bool is_block_;
  MatrixFormat format_ = MatrixFormat::csr;
  std::string reason_, description_;
  std::unique_ptr<Impl::AnyMethod<Exec, T>> method_;
};

}  // namespace
}  // namespace Compiled

template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs) {
  Compiled::Wanted const wanted = Compiled::read(parameters);
  return Impl::with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
    if (wanted.needs_symmetry() && wanted.check_symmetry) {
      Symmetry const symmetry = check_symmetry(exec, A);
      if (symmetry.is_square && symmetry.is_finite && !symmetry.hermitian.holds())
        throw std::invalid_argument("Solder::make_solver: " + describe(symmetry) + "; " +
                                    wanted.name +
                                    " needs a Hermitian positive definite matrix: use bicgstab, "
                                    "gmres or idr, or waive the check with check_symmetry: false");
    }
    return Solver<Scalar, Exec>(
        std::make_shared<Compiled::Made<Scalar, Exec>>(exec, A, wanted, inputs));
  });
}

namespace Compiled {

/// \brief Taking a function's address compiles it.
template <class T>
auto solvers() {
  return Impl::for_each_space(
      []<class Exec>(std::type_identity<Exec>) { return &make_solver<T, Exec>; });
}

template auto solvers<SOLDER_SCALAR>();

}  // namespace Compiled

}  // namespace Solder
