// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spaces.hpp"

#include <fstream>
#include <string>

#include "solve.hpp"

namespace Solder::Driver {
namespace {

std::string cpu_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("model name"))
      if (auto const colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "CPU";
}

template <class Exec>
std::string device_of(Exec const& exec) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return exec.cuda_device_prop().name;
#endif
#ifdef KOKKOS_ENABLE_HIP
  if constexpr (std::is_same_v<Exec, Kokkos::HIP>) return exec.hip_device_prop().name;
#endif
  int const threads = exec.concurrency();
  return cpu_name() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}  // namespace

std::vector<std::string_view> space_names() {
  return {
      "default",
#ifdef KOKKOS_ENABLE_SERIAL
      "serial",
#endif
#ifdef KOKKOS_ENABLE_OPENMP
      "openmp",
#endif
#ifdef KOKKOS_ENABLE_CUDA
      "cuda",
#endif
#ifdef KOKKOS_ENABLE_HIP
      "hip",
#endif
  };
}

bool on_host(std::string_view space) {
  using Default = Kokkos::DefaultExecutionSpace;
  constexpr bool default_on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, Default::memory_space>::accessible;
  return space == "default" ? default_on_host : space == "serial" || space == "openmp";
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

std::string device_name() { return device_of(Kokkos::DefaultExecutionSpace{}); }

}  // namespace Solder::Driver
