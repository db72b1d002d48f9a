// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What analyse() sees, against loops over all places of a dense matrix.
#include "../support.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <solder/matrix/analysis.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;
using Solder::analyse;
using Solder::Analysis;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::Spread;

double size_of(double a) { return std::abs(a); }
double size_of(Kokkos::complex<double> const& a) {
  return std::max(std::abs(a.real()), std::abs(a.imag()));
}
double real_of(double a) { return a; }
double real_of(Kokkos::complex<double> const& a) { return a.real(); }

/// A dense matrix, and which of its places are stored.
template <class Scalar>
struct Dense {
  int n;
  std::vector<Scalar> values;
  std::vector<bool> stored;

  explicit Dense(int rows) : n(rows), values(rows * rows), stored(rows * rows) {}
  void set(int i, int j, Scalar value) {
    values[i * n + j] = value;
    stored[i * n + j] = true;
  }
  Scalar operator()(int i, int j) const { return values[i * n + j]; }
  HostCsr<Scalar> csr() const {
    HostCsr<Scalar> A{n, n, {0}, {}, {}};
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j)
        if (stored[i * n + j]) {
          A.columns.push_back(j);
          A.values.push_back((*this)(i, j));
        }
      A.row_offsets.push_back(std::int64_t(A.columns.size()));
    }
    return A;
  }
};

Spread spread_of(std::vector<double> const& sizes) {
  Spread spread;
  spread.smallest = std::numeric_limits<double>::infinity();
  for (double const size : sizes) {
    if (size == 0) {
      ++spread.zeros;
      continue;
    }
    spread.smallest = std::min(spread.smallest, size);
    spread.largest = std::max(spread.largest, size);
  }
  return spread;
}
void expect_same(Spread const& a, Spread const& b, char const* what) {
  EXPECT_EQ(a.smallest, b.smallest) << what;
  EXPECT_EQ(a.largest, b.largest) << what;
  EXPECT_EQ(a.zeros, b.zeros) << what;
}

/// Whether row i gets a column, other rows taking others for it where need be.
template <class Scalar>
bool gets_column(Dense<Scalar> const& A, int i, std::vector<int>& row_of, std::vector<bool>& seen) {
  for (int j = 0; j < A.n; ++j) {
    if (size_of(A(i, j)) == 0 || seen[j]) continue;
    seen[j] = true;
    if (row_of[j] < 0 || gets_column(A, row_of[j], row_of, seen)) {
      row_of[j] = i;
      return true;
    }
  }
  return false;
}

/// By the definitions, place by place.
template <class Scalar>
Analysis expected(Dense<Scalar> const& A) {
  Analysis seen;
  int const n = A.n;
  std::vector<double> diagonal(n), of_rows(n), of_columns(n);
  for (int i = 0; i < n; ++i) {
    double others = 0;
    diagonal[i] = size_of(A(i, i));
    for (int j = 0; j < n; ++j) {
      double const size = size_of(A(i, j));
      of_rows[i] = std::max(of_rows[i], size);
      of_columns[j] = std::max(of_columns[j], size);
      seen.unpaired += A.stored[i * n + j] && !A.stored[j * n + i];
      if (i == j || size == 0) continue;
      others += size;
      ++seen.off_diagonals;
      seen.lower += j < i;
      seen.opposite += real_of(A(i, j)) * real_of(A(i, i)) < 0;
      seen.outsized += size * size > 1.000001 * size_of(A(i, i)) * size_of(A(j, j));
      seen.bandwidth = std::max(seen.bandwidth, std::abs(i - j));
    }
    seen.negative_diagonals += real_of(A(i, i)) < 0;
    seen.dominant_rows += diagonal[i] > 0 && diagonal[i] >= others * (1 - 1e-12);
    if (others > 0) seen.dominance = std::min(seen.dominance, diagonal[i] / others);
    bool is_same = i > 0;
    bool is_empty = true;
    for (int j = 0; j < n; ++j) {
      is_same = is_same && A.stored[i * n + j] == A.stored[(i - 1) * n + j];
      is_empty = is_empty && !A.stored[i * n + j];
    }
    seen.repeated_rows += is_same && !is_empty;
  }
  std::vector<int> row_of(n, -1);
  for (int i = 0; i < n; ++i) {
    std::vector<bool> columns(n);
    seen.unmatched_rows += !gets_column(A, i, row_of, columns);
  }
  seen.diagonal = spread_of(diagonal);
  seen.row_sizes = spread_of(of_rows);
  seen.column_sizes = spread_of(of_columns);
  return seen;
}

template <class C>
struct OfMatrix : testing::Test {};
using Cases = Cross<List<>, Spaces, double, Kokkos::complex<double>>::type::Types;
TYPED_TEST_SUITE(OfMatrix, Cases, TypeName);

