// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../support.hpp"
#include "incomplete_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include <solder/core/deadline.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solvers/cg.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::Factorisation;
using Solder::HostCsr;
using Solder::Incomplete;
using Solder::IncompleteOptions;
using Solder::Ordering;
using Solder::Reason;

using Dense = std::vector<std::vector<Complex>>;

/// The factors of M, L below the diagonal, in the order of elimination; zero where nothing is
/// stored, and what is stored in `stored`.
template <class Exec, class Scalar>
Dense factors_of(Exec const& exec, Incomplete<Scalar, Exec> const& M,
                 std::vector<std::vector<bool>>& stored) {
  auto const n = std::size_t(M.rows());
  auto const offsets = to_host(exec, M.factor_offsets());
  auto const columns = to_host(exec, M.factor_columns());
  auto const values = to_host(exec, M.factor_values());
  Dense F(n, std::vector<Complex>(n));
  stored.assign(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = offsets[i]; k < offsets[i + 1]; ++k) {
      F[i][columns[k]] = plain(values[k]);
      stored[i][columns[k]] = true;
    }
  return F;
}

/// A in this order.
template <class Scalar>
Dense dense(HostCsr<Scalar> const& A, std::vector<std::int32_t> const& order) {
  auto const n = std::size_t(A.rows);
  std::vector<std::int32_t> rank(n);
  for (std::size_t i = 0; i < n; ++i) rank[order[i]] = static_cast<std::int32_t>(i);
  Dense D(n, std::vector<Complex>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = A.row_offsets[order[i]]; k < A.row_offsets[order[i] + 1]; ++k)
      D[i][rank[A.columns[k]]] += plain(A.values[k]);
  return D;
}

Complex product(Dense const& F, std::size_t i, std::size_t j) {
  Complex sum = i <= j ? F[i][j] : 0.0;
  for (std::size_t k = 0; k < std::min(i, j + 1); ++k) sum += F[i][k] * F[k][j];
  return sum;
}

/// The largest |A - L U| where the factors have entries, relative to the largest |a_ij|.
template <class Exec, class Scalar>
double error_on_pattern(Exec const& exec, HostCsr<Scalar> const& A,
                        Incomplete<Scalar, Exec> const& M) {
  std::vector<std::vector<bool>> stored;
  Dense const F = factors_of(exec, M, stored), D = dense(A, M.elimination());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < D.size(); ++i)
    for (std::size_t j = 0; j < D.size(); ++j) {
      largest = std::max(largest, std::abs(D[i][j]));
      if (stored[i][j]) worst = std::max(worst, std::abs(D[i][j] - product(F, i, j)));
    }
  return worst / largest;
}

/// Diagonally dominant, of no symmetry.
template <class Scalar>
HostCsr<Scalar> general(std::int32_t rows, std::int32_t row_entries, unsigned seed) {
  std::mt19937 generator(seed);
  auto const values = random_vector<Scalar>(std::size_t(rows) * (row_entries + 1), seed + 1);
  std::vector<std::vector<Scalar>> D(rows, std::vector<Scalar>(rows));
  std::size_t next = 0;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t k = 0; k < row_entries; ++k) D[i][generator() % rows] = values[next++];
    D[i][i] = Scalar(float(row_entries) * 0.7f) + values[next++];
  }
  return sparse(D);
}

double size_of(Complex const& value) { return std::abs(value.real()) + std::abs(value.imag()); }

/// Saad's ILUT without a bound of memory, dense, by the rule of filled_by_threshold().
Dense plain_ilut(Dense const& A, double tolerance) {
  std::size_t const n = A.size();
  Dense F = A;
  for (std::size_t i = 0; i < n; ++i) {
    auto& w = F[i];
    double sum = 0;
    int entries = 0;
    for (Complex const& a : A[i]) {
      sum += size_of(a);
      entries += a != 0.0;
    }
    double const small = tolerance * sum / entries;
    for (std::size_t k = 0; k < i; ++k) {
      if (w[k] == 0.0) continue;
      Complex const factor = w[k] / F[k][k];
      double largest = 0;
      for (std::size_t j = k; j < n; ++j) largest = std::max(largest, size_of(F[k][j]));
      w[k] = size_of(factor) * largest < small ? 0.0 : factor;
      for (std::size_t j = k + 1; j < n; ++j) w[j] -= w[k] * F[k][j];
    }
    for (std::size_t j = i + 1; j < n; ++j)
      if (size_of(w[j]) < small) w[j] = 0;
  }
  return F;
}

