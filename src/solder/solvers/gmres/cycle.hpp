// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What all forms of GMRES share: their data, and the end of a cycle.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <solder/core/program.hpp>
#include <solder/core/scalar.hpp>
#include <solder/kernels/tall_basis.hpp>
#include <solder/solvers/common.hpp>

namespace Solder::Impl {

/// \brief The small dense part of a cycle, in device memory: written by team 0 only, and read by
/// later stages.
template <class Scalar>
struct GmresSmall {
  using Number = Wide<Scalar>;

  double* memory;
  std::int32_t restart;

  bool operator==(GmresSmall const&) const = default;

  KOKKOS_FUNCTION static constexpr std::size_t size(std::size_t m) {
    return parts<Scalar> * ((m + 1) * m + 2 * (m + 1) + 2 * m) + 2 * (m + 1) + 1;
  }

  /// The Hessenberg matrix of Arnoldi's process, (restart + 1) x restart; the triangular one of
  /// simpler GMRES.
  KOKKOS_FUNCTION Number& H(std::int32_t i, std::int32_t j) const {
    return numbers()[j * (restart + 1) + i];
  }
  /// The right-hand side of the small system: the residual's coordinates in the basis.
  KOKKOS_FUNCTION Number& rhs(std::int32_t i) const { return after_H()[i]; }
  /// The vector that H^H maps to zero, t_0 = 1: GMRES's residual is ||r_0|| / ||t||.
  KOKKOS_FUNCTION Number& t(std::int32_t i) const { return after_H()[restart + 1 + i]; }
  /// The diagonal of the triangular factor of H.
  KOKKOS_FUNCTION Number& diagonal(std::int32_t i) const {
    return after_H()[2 * (restart + 1) + i];
  }
  /// The solution of the small system.
  KOKKOS_FUNCTION Number& y(std::int32_t i) const {
    return after_H()[2 * (restart + 1) + restart + i];
  }
  /// The length of a stored vector of the basis, and its inverse.
  KOKKOS_FUNCTION double& length(std::int32_t k) const {
    return reinterpret_cast<double*>(after_H() + 2 * (restart + 1) + 2 * restart)[k];
  }
  KOKKOS_FUNCTION double& scale(std::int32_t k) const { return (&length(0))[restart + 1 + k]; }
  /// What the first round of Gram-Schmidt took away from ||w||^2.
  KOKKOS_FUNCTION double& taken() const { return (&length(0))[2 * (restart + 1)]; }

 private:
  KOKKOS_FUNCTION Number* numbers() const { return reinterpret_cast<Number*>(memory); }
  KOKKOS_FUNCTION Number* after_H() const { return numbers() + (restart + 1) * restart; }
};

/// \brief What the stages of GMRES share.
template <class Scalar_, class Operator, class Preconditioner>
struct GmresData {
  using Scalar = Scalar_;
  static constexpr char const* label = "Solder::gmres::solve";
  static constexpr int max_sums = 3;
  static constexpr bool row_wise = Preconditioner::is_row_wise;

  Operator A;
  Preconditioner M;
  Rows rows;
  Limits limits;
  Scalar const* b;
  Scalar* x;
  TallBasis<Scalar> V;  ///< restart + 1 columns; the newest is made in its own place
  Scalar* z;            ///< M times the newest vector of the basis; not used by Identity
  Scalar* g;            ///< G times that vector, of a factorised preconditioner M = G^H G
  double* sums;
  GmresSmall<Scalar> small;
  double* host_workspace;
  std::int32_t restart, vector_teams, product_teams, dot_teams;
  std::int32_t clerks;  ///< 1: a team of the product's own accounts for the step before

  bool operator==(GmresData const&) const = default;

