// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>

#include <solder/kernels/cholesky/lanes.hpp>
#include <solder/preconditioners/fsai/local_rows.hpp>

/// \file
/// \brief Cholesky's factorisation of a local matrix of any size by a GPU's team, in tiles of 8 x 8
/// that a warp multiplies, by its tensor cores where they are double's.

namespace Solder::Impl::fsai {

inline constexpr int tile_rows = 8, tile_values = tile_rows * tile_rows;

/// \brief Where a tile has its entry (r, c): two halves of four columns, each row by row. A warp's
/// lanes l read entries (l / 4, l % 4) of a half, neighbours, at a time.
KOKKOS_FORCEINLINE_FUNCTION constexpr int in_tile(int r, int c) {
  return (c / 4 * tile_rows + r) * 4 + c % 4;
}

/// \brief What a lane has of a tile that a warp computes: entries (l / 4, 2 (l % 4)) and the next.
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
    sum.values[0] += x * conj_of(Y[in_tile(c, k)]);
    sum.values[1] += x * conj_of(Y[in_tile(c + 1, k)]);
  }
}

/// \brief The envelope of a local matrix, and its factor in its place: tile row R has the tiles
/// first[R], ..., R. The last tile row is padded with the identity.
///
/// What lies left of the first entry of a row stays zero in L and is neither stored nor computed.
/// A diagonal tile holds L below the diagonal, the inverse of its part of L, transposed, above it,
/// and 1 / l_jj on it.
template <class Scalar>
struct Envelope {
  Scalar* values;
  std::int32_t *start, *first;  ///< tile (R, C) is number start[R] + C
  std::int32_t* reach;          ///< reach[K]: the last tile row R of first[R] <= K
  std::int32_t tiles;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* tile(std::int32_t R, std::int32_t C) const {
    return values + static_cast<std::ptrdiff_t>(start[R] + C) * tile_values;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(std::int32_t r, std::int32_t c) const {
    return tile(r / tile_rows, c / tile_rows)[in_tile(r % tile_rows, c % tile_rows)];
  }
};

/// \brief Factorises a diagonal tile, every lane of a warp for itself: leaves L and its inverse in
/// `tile`, as Envelope says, and the inverse alone, with zeros above, in `below`. False where a
/// pivot is not positive or not finite. A warp calls this together; `from` may be `tile`.
template <class Team, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool factorize_diagonal(Team const& team, Scalar const* from,
                                                    Scalar* tile, Scalar* below) {
  constexpr int T = tile_rows;
  int const lane = team.lane();
  Scalar l[T][T], x[T];  // x: column lane % T of the inverse
  SOLDER_UNROLL
  for (int r = 0; r < T; ++r) {
    x[r] = Scalar(r == lane % T ? 1 : 0);
    SOLDER_UNROLL
    for (int c = 0; c <= r; ++c) l[r][c] = from[in_tile(r, c)];
  }
  team.sync_lanes();
  bool fine = true;
  SOLDER_UNROLL
  for (int j = 0; j < T; ++j) {
    RealOf<Scalar> const pivot = real_of(l[j][j]), inverse = reciprocal_root(pivot);
    fine = fine && pivot > 0 && Kokkos::isfinite(pivot);
    x[j] *= inverse;
    if (lane < T) below[in_tile(j, lane)] = x[j];
    if (lane <= j) tile[in_tile(lane, j)] = x[j];
    SOLDER_UNROLL
    for (int r = j + 1; r < T; ++r) {
      l[r][j] *= inverse;
      x[r] -= l[r][j] * x[j];
      if (lane == 0) tile[in_tile(r, j)] = l[r][j];
    }
    SOLDER_UNROLL
    for (int r = j + 1; r < T; ++r) {
      SOLDER_UNROLL
      for (int c = j + 1; c <= r; ++c) l[r][c] -= l[r][j] * conj_of(l[c][j]);
    }
  }
  return fine;
}

/// \brief Tiles of one tile column of A, the rows base, base + 1, ..., that are worked on in
/// scratch: two sets, one being filled while the other is used.
template <class Scalar>
struct TileStream {
  Scalar* sets;
  std::int32_t size;  ///< of each, in tiles
  // The entries of A, tile column by tile column: value, and number 64 R + place of tile row R.
  std::int32_t const* column_begin;
  Scalar const* values;
  std::uint32_t const* places;
  std::int32_t rows;  ///< of A; the identity beyond

