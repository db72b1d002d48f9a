// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/solvers/detail/gmres_cycle.hpp>
#include <solder/solvers/gmres_options.hpp>

namespace Solder::Impl {

/// \brief GMRES by Arnoldi's process, orthogonal by classical Gram-Schmidt, twice where needed, or
/// by modified Gram-Schmidt.
///
/// A vector of the basis is stored as the orthogonalisation leaves it, its length apart
/// (GmresSmall::scale): normalising costs no pass over it. Powers of two keep these lengths in
/// range, whatever the scales of A and b: one for r, and sigma for all products. The residual norm
/// comes without rotations: t with t_0 = 1 and t^T H = 0, t_j+1 = -sum_k t_k h_k,j / h_j+1,j, and
/// ||r_j+1|| = ||r_0|| / ||t||.
template <class Scalar>
struct ArnoldiGmres {
  using Cycle = GmresCycle<Scalar>;
  using ProductSums = Sums<0>;
  struct Beginning {
    typename ScalarTraits<Scalar>::Real factor;
  };

  static constexpr std::int32_t first_column = 0;  ///< of those that w is made orthogonal to

  KOKKOS_FUNCTION static double scale(Cycle const& d, std::int32_t k) { return d.small.scale(k); }
  KOKKOS_FUNCTION static double length(Cycle const& d, std::int32_t k) { return d.small.length(k); }
  KOKKOS_FUNCTION static double given(Cycle const& d, std::int32_t k) { return d.small.given(k); }

