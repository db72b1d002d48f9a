// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The bodies of CG's stages.

#include <cstdint>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/solvers/detail/judge.hpp>

namespace Solder::Impl {

/// \brief Where (r, z) and (r, r) of an iteration come from: they are one number without
/// preconditioner, are left together where one kernel has r and z, and apart otherwise.
enum class CgNorms { one, together, apart };

template <CgNorms How>
struct CgSums {
  static constexpr std::size_t size = How == CgNorms::together ? 2 : 1;  ///< that a step leaves

  TurningSum<size> left;  ///< (r, z) and (r, r)

  bool operator==(CgSums const&) const = default;

  template <class F, class... More>
  KOKKOS_FORCEINLINE_FUNCTION auto with(F const& f, More const&... more) const {
    return f(left, more...);
  }
  /// \brief The number of totals that with() gives before `more`: (r, z) first, (r, r) last.
  static constexpr std::size_t totals = size;

  /// \brief Adds the terms of a row.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void add(Sums<size>& mine, Scalar const& r, Scalar const& z) {
    mine[0] += real_dot(r, z);
    if constexpr (How == CgNorms::together) mine[1] += abs_squared(r);
  }
};

template <>
struct CgSums<CgNorms::apart> {
  static constexpr std::size_t size = 1, totals = 2;

  TurningSum<1> left;  ///< (r, r)
  TurningSum<1> rz;

  bool operator==(CgSums const&) const = default;

  template <class F, class... More>
  KOKKOS_FORCEINLINE_FUNCTION auto with(F const& f, More const&... more) const {
    return f(rz, left, more...);
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void add(Sums<1>& mine, Scalar const& r, Scalar const&) {
    mine[0] += abs_squared(r);
  }
};

/// \brief q = A p, with (p, q) and, for the prediction of beta, (q, M q). Words: the matrix, and 2
/// a row.
template <class Scalar, class M, bool Predict, class Vector = Owned<Scalar>>
struct CgProduct {
  static constexpr std::size_t sums = Predict ? 2 : 1;

  Scalar const* p;
  Vector q;
  M m;
  Sum<sums> left;

  bool operator==(CgProduct const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgProduct<Scalar, M, Predict, decltype(home(q))>{p, home(q), m, left};
  }

  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Scalar const& value, Sums<sums>& mine) const {
    q[i] = value;
    mine[0] += real_dot(p[i], value);
    if constexpr (Predict) mine[1] += real_dot(value, m(i, value));
  }
};

/// \brief The scalars of an iteration.
struct CgScalars {
  double alpha, beta;
};

/// \brief The same, rounded for the rows.
template <class Scalar>
struct CgRowScalars {
  typename ScalarTraits<Scalar>::Real alpha, beta;

  KOKKOS_FORCEINLINE_FUNCTION void set(CgScalars const& step) {
    alpha = to_real<Scalar>(step.alpha);
    beta = to_real<Scalar>(step.beta);
  }
};

/// \brief The end of an iteration: leaves its sums, for the next one, and counts it.
template <std::size_t N, class Team>
KOKKOS_FORCEINLINE_FUNCTION void cg_count(TurningSum<N> const& left, Team const& team,
                                          Sums<N> const& mine, Control const& now, Control& next) {
  left.of(now.iteration + 1).leave(team, mine);
  ++next.iteration;
}

/// \brief Whether a square has all its digits: (A p, M A p) may leave the range of double where the
/// scalars of the classical form do not.
KOKKOS_FORCEINLINE_FUNCTION bool in_range(double square) {
  return square >= 1e-290 && square <= 1e290;
}

