// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/scalar.hpp>
#include <solder/solvers/common.hpp>

namespace Solder::Impl {

/// \brief What the stages of BiCGStab share.
///
/// Vectors are kept preconditioned where that saves words: u is M r, and M s from the half step to
/// the update; p is M times the textbook's p. rs is the shadow residual, q = A p and t = A M s. A
/// factorised preconditioner, which cannot be undone, needs r, w = M q and g, G q or G t, besides.
///
/// Sums left by one stage for later ones: the first product leaves (rs, q); the second (s, s),
/// (t, t), (t, s), (rs, t) and (rs, s); the update (r, r), and in the classical form (rs, r); the
/// residual (s, s), (b, b) and the nonzeros of b. Scalars that one stage computes and a later one
/// needs are kept in front of them.
template <class Scalar, class Operator, class Preconditioner>
struct BiCgStabData {
  using scalar_type = Scalar;
  using Inner = Wide<Scalar>;
  static constexpr char const* label = "Solder::bicgstab::solve";
  static constexpr std::size_t width = parts<Scalar>;
  static constexpr std::size_t product_sums = 2 + 3 * width;
  static constexpr int max_sums = product_sums;

  /// What is kept from one stage to another, `width` doubles each; the last entry counts them.
  enum Kept { rs_r, alpha, inverse_rs_q, omega, inverse_norm_rs, kept };

  /// Below this the cosine of an angle is nothing but rounding.
  static constexpr double noise =
      64 * double(Kokkos::Experimental::epsilon_v<typename ScalarTraits<Scalar>::Real>);

  Operator A;
  Preconditioner M;
  Rows rows;
  Limits limits;
  Scalar const* b;
  Scalar *x, *u, *p, *q, *t, *rs;
  Scalar *r, *w, *g;  ///< of a factorised preconditioner
  double* sums;
  std::int32_t vector_teams, product_teams;

  /// \brief r_i, or s_i after the half step.
  KOKKOS_FORCEINLINE_FUNCTION Scalar residual(std::int32_t i) const {
    if constexpr (Preconditioner::is_row_wise)
      return M.undo(i, u[i]);
    else
      return r[i];
  }

  bool operator==(BiCgStabData const&) const = default;

  KOKKOS_FUNCTION std::int32_t most_teams() const {
    return Kokkos::max(vector_teams, product_teams);
  }
  template <class Team>
  KOKKOS_FUNCTION void keep(Team const& team, Kept which, Inner const& value) const {
    if (team.league_rank() != 0 || team.rank() != 0) return;
    double* const at = sums + which * width;
    at[0] = at[width - 1] = 0;
    add_to(at, 0, value);
  }
  KOKKOS_FUNCTION Inner recall(Kept which) const {
    return wide_at<Scalar>(sums + which * width, 0);
  }
  KOKKOS_FUNCTION Partials<width> of_first_product() const {
    return {sums + kept * width, product_teams};
  }
  KOKKOS_FUNCTION Partials<product_sums> of_second_product() const {
    return {of_first_product().values + width * product_teams, product_teams};
  }
  /// The residual is computed where no product's sums are needed.
  KOKKOS_FUNCTION Partials<3> of_residual() const {
    return {of_second_product().values, product_teams};
  }
  template <std::size_t N>
  KOKKOS_FUNCTION Partials<N> of_update() const {
    return {of_second_product().values + product_sums * product_teams, vector_teams};
  }
  /// q is free while a claim is judged.
  KOKKOS_FUNCTION Scalar* true_residual() const { return q; }

  static std::size_t sums_size(int vector_teams, int product_teams) {
    return kept * width + (width + product_sums) * product_teams + (1 + width) * vector_teams;
  }
};

/// \brief |Re s| + |Im s|.
KOKKOS_FORCEINLINE_FUNCTION double size_of(double s) { return Kokkos::fabs(s); }
KOKKOS_FORCEINLINE_FUNCTION double size_of(Kokkos::complex<double> const& s) {
  return Kokkos::fabs(s.real()) + Kokkos::fabs(s.imag());
}

/// \brief Holds the claim against the true residual; begins anew from it, rs = r, u = p = M r,
/// where the judge says so.
struct BiCgStabJudge : VectorStage {
  static constexpr char const* label = "Solder::bicgstab::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    Recovery const recovery{.continues = true, .restarts = true};
    if (verdict_on_residual(d, team, next, recovery) != Verdict::restart) return;
    Sums<1> mine{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const r = d.q[i];
      auto const z = d.M(i, r);
      d.rs[i] = r;
      d.u[i] = z;
      d.p[i] = z;
      mine[0] += abs_squared(r);
    });
    d.template of_update<1>().leave(team, mine);
    d.keep(team, Data::rs_r, next.true_squared);
    d.keep(team, Data::inverse_norm_rs, 1 / Kokkos::sqrt(next.true_squared));
  }
};

