// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Tpetra's matrices and vectors in Solder's solvers, over all ranks of their communicator,
/// and operators of either in the other: link Solder::trilinos. On hosts only, so far.
///
///     auto const A = Solder::from_tpetra(exec, matrix);          // no copy of values
///     Solder::Jacobi M(exec, A.own_block(exec));
///     Solder::Cg cg(exec, A, M);
///     Solder::Report const report = Solder::solve(cg, b, x);     // Tpetra::Vector or MultiVector

#include <Teuchos_CommHelpers.hpp>
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>
#include <Tpetra_Operator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/matrix/distributed.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/trilinos/mpi.hpp>

namespace Solder {

namespace Impl::tpetra {

/// \brief MPI's own communicator, of which `comm` is the owner.
inline MPI_Comm comm_of(Teuchos::Comm<int> const& comm) {
  auto const* const of_mpi = dynamic_cast<Teuchos::MpiComm<int> const*>(&comm);
  return of_mpi == nullptr ? MPI_COMM_SELF : (*of_mpi->getRawMpiComm())();
}

/// \brief Where the ghosts of a matrix, its columns after its own rows, come from.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
std::vector<RemoteRow> ghosts_of(
    Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node> const& A) {
  auto const all = A.getColMap();
  std::size_t const n = A.getDomainMap()->getLocalNumElements(),
                    ghosts = all->getLocalNumElements() - n;
  std::vector<GlobalOrdinal> numbers(ghosts);
  std::vector<int> ranks(ghosts);
  std::vector<LocalOrdinal> rows(ghosts);
  for (std::size_t g = 0; g < ghosts; ++g)
    numbers[g] = all->getGlobalElement(static_cast<LocalOrdinal>(n + g));
  A.getDomainMap()->getRemoteIndexList(
      Teuchos::ArrayView<GlobalOrdinal const>(numbers.data(), ghosts),
      Teuchos::ArrayView<int>(ranks.data(), ghosts),
      Teuchos::ArrayView<LocalOrdinal>(rows.data(), ghosts));
  std::vector<RemoteRow> of(ghosts);
  for (std::size_t g = 0; g < ghosts; ++g) of[g] = {ranks[g], rows[g]};
  return of;
}

}  // namespace Impl::tpetra

/// \brief A Tpetra matrix as an operator of solvers, over all ranks of its communicator; all of
/// them call this together. Its arrays are not copied, and it is kept alive. \throws
/// std::invalid_argument if it is not filled, if its row and domain map differ, or if a rank's own
/// columns do not come first in its column map, in the order of its rows
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto from_tpetra(
    typename Node::execution_space const& exec,
    Teuchos::RCP<Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node> const> const& A) {
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Exec = typename Node::execution_space;
  using Number = typename Matrix::impl_scalar_type;
  static_assert(std::is_same_v<LocalOrdinal, std::int32_t>,
                "Solder::from_tpetra: the local ordinal must be a 32-bit integer");
  auto const refuse = [](std::string const& why) {
    throw std::invalid_argument("Solder::from_tpetra: " + why);
  };
  if (A.is_null()) refuse("the matrix is null");
  if (!A->isFillComplete()) refuse("the matrix is not filled: call fillComplete()");
  if (!A->getRowMap()->isSameAs(*A->getDomainMap()) || !A->getRowMap()->isSameAs(*A->getRangeMap()))
    refuse("row, domain and range map must be the same");
  auto const own = A->getDomainMap(), columns = A->getColMap();
  std::size_t const n = own->getLocalNumElements();
  int fitted = columns->getLocalNumElements() >= n;
  for (std::size_t l = 0; fitted != 0 && l < n; ++l) {
    auto const local = static_cast<LocalOrdinal>(l);
    fitted = own->getGlobalElement(local) == columns->getGlobalElement(local);
  }
  int all_fitted = 0;
  Teuchos::reduceAll(*A->getMap()->getComm(), Teuchos::REDUCE_MIN, fitted,
                     Teuchos::outArg(all_fitted));
  if (all_fitted == 0)
    refuse("a rank's own columns must come first in the column map, in the order of its rows");
  auto const comm = A->getMap()->getComm();
  auto const halo = std::make_shared<MpiHalo<Number>>(
      Impl::tpetra::comm_of(*comm), static_cast<std::int32_t>(n), Impl::tpetra::ghosts_of(*A));
  auto const local = A->getLocalMatrixDevice();
  using Offset = std::remove_cvref_t<decltype(*local.graph.row_map.data())>;
  using Result = DistributedMatrix<Number, Exec>;
  std::optional<Result> result;
  Impl::together(halo.get(), [&] {
    // The arrays, and the communicator, live as long as the matrix does.
    std::shared_ptr<Halo<Number> const> const with_arrays(halo.get(),
                                                          [halo, local, comm](auto*) {});
    result.emplace(exec, CsrMatrix<Number, Exec, Offset>(exec, local), with_arrays);
  });
  return *result;
}
/// \brief The same of a matrix that is not const.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto from_tpetra(
    typename Node::execution_space const& exec,
    Teuchos::RCP<Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>> const& A) {
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  return from_tpetra(exec, Teuchos::RCP<Matrix const>(A));
}

