// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <solder/core/scalar.hpp>
#include <solder/io/detail/whole_file.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder {

namespace Impl {

template <class Scalar>
constexpr std::string_view market_field() {
  return ScalarTraits<Scalar>::is_complex ? "complex" : "real";
}

}  // namespace Impl

/// \brief Writes a matrix as Matrix Market coordinate general, real or complex according to Scalar.
/// Reading it gives the same bits. The file is gzipped if path ends in .gz. It appears as a whole
/// or not at all. A value that is not finite is written as nan or inf, which Solder's readers
/// reject. InputError if path cannot be written.
/// \ingroup files
template <class Scalar>
void write_matrix_market(std::string const& path, HostCsr<Scalar> const& matrix) {
  Impl::write_whole_file(path, [&](Impl::WholeFile& file) {
    file.text("%%MatrixMarket matrix coordinate ");
    file.text(Impl::market_field<Scalar>());
    file.text(" general\n");
    for (std::int64_t const size :
         {std::int64_t{matrix.rows}, std::int64_t{matrix.columns_count}, matrix.nonzeros()}) {
      file.number(size);
      file.text(" ");
    }
    file.text("\n");
    for (std::int32_t row = 0; row < matrix.rows; ++row) {
      for (auto k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        file.number(std::int64_t{row} + 1);
        file.text(" ");
        file.number(std::int64_t{matrix.columns[k]} + 1);
        file.text(" ");
        file.number(matrix.values[k]);
        file.text("\n");
      }
    }
  });
}

/// \brief Writes columns as a Matrix Market array. Entry i of column c is values[i * columns + c].
/// Otherwise like write_matrix_market.
/// \ingroup files
template <class Scalar>
void write_matrix_market_columns(std::string const& path, std::vector<Scalar> const& values,
                                 std::int32_t columns) {
  std::size_t const rows = values.size() / static_cast<std::size_t>(columns);
  Impl::write_whole_file(path, [&](Impl::WholeFile& file) {
    file.text("%%MatrixMarket matrix array ");
    file.text(Impl::market_field<Scalar>());
    file.text(" general\n");
    file.number(static_cast<std::int64_t>(rows));
    file.text(" ");
    file.number(static_cast<std::int64_t>(columns));
    file.text("\n");
    for (std::int32_t c = 0; c < columns; ++c)
      for (std::size_t i = 0; i < rows; ++i) {
        file.number(values[i * columns + c]);
        file.text("\n");
      }
  });
}

/// \brief Writes a vector as an n x 1 Matrix Market array; otherwise like write_matrix_market.
/// \ingroup files
template <class Scalar>
void write_matrix_market_vector(std::string const& path, std::vector<Scalar> const& vector) {
  write_matrix_market_columns(path, vector, 1);
}

}  // namespace Solder
