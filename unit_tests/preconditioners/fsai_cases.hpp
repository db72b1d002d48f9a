// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Matrices for the tests of FSAI, and its factors on the host.

#include "../support.hpp"
#include "fsai_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <solder/preconditioners/fsai.hpp>
#include <solder/problems/generators.hpp>

namespace SolderTest {

using Solder::CsrMatrix;
using Solder::Fsai;
using Solder::FsaiOptions;
using Solder::HostCsr;

/// \brief An arrow: all rows of its square's pattern are as long as they can be.
template <class Scalar>
HostCsr<Scalar> arrow(std::int32_t n) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  HostCsr<Scalar> A;
  A.rows = A.columns_count = n;
  A.row_offsets = {0};
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      if (i != j && i != 0 && j != 0) continue;
      A.columns.push_back(j);
      A.values.push_back(i == j ? Real(i == 0 ? n : 2) : Real(-0.9));
    }
    A.row_offsets.push_back(std::int64_t(A.columns.size()));
  }
  return A;
}

template <class Matrix>
auto host_csr(typename Matrix::execution_space const& exec, Matrix const& A) {
  auto const offsets = to_host(exec, A.row_offsets());
  HostCsr<typename Matrix::scalar_type> host;
  host.rows = A.rows();
  host.columns_count = A.columns();
  host.row_offsets.assign(offsets.begin(), offsets.end());
  host.columns = to_host(exec, A.column_indices());
  host.values = to_host(exec, A.values());
  return host;
}

/// \brief G has the oracle's pattern, and its values but for `tolerance` times the row's diagonal
/// entry.
template <class Factor>
void expect_equal(HostCsr<Factor> const& G, OracleFactor const& expected, double tolerance) {
  ASSERT_EQ(static_cast<std::size_t>(G.rows), expected.rows.size());
  for (std::int32_t i = 0; i < G.rows; ++i) {
    auto const& row = expected.rows[i];
    auto const begin = G.row_offsets[i];
    ASSERT_EQ(G.row_offsets[i + 1] - begin, static_cast<std::int64_t>(row.size())) << "row " << i;
    double const scale = std::abs(row.back().second);
    for (std::size_t e = 0; e < row.size(); ++e) {
      ASSERT_EQ(G.columns[begin + e], row[e].first) << "row " << i;
      ASSERT_LE(std::abs(plain(G.values[begin + e]) - row[e].second), tolerance * scale)
          << "row " << i << ", column " << row[e].first;
    }
  }
}

/// \brief Dense, Hermitian, positive definite.
template <class Scalar>
HostCsr<Scalar> dense_spd(std::int32_t n, unsigned seed) {
  auto const entries = random_vector<Scalar>(std::size_t(n) * n, seed);
  std::vector<std::vector<Scalar>> rows(n, std::vector<Scalar>(n));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j <= i; ++j) {
      rows[i][j] = entries[i * n + j];
      rows[j][i] = Solder::Impl::conjugated(rows[i][j]);
      if (i == j) rows[i][i] = Scalar(n);
    }
  return sparse(rows);
}

/// \brief Rows of many lengths; Hermitian and complex where Scalar is.
template <class Scalar>
HostCsr<Scalar> grid(std::int64_t side) {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Solder::magnetic_laplacian_2d<Scalar>(side);
  else
    return Solder::fem_poisson_2d<Scalar>(side);
}

/// \brief The same matrix with many of its entries in two or three parts, whose sum is exact.
template <class Scalar>
HostCsr<Scalar> in_parts(HostCsr<Scalar> const& A, bool shuffled) {
  HostCsr<Scalar> B{A.rows, A.columns_count, {0}, {}, {}};
  std::mt19937 generator(8);
  for (std::int32_t i = 0; i < A.rows; ++i) {
    std::vector<std::pair<std::int32_t, Scalar>> row;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      auto const parts = generator() % 3;
      Scalar rest = A.values[k];
      for (unsigned p = 0; p < parts; ++p) {
        rest /= 2;
        row.emplace_back(A.columns[k], rest);
      }
      row.emplace_back(A.columns[k], rest);
    }
    if (shuffled) std::shuffle(row.begin(), row.end(), generator);
    for (auto const& [column, value] : row) {
      B.columns.push_back(column);
      B.values.push_back(value);
    }
    B.row_offsets.push_back(static_cast<std::int64_t>(B.columns.size()));
  }
  return B;
}

}  // namespace SolderTest
