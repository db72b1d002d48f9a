// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/stencil.hpp>
#include <solder/problems/row_range.hpp>

namespace Solder {

namespace Impl {

template <class Scalar>
concept ComplexScalar = ScalarTraits<Scalar>::is_complex;

inline constexpr std::array<Neighbour, 5> five_points{
    {{0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};

}  // namespace Impl

/// \brief Finite differences for the damped Helmholtz equation -Laplace(u) - k^2 (1 - i damping) u
/// = f on the unit square, u = 0 on the boundary, times h^2, h = 1 / (nodes_per_side + 1).
///
/// Complex symmetric, not Hermitian, indefinite for k^2 > 2 pi^2: 4 - (hk)^2 (1 - i damping) on the
/// diagonal, -1 for the four neighbours. nodes_per_side^2 rows, x fastest; 5 entries per row, at
/// least 3 at the boundary. damping > 0 makes it regular for every wavenumber k. About ten nodes
/// per wavelength, nodes_per_side >= 1.6 k, resolve the waves. InputError if nodes_per_side < 1,
/// the rows exceed int32, or wavenumber or damping is negative or not finite.
/// \ingroup problems
template <Impl::ComplexScalar Scalar>
HostCsr<Scalar> helmholtz_2d(std::int64_t nodes_per_side, double wavenumber = 20.0,
                             double damping = 0.1, RowRange const& rows = {}) {
  Impl::require_at_least("helmholtz_2d", "size", nodes_per_side, 1);
  if (!(wavenumber >= 0.0) || !(damping >= 0.0) || std::isinf(wavenumber) || std::isinf(damping)) {
    throw InputError("helmholtz_2d: wavenumber and damping must be finite and not negative");
  }
  double const hk = wavenumber / (static_cast<double>(nodes_per_side) + 1.0);
  Scalar const diagonal(4.0 - hk * hk, damping * hk * hk);
  return Impl::stencil_matrix<Scalar>("helmholtz_2d", nodes_per_side, nodes_per_side, 1,
                                      Impl::five_points, rows,
                                      [&](std::size_t k, std::int64_t, std::int64_t, std::int64_t) {
                                        return k == 2 ? diagonal : Scalar(-1.0);
                                      });
}

/// \brief The lattice Laplacian of a charged particle in a constant magnetic field on the unit
/// square (Hofstadter's Hamiltonian with walls): complex Hermitian positive definite.
///
/// 4 on the diagonal, -1 for the neighbours along y, and in grid row y the Peierls phases
/// -exp(+i theta) to the east and -exp(-i theta) to the west, with theta = 2 pi flux y. flux is the
/// field through a grid cell in flux quanta, so it matters only modulo 1 and is strongest at 1/2.
/// Neighbours outside the grid are dropped (walls), which makes the matrix definite.
/// nodes_per_side^2 rows, x fastest; 5 entries per row, at least 3 at the boundary. InputError if
/// nodes_per_side < 1, the rows exceed int32 or flux is not finite. Source: D. R. Hofstadter, Phys.
/// Rev. B 14 (1976) 2239, Landau gauge.
/// \ingroup problems
template <Impl::ComplexScalar Scalar>
HostCsr<Scalar> magnetic_laplacian_2d(std::int64_t nodes_per_side, double flux = 0.1,
                                      RowRange const& rows = {}) {
  using Real = typename ScalarTraits<Scalar>::Real;
  Impl::require_at_least("magnetic_laplacian_2d", "size", nodes_per_side, 1);
  if (!std::isfinite(flux)) throw InputError("magnetic_laplacian_2d: flux must be finite");
  std::int64_t phase_row = -1;
  Real cosine = 1, sine = 0;
  return Impl::stencil_matrix<Scalar>(
      "magnetic_laplacian_2d", nodes_per_side, nodes_per_side, 1, Impl::five_points, rows,
      [&](std::size_t k, std::int64_t, std::int64_t y, std::int64_t) -> Scalar {
        if (y != phase_row) {
          double const turns = std::remainder(flux * static_cast<double>(y), 1.0);
          cosine = static_cast<Real>(std::cos(2.0 * std::numbers::pi * turns));
          sine = static_cast<Real>(std::sin(2.0 * std::numbers::pi * turns));
          phase_row = y;
        }
        if (k == 1) return {-cosine, sine};
        if (k == 3) return {-cosine, -sine};
        return Scalar(k == 2 ? 4.0 : -1.0);
      });
}

}  // namespace Solder
