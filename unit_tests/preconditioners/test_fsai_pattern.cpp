// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../solvers/real_matrices.hpp"
#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <solder/io/matrix_market.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/fsai/pattern.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::FsaiPattern;
using Solder::HostCsr;

using Pattern = std::vector<std::vector<std::int32_t>>;

/// A search's table grows until it is as large as 32 bits can count, and then no further.
TEST(FsaiPatterns, TablesThatWouldOutgrow32BitsAreAnError) {
  std::int32_t reach = Solder::Impl::team_reach;
  for (int k = 0; k < 9; ++k) {
    std::int32_t const next = Solder::Impl::longer_reach(reach);
    EXPECT_EQ(std::int64_t(next), 4 * std::int64_t(reach));
    reach = next;
  }
  EXPECT_EQ(reach, 1 << 29);
  try {
    Solder::Impl::longer_reach(reach);
    ADD_FAILURE() << "2^31 columns";
  } catch (std::length_error const& error) {
    EXPECT_NE(std::string(error.what()).find("536870912"), std::string::npos) << error.what();
  }
}

/// (3.8) and (3.9), literally.
template <class Scalar>
Pattern expected_pattern(HostCsr<Scalar> const& A, double tau, int k) {
  std::vector<double> diagonal(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
      if (A.columns[e] == i) diagonal[i] = std::abs(plain(A.values[e]).real());
  std::vector<std::set<std::int32_t>> strong(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i) {
    strong[i].insert(i);
    for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e) {
      std::int32_t const j = A.columns[e];
      if (std::norm(plain(A.values[e])) > tau * tau * (diagonal[i] * diagonal[j]))
        strong[i].insert(j);
    }
  }
  Pattern pattern;
  for (std::int32_t i = 0; i < A.rows; ++i) {
    std::set<std::int32_t> power{i};
    for (int p = 0; p < k; ++p) {
      std::set<std::int32_t> next;
      for (auto const s : power)
        for (auto const c : strong[s])
          if (c <= i) next.insert(c);
      if (next == power) break;
      power = next;
    }
    pattern.emplace_back(power.begin(), power.end());
  }
  return pattern;
}

/// What FsaiPattern says, filled in chunks of that many rows.
template <class Scalar, class Exec, class Offset>
void expect_pattern(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                    Pattern const& expected, double tau, int k, std::int32_t chunk) {
  SCOPED_TRACE("tau " + std::to_string(tau) + ", k " + std::to_string(k) + ", chunks of " +
               std::to_string(chunk) + " rows");
  FsaiPattern<Scalar, Exec, Offset> const pattern(exec, A, tau, k);
  auto const n = static_cast<std::int32_t>(expected.size());
  std::int64_t total = 0;
  std::size_t longest = 0;
  auto const lengths = to_host(exec, pattern.lengths());
  ASSERT_EQ(lengths.size(), expected.size());
  for (std::int32_t i = 0; i < n; ++i) {
    ASSERT_EQ(std::size_t(lengths[i]), expected[i].size()) << "row " << i;
    total += lengths[i];
    longest = std::max(longest, expected[i].size());
  }
  ASSERT_EQ(pattern.total(), total);
  ASSERT_EQ(std::size_t(pattern.longest_row()), longest);
  for (std::int32_t first = 0; first < n; first += chunk) {
    std::int32_t const last = std::min(n, first + chunk);
    std::vector<Offset> offsets{0};
    for (std::int32_t i = first; i < last; ++i) offsets.push_back(offsets.back() + lengths[i]);
    std::int32_t const untouched = -7;
    auto const columns =
        to_device(exec, std::vector<std::int32_t>(std::size_t(offsets.back()) + 1, untouched));
    auto const device_offsets = to_device(exec, offsets);
    pattern.fill(exec, first, last, device_offsets.data(), columns.data());
    auto const found = to_host(exec, columns);
    for (std::int32_t i = first; i < last; ++i)
      ASSERT_TRUE(
          std::equal(expected[i].begin(), expected[i].end(), found.begin() + offsets[i - first]))
          << "row " << i;
    ASSERT_EQ(found.back(), untouched);
  }
}

