// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What all forms of GMRES share: the data of a cycle, and its end.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/kernels/tall_basis.hpp>
#include <solder/solvers/gmres_options.hpp>

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
    return parts<Scalar> * ((m + 1) * m + 2 * (m + 1) + 2 * m) + 3 * (m + 1) + 5;
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
  /// A bound on the cosines among the vectors of the basis before step k; two alternately, for a
  /// stage may read one while the next one is made.
  KOKKOS_FUNCTION double& lost(std::int32_t k) const {
    return (&length(0))[2 * (restart + 1) + 1 + (k & 1)];
  }
  /// A power of two by which products are scaled: H is that of sigma A M, and so are lengths and
  /// what was taken. It is 1 unless a cycle's first product is very large or very small.
  KOKKOS_FUNCTION double& sigma() const { return (&length(0))[2 * (restart + 1) + 3]; }
  /// How many vectors of the cycle's basis are in Scalar although others are in single precision.
  KOKKOS_FUNCTION double& full() const { return (&length(0))[2 * (restart + 1) + 4]; }
  /// sigma times the inverse length of a stored vector: what its product is multiplied by.
  KOKKOS_FUNCTION double& given(std::int32_t k) const {
    return (&length(0))[2 * (restart + 1) + 5 + k];
  }

 private:
  KOKKOS_FUNCTION Number* numbers() const { return reinterpret_cast<Number*>(memory); }
  KOKKOS_FUNCTION Number* after_H() const { return numbers() + (restart + 1) * restart; }
};

/// \brief Which bases a stage is compiled for. On hosts its loops over rows are compiled for both,
/// and the rest of it once. On GPUs, where both together would need too many registers, it is
/// compiled for each.
enum class GmresStorage {
  same,    ///< vectors in Scalar
  single,  ///< most of them in its single-precision counterpart
  either
};

/// \brief The basis, or the z_j = M v_j of flexible GMRES: vectors stored in Scalar (a TallBasis),
/// or most of them in its single-precision counterpart (GmresBasis, a MixedBasis).
template <class Scalar>
struct GmresColumns {
  /// Whether there is a counterpart.
  static constexpr bool may_be_single = sizeof(typename ScalarTraits<Scalar>::Real) == 8;

  void* values;
  std::uint32_t stride;  ///< 32 bits: a kernel's arguments have little room
  bool is_single;

  bool operator==(GmresColumns const&) const = default;

  /// \brief f(the basis).
  /// \tparam Storage which it may be
  /// \param full columns of a cycle's basis that are in Scalar whatever is_single
  template <GmresStorage Storage, class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with(double const& full, F const& f) const {
    if constexpr (Storage == GmresStorage::single) {
      return f(mixed(full));
    } else {
      if constexpr (Storage == GmresStorage::either)
        if (is_single) return f(mixed(full));
      return f(tall());
    }
  }
  KOKKOS_FUNCTION TallBasis<Scalar> tall() const { return {static_cast<Scalar*>(values), stride}; }
  KOKKOS_FUNCTION MixedBasis<Scalar> mixed(double full) const {
    return {values, stride, static_cast<std::int32_t>(full)};
  }
  /// \brief The spacing of the numbers stored, relative to them.
  KOKKOS_FUNCTION double epsilon() const {
    using Kokkos::Experimental::epsilon_v;
    return is_single ? epsilon_v<float> : epsilon_v<typename ScalarTraits<Scalar>::Real>;
  }
  /// \brief Whether it has the digits and the range of float.
  KOKKOS_FUNCTION bool has_few_digits() const { return is_single || !may_be_single; }
  /// \brief How many vectors of a cycle are to be in Scalar whatever is_single.
  ///
  /// The rounding of v_j acts as an error of at most eps ||r_j|| in A M v_j-1, r_j being the
  /// residual then: only the first vectors count (inexact Krylov methods, Simoncini & Szyld 2003),
  /// and only where the cycle may have to take the residual below their rounding.
  KOKKOS_FUNCTION double full_columns(double residual_squared, double stop_squared) const {
    double const share = 16 * epsilon();
    bool const asks_for_more = stop_squared > 0 && stop_squared < share * share * residual_squared;
    return asks_for_more ? MixedBasis<Scalar>::room : 0;
  }
};

/// \brief What the stages of GMRES share: the basis, the small system and the sums.
template <class Scalar_>
struct GmresCycle {
  using Scalar = Scalar_;
  static constexpr int most_sums = 3;

