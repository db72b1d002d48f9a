// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reading and writing Matrix Market files. Needs zlib: link Solder::io.

#include <cstdint>
#include <string>
#include <vector>

#include <solder/io/detail/entries.hpp>
#include <solder/io/detail/header.hpp>
#include <solder/io/detail/text.hpp>
#include <solder/io/matrix_market/header.hpp>
#include <solder/io/matrix_market/write.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder {

/// \brief Reads and checks only the banner and the size line. Errors are those of
/// read_matrix_market.
/// \ingroup files
inline MatrixMarketHeader read_matrix_market_header(std::string const& path) {
  return Impl::read_market_file(
      path, [](auto const&, MatrixMarketHeader const& header) { return header; });
}

/// \brief Reads a Matrix Market file, plain or gzipped (distinguished by content).
///
/// Formats are coordinate and array. Fields are real (or double), integer, complex and pattern (all
/// values one). Symmetries are general, symmetric, skew-symmetric and hermitian; files of the last
/// three store the lower triangle, and the result has both. Duplicates are summed. Zeros of
/// coordinate files are kept, zeros of array files dropped. Comments, blank lines, CRLF, tabs,
/// Fortran exponents (1.0D+03) and a leading + are accepted. A real file may be read into a complex
/// Scalar. Only the row offsets are allocated on the strength of the size line. Throws InputError,
/// naming file and line, for everything else. Peak memory: 2.5 times the result.
/// \ingroup files
template <class Scalar>
HostCsr<Scalar> read_matrix_market(std::string const& path) {
  return Impl::read_market_file(path, [](auto& lines, MatrixMarketHeader const& header) {
    Impl::refuse_empty_rows(lines, header);
    TripletBuilder<Scalar> builder;
    bool const drop_zeros = header.format == MarketFormat::array;
    std::int64_t diagonal = 0;
    Impl::read_entries<Scalar>(lines, header, [&](auto row, auto column, Scalar const& value) {
      if (drop_zeros && value == Scalar(0)) return;
      if (row == column) ++diagonal;
      builder.add(row, column, value);
    });
    auto const mirror = Impl::mirror_of(header.symmetry);
    auto const entries = mirror == Mirror::none ? builder.size() : 2 * builder.size() - diagonal;
    auto matrix = builder.build(header.rows, header.columns, mirror);
    if (matrix.nonzeros() != entries) Impl::check_sums(lines, matrix.values);
    return matrix;
  });
}

/// \brief Reads an n x 1 Matrix Market file, array or coordinate, into a dense vector. Formats and
/// errors are those of read_matrix_market; also InputError unless there is exactly one column.
/// \ingroup files
template <class Scalar>
std::vector<Scalar> read_matrix_market_vector(std::string const& path) {
  return Impl::read_market_file(path, [](auto& lines, MatrixMarketHeader const& header) {
    if (header.columns != 1) {
      lines.fail("a vector needs one column, but this is " + std::to_string(header.rows) + " x " +
                 std::to_string(header.columns));
    }
    std::vector<Scalar> vector;
    if (header.format == MarketFormat::array) {
      Impl::read_entries<Scalar>(lines, header,
                                 [&](auto, auto, Scalar const& value) { vector.push_back(value); });
      vector.resize(header.rows);  // a skew-symmetric 1 x 1 file stores nothing
    } else {
      vector.resize(header.rows);
      Impl::read_entries<Scalar>(
          lines, header, [&](auto row, auto, Scalar const& value) { vector[row] += value; });
      Impl::check_sums(lines, vector);
    }
    return vector;
  });
}

}  // namespace Solder
