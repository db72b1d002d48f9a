// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../solvers/real_matrices.hpp"
#include "fsai_cases.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <type_traits>
#include <utility>

#include <solder/io/matrix_market.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/problems/generators.hpp>

namespace {

using namespace SolderTest;

TEST(FsaiLongRows, AreRefusedWhereTheyWouldTakeMinutes) {
  Kokkos::DefaultExecutionSpace const exec;
  CsrMatrix<double, Kokkos::DefaultExecutionSpace> const A(exec, arrow<double>(3000));
  FsaiOptions options;
  options.tau = 0;
  try {
    Fsai(exec, A, options);
    ADD_FAILURE() << "no error";
  } catch (std::invalid_argument const& error) {
    std::string const what = error.what();
    for (char const* const part : {"row 3000 (counted from 1) of the pattern has 3000 entries",
                                   "all rows with more than 1000", "the limit is 3e+10",
                                   "pattern: adaptive", "a smaller k than 2"})
      EXPECT_NE(what.find(part), std::string::npos) << what;
  }
  // What the error says.
  options.delta = 0;
  options.k = 1;
  EXPECT_GT(Fsai(exec, A, options).setup().nonzeros, 3000);
  options.k = 2;
  options.adaptive = true;
  EXPECT_GT(Fsai(exec, A, options).setup().nonzeros, 3000);
}

/// \brief Sets up on the device and compares with the plain loops, the report included.
template <class Factor, class Exec, class Scalar>
void expect_oracle(Exec const& exec, HostCsr<Scalar> const& A, FsaiOptions const& options,
                   double tolerance = 100 * epsilon<Factor>) {
  Fsai<Scalar, Exec, Factor> const M(exec, CsrMatrix<Scalar, Exec>(exec, A), options);
  auto const expected = FsaiOracle<Scalar>(A).static_fsai(options.tau, options.k, options.delta);
  expect_equal(host_csr(exec, M.G()), expected, tolerance);
  auto const& setup = M.setup();
  EXPECT_EQ(setup.nonzeros, expected.nonzeros());
  EXPECT_EQ(setup.repaired_rows, static_cast<std::int64_t>(expected.repaired.size()));
  EXPECT_EQ(setup.first_repaired_row, expected.repaired.empty() ? -1 : expected.repaired[0]);
}

/// \brief The entries of G A G^H on the diagonal.
template <class Scalar, class Factor>
std::vector<double> diagonal_of_product(HostCsr<Scalar> const& A, HostCsr<Factor> const& G) {
  std::vector<double> result(A.rows);
  std::vector<Complex> g(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i) {
    for (auto k = G.row_offsets[i]; k < G.row_offsets[i + 1]; ++k)
      g[G.columns[k]] = plain(G.values[k]);
    for (auto k = G.row_offsets[i]; k < G.row_offsets[i + 1]; ++k) {
      auto const r = G.columns[k];
      for (auto e = A.row_offsets[r]; e < A.row_offsets[r + 1]; ++e)
        result[i] += (g[r] * plain(A.values[e]) * std::conj(g[A.columns[e]])).real();
    }
    for (auto k = G.row_offsets[i]; k < G.row_offsets[i + 1]; ++k) g[G.columns[k]] = 0;
  }
  return result;
}

template <class C>
struct FsaiOf : testing::Test {};
TYPED_TEST_SUITE(FsaiOf, AllCases, TypeName);

TYPED_TEST(FsaiOf, EqualsThePlainLoops) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  expect_oracle<Scalar>(exec, grid<Scalar>(14), {0, 3, 0.03});
  // Patterns of 1 to about 130 entries: all kernels.
  auto const random = Solder::random_spd<Scalar>(300, 9, 3);
  expect_oracle<Scalar>(exec, random, {0.01, 2, 0.01});
  expect_oracle<Scalar>(exec, random, {0.07, 3, 0});
}

