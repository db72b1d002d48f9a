// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

namespace Solder {

/// \brief Rows of a generated matrix, for one rank of several. All by default. Columns are those of
/// the whole matrix.
/// \ingroup problems
struct RowRange {
  std::int64_t first = 0;                                        ///< counted from 0
  std::int64_t last = std::numeric_limits<std::int64_t>::max();  ///< the row behind them
};

}  // namespace Solder