template <class C>
struct FillOf : testing::Test {};
TYPED_TEST_SUITE(FillOf, AllCases, TypeName);

TYPED_TEST(FillOf, IlutLeavesOutWhatSaadsDoes) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = general<Scalar>(70, 4, 5);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (auto const ordering : {Ordering::natural, Ordering::rcm, Ordering::amd})
    for (double const tolerance : {0.3, 0.01}) {
      IncompleteOptions options;
      options.ordering = ordering;
      options.drop_tolerance = tolerance;
      options.fill_factor = 1000;
      Incomplete const M(exec, A, Factorisation::ilut, options);
      ASSERT_EQ(M.failure(), "");
      Dense const expected = plain_ilut(dense(host, M.elimination()), tolerance);
      std::vector<std::vector<bool>> stored;
      Dense const F = factors_of(exec, M, stored);
      for (std::size_t i = 0; i < F.size(); ++i)
        for (std::size_t j = 0; j < F.size(); ++j) {
          ASSERT_EQ(stored[i][j], i == j || expected[i][j] != 0.0) << i << ", " << j;
          ASSERT_NEAR(std::abs(F[i][j] - expected[i][j]), 0, 500 * epsilon<Scalar>);
        }
      EXPECT_EQ(M.setup().repaired_rows, 0);
      EXPECT_GT(M.setup().dropped, 0);
      EXPECT_LE(error_on_pattern(exec, host, M), tolerance * 2);
    }
}

TYPED_TEST(FillOf, NothingDroppedIsAllOfLu) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = general<Scalar>(60, 5, 8);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  auto const b = random_vector<Scalar>(60, 3);
  auto const expected = dense_solve(host, b);
  auto const device_b = to_device(exec, b), x = to_device(exec, std::vector<Scalar>(60));
  for (auto const kind : {Factorisation::ilut, Factorisation::iluk})
    for (auto const ordering : {Ordering::natural, Ordering::multicolour, Ordering::amd}) {
      IncompleteOptions options;
      options.ordering = ordering;
      options.level = 60;
      options.drop_tolerance = 0;
      options.fill_factor = 1000;
      Incomplete M(exec, A, kind, options);
      ASSERT_EQ(M.failure(), "");
      for (int turn = 0; turn < 2; ++turn) {
        M.apply(exec, device_b, x);
        auto const found = to_host(exec, x);
        for (int i = 0; i < 60; ++i)
          ASSERT_NEAR(std::abs(plain(found[i]) - expected[i]), 0, 3000 * epsilon<Scalar>) << i;
        M.refresh(exec, A);  // the factors are now computed in their pattern
      }
    }
}

TYPED_TEST(FillOf, LevelsAreThoseOfTheDefinition) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = general<Scalar>(60, 3, 11);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (int const most : {0, 1, 2, 4}) {
    IncompleteOptions options;
    options.level = most;
    options.fill_factor = 100;
    Incomplete const M(exec, A, Factorisation::iluk, options);
    ASSERT_EQ(M.failure(), "");
    Dense const D = dense(host, M.elimination());
    std::size_t const n = D.size();
    std::vector<std::vector<int>> level(n, std::vector<int>(n, 1000));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (D[i][j] != 0.0 || i == j) level[i][j] = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (level[i][k] <= most)
          for (std::size_t j = k + 1; j < n; ++j)
            if (int const l = level[i][k] + level[k][j] + 1; l <= most)
              level[i][j] = std::min(level[i][j], l);
    std::vector<std::vector<bool>> stored;
    factors_of(exec, M, stored);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(stored[i][j], level[i][j] <= most) << i;
    EXPECT_LE(error_on_pattern(exec, host, M), 100 * epsilon<Scalar>);
    if (most == 0) {
      Incomplete const without(exec, A, Factorisation::ilu0);
      EXPECT_TRUE(
          same_bits(to_host(exec, M.factor_values()), to_host(exec, without.factor_values())));
    }
  }
}

