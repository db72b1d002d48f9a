// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <solder/kernels/detail/cholesky/team.hpp>

namespace Solder {

namespace Impl {

/// \brief Matrices of the same order, and where their results are reported.
template <class Scalar>
struct CholeskyBatch {
  StridedTriangle<Scalar> first;
  std::int64_t stride;  ///< from one matrix to the next
  std::int32_t* info;
  std::int64_t info_stride;
  int count, order;

  KOKKOS_FUNCTION StridedTriangle<Scalar> matrix(int b) const {
    return {first.values + b * stride, first.row_stride, first.column_stride};
  }
  KOKKOS_FUNCTION void report(int b, int outcome) const { info[b * info_stride] = outcome; }
};

/// \brief One thread per matrix, on hosts.
template <class Scalar>
struct CholeskyOnHost {
  CholeskyBatch<Scalar> batch;

  void operator()(int b) const {
    batch.report(b, cholesky_by_thread(batch.matrix(b), batch.order));
  }
};

/// \brief One thread per matrix, on GPUs, for matrices of which neither rows nor columns are
/// contiguous, as in a batch that is stored entry by entry.
template <class Scalar>
struct CholeskyByThread {
  CholeskyBatch<Scalar> batch;

  KOKKOS_FUNCTION void operator()(int b) const {
    batch.report(b, plain_cholesky(batch.matrix(b), batch.order));
  }
};

/// \brief Orders up to G: 32 / G matrices per warp. They are copied to scratch and back so that
/// neighbouring lanes access neighbouring memory.
template <class Scalar, int G>
struct CholeskyByGroup {
  static constexpr int packed = G * (G + 1) / 2, values = packed + 2 * G, groups = warp / G;
  static constexpr int bytes_per_warp = groups * values * static_cast<int>(sizeof(Scalar));
  /// Warps per team; and teams per multiprocessor, for which registers must suffice.
  static constexpr int warps = 4, resident_teams = sizeof(Scalar) == 4 ? 6 : 32 / sizeof(Scalar);

  CholeskyBatch<Scalar> batch;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const lane = lane_number(), group = lane / G, rank = lane % G;
    int const slot = team.team_rank() * groups + group;
    int const b = team.league_rank() * (warps * groups) + slot;
    int const m = batch.order;
    bool const exists = b < batch.count;
    auto const matrix = batch.matrix(exists ? b : 0);
    Scalar* const columns = static_cast<Scalar*>(aligned_scratch(team)) + slot * values;
    PackedTriangle<Scalar> const triangle{columns + 2 * G};
    bool const by_columns = matrix.by_columns();
    // Line i is the row or column number i, whichever is contiguous.
    std::int64_t const stride = by_columns ? matrix.column_stride : matrix.row_stride;
    if (m > 0) {
      if (by_columns)
        load<true>(matrix.values, stride, triangle, m, rank);
      else
        load<false>(matrix.values, stride, triangle, m, rank);
    }
    sync_lanes();
    int const info = cholesky_by_group<G>(triangle, m, m, columns);
    if (!exists) return;
    if (by_columns)
      store<true>(triangle, matrix.values, stride, m, rank);
    else
      store<false>(triangle, matrix.values, stride, m, rank);
    if (rank == 0) batch.report(b, info);
  }

  template <class Exec>
  auto policy(Exec const& exec) const {
    int const teams = (batch.count - 1) / (warps * groups) + 1;
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<warps * warp, resident_teams>>(exec, teams,
                                                                                        warps, warp)
        .set_scratch_size(0, Kokkos::PerTeam(warps * bytes_per_warp + 16));
  }

 private:
  static KOKKOS_FORCEINLINE_FUNCTION int least(int a, int b) { return a < b ? a : b; }
  static KOKKOS_FORCEINLINE_FUNCTION int most(int a, int b) { return a > b ? a : b; }

  /// This lane copies one entry of each line. There are no branches, so all loads are in flight at
  /// once. For entries outside the triangle, others are loaded instead. They are written to the
  /// diagonal in scratch before it gets its own entry.
  template <bool ByColumns>
  KOKKOS_FORCEINLINE_FUNCTION static void load(Scalar const* lines, std::int64_t stride,
                                               PackedTriangle<Scalar> const& triangle, int m,
                                               int rank) {
    Scalar loaded[G];
    SOLDER_UNROLL
    for (int i = 0; i < G; ++i) {
      int const line = least(i, m - 1);
      loaded[i] =
          lines[line * stride + (ByColumns ? most(least(rank, m - 1), line) : least(rank, line))];
    }
    SOLDER_UNROLL
    for (int i = G - 1; i >= 0; --i) {
      int const r = ByColumns ? rank : i, c = ByColumns ? i : rank;
      triangle(r, least(c, r)) = loaded[i];
    }
  }
  template <bool ByColumns>
  KOKKOS_FORCEINLINE_FUNCTION static void store(PackedTriangle<Scalar> const& triangle,
                                                Scalar* lines, std::int64_t stride, int m,
                                                int rank) {
    Scalar stored[G];
    SOLDER_UNROLL
    for (int i = 0; i < G; ++i) {
      int const r = ByColumns ? rank : i, c = ByColumns ? i : rank;
      stored[i] = (&triangle(r, 0))[c];  // if c > r, from another row, and not stored
    }
    SOLDER_UNROLL
    for (int i = 0; i < G; ++i) {
      int const r = ByColumns ? rank : i, c = ByColumns ? i : rank;
      if (r < m && c <= r) lines[i * stride + rank] = stored[i];
    }
  }
};

/// \brief Any order: one team per matrix.
template <class Scalar>
struct CholeskyByTeam {
  /// Warps per team; and teams per multiprocessor, for which registers must suffice (0: the
  /// compiler chooses).
  static constexpr int most_warps = 4, resident_teams = CholeskyTiles<Scalar>::ahead ? 3 : 0;
  CholeskyBatch<Scalar> batch;
  int warps;

