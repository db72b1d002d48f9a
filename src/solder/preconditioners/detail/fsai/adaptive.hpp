// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/fsai/adaptive/row.hpp>

namespace Solder {

/// \brief Rows that were made diagonal, and the first of them (-1: none).
struct AdaptiveRepairs {
  std::int64_t count = 0;
  std::int32_t first = -1;
};

namespace Impl {

/// \brief The kernel. Each worker (a warp; a thread on hosts) takes every `workers`-th row.
template <class Scalar, class Exec, class Factor, class Offset>
struct AdaptiveKernel {
  using Number = Wide<Scalar>;
  /// What `status` counts.
  enum : int { full, repaired, first_repaired, statuses };

  AdaptiveJob<Scalar, Factor, Offset> job;
  std::int32_t const* list;  ///< the rows; null: those from job.first on
  std::int32_t count;        ///< of rows
  std::int32_t workers;
  AdaptiveLayout layout;  ///< of a worker's memory
  bool factor_in_scratch, rest_in_scratch;
  char* memory;  ///< what is not in scratch, of all workers
  std::int32_t* status;
  std::int32_t* full_rows;  ///< those whose table was too small, in any order

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>) {
      work(static_cast<std::int32_t>(where), nullptr, {0});
    } else {
      std::int32_t const worker = where.league_rank() * where.team_size() + where.team_rank();
      if (worker >= workers) return;
      auto const begin = reinterpret_cast<std::uintptr_t>(where.team_scratch(0).get_shmem(0));
      char* const scratch = reinterpret_cast<char*>((begin + 15) / 16 * 16);
      work(worker, scratch + where.team_rank() * scratch_bytes(), {lane_number()});
    }
  }

  /// \brief Bytes of a worker in scratch and in memory.
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return (factor_in_scratch ? layout.factor_bytes : 0) + (rest_in_scratch ? layout.bytes : 0);
  }
  KOKKOS_FUNCTION std::size_t memory_bytes() const {
    return layout.factor_bytes + layout.bytes - scratch_bytes();
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void work(std::int32_t worker, char* scratch,
                                        AdaptiveLanes<Exec> lanes) const {
    using Row = AdaptiveRow<Scalar, Exec, Factor, Offset>;
    char* const mine = memory + worker * memory_bytes();
    char* const rest = rest_in_scratch ? scratch : mine;
    char* const factor = (factor_in_scratch ? scratch : mine) +
                         (factor_in_scratch == rest_in_scratch ? layout.bytes : 0);
    AdaptiveMemory<Number, Offset> const own{rest, reinterpret_cast<Number*>(factor), layout};
    AdaptiveTable<Exec, Number, Offset> const table{own, lanes};
    table.wipe();
    for (std::int64_t k = worker; k < count; k += workers) {
      std::int32_t const i = list == nullptr ? job.first + static_cast<std::int32_t>(k) : list[k];
      Row row{job, own, table, lanes, i};
      auto const end = row.work();
      if (end == Row::End::table_full)
        table.wipe();
      else
        table.clear();
      if (lanes.lane != 0) continue;
      if (end == Row::End::table_full) {
        full_rows[Kokkos::atomic_fetch_add(status + full, 1)] = i;
      } else if (end == Row::End::repaired) {
        Kokkos::atomic_add(status + repaired, 1);
        Kokkos::atomic_min(status + first_repaired, i);
      }
    }
  }
};

/// \brief Finds the real parts of the diagonal, which must be zero at first. A warp takes a row on
/// GPUs.
template <class Scalar, class Exec, class Offset>
struct AdaptiveDiagonal {
  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  typename ScalarTraits<Scalar>::Real* diagonal;
  std::int32_t rows;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      find(static_cast<std::int32_t>(where), 0, 1);
    else
      find(where.league_rank() * where.team_size() + where.team_rank(), lane_number(), warp);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void find(std::int32_t i, int lane, int lanes) const {
    if (i >= rows) return;
    for (Offset k = offsets[i] + lane; k < offsets[i + 1]; k += lanes) {
      if (columns[k] != i) continue;
      if constexpr (ScalarTraits<Scalar>::is_complex)
        diagonal[i] = values[k].real();
      else
        diagonal[i] = values[k];
    }
  }
};

}  // namespace Impl

