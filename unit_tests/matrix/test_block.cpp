// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "products.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <solder/matrix/block.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;
using Solder::BlockMatrix;
using Solder::CsrMatrix;
using Solder::find_blocks;
using Solder::HostCsr;

/// A matrix with that many blocks in each row of blocks, at random places, of which a share of the
/// entries is stored.
template <class Scalar>
HostCsr<Scalar> with_blocks(std::vector<int> const& lengths, int size, int block_columns,
                            double share = 1) {
  std::mt19937 generator(size);
  HostCsr<Scalar> A;
  A.rows = static_cast<std::int32_t>(lengths.size()) * size;
  A.columns_count = block_columns * size;
  A.row_offsets = {0};
  for (int const length : lengths) {
    std::vector<int> places(block_columns);
    for (int k = 0; k < block_columns; ++k) places[k] = k;
    std::shuffle(places.begin(), places.end(), generator);
    places.resize(length);
    std::sort(places.begin(), places.end());
    for (int r = 0; r < size; ++r) {
      for (int const place : places)
        for (int c = 0; c < size; ++c)
          if (generator() % 1000 < 1000 * share) A.columns.push_back(place * size + c);
      A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
    }
  }
  A.values = random_vector<Scalar>(A.columns.size(), 4);
  return A;
}

/// GPUs store blocks of 4 and 6 rows as four blocks.
template <class Exec>
int stored_size(int size) {
  return !Solder::Impl::is_host_space<Exec> && (size == 4 || size == 6) ? size / 2 : size;
}

/// The blocks that are stored: those with an entry, and on GPUs, where the rows of blocks of a warp
/// are of the same length, padding.
template <class Exec, class Scalar>
std::int64_t stored_blocks(HostCsr<Scalar> const& A, int size) {
  std::vector<std::set<std::int32_t>> rows(A.rows / size);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      rows[i / size].insert(A.columns[k] / size);
  std::size_t const together = Solder::Impl::is_host_space<Exec> ? 1 : 32 / size;
  std::size_t blocks = 0;
  for (std::size_t first = 0; first < rows.size(); first += together) {
    std::size_t longest = 0;
    for (std::size_t i = first; i < std::min(first + together, rows.size()); ++i)
      longest = std::max(longest, rows[i].size());
    blocks += together * longest;
  }
  return static_cast<std::int64_t>(blocks);
}

template <class C>
struct Block : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  using Matrix = BlockMatrix<Scalar, Exec>;

  static void expect_products_of(HostCsr<Scalar> const& host, int size) {
    SCOPED_TRACE("blocks of " + std::to_string(size));
    Exec const exec;
    Matrix const A(exec, CsrMatrix<Scalar, Exec>(exec, host), size);
    EXPECT_EQ(A.rows(), host.rows);
    EXPECT_EQ(A.columns(), host.columns_count);
    EXPECT_EQ(A.nonzeros(), host.nonzeros());
    int const stored = stored_size<Exec>(size);
    EXPECT_EQ(A.block_size(), stored);
    EXPECT_EQ(A.blocks(), (stored_blocks<Exec>(host, stored)));
    EXPECT_EQ(A.entries(), A.blocks() * stored * stored);
    expect_products(exec, host, A);
  }
};
TYPED_TEST_SUITE(Block, AllCases, TypeName);

TYPED_TEST(Block, OfEachSize) {
  using Scalar = typename TypeParam::Scalar;
  for (int size = 2; size <= 6; ++size) {
    for (int const rows : {1, 33, 200})
      this->expect_products_of(with_blocks<Scalar>(random_lengths(rows, 9, rows), size, 40), size);
    this->expect_products_of(with_blocks<Scalar>(random_lengths(100, 9, 2), size, 40, 0.6), size);
  }
}

TYPED_TEST(Block, EmptyAndLongRowsAndNone) {
  using Scalar = typename TypeParam::Scalar;
  for (int const size : {2, 3, 5}) {
    std::vector<int> lengths(300);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 3 == 1 ? 4 : 0;
    lengths[177] = 250;
    this->expect_products_of(with_blocks<Scalar>(lengths, size, 300), size);
    this->expect_products_of(with_blocks<Scalar>({0, 0, 0}, size, 5), size);
    this->expect_products_of(with_blocks<Scalar>({}, size, 5), size);
  }
}

TYPED_TEST(Block, OfAnyMatrix) {
  using Scalar = typename TypeParam::Scalar;
  this->expect_products_of(with_row_lengths<Scalar>(random_lengths(300, 12, 5), 60), 3);
}

