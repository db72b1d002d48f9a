// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace Solder {

enum class MarketFormat { coordinate, array };
enum class MarketField { real, integer, complex, pattern };
enum class MarketSymmetry { general, symmetric, skew_symmetric, hermitian };

/// \brief The banner and size line of a Matrix Market file. `entries` is the number of stored
/// entries; for array files it follows from rows, columns and symmetry.
struct MatrixMarketHeader {
  MarketFormat format = MarketFormat::coordinate;
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::int64_t entries = 0;
};

}  // namespace Solder
