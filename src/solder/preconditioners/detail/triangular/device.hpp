// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/place_of.hpp>

namespace Solder::Impl::triangular {

/// \brief A copy in the memory of Exec. Waits until it is done.
template <class T, class Exec>
Kokkos::View<T*, typename Exec::memory_space> on_device(Exec const& exec,
                                                        std::vector<T> const& from) {
  auto const to =
      allocate_view<DeviceArray<T, Exec>>(exec, "Solder::triangular::pattern", from.size());
  Impl::copy(
      exec, to,
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(from.data(), from.size()));
  exec.fence("Solder::triangular: a part of the pattern is copied");
  return to;
}

/// \brief A copy on the host. Waits until it is done.
template <class Exec>
std::vector<std::int32_t> on_host(Exec const& exec, DeviceArray<std::int32_t, Exec> const& from) {
  std::vector<std::int32_t> to(from.extent(0));
  Impl::copy(
      exec,
      Kokkos::View<std::int32_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(to.data(), to.size()),
      from);
  exec.fence("Solder::triangular: an order is copied");
  return to;
}

/// \brief The smallest value to which visit(i, first) sets `first`, for i from 0 to count - 1, or
/// -1. Waits for the result.
template <class Exec, class Visit>
std::int32_t first_row(Exec const& exec, std::int64_t count, Visit const& visit) {
  std::int32_t const none = std::numeric_limits<std::int32_t>::max();
  std::int32_t first = none;
  Kokkos::parallel_reduce("Solder::triangular::check", Kokkos::RangePolicy<Exec>(exec, 0, count),
                          visit, Kokkos::Min<std::int32_t>(first));
  return first == none ? -1 : first;
}

/// \brief The smallest number of an entry that is not a valid inverse: one that is not finite, or
/// that is zero because it is the inverse of an infinite number. -1 if there is none. Waits for the
/// result.
/// \param numbers of the entries; null: entry s has number s
template <class Exec, class Values>
SOLDER_MAKES_LAMBDAS std::int32_t first_infinite(Exec const& exec, Values const& inverse,
                                                 std::int32_t const* numbers) {
  auto const* const values = inverse.data();
  return first_row(
      exec, inverse.extent(0), KOKKOS_LAMBDA(int s, std::int32_t& least) {
        std::int32_t const number = numbers == nullptr ? s : numbers[s];
        if (!(count_nonzero(values[s]) == 1) && number < least) least = number;
      });
}

}  // namespace Solder::Impl::triangular