  Rows rows;
  Limits limits;
  GmresColumns<Scalar> V;  ///< restart + 1 columns
  Scalar* products;        ///< where w = A M v_0 is made: the newest column, or a vector apart
  GmresSmall<Scalar> small;
  double* host_workspace;
  Sum<1> of_first_norm;                     ///< ||sigma w||^2 of a cycle's first product
  Sum<parts<Scalar>> of_first_dot;          ///< (v_0, w), from the product
  DoubleBufferedSum<1> of_norm;             ///< ||w||^2 after the first, and the second, round
  DoubleBufferedSum<parts<Scalar>> of_dot;  ///< one inner product, in two buffers alternately
  Sum<1> of_dots;  ///< inner products of w with all of the basis, one by one

  bool operator==(GmresCycle const&) const = default;

  /// \brief w of a step: where the basis is stored in Scalar, the column that it becomes.
  KOKKOS_FUNCTION Scalar* w(std::int32_t step) const {
    return V.is_single ? products : products + step * std::int64_t(V.stride);
  }
  /// \brief f(the basis), a TallBasis or a MixedBasis.
  template <GmresStorage Storage, class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_basis(F const& f) const {
    return V.template with<Storage>(small.full(), f);
  }
  /// The first step's w is free while a cycle ends.
  KOKKOS_FUNCTION Scalar* true_residual() const { return products; }

  KOKKOS_FUNCTION int workspace_values() const {
    return multi_dot_workspace<Scalar>(small.restart + 1);
  }
  KOKKOS_FUNCTION bool small_fits() const {
    return GmresSmall<Scalar>::size(small.restart) <= 4096;
  }
  KOKKOS_FUNCTION double* workspace(auto const& team) const {
    return team.workspace(host_workspace, workspace_values());
  }

  /// \brief Counts a step; ends the cycle where it is full, and the solve at its limit.
  KOKKOS_FUNCTION void advance(Control& next) const {
    ++next.step;
    ++next.iteration;
    if (next.iteration >= limits.max_iterations)
      next.claim(Reason::max_iterations);
    else if (next.step == small.restart)
      next.phase = Phase::check;
  }

  /// \brief Whether a cycle's first product, scaled by sigma, is too long or too short for those
  /// that follow. Then the cycle ends, its step does not count, and the next one has another sigma,
  /// with which that product has about length one.
  ///
  /// The square of the length may over- or underflow; the next cycle then tells what it is.
  KOKKOS_FUNCTION bool rescales(double squared, Control const& now, Control& next) const {
    constexpr double unknown = 0x1p1000;
    if (Kokkos::isnan(squared) || is_in_range(squared, now.best_squared)) return false;
    double const by = squared > unknown       ? 0x1p-500
                      : squared < 1 / unknown ? 0x1p500
                                              : scale_to_one<double>(Kokkos::sqrt(squared));
    double const sigma = scaled_sigma(by);
    if (sigma == small.sigma()) return false;
    next.iteration = now.iteration - now.step;
    next.step = next.rounds = 0;
    next.claim(Reason::running, Cause::scale, sigma);
    return true;
  }
  /// \brief Whether the numbers of a cycle stay in the range of its scalars, if vectors are stored
  /// with the length L = sigma ||A M||. Inner products with these vectors are about L^3 / sigma; in
  /// single precision their sums are in double, but the products by A M, L^2 / sigma, are not. And
  /// x is corrected, by about ||r|| sigma / L, with multiples of the vectors, about
  /// ||r|| sigma / L^2.
  KOKKOS_FUNCTION bool is_in_range(double squared, double residual_squared) const {
    auto const within = [](double number, double most) {
      return number >= 1 / most && number <= most;
    };
    double const sigma = small.sigma(),
                 multiple = Kokkos::sqrt(residual_squared) * (sigma / squared);
    if (!GmresColumns<Scalar>::may_be_single)
      return within(squared, 0x1p80) && within(squared / sigma, 0x1p80) &&
             within(multiple, 0x1p100);
    return fits(squared) && within(squared * (Kokkos::sqrt(squared) / sigma), 0x1p900) &&
           within(multiple, 0x1p900);
  }

