// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder::Impl {

/// \brief How many entries of a column all workers have counted.
template <class Offset>
struct CountsOfWorkers {
  Offset const* counts;  ///< [workers][columns]
  std::int32_t workers, columns;

  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t j) const {
    Offset sum = 0;
    for (std::int32_t w = 0; w < workers; ++w) sum += counts[w * std::int64_t(columns) + j];
    return static_cast<std::int32_t>(sum);
  }
};

/// \brief A^H on a host. Workers take ranges of rows: each counts its entries in each column, and
/// so knows where they go in the order of rows. Nothing is sorted.
/// \param of_entries [nonzeros], to be filled in: which entry of A each is. Null: not wanted
template <class Exec, class Scalar, class Offset>
CsrMatrix<Scalar, Exec, Offset> transpose_on_hosts(Exec const& exec,
                                                   CsrMatrix<Scalar, Exec, Offset> const& A,
                                                   Offset* of_entries) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>;
  std::int32_t const rows = A.rows(), n = A.columns();
  std::int64_t const nonzeros = A.nonzeros();
  // More workers would only have more counts to add than entries.
  auto const workers = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(2 * nonzeros / std::max(n, 1), 1, exec.concurrency()));
  auto const places_view =
      allocate_temporary<Offset>(exec, "Solder::transpose::places", std::int64_t(workers) * n);
  Offset const* const offsets = A.row_offsets().data();
  std::int32_t const* const columns = A.column_indices().data();
  Scalar const* const values = A.values().data();
  Offset* const places = places_view.data();
  auto const first_row = [=](std::int32_t worker) {
    return first_row_of_worker(worker, workers, rows, offsets);
  };
  Kokkos::parallel_for("Solder::transpose::count", Policy(exec, 0, workers),
                       [=](std::int32_t worker) {
                         Offset* const mine = places + std::int64_t(worker) * n;
                         std::fill(mine, mine + n, Offset(0));
                         Offset const end = offsets[first_row(worker + 1)];
                         for (Offset k = offsets[first_row(worker)]; k < end; ++k)
                           ++mine[columns[k]];
                       });
  auto const starts_view =
      allocate<Offset>(exec, "Solder::transpose::row_offsets", n + std::int64_t(1));
  Offset* const starts = starts_view.data();
  std::int32_t const longest =
      offsets_of_lengths(exec, starts, n, CountsOfWorkers<Offset>{places, workers, n}).longest;
  Kokkos::parallel_for("Solder::transpose::places", Policy(exec, 0, n), [=](std::int32_t j) {
    Offset at = starts[j];
    for (std::int32_t w = 0; w < workers; ++w) {
      Offset& place = places[w * std::int64_t(n) + j];
      Offset const count = place;
      place = at;
      at += count;
    }
  });
  auto const columns_view = allocate<std::int32_t>(exec, "Solder::transpose::columns", nonzeros);
  auto const values_view = allocate<Scalar>(exec, "Solder::transpose::values", nonzeros);
  std::int32_t* const new_columns = columns_view.data();
  Scalar* const new_values = values_view.data();
  Kokkos::parallel_for("Solder::transpose::scatter", Policy(exec, 0, workers),
                       [=](std::int32_t worker) {
                         Offset* const mine = places + std::int64_t(worker) * n;
                         std::int32_t const end = first_row(worker + 1);
                         for (std::int32_t i = first_row(worker); i < end; ++i)
                           for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
                             Offset const to = mine[columns[k]]++;
                             new_columns[to] = i;
                             new_values[to] = conjugated(values[k]);
                             if (of_entries != nullptr) of_entries[to] = k;
                           }
                       });
  exec.fence("Solder::transpose: made");
  return {exec, n, rows, starts_view, columns_view, values_view, {longest}};
}

}  // namespace Solder::Impl
