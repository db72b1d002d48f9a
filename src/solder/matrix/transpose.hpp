// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/alike_rows.hpp>
#include <solder/matrix/detail/transpose_on_hosts.hpp>
#include <solder/matrix/offsets.hpp>

namespace Solder {

namespace Impl {

/// \brief Where an entry of the transpose comes from: the row in A in the upper half, and the place
/// in that row in the lower half. Sorting a row of the transpose by keys sorts it by column.
using TransposeKey = std::uint64_t;

/// \brief Who takes a row: 2^lane_bits lanes, a warp, a team in its scratch, a team in memory.
enum class TransposeRows { lanes, warp, team, memory };  // the whole device takes the longest rows

/// \brief The most keys in the scratch of a warp and of a team, and the number of entries above
/// which a whole team takes a row of A.
inline constexpr std::int32_t transpose_warp_keys = 256, transpose_team_keys = 2048,
                              transpose_long_row = 1024;
/// \brief Up to this number of rows, a pass looks at all rows instead of using a list.
inline constexpr std::int32_t transpose_few_rows = 1 << 15;
/// \brief The number of keys above which the whole device sorts a row.
inline constexpr std::int32_t transpose_most_of_team = 1 << 16;

/// \brief Puts the key of each entry into its row of the transpose, in any order.
template <class Exec, class Offset, TransposeRows by>
struct TransposeScatterKernel {
  Offset const* offsets;  ///< of A
  std::int32_t const* columns;
  std::int32_t const* list;  ///< of long rows, for teams
  std::int32_t rows, batch, lane_bits;
  Offset const* starts;  ///< of the transpose
  std::int32_t* left;    ///< entries that are still missing in each row of the transpose
  TransposeKey* keys;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    constexpr std::int32_t in_warp = WarpLanes<Exec>::size();
    std::int32_t const rank = member.team_rank() * in_warp + lane_number();
    if constexpr (by == TransposeRows::team) {
      scatter(list[member.league_rank()], rank, member.team_size() * in_warp);
    } else {
      std::int32_t const lanes = 1 << lane_bits,
                         end = Kokkos::min((member.league_rank() + 1) * batch, rows);
      for (std::int32_t row = member.league_rank() * batch + (rank >> lane_bits); row < end;
           row += (member.team_size() * in_warp) >> lane_bits)
        if (offsets[row + 1] - offsets[row] <= Offset(transpose_long_row))
          scatter(row, rank & (lanes - 1), lanes);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void scatter(std::int32_t row, std::int32_t lane,
                                           std::int32_t lanes) const {
    auto const begin = offsets[row];
    auto const length = static_cast<std::int32_t>(offsets[row + 1] - begin);
    for (std::int32_t k = lane; k < length; k += lanes) {
      std::int32_t const column = columns[begin + k];
      std::int32_t const place = Kokkos::atomic_fetch_sub(&left[column], 1) - 1;
      keys[starts[column] + place] =
          static_cast<TransposeKey>(row) << 32 | static_cast<std::uint32_t>(k);
    }
  }
};

/// \brief The arrays with which keys are sorted and entries fetched.
template <class Scalar, class Offset>
struct TransposeEntries {
  Offset const* offsets;  ///< of A
  Scalar const* values;
  Offset const* starts;  ///< of the transpose
  TransposeKey* keys;
  std::int32_t* new_columns;
  Scalar* new_values;
  Offset* places;  ///< of the transpose's entries in A; null: not wanted

  KOKKOS_FORCEINLINE_FUNCTION std::int32_t length(std::int32_t row) const {
    return static_cast<std::int32_t>(starts[row + 1] - starts[row]);
  }

  /// \brief Fetches the entry at `place` of the transpose.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(Offset place, TransposeKey key) const {
    auto const row = static_cast<std::int32_t>(key >> 32);
    Offset const from = offsets[row] + static_cast<std::uint32_t>(key);
    new_columns[place] = row;
    new_values[place] = conjugated(values[from]);
    if (places != nullptr) places[place] = from;
  }
};

/// \brief Sorts the keys of each row of the transpose and fetches its entries.
template <class Exec, class Scalar, class Offset, TransposeRows by>
struct TransposeSortKernel {
  static constexpr int warps = by == TransposeRows::memory ? 2 * warps_of_rows : warps_of_rows;
  static constexpr int least_teams = by == TransposeRows::warp ? 5 : 1;

