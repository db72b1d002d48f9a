// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

namespace Solder {

/// \brief A vector of which no product is taken: in the stages of an iteration, only the body or
/// source that has row i reads or writes entry i.
///
/// It lies in memory, but a kernel of a whole solve may keep some of its entries on chip from one
/// residual check to the next; see Impl::OnChip.
template <class Scalar>
struct Owned {
  Scalar* memory;
  std::int32_t number = -1;  ///< among those of the program; -1: it stays in memory

  bool operator==(Owned const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator[](std::int32_t i) const { return memory[i]; }
};

template <class Scalar>
Owned<Scalar const> as_read(Owned<Scalar> const& vector) {
  return {vector.memory, vector.number};
}

/// \brief A source, body or stage whose owned vectors are where home(vector) says.
template <class T, class Home>
KOKKOS_FORCEINLINE_FUNCTION auto at_home(T const& t, Home const& home) {
  if constexpr (requires { t.at_home(home); })
    return t.at_home(home);
  else
    return t;
}

/// \brief The owned vectors of a program.
struct OwnedVectors {
  static constexpr int most = 5;

  Kokkos::Array<void*, most> vectors{};
  std::int32_t count = 0;
  std::int32_t entry_bytes = 0;
};

namespace Impl {

/// \brief A row, and its number among those of its team, in a league that keeps vectors on chip.
struct OwnRow {
  std::int32_t row;
  std::uint32_t number;

  KOKKOS_FORCEINLINE_FUNCTION operator std::int32_t() const { return row; }
};

/// \brief An owned vector in a kernel of a whole solve: the entries of each team's first rows are
/// in its scratch.
template <class Scalar>
struct OnChip {
  Scalar *memory, *chip;
  std::uint32_t rows;  ///< how many

  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator[](OwnRow const& i) const {
    return *(i.number < rows ? chip + i.number : memory + i.row);
  }
};

}  // namespace Impl

}  // namespace Solder
