// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Many systems, one after another, with the same pattern and new values: a cooling plate, by the
// implicit Euler method,
//
//     (I + dt k(t) L) u(t + dt) = u(t),
//
// where L is the finite element matrix of the Laplacian and k(t) a conductivity that changes with
// time. The solver and its preconditioner are made once. In each step the values are overwritten in
// place, the preconditioner is refreshed, and the solve starts from the last solution.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdio>

#include <solder/solder.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Vector = Kokkos::View<double*>;
using Matrix = Solder::CsrMatrix<double, Exec>;

constexpr int side = 50, n = side * side, steps = 5;
constexpr double dt = 10;
double conductivity(int step) { return 1 + step; }

// values = the values of I + dt k L, entry by entry.
void assemble(Exec const& exec, Matrix const& L, double k, Vector const& values) {
  auto const offsets = L.row_offsets();
  auto const columns = L.column_indices();
  auto const entries = L.values();
  Kokkos::parallel_for(
      "assemble", Kokkos::RangePolicy(exec, 0, n), KOKKOS_LAMBDA(int i) {
        for (int e = offsets(i); e < offsets(i + 1); ++e)
          values(e) = (columns(e) == i ? 1 : 0) + dt * k * entries(e);
      });
}

// ||b - (I + dt k L) u|| / ||b|| by plain loops on the host.
double recomputed_residual(Solder::HostCsr<double> const& L, double k, Vector const& right_side,
                           Vector const& solution) {
  auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), right_side);
  auto const u = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
  double rr = 0, bb = 0;
  for (int i = 0; i < n; ++i) {
    double r = b(i) - u(i);
    for (auto e = L.row_offsets[i]; e < L.row_offsets[i + 1]; ++e)
      r -= dt * k * L.values[e] * u(L.columns[e]);
    rr += r * r;
    bb += b(i) * b(i);
  }
  return std::sqrt(rr / bb);
}

// Runs all steps with a preconditioner of this type; returns whether all reports are correct.
template <class Preconditioner>
bool march(char const* name, Exec const& exec, Solder::HostCsr<double> const& host) {
  Matrix const L(exec, host);
  Vector const values("values", L.nonzeros()), b("b", n), u("u", n);
  // A has the pattern of L and refers to `values`, which this function may overwrite.
  Matrix const A(exec, n, n, L.row_offsets(), L.column_indices(), values);

  assemble(exec, L, conductivity(0), values);
  Preconditioner M(exec, A);
  Solder::Cg cg(exec, A, M);  // shares A and M like views, so it sees changes in them

  Kokkos::deep_copy(exec, u, 1.0);
  bool right = true;
  for (int step = 0; step < steps; ++step) {
    double const k = conductivity(step);
    assemble(exec, L, k, values);
    A.values_changed();  // a solve with an M that is not refreshed is an error now
    M.refresh(exec, A);
    Kokkos::deep_copy(exec, b, u);
    Solder::Report const report = cg.solve(b, u);  // starts from the last u, the best guess

    double const residual = recomputed_residual(host, k, b, u);
    std::printf("%-6s step %d: %s after %3d iterations; residual %.3e, recomputed here %.3e\n",
                name, step, to_string(report.reason).data(), report.iterations,
                report.true_relative_residual, residual);
    right = right && report.reason == Solder::Reason::converged &&
            std::abs(residual - report.true_relative_residual) <= 1e-3 * residual;
  }
  return right;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  auto const L = Solder::fem_poisson_2d<double>(side);
  bool const with_jacobi = march<Solder::Jacobi<double, Exec>>("Jacobi", exec, L);
  bool const with_fsai = march<Solder::Fsai<double, Exec>>("FSAI", exec, L);
  return with_jacobi && with_fsai ? 0 : 1;
}
