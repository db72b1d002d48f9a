// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program of the README: the first system that is solved. Link Solder::compiled.

#include <iostream>
#include <solder/problems/poisson.hpp>
#include <solder/solver.hpp>

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(255));  // or three views of yours
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());  // x: guess in, solution out
  Kokkos::deep_copy(b, 1.0);

  auto const solver = Solder::make_solver(exec, A, {{"name", "cg"}, {"preconditioner", "amg"}});
  Solder::Report const report = solver.solve(b, x);
  std::cout << report << "\n";
  return report.reason == Solder::Reason::converged ? 0 : 1;
}