template <class Exec, class Scalar>
void expect_as_by_hand(Dense<Scalar> const& A) {
  Exec const exec;
  CsrMatrix<Scalar, Exec> const matrix(exec, A.csr());
  Analysis seen = analyse(exec, matrix);
  Analysis const wanted = expected(A);
  find_unmatched_rows(matrix, seen);
  expect_same(seen.diagonal, wanted.diagonal, "diagonal");
  expect_same(seen.row_sizes, wanted.row_sizes, "rows");
  expect_same(seen.column_sizes, wanted.column_sizes, "columns");
  EXPECT_EQ(seen.negative_diagonals, wanted.negative_diagonals);
  EXPECT_EQ(seen.dominant_rows, wanted.dominant_rows);
  EXPECT_DOUBLE_EQ(seen.dominance, wanted.dominance);
  EXPECT_EQ(seen.off_diagonals, wanted.off_diagonals);
  EXPECT_EQ(seen.lower, wanted.lower);
  EXPECT_EQ(seen.opposite, wanted.opposite);
  EXPECT_EQ(seen.outsized, wanted.outsized);
  EXPECT_EQ(seen.unpaired, wanted.unpaired);
  EXPECT_EQ(seen.unmatched_rows, wanted.unmatched_rows);
  EXPECT_EQ(seen.first_unmatched_row >= 0, wanted.unmatched_rows > 0);
  EXPECT_EQ(seen.bandwidth, wanted.bandwidth);
  EXPECT_EQ(seen.repeated_rows, wanted.repeated_rows);
  EXPECT_EQ(seen.rows.rows, A.n);
}

TYPED_TEST(OfMatrix, KnowsWhetherEachRowGetsAColumnOfItsOwn) {
  using Scalar = typename TypeParam::Scalar;
  int deficient = 0;
  for (int turn = 0; turn < 60; ++turn) {
    int const n = 12;
    Dense<Scalar> A(n);
    auto const of = random_vector<double>(n * n, turn);
    double const share = 0.05 + 0.75 * turn / 60;
    for (int k = 0; k < n * n; ++k)
      if (std::abs(of[k]) < share) A.set(k / n, k % n, Scalar(of[k] < 0 ? 0 : of[k]));
    expect_as_by_hand<typename TypeParam::Exec>(A);
    deficient += expected(A).unmatched_rows > 0;
  }
  EXPECT_GT(deficient, 10);
  EXPECT_LT(deficient, 60);
}

TYPED_TEST(OfMatrix, IsWhatLoopsOverAllPlacesSee) {
  using Scalar = typename TypeParam::Scalar;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  auto const value = [&] {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
      double const real = unit(random);
      return Scalar(real, unit(random));
    } else {
      return Scalar(unit(random));
    }
  };
  for (int round = 0; round < 30; ++round) {
    int const n = 1 + round;
    Dense<Scalar> A(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double const chance = (unit(random) + 1) / 2;
        if (i == j && round % 3 != 0) A.set(i, j, value() * double(round % 2 == 0 ? 4 : 1));
        if (i != j && chance < 0.3) A.set(i, j, chance < 0.02 ? Scalar(0) : value());
        if (i > 0 && round % 5 == 0 && i != j && A.stored[(i - 1) * n + j]) A.set(i, j, value());
      }
    expect_as_by_hand<typename TypeParam::Exec>(A);
  }
}

TYPED_TEST(OfMatrix, IsTheSameWithRowsInAnyOrder) {
  using Scalar = typename TypeParam::Scalar;
  using Exec = typename TypeParam::Exec;
  Exec const exec;
  HostCsr<Scalar> A = Solder::fem_poisson_2d<Scalar>(12), B = A;
  for (int i = 0; i < A.rows; ++i) {
    std::reverse(B.columns.begin() + B.row_offsets[i], B.columns.begin() + B.row_offsets[i + 1]);
    std::reverse(B.values.begin() + B.row_offsets[i], B.values.begin() + B.row_offsets[i + 1]);
  }
  Analysis const a = analyse(exec, CsrMatrix<Scalar, Exec>(exec, A)),
                 b = analyse(exec, CsrMatrix<Scalar, Exec>(exec, B));
  EXPECT_EQ(a.dominant_rows, b.dominant_rows);
  EXPECT_EQ(a.opposite, b.opposite);
  EXPECT_EQ(a.outsized, b.outsized);
  EXPECT_TRUE(b.is_hermitian());
  EXPECT_TRUE(b.may_be_definite());
}

template <class Exec>
struct Verdicts : testing::Test {
  Exec exec;
  Analysis of(HostCsr<double> const& A) { return analyse(exec, CsrMatrix<double, Exec>(exec, A)); }
  Analysis of(int n, std::vector<double> const& places) {
    Dense<double> A(n);
    for (int k = 0; k < n * n; ++k)
      if (places[k] != 0) A.set(k / n, k % n, places[k]);
    return of(A.csr());
  }
};
TYPED_TEST_SUITE(Verdicts, Spaces::Types, TypeName);

