// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Vectors and matrices as plain loops have them, in complex double.

#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <vector>

#include <solder/matrix/csr.hpp>

namespace SolderTest {

using Solder::CsrMatrix;
using Solder::HostCsr;
using Vector = std::vector<Complex>;

template <class Scalar>
Vector plain(std::vector<Scalar> const& v) {
  Vector result;
  for (auto const& entry : v) result.push_back(plain(entry));
  return result;
}

/// A matrix as maps from columns to values, duplicates summed.
struct Plain {
  std::int32_t columns = 0;
  std::vector<std::map<std::int32_t, Complex>> rows;

  Plain(std::int32_t n, std::int32_t m) : columns(m), rows(n) {}
  template <class Scalar>
  explicit Plain(HostCsr<Scalar> const& A) : Plain(A.rows, A.columns_count) {
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        rows[i][A.columns[k]] += plain(A.values[k]);
  }
  template <class Scalar, class Exec>
  explicit Plain(CsrMatrix<Scalar, Exec> const& A) : Plain(A.rows(), A.columns()) {
    Exec const exec;
    auto const offsets = to_host(exec, A.row_offsets());
    auto const indices = to_host(exec, A.column_indices());
    auto const values = to_host(exec, A.values());
    for (std::int32_t i = 0; i < A.rows(); ++i)
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k) rows[i][indices[k]] += plain(values[k]);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(rows.size()); }
  Complex at(std::int32_t i, std::int32_t j) const {
    auto const found = rows[i].find(j);
    return found == rows[i].end() ? 0 : found->second;
  }
  Complex row_sum(std::int32_t i) const {
    Complex sum = 0;
    for (auto const& [j, a] : rows[i]) sum += a;
    return sum;
  }
  double largest() const {
    double most = 0;
    for (auto const& row : rows)
      for (auto const& [j, a] : row) most = std::max(most, std::abs(a));
    return most;
  }
  Vector times(Vector const& x) const {
    Vector y(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (auto const& [j, a] : rows[i]) y[i] += a * x[j];
    return y;
  }
  Plain times(Plain const& B) const {
    Plain C(size(), B.columns);
    for (std::int32_t i = 0; i < size(); ++i)
      for (auto const& [j, a] : rows[i])
        for (auto const& [k, b] : B.rows[j]) C.rows[i][k] += a * b;
    return C;
  }
  Plain adjoint() const {
    Plain B(columns, size());
    for (std::int32_t i = 0; i < size(); ++i)
      for (auto const& [j, a] : rows[i]) B.rows[j][i] = std::conj(a);
    return B;
  }
};

/// Entries agree, missing ones being zero.
inline void expect_near(Plain const& A, Plain const& B, double bound) {
  ASSERT_EQ(A.size(), B.size());
  ASSERT_EQ(A.columns, B.columns);
  for (std::int32_t i = 0; i < A.size(); ++i) {
    for (auto const& [j, a] : A.rows[i])
      ASSERT_LE(std::abs(a - B.at(i, j)), bound) << "row " << i << ", column " << j;
    for (auto const& [j, b] : B.rows[i])
      ASSERT_LE(std::abs(b - A.at(i, j)), bound) << "row " << i << ", column " << j;
  }
}

inline Complex inner(Vector const& a, Vector const& b) {
  Complex sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(a[i]) * b[i];
  return sum;
}
inline double norm_of(Vector const& a) { return std::sqrt(inner(a, a).real()); }

}  // namespace SolderTest
