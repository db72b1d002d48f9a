// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The second half of a step of IDR(s).

#include <cstddef>
#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/source.hpp>
#include <solder/kernels/tall_basis.hpp>
#include <solder/solvers/detail/idr_cycle.hpp>

namespace Solder::Impl {

/// \brief What a step makes of the sums, the same in all teams; in the team's workspace.
template <class Scalar>
struct IdrScratch {
  using Number = Wide<Scalar>;
  static constexpr std::size_t p = parts<Scalar>;

  double* memory;
  std::int32_t s;

  KOKKOS_FUNCTION static constexpr int size(int s) {
    return IdrSmall<Scalar>::size(s) + static_cast<int>(4 + 2 * p + p * (5 * s + 2));
  }
  KOKKOS_FUNCTION double* small() const { return memory; }
  /// (r, r), (g, g), (g, r), P^H g, P^H r, (rs, rs), (d, d), (d, rs): 4 + 2 p + 2 s p doubles.
  KOKKOS_FUNCTION double* totals() const { return memory + IdrSmall<Scalar>::size(s); }
  KOKKOS_FUNCTION double rr() const { return totals()[0]; }
  KOKKOS_FUNCTION double gg() const { return totals()[1]; }
  KOKKOS_FUNCTION Number gr() const { return wide_at<Scalar>(totals(), 2); }
  KOKKOS_FUNCTION Number h(std::int32_t i) const {
    return wide_at<Scalar>(totals(), 2 + p + i * p);
  }
  KOKKOS_FUNCTION Number Pr(std::int32_t i) const { return h(s + i); }
  KOKKOS_FUNCTION double* of_smoothing() const { return totals() + 2 + p + 2 * s * p; }
  KOKKOS_FUNCTION double ss() const { return of_smoothing()[0]; }
  KOKKOS_FUNCTION double dd() const { return of_smoothing()[1]; }
  KOKKOS_FUNCTION Number ds() const { return wide_at<Scalar>(of_smoothing(), 2); }
  /// The newest column of M, f after this step, the coefficients, and beta (omega where k = s).
  KOKKOS_FUNCTION Number& m(std::int32_t i) const { return numbers()[i]; }
  KOKKOS_FUNCTION Number& f(std::int32_t i) const { return numbers()[s + i]; }
  KOKKOS_FUNCTION Number& c(std::int32_t i) const { return numbers()[2 * s + i]; }
  KOKKOS_FUNCTION Number& beta() const { return numbers()[3 * s]; }
  /// Of the terms whose sum is (p_k, g_k).
  KOKKOS_FUNCTION double& largest_term() const {
    return *reinterpret_cast<double*>(numbers() + 3 * s + 1);
  }

 private:
  KOKKOS_FUNCTION Number* numbers() const {
    return reinterpret_cast<Number*>(totals() + 4 + 2 * p + 2 * s * p);
  }
};

/// \brief The second half of a step: g_k and u_k made biorthogonal, r and x; and the next step's u,
/// or what it is made of.
///
/// Since the product has computed all inner products with P, one pass over G and U does both: the
/// vectors before k serve the biorthogonalisation, those after k the next direction. Words: 2 s + 7
/// a row (2 s + 5 for k = 0), and 4 with smoothing.
///
/// \tparam Formula what is done with a row
/// \tparam Apart M is not pointwise: v and a part of u are left, and M's own stages and
/// IdrDirection make u of them.
template <class Formula, class Scalar, class M, bool Apart>
struct IdrUpdate {
  using Cycle = IdrCycle<Scalar>;
  using Number = Wide<Scalar>;
  using Scratch = IdrScratch<Scalar>;
  static constexpr std::size_t sums = Cycle::update_sums + parts<Scalar> * Cycle::width;
  static constexpr char const* label = "Solder::idr::update";
  static constexpr Phase phase = Phase::iterate;
  static constexpr int threads = league_threads, most_sums = Cycle::most_sums;

  Cycle d;
  M m;
  Rows rows;
  Scalar *x, *r, *v;  ///< v where M is apart
  Scalar *xs, *rs;    ///< the smoothed ones; null: there is no smoothing
  double* host_workspace;
  std::int32_t league;
  double norm_of_shadow;  ///< of a vector of the shadow space, as expected