  KOKKOS_FUNCTION Scalar* at(int set) const { return sets + set * size * tile_values; }

  template <class Team>
  KOKKOS_FUNCTION void clear(Team const& team, int set) const {
    Scalar* const to = at(set);
    for (std::int32_t e = team.rank(); e < size * tile_values; e += team.size()) to[e] = Scalar{};
  }
  /// \brief Fills the set, cleared before, with the tiles (base, C), ....
  template <class Team>
  KOKKOS_FUNCTION void fill(Team const& team, int set, std::int32_t C, std::int32_t base) const {
    std::uint32_t const first = std::uint32_t(base) * tile_values, count = size * tile_values;
    Scalar* const to = at(set);
    for (std::int32_t e = column_begin[C] + team.rank(); e < column_begin[C + 1];
         e += team.size()) {
      std::uint32_t const place = places[e] - first;
      if (place < count) to[place] = values[e];
    }
    if (base == C && team.rank() < tile_rows && C * tile_rows + team.rank() >= rows)
      to[in_tile(team.rank(), team.rank())] = 1;
  }
};

/// \brief tile -= sum over K = from, ..., C - 1 of L(R, K) L(C, K)^H, where L is known. A warp
/// calls this together.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void gather_products(int lane, Envelope<Scalar> const& L,
                                                 std::int32_t R, std::int32_t C, std::int32_t from,
                                                 Scalar* tile) {
  TilePart<Scalar> even, odd;
  even.load(lane, tile);
  Scalar const *X = L.tile(R, from), *Y = L.tile(C, from);
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
}

/// \brief A = L L^H; false, and a half-done factor, where a pivot is not positive or not finite. A
/// is in L's place, or, where streamed, comes tile column by tile column. A team calls this
/// together; `below` is workspace of a tile, `failed` shared by the team.
///
/// Left-looking over the tile columns: the first warp computes and factorises the diagonal tile,
/// meanwhile the others gather the products for the tiles below; then all multiply those by the
/// inverse of the diagonal tile's factor.
template <bool streamed, class Team, class Scalar>
KOKKOS_FUNCTION bool factorize(Team const& team, Envelope<Scalar> const& L,
                               TileStream<Scalar> const& A, Scalar* below, std::int32_t* failed) {
  int const lane = team.lane(), warp_rank = team.warp_rank(), warps = team.warps();
  std::int32_t const at_once = streamed ? A.size : L.tiles;
  int set = 0;
  if (team.rank() == 0) *failed = 0;
  if constexpr (streamed) {
    A.clear(team, 0);
    team.barrier();
    A.fill(team, 0, 0, 0);
  }
  team.barrier();
  for (std::int32_t C = 0; C < L.tiles; ++C) {
    std::int32_t const last = L.reach[C], first = L.first[C];
    for (std::int32_t base = C; base <= last; base += at_once) {
      std::int32_t const end = base + at_once - 1 < last ? base + at_once - 1 : last;
      auto const work = [&](std::int32_t R) {
        return streamed ? A.at(set) + (R - base) * tile_values : L.tile(R, C);
      };
      bool const with_diagonal = base == C;
      if (with_diagonal && warp_rank == 0) {
        Scalar* const tile = work(C);
        if (first < C) gather_products(lane, L, C, C, first, tile);
        team.sync_lanes();
        bool const fine = factorize_diagonal(team, tile, L.tile(C, C), below);
        if (!fine && lane == 0) *failed = 1;
      }
      // The first warp has done its share with the diagonal tile, unless it is alone.
      int const without = with_diagonal && warps > 1 ? 1 : 0;
      std::int32_t const begin = with_diagonal ? C + 1 : base;
      if (warp_rank >= without)
        for (std::int32_t R = begin + warp_rank - without; R <= end; R += warps - without) {
          std::int32_t const from = L.first[R] > first ? L.first[R] : first;
          if (from < C) gather_products(lane, L, R, C, from, work(R));
        }
      if constexpr (streamed) A.clear(team, set ^ 1);
      team.barrier();
      if (*failed) return false;
      for (std::int32_t R = begin + warp_rank; R <= end; R += warps) {
        if (L.first[R] > C) continue;
        TilePart<Scalar> part;
        add_tile_product<1>(lane, part, work(R), below);
        team.sync_lanes();
        part.store(lane, L.tile(R, C));
      }
      if constexpr (streamed) {
        if (base + at_once <= last)
          A.fill(team, set ^ 1, C, base + at_once);
        else if (C + 1 < L.tiles)
          A.fill(team, set ^ 1, C + 1, C + 1);
        set ^= 1;
      }
      team.barrier();
    }
  }
  return true;
}