TYPED_TEST(FillOf, HermitianFactorsStayHermitian) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = Solder::random_spd<Scalar>(80, 5, 3);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (auto const kind : {Factorisation::ick, Factorisation::ict})
    for (auto const ordering : {Ordering::natural, Ordering::amd}) {
      IncompleteOptions options;
      options.ordering = ordering;
      options.level = 2;
      options.drop_tolerance = 0.02;
      Incomplete const M(exec, A, kind, options);
      ASSERT_EQ(M.failure(), "");
      std::vector<std::vector<bool>> stored;
      Dense const F = factors_of(exec, M, stored);
      int fill = 0;
      Dense const D = dense(host, M.elimination());
      for (std::size_t i = 0; i < F.size(); ++i) {
        EXPECT_GT(F[i][i].real(), 0);
        for (std::size_t j = 0; j < i; ++j) {
          ASSERT_EQ(stored[i][j], stored[j][i]);
          ASSERT_NEAR(std::abs(F[j][i] - std::conj(F[i][j]) * F[j][j]), 0,
                      500 * epsilon<Scalar> * std::abs(F[j][j]));
          fill += stored[i][j] && D[i][j] == 0.0;
        }
      }
      EXPECT_GT(fill, 0);
      EXPECT_LE(error_on_pattern(exec, host, M), 100 * epsilon<Scalar>);
    }
}

TYPED_TEST(FillOf, MemoryIsBounded) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = Solder::random_spd<Scalar>(300, 8, 21);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  IncompleteOptions options;
  options.drop_tolerance = 0;
  options.fill_factor = 1.5;
  options.level = 20;
  for (auto const kind : {Factorisation::ilut, Factorisation::ict}) {
    Incomplete const M(exec, A, kind, options);
    EXPECT_EQ(M.failure(), "");
    EXPECT_LE(double(M.setup().nonzeros), 1.5 * double(host.values.size()) + 300);
    EXPECT_GT(double(M.setup().nonzeros), 1.3 * double(host.values.size()));
    EXPECT_GT(M.setup().dropped, 0);
  }
  for (auto const kind : {Factorisation::iluk, Factorisation::ick})
    EXPECT_EQ(Incomplete(exec, A, kind, options).failure(),
              "fill up to level 20 takes more than 1.5 entries per entry of A: take a lower level, "
              "or a larger fill_factor");
}

TYPED_TEST(FillOf, SmallPivotsAreReplacedAndCounted) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  Scalar const o{}, a(2), b(3);
  // Row 1 has no diagonal entry, row 2 no entry at all, and row 3 gets one by fill.
  CsrMatrix<Scalar, Exec> const A(
      exec, sparse<Scalar>({{a, o, o, b}, {o, o, o, b}, {o, o, o, o}, {b, o, o, o}}));
  IncompleteOptions options;
  options.ordering = Ordering::natural;
  options.drop_tolerance = 0.01;
  Incomplete M(exec, A, Factorisation::ilut, options);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(M.failure(), "");
    EXPECT_EQ(M.setup().repaired_rows, 2);
    EXPECT_EQ(M.setup().first_repaired_row, 1);
    auto const values = to_host(exec, M.factor_values());
    std::vector<Complex> found;
    for (Scalar const& value : values) found.push_back(plain(value));
    std::vector<Complex> const expected{2, 3, 3e-4, 3, 1, 1.5, -4.5};
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(std::abs(found[k] - expected[k]), 0, 10 * epsilon<Scalar>) << k;
    M.refresh(exec, A);
  }
  EXPECT_EQ(Incomplete(exec, A, Factorisation::iluk).failure(),
            "the pivot of row 2 (counted from 1) of iluk is zero or not finite");

  CsrMatrix<Scalar, Exec> const one(exec, sparse<Scalar>({{a}}));
  for (auto const kind :
       {Factorisation::ilut, Factorisation::iluk, Factorisation::ict, Factorisation::ick}) {
    Incomplete const of_one(exec, one, kind);
    EXPECT_EQ(of_one.failure(), "");
    EXPECT_EQ(plain(to_host(exec, of_one.factor_values())[0]), 2.0);
    HostCsr<Scalar> nothing;
    nothing.row_offsets = {0};
    Incomplete const of_none(exec, CsrMatrix<Scalar, Exec>(exec, nothing), kind);
    EXPECT_EQ(of_none.failure(), "");
  }
}

