// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// User-defined preconditioners: any function z = M r, with M close to the inverse of A.
//
// Three examples for one system: a function that enqueues kernels on the device, one that runs on
// the host, and a few steps of another solver.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <solder/preconditioners/apply.hpp>
#include <solder/solder.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Apply = Solder::Apply<double, Exec>;
using Vector = Kokkos::View<double*>;

constexpr int side = 50;  // unknowns along each side, numbered row by row
constexpr int n = side * side;

// On the device: solves each line of the grid separately and exactly. This inverts the tridiagonal
// part (-3/2, 5, -3/2) of the matrix below, which is its strongest part. One thread eliminates one
// line; all lines have the same pivots.
void solve_lines(Exec const& exec, Vector const& pivot, Apply::Input const& r,
                 Apply::Output const& z) {
  Kokkos::parallel_for(
      "solve_lines", Kokkos::RangePolicy(exec, 0, side), KOKKOS_LAMBDA(int line) {
        int const first = line * side;
        for (int k = 0; k < side; ++k)
          z(first + k) = (r(first + k) + (k > 0 ? 1.5 * z(first + k - 1) : 0)) / pivot(k);
        for (int k = side - 2; k >= 0; --k) z(first + k) += 1.5 * z(first + k + 1) / pivot(k);
      });
}

Vector pivots_of_a_line() {
  Vector const pivot("pivot", side);
  auto const host = Kokkos::create_mirror_view(pivot);
  host(0) = 5;
  for (int k = 1; k < side; ++k) host(k) = 5 - 1.5 * 1.5 / host(k - 1);
  Kokkos::deep_copy(pivot, host);
  return pivot;
}

// On the host: symmetric Gauss-Seidel, with one sweep down the rows and one up. Every row needs the
// rows before it, which is hard to parallelise: a case for the host, for small systems.
void sweep(Solder::HostCsr<double> const& A, std::span<double const> r, std::span<double> z) {
  std::vector<double> diagonal(n);
  for (int i = 0; i < n; ++i) {
    double sum = r[i];
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      int const j = A.columns[k];
      if (j < i) sum -= A.values[k] * z[j];
      if (j == i) diagonal[i] = A.values[k];
    }
    z[i] = sum / diagonal[i];
  }
  for (int i = n - 1; i >= 0; --i) {
    double sum = 0;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] > i) sum += A.values[k] * z[A.columns[k]];
    z[i] -= sum / diagonal[i];
  }
}

// ||b - A x|| / ||b|| by plain loops on the host; b = 1.
double recomputed_residual(Solder::HostCsr<double> const& A, Vector const& solution) {
  auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    double r = 1;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      r -= A.values[k] * x(A.columns[k]);
    sum += r * r;
  }
  return std::sqrt(sum / n);
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;

  // Finite elements for an anisotropic plate: 5 on the diagonal, -3/2 along a line of the grid.
  Solder::HostCsr<double> const host = Solder::fem_poisson_2d<double>(side);
  Solder::CsrMatrix const A(exec, host);
  Vector const b("b", n);
  Kokkos::deep_copy(exec, b, 1.0);

  bool right = true;
  auto const solve = [&](char const* name, auto& solver) {
    Vector const x("x", n);
    Solder::Report const report = solver.solve(b, x);
    double const residual = recomputed_residual(host, x);
    std::printf("%-28s %s after %3d iterations; residual %.3e, recomputed here %.3e\n", name,
                to_string(report.reason).data(), report.iterations, report.true_relative_residual,
                residual);
    right = right && report.reason == Solder::Reason::converged &&
            std::abs(residual - report.true_relative_residual) <= 1e-3 * residual;
  };

  // For comparison.
  Solder::Cg plain(exec, A, Solder::Jacobi(exec, A));
  solve("CG, Jacobi", plain);

  // For CG, M must be symmetric positive definite, like the next two.
  Vector const pivot = pivots_of_a_line();
  Apply const lines(n, [=](Exec const& instance, Apply::Input const& r, Apply::Output const& z) {
    solve_lines(instance, pivot, r, z);  // enqueues on `instance` and does not wait
  });
  Solder::Cg with_lines(exec, A, lines);
  solve("CG, lines on the device", with_lines);

  Apply const gauss_seidel =
      Apply::on_host(n, [&](std::span<double const> r, std::span<double> z) { sweep(host, r, z); });
  Solder::Cg with_sweeps(exec, A, gauss_seidel);
  solve("CG, Gauss-Seidel on the host", with_sweeps);

  // Five steps of CG are a different M in every call, which flexible GMRES allows.
  Solder::CgOptions few;
  few.max_iterations = 5;
  few.keep_guess = false;  // the residual may be larger than b after so few steps
  Solder::Cg inner(exec, A, lines, few);
  Apply const steps(n, [&](Exec const& instance, Apply::Input const& r, Apply::Output const& z) {
    Kokkos::deep_copy(instance, z, 0.0);  // the initial guess
    inner.solve(r, z);                    // runs on the instance it was made with, the same one
  });
  Solder::GmresOptions flexible;
  flexible.form = Solder::GmresForm::flexible;
  Solder::Gmres gmres(exec, A, steps, flexible);
  solve("flexible GMRES, 5 steps of CG", gmres);

  return right ? 0 : 1;
}