  KOKKOS_FUNCTION Partials<3> of_residual() const { return {sums, product_teams}; }
  /// ||w||^2 of a cycle's first product.
  KOKKOS_FUNCTION Partials<1> of_first_norm() const {
    return {sums + 3 * product_teams, product_teams};
  }
  /// (v_0, w), from the product.
  KOKKOS_FUNCTION Partials<parts<Scalar>> of_first_dot() const {
    return {sums + 4 * product_teams, product_teams};
  }
  /// ||w||^2 after the first or the second round of Gram-Schmidt.
  KOKKOS_FUNCTION Partials<1> of_norm(int round) const {
    return {vector_sums() + round * vector_teams, vector_teams};
  }
  /// One inner product, in two buffers by turns.
  KOKKOS_FUNCTION Partials<parts<Scalar>> of_dot(int turn) const {
    return {vector_sums() + (2 + turn * int(parts<Scalar>)) * vector_teams, vector_teams};
  }
  /// Inner products of w with all of the basis.
  KOKKOS_FUNCTION double* of_dots() const {
    return vector_sums() + (2 + 2 * int(parts<Scalar>)) * vector_teams;
  }
  KOKKOS_FUNCTION double* vector_sums() const {
    return sums + (4 + int(parts<Scalar>)) * product_teams;
  }
  static std::size_t sums_size(std::size_t restart, std::size_t vector_teams,
                               std::size_t product_teams, std::size_t dot_teams) {
    return (4 + parts<Scalar>)*product_teams + (2 + 2 * parts<Scalar>)*vector_teams +
           parts<Scalar> * restart * dot_teams;
  }

  /// The column after the first is free while a cycle ends.
  KOKKOS_FUNCTION Scalar* true_residual() const { return V.column(1); }

  /// What the product multiplies with: M v_j, v_j the newest vector.
  KOKKOS_FUNCTION Scalar const* operand(std::int32_t j) const {
    if constexpr (Preconditioner::is_identity)
      return V.column(j);
    else
      return z;
  }
  /// A factorised preconditioner takes two stages of its own to make it.
  KOKKOS_FORCEINLINE_FUNCTION void keep_operand(std::int32_t i, Scalar const& v) const {
    if constexpr (Preconditioner::is_row_wise && !Preconditioner::is_identity) z[i] = M(i, v);
  }

  KOKKOS_FUNCTION int workspace_values() const { return multi_dot_workspace<Scalar>(restart + 1); }
  /// A GPU team's scratch takes a cycle's small system too, if that is not too large: in global
  /// memory its many short steps would wait ten times as long.
  int scratch_values() const {
    int const small_values = static_cast<int>(GmresSmall<Scalar>::size(restart));
    return small_fits() ? std::max(workspace_values(), small_values) : workspace_values();
  }
  KOKKOS_FUNCTION bool small_fits() const { return GmresSmall<Scalar>::size(restart) <= 4096; }
  template <class Team>
  KOKKOS_FUNCTION double* workspace(Team const& team) const {
    return team.workspace(host_workspace, workspace_values());
  }

  /// \brief Counts a step; ends the cycle where it is full, and the solve at its limit.
  KOKKOS_FUNCTION void advance(Control& next) const {
    ++next.step;
    ++next.iteration;
    if (next.iteration >= limits.max_iterations)
      next.claim(Reason::max_iterations);
    else if (next.step == restart)
      next.phase = Phase::judge;
  }

  /// \brief Records the residual of the newest step, and ends the cycle where it is small enough.
  /// \param least what the residual's square can be told from zero by
  KOKKOS_FUNCTION void take_residual(Control& next, double squared, double least) const {
    next.measure(squared);
    if (!Kokkos::isfinite(squared))
      next.claim(Reason::not_finite);
    else if (limits.unconditional())
      return;
    else if (squared <= next.stop_squared)
      next.claim(Reason::converged);
    else if (squared <= least)
      next.phase = Phase::judge;
  }
};

/// \brief A product whose first team may be a clerk: it takes account of the step before while the
/// others multiply. Only the first team's word counts (Program), and nobody waits for it.
struct GmresProductStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) {
    return d.product_teams + d.clerks;
  }
};

