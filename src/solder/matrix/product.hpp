// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/duplicates.hpp>

namespace Solder {

namespace Impl {

/// \brief The lanes of a warp that work on a row together, an aligned power of two of them; on
/// hosts a thread. For kernels over a range that begins at 0: thread `id` of these.
template <class Exec>
struct RowGroup {
  std::int32_t id, lane, size;

  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {
#if defined(__CUDA_ARCH__)
    unsigned const lanes = size == warp ? 0xffffffffu : (1u << size) - 1;
    __syncwarp(lanes << (id & (warp - 1) & ~(size - 1)));
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#endif
  }
};

/// \brief The columns of one row of a product, with open addressing, and a sum for each.
///
/// Which slot a column has depends on which lane comes first; what is computed does not, for a sum
/// has its terms in the order of the row of X, and what is stored is put in order.
template <class Exec, class Scalar>
struct ProductTable {
  static constexpr std::int32_t empty = -1;
  static constexpr bool shared = !is_host_space<Exec>;

  std::int32_t* columns;   ///< [slots]
  Scalar* sums;            ///< [slots], where there are values
  std::uint64_t* entries;  ///< [slots / 2]: column and slot of each that is used
  std::int32_t* count;
  std::int32_t bits;
  std::int32_t limit;  ///< entries that it holds

