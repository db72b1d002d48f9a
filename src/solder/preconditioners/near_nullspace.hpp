// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include <Kokkos_Core.hpp>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder {

/// \brief The rigid-body modes of a set of points: the near-nullspace of linear elasticity, for
/// Amg. The unknowns must be the displacements of one point after another. There are three modes in
/// the plane (two translations and a rotation) and six in space. Rotations are about the middle of
/// the points, which keeps distances small. Waits for the device.
///
/// \param coordinates [points][2 or 3], on Exec's device
/// \return [points * dimensions][3 or 6]
/// \throws std::invalid_argument if points do not have 2 or 3 coordinates
/// \ingroup preconditioners
template <class Exec, class Coordinates>
SOLDER_MAKES_LAMBDAS Kokkos::View<double**, Kokkos::LayoutRight, typename Exec::memory_space>
rigid_body_modes(Exec const& exec, Coordinates const& coordinates) {
  static_assert(Kokkos::is_view_v<Coordinates> && Coordinates::rank() == 2,
                "Solder: coordinates must be a rank-2 view with one point per row");
  static_assert(
      Kokkos::SpaceAccessibility<Exec, typename Coordinates::memory_space>::accessible,
      "Solder: the execution space cannot access the coordinates; copy them to its memory first");
  std::size_t const points = coordinates.extent(0), dimensions = coordinates.extent(1);
  if (dimensions != 2 && dimensions != 3)
    throw std::invalid_argument("Solder::rigid_body_modes: points have 2 or 3 coordinates, not " +
                                std::to_string(dimensions));
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>;
  double middle[3]{};
  for (std::size_t d = 0; d < dimensions && points > 0; ++d) {
    double least = 0, most = 0;
    Kokkos::parallel_reduce(
        "Solder::rigid_body_modes::extent", Policy(exec, 0, points),
        KOKKOS_LAMBDA(std::size_t p, double& low, double& high) {
          low = Kokkos::min(low, double(coordinates(p, d)));
          high = Kokkos::max(high, double(coordinates(p, d)));
        },
        Kokkos::Min<double>(least), Kokkos::Max<double>(most));
    middle[d] = least / 2 + most / 2;
  }
  using Modes = Kokkos::View<double**, Kokkos::LayoutRight, typename Exec::memory_space>;
  auto const modes = Impl::allocate_zero_view<Modes>(exec, "Solder::rigid_body_modes",
                                                     points * dimensions, dimensions == 2 ? 3 : 6);
  double const middle_x = middle[0], middle_y = middle[1], middle_z = middle[2];
  Kokkos::parallel_for(
      "Solder::rigid_body_modes", Policy(exec, 0, points), KOKKOS_LAMBDA(std::size_t p) {
        double const x = coordinates(p, 0) - middle_x, y = coordinates(p, 1) - middle_y;
        std::size_t const row = p * dimensions;
        for (std::size_t d = 0; d < dimensions; ++d) modes(row + d, d) = 1;
        modes(row, dimensions) = -y;  // about z
        modes(row + 1, dimensions) = x;
        if (dimensions == 2) return;
        double const z = coordinates(p, 2) - middle_z;
        modes(row + 1, 4) = -z;  // about x
        modes(row + 2, 4) = y;
        modes(row, 5) = z;  // about y
        modes(row + 2, 5) = -x;
      });
  exec.fence("Solder::rigid_body_modes: made");
  return modes;
}

}  // namespace Solder
