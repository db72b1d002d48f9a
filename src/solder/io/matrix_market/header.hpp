// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace Solder {

/// \brief How a Matrix Market file lists the entries.
enum class MarketFormat {
  coordinate,  ///< row, column and value of each stored entry
  array        ///< all values, column by column
};

/// \brief What the values of a Matrix Market file are.
enum class MarketField {
  real,     ///< decimal numbers; `double` in a file is the same
  integer,  ///< whole numbers
  complex,  ///< a real and an imaginary part each
  pattern   ///< none: all are one
};

/// \brief Which part of a matrix a Matrix Market file stores.
enum class MarketSymmetry {
  general,         ///< all of it
  symmetric,       ///< the lower triangle; a_ji = a_ij
  skew_symmetric,  ///< the lower triangle without the diagonal; a_ji = -a_ij
  hermitian        ///< the lower triangle; a_ji = conj(a_ij)
};

/// \brief The banner and size line of a Matrix Market file. `entries` is the number of stored
/// entries; for array files it follows from rows, columns and symmetry.
struct MatrixMarketHeader {
  MarketFormat format = MarketFormat::coordinate;     ///< how entries are listed
  MarketField field = MarketField::real;              ///< what values are
  MarketSymmetry symmetry = MarketSymmetry::general;  ///< which part is stored
  std::int32_t rows = 0;                              ///< of the matrix
  std::int32_t columns = 0;                           ///< of the matrix
  std::int64_t entries = 0;                           ///< that the file stores
};

}  // namespace Solder