  /// \brief Whether a vector of this squared length fits the range of a single-precision basis. Its
  /// length itself is known in double.
  KOKKOS_FUNCTION bool fits(double squared) const {
    return !V.is_single || !(squared > most_fit || (squared > 0 && squared < 1 / most_fit));
  }
  static constexpr double most_fit = 0x1p200;
  /// \brief Ends the cycle with its newest vector, which does not fit; the next cycle's sigma is
  /// half way, in exponents, to the one that would give it length one.
  KOKKOS_FUNCTION void end_unfit(double squared, Control& next) const {
    double const by = scale_to_one<double>(Kokkos::sqrt(Kokkos::sqrt(squared)));
    next.claim(Reason::running, Cause::scale, scaled_sigma(by));
  }
  KOKKOS_FUNCTION double scaled_sigma(double by) const {
    constexpr double most = GmresColumns<Scalar>::may_be_single ? 0x1p1000 : 0x1p126;
    return Kokkos::fmin(Kokkos::fmax(small.sigma() * by, 1 / most), most);
  }

  /// \brief Records the residual of the newest step, and ends the cycle where it is small enough.
  /// \param least squares up to this cannot be told from zero
  KOKKOS_FUNCTION void take_residual(Control& next, double squared, double least) const {
    next.measure(squared);
    if (!Kokkos::isfinite(squared))
      next.claim(Reason::not_finite);
    else if (limits.unconditional())
      return;
    else if (squared <= next.stop_squared)
      next.claim(Reason::converged);
    else if (squared <= least)
      next.phase = Phase::check;
  }
};

/// \brief What a product multiplies where M is pointwise: z = M v, made together with v. With
/// M = identity it is v itself; any other M has stages of its own. With a single-precision basis,
/// these two take a copy of v in Scalar, with the numbers that are stored.
template <class Scalar, class M, bool Keeps>
struct GmresOperand {
  M m;
  Scalar* z;
  std::int64_t per_step;  ///< from one step's z to the next one's, where all are kept
  Scalar* v;              ///< null where the basis has it, or z is enough

  bool operator==(GmresOperand const&) const = default;

  /// \brief Stores entry i of a step's v in the basis V, and what a product needs of it.
  template <class Basis>
  KOKKOS_FORCEINLINE_FUNCTION void store(Basis const& V, std::int32_t step, std::int32_t i,
                                         Scalar const& value) const {
    Scalar const stored = V.store(step, i, value);
    if constexpr (Keeps)
      z[step * per_step + i] = m(i, stored);
    else if constexpr (std::is_same_v<Basis, MixedBasis<Scalar>>)
      v[i] = stored;
  }
};

/// \brief What a stage of GMRES has beside its work.
template <class Scalar>
struct GmresStage {
  GmresCycle<Scalar> d;

  static constexpr int most_sums = GmresCycle<Scalar>::most_sums, threads = league_threads;
  int workspace() const { return d.workspace_values(); }
  bool operator==(GmresStage const&) const = default;
};

/// \brief The product of a step, w = A M v_j. Its first team may be a bookkeeper, which finishes
/// the step before while the others multiply. Only the first team decides, and nobody waits for it.
/// Words: the matrix, and 2 a row.
///
/// \tparam Variant what is done with the step before, and with the rows of the product
template <class Source, class Scalar, class Variant>
struct GmresProduct : GmresStage<Scalar> {
  static constexpr char const* label = "Solder::gmres::product";
  static constexpr Phase phase = Phase::iterate;
  static constexpr bool first_decides = true;
  using GmresStage<Scalar>::d;

  Source source;
  std::int32_t bookkeepers;  ///< 1: there is a bookkeeper

  bool operator==(GmresProduct const&) const = default;

  KOKKOS_FUNCTION int teams() const { return source.teams() + bookkeepers; }
  auto bound(At const& at) const {
    auto const here = Solder::bound(source, at);
    return GmresProduct<std::remove_const_t<decltype(here)>, Scalar, Variant>{
        {d}, here, bookkeepers};
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team, At const& at, Control const& now,
                                       Control& next) const {
    bool const bookkeeper = team.league_rank() == 0;
    auto const account = [&] {
      if (at.step > 0) Variant::finish_step(d, team, at.step, now, next);
      next.rounds = 0;
      return next.phase == phase;
    };
    if (bookkeeper && bookkeepers == 1) {
      if (now.phase == phase) account();
      return;
    }
    Team const rows_team = bookkeepers == 1 ? team.without_first() : team;
    Scalar* const w = d.w(at.step);
    typename Variant::ProductSums mine{};
    bool const went_on = source.for_each_row(
        rows_team, at, [&] { return now.phase == phase && (!bookkeeper || account()); },
        [&](std::int32_t i, Scalar const& Av) {
          w[i] = Av;
          Variant::add(d, at.step, i, Av, mine);
        });
    if (went_on) Variant::leave(d, rows_team, at.step, mine);
  }
};

