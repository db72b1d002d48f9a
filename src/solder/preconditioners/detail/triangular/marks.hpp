// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>

namespace Solder::Impl::triangular {

/// \brief The bits of "not yet": a NaN that no arithmetic produces. An entry of x is both flag and
/// value in one word, so no fence is needed. If an entry is computed as this very NaN, another NaN
/// is stored.
template <class Real>
struct NotYet;
template <>
struct NotYet<double> {
  using Bits = std::uint64_t;
  static constexpr Bits bits = 0x7ff8'5eed'0000'0001;
};
template <>
struct NotYet<float> {
  using Bits = std::uint32_t;
  static constexpr Bits bits = 0x7fc5'eed1;
};

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_not_yet(Real value) {
  return Kokkos::bit_cast<typename NotYet<Real>::Bits>(value) == NotYet<Real>::bits;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool is_not_yet(Kokkos::complex<Real> const& value) {
  return is_not_yet(value.real()) || is_not_yet(value.imag());
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar not_yet() {
  using Real = typename ScalarTraits<Scalar>::Real;
  constexpr auto bits = NotYet<Real>::bits;
  auto const mark = Kokkos::bit_cast<Real>(bits);
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return {mark, mark};
  else
    return mark;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real but_marked(Real value) {
  return is_not_yet(value) ? Kokkos::Experimental::quiet_NaN_v<Real> : value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> but_marked(Kokkos::complex<Real> const& value) {
  return {but_marked(value.real()), but_marked(value.imag())};
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> load_relaxed(Kokkos::complex<Real> const* from) {
  auto const* const parts = reinterpret_cast<Real const*>(from);
  return {Impl::load_relaxed(parts), Impl::load_relaxed(parts + 1)};
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void store_relaxed(Kokkos::complex<Real>* to,
                                               Kokkos::complex<Real> const& value) {
  auto* const parts = reinterpret_cast<Real*>(to);
  Impl::store_relaxed(parts, value.real());
  Impl::store_relaxed(parts + 1, value.imag());
}
using Impl::load_relaxed;
using Impl::store_relaxed;

}  // namespace Solder::Impl::triangular
