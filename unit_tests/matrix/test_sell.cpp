// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "products.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <solder/matrix/sell.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::SellMatrix;
using Solder::SellShape;

constexpr int warp = 32;
std::vector<SellShape> const shapes = {{}, {1, 0}, {32, 0}, {1024, 1}, {1, 3}, {64, 5}};
constexpr int ell_lane_bits[] = {SellShape::automatic, 0, 2};

/// Rows in the order in which SELL stores them.
std::vector<int> stored_order(std::vector<int> const& lengths, std::size_t sigma) {
  std::vector<int> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t first = 0; first < order.size(); first += sigma)
    std::stable_sort(order.begin() + first, order.begin() + std::min(order.size(), first + sigma),
                     [&](int a, int b) { return lengths[a] > lengths[b]; });
  return order;
}

/// Places of all slices: each as wide as its longest row needs, or as the longest of all.
std::int64_t stored_entries(std::vector<int> const& lengths, std::size_t sigma, int lane_bits,
                            bool ell) {
  auto const order = stored_order(lengths, sigma);
  std::size_t const in_slice = warp >> lane_bits;
  std::int64_t entries = 0;
  for (std::size_t first = 0; first < order.size(); first += in_slice) {
    int longest = 0;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (ell || (k >= first && k < first + in_slice))
        longest = std::max(longest, lengths[order[k]]);
    int const lanes = 1 << lane_bits;
    entries += warp * ((longest + lanes - 1) / lanes);
  }
  return entries;
}

template <class C>
struct Sell : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  using Matrix = SellMatrix<Scalar, Exec>;

  /// f(matrix) for SELL and ELL of many shapes.
  template <class F>
  static void of_each_shape(Exec const& exec, CsrMatrix<Scalar, Exec> const& csr, F const& f) {
    for (SellShape const& shape : shapes) {
      auto const A = Matrix::sell(exec, csr, shape);
      SCOPED_TRACE("sell, sigma " + std::to_string(A.sigma()) + ", lane bits " +
                   std::to_string(A.lane_bits()));
      EXPECT_FALSE(A.is_ell());
      f(A);
    }
    for (int const bits : ell_lane_bits) {
      auto const A = Matrix::ell(exec, csr, bits);
      SCOPED_TRACE("ell, lane bits " + std::to_string(A.lane_bits()));
      EXPECT_TRUE(A.is_ell());
      f(A);
    }
  }

  static void expect_products_of(std::vector<int> const& lengths, std::int32_t columns_count) {
    Exec const exec;
    auto const host = with_row_lengths<Scalar>(lengths, columns_count);
    CsrMatrix<Scalar, Exec> const csr(exec, host);
    of_each_shape(exec, csr, [&](Matrix const& A) {
      EXPECT_EQ(A.rows(), host.rows);
      EXPECT_EQ(A.columns(), host.columns_count);
      EXPECT_EQ(A.nonzeros(), host.nonzeros());
      EXPECT_EQ(A.entries(), stored_entries(lengths, A.sigma(), A.lane_bits(), A.is_ell()));
      expect_products(exec, host, A);
    });
  }
};
TYPED_TEST_SUITE(Sell, AllCases, TypeName);

TYPED_TEST(Sell, OneByOneAndNone) {
  this->expect_products_of({1}, 1);
  this->expect_products_of({0}, 1);
  this->expect_products_of({}, 0);
  this->expect_products_of({}, 5);
}

TYPED_TEST(Sell, FewerRowsThanASlice) { this->expect_products_of({3, 1, 0, 2, 5, 5, 1}, 9); }

TYPED_TEST(Sell, NoWholeNumberOfSlices) {
  for (int const rows : {31, 32, 33, 63, 65, 1023, 1024, 1025})
    this->expect_products_of(random_lengths(rows, 9, rows), 40);
}

TYPED_TEST(Sell, RowsOf1To200Entries) {
  std::vector<int> lengths;
  for (int k = 1; k <= 200; ++k) lengths.push_back(k);
  this->expect_products_of(lengths, 300);
}

TYPED_TEST(Sell, EmptyRows) {
  std::vector<int> lengths(1000);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 3 == 1 ? 4 : 0;
  this->expect_products_of(lengths, 100);
  this->expect_products_of(std::vector<int>(700, 0), 10);
}

