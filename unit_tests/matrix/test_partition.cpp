// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include <solder/matrix/compressed_rows.hpp>
#include <solder/matrix/partition.hpp>

namespace {

using namespace SolderTest;
using Solder::EqualSlices;

template <class Exec>
struct EqualSlicesOn : testing::Test {};
TYPED_TEST_SUITE(EqualSlicesOn, Spaces::Types, TypeName);

TYPED_TEST(EqualSlicesOn, CoverEveryRowOnce) {
  using Exec = TypeParam;
  Exec const exec;
  for (std::int32_t n : {0, 1, 2, 3, 7, 1000, 1001}) {
    EqualSlices<Exec> const slices(exec, n);
    EqualSlices<Exec> const copy = slices;
    Solder::Rows const rows = copy.rows();
    EXPECT_EQ(rows, slices.rows()) << n;
    EXPECT_EQ(rows.count, n);
    ASSERT_GE(rows.teams, 1);
    if constexpr (!Solder::Impl::is_host_space<Exec>) {
      EXPECT_EQ(rows.bounds, nullptr);
    } else {
      EXPECT_EQ(rows.teams, std::clamp(n, 1, exec.concurrency()));
      ASSERT_EQ(rows.bounds[0], 0);
      ASSERT_EQ(rows.bounds[rows.teams], n);
      for (int t = 0; t < rows.teams; ++t) {
        std::int32_t const length = rows.bounds[t + 1] - rows.bounds[t];
        EXPECT_GE(length, n / rows.teams) << n << " rows, slice " << t;
        EXPECT_LE(length, n / rows.teams + 1) << n << " rows, slice " << t;
      }
    }
  }
}

TYPED_TEST(EqualSlicesOn, RefuseRowsThatKernelsDoNotTake) {
  using Exec = TypeParam;
  Exec const exec;
  EXPECT_THROW(EqualSlices<Exec>(exec, -1), std::length_error);
  EXPECT_THROW(EqualSlices<Exec>(exec, 2147483647), std::length_error);
}

TEST(CompressedRows, AreMetUpwards) {
  std::int32_t const bounds[] = {0, 3, 3, 8}, offsets[] = {0, 1, 1, 2, 3, 4, 5, 6, 6},
                     columns[] = {0, 1, 2, 3, 4, 5};
  double const values[] = {1, 1, 1, 1, 1, 1}, x[] = {10, 11, 12, 13, 14, 15};
  std::vector<std::pair<int, double>> met;
  for (int team = 0; team < 3; ++team)
    Solder::Impl::compressed_products(
        Solder::Impl::HostTeam{team, 3}, Solder::Rows{8, 3, bounds}, offsets, columns, values,
        &x[0], [&](std::int32_t i, double product) { met.emplace_back(i, product); });
  std::vector<std::pair<int, double>> const expected{{0, 10}, {1, 0},  {2, 11}, {3, 12},
                                                     {4, 13}, {5, 14}, {6, 15}, {7, 0}};
  EXPECT_EQ(met, expected);
}

/// Whether memory is asked ahead depends on all rows of a thread.
TEST(CompressedRows, OfAWindowTellOfAllThatTheThreadHas) {
  std::int32_t const bounds[] = {0, 3, 3, 8};
  Solder::Rows const rows{8, 3, bounds};
  Solder::Impl::HostTeam const window = Solder::Impl::HostTeam{2, 3}.window(4, 5);
  EXPECT_EQ(window.whole(rows).first(rows), 3);
  EXPECT_EQ(window.whole(rows).last(rows), 8);
  Solder::Impl::HostTeam of_batch = window;
  of_batch.of_batch_ = 0;
  for (auto const& [team, other] :
       {std::pair(of_batch, rows), std::pair(window, Solder::Rows{8, 3, nullptr}),
        std::pair(window, Solder::Rows{8, 2, bounds})}) {
    EXPECT_EQ(team.whole(other).first(other), 4);
    EXPECT_EQ(team.whole(other).last(other), 5);
  }
  using Solder::Impl::EntriesAhead;
  std::int64_t const many = 2'000'000;
  EXPECT_TRUE(EntriesAhead<double>(nullptr, nullptr, many / 4, many).helps());
  EXPECT_FALSE(EntriesAhead<double>(nullptr, nullptr, many / 3, many).helps()) << "short rows";
  EXPECT_FALSE(EntriesAhead<double>(nullptr, nullptr, many / 8, many / 2).helps()) << "few";
}

/// Rows of no entry to several pieces.
TEST(CompressedRows, AreSummedWhereMemoryIsAskedAhead) {
  std::int32_t const n = 50'000, lengths[] = {0, 1, 2, 7, 15, 16, 17, 18, 31, 32, 33, 48, 49, 97};
  std::vector<std::int64_t> offsets{0};
  for (std::int32_t i = 0; i < n; ++i) offsets.push_back(offsets.back() + lengths[i % 14]);
  auto const entries = static_cast<std::size_t>(offsets.back());
  ASSERT_GT(entries * 12, std::size_t(12) << 20);
  std::vector<std::int32_t> columns(entries);
  std::vector<double> values(entries), x(n), expected(n, 0), products(n, -1);
  for (std::size_t k = 0; k < entries; ++k) {
    columns[k] = static_cast<std::int32_t>(k * 7919 % n);
    values[k] = 1.0 / static_cast<double>(1 + k % 101);
  }
  for (std::int32_t i = 0; i < n; ++i) x[i] = 1 + 1.0 / (1 + i % 1009);
  for (std::int32_t i = 0; i < n; ++i)
    for (auto k = offsets[i]; k < offsets[i + 1]; ++k) expected[i] += values[k] * x[columns[k]];
  Solder::Impl::HostTeam const team{0, 1};
  for (auto const& part : {team, team.window(100, 228), team.window(n - 1, n)}) {
    Solder::Rows const rows{n, 1, nullptr};
    std::int32_t next = part.first(rows);
    Solder::Impl::compressed_products(part, rows, offsets.data(), columns.data(), values.data(),
                                      x.data(), [&](std::int32_t i, double product) {
                                        EXPECT_EQ(i, next++);
                                        products[i] = product;
                                      });
    EXPECT_EQ(next, part.last(rows));
  }
  for (std::int32_t i = 0; i < n; ++i)
    ASSERT_NEAR(products[i], expected[i], 1e-14 * std::abs(expected[i])) << i;
}

}  // namespace
