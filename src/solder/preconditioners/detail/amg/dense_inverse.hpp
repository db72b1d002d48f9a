// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder::Impl::amg {

/// \brief The base-2 logarithm of the number of lanes that share a row of a dense matrix.
template <class Exec>
inline constexpr std::int32_t dense_lane_bits = is_host_space<Exec> ? 0 : 6;

/// \brief Eliminates with pivot k of n rows, from one array to another. The leading block of rows
/// and columns up to k is then replaced by its inverse. A row whose pivot does not exceed its limit
/// depends on the rows before it; its row and column become zero.
template <class Number, class Exec>
struct DensePivot {
  Number const* from;
  Number* to;
  double const* limits;
  double* pivots;
  std::int32_t n, k;

  KOKKOS_FUNCTION void operator()(std::int64_t id) const {
    constexpr std::int32_t lanes = 1 << dense_lane_bits<Exec>;
    auto const i = static_cast<std::int32_t>(id >> dense_lane_bits<Exec>),
               lane = static_cast<std::int32_t>(id & (lanes - 1));
    Number const *const row = from + std::size_t(i) * n, *const of_k = from + std::size_t(k) * n;
    Number* const out = to + std::size_t(i) * n;
    double const pivot = real_part(of_k[k]);
    bool const counts = pivot > limits[k];
    double const inverse = counts ? 1 / pivot : 0;
    if (i == k) {
      if (lane == 0) pivots[k] = pivot;
      for (std::int32_t j = lane; j < n; j += lanes)
        out[j] = j == k ? Number(inverse) : inverse * row[j];
    } else {
      Number const share = inverse * row[k];
      for (std::int32_t j = lane; j < n; j += lanes)
        out[j] = j == k ? -share : row[j] - share * of_k[j];
    }
  }
};

/// \brief Eliminates with all pivots in one team, for a matrix too small for one kernel per pivot.
template <class Number, class Exec>
struct DensePivots {
  DensePivot<Number, Exec> first;
  Number* other;  ///< first.from, writable

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    DensePivot<Number, Exec> pivot = first;
    std::int32_t const lanes = WarpLanes<Exec>::size(), size = member.team_size() * lanes;
    for (std::int32_t k = 0; k < pivot.n; ++k) {
      pivot.k = k;
      pivot.from = k % 2 == 0 ? first.from : first.to;
      pivot.to = k % 2 == 0 ? first.to : other;
      for (std::int32_t id = member.team_rank() * lanes + lane_number();
           id < pivot.n << dense_lane_bits<Exec>; id += size)
        pivot(id);
      member.team_barrier();
    }
  }
};

/// \brief Inverts a Hermitian matrix of n rows, stored row by row, in place, by Gauss-Jordan
/// elimination in double. A row whose pivot is only the rounding of its diagonal entry depends on
/// the rows before it (the constant of a pure Neumann problem). Its row and column of the inverse
/// are zero, so that the consistent part of a system is solved. n kernels of n^2 operations, or one
/// kernel of a single team if n is small. \return the first row with a negative pivot, which shows
/// that the matrix is not positive; -1 if there is none
template <class Number, class Exec>
SOLDER_MAKES_LAMBDAS std::int32_t invert_hermitian(Exec const& exec, std::int32_t n,
                                                   DeviceArray<Number, Exec> const& matrix,
                                                   double epsilon) {
  constexpr std::int32_t bits = dense_lane_bits<Exec>;
  auto const other = allocate<Number>(exec, "Solder::amg::dense", std::int64_t(n) * n);
  auto const limits = allocate<double>(exec, "Solder::amg::limits", n),
             pivots = allocate<double>(exec, "Solder::amg::pivots", n);
  Number *from = matrix.data(), *to = other.data();
  double* const limit = limits.data();
  double const share =
      std::pow(epsilon, 2.0 / 3);  // of each diagonal entry, including rounding from finer levels
  Kokkos::parallel_for(
      "Solder::amg::limits", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        limit[i] = share * Kokkos::abs(real_part(from[std::size_t(i) * n + i]));
      });
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const rows(exec, 0,
                                                                        std::int64_t(n) << bits);
  DensePivot<Number, Exec> step{from, to, limit, pivots.data(), n, 0};
  if (n <= 256) {
    Kokkos::parallel_for("Solder::amg::pivots", row_policy<Exec, team_threads / warp>(exec, 1, 0),
                         DensePivots<Number, Exec>{step, from});
    if (n % 2 != 0) std::swap(from, to);
  } else {
    for (std::int32_t k = 0; k < n; ++k) {
      step.k = k;
      step.from = from;
      step.to = to;
      Kokkos::parallel_for("Solder::amg::pivot", rows, step);
      std::swap(from, to);
    }
  }
  // Elimination computes both triangles, each with its own rounding: only one is used.
  Number* const inverse = matrix.data();
  Kokkos::parallel_for(
      "Solder::amg::mirror", rows, KOKKOS_LAMBDA(std::int64_t id) {
        auto const i = static_cast<std::int32_t>(id >> bits);
        for (auto j = static_cast<std::int32_t>(id & ((1 << bits) - 1)); j <= i; j += 1 << bits) {
          Number const value = from[std::size_t(i) * n + j];
          inverse[std::size_t(i) * n + j] = i == j ? Number(real_part(value)) : value;
          if (j < i) inverse[std::size_t(j) * n + i] = conjugate(value);
        }
      });
  double const* const pivot = pivots.data();
  std::int32_t negative = n;
  Kokkos::parallel_reduce(
      "Solder::amg::negative", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t k, std::int32_t & first) {
        if (pivot[k] < -limit[k] && k < first) first = k;
      },
      Kokkos::Min<std::int32_t>(negative));
  return negative < n ? negative : -1;
}

/// \brief The inverse of a small Hermitian matrix, with all its entries stored; see
/// invert_hermitian. Empty if the matrix has a negative pivot.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS std::optional<CsrMatrix<Scalar, Exec>> dense_inverse(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double epsilon) {
  using Number = Wide<Scalar>;
  std::int32_t const n = A.rows(), entries = n * n;
  auto const dense = allocate_zeros<Number>(exec, "Solder::amg::dense", entries);
  auto const a = A.device_operator();
  Number* const from = dense.data();
  Kokkos::parallel_for(
      "Solder::amg::dense", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        for (std::int32_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
          from[i * n + a.columns[k]] += Number(a.values[k]);
      });
  if (invert_hermitian(exec, n, dense, epsilon) >= 0) return {};
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", entries);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", entries);
  std::int32_t *const to_offsets = offsets.data(), *const to_columns = columns.data();
  Scalar* const to_values = values.data();
  Kokkos::parallel_for(
      "Solder::amg::inverse", Kokkos::RangePolicy<Exec>(exec, 0, entries + 1),
      KOKKOS_LAMBDA(std::int32_t k) {
        if (k % n == 0) to_offsets[k / n] = k;
        if (k == entries) return;
        to_columns[k] = k % n;
        to_values[k] = narrow<Scalar>(from[k]);
      });
  exec.fence("Solder::amg: the coarsest level is inverted");
  return CsrMatrix<Scalar, Exec>(exec, n, n, offsets, columns, values, {n});
}

}  // namespace Solder::Impl::amg
