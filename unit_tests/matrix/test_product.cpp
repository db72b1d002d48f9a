// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of two sparse matrices against plain loops.
#include "../support.hpp"
#include "rows_in_groups.hpp"

#include <atomic>
#include <map>
#include <stdexcept>

#include <solder/matrix/product.hpp>
#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;
using ComplexDouble = Kokkos::complex<double>;
using Solder::CsrMatrix;
using Solder::HostCsr;

/// Columns in any order and with duplicates, every fourth row empty, row 1 of `longest` entries.
template <class Scalar>
HostCsr<Scalar> random_matrix(std::int32_t rows, std::int32_t columns, int longest, unsigned seed) {
  std::mt19937 generator(seed);
  HostCsr<Scalar> A{rows, columns, {0}, {}, {}};
  for (std::int32_t i = 0; i < rows; ++i) {
    int const length = columns == 0 || i % 4 == 3 ? 0 : i == 1 ? longest : int(generator() % 12);
    for (int k = 0; k < length; ++k)
      A.columns.push_back(static_cast<std::int32_t>(generator() % columns));
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<Scalar>(A.columns.size(), seed + 1);
  return A;
}

template <class Scalar, class Exec>
void check_product(Exec const& exec, HostCsr<Scalar> const& X_host, HostCsr<Scalar> const& Y_host) {
  CsrMatrix<Scalar, Exec> const X(exec, X_host), Y(exec, Y_host);
  auto const Z = Solder::product(exec, X, Y);
  ASSERT_EQ(Z.rows(), X_host.rows);
  ASSERT_EQ(Z.columns(), Y_host.columns_count);
  auto const offsets = to_host(exec, Z.row_offsets());
  auto const columns = to_host(exec, Z.column_indices());
  auto const values = to_host(exec, Z.values());
  ASSERT_EQ(offsets.size(), std::size_t(X_host.rows) + 1);
  ASSERT_EQ(offsets[0], 0);
  for (std::int32_t i = 0; i < X_host.rows; ++i) {
    struct Sum {
      Complex value = 0;
      double sizes = 0;
      int terms = 0;
    };
    std::map<std::int32_t, Sum> expected;
    for (auto k = X_host.row_offsets[i]; k < X_host.row_offsets[i + 1]; ++k)
      for (auto q = Y_host.row_offsets[X_host.columns[k]];
           q < Y_host.row_offsets[X_host.columns[k] + 1]; ++q) {
        Complex const term =
            SolderTest::plain(X_host.values[k]) * SolderTest::plain(Y_host.values[q]);
        Sum& sum = expected[Y_host.columns[q]];
        sum.value += term;
        sum.sizes += std::abs(term);
        ++sum.terms;
      }
    ASSERT_EQ(std::size_t(offsets[i + 1] - offsets[i]), expected.size()) << "row " << i;
    auto k = offsets[i];
    for (auto const& [column, sum] : expected) {
      ASSERT_EQ(columns[k], column) << "row " << i;
      ASSERT_LE(std::abs(SolderTest::plain(values[k]) - sum.value),
                (sum.terms + 3) * epsilon<Scalar> * sum.sizes)
          << "row " << i << ", column " << column;
      ++k;
    }
  }
  auto const again = Solder::product(exec, X, Y);
  EXPECT_TRUE(same_bits(to_host(exec, again.row_offsets()), offsets));
  EXPECT_TRUE(same_bits(to_host(exec, again.column_indices()), columns));
  EXPECT_TRUE(same_bits(to_host(exec, again.values()), values));
}

template <class Scalar, class Exec>
void check_products(Exec const& exec) {
  check_product(exec, random_matrix<Scalar>(90, 150, 700, 1),
                random_matrix<Scalar>(150, 70, 300, 2));
  check_product(exec, random_matrix<Scalar>(400, 300, 500, 3),
                random_matrix<Scalar>(300, 2000, 20, 4));
  check_product(exec, random_matrix<Scalar>(2, 40, 9, 5), random_matrix<Scalar>(40, 1, 9, 6));
  for (int const n : {0, 5})
    for (int const k : {0, 5})
      for (int const m : {0, 5})
        check_product(exec, random_matrix<Scalar>(n, k, 3, 7), random_matrix<Scalar>(k, m, 3, 8));
}

template <class Exec>
struct ProductOn : testing::Test {};
TYPED_TEST_SUITE(ProductOn, Spaces::Types, TypeName);

TYPED_TEST(ProductOn, IsThatOfPlainLoops) {
  TypeParam const exec;
  check_products<float>(exec);
  check_products<double>(exec);
  check_products<ComplexDouble>(exec);
  check_product(exec, Solder::fem_poisson_2d<double>(30), Solder::fem_poisson_2d<double>(30));
}

template <class Scalar, class Exec>
void check_rows_of_every_length(Exec const& exec) {
  HostCsr<Scalar> Y{0, 8000, {0}, {}, {}};
  for (int const size :
       {32, 40, 48, 96, 128, 184, 192, 384, 736, 768, 1536, 3072, 6112, 6144, 7990})
    for (int length = size - 3; length <= size + 3; ++length)
      for (int const entries : {length, length % 7}) {
        for (int k = 0; k < entries; ++k) Y.columns.push_back(k * 1009 % 8000);
        Y.row_offsets.push_back(static_cast<std::int64_t>(Y.columns.size()));
        ++Y.rows;
      }
  Y.values = random_vector<Scalar>(Y.columns.size(), 9);
  check_product(exec, diagonal(random_vector<Scalar>(Y.rows, 10)), Y);
  // Two rows of Y for each: as long, and twice as many terms.
  HostCsr<Scalar> X{Y.rows, Y.rows, {0}, {}, random_vector<Scalar>(2 * Y.rows, 11)};
  for (std::int32_t i = 0; i < Y.rows; ++i) {
    X.columns.insert(X.columns.end(), {i, Y.rows - 1 - i});
    X.row_offsets.push_back(2 * i + 2);
  }
  check_product(exec, X, Y);
}

/// Rows of all lengths around those at which tables grow or end, long and short ones alternately.
TYPED_TEST(ProductOn, HasRowsOfEveryLength) {
  check_rows_of_every_length<double>(TypeParam());
  check_rows_of_every_length<ComplexDouble>(TypeParam());
}

/// Rows of X Y that have `terms` terms each, 2 of each column, but for a few rows.
HostCsr<double> with_terms(std::int32_t rows, int terms) {
  HostCsr<double> X{rows, 1000, {0}, {}, {}};
  for (std::int32_t i = 0; i < rows; ++i) {
    for (int k = 0; k < terms - i % 3; ++k) X.columns.push_back((i * 7 + k / 2) % 1000);
    X.row_offsets.push_back(static_cast<std::int64_t>(X.columns.size()));
  }
  X.values = random_vector<double>(X.columns.size(), 12);
  return X;
}

/// As many terms as a thread takes alone, and a few more and less.
TYPED_TEST(ProductOn, HasRowsOfSoManyTerms) {
  TypeParam const exec;
  auto const Y = diagonal(random_vector<double>(1000, 13));
  for (int const terms :
       {38, 39, 40, 41, 42, 64, 65, 66, 126, 127, 128, 129, 130, 298, 299, 300, 301, 302})
    check_product(exec, with_terms(500, terms), Y);
  if (Solder::Impl::is_host_space<TypeParam>) return;
  // More rows than half of a GPU's threads: counted by threads too.
  check_product(exec, with_terms(exec.concurrency() / 2 + 1, 66), Y);
}

/// Rows with the same columns are summed together. Each has the bits that it has alone.
template <class Scalar, class Exec>
void check_rows_in_groups(Exec const& exec) {
  for (int const most : {3, 12, 40, 400}) {
    auto const Y = rows_in_groups<Scalar>(1, 40, most < 100 ? 300 : 3000, most, 20);
    auto const X = rows_in_groups<Scalar>(0, most < 100 ? 50 : 9, Y.rows, most, 21);
    check_product(exec, X, Y);
    // With an empty row after each, none are alike.
    HostCsr<Scalar> apart{2 * X.rows, X.columns_count, {0}, X.columns, X.values};
    for (std::int32_t i = 0; i < X.rows; ++i)
      apart.row_offsets.insert(apart.row_offsets.end(), 2, X.row_offsets[i + 1]);
    CsrMatrix<Scalar, Exec> const Y_there(exec, Y);
    if constexpr (!Solder::Impl::is_host_space<Exec>) {
      EXPECT_TRUE(Solder::Impl::many_alike_rows(exec, CsrMatrix<Scalar, Exec>(exec, X)));
      EXPECT_FALSE(Solder::Impl::many_alike_rows(exec, CsrMatrix<Scalar, Exec>(exec, apart)));
    }
    auto const together = Solder::product(exec, CsrMatrix<Scalar, Exec>(exec, X), Y_there),
               alone = Solder::product(exec, CsrMatrix<Scalar, Exec>(exec, apart), Y_there);
    EXPECT_TRUE(same_bits(to_host(exec, together.values()), to_host(exec, alone.values())));
  }
}

TYPED_TEST(ProductOn, HasRowsInGroups) {
  TypeParam const exec;
  check_rows_in_groups<double>(exec);
  check_rows_in_groups<float>(exec);
  check_rows_in_groups<ComplexDouble>(exec);
}

/// On hosts the places of sums are counted on from row to row, and start again before they
/// overflow.
TEST(Product, CountsPlacesFromRowToRow) {
  constexpr std::int32_t width = 7;
  std::vector<std::int32_t> place(width, 5);
  Solder::Impl::SummedRows<double, 3 * width> row(place.data(), width);
  for (std::int32_t i = 0; i < 40; ++i) {
    row.begin<1>();
    EXPECT_EQ(row.size(), 0);
    std::vector<std::int32_t> const columns{(i + 4) % width, i % width, (i + 2) % width};
    std::vector<double> const values{1.0 + i, 2.0 + i, 4.0 + i};
    double const one = 1, ten = 10;
    row.add<1>(1, &one, columns.data(), values.data(), 3);
    row.add<1>(1, &ten, columns.data() + 1, values.data() + 1, 2);
    for (std::int32_t const at : place) EXPECT_LT(at, 3 * width) << "row " << i;
    std::map<std::int32_t, double> const expected{
        {columns[0], values[0]}, {columns[1], 11 * values[1]}, {columns[2], 11 * values[2]}};
    ASSERT_EQ(row.size(), 3);
    std::vector<std::int32_t> stored(3);
    std::vector<double> sums(3);
    row.store<1>(stored.data(), sums.data());
    std::size_t at = 0;
    for (auto const& [column, sum] : expected) {
      EXPECT_EQ(stored[at], column) << "row " << i;
      EXPECT_EQ(sums[at++], sum) << "row " << i;
    }
  }
}

/// On hosts no more rows are kept than a matrix may have entries, but all lengths are noted.
TEST(Product, KeepsNoRowsThatAreTooMany) {
  Kokkos::DefaultHostExecutionSpace const exec;
  HostCsr<double> Y_host{1, 1000, {0, 1000}, {}, random_vector<double>(1000, 16)};
  for (std::int32_t k = 0; k < 1000; ++k) Y_host.columns.push_back(k);
  HostCsr<double> X_host{
      200, 1, {0}, std::vector<std::int32_t>(200, 0), random_vector<double>(200, 17)};
  for (std::int32_t i = 1; i <= 200; ++i) X_host.row_offsets.push_back(i);
  CsrMatrix<double, Kokkos::DefaultHostExecutionSpace> const X(exec, X_host), Y(exec, Y_host);
  for (std::int64_t const most : {200000, 100000}) {
    using Rows = Solder::Impl::ProductRowsOnHosts<double>;
    std::vector<std::int32_t> places(1000), lengths(200);
    std::vector<Rows::Worker> worker(1);
    std::atomic<std::int64_t> entries = 0;
    Rows rows{.X = X.device_operator(), .Y = Y.device_operator(), .width = 1000};
    rows.workers = 1;
    rows.places = places.data();
    rows.of_worker = worker.data();
    rows.entries = &entries;
    rows.most = most;
    rows.lengths = lengths.data();
    rows(0);
    EXPECT_EQ(worker[0].rows.is_empty(), most < 200000);
    for (std::int32_t const length : lengths) EXPECT_EQ(length, 1000);
  }
}

/// Rows that fill the memory that a thread of a host keeps them in, and a row that is longer.
TYPED_TEST(ProductOn, HasMoreEntriesThanAThreadKeepsAtOnce) {
  TypeParam const exec;
  HostCsr<float> Y{40, 40000, {0}, {}, {}};
  for (std::int32_t i = 0; i < Y.rows; ++i) {
    for (std::int32_t k = 0; k < (i == 21 ? 40000 : 3000 - i); ++k)
      Y.columns.push_back(static_cast<std::int32_t>((k * 7919LL + i) % 40000));
    Y.row_offsets.push_back(static_cast<std::int64_t>(Y.columns.size()));
  }
  Y.values = random_vector<float>(Y.columns.size(), 15);
  check_product(exec, diagonal(random_vector<float>(Y.rows, 14)), Y);
}

TYPED_TEST(ProductOn, RefusesWhatDoesNotFit) {
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const X(exec, random_matrix<double>(3, 4, 2, 1)),
      Y(exec, random_matrix<double>(3, 4, 2, 2));
  EXPECT_THROW(Solder::product(exec, X, Y), std::invalid_argument);
}

}  // namespace
