// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <solder/preconditioners/detail/triangular/minimum_degree.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>

namespace {

using namespace SolderTest;
using Solder::HostCsr;
using Solder::Impl::triangular::minimum_degree;
using Solder::Impl::triangular::MinimumDegree;
using Solder::Impl::triangular::neighbours_of;

TEST(MinimumDegree, IsAPermutation) {
  std::mt19937 generator(7);
  for (int turn = 0; turn < 300; ++turn) {
    auto const rows = static_cast<std::int32_t>(1 + generator() % 60);
    std::vector<std::int32_t> offsets{0}, columns;
    for (std::int32_t i = 0; i < rows; ++i) {
      for (unsigned k = generator() % 5; k > 0; --k)
        columns.push_back(static_cast<std::int32_t>(generator() % rows));
      if (i == 0 && turn % 3 == 0)  // a row with all columns
        for (std::int32_t j = 0; j < rows; ++j) columns.push_back(j);
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    auto order = minimum_degree(neighbours_of(rows, offsets.data(), columns.data()));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), std::size_t(rows));
    for (std::int32_t i = 0; i < rows; ++i) ASSERT_EQ(order[i], i);
  }
}

/// The entries of each column of the Cholesky factor, by elimination of sets.
std::vector<std::size_t> factor_columns(HostCsr<double> const& A,
                                        std::vector<std::int32_t> const& order) {
  std::vector<std::int32_t> rank(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i) rank[order[i]] = i;
  std::vector<std::set<std::int32_t>> later(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (rank[A.columns[k]] > rank[i]) later[rank[i]].insert(rank[A.columns[k]]);
  std::vector<std::size_t> entries;
  for (auto& row : later) {
    entries.push_back(row.size() + 1);
    if (row.empty()) continue;
    auto const parent = *row.begin();
    row.erase(row.begin());
    later[parent].insert(row.begin(), row.end());
  }
  return entries;
}
std::size_t factor_entries(HostCsr<double> const& A, std::vector<std::int32_t> const& order) {
  auto const columns = factor_columns(A, order);
  return std::accumulate(columns.begin(), columns.end(), std::size_t(0));
}

TEST(MinimumDegree, KnowsWhatTheFactorTakes) {
  auto const expect = [](HostCsr<double> const& A, bool has_dense_row) {
    MinimumDegree by_degree(neighbours_of(A.rows, A.row_offsets.data(), A.columns.data()));
    auto const columns = factor_columns(A, by_degree.order());
    double entries = 0, products = 0;
    for (auto const length : columns) {
      entries += double(length);
      products += double(length) * double(length);
    }
    EXPECT_GE(by_degree.entries(), entries);
    EXPECT_GE(by_degree.products(), products);
    // Each row before a dense one counts as its neighbour.
    EXPECT_LE(by_degree.entries(), entries + (has_dense_row ? A.rows : 0));
    if (!has_dense_row) {
      EXPECT_EQ(by_degree.products(), products);
    }
  };
  expect(Solder::fem_poisson_2d<double>(17), false);
  expect(Solder::fem_poisson_2d<double>(1), false);
  for (unsigned seed = 1; seed <= 20; ++seed)
    expect(Solder::random_spd<double>(40 + 10 * seed, 3, seed), false);
  for (int const neighbours : {39, 250}) {  // of the last of 300 rows; 174 are many
    std::vector<std::vector<double>> arrow(300, std::vector<double>(300));
    for (int i = 0; i < 300; ++i) arrow[i][i] = 1;
    for (int i = 0; i < neighbours; ++i) arrow[i][299] = arrow[299][i] = 1;
    expect(sparse(arrow), neighbours > 174);
  }
}

TEST(MinimumDegree, MakesLittleFill) {
  // A tree has none, whatever its numbering.
  std::mt19937 generator(3);
  std::vector<std::vector<double>> tree(40, std::vector<double>(40));
  std::vector<int> number(40);
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), generator);
  for (int i = 1; i < 40; ++i) {
    int const a = number[i], b = number[generator() % i];
    tree[a][b] = tree[b][a] = -1;
  }
  auto const with_order = [](HostCsr<double> const& A) {
    return factor_entries(
        A, minimum_degree(neighbours_of(A.rows, A.row_offsets.data(), A.columns.data())));
  };
  EXPECT_EQ(with_order(sparse(tree)), 40u + 39u);

  // A grid: nested dissection takes 31/4 n log2 n + O(n), the natural order n^1.5.
  auto const grid = Solder::fem_poisson_2d<double>(40);
  std::vector<std::int32_t> natural(grid.rows);
  std::iota(natural.begin(), natural.end(), 0);
  EXPECT_LT(double(with_order(grid)), 0.5 * double(factor_entries(grid, natural)));
}

}  // namespace
