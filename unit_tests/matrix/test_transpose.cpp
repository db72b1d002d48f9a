// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../support.hpp"
#include "rows_in_groups.hpp"

#include <algorithm>
#include <map>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/problems/random.hpp>

namespace {

using namespace SolderTest;
using Solder::conjugate_transpose;
using Solder::CsrMatrix;
using Solder::HostCsr;

/// Checks the transpose against one collected in a map of each row.
template <class Scalar, class Exec, class Offset = std::int32_t>
void check(Exec const& exec, HostCsr<Scalar> const& host) {
  CsrMatrix<Scalar, Exec, Offset> const A(exec, host);
  auto const T = conjugate_transpose(exec, A);
  ASSERT_EQ(T.rows(), host.columns_count);
  ASSERT_EQ(T.columns(), host.rows);
  ASSERT_EQ(T.nonzeros(), host.nonzeros());

  std::vector<std::map<std::int32_t, Scalar>> expected(host.columns_count);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      expected[host.columns[k]][i] = Solder::Impl::conjugated(host.values[k]);
  auto const offsets = to_host(exec, T.row_offsets());
  auto const columns = to_host(exec, T.column_indices());
  auto const values = to_host(exec, T.values());
  ASSERT_EQ(offsets.size(), expected.size() + 1);
  ASSERT_EQ(offsets[0], Offset(0));
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(std::size_t(offsets[j + 1] - offsets[j]), expected[j].size()) << "row " << j;
    auto k = offsets[j];
    for (auto const& [column, value] : expected[j]) {
      ASSERT_EQ(columns[k], column) << "row " << j;
      ASSERT_EQ(values[k], value) << "row " << j;
      ++k;
    }
  }

  // Again: the same bits.
  auto const again = conjugate_transpose(exec, A);
  EXPECT_TRUE(same_bits(to_host(exec, again.column_indices()), columns));
  EXPECT_TRUE(same_bits(to_host(exec, again.values()), values));
}

/// Row j of its transpose has about lengths[j] entries, in random rows of `rows`; the columns of a
/// row are in any order.
template <class Scalar>
HostCsr<Scalar> with_column_lengths(std::vector<int> const& lengths, std::int32_t rows) {
  std::mt19937 generator(7);
  std::vector<std::vector<std::int32_t>> columns(rows);
  for (std::size_t j = 0; j < lengths.size(); ++j) {
    int left = lengths[j];  // selection sampling: every choice of rows is as likely
    for (std::int32_t i = 0; i < rows; ++i)
      if (static_cast<int>(generator() % (rows - i)) < left) {
        columns[i].push_back(static_cast<std::int32_t>(j));
        --left;
      }
  }
  HostCsr<Scalar> A{rows, static_cast<std::int32_t>(lengths.size()), {0}, {}, {}};
  for (auto& row : columns) {
    std::shuffle(row.begin(), row.end(), generator);
    A.columns.insert(A.columns.end(), row.begin(), row.end());
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<Scalar>(A.columns.size(), 8);
  return A;
}

template <class C>
struct TransposeOf : testing::Test {};
TYPED_TEST_SUITE(TransposeOf, AllCases, TypeName);

TYPED_TEST(TransposeOf, SquareAndRectangular) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  check(exec, Solder::random_spd<Scalar>(1000, 9, 3));
  check(exec, with_column_lengths<Scalar>(std::vector<int>(400, 5), 90));
  check(exec, with_column_lengths<Scalar>(std::vector<int>(50, 20), 900));
}

// Rows of the result of all lengths, so that every way to sort them is taken.
TYPED_TEST(TransposeOf, RowsOfEveryLength) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  std::vector<int> lengths{0,   31,  32,  33,  0,    255,  256,  257, 2047,
                           500, 501, 999, 999, 2048, 2049, 4000, 0,   1};
  for (int j = 0; j < 300; ++j) lengths.push_back(j % 40);
  check(Exec(), with_column_lengths<Scalar>(lengths, 5000));
  // So many rows that those for warps are listed.
  check(Exec(), with_column_lengths<Scalar>(
                    [] {
                      std::vector<int> few(33000);
                      for (int j = 0; j < 300; ++j) few[110 * j] = j;
                      return few;
                    }(),
                    300));
}

