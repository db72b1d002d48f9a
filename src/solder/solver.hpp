// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solvers by name, for programs that choose at run time: one type, whatever the method, the
/// preconditioner and the format of the matrix. What they are made of is compiled apart: link
/// Solder::compiled. A program that knows its types uses Cg, Gmres, ... and needs no library.

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/report.hpp>
#include <solder/core/vectors.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/parameters.hpp>
#include <solder/solvers/detail/columns_view.hpp>

namespace Solder {

// Only declared: a program that makes one of these includes its header.
template <class Scalar, class Exec>
class Apply;
template <class Scalar, class Exec>
class DistributedMatrix;

/// \brief Whether a matrix that replaces another one has the same pattern. This is not checked.
enum class Pattern {
  same,      ///< other values alone
  different  ///< perhaps other rows, too
};

/// \brief [nodes][2 or 3]: where the nodes of A are, for amg with near_nullspace: rigid_body.
using Coordinates = Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace>;

namespace Impl {

/// \brief What make_solver() makes.
template <class Scalar, class Exec>
class MadeSolver {
 public:
  virtual ~MadeSolver() = default;
  virtual Exec const& exec() const = 0;
  virtual std::string_view name() const = 0;
  virtual std::string describe() const = 0;
  virtual std::string explain() const = 0;
  virtual std::int32_t rows() const = 0;
  virtual std::int64_t nonzeros() const = 0;
  virtual std::string_view matrix_format() const = 0;
  virtual std::string_view format_reason() const = 0;
  virtual bool solves_columns_at_once() const = 0;
  virtual std::size_t workspace_bytes(std::int32_t columns) const = 0;
  /// \brief Why the preconditioner cannot be applied; empty where it can be.
  virtual std::string failure() const = 0;
  virtual void reserve() = 0;
  virtual Report solve(Scalar const* b, Scalar* x) = 0;
  virtual std::vector<Report> solve(ColumnsView<Scalar const> const& b,
                                    ColumnsView<Scalar> const& x) = 0;
  virtual std::vector<Report> solve(Scalar const* b, Scalar* x, Batch<Exec> const& batch) = 0;
  virtual void set_matrix(CsrMatrix<Scalar, Exec> const& A, Pattern pattern) = 0;
  virtual void refresh() = 0;
};

/// \brief What make_preconditioner() makes.
template <class Scalar, class Exec>
class MadePreconditioner {
 public:
  virtual ~MadePreconditioner() = default;
  virtual std::string describe() const = 0;
  virtual std::int32_t rows() const = 0;
  virtual std::string failure() const = 0;
  virtual SetupReport setup() const = 0;
  virtual bool is_stale() const = 0;
  virtual void refresh(Exec const& exec, CsrMatrix<Scalar, Exec> const& A) = 0;
  virtual void apply(Exec const& exec, Scalar const* r, Scalar* z) const = 0;
};

}  // namespace Impl

/// \brief What a solver may be given that is no plain value.
struct SolverInputs {
  Monitor monitor = {};          ///< see SolverOptions
  Coordinates coordinates = {};  ///< of the nodes, for rigid bodies; else empty
  Log* log = nullptr;            ///< see SolverOptions
  /// Right-hand sides that a solve will have at once, as far as is known. Auto begins with no trial
  /// where there are several: it judges a candidate by a single one.
  int columns = 1;
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
  /// made with `matrix_format: csr`, or auto.
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) std::vector<Report> solve(B const& b, X const& x,
                                                                       Batch<Exec> const& batch)
  const {
    Impl::check_vectors<Exec>(name(), made_->rows(), b, x);
    return in_memory([&] { return made_->solve(b.data(), x.data(), batch); });
  }

  /// \brief Takes a matrix with other values in place of the solver's, as in time stepping. The
  /// preconditioner is then stale: refresh() it, or have made the solver with
  /// `allow_stale_preconditioner: true`. (Values that were changed in place need
  /// A.values_changed() alone.) No allocation where the pattern is the same. Where it is different,
  /// everything is made anew, the preconditioner too. \throws std::invalid_argument where a matrix
  /// of the same pattern has other rows or nonzeros; as make_solver() does where it is different
  void set_matrix(CsrMatrix<Scalar, Exec> const& A, Pattern pattern = Pattern::same) const {
    in_memory([&] { made_->set_matrix(A, pattern); });
  }
  /// \brief The same for row offsets of another type, which are copied to 32 bits.
  template <class Offset>
  requires(!std::is_same_v<Offset, std::int32_t>) void set_matrix(
      CsrMatrix<Scalar, Exec, Offset> const& A, Pattern pattern = Pattern::same) const {
    set_matrix(CsrMatrix<Scalar, Exec>(made_->exec(), A), pattern);
  }
  /// \brief Sets up the preconditioner, and what it is made of, again, from the matrix as it is.
  void refresh() const {
    in_memory([&] { made_->refresh(); });
  }

