// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "well_formed.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <solder/problems/stand_in.hpp>

namespace {

using Solder::StandInFigures;
using Solder::StandInSymmetry;
using SolderTest::expect_well_formed;

constexpr StandInSymmetry all_symmetries[] = {StandInSymmetry::none, StandInSymmetry::pattern,
                                              StandInSymmetry::symmetric, StandInSymmetry::spd};

/// What can be counted in a matrix, in plain loops.
struct Counted {
  double mean = 0, deviation = 0, near = 0;
  std::int64_t longest = 0, shortest = 0;
};

template <class Scalar>
Counted count(Solder::HostCsr<Scalar> const& a, std::int64_t half_bandwidth) {
  Counted counted;
  counted.shortest = a.nonzeros();
  std::int64_t near = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t const length = a.row_offsets[i + 1] - a.row_offsets[i];
    counted.longest = std::max(counted.longest, length);
    counted.shortest = std::min(counted.shortest, length);
    counted.mean += double(length) / a.rows;
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      if (a.columns[k] != i && std::abs(a.columns[k] - i) <= half_bandwidth) ++near;
  }
  double squares = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double const off = double(a.row_offsets[i + 1] - a.row_offsets[i]) - counted.mean;
    squares += off * off;
  }
  counted.deviation = std::sqrt(squares / a.rows);
  counted.near = double(near) / double(std::max<std::int64_t>(1, a.nonzeros() - a.rows));
  return counted;
}

/// Well formed, square, with a diagonal entry in every row.
template <class Scalar>
void expect_whole(Solder::HostCsr<Scalar> const& a) {
  ASSERT_NO_FATAL_FAILURE(expect_well_formed(a));
  ASSERT_EQ(a.columns_count, a.rows);
  for (std::int32_t i = 0; i < a.rows; ++i)
    ASSERT_TRUE(std::binary_search(a.columns.begin() + a.row_offsets[i],
                                   a.columns.begin() + a.row_offsets[i + 1], i))
        << "row " << i;
}

/// The entries whose mirror image is missing, and those whose mirror image has another value.
std::pair<std::int64_t, std::int64_t> count_asymmetries(Solder::HostCsr<double> const& a) {
  std::int64_t missing = 0, different = 0;
  for (std::int32_t i = 0; i < a.rows; ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      auto const j = a.columns[k];
      auto other = a.row_offsets[j];
      while (other < a.row_offsets[j + 1] && a.columns[other] < i) ++other;
      if (other == a.row_offsets[j + 1] || a.columns[other] != i)
        ++missing;
      else if (a.values[other] != a.values[k])
        ++different;
    }
  }
  return {missing, different};
}

/// The largest sum of off-diagonal magnitudes relative to the diagonal of its row.
double worst_dominance(Solder::HostCsr<double> const& a) {
  double worst = 0;
  for (std::int32_t i = 0; i < a.rows; ++i) {
    double others = 0, diagonal = 0;
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      (a.columns[k] == i ? diagonal : others) += std::abs(a.values[k]);
    worst = std::max(worst, others / diagonal);
  }
  return worst;
}

void expect_figures(StandInFigures const& figures, std::string const& name) {
  SCOPED_TRACE(name);
  auto const a = Solder::stand_in<double>(figures, 7);
  expect_whole(a);
  bool const is_symmetric = figures.symmetry != StandInSymmetry::none;
  std::int64_t const odd = is_symmetric ? (figures.nonzeros - figures.rows) % 2 : 0;
  EXPECT_EQ(a.rows, figures.rows);
  EXPECT_EQ(a.nonzeros(), figures.nonzeros - odd);
  auto const counted = count(a, figures.half_bandwidth);
  EXPECT_EQ(counted.longest, figures.longest);
  EXPECT_NEAR(counted.deviation, figures.deviation, 0.03 * figures.deviation + 0.01);
  EXPECT_NEAR(counted.near, figures.near, 0.1);
  EXPECT_LT(worst_dominance(a), 1.0);
  auto const [missing, different] = count_asymmetries(a);
  EXPECT_EQ(missing == 0, is_symmetric) << missing;
  EXPECT_EQ(different == 0 && is_symmetric, figures.symmetry >= StandInSymmetry::symmetric);
}