namespace Impl::tpetra {

/// \brief A report for each vector.
template <class Solver, class Vectors>
std::vector<Report> solve_each(Solver& solver, Vectors const& b, Vectors& x) {
  using Of = decltype(b.getVector(0)->getLocalViewDevice(Tpetra::Access::ReadOnly));
  using To = decltype(x.getVectorNonConst(0)->getLocalViewDevice(Tpetra::Access::ReadWrite));
  std::vector<Of> of_b;
  std::vector<To> of_x;
  std::vector<Report> reports;
  MpiRanks const ranks(comm_of(*b.getMap()->getComm()));
  together(&ranks, [&] {
    if (b.getNumVectors() != x.getNumVectors())
      throw std::invalid_argument("Solder::solve: b has " + std::to_string(b.getNumVectors()) +
                                  " vectors, and x " + std::to_string(x.getNumVectors()));
    for (std::size_t c = 0; c < b.getNumVectors(); ++c) {
      // Not the view of all vectors: if a MultiVector is some columns of another one, that view has
      // all columns of the other.
      of_b.push_back(b.getVector(c)->getLocalViewDevice(Tpetra::Access::ReadOnly));
      of_x.push_back(x.getVectorNonConst(c)->getLocalViewDevice(Tpetra::Access::ReadWrite));
    }
    reports.reserve(of_b.size());
  });
  for (std::size_t c = 0; c < of_b.size(); ++c)
    reports.push_back(solver.solve(Kokkos::subview(of_b[c], Kokkos::ALL, 0),
                                   Kokkos::subview(of_x[c], Kokkos::ALL, 0)));
  return reports;
}

}  // namespace Impl::tpetra

/// \brief Solves A x = b with a solver of A from from_tpetra(), from the x given; several vectors
/// one after another. All ranks call this together. \return the report of the vector that went
/// worst: the first that has not converged, or the one that took the most iterations \throws
/// std::invalid_argument if b and x have different numbers of vectors
/// \ingroup ranks
template <class Solver, class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
Report solve(Solver& solver,
             Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node> const& b,
             Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>& x) {
  auto const reports = Impl::tpetra::solve_each(solver, b, x);
  if (reports.empty()) return {};
  auto const failed = std::find_if(reports.begin(), reports.end(), [](Report const& report) {
    return report.reason != Reason::converged;
  });
  if (failed != reports.end()) return *failed;
  return *std::max_element(reports.begin(), reports.end(), [](Report const& a, Report const& b) {
    return a.iterations < b.iterations;
  });
}