TYPED_TEST(Sell, OneHugeRowAmongShortOnes) {
  std::vector<int> lengths(300, 3);
  lengths[177] = 1000;
  this->expect_products_of(lengths, 1001);
  this->expect_products_of({5000}, 5000);
}

TYPED_TEST(Sell, PaddingMeetsNoX) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  Exec const exec;
  auto host = with_row_lengths<Scalar>(random_lengths(100, 12, 5), 30);
  host.columns_count = 32;  // no entry is in column 0 or 31
  for (auto& column : host.columns) ++column;
  auto x = random_vector<Scalar>(32, 6);
  x.front() = Scalar(std::numeric_limits<Real>::quiet_NaN());
  x.back() = Scalar(std::numeric_limits<Real>::infinity());
  CsrMatrix<Scalar, Exec> const csr(exec, host);
  this->of_each_shape(exec, csr, [&](auto const& A) { expect_products(exec, host, A, x); });
}

// ---- What depends on no scalar ----

template <class Exec>
struct SellOfDouble : testing::Test {};
TYPED_TEST_SUITE(SellOfDouble, Spaces::Types, TypeName);

TYPED_TEST(SellOfDouble, RowsAreSortedWithinWindows) {
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  auto const lengths = random_lengths(3000, 20, 7);
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>(lengths, 50));
  for (int const sigma : {32, 256, 1024, 16384}) {
    auto const A = Matrix::sell(exec, csr, {sigma, 0});
    EXPECT_EQ(A.sigma(), sigma);
    Kokkos::View<std::int32_t const*, typename TypeParam::memory_space,
                 Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
        permutation(A.device_operator().permutation, lengths.size());
    EXPECT_EQ(to_host(exec, permutation), stored_order(lengths, sigma)) << sigma;
  }
  EXPECT_EQ(Matrix::sell(exec, csr, {1, 0}).device_operator().permutation, nullptr);
  EXPECT_EQ(Matrix::ell(exec, csr).device_operator().permutation, nullptr);
}

TYPED_TEST(SellOfDouble, SortsOnlyWhereItSavesMuch) {
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  auto const sigma_for = [&](std::vector<int> const& lengths) {
    CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>(lengths, 50));
    return Matrix::sell(exec, csr).sigma();
  };
  EXPECT_EQ(sigma_for(std::vector<int>(3000, 7)), 1);
  EXPECT_EQ(sigma_for({3, 9, 1}), 1) << "one slice cannot be better sorted";
  bool const host = Solder::Impl::is_host_space<TypeParam>;
  EXPECT_EQ(sigma_for(random_lengths(3000, 20, 7)), host ? 1 : 1024);
}

TYPED_TEST(SellOfDouble, WordsOfAProduct) {
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>({2, 3, 5}, 8));
  double const entries = 5 * 32 * 12;
  EXPECT_DOUBLE_EQ(Matrix::ell(exec, csr, 0).words(), entries / 8);
  EXPECT_DOUBLE_EQ(Matrix::sell(exec, csr, {1, 0}).words(), (entries + 2 * 8) / 8);
  EXPECT_DOUBLE_EQ(Matrix::sell(exec, csr, {32, 0}).words(), (entries + 2 * 8 + 3 * 4) / 8);
}

TYPED_TEST(SellOfDouble, Offsets64BitAndOfTpetra) {
  TypeParam const exec;
  auto const host = with_row_lengths<double>(random_lengths(300, 9, 9), 40);
  CsrMatrix<double, TypeParam, std::int64_t> const wide(exec, host);
  CsrMatrix<double, TypeParam, std::size_t> const unsigned_offsets(exec, host);
  using Matrix = SellMatrix<double, TypeParam>;
  expect_products(exec, host, Matrix::sell(exec, wide, {64, 0}));
  expect_products(exec, host, Matrix::ell(exec, wide));
  expect_products(exec, host, Matrix::sell(exec, unsigned_offsets, {64, 0}));
}

TYPED_TEST(SellOfDouble, KeepsNothingOfTheCsrMatrixAndTakesNewValues) {
  TypeParam const exec;
  expect_takes_new_values(exec, with_row_lengths<double>(random_lengths(300, 9, 9), 40),
                          [&](auto const& csr) {
                            return SellMatrix<double, TypeParam>::sell(exec, csr, {64, 0});
                          });
}

