// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "products.hpp"

#include <algorithm>
#include <cmath>

#include <solder/matrix/format.hpp>

namespace {

using namespace SolderTest;
using Solder::choose_format;
using Solder::CsrMatrix;
using Solder::MatrixFormat;
using Solder::row_statistics;
using Solder::RowStatistics;
using Solder::SellMatrix;

template <class Exec>
struct Format : testing::Test {
  static RowStatistics statistics_of(std::vector<int> const& lengths, int columns_count) {
    Exec const exec;
    return row_statistics(
        exec, CsrMatrix<double, Exec>(exec, with_row_lengths<double>(lengths, columns_count)));
  }
};
TYPED_TEST_SUITE(Format, Spaces::Types, TypeName);

TYPED_TEST(Format, StatisticsOfRows) {
  std::vector<int> const lengths = {4, 0, 7, 3, 3, 1, 12, 2};
  RowStatistics const s = this->statistics_of(lengths, 20);
  EXPECT_EQ(s.rows, 8);
  EXPECT_EQ(s.nonzeros, 32);
  EXPECT_EQ(s.shortest, 0);
  EXPECT_EQ(s.longest, 12);
  EXPECT_DOUBLE_EQ(s.mean, 4);
  double squares = 0;
  for (int const length : lengths) squares += (length - 4.0) * (length - 4.0);
  EXPECT_NEAR(s.deviation, std::sqrt(squares / 8), 1e-14);
  EXPECT_EQ(s.sell_entries, 12 * 32);
  EXPECT_EQ(s.ell_entries, 12 * 32);
}

TYPED_TEST(Format, StatisticsOfEvenAndOfNoRows) {
  RowStatistics s = this->statistics_of(std::vector<int>(1000, 5), 20);
  EXPECT_EQ(s.deviation, 0);
  EXPECT_EQ(s.shortest, 5);
  s = this->statistics_of({}, 3);
  EXPECT_EQ(s.rows, 0);
  EXPECT_EQ(s.ell_entries, 0);
  EXPECT_EQ(choose_format(MatrixFormat::automatic, s, 8, false).format, MatrixFormat::csr);
}

TYPED_TEST(Format, StatisticsAreThoseOfTheMatricesMade) {
  TypeParam const exec;
  std::vector<int> lengths;
  for (int i = 0; i < 5000; ++i) lengths.push_back(2 + i * i % 37);
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>(lengths, 60));
  RowStatistics const s = row_statistics(exec, csr);
  auto const sell = SellMatrix<double, TypeParam>::sell(exec, csr);
  EXPECT_EQ(s.sell_entries, sell.entries());
  EXPECT_EQ(s.sigma, sell.sigma());
  EXPECT_EQ(s.ell_entries, (SellMatrix<double, TypeParam>::ell(exec, csr).entries()));
}

TYPED_TEST(Format, StatisticsTakeOneKernelWhereSortingCannotPay) {
  auto const exec = another_instance<TypeParam>();
  std::vector<int> lengths;
  for (int i = 0; i < 5000; ++i) lengths.push_back(2 + i * i % 37);
  CsrMatrix<double, TypeParam> const csr(exec, with_row_lengths<double>(lengths, 60));
  KokkosEvents events;
  RowStatistics const s = row_statistics(exec, csr, MatrixFormat::automatic);
  events.stop();
  EXPECT_EQ(events.kernels.size(), 1u);
  EXPECT_EQ(s.sigma, 1);
  std::int64_t const lanes = std::int64_t(1) << s.sell_lane_bits;
  std::int64_t entries = 0;
  for (std::size_t first = 0; first < lengths.size(); first += 32 / lanes) {
    auto const begin = lengths.begin() + std::ptrdiff_t(first);
    auto const end = begin + std::min<std::ptrdiff_t>(32 / lanes, lengths.end() - begin);
    entries += (*std::max_element(begin, end) + lanes - 1) / lanes * 32;
  }
  EXPECT_EQ(s.sell_entries, entries);
}

/// Of a large matrix on a GPU.
RowStatistics rows_of(int shortest, int longest, std::int64_t nonzeros, std::int64_t sell_entries,
                      std::int64_t ell_entries) {
  RowStatistics s;
  s.rows = 1'000'000;
  s.nonzeros = nonzeros;
  s.shortest = shortest;
  s.longest = longest;
  s.mean = double(nonzeros) / s.rows;
  s.sigma = 1024;
  s.sell_entries = sell_entries;
  s.ell_entries = ell_entries;
  return s;
}

RowStatistics const stencil = rows_of(3, 5, 4'996'000, 4'999'000, 5'000'000);
RowStatistics const mesh = rows_of(3, 18, 7'000'000, 7'280'000, 18'000'000);
RowStatistics const hub = rows_of(1, 900'000, 4'000'000, 32'000'000, 900'000'000'000);

TEST(FormatChoice, TheCheapestOnAGpu) {
  auto choice = choose_format(MatrixFormat::automatic, stencil, 8, false);
  EXPECT_EQ(choice.format, MatrixFormat::ell);
  EXPECT_EQ(choice.reason, "rows of 3 to 5 nonzeros, 0.1% padding");
  auto s = mesh;
  s.sigma = 1;  // a slice's rows are neighbours
  choice = choose_format(MatrixFormat::automatic, s, 8, false);
  EXPECT_EQ(choice.format, MatrixFormat::sell);
  EXPECT_EQ(choice.reason, "rows of 3 to 18 nonzeros, 4% padding");
  choice = choose_format(MatrixFormat::automatic, mesh, 8, false);
  EXPECT_EQ(choice.format, MatrixFormat::csr) << "sorted rows lose what neighbours share of x";
  EXPECT_EQ(choice.reason, "rows of 3 to 18 nonzeros; sell, with 4% padding, would be no faster");
  choice = choose_format(MatrixFormat::automatic, hub, 8, false);
  EXPECT_EQ(choice.format, MatrixFormat::csr);
  EXPECT_EQ(choice.reason,
            "rows of 1 to 900000 nonzeros; sell, with 700% padding, would be no faster");
}