/// \brief The sum over the 8 lanes l, l + 4, ... of the warp, l < 4, known to all of them.
template <class Team, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sum_of_rows(Team const& team, Scalar value) {
  for (int mask = 4; mask < warp; mask *= 2) value += team.exchange(value, mask);
  return value;
}

/// \brief g of g L = e, e the unit row vector of column `last`; s is workspace. Both are padded to
/// whole tiles. A team calls this together.
///
/// While the tiles of one tile row are worked on, a few of the next are loaded.
template <class Team, class Scalar>
KOKKOS_FUNCTION void solve_last_row(Team const& team, Envelope<Scalar> const& L, std::int32_t last,
                                    Scalar* s, Scalar* g) {
  constexpr int T = tile_rows, ahead = 3;
  for (std::int32_t c = team.rank(); c < T * L.tiles; c += team.size())
    s[c] = Scalar(c == last ? -1 : 0);
  int const lane = team.lane(), row = lane / 4, column = lane % T, warps = team.warps();
  struct Tiles {
    Scalar values[ahead][2], diagonal[T];
  };
  auto const load = [&](std::int32_t K) {
    Tiles tiles;
    std::int32_t C = K - 1 - team.warp_rank();
    SOLDER_UNROLL
    for (int t = 0; t < ahead; ++t, C -= warps)
      for (int half = 0; half < 2; ++half)
        tiles.values[t][half] = C >= L.first[K] ? L.tile(K, C)[half * warp + lane] : Scalar{};
    SOLDER_UNROLL
    for (int b = 0; b < T; ++b)
      tiles.diagonal[b] = b >= column ? L.tile(K, K)[in_tile(column, b)] : Scalar{};
    return tiles;
  };
  Tiles tiles = load(L.tiles - 1);
  team.barrier();
  for (std::int32_t K = L.tiles - 1; K >= 0; --K) {
    Tiles const next = load(K > 0 ? K - 1 : 0);
    Scalar x{};  // entry lane % 8 of this tile's part of g
    SOLDER_UNROLL
    for (int b = 0; b < T; ++b) x -= s[T * K + b] * tiles.diagonal[b];
    if (team.rank() < T) g[T * K + column] = x;
    x = team.from(row, x);
    std::int32_t C = K - 1 - team.warp_rank();
    auto const subtract = [&](int half, Scalar const& l) {
      Scalar const sum = sum_of_rows(team, x * l);
      if (row == 0) s[T * C + 4 * half + lane] += sum;
    };
    SOLDER_UNROLL
    for (int t = 0; t < ahead; ++t, C -= warps)
      if (C >= L.first[K])
        for (int half = 0; half < 2; ++half) subtract(half, tiles.values[t][half]);
    for (; C >= L.first[K]; C -= warps)
      for (int half = 0; half < 2; ++half) subtract(half, L.tile(K, C)[half * warp + lane]);
    tiles = next;
    team.barrier();
  }
}

/// \brief squares[c] = |(e L)_c|^2; e and squares are padded to whole tiles. A team calls this
/// together, with a barrier before it and after.
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