template <class Scalar, class Exec>
void check(Exec const& exec, HostCsr<Scalar> const& host, std::vector<double> const& taus,
           std::vector<int> const& ks) {
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (double const tau : taus)
    for (int const k : ks)
      expect_pattern(exec, A, expected_pattern(host, tau, k), tau, k,
                     std::max(1, k % 2 == 0 ? host.rows : host.rows / 3 + 1));
}

/// The entries of each row in another order.
template <class Scalar>
HostCsr<Scalar> shuffled(HostCsr<Scalar> A) {
  std::mt19937 generator(11);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e) {
      auto const other = A.row_offsets[i] + generator() % (e - A.row_offsets[i] + 1);
      std::swap(A.columns[e], A.columns[other]);
      std::swap(A.values[e], A.values[other]);
    }
  return A;
}

/// The matrix without the entries (i, j) for which drop(i, j).
template <class Scalar, class Drop>
HostCsr<Scalar> without(HostCsr<Scalar> const& A, Drop const& drop) {
  HostCsr<Scalar> B{A.rows, A.columns_count, {0}, {}, {}};
  for (std::int32_t i = 0; i < A.rows; ++i) {
    for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e) {
      if (drop(i, A.columns[e])) continue;
      B.columns.push_back(A.columns[e]);
      B.values.push_back(A.values[e]);
    }
    B.row_offsets.push_back(static_cast<std::int64_t>(B.columns.size()));
  }
  return B;
}

/// n rows; row and column `centre` are full, everything else is the diagonal.
template <class Scalar>
HostCsr<Scalar> star(std::int32_t n, std::int32_t centre) {
  Solder::TripletBuilder<Scalar> builder;
  for (std::int32_t i = 0; i < n; ++i) {
    builder.add(i, i, Scalar(i == centre ? n : 2));
    if (i == centre) continue;
    builder.add(i, centre, Scalar(-1));
    builder.add(centre, i, Scalar(-1));
  }
  return builder.build(n, n);
}

template <class C>
struct FsaiPatternOf : testing::Test {};
TYPED_TEST_SUITE(FsaiPatternOf, AllCases, TypeName);

TYPED_TEST(FsaiPatternOf, MatricesOfGenerators) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  check(exec, Solder::poisson_3d_7pt<Scalar>(7), {0, 0.1, 0.3}, {0, 1, 2, 3, 4, 5});
  check(exec, Solder::poisson_3d_27pt<Scalar>(7), {0, 0.01}, {1, 2, 3});
  check(exec, Solder::elasticity_3d<Scalar>(3), {0, 0.05}, {1, 2});
  check(exec, shuffled(Solder::random_spd<Scalar>(400, 9, 5)), {0, 0.1, 0.2, 5}, {0, 1, 2, 3});
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    check(exec, shuffled(Solder::magnetic_laplacian_2d<Scalar>(15)), {0, 0.2, 0.25, 0.3}, {1, 3});
}

TYPED_TEST(FsaiPatternOf, MissingDiagonalsAndEmptyRows) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto const A = Solder::random_spd<Scalar>(300, 8, 9);
  check(exec, shuffled(without(A, [](int i, int j) { return i == j && i % 5 == 0; })), {0, 0.15},
        {0, 1, 2, 3});
  check(exec, without(A, [](int i, int) { return i % 7 < 3; }), {0, 0.15}, {0, 1, 2, 3});
  check(exec, without(A, [](int, int) { return true; }), {0, 0.15}, {0, 1, 2});
}

TYPED_TEST(FsaiPatternOf, ZerosAndNansAreDropped) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  Exec const exec;
  auto A = Solder::random_spd<Scalar>(300, 8, 4);
  for (std::size_t e = 0; e < A.values.size(); ++e) {
    if (e % 11 == 3) A.values[e] = Scalar(std::numeric_limits<Real>::quiet_NaN());
    if (e % 5 == 0) A.values[e] = Scalar{};  // diagonals, too
  }
  check(exec, A, {0, 0.1}, {1, 2, 3});
}

