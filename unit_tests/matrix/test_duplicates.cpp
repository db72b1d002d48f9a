// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../support.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/duplicates.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::sum_duplicates;

/// Columns of the rows, values at random.
template <class Scalar>
HostCsr<Scalar> with_columns(std::vector<std::vector<std::int32_t>> const& rows,
                             std::int32_t columns_count) {
  HostCsr<Scalar> A{static_cast<std::int32_t>(rows.size()), columns_count, {0}, {}, {}};
  for (auto const& row : rows) {
    A.columns.insert(A.columns.end(), row.begin(), row.end());
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<Scalar>(A.columns.size(), 9);
  return A;
}

/// Each row has every column once, with the sum of its entries in their order, to the bit; in the
/// order of the columns where `sorted`.
template <class Scalar, class Exec, class Offset = std::int32_t>
void expect_sums(Exec const& exec, HostCsr<Scalar> const& host, bool sorted = true) {
  CsrMatrix<Scalar, Exec, Offset> const A(exec, host), B = sum_duplicates(exec, A);
  ASSERT_EQ(B.rows(), host.rows);
  ASSERT_EQ(B.columns(), host.columns_count);
  auto const offsets = to_host(exec, B.row_offsets());
  auto const columns = to_host(exec, B.column_indices());
  auto const values = to_host(exec, B.values());
  ASSERT_EQ(offsets.size(), std::size_t(host.rows) + 1);
  ASSERT_EQ(offsets[0], Offset(0));
  ASSERT_EQ(static_cast<std::int64_t>(offsets.back()), B.nonzeros());
  for (std::int32_t i = 0; i < host.rows; ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    std::map<std::int32_t, Scalar> expected;
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k) {
      auto const [at, is_new] = expected.emplace(host.columns[k], host.values[k]);
      if (!is_new) at->second += host.values[k];
    }
    ASSERT_EQ(std::size_t(offsets[i + 1] - offsets[i]), expected.size());
    for (auto k = offsets[i]; k < offsets[i + 1]; ++k) {
      auto const at = expected.find(columns[k]);
      ASSERT_TRUE(at != expected.end()) << "column " << columns[k] << " again, or never there";
      ASSERT_EQ(values[k], at->second);
      ASSERT_TRUE(!sorted || at == expected.begin()) << "column " << columns[k];
      expected.erase(at);
    }
  }
}

template <class C>
struct DuplicatesOf : testing::Test {};
TYPED_TEST_SUITE(DuplicatesOf, AllCases, TypeName);

TYPED_TEST(DuplicatesOf, NeighboursAndApart) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  expect_sums(exec, with_columns<Scalar>({{1, 1}, {}, {0, 2, 2, 2, 3}, {3}, {0, 0, 4, 4}}, 5));
  expect_sums(exec, with_columns<Scalar>({{1, 0, 1}, {}, {2, 3, 2, 0, 2}, {3}, {4, 4, 0}}, 5));
  // An unsorted row without duplicates stays as it is beside neighbours.
  expect_sums(exec, with_columns<Scalar>({{4, 0, 2}, {1, 1}}, 5), false);
}

TYPED_TEST(DuplicatesOf, RowsOfManyLengths) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  std::mt19937 generator(4);
  std::vector<std::vector<std::int32_t>> rows;
  for (int length : {0, 1, 2, 8, 33, 100, 511, 512, 513, 3000}) {
    auto& row = rows.emplace_back();
    for (; length > 0; --length) row.push_back(static_cast<std::int32_t>(generator() % 1000));
  }
  expect_sums(exec, with_columns<Scalar>(rows, 1000));
  for (auto& row : rows) std::sort(row.begin(), row.end());
  expect_sums(exec, with_columns<Scalar>(rows, 1000));
}

template <class Exec>
struct DuplicatesOfDouble : testing::Test {};
TYPED_TEST_SUITE(DuplicatesOfDouble, Spaces::Types, TypeName);

TYPED_TEST(DuplicatesOfDouble, TheLastTwoOfEachLengthAreSeen) {
  TypeParam const exec;
  for (std::int32_t const length : {2, 3, 31, 32, 33, 511, 512, 513, 700}) {
    std::vector<std::int32_t> row;
    for (std::int32_t k = length - 1; k > 0; --k) row.push_back(k);
    row.push_back(1);
    expect_sums(exec, with_columns<double>({{0}, row, {2}}, 1000));
    std::rotate(row.begin(), row.end() - 1, row.end());  // the first and the last
    expect_sums(exec, with_columns<double>({{0}, row, {2}}, 1000));
  }
}

TYPED_TEST(DuplicatesOfDouble, WithoutAnyNothingIsCopied) {
  TypeParam const exec;
  std::vector<std::int32_t> descending(512);
  for (std::int32_t k = 0; k < 512; ++k) descending[k] = 511 - k;
  for (auto const& host :
       {with_columns<double>({{0, 3}, {}, {3, 4}, {4}}, 5), with_columns<double>({}, 5),
        with_columns<double>({{3, 0}, {2, 0, 1}, descending}, 512)}) {
    CsrMatrix<double, TypeParam> const A(exec, host);
    KokkosEvents const events;
    auto const B = sum_duplicates(exec, A);
    EXPECT_LE(events.kernels.size(), 1u);
    EXPECT_EQ(B.row_offsets().data(), A.row_offsets().data());
    EXPECT_EQ(B.column_indices().data(), A.column_indices().data());
    EXPECT_EQ(B.values().data(), A.values().data());
  }
  // Longer ones are sorted to see it.
  descending.insert(descending.begin(), 512);
  expect_sums(exec, with_columns<double>({{3, 0}, descending}, 513));
}

TYPED_TEST(DuplicatesOfDouble, WideOffsets) {
  TypeParam const exec;
  auto const neighbours = with_columns<double>({{0, 2, 2}, {1}}, 3),
             apart = with_columns<double>({{2, 0, 2}, {1}}, 3);
  expect_sums<double, TypeParam, std::int64_t>(exec, neighbours);
  expect_sums<double, TypeParam, std::int64_t>(exec, apart);
  expect_sums<double, TypeParam, std::size_t>(exec, neighbours);
  expect_sums<double, TypeParam, std::size_t>(exec, apart);
}

TYPED_TEST(DuplicatesOfDouble, AllWorkGoesToTheInstance) {
  auto const exec = another_instance<TypeParam>();
  CsrMatrix<double, TypeParam> const A(exec, with_columns<double>({{2, 0, 2}, {1}}, 3));
  KokkosEvents const events;
  auto const B = sum_duplicates(exec, A);
  EXPECT_GE(events.kernels.size(), 3u);
  for (auto const& kernel : events.kernels) {
    EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

}  // namespace
