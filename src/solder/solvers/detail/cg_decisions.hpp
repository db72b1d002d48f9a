// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What CG decides once an iteration: alpha and beta of the sums, and why it ends.

#include <cstddef>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/solvers/detail/body.hpp>
#include <solder/solvers/detail/residual_check.hpp>

namespace Solder::Impl {

/// \brief Where (r, z) and (r, r) of an iteration come from: they are one number without
/// preconditioner, are left together where one kernel has r and z, and apart otherwise.
enum class CgNorms { one, together, apart };

/// \brief In place of a member that is not there. It takes room: nvcc and the host's compiler
/// disagree where a member of no size lies.
struct Absent {
  bool operator==(Absent const&) const = default;
};

/// \brief (r, z) and (r, r), double buffered by iteration, and `Products` sums of the product: all
/// that alpha and beta are made of.
///
/// \tparam Products 1: (p, q); 2: and (q, M q); with `Merged` they are left with the norms
template <CgNorms How, std::size_t Products = 0, bool Merged = false>
struct CgSums {
  static constexpr std::size_t norms = How == CgNorms::together ? 2 : 1,  ///< of one stage
      size = norms + (Merged ? Products : 0);                             ///< that a step leaves
  /// Totals before those of the product: (r, z) first, (r, r) last.
  static constexpr std::size_t totals = How == CgNorms::apart ? 2 : norms;

  DoubleBufferedSum<size> left;
  std::conditional_t<How == CgNorms::apart, DoubleBufferedSum<1>, Absent> rz{};
  std::conditional_t<Merged, Absent, Sum<Products>> of_product{};

  bool operator==(CgSums const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    if constexpr (Merged)
      return f(left);
    else if constexpr (How == CgNorms::apart)
      return f(rz, left, of_product);
    else
      return f(left, of_product);
  }
  /// \brief Adds the terms of a row.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void add(Sums<size>& mine, Scalar const& r, Scalar const& z) {
    mine[0] += How == CgNorms::apart ? abs_squared(r) : real_dot(r, z);
    if constexpr (How == CgNorms::together) mine[1] += abs_squared(r);
  }
};

/// \brief The scalars of an iteration.
struct CgScalars {
  double alpha, beta;
};

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
    next.claim(Kokkos::isnan(qMq) ? Reason::not_finite
               : qMq < 0          ? Reason::indefinite_preconditioner
                                  : Reason::breakdown,
               Cause::q_Mq, qMq);
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

/// \brief alpha and, predicted, beta of an iteration; its end leaves the sums of its rows for the
/// next one, and counts it.
template <class Scalar, bool Predict, class Sums_>
struct CgDecision {
  struct Scalars {
    typename ScalarTraits<Scalar>::Real alpha, beta;
  };

  Limits limits;
  Sums_ of;

  bool operator==(CgDecision const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return of.with_earlier(f);
  }
  template <class Team, class Total, class S>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Total const& total, auto const&, At const&,
                                           Control const& now, Control& next, S& s) const {
    constexpr std::size_t n = Sums_::totals;
    double qMq = 0;
    if constexpr (Predict) qMq = total[n + 1];
    CgScalars const step =
        cg_scalars<Predict>(limits, now, next, total[0], total[n - 1], total[n], qMq);
    s.alpha = to_real<Scalar>(step.alpha);
    s.beta = to_real<Scalar>(step.beta);
    return next.phase == Phase::iterate;
  }
  template <class Team, std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<N> const& mine, Control const& now,
                                       Control& next) const {
    of.left.of(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief The same where z = M r goes by a recurrence: the method begins anew where z has faded.
template <class Scalar>
struct CgDecisionApart {
  using Scalars = typename CgDecision<Scalar, true, CgSums<CgNorms::apart, 2>>::Scalars;

  Limits limits;
  DoubleBufferedSum<3> left;  ///< (r, z), (r, r) and (z, z)
  Sum<1> of_first_z, pq, qu;

  bool operator==(CgDecisionApart const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(left, of_first_z, pq, qu);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, Sums<6> const& total, auto const&,
                                           At const&, Control const& now, Control& next,
                                           Scalars& s) const {
    CgScalars const step =
        cg_scalars<true>(limits, now, next, total[0], total[1], total[4], total[5]);
    s = {to_real<Scalar>(step.alpha), to_real<Scalar>(step.beta)};
    if (next.phase == Phase::iterate && has_faded<Scalar>(total[2], total[3]) &&
        !limits.unconditional())
      next.claim(Reason::running, Cause::faded);
    return next.phase == Phase::iterate;
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<3> const& mine, Control const& now,
                                       Control& next) const {
    left.of(now.iteration + 1).leave(team, mine);
    ++next.iteration;
  }
};

/// \brief beta = (r', z') / (r, z) of the classical form.
///
/// \tparam N sums that the step leaves together, (r, z) first
template <class Scalar, std::size_t N>
struct CgBeta {
  struct Scalars {
    typename ScalarTraits<Scalar>::Real beta;
  };

  Sum<2 * N> rz;  ///< of even and of odd iterations

  bool operator==(CgBeta const&) const = default;

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
};

}  // namespace Solder::Impl
