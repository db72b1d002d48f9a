// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <string>

#include <solder/core/options.hpp>
#include <solder/core/report.hpp>

namespace Solder {

/// \brief Which stages have work to do; the others pass the control block on untouched.
enum class Phase : std::int32_t {
  check,  ///< the true residual is to be computed: at the start, and when the iteration believes it
          ///< is done
  begin,  ///< the iteration begins from the true residual, with stages of its own: M is to be
          ///< applied
  iterate,  ///< the solver's own stages
  correct,  ///< a cycle ends: M is to be applied to the correction of x
  finished
};

/// \brief The scalar behind a breakdown or an indefinite form; rs is the shadow residual of
/// BiCGStab, p a vector of IDR(s)'s shadow space.
enum class Cause : std::int16_t {
  none,
  p_Ap,
  r_z,
  q_Mq,
  norm_of_b,
  rs_r,
  rs_Ap,
  As_s,
  norm_of_w,
  cycle,
  p_g,
  t_r,
  hidden_r,
  range_of_t,  ///< ||A M s||^2, or of IDR(s) ||A M r||^2, has left the range of double
  range_of_x,  ///< x has left the range of its scalar
  faded,       ///< the recurrence of M r has faded under its rounding
  undone,      ///< a cycle has been undone
  scale        ///< the iteration is to begin anew with its products scaled by the value
};

/// \brief The state of a solve, on the device.
///
/// Stage k of a program reads the control block from its own slot and team 0 writes it to the next
/// stage's slot: what a stage reads, no team writes in that same stage. Every team computes the
/// same decision from the same partial sums in the same order, so the block needs no other
/// synchronisation.
struct Control {
  Phase phase = Phase::check;
  Reason reason =
      Reason::running;  ///< the iteration's claim during Phase::check, the verdict once finished
  Cause cause = Cause::none;
  Cause another = Cause::none;  ///< of the breakdown after which another shadow residual was taken
  std::int32_t iteration = 0;   ///< completed updates of x
  std::int32_t step = 0;        ///< of a restarted method: vectors that the current cycle has added
  std::int32_t rounds = 0;      ///< extra passes of the current step: of Gram-Schmidt, of smoothing
  std::int32_t posts = 0;       ///< letters sent to the host
  std::int32_t recorded = 0;    ///< history entries written so far
  std::int32_t posted = 0;      ///< history entries sent to the host so far
  bool zeroed = false;          ///< b = 0, and x has been set to 0
  bool fresh = false;           ///< nothing has been done since the last restart
  double b_squared = 0;         ///< ||b||^2
  double tolerance = 0;         ///< relative residual at which the solve has converged
  double threshold = 0;         ///< relative residual at which the recursion claims convergence
  double stop_squared = 0;      ///< (threshold ||b||)^2
  double residual_squared = 0;  ///< the recursion's latest ||r||^2
  double guess_squared = 0;     ///< ||b - A x||^2 of the guess
  double true_squared = 0;      ///< the latest recomputed ||b - A x||^2
  double best_squared = 0;      ///< true_squared at the last restart
  double value = 0;             ///< of the scalar named by cause
  double another_value = 0;     ///< of that named by another

  /// \brief The recursion's ||r||^2 of the current iterate; recorded once per iteration.
  KOKKOS_FUNCTION void measure(double squared) {
    residual_squared = squared;
    if (recorded == iteration) ++recorded;
  }

  KOKKOS_FUNCTION void set_threshold(double relative_residual) {
    threshold = relative_residual;
    stop_squared = relative_residual * relative_residual * b_squared;
  }

  /// \brief The square of the norm beyond which a residual is useless: 1e12 times ||b||, or 1e12
  /// times the residual that the iteration began from if that is larger. The residual of CG may
  /// grow by the root of the condition number before it falls, so this is far above what a solvable
  /// double system shows.
  KOKKOS_FUNCTION double useless_squared() const {
    return 1e24 * (best_squared > b_squared ? best_squared : b_squared);
  }

  /// \brief The root of `squared`, relative to ||b||; the root itself where b = 0.
  double relative(double squared) const {
    return std::sqrt(squared) / (b_squared > 0 ? std::sqrt(b_squared) : 1);
  }

  /// \brief Ends the iteration with a claim, which the residual check will compare with the true
  /// residual.
  KOKKOS_FUNCTION void claim(Reason why, Cause what = Cause::none, double scalar = 0) {
    phase = Phase::check;
    reason = why;
    cause = what;
    value = scalar;
  }