/// \brief account() by the first team, multiply(team, prepare) by the others; both by the first
/// where there is no clerk. account answers whether the cycle goes on.
template <class Data, class Team, class Account, class Multiply>
KOKKOS_FORCEINLINE_FUNCTION void with_clerk(Data const& d, Team const& team, Control const& now,
                                            Phase phase, Account const& account,
                                            Multiply const& multiply) {
  bool const clerk = team.league_rank() == 0;
  if (clerk && d.clerks == 1) {
    if (now.phase == phase) account();
    return;
  }
  multiply(d.clerks == 1 ? team.without_first() : team,
           [&] { return now.phase == phase && (!clerk || account()); });
}

/// \brief Solves R y = rhs for an upper triangular R whose diagonal stands apart, inverted in
/// place; a pivot without digits gives y_i = 0. All threads of the only team; answers whether y is
/// finite.
template <class Scalar, class Team>
KOKKOS_FUNCTION bool back_substitute(GmresSmall<Scalar> const& s, Team const& team,
                                     std::int32_t size) {
  double largest = 0;
  for (std::int32_t i = 0; i < size; ++i)
    largest = Kokkos::fmax(largest, abs_squared(s.diagonal(i)));
  team.barrier();
  for (std::int32_t i = team.rank(); i < size; i += team.size()) {
    auto& pivot = s.diagonal(i);
    pivot = abs_squared(pivot) > 1e-30 * largest ? Wide<Scalar>(1.0 / pivot) : Wide<Scalar>{};
  }
  team.barrier();
  for (std::int32_t i = size - 1; i >= 0; --i) {
    auto const y = s.rhs(i) * s.diagonal(i);
    if (!is_finite(y)) return false;
    for (std::int32_t k = team.rank(); k < i; k += team.size()) s.rhs(k) -= s.H(k, i) * y;
    if (team.rank() == 0) s.y(i) = y;
    team.barrier();
  }
  return true;
}

/// \brief The small least squares problem of a cycle, by one team.
///
/// Variant takes the last step's residual in and makes the problem triangular.
template <class Variant>
struct GmresLeastSquares {
  static constexpr char const* label = "Solder::gmres::least_squares";
  static constexpr Phase phase = Phase::judge;

  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const&) {
    return 1;
  }

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase || now.step == 0 || now.reason == Reason::not_finite) return;
    bool const taken_in = now.recorded > now.iteration;
    if (!taken_in) Variant::finish_step(d, team, now, next);
    next.phase = phase;
    if (next.reason == Reason::not_finite) return;
    team.barrier();
    auto const small = in_scratch(d, team);
    Variant::make_triangular(small, team, now.step, Kokkos::sqrt(now.best_squared));
    if (!back_substitute(small, team, now.step)) next.claim(Reason::not_finite);
    for (std::int32_t i = team.rank(); i < now.step; i += team.size()) d.small.y(i) = small.y(i);
  }

 private:
  /// \brief A copy of the small system in the team's scratch, where it fits; on hosts the system.
  template <class Data, class Team>
  KOKKOS_FUNCTION static auto in_scratch(Data const& d, Team const& team) {
    auto small = d.small;
    if (std::is_same_v<Team, HostTeam> || !d.small_fits()) return small;
    small.memory = d.workspace(team);
    int const size = static_cast<int>(small.size(d.restart));
    for (int i = team.rank(); i < size; i += team.size()) small.memory[i] = d.small.memory[i];
    team.barrier();
    return small;
  }
};