TYPED_TEST(FsaiOf, FullPatternGivesTheInverseOfCholeskysFactor) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  std::int32_t const n = 270;
  auto const A = dense_spd<Scalar>(n, 5);
  Fsai<Scalar, Exec> const M(exec, CsrMatrix<Scalar, Exec>(exec, A), {0, 1, 0});
  auto const G = host_csr(exec, M.G());
  ASSERT_EQ(G.nonzeros(), n * (n + 1) / 2);
  // G A G^H = I.
  std::vector<Complex> AGH(n);
  for (std::int32_t j = 0; j < n; j += 7) {
    for (std::int32_t r = 0; r < n; ++r) {
      AGH[r] = 0;
      for (std::int32_t c = 0; c <= j; ++c)
        AGH[r] += plain(A.values[r * n + c]) * std::conj(plain(G.values[G.row_offsets[j] + c]));
    }
    for (std::int32_t i = 0; i < n; ++i) {
      Complex sum = 0;
      for (std::int32_t c = 0; c <= i; ++c) sum += plain(G.values[G.row_offsets[i] + c]) * AGH[c];
      ASSERT_LE(std::abs(sum - double(i == j)), 50 * epsilon<Scalar>) << i << ", " << j;
    }
  }
}

TYPED_TEST(FsaiOf, UnitDiagonalAndTranspose) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto const A = grid<Scalar>(30);
  Fsai<Scalar, Exec> const M(exec, CsrMatrix<Scalar, Exec>(exec, A), {0, 4, 0.05});
  auto const G = host_csr(exec, M.G()), GH = host_csr(exec, M.GH());
  EXPECT_LT(G.nonzeros(), 18 * A.rows);  // of about 25 a row
  EXPECT_GT(G.nonzeros(), 2 * A.rows);
  EXPECT_DOUBLE_EQ(M.setup().density, double(G.nonzeros()) / double(A.nonzeros()));
  for (double const entry : diagonal_of_product(A, G)) ASSERT_NEAR(entry, 1, 20 * epsilon<Scalar>);
  ASSERT_EQ(GH.nonzeros(), G.nonzeros());
  std::vector<std::int64_t> at(GH.row_offsets.begin(), GH.row_offsets.end() - 1);
  for (std::int32_t i = 0; i < G.rows; ++i)
    for (auto k = G.row_offsets[i]; k < G.row_offsets[i + 1]; ++k) {
      auto const to = at[G.columns[k]]++;
      ASSERT_EQ(GH.columns[to], i);
      ASSERT_EQ(GH.values[to], Solder::Impl::conjugated(G.values[k]));
    }
}

template <class Exec>
struct FsaiOfDouble : testing::Test {};
TYPED_TEST_SUITE(FsaiOfDouble, Spaces::Types, TypeName);

TYPED_TEST(FsaiOfDouble, AdaptiveEqualsThePlainLoops) {
  TypeParam const exec;
  auto const A = Solder::random_spd<double>(400, 9, 7);
  FsaiOptions const options{.delta = 0.02, .adaptive = true, .steps = 4, .entries_per_step = 3};
  Fsai<double, TypeParam> const M(exec, CsrMatrix<double, TypeParam>(exec, A), options);
  auto const expected = FsaiOracle<double>(A).adaptive_fsai(4, 3, options.improvement, 0.02);
  expect_equal(host_csr(exec, M.G()), expected, 1e-13);
  EXPECT_EQ(M.setup().nonzeros, expected.nonzeros());
  EXPECT_EQ(M.setup().repaired_rows, 0);
}

