// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/preconditioners/detail/fsai/local_rows.hpp>

namespace Solder::Impl::fsai {

/// \brief The lanes of a GPU's warp that work on one row: an aligned group of M <= 32 lanes.
template <int M>
struct WarpLanes {
  KOKKOS_FUNCTION int lane() const { return lane_number() & (M - 1); }

  /// \brief The value of lane `source` of the group. All lanes of the warp call this together.
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION Real from([[maybe_unused]] int source, Real value) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, value, source, M);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __shfl(value, source, M);
#else
    return value;
#endif
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> from(int source,
                                                         Kokkos::complex<Real> const& value) const {
    return {from(source, value.real()), from(source, value.imag())};
  }

  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number sum(Number value) const {
    for (int mask = M / 2; mask > 0; mask /= 2) value += lane_exchange(value, mask);
    return value;
  }

  /// \brief The maximum over the whole warp, not only over this group.
  KOKKOS_FORCEINLINE_FUNCTION int most_of_warp(int value) const {
    for (int mask = warp / 2; mask > 0; mask /= 2) {
      int const other = lane_exchange(value, mask);
      value = other > value ? other : value;
    }
    return value;
  }

  /// \brief Makes earlier writes to scratch visible to all lanes.
  KOKKOS_FORCEINLINE_FUNCTION void fence() const {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#endif
  }
};

/// \brief The scratch of one row of at most M entries: the lower triangle of its local matrix,
/// packed column by column, and its pattern.
template <int M, class Scalar>
struct SmallScratch {
  Scalar packed[M * (M + 1) / 2];
  std::int32_t columns[M];

  /// \brief Rows c, ..., M - 1 of column c are packed[of(c) + c], ..., packed[of(c) + M - 1].
  KOKKOS_FUNCTION static constexpr int of(int c) { return in_triangle(M, 0, c); }
};

/// \brief Computes row k of the chunk by M lanes; no row if k < 0. Lane r holds row r of the local
/// matrix in registers, and later reads column r of L from scratch.
///
/// Right-looking Cholesky: each column of L is written to scratch, and all lanes read it there to
/// update their rows. The local matrix is padded with the identity.
template <int M, class Lanes, class Scalar, class Factor, class Offset>
KOKKOS_FUNCTION void small_row(Lanes const& lanes, SmallScratch<M, Scalar>& scratch,
                               Chunk<Scalar, Factor, Offset> const& chunk, std::int32_t k) {
  using Real = RealOf<Scalar>;
  using Scratch = SmallScratch<M, Scalar>;
  Scalar* const L = scratch.packed;
  int const lane = lanes.lane();
  Offset const begin = k < 0 ? 0 : chunk.offsets[k];
  int const m = k < 0 ? 0 : chunk.length(k), most = lanes.most_of_warp(m);

  Scalar a[M];
  Real diagonal = 1;
  auto const set_row = [&](auto const& entry) {
    SOLDER_UNROLL
    for (int c = 0; c < M; ++c) {
      a[c] = c <= lane && lane < m ? entry(c) : Scalar(c == lane ? 1 : 0);
      if (c == lane) diagonal = real_of(a[c]);
    }
  };
  if (chunk.known.places != nullptr) {
    auto const row =
        chunk.known.row(k < 0 ? 0 : k, m, lane, lane < m ? chunk.column(begin + lane) : 0);
    set_row([&](int c) { return row[c]; });
  } else {
    for (int e = lane; e < M * (M + 1) / 2; e += M) L[e] = Scalar{};
    if (lane < m) scratch.columns[lane] = chunk.column(begin + lane);
    lanes.fence();
    std::int32_t bits = chunk.lane_bits;
    while (1 << bits > M) --bits;
    for_each_local_entry(
        chunk.lower, scratch.columns, m, lane, M, bits,
        [&](int r, int c, Offset e) { L[Scratch::of(c) + r] = chunk.lower.values[e]; });
    lanes.fence();
    set_row([&](int c) { return L[Scratch::of(c) + lane]; });
  }
  lanes.fence();

  bool fine = true;
  Real inverse = 1;
  SOLDER_UNROLL
  for (int j = 0; j < M; ++j) {
    if (j < most) {
      Real const pivot = lanes.from(j, real_of(a[j]));
      fine = fine && pivot > 0 && Kokkos::isfinite(pivot);
      Real const scale = 1 / Kokkos::sqrt(pivot);
      if (lane == j) inverse = scale;
      Scalar const l = lane > j ? a[j] * scale : Scalar{};
      if (lane > j) L[Scratch::of(j) + lane] = l;
      lanes.fence();
      SOLDER_UNROLL
      for (int c = j + 1; c < M; ++c) a[c] -= l * conjugated(L[Scratch::of(j) + c]);
    }
  }

  // g L = e_m, backwards: lane j has column j of L.
  Scalar const* const column = L + Scratch::of(lane);
  auto const solution = [&](Scalar const& s) {
    return lane >= m ? Scalar{} : (lane == m - 1 ? Scalar(1) : -s) * inverse;
  };
  Scalar s{};
  for (int r = most - 1; r > 0; --r) {
    Scalar const g_r = lanes.from(r, solution(s));
    if (lane < r) s += g_r * column[r];
  }
  Scalar const g = solution(s);
  double const norm_squared = lanes.sum(abs_squared(g));
  RowFilter filter(chunk.filtration);
  bool dropped = false;
  double energy = 0;
  do {
    dropped = lane < m - 1 && filter.drops(abs_squared(g), norm_squared);
    Scalar const eps = dropped ? g : Scalar{};
    Scalar eps_l = eps * (1 / inverse);
    for (int r = most - 1; r > 0; --r) {
      Scalar const eps_r = lanes.from(r, eps);
      if (lane < r) eps_l += eps_r * column[r];
    }
    energy = lanes.sum(abs_squared(eps_l));
  } while (lanes.most_of_warp(filter.eases(energy)) > 0);
  Factor const value = stored<Factor>(g * static_cast<Real>(1 / Kokkos::sqrt(1 + energy)));
  fine = fine && lanes.sum(int(!finite(value))) == 0;
  int const kept = lanes.sum(int(lane < m && !dropped));

  if (lane < m) {
    bool const last = lane == m - 1;
    chunk.mark(begin + lane, fine ? dropped : !last);
    if (fine) chunk.values[begin + lane] = value;
    if (!fine && last) chunk.values[begin + lane] = repaired_entry<Factor>(diagonal);
    if (last) {
      chunk.kept[k] = fine ? kept : 1;
      if (!fine) chunk.count_repaired(k);
    }
  }
}