  /// \brief Of the class, for people: "Solder::Cg".
  std::string_view name() const { return made_->name(); }
  /// \brief What it is made of, a line each, as a tree; with the plan and its reason.
  std::string describe() const { return made_->describe(); }
  /// \brief Where auto has chosen: what it saw of A, what it took, and why, in a few lines for
  /// people. See explain_solver() for the whole table.
  std::string explain() const { return made_->explain(); }
  /// \brief csr, sell, ell or block.
  std::string_view matrix_format() const { return made_->matrix_format(); }
  /// \brief Why that format, in a sentence.
  std::string_view format_reason() const { return made_->format_reason(); }
  /// \brief Whether several right-hand sides are solved at once, where there are enough of them.
  bool solves_columns_at_once() const { return made_->solves_columns_at_once(); }
  /// \brief The bytes that the first solve of so many right-hand sides will allocate, without A, M
  /// and the compaction of columns. 0: for one, a view of rank 1, which is what reserve()
  /// allocates. A solver that chooses takes more where a candidate fails: what the next one takes,
  /// and a copy of x.
  std::size_t workspace_bytes(std::int32_t columns = 0) const {
    return made_->workspace_bytes(columns);
  }
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
///   - `name`: auto, cg, bicgstab, gmres, idr or block_cg; the options of that one (AutoOptions,
///     CgOptions, ...); `tolerance`, `absolute_tolerance` and `max_iterations` (SolverOptions),
///     `guess_tolerance`, `zero_guess` and `keep_guess` (GuessOptions),
///   - `runner`: auto, launch, graph, team or resident,
///   - `matrix_format`: auto, csr, sell, ell or block, which is refused where it gains too little,
///   - `check_symmetry`: true; whether A is checked to be what cg and block_cg need,
///   - `allow_stale_preconditioner`: false; see SolverOptions,
///   - `preconditioner`: auto, none, jacobi, fsai, ic0, ilu0, ick, iluk, ict, ilut, chebyshev or
///     amg, or a tree of its `name` and options (FsaiOptions, ...), and for any of them `scale` and
///     `match` (ScalingOptions); for fsai and amg `precision`: same or single; for chebyshev
///     `inner`: none, jacobi or fsai, likewise; for amg `near_nullspace`: constant or rigid_body.
///
/// Without a name the solver is auto. The default preconditioner is auto with the solver auto, and
/// none with one that is named; the default `inner` is jacobi.
///
/// auto looks at A (analyse()) and tries candidates one after another, from the x so far, until one
/// has converged: the table in src/compiled/candidates.cpp has them, with the model of their cost.
/// It goes on to the next where one breaks down, stagnates, diverges or cannot be set up, and
/// where the rest would cost more than the next promises. Report::attempts lists
/// them. The one that has converged is kept for the next solves; where it fails, with other values,
/// the search begins anew. max_iterations is for all candidates together; with several right-hand
/// sides, and batches, for each candidate. `candidates` replaces the table: "cg+amg gmres+ilu0".
/// Compiled for the scalars and spaces that Solder::compiled was configured for. All work goes to
/// exec. \throws std::invalid_argument that names all parameters that are wrong; where A is not
/// square, or not Hermitian where it has to be; OutOfMemory
/// \ingroup by_name
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs = {});

/// \brief The same with your own preconditioner, of another library or a function, in place of one
/// by name: see solder/preconditioners/apply.hpp. The solver must be named, because auto chooses
/// both. On hosts only: on GPUs it throws std::invalid_argument. M is not refreshed. \ingroup
/// by_name
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                 Apply<Scalar, Exec> const& M, Parameters const& parameters,
                                 SolverInputs const& inputs = {});

/// \brief What make_solver() would make, for people: where auto is to choose, what it sees of A,
/// which candidates it has, in which order and why. Nothing is set up. \throws as make_solver()
/// \ingroup by_name
template <class Scalar, class Exec>
std::string explain_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                           Parameters const& parameters, SolverInputs const& inputs = {});

/// \brief The same for row offsets of another type, such as Tpetra's, which are copied to 32 bits.
/// \throws also std::length_error where these are too few
template <class Scalar, class Exec, class Offset>
requires(!std::is_same_v<Offset, std::int32_t>) Solver<Scalar, Exec> make_solver(
    Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, Parameters const& parameters,
    SolverInputs const& inputs = {}) {
  return make_solver(exec, CsrMatrix<Scalar, Exec>(exec, A), parameters, inputs);
}

