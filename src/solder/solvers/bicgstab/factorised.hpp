// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The stages of BiCGStab with a factorised preconditioner.

#include <solder/solvers/bicgstab/stages.hpp>

namespace Solder::Impl {

/// \brief BiCgStabJudge of a factorised preconditioner: u = p = M r is left to the two stages after
/// it.
struct BiCgStabFactorJudge : FactorTransposedStage {
  static constexpr char const* label = "Solder::bicgstab::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    Recovery const recovery{.continues = true, .restarts = true};
    next.part = verdict_on_residual(d, team, next, recovery) == Verdict::restart;
    if (next.part == 0) return;
    Sums<1> mine{};
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const r = d.q[i];
      d.rs[i] = r;
      d.r[i] = r;
      mine[0] += abs_squared(r);
    });
    d.template of_update<1>().leave(team, mine);
    d.keep(team, Data::rs_r, next.true_squared);
    d.keep(team, Data::inverse_norm_rs, 1 / Kokkos::sqrt(next.true_squared));
  }
};

/// \brief u = p = G^H g, g = G r, after a restart. Words: G, and 3 a row.
struct BiCgStabFactorBegin : FactorTransposedStage {
  static constexpr char const* label = "Solder::bicgstab::factor_begin";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    next.part = 0;
    d.M.GH.for_each_row_product(
        team, d.g, [&] { return now.phase == phase && now.part == 1; },
        [&](std::int32_t i, auto const& z) {
          d.u[i] = z;
          d.p[i] = z;
        });
  }
};

/// \brief g = G v for one of the vectors of an iteration. Words: G, and 2 a row.
enum class BiCgStabFactored { r, q, t };

template <BiCgStabFactored Vector>
struct BiCgStabFactor : FactorStage {
  static constexpr char const* label = "Solder::bicgstab::factor";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    constexpr bool of_r = Vector == BiCgStabFactored::r, of_q = Vector == BiCgStabFactored::q;
    d.M.G.for_each_row_product(
        team,
        of_r   ? d.r
        : of_q ? d.q
               : d.t,
        [&] { return now.phase == phase && (!of_r || now.part == 1); },
        [&](std::int32_t i, auto const& g) { d.g[i] = g; });
  }
};

/// \brief w = M q = G^H g, s = r - alpha q, M s = M r - alpha w. Words: G, and 7 a row.
struct BiCgStabFactorHalfStep : FactorTransposedStage {
  static constexpr char const* label = "Solder::bicgstab::half_step";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    std::int32_t const most = d.most_teams();
    auto const rs_r = d.recall(Data::rs_r), inverse_norm_rs = d.recall(Data::inverse_norm_rs);
    Scalar alpha;
    d.M.GH.for_each_row_product(
        team, d.g,
        [&] {
          if (now.phase != phase) return false;
          auto const total =
              team.total(team.gather(most, d.template of_update<1>(), d.of_first_product()), most);
          alpha = narrow<Scalar>(
              bicgstab_alpha(d, team, total, rs_r, size_of(inverse_norm_rs), now, next));
          return next.phase == phase;
        },
        [&](std::int32_t i, Scalar const& w) {
          d.w[i] = w;
          d.r[i] -= alpha * d.q[i];
          d.u[i] -= alpha * w;
        });
  }
};

/// \brief M t = G^H g, x += alpha p + omega M s, r = s - omega t, M r = M s - omega M t,
/// p = M r + beta (p - omega w), with (r, r). Words: G, and 11 a row.
struct BiCgStabFactorUpdate : FactorTransposedStage {
  static constexpr char const* label = "Solder::bicgstab::update";
  static constexpr Phase phase = Phase::iterate;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::scalar_type;
    auto const kept_alpha = d.recall(Data::alpha), inverse_rs_q = d.recall(Data::inverse_rs_q);
    Scalar alpha, omega, beta;
    Sums<1> mine{};
    bool const went_on = d.M.GH.for_each_row_product(
        team, d.g,
        [&] {
          if (now.phase != phase) return false;
          std::int32_t const most = d.product_teams;
          auto const total = team.total(team.gather(most, d.of_second_product()), most);
          auto const step = bicgstab_step(d, team, total, kept_alpha, inverse_rs_q, now, next);
          alpha = narrow<Scalar>(step.alpha);
          omega = narrow<Scalar>(step.omega);
          beta = narrow<Scalar>(step.beta);
          return next.phase == phase || next.iteration != now.iteration;
        },
        [&](std::int32_t i, Scalar const& Mt) {
          Scalar const s = d.u[i], p = d.p[i], u = s - omega * Mt, r = d.r[i] - omega * d.t[i];
          d.x[i] += alpha * p + omega * s;
          d.r[i] = r;
          d.u[i] = u;
          d.p[i] = u + beta * (p - omega * d.w[i]);
          mine[0] += abs_squared(r);
        });
    if (!went_on || next.phase != phase) return;
    d.template of_update<1>().leave(team, mine);
    ++next.iteration;
  }
};

}  // namespace Solder::Impl
