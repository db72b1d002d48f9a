// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/stencil.hpp>
#include <solder/problems/row_range.hpp>

namespace Solder {

/// \brief Linear finite elements for -div(D grad u) = f, D = [[2, 1/2], [1/2, 1]], on the unit
/// square with u = 0 on the boundary; symmetric positive definite.
///
/// nodes_per_side x nodes_per_side interior nodes, x fastest. Each square of the grid is cut from
/// its lower left to its upper right corner. With D = [[a, c], [c, b]] the two triangles at each
/// edge give 2a + 2b - 2c to the node itself, c - a to E and W, c - b to N and S, and -c to NE and
/// SW: 7 entries per row, at least 3 at the boundary. The mesh width cancels in two dimensions.
/// Source: the problem of Rupp et al., "Pipelined iterative solvers with kernel fusion for graphics
/// processing units" (2016), section 4.1, whose sizes 225 to 261,121 are nodes_per_side = 15, 31,
/// 63, 127, 255, 511. InputError if nodes_per_side < 1 or the rows exceed int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> fem_poisson_2d(std::int64_t nodes_per_side, RowRange const& rows = {}) {
  Impl::require_at_least("fem_poisson_2d", "size", nodes_per_side, 1);
  constexpr double a = 2.0, b = 1.0, c = 0.5;
  std::array<Impl::Neighbour, 7> const neighbours{
      {{-1, -1, 0}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}};
  std::array<Scalar, 7> const entries{
      Scalar(-c),    Scalar(c - b), Scalar(c - a), Scalar(2 * (a + b - c)),
      Scalar(c - a), Scalar(c - b), Scalar(-c)};
  return Impl::stencil_matrix<Scalar>(
      "fem_poisson_2d", nodes_per_side, nodes_per_side, 1, neighbours, rows,
      [&](std::size_t k, std::int64_t, std::int64_t, std::int64_t) { return entries[k]; });
}

/// \brief Finite differences for -Laplace(u) = f on the unit cube, u = 0 on the boundary, times the
/// squared mesh width: 6 on the diagonal, -1 for each of the six neighbours; symmetric positive
/// definite. nodes_per_side^3 interior nodes, x fastest; 7 entries per row, at least 4 at the
/// boundary. InputError if nodes_per_side < 1 or the rows exceed int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> poisson_3d_7pt(std::int64_t nodes_per_side, RowRange const& rows = {}) {
  Impl::require_at_least("poisson_3d_7pt", "size", nodes_per_side, 1);
  std::array<Impl::Neighbour, 7> const neighbours{
      {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  return Impl::stencil_matrix<Scalar>("poisson_3d_7pt", nodes_per_side, nodes_per_side,
                                      nodes_per_side, neighbours, rows,
                                      [](std::size_t k, std::int64_t, std::int64_t, std::int64_t) {
                                        return Scalar(k == 3 ? 6.0 : -1.0);
                                      });
}

/// \brief The 27-point operator of the HPCG benchmark: 26 on the diagonal, -1 for each of the 26
/// neighbours in the cube around a node; symmetric positive definite. nodes_per_side^3 nodes, x
/// fastest; neighbours outside the grid are dropped; 27 entries per row, at least 8 at the
/// boundary. InputError if nodes_per_side < 1 or the rows exceed int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> poisson_3d_27pt(std::int64_t nodes_per_side, RowRange const& rows = {}) {
  Impl::require_at_least("poisson_3d_27pt", "size", nodes_per_side, 1);
  std::array<Impl::Neighbour, 27> neighbours{};
  for (int k = 0; k < 27; ++k) neighbours[k] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
  return Impl::stencil_matrix<Scalar>("poisson_3d_27pt", nodes_per_side, nodes_per_side,
                                      nodes_per_side, neighbours, rows,
                                      [](std::size_t k, std::int64_t, std::int64_t, std::int64_t) {
                                        return Scalar(k == 13 ? 26.0 : -1.0);
                                      });
}

}  // namespace Solder