  /// \brief v_0 = r, by a power of two. Words: 2 a row.
  KOKKOS_FORCEINLINE_FUNCTION static Beginning begin(GmresSmall<Scalar> const& small,
                                                     auto const& team, double norm) {
    double const factor = scale_to_one<Scalar>(norm), inverse = norm > 0 ? 1 / norm : 0;
    if (team.league_rank() == 0 && team.rank() == 0) {
      small.scale(0) = inverse / factor;
      small.given(0) = small.sigma() * small.scale(0);
      small.length(0) = inverse > 0 ? factor * (1 / inverse) : 0;
      small.t(0) = 1;
      small.lost(0) = 0;
    }
    return {to_real<Scalar>(factor)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar first(Scalar const& r, Beginning const& s) {
    return s.factor * r;
  }

  KOKKOS_FORCEINLINE_FUNCTION static void add(Cycle const&, std::int32_t, std::int32_t,
                                              Scalar const&, Sums<0>&) {}
  KOKKOS_FORCEINLINE_FUNCTION static void leave(Cycle const&, auto const&, std::int32_t,
                                                Sums<0> const&) {}

  /// \brief ||w||^2 that the newest step's first (0) or second (1) round left.
  KOKKOS_FORCEINLINE_FUNCTION static double norm_squared_after(std::int32_t round, Cycle const& d,
                                                               auto const& team) {
    auto const of = d.of_norm.of(round);
    return team.total(team.gather(of.parts, of), of.parts)[0];
  }

  /// \brief What is lost of the orthogonality of the basis, V_j, by step j's round over w.
  ///
  /// V^H (w - V V^H w) = (I - V^H V) V^H w, and rounding adds its share: the cosines of the new
  /// vector with the basis are at most (lost + eps) ||w|| / ||w - V V^H w||, eps being that of the
  /// scalar in which the basis is stored.
  KOKKOS_FUNCTION static double lost_after(Cycle const& d, std::int32_t j, double norm_squared) {
    auto const& s = d.small;
    return (Kokkos::fabs(s.lost(j)) + d.V.epsilon()) * Kokkos::sqrt(1 + s.taken() / norm_squared);
  }
  /// \brief The same after a second round, which loses what its own cancellation does.
  ///
  /// With a single-precision basis the bound would soon ask for second rounds in all steps. There
  /// two in succession reset it, as in partial reorthogonalisation (Simon 1984): later vectors
  /// depend on these two most. A negative sign says that the step had a second round.
  KOKKOS_FUNCTION static double lost_after_two(Cycle const& d, std::int32_t j, double cancelled) {
    double const before = d.small.lost(j), eps = d.V.epsilon();
    if (d.V.is_single && before < 0) return eps;
    double const lost = (Kokkos::fabs(before) + eps) * Kokkos::sqrt(Kokkos::max(1., cancelled));
    return d.V.is_single ? -lost : lost;
  }
  /// \brief Whether one round is enough in step j: the basis has lost little (the cycle's own
  /// residual is off by as much, relatively), and the step loses no more than two digits: what
  /// steps lose adds up, and no later round mends it.
  KOKKOS_FUNCTION static bool keeps_orthogonality(Cycle const& d, std::int32_t j,
                                                  double norm_squared) {
    double const most_lost = d.V.is_single ? 1 : d.V.has_few_digits() ? 3e-2 : 1e-4;
    return lost_after(d, j, norm_squared) <= most_lost && d.small.taken() <= 1e4 * norm_squared;
  }

  /// \brief h_k,k-1, t and the residual of step k - 1, in team 0.
  KOKKOS_FORCEINLINE_FUNCTION static void finish_step(Cycle const& d, auto const& team,
                                                      std::int32_t k, Control const& now,
                                                      Control& next) {
    auto const& s = d.small;
    double const sigma = s.sigma();  // loaded ahead: everybody waits for this team
    double const norm_squared = norm_squared_after(now.rounds, d, team);
    double const norm = Kokkos::sqrt(norm_squared);
    double const first_squared = now.rounds == 0 ? norm_squared : norm_squared_after(0, d, team);
    if (k == 1 && d.rescales(s.taken() + first_squared, now, next)) return;
    constexpr std::size_t last = parts<Scalar>;
    Sums<last + 1> sums{};
    for (std::int32_t i = team.lane(); i < k; i += team.lanes()) {
      auto const t = s.t(i);
      add_to(sums, 0, t * s.H(i, k - 1));
      sums[last] += abs_squared(t);
    }
    team.sum_lanes(sums);
    auto const product = wide_at<Scalar>(sums, 0);
    auto t = norm > 0 ? Wide<Scalar>(-product / norm) : Wide<Scalar>{};
    if (!is_finite(t)) t = {};  // steps beyond the last new direction: their squares overflowed
    if (team.rank() == 0) {
      s.H(k, k - 1) = norm;
      s.t(k) = t;
      s.length(k) = norm;
      double const inverse = norm > 0 ? 1 / norm : 0;
      s.scale(k) = inverse;
      s.given(k) = sigma * inverse;
      s.lost(k) = now.rounds == 0 ? lost_after(d, k - 1, norm_squared)
                                  : lost_after_two(d, k - 1, first_squared / norm_squared);
    }
    bool const exhausted = !(norm_squared > 1e-28 * s.taken());
    bool const solved = norm == 0 && abs_squared(product) > 0;
    double const squared = solved ? 0 : now.best_squared / (sums[last] + abs_squared(t));
    d.take_residual(next, Kokkos::isfinite(norm_squared) ? squared : norm_squared, 0);
    if (exhausted && next.phase == Phase::iterate && !d.limits.unconditional())
      next.claim(Reason::breakdown, Cause::norm_of_w, norm);
    if (next.phase == Phase::iterate && !d.fits(first_squared)) d.end_unfit(first_squared, next);
  }

  /// \brief Givens rotations, all columns at once; the right-hand side is a column too.
  template <class Small, class Team>
  KOKKOS_FUNCTION static void make_triangular(Small const& s, Team const& team, std::int32_t size,
                                              double norm) {
    using Number = typename Small::Number;
    for (std::int32_t i = team.rank(); i <= size; i += team.size()) s.rhs(i) = i == 0 ? norm : 0;
    team.barrier();
    for (std::int32_t i = 0; i < size; ++i) {
      auto const a = s.H(i, i);
      double const b = real_part(s.H(i + 1, i));
      double const length = Kokkos::sqrt(abs_squared(a) + b * b);
      double const inverse = length > 0 ? 1 / length : 0;
      Number const c = length > 0 ? Number(a * inverse) : Number(1);
      double const sine = b * inverse;
      auto const rotate = [&](auto& upper, auto& lower) {
        auto const u = upper, l = lower;
        upper = conjugate(c) * u + sine * l;
        lower = c * l - sine * u;
      };
      for (std::int32_t j = i + 1 + team.rank(); j < size; j += team.size())
        rotate(s.H(i, j), s.H(i + 1, j));
      if (team.rank() == 0) {
        rotate(s.rhs(i), s.rhs(i + 1));
        s.diagonal(i) = length;
      }
      team.barrier();
    }
  }

  /// \brief Whether step j needs a second round.
  KOKKOS_FORCEINLINE_FUNCTION static bool goes_again(Cycle const& d, auto const& team,
                                                     std::int32_t j, Control const& now,
                                                     GmresReorthogonalisation when) {
    double const squared = norm_squared_after(now.rounds, d, team);
    if (!d.fits(squared)) return false;  // nothing will be made orthogonal to it
    return when == GmresReorthogonalisation::halved ? squared < d.small.taken()
                                                    : !keeps_orthogonality(d, j, squared);
  }
};

/// \brief The same by modified Gram-Schmidt: (v_0, w) comes with the product.
template <class Scalar, GmresStorage Storage>
struct ModifiedGmres : ArnoldiGmres<Scalar> {
  using Cycle = GmresCycle<Scalar>;
  using ProductSums = Sums<parts<Scalar>>;

  KOKKOS_FORCEINLINE_FUNCTION static void add(Cycle const& d, std::int32_t, std::int32_t i,
                                              Scalar const& Av, ProductSums& mine) {
    d.template with_basis<Storage>(
        [&](auto const& V) { add_to(mine, 0, dot_term(V.at(0, i), Av)); });
  }
  KOKKOS_FORCEINLINE_FUNCTION static void leave(Cycle const& d, auto const& team, std::int32_t,
                                                ProductSums const& mine) {
    d.of_first_dot.leave(team, mine);
  }

  /// \brief w -= h_k,j v_k, then (v_k+1, w), or w's norm after the last; k is the stage's turn.
  /// Words: 4 a row.
  template <class Operand>
  struct Project : GmresStage<Scalar> {
    static constexpr char const* label = "Solder::gmres::project";
    static constexpr Phase phase = Phase::iterate;
    using GmresStage<Scalar>::d;

    Operand operand;

    bool operator==(Project const&) const = default;

    KOKKOS_FUNCTION int teams() const { return d.of_norm.parts; }

    KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                         Control& next) const {
      if (now.phase != phase) return;
      std::int32_t const k = at.turn;
      bool const last = k == at.step;
      auto const of_dot = k == 0 ? d.of_first_dot : d.of_dot.of(k);
      auto const dot =
          wide_at<Scalar>(team.total(team.gather(of_dot.parts, of_dot), of_dot.parts), 0);
      double const given = k == 0 ? d.small.given(at.step) : 1;  // of w, as the product left it
      double const scale = d.small.scale(k);
      auto const h = scale * (given * dot);
      if (team.league_rank() == 0 && team.rank() == 0) {
        d.small.H(k, at.step) = h;
        d.small.taken() = (k == 0 ? 0 : d.small.taken()) + abs_squared(h);
      }
      auto const c = narrow<Scalar>(scale * h);
      auto const own = to_real<Scalar>(given);
      Scalar* const w = d.w(at.step);
      d.template with_basis<Storage>([&](auto const& V) {
        if (last) {
          Sums<1> mine{};
          team.for_each_row(d.rows, [&](std::int32_t i) {
            Scalar const value = own * w[i] - c * V.at(k, i);
            operand.store(V, at.step + 1, i, value);
            mine[0] += abs_squared(value);
          });
          d.of_norm.of(0).leave(team, mine);
          d.advance(next);
        } else {
          Sums<parts<Scalar>> mine{};
          team.for_each_row(d.rows, [&](std::int32_t i) {
            Scalar const value = own * w[i] - c * V.at(k, i);
            w[i] = value;
            add_to(mine, 0, dot_term(V.at(k + 1, i), value));
          });
          d.of_dot.of(k + 1).leave(team, mine);
        }
      });
    }
  };
};

}  // namespace Solder::Impl
