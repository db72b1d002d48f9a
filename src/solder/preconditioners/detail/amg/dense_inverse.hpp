// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief The base-2 logarithm of the number of lanes that share a row of a dense matrix.
template <class Exec>
inline constexpr std::int32_t dense_lane_bits = is_host_space<Exec> ? 0 : 6;

/// \brief What Gauss-Jordan elimination leaves of an entry that is in the pivot's row, in its
/// column, in both or in neither. \param inverse of the pivot, or 0 \param share inverse times the
/// entry of this row in the pivot's column \param of_row the entry of this column in the pivot's
/// row
template <class Number, class Factor>
KOKKOS_FORCEINLINE_FUNCTION Number eliminated(Number const& entry, bool in_row, bool in_column,
                                              Factor const& inverse, Number const& share,
                                              Number const& of_row) {
  if (in_row) return in_column ? Number(inverse) : inverse * entry;
  return in_column ? -share : entry - share * of_row;
}

/// \brief Eliminates with pivot k of n rows, from one array to another. The leading block of rows
/// and columns up to k is then replaced by its inverse. A row whose pivot does not exceed its limit
/// depends on the rows before it; its row and column become zero.
///
/// \tparam any_row whether the pivot is the largest entry of column k in the rows that have had
/// none, for a matrix that is not Hermitian. If it is in row p, this row then stands for unknown k,
/// and column k for equation p.
template <class Number, class Exec, bool any_row>
struct DensePivot {
  /// Of what a row is multiplied by.
  using Factor = std::conditional_t<any_row, Number, double>;

  Number const* from;
  Number* to;
  double const* limits;
  double* pivots;
  std::int32_t n, k;
  std::int32_t* taken =
      nullptr;  ///< of any row: [2 n] the column of each row's pivot, the row of each column's

  KOKKOS_FUNCTION void operator()(std::int64_t id) const {
    constexpr std::int32_t lanes = 1 << dense_lane_bits<Exec>;
    auto const i = static_cast<std::int32_t>(id >> dense_lane_bits<Exec>),
               lane = static_cast<std::int32_t>(id & (lanes - 1));
    std::int32_t p = k;
    if constexpr (any_row) p = largest_left();
    Number const *const row = from + std::size_t(i) * n, *const of_k = from + std::size_t(p) * n;
    Number* const out = to + std::size_t(i) * n;
    Factor pivot;
    double size;
    if constexpr (any_row) {
      pivot = of_k[k];
      size = magnitude(pivot);
    } else {
      size = pivot = real_part(of_k[k]);
    }
    Factor const inverse = size > limits[k] ? 1 / pivot : Factor(0);
    if (i == p && lane == 0) {
      pivots[k] = size;
      if constexpr (any_row) {
        Kokkos::atomic_store(&taken[p], k);  // others may be looking
        taken[n + k] = p;
      }
    }
    Number const share = inverse * row[k];
    for (std::int32_t j = lane; j < n; j += lanes)
      out[j] = eliminated(row[j], i == p, j == k, inverse, share, of_k[j]);
  }

 private:
  /// \brief The row with the largest entry of column k among those without a pivot: row k, if it
  /// is one of them and none is larger. (A row that takes this pivot now counts as without.)
  KOKKOS_FUNCTION std::int32_t largest_left() const {
    std::int32_t best = -1;
    double largest = -1;
    for (std::int32_t t = -1; t < n; ++t) {
      std::int32_t const i = t < 0 ? k : t;
      if (Kokkos::atomic_load(&taken[i]) < k) continue;
      double const size = magnitude(from[std::size_t(i) * n + k]);
      if (size > largest) {
        largest = size;
        best = i;
      }
    }
    return best < 0 ? k : best;
  }
};

/// \brief Eliminates with all pivots in one team, for a matrix too small for one kernel per pivot.
template <class Number, class Exec, bool any_row>
struct DensePivots {
  DensePivot<Number, Exec, any_row> first;
  Number* other;  ///< first.from, writable

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    DensePivot<Number, Exec, any_row> pivot = first;
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

/// \brief Gauss-Jordan elimination of a Hermitian matrix of at most most_rows rows on a GPU, in
/// place, by one team of `warp` warps. Each thread holds side x side entries in its registers,
/// `warp` rows and columns apart. The row and the column of a pivot pass through scratch, double
/// buffered, with a barrier a pivot.
template <class Number>
struct DensePivotsInRegisters {
  static constexpr std::int32_t side = ScalarTraits<Number>::is_complex ? 3 : 4,
                                most_rows = side * warp;
  KOKKOS_FUNCTION static constexpr int bytes() { return 4 * most_rows * sizeof(Number); }

