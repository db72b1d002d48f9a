// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder {

namespace Impl {

/// \brief The strong couplings of a matrix: the columns that the prefiltration keeps, including the
/// diagonal if it is stored.
template <class Exec, class Offset>
struct FsaiGraph {
  Kokkos::View<Offset const*, typename Exec::memory_space> offsets;
  Kokkos::View<std::int32_t const*, typename Exec::memory_space> columns;
};

enum class FsaiFilter { diagonal, count, fill, mark, compare };

/// \brief Finds |Re a_ii| of each row, the number of kept entries, or their columns; or marks all
/// entries of A, or compares these with marks of before. A mark is the column, or ~column if the
/// entry is not kept. 2^lane_bits lanes share a row.
template <class Exec, class Scalar, class Offset, FsaiFilter what>
struct FsaiFilterKernel {
  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  std::int32_t rows, batch, lane_bits;
  double tau_squared;
  double* diagonal;            ///< zero if the entry is not stored
  Offset* kept;                ///< count: of each row; fill, compare: where the rows begin
  std::int32_t* kept_columns;  ///< mark, compare: the marks
  std::int32_t* differs;       ///< compare: set to 1 if an offset or a mark is not as it was

  KOKKOS_FORCEINLINE_FUNCTION bool keeps(std::int32_t row, std::int32_t column,
                                         Scalar const& value) const {
    return column == row || abs_squared(value) > tau_squared * (diagonal[row] * diagonal[column]);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int32_t const lanes = 1 << lane_bits, in_warp = WarpLanes<Exec>::size() >> lane_bits;
    std::int32_t const lane = lane_number() & (lanes - 1), group = lane_number() >> lane_bits;
    std::uint32_t const ours = lanes == 32 ? ~std::uint32_t(0) : (std::uint32_t(1) << lanes) - 1;
    std::int32_t const begin = member.league_rank() * batch, end = Kokkos::min(begin + batch, rows);
    for (std::int32_t base = begin + member.team_rank() * in_warp; base < end;
         base += member.team_size() * in_warp) {
      std::int32_t const row = base + group;
      Offset at = row < end ? offsets[row] + lane : 0;
      Offset const stop = row < end ? offsets[row + 1] : 0;
      Offset place = what == FsaiFilter::fill && row < end ? kept[row] : 0;
      if (what == FsaiFilter::compare && row < end && kept[row] != offsets[row])
        Kokkos::atomic_store(differs, 1);
      // All lanes of a warp make the same number of turns, because they vote.
      for (; lane_votes(at < stop) != 0; at += lanes) {
        std::int32_t const column = at < stop ? columns[at] : -1;
        if constexpr (what == FsaiFilter::diagonal) {
          if (column == row && at < stop) diagonal[row] = Kokkos::fabs(double(real(values[at])));
        } else if constexpr (what == FsaiFilter::mark || what == FsaiFilter::compare) {
          if (at >= stop) continue;
          std::int32_t const mark = keeps(row, column, values[at]) ? column : ~column;
          if (what == FsaiFilter::mark) kept_columns[at] = mark;
          if (what == FsaiFilter::compare && kept_columns[at] != mark)
            Kokkos::atomic_store(differs, 1);
        } else {
          bool const keep = at < stop && keeps(row, column, values[at]);
          std::uint32_t const votes = (lane_votes(keep) >> (group << lane_bits)) & ours;
          if (what == FsaiFilter::fill && keep)
            kept_columns[place + bits_set(votes & ((std::uint32_t(1) << lane) - 1))] = column;
          place += bits_set(votes);
        }
      }
      if (what == FsaiFilter::count && row < end && lane == 0) kept[row] = place;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static auto real(Scalar const& value) {
    if constexpr (ScalarTraits<Scalar>::is_complex)
      return value.real();
    else
      return value;
  }
};

/// \brief Goes through the entries of a matrix, which keep their place or not; see
/// FsaiFilterKernel. One kernel finds the diagonal.
template <class Exec, class Scalar, class Offset>
class FsaiFilterOf {
 public:
  FsaiFilterOf(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, double tau)
      : exec_(exec),
        A_(A),
        tau_squared_(tau * tau),
        diagonal_(allocate_zero_view<DeviceArray<double, Exec>>(exec, "Solder::fsai::diagonal",
                                                                A.rows())) {
    run<FsaiFilter::diagonal>("Solder::fsai::diagonal");
  }

  template <FsaiFilter what>
  void run(char const* label, Offset* kept = nullptr, std::int32_t* columns = nullptr,
           std::int32_t* differs = nullptr) const {
    std::int32_t const n = A_.rows(), lane_bits = row_lane_bits<Exec>(n, A_.nonzeros());
    std::int32_t const batch = 4 * warps_of_rows * (warp >> lane_bits);
    Kokkos::parallel_for(
        label,
        row_policy<Exec, warps_of_rows>(
            exec_, static_cast<std::int32_t>((n + std::int64_t(batch) - 1) / batch), 0),
        FsaiFilterKernel<Exec, Scalar, Offset, what>{
            A_.row_offsets().data(), A_.column_indices().data(), A_.values().data(), n, batch,
            lane_bits, tau_squared_, diagonal_.data(), kept, columns, differs});
  }

 private:
  Exec exec_;
  CsrMatrix<Scalar, Exec, Offset> const& A_;
  double tau_squared_;
  DeviceArray<double, Exec> diagonal_;
};

/// \brief The graph of the entries with |a_ij|^2 > tau^2 |a_ii| |a_jj|; A's own arrays if these are
/// all entries. 4 kernels and at most two waits.
template <class Exec, class Scalar, class Offset>
SOLDER_MAKES_LAMBDAS FsaiGraph<Exec, Offset> fsai_graph(Exec const& exec,
                                                        CsrMatrix<Scalar, Exec, Offset> const& A,
                                                        double tau) {
  using Space = typename Exec::memory_space;
  std::int32_t const n = A.rows();
  std::int64_t const nonzeros = A.nonzeros();
  if (nonzeros == 0) return {A.row_offsets(), A.column_indices()};
  FsaiFilterOf const filter(exec, A, tau);
  auto const offsets = allocate_view<Kokkos::View<Offset*, Space>>(
      exec, "Solder::fsai::graph_offsets", std::size_t(n) + 1);
  filter.template run<FsaiFilter::count>("Solder::fsai::count_graph", offsets.data());
  Offset kept = 0;
  Offset* const starts = offsets.data();
  Kokkos::parallel_scan(
      "Solder::fsai::graph_offsets",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, std::int64_t(n) + 1),
      KOKKOS_LAMBDA(std::int64_t i, Offset & at, bool last) {
        Offset const length = i < n ? starts[i] : 0;
        if (last) starts[i] = at;
        at += length;
      },
      kept);
  if (static_cast<std::int64_t>(kept) == nonzeros) return {A.row_offsets(), A.column_indices()};
  auto const columns =
      allocate_view<Kokkos::View<std::int32_t*, Space>>(exec, "Solder::fsai::graph_columns", kept);
  filter.template run<FsaiFilter::fill>("Solder::fsai::fill_graph", offsets.data(), columns.data());
  exec.fence("Solder::fsai: the diagonal is free");
  return {offsets, columns};
}

/// \brief Who searches, and where the search stores what it finds: a warp in scratch, a team in
/// scratch, or a team in global memory.
enum class FsaiReach { warp, team, memory };

/// \brief The most columns that a search holds; its hash table has twice as many slots.
inline constexpr std::int32_t warp_reach = 256, team_reach = 2048;

/// \brief The most columns that a search in memory holds: the slots of its hash table must be
/// countable with 32 bits.
inline constexpr std::int32_t largest_reach = 1 << 29;

/// \brief The capacity of the next search after one for which `reach` columns were too few.
/// \throws std::length_error if it cannot grow further
inline std::int32_t longer_reach(std::int32_t reach) {
  if (reach >= largest_reach)
    throw std::length_error("Solder::FsaiPattern: a row of the pattern has more than " +
                            std::to_string(reach) +
                            " entries; a smaller k or a larger tau makes it shorter");
  return static_cast<std::int32_t>(std::min<std::int64_t>(4 * std::int64_t(reach), largest_reach));
}

/// \brief Breadth-first searches of the graph, one for each row, through vertices not above that
/// row. Counts the vertices found, or writes them in ascending order.
template <class Exec, class Offset, FsaiReach reach, bool fills>
struct FsaiSearchKernel {
  static constexpr int warps = reach == FsaiReach::memory ? 2 * warps_of_rows : warps_of_rows;
  /// Searches are bound by memory latency, which many warps hide.
  static constexpr int least_teams = reach == FsaiReach::warp ? 6 : 1;

