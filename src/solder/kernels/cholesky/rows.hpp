// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Cholesky factorization of one matrix by a thread, a group of lanes, or a team.
///
/// All three hold a row of some columns in registers, a thread a row, and eliminate column after
/// column: l = a_rk / l_kk, then a_rj -= l conj(l_jk) for j > k, the l_jk being read from scratch
/// that all rows share. A matrix is an accessor: a(r, c) is a reference to the entry, r >= c.

#include <solder/kernels/cholesky/lanes.hpp>

namespace Solder::Impl {

/// \brief The inverse root of a pivot, and whether it is one: positive and finite. A bad pivot
/// counts as 1, so that the work goes on harmlessly.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real inverse_root(Real& pivot, bool& good) {
  constexpr Real most = Kokkos::Experimental::finite_max_v<Real>;
  good = pivot > Real(0) && pivot <= most;
  if (!good) pivot = Real(1);
  return Kokkos::rsqrt(pivot);
}

/// \brief row[j] -= row[k] conj(column[j]) for j > k; column is aligned to 16 bytes.
template <int Width, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void subtract_column(Scalar (&row)[Width], Scalar const* column,
                                                 int k) {
  constexpr int size = Packet<Scalar>::size;
  SOLDER_UNROLL
  for (int q = 0; q < Width / size; ++q) {
    if ((q + 1) * size - 1 <= k) continue;
    auto const packet = reinterpret_cast<Packet<Scalar> const*>(column)[q];
    SOLDER_UNROLL
    for (int i = 0; i < size; ++i)
      if (q * size + i > k) subtract_product(row[q * size + i], row[k], packet.values[i]);
  }
}

/// \brief Factors a diagonal block of `steps` <= Width columns whose rows a group of at least Width
/// lanes holds, and eliminates its columns from the rows of the group's further lanes.
///
/// All lanes of a warp call this together, with the same `steps`. \param rank this lane's row,
/// counted from the block's first \param first_lane that of the row of rank 0 \param columns
/// scratch of the group, aligned to 16 bytes: 2 * Width scalars, or Width * Width where the columns
/// are Kept \param inverses of the diagonal, where kept \param diagonal whether the warp holds that
/// block; else the columns kept are eliminated from its rows \returns 0, or the 1-based number of
/// the first bad pivot, to all lanes of the group
template <bool Keep, int Width, class Scalar, class Real = typename ScalarTraits<Scalar>::Real>
KOKKOS_FORCEINLINE_FUNCTION int factor_rows(Scalar (&row)[Width], int rank, int first_lane,
                                            int steps, Scalar* columns, Real* inverses,
                                            bool diagonal = true) {
  int info = 0;
  SOLDER_UNROLL
  for (int k = 0; k < Width; ++k) {
    if (k >= steps) continue;
    Scalar* const column = columns + (Keep ? k : k % 2) * Width;
    if (diagonal) {
      Real pivot = from_lane(real_of(row[k]), first_lane + k);
      bool good;
      Real const inverse = inverse_root(pivot, good);
      if (!good && info == 0) info = k + 1;
      row[k] = rank == k ? Scalar(pivot * inverse) : row[k] * inverse;
      if (rank < Width) column[rank] = row[k];
      if (Keep && rank == k) inverses[k] = inverse;
      sync_lanes();
    } else {
      row[k] *= inverses[k];
    }
    subtract_column(row, column, k);
  }
  return info;
}

/// \brief A = L L^H in place for one matrix a group of G lanes, m <= G; G is 8, 16 or 32.
///
/// All lanes of a warp call this together, each group with a matrix of its own (m = 0: none), and
/// `most` the largest m of the warp, or G. The entries must be visible to the group's lanes
/// (sync_lanes()), and are again when this returns. \param triangle packed, with room for order G,
/// of which what is beyond order m becomes anything \param columns scratch of the group: 2 * G
/// scalars, aligned to 16 bytes \returns 0 or the order of the first leading minor that is not
/// positive definite (the triangle then holds anything), to all lanes of the group
template <int G, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION int cholesky_by_group(PackedTriangle<Scalar> const& triangle, int m,
                                                  int most, Scalar* columns) {
  int const lane = lane_number(), rank = lane % G;
  Scalar* const entries = &triangle(rank, 0);
  Scalar row[G];
  SOLDER_UNROLL
  for (int c = 0; c < G; ++c) {
    Scalar const entry = entries[c];  // beyond the diagonal another row's
    row[c] = rank < m && c <= rank ? entry : Scalar(c == rank ? 1 : 0);
  }
  sync_lanes();
  int const info = factor_rows<false>(row, rank, lane - rank, most, columns,
                                      static_cast<typename ScalarTraits<Scalar>::Real*>(nullptr));
  SOLDER_UNROLL
  for (int c = 0; c < G; ++c)
    if (c <= rank) entries[c] = row[c];
  sync_lanes();
  return info;
}