/// \brief The rows of an adaptive FSAI: the pattern and values of G, such that G A G^H is as close
/// to I as the pattern allows. The pattern grows with the values.
///
/// Row i starts as gtilde = e_i. The product of all rows' psi = gtilde A gtilde^H determines the
/// Kaporin number of G A G^H, and each step lowers psi. The candidates are the columns j < i in the
/// rows {i} u P of A. A step along candidate j alone would lower psi by
/// |(A gtilde^H)_j|^2 / a_jj. The entries_per_step candidates with the largest such value join P
/// (among equals, the larger column first). Then gtilde is the minimiser over P:
/// gtilde_P = -A[i,P] A[P,P]^-1. Source: C. Janna, M. Ferronato, "Adaptive pattern research for
/// block FSAI preconditioning", SIAM J. Sci. Comput. 33 (2011). The postfiltration is that of
/// Bernaschi et al., (3.11) to (3.13).
///
/// One kernel does all the work for a row. On GPUs a warp takes a row, with its data in scratch (or
/// in memory if scratch is too small); on hosts a thread does. The Cholesky factor of A[P,P] is
/// extended row by row. A hash table holds the candidates and their gradients. Rows for which the
/// table is too small are computed again with a table four times as large, until all fit. The
/// columns of A may be unsorted, but A must have no duplicates.
///
/// Cost of a row that ends with m entries: about m steps / 2 rows of A are read (mostly from
/// cache); the factor takes m^3 / 6 multiplications, and each step m^2. Memory: 6 kB of scratch per
/// warp for 20 entries per row. What does not fit there takes at most the larger of 64 MB and the
/// matrix's size, or what one worker needs (8 bytes times (steps entries_per_step)^2 / 2 and more)
/// if that exceeds both. Sums are in double for every Scalar. Results depend neither on the number
/// of threads nor on how the rows are divided into chunks.
template <class Scalar, class Exec, class Factor = Scalar, class Offset = std::int32_t>
class FsaiAdaptive {
 public:
  /// \brief Finds the diagonal. A must be square and Hermitian, and must outlive this object.
  FsaiAdaptive(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
               AdaptiveOptions const& options)
      : rows_(A.rows()),
        matrix_words_(A.words()),
        diagonal_(Impl::allocate_zero_view<decltype(diagonal_)>(exec, "Solder::fsai::diagonal",
                                                                A.rows())),
        status_(Impl::allocate_zero_view<decltype(status_)>(exec, "Solder::fsai::adaptive_status",
                                                            Kernel::statuses)),
        job_{A.row_offsets().data(),
             A.column_indices().data(),
             A.values().data(),
             diagonal_.data(),
             options,
             most_entries(A.rows(), options),
             0,
             nullptr,
             nullptr,
             nullptr},
        bits_(first_bits(A)) {
    Impl::AdaptiveDiagonal<Scalar, Exec, Offset> const kernel{job_.offsets, job_.columns,
                                                              job_.values, diagonal_.data(), rows_};
    if (rows_ == 0) return;
    if constexpr (Impl::is_host_space<Exec>)
      Kokkos::parallel_for("Solder::fsai::diagonal", Kokkos::RangePolicy<Exec>(exec, 0, rows_),
                           kernel);
    else
      Kokkos::parallel_for("Solder::fsai::diagonal",
                           Kokkos::TeamPolicy<Exec>(exec, (rows_ + 7) / 8, 8, Impl::warp), kernel);
  }

  /// \brief The entries to reserve per row in the arrays of compute: the diagonal, and steps times
  /// entries_per_step others (at most n - 1).
  std::int32_t pad() const { return job_.most + 1; }

  /// \brief Computes rows first to last - 1 of G. Row i begins at (i - first) * pad() in `columns`
  /// and `values` (device memory) and has counts[i - first] entries. It is sorted and ends with the
  /// diagonal.
  ///
  /// A row whose local matrix is not positive definite, or whose values are not finite, becomes
  /// diagonal, 1 / sqrt|a_ii| (or 1 if that is not a number), and counts as repaired. The host
  /// waits for the result.
  AdaptiveRepairs compute(Exec const& exec, std::int32_t first, std::int32_t last,
                          std::int32_t* columns, Factor* values, std::int32_t* counts) {
    job_.first = first;
    job_.out_columns = columns;
    job_.out_values = values;
    job_.out_counts = counts;
    std::int32_t status[Kernel::statuses] = {0, 0, std::numeric_limits<std::int32_t>::max()};
    std::int32_t count = last - first;
    if (count > 0) reserve(exec, full_rows_[0], count, "Solder::fsai::adaptive_rows");
    std::int32_t const* list = nullptr;
    int bits = bits_;
    for (int turn = 0; count > 0; turn ^= 1) {
      status[Kernel::full] = 0;
      copy(exec, status_, status);
      launch(exec, list, count, bits, full_rows_[turn].data());
      copy(exec, status, status_);
      // If many rows need a larger table, the next chunk starts with one.
      std::int32_t const full = status[Kernel::full];
      if (list == nullptr && full > count / 16) bits_ = bits + 1;
      list = full_rows_[turn].data();
      if (full > 0) reserve(exec, full_rows_[turn ^ 1], full, "Solder::fsai::adaptive_rows");
      count = full;
      bits += 2;
    }
    if (status[Kernel::repaired] == 0) return {};
    return {status[Kernel::repaired], status[Kernel::first_repaired]};
  }