  Offset const* offsets;
  std::int32_t const* columns;
  std::int32_t levels, lane_bits;
  std::int32_t const* list;  ///< of rows, relative to `first`; null: all rows
  std::int32_t first, count, batch;
  std::int32_t capacity, hash_shift;  ///< for searches in memory; compile-time constants in scratch
  std::int32_t* memory;               ///< words(capacity) per team; unused in scratch
  std::int32_t* lengths;              ///< of all rows; -1: found more than capacity
  Offset const* out_offsets;          ///< of the rows from first on
  std::int32_t* out;

  KOKKOS_FUNCTION static constexpr std::int64_t words(std::int64_t capacity) {
    return 3 * capacity;
  }

  KOKKOS_FUNCTION static constexpr int scratch_bytes(std::int32_t capacity) {
    constexpr int word = sizeof(std::int32_t), counter = 8;
    if (reach == FsaiReach::memory) return counter;
    int const bytes = static_cast<int>(words(capacity)) * word;
    return reach == FsaiReach::team ? bytes + counter : bytes * (is_host_space<Exec> ? 1 : warps);
  }

  /// \brief The most columns that a search holds: a power of two.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t room() const {
    if constexpr (reach == FsaiReach::memory) return capacity;
    return reach == FsaiReach::warp ? warp_reach : team_reach;
  }

