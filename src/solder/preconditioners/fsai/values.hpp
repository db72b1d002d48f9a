// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <solder/core/lanes.hpp>
#include <solder/preconditioners/fsai/host_rows.hpp>
#include <solder/preconditioners/fsai/large_rows.hpp>
#include <solder/preconditioners/fsai/small_rows.hpp>

namespace Solder {

namespace Impl::fsai {

/// \brief Lists the rows of a chunk by the number of their entries: those of up to 8, 16, 32,
/// `medium` and more, ascending, in lists[0], lists[rows], ....
template <class Scalar, class Factor, class Offset>
struct ListBySize {
  static constexpr int sizes = 5;
  static constexpr std::int32_t medium = 64;
  struct value_type {
    std::int32_t counts[sizes];
  };

  Chunk<Scalar, Factor, Offset> chunk;
  std::int32_t* lists;
  std::int32_t rows;

  KOKKOS_FUNCTION void operator()(std::int32_t k, value_type& before, bool last) const {
    std::int32_t const m = chunk.length(k);
    int const size = m <= 8 ? 0 : m <= 16 ? 1 : m <= 32 ? 2 : m <= medium ? 3 : 4;
    for (int s = 0; s < sizes; ++s) {
      if (s != size) continue;
      if (last) lists[std::int64_t(s) * rows + before.counts[s]] = k;
      ++before.counts[s];
    }
  }
  KOKKOS_FUNCTION void init(value_type& value) const {
    for (auto& count : value.counts) count = 0;
  }
  KOKKOS_FUNCTION void join(value_type& value, value_type const& other) const {
    for (int s = 0; s < sizes; ++s) value.counts[s] += other.counts[s];
  }
};

}  // namespace Impl::fsai

/// \brief Computes rows of an FSAI from their patterns (paper 2, Algorithm 3.1, lines 7 to 22):
/// the local matrix A[P, P] is gathered and factorised, g is the last row of L^-1, filtered.
///
/// One kernel for each size of patterns: up to 8, 16 and 32 entries in the registers of as many
/// lanes; larger ones by a team in scratch while the envelope of the local matrix fits, in memory
/// else. On hosts a thread a row. Only the lower triangle of A is read, of which the object keeps a
/// copy. A row whose local matrix is not positive definite becomes diagonal and is counted.
template <class Scalar, class Exec, class Factor, class Offset>
class FsaiValues {
 public:
  static_assert(parts<Scalar> == parts<Factor>, "a factor is real where the matrix is");
  using Matrix = CsrMatrix<Scalar, Exec, Offset>;
  using memory_space = typename Exec::memory_space;

  /// \brief Copies the lower triangle of A, square; three kernels and a fence.
  FsaiValues(Exec const& exec, Matrix const& A)
      : offsets_(Kokkos::view_alloc("Solder::fsai::lower_offsets", exec),
                 std::size_t(A.rows()) + 1),
        counts_(Kokkos::view_alloc("Solder::fsai::counts", exec)) {
    copy_lower(exec, A);
    double const mean = A.rows() == 0 ? 0 : double(lower_nonzeros()) / A.rows();
    while (lane_bits_ < 5 && (Impl::fsai::entries_at_once << lane_bits_) < mean) ++lane_bits_;
    set_counts(exec, Counts{});
  }

  /// \brief The rows first, ..., last - 1 of G: values of the patterns `columns`, of which row
  /// first + k has those from offsets[k] on, ascending, its own last. Dropped entries get the
  /// column -1; kept[k] says how many were not. Fences on GPUs.
  void compute(Exec const& exec, std::int32_t first, std::int32_t last,
               Impl::fsai::Filtration const& filtration, Offset const* offsets,
               std::int32_t* columns, Factor* values, std::int32_t* kept) {
    std::int32_t const count = last - first;
    Counts* const counts = counts_.data();
    Impl::fsai::Chunk<Scalar, Factor, Offset> const chunk{
        {offsets_.data(), columns_.data(), values_.data()},
        first,
        offsets,
        columns,
        values,
        kept,
        &counts->repaired,
        &counts->first_repaired,
        filtration,
        lane_bits_};
    if constexpr (Impl::is_host_space<Exec>)
      Impl::fsai::HostRows<Scalar, Factor, Offset>{chunk, count}.launch(exec);
    else
      compute_by_size(exec, chunk, count);
  }

  struct Counts {
    std::int64_t repaired = 0;
    std::int32_t first_repaired = std::numeric_limits<std::int32_t>::max();
    std::int32_t overflow = 0;
    std::uint64_t most_bytes = 0;
  };

  /// \brief What compute has counted so far; fences.
  Counts counts(Exec const& exec) const {
    Counts host;
    Kokkos::deep_copy(exec, Kokkos::View<Counts, Kokkos::HostSpace>(&host), counts_);
    exec.fence("Solder::fsai: counted");
    return host;
  }

