// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief How a matrix is stored for its products; see CsrMatrix, SellMatrix and BlockMatrix.
enum class MatrixFormat {
  automatic,  ///< chosen from the rows and blocks; see choose_format()
  csr,        ///< compressed rows
  sell,       ///< slices of rows, each as wide as its longest row
  ell,        ///< all rows as wide as the longest one
  block       ///< square blocks, with a column index each
};

/// \brief All values, with their words.
constexpr auto words_of(MatrixFormat) {
  return std::array<Word<MatrixFormat>, 5>{{{MatrixFormat::automatic, "auto"},
                                            {MatrixFormat::csr, "csr"},
                                            {MatrixFormat::sell, "sell"},
                                            {MatrixFormat::ell, "ell"},
                                            {MatrixFormat::block, "block"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(MatrixFormat format) { return word_of(format); }

}  // namespace Solder
