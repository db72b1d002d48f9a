// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>

#include <solder/kernels/detail/cholesky/lanes.hpp>
#include <solder/preconditioners/detail/fsai/local_rows.hpp>

/// \file
/// \brief The Cholesky factorisation of a local matrix of any size by a team of a GPU, in tiles of
/// 8 x 8. A warp multiplies two tiles, with tensor cores if these support double.

namespace Solder::Impl::fsai {

inline constexpr int tile_rows = 8, tile_values = tile_rows * tile_rows;

/// \brief The place of entry (r, c) in a tile. A tile is stored in two halves of four columns, each
/// row by row. Lane l of a warp reads entry (l / 4, l % 4) of a half, so a warp reads contiguously.
KOKKOS_FORCEINLINE_FUNCTION constexpr int in_tile(int r, int c) {
  return (c / 4 * tile_rows + r) * 4 + c % 4;
}

/// \brief A lane's part of a tile that a warp computes: for lane l, entry (l / 4, 2 (l % 4)) and
/// the next one in its row.
template <class Scalar>
struct TilePart {
  Scalar values[2]{};

  KOKKOS_FORCEINLINE_FUNCTION static int place(int lane) {
    return in_tile(lane / 4, 2 * (lane % 4));
  }
  KOKKOS_FORCEINLINE_FUNCTION void load(int lane, Scalar const* tile) {
    values[0] = tile[place(lane)];
    values[1] = tile[place(lane) + 1];
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(int lane, Scalar* tile) const {
    tile[place(lane)] = values[0];
    tile[place(lane) + 1] = values[1];
  }
};

#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 800
#define SOLDER_TENSOR_CORES_OF_DOUBLE
#endif
#endif

/// \brief sum += sign * X Y^H for tiles X and Y. A warp calls this together.
template <int sign, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void add_tile_product(int lane, TilePart<Scalar>& sum, Scalar const* X,
                                                  Scalar const* Y) {
#if defined(SOLDER_TENSOR_CORES_OF_DOUBLE)
  if constexpr (std::is_same_v<Scalar, double>) {
    for (int half = 0; half < 2; ++half) {
      double const x = sign * X[half * warp + lane], y = Y[half * warp + lane];
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(sum.values[0]), "+d"(sum.values[1])
          : "d"(x), "d"(y));
    }
    return;
  }
#endif
  int const r = lane / 4, c = 2 * (lane % 4);
  SOLDER_UNROLL
  for (int k = 0; k < tile_rows; ++k) {
    Scalar const x = RealOf<Scalar>(sign) * X[in_tile(r, k)];
    sum.values[0] += x * conjugated(Y[in_tile(c, k)]);
    sum.values[1] += x * conjugated(Y[in_tile(c + 1, k)]);
  }
}

/// \brief The envelope of a local matrix, which its factor overwrites. Tile row R has the tiles
/// first[R], ..., R. The last tile row is padded with the identity.
///
/// Left of the first entry of a row, L is zero, so nothing is stored or computed there. A diagonal
/// tile holds L below the diagonal, the transposed inverse of its part of L above it, and 1 / l_jj
/// on it.
template <class Scalar>
struct Envelope {
  Scalar* values;
  std::int32_t *start, *first;  ///< tile (R, C) is number start[R] + C
  std::int32_t* reach;          ///< reach[K]: the last tile row R with first[R] <= K
  std::int32_t tiles;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* tile(std::int32_t R, std::int32_t C) const {
    return values + static_cast<std::ptrdiff_t>(start[R] + C) * tile_values;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(std::int32_t r, std::int32_t c) const {
    return tile(r / tile_rows, c / tile_rows)[in_tile(r % tile_rows, c % tile_rows)];
  }
};

/// \brief A diagonal tile. Each lane of a warp factorises it redundantly; lane l has column l % 8
/// of the inverse.
template <class Scalar>
struct DiagonalTile {
  static constexpr int T = tile_rows;
  Scalar l[T][T], inverse_column[T];
  RealOf<Scalar> inverse[T];
  bool fine = true;

