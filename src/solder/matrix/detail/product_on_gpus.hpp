// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr_operator.hpp>
#include <solder/matrix/detail/alike_rows.hpp>

namespace Solder::Impl {

/// \brief The most entries of a table with 2^bits slots: three quarters of the slots.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t most_entries(std::int32_t bits) { return 3 << (bits - 2); }

/// \brief The base-2 logarithm of the slots of the smallest table for `entries` entries.
inline std::int32_t bits_for(std::int64_t entries) {
  std::int32_t bits = 2;
  while (bits < 30 && most_entries(bits) < entries) ++bits;  // a larger table has no int32 size
  return bits;
}

/// \brief Bytes of a table of `rows` rows: sums, list, columns and count.
template <class Scalar>
std::int64_t table_bytes(std::int32_t bits, std::int32_t rows = 1) {
  return (static_cast<std::int64_t>(rows * sizeof(Scalar) + 4) << bits) +
         std::int64_t(8) * most_entries(bits) + 4;
}

/// \brief On a GPU: a hash table, with open addressing, of the columns of a row of a product, or of
/// a group of rows with the same columns, and of their sums.
///
/// Which slot a column gets depends on which lane comes first. The results do not depend on it,
/// because sums add their terms in the order of X's row, and the stored entries are sorted.
template <class Exec, class Scalar>
struct ProductTable {
  static constexpr std::int32_t empty = -1;

  std::int32_t* columns;   ///< [slots]
  Scalar* sums;            ///< [rows][slots], if there are values
  std::uint64_t* entries;  ///< [most_entries]: column and slot of each entry; null: no list
  std::int32_t* count;
  std::int32_t bits;
  std::int32_t limit;  ///< the most entries it may hold

