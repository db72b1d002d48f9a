// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder::Compiled {

/// \brief The relative residual that rounding the entries of the solution makes.
struct RoundingOfX {
  double mean = 0;   ///< the root of its mean square
  double least = 0;  ///< less in about one case of a thousand
};

/// \brief The distance between a number's size and the next larger one; 0 and a NaN as they are.
template <class Real>
KOKKOS_FUNCTION double distance_at(Real const& x) {
  double const size = Kokkos::fabs(double(x));
  if (!(size > 0)) return size;
  return double(Kokkos::Experimental::epsilon_v<Real>) / Impl::scale_to_one<Real>(size);
}
/// \brief The mean square of what rounding adds to a number: even between its neighbours.
template <class Real>
KOKKOS_FUNCTION double square_of_rounding(Real const& x) {
  double const distance = distance_at(x);
  return distance * distance / 12;
}
template <class Real>
KOKKOS_FUNCTION double square_of_rounding(Kokkos::complex<Real> const& x) {
  return square_of_rounding(x.real()) + square_of_rounding(x.imag());
}
/// \brief A number without its last six binary digits.
template <class Real>
KOKKOS_FUNCTION Real with_fewer_digits(Real const& x) {
  double const step = 64 * distance_at(x);
  return step > 0 ? Real(step * Kokkos::round(double(x) / step)) : x;
}
template <class Real>
KOKKOS_FUNCTION Kokkos::complex<Real> with_fewer_digits(Kokkos::complex<Real> const& x) {
  return {with_fewer_digits(x.real()), with_fewer_digits(x.imag())};
}

/// \brief ||A d|| / ||b|| where d_j is what rounding adds to x_j, all of them independent. Two
/// kernels, for which the host waits. Words: A, x and b. Memory: a vector of doubles.
///
/// The square is taken as chi-squared, with 2 mean^2 / variance degrees of freedom. The variance is
/// taken as the larger one of what it were if the rows' residuals were independent, and of what the
/// columns of A d alone make of it; both are too small.
///
/// \return zeros where a square has left double's range, and where x without its last digits has no
/// larger residual: then the solution may have few digits, and need no rounding
template <class T, class Exec>
SOLDER_MAKES_LAMBDAS RoundingOfX rounding_of_x(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                               T const* b, T const* x) {
  auto const* const offsets = A.row_offsets().data();
  auto const* const columns = A.column_indices().data();
  auto const* const values = A.values().data();
  auto const of_columns = Impl::allocate_zeros<double>(exec, "Solder::auto::rounding", A.columns());
  double* const of_column = of_columns.data();  // the mean square that each x_j makes
  double mean = 0, of_rows = 0, given = 0, residual = 0, of_fewer_digits = 0, of_all = 0;
  Kokkos::parallel_reduce(
      "Solder::auto::rounding", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(int i, double& all, double& squares, double& of_b, double& of_x,
                    double& of_fewer) {
        double row = 0;
        Wide<T> r = b[i], with_fewer = b[i];
        for (auto k = offsets[i]; k < offsets[i + 1]; ++k) {
          std::int32_t const j = columns[k];
          double const part = Impl::abs_squared(values[k]) * square_of_rounding(x[j]);
          r -= Wide<T>(values[k]) * Wide<T>(x[j]);
          with_fewer -= Wide<T>(values[k]) * Wide<T>(with_fewer_digits(x[j]));
          Kokkos::atomic_add(&of_column[j], part);
          row += part;
        }
        all += row;
        squares += row * row;
        of_b += Impl::abs_squared(b[i]);
        of_x += Impl::abs_squared(r);
        of_fewer += Impl::abs_squared(with_fewer);
      },
      mean, of_rows, given, residual, of_fewer_digits);
  if (of_fewer_digits <= residual) return {};
  Kokkos::parallel_reduce(
      "Solder::auto::rounding_of_columns", Kokkos::RangePolicy<Exec>(exec, 0, A.columns()),
      KOKKOS_LAMBDA(int j, double& squares) { squares += of_column[j] * of_column[j]; }, of_all);
  // The quantile by Wilson and Hilferty (1931).
  double const spread = 2 * std::max(of_rows, of_all) / (9 * mean * mean),
               quantile = std::max(1 - spread - 3 * std::sqrt(spread), 0.0);
  RoundingOfX const rounding{std::sqrt(mean / given),
                             std::sqrt(mean / given * std::pow(quantile, 3))};
  return std::isfinite(rounding.mean) && std::isfinite(rounding.least) ? rounding : RoundingOfX{};
}

/// \brief The mean residual that rounding makes, where x is as near to the solution as its type
/// allows, and that is not near enough; else, or where there is no memory to find out, 0.
/// \param residual relative, of x
template <class T, class Exec>
double rounding_that_ends(Exec const& exec, CsrMatrix<T, Exec> const& A, T const* b, T const* x,
                          double tolerance, double residual) {
  try {
    RoundingOfX const rounding = rounding_of_x(exec, A, b, x);
    return tolerance < rounding.least && residual < 4 * rounding.mean ? rounding.mean : 0;
  } catch (std::exception const&) {
    return 0;
  }
}

}  // namespace Solder::Compiled