TYPED_TEST(SellOfDouble, WorkOfAnotherInstance) {
  auto const exec = another_instance<TypeParam>();
  auto const host = with_row_lengths<double>(random_lengths(500, 9, 9), 40);
  CsrMatrix<double, TypeParam> const csr(exec, host);
  KokkosEvents events;
  auto const A = SellMatrix<double, TypeParam>::sell(exec, csr, {64, 0});
  auto const B = SellMatrix<double, TypeParam>::ell(exec, csr);
  events.stop();
  EXPECT_EQ(events.kernels.size(), 4u) << "sort, measure and fill; fill";
  expect_kernels_of(exec, events);
  for (auto const& allocation : events.allocations)
    EXPECT_EQ(allocation.label.rfind("Solder::", 0), 0u) << allocation.label;
  expect_products(exec, host, A);
  expect_products(exec, host, B);
}

TYPED_TEST(SellOfDouble, HostSlicesShareTheWorkInWholeWindows) {
  if (!Solder::Impl::is_host_space<TypeParam>) GTEST_SKIP() << "GPUs deal slices cyclically";
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  std::vector<int> lengths(20001, 1);
  std::fill(lengths.begin(), lengths.begin() + 4000, 60);
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>(lengths, 100));
  auto const expect_bounds = [&](Matrix const& A, int unit) {
    auto const op = A.device_operator();
    ASSERT_EQ(op.teams, std::min(20001, exec.concurrency()));
    EXPECT_EQ(op.rows.bounds[0], 0);
    EXPECT_EQ(op.rows.bounds[op.teams], 20001);
    for (int t = 1; t < op.teams; ++t) {
      EXPECT_LE(op.rows.bounds[t - 1], op.rows.bounds[t]);
      EXPECT_EQ(op.rows.bounds[t] % unit, 0) << op.rows.bounds[t];
    }
    if (op.teams != 2) return;
    // Words as the cost model has them: 1.5 a stored entry and 9 a row.
    double const all = 1.5 * static_cast<double>(A.entries()) + 9.0 * 20001;
    int const middle = op.rows.bounds[1];
    double const first = A.is_ell() ? (1.5 * 60 + 9) * middle
                                    : (1.5 * 60 + 9) * std::min(4000, middle) +
                                          (1.5 + 9) * std::max(0, middle - 4000);
    EXPECT_NEAR(first, all / 2, unit * (1.5 * 60 + 9));
  };
  expect_bounds(Matrix::sell(exec, csr, {1, 0}), 32);
  expect_bounds(Matrix::sell(exec, csr, {1024, 0}), 1024);
  expect_bounds(Matrix::sell(exec, csr, {1, 2}), 8);
  expect_bounds(Matrix::ell(exec, csr), 32);
}

TYPED_TEST(SellOfDouble, ShapesOutOfRangeAreRefused) {
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>({2, 3, 1}, 5));
  for (int const sigma : {0, -2, 2, 16, 33, 96, 32768})
    EXPECT_THROW(Matrix::sell(exec, csr, {sigma, 0}), std::invalid_argument) << sigma;
  for (int const bits : {-2, 6}) {
    EXPECT_THROW(Matrix::sell(exec, csr, {1, bits}), std::invalid_argument) << bits;
    EXPECT_THROW(Matrix::ell(exec, csr, bits), std::invalid_argument) << bits;
  }
}

TYPED_TEST(SellOfDouble, RowsBeyond32BitSlicesAreRefused) {
  using Matrix = SellMatrix<double, TypeParam>;
  TypeParam const exec;
  int const length = 1 << 26;  // a lie about the count: nothing of it may be read
  auto const offsets = to_device(exec, std::vector<std::int32_t>{0, length});
  auto const column = to_device(exec, std::vector<std::int32_t>{0});
  auto const value = to_device(exec, std::vector<double>{1});
  CsrMatrix<double, TypeParam> const csr(exec, 1, 1, length, offsets.data(), column.data(),
                                         value.data());
  EXPECT_THROW(Matrix::sell(exec, csr, {1, 0}), std::length_error);
  EXPECT_THROW(Matrix::ell(exec, csr), std::length_error);
}

}  // namespace
