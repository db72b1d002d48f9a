// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <solder/core/allocate.hpp>
#include <solder/core/team.hpp>

namespace Solder {

namespace Impl {

/// \brief Where slice t begins, of `teams` contiguous slices of [0, rows) with about equal work.
///
/// \param unit all bounds except `rows` are multiples of it
/// \param work work(i) is the work of all rows before row i; called for multiples of unit and rows
template <class Work>
std::int32_t balanced_bound(std::int32_t t, std::int32_t teams, std::int32_t rows,
                            std::int32_t unit, Work const& work) {
  auto const row = [&](std::int64_t u) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(rows, u * unit));
  };
  double const target = work(rows) * t / teams;
  std::int64_t low = 0, high = (std::int64_t(rows) + unit - 1) / unit;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (work(row(middle)) < target)
      low = middle + 1;
    else
      high = middle;
  }
  return row(low);
}

/// \brief The bounds of all these slices, for hosts.
template <class Space, class Work>
Kokkos::View<std::int32_t*, Space> balanced_bounds(char const* label, std::int32_t teams,
                                                   std::int32_t rows, std::int32_t unit,
                                                   Work const& work) {
  auto const bounds = allocate_view<Kokkos::View<std::int32_t*, Space>>(
      Kokkos::DefaultHostExecutionSpace(), label, teams + 1);
  for (std::int32_t t = 0; t <= teams; ++t) bounds(t) = balanced_bound(t, teams, rows, unit, work);
  return bounds;
}

/// \brief The cost of a number of rows on a host, where time is proportional to the words
/// moved: 1.5 for each matrix entry, and about 9 for each row in the vector stages.
inline double host_work(std::int64_t entries, std::int64_t rows) {
  return 1.5 * static_cast<double>(entries) + 9.0 * static_cast<double>(rows);
}

/// \brief The first row of worker w, where the rows with these offsets are dealt to the workers of
/// a host.
template <class Offset>
std::int32_t first_row_of_worker(std::int32_t w, std::int32_t workers, std::int32_t rows,
                                 Offset const* offsets) {
  return balanced_bound(w, workers, rows, 1, [offsets](std::int32_t i) {
    return host_work(static_cast<std::int64_t>(offsets[i]), i);
  });
}

}  // namespace Impl

/// \brief Rows in equal slices, for a user-defined operator whose rows all cost about the same.
///
/// This object owns the bounds that Rows points to. The operator must keep it, and return rows() as
/// the `rows` and rows().teams as the `teams` of its device_operator().
template <class Exec>
class EqualSlices {
 public:
  /// \brief Makes as many slices as exec has threads, or as teams fit on a GPU at once. No kernel.
  /// \throws std::length_error if rows is negative or more than kernels support, 2^31 - 2^22 - 1
  EqualSlices(Exec const& exec, std::int32_t rows)
      : rows_(checked(rows)), teams_(Impl::vector_teams(exec, rows)) {
    if constexpr (Impl::is_host_space<Exec>)
      bounds_ = Impl::balanced_bounds<typename Exec::memory_space>(
          "Solder::slices::bounds", teams_, rows, 1, [](std::int32_t i) { return double(i); });
  }

  /// \brief Valid while this object, or a copy of it, lives.
  Rows rows() const { return {rows_, teams_, bounds_.data()}; }

 private:
  using Bounds = Kokkos::View<std::int32_t*, typename Exec::memory_space>;

  static std::int32_t checked(std::int32_t rows) {
    if (rows < 0 || rows > Impl::most_rows)
      throw std::length_error("Solder::EqualSlices: rows must be from 0 to " +
                              std::to_string(Impl::most_rows) + ", not " + std::to_string(rows));
    return rows;
  }

  std::int32_t rows_, teams_;
  Bounds bounds_ = Impl::no_view<Bounds>();
};

}  // namespace Solder
