// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <solder/core/scalar.hpp>
#include <solder/io/detail/header.hpp>
#include <solder/io/detail/text.hpp>
#include <solder/io/matrix_market/header.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder::Impl {

template <class Scalar>
Scalar read_value(TokenReader& tokens, MarketField field) {
  using Real = typename ScalarTraits<Scalar>::Real;
  switch (field) {
    case MarketField::pattern:
      return Scalar(1);
    case MarketField::integer:
      return Scalar(static_cast<Real>(tokens.integer("value")));
    case MarketField::real:
      return Scalar(tokens.number<Scalar>());
    case MarketField::complex:
      break;
  }
  auto const real = tokens.number<Scalar>();
  auto const imaginary = tokens.number<Scalar>();
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

template <class Scalar>
double largest_part(Scalar const& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return std::max(std::abs(double(value.real())), std::abs(double(value.imag())));
  else
    return std::abs(double(value));
}

/// \brief Calls sink(row, column, value), from 0, for every stored entry, in the file's order.
///
/// A value too small for the scalar type becomes 0, but where no value of the file is much larger
/// that is an error.
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
  double largest = 0;
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
    largest = std::max(largest, largest_part(value));
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
  lines.check_underflow<Scalar>(largest);
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
      lines.fail_file("the sum of repeated entries is too large for the scalar type");
    }
  }
}

/// \brief Calls read(lines, header). Turns a lack of memory into an InputError with the sizes, as
/// far as they are known.
template <class Read>
auto read_market_file(std::string const& path, Read const& read) {
  std::string sizes;
  try {
    LineReader lines(path);
    MatrixMarketHeader const header = read_header(lines);
    sizes = "for a matrix of " + std::to_string(header.rows) + " x " +
            std::to_string(header.columns) + " with " + std::to_string(header.entries) +
            " stored entries";
    return read(lines, header);
  } catch (std::bad_alloc const&) {
    throw InputError(path, 0,
                     "not enough memory " + (sizes.empty() ? "to read it: it takes 3 MB" : sizes));
  }
}

}  // namespace Solder::Impl