  TransposeEntries<Scalar, Offset> entries;
  std::int32_t const* list;  ///< of rows; null: all
  std::int32_t rows, batch;
  std::int32_t lane_bits;  ///< for rows in registers; without a list a warp takes longer ones

  KOKKOS_FUNCTION static constexpr int scratch_bytes() {
    constexpr int key = sizeof(TransposeKey);
    if (by == TransposeRows::warp) return warps * transpose_warp_keys * key;
    return by == TransposeRows::team ? transpose_team_keys * key : 0;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int32_t const begin = member.league_rank() * batch, end = Kokkos::min(begin + batch, rows),
                       warp_rank = member.team_rank();
    if constexpr (by == TransposeRows::lanes) {
      std::int32_t const in_warp = warp >> lane_bits;
      for (std::int32_t base = begin + warp_rank * in_warp; base < end;
           base += member.team_size() * in_warp)
        sort_in_registers(base + (lane_number() >> lane_bits), end);
    } else if constexpr (by == TransposeRows::memory) {
      for (std::int32_t t = begin; t < end; ++t)
        sort_in_memory(TeamLanes<Exec, Member>(member, nullptr), list[t]);
    } else {
      auto* const scratch =
          static_cast<TransposeKey*>(member.team_scratch(0).get_shmem(scratch_bytes()));
      if constexpr (by == TransposeRows::warp) {
        for (std::int32_t t = begin + warp_rank; t < end; t += member.team_size()) {
          std::int32_t const row = list == nullptr ? t : list[t], length = entries.length(row);
          if (length > 1 << lane_bits && length <= transpose_warp_keys)
            sort_in_scratch(WarpLanes<Exec>(), row, scratch + warp_rank * transpose_warp_keys);
        }
      } else {
        for (std::int32_t t = begin; t < end; ++t)
          sort_in_scratch(TeamLanes<Exec, Member>(member, nullptr), list[t], scratch);
      }
    }
  }

  /// \brief A bitonic network over 2^lane_bits lanes with one key each. Skips longer rows.
  KOKKOS_FORCEINLINE_FUNCTION void sort_in_registers(std::int32_t row, std::int32_t end) const {
    std::int32_t const lanes = 1 << lane_bits, lane = lane_number() & (lanes - 1);
    Offset const start = row < end ? entries.starts[row] : 0;
    std::int32_t const length = row < end ? entries.length(row) : 0;
    bool const mine = length <= lanes && lane < length;
    TransposeKey key = mine ? entries.keys[start + lane] : ~TransposeKey(0);
    // All lanes of a warp take part, because they exchange their keys.
    for (std::int32_t run = 2; run <= lanes; run *= 2)
      for (std::int32_t m = run / 2; m > 0; m /= 2) {
        TransposeKey const other = lane_exchange(key, m);
        bool const smaller = ((lane & m) == 0) == ((lane & run) == 0);
        if (smaller == (other < key)) key = other;
      }
    if (mine) entries.fetch(start + lane, key);
  }

  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION void sort_in_memory(Lanes const& lanes, std::int32_t row) const {
    TransposeKey* const keys = entries.keys + entries.starts[row];
    sort_keys(lanes, keys, entries.length(row));
    fetch(lanes, row, keys);
  }

  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION void sort_in_scratch(Lanes const& lanes, std::int32_t row,
                                                   TransposeKey* scratch) const {
    TransposeKey const* const from = entries.keys + entries.starts[row];
    std::int32_t const length = entries.length(row);
    if constexpr (by == TransposeRows::warp) {
      static_assert(transpose_warp_keys <= most_warp_keys);
      sort_by_warp(from, scratch, length);
    } else {
      for (std::int32_t k = lanes.rank(); k < length; k += lanes.size()) scratch[k] = from[k];
      sort_keys(lanes, scratch, length);
    }
    fetch(lanes, row, scratch);
    lanes.barrier();  // the scratch is free
  }

  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION void fetch(Lanes const& lanes, std::int32_t row,
                                         TransposeKey const* keys) const {
    Offset const start = entries.starts[row];
    std::int32_t const length = entries.length(row);
    for (std::int32_t k = lanes.rank(); k < length; k += lanes.size())
      entries.fetch(start + k, keys[k]);
  }
};

/// \brief The last step for a row that the whole device has sorted.
template <class Scalar, class Offset>
struct TransposeFetch {
  TransposeEntries<Scalar, Offset> entries;
  Offset start;