/// \brief x += M V y, and the cycle is empty; with a factorised preconditioner z = V y, which
/// Control::part tells. Words: the basis, and 2 a row.
template <class Variant>
struct GmresUpdate : VectorStage {
  static constexpr char const* label = "Solder::gmres::update";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    using Scalar = typename Data::Scalar;
    if (now.phase != phase || now.step == 0) return;
    next.step = next.part = 0;
    if (now.reason == Reason::not_finite) return;
    if constexpr (!Data::row_wise) next.part = 1;
    double* const c = d.workspace(team);
    multi_axpy<Scalar>(
        team, d.rows, d.V.from(0), now.step, [](std::int32_t) { return Scalar{}; },
        [&] {
          for (std::int32_t k = team.rank(); k < now.step; k += team.size()) {
            auto const y = -Variant::scale(d, k) * d.small.y(k);
            set_wide(c, k, y);
          }
          team.barrier();
          return true;
        },
        [&](std::int32_t k) { return narrow<Scalar>(wide_at<Scalar>(c, k * parts<Scalar>)); },
        [&](std::int32_t i, Scalar const& Vy) {
          if constexpr (Data::row_wise)
            d.x[i] += d.M(i, Vy);
          else
            d.z[i] = Vy;
        });
  }
};

/// \brief g = G v_j, j the newest vector; at a cycle's end g = G V y. Words: G, and 2 a row.
template <Phase When>
struct GmresFactor : FactorStage {
  static constexpr char const* label = "Solder::gmres::factor";
  static constexpr Phase phase = When;
  KOKKOS_FUNCTION static constexpr int times(std::int32_t) { return 1; }

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    constexpr bool ends = When == Phase::judge;
    d.M.G.for_each_row_product(
        team, ends ? d.z : d.V.column(now.step),
        [&] { return now.phase == phase && (!ends || now.part == 1); },
        [&](std::int32_t i, auto const& g) { d.g[i] = g; });
  }
};

/// \brief z = M v_j = G^H g; at a cycle's end x += G^H g. Words: G, and 2 a row.
template <Phase When>
struct GmresFactorTransposed : FactorTransposedStage {
  static constexpr char const* label = "Solder::gmres::factor_transposed";
  static constexpr Phase phase = When;
  KOKKOS_FUNCTION static constexpr int times(std::int32_t) { return 1; }

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    constexpr bool ends = When == Phase::judge;
    if (ends && now.phase == phase) next.part = 0;
    d.M.GH.for_each_row_product(
        team, d.g, [&] { return now.phase == phase && (!ends || now.part == 1); },
        [&](std::int32_t i, auto const& z) {
          if constexpr (ends)
            d.x[i] += z;
          else
            d.z[i] = z;
        });
  }
};

/// \brief The stages of a program, and those of a factorised preconditioner in their place.
template <bool RowWise, class Steps, class Ending>
struct GmresPrograms;

template <class... Stages, class LeastSquares, class Update, class... Judgement>
struct GmresPrograms<true, Cycle<Stages...>, Program<LeastSquares, Update, Judgement...>> {
  using Iteration = Cycle<Stages...>;
  using Ending = Program<LeastSquares, Update, Judgement...>;
};

template <class... Stages, class LeastSquares, class Update, class... Judgement>
struct GmresPrograms<false, Cycle<Stages...>, Program<LeastSquares, Update, Judgement...>> {
  using Iteration =
      Cycle<GmresFactor<Phase::iterate>, GmresFactorTransposed<Phase::iterate>, Stages...>;
  using Ending = Program<LeastSquares, Update, GmresFactor<Phase::judge>,
                         GmresFactorTransposed<Phase::judge>, Judgement...>;
};

/// \brief Holds the cycle's claim against the true residual, and begins the next cycle from it.
template <class Variant>
struct GmresJudge : VectorStage {
  static constexpr char const* label = "Solder::gmres::judge";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now,
                                  Control& next) {
    if (now.phase != phase) return;
    Recovery const recovery{.continues = false, .restarts = true};
    if (verdict_on_residual(d, team, next, recovery) != Verdict::restart) return;
    next.residual_squared = next.true_squared;
    double const norm = Kokkos::sqrt(next.true_squared);
    Variant::begin(d, team, norm > 0 ? 1 / norm : 0);
  }
};

}  // namespace Solder::Impl