TEST(FormatChoice, ALongRowAloneSpeaksAgainstSlices) {
  // Little padding, but one warp would be at work long after all others.
  auto const s = rows_of(3, 20'000, 7'000'000, 7'700'000, 20'000'000'000);
  EXPECT_EQ(choose_format(MatrixFormat::automatic, s, 8, false).format, MatrixFormat::csr);
}

TEST(FormatChoice, SortingMayPayWhereSlicesHaveMoreLanesForARow) {
  auto s = rows_of(2, 40, 60'000, 200'000, 200'000);  // so few that chains of loads decide
  s.rows = 5000;
  EXPECT_FALSE(Solder::Impl::sorting_may_pay(s, 8));
  s.sell_lane_bits = 2;
  EXPECT_TRUE(Solder::Impl::sorting_may_pay(s, 8));
  EXPECT_FALSE(Solder::Impl::sorting_may_pay(mesh, 8));
}

TEST(FormatChoice, CsrOnHosts) {
  for (auto const& s : {stencil, mesh, hub})
    EXPECT_EQ(choose_format(MatrixFormat::automatic, s, 8, true).format, MatrixFormat::csr);
}

TEST(FormatChoice, BlocksWhereTheyTakeLess) {
  auto s = rows_of(24, 81, 60'000'000, 62'000'000, 81'000'000);
  s.blocks = {3, 6'800'000};
  for (bool const on_host : {false, true}) {
    auto const choice = choose_format(MatrixFormat::automatic, s, 8, on_host);
    EXPECT_EQ(choice.format, MatrixFormat::block);
    EXPECT_EQ(choice.reason, "blocks of 3 x 3, 2% padding");
    EXPECT_EQ(choose_format(MatrixFormat::block, s, 8, on_host).reason,
              "asked for; blocks of 3 x 3, 2% padding");
  }
  // A GPU has too few rows to hide what a lane waits for in the longest one.
  s.rows = 3000;
  s.nonzeros /= 300;
  s.sell_entries /= 300;
  s.ell_entries /= 300;
  s.blocks.blocks /= 300;
  s.sell_lane_bits = s.csr_lane_bits = 3;
  EXPECT_NE(choose_format(MatrixFormat::automatic, s, 8, false).format, MatrixFormat::block);
  s.blocks = {};
  EXPECT_THROW(choose_format(MatrixFormat::block, s, 8, true), Solder::InputError);
}

TEST(FormatChoice, AreLookedForInLargeMatricesOrIfAskedFor) {
  EXPECT_TRUE(Solder::may_be_blocks(MatrixFormat::automatic, 1'000'000));
  EXPECT_FALSE(Solder::may_be_blocks(MatrixFormat::automatic, 10'000));
  EXPECT_TRUE(Solder::may_be_blocks(MatrixFormat::block, 10));
  EXPECT_FALSE(Solder::may_be_blocks(MatrixFormat::csr, 1'000'000));
}

TEST(FormatChoice, WhatIsAskedFor) {
  for (bool const on_host : {false, true}) {
    for (auto const format : {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::ell})
      EXPECT_EQ(choose_format(format, mesh, 8, on_host).format, format) << to_string(format);
    EXPECT_EQ(choose_format(MatrixFormat::ell, mesh, 8, on_host).reason,
              "asked for; rows of 3 to 18 nonzeros, 157% padding");
    EXPECT_EQ(choose_format(MatrixFormat::csr, hub, 8, on_host).reason,
              "asked for; rows of 1 to 900000 nonzeros");
  }
}

TEST(FormatChoice, AbsurdPaddingIsRefused) {
  try {
    choose_format(MatrixFormat::ell, hub, 8, false);
    FAIL() << "900 billion entries were accepted";
  } catch (Solder::InputError const& error) {
    EXPECT_STREQ(error.what(),
                 "ell would store 900000000000 entries for 4000000 nonzeros in rows of 1 to "
                 "900000 nonzeros; take sell, csr or auto");
  }
  auto s = hub;
  EXPECT_NO_THROW(choose_format(MatrixFormat::sell, s, 8, false));
  s.sell_entries = 10 * s.nonzeros + (1 << 20);
  EXPECT_NO_THROW(choose_format(MatrixFormat::sell, s, 8, false));
  ++s.sell_entries;
  EXPECT_THROW(choose_format(MatrixFormat::sell, s, 8, false), Solder::InputError);
  // A small matrix may be padded as it likes.
  s.nonzeros = 10;
  s.sell_entries = 100'000;
  EXPECT_NO_THROW(choose_format(MatrixFormat::sell, s, 8, false));
}

TEST(FormatChoice, Names) {
  EXPECT_EQ(to_string(MatrixFormat::automatic), "auto");
  EXPECT_EQ(to_string(MatrixFormat::csr), "csr");
  EXPECT_EQ(to_string(MatrixFormat::sell), "sell");
  EXPECT_EQ(to_string(MatrixFormat::ell), "ell");
  EXPECT_EQ(to_string(MatrixFormat::block), "block");
}

}  // namespace