  KOKKOS_FUNCTION void operator()(std::int32_t k) const {
    entries.fetch(start + k, entries.keys[start + k]);
  }
};

/// \brief The rows of a matrix, given by its offsets, with more than `above` and at most `most`
/// entries.
template <class Exec, class Offset>
Kokkos::View<std::int32_t*, typename Exec::memory_space> transpose_list(Exec const& exec,
                                                                        Offset const* offsets,
                                                                        std::int32_t rows,
                                                                        std::int64_t above,
                                                                        std::int64_t most) {
  auto const list = allocate_temporary<std::int32_t>(exec, "Solder::transpose::rows",
                                                     list_rows(exec, offsets, rows, above, most));
  if (list.extent(0) > 0) list_rows(exec, offsets, rows, above, most, list.data());
  return list;
}

/// \brief Adds the number of entries in column j to counts[j].
template <class Exec>
SOLDER_MAKES_LAMBDAS void count_columns(Exec const& exec, std::int64_t nonzeros,
                                        std::int32_t const* columns, std::int32_t* counts) {
  Kokkos::parallel_for(
      "Solder::transpose::count",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, nonzeros),
      KOKKOS_LAMBDA(std::int64_t k) { Kokkos::atomic_inc(&counts[columns[k]]); });
}

/// \brief The keys of all entries, grouped by their rows of the transpose.
template <class Exec, class Scalar, class Offset>
DeviceArray<TransposeKey, Exec> scatter_keys(Exec const& exec,
                                             CsrMatrix<Scalar, Exec, Offset> const& A,
                                             Offset const* starts, std::int32_t* left) {
  auto const keys = allocate_temporary<TransposeKey>(exec, "Solder::transpose::keys", A.nonzeros());
  std::int32_t const n = A.rows(), lane_bits = row_lane_bits<Exec>(n, A.nonzeros()),
                     batch = 4 * warps_of_rows * (warp >> lane_bits);
  auto const send = [&]<TransposeRows by>(std::integral_constant<TransposeRows, by>,
                                          std::int32_t teams, std::int32_t const* list) {
    if (teams == 0) return;
    Kokkos::parallel_for(
        "Solder::transpose::scatter", row_policy<Exec, warps_of_rows>(exec, teams, 0),
        TransposeScatterKernel<Exec, Offset, by>{A.row_offsets().data(), A.column_indices().data(),
                                                 list, n, batch, lane_bits, starts, left,
                                                 keys.data()});
  };
  send(std::integral_constant<TransposeRows, TransposeRows::lanes>(),
       static_cast<std::int32_t>((n + std::int64_t(batch) - 1) / batch), nullptr);
  if (A.longest_row() > transpose_long_row) {
    auto const list =
        transpose_list(exec, A.row_offsets().data(), n, transpose_long_row, A.longest_row());
    send(std::integral_constant<TransposeRows, TransposeRows::team>(),
         static_cast<std::int32_t>(list.extent(0)), list.data());
    exec.fence("Solder::transpose: the list is free");
  }
  return keys;
}

template <TransposeRows by, class Exec, class Scalar, class Offset>
void sort_transpose_rows(Exec const& exec, TransposeEntries<Scalar, Offset> const& entries,
                         std::int32_t const* list, std::int32_t rows, std::int32_t lane_bits) {
  using Kernel = TransposeSortKernel<Exec, Scalar, Offset, by>;
  if (rows == 0) return;
  std::int32_t batch = 1;
  if constexpr (by == TransposeRows::lanes) batch = 4 * Kernel::warps * (warp >> lane_bits);
  if constexpr (by == TransposeRows::warp) batch = Kernel::warps;
  Kokkos::parallel_for("Solder::transpose::sort",
                       row_policy<Exec, Kernel::warps, Kernel::least_teams>(
                           exec, (rows - 1) / batch + 1, Kernel::scratch_bytes()),
                       Kernel{entries, list, rows, batch, lane_bits});
}

/// \brief Sorts listed rows one after another, each with the whole device. Waits for each.
template <class Exec, class Scalar, class Offset, class List>
void sort_longest_transpose_rows(Exec const& exec, TransposeEntries<Scalar, Offset> const& entries,
                                 Kokkos::View<Offset*, typename Exec::memory_space> const& starts,
                                 List const& list) {
  std::vector<std::int32_t> rows(list.extent(0));
  Impl::copy(exec, Kokkos::View<std::int32_t*, Kokkos::HostSpace>(rows.data(), rows.size()), list);
  exec.fence("Solder::transpose: the list is on the host");
  for (std::int32_t const row : rows) {
    Offset bounds[2];
    Impl::copy(exec, Kokkos::View<Offset*, Kokkos::HostSpace>(bounds, 2),
               Kokkos::subview(starts, std::make_pair(row, row + 2)));
    exec.fence("Solder::transpose: the bounds of a row are on the host");
    auto const length = static_cast<std::uint32_t>(bounds[1] - bounds[0]);
    sort_many_keys(exec, "Solder::transpose::sort_long", entries.keys + bounds[0], length);
    Kokkos::parallel_for("Solder::transpose::fetch_long",
                         Kokkos::RangePolicy<Exec>(exec, 0, static_cast<std::int32_t>(length)),
                         TransposeFetch<Scalar, Offset>{entries, bounds[0]});
  }
}

/// \brief conjugate_transpose() on GPUs.
/// \param places [nonzeros], to be filled in: see TransposeEntries
template <class Exec, class Scalar, class Offset>
CsrMatrix<Scalar, Exec, Offset> transpose_on_gpus(Exec const& exec,
                                                  CsrMatrix<Scalar, Exec, Offset> const& A,
                                                  Offset* places = nullptr) {
  std::int32_t const n = A.columns();
  std::int64_t const nonzeros = A.nonzeros();
  auto const counts = allocate_temporary<std::int32_t>(exec, "Solder::transpose::counts", n);
  Impl::clear(exec, counts);
  count_columns(exec, nonzeros, A.column_indices().data(), counts.data());
  auto const starts = allocate<Offset>(exec, "Solder::transpose::row_offsets", n + std::int64_t(1));
  std::int32_t const longest =
      offsets_of_lengths(exec, starts.data(), n, LengthsInArray<std::int32_t>{counts.data()})
          .longest;
  auto const keys = scatter_keys(exec, A, starts.data(), counts.data());
  auto const columns = allocate<std::int32_t>(exec, "Solder::transpose::columns", nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::transpose::values", nonzeros);
  TransposeEntries<Scalar, Offset> const entries{
      A.row_offsets().data(), A.values().data(), starts.data(), keys.data(),
      columns.data(),         values.data(),     places};
  CsrMatrix<Scalar, Exec, Offset> const result(exec, n, A.rows(), starts, columns, values,
                                               {longest});
  bool const few_rows = n <= transpose_few_rows;
  std::int32_t lane_bits = 0;  // enough lanes for the longest row, or for twice the mean
  while (lane_bits < 5 && (1 << lane_bits) < longest &&
         (few_rows || (std::int64_t(n) << lane_bits) < 2 * nonzeros))
    ++lane_bits;
  sort_transpose_rows<TransposeRows::lanes>(exec, entries, nullptr, n, lane_bits);
  auto const listed = [&](std::int64_t above, std::int64_t most) {
    return transpose_list(exec, starts.data(), n, above, most);
  };
  auto const rows = [](auto const& list) { return static_cast<std::int32_t>(list.extent(0)); };
  std::int32_t const of_warps = transpose_warp_keys, of_teams = transpose_team_keys,
                     most = transpose_most_of_team;
  if (longest > 1 << lane_bits && few_rows) {
    sort_transpose_rows<TransposeRows::warp>(exec, entries, nullptr, n, lane_bits);
  } else if (longest > 1 << lane_bits) {
    auto const list = listed(1 << lane_bits, of_warps);
    sort_transpose_rows<TransposeRows::warp>(exec, entries, list.data(), rows(list), lane_bits);
    exec.fence("Solder::transpose: the list of warps is free");
  }
  if (longest > of_warps) {
    auto const list = listed(of_warps, of_teams);
    sort_transpose_rows<TransposeRows::team>(exec, entries, list.data(), rows(list), 0);
    exec.fence("Solder::transpose: the list of teams is free");
  }
  if (longest > of_teams) {
    auto const list = listed(of_teams, most);
    sort_transpose_rows<TransposeRows::memory>(exec, entries, list.data(), rows(list), 0);
    exec.fence("Solder::transpose: the list of large teams is free");
  }
  if (longest > most) sort_longest_transpose_rows(exec, entries, starts, listed(most, longest));
  exec.fence("Solder::transpose: the keys are free");
  return result;
}

/// \brief The same of a matrix whose rows have the same columns in groups. First those of each
/// group's first row are transposed, with the entries' places in the row as values. Then each entry
/// is replaced by those of all rows of its group. A has no duplicates.
template <class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> transpose_of_groups(Exec const& exec,
                                                                 CsrMatrix<Scalar, Exec> const& A,
                                                                 AlikeRows<Exec> const& rows,
                                                                 std::int32_t* of_entries) {
  std::int32_t const n = A.columns();
  auto const a = A.device_operator();
  std::int32_t const* const first = rows.first.data();
  auto const offsets_view = allocate_temporary<std::int32_t>(exec, "Solder::transpose::offsets",
                                                             rows.groups + std::int64_t(1));
  std::int32_t* const offsets = offsets_view.data();
  auto const totals = offsets_of_lengths(
      exec, offsets, rows.groups, KOKKOS_LAMBDA(std::int32_t g)->std::int32_t {
        return a.row_offsets[first[g] + 1] - a.row_offsets[first[g]];
      });
  auto const columns_view =
      allocate_temporary<std::int32_t>(exec, "Solder::transpose::columns", totals.nonzeros);
  auto const places_view =
      allocate_temporary<Scalar>(exec, "Solder::transpose::places", totals.nonzeros);
  std::int32_t* const columns = columns_view.data();
  Scalar* const places = places_view.data();
  for_each_row_group(
      exec, "Solder::transpose::first_rows", rows.groups,
      row_lane_bits<Exec>(rows.groups, totals.nonzeros),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t g) {
        std::int32_t const from = a.row_offsets[first[g]] - offsets[g];
        for (std::int32_t k = offsets[g] + group.rank(); k < offsets[g + 1]; k += group.size()) {
          columns[k] = a.columns[from + k];
          places[k] = Scalar(to_real<Scalar>(k - offsets[g]));
        }
      });
  auto const of_groups = Temporaries<Exec>::temporarily([&] {
    return transpose_on_gpus(
        exec, CsrMatrix<Scalar, Exec>(exec, rows.groups, n, offsets_view, columns_view, places_view,
                                      {totals.longest}));
  });
  auto const t = of_groups.device_operator();
  auto const starts_view =
      allocate<std::int32_t>(exec, "Solder::transpose::row_offsets", n + std::int64_t(1));
  std::int32_t* const starts = starts_view.data();
  std::int32_t const lane_bits = row_lane_bits<Exec>(n, totals.nonzeros);
  for_each_row_group(
      exec, "Solder::transpose::lengths", n, lane_bits,
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        double length = 0;
        for (std::int32_t k = t.row_offsets[i] + group.rank(); k < t.row_offsets[i + 1];
             k += group.size())
          length += first[t.columns[k] + 1] - first[t.columns[k]];
        length = group.sum(length);
        if (group.rank() == 0) starts[i] = static_cast<std::int32_t>(length);
      });
  std::int32_t const longest =
      offsets_of_lengths(exec, starts, n, LengthsInArray<std::int32_t>{starts}).longest;
  auto const new_columns_view =
      allocate<std::int32_t>(exec, "Solder::transpose::columns", A.nonzeros());
  auto const new_values_view = allocate<Scalar>(exec, "Solder::transpose::values", A.nonzeros());
  std::int32_t* const new_columns = new_columns_view.data();
  Scalar* const new_values = new_values_view.data();
  for_each_row_group(
      exec, "Solder::transpose::expand", n, lane_bits,
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        std::int32_t at = starts[i];
        std::int32_t const end = t.row_offsets[i + 1];
        for (std::int32_t begin = t.row_offsets[i]; begin < end; begin += group.size()) {
          std::int32_t const k = begin + group.rank();
          std::int32_t row = 0, alike = 0;
          if (k < end) {
            row = first[t.columns[k]];
            alike = first[t.columns[k] + 1] - row;
          }
          static_assert(AlikeRows<Exec>::most <= 3);
          std::uint32_t const ones = group.votes((alike & 1) != 0),
                              twos = group.votes((alike & 2) != 0),
                              before = (std::uint32_t(1) << group.rank()) - 1;
          std::int32_t const place = at + bits_set(ones & before) + 2 * bits_set(twos & before);
          for (std::int32_t r = 0; r < alike; ++r) {
            std::int32_t const from =
                a.row_offsets[row + r] + static_cast<std::int32_t>(real_part(t.values[k]));
            new_columns[place + r] = row + r;
            new_values[place + r] = conjugated(a.values[from]);
            if (of_entries != nullptr) of_entries[place + r] = from;
          }
          at += bits_set(ones) + 2 * bits_set(twos);
        }
      });
  exec.fence("Solder::transpose: made of groups");
  return {exec, n, A.rows(), starts_view, new_columns_view, new_values_view, {longest}};
}

