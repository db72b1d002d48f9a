// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The bodies of BiCGStab's stages.

#include <cstdint>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/solvers/detail/residual_check.hpp>

namespace Solder::Impl {

/// \brief The scalars that one stage of BiCGStab computes and a later one needs.
template <class Scalar>
struct BiCgStabKept {
  double* values;

  bool operator==(BiCgStabKept const&) const = default;

  static_assert(5 * parts<Scalar> <= Kept<Scalar>::stride);
  KOKKOS_FUNCTION Kept<Scalar> rs_r() const { return {values}; }
  KOKKOS_FUNCTION Kept<Scalar> alpha() const { return {values + parts<Scalar>}; }
  KOKKOS_FUNCTION Kept<Scalar> inverse_rs_q() const { return {values + 2 * parts<Scalar>}; }
  KOKKOS_FUNCTION Kept<Scalar> omega() const { return {values + 3 * parts<Scalar>}; }
  KOKKOS_FUNCTION Kept<Scalar> inverse_norm_rs() const { return {values + 4 * parts<Scalar>}; }
};

/// \brief What the stages of BiCGStab leave for each other.
///
/// The first product leaves (rs, q); the second (s, s), (t, t), (t, s), (rs, t) and (rs, s); the
/// update (r, r), and in the classical form (rs, r). Where M is not pointwise and u = M r goes by a
/// recurrence, the beginning and the update leave (u, u).
template <class Scalar>
struct BiCgStabSums {
  using Inner = Wide<Scalar>;
  static constexpr std::size_t width = parts<Scalar>;
  static constexpr std::size_t product = 2 + 3 * width, update = 1 + width;

  /// Below this the cosine of an angle is nothing but rounding.
  static constexpr double noise =
      64 * double(Kokkos::Experimental::epsilon_v<typename ScalarTraits<Scalar>::Real>);
  Limits limits;
  Sum<width> of_first_product;
  Sum<product> of_second_product;
  Sum<update> of_update;  ///< (r, r) first
  Sum<width> of_shadow;   ///< (rs, r) of a beginning where rs is not r
  Sum<1> of_first_u, of_u;
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabSums const&) const = default;

  KOKKOS_FUNCTION Sum<1> rr() const { return {of_update.values, of_update.parts}; }

  template <class Exec>
  static BiCgStabSums in(Arena<Exec>& arena, Limits const& limits, int product_teams,
                         int vector_teams) {
    return {limits,
            arena.template sum<width>(product_teams),
            arena.template sum<product>(product_teams),
            arena.template sum<update>(vector_teams),
            arena.template sum<width>(vector_teams),
            arena.template sum<1>(vector_teams),
            arena.template sum<1>(vector_teams),
            {arena.template kept<Scalar>().value}};
  }
};

/// \brief Begins anew from the true residual: rs = r and, M being pointwise, u = p = M r.
///
/// After a breakdown that won nothing rs has the entries of r by halves and one and a halves, at
/// random: r itself may be all but orthogonal to the Krylov space of (A M)^H.
template <class Scalar, class M, bool Pointwise>
struct BiCgStabBegin {
  static constexpr std::size_t sums = BiCgStabSums<Scalar>::update;
  struct Scalars {
    bool another;
    std::int32_t columns;
  };

  M m;
  Scalar *rs, *u, *p, *r;  ///< r: where M is not pointwise
  Sum<1> rr;
  Sum<sums - 1> of_shadow;
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabBegin const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void scalars(Team const& team, Control& next, Scalars& s) const {
    s = {next.another != Cause::none, team.columns()};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& s, Scalars const& scalars,
                                       Sums<sums>& mine) const {
    Scalar const shadow = scalars.another ? to_real<Scalar>(weight(i / scalars.columns)) * s : s;
    rs[i] = shadow;
    if constexpr (Pointwise) {
      Scalar const z = m(i, s);
      u[i] = z;
      p[i] = z;
    } else {
      r[i] = s;
    }
    mine[0] += abs_squared(s);
    add_to(mine, 1, dot_term(shadow, s));
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    rr.leave(team, Sums<1>{{mine[0]}});
    kept.rs_r().keep(team, next.true_squared);
    kept.inverse_norm_rs().keep(team, 1 / Kokkos::sqrt(next.true_squared));
    next.fresh = next.another != Cause::none;
    if (next.fresh) {
      Sums<sums - 1> shadow;
      for (std::size_t v = 0; v + 1 < sums; ++v) shadow[v] = mine[v + 1];
      of_shadow.leave(team, shadow);
    }
    if constexpr (!Pointwise) next.phase = Phase::begin;
  }

