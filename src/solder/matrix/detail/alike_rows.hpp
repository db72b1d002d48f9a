// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>

namespace Solder::Impl {

/// \brief On a GPU: which rows have the same columns, in the same order, as the row before.
/// \return [rows]; temporary
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<std::int8_t, Exec> repeated_rows(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A) {
  auto const repeats =
      allocate_temporary<std::int8_t>(exec, "Solder::alike_rows::repeated", A.rows());
  auto const a = A.device_operator();
  std::int8_t* const to = repeats.data();
  for_each_row_group(
      exec, "Solder::alike_rows::repeated", A.rows(), row_lane_bits<Exec>(A.rows(), A.nonzeros()),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        std::int32_t const begin = a.row_offsets[i], length = a.row_offsets[i + 1] - begin,
                           before = i > 0 ? a.row_offsets[i - 1] : begin;
        bool same = i > 0 && length == begin - before;
        for (std::int32_t k = group.rank(); same && k < length; k += group.size())
          same = a.columns[begin + k] == a.columns[before + k];
        bool const all = group.votes(!same) == 0;
        if (group.rank() == 0) to[i] = all ? 1 : 0;
      });
  return repeats;
}

/// \brief Groups of successive rows with the same columns, such as those of the unknowns of a node.
template <class Exec>
struct AlikeRows {
  /// The most rows of a group. A product's table has sums for each: with more, fewer warps fit.
  static constexpr std::int32_t most = 3;

  DeviceArray<std::int32_t, Exec> first;  ///< [groups + 1]: the first row of each; temporary
  std::int32_t groups;
};

/// \brief The groups of a matrix's rows. Waits for the device.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS AlikeRows<Exec> alike_rows(Exec const& exec,
                                                CsrMatrix<Scalar, Exec> const& A) {
  std::int32_t const n = A.rows();
  auto const repeats_view = repeated_rows(exec, A);
  auto const places_view =
      allocate_temporary<std::int32_t>(exec, "Solder::alike_rows::groups", n + std::int64_t(1));
  std::int8_t const* const repeats = repeats_view.data();
  std::int32_t* const places = places_view.data();
  // A group begins where a row repeats none, and every `most` rows from there on; also at every
  // 60th row, so that no row has to look far back.
  auto const begins = KOKKOS_LAMBDA(std::int32_t i)->std::int32_t {
    std::int32_t first = i;
    while (first % 60 != 0 && repeats[first] != 0) --first;
    return (i - first) % AlikeRows<Exec>::most == 0;
  };
  AlikeRows<Exec> rows;
  rows.groups = static_cast<std::int32_t>(offsets_of_lengths(exec, places, n, begins).nonzeros);
  rows.first = allocate_temporary<std::int32_t>(exec, "Solder::alike_rows::first_of_group",
                                                rows.groups + std::int64_t(1));
  std::int32_t* const to = rows.first.data();
  Kokkos::parallel_for(
      "Solder::alike_rows::groups", Kokkos::RangePolicy<Exec>(exec, 0, n + 1),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (i == n || places[i + 1] != places[i]) to[places[i]] = i;
      });
  exec.fence("Solder::alike_rows: the places are free");
  return rows;
}

/// \brief The same, if there are at most half as many groups as rows.
template <class Scalar, class Exec>
std::optional<AlikeRows<Exec>> many_alike_rows(Exec const& exec, CsrMatrix<Scalar, Exec> const& A) {
  if (A.rows() == 0) return {};
  auto const rows = alike_rows(exec, A);
  return 2 * std::int64_t(rows.groups) <= A.rows() ? std::optional(rows) : std::nullopt;
}

}  // namespace Solder::Impl
