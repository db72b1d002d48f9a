// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

#include <solder/core/scalar.hpp>
#include <solder/kernels/detail/cholesky/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/fsai/filter.hpp>

/// \file
/// \brief What all kernels that compute rows of an FSAI share: the lower triangle of A, a chunk of
/// rows, and the gathering of a local matrix A[P, P].

namespace Solder::Impl::fsai {

/// \brief Entries of a row that a thread reads and looks up at a time.
inline constexpr int entries_at_once = 8;

template <class Scalar>
using RealOf = typename ScalarTraits<Scalar>::Real;

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION RealOf<Scalar> real_of(Scalar const& a) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return a.real();
  else
    return a;
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool finite(Scalar const& a) {
  return is_finite(Wide<Scalar>(a));
}

/// \brief a converted to the factor's scalar.
template <class Factor, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Factor stored(Scalar const& a) {
  return narrow<Factor>(Wide<Scalar>(a));
}

/// \brief The entries (r, c), c <= r, of A, in A's order: all that local matrices need.
template <class Scalar, class Offset>
struct Lower {
  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
};

/// \brief The place of entry (r, c), c <= r, of a lower triangle of m rows, column by column.
KOKKOS_FORCEINLINE_FUNCTION constexpr std::int32_t in_triangle(std::int32_t m, std::int32_t r,
                                                               std::int32_t c) {
  return c * m - c * (c + 1) / 2 + r;
}

/// \brief Entries of the longest pattern whose local matrix has places; see LocalPlaces.
inline constexpr std::int32_t most_with_places = warp;
/// \brief The number of places of a pattern with m entries.
KOKKOS_FORCEINLINE_FUNCTION constexpr std::int32_t number_of_places(std::int32_t m) {
  return m <= most_with_places ? m * (m + 1) / 2 : 0;
}
/// \brief The place of an entry that A does not have.
inline constexpr std::uint8_t no_place = 255;

/// \brief Where the entries of local matrices are in A, if that is known: a byte for each entry of
/// the lower triangle of A[P, P], column by column. It says which entry of its row of A it is.
template <class Scalar, class Offset>
struct LocalPlaces {
  Offset const* offsets_of_A = nullptr;
  Scalar const* values_of_A = nullptr;
  std::int32_t const* starts = nullptr;  ///< of each row's places
  std::uint8_t const* places = nullptr;  ///< null: they are not known

  /// \brief A row of a local matrix, up to the diagonal.
  struct Row {
    Scalar const* values;  ///< of A's row
    std::uint8_t const* places;
    std::int32_t m, r;

    KOKKOS_FORCEINLINE_FUNCTION bool has(std::int32_t c) const {
      return places[in_triangle(m, r, c)] != no_place;
    }
    KOKKOS_FORCEINLINE_FUNCTION Scalar operator[](std::int32_t c) const {
      std::uint8_t const place = places[in_triangle(m, r, c)];
      return place == no_place ? Scalar{} : values[place];
    }
  };
  /// \brief Row r of the local matrix, which is row i of A. Its pattern is the k-th, of m entries.
  KOKKOS_FORCEINLINE_FUNCTION Row row(std::int32_t k, std::int32_t m, std::int32_t r,
                                      std::int32_t i) const {
    return {values_of_A + offsets_of_A[i], places + starts[k], m, r};
  }
};

/// \brief Rows of G that are computed together: first_row, first_row + 1, .... The pattern of row
/// first_row + k begins at columns[offsets[k]]; it ascends and ends with the diagonal.
template <class Scalar, class Factor, class Offset>
struct Chunk {
  Lower<Scalar, Offset> lower;
  LocalPlaces<Scalar, Offset> known;  ///< if so, of all patterns of up to most_with_places entries
  std::int32_t first_row;
  Offset const* offsets;
  std::int32_t* columns;   ///< ~column if dropped: read, of the last time; written, of this time
  std::int32_t* changed;   ///< if not null, set to 1 where an entry's mark changes
  Factor* values;          ///< written for entries that are not dropped
  std::int32_t* kept;      ///< written: entries of each row that were not dropped
  std::int64_t* repaired;  ///< counts the rows whose local matrix is not positive definite
  std::int32_t* first_repaired;  ///< the first of these rows
  Filtration filtration;
  std::int32_t lane_bits;  ///< 2^lane_bits lanes read a row of the lower triangle together

