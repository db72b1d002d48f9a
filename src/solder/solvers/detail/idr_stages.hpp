// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The first half of a step of IDR(s), the end of one whose preconditioner has kernels of its own,
// and the beginning.

#include <cstddef>
#include <cstdint>

#include <solder/core/application.hpp>
#include <solder/core/stage.hpp>
#include <solder/solvers/detail/idr_cycle.hpp>

namespace Solder::Impl {

/// \brief g_k = A u_k and, where it is fused, (g, g), P^H g and, if k = s, (g, r): a body. Words:
/// the matrix, and 2 a row; 3 where k = s.
///
/// \tparam Vector where g lies: a Place, or a pointer
template <class Scalar, bool Fused, class Vector = Place<Scalar>>
struct IdrProduct {
  using Cycle = IdrCycle<Scalar>;
  static constexpr std::size_t sums =
      Fused ? Cycle::product_sums + parts<Scalar> * Cycle::width : 0;
  struct Scalars {
    Scalar* g;
    ShadowSpace<Scalar> shadow;
    bool last;
  };

  Cycle d;
  Vector g;
  Scalar const* r;

  bool operator==(IdrProduct const&) const = default;
  IdrProduct<Scalar, Fused, Scalar*> bound(At const& at) const { return {d, vector_at(g, at), r}; }

  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const&, auto const&, auto const&, At const& at,
                                           Control const& now, Control&, Scalars& of) const {
    of = {vector_at(g, at), d.shadow_of(now), at.step == d.s};
    return now.step == at.step;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Scalars const& of,
                                       auto& mine) const {
    of.g[i] = value;
    if constexpr (Fused) {
      mine[0] += abs_squared(value);
      if (of.last) add_to(mine, 1, dot_term(value, r[i]));
      of.shadow.template add_products<Cycle::width>(mine, Cycle::product_sums, 0, d.s, i, value);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const&,
                                       Control&) const {
    if constexpr (Fused) {
      Sums<sums> const totals = team.sum_for_first(mine);
      d.of_product().leave(team, 0, Cycle::product_sums, totals);
      d.of_g().leave(team, 0, d.values(), totals, Cycle::product_sums);
    }
  }
};

/// \brief What a product that is not fused leaves out, in a pass for every `width` vectors of the
/// shadow space; and where s is large P^H r at a cycle's beginning. Words: 1 a row each, 2 where
/// k = s.
///
/// In Phase::begin it computes P^H r alone, and the iteration can begin.
template <class Scalar>
struct IdrShadow {
  using Cycle = IdrCycle<Scalar>;
  static constexpr std::size_t p = parts<Scalar>;
  static constexpr char const* label = "Solder::idr::shadow";
  static constexpr int threads = league_threads, width = 8,
                       most_sums = static_cast<int>(Cycle::product_sums + width * p);

  static constexpr bool reads_sums = false;

  Phase phase;
  Cycle d;
  Rows rows;
  Scalar const* r;
  std::int32_t league;

  bool operator==(IdrShadow const&) const = default;
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return league; }

  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                       Control& next) const {
    if (now.phase != phase || now.step != at.step) return;
    bool const begins = phase == Phase::begin, last = at.step == d.s;
    if (!begins) leave_products(team, now, d.g(at.step), d.of_g(), true, last);
    if (begins || (last && !d.is_narrow())) leave_products(team, now, r, d.of_r(at.step));
    if (begins) next.phase = Phase::iterate;
  }

 private:
  /// \param norm with (v, v), in the first pass \param product and with (v, r)
  KOKKOS_FORCEINLINE_FUNCTION void leave_products(auto const& team, Control const& now,
                                                  Scalar const* v, ManySums const& of,
                                                  bool norm = false, bool product = false) const {
    constexpr std::size_t first_of_P = Cycle::product_sums;
    auto const shadow = d.shadow_of(now);
    for (std::int32_t first = 0; first < d.s; first += width) {
      Sums<first_of_P + width * p> mine{};
      team.for_each_row(rows, [&](std::int32_t i) {
        Scalar const value = v[i];
        mine[0] += abs_squared(value);
        if (product && first == 0) add_to(mine, 1, dot_term(value, r[i]));
        shadow.template add_products<width>(mine, first_of_P, first, d.s - first, i, value);
      });
      auto const totals = team.sum_for_first(mine);
      if (norm && first == 0) d.of_product().leave(team, 0, first_of_P, totals);
      of.leave(team, first * p, (d.s - first) * p, totals, first_of_P);
    }
  }
};

