// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Newton's method with a lagged preconditioner: -laplace(u) = lambda exp(u) on the unit square, 0
// on its boundary (Bratu's problem), by finite elements with a lumped right side:
//
//     F(u) = L u - h^2 lambda exp(u),  J(u) = L - h^2 lambda diag(exp(u)),  u = u - J(u)^-1 F(u)
//
// The Jacobian is new in each step. The preconditioner is that of the first one, which is near
// enough: `allow_stale_preconditioner` says that this is meant. Each step is solved only as far as
// Newton's method can use, by `guess_tolerance`, from a guess of 0.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <solder/problems/poisson.hpp>
#include <solder/solver.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  int const side = 40, n = side * side;
  double const lambda = 5, load = lambda / ((side + 1.0) * (side + 1.0));
  auto const L = Solder::fem_poisson_2d<double>(side);
  std::vector<double> u(n);

  auto J = L;  // of u = 0; its values change, its pattern does not
  Solder::CsrMatrix<double, Exec> const first(exec, J);
  auto const solver = Solder::make_solver(exec, first,
                                          {{"name", "cg"},
                                           {"tolerance", 0.0},
                                           {"guess_tolerance", 1e-3},
                                           {"zero_guess", true},
                                           {"allow_stale_preconditioner", true},
                                           {"preconditioner", "amg"}});
  Kokkos::View<double*> const b("b", n), x("x", n);
  auto const on_host = Kokkos::create_mirror_view(b);

  double size = 1;
  for (int step = 0; step < 10 && size > 1e-8; ++step) {
    double squared = 0;
    for (int i = 0; i < n; ++i) {
      on_host(i) = load * std::exp(u[i]);  // -F(u)
      for (auto k = L.row_offsets[i]; k < L.row_offsets[i + 1]; ++k) {
        on_host(i) -= L.values[k] * u[L.columns[k]];
        J.values[k] = L.values[k] - (L.columns[k] == i ? load * std::exp(u[i]) : 0);
      }
      squared += on_host(i) * on_host(i);
    }
    size = std::sqrt(squared);
    solver.set_matrix(Solder::CsrMatrix<double, Exec>(exec, J));
    Kokkos::deep_copy(b, on_host);
    Solder::Report const report = solver.solve(b, x);
    std::printf("step %d: ||F(u)|| = %.2e, %2d iterations\n", step, size, report.iterations);
    auto const change = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (int i = 0; i < n; ++i) u[i] += change(i);
  }
  std::printf("the largest u is %.5f\n", *std::max_element(u.begin(), u.end()));
  return size <= 1e-8 ? 0 : 1;
}
