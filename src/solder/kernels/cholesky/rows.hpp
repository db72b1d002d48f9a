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
/// are kept \param inverses of the diagonal, where kept \returns 0, or the 1-based number of the
/// first bad pivot, to all lanes of the group
template <int Width, bool Keep, class Scalar, class Real = typename ScalarTraits<Scalar>::Real>
KOKKOS_FORCEINLINE_FUNCTION int factor_rows(Scalar (&row)[Width], int rank, int first_lane,
                                            int steps, Scalar* columns, Real* inverses) {
  int info = 0;
  SOLDER_UNROLL
  for (int k = 0; k < Width; ++k) {
    if (k >= steps) continue;
    Real pivot = from_lane(real_of(row[k]), first_lane + k);
    bool good;
    Real const inverse = inverse_root(pivot, good);
    if (!good && info == 0) info = k + 1;
    row[k] = rank == k ? Scalar(pivot * inverse) : row[k] * inverse;
    Scalar* const column = columns + (Keep ? k : k % 2) * Width;
    if (rank < Width) column[rank] = row[k];
    if (Keep && rank == k) inverses[k] = inverse;
    sync_lanes();
    subtract_column(row, column, k);
  }
  return info;
}

/// \brief Eliminates the columns that factor_rows kept from another row.
template <int Width, class Scalar, class Real>
KOKKOS_FORCEINLINE_FUNCTION void eliminate_row(Scalar (&row)[Width], int steps,
                                               Scalar const* columns, Real const* inverses) {
  SOLDER_UNROLL
  for (int k = 0; k < Width; ++k) {
    if (k >= steps) continue;
    row[k] *= inverses[k];
    subtract_column(row, columns + k * Width, k);
  }
}

/// \brief A = L L^H in place for one matrix a group of G lanes, m <= G; G is 8, 16 or 32.
///
/// All lanes of a warp call this together, each group with a matrix of its own (m = 0: none), and
/// `most` the largest m of the warp, or G. The entries must be visible to the group's lanes
/// (sync_lanes()), and are again when this returns. \param columns scratch of the group: 2 * G
/// scalars, aligned to 16 bytes \returns 0 or the order of the first leading minor that is not
/// positive definite (the triangle then holds anything), to all lanes of the group
template <int G, class Triangle, class Scalar = typename Triangle::Scalar>
KOKKOS_FORCEINLINE_FUNCTION int cholesky_by_group(Triangle const& a, int m, int most,
                                                  Scalar* columns) {
  int const lane = lane_number(), rank = lane % G;
  Scalar row[G];
  SOLDER_UNROLL
  for (int c = 0; c < G; ++c)
    row[c] = rank < m && c <= rank ? a(rank, c) : Scalar(c == rank ? 1 : 0);
  int const info =
      factor_rows<G, false>(row, rank, lane - rank, most, columns,
                            static_cast<typename ScalarTraits<Scalar>::Real*>(nullptr));
  SOLDER_UNROLL
  for (int c = 0; c < G; ++c)
    if (rank < m && c <= rank) a(rank, c) = row[c];
  sync_lanes();
  return info;
}

/// \brief The tiles in which a team works, and where they are in its scratch.
template <class Scalar>
struct CholeskyTiles {
  using Real = typename ScalarTraits<Scalar>::Real;
  /// Columns of a panel, which a thread holds of its row; and of a chunk of earlier columns.
  static constexpr int width = sizeof(Scalar) <= 8 ? 32 : 16, chunk = sizeof(Scalar) <= 8 ? 16 : 8;
  /// From a tile's row to its next, in scalars: a packet more, so that 8 lanes that read a packet
  /// each of 8 rows meet no bank twice.
  static constexpr int stride = chunk + Packet<Scalar>::size;
  static constexpr int shared = width * width + width * stride, tile = warp * stride;

  /// \brief Bytes of scratch of a team of so many warps, aligned_scratch()'s loss included.
  static constexpr int scratch_bytes(int warps) {
    return static_cast<int>(sizeof(Scalar)) * (shared + warps * tile) +
           static_cast<int>(sizeof(Real)) * width + 32;
  }

