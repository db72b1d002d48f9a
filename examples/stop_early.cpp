// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A monitor that shows how far a solve has come and stops it when its time is up. The report says
// `stopped`, and the true residual of the x that was reached.

#include <iostream>

#include <solder/problems/poisson.hpp>
#include <solder/solver.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  Solder::CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(127));
  double const most_seconds = 10;
  int const most_iterations = 100;
  auto const solver = Solder::make_solver(
      exec, A, {{"name", "cg"}, {"tolerance", 1e-12}, {"preconditioner", "jacobi"}},
      {.monitor = [&](Solder::Progress const& progress) {
        if (progress.iteration % 20 == 0)
          std::cout << "iteration " << progress.iteration << ": " << progress.relative_residual
                    << "\n";
        if (progress.seconds > most_seconds || progress.iteration >= most_iterations)
          progress.stop();
      }});
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Report const report = solver.solve(b, x);
  std::cout << report << "\n";
  return report.reason == Solder::Reason::stopped ? 0 : 1;
}
