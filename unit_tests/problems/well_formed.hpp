// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include <solder/matrix/host_csr.hpp>

namespace SolderTest {

/// Offsets that fit, columns in range that ascend strictly.
template <class Scalar>
void expect_well_formed(Solder::HostCsr<Scalar> const& a) {
  ASSERT_EQ(a.row_offsets.size(), std::size_t(a.rows) + 1);
  ASSERT_EQ(a.row_offsets.front(), 0);
  ASSERT_EQ(std::size_t(a.row_offsets.back()), a.columns.size());
  ASSERT_EQ(a.columns.size(), a.values.size());
  for (std::int32_t i = 0; i < a.rows; ++i) {
    ASSERT_LE(a.row_offsets[i], a.row_offsets[i + 1]);
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      ASSERT_GE(a.columns[k], k == a.row_offsets[i] ? 0 : a.columns[k - 1] + 1) << "row " << i;
      ASSERT_LT(a.columns[k], a.columns_count) << "row " << i;
    }
  }
}

}  // namespace SolderTest