  KOKKOS_FUNCTION std::int32_t length(std::int32_t k) const {
    return static_cast<std::int32_t>(offsets[k + 1] - offsets[k]);
  }
  /// \brief The column of an entry, whether it was dropped or not.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t column(Offset entry) const {
    std::int32_t const marked = columns[entry];
    return marked < 0 ? ~marked : marked;
  }
  /// \brief Says whether an entry is dropped. One thread calls this for it.
  KOKKOS_FORCEINLINE_FUNCTION void mark(Offset entry, bool dropped) const {
    if (dropped == (columns[entry] < 0)) return;
    columns[entry] = ~columns[entry];
    if (changed != nullptr && Kokkos::atomic_load(changed) == 0) Kokkos::atomic_store(changed, 1);
  }

  /// \brief Records that row k of the chunk was repaired; one thread calls this.
  KOKKOS_FORCEINLINE_FUNCTION void count_repaired(std::int32_t k) const {
    Kokkos::atomic_add(repaired, std::int64_t(1));
    Kokkos::atomic_min(first_repaired, first_row + k);
  }
};

/// \brief The one entry of a repaired row: 1 / sqrt(|a_ii|), or 1 if that is not finite.
template <class Factor, class Real>
KOKKOS_FORCEINLINE_FUNCTION Factor repaired_entry(Real diagonal) {
  RealOf<Factor> const entry =
      static_cast<RealOf<Factor>>(1 / Kokkos::sqrt(Kokkos::fabs(double(diagonal))));
  return Kokkos::isfinite(entry) && entry > 0 ? Factor(entry) : Factor(1);
}

/// \brief Calls body(r, c, k) for each entry k of the lower triangle that is entry (r, c) of the
/// local matrix, c <= r < m. `threads` threads share the work, 2^lane_bits of them per row.
///
/// Each column is looked up in the pattern by bisection, several at a time to overlap their
/// latency.
template <class Scalar, class Offset, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_local_entry(Lower<Scalar, Offset> const& lower,
                                                      std::int32_t const* columns, std::int32_t m,
                                                      int thread, int threads,
                                                      std::int32_t lane_bits, Body const& body) {
  constexpr int batch = entries_at_once;
  std::int32_t const lanes = 1 << lane_bits;
  std::int32_t most = 1;  // the largest power of 2 below m
  while (2 * most < m) most *= 2;
  for (std::int32_t r = thread >> lane_bits; r < m; r += threads >> lane_bits) {
    std::int32_t const row = columns[r];
    Offset const end = lower.offsets[row + 1];
    for (Offset k = lower.offsets[row] + (thread & (lanes - 1)); k < end; k += batch * lanes) {
      std::int32_t column[batch], place[batch];
      SOLDER_UNROLL
      for (int b = 0; b < batch; ++b) {
        column[b] = k + b * lanes < end ? lower.columns[k + b * lanes] : -1;
        place[b] = 0;
      }
      for (std::int32_t step = most; step > 0; step /= 2) {
        SOLDER_UNROLL
        for (int b = 0; b < batch; ++b) {
          std::int32_t const next = place[b] + step;
          if (next <= r && columns[next] <= column[b]) place[b] = next;
        }
      }
      SOLDER_UNROLL
      for (int b = 0; b < batch; ++b)
        if (columns[place[b]] == column[b]) body(r, place[b], k + b * lanes);
    }
  }
}

}  // namespace Solder::Impl::fsai
