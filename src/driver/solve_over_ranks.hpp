// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

namespace Solder::Driver {

/// \brief solve() where several ranks have the system: of a build with MPI.
template <class T>
Solved<T> solve_over_ranks(RunConfig const& run, System<T> const& system);

}  // namespace Solder::Driver
