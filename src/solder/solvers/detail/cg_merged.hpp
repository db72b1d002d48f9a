// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CG in one stage an iteration, for kernels of a whole solve. The next p is M r - alpha M q +
// beta p: its product is that combination of three products, which need neither alpha nor beta and
// so are computed while the sums for these are gathered. Other teams read r, p and q meanwhile:
// each has two arrays, used alternately.
//
// Where M = F^H F is split, the product by F does the step, and an iteration is three stages:
// q = A p; F r = F r - alpha F q; and the direction, by F^H.

#include <cstddef>
#include <cstdint>

#include <solder/core/identity.hpp>
#include <solder/solvers/detail/cg_decisions.hpp>
#include <solder/solvers/detail/double_buffered.hpp>

namespace Solder::Impl {

/// \brief r, p and q, each twice.
template <class Scalar>
struct CgVectors : DoubleBuffered {
  Scalar *r, *p, *q;

  bool operator==(CgVectors const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void store(std::ptrdiff_t at, Scalar const& r_i, Scalar const& p_i,
                                         Scalar const& q_i) const {
    r[at] = r_i;
    p[at] = p_i;
    q[at] = q_i;
  }
};

/// \brief The first p = M s of the true residual s.
template <class Scalar, class M>
struct CgMadeBeginning : ScaledVector<Scalar, M> {
  struct Own {
    Scalar s, d;
  };

  bool operator==(CgMadeBeginning const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const&, std::int32_t i) const {
    return {this->s[i], this->m(i, Scalar(1))};
  }
};

/// \brief Begins from the true residual: r, p = M r, q = A p, whose row is handed out. Words: the
/// matrix, M, and 4 a row.
template <class Begin, class Product, class M, class Scalar, class Decision>
struct CgFirstTurn : Alternately<Decision, CgVectors<Scalar>> {
  bool operator==(CgFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    Factor<M, Scalar> const m{made.own.d};
    Scalar r, p, q;
    Begin::row(m, r, p, made.own.s, s, mine);
    Product::row(m, p, q, made.value, mine);
    this->shared.store(s.from + i, r, p, q);
  }
};

/// \brief The next p = M (r - alpha q) + beta p, made of r, q and p where an entry is needed.
template <class Scalar, class M>
struct CgMadeDirection : Weighted<Scalar, M> {
  struct Own {
    Scalar r, p, q, d, x;
  };

  CgVectors<Scalar> of;
  Scalar const* x;

  bool operator==(CgMadeDirection const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 3> terms(auto const& s, Weight<Scalar, M> const& w,
                                                     std::int32_t j) const {
    std::ptrdiff_t const at = s.from + j;
    return {{w.ad(of.r[at]), w.ad(of.q[at]), w.a(of.p[at])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const& s, Terms<Scalar, 3> const& t) const {
    return narrow<Scalar>(t.of[0] - double(s.alpha) * t.of[1] + double(s.beta) * t.of[2]);
  }
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const& s, std::int32_t i) const {
    std::ptrdiff_t const at = s.from + i;
    return {of.r[at], of.p[at], of.q[at], this->m(i, Scalar(1)), x[i]};
  }
};

/// \brief The update, and the next product, q = A p, whose row is handed out. Words: the matrix, M,
/// and 8 a row.
template <class Update, class Product, class M, class Scalar, class Decision>
struct CgTurn : Alternately<Decision, CgVectors<Scalar>> {
  Scalar* x;

  bool operator==(CgTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    auto [r, p, q, d, x_i] = made.own;
    Factor<M, Scalar> const m{d};
    Update::row(m, x_i, r, p, q, s, mine);
    Product::row(m, p, q, made.value, mine);
    x[i] = x_i;
    this->shared.store(s.to + i, r, p, q);
  }
};

/// \brief What the stages of a split M share: r twice, and t = F r, which is handed out.
template <class Scalar>
struct CgSplit : DoubleBuffered {
  Scalar *r, *t;

  bool operator==(CgSplit const&) const = default;

  /// With (r, z) = ||t||^2 and (r, r).
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int32_t i, std::ptrdiff_t to, Scalar const& r_i,
                                         Scalar const& t_i, auto& mine) const {
    r[to + i] = r_i;
    t[i] = t_i;
    mine[0] += abs_squared(t_i);
    mine[1] += abs_squared(r_i);
  }
};

/// \brief Begins from the true residual s: r = s, t = F s. Words: F, and 3 a row.
template <class Scalar>
struct CgSplitFirstTurn : Alternately<Begins<DoubleBufferedSum<2>, Phase::begin>, CgSplit<Scalar>> {
  Scalar const* s;

  bool operator==(CgSplitFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& t, auto const& at,
                                       auto& mine) const {
    this->shared.store(i, at.from, s[i], t, mine);
  }
};

/// \brief The next r = r - alpha q, made of r and q where an entry is needed: what the first factor
/// of a split M is applied to.
template <class Scalar>
struct CgMadeResidual : Weighted<Scalar, NoOperation> {
  struct Own {
    Scalar r, q, p, x;
  };

  Scalar const *r, *q, *p, *x;

  bool operator==(CgMadeResidual const&) const = default;

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

/// \brief x += alpha p, r -= alpha q, t = F r, whose row is handed out. Words: F, and 7 a row.
template <class Scalar>
struct CgSplitTurn
    : Alternately<CgDecision<Scalar, false, CgSums<CgNorms::together, 1>>, CgSplit<Scalar>> {
  Scalar* x;

  bool operator==(CgSplitTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    auto const& [r, q, p, x_i] = made.own;
    x[i] = x_i + s.alpha * p;
    this->shared.store(i, s.to, r - s.alpha * q, made.value, mine);
  }
};

}  // namespace Solder::Impl
