// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "errors.hpp"

namespace Solder::Driver {

/// \brief The YAML names of the scalars of this build, with a comma after each: CMake's
/// Solder_SCALARS.
inline constexpr std::string_view built_scalars = SOLDER_SCALARS ",";

/// \brief Whether this build, or `scalars`, has the scalar with that YAML name.
constexpr bool is_built(std::string_view name, std::string_view scalars = built_scalars) {
  while (!scalars.empty()) {
    auto const end = scalars.find(',');
    if (scalars.substr(0, end) == name) return true;
    scalars.remove_prefix(end + 1);
  }
  return false;
}

/// \brief The YAML names of the scalars of this build.
inline std::vector<std::string_view> scalars_of_build() {
  std::vector<std::string_view> names;
  for (std::string_view const name : scalar_names)
    if (is_built(name)) names.push_back(name);
  return names;
}

template <class T>
inline constexpr std::string_view yaml_name = to_string(Scalar::float_);
template <>
inline constexpr std::string_view yaml_name<double> = to_string(Scalar::double_);
template <>
inline constexpr std::string_view yaml_name<Kokkos::complex<float>> =
    to_string(Scalar::complex_float);
template <>
inline constexpr std::string_view yaml_name<Kokkos::complex<double>> =
    to_string(Scalar::complex_double);

/// \brief The message for a scalar that this build does not have.
inline std::string not_built(std::string_view scalar) {
  return concat(
      "problem.scalar '", scalar, "' is not in this build, which has ", SOLDER_SCALARS,
      "; configure it with this scalar in Solder_SCALARS, or call ./solder with a file that names "
      "it");
}

}  // namespace Solder::Driver