  KOKKOS_FORCEINLINE_FUNCTION DiagonalTile(int lane, Scalar const* tile) {
    SOLDER_UNROLL
    for (int r = 0; r < T; ++r) {
      SOLDER_UNROLL
      for (int c = 0; c <= r; ++c) l[r][c] = tile[in_tile(r, c)];
    }
    SOLDER_UNROLL
    for (int j = 0; j < T; ++j) {
      RealOf<Scalar> const pivot = real_of(l[j][j]);
      fine = fine && pivot > 0 && Kokkos::isfinite(pivot);
      inverse[j] = reciprocal_root(pivot);
      SOLDER_UNROLL
      for (int r = j + 1; r < T; ++r) l[r][j] *= inverse[j];
      SOLDER_UNROLL
      for (int r = j + 1; r < T; ++r) {
        SOLDER_UNROLL
        for (int c = j + 1; c <= r; ++c) l[r][c] -= l[r][j] * conjugated(l[c][j]);
      }
      Scalar x(j == lane % T ? 1 : 0);
      SOLDER_UNROLL
      for (int k = 0; k < j; ++k) x -= l[j][k] * inverse_column[k];
      inverse_column[j] = x * inverse[j];
    }
  }

  /// \brief Writes L and its inverse to the tile, and the inverse alone, with zeros above its
  /// diagonal, to `below`. All lanes must have read the tile before.
  KOKKOS_FORCEINLINE_FUNCTION void store(int lane, Scalar* tile, Scalar* below) const {
    SOLDER_UNROLL
    for (int r = 0; r < T; ++r) {
      if (lane < T) {
        below[in_tile(r, lane)] = inverse_column[r];
        if (lane <= r) tile[in_tile(lane, r)] = inverse_column[r];
      }
      SOLDER_UNROLL
      for (int c = 0; c < r; ++c)
        if (lane == 0) tile[in_tile(r, c)] = l[r][c];
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static RealOf<Scalar> reciprocal_root(RealOf<Scalar> a) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    return ::rsqrt(a);
#else
    return 1 / Kokkos::sqrt(a);
#endif
  }
};

/// \brief A = L L^H in place. If a pivot is not positive or not finite, returns false and leaves an
/// unfinished factor. A team calls this together. `below` is workspace for one tile; the team
/// shares `failed`.
///
/// The factorisation is left-looking over the tile columns. The first warp computes and factorises
/// the diagonal tile while the others sum the products for the tiles below it. Then all warps
/// multiply those tiles by the inverse of the diagonal tile's factor.
template <class Team, class Scalar>
KOKKOS_FUNCTION bool factorize(Team const& team, Envelope<Scalar> const& A, Scalar* below,
                               std::int32_t* failed) {
  int const lane = team.lane(), warp_rank = team.warp_rank(), warps = team.warps();
  auto const gather = [&](std::int32_t R, std::int32_t C, std::int32_t from) {
    Scalar* const tile = A.tile(R, C);
    TilePart<Scalar> even, odd;
    even.load(lane, tile);
    Scalar const *X = A.tile(R, from), *Y = A.tile(C, from);
    std::int32_t K = from;
    for (; K + 1 < C; K += 2) {
      add_tile_product<-1>(lane, even, X, Y);
      add_tile_product<-1>(lane, odd, X + tile_values, Y + tile_values);
      X += 2 * tile_values;
      Y += 2 * tile_values;
    }
    if (K < C) add_tile_product<-1>(lane, even, X, Y);
    even.values[0] += odd.values[0];
    even.values[1] += odd.values[1];
    even.store(lane, tile);
  };
  if (team.rank() == 0) *failed = 0;
  team.barrier();
  for (std::int32_t C = 0; C < A.tiles; ++C) {
    std::int32_t const last = A.reach[C], first = A.first[C];
    if (warp_rank == 0) {
      if (first < C) gather(C, C, first);
      team.sync_lanes();
      DiagonalTile<Scalar> const diagonal(lane, A.tile(C, C));
      team.sync_lanes();
      diagonal.store(lane, A.tile(C, C), below);
      if (!diagonal.fine && lane == 0) *failed = 1;
    }
    for (std::int32_t R = C + (warps > 1 ? warp_rank : 1); R <= last;
         R += warps > 1 ? warps - 1 : 1) {
      std::int32_t const from = A.first[R] > first ? A.first[R] : first;
      if (R > C && from < C) gather(R, C, from);
      if (warp_rank == 0 && warps > 1) break;
    }
    team.barrier();
    if (*failed) return false;
    for (std::int32_t R = C + 1 + warp_rank; R <= last; R += warps) {
      if (A.first[R] > C) continue;
      Scalar* const tile = A.tile(R, C);
      TilePart<Scalar> part;
      add_tile_product<1>(lane, part, tile, below);
      team.sync_lanes();
      part.store(lane, tile);
    }
    team.barrier();
  }
  return true;
}

/// \brief The sum over the 8 lanes l, l + 4, ... of the warp, l < 4. All of them get it.
template <class Team, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sum_of_rows(Team const& team, Scalar value) {
  for (int mask = 4; mask < warp; mask *= 2) value += team.exchange(value, mask);
  return value;
}

/// \brief Solves g L = e, where e is the unit row vector of column `last`. s is workspace. g and s
/// are padded to whole tiles. A team calls this together.
template <class Team, class Scalar>
KOKKOS_FUNCTION void solve_last_row(Team const& team, Envelope<Scalar> const& L, std::int32_t last,
                                    Scalar* s, Scalar* g) {
  constexpr int T = tile_rows;
  for (std::int32_t c = team.rank(); c < T * L.tiles; c += team.size())
    s[c] = Scalar(c == last ? -1 : 0);
  team.barrier();
  int const lane = team.lane(), row = lane / 4, column = lane % T;
  for (std::int32_t K = L.tiles - 1; K >= 0; --K) {
    Scalar x{};  // entry lane % 8 of this tile's part of g
    Scalar const* const diagonal = L.tile(K, K);
    SOLDER_UNROLL
    for (int b = 0; b < T; ++b)
      if (b >= column) x -= s[T * K + b] * diagonal[in_tile(column, b)];
    if (team.rank() < T) g[T * K + column] = x;
    x = team.from(row, x);
    for (std::int32_t C = K - 1 - team.warp_rank(); C >= L.first[K]; C -= team.warps()) {
      Scalar const* const tile = L.tile(K, C);
      for (int half = 0; half < 2; ++half) {
        Scalar const sum = sum_of_rows(team, x * tile[half * warp + lane]);
        if (row == 0) s[T * C + 4 * half + lane] += sum;
      }
    }
    team.barrier();
  }
}

/// \brief squares[c] = |(e L)_c|^2. e and squares are padded to whole tiles. A team calls this
/// together, with barriers before and after the call.
template <class Team, class Scalar>
KOKKOS_FUNCTION void squares_of_product(Team const& team, Envelope<Scalar> const& L,
                                        Scalar const* e, double* squares) {
  constexpr int T = tile_rows;
  int const lane = team.lane(), row = lane / 4;
  for (std::int32_t C = team.warp_rank(); C < L.tiles; C += team.warps()) {
    Scalar sums[2]{};
    for (std::int32_t R = C; R <= L.reach[C]; ++R) {
      if (L.first[R] > C) continue;
      Scalar const* const tile = L.tile(R, C);
      for (int half = 0; half < 2; ++half) {
        Scalar l = tile[half * warp + lane];
        int const column = 4 * half + lane % 4;
        if (R == C && column == row) l = Scalar(1) / l;
        if (R == C && column > row) l = Scalar{};
        sums[half] += e[T * R + row] * l;
      }
    }
    for (int half = 0; half < 2; ++half) {
      Scalar const sum = sum_of_rows(team, sums[half]);
      if (row == 0) squares[T * C + 4 * half + lane] = abs_squared(sum);
    }
  }
}

}  // namespace Solder::Impl::fsai
