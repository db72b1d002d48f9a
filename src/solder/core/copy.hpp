// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

template <class Space, class Byte = unsigned char>
using Bytes = Kokkos::View<Byte*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// \brief The bytes of a View without gaps. Copying and clearing bytes is compiled once for each
/// pair of memory spaces, not for each pair of types.
template <class View>
auto bytes_in(View const& view) {
  using T = typename View::value_type;
  static_assert(std::is_trivially_copyable_v<T>);
  using Byte = std::conditional_t<std::is_const_v<T>, unsigned char const, unsigned char>;
  return Bytes<typename View::memory_space, Byte>(reinterpret_cast<Byte*>(view.data()),
                                                  view.size() * sizeof(T));
}

/// \brief to = from, two Views of as many entries, each without gaps. As Kokkos::deep_copy on an
/// instance: what comes from a device is there after a fence.
template <class Exec, class To, class From>
void copy(Exec const& exec, To const& to, From const& from) {
  static_assert(std::is_same_v<typename To::value_type, typename From::non_const_value_type>);
  if (to.size() != from.size())
    throw std::logic_error("Solder: copy() between arrays of two sizes");
  Kokkos::deep_copy(exec, bytes_in(to), bytes_in(from));
}

/// \brief Clears all bits of a View without gaps.
template <class Exec, class View>
void clear(Exec const& exec, View const& view) {
  Kokkos::deep_copy(exec, bytes_in(view), static_cast<unsigned char>(0));
}

}  // namespace Solder::Impl