TYPED_TEST(FsaiPatternOf, TheImaginaryPartOfTheDiagonalIsIgnored) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
    auto A = sparse<Scalar>({{{1, 100}, {0, 0.5}}, {{0, -0.5}, {1, -100}}});
    check(Exec(), A, {0.4, 0.6}, {1});
    EXPECT_EQ(expected_pattern(A, 0.4, 1)[1].size(), 2u);
    EXPECT_EQ(expected_pattern(A, 0.6, 1)[1].size(), 1u);
  }
}

template <class Exec>
struct FsaiPatternOfDouble : testing::Test {};
TYPED_TEST_SUITE(FsaiPatternOfDouble, Spaces::Types, TypeName);

TYPED_TEST(FsaiPatternOfDouble, NoRowAndOneRow) {
  TypeParam const exec;
  check(exec, diagonal<double>({}), {0, 0.1}, {0, 1, 3});
  check(exec, diagonal<double>({3}), {0, 0.1}, {0, 1, 3});
  check(exec, diagonal<double>({0}), {0, 0.1}, {0, 1, 3});
}

// With k = 2 all rows from the centre on are full.
TYPED_TEST(FsaiPatternOfDouble, Stars) {
  TypeParam const exec;
  check(exec, star<double>(5001, 5000), {0, 0.001}, {1, 2});
  check(exec, star<double>(5001, 4000), {0}, {1});
  check(exec, shuffled(star<double>(700, 0)), {0, 0.01}, {1, 2, 5});
  check(exec, shuffled(star<double>(700, 350)), {0, 0.01}, {1, 2, 5});
  check(exec, star<double>(2300, 2000), {0}, {2});
}

// Rows whose lengths lie at the limits of the tables, which are powers of two.
TYPED_TEST(FsaiPatternOfDouble, RowsOfEveryLength) {
  TypeParam const exec;
  for (int const n : {255, 256, 257, 2047, 2048, 2049, 8191, 8193})
    check(exec, star<double>(n, n - 1), {0}, {1});
}

TYPED_TEST(FsaiPatternOfDouble, LongOffsets) {
  TypeParam const exec;
  auto const host = shuffled(Solder::random_spd<double>(400, 9, 5));
  CsrMatrix<double, TypeParam, std::int64_t> const A(exec, host);
  for (double const tau : {0., 0.1})
    expect_pattern(exec, A, expected_pattern(host, tau, 3), tau, 3, 150);
}

TYPED_TEST(FsaiPatternOfDouble, SquareMatricesOnly) {
  TypeParam const exec;
  auto wide = diagonal<double>({1, 2, 3});
  wide.columns_count = 4;
  CsrMatrix<double, TypeParam> const A(exec, wide);
  EXPECT_THROW((FsaiPattern<double, TypeParam>(exec, A, 0, 1)), std::invalid_argument);
}

TYPED_TEST(FsaiPatternOfDouble, AllWorkGoesToTheInstance) {
  auto const exec = another_instance<TypeParam>();
  CsrMatrix<double, TypeParam> const A(exec, star<double>(5001, 5000));
  auto const columns = to_device(exec, std::vector<std::int32_t>(5001));
  auto const offsets = to_device(exec, std::vector<std::int32_t>{0, 5001});
  KokkosEvents const events;
  FsaiPattern<double, TypeParam> const pattern(exec, A, 0.001, 2);
  ASSERT_EQ(pattern.longest_row(), 5001);
  pattern.fill(exec, 5000, 5001, offsets.data(), columns.data());
  EXPECT_GE(events.kernels.size(), 4u);
  for (auto const& kernel : events.kernels) {
    EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

TEST(FsaiPatternRealMatrices, EverySmallSpdMatrix) {
  auto const list = real_matrices(3000);
  if (list.empty())
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
  Kokkos::DefaultExecutionSpace const exec;
  for (auto const& matrix : list) {
    if (!matrix.spd || matrix.is_complex) continue;
    SCOPED_TRACE(matrix.name);
    check(exec, Solder::read_matrix_market<double>(matrix_file(matrix)), {0.01}, {2});
  }
}

}  // namespace