/// 1 / pivot would overflow, and so would what makes it larger.
TYPED_TEST(FillOf, DenormalPivotsAreReplaced) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  Exec const exec;
  Scalar const tiny(std::numeric_limits<Real>::denorm_min()), one(1), o{};
  CsrMatrix<Scalar, Exec> const A(exec, sparse<Scalar>({{tiny, one}, {one, o}}));
  IncompleteOptions options;
  options.drop_tolerance = 1e-3;
  Incomplete M(exec, A, Factorisation::ilut, options);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(M.failure(), "");
    EXPECT_EQ(M.setup().repaired_rows, 1);
    auto const values = to_host(exec, M.factor_values());
    for (Scalar const& value : values) EXPECT_TRUE(std::isfinite(std::abs(plain(value))));
    // The least size: 1e-5 times the mean size of the row, or rounding.
    double const least = std::max(0.01 * 1e-3 * 0.5, double(epsilon<Scalar>));
    EXPECT_NEAR(std::abs(plain(values[0])), least, 1e-5 * least);
    M.refresh(exec, A);
  }
  // A row of nothing else: its inverse is still a number.
  CsrMatrix<Scalar, Exec> const B(exec, sparse<Scalar>({{tiny, o}, {o, one}}));
  for (Scalar const& value :
       to_host(exec, Incomplete(exec, B, Factorisation::ilut).factor_values()))
    EXPECT_TRUE(std::isfinite(1 / Real(std::abs(plain(value)))));
}

using Exec = Kokkos::DefaultExecutionSpace;

/// In an arrow that points to its first row everything fills in, in natural order. In a triangle
/// nothing does, but in other orders.
TEST(Fill, IsOrderedByDegreeWhereItWouldBeMuch) {
  Exec const exec;
  constexpr int n = 200;
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    rows[0][i] = rows[i][0] = 1;
    rows[i][i] = n;
  }
  HostCsr<double> const arrow = sparse<double>(rows);
  for (auto const kind : {Factorisation::ilut, Factorisation::ict, Factorisation::ick}) {
    Incomplete const M(exec, CsrMatrix<double, Exec>(exec, arrow), kind);
    EXPECT_EQ(M.setup().ordering, "amd") << to_string(kind);
    EXPECT_LE(M.setup().nonzeros, arrow.nonzeros());
    Incomplete const even(exec, CsrMatrix<double, Exec>(exec, Solder::fem_poisson_2d<double>(9)),
                          kind);
    EXPECT_EQ(even.setup().ordering, kind == Factorisation::ilut ? "amd" : "natural");
  }

  auto const lower = Solder::block_lower_triangular<double>(4, 50, 0.1, 1);
  Incomplete const exact(exec, CsrMatrix<double, Exec>(exec, lower), Factorisation::ilut);
  EXPECT_EQ(exact.setup().ordering, "natural");
  EXPECT_LE(exact.setup().nonzeros, lower.nonzeros());
}

TEST(Fill, EndsWhereItsTimeIsOver) {
  using Solder::Impl::Deadline;
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, general<double>(300, 5, 31));
  for (auto const kind : {Factorisation::ilut, Factorisation::iluk, Factorisation::ict}) {
    {
      Deadline const ample(1000);
      {
        Deadline const none(0);
        EXPECT_THROW(Incomplete(exec, A, kind), Solder::Impl::OutOfTime);
      }
      EXPECT_NO_THROW(Incomplete(exec, A, kind));
    }
    EXPECT_NO_THROW(Incomplete(exec, A, kind));
  }
}

TEST(Fill, ARefreshKeepsThePatternAndAllocatesNothing) {
  Exec const exec;
  auto const host = general<double>(300, 5, 31);
  auto other = host;
  for (std::size_t k = 0; k < other.values.size(); ++k) other.values[k] *= 1 + 0.1 * (k % 7);
  CsrMatrix<double, Exec> const A(exec, host), B(exec, other);
  for (auto const kind : {Factorisation::ilut, Factorisation::iluk}) {
    IncompleteOptions options;
    options.ordering = Ordering::amd;
    Incomplete M(exec, A, kind, options);
    auto const columns = to_host(exec, M.factor_columns());
    KokkosEvents events;
    M.refresh(exec, B);
    events.stop();
    EXPECT_TRUE(events.allocations.empty());
    EXPECT_TRUE(same_bits(to_host(exec, M.factor_columns()), columns));
    EXPECT_LE(error_on_pattern(exec, other, M), 1e-13);
    EXPECT_EQ(M.failure(), "");
  }
}