  /// \brief A column's slot in the table. Multiplication by 2^32 over the golden ratio spreads
  /// neighbouring columns far apart.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t slot_of(std::int32_t column) const {
    std::uint32_t const hash = static_cast<std::uint32_t>(column) * 2654435769u;
    if constexpr (reach == FsaiReach::memory) return hash >> hash_shift;
    constexpr std::uint32_t share =
        (std::uint32_t(1) << 31) / (reach == FsaiReach::warp ? warp_reach : team_reach);
    return hash / share;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const scratch =
        static_cast<std::int32_t*>(member.team_scratch(0).get_shmem(scratch_bytes(room())));
    std::int32_t const begin = member.league_rank() * batch,
                       end = Kokkos::min(begin + batch, count);
    if constexpr (reach == FsaiReach::warp) {
      WarpLanes<Exec> lanes;
      std::int32_t* const found = scratch + member.team_rank() * words(room());
      for (std::int32_t t = begin + member.team_rank(); t < end; t += member.team_size())
        work(lanes, t, found);
    } else {
      std::int32_t *found = scratch, *counter = scratch + words(room());
      if constexpr (reach == FsaiReach::memory) {
        found = memory + static_cast<std::int64_t>(member.league_rank()) * words(room());
        counter = scratch;
      }
      TeamLanes<Exec, Member> lanes(member, counter);
      for (std::int32_t t = begin; t < end; ++t) work(lanes, t, found);
    }
  }

  /// \brief Searches for one row; collects its columns in found[0] to found[room() - 1].
  template <class Lanes>
  KOKKOS_FUNCTION void work(Lanes& lanes, std::int32_t t, std::int32_t* found) const {
    std::int32_t const place = list == nullptr ? t : list[t], row = first + place;
    if constexpr (fills) {
      auto const start = out_offsets[place];
      auto const length = static_cast<std::int32_t>(out_offsets[place + 1] - start);
      if (length > room()) return;  // listed for the searches that hold more
      search(lanes, row, found);
      sort(lanes, found, length);
      for (std::int32_t k = lanes.rank(); k < length; k += lanes.size()) out[start + k] = found[k];
      lanes.barrier();
    } else {
      std::int32_t const length = search(lanes, row, found);
      if (lanes.rank() == 0) lengths[row] = length;
    }
  }

  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION void sort(Lanes const& lanes, std::int32_t* found,
                                        std::int32_t length) const {
    static_assert(warp_reach <= most_warp_keys);
    if constexpr (Lanes::on_host || reach != FsaiReach::warp)
      sort_keys(lanes, found, length);
    else
      sort_by_warp(found, found, length);
  }

