// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What BiCGStab decides from the sums, twice an iteration: alpha, then omega and beta, and why it
// ends.

#include <cstddef>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/solvers/detail/body.hpp>
#include <solder/solvers/detail/residual_check.hpp>

namespace Solder::Impl {

/// \brief The scalars that one stage computes and a later one needs.
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

/// Below this the cosine of an angle is nothing but rounding.
template <class Scalar>
inline constexpr double bicgstab_noise =
    64 * double(Kokkos::Experimental::epsilon_v<typename ScalarTraits<Scalar>::Real>);

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

/// \brief alpha = (rs, r) / (rs, q), and whether to end.
///
/// Where (rs, r) is nothing but rounding, the method begins anew if the residual has fallen since
/// the last beginning, and goes on if not. It also begins anew where u has faded.
///
/// \tparam Recurs u = M r goes by a recurrence: M is not pointwise
template <class Scalar, bool Recurs>
struct BiCgStabAlpha {
  using Inner = Wide<Scalar>;
  struct Scalars {
    Scalar alpha;
  };
  struct Ahead {
    Inner rs_r, inverse_norm_rs;
  };

  Limits limits;
  Sum<1> rr;
  Sum<parts<Scalar>> of_first_product;  ///< (rs, q)
  Sum<parts<Scalar>> of_shadow;         ///< (rs, r) of a beginning where rs is not r
  Sum<1> of_first_u, of_u;              ///< (u, u), where u goes by a recurrence
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabAlpha const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const {
    if constexpr (Recurs)
      return f(rr, of_first_product, of_first_u, of_u);
    else
      return f(rr, of_first_product);
  }
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(auto const& team, At const&) const {
    return {kept.rs_r().recall(team), kept.inverse_norm_rs().recall(team)};
  }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const& team, auto const& total, Ahead const& loaded,
                                           At const&, Control const& now, Control& next,
                                           auto& s) const {
    constexpr double noise = bicgstab_noise<Scalar>;
    Inner rs_r = loaded.rs_r;
    if (now.fresh) {
      rs_r =
          wide_at<Scalar>(team.total(team.gather(of_shadow.parts, of_shadow), of_shadow.parts), 0);
      next.fresh = false;
    }
    double const rr = total[0], share = size_of(rs_r) * size_of(loaded.inverse_norm_rs);
    auto const rs_q = wide_at<Scalar>(total, 1);
    next.measure(rr);
    Inner inverse = 1.0 / rs_q, alpha = rs_r * inverse;
    bool const lost = share * share <= noise * noise * rr;
    bool const unconditional = limits.unconditional();
    bool const ordinary = rr > now.stop_squared && rr <= now.useless_squared() &&
                          !(lost && (unconditional || rr <= now.best_squared / 2)) &&
                          size_of(alpha) > 0 && is_finite(inverse) && is_finite(alpha) &&
                          now.iteration < limits.max_iterations;
    if (!ordinary) {
      bicgstab_end(limits, now, next, rr, rs_r, rs_q);
      inverse = alpha = Inner{};
    } else if constexpr (Recurs) {
      constexpr std::size_t u = 1 + parts<Scalar>;
      if (has_faded<Scalar>(total[u + 1], total[u]) && !unconditional)
        next.claim(Reason::running, Cause::faded);
    }
    kept.alpha().keep(team, alpha);
    kept.inverse_rs_q().keep(team, inverse);
    s.alpha = narrow<Scalar>(alpha);
    return next.phase == Phase::iterate;
  }
};

