// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder {

namespace Impl {

/// \brief t = F r, and ||t||^2 = (r, z) if N = 1. Words: 1 a row.
template <class Scalar, std::size_t N>
struct SplitFactor {
  static constexpr std::size_t sums = N;

  Scalar* t;
  DoubleBufferedSum<N> rz;

  bool operator==(SplitFactor const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<N>& mine) const {
    t[i] = value;
    if constexpr (N == 1) mine[0] += abs_squared(value);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<N> const& mine, Control const& now,
                                       Control&) const {
    if constexpr (N == 1) rz.of(now.iteration).leave(team, mine);
  }
};

}  // namespace Impl

/// \brief A factorised approximate inverse M = G^H G in a program: one kernel computes t = G r and
/// (r, z) = ||t||^2; the rows of z = G^H t are then handed out.
template <class Scalar, class Factor, class Offset>
struct FsaiOperator {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = true,
                        takes_columns = true, takes_batches = true;

  CsrOperator<Factor, Offset> G, GH;
  std::int32_t G_league, GH_league;
  Scalar* t;

  /// \brief Opens the factors and allocates t in the arena.
  template <class Exec>
  FsaiOperator(Arena<Exec>& arena, CsrOperator<Factor, Offset> const& G_,
               CsrOperator<Factor, Offset> const& GH_)
      : G(G_),
        GH(GH_),
        G_league(arena.teams(G_.teams)),
        GH_league(arena.teams(GH_.teams)),
        t(arena.template vector<Scalar>("Solder::fsai::t", G_.rows.count)) {}

  /// \brief Vector stages deal rows in the same way as the factors' kernels.
  Rows rows(Rows const&) const { return {G.rows.count, G.teams, G.rows.bounds}; }

  std::int32_t inner_teams() const { return G_league; }

  /// \brief G r, for an r at a pointer or a Place, or for an r that is formed row by row without
  /// being stored (see MadeProduct). The result must be stored at inner().
  template <class Vector>
  Product<CsrOperator<Factor, Offset>, Vector> apply_inner(Vector const& r) const {
    return {G, G_league, r};
  }
  template <class Vector>
  MadeProduct<CsrOperator<Factor, Offset>, Vector> apply_inner_made(Vector const& r) const {
    return {G, G_league, r};
  }
  Scalar* inner() const { return t; }
  /// \brief G^H times the vector stored at inner().
  auto apply_outer() const {
    return Product<CsrOperator<Factor, Offset>, Scalar const*>{GH, GH_league, t};
  }

  /// \param r a pointer, or a Place
  template <class Vector>
  auto apply(Phase phase, Vector const& r) const {
    return applied(phase, as_read(r), Impl::SplitFactor<Scalar, 0>{t, {}});
  }
  template <class Vector>
  auto apply(Phase phase, Vector const& r, DoubleBufferedSum<1> const& rz) const {
    return applied(phase, as_read(r), Impl::SplitFactor<Scalar, 1>{t, rz});
  }

 private:
  template <class Vector, class Body>
  auto applied(Phase phase, Vector const& r, Body const& body) const {
    return application(program(stage("Solder::fsai::factor", phase, apply_inner(r), body)),
                       apply_outer());
  }
};

}  // namespace Solder
