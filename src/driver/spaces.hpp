// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <string_view>

namespace Solder::Driver {

/// \brief Calls f with an instance of the execution space with that YAML name; does not call it if
/// this build does not have the space (see space_names()).
template <class Function>
void with_space(std::string_view name, Function const& f) {
  if (name == "default") f(Kokkos::DefaultExecutionSpace{});
#ifdef KOKKOS_ENABLE_SERIAL
  if (name == "serial") f(Kokkos::Serial{});
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  if (name == "openmp") f(Kokkos::OpenMP{});
#endif
#ifdef KOKKOS_ENABLE_CUDA
  if (name == "cuda") f(Kokkos::Cuda{});
#endif
#ifdef KOKKOS_ENABLE_HIP
  if (name == "hip") f(Kokkos::HIP{});
#endif
}

}  // namespace Solder::Driver