/// \brief All listed rows, of at most M entries: 32 / M rows per warp.
template <int M, class Scalar, class Factor, class Offset>
struct SmallRows {
  Chunk<Scalar, Factor, Offset> chunk;
  std::int32_t const* list;
  std::int32_t count;

  static constexpr int rows_of_warp = warp / M;
  static constexpr int warps = 4 * M * sizeof(Scalar) <= 1024 ? 4 : 2;
  /// Teams that a multiprocessor is to hold; 0: as many as come. Five are 102 registers a thread;
  /// nvcc may take 118, and 1.15 of the time.
  static constexpr int least_teams = M == 16 && sizeof(Scalar) <= 8 ? 5 : 0;
  static constexpr int scratch_bytes =
      static_cast<int>(warps * rows_of_warp * sizeof(SmallScratch<M, Scalar>));

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const in_team = team.team_rank() * rows_of_warp + lane_number() / M;
    std::int32_t const at = team.league_rank() * (warps * rows_of_warp) + in_team;
    int const bytes = scratch_bytes;  // get_shmem takes it by reference
    auto* const scratch =
        static_cast<SmallScratch<M, Scalar>*>(team.team_scratch(0).get_shmem_aligned(bytes, 16));
    small_row<M>(WarpLanes<M>{}, scratch[in_team], chunk, at < count ? list[at] : -1);
  }

  template <class Exec>
  void launch(Exec const& exec) const {
    if (count == 0) return;
    constexpr int rows_of_team = warps * rows_of_warp;
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<warps * warp, least_teams>>;
    Kokkos::parallel_for("Solder::fsai::small_rows",
                         Policy(exec, (count + rows_of_team - 1) / rows_of_team, warps, warp)
                             .set_scratch_size(0, Kokkos::PerTeam(scratch_bytes + 16)),
                         *this);
  }
};

}  // namespace Solder::Impl::fsai