  bool operator==(IdrUpdate const&) const = default;
  int workspace() const { return Scratch::size(d.s); }
  KOKKOS_FUNCTION int teams() const { return league; }

  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                       Control& next) const {
    std::int32_t const k = at.step;
    Scratch const of{team.workspace(host_workspace, Scratch::size(d.s)), d.s};
    Step step;
    Sums<sums> mine{};
    if (!for_each_row(
            team, k, of, [&] { return prepare(team, of, k, now, next, step); },
            [&](std::int32_t i, Row const& row) { finish_row(i, k, row, step, mine); }))
      return;
    Sums<sums> const totals = team.sum_for_first(mine);
    d.of_update(d.after(k)).leave(team, 0, Cycle::update_sums, totals);
    if (leaves_Pr(k)) d.of_r(d.s).leave(team, 0, d.values(), totals, Cycle::update_sums);
    if constexpr (!Apart) d.advance(k, next);
  }

 private:
  /// \brief What the rows of a step need of its scalars.
  struct Step {
    Scalar beta, factor, share;
    ShadowSpace<Scalar> shadow;
  };
  /// \brief A row of a step: g and u, biorthogonal by now; r and x as they were; and the sums over
  /// c_i g_i and c_i u_i of the next direction.
  struct Row {
    Scalar g, u, r, x, from_G, from_U;
  };

  KOKKOS_FORCEINLINE_FUNCTION bool leaves_Pr(std::int32_t k) const {
    return k == d.s - 1 && d.is_narrow();
  }
  /// \brief The scalars of step k, the same in all teams; answers whether to go through the rows.
  KOKKOS_FORCEINLINE_FUNCTION bool prepare(auto const& team, Scratch const& of, std::int32_t k,
                                           Control const& now, Control& next, Step& step) const {
    IdrSmall<Scalar> const small = d.small.copied(team, of.small(), k);
    gather(team, of, k);
    if (now.phase != phase || now.step != k) return false;

    Number const gamma =
        rs != nullptr && now.rounds == 0 && of.dd() > 0 ? Number(of.ds() / of.dd()) : Number{};
    step.share = narrow<Scalar>(gamma);
    bool ends = claims_end(of, gamma, now, next);
    if (!ends) {
      if (team.warp_rank() == 0) {
        if (k < d.s)
          solve_small(team, of, small, k, now.fresh);
        else
          begin_cycle(team, of, small);
      }
      team.barrier();
      ends = is_lost(of, k) && !d.limits.unconditional();
      if (ends) claim_lost(of, k, next);
    }
    if (ends) {
      if (rs != nullptr && now.rounds == 0 && next.reason != Reason::not_finite) {
        next.rounds = 1;  // what is checked is the smoothed x
        team.for_each_row(rows, [&](std::int32_t i) { smooth(i, step.share, r[i], x[i]); });
      }
      return false;
    }
    step.beta = narrow<Scalar>(of.beta());
    step.factor = narrow<Scalar>(k == d.s       ? small.sigma() * of.beta()
                                 : k == d.s - 1 ? Number(sigma_of(of, small))
                                                : small.omega());
    step.shadow = d.shadow_of(now);
    return true;
  }

  /// \brief All totals that step k needs.
  KOKKOS_FORCEINLINE_FUNCTION void gather(auto const& team, Scratch const& of,
                                          std::int32_t k) const {
    constexpr std::int32_t of_g = 1 + Cycle::product_sums;
    std::int32_t const of_r = of_g + d.values(), all_of_P = of_r + d.values();
    std::int32_t const of_smoothing = k == 0 || k == d.s ? all_of_P : of_r;
    for_each_total<1>(
        team, of_smoothing + (rs != nullptr ? std::int32_t(Cycle::update_sums) - 1 : 0),
        [&](std::int32_t n) {
          return n == 0             ? d.of_update(k).of(0)
                 : n < of_g         ? d.of_product().of(n - 1)
                 : n < of_r         ? d.of_g().of(n - of_g)
                 : n < of_smoothing ? d.of_r(k).of(n - of_r)
                                    : d.of_update(k).of(n - of_smoothing + 1);
        },
        [](std::int32_t) { return 1.0; },
        [&](std::int32_t n, double total, double) {
          of.totals()[n < of_smoothing ? n : n - of_smoothing + all_of_P] = total;
        });
  }

