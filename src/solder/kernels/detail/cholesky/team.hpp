// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Cholesky factorization of one matrix by a team of warps.

#include <solder/kernels/detail/cholesky/rows.hpp>

namespace Solder::Impl {

/// \brief The tiles that a team works on, and their places in its scratch.
template <class Scalar>
struct CholeskyTiles {
  using Real = typename ScalarTraits<Scalar>::Real;
  /// The columns of a panel, which a thread holds of its row; and of a chunk of earlier columns.
  static constexpr int width = sizeof(Scalar) <= 8 ? 32 : 16, chunk = sizeof(Scalar) <= 8 ? 16 : 8;
  /// Whether a chunk is loaded ahead, in packets, while the one before it is processed. With wider
  /// scalars the registers for this are better spent on more warps (measured on an H100).
  static constexpr bool ahead = sizeof(Scalar) == 4;
  /// From one row of a tile to the next, in scalars. The extra packet avoids bank conflicts when 8
  /// lanes read one packet each from 8 rows.
  static constexpr int stride = chunk + Packet<Scalar>::size;
  static constexpr int panel_size = width * stride, tile_size = warp * stride,
                       shared = width * width + (ahead ? 2 : 1) * panel_size;

  /// \brief The bytes of scratch for a team of `warps` warps, including aligned_scratch()'s loss.
  static constexpr int scratch_bytes(int warps) {
    return static_cast<int>(sizeof(Scalar)) * (shared + warps * tile_size) +
           static_cast<int>(sizeof(Real)) * width + 32;
  }

  Scalar *columns, *panels, *tile;
  Real* inverses;
  int* info;

  KOKKOS_FUNCTION CholeskyTiles(void* scratch, int warps, int warp_rank)
      : columns(static_cast<Scalar*>(scratch)),
        panels(columns + width * width),
        tile(columns + shared + warp_rank * tile_size),
        inverses(reinterpret_cast<Real*>(columns + shared + warps * tile_size)),
        info(reinterpret_cast<int*>(inverses + width)) {}
};

/// \brief Copies entries of the matrix, from row `row` and column `column` on, to or from a tile of
/// Rows rows and `chunk` columns. Entries above the diagonal or below the matrix are 0 in the tile.
///
/// Warp `part` of `parts` copies its part; a lane has `Batch` loads in flight at once.
template <int Rows, int Batch, bool Store, class Triangle, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void copy_tile(Triangle const& a, int m, int row, int column,
                                           Scalar* tile, int part, int parts) {
  using Tiles = CholeskyTiles<Scalar>;
  constexpr int chunk = Tiles::chunk, count = Rows * chunk / warp;
  static_assert(count % Batch == 0);
  int const lane = lane_number();
  bool const by_columns = a.by_columns();
  int const r0 = by_columns ? lane % Rows : lane / chunk, rs = by_columns ? 0 : warp / chunk;
  int const c0 = by_columns ? lane / Rows : lane % chunk, cs = by_columns ? warp / Rows : 0;
  SOLDER_DO_NOT_UNROLL
  for (int b = part * Batch; b < count; b += parts * Batch) {
    Scalar values[Batch];
    SOLDER_UNROLL
    for (int i = 0; i < Batch; ++i) {
      int const r = r0 + (b + i) * rs, c = c0 + (b + i) * cs;
      bool const inside = row + r < m && column + c <= row + r;
      if constexpr (Store) {
        if (inside) a(row + r, column + c) = tile[r * Tiles::stride + c];
      } else {
        values[i] = inside ? a(row + r, column + c) : Scalar{};
      }
    }
    if constexpr (!Store) {
      SOLDER_UNROLL
      for (int i = 0; i < Batch; ++i) {
        int const r = r0 + (b + i) * rs, c = c0 + (b + i) * cs;
        tile[r * Tiles::stride + c] = values[i];
      }
    }
  }
}

/// \brief Copies tiles packet by packet, from memory to registers and then to scratch. All loads of
/// a warp are issued at once, possibly long before they are needed.
///
/// This is only possible if a row or column of the matrix consists of whole packets. Otherwise
/// tiles are copied entry by entry when they are put into scratch. Each of `parts` warps copies its
/// part.
template <int Rows, int Batch, class Triangle>
class TileWalk {
 public:
  using Scalar = typename Triangle::Scalar;
  using Tiles = CholeskyTiles<Scalar>;
  using Group = Packet<Scalar>;
  static constexpr int size = Group::size, count = Rows * (Tiles::chunk / size) / warp;

