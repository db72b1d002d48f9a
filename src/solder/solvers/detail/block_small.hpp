// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The small dense part of the block method of conjugate gradients.

#include <cstdint>
#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief A GPU's warp, in place of a team.
struct Warp {
  KOKKOS_FUNCTION static int rank() { return lane_number(); }
  KOKKOS_FUNCTION static constexpr int size() { return warp; }
  KOKKOS_FUNCTION static void barrier() { lane_barrier(); }
};

/// \brief f(k) for k < count, by all threads of a team; a barrier.
KOKKOS_FORCEINLINE_FUNCTION void in_team(auto const& team, std::int32_t count, auto const& f) {
  for (std::int32_t k = team.rank(); k < count; k += team.size()) f(k);
  team.barrier();
}

/// \brief Hands the control blocks on as they are, to be changed by for_each_control.
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION void pass_on([[maybe_unused]] Team const& team,
                                         [[maybe_unused]] Control const& now,
                                         [[maybe_unused]] Control& next) {
  if constexpr (!std::is_same_v<Team, HostTeam>)
    if (team.slot() == 0) next = now;
}

/// \brief f(column, its control block, the one that is handed on) for each column, once.
template <class Team, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_control(Team const& team, Control const& now,
                                                  Control& next, F const& f) {
  if constexpr (std::is_same_v<Team, HostTeam>) {
    for (std::int32_t c = 0; c < team.columns(); ++c) f(c, (&now)[c], (&next)[c]);
  } else {
    if (team.slot() == 0) f(team.column(), now, next);
  }
}

/// \brief What y holds of the change of x: nothing, the first product, or a sum of several.
enum class BlockSum { none, first, several };

/// \brief Matrices of b x b, by rows, and numbers of each column, in memory of the device: written
/// by stages of one team, and read by the others.
template <class Scalar>
struct BlockSmall {
  using Number = Wide<Scalar>;
  enum Matrix { gram, norms, step, T, K, C, G, S, rotation, scaled, products, matrices };
  enum Column {
    scale,
    stop,
    useless,
    residual,
    done,
    outcome,
    kept,
    remaining,
    place,
    root,
    columns
  };
  enum Value { rank, least, y, iteration, ends, values };

  double* memory;
  std::int32_t b;

  bool operator==(BlockSmall const&) const = default;

  KOKKOS_FUNCTION static constexpr int size(int b) {
    return static_cast<int>(parts<Scalar>) * matrices * b * b + columns * b + values;
  }
  KOKKOS_FUNCTION Number* matrix(Matrix m) const {
    return reinterpret_cast<Number*>(memory) + m * b * b;
  }
  KOKKOS_FUNCTION Number& at(Matrix m, std::int32_t i, std::int32_t j) const {
    return matrix(m)[i * b + j];
  }
  KOKKOS_FUNCTION double& of_column(Column what, std::int32_t c) const {
    return memory[static_cast<int>(parts<Scalar>) * matrices * b * b + what * b + c];
  }
  KOKKOS_FUNCTION bool is(Column what, std::int32_t c) const { return of_column(what, c) != 0; }
  KOKKOS_FUNCTION double& value(Value what) const {
    return memory[static_cast<int>(parts<Scalar>) * matrices * b * b + columns * b + what];
  }

  KOKKOS_FUNCTION BlockSum sum_in_y() const {
    return static_cast<BlockSum>(static_cast<int>(value(y)));
  }
  /// \brief Whether a column's residual is a direction of the block: what has ended is none.
  KOKKOS_FUNCTION bool takes_part(std::int32_t c) const {
    return !is(done, c) && of_column(scale, c) > 0;
  }
  /// \brief Makes a column's claim; if the column has ended, only asks that all be checked.
  KOKKOS_FUNCTION void claim(std::int32_t c, Control& next, Reason why, Cause what = Cause::none,
                             double scalar = 0) const {
    if (is(done, c))
      next.phase = Phase::check;
    else
      next.claim(why, what, scalar);
  }

  using Real = typename ScalarTraits<Scalar>::Real;
  static constexpr double eps = double(Kokkos::Experimental::epsilon_v<Real>),
                          eps_of_sums = double(Kokkos::Experimental::epsilon_v<double>);

  /// \brief Pivots up to these are rounding, in a matrix with a diagonal of ones. The first is for
  /// inner products of vectors with themselves, which are exact; the second for those of vectors
  /// with their products by A, which have been rounded.
  KOKKOS_FUNCTION double drop_of_products() const {
    return 30 * b * (eps * eps > eps_of_sums ? eps * eps : eps_of_sums);
  }
  KOKKOS_FUNCTION double drop_of_A() const { return 30 * b * eps; }

  /// \brief m = the sum of its partial sums, made Hermitian.
  KOKKOS_FUNCTION void gather(auto const& team, Matrix m, Number const* partials,
                              std::int32_t parts_of) const {
    Number* const to = matrix(products);
    in_team(team, b * b, [&](std::int32_t e) {
      constexpr int at_once = 16;
      Number sum{};
      for (std::int32_t first = 0; first < parts_of; first += at_once) {
        Number loaded[at_once];
        for (int u = 0; u < at_once; ++u)
          loaded[u] = first + u < parts_of ? partials[(first + u) * b * b + e] : Number{};
        for (int u = 0; u < at_once; ++u) sum += loaded[u];
      }
      to[e] = sum;
    });
    in_team(team, b * b, [&](std::int32_t e) {
      std::int32_t const i = e / b, j = e % b;
      matrix(m)[e] = (to[e] + conjugate(to[j * b + i])) * 0.5;
    });
  }

