// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/preconditioners/detail/fsai/host_rows.hpp>
#include <solder/preconditioners/detail/fsai/large_rows.hpp>
#include <solder/preconditioners/detail/fsai/small_rows.hpp>

namespace Solder {

namespace Impl::fsai {

/// \brief The rows of a chunk, in the groups that the kernels of a GPU compute.
template <class Exec>
struct RowsBySize {
  static constexpr int groups = 5;
  /// Group g has the patterns with more than limits[g] entries, and at most limits[g + 1].
  static constexpr std::int32_t medium = 64,
                                limits[groups + 1] = {
                                    0, 8, 16, 32, medium, std::numeric_limits<std::int32_t>::max()};

  DeviceArray<std::int32_t, Exec> list;
  std::int32_t begin[groups + 1] = {};

  template <class Offset>
  static RowsBySize of(Exec const& exec, Offset const* offsets, std::int32_t count) {
    RowsBySize rows{
        allocate_view<DeviceArray<std::int32_t, Exec>>(exec, "Solder::fsai::rows_by_size", count)};
    for (int g = 0; g < groups; ++g)
      rows.begin[g + 1] = rows.begin[g] + list_rows(exec, offsets, count, limits[g], limits[g + 1],
                                                    rows.list.data(), rows.begin[g]);
    return rows;
  }
  std::int32_t const* operator[](int group) const { return list.data() + begin[group]; }
  std::int32_t count(int group) const { return begin[group + 1] - begin[group]; }
};

}  // namespace Impl::fsai

/// \brief Computes rows of an FSAI from their patterns (paper 2, Algorithm 3.1, lines 7 to 22):
/// gathers and factorises the local matrix A[P, P]. The row g is the last row of L^-1, filtered.
///
/// There is one kernel for each size of patterns. Patterns of up to 8, 16 and 32 entries are in the
/// registers of as many lanes. A larger pattern takes a team, in scratch if the envelope of its
/// local matrix fits there, else in memory. On hosts one thread computes a row. Only the lower
/// triangle of A is read; this object keeps a copy of it where it looks entries up. A must have no
/// duplicates. A row whose local matrix is not positive definite becomes diagonal and is counted.
template <class Scalar, class Exec, class Factor, class Offset>
class FsaiValues {
 public:
  static_assert(parts<Scalar> == parts<Factor>, "a factor is real exactly if the matrix is");
  using Matrix = CsrMatrix<Scalar, Exec, Offset>;
  using memory_space = typename Exec::memory_space;

  using RowsBySize = Impl::fsai::RowsBySize<Exec>;
  using LocalPlaces = Impl::fsai::LocalPlaces<Scalar, Offset>;

  /// \brief Copies the lower triangle of the square matrix A; two kernels and a fence.
  /// \param looks_up false: nothing is copied, because all entries have known places
  FsaiValues(Exec const& exec, Matrix const& A, bool looks_up = true)
      : offsets_(Impl::allocate_zero_view<decltype(offsets_)>(exec, "Solder::fsai::lower_offsets",
                                                              std::size_t(A.rows()) + 1)),
        counts_(Impl::allocate_zero_view<decltype(counts_)>(exec, "Solder::fsai::counts")) {
    if (looks_up) copy_lower(exec, A);
    double const mean = A.rows() == 0 ? 0 : double(lower_nonzeros()) / A.rows();
    while (lane_bits_ < 5 && (Impl::fsai::entries_at_once << lane_bits_) < mean) ++lane_bits_;
    set_counts(exec, Counts{});
  }

  /// \brief Computes the values of rows first, ..., last - 1 of G for the patterns `columns`. The
  /// pattern of row first + k begins at offsets[k]; it ascends and ends with the diagonal. The
  /// columns of dropped entries become ~column; kept[k] is the number of the others. Fences on
  /// GPUs.
  void compute(Exec const& exec, std::int32_t first, std::int32_t last,
               Impl::fsai::Filtration const& filtration, Offset const* offsets,
               std::int32_t* columns, Factor* values, std::int32_t* kept) {
    Chunk chunk = chunk_of(filtration, offsets, columns, values, kept);
    chunk.first_row = first;
    RowsBySize rows;
    if constexpr (!Impl::is_host_space<Exec>) rows = RowsBySize::of(exec, offsets, last - first);
    compute(exec, chunk, last - first, rows);
  }

