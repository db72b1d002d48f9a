// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <solder/core/allocate.hpp>
#include <solder/core/copy.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief What several reductions find: it stays in the memory of the device until read() waits for
/// all of them at once. Each wait takes the host of a GPU as long as a small kernel.
/// \tparam T a struct with a member for each reduction
template <class T, class Exec>
class Findings {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Findings(Exec const& exec)
      : exec_(exec), memory_(allocate<unsigned char>(exec, "Solder::findings", sizeof(T))) {}

  /// \brief Where a reduction leaves its result.
  template <class Part>
  auto place(Part T::*part) const {
    return Kokkos::View<Part, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
        &(reinterpret_cast<T*>(memory_.data())->*part));
  }
  /// \brief What the reductions have left; members without one are undefined.
  T read() const {
    T here;
    copy(exec_, Bytes<Kokkos::HostSpace>(reinterpret_cast<unsigned char*>(&here), sizeof(T)),
         memory_);
    exec_.fence("Solder::findings: the reductions have ended");
    return here;
  }

 private:
  Exec exec_;
  DeviceArray<unsigned char, Exec> memory_;
};

}  // namespace Solder::Impl
