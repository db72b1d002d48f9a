// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// \brief Adaptive FSAI against plain loops. Where two candidates promise the same, rounding
/// decides which is taken and the rows differ from there on, so the matrices here have random
/// values on their patterns. (Scaling A by a diagonal would not do: it leaves ties as they are.)

#include "../kokkos_events.hpp"
#include "../solvers/real_matrices.hpp"
#include "../support.hpp"
#include "fsai_oracle.hpp"

#include <solder/io/matrix_market.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/fsai/adaptive.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>

namespace {

using namespace SolderTest;
using Solder::AdaptiveOptions;
using Solder::CsrMatrix;
using Solder::FsaiAdaptive;
using Solder::HostCsr;

/// Some rows of G, as compute gives them.
template <class Factor>
struct Rows {
  std::vector<std::vector<std::int32_t>> columns;
  std::vector<std::vector<Factor>> values;
  std::int64_t repaired = 0;
  std::int32_t first_repaired = -1;

  void append(Rows const& more) {
    columns.insert(columns.end(), more.columns.begin(), more.columns.end());
    values.insert(values.end(), more.values.begin(), more.values.end());
    if (repaired == 0) first_repaired = more.first_repaired;
    repaired += more.repaired;
  }
  bool operator==(Rows const&) const = default;
};

template <class Factor, class Exec, class Adaptive>
Rows<Factor> compute(Exec const& exec, Adaptive& adaptive, std::int32_t first, std::int32_t last) {
  std::size_t const pad = adaptive.pad(), count = last - first;
  auto const columns = to_device(exec, std::vector<std::int32_t>(pad * count, -7));
  auto const values = to_device(exec, std::vector<Factor>(pad * count));
  auto const counts = to_device(exec, std::vector<std::int32_t>(count, -7));
  auto const repairs =
      adaptive.compute(exec, first, last, columns.data(), values.data(), counts.data());
  Rows<Factor> rows;
  rows.repaired = repairs.count;
  rows.first_repaired = repairs.first;
  auto const c = to_host(exec, columns), lengths = to_host(exec, counts);
  auto const v = to_host(exec, values);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(lengths[i] >= 1 && lengths[i] <= std::int32_t(pad)) << "row " << first + i;
    std::size_t const begin = i * pad, end = begin + std::clamp<std::size_t>(lengths[i], 0, pad);
    rows.columns.emplace_back(c.begin() + begin, c.begin() + end);
    rows.values.emplace_back(v.begin() + begin, v.begin() + end);
  }
  return rows;
}

/// All rows, in chunks of `chunk`.
template <class Factor, class Offset = std::int32_t, class Exec, class Scalar>
Rows<Factor> rows_of(Exec const& exec, HostCsr<Scalar> const& host, AdaptiveOptions const& options,
                     std::int32_t chunk = 1 << 20) {
  CsrMatrix<Scalar, Exec, Offset> const A(exec, host);
  FsaiAdaptive<Scalar, Exec, Factor, Offset> adaptive(exec, A, options);
  Rows<Factor> rows;
  for (std::int32_t first = 0; first < host.rows; first += chunk)
    rows.append(compute<Factor>(exec, adaptive, first, std::min(first + chunk, host.rows)));
  return rows;
}

/// Patterns equal, values to `tolerance` times the length of their row.
template <class Factor, class Scalar>
void expect_oracle(Rows<Factor> const& rows, HostCsr<Scalar> const& host, AdaptiveOptions const& o,
                   double tolerance) {
  auto const G =
      FsaiOracle<Scalar>(host).adaptive_fsai(o.steps, o.entries_per_step, o.improvement, o.delta);
  ASSERT_EQ(rows.columns.size(), G.rows.size());
  EXPECT_EQ(rows.repaired, std::int64_t(G.repaired.size()));
  EXPECT_EQ(rows.first_repaired, G.repaired.empty() ? -1 : G.repaired[0]);
  for (std::size_t i = 0; i < G.rows.size(); ++i) {
    std::vector<std::int32_t> columns;
    double squares = 0;
    for (auto const& [j, value] : G.rows[i]) {
      columns.push_back(j);
      squares += std::norm(value);
    }
    ASSERT_EQ(rows.columns[i], columns) << "row " << i;
    for (std::size_t k = 0; k < columns.size(); ++k)
      ASSERT_LE(std::abs(plain(rows.values[i][k]) - G.rows[i][k].second),
                tolerance * std::sqrt(squares))
          << "row " << i << ", column " << columns[k];
  }
}