/// The first values of ict come with the pattern where they can; a refresh computes them in it.
template <class Scalar>
void expect_same_after_a_refresh() {
  Exec const exec;
  auto const host = Solder::random_spd<Scalar>(200, 5, 13);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (double const drop : {0.0, 0.05}) {
    IncompleteOptions options;
    options.ordering = Ordering::amd;
    options.drop_tolerance = drop;
    options.fill_factor = 1000;
    Incomplete M(exec, A, Factorisation::ict, options);
    auto const columns = to_host(exec, M.factor_columns());
    auto const first = to_host(exec, M.factor_values());
    M.refresh(exec, A);
    EXPECT_TRUE(same_bits(to_host(exec, M.factor_columns()), columns));
    auto const again = to_host(exec, M.factor_values());
    ASSERT_EQ(first.size(), again.size());
    for (std::size_t k = 0; k < first.size(); ++k)
      EXPECT_LE(std::abs(plain(first[k]) - plain(again[k])),
                1e-12 * (1 + std::abs(plain(again[k]))));
    EXPECT_EQ(M.failure(), "");
  }
}
TEST(Fill, ValuesOfIctThatComeWithThePatternAreThoseOfARefresh) {
  expect_same_after_a_refresh<double>();
  expect_same_after_a_refresh<Kokkos::complex<double>>();
}

TEST(Fill, IsInAnOrderThatIsGiven) {
  Exec const exec;
  auto const host = Solder::random_spd<double>(60, 4, 3);
  CsrMatrix<double, Exec> const A(exec, host);
  std::vector<std::int32_t> order(60);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  auto const given = [&](std::vector<std::int32_t> const& rows, Ordering ordering) {
    IncompleteOptions options;
    options.ordering = ordering;
    options.order = std::make_shared<std::vector<std::int32_t> const>(rows);
    return options;
  };
  for (auto const kind : {Factorisation::ict, Factorisation::ilut, Factorisation::ilu0}) {
    Incomplete const M(exec, A, kind, given(order, Ordering::amd));
    EXPECT_EQ(M.elimination(), order);
    EXPECT_LE(error_on_pattern(exec, host, M), 2e-3);
    // It is for amd alone.
    EXPECT_NE(Incomplete(exec, A, kind, given(order, Ordering::rcm)).elimination(), order);
    auto wrong = order;
    wrong[7] = wrong[8];
    EXPECT_THROW(Incomplete(exec, A, kind, given(wrong, Ordering::amd)), std::invalid_argument);
    wrong[7] = 60;
    EXPECT_THROW(Incomplete(exec, A, kind, given(wrong, Ordering::amd)), std::invalid_argument);
    wrong = order;
    wrong.pop_back();
    EXPECT_THROW(Incomplete(exec, A, kind, given(wrong, Ordering::amd)), std::invalid_argument);
  }
}

/// A with another diagonal.
template <class Scalar>
HostCsr<Scalar> with_diagonal(HostCsr<Scalar> A, double factor, std::int32_t row = -1) {
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] == i && (row < 0 || row == i)) A.values[k] *= factor;
  return A;
}

/// Where a pivot is not positive, ict is that of a matrix with a larger diagonal. A refresh begins
/// with the same one.
template <class Scalar>
void expect_shifted() {
  Exec const exec;
  auto const good = Solder::fem_poisson_2d<Scalar>(12), bad = with_diagonal(good, 0.9);
  CsrMatrix<Scalar, Exec> const A(exec, bad);  // its least eigenvalue is negative
  IncompleteOptions options;
  options.drop_tolerance = 0.02;
  Incomplete M(exec, A, Factorisation::ict, options);
  ASSERT_EQ(M.failure(), "");
  double const shift = M.shift();
  EXPECT_GE(shift, 0.016);
  EXPECT_LE(shift, 0.128);
  options.shift = 0;
  CsrMatrix<Scalar, Exec> const shifted(exec, with_diagonal(bad, 1 + shift));
  Incomplete const expected(exec, shifted, Factorisation::ict, options);
  ASSERT_EQ(expected.failure(), "");
  EXPECT_TRUE(
      same_bits(to_host(exec, M.factor_columns()), to_host(exec, expected.factor_columns())));
  auto const expect_its_values = [&](double tolerance) {
    auto const found = to_host(exec, M.factor_values()),
               values = to_host(exec, expected.factor_values());
    for (std::size_t k = 0; k < values.size(); ++k)
      EXPECT_LE(std::abs(plain(found[k]) - plain(values[k])), tolerance);
  };
  expect_its_values(0);
  M.refresh(exec, A);
  EXPECT_EQ(M.shift(), shift);
  expect_its_values(1e-13);
  M.refresh(exec, CsrMatrix<Scalar, Exec>(exec, good));
  EXPECT_EQ(M.failure(), "");
  EXPECT_EQ(M.shift(), shift);
}
TEST(Fill, IctIsThatOfTheLargerDiagonalThatItNeeds) {
  expect_shifted<double>();
  expect_shifted<Kokkos::complex<double>>();
}