/// \brief The rows of G, cut to the diagonal's and the largest entries, of equal ones those nearest
/// to it, and scaled: by plain loops.
template <class Scalar, class Factor>
OracleFactor cut(HostCsr<Scalar> const& A, HostCsr<Factor> const& G, std::size_t most) {
  std::map<std::pair<std::int32_t, std::int32_t>, Complex> a;
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      a[{i, A.columns[k]}] = plain(A.values[k]);
  OracleFactor result;
  for (std::int32_t i = 0; i < G.rows; ++i) {
    auto& row = result.rows.emplace_back();
    for (auto k = G.row_offsets[i]; k < G.row_offsets[i + 1]; ++k)
      row.emplace_back(G.columns[k], plain(G.values[k]));
    if (row.size() <= most) continue;
    std::sort(row.begin(), row.end(), [&](auto const& x, auto const& y) {
      if ((x.first == i) != (y.first == i)) return x.first == i;
      return std::norm(x.second) != std::norm(y.second) ? std::norm(x.second) > std::norm(y.second)
                                                        : x.first > y.first;
    });
    row.resize(most);
    std::sort(row.begin(), row.end(),
              [](auto const& x, auto const& y) { return x.first < y.first; });
    double energy = 0;
    for (auto const& [r, g] : row)
      for (auto const& [c, h] : row)
        if (auto const entry = a.find({r, c}); entry != a.end())
          energy += (g * entry->second * std::conj(h)).real();
    for (auto& [c, g] : row) g /= std::sqrt(energy);
  }
  return result;
}

TYPED_TEST(FsaiOf, CutsRowsToTheirLargestEntries) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  std::vector hosts{Solder::random_spd<Scalar>(300, 9, 3)};
  // Complex entries of equal magnitude differ by what a GPU rounds: no oracle says which one stays.
  if (Solder::Impl::is_host_space<Exec> || !Solder::ScalarTraits<Scalar>::is_complex)
    hosts.push_back(grid<Scalar>(14));
  for (auto const& host : hosts) {
    CsrMatrix<Scalar, Exec> const A(exec, host);
    for (bool const adaptive : {false, true}) {
      FsaiOptions options{.tau = 0.01, .delta = 0.01, .adaptive = adaptive};
      auto const all = host_csr(exec, Fsai<Scalar, Exec>(exec, A, options).G());
      std::int64_t longest = 0;
      for (std::int32_t i = 0; i < all.rows; ++i)
        longest = std::max<std::int64_t>(longest, all.row_offsets[i + 1] - all.row_offsets[i]);
      ASSERT_GT(longest, 5);
      for (int const most : {1, 2, 5, static_cast<int>(longest)}) {
        SCOPED_TRACE(most);
        options.max_row_entries = most;
        Fsai<Scalar, Exec> const M(exec, A, options);
        auto const G = host_csr(exec, M.G());
        expect_equal(G, cut(host, all, most), 100 * epsilon<Scalar>);
        EXPECT_EQ(M.setup().nonzeros, G.nonzeros());
        EXPECT_EQ(M.setup().repaired_rows, 0);
        for (double const entry : diagonal_of_product(host, G))
          ASSERT_NEAR(entry, 1, 1000 * epsilon<Scalar>);
        if (most < longest) continue;
        EXPECT_EQ(G.columns, all.columns);
        EXPECT_EQ(G.values, all.values) << "to the bit";
      }
    }
  }
}