  KOKKOS_FUNCTION void finish(Reason why) {
    phase = Phase::finished;
    reason = why;
  }
};

/// \brief Whether a solve has ended without convergence, and with a larger residual than its guess
/// had. If the residual of the guess is not finite, x has not been changed.
KOKKOS_INLINE_FUNCTION bool ended_worse(Control const& control) {
  return control.reason != Reason::converged && Kokkos::isfinite(control.guess_squared) &&
         !(control.true_squared <= control.guess_squared);
}

/// \brief When a solve has converged, and when it must end all the same.
struct Limits {
  double tolerance;  ///< of ||b - A x|| / ||b||
  std::int32_t max_iterations;

  /// \brief 0: the benchmark mode, in which nothing but the iteration limit or a NaN ends the
  /// iteration.
  KOKKOS_FUNCTION bool unconditional() const { return tolerance == 0; }

  bool operator==(Limits const&) const = default;
};

/// \brief Residuals that also suffice: the largest of these and of Limits::tolerance counts.
struct Enough {
  double absolute = 0;  ///< ||b - A x||
  double of_guess = 0;  ///< ||b - A x|| / ||b - A x_0||

  bool operator==(Enough const&) const = default;
};

/// \brief What the residual check decided.
enum class Verdict {
  finish,   ///< control says why
  zero,     ///< b = 0: set x = 0 and come back
  go_on,    ///< the recursion was a little ahead of the truth: iterate further, with a lower
            ///< threshold
  restart,  ///< replace the recursive residual by the true one and begin anew from the current x
  revert    ///< control says why; x is to be what it was at the last restart
};

/// \brief What a method can do where the true residual contradicts its claim.
struct Recovery {
  bool continues = true;     ///< iterate further with a lower threshold: its recursion still stands
  bool restarts = false;     ///< begin anew after a breakdown too, if the residual fell by a tenth
  bool has_another = false;  ///< or if it did not: once, with another shadow residual
  bool reverts = false;      ///< put x back to what it was at the last restart

