// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/solvers/detail/method.hpp>

namespace Solder::Impl {

/// \brief What users see of a solver: a method for the types of their matrix and preconditioner.
///
/// \tparam Method a class template of Exec, OpenedA and OpenedM; see MethodFor
template <template <class, class, class> class Method, class Exec, class Matrix,
          class Preconditioner, class Options>
class Solver {
  static_assert(LinearOperator<Matrix>,
                "Solder: a matrix needs scalar_type, rows(), columns(), nonzeros(), words() and "
                "device_operator(): see CsrMatrix");
  static_assert(PreconditionerOn<Preconditioner, Exec>,
                "Solder: a preconditioner needs rows(), words<Scalar>(rows) and open(arena): see "
                "Application in core/application.hpp");

 public:
  /// \brief Type of the entries of A, b and x.
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is
  /// complete on exec (fence exec before another instance reads it). \throws std::invalid_argument
  /// where b or x has another length or is strided, they overlap, or M, set up anew, has another
  /// size; std::logic_error where M is older than the values of its matrix (see SolverOptions);
  /// OutOfMemory, after which x is as far as it has come and the solver as good as before
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) Report solve(B const& b, X const& x) {
    together(system_->ranks(), [&] { check_vectors<Exec>(name(), system_->rows(), b, x); });
    return in_memory([&] { return method_.one().solve(b.data(), x.data()); });
  }

  /// \brief Solves A X = B for several right-hand sides from the initial guesses in X.
  ///
  /// b and x are views of rank 2, of rows() x any number of scalars, accessible from Exec. Each
  /// column has its own scalars, iterations and reason, as if it were solved alone, and a report;
  /// all have the time of their group. Cg and BiCgStab solve up to 32 columns together, which share
  /// the reads of A and M, where A is a CsrMatrix and M none, Jacobi, Fsai, Amg, or Chebyshev with
  /// one of them; when half of them have ended, the others go on by themselves. Otherwise GPUs
  /// solve the columns concurrently, each on an instance and with a workspace of its own, with
  /// fences before and after; hosts, and solves that call the host in an iteration (Apply), take
  /// one column after another. Quickest where the entries of a row are contiguous
  /// (Kokkos::LayoutRight): other columns are copied. The first such solve allocates a workspace
  /// for its number of columns besides the solver's own. The first solve that goes on with fewer
  /// columns allocates one for these, at most five thirds of the first in all, or does without
  /// where there is no memory. x is complete on exec then, as above. \throws std::invalid_argument
  /// where b or x has other extents, they overlap, or M, set up anew, has another size
  template <class B, class X>
  requires(B::rank() == 2 && X::rank() == 2) std::vector<Report> solve(B const& b, X const& x) {
    together(system_->ranks(), [&] { check_columns<Exec>(name(), system_->rows(), b, x); });
    return in_memory([&] {
      return method_.columns().solve(ColumnsView<scalar_type const>(b),
                                     ColumnsView<scalar_type>(x));
    });
  }

  /// \brief Solves the systems of a batch, each alone: A is block diagonal, and no row of A or M
  /// has entries in another system's columns.
  ///
  /// b and x as of one system. Each system has its own iterations and reason, and a report; all
  /// have the time of the whole, and none a history. One kernel, in which each team of a GPU, or
  /// thread of a host, solves one system after another; a fence. For Cg and BiCgStab where A is a
  /// CsrMatrix and M none, Jacobi, Fsai or Chebyshev with one of them. The first such solve of a
  /// batch allocates a workspace beside the solver's own. \throws std::invalid_argument where A or
  /// M is another, systems are coupled by A, the runner is not team or automatic, or b or x has
  /// another length or is strided, or they overlap
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) std::vector<Report> solve(B const& b, X const& x,
                                                                       Batch<Exec> const& batch) {
    check_vectors<Exec>(name(), system_->rows(), b, x);
    return in_memory([&] { return method_.batch().solve(b.data(), x.data(), batch); });
  }

  /// \brief The bytes that the constructor allocates, without those of A and M.
  std::size_t workspace_bytes() const { return method_.one().workspace_bytes(); }

 protected:
  Solver(Exec const& exec, Matrix const& A, Preconditioner const& M, Options const& options) {
    with_memory_for("Solder: a solver is set up", A.rows(), A.nonzeros(), [&] {
      system_ = std::make_shared<SystemOf<Exec, Matrix, Preconditioner>>(A, M);
      method_ = {exec, system_, options};
      method_.one().reserve();
    });
  }

 private:
  using SystemSeen = typename SystemOf<Exec, Matrix, Preconditioner>::AsSeen;

  std::string_view name() const { return method_.one().name(); }

  template <class F>
  auto in_memory(F const& f) const {
    return with_memory_for(name().data(), system_->rows(), system_->nonzeros(), f);
  }

  std::shared_ptr<SystemSeen> system_;
  MethodOfSystem<Method, Exec, typename SystemSeen::OpenedA, typename SystemSeen::OpenedM, Options>
      method_;
};

}  // namespace Solder::Impl