/// Random bits, those of Steele, Lea and Flood's SplitMix64: a Mersenne twister for each entry
/// would take most of the time of these tests.
std::uint64_t random_bits(std::uint64_t seed) {
  std::uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Every off-diagonal entry times a random number in [1 - spread, 1] (and, where complex, of a
/// random phase), Hermitian.
template <class Scalar>
HostCsr<Scalar> shaken(HostCsr<Scalar> A, double spread) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      auto const j = A.columns[k];
      if (i == j) continue;
      auto const bits = random_bits(std::uint64_t(std::min(i, j)) * 7919 + std::max(i, j));
      A.values[k] *= Real(1 - spread * double(bits >> 32) / 4294967296.0);
      if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
        Real const phase = Real(double(bits & 0xffffffff) / 1e9) * Real(i < j ? 1 : -1);
        A.values[k] *= Scalar(std::cos(phase), std::sin(phase));
      }
    }
  return A;
}

template <class C>
struct FsaiAdaptiveOf : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;

  /// Rounding of the result, and of sums in double.
  static constexpr double tolerance = 4 * epsilon<Scalar> + 1e-12;
};
TYPED_TEST_SUITE(FsaiAdaptiveOf, AllCases, TypeName);

TYPED_TEST(FsaiAdaptiveOf, EqualsPlainLoops) {
  using Scalar = typename TypeParam::Scalar;
  auto const random = shaken(Solder::random_spd<Scalar>(250, 9, 3), 0);
  auto const stencil = shaken(Solder::poisson_3d_27pt<Scalar>(5), 0.5);
  for (auto const* A : {&random, &stencil})
    for (AdaptiveOptions const& options :
         {AdaptiveOptions{5, 3, 0, 0}, {10, 2, 1e-2, 0.05}, {3, 1, 0.2, 0.3}, {4, 12, 0, 0.01}})
      expect_oracle(rows_of<Scalar>(this->exec, *A, options), *A, options, this->tolerance);
}

TYPED_TEST(FsaiAdaptiveOf, ManyEntriesGiveTheInverseOfTheCholeskyFactor) {
  using Scalar = typename TypeParam::Scalar;
  std::int32_t const n = 60;
  auto const A = shaken(Solder::random_spd<Scalar>(n, 30, 5), 0);
  AdaptiveOptions const options{n, 1000, 0, 0};
  auto const rows = rows_of<Scalar>(this->exec, A, options);
  expect_oracle(rows, A, options, 10 * this->tolerance);

  // Only then is G A G^H = I.
  std::vector<std::vector<Complex>> G(n, std::vector<Complex>(n)), GA = G;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < rows.columns[i].size(); ++k) {
      auto const j = rows.columns[i][k];
      G[i][j] = plain(rows.values[i][k]);
      for (auto at = A.row_offsets[j]; at < A.row_offsets[j + 1]; ++at)
        GA[i][A.columns[at]] += G[i][j] * plain(A.values[at]);
    }
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) {
      Complex product = i == j ? -1 : 0;
      for (std::int32_t k = 0; k < n; ++k) product += GA[i][k] * std::conj(G[j][k]);
      ASSERT_LE(std::abs(product), 10 * this->tolerance) << i << ", " << j;
    }
}

TYPED_TEST(FsaiAdaptiveOf, NoStepsGiveTheDiagonal) {
  using Scalar = typename TypeParam::Scalar;
  auto const A = shaken(Solder::random_spd<Scalar>(50, 5, 1), 0);
  auto const rows = rows_of<Scalar>(this->exec, A, {0, 3, 0, 0});
  for (std::int32_t i = 0; i < 50; ++i)
    EXPECT_EQ(rows.columns[i], std::vector<std::int32_t>{i}) << "row " << i;
  expect_oracle(rows, A, {0, 3, 0, 0}, this->tolerance);
}

