// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <solder/matrix/distributed.hpp>
#include <solder/matrix/ghost_rows.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/incomplete.hpp>

namespace Solder {

namespace Impl {

/// \brief to = D v, where the source hands out v. Words: 2 a row.
template <class Scalar>
struct StoreScaled {
  Scalar const* scale;
  Scalar* to;

  bool operator==(StoreScaled const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value) const {
    to[i] = scale[i] * value;
  }
};

}  // namespace Impl

/// \brief Overlapping Schwarz with one layer, over all ranks: each rank factorises its rows and
/// those of its ghosts together.
///
/// With ilu0, iluk and ilut a rank keeps the entries of its own rows alone: restricted Schwarz (Cai
/// and Sarkis, A restricted additive Schwarz preconditioner for general sparse linear systems, SIAM
/// J. Sci. Comput. 21, 1999), which is not Hermitian. With ic0, ick and ict each entry that m ranks
/// have is scaled by 1 / sqrt(m) before and after the factors, and the ranks' results are added up;
/// this is Hermitian, for CG. An application takes an exchange before the factors, with ic0, ick
/// and ict one after them too, and what Incomplete takes. All ranks make it together.
/// \ingroup ranks
template <class Scalar, class Exec>
class Schwarz : public Impl::PreconditionerBase<Schwarz<Scalar, Exec>, Exec, Scalar> {
 public:
  /// \brief Type of the entries and of the vectors.
  using scalar_type = Scalar;

  /// \brief Brings the rows of the ghosts here and factorises. \throws as Incomplete does, on all
  /// ranks
  Schwarz(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A, Factorisation kind,
          IncompleteOptions const& options = {})
      : state_(std::make_shared<State>()) {
    Impl::together(A.ranks(), [&] {
      state_->factors.emplace(exec, block_of(exec, A), kind, options);
      take(exec, A);
    });
  }
  /// \brief Sets up again for other values, or another matrix of the same ranks and ghosts.
  void refresh(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
    Impl::together(A.ranks(), [&] {
      state_->factors->refresh(exec, block_of(exec, A));
      take(exec, A);
    });
  }

  /// \brief Rows of this rank.
  std::int32_t rows() const { return state_->rows; }
  /// \brief The factors of its rows and its ghosts' rows together.
  Incomplete<Scalar, Exec> const& factors() const { return *state_->factors; }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const { return factors().failure(); }
  /// \brief What its set-up cost and gave.
  SetupReport setup() const { return factors().setup(); }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  template <class Of>
  double words(std::int32_t rows) const {
    return factors().template words<Of>(factors().rows()) + 6.0 * rows;
  }

  /// \cond kernels
  template <class Inner>
  struct Opened {
    static constexpr bool is_identity = false, is_pointwise = false, is_split = false,
                          on_device = false;

    Inner factors;
    std::shared_ptr<Halo<Scalar> const> halo;
    bool adds_back;
    Scalar const* scale;
    Scalar *r, *z;  ///< these three of the rows and the ghosts
    Rows dealt;
    std::int32_t league;

    Rows rows(Rows const& of_matrix) const { return of_matrix; }

    template <class Vector>
    auto apply(Phase phase, Vector const& given) const {
      auto const from = as_read(given);
      using Own = PlacedRange<std::remove_const_t<decltype(from)>>;
      using Scaled = Impl::StoreScaled<Scalar>;
      std::int32_t const n = dealt.count;
      auto const own =
          stage("Solder::schwarz::own", phase, Own{dealt, league, from}, Scaled{scale, r});
      HostStage const bring{phase, [*this, n](At const&) { halo->exchange(r, r + n); }};
      auto const solved = factors.apply(phase, r);
      HostStage const back{phase, [*this, n](At const&) {
                             if (adds_back) halo->add_back(z + n, z);
                           }};
      return application(
          program(own, bring, solved.before,
                  stage("Solder::schwarz::solve", phase, solved.rows, Scaled{scale, z}), back),
          PlacedRange<Scalar const*>{dealt, league, z});
    }
  };

  auto open(Arena<Exec>& arena) const {
    auto inner = open_preconditioner<Scalar>(arena, factors());
    std::int32_t const all = factors().rows();
    Rows const dealt = arena.equal_rows(rows());
    return Opened<decltype(inner)>{inner,
                                   state_->halo,
                                   is_hermitian(factors().kind()),
                                   state_->scale.data(),
                                   arena.template array<Scalar>("Solder::schwarz::r", all),
                                   arena.template array<Scalar>("Solder::schwarz::z", all),
                                   dealt,
                                   arena.teams(dealt.teams)};
  }
  /// \endcond

 private:
  struct State {
    std::shared_ptr<Halo<Scalar> const> halo;
    std::int32_t rows = 0;
    std::optional<Incomplete<Scalar, Exec>> factors;
    Kokkos::View<Scalar*, typename Exec::memory_space> scale;  ///< of its rows
  };
  void take(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
    std::int32_t const n = A.rows(), all = n + A.ghosts();
    Impl::AllOrNone ready(A.ranks());
    state_->halo = A.halo();
    state_->rows = n;
    auto& scale = state_->scale = Impl::allocate_view<decltype(state_->scale)>(
        exec, "Solder::schwarz::scale", std::size_t(all));
    std::fill(scale.data(), scale.data() + all, Scalar(1));
    ready.reach();
    if (is_hermitian(factors().kind())) {
      A.halo()->add_back(scale.data() + n, scale.data());  // how many ranks have each row
      for (std::int32_t i = 0; i < n; ++i)
        scale(i) = Impl::to_real<Scalar>(std::pow(Impl::abs_squared(scale(i)), -0.25));
      A.halo()->exchange(scale.data(), scale.data() + n);
    }
    this->set_made_of(A);
  }
  static CsrMatrix<Scalar, Exec> block_of(Exec const& exec,
                                          DistributedMatrix<Scalar, Exec> const& A) {
    return {exec, Impl::enlarged_block(exec, A).rows};
  }

  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Scalar, class Exec>
Schwarz(Exec const&, DistributedMatrix<Scalar, Exec> const&, Factorisation,
        IncompleteOptions const& = {}) -> Schwarz<Scalar, Exec>;

}  // namespace Solder