  /// \brief Writes the columns it finds to `found`, `row` first. Returns their number, or -1 if
  /// there are too many.
  template <class Lanes>
  KOKKOS_FUNCTION std::int32_t search(Lanes& lanes, std::int32_t row, std::int32_t* found) const {
    std::int32_t* const table = found + room();
    for (std::int32_t k = lanes.rank(); k < 2 * room(); k += lanes.size()) table[k] = -1;
    if (lanes.rank() == 0) found[0] = row;
    lanes.start(1);
    lanes.barrier();
    std::int32_t begin = 0, end = 1;
    for (std::int32_t level = 0; level < levels && begin < end; ++level) {
      expand(lanes, row, found, begin, end);
      begin = end;
      end = lanes.taken();
      if (end > room()) return -1;
    }
    return end;
  }

  /// \brief Adds the neighbours below `row` of the vertices found[begin] to found[end - 1].
  /// 2^lane_bits lanes share a vertex.
  ///
  /// A lane stops once it has found more than there is room for, so the table never fills up.
  template <class Lanes>
  KOKKOS_FORCEINLINE_FUNCTION void expand(Lanes& lanes, std::int32_t row, std::int32_t* found,
                                          std::int32_t begin, std::int32_t end) const {
    std::int32_t const lane = lane_number() & ((1 << lane_bits) - 1);
    std::int32_t const mine = lanes.rank() >> lane_bits, at_once = lanes.size() >> lane_bits;
    bool full = false;
    Vertex next = vertex(found, begin + mine, end);
    // All lanes of a warp make the same number of turns, because they vote.
    for (std::int32_t base = begin; base < end && !full; base += at_once) {
      Vertex const now = next;
      next = vertex(found, base + at_once + mine, end);
      Offset at = now.begin + lane;
      do {
        std::int32_t const column = at < now.end ? columns[at] : row;
        bool const is_new = column < row && insert(found + room(), column);
        std::uint32_t const votes = lane_votes(is_new);
        if (votes != 0) {
          std::int32_t const place = lanes.take_place(is_new, votes);
          if (is_new && place < room()) found[place] = column;
          full = lane_votes(is_new && place >= room()) != 0;
        }
        at += 1 << lane_bits;
      } while (lane_votes(at < now.end) != 0 && !full);
    }
  }

  /// \brief The range of a vertex's neighbours.
  struct Vertex {
    Offset begin, end;
  };

  KOKKOS_FORCEINLINE_FUNCTION Vertex vertex(std::int32_t const* found, std::int32_t k,
                                            std::int32_t end) const {
    if (k >= end) return {0, 0};
    return {offsets[found[k]], offsets[found[k] + 1]};
  }

  /// \brief Inserts a column in the table; whether it was not there before.
  KOKKOS_FORCEINLINE_FUNCTION bool insert(std::int32_t* table, std::int32_t column) const {
    std::uint32_t slot = slot_of(column);
    while (true) {
      std::int32_t seen = table[slot];
      if (seen == -1) seen = compare_exchange(&table[slot], -1, column);
      if (seen == -1) return true;
      if (seen == column) return false;
      slot = (slot + 1) & (2 * static_cast<std::uint32_t>(room()) - 1);
    }
  }
};

/// \brief The rows, ascending, whose search found more columns than it had room for.
template <class Exec, class Lengths>
SOLDER_MAKES_LAMBDAS Lengths list_unfinished_searches(Exec const& exec, Lengths const& lengths) {
  std::int32_t const* const length = lengths.data();
  auto const n = static_cast<std::int32_t>(lengths.extent(0));
  std::int32_t unfinished = 0;
  Kokkos::parallel_reduce(
      "Solder::fsai::count_unfinished", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(int i, std::int32_t& sum) { sum += length[i] < 0 ? 1 : 0; }, unfinished);
  auto const rows = allocate_view<Lengths>(exec, "Solder::fsai::rows", unfinished);
  if (unfinished == 0) return rows;
  std::int32_t* const list = rows.data();
  Kokkos::parallel_scan(
      "Solder::fsai::list_unfinished", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(int i, std::int32_t& at, bool last) {
        if (length[i] >= 0) return;
        if (last) list[at] = i;
        ++at;
      });
  return rows;
}

