// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CG in one stage an iteration, for kernels of a whole solve. The next p is M r - alpha M q + beta
// p: its product is that combination of three products, which need neither alpha nor beta and so
// are done while the sums that these are made of are gathered. What is stored of r, p and q is read
// by other teams, so each has two arrays alternately, one after the other.
//
// Where M = F^H F is split, it is the step that the product by F takes along, and an iteration is
// three stages: q = A p; F r = F r - alpha F q; and the direction, by F^H.

#include <cstddef>
#include <cstdint>

#include <solder/core/identity.hpp>
#include <solder/solvers/detail/cg_decisions.hpp>
#include <solder/solvers/detail/double_buffered.hpp>

namespace Solder::Impl {

/// \brief What the next r, z and p of a row are made of. M being pointwise and linear, z = d r.
template <class Scalar>
struct CgParts {
  Scalar r, p, q, d;

  template <class S>
  KOKKOS_FORCEINLINE_FUNCTION Scalar next_r(S const& s) const {
    return r - s.alpha * q;
  }
  template <class S>
  KOKKOS_FORCEINLINE_FUNCTION Scalar next_p(S const& s) const {
    return d * next_r(s) + s.beta * p;
  }
};

/// \brief The next p = M (r - alpha q) + beta p, made of r, q and p where an entry is needed.
template <class Scalar, class M>
struct CgMadeDirection : Weighted<Scalar, M> {
  Scalar const *r, *p, *q, *x;

  bool operator==(CgMadeDirection const&) const = default;

  struct Own {
    CgParts<Scalar> parts;
    Scalar x;
  };
  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 3> terms(auto const& s, Weight<Scalar, M> const& w,
                                                     std::int32_t j) const {
    std::ptrdiff_t const at = s.from + j;
    return {{w.ad(r[at]), w.ad(q[at]), w.a(p[at])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const& s, Terms<Scalar, 3> const& t) const {
    return narrow<Scalar>(t.of[0] - double(s.alpha) * t.of[1] + double(s.beta) * t.of[2]);
  }
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const& s, std::int32_t i) const {
    std::ptrdiff_t const at = s.from + i;
    return {{r[at], p[at], q[at], this->m(i, Scalar(1))}, x[i]};
  }
};

/// \brief The first p = M s of the true residual s.
template <class Scalar, class M>
struct CgMadeBeginning : ScaledVector<Scalar, M> {
  bool operator==(CgMadeBeginning const&) const = default;

  struct Own {
    Scalar s, d;
  };
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const&, std::int32_t i) const {
    return {this->s[i], this->m(i, Scalar(1))};
  }
};

/// \brief Leaves the true residual where the residual check has put it: Phase::begin goes on from
/// there.
struct CgMergedBegin {
  static constexpr std::size_t sums = 0;
  struct Scalars {};

  bool operator==(CgMergedBegin const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void scalars(Team const&, Control& next, Scalars&) const {
    next.phase = Phase::begin;
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t, Scalar const&, Scalars const&,
                                       Sums<0>&) const {}
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const&, Sums<0> const&, Control const&,
                                       Control&) const {}
};

/// \brief What both stages store of a row, and sum: r, p and q = A p, which is handed out; (r, z),
/// (r, r), (p, q) and, for the prediction of beta, (q, M q).
template <class Scalar, class Norms>
struct CgMerged : DoubleBuffered {
  static constexpr std::size_t norms = Norms::norms, sums = Norms::size;

  Scalar *r, *p, *q;
  DoubleBufferedSum<sums> left;

  bool operator==(CgMerged const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void store(std::ptrdiff_t at, CgParts<Scalar> const& row,
                                         Sums<sums>& mine) const {
    r[at] = row.r;
    p[at] = row.p;
    q[at] = row.q;
    mine[0] += real_dot(row.r, row.d * row.r);
    if constexpr (norms == 2) mine[1] += abs_squared(row.r);
    mine[sums - 2] += real_dot(row.p, row.q);
    mine[sums - 1] += real_dot(row.q, row.d * row.q);
  }
};

/// \brief Begins from the true residual s: r = s, p = M r, q = A p. Words: the matrix, M, and 4 a
/// row.
template <class Scalar, class Norms>
struct CgFirstTurn : FromTruth<CgMerged<Scalar, Norms>> {
  using typename FromTruth<CgMerged<Scalar, Norms>>::Scalars;
  static constexpr std::size_t sums = Norms::size;