// ---- What depends on no scalar ----

template <class Exec>
struct BlockOfDouble : testing::Test {
  using Csr = CsrMatrix<double, Exec>;
  using Matrix = BlockMatrix<double, Exec>;
};
TYPED_TEST_SUITE(BlockOfDouble, Spaces::Types, TypeName);

TYPED_TEST(BlockOfDouble, Elasticity) {
  TypeParam const exec;
  auto const host = Solder::elasticity_3d<double>(5);
  expect_products(
      exec, host,
      BlockMatrix<double, TypeParam>(exec, CsrMatrix<double, TypeParam>(exec, host), 3));
}

TYPED_TEST(BlockOfDouble, EntriesStoredTwiceAreRefused) {
  TypeParam const exec;
  HostCsr<double> host;
  host.rows = host.columns_count = 2;
  host.row_offsets = {0, 3, 4};
  host.columns = {0, 0, 1, 1};
  host.values = {1, 2, 4, 8};
  CsrMatrix<double, TypeParam> const csr(exec, host);
  EXPECT_THROW((BlockMatrix<double, TypeParam>(exec, csr, 2)), std::invalid_argument);
}

TYPED_TEST(BlockOfDouble, Offsets64BitAndOfTpetra) {
  TypeParam const exec;
  auto const host = with_blocks<double>(random_lengths(100, 9, 9), 3, 40);
  using Matrix = BlockMatrix<double, TypeParam>;
  expect_products(exec, host,
                  Matrix(exec, CsrMatrix<double, TypeParam, std::int64_t>(exec, host), 3));
  expect_products(exec, host,
                  Matrix(exec, CsrMatrix<double, TypeParam, std::size_t>(exec, host), 3));
}

TYPED_TEST(BlockOfDouble, KeepsNothingOfTheCsrMatrixAndTakesNewValues) {
  TypeParam const exec;
  expect_takes_new_values(
      exec, with_blocks<double>(random_lengths(100, 9, 9), 3, 40, 0.8),
      [&](auto const& csr) { return BlockMatrix<double, TypeParam>(exec, csr, 3); });
}

TYPED_TEST(BlockOfDouble, WorkOfAnotherInstance) {
  auto const exec = another_instance<TypeParam>();
  auto const host = with_blocks<double>(random_lengths(500, 9, 9), 3, 40);
  CsrMatrix<double, TypeParam> const csr(exec, host);
  KokkosEvents events;
  BlockMatrix<double, TypeParam> const A(exec, csr, 3);
  events.stop();
  EXPECT_EQ(events.kernels.size(), 4u) << "count, offsets, columns and values";
  expect_kernels_of(exec, events);
  for (auto const& allocation : events.allocations)
    EXPECT_EQ(allocation.label.rfind("Solder::", 0), 0u) << allocation.label;
  expect_products(exec, host, A);
}

TYPED_TEST(BlockOfDouble, WordsOfAProduct) {
  TypeParam const exec;
  auto const host = with_blocks<double>(std::vector<int>(20, 4), 3, 9);
  BlockMatrix<double, TypeParam> const A(exec, CsrMatrix<double, TypeParam>(exec, host), 3);
  int const slices = Solder::Impl::is_host_space<TypeParam> ? 20 : 2;  // of 10 rows of blocks
  EXPECT_DOUBLE_EQ(A.words(), 20 * 4 * 9 + (20 * 4 * 4 + (slices + 1) * 8) / 8.0);
}

TYPED_TEST(BlockOfDouble, WhatHasNoSuchBlocksIsRefused) {
  using Matrix = BlockMatrix<double, TypeParam>;
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const csr(exec,
                                         with_row_lengths<double>(std::vector<int>(12, 2), 18));
  for (int const size : {-1, 0, 1, 4, 5, 7, 12})
    EXPECT_THROW(Matrix(exec, csr, size), std::invalid_argument) << size;
  HostCsr<double> unsorted;
  unsorted.rows = unsorted.columns_count = 4;
  unsorted.row_offsets = {0, 1, 3, 4, 5};
  unsorted.columns = {0, 3, 1, 2, 3};
  unsorted.values = {1, 1, 1, 1, 1};
  CsrMatrix<double, TypeParam> const of_unsorted(exec, unsorted);
  EXPECT_THROW(Matrix(exec, of_unsorted, 2), std::invalid_argument);
  unsorted.columns = {0, 1, 0, 2, 3};  // within a block
  CsrMatrix<double, TypeParam> const within(exec, unsorted);
  EXPECT_THROW(Matrix(exec, within, 2), std::invalid_argument);
}

