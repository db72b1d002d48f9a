// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/matrix/product.hpp>
#include <solder/preconditioners/detail/amg/dropped.hpp>
#include <solder/preconditioners/detail/amg/largest_entries.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>
#include <solder/preconditioners/detail/amg/splitting.hpp>

/// \file
/// \brief Grid transfers for nonsymmetric matrices. With fine rows f and coarse rows c, the ideal
/// restriction [-A_cf A_ff^-1, I] makes the coarse correction exact in the coarse rows, whatever
/// the interpolation is, and sweeps for the fine rows do the rest (Manteuffel, Ruge and Southworth
/// 2018). Here A_ff^-1 is replaced by the first two terms of its Neumann series (Manteuffel,
/// Muenzenmaier, Ruge and Southworth 2019).

namespace Solder::Impl::amg {

/// \brief How AIR splits the rows of a level, and what share of a row's largest entry an entry must
/// have to stay.
struct AirShares {
  double split_first = 0.5, split_next = 0.6;  ///< of the finest and of coarser levels: see split
  double restriction = 0.01;
  double coarse = 1e-4;  ///< what is dropped goes to the diagonal
  double cycle = 4e-4;   ///< in the matrices that restrict and interpolate with sweeps
};

/// \brief A set-up gives up when all levels together have more entries than this for each of A's.
inline constexpr std::int64_t most_filled = 20;

/// \brief Where the eigenvalues of D_ff^-1 A_ff are thought to lie, by Gershgorin's theorem.
inline constexpr double least_of_air = 1 - AirShares().split_first,
                        air_bound = 1 + AirShares().split_first;

/// \brief The matrix [I, -A_cf D_ff^-1; 0, 2 I - A_ff D_ff^-1] in the order of A's rows, or its
/// coarse rows alone.
/// \param inverse 1 / a_ii
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> scaled_fine_columns(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix, Scalar const* inverse,
    Splitting<Exec> const& splitting, bool only_coarse) {
  auto const A = matrix.device_operator();
  std::int32_t const n = matrix.rows(), rows = only_coarse ? splitting.count : n;
  std::int32_t const* const number = splitting.number.data();
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", rows + std::int64_t(1));
  std::int32_t* const to = offsets.data();
  Kokkos::parallel_for(
      "Solder::amg::count_scaled", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i) {
        bool const is_coarse = number[i] >= 0, is_whole = is_coarse == only_coarse;
        if (only_coarse && !is_coarse) return;
        std::int32_t count = 1;
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1] && is_whole; ++k)
          count += A.columns[k] != i && number[A.columns[k]] < 0;
        to[only_coarse ? number[i] : i] = count;
      });
  auto const totals = offsets_of_lengths(exec, to, rows, LengthsInArray<std::int32_t>{to});
  check_entries<CsrMatrix<Scalar, Exec>>(totals.nonzeros);
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", totals.nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", totals.nonzeros);
  std::int32_t* const to_columns = columns.data();
  Scalar* const to_values = values.data();
  Kokkos::parallel_for(
      "Solder::amg::scaled", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        bool const is_coarse = number[i] >= 0, is_whole = is_coarse == only_coarse;
        if (only_coarse && !is_coarse) return;
        std::int32_t at = to[only_coarse ? number[i] : i];
        to_columns[at] = i;
        to_values[at++] = Scalar(1);
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1] && is_whole; ++k) {
          std::int32_t const j = A.columns[k];
          if (j == i || number[j] >= 0) continue;
          to_columns[at] = j;
          to_values[at++] = -(A.values[k] * inverse[j]);
        }
      });
  exec.fence("Solder::amg: the scaled columns are ready");
  return {exec, rows, n, offsets, columns, values, {totals.longest}};
}

/// \brief |a_ii| of each row. An entry r_cj of a restriction counts times |a_jj|: A's rows may be
/// scaled in any way. Temporary. \param inverse 1 / a_ii
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<double, Exec> diagonal_sizes(Exec const& exec,
                                                              Scalar const* inverse,
                                                              std::int32_t rows) {
  auto const view = allocate_temporary<double>(exec, "Solder::amg::diagonal_sizes", rows);
  double* const sizes = view.data();
  Kokkos::parallel_for(
      "Solder::amg::diagonal_sizes", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int32_t i) { sizes[i] = 1 / magnitude(inverse[i]); });
  return view;
}

