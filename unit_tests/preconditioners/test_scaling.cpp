// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/scaled.hpp>
#include <solder/preconditioners/scaling.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::Factorisation;
using Solder::HostCsr;
using Solder::Incomplete;
using Solder::Jacobi;
using Solder::Match;
using Solder::Reason;
using Solder::Scale;
using Solder::Scaled;
using Solder::Scaling;
using Solder::ScalingOptions;
namespace scaling = Solder::Impl::scaling;

// ---- The matching ----

constexpr double none = -std::numeric_limits<double>::infinity();

/// The best sum of matched entries of a dense matrix, of all permutations; and the most rows that
/// can be matched.
struct Best {
  double sum = none;
  int matched = 0;

  explicit Best(std::vector<std::vector<double>> const& log) {
    std::vector<int> column(log.size());
    std::iota(column.begin(), column.end(), 0);
    do {
      double of = 0;
      int there = 0;
      for (std::size_t i = 0; i < log.size(); ++i) {
        of += log[i][column[i]];
        there += log[i][column[i]] > none;
      }
      sum = std::max(sum, of);
      matched = std::max(matched, there);
    } while (std::next_permutation(column.begin(), column.end()));
  }
};

TEST(ProductMatching, IsTheBestOfAllPermutations) {
  std::mt19937 generator(5);
  int singular = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    auto const n = static_cast<std::int32_t>(1 + generator() % 6);
    std::vector<std::vector<double>> log(n, std::vector<double>(n, none));
    scaling::Logarithms<std::int32_t> A{n, nullptr, nullptr, {}};
    std::vector<std::int32_t> offsets{0}, columns;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        unsigned const draw = generator() % 8;
        if (draw > unsigned(2 + turn % 5)) continue;
        // Often equal ones, and stored zeros.
        double const value = draw == 0  ? none
                             : turn % 2 ? double(generator() % 4)
                                        : double(generator()) / 4e8 - 5;
        log[i][j] = value;
        columns.push_back(j);
        A.of.push_back(value);
      }
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    A.offsets = offsets.data();
    A.columns = columns.data();
    auto const found = scaling::ProductMatching<std::int32_t>(A).made();
    Best const best(log);
    ASSERT_EQ(found.unmatched, n - best.matched) << "turn " << turn;
    auto sorted = found.column;
    std::sort(sorted.begin(), sorted.end());
    for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
    if (found.unmatched > 0) {
      ++singular;
      continue;
    }
    double sum = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      sum += log[i][found.column[i]];
      ASSERT_NEAR(log[i][found.column[i]] + found.of_rows[i] + found.of_columns[found.column[i]], 0,
                  1e-12);
      for (std::int32_t j = 0; j < n; ++j)
        ASSERT_LE(log[i][j] + found.of_rows[i] + found.of_columns[j], 1e-12);
    }
    ASSERT_NEAR(sum, best.sum, 1e-12) << "turn " << turn;
  }
  EXPECT_GT(singular, 100);
  EXPECT_LT(singular, 1900);
}

// ---- The scaled matrix ----

/// A matrix whose rows and columns differ in size by `decades` powers of ten.
template <class Scalar>
HostCsr<Scalar> badly_scaled(std::int32_t rows, float decades, unsigned seed) {
  auto A = Solder::random_spd<Scalar>(rows, 5, seed);
  std::mt19937 generator(seed);
  std::vector<float> of_rows(rows), of_columns(rows);
  for (auto* const all : {&of_rows, &of_columns})
    for (float& factor : *all)
      factor = std::pow(10.f, (float(generator() % 1000) / 1000 - 0.5f) * decades);
  for (std::int32_t i = 0; i < rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= of_rows[i] * of_columns[A.columns[k]];
  return A;
}

/// The rows of A in another order: row i becomes row (7 i + 3) mod n, for an n that 7 does not
/// divide.
template <class Scalar>
HostCsr<Scalar> with_rows_shuffled(HostCsr<Scalar> const& A) {
  HostCsr<Scalar> B;
  B.rows = B.columns_count = A.rows;
  B.row_offsets = {0};
  std::vector<std::int32_t> from(A.rows);
  for (std::int32_t i = 0; i < A.rows; ++i) from[(7 * i + 3) % A.rows] = i;
  for (std::int32_t const i : from) {
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      B.columns.push_back(A.columns[k]);
      B.values.push_back(A.values[k]);
    }
    B.row_offsets.push_back(static_cast<std::int64_t>(B.columns.size()));
  }
  return B;
}