 private:
  /// One half or one and a half, the same for the same row.
  KOKKOS_FUNCTION static double weight(std::int32_t i) {
    auto bits = static_cast<std::uint32_t>(i) * 0x9e3779b9u;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    return (bits ^ (bits >> 13)) & 1 ? 1.5 : 0.5;
  }
};

/// \brief u = p = z, the end of a beginning with an M that is not pointwise, with (z, z) twice.
template <class Scalar>
struct BiCgStabBegun {
  static constexpr std::size_t sums = 2;

  Scalar *u, *p;
  Sum<1> of_first_u, of_u;

  bool operator==(BiCgStabBegun const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, Sums<2>& mine) const {
    u[i] = z;
    p[i] = z;
    mine[0] += abs_squared(z);
    mine[1] = mine[0];
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<2> const& mine, Control const&,
                                       Control& next) const {
    of_first_u.leave(team, Sums<1>{{mine[0]}});
    of_u.leave(team, Sums<1>{{mine[1]}});
    next.phase = Phase::iterate;
  }
};

/// \brief q = A p, with (rs, q). Words: the matrix, and 3 a row.
template <class Scalar, class Vector = Owned<Scalar>>
struct BiCgStabFirstProduct {
  static constexpr std::size_t sums = parts<Scalar>;

  Vector rs, q;
  Sum<sums> left;

  bool operator==(BiCgStabFirstProduct const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return BiCgStabFirstProduct<Scalar, decltype(home(q))>{home(rs), home(q), left};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Scalar const& value, Sums<sums>& mine) const {
    q[i] = value;
    add_to(mine, 0, dot_term(rs[i], value));
  }
};

/// \brief Why the half step cannot be taken as usual. In the benchmark mode it is left out then.
template <class Inner>
KOKKOS_FUNCTION void bicgstab_end(Limits const& limits, Control const& now, Control& next,
                                  double rr, Inner const& rs_r, Inner const& rs_q) {
  if (!Kokkos::isfinite(rr))
    next.claim(Reason::not_finite, Cause::rs_r, rr);
  else if (!limits.unconditional() && rr <= now.stop_squared)
    next.claim(Reason::converged);
  else if (now.iteration >= limits.max_iterations)
    next.claim(Reason::max_iterations);
  else if (limits.unconditional())
    return;
  else if (!is_finite(rs_q))
    next.claim(Reason::not_finite, Cause::rs_Ap, size_of(rs_q));
  else if (rr > now.useless_squared())
    next.claim(Reason::diverged);
  else if (size_of(rs_q) < 1e-290 && size_of(rs_r) != 0)  // its inverse may be infinite
    next.claim(Reason::breakdown, Cause::rs_Ap, size_of(rs_q));
  else
    next.claim(Reason::breakdown, Cause::rs_r, size_of(rs_r));
}

/// \brief The half step's scalars: alpha = (rs, r) / (rs, q); also ends the iteration where it
/// must.
///
/// Where (rs, r) is but rounding the method has lost its bearings; it begins anew if it has won
/// something, and wanders on if it has not. It also begins anew where u has faded.
///
/// \tparam Pointwise u is as good as r
template <class Scalar, bool Pointwise>
struct BiCgStabAlpha {
  using Shared = BiCgStabSums<Scalar>;
  using Inner = typename Shared::Inner;
  struct Scalars {
    Scalar alpha;
  };
  struct Ahead {
    Inner rs_r, inverse_norm_rs;
  };