/// \brief The tiles in which a team works, and where they are in its scratch.
template <class Scalar>
struct CholeskyTiles {
  using Real = typename ScalarTraits<Scalar>::Real;
  /// Columns of a panel, which a thread holds of its row; and of a chunk of earlier columns.
  static constexpr int width = sizeof(Scalar) <= 8 ? 32 : 16, chunk = 64 / sizeof(Scalar);
  /// Whether the loads of a chunk are begun while the one before is worked on.
  static constexpr bool ahead = sizeof(Scalar) == 4;
  /// From a tile's row to its next, in scalars: a packet more, so that 8 lanes that read a packet
  /// each of 8 rows meet no bank twice.
  static constexpr int stride = chunk + Packet<Scalar>::size;
  static constexpr int panel_size = width * stride, tile_size = warp * stride,
                       shared = width * width + 2 * panel_size;

  /// \brief Bytes of scratch of a team of so many warps, aligned_scratch()'s loss included.
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

/// \brief A warp's way through a tile of Rows rows and `chunk` columns: Packet after Packet of
/// neighbours in memory, that is in a row or in a column. Each of `parts` warps walks through its
/// part.
template <int Rows, class Triangle>
class TileWalk {
 public:
  using Scalar = typename Triangle::Scalar;
  using Tiles = CholeskyTiles<Scalar>;
  using Group = Packet<Scalar>;
  static constexpr int size = Group::size, count = Rows * (Tiles::chunk / size) / warp;

  KOKKOS_FORCEINLINE_FUNCTION TileWalk(Triangle const& a, int m, int part, int parts)
      : a_(a), m_(m), part_(part), parts_(parts), by_columns_(a.by_columns()) {
    constexpr int high = Rows / size, wide = Tiles::chunk / size;  // in packets
    whole_ = a.in_packets() && (!by_columns_ || m % size == 0);
    int const turn = lane_number() + warp * part;
    row_ = by_columns_ ? turn % high * size : turn / wide;
    column_ = by_columns_ ? turn / high : turn % wide * size;
    down_ = by_columns_ ? 0 : warp / wide * parts;
    right_ = by_columns_ ? warp / high * parts : 0;
  }

