// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spaces.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

#include "errors.hpp"
#include "schema.hpp"
#include "solve.hpp"

namespace Solder::Driver {

std::string cpu_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("model name"))
      if (auto const colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "CPU";
}

std::vector<std::string_view> space_names() {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> all{"default"};
    Solder::Impl::for_each_space([&]<class Exec>(std::type_identity<Exec>) {
      all.push_back(name_of_space<Exec>());
      return true;
    });
    return all;
  }();
  return {names.begin(), names.end()};
}

bool has_space(std::string_view space) {
  auto const names = space_names();
  return space == "gpu" ? !on_host("default")
                        : std::find(names.begin(), names.end(), space) != names.end();
}

std::string not_in_build(std::string_view space) {
  std::string device(space == "gpu" ? "CUDA" : space);
  for (char& c : device) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string const remedy =
      space == "serial" && has_space("openmp")
          ? "for one thread, put OMP_NUM_THREADS=1"
          : concat("to build it, put SOLDER_DEVICES=", device, space == "gpu" ? " (AMD: HIP)" : "");
  return concat("execution.space '", space, "' is not in this build, which has ",
                join(space_names(), " and "), "; ", remedy,
                " before the command (docs/execution-spaces.md)");
}

bool on_host(std::string_view space) {
  using Default = Kokkos::DefaultExecutionSpace;
  constexpr bool default_on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, Default::memory_space>::accessible;
  return space == "default" ? default_on_host : space == "serial" || space == "openmp";
}

bool is_one_thread(std::string_view space) {
  return (space == "default" ? name_of_space<Kokkos::DefaultExecutionSpace>() : space) == "serial";
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

std::string device_name() {
  Kokkos::DefaultExecutionSpace const exec;
  std::string const gpu = Solder::Impl::gpu_name(exec);
  int const threads = exec.concurrency();
  return !gpu.empty() ? gpu
                      : cpu_name() + ", " + std::to_string(threads) +
                            (threads == 1 ? " thread" : " threads");
}

}  // namespace Solder::Driver