/// \brief The longest row in which each place is a number of type float.
inline constexpr std::int32_t most_in_groups = 1 << 24;

/// \brief See Solder::conjugate_transpose.
/// \param in_nodes look for successive rows with the same columns. A must have no duplicates then
/// \param places [nonzeros], to be filled in: see TransposeEntries. Null: not wanted
template <class Scalar, class Exec, class Offset>
CsrMatrix<Scalar, Exec, Offset> conjugate_transpose(Exec const& exec,
                                                    CsrMatrix<Scalar, Exec, Offset> const& A,
                                                    bool in_nodes, Offset* places = nullptr) {
  if constexpr (is_host_space<Exec>) {
    return transpose_on_hosts(exec, A, places);
  } else {
    if constexpr (std::is_same_v<Offset, std::int32_t>)
      if (auto const alike = in_nodes && A.longest_row() <= most_in_groups
                                 ? many_alike_rows(exec, A)
                                 : std::nullopt)
        return transpose_of_groups(exec, A, *alike, places);
    return transpose_on_gpus(exec, A, places);
  }
}

/// \brief The pattern of A^H, and where its entries are in A, so that those of new values can be
/// fetched.
template <class Exec>
struct AdjointPattern {
  Kokkos::View<std::int32_t const*, typename Exec::memory_space> offsets, columns, places;
  std::int32_t longest;
};

