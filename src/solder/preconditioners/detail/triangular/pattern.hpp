// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/triangular/device.hpp>
#include <solder/preconditioners/detail/triangular/ordering.hpp>

namespace Solder::Impl::triangular {

/// \brief A's pattern in the order of elimination, on the host. Row i is row label[i] of A; its
/// entries are sorted. The value of entry k is A's value number source[k].
struct OrderedPattern {
  std::vector<std::int32_t> label, offsets{0}, columns, source, diagonal;
};

/// \param order A's rows
template <class Offset>
OrderedPattern ordered_pattern(std::vector<std::int32_t> order, Offset const* offsets,
                               std::int32_t const* columns) {
  auto const rows = static_cast<std::int32_t>(order.size());
  OrderedPattern P;
  P.label = std::move(order);
  std::vector<std::uint32_t> rank(rows);
  for (std::int32_t i = 0; i < rows; ++i) rank[P.label[i]] = static_cast<std::uint32_t>(i);
  P.columns.reserve(offsets[rows]);
  P.source.reserve(offsets[rows]);
  P.offsets.reserve(std::size_t(rows) + 1);
  P.diagonal.assign(rows, -1);
  std::vector<std::uint64_t> row;  // of each entry: its rank, and its place in the lower half
  for (std::int32_t i = 0; i < rows; ++i) {
    row.clear();
    for (Offset k = offsets[P.label[i]]; k < offsets[P.label[i] + 1]; ++k)
      row.push_back(std::uint64_t(rank[columns[k]]) << 32 | static_cast<std::uint32_t>(k));
    if (!std::is_sorted(row.begin(), row.end())) std::sort(row.begin(), row.end());
    for (std::uint64_t const entry : row) {
      auto const column = static_cast<std::int32_t>(entry >> 32);
      if (column == i) P.diagonal[i] = static_cast<std::int32_t>(P.columns.size());
      P.columns.push_back(column);
      P.source.push_back(static_cast<std::int32_t>(entry & 0xffff'ffff));
    }
    P.offsets.push_back(static_cast<std::int32_t>(P.columns.size()));
  }
  return P;
}

/// \brief One triangle of an ordered pattern on the host. Rows are counted from the one that is
/// solved first.
struct Triangle {
  Dependencies needs;
  std::vector<std::int32_t> label, source, diagonal;
};

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

  /// \brief The same pattern with its rows, which are sorted and in natural order, in another
  /// order.
  ///
  /// The place of an entry is the number of those of its row that come before it. So the work grows
  /// with the square of a row's length. Some eight kernels.
  /// \param rows_in_order each row, when its turn comes
  SOLDER_MAKES_LAMBDAS DevicePattern in_order(Exec const& exec,
                                              Indices const& rows_in_order) const {
    auto const indices = [&](std::int64_t size) {
      return allocate<std::int32_t>(exec, "Solder::incomplete::pattern", size);
    };
    DevicePattern P;
    P.rows = rows;
    P.label = rows_in_order;
    P.offsets = indices(std::int64_t(rows) + 1);
    P.diagonal = indices(rows);
    P.source = indices(columns.extent(0));
    Indices const ordered = indices(columns.extent(0)), turns = indices(rows),
                  turn_of_entries = indices(columns.extent(0));
    auto const *const row = rows_in_order.data(), *const begins = offsets.data(),
                      *const all = columns.data();
    auto *const turn = turns.data(), *const of_entry = turn_of_entries.data(),
                *const to = P.offsets.data(), *const places = P.diagonal.data(),
                *const sources = P.source.data(), *const entries = ordered.data();
    Kokkos::parallel_for(
        "Solder::incomplete::turns", Kokkos::RangePolicy<Exec>(exec, 0, rows),
        KOKKOS_LAMBDA(int i) {
          turn[row[i]] = i;
          places[i] = -1;
        });
    Kokkos::parallel_for(
        "Solder::incomplete::turns", Kokkos::RangePolicy<Exec>(exec, 0, columns.extent(0)),
        KOKKOS_LAMBDA(int k) { of_entry[k] = turn[all[k]]; });
    offsets_of_lengths(
        exec, to, rows,
        KOKKOS_LAMBDA(std::int32_t i) { return begins[row[i] + 1] - begins[row[i]]; });
    constexpr int lanes = is_host_space<Exec> ? 1 : 8;  // that share a row
    Kokkos::parallel_for(
        "Solder::incomplete::order",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                   std::int64_t(rows) * lanes),
        KOKKOS_LAMBDA(std::int64_t t) {
          auto const i = static_cast<std::int32_t>(t / lanes);
          std::int32_t const begin = begins[row[i]], end = begins[row[i] + 1];
          for (auto k = begin + static_cast<std::int32_t>(t % lanes); k < end; k += lanes) {
            std::int32_t place = to[i];
            for (std::int32_t l = begin; l < end; ++l) place += of_entry[l] < of_entry[k];
            entries[place] = of_entry[k];
            sources[place] = k;
            if (of_entry[k] == i) places[i] = place;
          }
        });
    exec.fence("Solder::incomplete: the pattern is ordered");
    P.columns = ordered;
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
    if constexpr (is_host_space<Exec>)
      if (is_mirrored(rows, begins, all, [](std::int32_t, std::int32_t) { return true; }))
        return -1;
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

/// \brief The same triangle on the host.
/// \param T in the host's memory, as are the others
/// \param label the number of each row in vectors; null: its own
inline Triangle triangle_of(DeviceTriangle const& T, std::int32_t const* label) {
  Triangle of;
  std::int32_t entries = 0;
  for (std::int32_t i = 0; i < T.rows; ++i) entries += T.end(i) - T.begin(i);
  of.needs.columns.reserve(entries);
  of.source.reserve(entries);
  of.needs.offsets.reserve(std::size_t(T.rows) + 1);
  of.label.reserve(T.rows);
  if (!T.lower) of.diagonal.reserve(T.rows);
  for (std::int32_t turn = 0; turn < T.rows; ++turn) {
    std::int32_t const i = T.in_turn(turn);
    for (std::int32_t k = T.begin(i); k < T.end(i); ++k) {
      of.needs.columns.push_back(T.in_turn(T.columns[k]));
      of.source.push_back(k);
    }
    of.needs.offsets.push_back(static_cast<std::int32_t>(of.needs.columns.size()));
    of.label.push_back(label == nullptr ? i : label[i]);
    if (!T.lower) of.diagonal.push_back(T.diagonal[i]);
  }
  return of;
}

template <class Exec>
DeviceTriangle device_triangle(DevicePattern<Exec> const& P, bool lower) {
  return {P.rows, lower, P.offsets.data(), P.columns.data(), P.diagonal.data()};
}

}  // namespace Solder::Impl::triangular
