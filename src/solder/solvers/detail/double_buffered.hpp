// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the merged stages of CG and BiCGStab share: see cg_merged.hpp.

#include <cstddef>
#include <cstdint>

#include <solder/core/control.hpp>
#include <solder/core/source.hpp>

namespace Solder::Impl {

/// \brief Vectors of two arrays each, one after the other in memory: an iteration reads one and
/// writes the other, alternately.
struct DoubleBuffered {
  std::ptrdiff_t length;  ///< from one array to the other

  bool operator==(DoubleBuffered const&) const = default;

  /// \brief Where the entries of an iteration are.
  KOKKOS_FORCEINLINE_FUNCTION std::ptrdiff_t of(std::int32_t iteration) const {
    return (iteration & 1) != 0 ? length : 0;
  }
};

/// \brief A decision, and the vectors of its stage: `shared` is DoubleBuffered. Rows know `from`,
/// where this iteration's entries are, and `to`, where the next one's are to be.
template <class Decision, class Shared>
struct Alternately : Decision {
  struct Scalars : Decision::Scalars {
    std::ptrdiff_t from, to;
  };

  Shared shared;

  bool operator==(Alternately const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    s.from = shared.of(now.iteration);
    s.to = shared.of(now.iteration + 1);
  }
};

/// \brief M of one row, d being its entry: what Jacobi's M and the identity are there.
template <class M, class Scalar>
struct Factor {
  Scalar d;

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(Scalar const& r) const { return d * r; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar undo(Scalar const& z) const {
    if constexpr (M::is_identity)
      return z;
    else
      return z / d;
  }
};

}  // namespace Solder::Impl
