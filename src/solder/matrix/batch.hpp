// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/batch_team.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder {

/// \brief Many independent systems as one: the matrix is block diagonal, and its rows starts[k] to
/// starts[k + 1] - 1 are system k. It is on the host, where systems are appended one by one.
template <class Scalar>
struct HostBatch {
  HostCsr<Scalar> matrix;  ///< block diagonal
  /// First row of each system, and finally the number of rows.
  std::vector<std::int32_t> starts{0};

  /// \brief Reserves room for this number of rows and nonzeros in all systems together.
  void reserve(std::int64_t rows, std::int64_t nonzeros) {
    matrix.row_offsets.reserve(rows + 1);
    matrix.columns.reserve(nonzeros);
    matrix.values.reserve(nonzeros);
  }

  /// \brief Appends a system, of any size and pattern.
  /// \throws std::invalid_argument if A is not square, has no rows or is not valid (see
  /// HostCsr::validate); std::length_error if all systems together would have more rows than a
  /// matrix can have
  void append(HostCsr<Scalar> const& A) {
    A.validate();
    if (A.rows != A.columns_count || A.rows == 0)
      throw std::invalid_argument("Solder::HostBatch: a system needs a square matrix, not one of " +
                                  std::to_string(A.rows) + " x " + std::to_string(A.columns_count));
    std::int32_t const first = starts.back();
    if (A.rows > Impl::most_rows - first)
      throw std::length_error("Solder::HostBatch: all systems together have more than " +
                              std::to_string(Impl::most_rows) + " rows");
    auto& offsets = matrix.row_offsets;
    if (offsets.empty()) offsets.push_back(0);
    std::int64_t const before = offsets.back();
    for (std::int32_t i = 1; i <= A.rows; ++i) offsets.push_back(before + A.row_offsets[i]);
    for (std::int32_t const column : A.columns) matrix.columns.push_back(first + column);
    matrix.values.insert(matrix.values.end(), A.values.begin(), A.values.end());
    starts.push_back(first + A.rows);
    matrix.rows = matrix.columns_count = starts.back();
  }
};

/// \brief Which rows of a block diagonal matrix form each system of a batch; see Solver::solve.
template <class Exec>
class Batch {
 public:
  /// \brief Copies the starts to the device; waits for that.
  /// \param starts the first row of each system, ascending from 0, and finally the number of rows
  /// \throws std::invalid_argument if they do not begin at 0 or do not ascend
  Batch(Exec const& exec, std::vector<std::int32_t> const& starts)
      : starts_(
            Impl::allocate_view<decltype(starts_)>(exec, "Solder::batch::starts", starts.size())) {
    if (starts.size() < 2 || starts.front() != 0)
      throw std::invalid_argument(
          "Solder::Batch: starts must begin with 0 and end with the number of rows");
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
      if (starts[k] >= starts[k + 1])
        throw std::invalid_argument("Solder::Batch: system " + std::to_string(k) +
                                    " begins at row " + std::to_string(starts[k]) +
                                    ", and the next one at row " + std::to_string(starts[k + 1]) +
                                    ": starts must ascend");
      largest_ = std::max(largest_, starts[k + 1] - starts[k]);
    }
    host_ = starts;
    Impl::copy(exec, starts_,
               Kokkos::View<std::int32_t const*, Kokkos::HostSpace>(host_.data(), host_.size()));
    exec.fence("Solder::batch: copied to the device");
  }

  /// \brief The number of systems.
  std::int32_t size() const { return static_cast<std::int32_t>(host_.size()) - 1; }
  /// \brief Rows of all systems together.
  std::int32_t rows() const { return host_.back(); }
  /// \brief First row of each system, and finally the number of rows.
  std::vector<std::int32_t> const& starts() const { return host_; }
  /// \brief What kernels use, by value. Valid while this object, or a copy of it, lives.
  Impl::BatchRows device_rows() const { return {starts_.data(), size(), largest_}; }

 private:
  std::vector<std::int32_t> host_;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> starts_;
  std::int32_t largest_ = 0;
};

namespace Impl {

/// \brief The first row of a matrix with an entry in a column of another system, or -1.
template <class Exec, class Matrix>
SOLDER_MAKES_LAMBDAS std::int32_t first_coupled_row(Exec const& exec, Matrix const& A,
                                                    BatchRows const& systems) {
  auto const* const offsets = A.row_offsets().data();
  auto const* const columns = A.column_indices().data();
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int32_t row = none;
  Kokkos::parallel_reduce(
      "Solder::batch::check", Kokkos::RangePolicy<Exec>(exec, 0, systems.count),
      KOKKOS_LAMBDA(int k, std::int32_t& least) {
        std::int32_t const first = systems.starts[k], last = systems.starts[k + 1];
        for (std::int32_t i = first; i < last; ++i)
          for (auto e = offsets[i]; e < offsets[i + 1]; ++e)
            if ((columns[e] < first || columns[e] >= last) && i < least) least = i;
      },
      Kokkos::Min<std::int32_t>(row));
  return row == none ? -1 : row;
}

}  // namespace Impl
}  // namespace Solder
