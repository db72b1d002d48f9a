// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// BiCGStab in two stages an iteration, for kernels of a whole solve: M s = u - alpha M q, and
// p = M s - omega M t + beta (p - omega M q), are combinations whose products are those of what
// they are made of, done while the sums behind alpha, omega and beta are gathered. p and q, which
// other teams read then, have two arrays alternately, one after the other.

#include <cstddef>
#include <cstdint>

#include <solder/solvers/detail/bicgstab_bodies.hpp>
#include <solder/solvers/detail/double_buffered.hpp>

namespace Solder::Impl {

/// \brief d and z of r, M being pointwise and linear: z = d r.
template <class M, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar undo_by(Scalar const& d, Scalar const& z) {
  if constexpr (M::is_identity)
    return z;
  else
    return z / d;
}

/// \brief What the stages share: u = M r, M s, t, rs, and p and q twice, one after another.
template <class Scalar>
struct BiCgStabMerged : DoubleBuffered {
  static constexpr std::int64_t count = 8;  ///< vectors

  Scalar* vectors;  ///< each of `length`

  KOKKOS_FUNCTION Scalar* u() const { return vectors; }
  KOKKOS_FUNCTION Scalar* Ms() const { return vectors + length; }
  KOKKOS_FUNCTION Scalar* t() const { return vectors + 2 * length; }
  KOKKOS_FUNCTION Scalar* rs() const { return vectors + 3 * length; }
  KOKKOS_FUNCTION Scalar* p() const { return vectors + 4 * length; }
  KOKKOS_FUNCTION Scalar* q() const { return vectors + 6 * length; }

  bool operator==(BiCgStabMerged const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void store(std::int32_t i, std::ptrdiff_t at, Scalar const& z,
                                         Scalar const& p_i, Scalar const& q_i, Scalar const& r,
                                         Scalar const& shadow,
                                         Sums<1 + parts<Scalar>>& mine) const {
    u()[i] = z;
    p()[at] = p_i;
    q()[at] = q_i;
    mine[0] += abs_squared(r);
    add_to(mine, 1, dot_term(shadow, q_i));
  }
};

/// \brief The first p = M s of the true residual s, which lies where M s is to be.
template <class Scalar, class M>
struct BiCgStabMadeBeginning : ScaledVector<Scalar, M> {
  Scalar const* rs;

  bool operator==(BiCgStabMadeBeginning const&) const = default;

  struct Own {
    Scalar s, d, rs;
  };
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const&, std::int32_t i) const {
    return {this->s[i], this->m(i, Scalar(1)), rs[i]};
  }
};

/// \brief Goes on from the true residual s: u = p = M s, q = A p. Words: the matrix, M, and 5 a
/// row.
template <class Scalar>
struct BiCgStabFirstTurn : FromTruth<BiCgStabMerged<Scalar>> {
  using typename FromTruth<BiCgStabMerged<Scalar>>::Scalars;
  static constexpr std::size_t sums = 1 + parts<Scalar>;

  Sum<sums> left;  ///< (r, r) and (rs, q)

  bool operator==(BiCgStabFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& s,
                                       Sums<sums>& mine) const {
    auto const& own = made.own;
    Scalar const z = own.d * own.s;
    this->shared.store(i, s.to + i, z, z, made.value, own.s, own.rs, mine);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    left.leave(team, mine);
    next.phase = Phase::iterate;
  }
};

/// \brief M s = u - alpha M q, made of u and q where an entry is needed.
template <class Scalar, class M>
struct BiCgStabMadeHalfStep : Weighted<Scalar, M> {
  BiCgStabMerged<Scalar> from;

  bool operator==(BiCgStabMadeHalfStep const&) const = default;

  struct Own {
    Scalar u, q, d, rs;
  };
  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 2> terms(auto const& s, Weight<Scalar, M> const& w,
                                                     std::int32_t j) const {
    return {{w.a(from.u()[j]), w.ad(from.q()[s.from + j])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const& s, Terms<Scalar, 2> const& t) const {
    return narrow<Scalar>(t.of[0] - Wide<Scalar>(s.alpha) * t.of[1]);
  }
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const& s, std::int32_t i) const {
    return {from.u()[i], from.q()[s.from + i], this->m(i, Scalar(1)), from.rs()[i]};
  }
};

/// \brief The half step and the second product: s = r - alpha q, t = A M s, the row of t being
/// handed out, with (s, s), (t, t), (t, s), (rs, t) and (rs, s). Words: the matrix, M, and 5 a row.
template <class Scalar, class M>
struct BiCgStabHalfTurn : BiCgStabAlpha<Scalar, true> {
  using Base = BiCgStabAlpha<Scalar, true>;
  static constexpr std::size_t width = parts<Scalar>, sums = BiCgStabSums<Scalar>::product;
  struct Scalars : Base::Scalars {
    std::ptrdiff_t from;
  };

