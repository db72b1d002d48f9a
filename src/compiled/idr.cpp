// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar and each part of the systems; see CMakeLists.txt.
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/idr.hpp>

#include "instances.hpp"

template auto
Solder::Compiled::instances<Solder::Impl::IdrMethod, SOLDER_SCALAR, Solder::IdrOptions>();