TYPED_TEST(FsaiAdaptiveOf, RepairsRows) {
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  auto const original = shaken(Solder::random_spd<Scalar>(80, 7, 9), 0);
  AdaptiveOptions const options{5, 3, 0, 0};
  auto const with_diagonal = [&](std::int32_t row, Scalar value) {
    auto A = original;
    for (auto k = A.row_offsets[row]; k < A.row_offsets[row + 1]; ++k)
      if (A.columns[k] == row) A.values[k] = value;
    return A;
  };
  auto missing = original;
  for (auto k = missing.row_offsets[41]; k < missing.row_offsets[42]; ++k)
    if (missing.columns[k] == 41) {
      missing.columns.erase(missing.columns.begin() + k);
      missing.values.erase(missing.values.begin() + k);
      for (std::int32_t i = 42; i <= 80; ++i) --missing.row_offsets[i];
      break;
    }
  auto nan_beside = original;
  for (std::int32_t i = 0; i < 80; ++i)
    for (auto k = nan_beside.row_offsets[i]; k < nan_beside.row_offsets[i + 1]; ++k)
      if (i + nan_beside.columns[k] == 61) nan_beside.values[k] = Scalar(std::nan(""));
  for (auto const& A :
       {missing, with_diagonal(0, Scalar(0)), with_diagonal(30, Scalar(Real(-2))),
        with_diagonal(30, Scalar(Real(0.1))), with_diagonal(17, Scalar(std::nan(""))), nan_beside,
        with_diagonal(17, Scalar(std::numeric_limits<Real>::infinity()))})
    expect_oracle(rows_of<Scalar>(this->exec, A, options), A, options, 1e4 * this->tolerance);

  auto const rows = rows_of<Scalar>(this->exec, missing, options, 30);
  EXPECT_EQ(rows.repaired, 1);
  EXPECT_EQ(rows.first_repaired, 41);
  EXPECT_EQ(rows.columns[41], std::vector<std::int32_t>{41});
  EXPECT_EQ(rows.values[41], std::vector<Scalar>{Scalar(1)});
  auto const negative = rows_of<Scalar>(this->exec, with_diagonal(30, Scalar(Real(-4))), options);
  EXPECT_EQ(negative.first_repaired, 30);
  EXPECT_EQ(negative.values[30], std::vector<Scalar>{Scalar(Real(0.5))});
}

template <class Exec>
struct FsaiAdaptiveOn : testing::Test {
  Exec exec;
};
TYPED_TEST_SUITE(FsaiAdaptiveOn, Spaces::Types, TypeName);

using Z = Kokkos::complex<double>;

TYPED_TEST(FsaiAdaptiveOn, NeitherChunksNorTheOrderOfColumnsChangeABit) {
  auto A = shaken(Solder::random_spd<Z>(500, 11, 4), 0);
  AdaptiveOptions const options{6, 3, 1e-3, 0.02};
  auto const expected = rows_of<Z>(this->exec, A, options);
  EXPECT_EQ(rows_of<Z>(this->exec, A, options, 37), expected);
  EXPECT_EQ((rows_of<Z, std::int64_t>(this->exec, A, options, 99)), expected);
  std::mt19937 random(5);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i + 1] - 1; k > A.row_offsets[i]; --k) {
      auto const other = A.row_offsets[i] + random() % (k - A.row_offsets[i] + 1);
      std::swap(A.columns[k], A.columns[other]);
      std::swap(A.values[k], A.values[other]);
    }
  EXPECT_EQ(rows_of<Z>(this->exec, A, options), expected);
}

TYPED_TEST(FsaiAdaptiveOn, AFullImprovementStopsAfterOneStep) {
  auto const A = shaken(Solder::random_spd<double>(300, 9, 8), 0);
  auto const rows = rows_of<double>(this->exec, A, {7, 2, 1, 0});
  EXPECT_EQ(rows.columns, rows_of<double>(this->exec, A, {1, 2, 0, 0}).columns);
  EXPECT_EQ(rows.values, rows_of<double>(this->exec, A, {1, 2, 0, 0}).values);
  EXPECT_NE(rows.columns, rows_of<double>(this->exec, A, {7, 2, 0, 0}).columns);
}

TYPED_TEST(FsaiAdaptiveOn, EqualCandidatesTheLargerColumnFirst) {
  // Row 4 has the same entry in columns 0 to 3, which have the same diagonal.
  double const o = 0, a = 4, b = -1;
  auto const A = sparse<double>(
      {{a, o, o, o, b}, {o, a, o, o, b}, {o, o, a, o, b}, {o, o, o, a, b}, {b, b, b, b, a}});
  EXPECT_EQ(rows_of<double>(this->exec, A, {1, 2, 0, 0}).columns[4],
            (std::vector<std::int32_t>{2, 3, 4}));
}

TYPED_TEST(FsaiAdaptiveOn, TheFactorMayBeSingle) {
  auto const A = shaken(Solder::random_spd<double>(200, 9, 2), 0);
  AdaptiveOptions const options{5, 3, 0, 0.05};
  auto const rows = rows_of<float>(this->exec, A, options), again = rows;
  expect_oracle(rows, A, options, 4 * epsilon<float>);
  auto const wide = rows_of<double>(this->exec, A, options);
  for (std::size_t i = 0; i < wide.values.size(); ++i)
    for (std::size_t k = 0; k < wide.values[i].size(); ++k)
      ASSERT_EQ(rows.values[i][k], float(wide.values[i][k])) << "row " << i;

  // 1 / sqrt(1e-90) is not a float.
  auto const tiny = rows_of<float>(this->exec, diagonal<double>({1, 1e-90, 4}), options);
  EXPECT_EQ(tiny.repaired, 1);
  EXPECT_EQ(tiny.first_repaired, 1);
  EXPECT_EQ(tiny.values, (std::vector<std::vector<float>>{{1}, {1}, {0.5}}));
}

