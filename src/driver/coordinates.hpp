// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <solder/solver.hpp>

#include "solve.hpp"

namespace Solder::Driver {

/// \brief The coordinates of the nodes, where the run's preconditioner takes them; else empty.
template <class T>
Coordinates coordinates_of(RunConfig const& run, System<T> const& system) {
  auto const& points = system.points;
  bool const takes_points =
      run.preconditioner.near_nullspace == "rigid_body" || run.preconditioner.name == "auto";
  if (!takes_points || points.dimensions == 0) return {};
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const coordinates(
      "Solder::coordinates", points.values.size() / points.dimensions, points.dimensions);
  std::copy(points.values.begin(), points.values.end(), coordinates.data());
  return coordinates;
}

}  // namespace Solder::Driver
