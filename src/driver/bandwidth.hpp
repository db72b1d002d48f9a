// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>

#ifdef __linux__
#include <unistd.h>
#endif

namespace Solder::Driver {

/// \brief The bytes of the host's last-level cache, or 0 if the system does not say.
inline std::size_t last_level_cache() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return static_cast<std::size_t>(std::max<long>(0, sysconf(_SC_LEVEL3_CACHE_SIZE)));
#else
  return 0;
#endif
}

/// \brief Times kernels on arrays of 256 MB, or of 4 times a host's last-level cache if that is
/// more.
template <class Exec>
class BandwidthTest {
 public:
  explicit BandwidthTest(Exec const& exec) : exec_(exec) {}

  /// \brief An array on the device, filled with `value`.
  Impl::DeviceArray<double, Exec> array(char const* label, double value) const {
    auto const array =
        Impl::allocate_view<Impl::DeviceArray<double, Exec>>(exec_, label, std::size_t(entries()));
    fill(array.data(), value);
    return array;
  }
  std::int64_t entries() const {
    return static_cast<std::int64_t>(
        std::max<std::size_t>(256'000'000, host ? 4 * last_level_cache() : 0) / sizeof(double));
  }
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> all() const {
    return {exec_, 0, entries()};
  }

  /// \brief The bytes per second of a kernel that reads and writes `words` words per entry: the
  /// median of several batches. On a device a batch is 10 kernels, so that the fence at its end
  /// hardly counts.
  template <class Kernel>
  double bytes_per_second(int words, Kernel const& kernel) const {
    using Clock = std::chrono::steady_clock;
    constexpr int batches = 15, batch = host ? 1 : 10;
    std::vector<double> rates;
    kernel();
    for (int i = 0; i < batches; ++i) {
      exec_.fence("Solder::bandwidth: begin");
      auto const begin = Clock::now();
      for (int k = 0; k < batch; ++k) kernel();
      exec_.fence("Solder::bandwidth: end");
      double const seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      rates.push_back(double(words) * double(entries()) * sizeof(double) * batch / seconds);
    }
    std::nth_element(rates.begin(), rates.begin() + batches / 2, rates.end());
    return rates[batches / 2];
  }

  /// \brief The bandwidth of b = a: one word read and one written. Extra traffic of caches does not
  /// count.
  double copy() const {
    auto const array_a = array("Solder::bandwidth::a", 1),
               array_b = array("Solder::bandwidth::b", 2);
    return copy_of(array_a.data(), array_b.data());
  }

  /// \brief copy() with these arrays. (Public, like fill, because CUDA accepts lambdas only in
  /// public functions.)
  SOLDER_MAKES_LAMBDAS double copy_of(double const* a, double* b) const {
    return bytes_per_second(2, [&] {
      Kokkos::parallel_for(
          "Solder::bandwidth::copy", all(), KOKKOS_LAMBDA(std::int64_t i) { b[i] = a[i]; });
    });
  }
  SOLDER_MAKES_LAMBDAS void fill(double* values, double value) const {
    Kokkos::parallel_for(
        "Solder::bandwidth::fill", all(), KOKKOS_LAMBDA(std::int64_t i) { values[i] = value; });
  }

 private:
  static constexpr bool host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

  Exec exec_;
};

}  // namespace Solder::Driver