/// Where no shift helps, the first pivot that is certainly not positive ends the set-up of ict,
/// before there is a pattern. Other values are analysed anew.
TEST(Fill, IctEndsAtAPivotThatIsNotPositive) {
  Exec const exec;
  auto const good = Solder::random_spd<double>(80, 4, 3);
  CsrMatrix<double, Exec> const A(exec, good), negative(exec, with_diagonal(good, -1, 20)),
      missing(exec, with_diagonal(good, 0, 20)), low(exec, with_diagonal(good, 0.1));
  IncompleteOptions options;
  options.drop_tolerance = 0;
  options.fill_factor = 1000;
  for (double const shift : {0.0, 1e-3}) {
    options.shift = shift;
    std::string const at_21 =
        std::string("the pivot of row 21 (counted from 1) of ict is not positive, or not finite") +
        (shift == 0 ? "; shift: 0 rules out a larger diagonal" : "");
    EXPECT_EQ(Incomplete(exec, missing, Factorisation::ict, options).failure(), at_21);
    Incomplete M(exec, negative, Factorisation::ict, options);
    EXPECT_EQ(M.failure(), at_21);
    EXPECT_EQ(M.elimination()[20], 20);
    M.refresh(exec, A);
    EXPECT_EQ(M.failure(), "");
    EXPECT_EQ(M.shift(), 0);
    EXPECT_LE(error_on_pattern(exec, good, M), 1e-13);
    M.refresh(exec, negative);  // in the pattern now
    EXPECT_NE(M.failure().find("is not positive, or not finite"), std::string::npos);
  }
  options.shift = 1e-6;
  EXPECT_TRUE(Incomplete(exec, low, Factorisation::ict, options)
                  .failure()
                  .ends_with("of ict is not positive, or not finite, even with a diagonal that is "
                             "0.0512% larger"));
}

/// Of a matrix that is not Hermitian all entries count, not those above the diagonal alone.
TEST(Fill, IctSeesANumberThatIsNoneBelowTheDiagonal) {
  Exec const exec;
  auto host = Solder::random_spd<double>(50, 3, 2);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (i == 20 && host.columns[k] < i) host.values[k] = std::nan("");
  CsrMatrix<double, Exec> const A(exec, host);
  EXPECT_NE(Incomplete(exec, A, Factorisation::ict).failure(), "");
}

TEST(Fill, ANumberThatIsNoneIsAFailure) {
  Exec const exec;
  auto host = general<double>(50, 3, 2);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (i == 20 && host.columns[k] == i) host.values[k] = std::nan("");
  CsrMatrix<double, Exec> const A(exec, host);
  for (auto const kind :
       {Factorisation::ilut, Factorisation::iluk, Factorisation::ict, Factorisation::ick})
    EXPECT_NE(Incomplete(exec, A, kind).failure(), "");
}

TEST(Fill, SavesIterations) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(60);
  CsrMatrix<double, Exec> const A(exec, host);
  auto const b = to_device(exec, random_vector<double>(host.rows, 5));
  auto const iterations = [&](Factorisation kind) {
    IncompleteOptions options;
    options.drop_tolerance = 0.01;
    Incomplete const M(exec, A, kind, options);
    auto const x = to_device(exec, std::vector<double>(host.rows));
    Solder::Cg solver(exec, A, M);
    auto const report = solver.solve(b, x);
    EXPECT_EQ(report.reason, Reason::converged);
    return report.iterations;
  };
  int const ic0 = iterations(Factorisation::ic0);
  EXPECT_LT(iterations(Factorisation::ick), ic0);
  EXPECT_LT(iterations(Factorisation::ict), ic0);
}

}  // namespace
