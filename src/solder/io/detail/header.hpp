// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <solder/core/names.hpp>
#include <solder/io/detail/text.hpp>
#include <solder/io/matrix_market/header.hpp>

namespace Solder::Impl {

/// \brief The index of the banner's next word in `names`, ignoring case. If it is not there, an
/// error that lists the names and, for a near miss, the nearest one. There must be at least one
/// name.
inline std::size_t banner_choice(LineReader const& lines, TokenReader& tokens, char const* what,
                                 std::span<std::string_view const> names) {
  auto const given = tokens.word();
  std::string word(given.substr(0, 40));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto const found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());

  std::string valid;
  for (auto const name : names) valid += (valid.empty() ? "" : ", ") + std::string(name);
  if (word.empty()) lines.fail(std::string("the banner names no ") + what + "; valid: " + valid);
  auto const nearest = *std::min_element(names.begin(), names.end(), [&](auto a, auto b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  bool const near_miss = edit_distance(word, nearest) <= 1 + nearest.size() / 3;
  lines.fail(std::string("unsupported ") + what + " " + quoted(given) +
             (near_miss ? "; did you mean '" + std::string(nearest) + "'?" : ";") +
             " Valid: " + valid);
}

inline void read_banner(LineReader& lines, MatrixMarketHeader& header) {
  static constexpr std::string_view objects[] = {"matrix"};
  static constexpr std::string_view formats[] = {"coordinate", "array"};
  static constexpr std::string_view fields[] = {"real", "integer", "complex", "pattern", "double"};
  static constexpr std::string_view symmetries[] = {"general", "symmetric", "skew-symmetric",
                                                    "hermitian"};
  std::string_view text;
  if (!lines.next(text)) lines.fail_file("the file is empty; a Matrix Market file is needed");
  TokenReader tokens(lines, text);
  auto const first = tokens.word();
  static constexpr std::string_view banner = "%%matrixmarket";
  if (!std::equal(first.begin(), first.end(), banner.begin(), banner.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
      })) {
    lines.fail(
        "not a Matrix Market file: the first line should begin with '%%MatrixMarket matrix', "
        "but is " +
        quoted(text));
  }
  banner_choice(lines, tokens, "object", objects);
  header.format = MarketFormat(banner_choice(lines, tokens, "format", formats));
  auto const field = banner_choice(lines, tokens, "field", fields);
  header.field = field == 4 ? MarketField::real : MarketField(field);
  header.symmetry = MarketSymmetry(banner_choice(lines, tokens, "symmetry", symmetries));
  tokens.expect_end();

  if (header.format == MarketFormat::array && header.field == MarketField::pattern) {
    lines.fail("an array file cannot have the field pattern: it would hold no values");
  }
  if (header.symmetry == MarketSymmetry::hermitian && header.field != MarketField::complex) {
    lines.fail("hermitian goes with the field complex only; a real matrix is symmetric");
  }
  if (header.symmetry == MarketSymmetry::skew_symmetric && header.field == MarketField::pattern) {
    lines.fail("skew-symmetric does not go with the field pattern: all values would be one");
  }
}

inline std::int32_t read_extent(LineReader const& lines, TokenReader& tokens, char const* what) {
  auto const extent = tokens.integer(what);
  if (extent < 0) {
    lines.fail(std::string("the ") + what + " is negative: " + std::to_string(extent));
  }
  if (extent > std::numeric_limits<std::int32_t>::max()) {
    lines.fail(std::string("the ") + what + " is " + std::to_string(extent) + "; at most " +
               std::to_string(std::numeric_limits<std::int32_t>::max()) + " are supported");
  }
  return static_cast<std::int32_t>(extent);
}

/// \brief Refuses a coordinate file whose row offsets would take far more memory than its entries
/// justify.
inline void refuse_empty_rows(LineReader const& lines, MatrixMarketHeader const& header) {
  if (header.format == MarketFormat::array || header.rows <= (1 << 24) ||
      header.entries >= header.rows / 1024)
    return;
  lines.fail("the size line names " + std::to_string(header.rows) + " rows for " +
             std::to_string(header.entries) +
             " entries: nearly all rows would be empty, so the size line is assumed to be wrong");
}

inline void read_size_line(LineReader& lines, MatrixMarketHeader& header) {
  bool const coordinate = header.format == MarketFormat::coordinate;
  std::string_view text;
  if (!lines.next_data(text)) {
    lines.fail_file("the file ends before its size line ('rows columns" +
                    std::string(coordinate ? " entries')" : "')"));
  }
  TokenReader tokens(lines, text);
  header.rows = read_extent(lines, tokens, "number of rows");
  header.columns = read_extent(lines, tokens, "number of columns");
  std::int64_t const n = header.rows;
  if (header.symmetry != MarketSymmetry::general && n != header.columns) {
    lines.fail(
        "a matrix that is symmetric, skew-symmetric or hermitian must be square, but this is " +
        std::to_string(n) + " x " + std::to_string(header.columns));
  }
  std::int64_t smallest_entry = 2;  // bytes: a digit and a blank or line end per number
  if (coordinate) {
    header.entries = tokens.integer("number of entries");
    if (header.entries < 0) {
      lines.fail("the number of entries is negative: " + std::to_string(header.entries));
    }
    smallest_entry = header.field == MarketField::pattern ? 4 : 6;
  } else if (header.symmetry == MarketSymmetry::general) {
    header.entries = n * header.columns;  // both below 2^31
  } else {
    header.entries =
        header.symmetry == MarketSymmetry::skew_symmetric ? n * (n - 1) / 2 : n * (n + 1) / 2;
  }
  tokens.expect_end();
  if (header.columns > 1) refuse_empty_rows(lines, header);  // a vector may be nearly all zero
  if (header.field == MarketField::complex) smallest_entry += 2;
  if (lines.plain_size() >= 0 && header.entries > (lines.plain_size() + 1) / smallest_entry) {
    lines.fail("the size line promises " + std::to_string(header.entries) +
               " entries, more than a file of " + std::to_string(lines.plain_size()) +
               " bytes can hold: the file is truncated or the size line is wrong");
  }
}

inline MatrixMarketHeader read_header(LineReader& lines) {
  MatrixMarketHeader header;
  read_banner(lines, header);
  read_size_line(lines, header);
  return header;
}

}  // namespace Solder::Impl