TYPED_TEST(FsaiAdaptiveOn, RowsOfAnyLength) {
  // Row 5,950 is full; the rest is tridiagonal, so the tables start small.
  std::int32_t const n = 6000, hub = 5950;
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < n; ++i) {
    builder.add(i, i, i == hub ? 2000. : 4.);
    if (i > 0 && i != hub && i - 1 != hub) {
      builder.add(i, i - 1, -1.);
      builder.add(i - 1, i, -1.);
    }
    if (i != hub) {
      builder.add(i, hub, -0.5);
      builder.add(hub, i, -0.5);
    }
  }
  auto const A = shaken(builder.build(n, n), 0.5);
  AdaptiveOptions const options{4, 2, 0, 0};
  auto const rows = rows_of<double>(this->exec, A, options);
  expect_oracle(rows, A, options, 1e-12);
  EXPECT_EQ(rows_of<double>(this->exec, A, options, 1000), rows);
}

TYPED_TEST(FsaiAdaptiveOn, SmallestMatrices) {
  EXPECT_EQ(rows_of<double>(this->exec, diagonal<double>({}), {5, 3, 0, 0}), Rows<double>{});
  CsrMatrix<double, TypeParam> const none(this->exec, diagonal<double>({}));
  FsaiAdaptive<double, TypeParam> adaptive(this->exec, none, {5, 3, 0, 0});
  EXPECT_EQ(adaptive.pad(), 1);
  EXPECT_EQ(adaptive.compute(this->exec, 0, 0, nullptr, nullptr, nullptr).count, 0);

  Rows<double> const one{{{0}}, {{0.5}}};
  EXPECT_EQ(rows_of<double>(this->exec, diagonal<double>({4}), {5, 3, 0, 0}), one);
  Rows<double> const two{{{0}, {0, 1}}, {{0.5}, {0.25, 0.5}}};  // of psi = 5 - 4 / 4
  EXPECT_EQ(rows_of<double>(this->exec, sparse<double>({{4, -2}, {-2, 5}}), {5, 3, 0, 0}), two);
}

TYPED_TEST(FsaiAdaptiveOn, WorksOnTheInstanceGiven) {
  auto const exec = another_instance<TypeParam>();
  CsrMatrix<double, TypeParam> const A(exec, Solder::poisson_3d_27pt<double>(5));
  auto const columns = to_device(exec, std::vector<std::int32_t>(125 * 16));
  auto const values = to_device(exec, std::vector<double>(125 * 16));
  auto const counts = to_device(exec, std::vector<std::int32_t>(125));
  KokkosEvents events;
  FsaiAdaptive<double, TypeParam> adaptive(exec, A, {5, 3, 0, 0});
  adaptive.compute(exec, 0, 125, columns.data(), values.data(), counts.data());
  events.stop();
  std::vector<std::string> labels;
  for (auto const& kernel : events.kernels) {
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
    if (kernel.label.rfind("Solder::", 0) == 0) labels.push_back(kernel.label);
  }
  EXPECT_EQ(labels,
            (std::vector<std::string>{"Solder::fsai::diagonal", "Solder::fsai::adaptive_rows"}));
  for (auto const& allocation : events.allocations)
    EXPECT_EQ(allocation.label.rfind("Solder::fsai::", 0), 0u) << allocation.label;
}

// As they are, in 0 to 3% of the rows of such matrices two candidates are equal but for rounding.
template <class Scalar>
void expect_oracle_on(RealMatrix const& matrix) {
  SCOPED_TRACE(matrix.name);
  auto const A = shaken(Solder::read_matrix_market<Scalar>(matrix_file(matrix)), 1e-3);
  AdaptiveOptions const options{5, 2, 1e-3, 0.02};
  expect_oracle(rows_of<Scalar>(Kokkos::DefaultExecutionSpace(), A, options), A, options, 1e-10);
}

TEST(FsaiAdaptiveOnRealMatrices, EqualsPlainLoops) {
  int count = 0;
  for (auto const& matrix : real_matrices(1500)) {
    if (!matrix.spd) continue;
    ++count;
    if (matrix.is_complex)
      expect_oracle_on<Z>(matrix);
    else
      expect_oracle_on<double>(matrix);
  }
  if (count == 0) GTEST_SKIP() << "no matrices in " << matrices_folder();
}

}  // namespace