TEST(StandIn, HasTheFiguresAskedFor) {
  for (auto const symmetry : all_symmetries) {
    std::string const kind = ", symmetry " + std::to_string(int(symmetry));
    expect_figures({4000, 4000 * 27, 40, 6.0, 300, 0.9, 3, 3, symmetry}, "blocks in a band" + kind);
    expect_figures({4001, 4001 * 5, 6, 0.7, 100, 1.0, 1, 200, symmetry}, "grid" + kind);
    expect_figures({5000, 28000, 200, 5.0, 400, 0.5, 1, 1, symmetry}, "scattered" + kind);
    expect_figures({5000, 5000 * 12, 12, 0.0, 60, 1.0, 4, 1, symmetry},
                   "rows of one length" + kind);
    expect_figures({20000, 60001, 800, 10.0, 2000, 0.7, 1, 1, symmetry}, "long tail" + kind);
  }
}

TEST(StandIn, HasTheFiguresOfNamedMatrices) {
  for (char const* name : {"cant", "scircuit", "rma10", "mac_econ_fwd500", "cop20k_A"})
    expect_figures(Solder::stand_in_figures(name), name);
}

TEST(StandIn, RowsOfNoticeablyDifferentLengthStandTogetherWhereAlike) {
  auto const padding = [](std::int64_t alike) {  // entries that slices of 32 rows would pad
    auto const a = Solder::stand_in<double>({6400, 6400 * 20, 60, 10.0, 500, 0.9, 1, alike, {}});
    std::int64_t stored = 0;
    for (std::int64_t i = 0; i < a.rows; i += 32) {
      std::int64_t longest = 0;
      for (std::int64_t r = i; r < i + 32; ++r)
        longest = std::max(longest, a.row_offsets[r + 1] - a.row_offsets[r]);
      stored += 32 * longest;
    }
    return double(stored) / double(a.nonzeros()) - 1.0;
  };
  EXPECT_GT(padding(1), 0.8);
  EXPECT_LT(padding(64), 0.1);
}

TEST(StandIn, ClustersAreRunsOfColumns) {
  for (auto const symmetry : {StandInSymmetry::none, StandInSymmetry::spd}) {
    auto const a = Solder::stand_in<double>({5000, 5000 * 49, 49, 0.0, 800, 1.0, 6, 6, symmetry});
    std::int64_t runs = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
        if (k == a.row_offsets[i] || a.columns[k] != a.columns[k - 1] + 1) ++runs;
    EXPECT_GT(double(a.nonzeros()) / double(runs), 4.0);
  }
}

TEST(StandIn, ExtremesAreMet) {
  for (auto const symmetry : all_symmetries) {
    for (std::int64_t const n : {1, 2, 3, 10, 40}) {
      auto const full = Solder::stand_in<double>({n, n * n, n, 0.0, 0, 1.0, 1, 1, symmetry});
      EXPECT_EQ(full.nonzeros(), n * n);
      expect_whole(full);
      auto const diagonal = Solder::stand_in<double>({n, n, 1, 0.0, 0, 1.0, 1, 1, symmetry});
      EXPECT_EQ(diagonal.nonzeros(), n);
      expect_whole(diagonal);
    }
    // Nearly all rows nearly full, none of it near; one cluster wider than the matrix.
    expect_whole(Solder::stand_in<double>({60, 60 * 50, 60, 5.0, 3, 0.0, 1000, 1000, symmetry}, 3));
  }
}

TEST(StandIn, FollowsItsSeedAndServesEveryScalar) {
  StandInFigures const figures{500, 4000, 30, 4.0, 50, 0.8, 1, 1, StandInSymmetry::spd};
  auto const a = Solder::stand_in<double>(figures, 1), b = Solder::stand_in<double>(figures, 1);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
  EXPECT_NE(a.columns, Solder::stand_in<double>(figures, 2).columns);
  auto const narrow = Solder::stand_in<float>(figures, 1);
  auto const wide = Solder::stand_in<Kokkos::complex<double>>(figures, 1);
  EXPECT_EQ(a.columns, narrow.columns);
  EXPECT_EQ(a.columns, wide.columns);
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    ASSERT_EQ(float(a.values[k]), narrow.values[k]);
    ASSERT_EQ(Kokkos::complex<double>(a.values[k]), wide.values[k]);
  }
}