TYPED_TEST(BlockOfDouble, BlocksThatWereNotFoundInTheMatrixAreRefused) {
  using Matrix = BlockMatrix<double, TypeParam>;
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const none(exec, Solder::fem_poisson_2d<double>(30)),
      some(exec, Solder::elasticity_3d<double>(6)), others(exec, Solder::elasticity_3d<double>(5));
  EXPECT_THROW(Matrix(exec, none, find_blocks(exec, none)), std::invalid_argument);
  EXPECT_THROW(Matrix(exec, none, find_blocks(exec, some)), std::invalid_argument);
  EXPECT_THROW(Matrix(exec, others, find_blocks(exec, some)), std::invalid_argument);
}

TEST(BlockRows, EachBlockBeginsOnceInItsRows) {
  std::mt19937 random(7);
  for (int size = 2; size <= 6; ++size)
    for (double const filled : {0.1, 0.5, 0.9, 1.0}) {
      int const rows = 8 * size, columns = 12 * size;
      std::vector<int> offsets{0}, entries;
      std::vector<std::set<int>> blocks(8);
      std::bernoulli_distribution is_filled(filled);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j)
          if ((i / size + j / size) % 3 != 0 && is_filled(random)) {
            entries.push_back(j);
            blocks[i / size].insert(j / size);
          }
        offsets.push_back(int(entries.size()));
      }
      Solder::Impl::BlockRows<int> const of{offsets.data(), entries.data(), size, 8, 1};
      for (int i = 0; i < 8; ++i) {
        std::vector<int> begun;
        for (int k = offsets[i * size]; k < offsets[(i + 1) * size]; ++k)
          if (of.begins_block(i, k)) begun.push_back(entries[k] / size);
        std::sort(begun.begin(), begun.end());
        EXPECT_EQ(begun, std::vector<int>(blocks[i].begin(), blocks[i].end()))
            << "row " << i << " of blocks of " << size << ", " << filled << " filled";
      }
    }
}

TYPED_TEST(BlockOfDouble, StatisticsFindTheBlocks) {
  TypeParam const exec;
  auto const found = [&](HostCsr<double> const& host) {
    return find_blocks(exec, CsrMatrix<double, TypeParam>(exec, host));
  };
  for (int size = 2; size <= 6; ++size) {
    auto lengths = random_lengths(700, 3, 3);
    for (int& length : lengths) length += 20;
    auto const host = with_blocks<double>(lengths, size, 40);
    auto const blocks = found(host);
    ASSERT_EQ(blocks.size, stored_size<TypeParam>(size));
    EXPECT_EQ(blocks.blocks, (stored_blocks<TypeParam>(host, blocks.size)));
    CsrMatrix<double, TypeParam> const csr(exec, host);
    expect_products(exec, host, BlockMatrix<double, TypeParam>(exec, csr, blocks));
  }
  EXPECT_EQ(found(Solder::elasticity_3d<double>(6)).size, 3);
  EXPECT_EQ(found(Solder::fem_poisson_2d<double>(30)).size, 1);
  EXPECT_EQ(found(with_blocks<double>(std::vector<int>(100, 5), 3, 40, 0.5)).size, 1) << "fill";
  EXPECT_EQ(found(with_row_lengths<double>({}, 0)).size, 1);
  // A sample of 128 rows of blocks is not all: the rest has blocks with one entry.
  HostCsr<double> mixed;
  mixed.rows = mixed.columns_count = 3 * 1280;
  mixed.row_offsets = {0};
  for (int i = 0; i < mixed.rows; ++i) {
    if (i / 3 % 10 == 0)
      mixed.columns.insert(mixed.columns.end(), {0, 1, 2, 6, 7, 8});
    else
      mixed.columns.push_back(i);
    mixed.row_offsets.push_back(static_cast<std::int64_t>(mixed.columns.size()));
  }
  mixed.values = random_vector<double>(mixed.columns.size(), 4);
  EXPECT_EQ(found(mixed).size, 1);
  HostCsr<double> unsorted = with_blocks<double>(std::vector<int>(100, 5), 3, 40);
  std::reverse(unsorted.columns.begin(), unsorted.columns.begin() + unsorted.row_offsets[1]);
  EXPECT_EQ(found(unsorted).size, 1);
}

}  // namespace