  std::int64_t lower_nonzeros() const { return static_cast<std::int64_t>(columns_.extent(0)); }

  /// \brief Public for CUDA's sake.
  void copy_lower(Exec const& exec, Matrix const& A) {
    Kokkos::View<std::int32_t*, memory_space> const lengths(
        Kokkos::view_alloc("Solder::fsai::lower_lengths", exec, Kokkos::WithoutInitializing),
        A.rows());
    for_each_lower_entry(exec, A, "Solder::fsai::count_lower", LowerLengths{lengths.data()});
    std::int32_t const* const length = lengths.data();
    Offset* const offsets = offsets_.data();
    std::int64_t nonzeros = 0;
    Kokkos::parallel_scan(
        "Solder::fsai::scan_lower", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        KOKKOS_LAMBDA(int i, std::int64_t& at, bool last) {
          at += length[i];
          if (last) offsets[i + 1] = static_cast<Offset>(at);
        },
        nonzeros);
    columns_ = Columns(
        Kokkos::view_alloc("Solder::fsai::lower_columns", exec, Kokkos::WithoutInitializing),
        nonzeros);
    values_ =
        Values(Kokkos::view_alloc("Solder::fsai::lower_values", exec, Kokkos::WithoutInitializing),
               nonzeros);
    for_each_lower_entry(exec, A, "Solder::fsai::copy_lower",
                         LowerCopy{A.column_indices().data(), A.values().data(), offsets,
                                   columns_.data(), values_.data()});
  }

  struct LowerLengths {
    std::int32_t* lengths;

    KOKKOS_FUNCTION void entry(std::int32_t, std::int32_t, Offset) const {}
    KOKKOS_FUNCTION void row(std::int32_t i, std::int32_t count) const { lengths[i] = count; }
  };
  struct LowerCopy {
    std::int32_t const* columns;
    Scalar const* values;
    Offset const* offsets;
    std::int32_t* to_columns;
    Scalar* to_values;

    KOKKOS_FUNCTION void entry(std::int32_t i, std::int32_t place, Offset k) const {
      to_columns[offsets[i] + place] = columns[k];
      to_values[offsets[i] + place] = values[k];
    }
    KOKKOS_FUNCTION void row(std::int32_t, std::int32_t) const {}
  };

  /// \brief body.entry(i, e, k) for each entry k, the e-th, of row i's lower triangle, and
  /// body.row(i, entries): by 8 lanes a row on GPUs.
  template <class Body>
  void for_each_lower_entry(Exec const& exec, Matrix const& A, char const* label,
                            Body const& body) const {
    constexpr int lanes = Impl::is_host_space<Exec> ? 1 : 8, warps = Impl::warps_of_rows;
    constexpr int batch = Impl::is_host_space<Exec> ? 256 : warps * Impl::warp / lanes;
    std::int32_t const rows = A.rows();
    Offset const* const offsets = A.row_offsets().data();
    std::int32_t const* const columns = A.column_indices().data();
    auto const policy = Impl::row_policy<Exec, warps>(exec, (rows + batch - 1) / batch, 0);
    Kokkos::parallel_for(
        label, policy, KOKKOS_LAMBDA(typename decltype(policy)::member_type const& team) {
          int const rank = team.team_rank() * Impl::warp + Impl::lane_number();
          int const lane = rank % lanes, shift = Impl::lane_number() - lane;
          int const at_once = Impl::is_host_space<Exec> ? 1 : batch;
          for (int turn = 0; turn < batch; turn += at_once) {
            std::int32_t const i = team.league_rank() * batch + turn + rank / lanes;
            Offset const end = i < rows ? offsets[i + 1] : 0;
            std::int32_t count = 0;
            for (Offset base = i < rows ? offsets[i] : 0; Impl::lane_votes(base < end) != 0;
                 base += lanes) {
              Offset const k = base + lane;
              bool const lower = k < end && columns[k] <= i;
              std::uint32_t const votes = Impl::lane_votes(lower) >> shift & ((1u << lanes) - 1);
              if (lower) body.entry(i, count + Impl::bits_set(votes & ((1u << lane) - 1)), k);
              count += Impl::bits_set(votes);
            }
            if (i < rows && lane == 0) body.row(i, count);
          }
        });
  }

 private:
  using Columns = Kokkos::View<std::int32_t*, memory_space>;
  using Values = Kokkos::View<Scalar*, memory_space>;
  using Memory = Kokkos::View<char*, memory_space>;
  using Chunk = Impl::fsai::Chunk<Scalar, Factor, Offset>;

  /// Level-0 scratch of a team for rows in it: 48 kB less what Kokkos and alignment take.
  static constexpr int most_scratch = 47 * 1024;

