// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/matrix/matrix_market/header.hpp>
#include <solder/matrix/matrix_market/text.hpp>
#include <solder/matrix/matrix_market/write.hpp>

namespace Solder {

namespace Impl {

template <class Scalar>
Scalar read_value(TokenReader& tokens, MarketField field) {
  using Real = typename ScalarTraits<Scalar>::Real;
  switch (field) {
    case MarketField::pattern:
      return Scalar(1);
    case MarketField::integer:
      return Scalar(static_cast<Real>(tokens.integer("value")));
    case MarketField::real:
      return Scalar(tokens.number<Real>());
    case MarketField::complex:
      break;
  }
  auto const real = tokens.number<Real>();
  auto const imaginary = tokens.number<Real>();
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {real, imaginary};
  } else {
    throw std::logic_error("Solder: a complex value for a real scalar");  // refused by the header
  }
}

inline std::int32_t read_index(LineReader const& lines, TokenReader& tokens, char const* what,
                               std::int32_t extent) {
  auto const index = tokens.integer(what);
  if (index < 1 || index > extent) [[unlikely]] {
    lines.fail(std::string("the ") + what + " " + std::to_string(index) +
               " is out of range: indices run from 1 to " + std::to_string(extent));
  }
  return static_cast<std::int32_t>(index - 1);
}

/// \brief Refuses what a symmetric, skew-symmetric or hermitian file must not store.
template <class Scalar>
void check_symmetric_entry(LineReader const& lines, MarketSymmetry symmetry, std::int32_t row,
                           std::int32_t column, Scalar const& value) {
  if (column > row) {
    lines.fail("entry (" + std::to_string(row + 1) + ", " + std::to_string(column + 1) +
               ") lies above the diagonal; a file that is not general stores the lower triangle "
               "only");
  }
  if (column < row) return;
  if (symmetry == MarketSymmetry::skew_symmetric && value != Scalar(0)) {
    lines.fail("the diagonal of a skew-symmetric matrix must be zero");
  }
  if (symmetry == MarketSymmetry::hermitian && value != conjugated(value)) {
    lines.fail("the diagonal of a hermitian matrix must be real");
  }
}

/// \brief Calls sink(row, column, value), from 0, for every stored entry, in the file's order.
template <class Scalar, class Sink>
void read_entries(LineReader& lines, MatrixMarketHeader const& header, Sink const& sink) {
  if (header.field == MarketField::complex && !ScalarTraits<Scalar>::is_complex) {
    lines.fail_file("the file holds complex numbers; choose a complex scalar type");
  }
  bool const coordinate = header.format == MarketFormat::coordinate;
  bool const general = header.symmetry == MarketSymmetry::general;
  std::int32_t const below = header.symmetry == MarketSymmetry::skew_symmetric ? 1 : 0;
  std::int32_t row = general ? 0 : below;  // of the next entry of an array file, by columns
  std::int32_t column = 0;
  std::string_view text;
  for (std::int64_t entry = 0; entry < header.entries; ++entry) {
    if (!lines.next_data(text)) [[unlikely]] {
      lines.fail("the file is truncated: it ends after " + std::to_string(entry) + " of the " +
                 std::to_string(header.entries) + " entries that its size line promises");
    }
    TokenReader tokens(lines, text);
    if (coordinate) {
      row = read_index(lines, tokens, "row index", header.rows);
      column = read_index(lines, tokens, "column index", header.columns);
    }
    Scalar const value = read_value<Scalar>(tokens, header.field);
    tokens.expect_end();
    if (!general) check_symmetric_entry(lines, header.symmetry, row, column, value);
    sink(row, column, value);
    if (!coordinate && ++row == header.rows) {
      ++column;
      row = general ? 0 : column + below;
    }
  }
  if (lines.next_data(text)) {
    lines.fail("the file goes on with " + quoted(text) + " after the " +
               std::to_string(header.entries) + " entries that its size line promises");
  }
}

inline Mirror mirror_of(MarketSymmetry symmetry) {
  switch (symmetry) {
    case MarketSymmetry::general:
      break;
    case MarketSymmetry::symmetric:
      return Mirror::same;
    case MarketSymmetry::skew_symmetric:
      return Mirror::negated;
    case MarketSymmetry::hermitian:
      return Mirror::conjugated;
  }
  return Mirror::none;
}

template <class Scalar>
void check_sums(LineReader const& lines, std::vector<Scalar> const& values) {
  for (Scalar const& value : values) {
    if (!is_finite_value(value)) {
      lines.fail_file("entries given more than once add up to more than the scalar type can hold");
    }
  }
}

/// \brief Calls read(lines, header); running out of memory becomes an InputError with the sizes.
template <class Read>
auto read_market_file(std::string const& path, Read const& read) {
  LineReader lines(path);
  MatrixMarketHeader const header = read_header(lines);
  try {
    return read(lines, header);
  } catch (std::bad_alloc const&) {
    lines.fail_file("not enough memory for a matrix of " + std::to_string(header.rows) + " x " +
                    std::to_string(header.columns) + " with " + std::to_string(header.entries) +
                    " stored entries");
  }
}

}  // namespace Impl

/// \brief Reads a Matrix Market file, plain or gzipped (told apart by content).
///
/// Coordinate or array; real (or double), integer, complex, pattern (values one); general,
/// symmetric, skew-symmetric, hermitian: these store the lower triangle, the result holds both.
/// Duplicates are summed, zeros of coordinate files kept, zeros of array files dropped. Comments,
/// blank lines, CRLF, tabs, Fortran exponents (1.0D+03) and a leading + are accepted. A real file
/// may be read into a complex Scalar. Nothing is allocated on the size line's word alone but the
/// row offsets. Throws InputError, naming file and line, for everything else. Peak memory: 2.5
/// times the result.
template <class Scalar>
HostCsr<Scalar> read_matrix_market(std::string const& path) {
  return Impl::read_market_file(path, [](auto& lines, MatrixMarketHeader const& header) {
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
/// errors as read_matrix_market; InputError for more than one column.
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