/// \brief A preconditioner of Solder as a Tpetra operator, for Belos and others: z = M r, each rank
/// its own block.
///
/// \tparam M any that has apply(exec, r, z), made of own_block()
/// \ingroup ranks
template <class M, class Scalar = Tpetra::Operator<>::scalar_type,
          class LocalOrdinal = Tpetra::Operator<>::local_ordinal_type,
          class GlobalOrdinal = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class PreconditionerOperator final
    : public Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node> {
 public:
  using Exec = typename Node::execution_space;                 ///< of the node
  using Map = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;  ///< of the vectors
  /// \brief What it is applied to.
  using Vectors = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;

  /// \brief All ranks make theirs together. \param map of the matrix's rows \throws
  /// std::invalid_argument on all of them where M cannot be applied on one
  PreconditionerOperator(Exec const& exec, Teuchos::RCP<Map const> const& map, M const& m)
      : exec_(exec), map_(map), m_(m) {
    std::string why;
    if constexpr (requires { m_.failure(); }) why = m_.failure();
    int const fails = !why.empty();
    int any_fails = 0;
    Teuchos::reduceAll(*map_->getComm(), Teuchos::REDUCE_MAX, fails, Teuchos::outArg(any_fails));
    if (any_fails != 0)
      throw std::invalid_argument("Solder::PreconditionerOperator: " +
                                  (fails != 0 ? why : "M cannot be applied on another rank"));
  }

  /// \brief The map given.
  Teuchos::RCP<Map const> getDomainMap() const override { return map_; }
  /// \brief The map given.
  Teuchos::RCP<Map const> getRangeMap() const override { return map_; }
  /// \brief false: M^T cannot be applied.
  bool hasTransposeApply() const override { return false; }
  /// \brief y = alpha M x + beta y
  void apply(Vectors const& x, Vectors& y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             Scalar alpha = Teuchos::ScalarTraits<Scalar>::one(),
             Scalar beta = Teuchos::ScalarTraits<Scalar>::zero()) const override {
    if (mode != Teuchos::NO_TRANS)
      throw std::invalid_argument("Solder::PreconditionerOperator: M^T cannot be applied");
    using One = Teuchos::ScalarTraits<Scalar>;
    if (alpha != One::one() || beta != One::zero()) {
      Vectors z(map_, x.getNumVectors(), false);
      apply(x, z, mode, One::one(), One::zero());
      return y.update(alpha, z, beta);
    }
    for (std::size_t c = 0; c < x.getNumVectors(); ++c) {
      auto const of_x = x.getVector(c)->getLocalViewDevice(Tpetra::Access::ReadOnly);
      auto const of_y = y.getVectorNonConst(c)->getLocalViewDevice(Tpetra::Access::OverwriteAll);
      m_.apply(exec_, Kokkos::subview(of_x, Kokkos::ALL, 0), Kokkos::subview(of_y, Kokkos::ALL, 0));
    }
    exec_.fence("Solder::trilinos: z = M r");
  }

 private:
  Exec exec_;
  Teuchos::RCP<Map const> map_;
  M m_;
};

/// \brief A Tpetra operator, such as Ifpack2's and MueLu's, as a preconditioner of Solder's
/// solvers. CG needs one that is Hermitian positive definite; one that varies needs GMRES's form
/// `flexible`.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto preconditioner_from_tpetra(
    Teuchos::RCP<Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node> const> const& M) {
  using Vectors = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Exec = typename Node::execution_space;
  using Number = typename Vectors::impl_scalar_type;
  using Columns = typename Vectors::dual_view_type::t_dev;
  auto const map = M->getDomainMap();
  auto const rows = static_cast<std::int32_t>(map->getLocalNumElements());
  return Apply<Number, Exec>(rows, [M, map](Exec const&, auto const& r, auto const& z) {
    Vectors const of_r(map, Columns(const_cast<Number*>(r.data()), r.extent(0), 1));
    Vectors of_z(map, Columns(z.data(), z.extent(0), 1));
    M->apply(of_r, of_z);
  });
}

}  // namespace Solder