template <class Real>
bool is_power_of_two(Real x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == Real(0.5);
}

template <class C>
struct ScalingOf : testing::Test {};
TYPED_TEST_SUITE(ScalingOf, AllCases, TypeName);

TYPED_TEST(ScalingOf, RoundsNothingAndEquilibrates) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = with_rows_shuffled(badly_scaled<Scalar>(200, 6, 3));
  CsrMatrix<Scalar, Exec> const A(exec, host);
  for (auto const match : {Match::none, Match::product}) {
    Scaling const made(exec, A, ScalingOptions{Scale::equilibrate, match});
    EXPECT_EQ(made.failure(), "");
    auto const of_rows = to_host(exec, made.row_factors());
    auto const of_columns = to_host(exec, made.column_factors());
    auto places = to_host(exec, made.row_places());
    ASSERT_EQ(places.size(), match == Match::none ? 0u : 200u);
    if (places.empty()) {
      places.resize(200);
      std::iota(places.begin(), places.end(), 0);
    }
    auto const offsets = to_host(exec, made.matrix().row_offsets());
    auto const columns = to_host(exec, made.matrix().column_indices());
    auto const values = to_host(exec, made.matrix().values());
    std::vector<double> largest_of_row(200), largest_of_column(200);
    for (std::int32_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(is_power_of_two(of_rows[i]));
      ASSERT_TRUE(is_power_of_two(of_columns[i]));
      auto at = offsets[places[i]];
      ASSERT_EQ(offsets[places[i] + 1] - at, host.row_offsets[i + 1] - host.row_offsets[i]);
      for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k, ++at) {
        std::int32_t const j = host.columns[k];
        ASSERT_EQ(columns[at], j);
        ASSERT_EQ(plain(values[at]) / double(of_rows[i]) / double(of_columns[j]),
                  plain(host.values[k]));
        double const size = std::abs(plain(values[at]).real()) + std::abs(plain(values[at]).imag());
        largest_of_row[i] = std::max(largest_of_row[i], size);
        largest_of_column[j] = std::max(largest_of_column[j], size);
        if (match == Match::product) {
          ASSERT_LE(size, 2.0001);
          if (j == places[i]) {
            ASSERT_GE(size, 0.4999);
          }
        }
      }
    }
    for (std::int32_t i = 0; i < 200; ++i) {
      EXPECT_GE(largest_of_row[i], 0.25);
      EXPECT_LE(largest_of_row[i], 4);
      EXPECT_GE(largest_of_column[i], 0.25);
      EXPECT_LE(largest_of_column[i], 4);
    }
  }
}

TYPED_TEST(ScalingOf, OfASymmetricOneIsSymmetric) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto host = Solder::random_spd<Scalar>(150, 5, 9);
  std::vector<double> d(150);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::pow(10., double(i % 7) - 3);
  scale_both_sides(host, d);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  Scaling const made(exec, A, ScalingOptions{Scale::equilibrate, Match::none, true});
  EXPECT_TRUE(same_bits(to_host(exec, made.row_factors()), to_host(exec, made.column_factors())));
  EXPECT_THROW(Scaling(exec, A, ScalingOptions{Scale::none, Match::product, true}),
               std::invalid_argument);
}

/// z = M r outside of solvers.
template <class Exec, class M, class Scalar>
std::vector<Scalar> applied(Exec const& exec, M const& made, std::vector<Scalar> const& r) {
  auto const device_r = to_device(exec, r), z = to_device(exec, std::vector<Scalar>(r.size()));
  made.apply(exec, device_r, z);
  return to_host(exec, z);
}

