// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A solver that is chosen at run time, by its name and its preconditioner's, for a matrix whose
// values change:
//
//     by_name [SOLVER [PRECONDITIONER]]
//
// One header, one type, whatever is chosen. What it needs is compiled in Solder::compiled.

#include <cmath>
#include <cstdio>
#include <exception>

#include <solder/solver.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

// The matrix of -u'' - c u' = f, in n equal steps.
Solder::HostCsr<double> flow(int n, double c) {
  Solder::HostCsr<double> A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int const j : {i - 1, i, i + 1})
      if (j >= 0 && j < n) {
        A.columns.push_back(j);
        A.values.push_back(i == j ? 2 : i < j ? -1 - c / (2 * n) : -1 + c / (2 * n));
      }
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  return A;
}

// ||b - A x|| / ||b|| for b = 1, by plain loops on the host.
double recomputed_residual(Solder::HostCsr<double> const& A, Kokkos::View<double*> const& x) {
  auto const y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double rr = 0;
  for (int i = 0; i < A.rows; ++i) {
    double r = 1;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      r -= A.values[k] * y(A.columns[k]);
    rr += r * r;
  }
  return std::sqrt(rr / A.rows);
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  try {
    int const n = 1000;
    Kokkos::View<double*> const b("b", n), x("x", n);
    Kokkos::deep_copy(b, 1.0);
    auto const solver = Solder::make_solver(exec, Solder::CsrMatrix<double, Exec>(exec, flow(n, 5)),
                                            {{"name", argc > 1 ? argv[1] : "gmres"},
                                             {"tolerance", 1e-10},
                                             {"preconditioner", argc > 2 ? argv[2] : "ilu0"}});
    std::printf("%s", solver.describe().c_str());
    bool right = true;
    for (double const c : {5, 6, 7}) {
      auto const host = flow(n, c);
      solver.set_matrix(Solder::CsrMatrix<double, Exec>(exec, host));  // of the same pattern
      solver.refresh();                                                // the preconditioner
      Solder::Report const report = solver.solve(b, x);  // from the last x, the best guess
      double const residual = recomputed_residual(host, x);
      std::printf("c = %g: %s after %d iterations, residual %.2e\n", c,
                  to_string(report.reason).data(), report.iterations, residual);
      right = right && std::abs(report.true_relative_residual - residual) < 1e-11;
    }
    return right ? 0 : 1;
  } catch (std::exception const& error) {  // an unknown name, or a matrix that CG cannot take
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
