// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include "peers/peer.hpp"

#ifdef __linux__
#include <unistd.h>
#endif

namespace Solder::Perf {

/// \brief Bytes per second; a word read and a word written count each, what caches add does not.
struct Bandwidth {
  double copy = 0;   ///< b = a
  double triad = 0;  ///< c = a + s b
};

/// \brief Bytes of the host's last-level cache, or 0 where the system does not say.
inline std::size_t last_level_cache() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max<long>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#else
  return 0;
#endif
}

/// \brief Measures on arrays of 256 MB, or 4 times the last-level cache of a host where that is
/// more.
///
/// Each is the median of several batches; a batch on a device is 10 kernels, so that the fence at
/// its end does not count. Takes about a second.
template <class Exec>
Bandwidth measure_bandwidth(Exec const& exec) {
  constexpr bool host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  constexpr int batches = 15, batch = host ? 1 : 10;
  std::size_t const bytes = std::max<std::size_t>(256'000'000, host ? 4 * last_level_cache() : 0);
  auto const n = static_cast<std::int64_t>(bytes / sizeof(double));
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const all(exec, 0, n);
  using Array = Kokkos::View<double*, typename Exec::memory_space>;
  auto const allocate = [&](std::string const& label) {
    return Array(Kokkos::view_alloc(exec, label, Kokkos::WithoutInitializing), n);
  };
  Array const array_a = allocate("Solder::Perf::a"), array_b = allocate("Solder::Perf::b"),
              array_c = allocate("Solder::Perf::c");
  double *const a = array_a.data(), *const b = array_b.data(), *const c = array_c.data();
  Kokkos::parallel_for(
      "Solder::Perf::fill", all, KOKKOS_LAMBDA(std::int64_t i) {
        a[i] = 1;
        b[i] = 2;
        c[i] = 3;
      });

  auto const bytes_per_second = [&](int words, auto const& kernel) {
    std::vector<double> rates;
    kernel();
    for (int i = 0; i < batches; ++i) {
      exec.fence("Solder::Perf::begin");
      auto const begin = Clock::now();
      for (int k = 0; k < batch; ++k) kernel();
      exec.fence("Solder::Perf::end");
      double const moved = double(words) * double(n) * sizeof(double) * batch;
      rates.push_back(moved / seconds_between(begin, Clock::now()));
    }
    return median(std::move(rates));
  };
  Bandwidth bandwidth;
  bandwidth.copy = bytes_per_second(2, [&] {
    Kokkos::parallel_for(
        "Solder::Perf::copy", all, KOKKOS_LAMBDA(std::int64_t i) { b[i] = a[i]; });
  });
  bandwidth.triad = bytes_per_second(3, [&] {
    Kokkos::parallel_for(
        "Solder::Perf::triad", all, KOKKOS_LAMBDA(std::int64_t i) { c[i] = a[i] + 3.0 * b[i]; });
  });
  return bandwidth;
}

}  // namespace Solder::Perf
