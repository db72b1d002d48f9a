// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <string_view>

namespace Solder {

/// \brief The four scalar types: float, double and Kokkos::complex of each.
///
/// Vectors and matrices are stored in the scalar; inner products are always accumulated in double,
/// so that the norm of a float vector neither overflows nor loses the digits a convergence test
/// needs.
template <class Scalar>
struct ScalarTraits {
  using Real = Scalar;
  static constexpr bool is_complex = false;
};

template <class RealType>
struct ScalarTraits<Kokkos::complex<RealType>> {
  using Real = RealType;
  static constexpr bool is_complex = true;
};

/// \brief The name a scalar has in YAML and in reports.
template <class Scalar>
constexpr std::string_view scalar_name() {
  using Real = typename ScalarTraits<Scalar>::Real;
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return std::is_same_v<Real, float> ? "complex_float" : "complex_double";
  else
    return std::is_same_v<Real, float> ? "float" : "double";
}

namespace Impl {

/// \brief Re(conj(a) b) in double: one term of the real part of the inner product (a, b).
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double real_dot(Scalar const& a, Scalar const& b) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return double(a.real()) * double(b.real()) + double(a.imag()) * double(b.imag());
  else
    return double(a) * double(b);
}

/// \brief |a|^2 in double.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double abs_squared(Scalar const& a) {
  return real_dot(a, a);
}

/// \brief 1 where a is not zero, 0 where it is, NaN where it is not finite.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double count_nonzero(Scalar const& a) {
  double size;
  if constexpr (ScalarTraits<Scalar>::is_complex)
    size = Kokkos::fabs(double(a.real())) / 2 + Kokkos::fabs(double(a.imag())) / 2;
  else
    size = Kokkos::fabs(double(a));
  if (!Kokkos::isfinite(size)) return Kokkos::Experimental::quiet_NaN_v<double>;
  return a == Scalar{} ? 0 : 1;
}

/// \brief The real number s in the scalar's own precision (a real type even for complex scalars).
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION typename ScalarTraits<Scalar>::Real to_real(double s) {
  return static_cast<typename ScalarTraits<Scalar>::Real>(s);
}

}  // namespace Impl
}  // namespace Solder