  /// \brief Takes the residual of the last step in, and ends the iteration where it must.
  KOKKOS_FORCEINLINE_FUNCTION bool claims_end(Scratch const& of, Number const& gamma,
                                              Control const& now, Control& next) const {
    double const rr = of.rr();
    double squared = rr;
    if (rs != nullptr) {
      // ||rs - gamma d||^2, which is no more than ||r||^2; the difference has no more digits.
      double const smoothed = of.ss() - real_part(gamma * conjugate(of.ds()));
      squared = now.rounds > 0 ? now.residual_squared
                               : Kokkos::fmin(rr, Kokkos::fmax(smoothed, 1e-14 * of.ss()));
    }
    next.measure(squared);
    bool const unconditional = d.limits.unconditional();
    if (!Kokkos::isfinite(rr))
      next.claim(Reason::not_finite);
    else if (!unconditional && squared <= now.stop_squared)
      next.claim(Reason::converged);
    else if (now.iteration >= d.limits.max_iterations)
      next.claim(Reason::max_iterations);
    else if (!unconditional && rr > now.useless_squared())
      end_far_away(rr, now, next);
    return next.phase != phase;
  }

  /// \brief With smoothing, what has been reached is not lost: the iteration begins anew from it.
  KOKKOS_FUNCTION void end_far_away(double rr, Control const& now, Control& next) const {
    if (rs == nullptr)
      next.claim(Reason::diverged);
    else
      next.claim(Reason::breakdown, Cause::hidden_r, Kokkos::sqrt(rr / now.b_squared));
  }

  /// Below this the cosine of an angle is nothing but rounding.
  static constexpr double noise =
      64 * double(Kokkos::Experimental::epsilon_v<typename ScalarTraits<Scalar>::Real>);

  /// \brief Whether the divisor of step k has no digits left: (p_k, g_k), compared with the terms
  /// that it is computed from, or (A M r, r) where k = s.
  KOKKOS_FORCEINLINE_FUNCTION bool is_lost(Scratch const& of, std::int32_t k) const {
    double const size = divisor(of, k);
    if (k == d.s && !has_norm(of)) return true;
    double const norm = has_norm(of) ? Kokkos::sqrt(of.gg()) : 0;
    double const most = k == d.s ? norm * Kokkos::sqrt(of.rr())
                        : k > 0  ? of.largest_term()
                                 : norm * norm_of_shadow;
    return !(size > noise * most && size > least && size < greatest);
  }
  static constexpr double least = 1e-300, greatest = 4e307;  ///< of what has an inverse
  KOKKOS_FORCEINLINE_FUNCTION static bool has_norm(Scratch const& of) {
    return of.gg() > least && Kokkos::isfinite(of.gg());
  }
  KOKKOS_FORCEINLINE_FUNCTION double divisor(Scratch const& of, std::int32_t k) const {
    return Kokkos::abs(k < d.s ? of.m(k) : of.gr());
  }
  /// \brief Says why the iteration ends where is_lost.
  KOKKOS_FUNCTION void claim_lost(Scratch const& of, std::int32_t k, Control& next) const {
    double const size = divisor(of, k), gg = of.gg();
    bool const is_finite = Kokkos::isfinite(size) && !Kokkos::isnan(gg);
    if (is_finite && k == d.s && gg > 0 && !has_norm(of))
      next.claim(Reason::breakdown, Cause::range_of_t, gg);
    else
      next.claim(is_finite ? Reason::breakdown : Reason::not_finite,
                 k < d.s ? Cause::p_g : Cause::t_r, size);
  }
  /// \brief The scale of u_s, from step s - 1, where beta u = beta omega M v changes x.
  KOKKOS_FORCEINLINE_FUNCTION static double sigma_of(Scratch const& of,
                                                     IdrSmall<Scalar> const& small) {
    double const sigma = 1 / scale_to_one<Number>(size_of(of.beta()) * size_of(small.omega()));
    return sigma >= 1e-60 && sigma <= 1e60 ? 1 : sigma;
  }

