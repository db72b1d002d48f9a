// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <solder/matrix/matching.hpp>

namespace Solder::Impl::scaling {

/// \brief log2 of the factors with which the largest entry of each row and column is nearly 1: rows
/// and columns are divided by the square root of theirs, again and again (Ruiz, A scaling algorithm
/// to equilibrate both rows and columns norms in matrices, 2001). In logarithms nothing overflows.
/// \param is_symmetric the same factors for both
template <class Offset>
void equilibrate(Logarithms<Offset> const& A, bool is_symmetric, std::vector<double>& of_rows,
                 std::vector<double>& of_columns) {
  constexpr int most_turns = 20;
  constexpr double near = 0.5, none = -std::numeric_limits<double>::infinity();
  of_rows.assign(A.rows, 0);
  of_columns.assign(A.rows, 0);
  std::vector<double> rows, columns;
  double worst = 1;
  for (int turn = 0; turn < most_turns && worst > near; ++turn) {
    rows.assign(A.rows, none);
    columns.assign(A.rows, none);
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (Offset k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
        std::int32_t const j = A.columns[k];
        double const size = A.of[k] + of_rows[i] + of_columns[j];
        rows[i] = std::max(rows[i], size);
        columns[j] = std::max(columns[j], size);
      }
    worst = 0;
    for (std::int32_t i = 0; i < A.rows; ++i) {
      if (is_symmetric) rows[i] = columns[i] = std::max(rows[i], columns[i]);
      for (auto const& [size, factor] :
           {std::pair(rows[i], &of_rows[i]), std::pair(columns[i], &of_columns[i])})
        if (size > none) {
          worst = std::max(worst, std::abs(size));
          *factor -= size / 2;
        }
    }
  }
}

}  // namespace Solder::Impl::scaling