template <class Exec, class Lengths>
SOLDER_MAKES_LAMBDAS void sum_up_lengths(Exec const& exec, Lengths const& lengths,
                                         std::int32_t& longest, std::int64_t& total) {
  std::int32_t const* const length = lengths.data();
  auto const n = static_cast<std::int32_t>(lengths.extent(0));
  Kokkos::parallel_reduce(
      "Solder::fsai::total_length", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(int i, std::int64_t& sum) { sum += length[i]; }, total);
  Kokkos::parallel_reduce(
      "Solder::fsai::longest_length", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(int i, std::int32_t& most) {
        if (length[i] > most) most = length[i];
      },
      Kokkos::Max<std::int32_t>(longest));
  longest = std::max(longest, 0);
}

}  // namespace Impl

/// \brief The pattern of a static FSAI: the lower triangle of the k-th power of the prefiltered
/// matrix, with every intermediate power cut to its lower triangle; (3.8) and (3.9) of Bernaschi et
/// al. (2016).
///
/// Off-diagonal entries with |a_ij|^2 > tau^2 |a_ii| |a_jj|, compared in double, are kept. For
/// tau = 0 these are all except zeros. A NaN is never kept, nor is an entry whose row or column has
/// one on the diagonal. Row i of the pattern is what a breadth-first search of depth k finds from i
/// through vertices not above i. So rows do not depend on each other, and no power is stored. A
/// search collects its columns in a hash table in a warp's scratch. Rows that do not fit are
/// searched again by teams in larger scratch, and then in global memory, in tables that grow until
/// all rows fit.
///
/// A must be square and without duplicates; its rows may be unsorted. Each row is searched twice:
/// by the constructor, to count, and by fill. Memory: 4 bytes per kept entry and an Offset per row
/// if any entry was dropped, 4 bytes per row, and the tables of long rows. The tables take up to a
/// third of A's memory, or one team's if that is more.
template <class Scalar, class Exec, class Offset = std::int32_t>
class FsaiPattern {
 public:
  using Lengths = Kokkos::View<std::int32_t*, typename Exec::memory_space>;

  /// \brief Counts the entries and waits for the result. tau >= 0, k >= 0. \throws
  /// std::invalid_argument if A is not square
  FsaiPattern(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, double tau,
              std::int32_t k)
      : rows_(checked_rows(A)),
        levels_(k),
        graph_(Impl::fsai_graph(exec, A, tau)),
        lengths_(Impl::allocate_view<decltype(lengths_)>(exec, "Solder::fsai::lengths", rows_)) {
    lane_bits_ =
        Impl::row_lane_bits<Exec>(rows_, static_cast<std::int64_t>(graph_.columns.extent(0)));
    count(exec);
  }

  std::int32_t rows() const { return rows_; }
  /// \brief Entries of each row, the diagonal included; on the device.
  Lengths const& lengths() const { return lengths_; }
  std::int32_t longest_row() const { return longest_; }
  /// \brief Entries of all rows.
  std::int64_t total() const { return total_; }

  /// \brief Writes the columns of rows first to last - 1. Each row's columns ascend and end with
  /// the diagonal.
  ///
  /// \param chunk_offsets last - first + 1 offsets into `columns`, on the device: the running sums
  /// of the lengths of these rows
  void fill(Exec const& exec, std::int32_t first, std::int32_t last, Offset const* chunk_offsets,
            std::int32_t* columns) const {
    using Impl::FsaiReach;
    constexpr std::int32_t warp_reach = Impl::warp_reach, team_reach = Impl::team_reach;
    std::int32_t const count = last - first;
    auto const longer = [&](std::int64_t above, std::int64_t most) {
      std::int32_t const length = Impl::list_rows(exec, chunk_offsets, count, above, most);
      auto const list = Impl::allocate_view<Lengths>(exec, "Solder::fsai::rows", length);
      Impl::list_rows(exec, chunk_offsets, count, above, most, list.data());
      return list;
    };
    Search const search{first, chunk_offsets, columns};
    run<FsaiReach::warp, true>(exec, search, nullptr, count, warp_reach);
    if (longest_ <= warp_reach) return;
    Lengths const medium = longer(warp_reach, team_reach);
    run<FsaiReach::team, true>(exec, search, &medium, 0, team_reach);
    if (longest_ <= team_reach) return;
    std::int32_t capacity = team_reach;
    while (capacity < longest_) capacity *= 2;
    Lengths const large = longer(team_reach, longest_);
    run<FsaiReach::memory, true>(exec, search, &large, 0, capacity);
  }