/// \brief Why an iteration cannot go on as usual. In the benchmark mode it goes on all the same,
/// with 0 for 0 / 0.
template <bool Predict>
KOKKOS_FUNCTION CgScalars cg_end(Limits const& limits, Control const& now, Control& next,
                                 CgScalars const& step, double rz, double rr, double pq,
                                 double qMq) {
  if (!(Kokkos::isfinite(rr) && Kokkos::isfinite(rz)))
    next.claim(Reason::not_finite, Cause::r_z, rz);
  else if (!Kokkos::isfinite(pq))
    next.claim(Reason::not_finite, Cause::p_Ap, pq);
  else if (!limits.unconditional() && rr <= now.stop_squared)
    next.claim(Reason::converged);
  else if (now.iteration >= limits.max_iterations)
    next.claim(Reason::max_iterations);
  else if (limits.unconditional())
    return Kokkos::isfinite(step.alpha) && Kokkos::isfinite(step.beta) ? step : CgScalars{0, 0};
  else if (rr > now.useless_squared())
    next.claim(Reason::diverged);
  else if (rz <= 0)
    next.claim(rz < 0 ? Reason::indefinite_preconditioner : Reason::breakdown, Cause::r_z, rz);
  else if (pq <= 0)
    next.claim(pq < 0 ? Reason::indefinite_matrix : Reason::breakdown, Cause::p_Ap, pq);
  else if (Predict && !(step.beta >= 0 && in_range(qMq)))
    next.claim(Kokkos::isnan(qMq) ? Reason::not_finite : Reason::breakdown, Cause::q_Mq, qMq);
  else
    next.claim(Reason::breakdown, Cause::p_Ap, pq);  // its inverse is infinite or zero
  return step;
}

/// \brief alpha and beta of (r, z), (r, r), (p, q) and (q, M q); records the residual, and ends the
/// iteration where it must.
///
/// beta is predicted, (r', z') = -(r, z) + alpha^2 (q, M q) (paper 1, eq. 3.1, preconditioned); the
/// (r', z') that the update then computes corrects it in the next alpha (predict and recompute:
/// Chen & Carson 2020).
template <bool Predict>
KOKKOS_FORCEINLINE_FUNCTION CgScalars cg_scalars(Limits const& limits, Control const& now,
                                                 Control& next, double rz, double rr, double pq,
                                                 double qMq) {
  next.measure(rr);
  double const inverse = 1 / pq;  // one division: it is the longest chain here
  double const alpha = rz * inverse;
  CgScalars const step{alpha, Predict ? Kokkos::fmax(alpha * qMq * inverse - 1, 0.0) : 0};
  bool const ordinary = rr > now.stop_squared && rr <= now.useless_squared() && rz > 0 && pq > 0 &&
                        step.alpha > 0 && Kokkos::isfinite(step.alpha) &&
                        Kokkos::isfinite(step.beta) && (!Predict || in_range(qMq)) &&
                        now.iteration < limits.max_iterations;
  return ordinary ? step : cg_end<Predict>(limits, now, next, step, rz, rr, pq, qMq);
}

/// \brief x += alpha p, r -= alpha q, p = M r + beta p, with (r, z) and (r, r); the rows are those
/// of x, r, p and q. Words: 7 a row.
template <class Scalar, class M, CgNorms How, class Vector = Owned<Scalar>>
struct CgUpdate {
  static constexpr std::size_t sums = CgSums<How>::size;
  using Scalars = CgRowScalars<Scalar>;

  M m;
  Limits limits;
  Vector x, r;
  Scalar* p;
  CgSums<How> left;
  Sum<2> of_product;

  bool operator==(CgUpdate const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgUpdate<Scalar, M, How, decltype(home(x))>{m, limits, home(x),   home(r),
                                                       p, left,   of_product};
  }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return left.with(f, of_product);
  }
  template <class Team, class Total>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Total const& s, auto const&, At const&,
                                           Control const& now, Control& next,
                                           Scalars& scalars) const {
    constexpr std::size_t n = CgSums<How>::totals;
    scalars.set(cg_scalars<true>(limits, now, next, s[0], s[n - 1], s[n], s[n + 1]));
    return next.phase == Phase::iterate;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Kokkos::Array<Scalar, 4> const& old,
                                       Scalars const& s, Sums<sums>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[3];
    Scalar const z = m(i, r_new);
    x[i] = old[0] + s.alpha * old[2];
    r[i] = r_new;
    p[i] = z + s.beta * old[2];
    CgSums<How>::add(mine, r_new, z);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    cg_count(left.left, team, mine, now, next);
  }
};

