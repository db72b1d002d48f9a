// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/program.hpp>
#include <solder/core/ranks.hpp>
#include <solder/core/stage.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/open_matrix.hpp>

namespace Solder {

/// \brief Ranks that share a matrix, and the exchange between them before each product.
/// \ingroup ranks
template <class Scalar>
class Halo : public Ranks {
 public:
  /// \brief Begins to fill the ghosts, the entries of x that this rank needs of others. All ranks
  /// call it together. An earlier exchange that nobody has finished is given up. \param x this
  /// rank's entries, on the host; it may be changed again before finish()
  virtual void begin(Scalar const* x, Scalar* ghosts) const = 0;
  /// \brief Waits until the ghosts are there; returns at once where nothing has begun.
  virtual void finish() const = 0;
  /// \brief The other way: adds each ghost to the entry of x, on the rank that has it. All ranks
  /// call it together.
  virtual void add_back(Scalar const* ghosts, Scalar* x) const = 0;
  /// \brief begin() and finish().
  void exchange(Scalar const* x, Scalar* ghosts) const {
    begin(x, ghosts);
    finish();
  }
};

/// \brief A matrix whose rows are dealt to ranks, on hosts: a solver takes it as any other, and
/// each rank gives its rows of b and x. Solved by the runner launch, one right-hand side after
/// another.
///
/// A rank of one thread goes through the rows that need no ghost while the others' entries of x are
/// under way. A preconditioner is each rank's own, made of own_block(); or over all ranks, made of
/// this matrix: Chebyshev, with an inner one of own_block(), DistributedFsai and Schwarz.
/// \ingroup ranks
template <class Scalar, class Exec>
class DistributedMatrix {
 public:
  using scalar_type = Scalar;  ///< of its entries

  /// \param local this rank's rows, which are not copied. Column j is the unknown of its row j, or
  /// from rows() on ghost j - rows() of `halo`
  /// \throws std::invalid_argument if it has fewer columns than rows
  template <class Offset>
  DistributedMatrix(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& local,
                    std::shared_ptr<Halo<Scalar> const> halo)
      : rows_(Impl::csr_on_host(local.device_operator())),
        columns_(local.columns()),
        nonzeros_(local.nonzeros()),
        words_(local.words()),
        version_(local.version()),
        arrays_(std::make_shared<CsrMatrix<Scalar, Exec, Offset>>(local)),
        halo_(std::move(halo)) {
    static_assert(Impl::is_host_space<Exec>,
                  "Solder::DistributedMatrix: ranks solve together on hosts only, so far");
    std::int32_t const n = rows();
    if (columns_ < n)
      throw std::invalid_argument(
          "Solder::DistributedMatrix: a rank's rows need a column for each of them, and one for "
          "each ghost: " +
          std::to_string(columns_) + " columns are fewer than " + std::to_string(n) + " rows");
    auto const state = std::make_shared<State>();
    state->ghosts = Impl::allocate_zero_view<decltype(state->ghosts)>(
        exec, "Solder::distributed::ghosts", ghosts());
    exec.fence("Solder::distributed: made");
    for (std::int32_t i = 0; i < n; ++i)
      if (std::any_of(rows_.columns + row_begin(i), rows_.columns + row_begin(i + 1),
                      [n](std::int32_t j) { return j >= n; }))
        state->rows.push_back(i);
    state->of = {state->ghosts.data(), n, state->rows.data(),
                 static_cast<std::int32_t>(state->rows.size())};
    if (rows_.teams == 1) {  // else any of several threads would call MPI
      state->of.halo = halo_.get();
      state->of.finish = [](void const* of) { static_cast<Halo<Scalar> const*>(of)->finish(); };
    }
    state_ = state;
    if (ghosts() > 0) rows_.ghosts = &state_->of;
  }

  /// \brief Number of rows, and of columns, that this rank has.
  std::int32_t rows() const { return rows_.rows.count; }
  /// \brief The same: solvers see a square matrix.
  std::int32_t columns() const { return rows(); }
  /// \brief Entries of x that this rank needs of others.
  std::int32_t ghosts() const { return columns_ - rows(); }
  /// \brief Nonzeros of this rank's rows.
  std::int64_t nonzeros() const { return nonzeros_; }
  /// \brief Words of sizeof(Scalar) that one product reads from the matrix.
  double words() const { return words_; }
  /// \brief Where row i begins among the columns and values; where the last one ends for rows().
  std::int64_t row_begin(std::int32_t i) const {
    return rows_.wide_offsets != nullptr ? rows_.wide_offsets[i] : rows_.row_offsets[i];
  }
  /// \brief [nonzeros()]: row j of this rank, or ghost j - rows().
  std::int32_t const* column_indices() const { return rows_.columns; }
  /// \brief [nonzeros()]
  Scalar const* values() const { return rows_.values; }
  /// \brief Says that values were changed in place; see CsrMatrix::values_changed(). All ranks say
  /// it, whoever has changed some.
  void values_changed() const { version_.change(); }
  /// \brief The exchange of ghosts.
  std::shared_ptr<Halo<Scalar> const> const& halo() const { return halo_; }
  /// \cond kernels
  Impl::HostOperator<Scalar> device_operator() const { return rows_; }
  Ranks const* ranks() const { return halo_.get(); }
  Impl::Version const& version() const { return version_; }
  auto before(Phase phase, Place<Scalar const> const& x) const {
    return program(HostStage{phase, [halo = halo_, state = state_, x](At const& at) {
                               halo->begin(x.at(at), state->ghosts.data());
                               if (state->of.finish == nullptr || state->of.count == 0)
                                 halo->finish();
                             }});
  }
  /// \endcond

  /// \brief The square matrix of this rank's rows and columns: what is left without ghosts.
  CsrMatrix<Scalar, Exec> own_block(Exec const& exec) const {
    exec.fence("Solder::distributed: the rows are there");
    HostCsr<Scalar> own{rows(), rows(), {0}, {}, {}};
    for (std::int32_t i = 0; i < rows(); ++i) {
      for (auto k = row_begin(i); k < row_begin(i + 1); ++k)
        if (rows_.columns[k] < rows()) {
          own.columns.push_back(rows_.columns[k]);
          own.values.push_back(rows_.values[k]);
        }
      own.row_offsets.push_back(static_cast<std::int64_t>(own.columns.size()));
    }
    CsrMatrix<Scalar, Exec> block(exec, own);
    block.is_part_of(version_);
    return block;
  }

 private:
  struct State {
    Kokkos::View<Scalar*, typename Exec::memory_space> ghosts;
    std::vector<std::int32_t> rows;  ///< that have some
    Impl::GhostRows<Scalar> of;
  };

  Impl::HostOperator<Scalar> rows_;
  std::int32_t columns_;
  std::int64_t nonzeros_;
  double words_;
  Impl::Version version_;
  std::shared_ptr<void const> arrays_;  ///< of rows_
  std::shared_ptr<Halo<Scalar> const> halo_;
  std::shared_ptr<State const> state_;
};

template <class Scalar, class Exec, class Offset, class Of>
DistributedMatrix(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, std::shared_ptr<Of>)
    -> DistributedMatrix<Scalar, Exec>;

}  // namespace Solder
