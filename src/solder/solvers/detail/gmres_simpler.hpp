// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/solvers/detail/gmres_cycle.hpp>

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
/// by |xi_i|^2 with each step; where rounding hides it, the cycle ends early. Products are scaled
/// by sigma, as Arnoldi's are: R is that of sigma A M.
template <class Scalar>
struct SimplerGmres {
  using Cycle = GmresCycle<Scalar>;
  using ProductSums = Sums<1>;
  struct Beginning {
    typename ScalarTraits<Scalar>::Real factor;
  };

  static constexpr std::int32_t first_column = 1;  ///< of those that v_i is made orthogonal to

  /// \brief 1: the basis is stored at length one.
  KOKKOS_FUNCTION static double scale(Cycle const&, std::int32_t) { return 1; }
  KOKKOS_FUNCTION static double length(Cycle const&, std::int32_t) { return 1; }
  KOKKOS_FUNCTION static double given(Cycle const& d, std::int32_t) { return d.small.sigma(); }

  /// \brief v_0 = r / ||r||. Words: 2 a row.
  KOKKOS_FORCEINLINE_FUNCTION static Beginning begin(GmresSmall<Scalar> const&, auto const&,
                                                     double norm) {
    return {to_real<Scalar>(norm > 0 ? 1 / norm : 0)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar first(Scalar const& r, Beginning const& s) {
    return s.factor * r;
  }

  /// \brief The first product of a cycle takes its norm along.
  KOKKOS_FORCEINLINE_FUNCTION static void add(Cycle const& d, std::int32_t step, std::int32_t,
                                              Scalar const& Av, Sums<1>& mine) {
    if (step == 0) mine[0] += abs_squared(to_real<Scalar>(d.small.sigma()) * Av);
  }
  KOKKOS_FORCEINLINE_FUNCTION static void leave(Cycle const& d, auto const& team, std::int32_t step,
                                                Sums<1> const& mine) {
    if (step == 0) d.of_first_norm.leave(team, mine);
  }

  /// \brief Sums up xi of step k - 1, in team 0, and takes the residual from it.
  KOKKOS_FORCEINLINE_FUNCTION static void finish_step(Cycle const& d, auto const& team,
                                                      std::int32_t k, Control const& now,
                                                      Control& next) {
    double const cycle = now.best_squared;  // the square of the cycle's first residual
    auto const of_xi = d.of_dot.of(0);
    auto const total = team.total(team.gather(of_xi.parts, of_xi), of_xi.parts);
    auto const xi = Kokkos::sqrt(cycle) * wide_at<Scalar>(total, 0);
    if (team.rank() == 0) d.small.rhs(k - 1) = xi;
    // A difference of squares loses digits, and the basis of a cycle that converges fast loses its
    // independence: a cycle should go no further than about eps^(3/4) of the first square.
    constexpr bool is_single = sizeof(typename ScalarTraits<Scalar>::Real) == 4;
    constexpr double digits = is_single ? 1e-6 : 1e-12;
    d.take_residual(next, Kokkos::fmax(now.residual_squared - abs_squared(xi), 0.0),
                    digits * cycle);
  }

  /// \brief It is triangular.
  KOKKOS_FUNCTION static void make_triangular(auto const& s, auto const& team, std::int32_t size,
                                              double) {
    for (std::int32_t i = team.rank(); i < size; i += team.size()) s.diagonal(i) = s.H(i, i);
    team.barrier();
  }

  /// \brief v_i /= ||v_i||, with xi. Words: 3 a row.
  template <class Operand>
  struct Normalise : GmresStage<Scalar> {
    static constexpr char const* label = "Solder::gmres::normalise";
    static constexpr Phase phase = Phase::iterate;
    using GmresStage<Scalar>::d;

    Operand operand;

    bool operator==(Normalise const&) const = default;

    KOKKOS_FUNCTION int teams() const { return d.of_norm.parts; }

    KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                         Control& next) const {
      struct Row {
        Scalar v, r;
      };
      auto const V = d.V.tall();
      Scalar const *const v = V.column(at.step + 1), *const r = V.column(0);
      typename ScalarTraits<Scalar>::Real inverse;
      Sums<parts<Scalar>> mine{};
      bool const went_on = team.for_each_row(
          d.rows,
          [&](std::int32_t i) {
            return Row{v[i], r[i]};
          },
          [&] {
            double const squared = norm_squared(team, at.step == 0);
            if (now.phase != phase) return false;
            inverse = to_real<Scalar>(factor(squared, team, now, next));
            return next.phase == phase;
          },
          [&](std::int32_t i, Row const& row) {
            Scalar const unit = inverse * row.v;
            operand.store(V, at.step + 1, i, unit);
            add_to(mine, 0, dot_term(unit, row.r));
          });
      if (!went_on) return;
      d.of_dot.of(0).leave(team, mine);
      d.advance(next);
    }

   private:
    KOKKOS_FORCEINLINE_FUNCTION double norm_squared(auto const& team, bool first) const {
      auto const of_norm = first ? d.of_first_norm : d.of_norm.of(0);
      return team.total(team.gather(of_norm.parts, of_norm), of_norm.parts)[0];
    }

    /// \brief What brings v_i to length one: sigma / ||v_i|| in a cycle's first step, where v_i is
    /// the product as it is, 1 / ||v_i|| later. A vector without digits ends the cycle, in the
    /// benchmark mode it is 0.
    KOKKOS_FORCEINLINE_FUNCTION double factor(double squared, auto const& team, Control const& now,
                                              Control& next) const {
      bool const is_first = now.step == 0;
      if (is_first && d.rescales(squared, now, next)) return 0;
      double const norm = Kokkos::sqrt(squared), taken = is_first ? 0 : d.small.taken();
      if (team.league_rank() == 0 && team.rank() == 0) d.small.H(now.step, now.step) = norm;
      if (!Kokkos::isfinite(squared)) {
        next.claim(Reason::not_finite, Cause::norm_of_w, norm);
      } else if (!(squared > 1e-28 * taken)) {
        if (d.limits.unconditional()) return 0;
        next.claim(Reason::breakdown, Cause::norm_of_w, norm);
      }
      return (is_first ? d.small.sigma() : 1) / norm;
    }
  };
};

}  // namespace Solder::Impl