  template <class Exec>
  CholeskyByTeam(Exec const& exec, CholeskyBatch<Scalar> const& matrices)
      : batch(matrices), warps(warps_for(exec.concurrency(), matrices)) {}

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const b = team.league_rank();
    int const info = cholesky_by_team(team, batch.matrix(b), batch.order, aligned_scratch(team));
    if (team.team_rank() == 0 && lane_number() == 0) batch.report(b, info);
  }

  template <class Exec>
  auto policy(Exec const& exec) const {
    int const bytes = CholeskyTiles<Scalar>::scratch_bytes(warps);
    return Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most_warps * warp, resident_teams>>(
               exec, batch.count, warps, warp)
        .set_scratch_size(0, Kokkos::PerTeam(bytes));
  }

 private:
  /// A single warp does not wait for others and leaves room for more matrices, if there are enough
  /// of them. The more warps a team has, the less often a panel's diagonal block is read.
  static int warps_for(int concurrency, CholeskyBatch<Scalar> const& batch) {
    if (batch.count < concurrency / 512) return std::min(most_warps, (batch.order - 1) / warp + 1);
    return sizeof(Scalar) == 4 ? (batch.order <= 128 ? 1 : 3) : (batch.order <= 192 ? 1 : 2);
  }
};

template <class Exec, class Scalar>
void batched_cholesky(Exec const& exec, CholeskyBatch<Scalar> const& batch) {
  char const* const label = "Solder::batched_cholesky::factor";
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>> const matrices(exec, 0, batch.count);
  if constexpr (is_host_space<Exec>) {
    Kokkos::parallel_for(label, matrices, CholeskyOnHost<Scalar>{batch});
  } else {
    auto const launch = [&](auto const& kernel) {
      Kokkos::parallel_for(label, kernel.policy(exec), kernel);
    };
    int const order = batch.order;
    if (std::min(batch.first.row_stride, batch.first.column_stride) != 1)
      Kokkos::parallel_for(label, matrices, CholeskyByThread<Scalar>{batch});
    else if (order <= 8)
      launch(CholeskyByGroup<Scalar, 8>{batch});
    else if (order <= 16)
      launch(CholeskyByGroup<Scalar, 16>{batch});
    else if (order <= 32)
      launch(CholeskyByGroup<Scalar, 32>{batch});
    else
      launch(CholeskyByTeam<Scalar>(exec, batch));
  }
}

}  // namespace Impl

/// \brief A_b = L_b L_b^H for many Hermitian positive definite matrices of the same order, in
/// place. The lower triangle of each is read and replaced by L_b, which is real and positive on the
/// diagonal. The strict upper triangle is not touched.
///
/// Any order and any strides; fastest if the rows or the columns of each matrix are contiguous. The
/// imaginary part of A's diagonal is ignored. One kernel, no fence, no memory. Words: up to order
/// 32 a triangle twice per matrix; beyond that, also its earlier columns again for every 32 columns
/// (16 if complex double). Without contiguous rows or columns, one GPU thread works on each matrix;
/// that is only fast if the entries of neighbouring matrices are adjacent in memory.
/// \param A (batch, m, m)
/// \param info (batch) of std::int32_t: 0, or the order of the first leading minor that is not
/// positive definite or not finite, as far as rounding permits. The lower triangle of such a matrix
/// is undefined afterwards
/// \throws std::invalid_argument if the extents are inconsistent
/// \ingroup matrices
template <class Exec, class Matrices, class Info>
void batched_cholesky(Exec const& exec, Matrices const& A, Info const& info) {
  using Scalar = typename Matrices::value_type;
  static_assert(Matrices::rank == 3 && Info::rank == 1,
                "Solder: A must be (batch, m, m) and info (batch)");
  static_assert(std::is_same_v<Scalar, typename Matrices::non_const_value_type> &&
                    std::is_same_v<std::int32_t, typename Info::value_type>,
                "Solder: A and info must be writable, and info must be std::int32_t");
  static_assert(Kokkos::SpaceAccessibility<Exec, typename Matrices::memory_space>::accessible &&
                    Kokkos::SpaceAccessibility<Exec, typename Info::memory_space>::accessible,
                "Solder: the execution space cannot access A or info");
  std::size_t const count = A.extent(0), order = A.extent(1);
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() / 2;
  if (order != A.extent(2) || info.extent(0) != count || count > most || order > most)
    throw std::invalid_argument(
        "Solder::batched_cholesky: A is " + std::to_string(count) + " x " + std::to_string(order) +
        " x " + std::to_string(A.extent(2)) + " and info has " + std::to_string(info.extent(0)) +
        " entries; needs square matrices and one entry of info for each, at most " +
        std::to_string(most) + " matrices of at most that order");
  if (count == 0) return;
  Impl::batched_cholesky(exec, Impl::CholeskyBatch<Scalar>{
                                   {A.data(), std::int64_t(A.stride(1)), std::int64_t(A.stride(2))},
                                   std::int64_t(A.stride(0)),
                                   info.data(),
                                   std::int64_t(info.stride(0)),
                                   static_cast<int>(count),
                                   static_cast<int>(order)});
}

}  // namespace Solder
