// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace Solder {

/// \brief The four scalar types: float, double and Kokkos::complex of each.
///
/// Vectors and matrices are stored in the scalar; inner products are always accumulated in double,
/// so that the norm of a float vector neither overflows nor loses the digits a convergence test
/// needs.
template <class Scalar>
struct ScalarTraits {
  /// \brief The real type of the same precision.
  using Real = Scalar;
  /// \brief Whether the scalar is complex.
  static constexpr bool is_complex = false;
};

/// \brief The same of a complex scalar.
template <class RealType>
struct ScalarTraits<Kokkos::complex<RealType>> {
  /// \brief The type of the real and the imaginary part.
  using Real = RealType;
  /// \brief Whether the scalar is complex.
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

/// \brief The type of an inner product: double, or complex double.
template <class Scalar>
using Wide = std::conditional_t<ScalarTraits<Scalar>::is_complex, Kokkos::complex<double>, double>;

/// \brief The single-precision counterpart: float, or complex float.
template <class Scalar>
using SingleOf =
    std::conditional_t<ScalarTraits<Scalar>::is_complex, Kokkos::complex<float>, float>;

/// \brief Doubles in an inner product.
template <class Scalar>
inline constexpr std::size_t parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;

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

/// \brief conj(a) b in double: one term of the inner product (a, b).
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> dot_term(Scalar const& a, Scalar const& b) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return {double(a.real()) * double(b.real()) + double(a.imag()) * double(b.imag()),
            double(a.real()) * double(b.imag()) - double(a.imag()) * double(b.real())};
  else
    return double(a) * double(b);
}

/// \brief Adds a double or complex double to sums[at], or to sums[at] and sums[at + 1].
template <class Sums>
KOKKOS_FORCEINLINE_FUNCTION void add_to(Sums& sums, std::size_t at, double term) {
  sums[at] += term;
}
template <class Sums>
KOKKOS_FORCEINLINE_FUNCTION void add_to(Sums& sums, std::size_t at,
                                        Kokkos::complex<double> const& term) {
  sums[at] += term.real();
  sums[at + 1] += term.imag();
}

/// \brief The inner product that sums[at], or sums[at] and sums[at + 1], hold.
template <class Scalar, class Sums>
KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> wide_at(Sums const& sums, std::size_t at) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return {sums[at], sums[at + 1]};
  else
    return sums[at];
}

/// \brief Puts inner product number k into an array of them.
KOKKOS_FORCEINLINE_FUNCTION void set_wide(double* values, std::int32_t k, double s) {
  values[k] = s;
}
KOKKOS_FORCEINLINE_FUNCTION void set_wide(double* values, std::int32_t k,
                                          Kokkos::complex<double> const& s) {
  values[2 * k] = s.real();
  values[2 * k + 1] = s.imag();
}

/// \brief A double or complex double in the scalar's own precision.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar narrow(Wide<Scalar> const& s) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return {static_cast<typename ScalarTraits<Scalar>::Real>(s.real()),
            static_cast<typename ScalarTraits<Scalar>::Real>(s.imag())};
  else
    return static_cast<Scalar>(s);
}

/// \brief conj(s), in the scalar's own precision.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar conjugated(Scalar const& s) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return {s.real(), -s.imag()};
  else
    return s;
}

/// \brief conj(s), Re(s), Im(s) and isfinite of a double or a complex double.
KOKKOS_FORCEINLINE_FUNCTION double conjugate(double s) { return s; }
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<double> conjugate(Kokkos::complex<double> const& s) {
  return {s.real(), -s.imag()};
}
KOKKOS_FORCEINLINE_FUNCTION double real_part(double s) { return s; }
KOKKOS_FORCEINLINE_FUNCTION double real_part(Kokkos::complex<double> const& s) { return s.real(); }
KOKKOS_FORCEINLINE_FUNCTION double imaginary_part(double) { return 0; }
KOKKOS_FORCEINLINE_FUNCTION double imaginary_part(Kokkos::complex<double> const& s) {
  return s.imag();
}
/// \brief The number with these parts, in the scalar's own precision; a real one has no second.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar of_parts(double real, [[maybe_unused]] double imaginary) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return narrow<Scalar>({real, imaginary});
  else
    return static_cast<Scalar>(real);
}
KOKKOS_FORCEINLINE_FUNCTION bool is_finite(double s) { return Kokkos::isfinite(s); }
KOKKOS_FORCEINLINE_FUNCTION bool is_finite(Kokkos::complex<double> const& s) {
  return Kokkos::isfinite(s.real()) && Kokkos::isfinite(s.imag());
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

/// \brief |Re s| + |Im s|.
KOKKOS_FORCEINLINE_FUNCTION double size_of(double s) { return Kokkos::fabs(s); }
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION double size_of(Kokkos::complex<Real> const& s) {
  return Kokkos::fabs(double(s.real())) + Kokkos::fabs(double(s.imag()));
}

/// \brief The power of two that brings size between 1 and 2, as far as Scalar has it and its
/// inverse; 1 where size is 0 or a NaN. Scaling by it is exact: A and 2^k A go the same way.
template <class Scalar>
KOKKOS_INLINE_FUNCTION double scale_to_one(double size) {
  constexpr int bias = 1023, digits = 52,
                most = sizeof(typename ScalarTraits<Scalar>::Real) == 4 ? 126 : 1020;
  if (!(size > 0)) return 1;
  int const exponent = static_cast<int>(Kokkos::bit_cast<std::uint64_t>(size) >> digits) - bias,
            kept = exponent < -most  ? -most
                   : exponent > most ? most
                                     : exponent;
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(bias - kept) << digits);
}

/// \brief Two neighbouring numbers of an array, which is aligned as both are: one load.
template <class X>
struct alignas(2 * sizeof(X) < 16 ? 2 * sizeof(X) : 16) Pair {
  X first, second;
};
template <class X>
KOKKOS_FORCEINLINE_FUNCTION Pair<X> load_pair(X const* from) {
  return *reinterpret_cast<Pair<X> const*>(from);
}

}  // namespace Impl
}  // namespace Solder
