// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve_on.hpp"

template Solder::Driver::Solved<Kokkos::complex<float>> Solder::Driver::solve(
    RunConfig const&, System<Kokkos::complex<float>> const&,
    std::function<void(Progress const&)> const&);
