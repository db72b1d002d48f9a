// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/stencil.hpp>
#include <solder/problems/row_range.hpp>

namespace Solder {

namespace Impl {

/// \brief Kuhn's subdivision of the cube into six tetrahedra around the diagonal from corner 0 to
/// corner 7. Bit d of a corner is its coordinate along axis d. The vertices of each tetrahedron
/// lead from corner 0 to corner 7 along the axes, in one of their six orders.
inline constexpr std::array<std::array<int, 4>, 6> kuhn_tetrahedra{
    {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}}};

using Block3 = std::array<std::array<double, 3>, 3>;

/// \brief The stiffness of each Kuhn tetrahedron of a cube with edge length h: blocks[t][a][b]
/// couples the displacements at its vertices a and b. It is the integral of
/// lambda div u div v + 2 mu eps(u) : eps(v).
inline std::array<std::array<std::array<Block3, 4>, 4>, 6> kuhn_stiffness(double h, double lambda,
                                                                          double mu) {
  std::array<std::array<std::array<Block3, 4>, 4>, 6> blocks{};
  double const volume = h * h * h / 6.0;
  for (std::size_t t = 0; t < 6; ++t) {
    // The path 0 -> 7 reaches vertex a along axis[a]. The hat function of vertex a is
    // x[axis[a]] / h - x[axis[a + 1]] / h, with 1 before the first axis and 0 after the last one.
    std::array<std::array<double, 3>, 4> gradient{};
    for (int a = 1; a < 4; ++a) {
      int const step = kuhn_tetrahedra[t][a] - kuhn_tetrahedra[t][a - 1];  // 1, 2 or 4
      int const axis = step / 2;
      gradient[a][axis] += 1.0 / h;
      gradient[a - 1][axis] -= 1.0 / h;
    }
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        auto const& g = gradient[a];
        auto const& q = gradient[b];
        double const dot = g[0] * q[0] + g[1] * q[1] + g[2] * q[2];
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            blocks[t][a][b][i][j] =
                volume * (lambda * g[i] * q[j] + mu * g[j] * q[i] + (i == j ? mu * dot : 0.0));
          }
        }
      }
    }
  }
  return blocks;
}

}  // namespace Impl

