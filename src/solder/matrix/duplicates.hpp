// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/transpose.hpp>

namespace Solder {

namespace Impl {

/// \brief Where a matrix has duplicates, that is, entries of the same row and column.
enum class Duplicates : std::int32_t {
  none,
  neighbours,  ///< only next to each other, in rows whose columns never descend
  anywhere     ///< possibly anywhere
};

/// \brief Finds where the duplicates of a row are.
template <class Offset>
struct FindDuplicates {
  /// The longest unsorted row whose entries are all compared with each other. Longer ones are
  /// assumed to have duplicates anywhere.
  static constexpr std::int32_t most_compared = 512;

  Offset const* offsets;
  std::int32_t const* columns;

  KOKKOS_FUNCTION void operator()(std::int32_t row, std::int32_t& most) const {
    Duplicates const here = find(offsets[row], offsets[row + 1]);
    if (static_cast<std::int32_t>(here) > most) most = static_cast<std::int32_t>(here);
  }

 private:
  KOKKOS_FUNCTION Duplicates find(Offset begin, Offset end) const {
    bool ascends = true, equal = false;
    for (Offset k = begin; k + 1 < end; ++k) {
      if (columns[k] > columns[k + 1]) ascends = false;
      if (columns[k] == columns[k + 1]) equal = true;
    }
    if (ascends) return equal ? Duplicates::neighbours : Duplicates::none;
    if (equal || end - begin > Offset(most_compared)) return Duplicates::anywhere;
    for (Offset k = begin; k < end; ++k)
      for (Offset other = begin; other < k; ++other)
        if (columns[other] == columns[k]) return Duplicates::anywhere;
    return Duplicates::none;
  }
};

template <class Exec, class Scalar, class Offset>
Duplicates find_duplicates(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  std::int32_t most = 0;
  Kokkos::parallel_reduce("Solder::csr::find_duplicates",
                          Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
                          FindDuplicates<Offset>{A.row_offsets().data(), A.column_indices().data()},
                          Kokkos::Max<std::int32_t>(most));
  return static_cast<Duplicates>(std::max(most, 0));
}

/// \brief The matrix in which each entry with the same column as its predecessor in the row has
/// been added to that predecessor. Two kernels, with one thread per row.
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec, Offset> sum_neighbours(
    Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  Offset const* const offsets = A.row_offsets().data();
  std::int32_t const* const columns = A.column_indices().data();
  Scalar const* const values = A.values().data();
  auto const new_offsets =
      allocate_zeros<Offset>(exec, "Solder::csr::row_offsets", A.rows() + std::int64_t(1));
  Offset* const to = new_offsets.data();
  std::int64_t nonzeros = 0;
  Kokkos::parallel_scan(
      "Solder::csr::count_distinct", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(int i, std::int64_t& at, bool last) {
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
          at += k == offsets[i] || columns[k] != columns[k - 1];
        if (last) to[i + 1] = static_cast<Offset>(at);
      },
      nonzeros);
  auto const new_columns = allocate<std::int32_t>(exec, "Solder::csr::columns", nonzeros);
  auto const new_values = allocate<Scalar>(exec, "Solder::csr::values", nonzeros);
  std::int32_t* const to_columns = new_columns.data();
  Scalar* const to_values = new_values.data();
  Kokkos::parallel_for(
      "Solder::csr::sum_duplicates", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(int i) {
        Offset at = to[i], k = offsets[i];
        while (k < offsets[i + 1]) {
          std::int32_t const column = columns[k];
          Scalar sum = values[k];
          for (++k; k < offsets[i + 1] && columns[k] == column; ++k) sum += values[k];
          to_columns[at] = column;
          to_values[at] = sum;
          ++at;
        }
      });
  exec.fence("Solder::csr: duplicates are summed");
  return {exec, A.rows(), A.columns(), new_offsets, new_columns, new_values};
}

}  // namespace Impl

/// \brief A with its duplicates summed, in their order. If there are none, this is A itself,
/// sharing its arrays.
///
/// One kernel looks for duplicates. It reads the columns once, and compares all entries of an
/// unsorted row with each other if there are at most 512. If there are duplicates, A is copied. If
/// a row with duplicates is unsorted, or an unsorted row has more than 512 entries, the copy is the
/// transpose of the transpose, and all its rows are sorted. Waits for the device.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
CsrMatrix<Scalar, Exec, Offset> sum_duplicates(Exec const& exec,
                                               CsrMatrix<Scalar, Exec, Offset> const& A) {
  Impl::Duplicates const where = Impl::find_duplicates(exec, A);
  if (where == Impl::Duplicates::none) return A;
  if (where == Impl::Duplicates::neighbours) return Impl::sum_neighbours(exec, A);
  return Impl::sum_neighbours(exec, conjugate_transpose(exec, conjugate_transpose(exec, A)));
}

}  // namespace Solder
