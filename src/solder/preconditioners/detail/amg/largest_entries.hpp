// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief An interpolation of few entries a row: those with the largest sizes, multiplied so that
/// the sizes of a row sum to what they summed to before. Of entries that are equal up to rounding
/// the first ones stay. Coarse rows take their own value. Columns ascend.
///
/// \tparam most entries of a row
/// \tparam From has an operator A, whose entries these are, and for entry k of row i: size(i, k),
/// by which entries are compared; may_stay(k); column(k), of the interpolation; value(i, k)
/// \param number of each row among the coarse ones; -1: it is fine \param coarse the number of
/// coarse rows
template <int most, class Scalar, class Exec, class From>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> largest_entries(Exec const& exec, From const& from,
                                                             std::int32_t const* number,
                                                             std::int32_t coarse) {
  std::int32_t const n = from.A.rows.count;
  auto const picked_view =
      allocate_temporary<std::int32_t>(exec, "Solder::amg::picked", std::int64_t(most) * n);
  auto const scales_view = allocate_temporary<double>(exec, "Solder::amg::scales", n);
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  std::int32_t *const picked = picked_view.data(), *const to = offsets.data();
  double* const scales = scales_view.data();
  double const larger = 1 + tie<Scalar>;  // than an entry that is as large up to rounding
  Kokkos::parallel_for(
      "Solder::amg::pick", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        double sizes[most] = {}, all = 0, kept = 0;
        std::int32_t entries[most], count = 0;
        std::int32_t const end = from.A.row_offsets[i + 1];
        for (std::int32_t k = from.A.row_offsets[i]; k < end && number[i] < 0; ++k) {
          double const size = from.size(i, k);
          all += size;
          if (!(size > 0) || !from.may_stay(k)) continue;
          std::int32_t place = count;
          while (place > 0 && size > larger * sizes[place - 1]) --place;
          if (place == most) continue;
          count = count < most ? count + 1 : most;
          for (std::int32_t p = count - 1; p > place; --p) {
            sizes[p] = sizes[p - 1];
            entries[p] = entries[p - 1];
          }
          sizes[place] = size;
          entries[place] = k;
        }
        // In the order of their columns.
        for (std::int32_t p = 1; p < count; ++p)
          for (std::int32_t q = p;
               q > 0 && from.A.columns[entries[q]] < from.A.columns[entries[q - 1]]; --q) {
            std::int32_t const entry = entries[q];
            entries[q] = entries[q - 1];
            entries[q - 1] = entry;
          }
        for (std::int32_t p = 0; p < count; ++p) {
          kept += sizes[p];
          picked[std::int64_t(most) * i + p] = entries[p];
        }
        scales[i] = kept > 0 ? all / kept : 0;
        to[i] = number[i] >= 0 ? 1 : count;
      });
  auto const totals = offsets_of_lengths(exec, to, n, LengthsInArray<std::int32_t>{to});
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", totals.nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", totals.nonzeros);
  std::int32_t* const to_columns = columns.data();
  Scalar* const to_values = values.data();
  Kokkos::parallel_for(
      "Solder::amg::interpolate", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (number[i] >= 0) {
          to_columns[to[i]] = number[i];
          to_values[to[i]] = Scalar(1);
          return;
        }
        for (std::int32_t p = to[i]; p < to[i + 1]; ++p) {
          std::int32_t const k = picked[std::int64_t(most) * i + p - to[i]];
          to_columns[p] = from.column(k);
          to_values[p] = to_real<Scalar>(scales[i]) * from.value(i, k);
        }
      });
  exec.fence("Solder::amg: the interpolation is ready");
  return {exec, n, coarse, offsets, columns, values, {totals.longest}};
}

}  // namespace Solder::Impl::amg