  bool operator==(Recovery const&) const = default;
};

namespace Impl {

/// \brief Decides what the numbers alone tell, whatever was claimed. \return whether they do
KOKKOS_INLINE_FUNCTION bool finish_by_numbers(Control& control, Limits const& limits,
                                              double b_nonzeros, double x_not_finite, bool first) {
  constexpr double nan = Kokkos::Experimental::quiet_NaN_v<double>;
  double const b_squared = control.b_squared, squared = control.true_squared;
  // Squares below 1e-260 lose their digits long before a tolerance of 1e-16 is reached.
  if (b_nonzeros > 0 && !(b_squared >= 1e-260 && Kokkos::isfinite(b_squared))) {
    control.true_squared = control.residual_squared = nan;
    control.cause = Cause::norm_of_b;
    control.value = b_squared;
    control.finish(Reason::breakdown);
  } else if (!(Kokkos::isfinite(squared) && b_nonzeros >= 0)) {
    control.true_squared = nan;
    bool const is_x = !first && x_not_finite > 0 && control.reason != Reason::not_finite;
    if (is_x) control.cause = Cause::range_of_x;
    control.finish(is_x ? Reason::diverged : Reason::not_finite);
  } else if (!limits.unconditional() &&
             (b_nonzeros == 0 || squared <= control.tolerance * control.tolerance * b_squared)) {
    control.finish(Reason::converged);
  } else {
    return false;
  }
  return true;
}

/// \brief A threshold lower by a little more than the gap between the true residual and the
/// recursion's, and below the latter.
KOKKOS_INLINE_FUNCTION double lower_threshold(Control const& control) {
  double const norm_b = Kokkos::sqrt(control.b_squared);
  double const claimed = Kokkos::sqrt(control.residual_squared) / norm_b;
  double const gap =
      (Kokkos::sqrt(control.true_squared) - Kokkos::sqrt(control.residual_squared)) / norm_b;
  // Where the two are an ulp apart the gap may vanish; the same claim must not come back at once.
  return Kokkos::fmin(control.threshold - 1.1 * gap, (1 - 1e-10) * claimed);
}

/// \brief The relative residual at which a solve from a guess of this residual has converged.
KOKKOS_INLINE_FUNCTION double tolerance_of(Limits const& limits, Enough const& enough,
                                           double guess_squared, double b_squared) {
  double const also = Kokkos::fmax(
      enough.absolute, enough.of_guess == 0 ? 0.0 : enough.of_guess * Kokkos::sqrt(guess_squared));
  return also > 0 && b_squared > 0 ? Kokkos::fmax(limits.tolerance, also / Kokkos::sqrt(b_squared))
                                   : limits.tolerance;
}

/// \brief What becomes of the claim where the numbers alone do not decide. \see check_residual
KOKKOS_INLINE_FUNCTION Verdict check_claim(Control& control, Limits const& limits,
                                           Recovery const& recovery, bool first) {
  double const squared = control.true_squared;
  Reason const claim = control.reason;
  bool const at_limit = control.iteration >= limits.max_iterations;
  bool const won_a_tenth = squared <= 0.81 * control.best_squared;
  auto const finish = [&](Reason why) {
    control.finish(why);
    return Verdict::finish;
  };
  auto const restart = [&] {
    control.phase = Phase::iterate;
    control.reason = Reason::running;
    control.best_squared = squared;
    control.set_threshold(control.tolerance);
    return Verdict::restart;
  };

  if (first) return at_limit ? finish(Reason::max_iterations) : restart();
  if (claim == Reason::breakdown) {
    if (recovery.restarts && won_a_tenth && !at_limit) {
      control.another = Cause::none;
      return restart();
    }
    if (control.another != Cause::none) {  // which did not help: the first breakdown is the reason
      control.cause = control.another;
      control.value = control.another_value;
    } else if (recovery.has_another && !at_limit) {
      control.another = control.cause;
      control.another_value = control.value;
      return restart();
    }
    return finish(claim);
  }
  if (claim != Reason::converged && claim != Reason::running && claim != Reason::max_iterations)
    return finish(claim);
  if (!limits.unconditional() && squared > control.useless_squared())
    return finish(Reason::diverged);
  if (at_limit || claim == Reason::max_iterations) return finish(Reason::max_iterations);
  if (claim == Reason::running) {
    constexpr double something = 1 - 1e-10;
    if (limits.unconditional() || squared < something * control.best_squared ||
        control.cause == Cause::scale)
      return restart();
    if (control.cause != Cause::faded) control.cause = Cause::cycle;
    return finish(Reason::stagnated);
  }
  double const lower = lower_threshold(control);
  if (recovery.continues && lower > 0.4 * control.tolerance) {
    control.set_threshold(lower);
    control.phase = Phase::iterate;
    control.reason = Reason::running;
    return Verdict::go_on;
  }
  if (won_a_tenth) return restart();
  control.cause = Cause::none;
  return finish(Reason::stagnated);
}

}  // namespace Impl

/// \brief Compares the iteration's claim with the recomputed residual: success is never assumed.
///
/// \param residual_squared ||b - A x||^2, recomputed
/// \param b_squared ||b||^2
/// \param b_nonzeros entries of b other than zero, which tells b = 0 from a norm that underflows;
///        NaN where an entry is not finite, which tells that from a norm that overflows
/// \param recovery what the method can do where the claim does not hold
/// \param x_not_finite entries of x that are not finite: tells an x that has grown without bounds
///        from a NaN in A
/// \param enough residuals that also suffice; read in the first check of a solve
///
/// Residual replacement: where the recursion has drifted from the true residual, the solve restarts
/// from the latter (van der Vorst & Ye's replacement with a fresh search direction). If the
/// residual has not fallen by a tenth since the last restart, the attainable accuracy is reached
/// and the solve has stagnated. A cycle of a restarted method that ends without a claim
/// (Reason::running) need only reduce the residual, unless it asks for another scale; a last cycle
/// that has increased it is undone. Nothing goes on at the iteration limit.
KOKKOS_INLINE_FUNCTION Verdict check_residual(Control& control, Limits const& limits,
                                              double residual_squared, double b_squared,
                                              double b_nonzeros, Recovery recovery = {},
                                              double x_not_finite = 0, Enough const& enough = {}) {
  bool const first = control.recorded == 0;
  control.b_squared = b_squared;
  control.true_squared = residual_squared;
  if (b_squared == 0 && b_nonzeros == 0 && !control.zeroed) {
    control.zeroed = true;  // a residual that is not 0 with x = 0 can only come from A
    return Verdict::zero;
  }
  if (first) {
    control.measure(residual_squared);
    control.tolerance = Impl::tolerance_of(limits, enough, residual_squared, b_squared);
  }
  Verdict const verdict = Impl::finish_by_numbers(control, limits, b_nonzeros, x_not_finite, first)
                              ? Verdict::finish
                              : Impl::check_claim(control, limits, recovery, first);
  if (first) control.guess_squared = control.true_squared;
  bool const is_worse = !first && !control.fresh && !(residual_squared <= control.best_squared);
  if (!(verdict == Verdict::finish && recovery.reverts && is_worse && !limits.unconditional() &&
        control.reason != Reason::converged))
    return verdict;
  control.true_squared = control.best_squared;
  if (control.reason == Reason::stagnated || control.reason == Reason::diverged) {
    control.reason = Reason::stagnated;  // x has not gone far
    control.cause = Cause::undone;
  }
  return Verdict::revert;
}

/// \brief The reason in a sentence, or an empty string where the reason says it all.
inline std::string describe(Control const& control) {
  std::string const number = Impl::rounded_text(control.value);
  std::string const when = " at iteration " + std::to_string(control.iteration);
  double const size = std::fabs(control.value);
  bool const is_out_of_range = size > 1e290 || (size > 0 && size < 1e-290),
             is_b_extreme =
                 control.b_squared > 0 && (control.b_squared < 1e-100 || control.b_squared > 1e100);
  bool const is_far = !(control.relative(control.true_squared) < 1e-3);
  std::string const scalar = [&] {
    switch (control.cause) {
      case Cause::p_Ap:
        return "(p, A p) = ";
      case Cause::q_Mq:
        return "(A p, M A p) = ";
      case Cause::rs_r:
        return "(rs, r), rs the shadow residual, = ";
      case Cause::rs_Ap:
        return "(rs, A p), rs the shadow residual, = ";
      case Cause::As_s:
        return "(A s, s) = ";
      case Cause::norm_of_w:
        return "||A v|| outside the Krylov space = ";
      case Cause::p_g:
        return "(p, g), p of the shadow space and g = A u, = ";
      case Cause::t_r:
        return "(A M r, r), which omega comes from, = ";
      case Cause::hidden_r:
        return "the residual before smoothing, relative to ||b||, = ";
      case Cause::range_of_t:
        return "the square of ||A M v||, v being a residual, = ";
      default:
        return "(r, z) = ";
    }
  }();
  switch (control.reason) {
    case Reason::max_iterations:
      return control.true_squared > 1e4 * std::fmax(control.best_squared, control.b_squared)
                 ? "the residual has grown a hundredfold or more: the method does not suit A or "
                   "the preconditioner (cg needs both to be Hermitian positive definite)"
                 : "";
    case Reason::breakdown:
      if (control.cause == Cause::norm_of_b)
        return std::string(Impl::norm_of_b_squared) +
               (control.value < 1 ? "underflows" : "overflows") + ": scale b";
      return scalar + number + when +
             (control.cause == Cause::q_Mq
                  ? " leaves the range of double: scale A or b, or use the classical form"
              : control.cause == Cause::range_of_t || is_out_of_range
                  ? " leaves the range of double: scale A or b"
              : is_b_extreme
                  ? std::string(": b is so ") + (control.b_squared < 1 ? "small" : "large") +
                        " that products of vectors may leave the range of double: "
                        "scale A or b"
                  : "");
    case Reason::indefinite_matrix:
      return scalar + number + when + ": A is not positive definite to working precision";
    case Reason::indefinite_preconditioner:
      return scalar + number + when + ": the preconditioner is not positive definite";
    case Reason::not_finite:
      // A scalar within range is not what went wrong.
      return (control.cause == Cause::none || (std::isfinite(size) && !is_out_of_range)
                  ? "a NaN or an infinity in A, b or x, or an overflow"
                  : scalar + number) +
             when;
    case Reason::diverged:
      if (control.cause == Cause::range_of_x)
        return "x has left the range of its scalar" + when +
               ", but the residual of the recurrence has not: A may be singular and b not in its "
               "range, or A or b may be badly scaled";
      return "the residual" + when +
             " is more than 1e12 times ||b|| and 1e12 times the residual at the start: A may be "
             "singular and b not in its range, or the rows of A may be badly scaled";
    case Reason::stagnated:
      if (control.cause == Cause::cycle)
        return "a cycle that starts from the true residual does not reduce it, so further cycles "
               "would not either";
      if (control.cause == Cause::undone)
        return "the last cycle ended with a larger residual than it began with, and " +
               std::string(Impl::was_undone) + ": rounding outweighs its progress" +
               (is_far ? "; A may be singular and b not in its range" : "");
      if (control.cause == Cause::faded)
        return "the recurrence for M r is dominated by rounding, and a restart from the true "
               "residual no longer reduces it: try another preconditioner, or the classical form";
      if (is_far)
        return "restarting from the true residual no longer reduces it, far from a solution: A may "
               "be singular and b not in its range";
      return "restarting from the true residual no longer reduces it: the attainable accuracy of "
             "this method with this preconditioner is reached";
    default:
      return {};
  }
}

}  // namespace Solder
