// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <solder/solvers/detail/batches.hpp>
#include <solder/solvers/detail/columns.hpp>

namespace Solder::Impl {

/// \brief What users see of a solver: a method for the types of their matrix and preconditioner.
///
/// \tparam Method a class template of Exec, OpenedA and OpenedM with solving() and
///         solve(b, x), made of an Exec, a system and options; where it takes_many also of a Many,
///         with solve_many(b, x)
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
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is
  /// complete on exec (fence exec before another instance reads it). \throws std::invalid_argument
  /// where b or x has another length or is strided, or M, set up anew, another size
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) Report solve(B const& b, X const& x) {
    check_access<B, X>();
    method_.solving().check_vectors(b.extent(0), x.extent(0),
                                    b.span_is_contiguous() && x.span_is_contiguous());
    return method_.solve(b.data(), x.data());
  }

  /// \brief Solves A X = B for several right-hand sides from the initial guesses in X.
  ///
  /// b and x are views of rank 2, of rows() x any number of scalars, accessible from Exec. Each
  /// column has its own scalars, iterations and reason, as if it were solved alone, and a report;
  /// all have the time of their group. Cg and BiCgStab solve up to 32 columns together, which share
  /// the reads of A and M, where A is a CsrMatrix and M none, Jacobi, Fsai, Amg, or Chebyshev with
  /// one of them; all else is solved one column after another. Quickest where the entries of a row
  /// are contiguous (Kokkos::LayoutRight): other columns are copied. The first such solve allocates
  /// a workspace for its number of columns beside the solver's own. \throws std::invalid_argument
  /// where b or x has other extents, or M, set up anew, another size
  template <class B, class X>
  requires(B::rank() == 2 && X::rank() == 2) std::vector<Report> solve(B const& b, X const& x) {
    check_access<B, X>();
    method_.solving().check_columns(b.extent(0), b.extent(1), x.extent(0), x.extent(1));
    if (columns_ == nullptr)
      columns_ = std::make_unique<ColumnsOf<MethodOf>>(exec_, system_, options_);
    return columns_->solve(exec_, b, x);
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
  /// another length or is strided
  template <class B, class X>
  requires(B::rank() == 1 && X::rank() == 1) std::vector<Report> solve(B const& b, X const& x,
                                                                       Batch<Exec> const& batch) {
    check_access<B, X>();
    method_.solving().check_vectors(b.extent(0), x.extent(0),
                                    b.span_is_contiguous() && x.span_is_contiguous());
    if (batch_ == nullptr || !batch_->is_for(batch)) {
      batch_.reset();
      batch_ = std::make_unique<BatchOf<MethodOf, Exec>>(exec_, system_, options_, batch);
    }
    return batch_->solve(b.data(), x.data());
  }

 protected:
  Solver(Exec const& exec, Matrix const& A, Preconditioner const& M, Options const& options)
      : exec_(exec),
        system_(std::make_shared<SystemOf<Exec, Matrix, Preconditioner>>(A, M)),
        options_(options),
        method_(exec, system_, options) {}

 private:
  using MethodOf =
      Method<Exec, OpenedMatrixOf<Matrix, Exec>, OpenedOf<Preconditioner, Exec, scalar_type>>;

  template <class B, class X>
  static constexpr void check_access() {
    using Access = Kokkos::SpaceAccessibility<Exec, typename B::memory_space>;
    using AccessX = Kokkos::SpaceAccessibility<Exec, typename X::memory_space>;
    static_assert(Access::accessible && AccessX::accessible,
                  "Solder: the solver's execution space cannot access the memory of b or x");
  }

  Exec exec_;
  std::shared_ptr<typename MethodOf::System> system_;
  Options options_;
  MethodOf method_;
  std::unique_ptr<ColumnsOf<MethodOf>> columns_;
  std::unique_ptr<BatchOf<MethodOf, Exec>> batch_;
};

}  // namespace Solder::Impl