/// \brief u = u + omega z, or sigma z before step s, z = M v being handed out: the end of a step
/// whose M is not pointwise. Words: 2 a row.
template <class Formula, class Scalar>
struct IdrDirection {
  struct Scalars {
    Scalar* u;
    Scalar factor;
  };

  IdrCycle<Scalar> d;

  bool operator==(IdrDirection const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> ahead(auto const&, At const& at) const {
    if (d.after(at.step) == d.s) return d.small.sigma();
    return d.small.omega();
  }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const&, auto const&, Wide<Scalar> const& factor,
                                           At const& at, Control const& now, Control&,
                                           Scalars& of) const {
    of = {d.u(d.after(at.step)), narrow<Scalar>(factor)};
    return now.step == at.step;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, Scalars const& of) const {
    Formula::add_direction(of.u[i], z, of);
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const&, Sums<0> const&, Control const& now,
                                       Control& next) const {
    d.advance(now.step, next);
  }
};

/// \brief Begins anew from the true residual: r = rs, x = xs, G = U = 0, M = I, omega = 1; and,
/// M being pointwise, u_0 = M r.
template <class Scalar, class M, bool Pointwise>
struct IdrBegin {
  using Cycle = IdrCycle<Scalar>;
  static constexpr std::size_t sums = Cycle::update_sums + parts<Scalar> * Cycle::width;
  struct Scalars {
    ShadowSpace<Scalar> shadow;
  };

  Cycle d;
  M m;
  Scalar *x, *r;
  Scalar *xs, *rs;

  bool operator==(IdrBegin const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void scalars(auto const& team, Control& next, Scalars& of) const {
    of.shadow = d.shadow_of(next);
    if (team.league_rank() != 0) return;
    for (std::int32_t n = team.rank(); n < d.s * d.s; n += team.size()) {
      std::int32_t const i = n / d.s, j = n % d.s;
      d.small.M(i, j) = d.small.N(i, j) = i == j ? 1 : 0;
    }
    if (team.rank() == 0) d.small.omega() = 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& s, Scalars const& of,
                                       Sums<sums>& mine) const {
    r[i] = s;
    for (std::int32_t k = 0; k < d.s; ++k) d.g(k)[i] = d.u(k)[i] = {};
    if constexpr (Pointwise) d.u(0)[i] = m(i, s);
    if (rs != nullptr) {
      rs[i] = s;
      x[i] = xs[i];
      mine[1] += abs_squared(s);
    }
    mine[0] += abs_squared(s);
    if (d.is_narrow())
      of.shadow.template add_products<Cycle::width>(mine, Cycle::update_sums, 0, d.s, i, s);
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    Sums<sums> const totals = team.sum_for_first(mine);
    d.of_update(0).leave(team, 0, Cycle::update_sums, totals);
    if (d.is_narrow()) d.of_r(0).leave(team, 0, d.values(), totals, Cycle::update_sums);
    next.step = next.rounds = 0;
    next.fresh = true;
    if (!(Pointwise && d.is_narrow())) next.phase = Phase::begin;
  }
};

/// \brief u_0 = z, the end of a beginning with an M that is not pointwise.
template <class Scalar>
struct IdrBegun {
  Scalar* u;
  bool is_last;  ///< the iteration can begin

  bool operator==(IdrBegun const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z) const { u[i] = z; }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const&, Sums<0> const&, Control const&,
                                       Control& next) const {
    if (is_last) next.phase = Phase::iterate;
  }
};

}  // namespace Solder::Impl
