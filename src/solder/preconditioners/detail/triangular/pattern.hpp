// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/preconditioners/detail/triangular/device.hpp>
#include <solder/preconditioners/detail/triangular/ordering.hpp>

namespace Solder::Impl::triangular {

/// \brief A's pattern in the order of elimination, on the host. Row i is row label[i] of A; its
/// entries are sorted. The value of entry k is A's value number source[k].
struct OrderedPattern {
  std::vector<std::int32_t> label, offsets{0}, columns, source, diagonal;
};

template <class Offset>
OrderedPattern ordered_pattern(Ordering ordering, std::int32_t rows, Offset const* offsets,
                               std::int32_t const* columns) {
  OrderedPattern P;
  P.label = ordered(ordering, rows, offsets, columns);
  std::vector<std::int32_t> rank(rows);
  for (std::int32_t i = 0; i < rows; ++i) rank[P.label[i]] = i;
  P.columns.reserve(offsets[rows]);
  P.source.reserve(offsets[rows]);
  P.diagonal.assign(rows, -1);
  std::vector<std::pair<std::int32_t, std::int32_t>> row;
  for (std::int32_t i = 0; i < rows; ++i) {
    row.clear();
    for (Offset k = offsets[P.label[i]]; k < offsets[P.label[i] + 1]; ++k)
      row.emplace_back(rank[columns[k]], static_cast<std::int32_t>(k));
    if (!std::is_sorted(row.begin(), row.end())) std::sort(row.begin(), row.end());
    for (auto const& [column, k] : row) {
      if (column == i) P.diagonal[i] = static_cast<std::int32_t>(P.columns.size());
      P.columns.push_back(column);
      P.source.push_back(k);
    }
    P.offsets.push_back(static_cast<std::int32_t>(P.columns.size()));
  }
  return P;
}

/// \brief Whether each entry k has its mirror image, at the place l, and agrees(k, l). Goes through
/// the rows with a place in each row above the diagonal that only moves forward. The columns of a
/// row ascend.
template <class F>
bool is_mirrored(OrderedPattern const& P, F const& agrees) {
  auto const rows = static_cast<std::int32_t>(P.label.size());
  std::vector<std::int32_t> next(rows);
  for (std::int32_t i = 0; i < rows; ++i) {
    std::int32_t k = P.offsets[i];
    std::int32_t const end = P.offsets[i + 1];
    for (; k < end && P.columns[k] < i; ++k) {
      std::int32_t const j = P.columns[k];
      if (next[j] == P.offsets[j + 1] || P.columns[next[j]] != i || !agrees(k, next[j]))
        return false;
      ++next[j];
    }
    bool const has_diagonal = k < end && P.columns[k] == i;
    if (has_diagonal && !agrees(k, k)) return false;
    next[i] = k + has_diagonal;
  }
  for (std::int32_t i = 0; i < rows; ++i)
    if (next[i] < P.offsets[i + 1]) return false;
  return true;
}
inline bool is_symmetric(OrderedPattern const& P) {
  return is_mirrored(P, [](std::int32_t, std::int32_t) { return true; });
}

/// \brief One triangle of an ordered pattern. Rows are counted from the one that is solved first.
struct Triangle {
  Dependencies needs;
  std::vector<std::int32_t> label, source, diagonal;
};

inline Triangle triangle_of(OrderedPattern const& P, bool lower) {
  auto const rows = static_cast<std::int32_t>(P.label.size());
  Triangle T;
  T.needs.columns.reserve(P.columns.size() / 2 + 1);
  T.source.reserve(P.columns.size() / 2 + 1);
  for (std::int32_t turn = 0; turn < rows; ++turn) {
    std::int32_t const i = lower ? turn : rows - 1 - turn;
    std::int32_t const from = lower ? P.offsets[i] : P.diagonal[i] + 1,
                       to = lower ? P.diagonal[i] : P.offsets[i + 1];
    for (std::int32_t k = from; k < to; ++k) {
      T.needs.columns.push_back(lower ? P.columns[k] : rows - 1 - P.columns[k]);
      T.source.push_back(k);
    }
    T.needs.offsets.push_back(static_cast<std::int32_t>(T.needs.columns.size()));
    T.label.push_back(P.label[i]);
    if (!lower) T.diagonal.push_back(P.diagonal[i]);
  }
  return T;
}

/// \brief Whether the columns of each row ascend. Waits for the result.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS bool rows_ascend(Exec const& exec, std::int32_t rows, Offset const* offsets,
                                      std::int32_t const* columns) {
  return first_row(
             exec, rows, KOKKOS_LAMBDA(int i, std::int32_t& first) {
               for (Offset k = offsets[i] + 1; i < first && k < offsets[i + 1]; ++k)
                 if (columns[k] <= columns[k - 1]) first = i;
             }) < 0;
}

/// \brief The ordered pattern on the device. In natural order there are no labels. If A's rows are
/// also sorted, the pattern is A's own, and there are no sources.
template <class Exec>
struct DevicePattern {
  using Indices = Kokkos::View<std::int32_t*, typename Exec::memory_space>;
  using Columns = Kokkos::View<std::int32_t const*, typename Exec::memory_space>;

  std::int32_t rows = 0;
  Indices label = no_view<Indices>(), offsets = label, source = label, diagonal = label;
  Columns columns = label;

