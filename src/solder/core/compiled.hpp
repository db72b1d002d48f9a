// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include <solder/core/team.hpp>

namespace Solder::Impl {

/// \brief Whether what hosts need of a scalar is compiled apart and only declared here: in
/// programs that link solder_compiled (src/compiled), which then compile in half the time.
template <class Exec, class Scalar>
inline constexpr bool is_compiled =
#ifdef SOLDER_COMPILED
    is_host_space<Exec> && (std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double> ||
                            std::is_same_v<Scalar, Kokkos::complex<float>> ||
                            std::is_same_v<Scalar, Kokkos::complex<double>>);
#else
    false;
#endif

/// \brief The host space for which src/compiled instantiates classes. (The GPU's is Gpu.)
using Host = Kokkos::DefaultHostExecutionSpace;

/// \brief Whether what can be stored in single precision beside double is compiled:
/// preconditioners, and the basis of GMRES. Not in a build with Solder_SINGLE=OFF.
#ifdef SOLDER_NO_SINGLE
inline constexpr bool has_single = false;
#else
inline constexpr bool has_single = true;
#endif
/// \brief What an error says behind the option that asks for it.
inline constexpr char single_is_missing[] =
    " is not in this build of Solder::compiled; configure it with Solder_SINGLE=ON";

}  // namespace Solder::Impl