/// \brief [-A_cf D_ff^-1 (2 I - A_ff D_ff^-1), I], without small entries.
/// \param inverse 1 / a_ii \param sizes |a_ii|
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> air_restriction(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                        Scalar const* inverse, double const* sizes,
                                        Splitting<Exec> const& splitting, double share,
                                        ProductMemory<Exec>& memory) {
  auto const all = Temporaries<Exec>::temporarily([&] {
    auto const first = scaled_fine_columns(exec, A, inverse, splitting, true),
               more = scaled_fine_columns(exec, A, inverse, splitting, false);
    return Impl::product(exec, first, more, memory);
  });
  return dropped(exec, all, share, splitting.number.data(), false, sizes);
}

/// \brief The entries of direct_interpolation(), as largest_entries takes them.
template <class Scalar>
struct DirectEntry {
  CsrOperator<Scalar, std::int32_t> A;
  Scalar const* inverse;
  std::int32_t const* number;

  KOKKOS_FUNCTION double size(std::int32_t i, std::int32_t k) const {
    return A.columns[k] == i ? 0 : magnitude(A.values[k]);
  }
  KOKKOS_FUNCTION bool may_stay(std::int32_t k) const { return number[A.columns[k]] >= 0; }
  KOKKOS_FUNCTION std::int32_t column(std::int32_t k) const { return number[A.columns[k]]; }
  KOKKOS_FUNCTION Scalar value(std::int32_t i, std::int32_t k) const {
    return -(A.values[k] * inverse[i]);
  }
};

/// \brief Interpolation: the identity in coarse rows, and in a fine row i the weights
/// -s a_ij / a_ii of the three coarse rows j with the largest |a_ij|. s makes the magnitudes of
/// the weights sum to sum_j |a_ij / a_ii| over all j != i: for an M-matrix with zero row sums the
/// constant is interpolated exactly. Columns ascend.
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> direct_interpolation(Exec const& exec,
                                             CsrMatrix<Scalar, Exec> const& matrix,
                                             Scalar const* inverse,
                                             Splitting<Exec> const& splitting) {
  std::int32_t const* const number = splitting.number.data();
  return largest_entries<3, Scalar>(exec,
                                    DirectEntry<Scalar>{matrix.device_operator(), inverse, number},
                                    number, splitting.count);
}

/// \brief The largest sum_j |a_ij / a_ii| of a row, which bounds the eigenvalues of D^-1 A;
/// infinite if a row is not finite.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS double largest_row_sum(Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix,
                                            Scalar const* inverse) {
  auto const A = matrix.device_operator();
  double largest = 0;
  Kokkos::parallel_reduce(
      "Solder::amg::largest_row_sum", Kokkos::RangePolicy<Exec>(exec, 0, matrix.rows()),
      KOKKOS_LAMBDA(std::int32_t i, double& most) {
        double sum = 0;
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
          sum += magnitude(A.values[k]);
        sum *= magnitude(inverse[i]);
        if (!Kokkos::isfinite(sum)) sum = Kokkos::Experimental::infinity_v<double>;
        most = Kokkos::max(most, sum);
      },
      Kokkos::Max<double>(largest));
  return largest;
}

/// \brief Zeroes an inverse diagonal in coarse rows, so that its sweeps leave them as they are.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS void leave_coarse_rows(Exec const& exec, Scalar* inverse,
                                            Splitting<Exec> const& splitting) {
  std::int32_t const* const number = splitting.number.data();
  Kokkos::parallel_for(
      "Solder::amg::leave_coarse_rows",
      Kokkos::RangePolicy<Exec>(exec, 0, static_cast<std::int32_t>(splitting.number.extent(0))),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (number[i] >= 0) inverse[i] = Scalar{};
      });
}

}  // namespace Solder::Impl::amg
