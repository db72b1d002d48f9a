// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/matrix/csr.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::HostCsr;

template <class C>
struct Csr : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;

  static void expect_products_of(std::vector<int> const& lengths, std::int32_t columns_count) {
    Exec const exec;
    auto const host = with_row_lengths<Scalar>(lengths, columns_count);
    CsrMatrix<Scalar, Exec> const A(exec, host);
    EXPECT_EQ(A.rows(), host.rows);
    EXPECT_EQ(A.columns(), host.columns_count);
    EXPECT_EQ(A.nonzeros(), host.nonzeros());
    EXPECT_EQ(A.longest_row(),
              lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()));
    expect_products(exec, host, A);
  }
};
TYPED_TEST_SUITE(Csr, AllCases, TypeName);

TYPED_TEST(Csr, OneByOneAndNone) {
  this->expect_products_of({1}, 1);
  this->expect_products_of({0}, 1);
  this->expect_products_of({}, 0);
  this->expect_products_of({}, 5);
}

TYPED_TEST(Csr, FewerRowsThanATeamHasThreads) {
  this->expect_products_of({3, 1, 0, 2, 5, 5, 1}, 9);
}

TYPED_TEST(Csr, RowsOf1To200Entries) {
  std::vector<int> lengths;
  for (int k = 1; k <= 200; ++k) lengths.push_back(k);
  this->expect_products_of(lengths, 300);
}

TYPED_TEST(Csr, RowsOfEvenLengthForEveryNumberOfLanes) {
  for (int const length : {1, 10, 11, 20, 21, 40, 41, 80, 81, 160, 161, 320, 321, 400})
    this->expect_products_of(std::vector<int>(300, length), 500);
}

TYPED_TEST(Csr, EmptyRows) {
  std::vector<int> lengths(1000);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 3 == 1 ? 4 : 0;
  this->expect_products_of(lengths, 100);
  this->expect_products_of(std::vector<int>(700, 0), 10);
}

TYPED_TEST(Csr, FewHugeRowsAmongShortOnes) {
  std::vector<int> lengths(2000, 3);
  lengths[0] = 300;
  lengths[777] = 5000;
  lengths[1999] = 65;
  for (int k = 0; k < 200; ++k)
    lengths[5 * k + 3] = 17 + k % 48;  // those that groups of lanes share
  lengths[1200] = 2048;
  lengths[1201] = 2049;
  this->expect_products_of(lengths, 6000);
  this->expect_products_of({5000}, 5000);
}

/// A host thread has more than 4 MB of them, and asks for them ahead.
TYPED_TEST(Csr, ShortRowsThatLeaveTheCaches) {
  using Exec = typename TypeParam::Exec;
  int const slices = Solder::Impl::is_host_space<Exec> ? std::min<int>(Exec().concurrency(), 4) : 1;
  std::vector<int> lengths(90000 * slices);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 1000 < 20 ? 0 : i % 14;
  this->expect_products_of(lengths, 50000);
}

TYPED_TEST(Csr, WordsOfAProduct) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  CsrMatrix<Scalar, Exec> const A(Exec(), with_row_lengths<Scalar>({2, 3, 5}, 8));
  double const bytes = 10 * (sizeof(Scalar) + 4) + 3 * 4;
  EXPECT_DOUBLE_EQ(A.words(), bytes / sizeof(Scalar));
}

// ---- What depends on no scalar ----

template <class Exec>
struct CsrOfDouble : testing::Test {};
TYPED_TEST_SUITE(CsrOfDouble, Spaces::Types, TypeName);

/// The arrays of a host matrix on the device, with row offsets of a type of choice.
template <class Exec, class Offset>
struct Arrays {
  Kokkos::View<Offset*, typename Exec::memory_space> row_offsets;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> columns;
  Kokkos::View<double*, typename Exec::memory_space> values;

  Arrays(Exec const& exec, HostCsr<double> const& host)
      : row_offsets(
            to_device(exec, std::vector<Offset>(host.row_offsets.begin(), host.row_offsets.end()))),
        columns(to_device(exec, host.columns)),
        values(to_device(exec, host.values)) {}
};

/// The members of Kokkos Kernels' CrsMatrix that count, and no others.
template <class A>
struct LookAlike {
  struct {
    decltype(A::row_offsets) row_map;
    decltype(A::columns) entries;
  } graph;
  decltype(A::values) values;
  std::int64_t columns_count;
  int numRows() const { return static_cast<int>(graph.row_map.extent(0)) - 1; }
  std::int64_t numCols() const { return columns_count; }
};

