// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The residual that rounding the entries of x makes, beside neighbouring numbers and drawn errors.
#include "../support.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <compiled/rounding.hpp>

namespace {

using namespace SolderTest;
using Space = Kokkos::DefaultExecutionSpace;

template <class Scalar>
struct Rounding : testing::Test {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  using Number = std::complex<long double>;

  Space exec;

  static Number wide(Scalar const& v) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return {v.real(), v.imag()};
    else
      return v;
  }
  /// To the next number, of the real or the imaginary part.
  static double distance(long double part) {
    Real const size = std::abs(Real(part));
    return size == 0 ? 0 : double(std::nextafter(size, std::numeric_limits<Real>::max()) - size);
  }
  static double norm_of_product(Solder::HostCsr<Scalar> const& A, std::vector<Number> const& x) {
    long double squares = 0;
    for (int i = 0; i < A.rows; ++i) {
      Number sum = 0;
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        sum += wide(A.values[k]) * x[A.columns[k]];
      squares += std::norm(sum);
    }
    return double(std::sqrt(squares));
  }
  /// A x, rounded.
  static std::vector<Scalar> product(Solder::HostCsr<Scalar> const& A,
                                     std::vector<Scalar> const& x) {
    std::vector<Scalar> y;
    for (int i = 0; i < A.rows; ++i) {
      Number sum = 0;
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        sum += wide(A.values[k]) * wide(x[A.columns[k]]);
      if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
        y.push_back(Scalar(Real(sum.real()), Real(sum.imag())));
      else
        y.push_back(Real(sum.real()));
    }
    return y;
  }
  /// Rows with some five entries, of sizes that differ.
  static Solder::HostCsr<Scalar> scattered(int n) {
    Solder::TripletBuilder<Scalar> builder;
    auto const values = random_vector<Scalar>(5 * n, 7);
    std::mt19937 draw(3);
    for (int i = 0; i < n; ++i) {
      builder.add(i, i, values[5 * i] * Real(1 + i % 7));
      for (int k = 1; k < 5; ++k) {
        int const j = int(draw() % unsigned(n));
        if (j != i) builder.add(i, j, values[5 * i + k]);
      }
    }
    return builder.build(n, n);
  }
  Solder::Compiled::RoundingOfX of(Solder::HostCsr<Scalar> const& A, std::vector<Scalar> const& b,
                                   std::vector<Scalar> const& x) const {
    return Solder::Compiled::rounding_of_x(exec, Solder::CsrMatrix<Scalar, Space>(exec, A),
                                           to_device(exec, b).data(), to_device(exec, x).data());
  }
};
using RoundedScalars =
    testing::Types<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;
TYPED_TEST_SUITE(Rounding, RoundedScalars);

TYPED_TEST(Rounding, HasTheMeanAndTheLeastOfDrawnErrors) {
  using Test = Rounding<TypeParam>;
  using Real = typename Test::Real;
  for (int const n : {4, 40, 400}) {
    SCOPED_TRACE(n);
    auto const A = Test::scattered(n);
    auto x = random_vector<TypeParam>(n, 9);
    for (int i = 0; i < n; ++i) x[i] = x[i] * Real(i % 3 + 1) / Real(7);  // with all digits
    auto const b = Test::product(A, x);
    auto const [mean, least] = this->of(A, b, x);
    double squares = 0, of_b = 0;
    for (TypeParam const& v : b) of_b += double(std::norm(Test::wide(v)));
    int below = 0;
    constexpr int draws = 2000;
    std::mt19937 draw(11);
    auto const error = [&](long double part) {
      return Test::distance(part) * (double(draw()) / 4294967296.0 - 0.5);
    };
    for (int k = 0; k < draws; ++k) {
      std::vector<typename Test::Number> d;
      for (TypeParam const& v : x) {
        auto const w = Test::wide(v);
        double const real = error(w.real());
        d.emplace_back(real, error(w.imag()));
      }
      double const residual = Test::norm_of_product(A, d) / std::sqrt(of_b);
      squares += residual * residual;
      below += residual < least;
    }
    EXPECT_NEAR(mean, std::sqrt(squares / draws), 0.05 * mean);
    EXPECT_LE(below, draws / 100);
    EXPECT_GE(least, (n == 4 ? 0 : n == 40 ? 0.1 : 0.6) * mean);
    EXPECT_LT(least, mean);
  }
}

TYPED_TEST(Rounding, IsNoneWhereNothingIsRoundedOrNothingIsKnown) {
  using Test = Rounding<TypeParam>;
  auto const A = Test::scattered(10);
  std::vector<TypeParam> const zero(10), b = random_vector<TypeParam>(10, 5);
  auto x = b;
  EXPECT_EQ(this->of(A, b, zero).mean, 0);
  EXPECT_EQ(this->of(A, b, zero).least, 0);
  EXPECT_EQ(this->of(A, zero, x).least, 0);
  x[3] = TypeParam(std::numeric_limits<typename Test::Real>::quiet_NaN());
  EXPECT_EQ(this->of(A, b, x).least, 0);
}

/// Whole numbers are not rounded, so where the solution has such entries x may become exact.
TYPED_TEST(Rounding, IsNoneWhereXIsNearAShortNumber) {
  using Test = Rounding<TypeParam>;
  using Real = typename Test::Real;
  int const n = 50;
  auto A = Test::scattered(n);
  for (TypeParam& v : A.values)
    v = TypeParam(Real(std::round(8 * double(std::abs(Test::wide(v))))));
  std::vector<TypeParam> whole(n), near(n), far(n);
  auto const random = random_vector<TypeParam>(n, 4);
  for (int i = 0; i < n; ++i) whole[i] = TypeParam(Real(1 + i % 3));
  auto const b = Test::product(A, whole);
  for (int i = 0; i < n; ++i) {
    near[i] = whole[i] * Real(1 + 3 * (i % 5) * std::numeric_limits<Real>::epsilon());
    far[i] = whole[i] * Real(1.1) + random[i];
  }
  EXPECT_EQ(this->of(A, b, near).mean, 0);
  EXPECT_GT(this->of(A, Test::product(A, far), far).mean, 0);
}

}  // namespace
