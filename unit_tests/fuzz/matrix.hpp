// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <optional>
#include <solder/io/matrix_market.hpp>
#include <vector>

#include "target.hpp"

/// \brief Rows, columns and entries up to which a file is read, so that an input takes
/// microseconds.
constexpr std::int32_t largest_extent = 1000;

/// \brief What `read` returns; nothing, and claims about the message, where it refuses the file.
template <class Read>
auto read_or_refuse(std::string const& file, Read const& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (Solder::InputError const& error) {
    claim_message(error.what(), file + ":");
    return {};
  }
}

/// \brief The header of a file, where the file can be read at little cost.
inline std::optional<Solder::MatrixMarketHeader> small_header(std::string const& file) {
  auto const header = read_or_refuse(file, [&] { return Solder::read_matrix_market_header(file); });
  if (!header) return {};
  claim(header->rows >= 0 && header->columns >= 0 && header->entries >= 0, "extents are counts");
  bool const is_small = header->rows <= largest_extent && header->columns <= largest_extent &&
                        header->entries <= largest_extent;
  return is_small ? header : std::nullopt;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bits(Solder::HostCsr<T> const& a, Solder::HostCsr<T> const& b) {
  return a.rows == b.rows && a.columns_count == b.columns_count && a.row_offsets == b.row_offsets &&
         a.columns == b.columns && same_bits(a.values, b.values);
}

/// \brief Whether the matrix is its own transpose, as a file of this symmetry says.
template <class T>
bool is_mirrored(Solder::HostCsr<T> const& matrix, Solder::MarketSymmetry symmetry) {
  using enum Solder::MarketSymmetry;
  auto const mirror = [&](T const& value) {
    return symmetry == skew_symmetric ? -value
           : symmetry == hermitian    ? Solder::Impl::conjugated(value)
                                      : value;
  };
  auto const has = [&](std::int32_t row, std::int32_t column, T const& value) {
    auto const begin = matrix.columns.begin() + matrix.row_offsets[row],
               end = matrix.columns.begin() + matrix.row_offsets[row + 1],
               place = std::lower_bound(begin, end, column);
    return place != end && *place == column &&
           matrix.values[place - matrix.columns.begin()] == value;
  };
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      if (!has(matrix.columns[k], i, mirror(matrix.values[k]))) return false;
  return true;
}

/// \brief Reads a file; what is read is a consistent matrix that is the same after it is written
/// and read again.
template <class T>
std::optional<Solder::HostCsr<T>> claim_matrix(std::string const& file) {
  auto const header = small_header(file);
  if (!header) return {};
  auto const matrix = read_or_refuse(file, [&] { return Solder::read_matrix_market<T>(file); });
  if (!matrix) return {};
  matrix->validate();
  claim(matrix->rows == header->rows && matrix->columns_count == header->columns,
        "the matrix has the header's extents");
  bool const is_general = header->symmetry == Solder::MarketSymmetry::general;
  claim(matrix->nonzeros() <= header->entries * (is_general ? 1 : 2),
        "no more nonzeros than the header's entries");
  claim(is_general || is_mirrored(*matrix, header->symmetry), "a symmetric matrix is symmetric");
  for (std::int32_t i = 0; i < matrix->rows; ++i)
    for (auto k = matrix->row_offsets[i]; k < matrix->row_offsets[i + 1]; ++k) {
      claim(k == matrix->row_offsets[i] || matrix->columns[k - 1] < matrix->columns[k],
            "columns ascend in a row");
      claim(Solder::Impl::is_finite_value(matrix->values[k]), "values are finite");
    }
  auto const written = folder().path("written.mtx").string();
  Solder::write_matrix_market(written, *matrix);
  claim(same_bits(*matrix, Solder::read_matrix_market<T>(written)), "written and read is the same");
  return matrix;
}
