// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// BiCGStab in two stages an iteration, for kernels of a whole solve. M s = u - alpha M q and
// p = M s - omega M t + beta (p - omega M q) are combinations of vectors, so their products are the
// same combinations of products, which are done while the sums behind alpha, omega and beta are
// gathered. Other teams read p and q meanwhile: each has two arrays alternately.

#include <cstddef>
#include <cstdint>

#include <solder/solvers/detail/bicgstab_decisions.hpp>
#include <solder/solvers/detail/double_buffered.hpp>

namespace Solder::Impl {

/// \brief The vectors: u = M r, M s, t, rs, and p and q twice, one after another.
template <class Scalar>
struct BiCgStabVectors : DoubleBuffered {
  static constexpr std::int64_t count = 8;

  Scalar* vectors;  ///< each of `length`

  bool operator==(BiCgStabVectors const&) const = default;

  KOKKOS_FUNCTION Scalar* u() const { return vectors; }
  KOKKOS_FUNCTION Scalar* Ms() const { return vectors + length; }
  KOKKOS_FUNCTION Scalar* t() const { return vectors + 2 * length; }
  KOKKOS_FUNCTION Scalar* rs() const { return vectors + 3 * length; }
  KOKKOS_FUNCTION Scalar* p() const { return vectors + 4 * length; }
  KOKKOS_FUNCTION Scalar* q() const { return vectors + 6 * length; }
};

/// \brief The first p = M s of the true residual s, which lies where M s is to be.
template <class Scalar, class M>
struct BiCgStabMadeBeginning : ScaledVector<Scalar, M> {
  struct Own {
    Scalar s, d, rs;
  };

  Scalar const* rs;

  bool operator==(BiCgStabMadeBeginning const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Own own(auto const&, std::int32_t i) const {
    return {this->s[i], this->m(i, Scalar(1)), rs[i]};
  }
};

/// \brief u = p = M s, q = A p, the row of q being handed out, with (r, r) and (rs, q). Words: the
/// matrix, M, and 5 a row.
template <class Scalar>
struct BiCgStabFirstTurn
    : Alternately<Begins<Sum<1 + parts<Scalar>>, Phase::iterate>, BiCgStabVectors<Scalar>> {
  bool operator==(BiCgStabFirstTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    auto const& [r, d, rs] = made.own;
    Scalar const z = d * r;
    this->shared.u()[i] = z;
    this->shared.p()[s.from + i] = z;
    this->shared.q()[s.from + i] = made.value;
    mine[0] += abs_squared(r);
    add_to(mine, 1, dot_term(rs, made.value));
  }
};

/// \brief M s = u - alpha M q, made of u and q where an entry is needed.
template <class Scalar, class M>
struct BiCgStabMadeHalfStep : Weighted<Scalar, M> {
  struct Own {
    Scalar u, q, d, rs;
  };

  BiCgStabVectors<Scalar> from;

  bool operator==(BiCgStabMadeHalfStep const&) const = default;

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

/// \brief The half step and the second product, t = A M s, whose row is handed out. Words: the
/// matrix, M, and 5 a row.
template <class HalfStep, class SecondProduct, class Scalar, class M>
struct BiCgStabHalfTurn : Alternately<BiCgStabAlpha<Scalar, false>, BiCgStabVectors<Scalar>> {
  static constexpr std::size_t sums = 2 + 3 * parts<Scalar>;

  Sum<sums> left;

  bool operator==(BiCgStabHalfTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    auto [u, q, d, rs] = made.own;
    Factor<M, Scalar> const m{d};
    HalfStep::row(m, u, q, s);
    Scalar t;
    SecondProduct::row(m, u, rs, t, made.value, mine);
    this->shared.Ms()[i] = u;
    this->shared.t()[i] = t;
  }
};

/// \brief p = M r + beta (p - omega M q) with M r = M s - omega M t, made of M s, t, p and q where
/// an entry is needed.
template <class Scalar, class M>
struct BiCgStabMadeDirection : Weighted<Scalar, M> {
  struct Own {
    Scalar Ms, t, p, q, d, x, rs;
  };

  BiCgStabVectors<Scalar> from;
  Scalar const* x;

  bool operator==(BiCgStabMadeDirection const&) const = default;

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
    return {from.Ms()[i],          from.t()[i], from.p()[at], from.q()[at],
            this->m(i, Scalar(1)), x[i],        from.rs()[i]};
  }
};

/// \brief The update and the next first product, q = A p, whose row is handed out, with (r, r) and
/// (rs, q). Words: the matrix, M, and 10 a row.
template <class Update, class Scalar, class M>
struct BiCgStabTurn
    : Alternately<BiCgStabOmega<Scalar, true, 1 + parts<Scalar>>, BiCgStabVectors<Scalar>> {
  Scalar* x;

  bool operator==(BiCgStabTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& made, auto const& s,
                                       auto& mine) const {
    auto [u, t, p, q, d, x_i, rs] = made.own;
    Update::row(Factor<M, Scalar>{d}, x_i, u, p, t, q, s, mine);
    add_to(mine, 1, dot_term(rs, made.value));
    x[i] = x_i;
    this->shared.u()[i] = u;
    this->shared.p()[s.to + i] = p;
    this->shared.q()[s.to + i] = made.value;
  }
};

}  // namespace Solder::Impl
