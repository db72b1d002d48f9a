// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <tuple>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief Options of Chebyshev.
struct ChebyshevOptions {
  int degree = 4;  ///< of the polynomial: products with A in an application; 1 to 100
  /// Smallest eigenvalue that the polynomial aims at, as a fraction of the largest; between 0
  /// and 1. hypre's Chebyshev smoother has the same; Ifpack2's "ratio eigenvalue" is the
  /// reciprocal.
  double eigenvalue_fraction = 0.02;
  int lanczos_steps = 12;  ///< that estimate the largest eigenvalue; 2 to 100

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(
        Option("degree", &ChebyshevOptions::degree, from_to(1, 100),
               "of the polynomial: products with A in an application"),
        Option("eigenvalue_fraction", &ChebyshevOptions::eigenvalue_fraction, between(0, 1),
               "the polynomial is small on eigenvalues from this fraction of the largest on")
            .formerly("share"),
        Option("lanczos_steps", &ChebyshevOptions::lanczos_steps, from_to(2, 100),
               "steps that estimate the largest eigenvalue; fewer than 5 may underestimate it"));
  }
};

}  // namespace Solder
