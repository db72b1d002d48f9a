// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/generators.hpp>
#include <solder/solvers/cg.hpp>

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  Solder::CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Jacobi<double, Exec> const M(exec, A);
  Kokkos::View<double*, Exec> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(exec, b, 1.0);
  Solder::Cg solver(exec, A, M);
  Solder::Report const report = solver.solve(b, x);
  std::printf("%s after %d iterations\n", Solder::to_string(report.reason).data(), report.iterations);
  return report.reason == Solder::Reason::converged ? 0 : 1;
}
