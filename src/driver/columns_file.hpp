// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace Solder::Driver {

/// \brief Reads the columns of a Matrix Market file, array or coordinate. Entry i of column c is
/// number i * columns + c of the result.
///
/// \param rows that the file must have; 0: any number
/// \param columns likewise; 0: any number up to most_right_hand_sides
/// \throws InputError if the file has a different size, and as read_matrix_market does
template <class T>
std::vector<T> read_columns(std::string const& path, std::int32_t rows, std::int32_t columns);

/// \brief Points in the plane or in space: coordinate d of point p is values[p * dimensions + d].
struct Points {
  std::vector<double> values;
  std::int32_t dimensions = 0;  ///< 0: there are none
};

/// \brief Reads points. Their displacements are the `unknowns` unknowns of a matrix; 0: any number
/// of points.
/// \throws InputError if the file does not have 2 or 3 columns and one row for each point, and as
/// read_matrix_market does
Points read_points(std::string const& path, std::int32_t unknowns);

}  // namespace Solder::Driver