/// \brief The columns from First on; a MixedBasis is taken as a whole.
template <int First, class Scalar>
KOKKOS_FUNCTION TallBasis<Scalar const> from(TallBasis<Scalar> const& V) {
  return V.from(First);
}
template <int First, class Scalar>
KOKKOS_FUNCTION MixedBasis<Scalar> from(MixedBasis<Scalar> const& V) {
  static_assert(First == 0);
  return V;
}

/// \brief (v_k, w) for all k, in a first or second round. Words: the basis, and 1 a row.
template <class Scalar, class Variant, GmresStorage Storage, int Round = 1>
struct GmresDots : GmresStage<Scalar> {
  static constexpr char const* label =
      Round == 1 ? "Solder::gmres::dots" : "Solder::gmres::dots_again";
  static constexpr bool reads_sums = Round == 2;
  static constexpr Phase phase = Phase::iterate;
  static constexpr int threads = multi_dot_threads;
  using GmresStage<Scalar>::d;

  GmresReorthogonalisation reorthogonalisation{};  ///< when there is a second round

  bool operator==(GmresDots const&) const = default;

  KOKKOS_FUNCTION int teams() const { return d.of_dots.parts; }
  KOKKOS_FUNCTION static bool idle(Control const&, Control const& next) {
    return Round == 2 && next.rounds == 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                       Control& next) const {
    constexpr std::int32_t first = Variant::first_column;
    d.template with_basis<Storage>([&](auto const& V) {
      auto const with_w = [&](auto* w) {
        multi_dot<Scalar>(team, d.rows, from<first>(V), at.step + 1 - first, w, d.of_dots.values,
                          d.workspace(team), [&] {
                            if (now.phase != phase) return false;
                            if constexpr (Round == 2)
                              next.rounds =
                                  Variant::goes_again(d, team, at.step, now, reorthogonalisation);
                            return Round == 1 || next.rounds != 0;
                          });
      };
      if constexpr (Round == 1)
        with_w(d.w(at.step));
      else if constexpr (std::remove_cvref_t<decltype(V)>::has_parts)
        V.with_part(at.step + 1, [&](auto const& part) { with_w(part.column(at.step + 1)); });
      else
        with_w(V.column(at.step + 1));
    });
  }
};

/// \brief w -= sum_k h_k,j v_k, with its norm, in a first or second round. Words: the basis, and 2
/// a row.
///
/// \tparam Last it ends the step
template <class Scalar, class Variant, GmresStorage Storage, class Operand, int Round, bool Last>
struct GmresOrthogonalise : GmresStage<Scalar> {
  static constexpr char const* label =
      Round == 1 ? "Solder::gmres::orthogonalise" : "Solder::gmres::orthogonalise_again";
  static constexpr Phase phase = Phase::iterate;
  using GmresStage<Scalar>::d;

  Operand operand;

  bool operator==(GmresOrthogonalise const&) const = default;

  KOKKOS_FUNCTION int teams() const { return d.of_norm.parts; }
  KOKKOS_FUNCTION static bool idle(Control const& now, Control const&) {
    return Round == 2 && now.rounds == 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const& at, Control const& now,
                                       Control& next) const {
    constexpr std::int32_t p = parts<Scalar>, first = Variant::first_column;
    if (Round == 2 && now.phase == phase && now.rounds == 0) {
      d.advance(next);
      return;
    }
    std::int32_t const count = at.step + 1 - first;
    double* const c = d.workspace(team);
    Scalar const* const w = d.w(at.step);
    Sums<1> mine{};
    double const given = Round == 1 ? Variant::given(d, at.step) : 1;  // of w, from the product
    auto const own = to_real<Scalar>(given);
    auto const prepare = [&] {
      for_each_total(
          team, count * p, d.of_dots.parts, d.of_dots.values,
          [&](std::int32_t v) { return Variant::scale(d, p == 1 ? v : v / 2); },
          [&](std::int32_t v, double total, double scale) {
            c[v] = scale * scale * (given * total);
          });
      if (now.phase != phase) return false;
      if (team.league_rank() == 0) keep_column(team, at.step, count, c);
      return true;
    };
    bool const went_on = d.template with_basis<Storage>([&](auto const& V) {
      return multi_axpy<Scalar>(
          team, d.rows, from<first>(V), count,
          [&](std::int32_t i) { return own * (Round == 1 ? w[i] : V.at(at.step + 1, i)); }, prepare,
          [&](std::int32_t k) { return narrow<Scalar>(wide_at<Scalar>(c, k * p)); },
          [&](std::int32_t i, Scalar const& value) {
            operand.store(V, at.step + 1, i, value);
            mine[0] += abs_squared(value);
          });
    });
    if (!went_on) return;
    d.of_norm.of(Round - 1).leave(team, mine);
    if (Last) d.advance(next);
  }