  BiCgStabMerged<Scalar> shared;
  Sum<sums> left;

  BiCgStabHalfTurn(BiCgStabSums<Scalar> const& all, BiCgStabMerged<Scalar> const& vectors)
      : Base(all), shared(vectors), left(all.of_second_product) {}
  bool operator==(BiCgStabHalfTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    s.from = shared.of(now.iteration);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& scalars,
                                       Sums<sums>& mine) const {
    auto const& own = made.own;
    Scalar const Ms = own.u - scalars.alpha * (own.d * own.q), t = made.value,
                 s = undo_by<M>(own.d, Ms), shadow = own.rs;
    shared.Ms()[i] = Ms;
    shared.t()[i] = t;
    mine[0] += abs_squared(s);
    mine[1] += abs_squared(t);
    add_to(mine, 2, dot_term(t, s));
    add_to(mine, 2 + width, dot_term(shadow, t));
    add_to(mine, 2 + 2 * width, dot_term(shadow, s));
  }
};

/// \brief p = M r + beta (p - omega M q) with M r = M s - omega M t, made of M s, t, p and q where
/// an entry is needed.
template <class Scalar, class M>
struct BiCgStabMadeDirection : Weighted<Scalar, M> {
  BiCgStabMerged<Scalar> from;
  Scalar const* x;

  bool operator==(BiCgStabMadeDirection const&) const = default;

  struct Parts {
    Scalar Ms, t, p, q, d;

    template <class S>
    KOKKOS_FORCEINLINE_FUNCTION Scalar z(S const& s) const {
      return Ms - s.omega * (d * t);
    }
    template <class S>
    KOKKOS_FORCEINLINE_FUNCTION Scalar next_p(S const& s) const {
      return z(s) + s.beta * (p - s.omega * (d * q));
    }
  };
  struct Own {
    Parts parts;
    Scalar x, rs;
  };
  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 4> terms(auto const& s, Weight<Scalar, M> const& w,
                                                     std::int32_t j) const {
    std::ptrdiff_t const at = s.from + j;
    return {{w.a(from.Ms()[j]), w.ad(from.t()[j]), w.a(from.p()[at]), w.ad(from.q()[at])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const& s, Terms<Scalar, 4> const& t) const {
    Wide<Scalar> const omega(s.omega), beta(s.beta);
    return narrow<Scalar>(t.of[0] - omega * t.of[1] + beta * (t.of[2] - omega * t.of[3]));
  }
  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const& s, std::int32_t i) const {
    std::ptrdiff_t const at = s.from + i;
    return {{from.Ms()[i], from.t()[i], from.p()[at], from.q()[at], this->m(i, Scalar(1))},
            x[i],
            from.rs()[i]};
  }
};

/// \brief The update and the next first product: x += alpha p + omega M s, r = s - omega t,
/// p = M r + beta (p - omega M q), q = A p, the row of q being handed out, with (r, r) and (rs, q).
/// Words: the matrix, M, and 10 a row.
template <class Scalar, class M>
struct BiCgStabTurn : BiCgStabOmega<Scalar, true> {
  using Base = BiCgStabOmega<Scalar, true>;
  static constexpr std::size_t sums = 1 + parts<Scalar>;
  struct Scalars : Base::Scalars {
    std::ptrdiff_t from, to;
  };

  BiCgStabMerged<Scalar> shared;
  Sum<sums> left;  ///< (r, r) and (rs, q)
  Scalar* x;

  BiCgStabTurn(BiCgStabSums<Scalar> const& all, BiCgStabMerged<Scalar> const& vectors,
               Sum<sums> const& of_turn, Scalar* x_)
      : Base(all), shared(vectors), left(of_turn), x(x_) {}
  bool operator==(BiCgStabTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    shared.tell(now, s);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, Scalars const& s,
                                       Sums<sums>& mine) const {
    auto const& old = made.own.parts;
    Scalar const z = old.z(s);
    x[i] = made.own.x + s.alpha * old.p + s.omega * old.Ms;
    shared.store(i, s.to + i, z, old.next_p(s), made.value, undo_by<M>(old.d, z), made.own.rs,
                 mine);
  }
  /// The half step that ended the iteration has been counted.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    if (next.phase != Phase::iterate) return;
    left.leave(team, mine);
    ++next.iteration;
  }
};

}  // namespace Solder::Impl
