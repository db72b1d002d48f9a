// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A preconditioner of Solder in a solver of one's own: z = M r is all that it takes. Here a plain
// CG on the host's side, with products and inner products by Kokkos.

#include <cmath>
#include <cstdio>

#include <solder/problems/poisson.hpp>
#include <solder/solver.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Vector = Kokkos::View<double*>;

double dot(Exec const& exec, Vector const& u, Vector const& v) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "dot", Kokkos::RangePolicy(exec, 0, u.extent(0)),
      KOKKOS_LAMBDA(int i, double& mine) { mine += u(i) * v(i); }, sum);
  return sum;
}

// y = a x + c y
void update(Exec const& exec, double a, Vector const& x, double c, Vector const& y) {
  Kokkos::parallel_for(
      "update", Kokkos::RangePolicy(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(int i) { y(i) = a * x(i) + c * y(i); });
}

void multiply(Exec const& exec, Solder::CsrMatrix<double, Exec> const& A, Vector const& x,
              Vector const& y) {
  auto const offsets = A.row_offsets();
  auto const columns = A.column_indices();
  auto const values = A.values();
  Kokkos::parallel_for(
      "multiply", Kokkos::RangePolicy(exec, 0, A.rows()), KOKKOS_LAMBDA(int i) {
        double sum = 0;
        for (int k = offsets(i); k < offsets(i + 1); ++k) sum += values(k) * x(columns(k));
        y(i) = sum;
      });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  Solder::CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(63));
  auto const M = Solder::make_preconditioner(exec, A, {{"name", argc > 1 ? argv[1] : "amg"}});
  int const n = A.rows();
  Vector const x("x", n), r("r", n), z("z", n), p("p", n), q("q", n);
  Kokkos::deep_copy(r, 1.0);  // b

  double const stop = 1e-16 * dot(exec, r, r);
  double rz = 1;
  int iterations = 0;
  for (; dot(exec, r, r) > stop && iterations < 1000; ++iterations) {
    M.apply(exec, r, z);
    double const before = rz;
    rz = dot(exec, r, z);
    update(exec, 1, z, iterations == 0 ? 0 : rz / before, p);
    multiply(exec, A, p, q);
    double const alpha = rz / dot(exec, p, q);
    update(exec, alpha, p, 1, x);
    update(exec, -alpha, q, 1, r);
  }
  std::printf("%d iterations\n", iterations);
  return iterations < 1000 ? 0 : 1;
}