  Number* matrix;
  double const* limits;
  double* pivots;
  std::int32_t n;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int32_t const first_row = member.team_rank(), first_column = lane_number();
    auto* const scratch =
        static_cast<Number*>(member.team_scratch(0).get_shmem_aligned(bytes(), alignof(Number)));
    Number mine[side][side];
    auto const for_each_of_mine = [&](auto const& f) {
      SOLDER_UNROLLED
      for (std::int32_t a = 0; a < side; ++a) {
        SOLDER_UNROLLED
        for (std::int32_t b = 0; b < side; ++b) {
          std::int32_t const i = first_row + a * warp, j = first_column + b * warp;
          if (i < n && j < n) f(mine[a][b], i, j);
        }
      }
    };
    for_each_of_mine(
        [&](Number& entry, std::int32_t i, std::int32_t j) { entry = matrix[i * n + j]; });
    for (std::int32_t k = 0; k < n; ++k) {
      Number *const row = scratch + k % 2 * 2 * most_rows, *const column = row + most_rows;
      for_each_of_mine([&](Number const& entry, std::int32_t i, std::int32_t j) {
        if (i == k) row[j] = entry;
        if (j == k) column[i] = entry;
      });
      member.team_barrier();
      double const pivot = real_part(row[k]), inverse = pivot > limits[k] ? 1 / pivot : 0;
      if (first_row == 0 && first_column == 0) pivots[k] = pivot;
      for_each_of_mine([&](Number& entry, std::int32_t i, std::int32_t j) {
        Number const share = inverse * column[i];
        entry = eliminated(entry, i == k, j == k, inverse, share, row[j]);
      });
    }
    for_each_of_mine(
        [&](Number const& entry, std::int32_t i, std::int32_t j) { matrix[i * n + j] = entry; });
  }
};

/// \brief Gauss-Jordan elimination in double of a matrix of n rows, stored row by row: n kernels of
/// n^2 operations, or one kernel of a single team if n is small.
template <class Number, class Exec, bool any_row>
struct Eliminated {
  DeviceArray<Number, Exec> other = no_view<DeviceArray<Number, Exec>>();
  DeviceArray<double, Exec> limits, pivots;
  DeviceArray<std::int32_t, Exec> taken = no_view<DeviceArray<std::int32_t, Exec>>();
  Number *from, *to;  ///< the result and the other array, if there is one

  /// \param limits_ what a pivot in each column must exceed
  Eliminated(Exec const& exec, std::int32_t n, Number* matrix,
             DeviceArray<double, Exec> const& limits_)
      : limits(limits_),
        pivots(allocate<double>(exec, "Solder::amg::pivots", n)),
        from(matrix),
        to(nullptr) {
    if constexpr (!any_row && !is_host_space<Exec>) {
      using InRegisters = DensePivotsInRegisters<Number>;
      if (n <= InRegisters::most_rows) {
        Kokkos::parallel_for("Solder::amg::pivots_in_registers",
                             row_policy<Exec, warp>(exec, 1, InRegisters::bytes() + 16),
                             InRegisters{from, limits.data(), pivots.data(), n});
        return;
      }
    }
    other = allocate<Number>(exec, "Solder::amg::dense", std::int64_t(n) * n);
    to = other.data();
    if (any_row) {
      taken = allocate<std::int32_t>(exec, "Solder::amg::taken", 2 * std::int64_t(n));
      Kokkos::deep_copy(exec, taken, n);
    }
    DensePivot<Number, Exec, any_row> step{from, to, limits.data(), pivots.data(),
                                           n,    0,  taken.data()};
    if (n <= 256) {
      Kokkos::parallel_for("Solder::amg::pivots", row_policy<Exec, team_threads / warp>(exec, 1, 0),
                           DensePivots<Number, Exec, any_row>{step, from});
      if (n % 2 != 0) std::swap(from, to);
    } else {
      for (std::int32_t k = 0; k < n; ++k) {
        step.k = k;
        step.from = from;
        step.to = to;
        Kokkos::parallel_for("Solder::amg::pivot", rows(exec, n), step);
        std::swap(from, to);
      }
    }
  }

  /// \brief A dense matrix's rows, with lanes for each.
  static auto rows(Exec const& exec, std::int32_t n) {
    return Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
        exec, 0, std::int64_t(n) << dense_lane_bits<Exec>);
  }
};

/// \brief The share of a diagonal entry that is only rounding, that from finer levels included.
inline double rounding_share(double epsilon) { return std::pow(epsilon, 2.0 / 3); }

