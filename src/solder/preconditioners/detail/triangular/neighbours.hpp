// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace Solder::Impl::triangular {

/// \brief Whether each entry k of a square matrix has its mirror image, at the place l, and
/// agrees(k, l). Goes through the rows with a place in each row above the diagonal that only moves
/// forward. The columns of a row ascend.
template <class Offset, class F>
bool is_mirrored(std::int32_t rows, Offset const* offsets, std::int32_t const* columns,
                 F const& agrees) {
  std::vector<Offset> next(rows);
  for (std::int32_t i = 0; i < rows; ++i) {
    Offset k = offsets[i];
    Offset const end = offsets[i + 1];
    for (; k < end && columns[k] < i; ++k) {
      std::int32_t const j = columns[k];
      if (next[j] == offsets[j + 1] || columns[next[j]] != i || !agrees(k, next[j])) return false;
      ++next[j];
    }
    bool const has_diagonal = k < end && columns[k] == i;
    if (has_diagonal && !agrees(k, k)) return false;
    next[i] = k + has_diagonal;
  }
  for (std::int32_t i = 0; i < rows; ++i)
    if (next[i] < offsets[i + 1]) return false;
  return true;
}
/// \brief Whether the pattern is symmetric, and the columns of each row ascend.
template <class Offset>
bool is_sorted_and_symmetric(std::int32_t rows, Offset const* offsets,
                             std::int32_t const* columns) {
  for (std::int32_t i = 0; i < rows; ++i)
    for (Offset k = offsets[i] + 1; k < offsets[i + 1]; ++k)
      if (columns[k - 1] >= columns[k]) return false;
  return is_mirrored(rows, offsets, columns, [](Offset, Offset) { return true; });
}

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
  if (is_sorted_and_symmetric(rows, offsets, columns)) {
    all.offsets.reserve(std::size_t(rows) + 1);
    all.columns.reserve(offsets[rows]);
    all.offsets.push_back(0);
    for (std::int32_t i = 0; i < rows; ++i) {
      for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
        if (columns[k] != i) all.columns.push_back(columns[k]);
      all.offsets.push_back(static_cast<std::int64_t>(all.columns.size()));
    }
    return all;
  }
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
