// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace SolderTest {

/// \brief What Kokkos did from construction to stop(), from the Kokkos Tools callbacks.
///
/// One at a time. The fence that Kokkos itself puts before each callback, so that tools can time,
/// is left out.
class KokkosEvents {
 public:
  struct Kernel {
    std::string label;
    std::uint32_t device;  ///< as Kokkos::Tools::Experimental::device_id gives it
  };
  struct Allocation {
    std::string label;
    std::uint64_t bytes;
  };

  KokkosEvents() : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    current = this;
    Tools::set_begin_parallel_for_callback(kernel);
    Tools::set_begin_parallel_reduce_callback(kernel);
    Tools::set_begin_parallel_scan_callback(kernel);
    Tools::set_begin_fence_callback([](char const* name, std::uint32_t, std::uint64_t* id) {
      *id = 0;
      if (std::string(name).find("Tool Fence") == std::string::npos)
        current->fences.push_back(name);
    });
    Tools::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, char const* name, void const*, std::uint64_t bytes) {
          // Before 4.7 Kokkos reports an empty team scratch at every launch of a CUDA team.
          if (bytes > 0) current->allocations.push_back({name, bytes});
        });
    Tools::set_begin_deep_copy_callback(
        [](Kokkos::Tools::SpaceHandle, char const* to, void const*, Kokkos::Tools::SpaceHandle,
           char const* from, void const*,
           std::uint64_t) { current->copies.push_back(std::string(from) + " > " + to); });
  }
  ~KokkosEvents() { stop(); }

  /// \brief Ends the watch; what was seen stays.
  void stop() {
    if (current != this) return;
    Kokkos::Tools::Experimental::set_callbacks(before_);
    current = nullptr;
  }

  KokkosEvents(KokkosEvents const&) = delete;
  KokkosEvents& operator=(KokkosEvents const&) = delete;

  std::vector<Kernel> kernels;
  std::vector<Allocation> allocations;
  std::vector<std::string> fences, copies;

 private:
  static void kernel(char const* name, std::uint32_t device, std::uint64_t* id) {
    *id = 0;
    current->kernels.push_back({name, device});
  }

  static inline KokkosEvents* current = nullptr;
  Kokkos::Tools::Experimental::EventSet before_;
};

/// \brief All kernels bear Solder's name, and ran on this instance.
void expect_kernels_of(auto const& exec, KokkosEvents const& events) {
  for (auto const& kernel : events.kernels) {
    EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

}  // namespace SolderTest