  /// \brief put(slot, whether the column is new) for the slot of a column. No two lanes may pass
  /// the same column at once. Must not be called when there are more than `limit` entries.
  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t column, Put const& put) const {
    std::uint32_t const mask = (1u << bits) - 1;
    std::uint32_t slot = static_cast<std::uint32_t>(column) * 2654435769u >> (32 - bits);
    while (true) {
      std::int32_t there = *static_cast<std::int32_t volatile const*>(columns + slot);
      if (there == empty) {
        there = compare_exchange(columns + slot, empty, column);
        if (there == empty) {
          std::int32_t const n = Kokkos::atomic_fetch_add(count, 1);
          if (entries != nullptr) entries[n] = (static_cast<std::uint64_t>(column) << 32) | slot;
          return put(slot, true);
        }
      }
      if (there == column) return put(slot, false);
      slot = (slot + 1) & mask;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t size() const {
    return *static_cast<std::int32_t volatile const*>(count);
  }
  KOKKOS_FORCEINLINE_FUNCTION void clear(RowGroup<Exec> const& group) const {
    lane_barrier();
    std::int32_t const n = entries != nullptr ? size() : 1 << bits;
    for (std::int32_t t = group.lane; t < n; t += group.size())
      columns[entries != nullptr ? static_cast<std::uint32_t>(entries[t]) : t] = empty;
    lane_barrier();
    if (group.lane == 0) *count = 0;
    lane_barrier();
  }
};

/// \brief What to compute of a product on a GPU, and where.
template <class Exec, class Scalar>
struct ProductTask {
  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t lane_bits, workers = 1;
  ProductTable<Exec, Scalar> tables{};  ///< of worker 0
  std::int32_t* lengths = nullptr;      ///< [rows]; null: compute the entries
  /// Only rows that are known to have at least this length are computed.
  std::int32_t shortest = 0;
  std::int32_t const* offsets = nullptr;
  std::int32_t* columns = nullptr;
  Scalar* values = nullptr;
  std::int32_t count = 0;  ///< of groups, or rows
  /// [groups + 1]: their first rows; null: each row is a group.
  std::int32_t const* first = nullptr;
  std::int8_t const* repeats = nullptr;  ///< of Y; see repeated_rows(). Null: none

  /// \brief Marks a row that did not fit in a table: larger than any length.
  static constexpr std::int32_t too_long = 1 << 30;
};

/// \brief Rows of X Y on a GPU: the number of entries of each or, if the offsets are known, the
/// entries. Rows that are too long for a table are left to a pass with larger tables.
///
/// The groups of a GPU's warp stay together, and a group idles while another has more to do. A
/// barrier of a single group would let the groups diverge, and the instructions of each would be
/// issued separately.
///
/// Rows of X with the same columns are counted and summed in groups, if `first` says which they
/// are. Their products have the same columns, and successive rows of Y with the same columns are
/// added at once, so that each column is searched once for all of them.
///
/// \tparam most_rows of a group that is summed: with one, sums are of single rows, but groups are
/// counted; with several, nothing is counted
template <class Exec, class Scalar, std::int32_t most_rows = 1>
struct ProductRows : ProductTask<Exec, Scalar> {
  using Task = ProductTask<Exec, Scalar>;
  using Task::X, Task::Y, Task::lane_bits, Task::workers, Task::tables, Task::lengths,
      Task::shortest, Task::offsets, Task::columns, Task::values, Task::count, Task::first,
      Task::repeats, Task::too_long;

  KOKKOS_FUNCTION void operator()(std::int32_t id) const {
    RowGroup<Exec> const group{id, id & ((1 << lane_bits) - 1), 1 << lane_bits};
    std::int32_t const worker = id >> lane_bits;
    auto table = tables;
    auto const slots = static_cast<std::int64_t>(worker) << table.bits;
    table.columns += slots;
    table.sums += slots;
    table.entries += worker * std::int64_t(most_entries(table.bits));
    table.count += worker;
    for (std::int32_t g = worker; lane_votes(g < count) != 0; g += workers)
      compute(group, table, g);
  }

  /// \brief Computes group g of rows, if it exists and is wanted. The table is empty before and
  /// after. All groups of lanes of a warp call this together.
  KOKKOS_FORCEINLINE_FUNCTION void compute(RowGroup<Exec> const& group,
                                           ProductTable<Exec, Scalar> const& table,
                                           std::int32_t g) const {
    bool wanted = g < count;
    std::int32_t const i = wanted && first != nullptr ? first[g] : g,
                       alike = wanted && first != nullptr ? first[g + 1] - i : 1;
    if (lengths != nullptr) {
      if constexpr (most_rows == 1) {
        wanted = wanted && (shortest == 0 || lengths[i] >= shortest);
        if (lane_votes(wanted) == 0) return;
        bool const all = terms<false>(group, table, i, wanted);
        if (wanted)
          for (std::int32_t r = group.lane; r < alike; r += group.size())
            lengths[i + r] = all ? table.size() : too_long;
      }
    } else {
      std::int32_t const length = wanted ? offsets[i + 1] - offsets[i] : 0;
      wanted = wanted && length >= shortest && length <= table.limit;
      if (lane_votes(wanted) == 0) return;
      if constexpr (most_rows == 1)
        terms<true>(group, table, i, wanted);
      else
        add_blocks(group, table, i, alike, wanted);
      if (wanted) store(group, table, offsets[i], alike, length);
    }
    table.clear(group);
  }

 private:
  /// \brief Adds the terms of row i, if it is wanted. False if they do not all fit in the table.
  /// Each lane loads one entry of X's row and the bounds of the corresponding row of Y, and shares
  /// them with the group.
  template <bool with_values>
  KOKKOS_FORCEINLINE_FUNCTION bool terms(RowGroup<Exec> const& group,
                                         ProductTable<Exec, Scalar> const& table, std::int32_t i,
                                         bool wanted) const {
    std::int32_t k = wanted ? X.row_offsets[i] : 0, last = wanted ? X.row_offsets[i + 1] : 0;
    bool fits = true;
    for (; lane_votes(k < last) != 0; k += group.size()) {
      std::int32_t begin = 0, end = 0;
      Scalar factor{};
      std::int32_t const at = k + group.rank();
      if (at < last) {
        std::int32_t const j = X.columns[at];
        begin = Y.row_offsets[j];
        end = Y.row_offsets[j + 1];
        if constexpr (with_values) factor = X.values[at];
        if (!with_values && repeats_in_X(group, at)) end = begin;
      }
      for (std::int32_t t = 0; lane_votes(t < group.size() && k + t < last) != 0; ++t) {
        std::int32_t const from = group.first() + t;
        if (!terms_of<with_values>(group, table, lane_value(begin, from), lane_value(end, from),
                                   with_values ? lane_value(factor, from) : Scalar{})) {
          fits = false;
          last = k;
          begin = end = 0;  // skips the rest of this round
        }
      }
    }
    return fits;
  }
  /// \brief Whether this lane's entry `at` of X is for a row of Y that has the columns of the row
  /// for the lane before.
  KOKKOS_FORCEINLINE_FUNCTION bool repeats_in_X(RowGroup<Exec> const& group,
                                                std::int32_t at) const {
    return repeats != nullptr && group.rank() > 0 && X.columns[at - 1] == X.columns[at] - 1 &&
           repeats[X.columns[at]] != 0;
  }

  /// \brief Adds the terms of `factor` and the entries begin to end - 1 of Y.
  template <bool with_values>
  KOKKOS_FORCEINLINE_FUNCTION bool terms_of(RowGroup<Exec> const& group,
                                            ProductTable<Exec, Scalar> const& table,
                                            std::int32_t begin, std::int32_t end,
                                            Scalar const& factor) const {
    bool fits = true;
    for (std::int32_t first = begin; lane_votes(first < end) != 0; first += group.size()) {
      std::int32_t const q = first + group.rank();
      if (q < end) {
        Scalar const term = with_values ? factor * Y.values[q] : Scalar{};
        table.add(Y.columns[q], [&](std::uint32_t slot, bool is_new) {
          if constexpr (with_values) {
            if (is_new)
              table.sums[slot] = term;
            else
              table.sums[slot] = rounded_sum(table.sums[slot], term);
          }
        });
      }
      lane_barrier();
      if constexpr (!with_values) {
        if (table.size() > table.limit) {
          fits = false;
          end = first;
        }
        lane_barrier();  // no lane adds more before all have read the size
      }
    }
    return fits;
  }

  /// \brief A lane's share of up to most_rows successive rows of Y with the same columns.
  struct Block {
    std::int32_t first;   ///< the lane with X's entries for the first of these rows
    std::int32_t rows;    ///< of Y
    std::int32_t length;  ///< of each row
    std::int32_t column;  ///< of the lane; less than 0: none
    Scalar entries[most_rows];
  };

  /// \brief Adds the terms of `alike` rows from i on, if they are wanted. Each lane loads the
  /// entries of one column of X's rows and the bounds of the corresponding row of Y, and shares
  /// them with the group. The next block of Y is loaded before one is added.
  KOKKOS_FORCEINLINE_FUNCTION void add_blocks(RowGroup<Exec> const& group,
                                              ProductTable<Exec, Scalar> const& table,
                                              std::int32_t i, std::int32_t alike,
                                              bool wanted) const {
    std::int32_t k = wanted ? X.row_offsets[i] : 0;
    std::int32_t const last = wanted ? X.row_offsets[i + 1] : 0, length = last - k;
    for (; lane_votes(k < last) != 0; k += group.size()) {
      std::int32_t const at = k + group.rank(), here = Kokkos::min(last - k, group.size());
      std::int32_t begin = 0, end = 0;
      Scalar factors[most_rows]{};  // those beyond the last row are summed, but never stored
      bool repeated = false;
      if (at < last) {
        begin = Y.row_offsets[X.columns[at]];
        end = Y.row_offsets[X.columns[at] + 1];
        repeated = repeats_in_X(group, at);
        for (std::int32_t r = 0; r < most_rows; ++r)
          factors[r] = X.values[at + Kokkos::min(r, alike - 1) * length];
      }
      std::uint32_t const all_repeated = group.votes(repeated);
      std::int32_t t = 0, offset = 0;
      auto const load = [&] {
        Block block{t, 1, 0, -1, {}};
        while (block.rows < most_rows && t + block.rows < here &&
               (all_repeated >> (t + block.rows) & 1) != 0)
          ++block.rows;
        std::int32_t const from = group.first() + (t & (group.size() - 1)),
                           first_of_row = lane_value(begin, from);
        block.length = lane_value(end, from) - first_of_row;
        if (t < here && offset + group.rank() < block.length) {
          std::int32_t const q = first_of_row + offset + group.rank();
          block.column = Y.columns[q];
          for (std::int32_t u = 0; u < most_rows; ++u)
            if (u < block.rows) block.entries[u] = Y.values[q + u * block.length];
        }
        return block;
      };
      for (Block next = load(); lane_votes(t < here) != 0;) {
        Block const block = next;
        offset += group.size();
        if (offset >= block.length) {
          t += block.rows;
          offset = 0;
        }
        next = load();
        Scalar x[most_rows][most_rows];  // of each row of X and of Y
        for (std::int32_t u = 0; u < most_rows; ++u)
          for (std::int32_t r = 0; r < most_rows; ++r)
            x[r][u] =
                lane_value(factors[r], group.first() + ((block.first + u) & (group.size() - 1)));
        if (block.column >= 0)
          table.add(block.column, [&](std::uint32_t slot, bool is_new) {
            for (std::int32_t r = 0; r < most_rows; ++r) {
              Scalar& there = table.sums[(r << table.bits) + slot];
              Scalar const term = x[r][0] * block.entries[0];
              Scalar sum = is_new ? term : rounded_sum(there, term);
              for (std::int32_t u = 1; u < most_rows; ++u)
                if (u < block.rows) sum = rounded_sum(sum, x[r][u] * block.entries[u]);
              there = sum;
            }
          });
        lane_barrier();
      }
    }
  }

  /// \brief Stores `alike` rows of n entries, which begin at `first`, in the order of their
  /// columns.
  KOKKOS_FORCEINLINE_FUNCTION void store(RowGroup<Exec> const& group,
                                         ProductTable<Exec, Scalar> const& table,
                                         std::int32_t first, std::int32_t alike,
                                         std::int32_t n) const {
    auto const put = [&](std::int32_t place, std::uint64_t entry) {
      auto const slot = static_cast<std::uint32_t>(entry);
      for (std::int32_t r = 0; r < (most_rows > 1 ? alike : 1); ++r) {
        columns[first + r * n + place] = static_cast<std::int32_t>(entry >> 32);
        values[first + r * n + place] = table.sums[(r << table.bits) + slot];
      }
    };
    if (most_rows > 1 && group.size() == warp && n <= most_warp_keys) {
      sort_by_warp(table.entries, table.entries, n);
      for (std::int32_t t = group.rank(); t < n; t += group.size()) put(t, table.entries[t]);
    } else if (n > 4 * group.size()) {
      sort_keys(group, table.entries, n);
      for (std::int32_t t = group.rank(); t < n; t += group.size()) put(t, table.entries[t]);
    } else {
      for (std::int32_t t = group.rank(); t < n; t += group.size()) {
        std::uint64_t const mine = table.entries[t];
        std::int32_t place = 0;
        for (std::int32_t s = 0; s < n; ++s) place += table.entries[s] < mine;
        put(place, mine);
      }
    }
  }
};

/// \brief ProductRows on a GPU, with tables in the scratch of teams of `Warps` warps. Counting
/// needs neither sums nor a list.
template <int Warps, class Exec, class Scalar, std::int32_t most_rows = 1>
struct ProductRowsInScratch {
  static constexpr int warps = Warps;
  /// The most scratch of a team. When counting it is small, so that many teams run at once;
  /// otherwise tables are as large as possible.
  static constexpr std::int64_t most_bytes = 40000, most_bytes_to_count = Warps > 1 ? 16500 : 40000;

  ProductRows<Exec, Scalar, most_rows> rows;

  KOKKOS_FUNCTION static std::int32_t groups(std::int32_t lane_bits) {
    return warps * (warp >> lane_bits);
  }
  static std::int64_t bytes(std::int32_t lane_bits, std::int32_t bits, bool counts) {
    return groups(lane_bits) *
           (counts ? (std::int64_t(4) << bits) + 4 : table_bytes<Scalar>(bits, most_rows));
  }
  /// \brief The bits of the largest tables that there is room for.
  static std::int32_t most_bits(std::int32_t lane_bits, bool counts) {
    std::int32_t bits = 2;
    while (bytes(lane_bits, bits + 1, counts) <= (counts ? most_bytes_to_count : most_bytes))
      ++bits;
    return bits;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    bool const counts = rows.lengths != nullptr;
    std::int32_t const id = member.team_rank() * warp + lane_number(), all = groups(rows.lane_bits),
                       mine = id >> rows.lane_bits, slots = 1 << rows.tables.bits,
                       sums = slots * most_rows, entries = most_entries(rows.tables.bits);
    RowGroup<Exec> const group{id, id & ((1 << rows.lane_bits) - 1), 1 << rows.lane_bits};
    auto table = rows.tables;
    char* at = static_cast<char*>(member.team_scratch(0).get_shmem_aligned(
        all * (counts ? 4 * slots + 4 : sums * sizeof(Scalar) + 4 * slots + 8 * entries + 4), 16));
    auto const carve = [&]<class T>(T*& pointer, std::int32_t count) {
      pointer = reinterpret_cast<T*>(at) + mine * count;
      at += all * count * sizeof(T);
    };
    table.entries = nullptr;
    if (!counts) {
      carve(table.sums, sums);
      carve(table.entries, entries);
    }
    carve(table.columns, slots);
    carve(table.count, 1);
    for (std::int32_t t = group.lane; t < slots; t += group.size()) table.columns[t] = table.empty;
    if (group.lane == 0) *table.count = 0;
    lane_barrier();
    for (std::int32_t g = member.league_rank() * all + mine; lane_votes(g < rows.count) != 0;
         g += member.league_size() * all)
      rows.compute(group, table, g);
  }
};

/// \brief The kernel that sums rows with the same columns together.
template <class Exec, class Scalar>
using ProductOfAlikeRows = ProductRowsInScratch<1, Exec, Scalar, AlikeRows<Exec>::most>;

/// \brief Counts the entries of rows, with one GPU thread per row, which holds up to `most` sorted
/// columns in its own memory.
template <class Scalar>
struct ShortProductLengths {
  static constexpr std::int32_t most = 32;

  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t too_long;
  std::int32_t* lengths;  ///< [rows]

  KOKKOS_FUNCTION void operator()(std::int32_t i) const {
    std::int32_t columns[most];
    std::int32_t n = 0;
    for (std::int32_t k = X.row_offsets[i]; k < X.row_offsets[i + 1] && n <= most; ++k) {
      std::int32_t const row = X.columns[k];
      for (std::int32_t q = Y.row_offsets[row]; q < Y.row_offsets[row + 1]; ++q) {
        std::int32_t const j = Y.columns[q];
        std::int32_t at = n;
        while (at > 0 && columns[at - 1] >= j) --at;
        if (at < n && columns[at] == j) continue;
        if (++n > most) break;
        for (std::int32_t t = n - 1; t > at; --t) columns[t] = columns[t - 1];
        columns[at] = j;
      }
    }
    lengths[i] = n > most ? too_long : n;
  }
};

/// \brief The most terms of any row of X Y, which bounds the row lengths.
template <class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS std::int64_t most_terms(Exec const& exec,
                                             CsrOperator<Scalar, std::int32_t> const& X,
                                             CsrOperator<Scalar, std::int32_t> const& Y) {
  std::int64_t most = 0;
  Kokkos::parallel_reduce(
      "Solder::product::terms", Kokkos::RangePolicy<Exec>(exec, 0, X.rows.count),
      KOKKOS_LAMBDA(std::int32_t i, std::int64_t & largest) {
        std::int64_t terms = 0;
        for (std::int32_t k = X.row_offsets[i]; k < X.row_offsets[i + 1]; ++k)
          terms += Y.row_offsets[X.columns[k] + 1] - Y.row_offsets[X.columns[k]];
        if (terms > largest) largest = terms;
      },
      Kokkos::Max<std::int64_t>(most));
  return most;
}

/// \brief The most terms of a row whose entries a single thread counts. The limit is higher if
/// there are enough rows to keep a GPU's threads busy. (A few threads with many terms each only
/// wait.)
inline constexpr std::int64_t counted_by_thread = 40, counted_by_many_threads = 128;

/// \brief Empties the tables before the first row.
template <class Exec>
SOLDER_MAKES_LAMBDAS void empty_tables(Exec const& exec, std::int32_t* columns, std::int64_t slots,
                                       std::int32_t* counts, std::int32_t some) {
  Kokkos::parallel_for(
      "Solder::product::empty",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, slots),
      KOKKOS_LAMBDA(std::int64_t i) {
        columns[i] = -1;
        if (i < some) counts[i] = 0;
      });
}

/// \brief One pass over the rows of a product: who takes a row, and the longest row it takes.
struct ProductPass {
  enum By { threads, scratch_of_alike_rows, scratch_of_warps, scratch_of_warp, memory };
  By by;
  std::int32_t lane_bits, bits;  ///< of a row's lanes, and of its table
  std::int32_t limit;            ///< the most entries of the table
};

/// \brief The passes. Each takes the rows that are too long for the passes before it.
/// \param terms, most the most terms and the most entries of a row
/// \param is_full there are at least half as many rows as a GPU has threads
/// \param counts entries are counted. Each lane may add one more before the table is seen to be too
/// full
/// \param alike rows are counted and summed in groups with the same columns
template <class Exec, class Scalar>
std::vector<ProductPass> product_passes(std::int32_t lane_bits, std::int64_t terms,
                                        std::int64_t most, bool is_full, bool counts, bool alike) {
  constexpr std::int32_t least_bits = 2;  // small tables allow more at once
  std::vector<ProductPass> passes;
  auto const add = [&](ProductPass::By by, std::int32_t lanes, std::int32_t most_bits) {
    std::int32_t const spare = counts ? 1 << lanes : 0;
    std::int32_t const bits = std::min(most_bits, std::max(least_bits, bits_for(most + spare)));
    passes.push_back({by, lanes, bits, most_entries(bits) - spare});
  };
  // Few terms usually mean few entries.
  if (counts && !alike && terms <= (is_full ? counted_by_many_threads : counted_by_thread))
    passes.push_back({ProductPass::threads, 0, 0, ShortProductLengths<Scalar>::most});
  std::int32_t const lanes = std::max(lane_bits, is_full ? 2 : 3);
  if (!counts && alike)
    add(ProductPass::scratch_of_alike_rows, lanes,
        ProductOfAlikeRows<Exec, Scalar>::most_bits(lanes, false));
  else
    add(ProductPass::scratch_of_warps, lanes,
        ProductRowsInScratch<4, Exec, Scalar>::most_bits(lanes, counts));
  add(ProductPass::scratch_of_warp, 5, ProductRowsInScratch<1, Exec, Scalar>::most_bits(5, counts));
  add(ProductPass::memory, lane_bits, 30);
  return passes;
}

}  // namespace Solder::Impl