 private:
  struct Search {
    std::int32_t first;
    Offset const* out_offsets;
    std::int32_t* out;
  };

  static std::int32_t checked_rows(CsrMatrix<Scalar, Exec, Offset> const& A) {
    if (A.rows() != A.columns())
      throw std::invalid_argument("Solder::FsaiPattern: a square matrix is needed, not " +
                                  std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
    return A.rows();
  }

  /// \brief Warps count all rows; teams then count those that were too long, in ever larger tables.
  void count(Exec const& exec) {
    using Impl::FsaiReach;
    Search const search{0, nullptr, nullptr};
    run<FsaiReach::warp, false>(exec, search, nullptr, rows_, Impl::warp_reach);
    for (std::int32_t capacity = 0;;) {
      auto const unfinished = Impl::list_unfinished_searches(exec, lengths_);
      if (unfinished.extent(0) == 0) break;
      capacity = capacity == 0 ? Impl::team_reach : Impl::longer_reach(capacity);
      if (capacity == Impl::team_reach)
        run<FsaiReach::team, false>(exec, search, &unfinished, 0, capacity);
      else
        run<FsaiReach::memory, false>(exec, search, &unfinished, 0, capacity);
    }
    Impl::sum_up_lengths(exec, lengths_, longest_, total_);
  }

  /// \brief Searches the rows of a list, or `count` rows from search.first on if there is no list.
  template <Impl::FsaiReach reach, bool fills>
  void run(Exec const& exec, Search const& search, Lengths const* list, std::int32_t count,
           std::int32_t capacity) const {
    using Kernel = Impl::FsaiSearchKernel<Exec, Offset, reach, fills>;
    if (list != nullptr) count = static_cast<std::int32_t>(list->extent(0));
    if (count == 0) return;
    std::int32_t batch = 1, teams = count;
    if constexpr (reach == Impl::FsaiReach::warp)
      batch = Impl::is_host_space<Exec> ? 4 * Kernel::warps : Kernel::warps;
    if constexpr (reach == Impl::FsaiReach::memory) {
      std::int64_t const affordable =
          static_cast<std::int64_t>(graph_.columns.extent(0)) / Kernel::words(capacity);
      std::int32_t const resident = Impl::is_host_space<Exec>
                                        ? static_cast<std::int32_t>(exec.concurrency())
                                        : Impl::resident_league(exec);
      teams = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(affordable, 1, std::min(count, resident)));
      batch = (count + teams - 1) / teams;
    }
    teams = (count - 1) / batch + 1;
    auto const memory = Impl::allocate_view<Lengths>(
        exec, "Solder::fsai::tables",
        reach == Impl::FsaiReach::memory ? teams * Kernel::words(capacity) : 0);
    std::int32_t hash_shift = 32;
    for (std::int32_t slots = 2 * capacity; slots > 1; slots /= 2) --hash_shift;
    Kernel const kernel{graph_.offsets.data(),
                        graph_.columns.data(),
                        levels_,
                        lane_bits_,
                        list == nullptr ? nullptr : list->data(),
                        search.first,
                        count,
                        batch,
                        capacity,
                        hash_shift,
                        memory.data(),
                        lengths_.data(),
                        search.out_offsets,
                        search.out};
    Kokkos::parallel_for(fills ? "Solder::fsai::fill_pattern" : "Solder::fsai::count_pattern",
                         Impl::row_policy<Exec, Kernel::warps, Kernel::least_teams>(
                             exec, teams, Kernel::scratch_bytes(capacity)),
                         kernel);
    if (list != nullptr) exec.fence("Solder::fsai: tables and lists are free");
  }

  std::int32_t rows_, levels_;
  Impl::FsaiGraph<Exec, Offset> graph_;
  Lengths lengths_;
  std::int32_t lane_bits_ = 0, longest_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace Solder