  Limits limits;
  Sum<1> rr;
  Sum<Shared::width> of_first_product, of_shadow;
  Sum<1> of_first_u, of_u;
  BiCgStabKept<Scalar> kept;

  explicit BiCgStabAlpha(Shared const& s)
      : limits(s.limits),
        rr(s.rr()),
        of_first_product(s.of_first_product),
        of_shadow(s.of_shadow),
        of_first_u(s.of_first_u),
        of_u(s.of_u),
        kept(s.kept) {}
  bool operator==(BiCgStabAlpha const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    if constexpr (Pointwise)
      return f(rr, of_first_product);
    else
      return f(rr, of_first_product, of_first_u, of_u);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(Team const& team, At const&) const {
    return {kept.rs_r().recall(team), kept.inverse_norm_rs().recall(team)};
  }
  template <class Team, class Total>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const& team, Total const& total,
                                           Ahead const& loaded, At const&, Control const& now,
                                           Control& next, Scalars& s) const {
    Inner rs_r = loaded.rs_r;
    if (now.fresh) {
      rs_r =
          wide_at<Scalar>(team.total(team.gather(of_shadow.parts, of_shadow), of_shadow.parts), 0);
      next.fresh = false;
    }
    double const squared = total[0], share = size_of(rs_r) * size_of(loaded.inverse_norm_rs);
    auto const rs_q = wide_at<Scalar>(total, 1);
    next.measure(squared);
    Inner inverse = 1.0 / rs_q, alpha = rs_r * inverse;
    bool const lost = share * share <= Shared::noise * Shared::noise * squared;
    bool const unconditional = limits.unconditional();
    bool const ordinary = squared > now.stop_squared && squared <= now.useless_squared() &&
                          !(lost && (unconditional || squared <= now.best_squared / 2)) &&
                          size_of(alpha) > 0 && is_finite(inverse) && is_finite(alpha) &&
                          now.iteration < limits.max_iterations;
    if (!ordinary) {
      bicgstab_end(limits, now, next, squared, rs_r, rs_q);
      inverse = alpha = Inner{};
    } else if (u_has_faded(total) && !unconditional) {
      next.claim(Reason::running, Cause::faded);
    }
    kept.alpha().keep(team, alpha);
    kept.inverse_rs_q().keep(team, inverse);
    s.alpha = narrow<Scalar>(alpha);
    return next.phase == Phase::iterate;
  }

 private:
  template <class Total>
  KOKKOS_FUNCTION static bool u_has_faded(Total const& total) {
    if constexpr (Pointwise)
      return false;
    else
      return has_faded<Scalar>(total[2 + parts<Scalar>], total[1 + parts<Scalar>]);
  }
};

/// \brief s = r - alpha q: u becomes M s; the rows are those of u and q. Words: 3 a row.
template <class Scalar, class M>
struct BiCgStabHalfStep : BiCgStabAlpha<Scalar, true> {
  using typename BiCgStabAlpha<Scalar, true>::Scalars;

  M m;
  Scalar* u;

  BiCgStabHalfStep(BiCgStabSums<Scalar> const& shared, M const& m_, Scalar* u_)
      : BiCgStabAlpha<Scalar, true>(shared), m(m_), u(u_) {}
  bool operator==(BiCgStabHalfStep const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Kokkos::Array<Scalar, 2> const& old,
                                       Scalars const& s) const {
    u[i] = old[0] - s.alpha * m(i, old[1]);
  }
};

/// \brief The same where w = M q is handed out: s = r - alpha q, M s = M r - alpha w. Words: 6 a
/// row.
template <class Scalar>
struct BiCgStabHalfStepApart : BiCgStabAlpha<Scalar, false> {
  using typename BiCgStabAlpha<Scalar, false>::Scalars;

  Scalar const* q;
  Scalar *w, *r, *u;

