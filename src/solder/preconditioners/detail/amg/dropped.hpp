// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief The entries of a matrix that count: those at least as large as `share` times the largest
/// of their row, and not zero; and each row's own one.
template <class Scalar>
struct LargeEntries {
  CsrOperator<Scalar, std::int32_t> A;
  double const* largest;      ///< per row: the root of the largest |a_ij|, by weight
  std::int32_t const* owner;  ///< per column: the row whose own it is; null: no row has one
  double const* weight;       ///< per column: the factor with which its entries count; null: 1
  double share;
  double rounding = tie<Scalar>;  ///< relative tolerance, so that rounding does not break ties

  KOKKOS_FORCEINLINE_FUNCTION bool is_own(std::int32_t i, std::int32_t k) const {
    return owner != nullptr && owner[A.columns[k]] == i;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_strong(std::int32_t i, std::int32_t k) const {
    double const size = weighted(weight, A.columns[k], A.values[k]);
    return is_own(i, k) ||
           !(size == 0 || (1 + rounding) * size < share * (largest[i] * largest[i]));
  }
};

/// \brief A without entries smaller than `share` times the largest of their row. Entries that are
/// not finite stay.
/// \param owner per column: the row whose entry in this column must stay; null: there is none
/// \param is_lumped whether that entry absorbs what is dropped, so that the row keeps its sum;
/// without owners, all entries that stay share it equally
/// \param weight per column: the factor with which its entries count; null: 1
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> dropped(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix, double share,
    std::int32_t const* owner = nullptr, bool is_lumped = false, double const* weight = nullptr) {
  std::int32_t const n = matrix.rows(), bits = row_lane_bits<Exec>(n, matrix.nonzeros());
  auto const largest = largest_couplings(exec, matrix, true, weight);
  LargeEntries<Scalar> const large{matrix.device_operator(), largest.data(), owner, weight, share};
  auto const graph = strong_graph(exec, large, matrix.nonzeros(), bits, {.strong = false});
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", graph.size);
  std::int32_t const* const offsets = graph.offsets.data();
  Scalar* const to = values.data();
  for_each_row_group(
      exec, "Solder::amg::dropped", n, bits,
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        double lost = 0, lost_too = 0;
        std::int32_t own = -1;
        for_each_coupling(group, large, i, [&](std::int32_t k, std::int32_t place) {
          Scalar const value = large.A.values[k];
          if (place >= 0) {
            to[offsets[i] + place] = value;
            if (is_lumped && large.is_own(i, k)) own = offsets[i] + place;
          } else {
            lost += real_part(value);
            lost_too += imaginary_part(value);
          }
        });
        if (!is_lumped) return;
        lost = group.sum(lost);
        lost_too = group.sum(lost_too);
        if (own >= 0) to[own] += of_parts<Scalar>(lost, lost_too);
        if (owner != nullptr) return;
        std::int32_t const end = offsets[i + 1], count = end - offsets[i];
        group.barrier();
        for (std::int32_t q = offsets[i] + group.rank(); q < end; q += group.size())
          to[q] += of_parts<Scalar>(lost / count, lost_too / count);
      });
  exec.fence("Solder::amg: small entries are dropped");
  return {exec, n, matrix.columns(), graph.offsets, graph.columns, values, {matrix.longest_row()}};
}

}  // namespace Solder::Impl::amg
