// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns_file.hpp"

#include <Kokkos_Core.hpp>
#include <solder/io/matrix_market.hpp>

#include "config.hpp"
#include "schema.hpp"

namespace Solder::Driver {
namespace {

/// Why a file of this size does not have the required columns; empty if it does.
std::string why_not_columns(MatrixMarketHeader const& header, std::int32_t rows,
                            std::int32_t columns) {
  std::string const of_file = std::to_string(header.columns);
  if (rows > 0 && header.rows != rows)
    return concat(header.columns == 1
                      ? concat("has ", std::to_string(header.rows),
                               header.rows == 1 ? " entry" : " entries")
                      : concat("is ", std::to_string(header.rows), " x ", of_file),
                  ", but the matrix has ", std::to_string(rows), rows == 1 ? " row" : " rows");
  if (header.columns < 1) return "has no columns";
  if (columns > 0 && header.columns != columns)
    return concat("has ", of_file, header.columns == 1 ? " column" : " columns",
                  ", but problem.rhs_count is ", std::to_string(columns),
                  "; make it the same or leave it out");
  if (header.columns > most_right_hand_sides)
    return concat("has ", of_file, " columns; there may be at most ",
                  std::to_string(most_right_hand_sides), " right-hand sides");
  if (header.columns > 1 && header.symmetry != MarketSymmetry::general)
    return "is not general; several right-hand sides need a general file, which stores all entries";
  return {};
}

/// Why a file of this size does not have the points of a matrix; empty if it does.
std::string why_not_points(MatrixMarketHeader const& header, std::int32_t unknowns) {
  std::string const size =
      concat("is ", std::to_string(header.rows), " x ", std::to_string(header.columns));
  if (header.columns != 2 && header.columns != 3)
    return concat(size, "; points have 2 or 3 coordinates, one column each");
  if (unknowns > 0 && std::int64_t(header.rows) * header.columns != unknowns)
    return concat(size, ", but the ", std::to_string(unknowns), " rows of the matrix make up ",
                  unknowns % header.columns == 0
                      ? concat(std::to_string(unknowns / header.columns), " points")
                      : concat("no whole number of points with ", std::to_string(header.columns),
                               " displacements each"));
  if (header.symmetry != MarketSymmetry::general)
    return "is not general; points need a general file, which stores all entries";
  return {};
}

/// Reads all entries of a file, row by row, if why_not(its header) is empty.
template <class T, class WhyNot>
std::vector<T> read_rows(std::string const& path, WhyNot const& why_not) {
  return Solder::Impl::read_market_file(path, [&](auto& lines, MatrixMarketHeader const& header) {
    if (std::string const why = why_not(header); !why.empty()) lines.fail_file(why);
    bool const is_array = header.format == MarketFormat::array;
    std::vector<T> values(std::size_t(header.rows) * header.columns);
    Solder::Impl::read_entries<T>(lines, header, [&](auto row, auto column, T const& value) {
      T& entry = values[std::size_t(row) * header.columns + column];
      if (is_array)
        entry = value;
      else
        entry += value;
    });
    Solder::Impl::check_sums(lines, values);
    return values;
  });
}

}  // namespace

template <class T>
std::vector<T> read_columns(std::string const& path, std::int32_t rows, std::int32_t columns) {
  if (!std::filesystem::exists(path)) {
    std::string_view const near = nearest(std::filesystem::path(path).filename().string(),
                                          rows_of("problem", "rhs")[0]->words);
    throw InputError(path, 0,
                     concat("there is no such file", suggestion(near)));
  }
  return read_rows<T>(path, [&](MatrixMarketHeader const& header) {
    return why_not_columns(header, rows, columns);
  });
}

Points read_points(std::string const& path, std::int32_t unknowns) {
  Points points;
  points.values = read_rows<double>(path, [&](MatrixMarketHeader const& header) {
    points.dimensions = header.columns;
    return why_not_points(header, unknowns);
  });
  return points;
}

template std::vector<float> read_columns(std::string const&, std::int32_t, std::int32_t);
template std::vector<double> read_columns(std::string const&, std::int32_t, std::int32_t);
template std::vector<Kokkos::complex<float>> read_columns(std::string const&, std::int32_t,
                                                          std::int32_t);
template std::vector<Kokkos::complex<double>> read_columns(std::string const&, std::int32_t,
                                                           std::int32_t);

}  // namespace Solder::Driver