/// \brief q = A p, with (rs, q). Words: the matrix, and 3 a row.
struct BiCgStabFirstProduct : ProductStage {
  static constexpr char const* label = "Solder::bicgstab::first_product";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    Sums<Data::width> mine{};
    bool const went_on = d.A.for_each_row_product(
        team, d.p, [&] { return now.phase == phase; },
        [&](std::int32_t i, auto const& q) {
          d.q[i] = q;
          add_to(mine, 0, dot_term(d.rs[i], q));
        });
    if (!went_on) return;
    d.of_first_product().leave(team, mine);
  }
};

/// \brief Why the half step cannot be taken as usual. In the benchmark mode it is left out then.
template <class Data>
KOKKOS_FUNCTION void bicgstab_end(Data const& d, Control const& now, Control& next, double rr,
                                  typename Data::Inner const& rs_r,
                                  typename Data::Inner const& rs_q) {
  if (!Kokkos::isfinite(rr))
    next.claim(Reason::not_finite, Cause::rs_r, rr);
  else if (!d.limits.unconditional() && rr <= now.stop_squared)
    next.claim(Reason::converged);
  else if (now.iteration >= d.limits.max_iterations)
    next.claim(Reason::max_iterations);
  else if (d.limits.unconditional())
    return;
  else if (!is_finite(rs_q))
    next.claim(Reason::not_finite, Cause::rs_Ap, size_of(rs_q));
  else if (rr > Limits::divergence * Limits::divergence * now.b_squared)
    next.claim(Reason::diverged);
  else if (size_of(rs_q) == 0 && size_of(rs_r) != 0)
    next.claim(Reason::breakdown, Cause::rs_Ap, 0);
  else
    next.claim(Reason::breakdown, Cause::rs_r, size_of(rs_r));
}

/// \brief alpha = (rs, r) / (rs, q); also ends the iteration where it must.
///
/// Where (rs, r) is but rounding the method has lost its bearings; it begins anew if it has won
/// something, and wanders on if it has not.
template <class Data, class Team>
KOKKOS_FORCEINLINE_FUNCTION typename Data::Inner bicgstab_alpha(Data const& d, Team const& team,
                                                                Sums<1 + Data::width> const& total,
                                                                typename Data::Inner const& rs_r,
                                                                double inverse_norm_rs,
                                                                Control const& now, Control& next) {
  using Inner = typename Data::Inner;
  double const rr = total[0], share = size_of(rs_r) * inverse_norm_rs;
  auto const rs_q = wide_at<typename Data::scalar_type>(total, 1);
  next.measure(rr);
  Inner inverse = 1.0 / rs_q, alpha = rs_r * inverse;
  bool const lost = share * share <= Data::noise * Data::noise * rr;
  bool const ordinary =
      rr > now.stop_squared && rr <= Limits::divergence * Limits::divergence * now.b_squared &&
      !(lost && (d.limits.unconditional() || rr <= now.best_squared / 2)) && size_of(alpha) > 0 &&
      is_finite(inverse) && is_finite(alpha) && now.iteration < d.limits.max_iterations;
  if (!ordinary) {
    bicgstab_end(d, now, next, rr, rs_r, rs_q);
    inverse = alpha = Inner{};
  }
  d.keep(team, Data::alpha, alpha);
  d.keep(team, Data::inverse_rs_q, inverse);
  return alpha;
}

