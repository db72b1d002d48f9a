// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include <solder/core/kept_arrays.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

template <class T, class Exec>
using DeviceArray = Kokkos::View<T*, typename Exec::memory_space>;

template <class View, class... Extents>
std::size_t bytes_of(Extents... extents) {
  return (sizeof(typename View::value_type) * ... * static_cast<std::size_t>(extents));
}

/// \brief A View with memory of its own, not initialised.
/// \throws OutOfMemory
template <class View, class Exec, class... Extents>
View allocate_view(Exec const& exec, char const* label, Extents... extents) {
  auto const make = [&] {
    return allocated<typename View::memory_space>(label, bytes_of<View>(extents...), [&] {
      return View(Kokkos::view_alloc(std::string(label), exec, Kokkos::WithoutInitializing),
                  static_cast<std::size_t>(extents)...);
    });
  };
  if constexpr (sizeof...(Extents) <= 1)
    if (auto* const kept = KeptArrays::current()) {
      bool is_used = false;
      return kept->take<View>((1 * ... * static_cast<std::size_t>(extents)), is_used, make);
    }
  return make();
}

/// \brief The same, zero at first.
template <class View, class Exec, class... Extents>
View allocate_zero_view(Exec const& exec, char const* label, Extents... extents) {
  auto const make = [&] {
    return allocated<typename View::memory_space>(label, bytes_of<View>(extents...), [&] {
      return View(Kokkos::view_alloc(std::string(label), exec),
                  static_cast<std::size_t>(extents)...);
    });
  };
  if constexpr (sizeof...(Extents) <= 1)
    if (auto* const kept = KeptArrays::current()) {
      bool is_used = false;
      View const view =
          kept->take<View>((1 * ... * static_cast<std::size_t>(extents)), is_used, make);
      if (is_used) Kokkos::deep_copy(exec, view, typename View::non_const_value_type{});
      return view;
    }
  return make();
}

/// \brief While one lives, the small arrays that its thread allocates for Exec by `allocate` are
/// parts of larger ones.
///
/// Each allocation makes a GPU wait for what runs and its host for 10 us: most of a set-up that
/// makes hundreds of small arrays. A part is a View like any other; the whole lives until its last
/// part is gone. They may be nested; the innermost counts.
template <class Exec>
class PooledAllocations {
 public:
  PooledAllocations() : outer_(std::exchange(current_, this)) {}
  ~PooledAllocations() { current_ = outer_; }
  PooledAllocations(PooledAllocations const&) = delete;
  PooledAllocations& operator=(PooledAllocations const&) = delete;

  /// \brief The one that counts for the calling thread, or null.
  static PooledAllocations* current() { return current_; }

  /// Bytes of a whole, and of the largest array that is a part of one.
  static constexpr std::size_t whole = std::size_t(8) << 20, most = whole / 4;

  /// \brief An array of `size` entries, at most `most` bytes, aligned as one of its own would be.
  template <class T>
  DeviceArray<T, Exec> part(Exec const& exec, std::size_t size) {
    std::any& slot = rest_[typeid(T)];
    if (!slot.has_value()) slot = no_view<DeviceArray<T, Exec>>();
    auto& rest = *std::any_cast<DeviceArray<T, Exec>>(&slot);
    std::size_t const step = alignment / sizeof(T), room = (size + step - 1) / step * step;
    if (rest.extent(0) < room)
      rest = allocate_view<DeviceArray<T, Exec>>(exec, "Solder::pool", whole / sizeof(T));
    DeviceArray<T, Exec> const taken = Kokkos::subview(rest, std::make_pair(std::size_t(0), size));
    rest = Kokkos::subview(rest, std::make_pair(room, rest.extent(0)));
    return taken;
  }

 private:
  static constexpr std::size_t alignment = 256;

  static inline thread_local PooledAllocations* current_ = nullptr;
  PooledAllocations* outer_;
  std::unordered_map<std::type_index, std::any> rest_;  ///< of a whole of each type: a DeviceArray
};

/// \brief An array on the device, not initialised.
/// \throws OutOfMemory
template <class T, class Exec>
DeviceArray<T, Exec> allocate(Exec const& exec, char const* label, std::int64_t size) {
  auto* const pool = PooledAllocations<Exec>::current();
  auto const entries = static_cast<std::size_t>(size);
  if (pool != nullptr && entries * sizeof(T) <= pool->most)
    return pool->template part<T>(exec, entries);
  return allocate_view<DeviceArray<T, Exec>>(exec, label, entries);
}

/// \brief The same, zero at first.
template <class T, class Exec>
DeviceArray<T, Exec> allocate_zeros(Exec const& exec, char const* label, std::int64_t size) {
  auto const array = allocate<T>(exec, label, size);
  Kokkos::deep_copy(exec, array, T{});
  return array;
}

/// \brief Entries in an array of 32-bit words, which most arrays of a set-up are: a type that few
/// arrays have needs no pool of its own.
template <class T, class Exec>
struct InWords {
  DeviceArray<std::int32_t, Exec> words = no_view<DeviceArray<std::int32_t, Exec>>();

  T* data() const { return reinterpret_cast<T*>(words.data()); }
};

template <class T, class Exec>
InWords<T, Exec> allocate_in_words(Exec const& exec, char const* label, std::int64_t size) {
  std::int64_t const bytes = size * std::int64_t(sizeof(T));
  return {allocate<std::int32_t>(exec, label, (bytes + 3) / 4)};
}

}  // namespace Solder::Impl
