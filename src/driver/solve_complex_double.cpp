// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve_on.hpp"

template Solder::Driver::Solved<Kokkos::complex<double>> Solder::Driver::solve(
    RunConfig const&, System<Kokkos::complex<double>> const&,
    std::function<void(Progress const&)> const&);
