// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/twice.hpp>

// Functions for processors with fused multiply-adds, in a program that is compiled for others too.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__FP_FAST_FMA) && !defined(__CUDACC__) && \
    !defined(__HIPCC__)
#define SOLDER_FUSED __attribute__((target("fma")))
#endif

namespace Solder::Impl {

/// \brief The products of the entries begin to end - 1 of a compressed row with x, summed with
/// twice the digits of double.
template <class Scalar, class Offset>
Twice twice_sum(Scalar const* values, std::int32_t const* columns, Scalar const* x, Offset begin,
                Offset end) {
  Twice sum;
  for (Offset k = begin; k < end; ++k) {
    double const a = values[k], b = x[columns[k]];
    if constexpr (std::is_same_v<Scalar, float>)
      sum += Twice(a * b);  // which is exact
    else
      sum += Twice(a) * Twice(b);
  }
  return sum;
}

#if defined(SOLDER_FUSED)
/// \brief The same by fused multiply-adds: 10 flops an entry in place of 25. The two may differ in
/// the last digit of `low`.
template <class Offset>
SOLDER_FUSED Twice twice_sum_fused(double const* values, std::int32_t const* columns,
                                   double const* x, Offset begin, Offset end) {
  Twice sum;
  for (Offset k = begin; k < end; ++k) {
    double const a = values[k], b = x[columns[k]];
    double const product = __builtin_fma(a, b, 0.0);  // which is not contracted with a sum
    sum += Twice(product, __builtin_fma(a, b, -product));
  }
  return sum;
}
#endif

/// \brief The function of a host that sums so.
template <class Scalar, class Offset>
auto twice_sum_of_host() {
#if defined(SOLDER_FUSED)
  if constexpr (std::is_same_v<Scalar, double>)
    if (__builtin_cpu_supports("fma")) return &twice_sum_fused<Offset>;
#endif
  return &twice_sum<Scalar, Offset>;
}

}  // namespace Solder::Impl

#undef SOLDER_FUSED
