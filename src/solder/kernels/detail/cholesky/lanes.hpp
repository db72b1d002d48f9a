// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the Cholesky kernels need to know about warps and about the storage of a matrix.

#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>

/// \brief For a loop over an array that must stay in registers.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define SOLDER_UNROLL _Pragma("unroll")
#define SOLDER_DO_NOT_UNROLL _Pragma("unroll 1")
#else
#define SOLDER_UNROLL
#define SOLDER_DO_NOT_UNROLL
#endif

namespace Solder::Impl {

/// \brief Makes what each lane of a warp wrote, to scratch or elsewhere, visible to the others. All
/// lanes of a warp call this together.
KOKKOS_FORCEINLINE_FUNCTION void sync_lanes() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  __builtin_amdgcn_wave_barrier();
#endif
}

/// \brief The scalars that one access to scratch moves: 16 bytes.
template <class Scalar>
struct alignas(16) Packet {
  static constexpr int size = 16 / sizeof(Scalar);
  Scalar values[size];
};

/// \brief The team's level-0 scratch from the first address that is aligned for Packets. At most 15
/// bytes are lost: if the team size is odd, Kokkos puts an odd number of words before the scratch.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void* aligned_scratch(Member const& team) {
  auto* const begin = static_cast<char*>(team.team_scratch(0).get_shmem(0));
  // An offset, not a new address, so that the compiler still knows that this is scratch.
  return begin + (16 - reinterpret_cast<std::uintptr_t>(begin) % 16) % 16;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real real_of(Real a) {
  return a;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real real_of(Kokkos::complex<Real> const& a) {
  return a.real();
}

/// \brief a -= b conj(c).
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void subtract_product(Real& a, Real b, Real c) {
  a -= b * c;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void subtract_product(Kokkos::complex<Real>& a,
                                                  Kokkos::complex<Real> const& b,
                                                  Kokkos::complex<Real> const& c) {
  Real re = a.real(), im = a.imag();
  re -= b.real() * c.real();
  im -= b.imag() * c.real();
  re -= b.imag() * c.imag();
  im += b.real() * c.imag();
  a = Kokkos::complex<Real>(re, im);
}

/// \brief A lower triangle anywhere in memory, described by two strides.
template <class ScalarType>
struct StridedTriangle {
  using Scalar = ScalarType;
  Scalar* values;
  std::int64_t row_stride, column_stride;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(int r, int c) const {
    return values[r * row_stride + c * column_stride];
  }
  /// \brief Whether columns, not rows, are contiguous.
  KOKKOS_FORCEINLINE_FUNCTION bool by_columns() const { return row_stride < column_stride; }
  /// \brief Whether a row (or a column, if those are contiguous) consists of Packets.
  KOKKOS_FORCEINLINE_FUNCTION bool in_packets() const {
    constexpr int size = Packet<Scalar>::size;
    return (row_stride + column_stride - 1) % size == 0 &&
           reinterpret_cast<std::uintptr_t>(values) % 16 == 0;
  }
};

/// \brief A lower triangle packed row by row: m (m + 1) / 2 values. In scratch a warp reads 32 rows
/// of a column without bank conflicts, because the triangular numbers are all different modulo 32.
template <class ScalarType>
struct PackedTriangle {
  using Scalar = ScalarType;
  Scalar* values;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(int r, int c) const {
    return values[r * (r + 1) / 2 + c];
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool by_columns() { return false; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool in_packets() { return false; }
};

}  // namespace Solder::Impl