template <class Exec, class Offset>
void expect_wrapping() {
  Exec const exec;
  auto const host = with_row_lengths<double>(std::vector<int>(3000, 5), 4000);
  Arrays<Exec, Offset> const arrays(exec, host);
  using Matrix = CsrMatrix<double, Exec, Offset>;
  LookAlike<Arrays<Exec, Offset>> const other{
      {arrays.row_offsets, arrays.columns}, arrays.values, 4000};

  std::vector<std::pair<char const*, Matrix>> matrices;
  {
    KokkosEvents const events;
    matrices.emplace_back(
        "views", Matrix(exec, 3000, 4000, arrays.row_offsets, arrays.columns, arrays.values));
    matrices.emplace_back("raw arrays", Matrix(exec, 3000, 4000, 15000, arrays.row_offsets.data(),
                                               arrays.columns.data(), arrays.values.data()));
    CsrMatrix const deduced(exec, other);
    static_assert(std::is_same_v<decltype(deduced), Matrix const>);
    CsrMatrix const of_views(exec, 3000, 4000, arrays.row_offsets, arrays.columns, arrays.values);
    static_assert(std::is_same_v<decltype(of_views), Matrix const>);
    matrices.emplace_back("look-alike", deduced);
    for (auto const& allocation : events.allocations) {
      EXPECT_LT(allocation.bytes, 3000 * sizeof(std::int32_t)) << allocation.label;
      EXPECT_EQ(allocation.label.rfind("Solder::", 0), 0u) << allocation.label;
    }
    EXPECT_TRUE(events.copies.empty());
  }
  for (auto const& [name, A] : matrices) {
    SCOPED_TRACE(name);
    EXPECT_EQ(A.rows(), 3000);
    EXPECT_EQ(A.columns(), 4000);
    EXPECT_EQ(A.nonzeros(), 15000);
    EXPECT_EQ(A.row_offsets().data(), arrays.row_offsets.data());
    EXPECT_EQ(A.column_indices().data(), arrays.columns.data());
    EXPECT_EQ(A.values().data(), arrays.values.data());
    expect_products(exec, host, A);
  }
}

TYPED_TEST(CsrOfDouble, WrapsWithoutCopying) { expect_wrapping<TypeParam, std::int32_t>(); }

TYPED_TEST(CsrOfDouble, WrapsWithoutCopying64BitOffsets) {
  expect_wrapping<TypeParam, std::int64_t>();
}

TYPED_TEST(CsrOfDouble, WrapsWithoutCopyingOffsetsOfTpetra) {
  expect_wrapping<TypeParam, std::size_t>();
}

TYPED_TEST(CsrOfDouble, AnAllocationOfThatSizeWouldBeSeen) {
  TypeParam const exec;
  auto const host = with_row_lengths<double>(std::vector<int>(3000, 5), 4000);
  KokkosEvents const events;
  CsrMatrix<double, TypeParam> const A(exec, host);
  std::uint64_t largest = 0;
  for (auto const& allocation : events.allocations) largest = std::max(largest, allocation.bytes);
  EXPECT_GE(largest, 15000 * sizeof(double));
}

TYPED_TEST(CsrOfDouble, ValuesMayChangeAndViewsAreShared) {
  TypeParam const exec;
  auto host = with_row_lengths<double>({2, 3, 1}, 5);
  auto arrays = std::make_unique<Arrays<TypeParam, std::int32_t>>(exec, host);
  CsrMatrix<double, TypeParam> const A(exec, 3, 5, arrays->row_offsets, arrays->columns,
                                       arrays->values);
  auto const copy = A;
  for (auto& value : host.values) value *= -2;
  Kokkos::deep_copy(arrays->values, to_device(exec, host.values));
  arrays.reset();
  expect_products(exec, host, copy);
}

TYPED_TEST(CsrOfDouble, WorkOfAnotherInstance) {
  auto const exec = another_instance<TypeParam>();
  std::vector<int> lengths(500, 4);
  lengths[100] = 2000;
  auto const host = with_row_lengths<double>(lengths, 3000);
  KokkosEvents const events;
  CsrMatrix<double, TypeParam> const A(exec, host);
  EXPECT_FALSE(events.kernels.empty());
  expect_kernels_of(exec, events);
  expect_products(exec, host, A);
}