/// \brief Inverts a Hermitian matrix of n rows, stored row by row, in place. A row whose pivot is
/// only the rounding of its diagonal entry depends on the rows before it (the constant of a pure
/// Neumann problem). Its row and column of the inverse are zero, so that the consistent part of a
/// system is solved. \return the first row with a negative pivot, which shows that the matrix is
/// not positive; -1 if there is none
template <class Number, class Exec>
SOLDER_MAKES_LAMBDAS std::int32_t invert_hermitian(Exec const& exec, std::int32_t n,
                                                   DeviceArray<Number, Exec> const& matrix,
                                                   double epsilon) {
  constexpr std::int32_t bits = dense_lane_bits<Exec>;
  double const share = rounding_share(epsilon);
  Number* const inverse = matrix.data();
  auto const limits = allocate<double>(exec, "Solder::amg::limits", n);
  double* const limit = limits.data();
  Kokkos::parallel_for(
      "Solder::amg::limits", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        limit[i] = share * Kokkos::abs(real_part(inverse[std::size_t(i) * n + i]));
      });
  Eliminated<Number, Exec, false> const eliminated(exec, n, inverse, limits);
  // Elimination computes both triangles, each with its own rounding: only one is used.
  Number const* const from = eliminated.from;
  Kokkos::parallel_for(
      "Solder::amg::mirror", eliminated.rows(exec, n), KOKKOS_LAMBDA(std::int64_t id) {
        auto const i = static_cast<std::int32_t>(id >> bits);
        for (auto j = static_cast<std::int32_t>(id & ((1 << bits) - 1)); j <= i; j += 1 << bits) {
          Number const value = from[std::size_t(i) * n + j];
          inverse[std::size_t(i) * n + j] = i == j ? Number(real_part(value)) : value;
          if (j < i) inverse[std::size_t(j) * n + i] = conjugate(value);
        }
      });
  double const* const pivot = eliminated.pivots.data();
  std::int32_t negative = n;
  Kokkos::parallel_reduce(
      "Solder::amg::negative", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t k, std::int32_t & first) {
        if (pivot[k] < -limit[k] && k < first) first = k;
      },
      Kokkos::Min<std::int32_t>(negative));
  return negative < n ? negative : -1;
}

/// \brief Inverts any matrix of n rows, stored row by row, in place, with the largest entry of each
/// column as its pivot. Where that is only the rounding of the column's entries, the column depends
/// on those before it: its unknown becomes zero, and an equation is left out.
template <class Number, class Exec>
SOLDER_MAKES_LAMBDAS void invert_any(Exec const& exec, std::int32_t n,
                                     DeviceArray<Number, Exec> const& matrix, double epsilon) {
  constexpr std::int32_t bits = dense_lane_bits<Exec>;
  double const share = rounding_share(epsilon);
  Number* const inverse = matrix.data();
  auto const limits = allocate<double>(exec, "Solder::amg::limits", n);
  double* const limit = limits.data();
  Kokkos::parallel_for(
      "Solder::amg::limits", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t j) {
        double largest = 0;
        for (std::int32_t i = 0; i < n; ++i)
          largest = Kokkos::max(largest, magnitude(inverse[std::size_t(i) * n + j]));
        limit[j] = share * largest;
      });
  Eliminated<Number, Exec, true> const eliminated(exec, n, inverse, limits);
  Number const* const from = eliminated.from;
  Number* const to = eliminated.to;
  std::int32_t const* const taken = eliminated.taken.data();
  Kokkos::parallel_for(
      "Solder::amg::unscramble", eliminated.rows(exec, n), KOKKOS_LAMBDA(std::int64_t id) {
        auto const i = static_cast<std::int32_t>(id >> bits);
        std::int32_t const row = taken[n + i];
        for (auto j = static_cast<std::int32_t>(id & ((1 << bits) - 1)); j < n; j += 1 << bits)
          to[std::size_t(i) * n + j] = from[std::size_t(row) * n + taken[j]];
      });
  if (to != inverse) Impl::copy(exec, matrix, eliminated.other);
  exec.fence("Solder::amg: any matrix is inverted");
}

/// \brief The inverse of a small matrix, with all its entries stored; see invert_hermitian and
/// invert_any. Empty if a Hermitian matrix has a negative pivot.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS std::optional<CsrMatrix<Scalar, Exec>> dense_inverse(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double epsilon, bool is_hermitian = true) {
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
  if (!is_hermitian)
    invert_any(exec, n, dense, epsilon);
  else if (invert_hermitian(exec, n, dense, epsilon) >= 0)
    return {};
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
