// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solvers by name, for programs that choose at run time: one type, whatever the method, the
/// preconditioner and the format of the matrix. What they are made of is compiled apart: link
/// Solder::compiled. A program that knows its types uses Cg, Gmres, ... and needs no library.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/parameters.hpp>
#include <solder/solvers/detail/checks.hpp>
#include <solder/solvers/detail/columns_view.hpp>

namespace Solder {

namespace Impl {

/// \brief What make_solver() makes.
template <class Scalar, class Exec>
class MadeSolver {
 public:
  virtual ~MadeSolver() = default;
  virtual std::string_view name() const = 0;
  virtual std::string describe() const = 0;
  virtual std::int32_t rows() const = 0;
  virtual std::int64_t nonzeros() const = 0;
  virtual std::string_view matrix_format() const = 0;
  virtual std::string_view format_reason() const = 0;
  virtual bool solves_columns_at_once() const = 0;
  virtual void reserve() = 0;
  virtual Report solve(Scalar const* b, Scalar* x) = 0;
  virtual std::vector<Report> solve(ColumnsView<Scalar const> const& b,
                                    ColumnsView<Scalar> const& x) = 0;
  virtual std::vector<Report> solve(Scalar const* b, Scalar* x, Batch<Exec> const& batch) = 0;
};

}  // namespace Impl

/// \brief What a solver may be given that is no plain value.
struct SolverInputs {
  std::function<void(Progress const&)> monitor = {};  ///< see SolverOptions
  /// [nodes][2 or 3]: where the nodes of A are, for amg with near_nullspace: rigid_body.
  Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace> coordinates = {};
};

/// \brief A solver that make_solver() has made, with its matrix and preconditioner. Copies are the
/// same solver.
///
/// Its solves are those of the class of the same name, bit by bit: see Cg, BiCgStab, Gmres, Idr and
/// BlockCg, and Impl::Solver for what they ask of b and x.
template <class Scalar, class Exec>
class Solver {
 public:
  /// \brief Type of the entries of A, b and x.
  using scalar_type = Scalar;

  /// \brief For make_solver().
  explicit Solver(std::shared_ptr<Impl::MadeSolver<Scalar, Exec>> made) : made_(std::move(made)) {}

  /// \brief Solves A x = b from the initial guess in x: views of rank 1.
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) Report solve(B const& b, X const& x)
  const {
    Impl::check_vectors<Exec>(name(), made_->rows(), b, x);
    return in_memory([&] { return made_->solve(b.data(), x.data()); });
  }
  /// \brief Solves A X = B for several right-hand sides: views of rank 2. A report for each column.
  template <class B, class X>
  requires(B::rank() == 2 && X::rank() == 2) std::vector<Report> solve(B const& b, X const& x)
  const {
    Impl::check_columns<Exec>(name(), made_->rows(), b, x);
    return in_memory([&] {
      return made_->solve(Impl::ColumnsView<Scalar const>(b), Impl::ColumnsView<Scalar>(x));
    });
  }
  /// \brief Solves the systems of a batch, each alone. A report for each. The solver must have been
  /// made with `matrix_format: csr`.
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) std::vector<Report> solve(B const& b, X const& x,
                                                                       Batch<Exec> const& batch)
  const {
    Impl::check_vectors<Exec>(name(), made_->rows(), b, x);
    return in_memory([&] { return made_->solve(b.data(), x.data(), batch); });
  }

  /// \brief Of the class, for people: "Solder::Cg".
  std::string_view name() const { return made_->name(); }
  /// \brief What it is made of, a line each, as a tree.
  std::string describe() const { return made_->describe(); }
  /// \brief csr, sell or ell.
  std::string_view matrix_format() const { return made_->matrix_format(); }
  /// \brief Why that format, in a sentence.
  std::string_view format_reason() const { return made_->format_reason(); }
  /// \brief Whether several right-hand sides are solved at once, where there are enough of them.
  bool solves_columns_at_once() const { return made_->solves_columns_at_once(); }
  /// \brief Allocates what one right-hand side needs; else the first solve does.
  void reserve() const {
    in_memory([&] { made_->reserve(); });
  }

 private:
  template <class F>
  auto in_memory(F const& f) const {
    return Impl::with_memory_for(name().data(), made_->rows(), made_->nonzeros(), f);
  }

  std::shared_ptr<Impl::MadeSolver<Scalar, Exec>> made_;
};

/// \brief A solver by name.
///
///     auto const solver = Solder::make_solver(
///         exec, A, {{"name", "cg"}, {"tolerance", 1e-10}, {"preconditioner", "fsai"}});
///     Solder::Report const report = solver.solve(b, x);
///
/// Parameters:
///   - `name`: cg, bicgstab, gmres, idr or block_cg; the options of that one (CgOptions, ...);
///     `tolerance` and `max_iterations` (SolverOptions),
///   - `runner`: auto, launch, graph, team or resident; `matrix_format`: auto, csr, sell or ell,
///   - `check_symmetry`: true; whether A is held against what cg and block_cg are for,
///   - `preconditioner`: none, jacobi, fsai, ic0, ilu0, chebyshev or amg, or a tree of its `name`
///     and options (FsaiOptions, ...); of fsai and amg `precision`: same or single; of chebyshev
///     `inner`: none, jacobi or fsai, likewise; of amg `near_nullspace`: constant or rigid_body.
///
/// Without a preconditioner it is none, without `inner` jacobi. Compiled for the scalars and spaces
/// that Solder::compiled was configured for. All work goes to exec. \throws std::invalid_argument
/// that names all parameters that are wrong; where A is not square, or not Hermitian where it has
/// to be; OutOfMemory
/// \ingroup by_name
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs = {});

}  // namespace Solder
