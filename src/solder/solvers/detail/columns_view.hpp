// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace Solder::Impl {

/// \brief A view of rank 2, wherever its entries lie.
template <class Scalar>
struct ColumnsView {
  Scalar* data;
  std::int64_t rows, columns, row_stride, column_stride;

  template <class View>
  explicit ColumnsView(View const& view)
      : data(view.data()),
        rows(static_cast<std::int64_t>(view.extent(0))),
        columns(static_cast<std::int64_t>(view.extent(1))),
        row_stride(static_cast<std::int64_t>(view.stride(0))),
        column_stride(static_cast<std::int64_t>(view.stride(1))) {}

  KOKKOS_FUNCTION Scalar& operator()(std::int64_t i, std::int64_t c) const {
    return data[i * row_stride + c * column_stride];
  }
  /// \brief Whether entry c of row i is number i * columns + c of the data, and pairs of columns
  /// are aligned.
  bool is_packed() const {
    constexpr std::size_t alignment = std::min<std::size_t>(2 * sizeof(Scalar), 16);
    return (columns == 1 || column_stride == 1) && (rows <= 1 || row_stride == columns) &&
           reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  }
};

}  // namespace Solder::Impl
