// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <solder/matrix/host_csr.hpp>

namespace {

using ComplexDouble = Kokkos::complex<double>;

TEST(TripletBuilder, RefusesWhatLiesOutside) {
  for (auto const& [row, column] : {std::pair{2, 0}, {0, 2}, {-1, 0}, {0, -1}}) {
    Solder::TripletBuilder<double> builder;
    builder.add(row, column, 1.0);
    EXPECT_THROW(builder.build(2, 2), std::out_of_range);
  }
  Solder::TripletBuilder<double> builder;
  EXPECT_THROW(builder.build(2, 3, Solder::Mirror::same), std::invalid_argument);
  EXPECT_EQ(builder.build(2, 3).row_offsets, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(TripletBuilder, SumsDuplicatesInTheOrderGiven) {
  Solder::TripletBuilder<double> builder;
  std::mt19937_64 random(1);
  std::vector<double> sums(7, 0.0);  // where another order would round differently
  for (int k = 0; k < 1000; ++k) {
    auto const column = static_cast<std::int32_t>(random() % 7);
    double const value = std::ldexp(1.0 + double(random() % 1000), int(random() % 80));
    sums[column] += value;
    builder.add(0, column, value);
  }
  EXPECT_EQ(builder.build(1, 7).values, sums);
}

TEST(TripletBuilder, CanBeUsedAgain) {
  Solder::TripletBuilder<double> builder;
  for (int round = 1; round <= 2; ++round) {
    builder.add(0, 0, round);
    EXPECT_EQ(builder.size(), 1);
    auto const a = builder.build(1, 1);
    EXPECT_EQ(a.values, std::vector<double>{double(round)});
    EXPECT_EQ(builder.size(), 0);
  }
}

TEST(ConvertScalar, WidensNarrowsAndRefusesOverflow) {
  Solder::HostCsr<double> const a{1, 2, {0, 2}, {0, 1}, {0.1, 2.0}};
  EXPECT_EQ(Solder::convert_scalar<ComplexDouble>(a).values,
            (std::vector<ComplexDouble>{0.1, 2.0}));
  EXPECT_EQ(Solder::convert_scalar<float>(a).values, (std::vector<float>{0.1f, 2.0f}));
  EXPECT_EQ(Solder::convert_scalar<float>(a).columns, a.columns);
  Solder::HostCsr<double> const large{1, 2, {0, 2}, {0, 1}, {0.1, 1e39}};
  EXPECT_THROW(Solder::convert_scalar<float>(large), Solder::InputError);
  EXPECT_THROW(Solder::convert_scalar<Kokkos::complex<float>>(large), Solder::InputError);
}

}  // namespace
