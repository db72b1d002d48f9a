// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the solver that chooses would do with a matrix. Compiled once for each scalar;
// CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <solder/core/plan.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/solver.hpp>
#include <string>
#include <type_traits>

#include "candidates.hpp"
#include "systems.hpp"

namespace Solder {

template <class Scalar, class Exec>
std::string explain_solver(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                           Parameters const& parameters, SolverInputs const& inputs) {
  Compiled::Wanted const wanted = Compiled::read_solver(parameters);
  if (!wanted.is_auto())
    return wanted.name + " with " + wanted.preconditioner.name + ", as named\n";
  Analysis const analysis = analyse(exec, A);
  Compiled::check_hermitian(wanted, analysis.symmetry);
  return Compiled::explained(analysis,
                             Compiled::candidates_for(analysis, machine_of(exec),
                                                      Compiled::restriction_of(wanted, inputs)));
}

namespace Compiled {

/// \brief Taking a function's address compiles it.
template <class T>
auto explained_solvers() {
  return Impl::for_each_space(
      []<class Exec>(std::type_identity<Exec>) { return &explain_solver<T, Exec>; });
}

template auto explained_solvers<SOLDER_SCALAR>();

}  // namespace Compiled
}  // namespace Solder