  Scalar *columns, *panel, *mine;
  Real* inverses;
  int* info;

  KOKKOS_FUNCTION CholeskyTiles(void* scratch, int warps, int warp_rank)
      : columns(static_cast<Scalar*>(scratch)),
        panel(columns + width * width),
        mine(columns + shared + warp_rank * tile),
        inverses(reinterpret_cast<Real*>(columns + shared + warps * tile)),
        info(reinterpret_cast<int*>(inverses + width)) {}
};

/// \brief Copies entries of the rows from `row` and the columns from `column` to or from a tile of
/// Rows rows and `chunk` columns; those above the diagonal or below row m are 0 in the tile.
///
/// Warp `part` of `parts` does its part; `Batch` loads of a lane are in flight at once.
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

/// \brief A = L L^H in place by a team, for any m: left-looking, panel by panel.
///
/// The team's vector length is `warp`; a thread holds a row of the panel. All threads call this
/// together; the entries must be visible to them (barrier), and are again when this returns. \param
/// scratch of the team: CholeskyTiles<Scalar>::scratch_bytes(team.team_size()) from
/// aligned_scratch(team), aligned to 16 bytes. \returns as cholesky_by_group, to all threads
template <class Member, class Triangle>
KOKKOS_FUNCTION int cholesky_by_team(Member const& team, Triangle const& a, int m, void* scratch) {
  using Scalar = typename Triangle::Scalar;
  using Tiles = CholeskyTiles<Scalar>;
  constexpr int width = Tiles::width, chunk = Tiles::chunk, stride = Tiles::stride,
                size = Packet<Scalar>::size, load = width * chunk / warp < 8 ? 4 : 8;
  int const lane = lane_number(), warps = team.team_size(), rank = team.team_rank();
  Tiles const tiles(scratch, warps, rank);
  for (int first = 0; first < m; first += width) {
    int const steps = m - first < width ? m - first : width;
    for (int block = first; block < m; block += warps * warp) {
      int const top = block + rank * warp;
      bool const active = top < m;  // all lanes of a warp agree
      Scalar row[width];
      if (active) {
        SOLDER_UNROLL
        for (int c = 0; c < width; c += chunk) {
          sync_lanes();
          copy_tile<warp, load, false>(a, m, top, first + c, tiles.mine, 0, 1);
          sync_lanes();
          SOLDER_UNROLL
          for (int i = 0; i < chunk; ++i) row[c + i] = tiles.mine[lane * stride + i];
        }
      }
      SOLDER_DO_NOT_UNROLL
      for (int k = 0; k < first; k += chunk) {
        team.team_barrier();
        copy_tile<width, 4, false>(a, m, first, k, tiles.panel, rank, warps);
        if (active) copy_tile<warp, load, false>(a, m, top, k, tiles.mine, 0, 1);
        team.team_barrier();
        if (!active) continue;
        SOLDER_DO_NOT_UNROLL
        for (int i = 0; i < chunk; i += size) {
          auto const mine =
              *reinterpret_cast<Packet<Scalar> const*>(tiles.mine + lane * stride + i);
          SOLDER_UNROLL
          for (int j = 0; j < width; ++j) {
            auto const other =
                *reinterpret_cast<Packet<Scalar> const*>(tiles.panel + j * stride + i);
            SOLDER_UNROLL
            for (int s = 0; s < size; ++s)
              subtract_product(row[j], mine.values[s], other.values[s]);
          }
        }
      }
      if (block == first) {
        if (rank == 0) {
          int const info =
              factor_rows<width, true>(row, lane, 0, steps, tiles.columns, tiles.inverses);
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
        if (block > first || rank > 0) eliminate_row(row, steps, tiles.columns, tiles.inverses);
        SOLDER_UNROLL
        for (int c = 0; c < width; c += chunk) {
          sync_lanes();
          SOLDER_UNROLL
          for (int i = 0; i < chunk; ++i) tiles.mine[lane * stride + i] = row[c + i];
          sync_lanes();
          copy_tile<warp, load, true>(a, m, top, first + c, tiles.mine, 0, 1);
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

}  // namespace Solder::Impl
