// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include <solder/core/errors.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/problems/row_range.hpp>

namespace Solder::Impl {

/// \brief Throws InputError unless minimum <= value; the message names generator and parameter.
inline void require_at_least(std::string_view generator, std::string_view parameter,
                             std::int64_t value, std::int64_t minimum) {
  if (value >= minimum) return;
  throw InputError(std::string(generator) + ": " + std::string(parameter) + " is " +
                   std::to_string(value) + "; it must be at least " + std::to_string(minimum));
}

/// \brief The product of the factors (each >= 1) as a number of rows; InputError if it exceeds
/// int32.
inline std::int32_t checked_rows(std::string_view generator,
                                 std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  std::int64_t rows = 1;
  for (std::int64_t const factor : factors) {
    if (factor > limit / rows) {
      throw InputError(std::string(generator) + ": the matrix would have more than " +
                       std::to_string(limit) + " rows; choose a smaller size");
    }
    rows *= factor;
  }
  return static_cast<std::int32_t>(rows);
}

/// \brief A neighbour of a grid node, as a displacement.
struct Neighbour {
  int dx, dy, dz;
};

/// \brief The matrix of a stencil on nx x ny x nz nodes, x fastest. Neighbours outside the grid are
/// dropped (Dirichlet). `neighbours` ascend by (dz, dy, dx) and include the node itself if it has
/// an entry. coefficient(k, x, y, z) is the entry of neighbour k in the row of node (x, y, z). The
/// matrix, or its rows in `range`, is filled directly: one pass, no scratch. InputError if the
/// number of nodes exceeds int32.
template <class Scalar, std::size_t Count, class Coefficient>
HostCsr<Scalar> stencil_matrix(std::string_view generator, std::int64_t nx, std::int64_t ny,
                               std::int64_t nz, std::array<Neighbour, Count> const& neighbours,
                               RowRange const& range, Coefficient const& coefficient) {
  HostCsr<Scalar> matrix;
  matrix.columns_count = checked_rows(generator, {nx, ny, nz});
  std::int64_t const last = std::min<std::int64_t>(range.last, matrix.columns_count),
                     rows = std::max<std::int64_t>(last - range.first, 0);
  matrix.rows = static_cast<std::int32_t>(rows);
  std::int64_t nonzeros = 0;
  for (auto const& [dx, dy, dz] : neighbours) {
    nonzeros += (nx - std::abs(dx)) * (ny - std::abs(dy)) * (nz - std::abs(dz));
  }
  if (rows < matrix.columns_count)  // of some rows it is known at the end
    nonzeros = std::min(nonzeros, rows * static_cast<std::int64_t>(Count));
  matrix.columns.resize(nonzeros);
  matrix.values.resize(nonzeros);
  matrix.row_offsets.reserve(std::size_t(rows) + 1);
  matrix.row_offsets.push_back(0);
  std::int64_t entry = 0;
  std::int64_t x = range.first % nx, y = range.first / nx % ny, z = range.first / nx / ny;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < Count; ++k) {
      auto const i = x + neighbours[k].dx;
      auto const j = y + neighbours[k].dy;
      auto const l = z + neighbours[k].dz;
      if (i < 0 || i >= nx || j < 0 || j >= ny || l < 0 || l >= nz) continue;
      matrix.columns[entry] = static_cast<std::int32_t>((l * ny + j) * nx + i);
      matrix.values[entry] = coefficient(k, x, y, z);
      ++entry;
    }
    matrix.row_offsets.push_back(entry);
    if (++x < nx) continue;
    x = 0;
    if (++y < ny) continue;
    y = 0;
    ++z;
  }
  matrix.columns.resize(entry);
  matrix.values.resize(entry);
  return matrix;
}

}  // namespace Solder::Impl
