// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/scalar.hpp>

namespace Solder::Impl::triangular {

/// \brief What counts as small in a row of A.
struct RowSize {
  double sum = 0, most = 0;
  std::int32_t entries = 0;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void add(Scalar const& value) {
    double const size = size_of(value);
    sum += size;
    most = size > most ? size : most;
    entries += size > 0;
  }
  /// \brief The size below which an entry is left out.
  KOKKOS_FORCEINLINE_FUNCTION double small(double drop_tolerance) const {
    return entries > 0 ? drop_tolerance * sum / entries : 0;
  }
  /// \brief The least size of the pivot: a hundredth of that, but no less than rounding, nor so
  /// little that its inverse overflows.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION double least_pivot(double drop_tolerance) const {
    using Real = typename ScalarTraits<Scalar>::Real;
    double const rounding = double(Kokkos::Experimental::epsilon_v<Real>) * most,
                 least = 0.01 * small(drop_tolerance),
                 normal = double(Kokkos::Experimental::norm_min_v<Real>);
    return !(most > 0) ? 1 : Kokkos::fmax(normal, Kokkos::fmax(least, rounding));
  }
};

/// \brief A pivot that is smaller than `least`, enlarged to that size. A denormal pivot has lost
/// its sign or phase to rounding, and its quotients overflow: it counts as 0.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar enlarged_pivot(Scalar const& pivot, double least) {
  using Real = typename ScalarTraits<Scalar>::Real;
  double const size = size_of(pivot);
  if (!(size >= double(Kokkos::Experimental::norm_min_v<Real>)))
    return Scalar(to_real<Scalar>(least));
  // Divided first, as least / size may be too large.
  return pivot / to_real<Scalar>(size) * to_real<Scalar>(least);
}

}  // namespace Solder::Impl::triangular
