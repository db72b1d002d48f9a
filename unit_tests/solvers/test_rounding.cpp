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
    auto const b = random_vector<TypeParam>(n, 5);
    auto x = random_vector<TypeParam>(n, 9);
    for (int i = 0; i < n; i += 3) x[i] = x[i] * Real(std::ldexp(1.0, i % 5 - 2));
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

}  // namespace