  KOKKOS_FORCEINLINE_FUNCTION TileWalk(Triangle const& a, int m, int part, int parts)
      : a_(a), m_(m), part_(part), parts_(parts), by_columns_(a.by_columns()) {
    constexpr int high = Rows / size, wide = Tiles::chunk / size;  // in packets
    whole_ = Tiles::ahead && a.in_packets() && (!by_columns_ || m % size == 0);
    int const turn = lane_number() + warp * part;
    row_ = by_columns_ ? turn % high * size : turn / wide;
    column_ = by_columns_ ? turn / high : turn % wide * size;
    down_ = by_columns_ ? 0 : warp / wide * parts;
    right_ = by_columns_ ? warp / high * parts : 0;
  }

  /// \brief Starts to load the tile whose first entry is (row, column) of the matrix.
  KOKKOS_FORCEINLINE_FUNCTION void load(int row, int column, Group (&groups)[count]) const {
    if (!in_packets(row, column)) return;
    int const last = m_ - (by_columns_ ? size : 1);
    SOLDER_UNROLL
    for (int i = 0; i < count; ++i)
      if (part_ + i * parts_ < count)
        groups[i] = reinterpret_cast<Group const&>(
            a_(least(row + row_ + i * down_, last), column + column_ + i * right_));
  }
  /// \brief Writes that tile to scratch. Its entries below the matrix or above the diagonal are
  /// arbitrary.
  KOKKOS_FORCEINLINE_FUNCTION void put(int row, int column, Group const (&groups)[count],
                                       Scalar* tile) const {
    if (!in_packets(row, column))
      return copy_tile<Rows, Batch, false>(a_, m_, row, column, tile, part_, parts_);
    Scalar* at = tile + row_ * Tiles::stride + column_;
    if (by_columns_) {
      SOLDER_UNROLL
      for (int i = 0; i < count; ++i) {
        if (part_ + i * parts_ >= count) continue;
        SOLDER_UNROLL
        for (int j = 0; j < size; ++j) at[j * Tiles::stride] = groups[i].values[j];
        at += right_;
      }
    } else {
      SOLDER_UNROLL
      for (int i = 0; i < count; ++i) {
        if (part_ + i * parts_ >= count) continue;
        reinterpret_cast<Group&>(*at) = groups[i];
        at += down_ * Tiles::stride;
      }
    }
  }
  /// \brief Stores those entries of the tile that are in the triangle to the matrix.
  KOKKOS_FORCEINLINE_FUNCTION void store(int row, int column, Scalar* tile) const {
    if (!whole_) return copy_tile<Rows, Batch, true>(a_, m_, row, column, tile, part_, parts_);
    int const step = by_columns_ ? Tiles::stride : 1;
    SOLDER_DO_NOT_UNROLL
    for (int i = 0; i < count; ++i) {
      int const r = row_ + i * down_, c = column_ + i * right_;
      Scalar const* const at = tile + r * Tiles::stride + c;
      int const last = row + r + (by_columns_ ? size - 1 : 0);
      if (last < m_ && column + c + (by_columns_ ? 0 : size - 1) <= row + r) {
        Group group;
        SOLDER_UNROLL
        for (int j = 0; j < size; ++j) group.values[j] = at[j * step];
        reinterpret_cast<Group&>(a_(row + r, column + c)) = group;
      } else {
        SOLDER_UNROLL
        for (int j = 0; j < size; ++j) {
          int const rj = row + r + (by_columns_ ? j : 0), cj = column + c + (by_columns_ ? 0 : j);
          if (rj < m_ && cj <= rj) a_(rj, cj) = at[j * step];
        }
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static int least(int a, int b) { return a < b ? a : b; }

  /// Whether the tile consists of whole packets, none of which reaches above the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION bool in_packets(int row, int column) const {
    return whole_ && column + Tiles::chunk <= row + 1;
  }

  Triangle const& a_;
  int m_, part_, parts_, row_, column_, down_, right_;
  bool by_columns_, whole_;
};

/// \brief row[j] -= mine[k] conj(panel[j][k]) for all columns k of a chunk.
template <int Width, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void subtract_chunk(Scalar (&row)[Width], Scalar const* mine,
                                                Scalar const* panel) {
  using Tiles = CholeskyTiles<Scalar>;
  using Group = Packet<Scalar>;
  SOLDER_DO_NOT_UNROLL
  for (int k = 0; k < Tiles::chunk; k += Group::size) {
    auto const left = reinterpret_cast<Group const&>(mine[k]);
    SOLDER_UNROLL
    for (int j = 0; j < Width; ++j) {
      auto const right = reinterpret_cast<Group const&>(panel[j * Tiles::stride + k]);
      SOLDER_UNROLL
      for (int i = 0; i < Group::size; ++i)
        subtract_product(row[j], left.values[i], right.values[i]);
    }
  }
}

/// \brief A = L L^H in place by a team, for any m: left-looking, panel by panel.
///
/// The team's vector length is `warp`; a thread holds a row of the panel. All threads call this
/// together. The entries must be visible to them (barrier), and are visible again when this
/// returns.
/// \param scratch of the team: CholeskyTiles<Scalar>::scratch_bytes(team.team_size()) from
/// aligned_scratch(team)
/// \returns what cholesky_by_group returns, in all threads
template <class Member, class Triangle>
KOKKOS_FUNCTION int cholesky_by_team(Member const& team, Triangle const& a, int m, void* scratch) {
  using Scalar = typename Triangle::Scalar;
  using Tiles = CholeskyTiles<Scalar>;
  using Group = Packet<Scalar>;
  constexpr int width = Tiles::width, chunk = Tiles::chunk, size = Group::size,
                batch = width * chunk / warp < 8 ? 4 : 8;
  using Own = TileWalk<warp, batch, Triangle>;
  using Shared = TileWalk<width, 4, Triangle>;
  int const lane = lane_number(), warps = team.team_size(), rank = team.team_rank();
  Tiles const tiles(scratch, warps, rank);
  Own const own(a, m, 0, 1);
  Shared const shared(a, m, rank, warps);
  Scalar* const mine = tiles.tile + lane * Tiles::stride;
  for (int first = 0; first < m; first += width) {
    int const steps = m - first < width ? m - first : width;
    for (int block = first; block < m; block += warps * warp) {
      int const top = block + rank * warp;
      bool const active = top < m, diagonal = top == first;  // all lanes of a warp agree
      Scalar row[width];
      if (active) {
        Group loaded[width / chunk][Own::count];
        SOLDER_UNROLL
        for (int c = 0; c < width / chunk; ++c) own.load(top, first + c * chunk, loaded[c]);
        SOLDER_UNROLL
        for (int c = 0; c < width / chunk; ++c) {
          sync_lanes();
          own.put(top, first + c * chunk, loaded[c], tiles.tile);
          sync_lanes();
          SOLDER_UNROLL
          for (int i = 0; i < chunk; i += size) {
            auto const part = reinterpret_cast<Group const&>(mine[i]);
            SOLDER_UNROLL
            for (int j = 0; j < size; ++j) row[c * chunk + i + j] = part.values[j];
          }
        }
      }
      Group left[Own::count], right[Shared::count];
      auto const load_chunk = [&](int k) {
        shared.load(first, k, right);
        if (active) own.load(top, k, left);
      };
      if (Tiles::ahead && first > 0) load_chunk(0);
      SOLDER_DO_NOT_UNROLL
      for (int k = 0; k < first; k += chunk) {
        // With double-buffered panels, one barrier per turn is enough.
        Scalar* const panel =
            tiles.panels + (Tiles::ahead ? (k / chunk) % 2 * Tiles::panel_size : 0);
        if (!Tiles::ahead) team.team_barrier();
        shared.put(first, k, right, panel);
        if (Tiles::ahead) sync_lanes();
        if (active) own.put(top, k, left, tiles.tile);
        team.team_barrier();
        if (Tiles::ahead && k + chunk < first) load_chunk(k + chunk);
        if (active) subtract_chunk(row, mine, panel);
      }
      if (block == first) {
        // The other warps follow after the barrier.
        if (diagonal) {
          int const info = factor_rows<true>(row, lane, 0, steps, tiles.columns, tiles.inverses);
          if (lane == 0) *tiles.info = info;
        }
        team.team_barrier();
        int const info = *tiles.info;
        if (info != 0) {
          team.team_barrier();
          return first + info;
        }
      }
      if (active) {
        if (!diagonal) factor_rows<true>(row, lane, 0, steps, tiles.columns, tiles.inverses, false);
        SOLDER_UNROLL
        for (int c = 0; c < width; c += chunk) {
          sync_lanes();
          SOLDER_UNROLL
          for (int i = 0; i < chunk; i += size) {
            Group part;
            SOLDER_UNROLL
            for (int j = 0; j < size; ++j) part.values[j] = row[c + i + j];
            reinterpret_cast<Group&>(mine[i]) = part;
          }
          sync_lanes();
          own.store(top, first + c, tiles.tile);
        }
      }
    }
    team.team_barrier();
  }
  return 0;
}

}  // namespace Solder::Impl
