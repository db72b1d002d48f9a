// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file of right-hand sides or of points: what the library and the driver read of it is the
// matrix's dense form.
#include <driver/columns_file.hpp>

#include "matrix.hpp"

namespace {

template <class T>
std::vector<T> dense(Solder::HostCsr<T> const& matrix) {
  auto const columns = std::size_t(matrix.columns_count);
  std::vector<T> values(std::size_t(matrix.rows) * columns);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      values[i * columns + matrix.columns[k]] = matrix.values[k];
  return values;
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace Solder::Driver;
  auto const file = folder().write("b.mtx", text_of(data, size)).string();
  auto const header = small_header(file);
  if (!header || std::int64_t(header->rows) * header->columns > largest_extent) return 0;
  auto const read = [&](auto const& reader) { return read_or_refuse(file, reader); };
  auto const matrix = read([&] { return Solder::read_matrix_market<double>(file); });

  if (header->columns == 1) {
    auto const vector = read([&] { return Solder::read_matrix_market_vector<double>(file); });
    claim(vector.has_value() == matrix.has_value(), "a matrix of one column is a vector");
    claim(!vector || *vector == dense(*matrix), "the vector is the column");
  }
  auto const columns = read([&] { return read_columns<double>(file, header->rows, 0); });
  claim(!columns || (matrix && *columns == dense(*matrix)), "right-hand sides are the columns");
  claim(!read([&] { return read_columns<double>(file, header->rows + 1, 0); }),
        "a right-hand side of another length is refused");
  claim(!read([&] { return read_columns<double>(file, header->rows, header->columns + 1); }),
        "right-hand sides of another number are refused");
  auto const points = read([&] { return read_points(file, header->rows * header->columns); });
  claim(!points || (matrix && points->values == dense(*matrix)), "points are the rows");
  claim(!points || points->dimensions == header->columns, "points have the file's dimensions");
  return 0;
}