  DevicePattern() = default;
  DevicePattern(Exec const& exec, OrderedPattern const& P, bool is_natural)
      : rows(static_cast<std::int32_t>(P.label.size())),
        label(is_natural ? no_view<Indices>() : on_device(exec, P.label)),
        offsets(on_device(exec, P.offsets)),
        source(on_device(exec, P.source)),
        diagonal(on_device(exec, P.diagonal)),
        columns(on_device(exec, P.columns)) {}

  /// \brief The pattern of a matrix whose rows are sorted. One kernel.
  template <class Offset>
  SOLDER_MAKES_LAMBDAS static DevicePattern of_sorted(Exec const& exec, std::int32_t rows,
                                                      Offset const* of_A, Columns const& columns) {
    DevicePattern P;
    P.rows = rows;
    P.columns = columns;
    P.offsets = allocate<std::int32_t>(exec, "Solder::incomplete::pattern", std::int64_t(rows) + 1);
    P.diagonal = allocate<std::int32_t>(exec, "Solder::incomplete::pattern", rows);
    auto const* const all = columns.data();
    auto *const to = P.offsets.data(), *const places = P.diagonal.data();
    Kokkos::parallel_for(
        "Solder::incomplete::pattern", Kokkos::RangePolicy<Exec>(exec, 0, rows + 1),
        KOKKOS_LAMBDA(int i) {
          auto const begin = static_cast<std::int32_t>(of_A[i]);
          to[i] = begin;
          if (i == rows) return;
          auto const end = static_cast<std::int32_t>(of_A[i + 1]);
          std::int32_t const at = place_of(all, begin, end, i);
          places[i] = at < end && all[at] == i ? at : -1;
        });
    return P;
  }

  /// \brief The first row of A without a diagonal entry, or -1. Waits for the result.
  SOLDER_MAKES_LAMBDAS std::int32_t without_diagonal(Exec const& exec) const {
    auto const* const places = diagonal.data();
    auto const* const labels = label.data();
    return first_row(
        exec, rows, KOKKOS_LAMBDA(int i, std::int32_t& first) {
          std::int32_t const row = labels == nullptr ? i : labels[i];
          if (places[i] < 0 && row < first) first = row;
        });
  }
  /// \brief The number of rows with a diagonal entry. Waits for the result.
  SOLDER_MAKES_LAMBDAS std::int64_t diagonal_entries(Exec const& exec) const {
    auto const* const places = diagonal.data();
    std::int64_t entries = 0;
    Kokkos::parallel_reduce(
        "Solder::triangular::count", Kokkos::RangePolicy<Exec>(exec, 0, rows),
        KOKKOS_LAMBDA(int i, std::int64_t& sum) { sum += places[i] >= 0; }, entries);
    return entries;
  }
  /// \brief For a triangle whose diagonal of ones is not stored. If a row has no diagonal entry,
  /// the place of that entry is set to the end of the row's lower part, or to just before its upper
  /// part.
  SOLDER_MAKES_LAMBDAS void place_missing_ones(Exec const& exec, bool lower) const {
    auto *const places = diagonal.data(), *const begins = offsets.data();
    auto const* const all = columns.data();
    Kokkos::parallel_for(
        "Solder::triangular::ones", Kokkos::RangePolicy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(int i) {
          if (places[i] >= 0) return;
          std::int32_t const at = place_of(all, begins[i], begins[i + 1], i);
          places[i] = lower ? at : at - 1;
        });
  }
  /// \brief The first row of A with an entry whose mirror image is missing, or -1. Waits for the
  /// result.
  SOLDER_MAKES_LAMBDAS std::int32_t unsymmetric(Exec const& exec) const {
    auto const* const labels = label.data();
    auto const *const begins = offsets.data(), *const all = columns.data();
    return first_row(
        exec, rows, KOKKOS_LAMBDA(int i, std::int32_t& first) {
          std::int32_t const row = labels == nullptr ? i : labels[i];
          if (row >= first) return;
          for (std::int32_t k = begins[i]; k < begins[i + 1]; ++k) {
            std::int32_t const j = all[k], end = begins[j + 1];
            std::int32_t const at = place_of(all, begins[j], end, i);
            if (!(at < end && all[at] == i)) first = row;
          }
        });
  }
};

/// \brief One triangle of a pattern whose rows are sorted, without the diagonal.
struct DeviceTriangle {
  std::int32_t rows;
  bool lower;
  std::int32_t const *offsets, *columns, *diagonal;

  /// \brief The row that is solved in turn `turn`, or conversely the turn of a row.
  KOKKOS_FUNCTION std::int32_t in_turn(std::int32_t turn) const {
    return lower ? turn : rows - 1 - turn;
  }
  KOKKOS_FUNCTION std::int32_t begin(std::int32_t i) const {
    return lower ? offsets[i] : diagonal[i] + 1;
  }
  KOKKOS_FUNCTION std::int32_t end(std::int32_t i) const {
    return lower ? diagonal[i] : offsets[i + 1];
  }
};

template <class Exec>
DeviceTriangle device_triangle(DevicePattern<Exec> const& P, bool lower) {
  return {P.rows, lower, P.offsets.data(), P.columns.data(), P.diagonal.data()};
}

}  // namespace Solder::Impl::triangular
