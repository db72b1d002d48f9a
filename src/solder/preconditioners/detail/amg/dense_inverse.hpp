// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <solder/core/scalar.hpp>

namespace Solder::Impl::amg {

/// \brief Inverts a Hermitian matrix of n rows, given row by row, in its place, by Cholesky's
/// method in double. A row whose pivot is nothing but rounding of its diagonal entry depends on
/// those before it (the constant of a pure Neumann problem): its row and column of the inverse are
/// zero, which solves what can be solved. \return the first row with a negative pivot, which no
/// positive matrix has; -1: there is none
template <class Number>
std::int32_t invert_hermitian(std::int32_t n, std::vector<Number>& a, double epsilon) {
  auto const at = [&](std::int32_t i, std::int32_t j) -> Number& {
    return a[std::size_t(i) * n + j];
  };
  std::vector<double> rounding(n);  // of each pivot, with what came from finer levels
  for (std::int32_t i = 0; i < n; ++i)
    rounding[i] = std::pow(epsilon, 2.0 / 3) * std::abs(real_part(at(i, i)));
  std::int32_t negative = -1;
  // The lower triangle becomes L, ...
  std::vector<double> inverse(n);
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j; i < n; ++i) {
      Number sum = at(i, j);
      for (std::int32_t k = 0; k < j; ++k) sum -= at(i, k) * conjugate(at(j, k));
      at(i, j) = i == j ? sum : sum * inverse[j];
      if (i > j) continue;
      double const pivot = real_part(sum);
      if (pivot < -rounding[j] && negative < 0) negative = j;
      inverse[j] = pivot > rounding[j] ? 1 / std::sqrt(pivot) : 0;
    }
  }
  // ... L^-1 of the rows that are not dropped, ...
  for (std::int32_t j = 0; j < n; ++j) {
    at(j, j) = inverse[j];
    for (std::int32_t i = j + 1; i < n; ++i) {
      Number sum{};
      for (std::int32_t k = j; k < i; ++k) sum -= at(i, k) * at(k, j);
      at(i, j) = sum * inverse[i];
    }
  }
  // ... and the upper one L^-H L^-1, by columns from the left.
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i <= j; ++i) {
      Number sum{};
      for (std::int32_t k = j; k < n; ++k) sum += conjugate(at(k, i)) * at(k, j);
      // L^-1 is still needed on and below the diagonal: row i, column j > i is free.
      if (i < j)
        at(i, j) = sum;
      else
        inverse[j] = real_part(sum);
    }
  for (std::int32_t i = 0; i < n; ++i) {
    at(i, i) = inverse[i];
    for (std::int32_t j = 0; j < i; ++j) at(i, j) = conjugate(at(j, i));
  }
  return negative;
}

}  // namespace Solder::Impl::amg