/// \brief omega = (t, s) / (t, t), (rs, r') = (rs, s) - omega (rs, t), and, for the pipelined form,
/// beta = (rs, r') / (omega (rs, q)); whether to end, and the sums of the whole step.
///
/// Paper 1 leaves out (rs, s), which is zero without rounding. Computing it costs no words, and
/// makes beta as good as the classical one.
///
/// \tparam Left sums that the rows leave for the next iteration, (r, r) first
template <class Scalar, bool Pipelined, std::size_t Left>
struct BiCgStabOmega {
  using Inner = Wide<Scalar>;
  static constexpr std::size_t width = parts<Scalar>, sums = Left;
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
  Sum<2 + 3 * width> of_second_product;  ///< (s, s), (t, t), (t, s), (rs, t) and (rs, s)
  Sum<Left> left;
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabOmega const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const {
    return f(of_second_product);
  }
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(auto const& team, At const&) const {
    return {kept.alpha().recall(team), kept.inverse_rs_q().recall(team)};
  }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const& team, auto const& total, Ahead const& loaded,
                                           At const&, Control const& now, Control& next,
                                           auto& s) const {
    constexpr double noise_squared = bicgstab_noise<Scalar> * bicgstab_noise<Scalar>;
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
    s.alpha = narrow<Scalar>(step.alpha);
    s.omega = narrow<Scalar>(step.omega);
    s.beta = narrow<Scalar>(step.beta);
    return next.phase == Phase::iterate || next.iteration != now.iteration;
  }
  /// A half step that ended the iteration has been counted.
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const&,
                                       Control& next) const {
    if (next.phase != Phase::iterate) return;
    left.leave(team, mine);
    ++next.iteration;
  }

 private:
  /// \brief Why the second half cannot be taken as usual: sets omega = beta = 0, which leaves only
  /// the half step, and alpha = 0 too where that would do harm.
  KOKKOS_FUNCTION void end_half_way(Ahead const& loaded, Control const& now, Control& next,
                                    Step& step, double ss, double tt, double ts) const {
    constexpr double noise = bicgstab_noise<Scalar>;
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
    else if (ss * noise * noise > now.residual_squared)
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

/// \brief beta = (rs, r') / (rs, r) alpha / omega, of the classical form.
template <class Scalar>
struct BiCgStabBeta {
  using Inner = Wide<Scalar>;
  struct Scalars {
    Scalar omega, beta;
  };
  struct Ahead {
    Inner omega, inverse_rs_q;
  };

  Sum<1 + parts<Scalar>> of_update;
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabBeta const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(auto const& f) const { return f(of_update); }
  KOKKOS_FORCEINLINE_FUNCTION Ahead ahead(auto const& team, At const&) const {
    return {kept.omega().recall(team), kept.inverse_rs_q().recall(team)};
  }
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const& team, auto const& total, Ahead const& loaded,
                                           At const&, Control const&, Control&, Scalars& s) const {
    auto const rs_r = wide_at<Scalar>(total, 1);
    auto const beta = rs_r / loaded.omega * loaded.inverse_rs_q;
    kept.rs_r().keep(team, rs_r);
    s = {narrow<Scalar>(loaded.omega), is_finite(beta) ? narrow<Scalar>(beta) : Scalar{}};
    return true;
  }
};

/// \brief Begins anew from the true residual, with (r, r) and (rs, r).
///
/// \tparam Then the phase that follows
template <class Scalar, Phase Then>
struct BiCgStabBeginning {
  static constexpr std::size_t sums = 1 + parts<Scalar>;
  struct Scalars {
    bool another;
    std::int32_t columns;
  };

  Sum<1> rr;
  Sum<parts<Scalar>> of_shadow;
  BiCgStabKept<Scalar> kept;

  bool operator==(BiCgStabBeginning const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void scalars(auto const& team, Control& next, Scalars& s) const {
    s = {next.another != Cause::none, team.columns()};
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const&,
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
    next.phase = Then;
  }
};

/// \brief The decisions of a form, and the sums that they are made of.
///
/// \tparam Left sums of an update: (r, r); in the classical form (rs, r); where u goes by a
///         recurrence (u, u)
template <class Scalar, bool Recurs, bool Pipelined,
          std::size_t Left = 1 + (Pipelined ? 0 : parts<Scalar>)+Recurs>
struct BiCgStabDecisions {
  static constexpr std::size_t width = parts<Scalar>;

  BiCgStabAlpha<Scalar, Recurs> alpha;
  BiCgStabOmega<Scalar, Pipelined, Left> omega;

  static BiCgStabDecisions in(auto& arena, Limits const& limits, int product_teams,
                              int vector_teams) {
    auto const of_update = arena.template sum<Left>(vector_teams);
    BiCgStabKept<Scalar> const kept{arena.template kept<Scalar>().value};
    return {{limits, of_update.template part<0>(), arena.template sum<width>(product_teams),
             arena.template sum<width>(vector_teams), arena.template sum<1>(vector_teams),
             of_update.template part<Left - 1>(), kept},
            {limits, arena.template sum<2 + 3 * width>(product_teams), of_update, kept}};
  }
  template <Phase Then>
  BiCgStabBeginning<Scalar, Then> beginning() const {
    return {alpha.rr, alpha.of_shadow, alpha.kept};
  }
  BiCgStabBeta<Scalar> beta() const {
    return {omega.left.template part<0, 1 + width>(), omega.kept};
  }
};

}  // namespace Solder::Impl