 private:
  /// \brief h_k,j of this round, c(k) times the length of v_k, for all k.
  KOKKOS_FORCEINLINE_FUNCTION void keep_column(auto const& team, std::int32_t j, std::int32_t count,
                                               double const* c) const {
    Sums<1> taken{};
    for (std::int32_t k = team.lane(); k < count; k += team.lanes()) {
      auto const h = Variant::length(d, k) * wide_at<Scalar>(c, k * parts<Scalar>);
      if (team.warp_rank() == 0) {
        auto& H = d.small.H(k, j);
        H = Round == 1 ? h : H + h;
      }
      taken[0] += abs_squared(h);
    }
    if constexpr (Round == 1) {
      team.sum_lanes(taken);
      if (team.rank() == 0) d.small.taken() = taken[0];
    }
  }
};

/// \brief Solves R y = rhs for an upper triangular R whose diagonal is stored apart and is inverted
/// in place; a pivot without digits gives y_i = 0. By all threads of the only team; answers whether
/// y is finite.
template <class Scalar, class Team>
KOKKOS_FUNCTION bool back_substitute(GmresSmall<Scalar> const& s, Team const& team,
                                     std::int32_t size) {
  double largest = 0;
  for (std::int32_t i = 0; i < size; ++i)
    largest = Kokkos::fmax(largest, abs_squared(s.diagonal(i)));
  team.barrier();
  for (std::int32_t i = team.rank(); i < size; i += team.size()) {
    auto& pivot = s.diagonal(i);
    pivot = abs_squared(pivot) > 1e-28 * largest ? Wide<Scalar>(1.0 / pivot) : Wide<Scalar>{};
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
template <class Scalar, class Variant>
struct GmresLeastSquares : GmresStage<Scalar> {
  static constexpr char const* label = "Solder::gmres::least_squares";
  static constexpr Phase phase = Phase::check;
  using GmresStage<Scalar>::d;

  bool operator==(GmresLeastSquares const&) const = default;

  KOKKOS_FUNCTION static constexpr int teams() { return 1; }
  /// A GPU team's scratch takes a cycle's small system too, if that is not too large: in global
  /// memory its many short steps would wait ten times as long.
  int workspace() const {
    int const small_values = static_cast<int>(GmresSmall<Scalar>::size(d.small.restart));
    return d.small_fits() ? std::max(d.workspace_values(), small_values) : d.workspace_values();
  }

  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const&, Control const& now,
                                       Control& next) const {
    if (now.phase != phase || now.step == 0 || now.reason == Reason::not_finite) return;
    bool const taken_in = now.recorded > now.iteration;
    if (!taken_in) Variant::finish_step(d, team, now.step, now, next);
    next.phase = phase;
    if (next.reason == Reason::not_finite || next.step == 0) return;
    team.barrier();
    auto const small = in_scratch(team);
    Variant::make_triangular(small, team, now.step, Kokkos::sqrt(now.best_squared));
    if (!back_substitute(small, team, now.step)) next.claim(Reason::not_finite);
    for (std::int32_t i = team.rank(); i < now.step; i += team.size()) d.small.y(i) = small.y(i);
  }

 private:
  /// \brief A copy of the small system in the team's scratch, where it fits; on hosts the system.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION auto in_scratch(Team const& team) const {
    auto small = d.small;
    if (std::is_same_v<Team, HostTeam> || !d.small_fits()) return small;
    small.memory = d.workspace(team);
    int const size = static_cast<int>(small.size(small.restart));
    for (int i = team.rank(); i < size; i += team.size()) small.memory[i] = d.small.memory[i];
    team.barrier();
    return small;
  }
};