  bool operator==(CgFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& s,
                                       Sums<sums>& mine) const {
    Scalar const r = made.own.s, d = made.own.d;
    this->shared.store(s.to + i, {r, d * r, made.value, d}, mine);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    this->shared.left.of(now.iteration).leave(team, mine);
    next.phase = Phase::iterate;
  }
};

/// \brief An iteration and the next one's product: x += alpha p, r -= alpha q, p = M r + beta p,
/// q = A p, the row of q being handed out. Words: the matrix, M, and 8 a row.
template <class Scalar, class Norms>
struct CgTurn : CgDecision<Scalar, true, Norms> {
  static constexpr std::size_t sums = Norms::size;
  struct Scalars : CgDecision<Scalar, true, Norms>::Scalars {
    std::ptrdiff_t from, to;
  };

  CgMerged<Scalar, Norms> shared;
  Scalar* x;

  bool operator==(CgTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    shared.tell(now, s);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& s,
                                       Sums<sums>& mine) const {
    CgParts<Scalar> const& old = made.own.parts;
    x[i] = made.own.x + s.alpha * old.p;
    shared.store(s.to + i, {old.next_r(s), old.next_p(s), made.value, old.d}, mine);
  }
};

/// \brief The next r = r - alpha q, made of r and q where an entry is needed: what the first factor
/// of a split M is applied to.
template <class Scalar>
struct CgMadeResidual : Weighted<Scalar, NoOperation> {
  Scalar const *r, *q, *p, *x;

  bool operator==(CgMadeResidual const&) const = default;

  struct Own {
    Scalar r, q, p, x;
  };
  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 2> terms(auto const& s,
                                                     Weight<Scalar, NoOperation> const& w,
                                                     std::int32_t j) const {
    return {{w.a(r[s.from + j]), w.a(q[j])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const& s, Terms<Scalar, 2> const& t) const {
    return narrow<Scalar>(t.of[0] - double(s.alpha) * t.of[1]);
  }
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const& s, std::int32_t i) const {
    return {r[s.from + i], q[i], p[i], x[i]};
  }
};

/// \brief What the stages of a split M = F^H F share: r twice, t = F r, which is handed out, and
/// (r, z) = ||t||^2 with (r, r).
template <class Scalar>
struct CgSplit : DoubleBuffered {
  static constexpr std::size_t sums = 2;

  Scalar *r, *t;
  DoubleBufferedSum<sums> left;

  bool operator==(CgSplit const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void store(std::int32_t i, std::ptrdiff_t to, Scalar const& r_i,
                                         Scalar const& t_i, Sums<sums>& mine) const {
    r[to + i] = r_i;
    t[i] = t_i;
    mine[0] += abs_squared(t_i);
    mine[1] += abs_squared(r_i);
  }
};

/// \brief Begins from the true residual s: r = s, t = F s. Words: F, and 3 a row.
template <class Scalar>
struct CgSplitFirstTurn : FromTruth<CgSplit<Scalar>> {
  using typename FromTruth<CgSplit<Scalar>>::Scalars;
  static constexpr std::size_t sums = CgSplit<Scalar>::sums;

  Scalar const* s;

  bool operator==(CgSplitFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& t, Scalars const& scalars,
                                       Sums<sums>& mine) const {
    this->shared.store(i, scalars.to, s[i], t, mine);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const& now,
                                       Control&) const {
    this->shared.left.of(now.iteration).leave(team, mine);
  }
};

/// \brief The step, and the first factor of M: x += alpha p, r -= alpha q, t = F r, the row of t
/// being handed out. Words: F, and 7 a row.
template <class Scalar>
struct CgSplitTurn : CgDecision<Scalar, false, CgSums<CgNorms::together, 1>> {
  using Decision = CgDecision<Scalar, false, CgSums<CgNorms::together, 1>>;
  static constexpr std::size_t sums = CgSplit<Scalar>::sums;
  struct Scalars : Decision::Scalars {
    std::ptrdiff_t from, to;
  };

  CgSplit<Scalar> shared;
  Scalar* x;

  bool operator==(CgSplitTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    shared.tell(now, s);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& s,
                                       Sums<sums>& mine) const {
    auto const& old = made.own;
    x[i] = old.x + s.alpha * old.p;
    shared.store(i, s.to, old.r - s.alpha * old.q, made.value, mine);
  }
};

}  // namespace Solder::Impl