  /// \brief Adds a term, or with no values a column; no two lanes bring the same column at once.
  /// Not to be called when more than limit entries are there.
  template <bool with_values>
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t column, Scalar const& term) const {
    std::uint32_t const mask = (1u << bits) - 1;
    std::uint32_t slot = static_cast<std::uint32_t>(column) * 2654435769u >> (32 - bits);
    while (true) {
      std::int32_t there = *static_cast<std::int32_t volatile const*>(columns + slot);
      if (there == empty) {
        if constexpr (shared)
          there = Kokkos::atomic_compare_exchange(columns + slot, empty + 0, column);
        else
          columns[slot] = column;
        if (there == empty) {
          std::int32_t n;
          if constexpr (shared)
            n = Kokkos::atomic_fetch_add(count, 1);
          else
            n = (*count)++;
          entries[n] = (static_cast<std::uint64_t>(column) << 32) | slot;
          if constexpr (with_values) sums[slot] = term;
          return;
        }
      }
      if (there == column) {
        if constexpr (with_values) sums[slot] += term;
        return;
      }
      slot = (slot + 1) & mask;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t size() const {
    return *static_cast<std::int32_t volatile const*>(count);
  }
  KOKKOS_FORCEINLINE_FUNCTION void clear(RowGroup<Exec> const& group) const {
    group.barrier();
    std::int32_t const n = size();
    for (std::int32_t t = group.lane; t < n; t += group.size)
      columns[static_cast<std::uint32_t>(entries[t])] = empty;
    group.barrier();
    if (group.lane == 0) *count = 0;
    group.barrier();
  }
};

/// \brief Rows of X Y: how many entries each has, or, where the offsets are known, the entries.
/// Rows that are too long for a small table are left to a pass with large ones.
template <class Exec, class Scalar>
struct ProductRows {
  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t lane_bits, workers;
  ProductTable<Exec, Scalar> tables;  ///< of worker 0
  std::int32_t* lengths;              ///< [rows]; null: the entries are wanted
  std::int32_t shortest;  ///< of the rows that are wanted, that are known to be this long or longer
  std::int32_t const* offsets;
  std::int32_t* columns;
  Scalar* values;

  KOKKOS_FUNCTION void operator()(std::int32_t id) const {
    RowGroup<Exec> const group{id, id & ((1 << lane_bits) - 1), 1 << lane_bits};
    std::int32_t const worker = id >> lane_bits;
    auto table = tables;
    auto const slots = static_cast<std::int64_t>(worker) << table.bits;
    table.columns += slots;
    table.sums += slots;
    table.entries += slots / 2;
    table.count += worker;
    if constexpr (is_host_space<Exec>) {
      auto const bound = [&](std::int64_t w) {
        return static_cast<std::int32_t>(X.rows.count * w / workers);
      };
      for (std::int32_t i = bound(worker); i < bound(worker + 1); ++i) row(group, table, i);
    } else {
      for (std::int32_t i = worker; i < X.rows.count; i += workers) row(group, table, i);
    }
  }

  /// \brief What is noted of a row that a table did not hold: too long for a length.
  static constexpr std::int32_t too_long = 1 << 30;

 private:
  KOKKOS_FORCEINLINE_FUNCTION void row(RowGroup<Exec> const& group,
                                       ProductTable<Exec, Scalar> const& table,
                                       std::int32_t i) const {
    if (lengths != nullptr) {
      if (shortest > 0 && lengths[i] < shortest) return;
      bool const all = terms<false>(group, table, i);
      group.barrier();
      if (group.lane == 0) lengths[i] = all ? table.size() : too_long;
    } else {
      std::int32_t const length = offsets[i + 1] - offsets[i];
      if (length < shortest || length > table.limit) return;
      terms<true>(group, table, i);
      group.barrier();
      store(group, table, offsets[i], length);
    }
    table.clear(group);
  }

  /// \brief False where the table does not hold them all.
  template <bool with_values>
  KOKKOS_FORCEINLINE_FUNCTION bool terms(RowGroup<Exec> const& group,
                                         ProductTable<Exec, Scalar> const& table,
                                         std::int32_t i) const {
    for (std::int32_t k = X.row_offsets[i]; k < X.row_offsets[i + 1]; ++k) {
      std::int32_t const j = X.columns[k], end = Y.row_offsets[j + 1];
      Scalar const x = with_values ? X.values[k] : Scalar{};
      for (std::int32_t first = Y.row_offsets[j]; first < end; first += group.size) {
        std::int32_t const q = first + group.lane;
        if (q < end)
          table.template add<with_values>(Y.columns[q], with_values ? x * Y.values[q] : Scalar{});
        group.barrier();
        if constexpr (!with_values) {
          bool const full = table.size() > table.limit;
          group.barrier();  // nobody adds more before all have read
          if (full) return false;
        }
      }
    }
    return true;
  }

  /// \brief In the order of the columns.
  KOKKOS_FORCEINLINE_FUNCTION void store(RowGroup<Exec> const& group,
                                         ProductTable<Exec, Scalar> const& table,
                                         std::int32_t first, std::int32_t n) const {
    auto const put = [&](std::int32_t place, std::uint64_t entry) {
      columns[first + place] = static_cast<std::int32_t>(entry >> 32);
      values[first + place] = table.sums[static_cast<std::uint32_t>(entry)];
    };
    if constexpr (is_host_space<Exec>) {
      sort_keys(WarpLanes<Exec>{}, table.entries, n);
      for (std::int32_t t = 0; t < n; ++t) put(t, table.entries[t]);
    } else {
      for (std::int32_t t = group.lane; t < n; t += group.size) {
        std::uint64_t const mine = table.entries[t];
        std::int32_t place = 0;
        for (std::int32_t s = 0; s < n; ++s) place += table.entries[s] < mine;
        put(place, mine);
      }
    }
  }
};

/// \brief The same for rows of at most `most` entries, each by a thread of a GPU, whose own memory
/// holds them in the order of their columns.
template <class Scalar>
struct ShortProductRows {
  static constexpr std::int32_t most = 32;

  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t too_long;
  std::int32_t* lengths;  ///< [rows]; null: the entries are wanted
  std::int32_t const* offsets;
  std::int32_t* columns;
  Scalar* values;

  KOKKOS_FUNCTION void operator()(std::int32_t i) const {
    std::int32_t mine[most];
    if (lengths != nullptr) {
      std::int32_t n = 0;
      for_each_term(i, [&](std::int32_t j, std::int32_t, std::int32_t) {
        std::int32_t const at = place(mine, n, j);
        if (at < n && mine[at] == j) return true;
        if (n == most) {
          n = too_long;
          return false;
        }
        insert(mine, n++, at, j);
        return true;
      });
      lengths[i] = n;
    } else if (offsets[i + 1] - offsets[i] <= most) {
      Scalar sums[most]{};
      std::int32_t n = 0;
      for_each_term(i, [&](std::int32_t j, std::int32_t k, std::int32_t q) {
        Scalar const term = X.values[k] * Y.values[q];
        std::int32_t const at = place(mine, n, j);
        if (at < n && mine[at] == j) {
          sums[at] += term;
        } else {
          insert(sums, n, at, term);
          insert(mine, n++, at, j);
        }
        return true;
      });
      for (std::int32_t t = 0; t < n; ++t) {
        columns[offsets[i] + t] = mine[t];
        values[offsets[i] + t] = sums[t];
      }
    }
  }

 private:
  /// \brief f(column, entry of X, entry of Y) until it says no.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_term(std::int32_t i, F const& f) const {
    for (std::int32_t k = X.row_offsets[i]; k < X.row_offsets[i + 1]; ++k) {
      std::int32_t const j = X.columns[k];
      for (std::int32_t q = Y.row_offsets[j]; q < Y.row_offsets[j + 1]; ++q)
        if (!f(Y.columns[q], k, q)) return;
    }
  }
  /// \brief Where column j is among the n, or belongs.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t place(std::int32_t const* mine, std::int32_t n,
                                                        std::int32_t j) {
    std::int32_t at = n;
    while (at > 0 && mine[at - 1] >= j) --at;
    return at;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void insert(T* list, std::int32_t n, std::int32_t at,
                                                 T const& what) {
    for (std::int32_t t = n; t > at; --t) list[t] = list[t - 1];
    list[at] = what;
  }
};

/// \brief Terms of the row of X Y that has the most of them, as a bound of its length.
template <class Exec, class Scalar>
std::int64_t most_terms(Exec const& exec, CsrOperator<Scalar, std::int32_t> const& X,
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

/// \brief Entries that a table of 2^bits slots holds: half its slots, but for a place for each lane
/// that comes when it is full.
inline std::int32_t most_entries(std::int32_t bits, std::int32_t lane_bits) {
  return (1 << (bits - 1)) - (1 << lane_bits);
}

/// \brief Bits of the smallest table that holds rows of this length.
inline std::int32_t bits_for(std::int64_t length, std::int32_t lane_bits) {
  std::int32_t bits = lane_bits + 2;
  while (most_entries(bits, lane_bits) < length) ++bits;
  return bits;
}

/// \brief Terms of a row up to which a thread takes it.
inline constexpr std::int64_t few_terms = 300;

template <class Exec>
std::int32_t longest_length(Exec const& exec, std::int32_t const* lengths, std::int32_t n) {
  std::int32_t longest = 0;
  Kokkos::parallel_reduce(
      "Solder::product::longest", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i, std::int32_t & most) { most = Kokkos::max(most, lengths[i]); },
      Kokkos::Max<std::int32_t>(longest));
  return longest;
}

/// \brief Makes offsets of n lengths, in their place; lengths[n] becomes the sum, which is
/// returned.
template <class Exec>
std::int64_t offsets_of_lengths(Exec const& exec, std::int32_t* lengths, std::int32_t n) {
  std::int64_t sum = 0;
  Kokkos::parallel_scan(
      "Solder::product::offsets", Kokkos::RangePolicy<Exec>(exec, 0, n + 1),
      KOKKOS_LAMBDA(std::int32_t i, std::int64_t & at, bool last) {
        std::int32_t const length = i < n ? lengths[i] : 0;
        if (last) lengths[i] = static_cast<std::int32_t>(at);
        at += length;
      },
      sum);
  exec.fence("Solder::product: the offsets are known");
  return sum;
}

/// \brief What tables are before the first row.
template <class Exec>
void empty_tables(Exec const& exec, std::int32_t* columns, std::int64_t slots, std::int32_t* counts,
                  std::int32_t workers) {
  Kokkos::parallel_for(
      "Solder::product::empty",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, slots),
      KOKKOS_LAMBDA(std::int64_t i) {
        columns[i] = -1;
        if (i < workers) counts[i] = 0;
      });
}

/// \brief The memory of a product's tables, which several products after one another may share.
template <class Exec>
class ProductMemory {
 public:
  /// \brief Memory of so many bytes, in place of what was handed out before.
  char* take(Exec const& exec, std::int64_t bytes) {
    if (static_cast<std::int64_t>(memory_.extent(0)) < bytes)
      memory_ = decltype(memory_)(
          Kokkos::view_alloc("Solder::product::tables", exec, Kokkos::WithoutInitializing), bytes);
    return memory_.data();
  }