/// \brief How a cycle's end corrects x from the basis.
enum class GmresCorrection {
  pointwise,  ///< x += M V y
  kept,       ///< x += Z y, Z = M V having been kept
  apart       ///< z = V y; M's own stages, in Phase::correct, make x += M z of it
};

/// \brief Corrects x, keeps a copy of x as it was, and empties the cycle. Words: the basis, and 3 a
/// row; 1 where the correction is made apart.
///
/// \tparam Variant tells how long a stored vector of the basis is
template <class Scalar, class Variant, GmresStorage Storage, class M, GmresCorrection How>
struct GmresUpdate : GmresStage<Scalar> {
  static constexpr char const* label = "Solder::gmres::update";
  static constexpr Phase phase = Phase::check;
  using GmresStage<Scalar>::d;

  M m;
  GmresColumns<Scalar> basis;  ///< V or Z
  Scalar* to;                  ///< x or z
  Scalar* before;              ///< x as it was, where it is changed here
  std::int32_t league;

  bool operator==(GmresUpdate const&) const = default;

  KOKKOS_FUNCTION int teams() const { return league; }

  KOKKOS_FORCEINLINE_FUNCTION void run(auto const& team, At const&, Control const& now,
                                       Control& next) const {
    if (now.phase != phase || now.step == 0) return;
    next.step = next.rounds = 0;
    if (now.reason == Reason::not_finite) return;
    next.fresh = false;
    if constexpr (How == GmresCorrection::apart) next.phase = Phase::correct;
    double* const c = d.workspace(team);
    auto const prepare = [&] {
      for (std::int32_t k = team.rank(); k < now.step; k += team.size()) {
        auto const y = -d.small.sigma() * (Variant::scale(d, k) * d.small.y(k));
        set_wide(c, k, y);
      }
      team.barrier();
      return true;
    };
    basis.template with<Storage>(d.small.full(), [&](auto const& V) {
      multi_axpy<Scalar>(
          team, d.rows, V, now.step, [](std::int32_t) { return Scalar{}; }, prepare,
          [&](std::int32_t k) { return narrow<Scalar>(wide_at<Scalar>(c, k * parts<Scalar>)); },
          [&](std::int32_t i, Scalar const& Vy) {
            if constexpr (How == GmresCorrection::apart) {
              to[i] = Vy;
            } else {
              Scalar const x = to[i];
              before[i] = x;
              to[i] = x + (How == GmresCorrection::pointwise ? m(i, Vy) : Vy);
            }
          });
    });
  }
};

/// \brief x += z, where the source hands out z, and keeps x as it was: the end of a correction with
/// an M that is not pointwise. Words: 3 a row.
template <class Scalar>
struct GmresCorrect {
  Scalar *x, *before;

  bool operator==(GmresCorrect const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& z) const {
    Scalar const was = x[i];
    before[i] = was;
    x[i] = was + z;
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const&, Sums<0> const&, Control const&,
                                       Control& next) const {
    next.phase = Phase::check;
  }
};

/// \brief Begins the next cycle from the true residual.
template <class Scalar, class Variant, GmresStorage Storage, class Operand>
struct GmresBegin {
  static constexpr std::size_t sums = 0;
  struct Scalars {
    typename Variant::Beginning beginning;
    double full;  ///< see GmresSmall
  };

  GmresColumns<Scalar> V;
  GmresSmall<Scalar> small;
  Operand operand;

  bool operator==(GmresBegin const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void scalars(auto const& team, Control& next, Scalars& s) const {
    next.residual_squared = next.true_squared;
    next.fresh = true;
    if (team.league_rank() == 0 && team.rank() == 0) {
      if (next.cause == Cause::scale)
        small.sigma() = next.value;
      else if (next.iteration == 0)
        small.sigma() = 1;
    }
    next.cause = Cause::none;
    s.beginning = Variant::begin(small, team, Kokkos::sqrt(next.true_squared));
    if constexpr (Storage != GmresStorage::same) {
      s.full = V.full_columns(next.true_squared, next.stop_squared);
      if (team.league_rank() == 0 && team.rank() == 0) small.full() = s.full;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& r, Scalars const& s,
                                       Sums<0>&) const {
    V.template with<Storage>(s.full, [&](auto const& columns) {
      operand.store(columns, 0, i, Variant::first(r, s.beginning));
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const&, Sums<0> const&, Control const&,
                                       Control&) const {}
};

}  // namespace Solder::Impl
