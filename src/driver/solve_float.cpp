// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve_on.hpp"

template Solder::Driver::Solved<float> Solder::Driver::solve(
    RunConfig const&, System<float> const&, std::function<void(Progress const&)> const&);
