// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/program.hpp>
#include <solder/core/ranks.hpp>
#include <solder/core/source.hpp>
#include <solder/core/stage.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder {

/// \brief Ranks that have a matrix together, and the exchange between them before each product.
/// \ingroup ranks
template <class Scalar>
class Halo : public Ranks {
 public:
  /// \brief Fills the ghosts, the entries of x that this rank needs of others. All ranks call it
  /// together. \param x this rank's entries, on the host
  virtual void exchange(Scalar const* x, Scalar* ghosts) const = 0;
};

namespace Impl {

/// \brief The entries of x that a rank has, and behind them those of others.
template <class Operand, class Scalar>
struct WithGhosts {
  using Value = std::remove_cvref_t<decltype(std::declval<Operand const&>()[0])>;

  Operand const& x;
  Scalar const* ghosts;
  std::int32_t rows;

  KOKKOS_FORCEINLINE_FUNCTION Value operator[](std::int32_t j) const {
    return j < rows ? x[j] : Value(Wide<Scalar>(ghosts[j - rows]));
  }
};

/// \brief A rank's rows of a matrix.
template <class Scalar, class Offset>
struct DistributedOperator {
  static constexpr bool takes_twice = true;

  CsrOperator<Scalar, Offset> A;
  Scalar const* ghosts;
  std::int32_t ghost_count;
  Rows rows;
  std::int32_t teams;

  bool operator==(DistributedOperator const&) const = default;
  /// \brief Without ghosts these rows are those of a CsrMatrix, and as quick.
  CsrOperator<Scalar, Offset> const* compressed_rows() const {
    return ghost_count == 0 ? &A : nullptr;
  }

  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(Team const& team, Operand const& x,
                                                        Prepare const& prepare,
                                                        Consumer const& consume) const {
    return A.for_each_row_product(team, WithGhosts<Operand, Scalar>{x, ghosts, rows.count}, prepare,
                                  consume);
  }
};

}  // namespace Impl

/// \brief A matrix whose rows are dealt to ranks, on hosts: a solver takes it as any other, and
/// each rank gives its rows of b and x. Solved by the runner launch, one right-hand side after
/// another.
///
/// A preconditioner is each rank's own, made of own_block(); or Chebyshev over all ranks, made of
/// this matrix, with an inner one of own_block().
/// \ingroup ranks
template <class Scalar, class Exec, class Offset = std::int32_t>
class DistributedMatrix {
  static_assert(Impl::is_host_space<Exec>,
                "Solder::DistributedMatrix: ranks solve together on hosts only, so far");

 public:
  using scalar_type = Scalar;                     ///< of its entries
  using Local = CsrMatrix<Scalar, Exec, Offset>;  ///< of this rank

  /// \param local this rank's rows. Column j is the unknown of its row j, or from rows() on ghost
  /// j - rows() of `halo`
  /// \throws std::invalid_argument if it has fewer columns than rows
  DistributedMatrix(Exec const& exec, Local const& local, std::shared_ptr<Halo<Scalar> const> halo)
      : local_(local), halo_(std::move(halo)) {
    if (local.columns() < local.rows())
      throw std::invalid_argument(
          "Solder::DistributedMatrix: a rank's rows need a column for each of them, and one for "
          "each ghost: " +
          std::to_string(local.columns()) + " columns are fewer than " +
          std::to_string(local.rows()) + " rows");
    ghosts_ = Impl::allocate_zero_view<decltype(ghosts_)>(exec, "Solder::distributed::ghosts",
                                                          local.columns() - local.rows());
    exec.fence("Solder::distributed: made");
  }

  /// \brief Number of rows, and of columns, that this rank has.
  std::int32_t rows() const { return local_.rows(); }
  /// \brief The same: solvers see a square matrix.
  std::int32_t columns() const { return local_.rows(); }
  /// \brief Nonzeros of this rank's rows.
  std::int64_t nonzeros() const { return local_.nonzeros(); }
  /// \brief Words of sizeof(Scalar) that one product reads from the matrix.
  double words() const { return local_.words(); }
  /// \brief This rank's rows, ghosts behind its own columns.
  Local const& local() const { return local_; }
  /// \cond kernels
  Impl::DistributedOperator<Scalar, Offset> device_operator() const {
    auto const A = local_.device_operator();
    return {A, ghosts_.data(), local_.columns() - local_.rows(), A.rows, A.teams};
  }
  Ranks const* ranks() const { return halo_.get(); }
  Impl::Version const& version() const { return local_.version(); }
  auto before(Phase phase, Place<Scalar const> const& x) const {
    return program(HostStage{phase, [halo = halo_, ghosts = ghosts_, x](At const& at) {
                               halo->exchange(x.at(at), ghosts.data());
                             }});
  }
  /// \endcond

  /// \brief The square matrix of this rank's rows and columns: what is left without ghosts.
  CsrMatrix<Scalar, Exec> own_block(Exec const& exec) const {
    exec.fence("Solder::distributed: the rows are there");
    HostCsr<Scalar> own{rows(), rows(), {0}, {}, {}};
    auto const offsets = local_.row_offsets();
    auto const columns = local_.column_indices();
    auto const values = local_.values();
    for (std::int32_t i = 0; i < rows(); ++i) {
      for (auto k = offsets(i); k < offsets(i + 1); ++k)
        if (columns(k) < rows()) {
          own.columns.push_back(columns(k));
          own.values.push_back(values(k));
        }
      own.row_offsets.push_back(static_cast<std::int64_t>(own.columns.size()));
    }
    CsrMatrix<Scalar, Exec> block(exec, own);
    block.is_part_of(version());
    return block;
  }

 private:
  Local local_;
  std::shared_ptr<Halo<Scalar> const> halo_;
  Kokkos::View<Scalar*, typename Exec::memory_space> ghosts_;
};

}  // namespace Solder