TYPED_TEST(CsrOfDouble, HostSlicesShareTheWork) {
  if (!Solder::Impl::is_host_space<TypeParam>) GTEST_SKIP() << "GPUs deal rows cyclically";
  TypeParam const exec;
  std::vector<int> lengths(4000, 1);
  std::fill(lengths.begin(), lengths.begin() + 400, 60);
  CsrMatrix<double, TypeParam> const A(exec, with_row_lengths<double>(lengths, 100));
  auto const op = A.device_operator();
  ASSERT_EQ(op.teams, std::min(4000, exec.concurrency()));
  EXPECT_EQ(op.rows.bounds[0], 0);
  EXPECT_EQ(op.rows.bounds[op.teams], 4000);
  // Words as the cost model has them: 1.5 an entry and 9 a row.
  double const all = 1.5 * (400 * 60 + 3600) + 9.0 * 4000;
  for (int t = 0; t < op.teams; ++t) {
    double work = 0;
    ASSERT_LE(op.rows.bounds[t], op.rows.bounds[t + 1]);
    for (int i = op.rows.bounds[t]; i < op.rows.bounds[t + 1]; ++i) work += 1.5 * lengths[i] + 9;
    EXPECT_NEAR(work, all / op.teams, 100) << "team " << t << " of " << op.teams;
  }
}

TYPED_TEST(CsrOfDouble, ExtentsMustFitTogether) {
  TypeParam const exec;
  auto const host = with_row_lengths<double>({2, 3, 1}, 5);
  Arrays<TypeParam, std::int32_t> const arrays(exec, host);
  using Matrix = CsrMatrix<double, TypeParam>;
  auto const build = [&](int rows, int columns, auto const& values) {
    Matrix(exec, rows, columns, arrays.row_offsets, arrays.columns, values);
  };
  EXPECT_NO_THROW(build(3, 5, arrays.values));
  EXPECT_THROW(build(2, 5, arrays.values), std::invalid_argument);
  EXPECT_THROW(build(4, 5, arrays.values), std::invalid_argument);
  EXPECT_THROW(build(-1, 5, arrays.values), std::invalid_argument);
  EXPECT_THROW(build(3, -5, arrays.values), std::invalid_argument);
  EXPECT_THROW(
      build(3, 5, Kokkos::View<double*, typename TypeParam::memory_space>("SolderTest::short", 5)),
      std::invalid_argument);
  try {
    build(2, 5, arrays.values);
  } catch (std::invalid_argument const& error) {
    EXPECT_NE(std::string(error.what()).find("2 rows need 3 row offsets, not 4"), std::string::npos)
        << error.what();
  }
}

TYPED_TEST(CsrOfDouble, CountsMustFitTheIndices) {
  using Matrix = CsrMatrix<double, TypeParam>;
  TypeParam const exec;
  HostCsr<double> host;  // a lie about the count: nothing of it may be read
  host.rows = host.columns_count = 1;
  for (std::int64_t const count : {std::int64_t(1) << 40, std::int64_t(1) << 31}) {
    host.row_offsets = {0, count};
    EXPECT_THROW(Matrix(exec, host), std::length_error) << count;
  }
  // Loops step beyond the last index before they compare: a little room is kept.
  std::int64_t const largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_THROW(Matrix(exec, 1, 1, largest, nullptr, nullptr, nullptr), std::length_error);
  EXPECT_THROW(Matrix(exec, 1, std::int32_t(largest), 1, nullptr, nullptr, nullptr),
               std::length_error);
  EXPECT_THROW(Matrix(exec, std::int32_t(largest), 1, 1, nullptr, nullptr, nullptr),
               std::length_error);
  Arrays<TypeParam, std::int32_t> const arrays(exec, with_row_lengths<double>({2, 3, 1}, 5));
  LookAlike<Arrays<TypeParam, std::int32_t>> other{
      {arrays.row_offsets, arrays.columns}, arrays.values, 5};
  EXPECT_NO_THROW(Matrix(exec, other));
  for (std::int64_t const count : {largest, largest + 2, std::int64_t(-1)}) {
    other.columns_count = count;
    EXPECT_THROW(Matrix(exec, other), std::length_error) << count;
  }
}

