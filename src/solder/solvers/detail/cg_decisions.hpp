// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What CG decides once an iteration: alpha and beta from the sums, and why it ends.

#include <cstddef>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/solvers/detail/body.hpp>
#include <solder/solvers/detail/residual_check.hpp>

namespace Solder::Impl {

/// \brief Where (r, z) and (r, r) of an iteration come from.
enum class CgNorms {
  one,       ///< they are one number: without preconditioner
  together,  ///< from one kernel, which has r and z
  apart,     ///< from two
  recurred   ///< from one, with (z, z): z = M r goes by a recurrence
};

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
  static constexpr bool apart = How == CgNorms::apart, recurred = How == CgNorms::recurred;
  static constexpr std::size_t norms = recurred                   ? 3  ///< of one stage
                                       : How == CgNorms::together ? 2
                                                                  : 1,
                               size = norms + (Merged ? Products : 0);  ///< that a step leaves
  /// Where the totals are: (r, z) comes first, and (q, M q) after (p, q).
  static constexpr std::size_t rr = How == CgNorms::one ? 0 : 1, pq = recurred ? 4 : rr + 1;

  DoubleBufferedSum<size> left;
  std::conditional_t<apart, DoubleBufferedSum<1>, Absent> rz{};
  std::conditional_t<recurred, Sum<1>, Absent> of_first_z{}, of_Mq{};  ///< (z, z), (q, M q)
  std::conditional_t<Merged, Absent, Sum<recurred ? 1 : Products>> of_product{};

  bool operator==(CgSums const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const {
    if constexpr (Merged)
      return f(left);
    else if constexpr (apart)
      return f(rz, left, of_product);
    else if constexpr (recurred)
      return f(left, of_first_z, of_product, of_Mq);
    else
      return f(left, of_product);
  }
  /// \brief Adds the terms of a row.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void add(auto& mine, Scalar const& r, Scalar const& z) {
    mine[0] += apart ? abs_squared(r) : real_dot(r, z);
    if constexpr (norms > 1) mine[1] += abs_squared(r);
    if constexpr (norms > 2) mine[2] += abs_squared(z);
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

/// \brief alpha and, predicted, beta; counts the iteration. Begins anew where a z that goes by a
/// recurrence has faded.
template <class Scalar, bool Predict, class Of>
struct CgDecision {
  static constexpr std::size_t sums = Of::size;
  struct Scalars {
    typename ScalarTraits<Scalar>::Real alpha, beta;
  };

  Limits limits;
  Of of;

  bool operator==(CgDecision const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const { return of.with_earlier(f); }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const&, auto const& total, auto const&, At const&,
                                           Control const& now, Control& next, auto& s) const {
    constexpr std::size_t rr = Of::rr, pq = Of::pq;  // nvcc: no references to static members
    double qMq = 0;
    if constexpr (Predict) qMq = total[pq + 1];
    CgScalars const step =
        cg_scalars<Predict>(limits, now, next, total[0], total[rr], total[pq], qMq);
    s.alpha = to_real<Scalar>(step.alpha);
    s.beta = to_real<Scalar>(step.beta);
    if constexpr (Of::recurred)
      if (next.phase == Phase::iterate && has_faded<Scalar>(total[2], total[3]) &&
          !limits.unconditional())
        next.claim(Reason::running, Cause::faded);
    return next.phase == Phase::iterate;
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    of.left.of(now.iteration + 1).leave(team, mine);
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

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const { return f(rz); }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const&, Sums<2 * N> const& total, auto const&,
                                           At const&, Control const& now, Control&,
                                           Scalars& s) const {
    bool const odd = (now.iteration & 1) != 0;
    double const newest = odd ? total[N] : total[0], before = odd ? total[0] : total[N];
    s.beta = to_real<Scalar>(before == 0 ? 0 : newest / before);
    return true;
  }
};

}  // namespace Solder::Impl
