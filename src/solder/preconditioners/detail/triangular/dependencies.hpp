// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace Solder::Impl::triangular {

/// \brief The pattern of a triangular matrix without its diagonal, on the host: row i needs the
/// rows in columns[offsets[i]], ..., columns[offsets[i + 1] - 1], all of them before i.
///
/// Rows are counted from the one that is solved first; for an upper triangle, that is the last.
struct Dependencies {
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> columns;

  std::int32_t rows() const { return static_cast<std::int32_t>(offsets.size()) - 1; }

  /// \brief f(j) for each row j that row i needs.
  template <class F>
  void for_each_needed(std::int32_t i, F const& f) const {
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) f(columns[k]);
  }
};

/// \brief The level of each row: the length of the longest chain of needed rows that leads to it.
/// Returns the number of levels.
inline std::int32_t find_levels(Dependencies const& needs, std::vector<std::int32_t>& level) {
  std::int32_t levels = 0;
  level.assign(needs.rows(), 0);
  for (std::int32_t i = 0; i < needs.rows(); ++i) {
    needs.for_each_needed(i, [&](std::int32_t j) { level[i] = std::max(level[i], level[j] + 1); });
    levels = std::max(levels, level[i] + 1);
  }
  return levels;
}

/// \brief The rows stably sorted by key, 0 <= key[i] < keys.
inline std::vector<std::int32_t> sorted_by(std::vector<std::int32_t> const& key,
                                           std::int32_t keys) {
  std::vector<std::int32_t> first(keys + 1, 0), sorted(key.size());
  for (std::int32_t const k : key) ++first[k + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  for (std::size_t i = 0; i < key.size(); ++i)
    sorted[first[key[i]]++] = static_cast<std::int32_t>(i);
  return sorted;
}

}  // namespace Solder::Impl::triangular
