// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/split_mix.hpp>
#include <solder/problems/detail/stencil.hpp>

namespace Solder {

/// \brief A random symmetric, strictly diagonally dominant matrix with a positive diagonal, which
/// makes it symmetric positive definite.
///
/// Each row draws (nonzeros_per_row - 1) / 2 neighbours uniformly from all rows (an odd remainder
/// goes to every second row) and is drawn by as many on average. That gives nonzeros_per_row
/// entries per row on average, including the diagonal; fewer if a neighbour is drawn twice, which
/// is rare if nonzeros_per_row is far below rows. Off-diagonal entries are in [-1, 1). The diagonal
/// is one plus the sum of their magnitudes, so the eigenvalues are between 1 and twice the length
/// of the longest row. The same seed gives the same matrix on every platform. InputError unless 1
/// <= nonzeros_per_row <= rows and rows fits int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> random_spd(std::int64_t rows, std::int64_t nonzeros_per_row,
                           std::uint64_t seed = 0) {
  Impl::require_at_least("random_spd", "size", rows, 1);
  Impl::require_at_least("random_spd", "nonzeros per row", nonzeros_per_row, 1);
  if (nonzeros_per_row > rows) {
    throw InputError("random_spd: " + std::to_string(nonzeros_per_row) +
                     " nonzeros per row do not fit a matrix of " + std::to_string(rows) + " rows");
  }
  HostCsr<Scalar> matrix;
  matrix.rows = matrix.columns_count = Impl::checked_rows("random_spd", {rows});

  // The pattern: count, scatter, then sort and drop repetitions row by row.
  auto const for_each_edge = [&](auto const& visit) {
    Impl::SplitMix random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::int64_t const draws =
          (nonzeros_per_row - 1) / 2 + ((nonzeros_per_row - 1) % 2) * (i % 2);
      for (std::int64_t d = 0; d < draws; ++d) {
        std::int64_t const other = random.below(rows - 1);
        visit(i, other < i ? other : other + 1);
      }
    }
  };
  std::vector<std::int64_t> begins(std::size_t(rows) + 1, 0);
  for_each_edge([&](std::int64_t i, std::int64_t j) {
    ++begins[i + 1];
    ++begins[j + 1];
  });
  for (std::int64_t i = 0; i < rows; ++i) begins[i + 1] += begins[i] + 1;  // one for the diagonal
  matrix.columns.resize(begins[rows]);
  std::vector<std::int64_t> next(begins.begin(), begins.end() - 1);
  for (std::int64_t i = 0; i < rows; ++i) matrix.columns[next[i]++] = static_cast<std::int32_t>(i);
  for_each_edge([&](std::int64_t i, std::int64_t j) {
    matrix.columns[next[i]++] = static_cast<std::int32_t>(j);
    matrix.columns[next[j]++] = static_cast<std::int32_t>(i);
  });
  matrix.row_offsets.assign(std::size_t(rows) + 1, 0);
  auto kept = matrix.columns.begin();
  for (std::int64_t i = 0; i < rows; ++i) {
    auto const begin = matrix.columns.begin() + begins[i];
    auto const end = matrix.columns.begin() + begins[i + 1];
    std::sort(begin, end);
    kept = std::copy(begin, std::unique(begin, end), kept);
    matrix.row_offsets[i + 1] = kept - matrix.columns.begin();
  }
  matrix.columns.erase(kept, matrix.columns.end());

  // A value depends only on its place, so that (i, j) and (j, i) agree.
  matrix.values.resize(matrix.columns.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    double magnitudes = 0.0;
    std::int64_t diagonal = 0;
    for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      std::int64_t const j = matrix.columns[k];
      if (i == j) {
        diagonal = k;
        continue;
      }
      auto const place = static_cast<std::uint64_t>(std::min(i, j) << 32 | std::max(i, j));
      double const value = Impl::symmetric_unit(Impl::mix_bits(Impl::mix_bits(seed) + place));
      magnitudes += std::abs(value);
      matrix.values[k] = Scalar(value);
    }
    matrix.values[diagonal] = Scalar(1.0 + magnitudes);
  }
  return matrix;
}

/// \brief A block-diagonal lower triangular matrix with random blocks: the artificial cases of
/// Picciau et al., "Balancing locality and concurrency: solving sparse triangular systems on GPUs"
/// (2016), section V.A.
///
/// There are `components` blocks of component_size rows each. Their graphs are disjoint, and each
/// is connected: every row except the first of its block has an entry left of the diagonal. density
/// is the share of the places below a block's diagonal that are filled, uniformly at random. The
/// diagonal is stored and is in [1, 2). The off-diagonal entries of a row are in (-1, 1) divided by
/// their number, so that substitution is stable. The paper's cases: 16 components of 250 to 55,000
/// rows at density 0.001; 8 to 512 components of 6,000 rows at density 0.01. Cost: O(nonzeros times
/// row length) at worst. The same seed gives the same matrix on every platform. InputError if
/// components or component_size < 1, density is not between 0 and 1, or the rows exceed int32.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> block_lower_triangular(std::int64_t components, std::int64_t component_size,
                                       double density, std::uint64_t seed = 0) {
  Impl::require_at_least("block_lower_triangular", "components", components, 1);
  Impl::require_at_least("block_lower_triangular", "size", component_size, 1);
  if (!(density >= 0.0 && density <= 1.0)) {
    throw InputError("block_lower_triangular: density must lie between 0 and 1");
  }
  HostCsr<Scalar> matrix;
  matrix.rows = matrix.columns_count =
      Impl::checked_rows("block_lower_triangular", {components, component_size});
  matrix.row_offsets.reserve(std::size_t(matrix.rows) + 1);
  matrix.row_offsets.push_back(0);
  double const places = 0.5 * density * static_cast<double>(component_size - 1);
  auto const expected_nonzeros =
      static_cast<std::size_t>(static_cast<double>(matrix.rows) * (places * 1.05 + 2.0));
  matrix.columns.reserve(expected_nonzeros);
  matrix.values.reserve(expected_nonzeros);
  Impl::SplitMix random(seed);
  auto const share =
      static_cast<std::int64_t>(density * 0x1p32);  // integers round alike everywhere
  std::vector<std::int32_t> columns;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::int64_t const local = row % component_size, block_begin = row - local;
    std::int64_t const expected = local * share;  // times 2^32
    std::int64_t count = (expected + random.below(std::int64_t{1} << 32)) >> 32;
    if (local > 0) count = std::max<std::int64_t>(count, 1);
    // Floyd's sampling: `count` distinct columns out of `local`, uniformly.
    columns.clear();
    for (std::int64_t last = local - count; last < local; ++last) {
      auto const drawn = static_cast<std::int32_t>(random.below(last + 1));
      auto const place = std::lower_bound(columns.begin(), columns.end(), drawn);
      if (place != columns.end() && *place == drawn) {
        columns.push_back(static_cast<std::int32_t>(last));  // larger than all before
      } else {
        columns.insert(place, drawn);
      }
    }
    for (auto const column : columns) {
      matrix.columns.push_back(static_cast<std::int32_t>(block_begin + column));
      matrix.values.push_back(
          Scalar(Impl::symmetric_unit(random.bits()) / static_cast<double>(count)));
    }
    matrix.columns.push_back(static_cast<std::int32_t>(row));
    matrix.values.push_back(Scalar(1.5 + 0.5 * Impl::symmetric_unit(random.bits())));
    matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.columns.size()));
  }
  return matrix;
}

}  // namespace Solder
