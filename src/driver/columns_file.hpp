// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace Solder::Driver {

/// \brief Reads the columns of a Matrix Market file, array or coordinate: entry i of column c is
/// number i * columns + c of the result.
///
/// \param rows that the file must have; 0: any number
/// \param columns likewise; 0: any number up to most_right_hand_sides
/// \throws InputError where the file has others, and as read_matrix_market does
template <class T>
std::vector<T> read_columns(std::string const& path, std::int32_t rows, std::int32_t columns);

/// \brief Points in the plane or in space: coordinate d of point p is values[p * dimensions + d].
struct Points {
  std::vector<double> values;
  std::int32_t dimensions = 0;  ///< 0: there are none
};

/// \brief Reads the points whose displacements are the unknowns of a matrix of so many rows; 0: any
/// number of points.
/// \throws InputError where the file has not 2 or 3 columns, not a row for each point, and as
/// read_matrix_market does
Points read_points(std::string const& path, std::int32_t unknowns);

}  // namespace Solder::Driver