/// FNV-1a over the numbers: the same on every platform, or the generator has changed.
std::uint64_t fingerprint(Solder::HostCsr<double> const& a) {
  std::uint64_t hash = 14695981039346656037u;
  auto const add = [&](std::uint64_t number) { hash = (hash ^ number) * 1099511628211u; };
  for (auto const offset : a.row_offsets) add(std::uint64_t(offset));
  for (auto const column : a.columns) add(std::uint64_t(column));
  for (auto const value : a.values) add(std::uint64_t(std::int64_t(std::ldexp(value, 40))));
  return hash;
}

TEST(StandIn, GivesTheSameNumbersOnEveryPlatform) {
  EXPECT_EQ(fingerprint(Solder::stand_in<double>("1138_bus", 42)), 3049089696665435025u);
  EXPECT_EQ(fingerprint(Solder::stand_in<double>(
                {5000, 28000, 200, 5.0, 400, 0.5, 2, 3, StandInSymmetry::none}, 42)),
            15539751148200358796u);
}

TEST(StandIn, TableIsConsistent) {
  std::set<std::string> names;
  for (auto const& [name, figures] : Solder::named_stand_ins) {
    EXPECT_NO_THROW(Solder::Impl::check_stand_in(figures)) << name;
    EXPECT_GT(figures.half_bandwidth, 0) << name;
    EXPECT_TRUE(names.insert(std::string(name)).second) << name << " twice";
  }
  auto const& pwtk = Solder::stand_in_figures("pwtk");
  EXPECT_EQ(pwtk.rows, 217918);
  EXPECT_EQ(pwtk.nonzeros, 11634424);
}

TEST(StandIn, RefusesFiguresThatContradictEachOther) {
  auto const expect_error = [](StandInFigures const& figures, std::string const& words) {
    try {
      Solder::stand_in<double>(figures);
      ADD_FAILURE() << "no error; expected: " << words;
    } catch (Solder::InputError const& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  constexpr auto spd = StandInSymmetry::spd;
  expect_error({0, 0, 1, 0.0}, "stand_in: size is 0; it must be at least 1");
  expect_error({3000000000, 3000000000, 1, 0.0}, "more than 2147483647 rows");
  expect_error({10, 20, 0, 0.0}, "longest is 0");
  expect_error({10, 20, 11, 1.0}, "a row of 11 entries does not fit a matrix of 10 columns");
  expect_error({10, 9, 5, 0.0}, "mean row length below 1");
  expect_error({10, 60, 5, 0.0}, "larger than the longest row, 5");
  expect_error({10, 20, 5, 3.0}, "have a deviation of at most 1.73");
  expect_error({10, 20, 5, std::nan("")}, "deviation");
  expect_error({10, 20, 5, 1.0, -1}, "half bandwidth is -1");
  expect_error({10, 20, 5, 1.0, 2, 1.5}, "near must lie between 0 and 1");
  expect_error({10, 20, 5, 1.0, 2, 1.0, 0}, "cluster is 0");
  expect_error({10, 20, 5, 1.0, 2, 1.0, 1, 0}, "alike is 0");
  expect_error({10, 10, 5, 0.0}, "one of them the longest");
  expect_error({100, 110, 11, 1.0, 5, 1.0, 1, 1, spd}, "");
  try {
    Solder::stand_in<double>("nosuch");
    ADD_FAILURE() << "no error";
  } catch (Solder::InputError const& error) {
    std::string const text = error.what();
    EXPECT_NE(text.find("no figures of 'nosuch'"), std::string::npos) << text;
    EXPECT_NE(text.find(" pwtk"), std::string::npos) << text;
  }
}

}  // namespace
