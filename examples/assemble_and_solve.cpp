// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Heat in a square plate: -Laplace(u) = 1, u = 0 on the boundary, by finite differences. The matrix
// is assembled on the device in three Kokkos views, in CSR format, and the system is solved by CG
// with Jacobi.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdio>

#include <solder/solder.hpp>

constexpr int side = 100;  // unknowns along each side, numbered row by row
constexpr int n = side * side;
constexpr double h_squared = 1.0 / ((side + 1.0) * (side + 1.0));

using Vector = Kokkos::View<double*>;  // in the memory of Kokkos's default device
using Indices = Kokkos::View<int*>;

// The number of entries of row i: the point itself and those of its four neighbours that are
// inside.
KOKKOS_FUNCTION int entries_of_row(int i) {
  int const column = i % side, line = i / side;
  return 1 + (column > 0) + (column < side - 1) + (line > 0) + (line < side - 1);
}

// ||b - A u|| / ||b|| by plain loops over the grid, independent of the matrix below.
double recomputed_residual(Vector const& solution) {
  auto const u = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
  double sum = 0;
  for (int line = 0; line < side; ++line)
    for (int column = 0; column < side; ++column) {
      int const i = line * side + column;
      double r = h_squared - 4 * u(i);
      if (column > 0) r += u(i - 1);
      if (column < side - 1) r += u(i + 1);
      if (line > 0) r += u(i - side);
      if (line < side - 1) r += u(i + side);
      sum += r * r;
    }
  return std::sqrt(sum) / (h_squared * side);  // ||b|| = h^2 sqrt(n)
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;  // all of Solder's work goes to this instance

  // Where each row begins: the running sum of the row lengths, n + 1 numbers.
  Indices const row_offsets("row_offsets", n + 1);
  int nonzeros = 0;
  Kokkos::parallel_scan(
      "count", Kokkos::RangePolicy(exec, 0, n),
      KOKKOS_LAMBDA(int i, int& sum, bool last) {
        sum += entries_of_row(i);
        if (last) row_offsets(i + 1) = sum;
      },
      nonzeros);

  // The columns and values of each row, in any order.
  Indices const columns("columns", nonzeros);
  Vector const values("values", nonzeros);
  Kokkos::parallel_for(
      "assemble", Kokkos::RangePolicy(exec, 0, n), KOKKOS_LAMBDA(int i) {
        int const column = i % side, line = i / side;
        int k = row_offsets(i);
        auto const add = [&](int j, double value) {
          columns(k) = j;
          values(k++) = value;
        };
        if (line > 0) add(i - side, -1);
        if (column > 0) add(i - 1, -1);
        add(i, 4);
        if (column < side - 1) add(i + 1, -1);
        if (line < side - 1) add(i + side, -1);
      });

  Vector const b("b", n), u("u", n);  // u is 0: the initial guess
  Kokkos::deep_copy(exec, b, h_squared);

  Solder::CsrMatrix const A(exec, n, n, row_offsets, columns, values);  // the views, not copies
  A.validate(exec);  // checks the pattern; throws if it is inconsistent, and names the row
  Solder::Symmetry const symmetry = check_symmetry(exec, A);  // CG does not check this itself
  if (!symmetry.hermitian.holds()) std::printf("%s\n", describe(symmetry).c_str());
  Solder::Jacobi const M(exec, A);
  Solder::CgOptions options;
  options.tolerance = 1e-8;
  Solder::Cg cg(exec, A, M, options);  // allocates all memory here: solve() allocates nothing
  Solder::Report const report = cg.solve(b, u);

  std::printf("%s after %d iterations of %s CG, %.1f ms\n", to_string(report.reason).data(),
              report.iterations, report.form.c_str(), 1e3 * report.solve_seconds);
  if (!report.detail.empty()) std::printf("%s\n", report.detail.c_str());
  std::printf("||b - A u|| / ||b||: the recursion says %.3e, the truth is %.3e\n",
              report.relative_residual, report.true_relative_residual);

  double const residual = recomputed_residual(u);
  std::printf("recomputed here: %.3e\n", residual);
  bool const agree = std::abs(residual - report.true_relative_residual) <= 1e-3 * residual;
  return agree && report.reason == Solder::Reason::converged ? 0 : 1;
}