/// \brief s = r - alpha q: u becomes M s. Words: 3 a row.
struct BiCgStabHalfStep : VectorStage {
  static constexpr char const* label = "Solder::bicgstab::half_step";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    struct Row {
      Scalar u, q;
    };
    std::int32_t const most = d.most_teams();
    auto const gather = [&] {
      return team.gather(most, d.template of_update<1>(), d.of_first_product());
    };
    auto const rs_r = d.recall(Data::rs_r), inverse_norm_rs = d.recall(Data::inverse_norm_rs);
    Sums<1 + Data::width> share{};
    if (team.gathers_ahead(most)) share = gather();
    Scalar alpha;
    team.for_each_row(
        d.rows,
        [&](std::int32_t i) {
          return Row{d.u[i], d.q[i]};
        },
        [&] {
          if (now.phase != phase) return false;
          if (!team.gathers_ahead(most)) share = gather();
          alpha = narrow<Scalar>(bicgstab_alpha(d, team, team.total(share, most), rs_r,
                                                size_of(inverse_norm_rs), now, next));
          return next.phase == phase;
        },
        [&](std::int32_t i, Row const& old) { d.u[i] = old.u - alpha * d.M(i, old.q); });
  }
};

/// \brief t = A M s, with (s, s), (t, t), (t, s), (rs, t) and (rs, s). Words: the matrix, and 3 a
/// row.
struct BiCgStabSecondProduct : ProductStage {
  static constexpr char const* label = "Solder::bicgstab::second_product";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    Sums<Data::product_sums> mine{};
    bool const went_on = d.A.for_each_row_product(
        team, d.u, [&] { return now.phase == phase; },
        [&](std::int32_t i, auto const& t) {
          auto const s = d.residual(i), rs = d.rs[i];
          d.t[i] = t;
          mine[0] += abs_squared(s);
          mine[1] += abs_squared(t);
          add_to(mine, 2, dot_term(t, s));
          add_to(mine, 2 + Data::width, dot_term(rs, t));
          add_to(mine, 2 + 2 * Data::width, dot_term(rs, s));
        });
    if (!went_on) return;
    d.of_second_product().leave(team, mine);
  }
};

/// \brief The scalars of the second half of an iteration.
template <class Inner>
struct BiCgStabStep {
  Inner alpha, omega, beta;
};

/// \brief Why the second half cannot be taken as usual: sets omega = beta = 0, which leaves the
/// half step; alpha = 0 too where that would do harm.
template <class Data>
KOKKOS_FUNCTION void bicgstab_end_half_way(Data const& d, Control const& now, Control& next,
                                           BiCgStabStep<typename Data::Inner>& step, double ss,
                                           double tt, double ts) {
  using Inner = typename Data::Inner;
  step.omega = step.beta = Inner{};
  if (d.limits.unconditional()) {
    if (!(Kokkos::isfinite(ss) && Kokkos::isfinite(tt)))
      next.claim(Reason::not_finite, Cause::As_s, ts);
    return;
  }
  if (!Kokkos::isfinite(ss))
    next.claim(Reason::not_finite, Cause::rs_Ap, 1 / size_of(d.recall(Data::inverse_rs_q)));
  else if (!(Kokkos::isfinite(tt) && Kokkos::isfinite(ts)))
    next.claim(Reason::not_finite, Cause::As_s, ts);
  else if (ss * Data::noise * Data::noise > now.residual_squared)
    next.claim(Reason::breakdown, Cause::rs_Ap, 1 / size_of(d.recall(Data::inverse_rs_q)));
  else
    next.claim(Reason::breakdown, Cause::As_s, ts);
  if (!(ss < now.residual_squared)) {
    step.alpha = Inner{};
    return;
  }
  ++next.iteration;
  next.measure(ss);
}