  /// \brief Step k < s, by the lanes of one warp: the coefficients c_i of biorthogonality, i < k,
  /// and of the next direction, i > k; beta; and what later steps need of M, N and f.
  KOKKOS_FORCEINLINE_FUNCTION void solve_small(auto const& team, Scratch const& of,
                                               IdrSmall<Scalar> const& small, std::int32_t k,
                                               bool fresh) const {
    std::int32_t const s = d.s, lane = team.lane(), lanes = team.lanes();
    for (std::int32_t i = lane; i < k; i += lanes) {
      Number alpha{};
      for (std::int32_t j = 0; j <= i; ++j) alpha += small.N(i, j) * of.h(j);
      of.c(i) = alpha;
    }
    lane_barrier();
    for (std::int32_t i = k + lane; i < s; i += lanes) {
      Number m_i = of.h(i);
      double largest = Kokkos::abs(m_i);
      for (std::int32_t j = 0; j < k; ++j) {
        Number const term = small.M(i, j) * of.c(j);
        m_i -= term;
        largest = Kokkos::fmax(largest, Kokkos::abs(term));
      }
      of.m(i) = m_i;
      if (i == k) of.largest_term() = largest;
    }
    lane_barrier();
    Number const inverse = is_lost(of, k) ? Number{} : Number(1.0 / of.m(k));
    auto const f = [&](std::int32_t i) { return fresh ? of.Pr(i) : small.f(k, i); };
    Number const beta = f(k) * inverse;
    for (std::int32_t i = k + 1 + lane; i < s; i += lanes) of.f(i) = f(i) - beta * of.m(i);
    if (lane == 0) of.beta() = beta;
    lane_barrier();
    for (std::int32_t i = k + 1 + lane; i < s; i += lanes) {
      Number c{};
      for (std::int32_t j = k + 1; j <= i; ++j) c += small.N(i, j) * of.f(j);
      of.c(i) = c;
    }
    if (team.league_rank() != 0) return;
    if (k == s - 1 && lane == 0) d.small.sigma() = sigma_of(of, small);
    for (std::int32_t j = lane; j <= k; j += lanes) {
      Number sum{};
      for (std::int32_t l = j; l < k; ++l) sum += small.M(k, l) * small.N(l, j);
      d.small.N(k, j) = j == k ? inverse : Number(-inverse * sum);
    }
    for (std::int32_t i = k + lane; i < s; i += lanes) {
      d.small.M(i, k) = of.m(i);
      d.small.f(k + 1, i) = i == k ? Number{} : of.f(i);
    }
  }
  /// \brief Step s: omega, and the coefficients of the next cycle's first direction. A small angle
  /// between t = A M r and r makes omega larger than what minimises ||r - omega t|| (kappa = 0.7:
  /// Sleijpen and van der Vorst 1995).
  KOKKOS_FORCEINLINE_FUNCTION void begin_cycle(auto const& team, Scratch const& of,
                                               IdrSmall<Scalar> const& small) const {
    constexpr double kappa = 0.7;
    std::int32_t const s = d.s, lane = team.lane(), lanes = team.lanes();
    Number omega{};
    if (!is_lost(of, s)) {
      double const cosine = Kokkos::abs(of.gr()) / (Kokkos::sqrt(of.gg()) * Kokkos::sqrt(of.rr()));
      omega = of.gr() * ((cosine < kappa ? kappa / cosine : 1.0) / of.gg());
    }
    for (std::int32_t i = lane; i < s; i += lanes) of.f(i) = of.Pr(i) - omega * of.h(i);
    if (lane == 0) of.beta() = omega;
    lane_barrier();
    for (std::int32_t i = lane; i < s; i += lanes) {
      Number c{};
      for (std::int32_t j = 0; j <= i; ++j) c += small.N(i, j) * of.f(j);
      of.c(i) = c;
    }
    if (team.league_rank() != 0) return;
    for (std::int32_t i = lane; i < s; i += lanes) d.small.f(0, i) = of.f(i);
    if (lane == 0) d.small.omega() = small.sigma() * omega;
  }

  /// \brief Row i of the smoothed residual and solution: those between their last ones and r and x
  /// that have the smallest residual (Schoenauer's and Weiss's smoothing).
  KOKKOS_FORCEINLINE_FUNCTION Scalar smooth(std::int32_t i, Scalar const& share, Scalar const& of_r,
                                            Scalar const& of_x) const {
    Scalar const residual = rs[i] - share * (rs[i] - of_r);
    rs[i] = residual;
    xs[i] -= share * (xs[i] - of_x);
    return residual;
  }