TYPED_TEST(Verdicts, OfDefiniteAndIndefiniteMatrices) {
  EXPECT_TRUE(this->of(2, {2, 1, 1, 2}).may_be_definite());
  EXPECT_FALSE(this->of(2, {2, 1, 1, 2}).is_indefinite());
  // |a_12|^2 > a_11 a_22: the eigenvalues are -1 and 5.
  EXPECT_TRUE(this->of(2, {2, 3, 3, 2}).is_indefinite());
  EXPECT_FALSE(this->of(2, {2, 3, 3, 2}).may_be_definite());
  EXPECT_TRUE(this->of(2, {2, 1, 1, -2}).is_indefinite());
  EXPECT_TRUE(this->of(2, {0, 1, 1, 0}).is_indefinite());
  Analysis const negative = this->of(2, {-2, 1, 1, -2});
  EXPECT_FALSE(negative.may_be_definite());
  EXPECT_FALSE(negative.is_indefinite());
  Analysis const general = this->of(2, {2, 1, 3, 2});
  EXPECT_FALSE(general.is_hermitian());
  EXPECT_FALSE(general.is_indefinite());
  // No rounding makes a semidefinite matrix indefinite.
  EXPECT_TRUE(this->of(2, {0.1, 0.3, 0.3, 0.9}).may_be_definite());
}

TYPED_TEST(Verdicts, OfMeshesFlowsAndTriangles) {
  EXPECT_TRUE(this->of(Solder::poisson_3d_7pt<double>(6)).looks_elliptic());
  EXPECT_EQ(this->of(Solder::poisson_3d_7pt<double>(6)).dominant_rows, 216);
  EXPECT_TRUE(
      this->of(Solder::convection_diffusion_2d<double>(9, {40, 20}, Solder::Convection::upwind))
          .looks_elliptic());
  EXPECT_FALSE(this->of(3, {1, 2, 0, 2, 1, 2, 0, 2, 1}).looks_elliptic());
  EXPECT_TRUE(this->of(2, {1, 0, 3, 1}).is_triangular());
  EXPECT_TRUE(this->of(2, {1, 3, 0, 1}).is_triangular());
  EXPECT_TRUE(this->of(2, {1, 0, 0, 1}).is_triangular());
  EXPECT_FALSE(this->of(2, {1, 2, 2, 1}).is_triangular());
}

TYPED_TEST(Verdicts, AreInWordsForPeople) {
  std::string const mesh = describe(this->of(Solder::poisson_3d_7pt<double>(6)));
  for (char const* const part :
       {"216 rows", "A is symmetric", "its diagonal is positive", "it may be positive definite",
        "looks like a discretised diffusion"})
    EXPECT_NE(mesh.find(part), std::string::npos) << part << " in\n" << mesh;
  std::string const saddle = describe(this->of(2, {2, 1, 1, 0}));
  EXPECT_NE(saddle.find("1 of its diagonal entries is zero or missing"), std::string::npos)
      << saddle;
  EXPECT_NE(saddle.find("not positive definite"), std::string::npos) << saddle;
  std::string const scaled = describe(this->of(2, {1e9, 1, 1, 1}));
  EXPECT_NE(scaled.find("badly scaled"), std::string::npos) << scaled;
  std::string const empty_row = describe(this->of(2, {1, 1, 0, 0}));
  EXPECT_NE(empty_row.find("structurally singular: 1 row with nothing"), std::string::npos)
      << empty_row;
  std::string const empty_column = describe(this->of(2, {1, 0, 1, 0}));
  EXPECT_NE(empty_column.find("structurally singular: 1 column with nothing"), std::string::npos)
      << empty_column;
  std::string const both = describe(this->of(2, {1, 0, 0, 0}));
  EXPECT_NE(both.find("structurally singular: 1 row and 1 column with"), std::string::npos) << both;
}

TYPED_TEST(Verdicts, OfNothingAndOfNoNumbers) {
  Analysis const none = this->of(HostCsr<double>{0, 0, {0}, {}, {}});
  EXPECT_EQ(none.rows.rows, 0);
  EXPECT_EQ(none.off_diagonals, 0);
  Analysis const wrong = this->of(2, {1, std::nan(""), 1, 1});
  EXPECT_FALSE(wrong.symmetry.is_finite);
  EXPECT_FALSE(wrong.may_be_definite());
  EXPECT_FALSE(wrong.is_indefinite());
  Analysis const wide = this->of(HostCsr<double>{1, 2, {0, 2}, {0, 1}, {1.0, 1.0}});
  EXPECT_FALSE(wide.symmetry.is_square);
}

}  // namespace
