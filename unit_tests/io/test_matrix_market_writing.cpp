// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <solder/io/matrix_market.hpp>
#include <solder/problems/generators.hpp>

#include "market_files.hpp"

namespace {

using Complex = Kokkos::complex<double>;
namespace fs = std::filesystem;

/// Bit patterns of every magnitude.
template <class Real, class Bits>
std::vector<Real> awkward_numbers() {
  std::vector<Real> numbers{Real(0),
                            Real(-0.0),
                            Real(0.1),
                            Real(1) / 3,
                            std::numeric_limits<Real>::max(),
                            std::numeric_limits<Real>::lowest(),
                            std::numeric_limits<Real>::min(),
                            std::numeric_limits<Real>::denorm_min()};
  std::mt19937_64 random(11);
  while (numbers.size() < 3000) {
    auto const bits = static_cast<Bits>(random());
    Real number;
    std::memcpy(&number, &bits, sizeof number);
    if (std::isfinite(number)) numbers.push_back(number);
  }
  return numbers;
}

template <class Real>
void expect_same_bits(std::vector<Real> const& a, std::vector<Real> const& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(std::memcmp(&a[k], &b[k], sizeof(Real)), 0) << "number " << k;
  }
}

TEST_F(MatrixMarket, WritesVectorsThatReadBackBitForBit) {
  auto const doubles = awkward_numbers<double, std::uint64_t>();
  auto const floats = awkward_numbers<float, std::uint32_t>();
  for (auto const* name : {"x.mtx", "x.mtx.gz"}) {
    auto const path = folder.path(name);
    Solder::write_matrix_market_vector(path, doubles);
    expect_same_bits(Solder::read_matrix_market_vector<double>(path), doubles);
    Solder::write_matrix_market_vector(path, floats);
    expect_same_bits(Solder::read_matrix_market_vector<float>(path), floats);
  }
  std::vector<Complex> numbers;
  for (std::size_t k = 1; k < doubles.size(); ++k) numbers.emplace_back(doubles[k], doubles[k - 1]);
  Solder::write_matrix_market_vector(folder.path("c.mtx"), numbers);
  expect_same_bits(Solder::read_matrix_market_vector<Complex>(folder.path("c.mtx")), numbers);
  EXPECT_EQ(folder.files(), 3u) << "no temporary file is left";
  auto const magic = slurp(folder.path("x.mtx.gz")).substr(0, 2);
  EXPECT_EQ(magic, "\x1f\x8b");
  EXPECT_EQ(slurp(folder.path("x.mtx")).substr(0, 14), "%%MatrixMarket");
}

TEST_F(MatrixMarket, WritesMatricesThatReadBackBitForBit) {
  auto const check = [&](auto const& a) {
    using Scalar = typename std::decay_t<decltype(a.values)>::value_type;
    auto const path = folder.path("a.mtx");
    Solder::write_matrix_market(path, a);
    auto const b = Solder::read_matrix_market<Scalar>(path);
    EXPECT_EQ(b.rows, a.rows);
    EXPECT_EQ(b.columns_count, a.columns_count);
    EXPECT_EQ(b.row_offsets, a.row_offsets);
    EXPECT_EQ(b.columns, a.columns);
    expect_same_bits(b.values, a.values);
  };
  check(Solder::random_spd<double>(500, 7, 1));
  check(Solder::random_spd<float>(500, 7, 1));
  check(Solder::magnetic_laplacian_2d<Complex>(15));
  check(Solder::HostCsr<double>{2, 3, {0, 1, 2}, {2, 0}, {0.1, -0.0}});
  check(Solder::HostCsr<double>{0, 0, {0}, {}, {}});
  EXPECT_EQ(folder.files(), 1u);
}

TEST_F(MatrixMarket, ReplacesAFileThroughALinkAndKeepsTheLink) {
  auto const target = folder.write("target.mtx", "old");
  fs::create_symlink(target, folder.path("link.mtx"));
  Solder::write_matrix_market_vector(folder.path("link.mtx"), std::vector<double>{1, 2});
  EXPECT_TRUE(fs::is_symlink(folder.path("link.mtx")));
  EXPECT_EQ(Solder::read_matrix_market_vector<double>(target), (std::vector<double>{1, 2}));
  EXPECT_EQ(folder.files(), 2u);
}

TEST_F(MatrixMarket, MakesTheFileThatLinksLeadTo) {
  fs::create_directory(folder.path("in"));
  fs::create_symlink("in/second", folder.path("first"));
  fs::create_symlink("../target.mtx", folder.path("in/second"));
  Solder::write_matrix_market_vector(folder.path("first"), std::vector<double>{1, 2});
  EXPECT_TRUE(fs::is_symlink(folder.path("first")));
  EXPECT_TRUE(fs::is_symlink(folder.path("in/second")));
  ASSERT_TRUE(fs::is_regular_file(folder.path("target.mtx")));
  EXPECT_EQ(Solder::read_matrix_market_vector<double>(folder.path("target.mtx")),
            (std::vector<double>{1, 2}));
  fs::create_symlink("round", folder.path("and_round"));
  fs::create_symlink("and_round", folder.path("round"));
  EXPECT_THROW(Solder::write_matrix_market_vector(folder.path("round"), std::vector<double>{1, 2}),
               Solder::InputError);
  EXPECT_TRUE(fs::is_symlink(folder.path("round")));
}

TEST_F(MatrixMarket, LeavesNothingBehindWhereItCannotWrite) {
  std::vector<double> const vector(100000, 1.0 / 3);
  auto const error = [&](std::string const& path) -> std::string {
    try {
      Solder::write_matrix_market_vector(path, vector);
    } catch (Solder::InputError const& failure) {
      return failure.what();
    }
    return "";
  };
  auto const nowhere = folder.path("no/such/folder/x.mtx");
  EXPECT_EQ(error(nowhere).find(nowhere + ": cannot write: "), 0u);
  EXPECT_NE(error(folder.path("")).find("it is a directory"), std::string::npos);
  EXPECT_EQ(folder.files(), 0u);
  if (fs::exists("/dev/full")) {
    EXPECT_NE(error("/dev/full").find("cannot write: "), std::string::npos);
    EXPECT_TRUE(fs::exists("/dev/full"));
  }
}

/// An exception between opening and commit leaves the old file as it was.
TEST_F(MatrixMarket, KeepsTheOldFileUntilTheNewOneIsComplete) {
  auto const path = folder.write("x.mtx", "old");
  {
    Solder::Impl::WholeFile file(path);
    file.text("half of the ");
    EXPECT_EQ(folder.files(), 2u);
  }
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

/// As /dev/stdout is: what standard output was sent to is not replaced.
TEST(WholeFile, IsAppendedToAFileThatIsOpen) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "there is no /proc here";
  auto const path = std::filesystem::temp_directory_path() / "solder-test-open-XXXXXX";
  std::string name = path.string();
  int const open = mkstemp(name.data());
  ASSERT_GE(open, 0);
  ASSERT_EQ(write(open, "before\n", 7), 7);
  Solder::write_matrix_market_vector<double>("/proc/self/fd/" + std::to_string(open), {1, 2});
  close(open);
  std::stringstream text;
  text << std::ifstream(name).rdbuf();
  std::filesystem::remove(name);
  EXPECT_EQ(text.str().substr(0, 23), "before\n%%MatrixMarket m");
}

}  // namespace
