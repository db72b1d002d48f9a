// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cctype>
#include <solder/core/kokkos_ext.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "solve.hpp"

namespace Solder::Driver {

/// \brief The YAML name of an execution space: "openmp".
template <class Exec>
std::string name_of_space() {
  std::string name = Exec::name();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// \brief The model of the first CPU, or "CPU" where the system does not tell.
std::string cpu_name();

/// \brief Calls f with an instance of the execution space with that YAML name; does not call it if
/// this build does not have the space (see has_space()).
template <class Function>
void with_space(std::string_view name, Function const& f) {
  if (!has_space(name)) return;
  std::string const wanted = name == "default" || name == "gpu"
                                 ? name_of_space<Kokkos::DefaultExecutionSpace>()
                                 : std::string(name);
  Solder::Impl::for_each_space([&]<class Exec>(std::type_identity<Exec>) {
    if (name_of_space<Exec>() == wanted) f(Exec());
    return true;
  });
}

}  // namespace Solder::Driver
