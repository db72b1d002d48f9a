// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve_on.hpp"

template Solder::Driver::Solved<double> Solder::Driver::solve(
    RunConfig const&, System<double> const&, std::function<void(Progress const&)> const&);
