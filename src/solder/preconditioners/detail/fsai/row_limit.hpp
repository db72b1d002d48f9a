// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/place_of.hpp>
#include <solder/preconditioners/detail/fsai/local_rows.hpp>

namespace Solder::Impl::fsai {

/// \brief Rows that were made diagonal, and the first of them; without any it is the largest
/// number.
struct Repairs {
  std::int64_t count = 0;
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
};

/// \brief Cuts rows of G that have more than `most` entries down to their diagonal entry and the
/// largest others (of equal ones, those nearest to the diagonal), and scales them so that
/// g A g^H = 1 again. A thread a row: m^2 comparisons of m entries, and `most` rows of A.
template <class Scalar, class Factor, class Offset, class Where>
struct RowLimit {
  using Number = Wide<Scalar>;

  Offset const* offsets;  ///< of A
  std::int32_t const* columns_of_A;
  Scalar const* values_of_A;
  std::int32_t most;      ///< at least 1
  Where where;            ///< the layout of the rows
  std::int32_t* columns;  ///< ascending, their own row last; negative: dropped
  Factor* values;
  std::int32_t* kept;  ///< entries of each row

  /// \brief Row k. If the cut row is not finite, it becomes diagonal and counts as repaired.
  KOKKOS_FUNCTION void operator()(std::int32_t k, std::int64_t& repaired,
                                  std::int32_t& first) const {
    if (kept[k] <= most) return;
    std::int32_t* const column = columns + where.begin(k);
    Factor* const value = values + where.begin(k);
    std::int32_t const length = where.length(k);
    std::int32_t count = pack(column, value, length);
    mark_small(column, value, count - 1);
    count = pack(column, value, count);
    std::int32_t const row = column[count - 1];
    Number const scale = 1 / Kokkos::sqrt(energy(column, value, count));
    bool is_sound = true;
    for (std::int32_t e = 0; e < count; ++e) {
      value[e] = narrow<Factor>(Number(value[e]) * scale);
      is_sound = is_sound && is_finite(Number(value[e]));
    }
    if (!is_sound) {
      column[0] = row;
      value[0] = repaired_entry<Factor>(diagonal(row));
      count = 1;
      ++repaired;
      first = row < first ? row : first;
    }
    for (std::int32_t e = count; e < length; ++e) column[e] = -1;
    kept[k] = count;
  }

 private:
  /// \brief Moves the entries that are not dropped to the front; returns their number.
  KOKKOS_FUNCTION static std::int32_t pack(std::int32_t* column, Factor* value,
                                           std::int32_t length) {
    std::int32_t count = 0;
    for (std::int32_t e = 0; e < length; ++e) {
      if (column[e] < 0) continue;
      column[count] = column[e];
      value[count++] = value[e];
    }
    return count;
  }

  /// \brief Of `count` entries, marks those that at least `most` - 1 others exceed.
  KOKKOS_FUNCTION void mark_small(std::int32_t* column, Factor const* value,
                                  std::int32_t count) const {
    for (std::int32_t e = 0; e < count; ++e) {
      double const size = abs_squared(value[e]);
      std::int32_t larger = 0;
      for (std::int32_t other = 0; other < count; ++other) {
        double const of_other = abs_squared(value[other]);
        larger += of_other > size || (of_other == size && other > e);
      }
      if (larger >= most - 1) column[e] = -1;
    }
  }

  /// \brief g A g^H, of A's lower triangle.
  KOKKOS_FUNCTION double energy(std::int32_t const* column, Factor const* value,
                                std::int32_t count) const {
    double sum = 0;
    for (std::int32_t e = 0; e < count; ++e)
      for (Offset k = offsets[column[e]]; k < offsets[column[e] + 1]; ++k) {
        std::int32_t const place = find(column, e + 1, columns_of_A[k]);
        if (place < 0) continue;
        Number const g_A = Number(value[e]) * Number(values_of_A[k]);
        sum += (place == e ? 1 : 2) * real_part(g_A * conjugate(Number(value[place])));
      }
    return sum;
  }

  /// \brief Where one of `count` columns is; -1: nowhere.
  KOKKOS_FUNCTION static std::int32_t find(std::int32_t const* column, std::int32_t count,
                                           std::int32_t wanted) {
    std::int32_t const place = place_of(column, std::int32_t(0), count, wanted);
    return place < count && column[place] == wanted ? place : -1;
  }

  KOKKOS_FUNCTION RealOf<Scalar> diagonal(std::int32_t row) const {
    for (Offset k = offsets[row]; k < offsets[row + 1]; ++k)
      if (columns_of_A[k] == row) return real_of(values_of_A[k]);
    return 0;
  }
};

/// \brief Cuts `count` rows of G down to `most` entries each, see RowLimit; 0: no limit. Waits for
/// them.
template <class Scalar, class Exec, class Factor, class Offset, class Where>
Repairs limit_rows(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, std::int32_t most,
                   std::int32_t count, Where const& where, std::int32_t* columns, Factor* values,
                   std::int32_t* kept) {
  Repairs repairs;
  if (most == 0 || count == 0) return repairs;
  RowLimit<Scalar, Factor, Offset, Where> const limit{A.row_offsets().data(),
                                                      A.column_indices().data(),
                                                      A.values().data(),
                                                      most,
                                                      where,
                                                      columns,
                                                      values,
                                                      kept};
  Kokkos::parallel_reduce("Solder::fsai::limit_rows", Kokkos::RangePolicy<Exec>(exec, 0, count),
                          limit, Kokkos::Sum<std::int64_t>(repairs.count),
                          Kokkos::Min<std::int32_t>(repairs.first));
  exec.fence("Solder::fsai: the rows are cut");
  return repairs;
}

}  // namespace Solder::Impl::fsai
