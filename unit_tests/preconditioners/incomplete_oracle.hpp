// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Incomplete factors and their solves by plain loops.

#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <solder/preconditioners/incomplete.hpp>

namespace SolderTest {

using Solder::HostCsr;
using Solder::Incomplete;

using PlainRows = std::vector<std::map<std::int32_t, Complex>>;

/// A in double, by maps: row i is row order[i] of A.
template <class Scalar>
PlainRows in_order(HostCsr<Scalar> const& A, std::vector<std::int32_t> const& order, double shift) {
  PlainRows rows(A.rows);
  std::vector<std::int32_t> rank(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i) rank[order[i]] = i;
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[order[i]]; k < A.row_offsets[order[i] + 1]; ++k)
      rows[i][rank[A.columns[k]]] += plain(A.values[k]);
  for (std::int32_t i = 0; i < A.rows; ++i) rows[i][i] *= 1 + shift;
  return rows;
}

/// z of this scalar, the real part where that is real.
template <class Scalar>
Scalar rounded(Complex const& value) {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Scalar(static_cast<typename Scalar::value_type>(value.real()),
                  static_cast<typename Scalar::value_type>(value.imag()));
  else
    return static_cast<Scalar>(value.real());
}

/// An incomplete factorisation in double, by maps: row i in the order of elimination is row
/// order[i] of A, L has ones on its diagonal.
struct PlainFactors {
  std::vector<std::int32_t> order;
  PlainRows rows;
  bool positive = true;  ///< all pivots

  template <class Scalar>
  PlainFactors(HostCsr<Scalar> const& A, std::vector<std::int32_t> elimination, double shift = 0)
      : order(std::move(elimination)), rows(in_order(A, order, shift)) {
    for (std::int32_t i = 0; i < A.rows; ++i) {
      for (auto& [k, l] : rows[i]) {
        if (k >= i) break;
        l /= rows[k][k];
        for (auto const& [j, u] : rows[k])
          if (j > k)
            if (auto const at = rows[i].find(j); at != rows[i].end()) at->second -= l * u;
      }
      positive = positive && rows[i][i].real() > 0;
    }
  }

  template <class Scalar>
  void apply(std::span<Scalar const> r, std::span<Scalar> z) const {
    auto const n = static_cast<std::int32_t>(rows.size());
    std::vector<Complex> y(n);
    for (std::int32_t i = 0; i < n; ++i) {
      y[i] = plain(r[order[i]]);
      for (auto const& [j, l] : rows[i])
        if (j < i) y[i] -= l * y[j];
    }
    for (std::int32_t i = n; i-- > 0;) {
      for (auto const& [j, u] : rows[i])
        if (j > i) y[i] -= u * y[j];
      y[i] /= rows[i].at(i);
      z[order[i]] = rounded<Scalar>(y[i]);
    }
  }
};

template <class Exec, class Scalar>
void expect_factors(Exec const& exec, Incomplete<Scalar, Exec> const& M, PlainRows const& rows,
                    double tolerance) {
  auto const offsets = to_host(exec, M.factor_offsets()),
             columns = to_host(exec, M.factor_columns());
  auto const values = to_host(exec, M.factor_values());
  for (std::int32_t i = 0; i < M.rows(); ++i) {
    ASSERT_EQ(offsets[i + 1] - offsets[i], std::int32_t(rows[i].size())) << i;
    auto k = offsets[i];
    for (auto const& [column, value] : rows[i]) {
      ASSERT_EQ(columns[k], column);
      ASSERT_LE(std::abs(plain(values[k]) - value),
                tolerance * std::max(std::abs(value), std::abs(rows[i].at(i))))
          << i << ", " << column;
      ++k;
    }
  }
}

template <class Exec, class Scalar>
void expect_factors(Exec const& exec, Incomplete<Scalar, Exec> const& M,
                    PlainFactors const& factors, double tolerance) {
  expect_factors(exec, M, factors.rows, tolerance);
}

}  // namespace SolderTest
