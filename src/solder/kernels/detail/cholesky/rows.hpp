// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Cholesky factorization of one matrix by a thread or a group of lanes; for a team see
/// team.hpp.
///
/// In all of them, a thread holds some columns of a row in registers, and columns are eliminated
/// one after another: l = a_rk / l_kk, then a_rj -= l conj(l_jk) for j > k. The l_jk are read from
/// scratch that all rows share. A matrix is an accessor: a(r, c) is a reference to the entry, r >=
/// c.

#include <solder/kernels/detail/cholesky/lanes.hpp>

namespace Solder::Impl {

/// \brief The inverse root of a pivot, and whether the pivot is good: positive and finite. A bad
/// pivot is replaced by 1, so that the work continues harmlessly.
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

/// \brief Factors a diagonal block of `steps` <= Width columns, whose rows are held by a group of
/// at least Width lanes, and eliminates its columns from the rows of the group's other lanes.
///
/// All lanes of a warp call this together, with the same `steps`.
/// \tparam Keep whether the columns and inverses are kept
/// \param rank this lane's row, counted from the block's first row
/// \param first_lane the lane of the row of rank 0
/// \param columns scratch of the group, aligned to 16 bytes: 2 * Width scalars, or Width * Width
/// with Keep
/// \param inverses the inverse diagonal, with Keep
/// \param diagonal whether the warp holds the diagonal block; otherwise kept columns are eliminated
/// from its rows
/// \returns 0, or the 1-based number of the first bad pivot, in all lanes of the group
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
      Real pivot = lane_value(real_of(row[k]), first_lane + k);
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

/// \brief A = L L^H in place, with one matrix for each group of G lanes, m <= G; G is 8, 16 or 32.
///
/// All lanes of a warp call this together, each group with its own matrix (m = 0: none). `most` is
/// the largest m of the warp, or G. The entries must be visible to the group's lanes
/// (sync_lanes()), and are visible again when this returns.
/// \param triangle packed, with room for order G; what is beyond order m is undefined afterwards
/// \param columns scratch of the group: 2 * G scalars, aligned to 16 bytes
/// \returns 0 or the order of the first leading minor that is not positive definite (the triangle
/// is then undefined), in all lanes of the group
template <int G, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION int cholesky_by_group(PackedTriangle<Scalar> const& triangle, int m,
                                                  int most, Scalar* columns) {
  int const lane = lane_number(), rank = lane % G;
  Scalar* const entries = &triangle(rank, 0);
  Scalar row[G];
  SOLDER_UNROLL
  for (int c = 0; c < G; ++c) {
    Scalar const entry = entries[c];  // beyond the diagonal, an entry of another row
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

/// \brief A = L L^H in place by one host thread: the same method, one row after another.
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