/// \brief A solver by name over all ranks of a matrix (solder/matrix/distributed.hpp), which make
/// it, refresh it and call it together: what fails on one of them fails on all. b and x are a
/// rank's rows.
///
/// Parameters as above, but for these. `runner` is launch, `matrix_format` csr; there is no
/// block_cg. `auto` looks at the whole matrix, and all ranks try the same candidates. Jacobi,
/// chebyshev and fsai (DistributedFsai) are over all ranks. Amg, fsai with `precision: single`,
/// incomplete factors, and all with `scale` or `match` are each rank's own; incomplete factors with
/// `overlap: 1` are Schwarz. `check_symmetry` checks the whole matrix. Where values have changed,
/// all ranks call A.values_changed(); set_matrix() is refused.
/// \ingroup by_name
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                                 Parameters const& parameters, SolverInputs const& inputs = {});

/// \brief The same with your own preconditioner in place of one by name.
/// \ingroup by_name
template <class Scalar, class Exec>
Solver<Scalar, Exec> make_solver(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                                 Apply<Scalar, Exec> const& M, Parameters const& parameters,
                                 SolverInputs const& inputs = {});

/// \brief A preconditioner that make_preconditioner() has made. Copies are the same one.
template <class Scalar, class Exec>
class Preconditioner {
 public:
  using scalar_type = Scalar;  ///< of vectors

  /// \brief For make_preconditioner().
  explicit Preconditioner(std::shared_ptr<Impl::MadePreconditioner<Scalar, Exec>> made)
      : made_(std::move(made)) {}

  /// \brief z = M r, for a solver of somebody else: views of rank 1 of rows() scalars, or of rank
  /// 2, whose columns are taken one after another. z is complete on exec. No two threads may call
  /// it at once. \throws std::invalid_argument if r or z has a different length or is strided, or
  /// if they overlap \throws std::runtime_error if M cannot be applied
  template <class R, class Z>
  requires(R::rank() == 1 && Z::rank() == 1) void apply(Exec const& exec, R const& r,
                                                        Z const& z) const {
    Impl::check_vectors<Exec>("Solder: z = M r", made_->rows(), r, z, {"r", "z"});
    made_->apply(exec, r.data(), z.data());
  }
  /// \brief The same for each column.
  template <class R, class Z>
  requires(R::rank() == 2 && Z::rank() == 2) void apply(Exec const& exec, R const& r,
                                                        Z const& z) const {
    Impl::for_each_column(r, z,
                          [&](auto const& of_r, auto const& of_z) { apply(exec, of_r, of_z); });
  }
  /// \brief Sets it up again, and what it is made of before. \throws as its class does
  void refresh(Exec const& exec, CsrMatrix<Scalar, Exec> const& A) const {
    made_->refresh(exec, A);
  }
  /// \brief Whether its matrix has been told that its values have changed since.
  bool is_stale() const { return made_->is_stale(); }
  /// \brief Number of rows.
  std::int32_t rows() const { return made_->rows(); }
  /// \brief Its name and options, a line each.
  std::string describe() const { return made_->describe(); }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const { return made_->failure(); }
  /// \brief What its set-up cost and gave.
  SetupReport setup() const { return made_->setup(); }

 private:
  std::shared_ptr<Impl::MadePreconditioner<Scalar, Exec>> made_;
};

/// \brief A preconditioner by name: {{"name", "fsai"}, {"k", 2}}; see make_solver().
/// \throws std::invalid_argument that names all parameters that are wrong; as its class does
template <class Scalar, class Exec>
Preconditioner<Scalar, Exec> make_preconditioner(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                                 Parameters const& parameters,
                                                 Coordinates const& coordinates = {});
/// \brief The same for row offsets of another type, which are copied to 32 bits.
template <class Scalar, class Exec, class Offset>
requires(!std::is_same_v<Offset, std::int32_t>) Preconditioner<Scalar, Exec> make_preconditioner(
    Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, Parameters const& parameters,
    Coordinates const& coordinates = {}) {
  return make_preconditioner(exec, CsrMatrix<Scalar, Exec>(exec, A), parameters, coordinates);
}

/// \brief A preconditioner by name over all ranks of a matrix, which make it and apply it together;
/// for its parameters see make_solver() for a DistributedMatrix. It cannot be refreshed: make
/// another one.
template <class Scalar, class Exec>
Preconditioner<Scalar, Exec> make_preconditioner(Exec const& exec,
                                                 DistributedMatrix<Scalar, Exec> const& A,
                                                 Parameters const& parameters,
                                                 Coordinates const& coordinates = {});

}  // namespace Solder