  BiCgStabHalfStepApart(BiCgStabSums<Scalar> const& shared, Scalar const* q_, Scalar* w_,
                        Scalar* r_, Scalar* u_)
      : BiCgStabAlpha<Scalar, false>(shared), q(q_), w(w_), r(r_), u(u_) {}
  bool operator==(BiCgStabHalfStepApart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value,
                                       Scalars const& s) const {
    w[i] = value;
    r[i] -= s.alpha * q[i];
    u[i] -= s.alpha * value;
  }
};

/// \brief t = A M s, with (s, s), (t, t), (t, s), (rs, t) and (rs, s). Words: the matrix, and 3 a
/// row.
///
/// \tparam Pointwise s = M^-1 u; else it is kept in r
template <class Scalar, class M, bool Pointwise, class Vector = Owned<Scalar>>
struct BiCgStabSecondProduct {
  static constexpr std::size_t width = parts<Scalar>, sums = BiCgStabSums<Scalar>::product;

  M m;
  Scalar const* u_or_r;
  Vector rs, t;
  Sum<sums> left;

  bool operator==(BiCgStabSecondProduct const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return BiCgStabSecondProduct<Scalar, M, Pointwise, decltype(home(t))>{m, u_or_r, home(rs),
                                                                          home(t), left};
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Scalar const& value, Sums<sums>& mine) const {
    Scalar s = u_or_r[i];
    if constexpr (Pointwise) s = m.undo(i, s);
    auto const shadow = rs[i];
    t[i] = value;
    mine[0] += abs_squared(s);
    mine[1] += abs_squared(value);
    add_to(mine, 2, dot_term(value, s));
    add_to(mine, 2 + width, dot_term(shadow, value));
    add_to(mine, 2 + 2 * width, dot_term(shadow, s));
  }
};

/// \brief The scalars of the second half of an iteration, and what all its bodies share.
///
/// \tparam Pipelined omega is not needed any more
template <class Scalar, bool Pipelined>
struct BiCgStabOmega {
  using Shared = BiCgStabSums<Scalar>;
  using Inner = typename Shared::Inner;
  struct Scalars {
    Scalar alpha, omega, beta;
  };
  struct Ahead {
    Inner alpha, inverse_rs_q;
  };
  struct Step {
    Inner alpha, omega, beta;
  };

  Limits limits;
  Sum<Shared::product> of_second_product;
  Sum<Shared::update> of_update;
  BiCgStabKept<Scalar> kept;

  BiCgStabOmega(Shared const& s)
      : limits(s.limits),
        of_second_product(s.of_second_product),
        of_update(s.of_update),
        kept(s.kept) {}
  bool operator==(BiCgStabOmega const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(of_second_product);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(Team const& team, At const&) const {
    return {kept.alpha().recall(team), kept.inverse_rs_q().recall(team)};
  }
  /// \brief omega = (t, s) / (t, t) and (rs, r') = (rs, s) - omega (rs, t), and of it beta =
  /// (rs, r') / (omega (rs, q)).
  ///
  /// Paper 1 leaves (rs, s) out, which without rounding is zero. Recomputed, which costs no word,
  /// it makes beta as good as the classical one.
  template <class Team, class Total>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const& team, Total const& total,
                                           Ahead const& loaded, At const&, Control const& now,
                                           Control& next, Scalars& s) const {
    constexpr double noise_squared = Shared::noise * Shared::noise;
    constexpr std::size_t width = Shared::width;
    double const ss = total[0], tt = total[1];
    auto const ts = wide_at<Scalar>(total, 2), rs_t = wide_at<Scalar>(total, 2 + width),
               rs_s = wide_at<Scalar>(total, 2 + 2 * width);
    // Two divisions that do not wait for each other.
    Inner const omega = ts * (1 / tt), inverse_omega = tt / ts;
    Step step{loaded.alpha, omega, (rs_s * inverse_omega - rs_t) * loaded.inverse_rs_q};
    double const size = size_of(omega);
    bool const ordinary = size * size * tt > noise_squared * ss &&
                          ss * noise_squared <= now.residual_squared && is_finite(omega) &&
                          is_finite(step.beta);
    if (!ordinary) end_half_way(loaded, now, next, step, ss, tt, size_of(ts));
    kept.rs_r().keep(team, rs_s - step.omega * rs_t);
    if constexpr (!Pipelined) kept.omega().keep(team, step.omega);
    s = {narrow<Scalar>(step.alpha), narrow<Scalar>(step.omega), narrow<Scalar>(step.beta)};
    return next.phase == Phase::iterate || next.iteration != now.iteration;
  }

