// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve.hpp"

#include <stdexcept>

#include "methods.hpp"

namespace Solder::Driver {

template <class T>
Solved<T> solve(RunConfig const& run, System<T> const& system,
                std::function<void(Progress const&)> const& monitor) {
  if (run.solver.name == "cg") return solve_by<ByCg>(run, system, monitor);
  if (run.solver.name == "bicgstab") return solve_by<ByBiCgStab>(run, system, monitor);
  if (run.solver.name == "block_cg") return solve_by<ByBlockCg>(run, system, monitor);
  if (run.solver.name == "gmres") return solve_by<ByGmres>(run, system, monitor);
  if (run.solver.name == "idr") return solve_by<ByIdr>(run, system, monitor);
  throw std::logic_error("no solver is named " + run.solver.name);  // schema() knows them all
}

template Solved<float> solve(RunConfig const&, System<float> const&,
                             std::function<void(Progress const&)> const&);
template Solved<double> solve(RunConfig const&, System<double> const&,
                              std::function<void(Progress const&)> const&);
template Solved<Kokkos::complex<float>> solve(RunConfig const&,
                                              System<Kokkos::complex<float>> const&,
                                              std::function<void(Progress const&)> const&);
template Solved<Kokkos::complex<double>> solve(RunConfig const&,
                                               System<Kokkos::complex<double>> const&,
                                               std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