/// What std::invalid_argument f() throws says, or "nothing".
template <class F>
std::string complaint(F const& f) {
  try {
    f();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing";
}

/// A pattern that is wrong, and what is to be said of it.
struct WrongPattern {
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int32_t> columns;
  char const* what;
};

/// Of 3 rows and 5 columns.
std::vector<WrongPattern> const wrong_patterns = {
    {{1, 2, 3, 3}, {0, 1, 2}, "row 0 begins at 1, not at 0: wrong row offsets"},
    {{0, 2, 1, 3},
     {0, 1, 2},
     "row 1 begins at 2 and ends before, at 1: row offsets must not descend"},
    {{0, 5, 3, 3},
     {0, 1, 2},
     "row 1 begins at 5 and ends before, at 3: row offsets must not descend"},
    {{0, 1, 2, 2}, {0, 1, 2}, "row 2, the last, ends at 2, but there are 3 nonzeros"},
    {{0, 1, 2, 9}, {0, 1, 2}, "row 2, the last, ends at 9, but there are 3 nonzeros"},
    {{0, 1, 3, 3},
     {0, 4, 5},
     "row 1 has an entry in column 5, but there are 5 columns, counted from 0"},
    {{0, 1, 3, 5},
     {0, 4, 2, -1, 7},
     "row 2 has an entry in column -1, but there are 5 columns, counted from 0"},
};

TYPED_TEST(CsrOfDouble, HostDataAreChecked) {
  TypeParam const exec;
  auto const said_of = [&](HostCsr<double> const& host) {
    auto const said = complaint([&] { host.validate(); });
    EXPECT_EQ(complaint([&] { CsrMatrix<double, TypeParam>(exec, host); }), said);
    return said;
  };
  for (auto const& wrong : wrong_patterns)
    EXPECT_EQ(said_of({3, 5, wrong.row_offsets, wrong.columns,
                       std::vector<double>(wrong.columns.size())}),
              std::string("Solder::HostCsr: ") + wrong.what);
  EXPECT_EQ(said_of({3, 5, {0, 1, 1, 1}, {4}, {1}}), "nothing");
  EXPECT_EQ(said_of({3, 5, {0, 1, 1}, {4}, {1}}),
            "Solder::HostCsr: 3 rows need 4 row offsets, not 3");
  EXPECT_EQ(said_of({3, 5, {}, {}, {}}), "Solder::HostCsr: 3 rows need 4 row offsets, not 0");
  EXPECT_EQ(said_of({3, 5, {0, 1, 1, 1}, {4}, {1, 2}}),
            "Solder::HostCsr: there must be as many values as column indices, 1, not 2");
  EXPECT_EQ(said_of({-3, 5, {}, {}, {}}),
            "Solder::HostCsr: -3 rows and 5 columns must not be negative");
  EXPECT_EQ(said_of({0, 5, {}, {1}, {1}}), "Solder::HostCsr: there are no rows, but 1 nonzeros");
  EXPECT_EQ(said_of({0, 5, {0}, {1}, {1}}), "Solder::HostCsr: there are no rows, but 1 nonzeros");
}

TYPED_TEST(CsrOfDouble, ADefaultMadeHostMatrixIsEmpty) {
  TypeParam const exec;
  HostCsr<double> const host;
  EXPECT_EQ(host.nonzeros(), 0);
  EXPECT_NO_THROW(host.validate());
  CsrMatrix<double, TypeParam> const A(exec, host);
  EXPECT_EQ(A.rows(), 0);
  EXPECT_EQ(A.columns(), 0);
  EXPECT_EQ(A.nonzeros(), 0);
  EXPECT_EQ(to_host(exec, A.row_offsets()), std::vector<std::int32_t>{0});
  EXPECT_NO_THROW(A.validate(exec));
  expect_products(exec, host, A);
}

/// What Kokkos Kernels' CrsMatrix is before anything is assigned to it.
template <class Exec>
struct DefaultMade {
  struct {
    Kokkos::View<std::int32_t const*, typename Exec::memory_space> row_map, entries;
  } graph;
  Kokkos::View<double const*, typename Exec::memory_space> values;
  int numRows() const { return 0; }
  int numCols() const { return 0; }
};

TYPED_TEST(CsrOfDouble, NoRowsNeedNoOffsets) {
  using Matrix = CsrMatrix<double, TypeParam>;
  TypeParam const exec;
  DefaultMade<TypeParam> const nothing;
  Kokkos::View<std::int32_t*, typename TypeParam::memory_space> const none("SolderTest::none", 0);
  typename Matrix::Columns const no_columns;
  typename Matrix::Values const no_values;
  HostCsr<double> const host{0, 3, {}, {}, {}};
  for (Matrix const& A : {Matrix(exec, nothing), Matrix(exec, 0, 3, 0, nullptr, nullptr, nullptr),
                          Matrix(exec, 0, 3, none, no_columns, no_values), Matrix(exec, host)}) {
    EXPECT_EQ(A.rows(), 0);
    EXPECT_EQ(A.nonzeros(), 0);
    EXPECT_EQ(A.longest_row(), 0);
    EXPECT_EQ(to_host(exec, A.row_offsets()), std::vector<std::int32_t>{0});
    EXPECT_NO_THROW(A.validate(exec));
  }
  EXPECT_EQ(complaint([&] { Matrix(exec, 0, 3, 2, nullptr, nullptr, nullptr); }),
            "Solder::CsrMatrix: there are no rows, but 2 nonzeros");
  EXPECT_EQ(complaint([&] { Matrix(exec, 2, 3, 5, nullptr, nullptr, nullptr); }),
            "Solder::CsrMatrix: an array of a matrix with 2 rows and 5 nonzeros is a null pointer");
}

template <class Exec, class Offset>
void expect_device_data_validated() {
  Exec const exec = another_instance<Exec>();
  auto const said_of = [&](std::int32_t rows, std::vector<std::int64_t> const& row_offsets,
                           std::vector<std::int32_t> const& columns) {
    Arrays<Exec, Offset> const arrays(
        exec, HostCsr<double>{rows, 5, row_offsets, columns, std::vector<double>(columns.size())});
    CsrMatrix<double, Exec, Offset> const A(exec, rows, 5, arrays.row_offsets, arrays.columns,
                                            arrays.values);
    KokkosEvents const events;
    auto const said = complaint([&] { A.validate(exec); });
    EXPECT_LE(events.kernels.size(), 2u);
    expect_kernels_of(exec, events);
    return said;
  };
  for (auto const& wrong : wrong_patterns)
    EXPECT_EQ(said_of(3, wrong.row_offsets, wrong.columns),
              std::string("Solder::CsrMatrix: ") + wrong.what);
  EXPECT_EQ(said_of(3, {0, 1, 1, 3}, {4, 0, 4}), "nothing");
  EXPECT_EQ(said_of(0, {0}, {}), "nothing");
  EXPECT_EQ(said_of(0, {0}, {1}), "Solder::CsrMatrix: there are no rows, but 1 nonzeros");
  EXPECT_EQ(said_of(0, {2}, {1, 1}),
            "Solder::CsrMatrix: row 0 begins at 2, not at 0: wrong row offsets");
  auto const large = with_row_lengths<double>(std::vector<int>(3000, 2), 5);
  EXPECT_EQ(said_of(3000, large.row_offsets, large.columns), "nothing");
  auto columns = large.columns;
  columns[2 * 1234 + 1] = columns[2 * 2345] = 5;
  EXPECT_EQ(
      said_of(3000, large.row_offsets, columns),
      "Solder::CsrMatrix: row 1234 has an entry in column 5, but there are 5 columns, counted "
      "from 0");
}

TYPED_TEST(CsrOfDouble, DeviceDataAreValidatedOnRequest) {
  expect_device_data_validated<TypeParam, std::int32_t>();
  expect_device_data_validated<TypeParam, std::int64_t>();
  expect_device_data_validated<TypeParam, std::size_t>();
}

// ---- Sums with twice the digits ----

__extension__ using Exact = __int128;

/// Products of whole numbers have up to 100 bits; a sum in double would be 2^48 off.
template <class Sum>
void expect_twice_the_digits(Sum const& sum_of) {
  std::mt19937_64 generator(5);
  auto const whole = [&] {
    auto const size = double(std::int64_t(generator() >> 14));
    return generator() % 2 == 0 ? size : -size;
  };
  for (int const length : {0, 1, 2, 5, 27, 200}) {
    std::vector<double> values, x;
    std::vector<std::int32_t> columns;
    Exact exact = 0;
    for (int k = 0; k < length; ++k) {
      values.push_back(whole());
      columns.push_back(length - 1 - k);
      x.insert(x.begin(), whole());
      exact += Exact(values.back()) * Exact(x.front());
    }
    auto const sum = sum_of(values.data(), columns.data(), x.data(), 0, length);
    Exact const off = Exact(sum.high) + Exact(sum.low) - exact;
    EXPECT_LE(std::abs(double(off)), 8.0 * length * length) << length << " terms";
  }
}
TEST(TwiceSums, HaveTwiceTheDigitsOfDouble) {
  expect_twice_the_digits(&Solder::Impl::twice_sum<double, std::int32_t>);
  expect_twice_the_digits(Solder::Impl::twice_sum_of_host<double, std::int32_t>());
}

/// 2^60 + 1 - 2^60, of floats.
TEST(TwiceSums, OfFloatsAreExact) {
  std::vector<float> const values{0x1p40f, 1, -0x1p40f}, x{0x1p20f, 1, 0x1p20f};
  std::vector<std::int32_t> const columns{0, 1, 2};
  auto const sum = Solder::Impl::twice_sum_of_host<float, std::int64_t>()(
      values.data(), columns.data(), x.data(), std::int64_t(0), std::int64_t(3));
  EXPECT_EQ(sum.high + sum.low, 1);
}

}  // namespace