  /// \brief Begins to load a tile, its first entry being (row, column) of the matrix, where it can
  /// be loaded in packets. Entries below the matrix or above the diagonal are any.
  ///
  /// Nothing hangs on conditions, so that all loads are in flight at once.
  KOKKOS_FORCEINLINE_FUNCTION void load(int row, int column, Group (&groups)[count]) const {
    if (!in_packets(row, column)) return;
    int const last = m_ - (by_columns_ ? size : 1);
    SOLDER_UNROLL
    for (int i = 0; i < count; ++i)
      if (part_ + i * parts_ < count)
        groups[i] = reinterpret_cast<Group const&>(
            a_(least(row + row_ + i * down_, last), column + column_ + i * right_));
  }
  /// \brief Puts that tile into scratch.
  KOKKOS_FORCEINLINE_FUNCTION void put(int row, int column, Group const (&groups)[count],
                                       Scalar* tile) const {
    if (!in_packets(row, column)) return copy(row, column, tile);
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
  /// \brief Stores the tile's entries that are in the triangle into the matrix.
  KOKKOS_FORCEINLINE_FUNCTION void store(int row, int column, Scalar const* tile) const {
    int const step = by_columns_ ? Tiles::stride : 1;
    SOLDER_DO_NOT_UNROLL
    for (int i = 0; i < count; ++i) {
      int const r = row_ + i * down_, c = column_ + i * right_;
      Scalar const* const at = tile + r * Tiles::stride + c;
      int const last = row + r + (by_columns_ ? size - 1 : 0);
      if (whole_ && last < m_ && column + c + (by_columns_ ? 0 : size - 1) <= row + r) {
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

  /// Whether the tile is whole packets, none of which reaches above the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION bool in_packets(int row, int column) const {
    return whole_ && column + Tiles::chunk <= row + 1;
  }
  /// Copies a tile to scratch entry by entry.
  KOKKOS_FORCEINLINE_FUNCTION void copy(int row, int column, Scalar* tile) const {
    SOLDER_DO_NOT_UNROLL
    for (int i = 0; part_ + i * parts_ < count; ++i) {
      int const r = row_ + i * down_, c = column_ + i * right_;
      Scalar values[size];
      SOLDER_UNROLL
      for (int j = 0; j < size; ++j) {
        int const rj = least(row + r + (by_columns_ ? j : 0), m_ - 1);
        values[j] = a_(rj, least(column + c + (by_columns_ ? 0 : j), rj));
      }
      SOLDER_UNROLL
      for (int j = 0; j < size; ++j)
        tile[r * Tiles::stride + c + j * (by_columns_ ? Tiles::stride : 1)] = values[j];
    }
  }

  Triangle const& a_;
  int m_, part_, parts_, row_, column_, down_, right_;
  bool by_columns_, whole_;
};

/// \brief row[j] -= mine[k] conj(panel[j][k]) over a chunk's columns k.
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
/// together; the entries must be visible to them (barrier), and are again when this returns.
/// \param a memory of which neighbours in a row or in a column are neighbours \param scratch of the
/// team: CholeskyTiles<Scalar>::scratch_bytes(team.team_size()) from aligned_scratch(team) \returns
/// as cholesky_by_group, to all threads
template <class Member, class Triangle>
KOKKOS_FUNCTION int cholesky_by_team(Member const& team, Triangle const& a, int m, void* scratch) {
  using Scalar = typename Triangle::Scalar;
  using Tiles = CholeskyTiles<Scalar>;
  using Group = Packet<Scalar>;
  constexpr int width = Tiles::width, chunk = Tiles::chunk, size = Group::size;
  using Own = TileWalk<warp, Triangle>;
  using Shared = TileWalk<width, Triangle>;
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
        if (!Tiles::ahead) load_chunk(k);
        Scalar* const panel = tiles.panels + (k / chunk) % 2 * Tiles::panel_size;
        shared.put(first, k, right, panel);
        sync_lanes();
        if (active) own.put(top, k, left, tiles.tile);
        team.team_barrier();
        if (Tiles::ahead && k + chunk < first) load_chunk(k + chunk);
        if (active) subtract_chunk(row, mine, panel);
      }
      if (block == first) {
        // The others' turn comes after the barrier.
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

/// \brief A = L L^H in place by one thread of a host: the same, a row after the other.
template <class Triangle>
int cholesky_by_thread(Triangle const& a, int m) {
  using Scalar = typename Triangle::Scalar;
  constexpr int width = 16, chunk = 64;
  Scalar panel[chunk][width] = {};  // earlier columns of the diagonal block's rows, transposed
  alignas(16) Scalar columns[width * width] = {};
  typename ScalarTraits<Scalar>::Real inverses[width];
  for (int first = 0; first < m; first += width) {
    int const steps = m - first < width ? m - first : width;
    auto const for_each_row = [&](auto const& change) {
      for (int r = first; r < m; ++r) {
        int const rank = r - first, wide = rank < steps ? rank + 1 : steps;
        Scalar row[width] = {};
        for (int j = 0; j < wide; ++j) row[j] = a(r, first + j);
        bool const good = change(r, rank, row);
        for (int j = 0; j < wide; ++j) a(r, first + j) = row[j];
        if (!good) return r + 1;
      }
      return 0;
    };
    for (int k = 0; k < first; k += chunk) {
      int const depth = first - k < chunk ? first - k : chunk;
      for (int j = 0; j < steps; ++j)
        for (int i = 0; i < depth; ++i) panel[i][j] = a(first + j, k + i);
      for_each_row([&](int r, int, Scalar(&row)[width]) {
        for (int i = 0; i < depth; ++i) {
          Scalar const mine = a(r, k + i);
          for (int j = 0; j < width; ++j) subtract_product(row[j], mine, panel[i][j]);
        }
        return true;
      });
    }
    int const info = for_each_row([&](int, int rank, Scalar(&row)[width]) {
      for (int k = 0; k < rank && k < steps; ++k) {
        row[k] *= inverses[k];
        if (rank < width) columns[k * width + rank] = row[k];
        subtract_column(row, columns + k * width, k);
      }
      if (rank >= width) return true;
      bool good;
      auto pivot = real_of(row[rank]);
      inverses[rank] = inverse_root(pivot, good);
      row[rank] = pivot * inverses[rank];
      return good;
    });
    if (info != 0) return info;
  }
  return 0;
}

/// \brief A = L L^H in place by one thread, entry after entry.
template <class Triangle>
KOKKOS_FUNCTION int plain_cholesky(Triangle const& a, int m) {
  using Scalar = typename Triangle::Scalar;
  using Real = typename ScalarTraits<Scalar>::Real;
  for (int k = 0; k < m; ++k) {
    Real inverse = 1;
    for (int r = k; r < m; ++r) {
      Scalar sum = a(r, k);
      for (int j = 0; j < k; ++j) subtract_product(sum, Scalar(a(r, j)), Scalar(a(k, j)));
      if (r == k) {
        bool good;
        Real pivot = real_of(sum);
        inverse = inverse_root(pivot, good);
        if (!good) return k + 1;
        sum = pivot;
      }
      a(r, k) = sum * inverse;
    }
  }
  return 0;
}

}  // namespace Solder::Impl