/// \brief A^H, and its pattern: in memory of its own, not parts of a pool that would be kept with
/// them. \param in_nodes as above
template <class Scalar, class Exec>
std::pair<CsrMatrix<Scalar, Exec>, AdjointPattern<Exec>> adjoint_and_pattern(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A, bool in_nodes) {
  auto const array = [&](std::int64_t size) {
    return allocate_view<DeviceArray<std::int32_t, Exec>>(exec, "Solder::transpose::kept", size);
  };
  auto const offsets = array(A.columns() + std::int64_t(1)), columns = array(A.nonzeros()),
             places = array(A.nonzeros());
  auto const made = conjugate_transpose(exec, A, in_nodes, places.data());
  Impl::copy(exec, offsets, made.row_offsets());
  Impl::copy(exec, columns, made.column_indices());
  return {made, {offsets, columns, places, made.longest_row()}};
}

/// \brief A^H, whose pattern is known. One kernel.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> adjoint(Exec const& exec,
                                                     CsrMatrix<Scalar, Exec> const& A,
                                                     AdjointPattern<Exec> const& pattern) {
  auto const made = allocate<Scalar>(exec, "Solder::transpose::values", A.nonzeros());
  Scalar const* const values = A.values().data();
  Scalar* const new_values = made.data();
  std::int32_t const* const places = pattern.places.data();
  Kokkos::parallel_for(
      "Solder::transpose::fetch",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.nonzeros()),
      KOKKOS_LAMBDA(std::int64_t k) { new_values[k] = conjugated(values[places[k]]); });
  exec.fence("Solder::transpose: fetched");
  return {exec, A.columns(), A.rows(), pattern.offsets, pattern.columns, made, {pattern.longest}};
}

}  // namespace Impl

/// \brief A^H: the transpose, conjugated if scalars are complex. Columns ascend in each row of the
/// result, whatever their order in A. A may be rectangular. Duplicates keep their order.
///
/// On GPUs entries reach their row in any order, but with a key that says where they come from, and
/// are sorted by this key. Memory in addition to the result: 8 bytes per entry and 4 per column.
/// Moves, without caches, a matrix and 28 bytes per entry. Rows of the result with up to 32 entries
/// are sorted in registers, with up to 2048 in scratch. On hosts nothing is sorted: each thread
/// counts its entries of each column first, in as many words. Waits for the device.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
CsrMatrix<Scalar, Exec, Offset> conjugate_transpose(Exec const& exec,
                                                    CsrMatrix<Scalar, Exec, Offset> const& A) {
  return Impl::conjugate_transpose(exec, A, false);
}

}  // namespace Solder