  /// \brief Leaves the sums of a whole step and counts it; the half step that ended the iteration
  /// has been counted.
  template <std::size_t N, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void count(Team const& team, Sums<N> const& mine,
                                         Control& next) const {
    if (next.phase != Phase::iterate) return;
    Sum<N>{of_update.values, of_update.parts}.leave(team, mine);
    ++next.iteration;
  }

 private:
  /// \brief Why the second half cannot be taken as usual: sets omega = beta = 0, which leaves the
  /// half step; alpha = 0 too where that would do harm.
  KOKKOS_FUNCTION void end_half_way(Ahead const& loaded, Control const& now, Control& next,
                                    Step& step, double ss, double tt, double ts) const {
    step.omega = step.beta = Inner{};
    if (limits.unconditional()) {
      if (!(Kokkos::isfinite(ss) && Kokkos::isfinite(tt)))
        next.claim(Reason::not_finite, Cause::As_s, ts);
      return;
    }
    if (!Kokkos::isfinite(ss))
      next.claim(Reason::not_finite, Cause::rs_Ap, 1 / size_of(loaded.inverse_rs_q));
    else if (Kokkos::isnan(tt) || !Kokkos::isfinite(ts))
      next.claim(Reason::not_finite, Cause::As_s, ts);
    else if (ts > 0 && !(tt >= 1e-290 && Kokkos::isfinite(tt)))
      next.claim(Reason::breakdown, Cause::range_of_t, tt);
    else if (ss * Shared::noise * Shared::noise > now.residual_squared)
      next.claim(Reason::breakdown, Cause::rs_Ap, 1 / size_of(loaded.inverse_rs_q));
    else
      next.claim(Reason::breakdown, Cause::As_s, ts);
    if (!(ss < now.residual_squared)) {
      step.alpha = Inner{};
      return;
    }
    ++next.iteration;
    next.measure(ss);
  }
};

/// \brief x += alpha p + omega M s, r = s - omega t and, pipelined, p = M r + beta (p - omega M q),
/// with (r, r); classical with (rs, r) in place of p. The rows are those of x, u, p, t, and q or,
/// classical, rs. Words: 8 a row; classical 7.
template <class Scalar, class M, bool Pipelined, class Vector = Owned<Scalar>>
struct BiCgStabUpdate : BiCgStabOmega<Scalar, Pipelined> {
  static constexpr std::size_t sums = Pipelined ? 1 : BiCgStabSums<Scalar>::update;
  using Shared = BiCgStabOmega<Scalar, Pipelined>;
  using typename Shared::Scalars;

  M m;
  Vector x;
  Scalar *u, *p;

  KOKKOS_FUNCTION BiCgStabUpdate(Shared const& shared, M const& m_, Vector const& x_, Scalar* u_,
                                 Scalar* p_)
      : Shared(shared), m(m_), x(x_), u(u_), p(p_) {}
  bool operator==(BiCgStabUpdate const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return BiCgStabUpdate<Scalar, M, Pipelined, decltype(home(x))>(*this, m, home(x), u, p);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Kokkos::Array<Scalar, 5> const& old,
                                       Scalars const& s, Sums<sums>& mine) const {
    Scalar const Ms = old[1], p_old = old[2];
    Scalar const z = Ms - s.omega * m(i, old[3]);
    Scalar const r = m.undo(i, z);
    if constexpr (Pipelined)
      p[i] = z + s.beta * (p_old - s.omega * m(i, old[4]));
    else
      add_to(mine, 1, dot_term(old[4], r));
    x[i] = old[0] + s.alpha * p_old + s.omega * Ms;
    u[i] = z;
    mine[0] += abs_squared(r);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    this->count(team, mine, next);
  }
};

