// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the stages of IDR(s) share.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/sums.hpp>
#include <solder/core/team.hpp>
#include <solder/kernels/shadow_space.hpp>

namespace Solder::Impl {

/// \brief Sums whose number is known at run time only: `parts` partial sums of each.
struct ManySums {
  double* values;
  std::int32_t parts;  ///< teams

  bool operator==(ManySums const&) const = default;

  KOKKOS_FUNCTION Sum<1> of(std::int32_t n) const { return {values + n * parts, parts}; }
  KOKKOS_FUNCTION ManySums from(std::int32_t n) const { return {values + n * parts, parts}; }

  /// \brief Leaves `count` of this team's sums, known to the thread of rank 0, as those from
  /// `first` on: sums[from], ...
  template <class Team, std::size_t N>
  KOKKOS_FORCEINLINE_FUNCTION void leave(Team const& team, std::int32_t first, std::int32_t count,
                                         Sums<N> const& sums, std::size_t from = 0) const {
    if (team.rank() != 0) return;
    for (std::size_t n = from; n < N; ++n)
      if (std::int32_t const k = static_cast<std::int32_t>(n - from); k < count)
        values[(first + k) * parts + team.league_rank()] = sums[n];
    if constexpr (std::is_same_v<Team, HostTeam>)
      team.has_left(values + first * parts, Kokkos::min(count, static_cast<std::int32_t>(N - from)),
                    parts);
  }
};

/// \brief The small dense part of IDR(s): written by team 0 only, and read by later stages.
///
/// M_i,j = (p_i, g_j) is lower triangular. N is its inverse, by rows as the vectors of a cycle are
/// made: rows before the newest are those of the new M's inverse, the others those of the old one.
/// (The inverse of a triangle's corner is the corner of its inverse.) So the small systems with
/// either corner are products with N, without a chain of divisions.
template <class Scalar>
struct IdrSmall {
  using Number = Wide<Scalar>;

  double* memory;
  std::int32_t s;

  bool operator==(IdrSmall const&) const = default;

  KOKKOS_FUNCTION static constexpr int size(int s) {
    return static_cast<int>(parts<Scalar>) * (2 * s * s + 2 * s + 2);
  }
  KOKKOS_FUNCTION Number& M(std::int32_t i, std::int32_t j) const { return numbers()[j * s + i]; }
  KOKKOS_FUNCTION Number& N(std::int32_t i, std::int32_t j) const {
    return numbers()[(s + i) * s + j];
  }
  /// P^H r before step k; two alternately, for a stage may read one while the next one is made.
  KOKKOS_FUNCTION Number& f(std::int32_t k, std::int32_t i) const {
    return numbers()[(2 * s + (k & 1)) * s + i];
  }
  KOKKOS_FUNCTION Number& omega() const { return numbers()[2 * s * (s + 1)]; }
  /// u_s is sigma M r, so that (A u_s, A u_s) stays in the range of double whatever the scale of A:
  /// a power of two near 1 / ||A M|| where that is far from one, else one.
  KOKKOS_FUNCTION double& sigma() const {
    return *reinterpret_cast<double*>(numbers() + 2 * s * (s + 1) + 1);
  }

  /// \brief A copy, by all threads of a team, of what step k does not write.
  KOKKOS_FORCEINLINE_FUNCTION IdrSmall copied(auto const& team, double* to, std::int32_t k) const {
    IdrSmall const copy{to, s};
    std::int32_t const numbers_of_all = 2 * s * (s + 1) + 2;
    // By the last threads first: the first ones have sums to gather.
    for (std::int32_t n = team.size() - 1 - team.rank(); n < numbers_of_all; n += team.size()) {
      auto const is_in = [&](std::int32_t line) { return n >= line * s && n < (line + 1) * s; };
      bool const written = k < s ? is_in(k) || is_in(s + k) || is_in(2 * s + ((k + 1) & 1)) ||
                                       (k == s - 1 && n == numbers_of_all - 1)
                                 : is_in(2 * s) || n == numbers_of_all - 2;
      if (!written) copy.numbers()[n] = numbers()[n];
    }
    return copy;
  }

 private:
  KOKKOS_FUNCTION Number* numbers() const { return reinterpret_cast<Number*>(memory); }
};

/// \brief What the stages of IDR(s) share. A cycle has the steps 0, ..., s - 1, which make g_k and
/// u_k, and step s, in which u_s = sigma M r and g_s = A u_s.
template <class Scalar_>
struct IdrCycle {
  using Scalar = Scalar_;
  static constexpr std::size_t p = parts<Scalar>, update_sums = 3 + p, product_sums = 1 + p;
  /// Vectors of the shadow space whose inner products are computed in other stages. With more of
  /// them in registers, a GPU's product would have fewer of the matrix's entries in flight.
  static constexpr int width = 4;
  static constexpr int most_sums = static_cast<int>(update_sums + p * width);

  Limits limits;
  std::int32_t s;
  bool fused;  ///< P^H g comes with the product
  ShadowSpace<Scalar> shadow;
  Scalar *G, *U;  ///< s + 1 columns each
  std::int64_t stride;
  IdrSmall<Scalar> small;
  double* sums;
  std::int32_t product_teams, vector_teams;

  bool operator==(IdrCycle const&) const = default;

  KOKKOS_FUNCTION Scalar* g(std::int32_t k) const { return G + k * stride; }
  KOKKOS_FUNCTION Scalar* u(std::int32_t k) const { return U + k * stride; }
  /// What step k finds of the step before: (r, r); of smoothing (rs, rs), (d, d) and (d, rs), with
  /// d = rs - r. In three places alternately, for a step reads one while it makes the next one.
  KOKKOS_FUNCTION ManySums of_update(std::int32_t k) const {
    std::int32_t const place = k == 0 ? 2 : k & 1;
    return ManySums{sums, vector_teams}.from(place * (std::int32_t(update_sums) + values()));
  }
  /// P^H r before steps 0, where the method begins, and s.
  KOKKOS_FUNCTION ManySums of_r(std::int32_t k) const { return of_update(k).from(update_sums); }
  /// (g, g) and (g, r).
  KOKKOS_FUNCTION ManySums of_product() const {
    return {of_r(0).from(values()).values, fused ? product_teams : vector_teams};
  }
  /// P^H g.
  KOKKOS_FUNCTION ManySums of_g() const { return of_product().from(product_sums); }
  /// \brief Doubles that all these take.
  std::size_t size_of_sums() const {
    return 3 * (update_sums + values()) * vector_teams +
           (product_sums + values()) * std::size_t(of_g().parts);
  }
  /// \brief Doubles in s inner products.
  KOKKOS_FUNCTION std::int32_t values() const { return s * static_cast<std::int32_t>(p); }
  /// \brief Whether the stage that makes r also computes P^H r.
  KOKKOS_FUNCTION bool is_narrow() const { return s <= width; }
  KOKKOS_FUNCTION std::int32_t after(std::int32_t k) const { return k == s ? 0 : k + 1; }
  /// \brief Another one after a breakdown.
  KOKKOS_FUNCTION ShadowSpace<Scalar> shadow_of(Control const& now) const {
    return {shadow.seed + (now.another != Cause::none ? 0x5eed : 0)};
  }
  /// \brief The step has been done.
  KOKKOS_FUNCTION void advance(std::int32_t k, Control& next) const {
    ++next.iteration;
    next.step = after(k);
    next.rounds = 0;
    next.fresh = false;
  }
};

}  // namespace Solder::Impl
