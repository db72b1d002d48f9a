// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <solder/core/errors.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/stencil.hpp>
#include <solder/problems/row_range.hpp>

namespace Solder {

/// \brief How convection is discretised. upwind: first-order differences against the flow, an
/// M-matrix for every velocity. central: second order, oscillating if |velocity| * h > 2.
enum class Convection {
  upwind,  ///< first order, against the flow
  central  ///< second order
};

namespace Impl {

/// \brief The entries of the lower and the upper neighbour in -u'' + v u' times h^2.
struct ConvectionPair {
  double lower, upper;
};

inline ConvectionPair convection_pair(double velocity, double h, Convection convection) {
  if (convection == Convection::central) {
    return {-1.0 - velocity * h / 2, -1.0 + velocity * h / 2};
  }
  return {-1.0 - h * std::max(velocity, 0.0), -1.0 - h * std::max(-velocity, 0.0)};
}

template <class Scalar, std::size_t Dimensions>
HostCsr<Scalar> convection_diffusion(char const* generator, std::int64_t nodes_per_side,
                                     std::array<double, Dimensions> const& velocity,
                                     Convection convection, RowRange const& rows) {
  require_at_least(generator, "size", nodes_per_side, 1);
  double const h = 1.0 / (static_cast<double>(nodes_per_side) + 1.0);
  std::array<Neighbour, 2 * Dimensions + 1> neighbours{};  // lower z, y, x, itself, upper x, y, z
  std::array<Scalar, 2 * Dimensions + 1> entries{};
  double diagonal = 0.0;
  for (std::size_t d = 0; d < Dimensions; ++d) {
    if (!std::isfinite(velocity[d])) {
      throw InputError(std::string(generator) + ": every component of the velocity must be finite");
    }
    auto const [lower, upper] = convection_pair(velocity[d], h, convection);
    int const dx = d == 0, dy = d == 1, dz = d == 2;
    neighbours[Dimensions - 1 - d] = {-dx, -dy, -dz};
    neighbours[Dimensions + 1 + d] = {dx, dy, dz};
    entries[Dimensions - 1 - d] = Scalar(lower);
    entries[Dimensions + 1 + d] = Scalar(upper);
    diagonal -= lower + upper;
  }
  entries[Dimensions] = Scalar(diagonal);
  return stencil_matrix<Scalar>(
      generator, nodes_per_side, nodes_per_side, Dimensions == 3 ? nodes_per_side : 1, neighbours,
      rows, [&](std::size_t k, std::int64_t, std::int64_t, std::int64_t) { return entries[k]; });
}

}  // namespace Impl

/// \brief Finite differences for -Laplace(u) + velocity . grad(u) = f on the unit square, u = 0 on
/// the boundary, times h^2, h = 1 / (nodes_per_side + 1); nonsymmetric unless velocity is zero.
///
/// nodes_per_side^2 interior nodes, x fastest; 5 entries per row, at least 3 at the boundary. With
/// upwind the west neighbour's entry is -1 - h max(v, 0), the east one's -1 - h max(-v, 0), and the
/// same along y; the diagonal is minus the sum of all four. The cell Peclet number is |v| h.
/// InputError if nodes_per_side < 1, the rows exceed int32 or a velocity is not finite.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> convection_diffusion_2d(std::int64_t nodes_per_side,
                                        std::array<double, 2> velocity = {40.0, 20.0},
                                        Convection convection = Convection::upwind,
                                        RowRange const& rows = {}) {
  return Impl::convection_diffusion<Scalar>("convection_diffusion_2d", nodes_per_side, velocity,
                                            convection, rows);
}

/// \brief The same on the unit cube: nodes_per_side^3 interior nodes, 7 entries per row, at least 4
/// at the boundary; see convection_diffusion_2d.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> convection_diffusion_3d(std::int64_t nodes_per_side,
                                        std::array<double, 3> velocity = {40.0, 20.0, 10.0},
                                        Convection convection = Convection::upwind,
                                        RowRange const& rows = {}) {
  return Impl::convection_diffusion<Scalar>("convection_diffusion_3d", nodes_per_side, velocity,
                                            convection, rows);
}

}  // namespace Solder