// On GPUs, rows with the same columns can be taken together.
TYPED_TEST(TransposeOf, RowsInGroups) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  for (int const most : {1, 3, 12, 60, 400}) {
    CsrMatrix<Scalar, Exec> const A(exec, rows_in_groups<Scalar>(0, 400, 700, most, 30));
    if constexpr (!Solder::Impl::is_host_space<Exec>) {
      EXPECT_TRUE(Solder::Impl::many_alike_rows(exec, A));
    }
    auto const together = Solder::Impl::conjugate_transpose(exec, A, true),
               expected = conjugate_transpose(exec, A);
    EXPECT_EQ(together.longest_row(), expected.longest_row());
    EXPECT_TRUE(
        same_bits(to_host(exec, together.row_offsets()), to_host(exec, expected.row_offsets())));
    EXPECT_TRUE(same_bits(to_host(exec, together.column_indices()),
                          to_host(exec, expected.column_indices())));
    EXPECT_TRUE(same_bits(to_host(exec, together.values()), to_host(exec, expected.values())));
  }
}

template <class Exec>
struct TransposeOfDouble : testing::Test {};
TYPED_TEST_SUITE(TransposeOfDouble, Spaces::Types, TypeName);

TYPED_TEST(TransposeOfDouble, NothingToDo) {
  TypeParam const exec;
  check(exec, HostCsr<double>{0, 0, {0}, {}, {}});
  check(exec, HostCsr<double>{0, 5, {0}, {}, {}});
  check(exec, HostCsr<double>{5, 0, {0, 0, 0, 0, 0, 0}, {}, {}});
  check(exec, HostCsr<double>{2, 3, {0, 0, 0}, {}, {}});
  check(exec, diagonal<double>({3}));
}

// A full column that only the whole device can sort, and a full row.
TYPED_TEST(TransposeOfDouble, Arrow) {
  std::int32_t const n = 100000;
  HostCsr<double> A{n, n, {0}, {}, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    if (i == 77)
      for (std::int32_t j = n - 1; j >= 0; --j) A.columns.push_back(j);
    else
      A.columns.insert(A.columns.end(), {i, 77});
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<double>(A.columns.size(), 2);
  check(TypeParam(), A);
}

TYPED_TEST(TransposeOfDouble, LongOffsets) {
  check<double, TypeParam, std::int64_t>(TypeParam(), Solder::random_spd<double>(1000, 40, 3));
}

TYPED_TEST(TransposeOfDouble, DuplicatesKeepTheirOrder) {
  TypeParam const exec;
  auto const offsets = to_device(exec, std::vector<std::int32_t>{0, 3, 6});
  auto const columns = to_device(exec, std::vector<std::int32_t>{1, 0, 1, 1, 1, 1});
  auto const values = to_device(exec, std::vector<double>{1, 2, 3, 4, 5, 6});
  auto const T =
      conjugate_transpose(exec, CsrMatrix<double, TypeParam>(exec, 2, 2, offsets, columns, values));
  EXPECT_EQ(to_host(exec, T.row_offsets()), (std::vector<std::int32_t>{0, 1, 6}));
  EXPECT_EQ(to_host(exec, T.column_indices()), (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(to_host(exec, T.values()), (std::vector<double>{2, 1, 3, 4, 5, 6}));
}

TYPED_TEST(TransposeOfDouble, AllWorkGoesToTheInstance) {
  auto const exec = another_instance<TypeParam>();
  CsrMatrix<double, TypeParam> const A(exec, with_column_lengths<double>({3, 400, 3000}, 4000));
  KokkosEvents const events;
  auto const T = conjugate_transpose(exec, A);
  EXPECT_GE(events.kernels.size(), 4u);
  for (auto const& kernel : events.kernels) {
    EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

}  // namespace
