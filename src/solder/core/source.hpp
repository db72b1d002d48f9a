// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/team.hpp>

namespace Solder {

/// \brief Which run of a stage this is; known before the control block has arrived.
struct At {
  std::int32_t step = 0;  ///< of a restarted method's cycle
  std::int32_t turn = 0;  ///< of the innermost Repeat
};

/// \brief Where a vector lies: an array, column `step` of a basis, or one of two arrays by turns.
template <class Scalar>
struct Place {
  Scalar* values = nullptr;
  std::int64_t per_step = 0;      ///< scalars from one step's vector to the next one's
  std::int64_t per_odd_turn = 0;  ///< scalars from the vector of even turns to that of odd ones

  KOKKOS_FUNCTION Place() {}
  KOKKOS_FUNCTION Place(Scalar* array) : values(array) {}
  KOKKOS_FUNCTION Place(Scalar* first, std::int64_t step, std::int64_t odd_turn)
      : values(first), per_step(step), per_odd_turn(odd_turn) {}
  /// \brief What may be written may be read.
  template <class Other>
    requires std::is_same_v<Other const, Scalar>
  KOKKOS_FUNCTION Place(Place<Other> const& other)
      : values(other.values), per_step(other.per_step), per_odd_turn(other.per_odd_turn) {}

  KOKKOS_FORCEINLINE_FUNCTION Scalar* at(At const& at) const {
    return values + at.step * per_step + (at.turn & 1) * per_odd_turn;
  }
  bool operator==(Place const&) const = default;
};

/// \brief A source hands (i, value) to a consumer, for every row i of the calling team, once, while
/// the value is in a register:
///
///     bool for_each_row(team, at, prepare, consume) const
///
/// loads what it can, calls prepare() and returns its answer; if that is true, calls
/// consume(i, value). All threads of the team call it together, and prepare answers the same in
/// all. `teams()` is its league; operator== compares.
///
/// This one: rows of N vectors, all loaded together. Words: N a row.
template <class Scalar, int N>
struct Range {
  Rows rows;
  std::int32_t league;
  Kokkos::Array<Scalar const*, N> from;

  bool operator==(Range const& other) const {
    for (int k = 0; k < N; ++k)
      if (from[k] != other.from[k]) return false;
    return rows == other.rows && league == other.league;
  }

  std::int32_t teams() const { return league; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&, Prepare const& prepare,
                                                Consume const& consume) const {
    return team.for_each_row(
        rows,
        [&](std::int32_t i) {
          Kokkos::Array<Scalar, N> row;
          for (int k = 0; k < N; ++k) row[k] = from[k][i];
          return row;
        },
        prepare, consume);
  }
};

/// \brief Rows of one vector, wherever it lies.
template <class Scalar>
struct PlacedRange {
  Rows rows;
  std::int32_t league;
  Place<Scalar const> from;

  bool operator==(PlacedRange const&) const = default;

  std::int32_t teams() const { return league; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    Scalar const* const values = from.at(at);
    return team.for_each_row(rows, [&](std::int32_t i) { return values[i]; }, prepare, consume);
  }
};

/// \brief The products of a matrix's rows with a vector. Words: the matrix, and 1 a row.
template <class Operator, class Scalar>
struct Product {
  Operator A;
  std::int32_t league;
  Place<Scalar const> x;

  bool operator==(Product const&) const = default;

  std::int32_t teams() const { return league; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    return A.for_each_row_product(team, x.at(at), prepare, consume);
  }
};

/// \brief f(at, i, value) of another source's rows.
template <class Source, class Function>
struct Mapped {
  Source source;
  Function f;

  bool operator==(Mapped const&) const = default;

  std::int32_t teams() const { return source.teams(); }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    return source.for_each_row(team, at, prepare, [&](std::int32_t i, auto const& value) {
      consume(i, f(at, i, value));
    });
  }
};

template <class Source, class Function>
Mapped<Source, Function> mapped(Source const& source, Function const& f) {
  return {source, f};
}

}  // namespace Solder
