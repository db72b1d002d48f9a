// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/bicgstab.hpp>

#include "instances.hpp"

template auto
Solder::Compiled::instances<Solder::Impl::BiCgStabMethod, SOLDER_SCALAR, Solder::BiCgStabOptions>();