  /// \brief finish(i, row) for the rows of step k, if prepare() says so; its answer is returned.
  ///
  /// On GPUs from the last row to the first, a few of the columns of G and U loaded at once; on
  /// hosts a block of rows goes through them column by column.
  template <class Team, class Prepare, class Finish>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, std::int32_t k, Scratch const& of,
                                                Prepare const& prepare,
                                                Finish const& finish) const {
    std::int32_t const s = d.s, end_of_old = k == s ? 0 : k, begin_of_next = k == s ? 0 : k + 1;
    Scalar const *const g = d.g(k), *const u = d.u(k);
    if constexpr (std::is_same_v<Team, HostTeam>) {
      constexpr std::int32_t block = 256;
      if (!prepare()) return false;
      std::int32_t const begin = team.first(rows);
      for (std::int32_t end = team.last(rows); end > begin; end -= block) {
        std::int32_t const first = end - begin > block ? end - block : begin, count = end - first;
        Scalar new_g[block], new_u[block], from_G[block], from_U[block];
        for (std::int32_t b = 0; b < count; ++b) {
          new_g[b] = g[first + b];
          new_u[b] = u[first + b];
          from_G[b] = from_U[b] = {};
        }
        for (std::int32_t j = 0; j < s; ++j) {
          Scalar const c = narrow<Scalar>(of.c(j));
          Scalar const *const G = d.g(j) + first, *const U = d.u(j) + first;
          if (j < end_of_old)
            for (std::int32_t b = 0; b < count; ++b) {
              new_g[b] -= c * G[b];
              new_u[b] -= c * U[b];
            }
          else if (j >= begin_of_next)
            for (std::int32_t b = 0; b < count; ++b) {
              from_G[b] += c * G[b];
              from_U[b] += c * U[b];
            }
        }
        for (std::int32_t b = 0; b < count; ++b)
          finish(first + b,
                 Row{new_g[b], new_u[b], r[first + b], x[first + b], from_G[b], from_U[b]});
      }
      return true;
    } else {
      constexpr int batch = 4;
      if (!prepare()) return false;
      return team.for_each_row_downwards(
          rows, [](std::int32_t) { return 0; }, [] { return true; },
          [&](std::int32_t i, int) {
            Row row{g[i], u[i], r[i], x[i], {}, {}};
            for (std::int32_t first = 0; first < s; first += batch) {
              Scalar G[batch], U[batch];
              for (int b = 0; b < batch; ++b) {
                bool const is = first + b < s && first + b != k;
                G[b] = is ? d.g(first + b)[i] : Scalar{};
                U[b] = is ? d.u(first + b)[i] : Scalar{};
              }
              for (int b = 0; b < batch; ++b) {
                std::int32_t const j = first + b;
                if (j >= s) break;
                Scalar const c = narrow<Scalar>(of.c(j));
                if (j < end_of_old) {
                  row.g -= c * G[b];
                  row.u -= c * U[b];
                } else if (j >= begin_of_next) {
                  row.from_G += c * G[b];
                  row.from_U += c * U[b];
                }
              }
            }
            finish(i, row);
          });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void finish_row(std::int32_t i, std::int32_t k, Row const& row,
                                              Step const& step, Sums<sums>& mine) const {
    if (k > 0 && k < d.s) {
      d.g(k)[i] = row.g;
      d.u(k)[i] = row.u;
    }
    Scalar residual = row.r, solution = row.x, direction, combined = row.from_U;
    Formula::row(residual, solution, direction, row.g, row.u, row.from_G, step);
    r[i] = residual;
    x[i] = solution;
    mine[0] += abs_squared(residual);
    if (rs != nullptr) {
      Scalar const smoothed = smooth(i, step.share, row.r, row.x), apart = smoothed - residual;
      mine[1] += abs_squared(smoothed);
      mine[2] += abs_squared(apart);
      add_to(mine, 3, dot_term(apart, smoothed));
    }
    if (leaves_Pr(k))
      step.shadow.template add_products<Cycle::width>(mine, Cycle::update_sums, 0, d.s, i,
                                                      residual);
    if constexpr (Apart)
      v[i] = direction;
    else
      Formula::add_direction(combined, m(i, direction), step);
    d.u(d.after(k))[i] = combined;
  }
};

}  // namespace Solder::Impl