  /// \brief to = left * right, `flip` being a factor.
  KOKKOS_FUNCTION void multiply(auto const& team, Matrix to, Matrix left, Matrix right,
                                double flip = 1) const {
    in_team(team, b * b, [&](std::int32_t e) {
      std::int32_t const i = e / b, j = e % b;
      Number sum{};
      for (std::int32_t k = 0; k < b; ++k) sum += at(left, i, k) * at(right, k, j);
      matrix(to)[e] = sum * flip;
    });
  }

  /// \brief What is wrong in the diagonal of a Hermitian matrix that should be positive
  /// semidefinite: 0: nothing; else an entry that is not finite, or is negative beyond rounding.
  KOKKOS_FUNCTION double wrong_in_diagonal(Matrix m) const {
    double largest = 0, least = 0;
    for (std::int32_t j = 0; j < b; ++j) {
      double const entry = real_part(at(m, j, j));
      if (!Kokkos::isfinite(entry)) return entry;
      largest = Kokkos::fmax(largest, Kokkos::fabs(entry));
      least = Kokkos::fmin(least, entry);
    }
    double const slack = 1e-10 > b * eps ? 1e-10 : b * eps;
    return least < -slack * largest ? least : 0;
  }

  /// \brief The Cholesky factorisation with pivoting of a positive semidefinite matrix, m = S^H S
  /// up to rounding, and `inverse`, T, the inverse of S up to the rank: Q T is orthonormal where
  /// m = Q^H Q. Rows of S beyond the rank, and columns of T, are zero.
  ///
  /// Columns whose diagonal entry is at most `floor` count as zero; pivots of at most `drop`, after
  /// scaling to a diagonal of ones, count as rounding. value(least) is the least entry, or 0, that
  /// remains in that diagonal: far below 0 the matrix is not semidefinite.
  template <class Team>
  KOKKOS_FUNCTION void factor(Team const& team, Matrix m, Matrix inverse, double floor,
                              double drop) const {
    in_team(team, b, [&](std::int32_t j) {
      double const entry = real_part(at(m, j, j));
      of_column(root, j) = entry > floor ? 1 / Kokkos::sqrt(entry) : 0;
      of_column(remaining, j) = entry > floor ? 1 : 0;
      of_column(place, j) = -1;
    });
    in_team(team, b * b, [&](std::int32_t e) {
      matrix(scaled)[e] = matrix(m)[e] * (of_column(root, e / b) * of_column(root, e % b));
      matrix(S)[e] = matrix(inverse)[e] = Number{};
    });
    // Pivots are chosen one after another: a chain of short steps, in which the threads of a warp
    // need not wait for others.
    if constexpr (std::is_same_v<Team, HostTeam>) {
      eliminate(team, inverse, drop);
    } else {
      if (team.rank() < warp) eliminate(Warp{}, inverse, drop);
      team.barrier();
    }
    in_team(team, b * b, [&](std::int32_t e) {
      double const of_row = of_column(root, e / b), of_this = of_column(root, e % b);
      matrix(S)[e] = of_this > 0 ? matrix(S)[e] * (1 / of_this) : Number{};
      matrix(inverse)[e] = matrix(inverse)[e] * of_row;
    });
  }

 private:
  KOKKOS_FUNCTION void eliminate(auto const& lanes, Matrix inverse, double drop) const {
    std::int32_t r = 0;
    for (; r < b; ++r) {
      std::int32_t chosen = -1;
      double most = drop;
      for (std::int32_t j = 0; j < b; ++j) {
        double const candidate = of_column(place, j) < 0 ? of_column(remaining, j) : 0;
        if (candidate > most) {
          most = candidate;
          chosen = j;
        }
      }
      if (chosen < 0) break;
      lanes.barrier();  // all have chosen
      double const inverse_root = 1 / Kokkos::sqrt(most);
      // Row r of S and column r of its inverse: the chosen column less what earlier ones have of
      // it.
      in_team(lanes, 2 * b, [&](std::int32_t t) {
        bool const of_S = t < b;
        std::int32_t const j = of_S ? t : t - b;
        if (of_S && of_column(place, j) >= 0) return;
        Number sum = of_S ? at(scaled, chosen, j) : Number(j == chosen ? 1.0 : 0.0);
        for (std::int32_t k = 0; k < r; ++k)
          sum -= of_S ? conjugate(at(S, k, chosen)) * at(S, k, j)
                      : at(inverse, j, k) * at(S, k, chosen);
        sum = sum * inverse_root;
        if (!of_S) {
          at(inverse, j, r) = sum;
          return;
        }
        at(S, r, j) = sum;
        of_column(remaining, j) -= real_part(conjugate(sum) * sum);
        if (j == chosen) of_column(place, j) = r;
      });
    }
    if (lanes.rank() == 0) {
      double smallest = 0;
      for (std::int32_t j = 0; j < b; ++j)
        if (of_column(place, j) < 0) smallest = Kokkos::fmin(smallest, of_column(remaining, j));
      value(rank) = r;
      value(least) = smallest;
    }
  }
};

}  // namespace Solder::Impl