TYPED_TEST(ScalingOf, AppliesWhatIsMadeOfTheScaledMatrix) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  auto const host = with_rows_shuffled(badly_scaled<Scalar>(100, 4, 3));
  CsrMatrix<Scalar, Exec> const A(exec, host);
  auto const r = random_vector<Scalar>(100, 4);
  Scaling const made(exec, A, ScalingOptions{Scale::equilibrate, Match::product});
  auto const of_rows = to_host(exec, made.row_factors());
  auto const of_columns = to_host(exec, made.column_factors());
  auto const places = to_host(exec, made.row_places());
  std::vector<Scalar> s(100);
  for (int i = 0; i < 100; ++i) s[places[i]] = of_rows[i] * r[i];
  auto const expect = [&](auto const& inner, std::vector<Scalar> z) {
    for (int j = 0; j < 100; ++j) z[j] *= of_columns[j];
    Scaled const M(exec, made, inner);
    EXPECT_EQ(M.failure(), "");
    EXPECT_EQ(M.rows(), 100);
    EXPECT_TRUE(same_bits(applied(exec, M, r), z));
  };
  expect(Solder::Identity{}, s);
  Jacobi<Scalar, Exec> const jacobi(exec, made.matrix());
  expect(jacobi, applied(exec, jacobi, s));
  Incomplete<Scalar, Exec> const ilut(exec, made.matrix(), Factorisation::ilut);
  expect(ilut, applied(exec, ilut, s));
  Solder::Fsai<Scalar, Exec> const fsai(exec, made.matrix());
  expect(fsai, applied(exec, fsai, s));
}

using Exec = Kokkos::DefaultExecutionSpace;

template <class Solver>
void expect_solved(Exec const& exec, HostCsr<double> const& host, Solver& solver) {
  auto const b = random_vector<double>(host.rows, 8);
  auto const x = to_device(exec, std::vector<double>(host.rows));
  auto const report = solver.solve(to_device(exec, b), x);
  EXPECT_EQ(report.reason, Reason::converged) << report.detail;
  EXPECT_LE(true_residual(host, b, to_host(exec, x)).relative, 1.01e-8);
}

TEST(Scaling, SolvesWhatHasNoDiagonal) {
  Exec const exec;
  auto const host = with_rows_shuffled(badly_scaled<double>(300, 8, 3));
  CsrMatrix<double, Exec> const A(exec, host);
  EXPECT_NE(Incomplete(exec, A, Factorisation::ilu0).failure(), "");
  Scaling const made(exec, A, ScalingOptions{Scale::equilibrate, Match::product});
  Scaled const M(exec, made, Incomplete(exec, made.matrix(), Factorisation::ilu0));
  Scaled const N(exec, made, Jacobi<double, Exec>(exec, made.matrix()));
  for (auto const runner : every_runner) {
    Solder::GmresOptions gmres;
    gmres.runner = runner;
    Solder::Gmres by_gmres(exec, A, M, gmres);
    expect_solved(exec, host, by_gmres);
    Solder::BiCgStabOptions bicgstab;
    bicgstab.runner = runner;
    Solder::BiCgStab by_bicgstab(exec, A, N, bicgstab);
    expect_solved(exec, host, by_bicgstab);
  }
}

TEST(Scaling, IsForCgWhereItIsSymmetric) {
  Exec const exec;
  auto host = Solder::fem_poisson_2d<double>(20);
  std::vector<double> d(host.rows);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::pow(10., double(i % 5) - 2);
  scale_both_sides(host, d);
  CsrMatrix<double, Exec> const A(exec, host);
  Scaling const made(exec, A, ScalingOptions{Scale::equilibrate, Match::none, true});
  Solder::Fsai<double, Exec> const fsai(exec, made.matrix());
  Solder::Cg with_fsai(exec, A, Scaled(exec, made, fsai));
  expect_solved(exec, host, with_fsai);
  Solder::Cg with_polynomial(exec, A,
                             Scaled(exec, made, Solder::Chebyshev(exec, made.matrix(), fsai)));
  expect_solved(exec, host, with_polynomial);
}