  /// \brief The same for all rows of a pattern that is known: where the entries of local matrices
  /// are, and which rows are of which size. `columns` say which entries were dropped the last time;
  /// if that changes, counts() say so.
  void compute(Exec const& exec, std::int32_t rows, Impl::fsai::Filtration const& filtration,
               LocalPlaces const& known, RowsBySize const& by_size, Offset const* offsets,
               std::int32_t* columns, Factor* values, std::int32_t* kept) {
    Chunk chunk = chunk_of(filtration, offsets, columns, values, kept);
    chunk.known = known;
    chunk.changed = &counts_.data()->changed;
    compute(exec, chunk, rows, by_size);
  }

  struct Counts {
    std::int64_t repaired = 0;
    std::int32_t first_repaired = std::numeric_limits<std::int32_t>::max();
    std::int32_t changed = 0;
    std::int32_t overflow = 0;
    std::uint64_t most_bytes = 0;
  };

  /// \brief The counts of all calls of compute so far; fences.
  Counts counts(Exec const& exec) const {
    Counts host;
    Impl::copy(exec, Kokkos::View<Counts, Kokkos::HostSpace>(&host), counts_);
    exec.fence("Solder::fsai: counted");
    return host;
  }

  std::int64_t lower_nonzeros() const { return static_cast<std::int64_t>(columns_.extent(0)); }

