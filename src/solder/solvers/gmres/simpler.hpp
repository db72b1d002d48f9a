// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/solvers/gmres/cycle.hpp>

namespace Solder::Impl {

/// \brief Simpler GMRES (Walker & Zhou), pipelined: paper 1, Algorithm 6.
///
/// For each cycle, with v_0 = r / ||r||:
///
///     for i = 1, ..., m:
///       v_i     = A M v_i-1                                   kernel 1: product
///       R_k,i   = (v_k, v_i)                    k = 1, ..., i - 1    kernel 2: dots
///       v_i     = v_i - sum_k R_k,i v_k                       kernel 3: orthogonalise
///       R_i,i   = ||v_i||,  v_i = v_i / R_i,i,  xi_i = (v_i, r)      kernel 4: normalise
///     R y = xi,  x = x + M [v_0, ..., v_m-1] y
///
/// In the first step there is nothing to be orthogonal to: 2 kernels. The residual's square falls
/// by |xi_i|^2 with each step; where rounding hides it, the cycle ends early.
struct SimplerGmres {
  /// \brief 1: the basis is stored at length one.
  template <class Data>
  KOKKOS_FUNCTION static double scale(Data const&, std::int32_t) {
    return 1;
  }

  /// \brief v_0 = r / ||r||. Words: 2 a row.
  template <class Data, class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void begin(Data const& d, Team const& team, double inverse) {
    auto const factor = to_real<typename Data::Scalar>(inverse);
    team.for_each_row(d.rows, [&](std::int32_t i) {
      auto const v = factor * d.true_residual()[i];
      d.V.column(0)[i] = v;
      d.keep_operand(i, v);
    });
  }

  /// \brief Sums up the newest xi, in team 0, and takes the residual from it.
  template <class Data, class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void finish_step(Data const& d, Team const& team,
                                                      Control const& now, Control& next) {
    double const cycle = now.best_squared;  // the square of the cycle's first residual
    auto const total = team.total(team.gather(d.vector_teams, d.of_dot(0)), d.vector_teams);
    auto const xi = Kokkos::sqrt(cycle) * wide_at<typename Data::Scalar>(total, 0);
    if (team.rank() == 0) d.small.rhs(now.step - 1) = xi;
    // A difference of squares loses its digits, and the basis of a cycle that converges fast its
    // independence: about eps^(3/4) of the first square is as far as a cycle should go.
    constexpr bool is_single = sizeof(typename ScalarTraits<typename Data::Scalar>::Real) == 4;
    constexpr double digits = is_single ? 1e-6 : 1e-12;
    d.take_residual(next, Kokkos::fmax(now.residual_squared - abs_squared(xi), 0.0),
                    digits * cycle);
  }

  /// \brief It is triangular.
  template <class Small, class Team>
  KOKKOS_FUNCTION static void make_triangular(Small const& s, Team const& team, std::int32_t size,
                                              double) {
    for (std::int32_t i = team.rank(); i < size; i += team.size()) s.diagonal(i) = s.H(i, i);
    team.barrier();
  }

  /// \brief v_i = A M v_i-1; in the first step with its norm. Words: the matrix, and 2 a row.
  struct Product : GmresProductStage {
    static constexpr char const* label = "Solder::gmres::product";
    static constexpr Phase phase = Phase::iterate;
    KOKKOS_FUNCTION static constexpr int times(std::int32_t) { return 1; }

    template <class Data, class Team>
    KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                    Control& next) {
      with_clerk(
          d, team, now, phase,
          [&] {
            if (now.step > 0) finish_step(d, team, now, next);
            return next.phase == phase;
          },
          [&](Team const& rows_team, auto const& prepare) {
            bool const first = now.step == 0;
            auto* const w = d.V.column(now.step + 1);
            Sums<1> mine{};
            bool const went_on = d.A.for_each_row_product(rows_team, d.operand(now.step), prepare,
                                                          [&](std::int32_t i, auto const& Av) {
                                                            w[i] = Av;
                                                            if (first) mine[0] += abs_squared(Av);
                                                          });
            if (went_on && first) d.of_first_norm().leave(rows_team, mine);
          });
    }
  };

  /// \brief (v_k, v_i) for all k. Words: the basis, and 1 a row.
  struct Dots {
    static constexpr char const* label = "Solder::gmres::dots";
    static constexpr Phase phase = Phase::iterate;
    static constexpr int threads = multi_dot_threads;
    KOKKOS_FUNCTION static constexpr int times(std::int32_t step) { return step > 0; }
    template <class Data>
    KOKKOS_FUNCTION static int teams(Data const& d) {
      return d.dot_teams;
    }

