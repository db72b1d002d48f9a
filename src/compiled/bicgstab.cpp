// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar and part of the systems; CMakeLists.txt says which.
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/bicgstab.hpp>

#include "instances.hpp"

template auto
Solder::Compiled::instances<Solder::Impl::BiCgStabMethod, SOLDER_SCALAR, Solder::BiCgStabOptions>();
