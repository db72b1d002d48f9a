// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace Solder::Impl::triangular {

/// \brief The neighbours of each row: the pattern of A + A^T without its diagonal, on the host.
struct Neighbours {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;

  std::int32_t rows() const { return static_cast<std::int32_t>(offsets.size()) - 1; }
  std::int32_t degree(std::int32_t i) const {
    return static_cast<std::int32_t>(offsets[i + 1] - offsets[i]);
  }
  template <class F>
  void for_each(std::int32_t i, F const& f) const {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) f(columns[k]);
  }
};

template <class Offset>
Neighbours neighbours_of(std::int32_t rows, Offset const* offsets, std::int32_t const* columns) {
  Neighbours all;
  all.offsets.assign(std::size_t(rows) + 1, 0);
  auto const for_each_pair = [&](auto const& f) {
    for (std::int32_t i = 0; i < rows; ++i)
      for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
        if (columns[k] != i) f(i, columns[k]);
  };
  for_each_pair([&](std::int32_t i, std::int32_t j) {
    ++all.offsets[i + 1];
    ++all.offsets[j + 1];
  });
  std::partial_sum(all.offsets.begin(), all.offsets.end(), all.offsets.begin());
  all.columns.resize(all.offsets.back());
  std::vector<std::int64_t> at(all.offsets.begin(), all.offsets.end() - 1);
  for_each_pair([&](std::int32_t i, std::int32_t j) {
    all.columns[at[i]++] = j;
    all.columns[at[j]++] = i;
  });
  std::int64_t kept = 0, begin = 0;  // sorted, without repetitions
  for (std::int32_t i = 0; i < rows; ++i) {
    auto const first = all.columns.begin() + begin, last = all.columns.begin() + all.offsets[i + 1];
    begin = all.offsets[i + 1];
    std::sort(first, last);
    auto const end = std::unique(first, last);
    std::copy(first, end, all.columns.begin() + kept);
    all.offsets[i] = kept;
    kept += end - first;
  }
  all.offsets[rows] = kept;
  all.columns.resize(kept);
  return all;
}

}  // namespace Solder::Impl::triangular