/// \brief CgUpdate with an M that is not pointwise, u = M q being computed: z -= alpha u. The rows
/// are those of x, r, z, p, q and u; with (r, z), (r, r) and (z, z). Begins anew where z has faded.
/// Words: 10 a row.
template <class Scalar>
struct CgUpdateApart {
  static constexpr std::size_t sums = 3;
  using Scalars = CgRowScalars<Scalar>;

  Limits limits;
  Scalar *x, *r, *z, *p;
  TurningSum<3> left;
  Sum<1> of_first_z, pq, qu;

  bool operator==(CgUpdateApart const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(left, of_first_z, pq, qu);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Sums<6> const& s, auto const&, At const&,
                                           Control const& now, Control& next,
                                           Scalars& scalars) const {
    scalars.set(cg_scalars<true>(limits, now, next, s[0], s[1], s[4], s[5]));
    if (next.phase == Phase::iterate && has_faded<Scalar>(s[2], s[3]) && !limits.unconditional())
      next.claim(Reason::running, Cause::faded);
    return next.phase == Phase::iterate;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Kokkos::Array<Scalar, 6> const& old,
                                       Scalars const& s, Sums<3>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[4], z_new = old[2] - s.alpha * old[5];
    x[i] = old[0] + s.alpha * old[3];
    r[i] = r_new;
    z[i] = z_new;
    p[i] = z_new + s.beta * old[3];
    mine[0] += real_dot(r_new, z_new);
    mine[1] += abs_squared(r_new);
    mine[2] += abs_squared(z_new);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<3> const& mine, Control const& now,
                                       Control& next) const {
    cg_count(left, team, mine, now, next);
  }
};

/// \brief x += alpha p, r -= alpha q, with (r, r), and with (r, z) where M is pointwise; the rows
/// are those of x, r, p and q. Words: 6 a row.
template <class Scalar, class M, CgNorms How, class Vector = Owned<Scalar>>
struct CgStep {
  static constexpr std::size_t sums = CgSums<How>::size;
  struct Scalars {
    typename ScalarTraits<Scalar>::Real alpha;
  };

  M m;
  Limits limits;
  Vector x, r;
  CgSums<How> left;
  Sum<1> of_product;

  bool operator==(CgStep const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return CgStep<Scalar, M, How, decltype(home(x))>{m, limits, home(x), home(r), left, of_product};
  }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return left.with(f, of_product);
  }
  template <class Team, class Total>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Total const& s, auto const&, At const&,
                                           Control const& now, Control& next,
                                           Scalars& scalars) const {
    constexpr std::size_t n = CgSums<How>::totals;
    scalars.alpha =
        to_real<Scalar>(cg_scalars<false>(limits, now, next, s[0], s[n - 1], s[n], 0).alpha);
    return next.phase == Phase::iterate;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, Kokkos::Array<Scalar, 4> const& old,
                                       Scalars const& s, Sums<sums>& mine) const {
    Scalar const r_new = old[1] - s.alpha * old[3];
    x[i] = old[0] + s.alpha * old[2];
    r[i] = r_new;
    if constexpr (How == CgNorms::apart)
      CgSums<How>::add(mine, r_new, r_new);
    else
      CgSums<How>::add(mine, r_new, m(i, r_new));
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    cg_count(left.left, team, mine, now, next);
  }
};

/// \brief beta = (r', z') / (r, z), p = z + beta p, z being handed out. Words: 2 a row, and z.
///
/// \tparam N sums that the step leaves together, (r, z) first
template <class Scalar, std::size_t N>
struct CgDirection {
  struct Scalars {
    typename ScalarTraits<Scalar>::Real beta;
  };