 private:
  using Kernel = Impl::AdaptiveKernel<Scalar, Exec, Factor, Offset>;
  using Real = typename ScalarTraits<Scalar>::Real;
  template <class T>
  using Array = Kokkos::View<T*, typename Exec::memory_space>;

  static std::int32_t most_entries(std::int32_t rows, AdaptiveOptions const& options) {
    std::int64_t const wanted = std::int64_t(options.steps) * options.entries_per_step;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, 0, std::max(rows - 1, 0)));
  }

  /// \brief A table for about six rows of A: neighbouring rows have most of their columns in
  /// common.
  static int first_bits(CsrMatrix<Scalar, Exec, Offset> const& A) {
    double const mean = A.rows() == 0 ? 0 : double(A.nonzeros()) / A.rows();
    return std::bit_width(static_cast<unsigned>(std::clamp(6 * mean, 127.0, 65535.0)));
  }

  template <class T>
  static void reserve(Exec const& exec, Array<T>& array, std::size_t size, char const* label) {
    if (array.extent(0) >= size) return;
    array = Impl::no_view<Array<T>>();
    array = Impl::allocate_view<Array<T>>(exec, label, size);
  }

  using OnHost =
      Kokkos::View<std::int32_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static void copy(Exec const& exec, Array<std::int32_t> const& to, std::int32_t* from) {
    Impl::copy(exec, to, OnHost(from, Kernel::statuses));
  }
  static void copy(Exec const& exec, std::int32_t* to, Array<std::int32_t> const& from) {
    Impl::copy(exec, OnHost(to, Kernel::statuses), from);
    exec.fence("Solder::fsai: how many rows are done");
  }

  void launch(Exec const& exec, std::int32_t const* list, std::int32_t count, int bits,
              std::int32_t* full_rows) {
    auto const layout = Impl::AdaptiveLayout::of<Wide<Scalar>, Offset>(job_.most, bits);
    Kernel kernel{job_,  list,  count,   count,          layout,
                  false, false, nullptr, status_.data(), full_rows};
    char const* const label = "Solder::fsai::adaptive_rows";
    if constexpr (Impl::is_host_space<Exec>) {
      give_memory(exec, kernel, exec.concurrency());
      Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec>(exec, 0, kernel.workers), kernel);
    } else {
      // Everything is in scratch if that leaves room for 18 warps per multiprocessor. Otherwise the
      // factor, which grows with the square of `most`, is in memory; so is the table if it is very
      // large.
      constexpr std::size_t scratch = 47 * 1024;
      constexpr int most_warps = 4;
      kernel.factor_in_scratch = 3 * (layout.bytes + layout.factor_bytes) <= scratch;
      kernel.rest_in_scratch = 2 * layout.bytes <= scratch;
      if (kernel.memory_bytes() > 0) give_memory(exec, kernel, exec.concurrency() / Impl::warp);
      std::size_t const bytes = kernel.scratch_bytes();
      int const warps = bytes * most_warps <= scratch ? most_warps : int(scratch / bytes);
      Kokkos::parallel_for(label,
                           Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most_warps * Impl::warp>>(
                               exec, (kernel.workers + warps - 1) / warps, warps, Impl::warp)
                               .set_scratch_size(0, Kokkos::PerTeam(warps * bytes + 16)),
                           kernel);
    }
  }

  /// \brief Allocates memory for at most `workers` workers; for fewer if it would exceed both 64 MB
  /// and the matrix's size.
  void give_memory(Exec const& exec, Kernel& kernel, std::int64_t workers) {
    double const budget = std::max(matrix_words_ * sizeof(Scalar), 64.0 * 1024 * 1024);
    double const room = std::max(1.0, budget / double(kernel.memory_bytes()));
    kernel.workers = static_cast<std::int32_t>(
        std::min({static_cast<double>(workers), static_cast<double>(kernel.count), room}));
    reserve(exec, memory_, kernel.workers * kernel.memory_bytes(), "Solder::fsai::adaptive_memory");
    kernel.memory = memory_.data();
  }

  std::int32_t rows_;
  double matrix_words_;
  Array<Real> diagonal_;
  Array<std::int32_t> status_;
  Array<std::int32_t> full_rows_[2] = {Impl::no_view<Array<std::int32_t>>(),
                                       Impl::no_view<Array<std::int32_t>>()};
  Array<char> memory_ = Impl::no_view<Array<char>>();
  Impl::AdaptiveJob<Scalar, Factor, Offset> job_;
  int bits_;
};

}  // namespace Solder