/// \brief The same where M t is handed out: x += alpha p + omega M s, r = s - omega t,
/// M r = M s - omega M t and, pipelined, p = M r + beta (p - omega w). Words: 11 a row; classical
/// 10.
template <class Scalar, bool Pipelined>
struct BiCgStabUpdateApart : BiCgStabOmega<Scalar, Pipelined> {
  static constexpr std::size_t of_r = Pipelined ? 1 : BiCgStabSums<Scalar>::update, sums = of_r + 1;
  using typename BiCgStabOmega<Scalar, Pipelined>::Scalars;

  Scalar const *t, *w, *rs;
  Scalar *x, *r, *u, *p;
  Sum<1> of_u;

  BiCgStabUpdateApart(BiCgStabSums<Scalar> const& shared, Scalar const* t_, Scalar const* w_,
                      Scalar const* rs_, Scalar* x_, Scalar* r_, Scalar* u_, Scalar* p_)
      : BiCgStabOmega<Scalar, Pipelined>(shared),
        t(t_),
        w(w_),
        rs(rs_),
        x(x_),
        r(r_),
        u(u_),
        p(p_),
        of_u(shared.of_u) {}
  bool operator==(BiCgStabUpdateApart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Mt, Scalars const& scalars,
                                       Sums<sums>& mine) const {
    Scalar const s = u[i], p_old = p[i], u_new = s - scalars.omega * Mt,
                 r_new = r[i] - scalars.omega * t[i];
    x[i] += scalars.alpha * p_old + scalars.omega * s;
    r[i] = r_new;
    u[i] = u_new;
    if constexpr (Pipelined)
      p[i] = u_new + scalars.beta * (p_old - scalars.omega * w[i]);
    else
      add_to(mine, 1, dot_term(rs[i], r_new));
    mine[0] += abs_squared(r_new);
    mine[sums - 1] += abs_squared(u_new);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    bool const is_whole = next.phase == Phase::iterate;
    Sums<of_r> of_residual;
    for (std::size_t k = 0; k < of_r; ++k) of_residual[k] = mine[k];
    this->count(team, of_residual, next);
    if (is_whole) of_u.leave(team, Sums<1>{{mine[sums - 1]}});
  }
};

/// \brief beta = (rs, r') / (rs, r) alpha / omega, p = M r + beta (p - omega M q); the rows are
/// those of u, p and q, or where M is not pointwise M q. Words: 4 a row.
template <class Scalar, class M>
struct BiCgStabDirection {
  using Shared = BiCgStabSums<Scalar>;
  using Inner = typename Shared::Inner;
  struct Scalars {
    Scalar omega, beta;
  };
  struct Ahead {
    Inner omega, inverse_rs_q;
  };

  Sum<Shared::update> of_update;
  BiCgStabKept<Scalar> kept;
  M m;
  Scalar* p;

  bool operator==(BiCgStabDirection const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(of_update);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(Team const& team, At const&) const {
    return {kept.omega().recall(team), kept.inverse_rs_q().recall(team)};
  }
  template <class Team, class Total>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const& team, Total const& total,
                                           Ahead const& loaded, At const&, Control const&, Control&,
                                           Scalars& s) const {
    auto const rs_r = wide_at<Scalar>(total, 1);
    auto const beta = rs_r / loaded.omega * loaded.inverse_rs_q;
    kept.rs_r().keep(team, rs_r);
    s = {narrow<Scalar>(loaded.omega), is_finite(beta) ? narrow<Scalar>(beta) : Scalar{}};
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Kokkos::Array<Scalar, 3> const& old,
                                       Scalars const& s) const {
    p[i] = old[0] + s.beta * (old[1] - s.omega * m(i, old[2]));
  }
};

}  // namespace Solder::Impl
