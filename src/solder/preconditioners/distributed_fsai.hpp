// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include <solder/matrix/distributed.hpp>
#include <solder/matrix/ghost_rows.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/fsai.hpp>

namespace Solder {

/// \brief Fsai over all ranks: rows of G reach into the halo.
///
/// The rows are those of Fsai of the whole matrix, in the order of the ranks, except that a pattern
/// ends where it would reach beyond the ghosts (k >= 2, adaptive): with k = 1 the preconditioner is
/// the same for any number of ranks. An application takes an exchange before the product with G,
/// and one after that with G^H. All ranks make it together. \ingroup ranks
template <class Scalar, class Exec>
class DistributedFsai
    : public Impl::PreconditionerBase<DistributedFsai<Scalar, Exec>, Exec, Scalar> {
 public:
  /// \brief Type of the entries and of the vectors.
  using scalar_type = Scalar;

  /// \brief Brings the rows of the ghosts here and computes this rank's rows of G. \throws as Fsai
  /// does, on all ranks
  DistributedFsai(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                  FsaiOptions const& options = {})
      : options_(options) {
    refresh(exec, A);
  }
  /// \brief Sets up again, for other values or another matrix. If it throws, nothing changes.
  void refresh(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
    Impl::together(A.ranks(), [&] {
      check(options_, "Solder::DistributedFsai");
      State made = made_for(exec, A);
      if (state_ == nullptr)
        state_ = std::make_shared<State>(std::move(made));
      else
        *state_ = std::move(made);
      this->set_made_of(A);
    });
  }

  /// \brief Rows of this rank.
  std::int32_t rows() const { return state_->G->rows(); }
  /// \brief This rank's rows of G; the ghosts follow its own columns.
  DistributedMatrix<Scalar, Exec> const& G() const { return *state_->G; }
  /// \brief What the set-up of the rank's rows, and of those of its ghosts, cost and gave.
  SetupReport const& setup() const { return state_->setup; }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  template <class Of>
  double words(std::int32_t rows) const {
    return (G().words() + state_->GH->words()) * sizeof(Scalar) / sizeof(Of) + 5.0 * rows;
  }

  /// \cond kernels
  template <class OpenedG>
  struct Opened {
    static constexpr bool is_identity = false, is_pointwise = false, is_split = false,
                          on_device = false;

    OpenedG G;
    CsrOperator<Scalar, std::int32_t> GH;
    std::shared_ptr<Halo<Scalar> const> halo;
    std::int32_t GH_league, league;
    Scalar *t, *z;  ///< z of the rows and the ghosts
    Rows dealt;

    Rows rows(Rows const& of_matrix) const { return of_matrix; }

    template <class Vector>
    auto apply(Phase phase, Vector const& r) const {
      auto const Gr = G.apply(phase, r);
      Product<CsrOperator<Scalar, std::int32_t>, Scalar const*> const GHt{GH, GH_league, t};
      HostStage const back{
          phase, [halo = halo, z = z, n = dealt.count](At const&) { halo->add_back(z + n, z); }};
      return application(program(Gr.before, stage("Solder::fsai::factor", phase, Gr.rows, store(t)),
                                 stage("Solder::fsai::transposed", phase, GHt, store(z)), back),
                         PlacedRange<Scalar const*>{dealt, league, z});
    }
  };

  auto open(Arena<Exec>& arena) const {
    auto const G_opened = open_matrix(arena, *state_->G);
    auto const of_GH = state_->GH->device_operator();
    Rows const dealt = arena.equal_rows(rows());
    return Opened<std::remove_const_t<decltype(G_opened)>>{
        G_opened,
        of_GH,
        state_->G->halo(),
        arena.teams(of_GH.teams),
        arena.teams(dealt.teams),
        arena.template array<Scalar>("Solder::fsai::t", rows()),
        arena.template array<Scalar>("Solder::fsai::z", state_->GH->rows()),
        dealt};
  }
  /// \endcond

 private:
  struct State {
    std::optional<DistributedMatrix<Scalar, Exec>> G;
    std::optional<CsrMatrix<Scalar, Exec>> GH;  ///< its rows: those of this rank, and the ghosts'
    SetupReport setup;
  };

  State made_for(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) const {
    auto const block = Impl::enlarged_block(exec, A);
    HostCsr<Scalar> const& rows = block.rows;
    // In the order of all rows, in which G is triangular.
    std::vector<std::int32_t> order(std::size_t(rows.rows)), place(std::size_t(rows.rows));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return block.numbers[a] < block.numbers[b]; });
    for (std::int32_t k = 0; k < rows.rows; ++k) place[order[k]] = k;
    HostCsr<Scalar> ordered{rows.rows, rows.rows, {0}, {}, {}};
    for (std::int32_t const i : order) {
      for (auto e = rows.row_offsets[i]; e < rows.row_offsets[i + 1]; ++e) {
        ordered.columns.push_back(place[rows.columns[e]]);
        ordered.values.push_back(rows.values[e]);
      }
      ordered.row_offsets.push_back(static_cast<std::int64_t>(ordered.columns.size()));
    }
    Fsai<Scalar, Exec> const of_block(exec, CsrMatrix<Scalar, Exec>(exec, ordered), options_);
    exec.fence("Solder::fsai: the rows are there");
    auto const offsets = of_block.G().row_offsets();
    auto const columns = of_block.G().column_indices();
    auto const values = of_block.G().values();
    HostCsr<Scalar> own{A.rows(), rows.rows, {0}, {}, {}};
    for (std::int32_t i = 0; i < A.rows(); ++i) {
      std::int32_t const k = place[i];
      for (auto e = offsets(k); e < offsets(k + 1); ++e) {
        own.columns.push_back(order[columns(e)]);
        own.values.push_back(values(e));
      }
      own.row_offsets.push_back(static_cast<std::int64_t>(own.columns.size()));
    }
    CsrMatrix<Scalar, Exec> const G(exec, own);
    return {DistributedMatrix<Scalar, Exec>(exec, G, A.halo()), conjugate_transpose(exec, G),
            of_block.setup()};
  }

  FsaiOptions options_;
  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Scalar, class Exec>
DistributedFsai(Exec const&, DistributedMatrix<Scalar, Exec> const&, FsaiOptions const& = {})
    -> DistributedFsai<Scalar, Exec>;

}  // namespace Solder