  /// \brief Public only because CUDA requires it.
  SOLDER_MAKES_LAMBDAS void copy_lower(Exec const& exec, Matrix const& A) {
    Offset const* const offsets = A.row_offsets().data();
    std::int32_t const* const columns = A.column_indices().data();
    Scalar const* const values = A.values().data();
    Offset* const lower_offsets = offsets_.data();
    std::int64_t nonzeros = 0;
    Kokkos::parallel_scan(
        "Solder::fsai::count_lower", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        KOKKOS_LAMBDA(int i, std::int64_t& at, bool last) {
          for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) at += columns[k] <= i;
          if (last) lower_offsets[i + 1] = static_cast<Offset>(at);
        },
        nonzeros);
    columns_ = Impl::allocate_view<Columns>(exec, "Solder::fsai::lower_columns", nonzeros);
    values_ = Impl::allocate_view<Values>(exec, "Solder::fsai::lower_values", nonzeros);
    std::int32_t* const to_columns = columns_.data();
    Scalar* const to_values = values_.data();
    Kokkos::parallel_for(
        "Solder::fsai::copy_lower", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        KOKKOS_LAMBDA(int i) {
          Offset at = lower_offsets[i];
          for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
            if (columns[k] > i) continue;
            to_columns[at] = columns[k];
            to_values[at] = values[k];
            ++at;
          }
        });
  }

 private:
  using Columns = Kokkos::View<std::int32_t*, memory_space>;
  using Values = Kokkos::View<Scalar*, memory_space>;
  using Chunk = Impl::fsai::Chunk<Scalar, Factor, Offset>;

  /// Level-0 scratch of a team: 48 kB less what Kokkos and alignment take.
  static constexpr int most_scratch = 47 * 1024;

  Chunk chunk_of(Impl::fsai::Filtration const& filtration, Offset const* offsets,
                 std::int32_t* columns, Factor* values, std::int32_t* kept) const {
    Counts* const counts = counts_.data();
    return {{offsets_.data(), columns_.data(), values_.data()},
            {},
            0,
            offsets,
            columns,
            nullptr,
            values,
            kept,
            &counts->repaired,
            &counts->first_repaired,
            filtration,
            lane_bits_};
  }

  void compute(Exec const& exec, Chunk const& chunk, std::int32_t count,
               [[maybe_unused]] RowsBySize const& by_size) {
    if constexpr (Impl::is_host_space<Exec>)
      Impl::fsai::HostRows<Scalar, Factor, Offset>{chunk, count}.launch(exec);
    else
      compute_by_size(exec, chunk, by_size);
  }

  /// \brief Launches the kernels of a GPU, the largest rows first. Those of the fourth group have a
  /// smaller team than those of the last.
  void compute_by_size(Exec const& exec, Chunk const& chunk, RowsBySize const& rows) {
    using namespace Impl::fsai;
    constexpr std::int64_t tiles = RowsBySize::medium / tile_rows;
    constexpr std::size_t scratch = LargeScratch<Scalar>::bytes(RowsBySize::medium) +
                                    tiles * (tiles + 1) / 2 * tile_values * sizeof(Scalar);
    compute_large(exec, chunk, rows[4], rows.count(4), most_scratch, 4, mostly_in_memory_);
    bool never = false;
    compute_large(exec, chunk, rows[3], rows.count(3),
                  static_cast<int>(std::min<std::size_t>(scratch, most_scratch)), 2, never);
    SmallRows<32, Scalar, Factor, Offset>{chunk, rows[2], rows.count(2)}.launch(exec);
    SmallRows<16, Scalar, Factor, Offset>{chunk, rows[1], rows.count(1)}.launch(exec);
    SmallRows<8, Scalar, Factor, Offset>{chunk, rows[0], rows.count(0)}.launch(exec);
  }

  /// \brief Computes the rows of a list in scratch, unless most did not fit there the last time.
  /// Rows that do not fit are then computed in memory, in blocks of the size that turns out to be
  /// needed.
  void compute_large(Exec const& exec, Chunk const& chunk, std::int32_t const* rows,
                     std::int32_t count, int scratch_bytes, int warps, bool& mostly_in_memory) {
    if (count == 0) return;
    std::int32_t const all = count;
    Columns lists[2];
    for (int round = mostly_in_memory ? 1 : 0; count > 0; ++round) {
      Columns& list = lists[round % 2];
      list = Impl::allocate_view<Columns>(exec, "Solder::fsai::overflow", count);
      Counts* const counts = counts_.data();
      Impl::fsai::Overflow const overflow{list.data(), &counts->overflow, &counts->most_bytes};
      if (round == 0) {
        Impl::fsai::LargeRows<true, Scalar, Factor, Offset>{chunk,   rows, count,   scratch_bytes,
                                                            nullptr, 0,    overflow}
            .launch(exec, count, warps);
      } else {
        int const teams = reserve_memory(exec, count);
        Impl::fsai::LargeRows<false, Scalar, Factor, Offset>{
            chunk, rows, count, arrays_scratch, memory_.data(), block_bytes_, overflow}
            .launch(exec, teams, warps);
      }
      Counts const found = this->counts(exec);
      rows = list.data();
      count = found.overflow;
      if (round == 0) mostly_in_memory = count > all / 2;
      if (count == 0) break;
      block_bytes_ = std::max<std::size_t>(block_bytes_, found.most_bytes);
      set_counts(exec, {found.repaired, found.first_repaired, found.changed});
    }
  }

  /// Scratch for the arrays of rows whose tiles are in memory; enough for some 1000 entries.
  static constexpr int arrays_scratch = 16 * 1024;

  /// \brief Reserves block_bytes_ of memory for each team and returns the number of teams: as many
  /// as are resident at once, or as fit into half of A's memory.
  int reserve_memory(Exec const& exec, std::int32_t rows) {
    std::size_t const affordable =
        static_cast<std::size_t>(lower_nonzeros()) * (sizeof(Scalar) + sizeof(std::int32_t));
    auto const teams = static_cast<int>(std::clamp<std::size_t>(
        affordable / block_bytes_, 1, std::min<std::int32_t>(rows, exec.concurrency() / 512)));
    std::size_t const bytes = teams * block_bytes_;
    if (memory_.extent(0) < bytes) {
      memory_ = Kokkos::View<char*, memory_space>(nullptr, 0);
      memory_ = Impl::allocate_view<Kokkos::View<char*, memory_space>>(exec, "Solder::fsai::memory",
                                                                       bytes);
    }
    return teams;
  }

  void set_counts(Exec const& exec, Counts counts) const {
    Impl::copy(exec, counts_, Kokkos::View<Counts, Kokkos::HostSpace>(&counts));
    exec.fence("Solder::fsai: counts are set");
  }

  Kokkos::View<Offset*, memory_space> offsets_;
  Columns columns_;
  Values values_;
  Kokkos::View<Counts, memory_space> counts_;
  Kokkos::View<char*, memory_space> memory_;  ///< of teams, for rows too large for scratch
  std::size_t block_bytes_ = 0;
  bool mostly_in_memory_ = false;
  std::int32_t lane_bits_ = 0;
};

}  // namespace Solder