 private:
  Kokkos::View<char*, typename Exec::memory_space> memory_;
};

/// \brief See Solder::product. Y has no duplicates.
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                CsrMatrix<Scalar, Exec> const& Y, ProductMemory<Exec>& memory) {
  using Space = typename Exec::memory_space;
  using Rows = ProductRows<Exec, Scalar>;
  std::int32_t const n = X.rows(), lane_bits = row_lane_bits<Exec>(Y.rows(), Y.nonzeros());
  auto const x = X.device_operator(), y = Y.device_operator();
  std::int64_t const terms = most_terms(exec, x, y),
                     most = std::min<std::int64_t>(terms, Y.columns());
  std::int64_t const of_entry = sizeof(std::int32_t) + sizeof(Scalar);
  std::int64_t const budget =
      std::max<std::int64_t>(std::int64_t(64) << 20, of_entry * (X.nonzeros() + Y.nonzeros()) / 3);
  Rows rows{x, y, lane_bits, 1, {}, nullptr, 0, nullptr, nullptr, nullptr};
  /// Runs what `rows` says with tables of 2^bits slots.
  auto const run = [&](char const* label, std::int32_t bits) {
    std::int64_t const slots = std::int64_t(1) << bits;
    std::int64_t const table = slots * (of_entry + 4) + 4;
    std::int64_t const at_once = std::max(1, static_cast<int>(exec.concurrency()) >> lane_bits);
    auto const workers = static_cast<std::int32_t>(
        std::max<std::int64_t>(1, std::min({at_once, budget / table, std::int64_t(n)})));
    char* at = memory.take(exec, workers * table);
    auto const carve = [&]<class T>(T*& pointer, std::int64_t count) {
      pointer = reinterpret_cast<T*>(at);
      at += count * std::int64_t(sizeof(T));
    };
    carve(rows.tables.sums, workers * slots);
    carve(rows.tables.entries, workers * slots / 2);
    carve(rows.tables.columns, workers * slots);
    carve(rows.tables.count, workers);
    rows.tables.bits = bits;
    rows.tables.limit = most_entries(bits, lane_bits);
    rows.workers = workers;
    empty_tables(exec, rows.tables.columns, workers * slots, rows.tables.count, workers);
    Kokkos::parallel_for(
        label,
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(exec, 0, workers << lane_bits),
        rows);
  };
  // A table that holds the longest row, and one that does for most rows, for the first pass.
  std::int32_t const large = bits_for(most, lane_bits);
  std::int32_t const small = std::min(large, std::max(5 + lane_bits, 6));
  auto const offsets = Kokkos::View<std::int32_t*, Space>(
      Kokkos::view_alloc("Solder::csr::row_offsets", exec, Kokkos::WithoutInitializing),
      std::size_t(n) + 1);
  std::int32_t* const lengths = offsets.data();
  rows.lengths = lengths;
  // On GPUs rows of few terms are likely to be short.
  ShortProductRows<Scalar> short_rows{x, y, Rows::too_long, lengths, nullptr, nullptr, nullptr};
  bool const by_threads = !is_host_space<Exec> && terms <= few_terms;
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>> const all(exec, 0, n);
  if (by_threads)
    Kokkos::parallel_for("Solder::product::count_short", all, short_rows);
  else
    run("Solder::product::count", small);
  std::int32_t const at_first =
      by_threads ? ShortProductRows<Scalar>::most : most_entries(small, lane_bits);
  bool const two_passes = most > at_first && longest_length(exec, lengths, n) == Rows::too_long;
  if (two_passes) {
    rows.shortest = Rows::too_long;
    run("Solder::product::count_long", large);
  }
  std::int64_t const nonzeros = offsets_of_lengths(exec, lengths, n);
  if (nonzeros > CsrMatrix<Scalar, Exec>::most_nonzeros)
    throw std::length_error("Solder::product: the product has " + std::to_string(nonzeros) +
                            " nonzeros, too many for 32-bit offsets");
  Kokkos::View<std::int32_t*, Space> const columns(
      Kokkos::view_alloc("Solder::csr::columns", exec, Kokkos::WithoutInitializing), nonzeros);
  Kokkos::View<Scalar*, Space> const values(
      Kokkos::view_alloc("Solder::csr::values", exec, Kokkos::WithoutInitializing), nonzeros);
  rows.lengths = nullptr;
  rows.offsets = offsets.data();
  rows.columns = columns.data();
  rows.values = values.data();
  rows.shortest = 0;
  if (by_threads) {
    short_rows = {x, y, 0, nullptr, offsets.data(), columns.data(), values.data()};
    Kokkos::parallel_for("Solder::product::short_entries", all, short_rows);
  } else {
    run("Solder::product::entries", small);
  }
  if (two_passes) {
    rows.shortest = at_first + 1;
    run("Solder::product::long_entries", large);
  }
  exec.fence("Solder::product: made");
  return {exec, n, Y.columns(), offsets, columns, values};
}

}  // namespace Impl

/// \brief X Y, with ascending columns in each row; the same bits in each run.
///
/// Each row is summed in a table of its own, by as many lanes as a row of Y has entries
/// (Gustavson's algorithm): twice, for its length and for its entries. Terms are added in the order
/// of X's row. Beside the result it takes the tables: 64 MB, or a third of what X and Y take, if
/// that is more. Waits for the device. \throws std::invalid_argument where X's columns are not Y's
/// rows \throws std::length_error where the product has more than 2^31 - 2^16 - 1 entries
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                CsrMatrix<Scalar, Exec> const& Y) {
  if (X.columns() != Y.rows())
    throw std::invalid_argument("Solder::product: a matrix of " + std::to_string(X.columns()) +
                                " columns cannot be multiplied by one of " +
                                std::to_string(Y.rows()) + " rows");
  Impl::ProductMemory<Exec> memory;
  return Impl::product(exec, X, sum_duplicates(exec, Y), memory);
}

}  // namespace Solder
