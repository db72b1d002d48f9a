// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "driver/bandwidth.hpp"

namespace Solder::Perf {

/// \brief Bytes per second; a word read and a word written count each, what caches add does not.
struct Bandwidth {
  double copy = 0;   ///< b = a
  double triad = 0;  ///< c = a + s b
};

/// \brief Measures both; takes about a second.
template <class Exec>
Bandwidth measure_bandwidth(Exec const& exec) {
  Driver::BandwidthTest<Exec> const test(exec);
  auto const array_a = test.array("Solder::Perf::a", 1), array_b = test.array("Solder::Perf::b", 2),
             array_c = test.array("Solder::Perf::c", 3);
  double *const a = array_a.data(), *const b = array_b.data(), *const c = array_c.data();
  Bandwidth bandwidth;
  bandwidth.copy = test.copy_of(a, b);
  bandwidth.triad = test.bytes_per_second(3, [&] {
    Kokkos::parallel_for(
        "Solder::Perf::triad", test.all(),
        KOKKOS_LAMBDA(std::int64_t i) { c[i] = a[i] + 3.0 * b[i]; });
  });
  return bandwidth;
}

}  // namespace Solder::Perf
