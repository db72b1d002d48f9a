// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include "../support.hpp"

namespace SolderTest {

/// Groups of `first`, `first` + 1, .. rows with the same columns: up to so many entries, of which
/// some are neighbours.
template <class Scalar>
Solder::HostCsr<Scalar> rows_in_groups(std::int32_t first, int groups, std::int32_t columns,
                                       int most, unsigned seed) {
  std::mt19937 generator(seed);
  Solder::HostCsr<Scalar> A{0, columns, {0}, {}, {}};
  for (std::int32_t group = 0; group < groups; ++group) {
    std::set<std::int32_t> of_group;
    for (int k = int(generator() % most); k > 0; --k) {
      auto const column = static_cast<std::int32_t>(generator() % columns);
      for (std::int32_t c = column; c < std::min(column + group % 7, columns); ++c)
        of_group.insert(c);
    }
    for (std::int32_t row = 0; row < first + group % 9; ++row, ++A.rows) {
      A.columns.insert(A.columns.end(), of_group.begin(), of_group.end());
      A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
    }
  }
  A.values = random_vector<Scalar>(A.columns.size(), seed + 1);
  return A;
}

}  // namespace SolderTest
