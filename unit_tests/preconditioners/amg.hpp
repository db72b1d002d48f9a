// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of multigrid share: matrices, and a hierarchy without its cycle.

#include "plain.hpp"

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <solder/preconditioners/amg.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace SolderTest {

using Solder::Amg;
using Solder::AmgOptions;
using Default = Kokkos::DefaultExecutionSpace;
using ComplexDouble = Kokkos::complex<double>;

/// Lanes of a row, in bits.
template <class Exec>
inline constexpr std::int32_t lane_bits = Solder::Impl::is_host_space<Exec> ? 0 : 3;

/// The same value at (i, j) and (j, i).
inline void couple(Solder::TripletBuilder<double>& builder, std::int32_t i, std::int32_t j,
                   double value) {
  builder.add(i, j, value);
  builder.add(j, i, value);
}

/// n rows, which are coupled to the first one alone.
inline HostCsr<double> arrow(std::int32_t n) {
  Solder::TripletBuilder<double> builder;
  builder.add(0, 0, n);
  for (std::int32_t i = 1; i < n; ++i) {
    builder.add(i, i, 1);
    couple(builder, i, 0, -0.5);
  }
  return builder.build(n, n);
}

/// The graph Laplacian of edges (i, j, weight): each row sums to 0.
inline HostCsr<double> graph_laplacian(
    std::int32_t n, std::vector<std::tuple<std::int32_t, std::int32_t, double>> const& edges) {
  Solder::TripletBuilder<double> builder;
  for (auto const& [i, j, weight] : edges) {
    couple(builder, i, j, -weight);
    builder.add(i, i, weight);
    builder.add(j, j, weight);
  }
  return builder.build(n, n);
}
inline HostCsr<double> path_laplacian(std::int32_t n, double irregular = 0) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t i = 0; i + 1 < n; ++i)
    edges.push_back({i, i + 1, 1 + irregular * std::abs(std::sin(1.0 + i))});
  return graph_laplacian(n, edges);
}
inline HostCsr<double> grid_laplacian(std::int32_t side) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t y = 0; y < side; ++y)
    for (std::int32_t x = 0; x < side; ++x) {
      if (x + 1 < side) edges.push_back({y * side + x, y * side + x + 1, 1});
      if (y + 1 < side) edges.push_back({y * side + x, (y + 1) * side + x, 1});
    }
  return graph_laplacian(side * side, edges);
}

template <class Scalar>
struct Named {
  std::string name;
  HostCsr<Scalar> A;
};

/// A few hundred rows, columns ascending, no duplicates.
template <class Scalar>
std::vector<Named<Scalar>> matrices() {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return {{"magnetic", Solder::magnetic_laplacian_2d<Scalar>(18, 0.1)},
            {"random", Solder::random_spd<Scalar>(300, 7, 3)}};
  else
    return {{"fem_poisson_2d", Solder::fem_poisson_2d<Scalar>(20)},
            {"poisson_3d_27pt", Solder::poisson_3d_27pt<Scalar>(8)},
            {"random", Solder::random_spd<Scalar>(300, 9, 1)},
            {"random, with rows that have a diagonal only", Solder::random_spd<Scalar>(300, 2, 2)},
            {"path, Neumann", path_laplacian(200, 0.7)},
            {"grid, Neumann", grid_laplacian(15)}};
}

/// That of an Amg of these options, as far as its grids go.
template <class Scalar>
std::shared_ptr<Solder::Impl::amg::Hierarchy<Scalar, Default>> hierarchy(
    CsrMatrix<Scalar, Default> const& A, AmgOptions const& options) {
  using Solder::AmgInterpolation;
  Solder::Impl::amg::Sweeps const sweeps{
      .split = options.smoother == Solder::AmgSmoother::fsai,
      .interpolation = options.interpolation == AmgInterpolation::automatic
                           ? AmgInterpolation::aggregation
                           : options.interpolation};
  return Solder::Impl::amg::make_hierarchy<Scalar>(
      Default(), A, options.strength, options.max_levels, options.max_coarse_size, sweeps);
}

}  // namespace SolderTest