    template <class Data, class Team>
    KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
      multi_dot<typename Data::Scalar>(team, d.rows, d.V.from(1), now.step,
                                       d.V.column(now.step + 1), d.of_dots(), d.workspace(team),
                                       [&] { return now.phase == phase; });
    }
  };

  /// \brief v_i -= sum_k R_k,i v_k, with its norm. Words: the basis, and 2 a row.
  struct Orthogonalise : VectorStage {
    static constexpr char const* label = "Solder::gmres::orthogonalise";
    static constexpr Phase phase = Phase::iterate;
    KOKKOS_FUNCTION static constexpr int times(std::int32_t step) { return step > 0; }

    template <class Data, class Team>
    KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
      using Scalar = typename Data::Scalar;
      constexpr std::int32_t p = parts<Scalar>;
      std::int32_t const count = now.step;
      double* const c = d.workspace(team);
      Scalar* const w = d.V.column(count + 1);
      Sums<1> mine{};
      bool const went_on = multi_axpy<Scalar>(
          team, d.rows, d.V.from(1), count, [&](std::int32_t i) { return w[i]; },
          [&] {
            for_each_total(
                team, count * p, d.dot_teams, d.of_dots(), [](std::int32_t) { return 1.0; },
                [&](std::int32_t v, double total, double) { c[v] = total; });
            if (now.phase != phase) return false;
            if (team.league_rank() == 0) keep_column(d, team, count, c);
            return true;
          },
          [&](std::int32_t k) { return narrow<Scalar>(wide_at<Scalar>(c, k * p)); },
          [&](std::int32_t i, Scalar const& v) {
            w[i] = v;
            mine[0] += abs_squared(v);
          });
      if (went_on) d.of_norm(0).leave(team, mine);
    }

    template <class Data, class Team>
    KOKKOS_FORCEINLINE_FUNCTION static void keep_column(Data const& d, Team const& team,
                                                        std::int32_t count, double const* c) {
      using Scalar = typename Data::Scalar;
      Sums<1> taken{};
      for (std::int32_t k = team.lane(); k < count; k += team.lanes()) {
        auto const R = wide_at<Scalar>(c, k * parts<Scalar>);
        if (team.warp_rank() == 0) d.small.H(k, count) = R;
        taken[0] += abs_squared(R);
      }
      team.sum_lanes(taken);
      if (team.rank() == 0) d.small.taken() = taken[0];
    }
  };

  /// \brief v_i /= ||v_i||, with xi. Words: 3 a row.
  struct Normalise : VectorStage {
    static constexpr char const* label = "Solder::gmres::normalise";
    static constexpr Phase phase = Phase::iterate;
    KOKKOS_FUNCTION static constexpr int times(std::int32_t) { return 1; }

    template <class Data, class Team>
    KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                    Control& next) {
      using Scalar = typename Data::Scalar;
      struct Row {
        Scalar v, r;
      };
      Scalar* const v = d.V.column(now.step + 1);
      Scalar const* const r = d.V.column(0);
      typename ScalarTraits<Scalar>::Real inverse;
      Sums<parts<Scalar>> mine{};
      bool const went_on = team.for_each_row(
          d.rows,
          [&](std::int32_t i) {
            return Row{v[i], r[i]};
          },
          [&] {
            double const squared = norm_squared(d, team, now.step == 0);
            if (now.phase != phase) return false;
            inverse = to_real<Scalar>(inverse_norm(d, team, now, next, squared));
            return next.phase == phase;
          },
          [&](std::int32_t i, Row const& row) {
            Scalar const unit = inverse * row.v;
            v[i] = unit;
            d.keep_operand(i, unit);
            add_to(mine, 0, dot_term(unit, row.r));
          });
      if (!went_on) return;
      d.of_dot(0).leave(team, mine);
      d.advance(next);
    }

    template <class Data, class Team>
    KOKKOS_FORCEINLINE_FUNCTION static double norm_squared(Data const& d, Team const& team,
                                                           bool first) {
      auto const of_norm = first ? d.of_first_norm() : d.of_norm(0);
      return team.total(team.gather(of_norm.teams, of_norm), of_norm.teams)[0];
    }

    /// \brief 1 / ||v_i||; a vector without digits ends the cycle, in the benchmark mode it is 0.
    template <class Data, class Team>
    KOKKOS_FORCEINLINE_FUNCTION static double inverse_norm(Data const& d, Team const& team,
                                                           Control const& now, Control& next,
                                                           double squared) {
      double const norm = Kokkos::sqrt(squared);
      double const taken = now.step == 0 ? 0 : d.small.taken();
      if (team.league_rank() == 0 && team.rank() == 0) d.small.H(now.step, now.step) = norm;
      if (!Kokkos::isfinite(squared)) {
        next.claim(Reason::not_finite, Cause::norm_of_w, norm);
      } else if (!(squared > 1e-28 * taken)) {
        if (d.limits.unconditional()) return 0;
        next.claim(Reason::breakdown, Cause::norm_of_w, norm);
      }
      return 1 / norm;
    }
  };

  using Steps = Cycle<Product, Dots, Orthogonalise, Normalise>;
};

}  // namespace Solder::Impl