TEST(Scaling, IsRefreshedBeforeItsPreconditioner) {
  Exec const exec;
  auto const host = with_rows_shuffled(badly_scaled<double>(150, 4, 3));
  auto other = host;
  for (std::size_t k = 0; k < other.values.size(); ++k) other.values[k] *= 1.25;
  CsrMatrix<double, Exec> const A(exec, host), B(exec, other);
  Scaling made(exec, A, ScalingOptions{Scale::equilibrate, Match::product});
  Incomplete inner(exec, made.matrix(), Factorisation::ilu0);
  Scaled const M(exec, made, inner);
  EXPECT_FALSE(M.is_stale());
  A.values_changed();
  EXPECT_TRUE(M.is_stale());
  made.refresh(exec, A);
  EXPECT_TRUE(M.is_stale());  // the inner one is made of other values
  inner.refresh(exec, made.matrix());
  EXPECT_FALSE(M.is_stale());
  auto const r = random_vector<double>(150, 3);
  made.refresh(exec, B);
  inner.refresh(exec, made.matrix());
  Scaling const anew(exec, B, ScalingOptions{Scale::equilibrate, Match::product});
  Scaled const N(exec, anew, Incomplete(exec, anew.matrix(), Factorisation::ilu0));
  auto const z = applied(exec, M, r), expected = applied(exec, N, r);
  for (int i = 0; i < 150; ++i) ASSERT_NEAR(z[i], expected[i], 1e-12 * norm(expected));

  auto const smaller = badly_scaled<double>(40, 4, 3);  // another pattern
  made.refresh(exec, CsrMatrix<double, Exec>(exec, smaller));
  EXPECT_EQ(made.rows(), 40);
  EXPECT_THROW(applied(exec, M, random_vector<double>(40, 3)), std::invalid_argument);
  inner.refresh(exec, made.matrix());
  EXPECT_NO_THROW(applied(exec, M, random_vector<double>(40, 3)));
}

TEST(Scaling, SaysHowManyRowsCannotBeMatched) {
  Exec const exec;
  double const o = 0, a = 2;
  CsrMatrix<double, Exec> const A(
      exec, sparse<double>({{a, o, o, o}, {a, o, o, o}, {a, o, o, o}, {o, a, a, a}}));
  Scaling const made(exec, A, ScalingOptions{Scale::none, Match::product});
  std::string const why =
      "A is structurally singular: 2 of its 4 rows cannot be matched with a column of "
      "their own; take match: none if b is in the range of A";
  EXPECT_EQ(made.failure(), why);
  Scaled const M(exec, made, Incomplete(exec, made.matrix(), Factorisation::ilut));
  EXPECT_EQ(M.failure(), why);
  Solder::Gmres solver(exec, A, M);
  auto const report = solver.solve(to_device(exec, std::vector<double>(4, 1.0)),
                                   to_device(exec, std::vector<double>(4)));
  EXPECT_EQ(report.reason, Reason::breakdown);
  EXPECT_NE(report.detail.find(why), std::string::npos) << report.detail;
}

TEST(Scaling, TakesWhatIsEmptyOrNotFinite) {
  Exec const exec;
  HostCsr<double> nothing;
  nothing.row_offsets = {0};
  for (auto const match : {Match::none, Match::product}) {
    ScalingOptions const options{Scale::equilibrate, match};
    Scaling const of_none(exec, CsrMatrix<double, Exec>(exec, nothing), options);
    EXPECT_EQ(of_none.rows(), 0);
    Scaling const of_one(exec, CsrMatrix<double, Exec>(exec, sparse<double>({{-5.0}})), options);
    EXPECT_EQ(to_host(exec, of_one.matrix().values())[0] < 0, true);
    double const infinity = std::numeric_limits<double>::infinity();
    Scaling const bad(
        exec,
        CsrMatrix<double, Exec>(
            exec, sparse<double>({{std::nan(""), 1, 0}, {1, infinity, 0}, {0, 0, 1}})),
        options);
    for (double const factor : to_host(exec, bad.row_factors()))
      EXPECT_TRUE(is_power_of_two(factor));
    CsrMatrix<double, Exec> const flat(exec, 1, 2, Kokkos::View<int*, Exec>("o", 2),
                                       Kokkos::View<int*, Exec>("c", 0),
                                       Kokkos::View<double*, Exec>("v", 0));
    EXPECT_THROW(Scaling(exec, flat, options), std::invalid_argument);
  }
}

}  // namespace
