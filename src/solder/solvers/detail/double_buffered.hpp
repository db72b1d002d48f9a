// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the merged stages of CG and BiCGStab share: see cg_merged.hpp.

#include <cstddef>
#include <cstdint>

#include <solder/core/control.hpp>
#include <solder/core/source.hpp>

namespace Solder::Impl {

/// \brief Vectors of two arrays each, one after the other, alternately: an iteration reads one and
/// writes the other.
struct DoubleBuffered {
  std::ptrdiff_t length;  ///< from one array to the other

  bool operator==(DoubleBuffered const&) const = default;

  /// \brief Where the entries of an iteration are.
  KOKKOS_FORCEINLINE_FUNCTION std::ptrdiff_t of(std::int32_t iteration) const {
    return (iteration & 1) != 0 ? length : 0;
  }
  /// \brief Where this iteration's are, and where the next one's are to be.
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION void tell(Control const& now, Scalars& s) const {
    s.from = of(now.iteration);
    s.to = of(now.iteration + 1);
  }
};

/// \brief What bodies have that fill them from the true residual: they need no sums.
template <class Shared>
struct FromTruth {
  struct Scalars {
    std::ptrdiff_t to;
  };

  Shared shared;

  bool operator==(FromTruth const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void known(Control const& now, Scalars& s) const {
    s.to = shared.of(now.iteration);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const&,
                                           Control const&, Control&, Scalars&) const {
    return true;
  }
};

}  // namespace Solder::Impl
