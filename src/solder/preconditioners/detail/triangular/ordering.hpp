// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <solder/preconditioners/detail/triangular/dependencies.hpp>
#include <solder/preconditioners/detail/triangular/minimum_degree.hpp>
#include <solder/preconditioners/detail/triangular/neighbours.hpp>
#include <solder/preconditioners/incomplete_options.hpp>

namespace Solder::Impl::triangular {

/// \brief The reversed Cuthill-McKee order, which starts from a row of least degree of each
/// component.
inline std::vector<std::int32_t> reverse_cuthill_mckee(Neighbours const& next) {
  std::int32_t const rows = next.rows();
  std::vector<std::int32_t> order, degrees(rows);
  std::int32_t most = 0;
  for (std::int32_t i = 0; i < rows; ++i) most = std::max(most, degrees[i] = next.degree(i));
  order.reserve(rows);
  std::vector<char> seen(rows, 0);
  auto const fewer = [&](std::int32_t a, std::int32_t b) {
    return degrees[a] != degrees[b] ? degrees[a] < degrees[b] : a < b;
  };
  for (std::int32_t const start : sorted_by(degrees, most + 1)) {
    if (seen[start]) continue;
    std::size_t at = order.size();
    order.push_back(start);
    seen[start] = 1;
    for (; at < order.size(); ++at) {
      std::size_t const first = order.size();
      next.for_each(order[at], [&](std::int32_t j) {
        if (!seen[j]) order.push_back(j);
        seen[j] = 1;
      });
      std::sort(order.begin() + first, order.end(), fewer);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// \brief The rows colour by colour. Each row gets the first colour that none of the neighbours
/// before it has.
inline std::vector<std::int32_t> by_colour(Neighbours const& next) {
  std::int32_t const rows = next.rows();
  std::vector<std::int32_t> colour(rows, -1), taken_by;
  for (std::int32_t i = 0; i < rows; ++i) {
    next.for_each(i, [&](std::int32_t j) {
      if (colour[j] >= 0) taken_by[colour[j]] = i;
    });
    std::int32_t c = 0;
    while (c < static_cast<std::int32_t>(taken_by.size()) && taken_by[c] == i) ++c;
    if (c == static_cast<std::int32_t>(taken_by.size())) taken_by.push_back(-1);
    colour[i] = c;
  }
  return sorted_by(colour, static_cast<std::int32_t>(taken_by.size()));
}

/// \brief Whether one of the triangles of a pattern is empty, the diagonal apart.
template <class Offset>
bool is_triangular(std::int32_t rows, Offset const* offsets, std::int32_t const* columns) {
  bool has_lower = false, has_upper = false;
  for (std::int32_t i = 0; i < rows && !(has_lower && has_upper); ++i)
    for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
      has_lower |= columns[k] < i;
      has_upper |= columns[k] > i;
    }
  return !(has_lower && has_upper);
}

/// \brief The rows in the order of elimination.
template <class Offset>
std::vector<std::int32_t> ordered(Ordering ordering, std::int32_t rows, Offset const* offsets,
                                  std::int32_t const* columns) {
  if (ordering == Ordering::rcm)
    return reverse_cuthill_mckee(neighbours_of(rows, offsets, columns));
  if (ordering == Ordering::multicolour) return by_colour(neighbours_of(rows, offsets, columns));
  if (ordering == Ordering::amd) return minimum_degree(neighbours_of(rows, offsets, columns));
  std::vector<std::int32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace Solder::Impl::triangular