  /// \brief The kernels of a GPU, the largest rows first.
  void compute_by_size(Exec const& exec, Chunk const& chunk, std::int32_t count) {
    using Lists = Impl::fsai::ListBySize<Scalar, Factor, Offset>;
    Impl::fsai::reserve(exec, by_size_, "Solder::fsai::rows_by_size",
                        std::int64_t(Lists::sizes) * count);
    typename Lists::value_type in{};
    Kokkos::parallel_scan("Solder::fsai::list_by_size", Kokkos::RangePolicy<Exec>(exec, 0, count),
                          Lists{chunk, by_size_.data(), count}, in);
    auto const rows = [&](int size) { return by_size_.data() + std::int64_t(size) * count; };
    using namespace Impl::fsai;
    constexpr std::int64_t tiles = Lists::medium / tile_rows;
    constexpr std::size_t scratch = LargeScratch<Scalar>::bytes(Lists::medium) +
                                    tiles * (tiles + 1) / 2 * tile_values * sizeof(Scalar);
    compute_large(exec, chunk, rows(4), in.counts[4], most_scratch, 4, mostly_in_memory_);
    bool never = false;
    compute_large(exec, chunk, rows(3), in.counts[3],
                  static_cast<int>(std::min<std::size_t>(scratch, most_scratch)), 2, never);
    SmallRows<32, Scalar, Factor, Offset>{chunk, rows(2), in.counts[2]}.launch(exec);
    SmallRows<16, Scalar, Factor, Offset>{chunk, rows(1), in.counts[1]}.launch(exec);
    SmallRows<8, Scalar, Factor, Offset>{chunk, rows(0), in.counts[0]}.launch(exec);
  }

  /// \brief The rows of a list in scratch, unless they mostly did not fit last time; then those
  /// that did not in memory, in blocks as large as is found to be needed.
  void compute_large(Exec const& exec, Chunk const& chunk, std::int32_t const* rows,
                     std::int32_t count, int scratch_bytes, int warps, bool& mostly_in_memory) {
    if (count == 0) return;
    std::int32_t const all = count;
    for (int round = mostly_in_memory ? 1 : 0; count > 0; ++round) {
      Columns& list = overflow_[round % 2];
      Impl::fsai::reserve(exec, list, "Solder::fsai::overflow", count);
      Counts* const counts = counts_.data();
      Impl::fsai::Overflow const overflow{list.data(), &counts->overflow, &counts->most_bytes};
      if (round == 0) {
        Impl::fsai::LargeRows<true, Scalar, Factor, Offset>{chunk,   rows, count,   scratch_bytes,
                                                            nullptr, 0,    overflow}
            .launch(exec, count, warps);
      } else {
        int const teams = reserve_memory(exec, count);
        Impl::fsai::LargeRows<false, Scalar, Factor, Offset>{
            chunk, rows, count, scratch_beside_memory, memory_.data(), block_bytes_, overflow}
            .launch(exec, teams, warps);
      }
      Counts const found = this->counts(exec);
      rows = list.data();
      count = found.overflow;
      if (round == 0) mostly_in_memory = count > all / 2;
      if (count == 0) break;
      block_bytes_ = std::max<std::size_t>(block_bytes_, found.most_bytes);
      set_counts(exec, {found.repaired, found.first_repaired});
    }
  }

  /// Scratch of a team whose rows are in memory: four of them leave much to the nearest cache.
  static constexpr int scratch_beside_memory = 26 * 1024;

  /// \brief Memory for teams of block_bytes_ each; answers how many: as many as are resident at
  /// once, or as many as fit into three quarters of what A takes.
  int reserve_memory(Exec const& exec, std::int32_t rows) {
    std::size_t const affordable = static_cast<std::size_t>(lower_nonzeros()) *
                                   (sizeof(Scalar) + sizeof(std::int32_t)) / 2 * 3;
    auto const teams = static_cast<int>(std::clamp<std::size_t>(
        affordable / block_bytes_, 1, std::min<std::int32_t>(rows, exec.concurrency() / 512)));
    Impl::fsai::reserve(exec, memory_, "Solder::fsai::memory",
                        teams * static_cast<std::int64_t>(block_bytes_));
    return teams;
  }

  void set_counts(Exec const& exec, Counts counts) const {
    Kokkos::deep_copy(exec, counts_, Kokkos::View<Counts, Kokkos::HostSpace>(&counts));
    exec.fence("Solder::fsai: counts are set");
  }

  Kokkos::View<Offset*, memory_space> offsets_;
  Columns columns_ = Impl::no_view<Columns>();
  Values values_ = Impl::no_view<Values>();
  Kokkos::View<Counts, memory_space> counts_;
  // Lists of a chunk's rows, and memory of teams for rows beyond scratch.
  Columns by_size_ = Impl::no_view<Columns>();
  Columns overflow_[2] = {Impl::no_view<Columns>(), Impl::no_view<Columns>()};
  Memory memory_ = Impl::no_view<Memory>();
  std::size_t block_bytes_ = 0;
  bool mostly_in_memory_ = false;
  std::int32_t lane_bits_ = 0;
};

}  // namespace Solder