/// Of an indefinite matrix, whose rows would not come so far.
TYPED_TEST(FsaiOfDouble, CutRowsOfWhichNothingIsLeftBecomeDiagonal) {
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const A(exec, sparse<double>({{1, 0, 0}, {0, 1, 2}, {0, 2, 4.5}}));
  using Ints = std::vector<std::int32_t>;
  auto const offsets = to_device(exec, Ints{0, 1, 4, 7});
  auto const columns = to_device(exec, Ints{0, 0, -1, 1, 0, 1, 2});
  auto const values = to_device(exec, std::vector<double>{1, 3, 9, 4, 0.25, -2, 1});
  auto const kept = to_device(exec, Ints{1, 2, 3});
  auto const cut_to = [&](std::int32_t most) {
    return Solder::Impl::fsai::limit_rows(exec, A, most, 3,
                                          Solder::Impl::fsai::Packed<std::int32_t>{offsets.data()},
                                          columns.data(), values.data(), kept.data());
  };
  EXPECT_EQ(cut_to(0).count, 0);
  EXPECT_EQ(to_host(exec, kept), (Ints{1, 2, 3}));
  // 4 - 2 * 4 + 4.5 = 0.5 of the last row: 1 and -2 stay, scaled
  EXPECT_EQ(cut_to(2).count, 0);
  EXPECT_EQ(to_host(exec, kept), (Ints{1, 2, 2}));
  EXPECT_EQ(to_host(exec, columns), (Ints{0, 0, -1, 1, 1, 2, -1}));
  auto const scaled = to_host(exec, values);
  EXPECT_EQ(scaled[3], 4) << "a row that is short enough stays";
  EXPECT_DOUBLE_EQ(scaled[4], -2 / std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(scaled[5], 1 / std::sqrt(0.5));
  // with 3.5 there -0.5 is left
  CsrMatrix<double, TypeParam> const B(exec, sparse<double>({{1, 0, 0}, {0, 1, 2}, {0, 2, 3.5}}));
  auto const other_columns = to_device(exec, Ints{0, 0, -1, 1, 0, 1, 2});
  auto const other_values = to_device(exec, std::vector<double>{1, 3, 9, 4, 0.25, -2, 1});
  auto const other_kept = to_device(exec, Ints{1, 2, 3});
  auto const repairs = Solder::Impl::fsai::limit_rows(
      exec, B, 2, 3, Solder::Impl::fsai::Packed<std::int32_t>{offsets.data()}, other_columns.data(),
      other_values.data(), other_kept.data());
  EXPECT_EQ(repairs.count, 1);
  EXPECT_EQ(repairs.first, 2);
  EXPECT_EQ(to_host(exec, other_kept), (Ints{1, 2, 1}));
  EXPECT_EQ(to_host(exec, other_columns), (Ints{0, 0, -1, 1, 2, -1, -1}));
  EXPECT_DOUBLE_EQ(to_host(exec, other_values)[4], 1 / std::sqrt(3.5));
}

TYPED_TEST(FsaiOfDouble, KeepsSmallEntriesThatMatter) {
  TypeParam const exec;
  // By its size alone the entry 5e-5 beside 1 would go; a third of the row goes with it.
  auto const A = sparse<double>({{1e8, 5e3}, {5e3, 1}});
  for (bool const adaptive : {false, true}) {
    Fsai<double, TypeParam> const M(exec, CsrMatrix<double, TypeParam>(exec, A),
                                    {.tau = 0, .delta = 0.05, .adaptive = adaptive});
    auto const G = host_csr(exec, M.G());
    ASSERT_EQ(G.nonzeros(), 3);
    EXPECT_NEAR(G.values[1], -5e-5 / std::sqrt(0.75), 1e-15);
  }
  // Without a limit the paper's rule stands.
  Fsai<double, TypeParam> const paper(
      exec, CsrMatrix<double, TypeParam>(exec, A),
      {.tau = 0, .delta = 0.05, .energy_limit = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(paper.setup().nonzeros, 2);
  // Here it holds 0.002 of the row.
  auto const B = sparse<double>({{1e8, 4e2}, {4e2, 1}});
  Fsai<double, TypeParam> const M(exec, CsrMatrix<double, TypeParam>(exec, B), {.delta = 0.05});
  EXPECT_EQ(M.setup().nonzeros, 2);
}

TYPED_TEST(FsaiOfDouble, SinglePrecisionFactor) {
  TypeParam const exec;
  expect_oracle<float>(exec, Solder::poisson_3d_27pt<double>(6), {0, 3, 0.001}, 1e-7);
}

TYPED_TEST(FsaiOfDouble, RealMatrices) {
  TypeParam const exec;
  auto const check = [&]<class Scalar>(Scalar, std::string const& name) {
    SCOPED_TRACE(name);
    auto const A = Solder::read_matrix_market<Scalar>(matrix_file({name, 0, false, false, false}));
    expect_oracle<Scalar>(exec, A, {0.01, 2, 0.031}, 1e-7);
  };
  auto const all = real_matrices(1500);
  for (auto const* const name :
       {"bcsstk02", "Journals", "lund_a", "bcsstk07", "bcsstm07", "nos5", "494_bus", "bcsstk34",
        "nos3", "bcsstk08", "1138_bus", "mhdb416", "mhd1280b"}) {
    auto const at = std::find_if(all.begin(), all.end(),
                                 [&](auto const& matrix) { return matrix.name == name; });
    if (at == all.end()) continue;  // no folder
    if (at->is_complex)
      check(Kokkos::complex<double>(), name);
    else
      check(double(), name);
  }
}

TYPED_TEST(FsaiOfDouble, RepairsRowsThatAreNotDefinite) {
  TypeParam const exec;
  double const nan = std::numeric_limits<double>::quiet_NaN();
  // Rows 2 (zero diagonal), 3 (negative), 5 (indefinite with 4), 6 (NaN), 7 (missing diagonal) and
  // 9 (contains row 6).
  auto A = sparse<double>({{4, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                           {1, 4, 1, 0, 0, 0, 0, 0, 0, 0},
                           {0, 1, 9, 0, 0, 0, 0, 0, 0, 0},
                           {0, 0, 0, -4, 0, 0, 0, 0, 0, 0},
                           {0, 0, 0, 0, 1, 3, 0, 0, 0, 0},
                           {0, 0, 0, 0, 3, 4, 0, 0, 0, 0},
                           {0, 0, 0, 0, 0, 0, nan, 0, 0, 1},
                           {0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                           {1, 0, 0, 0, 0, 0, 0, 0, 4, 0},
                           {0, 0, 0, 0, 0, 0, 1, 0, 0, 4}});
  for (auto& a : A.values)
    if (a == 9) a = 0;
  expect_oracle<double>(exec, A, {0, 2, 0.01});
  Fsai<double, TypeParam> const M(exec, CsrMatrix<double, TypeParam>(exec, A), {0, 2, 0.01});
  EXPECT_EQ(M.setup().repaired_rows, 5);
  EXPECT_EQ(M.setup().first_repaired_row, 2);
}

/// Indefinite in all kernels: the entry at row `bad` makes each pattern that has it indefinite.
TYPED_TEST(FsaiOfDouble, RepairsRowsOfAllSizes) {
  TypeParam const exec;
  for (std::int32_t const n : {2, 7, 15, 30, 60, 150}) {
    auto A = dense_spd<double>(n, 6);
    A.values[std::size_t(n - 2) * n + n - 2] = -1;
    expect_oracle<double>(exec, A, {0, 1, 0.01});
  }
}

TYPED_TEST(FsaiOfDouble, ColumnsInAnyOrder) {
  TypeParam const exec;
  auto A = Solder::random_spd<double>(200, 9, 4);
  CsrMatrix<double, TypeParam> const sorted(exec, A);
  std::mt19937 generator(3);
  for (std::int32_t i = 0; i < A.rows; ++i) {
    std::vector<std::pair<std::int32_t, double>> row;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      row.emplace_back(A.columns[k], A.values[k]);
    std::shuffle(row.begin(), row.end(), generator);
    for (std::size_t e = 0; e < row.size(); ++e) {
      A.columns[A.row_offsets[i] + e] = row[e].first;
      A.values[A.row_offsets[i] + e] = row[e].second;
    }
  }
  FsaiOptions const options{0.01, 2, 0.02};
  auto const a = host_csr(exec, Fsai<double, TypeParam>(exec, sorted, options).G());
  auto const b = host_csr(
      exec, Fsai<double, TypeParam>(exec, CsrMatrix<double, TypeParam>(exec, A), options).G());
  EXPECT_TRUE(same_bits(a.columns, b.columns));
  EXPECT_TRUE(same_bits(a.values, b.values));
}

TYPED_TEST(FsaiOfDouble, DuplicatesAreSummed) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  // Patterns of 1 to about 130 entries: all kernels.
  auto const A = Solder::random_spd<double>(300, 9, 3);
  for (FsaiOptions const& options :
       {FsaiOptions{0.01, 2, 0.01}, FsaiOptions{.delta = 0.02, .adaptive = true}}) {
    Fsai<double, TypeParam> const whole(exec, Matrix(exec, A), options);
    auto const G = host_csr(exec, whole.G());
    for (bool const shuffled : {false, true}) {
      Matrix const parts(exec, in_parts(A, shuffled));
      ASSERT_GT(parts.nonzeros(), A.nonzeros() * 3 / 2);
      Fsai<double, TypeParam> const M(exec, parts, options);
      auto const of_parts = host_csr(exec, M.G());
      EXPECT_TRUE(same_bits(of_parts.row_offsets, G.row_offsets));
      EXPECT_TRUE(same_bits(of_parts.columns, G.columns));
      EXPECT_TRUE(same_bits(of_parts.values, G.values));
      EXPECT_EQ(M.setup().repaired_rows, 0);
      EXPECT_EQ(M.setup().density, whole.setup().density);
    }
  }
}

TYPED_TEST(FsaiOfDouble, SmallestMatricesAndPatterns) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  Fsai<double, TypeParam> const none(exec, Matrix(exec, diagonal<double>({})));
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.G().rows(), 0);
  EXPECT_EQ(none.GH().nonzeros(), 0);
  expect_oracle<double>(exec, diagonal<double>({4}), {});
  expect_oracle<double>(exec, diagonal<double>({4, 9, 1e300, 1e-300, 25}), {0, 3, 0});
  expect_oracle<double>(exec, Solder::fem_poisson_2d<double>(5), {0, 0, 0.1});
  expect_oracle<double>(exec, Solder::fem_poisson_2d<double>(5), {1, 4, 1});
  HostCsr<double> empty_rows;  // no entry at all
  empty_rows.rows = empty_rows.columns_count = 3;
  empty_rows.row_offsets = {0, 0, 0, 0};
  expect_oracle<double>(exec, empty_rows, {});
}

TYPED_TEST(FsaiOfDouble, RefusesWhatItCannotDo) {
  TypeParam const exec;
  auto wide = diagonal<double>({1, 2});
  wide.columns_count = 3;
  auto const refusal = [&](HostCsr<double> const& A, FsaiOptions const& options) -> std::string {
    try {
      Fsai<double, TypeParam>(exec, CsrMatrix<double, TypeParam>(exec, A), options);
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "nothing";
  };
  auto const fine = diagonal<double>({1, 2});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(wide, {}), "Solder::Fsai: a square matrix is needed, not 2 x 3");
  EXPECT_EQ(refusal(fine, {.k = -1}), "Solder::Fsai: k must be an integer from 0 to 100, not -1");
  EXPECT_EQ(refusal(fine, {.tau = nan}), "Solder::Fsai: tau must be a number from 0 to 1, not NaN");
  EXPECT_NE(refusal(fine, {.tau = 1.5}).find("tau"), std::string::npos);
  EXPECT_NE(refusal(fine, {.delta = -0.1}).find("delta"), std::string::npos);
  EXPECT_NE(refusal(fine, {.steps = -1}).find("steps"), std::string::npos);
  EXPECT_NE(refusal(fine, {.entries_per_step = 0}).find("entries_per_step"), std::string::npos);
  EXPECT_NE(refusal(fine, {.improvement = 2}).find("improvement"), std::string::npos);
  EXPECT_EQ(refusal(fine, {.max_row_entries = -1}),
            "Solder::Fsai: max_row_entries must be an integer from 0 to 2147483647, not -1");
  EXPECT_EQ(refusal(fine, {}), "nothing");
}

/// Only the counting is tried: rows of so many entries do not exist.
TYPED_TEST(FsaiOfDouble, RefusesMoreNonzerosThanOffsetsCount) {
  TypeParam const exec;
  auto const kept = to_device(exec, std::vector<std::int32_t>(3, 1 << 30));
  Solder::Impl::fsai::Rows<double, TypeParam, std::int32_t> rows(exec, 3);
  try {
    rows.append(exec, 3, Solder::Impl::fsai::Padded{0, kept.data()}, nullptr, nullptr, kept.data());
    FAIL() << "accepted";
  } catch (std::length_error const& error) {
    EXPECT_NE(std::string(error.what()).find("Offset = std::int64_t"), std::string::npos);
  }
}

template <class Exec, class Offset>
void expect_deduced_with_offsets() {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(9);
  CsrMatrix<double, Exec, Offset> const A(exec, host);
  FsaiOptions const options{0, 2, 0.05};
  Fsai const M(exec, A, options);
  static_assert(std::is_same_v<decltype(M), Fsai<double, Exec, double, Offset> const>);
  static_assert(std::is_same_v<decltype(Fsai(exec, A)), Fsai<double, Exec, double, Offset>>);
  expect_equal(host_csr(exec, M.G()), FsaiOracle<double>(host).static_fsai(0, 2, 0.05), 1e-14);
}

TYPED_TEST(FsaiOfDouble, DeducesTheScalarAndTheOffsets) {
  expect_deduced_with_offsets<TypeParam, std::int32_t>();
  expect_deduced_with_offsets<TypeParam, std::int64_t>();
  expect_deduced_with_offsets<TypeParam, std::size_t>();  // as Tpetra's are
}

TYPED_TEST(FsaiOfDouble, KernelsOfTheInstanceGiven) {
  auto const exec = another_instance<TypeParam>();
  CsrMatrix<double, TypeParam> const A(exec, Solder::poisson_3d_27pt<double>(6));
  KokkosEvents const events;
  Fsai<double, TypeParam> const M(exec, A, {0, 3, 0.01});
  EXPECT_GT(events.kernels.size(), 5u);
  for (auto const& kernel : events.kernels) {
    EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

/// \brief The most bytes that views had at a time since construction.
class PeakBytes {
 public:
  PeakBytes() : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    now = most = 0;
    Tools::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, char const*, void const*, std::uint64_t bytes) {
          now += static_cast<std::int64_t>(bytes);
          most = std::max(most, now);
        });
    Tools::set_deallocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, char const*, void const*, std::uint64_t bytes) {
          now -= static_cast<std::int64_t>(bytes);
        });
  }
  ~PeakBytes() { Kokkos::Tools::Experimental::set_callbacks(before_); }
  PeakBytes(PeakBytes const&) = delete;
  PeakBytes& operator=(PeakBytes const&) = delete;

  static std::int64_t bytes() { return most; }

 private:
  static inline std::int64_t now = 0, most = 0;
  Kokkos::Tools::Experimental::EventSet before_;
};

TYPED_TEST(FsaiOfDouble, PeakMemoryIsBounded) {
  TypeParam const exec;
  auto const bytes = [](auto const& A) {
    return 12 * A.nonzeros() + 4 * (std::int64_t(A.rows()) + 1);
  };
  CsrMatrix<double, TypeParam> const A(exec, Solder::poisson_3d_27pt<double>(16));
  for (double const delta : {0.0, 0.05}) {
    PeakBytes const peak;
    Fsai<double, TypeParam> const M(exec, A, {0, 3, delta});
    EXPECT_LE(peak.bytes() + bytes(A), 3 * (bytes(A) + bytes(M.G())))
        << "delta " << delta << ", A " << bytes(A) << ", G " << bytes(M.G());
  }
}

}  // namespace