/// \brief omega = (t, s) / (t, t) and (rs, r') = (rs, s) - omega (rs, t), and of it beta =
/// (rs, r') / (omega (rs, q)).
///
/// Paper 1 leaves (rs, s) out, which without rounding is zero. Recomputed, which costs no word, it
/// makes beta as good as the classical one.
template <class Data, class Team>
KOKKOS_FORCEINLINE_FUNCTION BiCgStabStep<typename Data::Inner> bicgstab_step(
    Data const& d, Team const& team, Sums<Data::product_sums> const& total,
    typename Data::Inner const& alpha, typename Data::Inner const& inverse_rs_q, Control const& now,
    Control& next) {
  using Scalar = typename Data::scalar_type;
  using Inner = typename Data::Inner;
  constexpr double noise_squared = Data::noise * Data::noise;
  double const ss = total[0], tt = total[1];
  auto const ts = wide_at<Scalar>(total, 2), rs_t = wide_at<Scalar>(total, 2 + Data::width),
             rs_s = wide_at<Scalar>(total, 2 + 2 * Data::width);
  // Two divisions that do not wait for each other.
  Inner const omega = ts * (1 / tt), inverse_omega = tt / ts;
  BiCgStabStep<Inner> step{alpha, omega, (rs_s * inverse_omega - rs_t) * inverse_rs_q};
  double const size = size_of(omega);
  bool const ordinary = size * size * tt > noise_squared * ss &&
                        ss * noise_squared <= now.residual_squared && is_finite(omega) &&
                        is_finite(step.beta);
  if (!ordinary) bicgstab_end_half_way(d, now, next, step, ss, tt, size_of(ts));
  d.keep(team, Data::rs_r, rs_s - step.omega * rs_t);
  return step;
}

/// \brief x += alpha p + omega M s, r = s - omega t and, pipelined, p = M r + beta (p - omega M q),
/// with (r, r); classical with (rs, r) in place of p. Words: 8 a row; classical 7.
template <bool Pipelined>
struct BiCgStabUpdate : VectorStage {
  static constexpr char const* label = "Solder::bicgstab::update";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    struct Row {
      Scalar x, s, p, t, other;
    };
    constexpr std::size_t size = Pipelined ? 1 : 1 + Data::width;
    std::int32_t const most = d.product_teams;
    Sums<Data::product_sums> share{};
    if (team.gathers_ahead(most)) share = team.gather(most, d.of_second_product());
    auto const kept_alpha = d.recall(Data::alpha), inverse_rs_q = d.recall(Data::inverse_rs_q);
    Scalar alpha, omega, beta;
    Sums<size> mine{};
    bool const went_on = team.for_each_row(
        d.rows,
        [&](std::int32_t i) {
          return Row{d.x[i], d.u[i], d.p[i], d.t[i], Pipelined ? d.q[i] : d.rs[i]};
        },
        [&] {
          if (now.phase != phase) return false;
          if (!team.gathers_ahead(most)) share = team.gather(most, d.of_second_product());
          auto const step =
              bicgstab_step(d, team, team.total(share, most), kept_alpha, inverse_rs_q, now, next);
          alpha = narrow<Scalar>(step.alpha);
          omega = narrow<Scalar>(step.omega);
          beta = narrow<Scalar>(step.beta);
          if constexpr (!Pipelined) d.keep(team, Data::omega, step.omega);
          return next.phase == phase || next.iteration != now.iteration;
        },
        [&](std::int32_t i, Row const& old) {
          Scalar const u = old.s - omega * d.M(i, old.t);
          Scalar const r = d.M.undo(i, u);
          if constexpr (Pipelined) {
            Scalar const p = u + beta * (old.p - omega * d.M(i, old.other));
            d.p[i] = p;
          } else {
            add_to(mine, 1, dot_term(old.other, r));
          }
          d.x[i] = old.x + alpha * old.p + omega * old.s;
          d.u[i] = u;
          mine[0] += abs_squared(r);
        });
    if (!went_on || next.phase != phase) return;
    d.template of_update<size>().leave(team, mine);
    ++next.iteration;
  }
};

/// \brief beta = (rs, r') / (rs, r) alpha / omega, p = M r + beta (p - omega M q). Words: 4 a row.
struct BiCgStabClassicalDirection : VectorStage {
  static constexpr char const* label = "Solder::bicgstab::direction";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    using Scalar = typename Data::scalar_type;
    if (now.phase != phase) return;
    auto const total = team.total(
        team.gather(d.vector_teams, d.template of_update<1 + Data::width>()), d.vector_teams);
    auto const rs_r = wide_at<Scalar>(total, 1), wide_omega = d.recall(Data::omega);
    auto const wide_beta = rs_r / wide_omega * d.recall(Data::inverse_rs_q);
    d.keep(team, Data::rs_r, rs_r);
    Scalar const omega = narrow<Scalar>(wide_omega),
                 beta = is_finite(wide_beta) ? narrow<Scalar>(wide_beta) : Scalar{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      d.p[i] = d.u[i] + beta * (d.p[i] - omega * d.M(i, d.q[i]));
    });
  }
};

}  // namespace Solder::Impl
