// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

namespace Solder::Driver {

/// \brief One type for each solver, defined in solve_<solver>.cpp: Of, the class template, and
/// options(SolverConfig). A further solver is a further line here, in solve.cpp, in footprint.cpp,
/// in schema() and in CMakeLists.txt.
struct ByBiCgStab;
struct ByBlockCg;
struct ByCg;
struct ByGmres;
struct ByIdr;

/// \brief solve() by one method. Each pair of method and scalar is a translation unit of its own.
template <class Method, class T>
Solved<T> solve_by(RunConfig const& run, System<T> const& system,
                   std::function<void(Progress const&)> const& monitor);

}  // namespace Solder::Driver