/// \brief Linear elasticity on the unit cube, E = 1, nu = 0.3, by linear finite elements on
/// tetrahedra, with the faces x = 0 and x = 1 clamped and the others free: symmetric positive
/// definite.
///
/// cells_per_side^3 cubes, each cut into Kuhn's six tetrahedra. The unknowns are three consecutive
/// displacements at each node; nodes are numbered x fastest. Clamped nodes are eliminated, which
/// leaves 3 (cells - 1) (cells + 1)^2 rows: 735, 5,577, 43,125 and 338,541 for 6, 12, 24 and 48
/// cells. An interior node couples to 15 nodes, always through full 3 x 3 blocks: 45 entries per
/// row, including zeros.
///
/// Source: Rupp et al. (2016), section 4.1, second benchmark: 693, 5,265, 40,725 and 319,725
/// unknowns. These are 3 (204 n^3 + 34 n^2 - 6 n - 1) for n = 1, 2, 4, 8: the free nodes of an
/// unstructured mesh of 153 tetrahedra that is refined uniformly. The constant -1 shows that the
/// clamped part of the surface has Euler characteristic two, like two separate faces. No grid of
/// cubes has these counts; the sizes here are the nearest of the same kind, 6% larger. The matrix
/// is assembled element by element, row by row, in an order that makes it exactly symmetric. Cost
/// O(rows); no memory except the result. InputError if cells_per_side < 2 or the rows exceed int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> elasticity_3d(std::int64_t cells_per_side, RowRange const& rows = {}) {
  Impl::require_at_least("elasticity_3d", "size", cells_per_side, 2);
  std::int64_t const nx = cells_per_side - 1, ny = cells_per_side + 1, nz = ny;
  HostCsr<Scalar> matrix;
  matrix.columns_count = Impl::checked_rows("elasticity_3d", {3, nx, ny, nz});
  std::int64_t const last = std::min<std::int64_t>(rows.last, matrix.columns_count);
  matrix.rows = static_cast<std::int32_t>(std::max<std::int64_t>(last - rows.first, 0));
  matrix.row_offsets.reserve(std::size_t(matrix.rows) + 1);
  matrix.row_offsets.push_back(0);
  std::size_t const nodes = (std::size_t(matrix.rows) + 2) / 3;
  matrix.columns.reserve(nodes * 135);
  matrix.values.reserve(nodes * 135);

  constexpr double young = 1.0, poisson = 0.3;
  constexpr double lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
  constexpr double mu = young / (2.0 * (1.0 + poisson));
  auto const stiffness =
      Impl::kuhn_stiffness(1.0 / static_cast<double>(cells_per_side), lambda, mu);

  // Of the 27 nodes around a node, those at displacements of mixed sign share no tetrahedron with
  // it.
  std::array<Impl::Block3, 27> row{};
  auto const neighbour_of = [](int from, int to) {
    int number = 13;
    for (int d = 0, weight = 1; d < 3; ++d, weight *= 3) {
      number += ((to >> d & 1) - (from >> d & 1)) * weight;
    }
    return number;
  };
  auto const couples = [](int number) {
    int const d[3] = {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
    return *std::min_element(d, d + 3) == 0 || *std::max_element(d, d + 3) == 0 ||
           (d[0] == d[1] && d[1] == d[2]);
  };
  // The free node (x, y, z) is corner c of the cube whose lower corner is c below it. Cubes are in
  // ascending order, so entries (i, j) and (j, i) have the same order of summation.
  auto const add_cubes = [&](std::int64_t y, std::int64_t z) {
    for (int corner = 7; corner >= 0; --corner) {
      std::int64_t const cube_y = y - (corner >> 1 & 1), cube_z = z - (corner >> 2 & 1);
      if (cube_y < 0 || cube_y >= cells_per_side || cube_z < 0 || cube_z >= cells_per_side)
        continue;
      for (std::size_t t = 0; t < 6; ++t) {
        auto const& vertices = Impl::kuhn_tetrahedra[t];
        auto const found = std::find(vertices.begin(), vertices.end(), corner);
        if (found == vertices.end()) continue;
        auto const& blocks = stiffness[t][static_cast<std::size_t>(found - vertices.begin())];
        for (std::size_t b = 0; b < 4; ++b) {
          auto& sum = row[neighbour_of(corner, vertices[b])];
          for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) sum[i][j] += blocks[b][i][j];
          }
        }
      }
    }
  };

  std::int64_t line = -1;  // of nodes along x, to which the sums belong
  for (std::int64_t r = rows.first; r < last; ++r) {
    std::int64_t const node = r / 3, i = r % 3, x = node % nx, y = node / nx % ny,
                       z = node / nx / ny;
    if (node / nx != line) {
      line = node / nx;
      row = {};
      add_cubes(y, z);  // free nodes have cubes on both sides along x: the same sums for each x
    }
    for (int number = 0; number < 27; ++number) {
      std::int64_t const u = x + number % 3 - 1, v = y + number / 3 % 3 - 1, w = z + number / 9 - 1;
      bool const inside = u >= 0 && u < nx && v >= 0 && v < ny && w >= 0 && w < nz;
      if (!inside || !couples(number)) continue;
      for (int j = 0; j < 3; ++j) {
        matrix.columns.push_back(static_cast<std::int32_t>(3 * ((w * ny + v) * nx + u) + j));
        matrix.values.push_back(Scalar(row[number][i][j]));
      }
    }
    matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.columns.size()));
  }
  return matrix;
}

/// \brief The coordinates of elasticity_3d's nodes, in their order: x, y and z of each.
/// \ingroup problems
inline std::vector<double> elasticity_3d_coordinates(std::int64_t cells_per_side) {
  Impl::require_at_least("elasticity_3d", "size", cells_per_side, 2);
  std::int64_t const n = cells_per_side;
  std::vector<double> coordinates;
  coordinates.reserve(std::size_t(Impl::checked_rows("elasticity_3d", {3, n - 1, n + 1, n + 1})));
  for (std::int64_t z = 0; z <= n; ++z)
    for (std::int64_t y = 0; y <= n; ++y)
      for (std::int64_t x = 1; x < n; ++x)
        for (std::int64_t const steps : {x, y, z})
          coordinates.push_back(static_cast<double>(steps) / static_cast<double>(n));
  return coordinates;
}

}  // namespace Solder
