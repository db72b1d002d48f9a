// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/sums.hpp>

namespace Solder::Impl {

/// \brief A sum of products of doubles with twice their digits: high + low, not added up.
///
/// Each product is split into its double and the rest, and so is each sum: algorithm Dot2 of Ogita,
/// Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005). Some 10 flops a
/// product where there are fused multiply-adds, else some 25: a product of a sparse matrix still
/// waits for memory on a GPU.
struct Twice {
  double high = 0, low = 0;

  Twice() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit Twice(double number) : high(number) {}
  KOKKOS_FORCEINLINE_FUNCTION Twice(double high_, double low_) : high(high_), low(low_) {}

  KOKKOS_FORCEINLINE_FUNCTION Twice& operator+=(Twice const& b) {
    double const sum = high + b.high, of_b = sum - high;
    low += ((high - (sum - of_b)) + (b.high - of_b)) + b.low;
    high = sum;
    return *this;
  }
  /// \brief a b of two that are doubles: without low parts.
  KOKKOS_FORCEINLINE_FUNCTION friend Twice operator*(Twice const& a, Twice const& b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__) || \
    defined(__FP_FAST_FMA)
    double const product = Kokkos::fma(a.high, b.high, 0.0);  // which is not contracted with a sum
    return {product, Kokkos::fma(a.high, b.high, -product)};
#else
    double const product = a.high * b.high, a1 = upper(a.high), b1 = upper(b.high),
                 a2 = a.high - a1, b2 = b.high - b1;
    return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
  }

 private:
  /// \brief The upper half of the digits: a product of two such has as many as a double.
  KOKKOS_FORCEINLINE_FUNCTION static double upper(double a) {
    return Kokkos::bit_cast<double>(Kokkos::bit_cast<std::uint64_t>(a) & ~std::uint64_t(0x7ffffff));
  }
};

/// \brief The same of complex numbers.
struct TwiceComplex {
  Twice re, im;

  TwiceComplex() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit TwiceComplex(Kokkos::complex<double> const& number)
      : re(number.real()), im(number.imag()) {}

  KOKKOS_FORCEINLINE_FUNCTION TwiceComplex& operator+=(TwiceComplex const& b) {
    re += b.re;
    im += b.im;
    return *this;
  }
  KOKKOS_FORCEINLINE_FUNCTION friend TwiceComplex operator*(TwiceComplex const& a,
                                                            TwiceComplex const& b) {
    TwiceComplex product;
    product.re = a.re * b.re;
    product.re += Twice(-a.im.high) * b.im;
    product.im = a.re * b.im;
    product.im += a.im * b.re;
    return product;
  }
};

/// \brief f of each double.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION Twice of_each(Twice const& a, F const& f) {
  return {f(a.high), f(a.low)};
}
template <class F>
KOKKOS_FORCEINLINE_FUNCTION TwiceComplex of_each(TwiceComplex const& a, F const& f) {
  TwiceComplex b;
  b.re = of_each(a.re, f);
  b.im = of_each(a.im, f);
  return b;
}

template <class X>
concept TwiceTheDigits = std::is_same_v<X, Twice> || std::is_same_v<X, TwiceComplex>;

template <TwiceTheDigits X>
KOKKOS_FORCEINLINE_FUNCTION X lane_exchange(X value, int mask) {
  return of_each(value, [&](double part) { return lane_exchange(part, mask); });
}
template <TwiceTheDigits X>
KOKKOS_FORCEINLINE_FUNCTION X lane_value(X value, int from) {
  return of_each(value, [&](double part) { return lane_value(part, from); });
}

/// \brief The sum of the numbers of all threads. All of them call this together.
///
/// \param add sums Sums<N> over all threads
template <class X, class Add>
KOKKOS_FORCEINLINE_FUNCTION X sum_of_threads(X const& mine, Add const& add) {
  if constexpr (std::is_same_v<X, TwiceComplex>) {
    TwiceComplex sum;
    sum.re = sum_of_threads(mine.re, add);
    sum.im = sum_of_threads(mine.im, add);
    return sum;
  } else if constexpr (std::is_same_v<X, Twice>) {
    // Rounded to the last digit of `large`, the high parts add up exactly.
    double const large = 4 * add(Sums<1>{{Kokkos::fabs(mine.high)}})[0];
    double const upper = (large + mine.high) - large;
    Sums<2> const sums = add(Sums<2>{{upper, (mine.high - upper) + mine.low}});
    return {sums[0], sums[1]};
  } else if constexpr (ScalarTraits<X>::is_complex) {
    Sums<2> const sums = add(Sums<2>{{double(mine.real()), double(mine.imag())}});
    return X(to_real<X>(sums[0]), to_real<X>(sums[1]));
  } else {
    return static_cast<X>(add(Sums<1>{{double(mine)}})[0]);
  }
}

/// \brief x with more digits, for products that are to be summed with twice the digits of double.
///
/// \tparam ByTwice else in double, for functions that take no Twice; of floats
template <class Scalar, bool ByTwice = true>
struct Widened {
  using Value =
      std::conditional_t<!ByTwice, Wide<Scalar>,
                         std::conditional_t<ScalarTraits<Scalar>::is_complex, TwiceComplex, Twice>>;

  Scalar const* values;

  KOKKOS_FORCEINLINE_FUNCTION Value operator[](std::int32_t i) const {
    return Value(Wide<Scalar>(values[i]));
  }
};

/// \brief Whether a matrix's operator takes an x with twice the digits of double: it says so, for
/// few functions take a Twice.
template <class Operator>
concept TakesTwice = requires {
  requires Operator::takes_twice;
};

/// \brief Whether the operator of a matrix of floats takes an x of doubles.
template <class Operator, class Scalar, class Team, class Prepare, class Consume>
concept TakesDoubles =
    !std::is_same_v<Scalar, Wide<Scalar>> &&
    requires(Operator const& A, Team const& team, Widened<Scalar, false> const& x,
             Prepare const& prepare, Consume const& consume) {
  A.for_each_row_product(team, x, prepare, consume);
};

/// \brief b - a in double.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> wide_difference(Scalar const& b, auto const& a) {
  return Wide<Scalar>(b) - Wide<Scalar>(a);
}
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double wide_difference(Scalar const& b, Twice const& a) {
  return (double(b) - a.high) - a.low;
}
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<double> wide_difference(Scalar const& b,
                                                                    TwiceComplex const& a) {
  return {wide_difference(b.real(), a.re), wide_difference(b.imag(), a.im)};
}

}  // namespace Solder::Impl
