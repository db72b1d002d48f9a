// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include <solder/core/scalar.hpp>

namespace Solder {

/// \brief N sums, kept together so that they share their barriers.
template <std::size_t N>
using Sums = Kokkos::Array<double, N>;

/// \brief Where one stage leaves N sums for the stages after it: `parts` partial sums of each, one
/// after another. A handle; the memory is the arena's. Of several right-hand sides the partial sums
/// of all columns are together, as the entries of their vectors are.
template <std::size_t N>
struct Sum {
  static constexpr std::size_t size = N;      ///< sums
  static constexpr std::size_t gathered = N;  ///< of which this many are loaded ahead

  double* values;
  std::int32_t parts;  ///< teams of the league that leaves them, times columns

  bool operator==(Sum const&) const = default;

  /// \brief f(pointer to the `parts` partial sums) for each of the N values.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_value(F const& f) const {
    for (std::size_t v = 0; v < N; ++v) f(values + v * parts);
  }

  /// \brief Leaves this team's sums for later stages.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void leave(Team const& team, Sums<N> const& mine) const {
    team.leave(values, parts, mine);
  }

  /// \brief M of these, from number `First` on.
  template <std::size_t First, std::size_t M = 1>
  KOKKOS_FUNCTION Sum<M> part() const {
    static_assert(First + M <= N);
    return {values + First * parts, parts};
  }

  KOKKOS_FUNCTION Sum of(std::int32_t) const { return *this; }
  KOKKOS_FUNCTION Sum all() const { return *this; }
};

/// \brief N sums of an iteration in two buffers alternately: those of iteration i are still there
/// while i + 1 leaves its own.
template <std::size_t N>
struct DoubleBufferedSum {
  static constexpr std::size_t size = N, gathered = 2 * N;

  double* values;
  std::int32_t parts;

  bool operator==(DoubleBufferedSum const&) const = default;

  KOKKOS_FUNCTION Sum<N> of(std::int32_t iteration) const {
    return {values + (iteration & 1) * std::int32_t(N) * parts, parts};
  }
  /// \brief Those of even iterations, then those of odd ones.
  KOKKOS_FUNCTION Sum<2 * N> all() const { return {values, parts}; }
};

/// \brief A scalar that one stage computes, redundantly in every team, and a later one needs.
template <class Scalar>
struct Kept {
  /// Doubles from the kept scalars of a column, or of a place in a batch, to the next one's: all
  /// that a solver keeps fits.
  static constexpr std::int32_t stride = 16;

  double* value;

  bool operator==(Kept const&) const = default;

  template <class Team>
  KOKKOS_FUNCTION void keep(Team const& team, Wide<Scalar> const& s) const {
    if (team.writes()) Impl::set_wide(value + team.place() * stride, 0, s);
  }
  template <class Team>
  KOKKOS_FUNCTION Wide<Scalar> recall(Team const& team) const {
    return Impl::wide_at<Scalar>(value + team.place() * stride, 0);
  }
};

namespace Impl {

/// \brief Chooses the shares of this iteration among those that were gathered ahead; the offsets
/// are known to the compiler, so that nothing leaves the registers.
template <std::size_t From, std::size_t To, class First, class... Rest, std::size_t N,
          std::size_t M>
KOKKOS_FORCEINLINE_FUNCTION void choose(Sums<N> const& shares, bool odd, Sums<M>& chosen) {
  for (std::size_t v = 0; v < First::size; ++v) {
    if constexpr (First::gathered > First::size)
      chosen[To + v] = odd ? shares[From + First::size + v] : shares[From + v];
    else
      chosen[To + v] = shares[From + v];
  }
  if constexpr (sizeof...(Rest) > 0)
    choose<From + First::gathered, To + First::size, Rest...>(shares, odd, chosen);
}

template <class... S>
KOKKOS_FORCEINLINE_FUNCTION Sums<(S::size + ...)> of_iteration(
    Sums<(S::gathered + ...)> const& shares, std::int32_t iteration) {
  Sums<(S::size + ...)> chosen;
  choose<0, 0, S...>(shares, (iteration & 1) != 0, chosen);
  return chosen;
}

}  // namespace Impl
}  // namespace Solder