  Scalar* p;
  Sum<2 * N> rz;  ///< of even and of odd iterations

  bool operator==(CgDirection const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(rz);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Sums<2 * N> const& s, auto const&,
                                           At const&, Control const& now, Control&,
                                           Scalars& scalars) const {
    bool const odd = (now.iteration & 1) != 0;
    double const newest = odd ? s[N] : s[0], before = odd ? s[0] : s[N];
    scalars.beta = to_real<Scalar>(before == 0 ? 0 : newest / before);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, Scalars const& s) const {
    p[i] = z + s.beta * p[i];
  }
};

/// \brief Keeps the z that is handed out, with (r, z), in rz of the iteration. Words: 2 a row.
template <class Scalar>
struct CgKeep {
  static constexpr std::size_t sums = 1;

  Scalar const* r;
  Scalar* z;
  TurningSum<1> rz;

  bool operator==(CgKeep const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    z[i] = value;
    mine[0] += real_dot(r[i], value);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<1> const& mine, Control const& now,
                                       Control&) const {
    rz.of(now.iteration).leave(team, mine);
  }
};

/// \brief Begins anew from the true residual s: r = s, p = M r.
template <class Scalar, class M, CgNorms How>
struct CgBegin {
  static constexpr std::size_t sums = CgSums<How>::size;
  struct Scalars {};

  M m;
  Scalar *r, *p;
  CgSums<How> left;

  bool operator==(CgBegin const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void scalars(Team const&, Control&, Scalars&) const {}
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& s, Scalars const&,
                                       Sums<sums>& mine) const {
    r[i] = s;
    if constexpr (How == CgNorms::apart) {
      CgSums<How>::add(mine, s, s);
    } else {
      Scalar const z = m(i, s);
      p[i] = z;
      CgSums<How>::add(mine, s, z);
    }
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    left.left.of(next.iteration).leave(team, mine);
    if constexpr (How == CgNorms::apart) next.phase = Phase::begin;
  }
};

/// \brief p = z, the end of a beginning with an M that is not pointwise, with (r, z) where M does
/// not leave it.
template <class Scalar, bool LeavesNorm>
struct CgBegun {
  static constexpr std::size_t sums = 1;

  Scalar const* r;
  Scalar* p;
  TurningSum<1> rz;

  bool operator==(CgBegun const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z, Sums<1>& mine) const {
    p[i] = z;
    if constexpr (LeavesNorm) mine[0] += real_dot(r[i], z);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<1> const& mine, Control const&,
                                       Control& next) const {
    if constexpr (LeavesNorm) rz.of(next.iteration).leave(team, mine);
    next.phase = Phase::iterate;
  }
};

/// \brief p = z, z being handed out and kept, with (r, z), (r, r) and, twice, (z, z).
template <class Scalar>
struct CgBegunApart {
  static constexpr std::size_t sums = 4;

  Scalar const* r;
  Scalar *z, *p;
  TurningSum<3> norms;
  Sum<1> of_first_z;

  bool operator==(CgBegunApart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<4>& mine) const {
    z[i] = value;
    p[i] = value;
    mine[0] += real_dot(r[i], value);
    mine[1] += abs_squared(r[i]);
    mine[2] += abs_squared(value);
    mine[3] = mine[2];
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<4> const& mine, Control const&,
                                       Control& next) const {
    norms.of(next.iteration).leave(team, Sums<3>{{mine[0], mine[1], mine[2]}});
    of_first_z.leave(team, Sums<1>{{mine[3]}});
    next.phase = Phase::iterate;
  }
};

/// \brief u = M q, with (q, u). Words: 2 a row.
template <class Scalar>
struct CgKeepProduct {
  static constexpr std::size_t sums = 1;

  Scalar const* q;
  Scalar* u;
  Sum<1> left;

  bool operator==(CgKeepProduct const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value, Sums<1>& mine) const {
    u[i] = value;
    mine[0] += real_dot(q[i], value);
  }
};

}  // namespace Solder::Impl
