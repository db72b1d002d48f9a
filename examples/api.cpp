// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the pages of the API show. Each page has its function here; the lines between its two marks
// are on the page. A function returns whether its result is right.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <solder/io/matrix_market.hpp>
#include <solder/solder.hpp>

bool has_converged(Solder::Report const& report) {
  return report.reason == Solder::Reason::converged && report.true_relative_residual <= 1e-8;
}

bool all_have_converged(std::vector<Solder::Report> const& reports) {
  return !reports.empty() && std::all_of(reports.begin(), reports.end(), has_converged);
}

bool cg() {
  //! [cg]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Jacobi const M(exec, A);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());  // x: initial guess in
  Kokkos::deep_copy(b, 1.0);

  Solder::CgOptions options;
  options.tolerance = 1e-8;
  Solder::Cg cg(exec, A, M, options);            // allocates; use it for many right-hand sides
  Solder::Report const report = cg.solve(b, x);  // x: solution out
  if (report.reason != Solder::Reason::converged)
    std::fprintf(stderr, "%s: %s\n", to_string(report.reason).data(), report.detail.c_str());
  //! [cg]
  return has_converged(report);
}

bool bicgstab() {
  //! [bicgstab]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::convection_diffusion_2d<double>(31));  // nonsymmetric
  Solder::Jacobi const M(exec, A);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);

  Solder::BiCgStab bicgstab(exec, A, M);
  Solder::Report const report = bicgstab.solve(b, x);
  std::printf("%d iterations, ||b - A x|| / ||b|| = %.1e\n", report.iterations,
              report.true_relative_residual);
  //! [bicgstab]
  return has_converged(report);
}

bool gmres() {
  //! [gmres]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::convection_diffusion_2d<double>(31));
  Solder::Jacobi const M(exec, A);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);

  Solder::GmresOptions options;
  options.restart = 50;  // steps of a cycle: memory for 52 vectors
  options.monitor = [](Solder::Progress const& now) {
    std::printf("step %d: %.1e\n", now.iteration, now.relative_residual);
  };
  Solder::Gmres gmres(exec, A, M, options);
  Solder::Report const report = gmres.solve(b, x);
  //! [gmres]
  return has_converged(report);
}

bool idr() {
  //! [idr]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::convection_diffusion_2d<double>(31));
  Solder::Jacobi const M(exec, A);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);

  Solder::IdrOptions options;
  options.shadow_dimension = 2;  // s
  options.smoothing = true;      // the residual never grows
  Solder::Idr idr(exec, A, M, options);
  Solder::Report const report = idr.solve(b, x);
  //! [idr]
  return has_converged(report);
}

bool block_cg() {
  //! [block_cg]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Jacobi const M(exec, A);
  // Eight right-hand sides, the entries of a row together.
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight>;
  Columns const B("B", A.rows(), 8), X("X", A.rows(), 8);
  Kokkos::parallel_for(
      "right-hand sides", Kokkos::RangePolicy(exec, 0, A.rows()), KOKKOS_LAMBDA(int i) {
        for (int c = 0; c < 8; ++c) B(i, c) = 1 + (i * (c + 3)) % 17;
      });

  Solder::BlockCg block_cg(exec, A, M);
  std::vector<Solder::Report> const reports = block_cg.solve(B, X);  // one a column
  for (Solder::Report const& report : reports) std::printf("%d iterations\n", report.iterations);
  //! [block_cg]
  return reports.size() == 8 && all_have_converged(reports);
}

bool jacobi() {
  //! [jacobi]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Jacobi const M(exec, A);                                              // of a matrix
  if (!M.failure().empty()) std::fprintf(stderr, "%s\n", M.failure().c_str());  // a zero

  Kokkos::View<double*> const diagonal("diagonal", A.rows());
  Kokkos::deep_copy(diagonal, 1.0);
  Solder::Jacobi D(exec, diagonal);  // of a view: for an operator without entries
  Kokkos::deep_copy(diagonal, 5.0);
  D.refresh(exec, diagonal);  // after its values have changed

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows()), y("y", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Report const one = Solder::Cg(exec, A, M).solve(b, x);
  Solder::Report const other = Solder::Cg(exec, A, D).solve(b, y);
  //! [jacobi]
  return has_converged(one) && has_converged(other);
}

bool fsai() {
  //! [fsai]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::FsaiOptions options;
  options.k = 3;  // a denser pattern than that of k = 2
  Solder::Fsai const M(exec, A, options);
  std::printf("G has %.2f times the nonzeros of A\n", M.setup().density);

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [fsai]
  return has_converged(report);
}

bool incomplete() {
  //! [incomplete]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Incomplete const M(exec, A, Solder::Factorisation::ic0);  // ilu0 for any other matrix
  // A zero pivot throws nothing: M says why it cannot be applied, and solvers refuse it.
  if (!M.failure().empty()) std::fprintf(stderr, "%s\n", M.failure().c_str());

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  std::printf("schedules of L and U: %s\n", report.preconditioner.schedule.c_str());
  //! [incomplete]
  return has_converged(report);
}

bool scaled() {
  //! [scaled]
  Kokkos::DefaultExecutionSpace const exec;
  // Rows in reverse order: no diagonal, and nothing to pivot on.
  Solder::HostCsr<double> const flow =
      Solder::convection_diffusion_2d<double>(20, {10, 4}, Solder::Convection::upwind);
  Solder::TripletBuilder<double> entries;
  for (std::int32_t i = 0; i < flow.rows; ++i)
    for (auto k = flow.row_offsets[i]; k < flow.row_offsets[i + 1]; ++k)
      entries.add(flow.rows - 1 - i, flow.columns[k], flow.values[k]);
  Solder::CsrMatrix const A(exec, entries.build(flow.rows, flow.rows));

  Solder::Scaling const scaling(
      exec, A, {.scale = Solder::Scale::equilibrate, .match = Solder::Match::product});
  Solder::Incomplete const of_scaled(exec, scaling.matrix(), Solder::Factorisation::ilut);
  Solder::Scaled const M(exec, scaling, of_scaled);  // for A: x and b are not scaled

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Gmres gmres(exec, A, M);
  Solder::Report const report = gmres.solve(b, x);
  //! [scaled]
  return has_converged(report);
}

bool triangular_solve() {
  //! [triangular_solve]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::HostCsr<double> const host = Solder::block_lower_triangular<double>(4, 50, 0.1);
  Solder::CsrMatrix const T(exec, host);
  Solder::TriangularSolve const triangle(exec, T,
                                         {.triangle = Solder::TriangularShape::Triangle::lower});
  Kokkos::View<double*> const b("b", T.rows()), x("x", T.rows());
  Kokkos::deep_copy(b, 1.0);
  triangle.solve(exec, b, x);  // one kernel; does not wait for it

  auto const solution = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double largest = 0;  // of |b - T x|
  for (int i = 0; i < host.rows; ++i) {
    double residual = 1;
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      residual -= host.values[k] * solution(host.columns[k]);
    largest = std::max(largest, std::abs(residual));
  }
  //! [triangular_solve]
  return largest < 1e-12;
}

bool chebyshev() {
  //! [chebyshev]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Solder::Jacobi const inner(exec, A);
  Solder::ChebyshevOptions options;
  options.degree = 3;
  Solder::Chebyshev const M(exec, A, inner, options);  // Fsai in place of Jacobi is possible, too

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [chebyshev]
  return has_converged(report);
}

bool amg() {
  //! [amg]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(63));
  Solder::Amg const M(exec, A);
  for (auto const& level : M.levels())
    std::printf("%d rows, %lld nonzeros\n", level.rows, static_cast<long long>(level.nonzeros));

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [amg]
  return has_converged(report);
}

bool amg_elasticity() {
  //! [amg_elasticity]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::elasticity_3d<double>(6));
  std::vector<double> const points = Solder::elasticity_3d_coordinates(6);  // x, y, z of each node
  Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace> const on_host(
      points.data(), points.size() / 3, 3);
  auto const coordinates =
      Kokkos::create_mirror_view_and_copy(Kokkos::DefaultExecutionSpace::memory_space(), on_host);
  auto const modes = Solder::rigid_body_modes(exec, coordinates);
  Solder::Amg const M(exec, A, modes, {.block_size = 3});

  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [amg_elasticity]
  return has_converged(report);
}

//! [apply]
using Apply = Solder::Apply<double, Kokkos::DefaultExecutionSpace>;

// z = D^-1 r. It enqueues its work on exec and does not wait.
void divide(Kokkos::DefaultExecutionSpace const& exec, Apply::Input const& r,
            Apply::Output const& z) {
  Kokkos::parallel_for(
      "divide", Kokkos::RangePolicy(exec, 0, r.extent(0)),
      KOKKOS_LAMBDA(int i) { z(i) = r(i) / 5; });
}

bool apply() {
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Apply const M(A.rows(), divide);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  return report.reason == Solder::Reason::converged;
}
//! [apply]

bool preconditioners() {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  Solder::CsrMatrix const A(exec, Solder::elasticity_3d<double>(6));
  std::vector<double> const points = Solder::elasticity_3d_coordinates(6);
  Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace> const on_host(
      points.data(), points.size() / 3, 3);
  auto const coordinates = Kokkos::create_mirror_view_and_copy(Exec::memory_space(), on_host);
  //! [preconditioners]
  Solder::Fsai const F(exec, A);                               // set up on the device
  Solder::Fsai<double, Exec, float> const in_single(exec, A);  // the solve stays in double
  Solder::Chebyshev const C(exec, A, F);                       // a polynomial of degree 4 over it
  Solder::Incomplete const L(exec, A, Solder::Factorisation::ic0);
  Solder::Incomplete const S(exec, A, Solder::Factorisation::ic0,  // by sweeps: nothing waits
                             {.sweeps = 3, .trisolve = Solder::Trisolve::jacobi});
  Solder::Amg const multigrid(exec, A);
  auto const modes = Solder::rigid_body_modes(exec, coordinates);  // of elasticity
  Solder::Amg const of_elasticity(exec, A, modes, {.block_size = 3});
  //! [preconditioners]
  return F.rows() == A.rows() && in_single.rows() == A.rows() && C.rows() == A.rows() &&
         L.rows() == A.rows() && S.rows() == A.rows() && multigrid.rows() == A.rows() &&
         of_elasticity.rows() == A.rows();
}

bool csr_matrix() {
  //! [csr_matrix]
  // The matrix (-1, 2, -1), made on the device in three views.
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 100;
  Kokkos::View<int*> const offsets("offsets", n + 1), columns("columns", 3 * n - 2);
  Kokkos::View<double*> const values("values", 3 * n - 2);
  Kokkos::parallel_for(
      "assemble", Kokkos::RangePolicy(exec, 0, n), KOKKOS_LAMBDA(int i) {
        int k = i == 0 ? 0 : 3 * i - 1;
        offsets(i) = k;
        for (int j = i == 0 ? 0 : i - 1; j <= i + 1 && j < n; ++j) {
          columns(k) = j;
          values(k++) = i == j ? 2 : -1;
        }
        if (i == n - 1) offsets(n) = k;
      });

  Solder::CsrMatrix const A(exec, n, n, offsets, columns, values);  // the views, not copies
  A.validate(exec);  // throws if the pattern is inconsistent, and names the row
  Solder::Symmetry const symmetry = Solder::check_symmetry(exec, A);
  std::printf("%s\n", describe(symmetry).c_str());
  //! [csr_matrix]
  return A.nonzeros() == 3 * n - 2 && symmetry.hermitian.is_exact();
}

bool csr_arrays() {
  //! [csr_arrays]
  // (2, -1; -1, 2) in arrays of the host, wrapped for CPUs.
  std::vector<int> const offsets{0, 2, 4}, columns{0, 1, 0, 1};
  std::vector<double> values{2, -1, -1, 2};
  Kokkos::DefaultHostExecutionSpace const cores;
  Solder::CsrMatrix const A(cores, 2, 2, 4, offsets.data(), columns.data(), values.data());
  values[0] = 3;  // in place
  A.values_changed();

  // The same, copied to the device.
  Kokkos::DefaultExecutionSpace const exec;
  Solder::HostCsr<double> const host{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {2, -1, -1, 2}};
  Solder::CsrMatrix const on_device(exec, host);
  //! [csr_arrays]
  return A.nonzeros() == 4 && on_device.nonzeros() == 4;
}

bool sell_matrix() {
  //! [sell_matrix]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const csr(exec, Solder::fem_poisson_2d<double>(31));
  auto const A = Solder::SellMatrix<double, Kokkos::DefaultExecutionSpace>::sell(exec, csr);
  std::printf("%lld entries for %lld nonzeros\n", static_cast<long long>(A.entries()),
              static_cast<long long>(A.nonzeros()));

  Solder::Jacobi const M(exec, csr);  // made from the CSR matrix
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [sell_matrix]
  return has_converged(report);
}

bool block_matrix() {
  //! [block_matrix]
  Kokkos::DefaultExecutionSpace const exec;
  using Exec = Kokkos::DefaultExecutionSpace;
  Solder::CsrMatrix const csr(exec, Solder::elasticity_3d<double>(6));
  auto const blocks = Solder::find_blocks(exec, csr);
  if (blocks.size == 1) return false;  // none: solve with csr
  Solder::BlockMatrix<double, Exec> const A(exec, csr, blocks);

  Solder::Jacobi const M(exec, csr);  // made from the CSR matrix
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);
  Solder::Cg cg(exec, A, M);
  Solder::Report const report = cg.solve(b, x);
  //! [block_matrix]
  return has_converged(report);
}

bool batch() {
  //! [batch]
  Kokkos::DefaultExecutionSpace const exec;
  Solder::HostBatch<double> systems;  // of any sizes and patterns
  for (int const side : {3, 5, 8, 13}) systems.append(Solder::fem_poisson_2d<double>(side));
  Solder::CsrMatrix const A(exec, systems.matrix);
  Solder::Batch const batch(exec, systems.starts);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);

  Solder::Cg cg(exec, A, Solder::Jacobi(exec, A));
  std::vector<Solder::Report> const reports = cg.solve(b, x, batch);  // one a system
  for (Solder::Report const& report : reports) std::printf("%d iterations\n", report.iterations);
  //! [batch]
  return reports.size() == 4 && all_have_converged(reports);
}

bool make_solver() {
  //! [make_solver]
  // Link Solder::compiled; <solder/solver.hpp> is all that is included.
  Kokkos::DefaultExecutionSpace const exec;
  Solder::CsrMatrix const A(exec, Solder::fem_poisson_2d<double>(31));
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(b, 1.0);

  auto const solver = Solder::make_solver(
      exec, A, {{"name", "cg"}, {"tolerance", 1e-10}, {"preconditioner", "fsai"}});
  std::printf("%s", solver.describe().c_str());
  Solder::Report const report = solver.solve(b, x);
  //! [make_solver]
  return has_converged(report);
}

bool parameters() {
  //! [parameters]
  Solder::Parameters solver{{"name", "cg"},
                            {"tolerance", 1e-10},
                            {"preconditioner", {{"name", "chebyshev"}, {"degree", 3}}}};
  solver.set("tolerance", 1e-6);  // in place of the earlier value

  double const tolerance = *solver.find("tolerance")->as_real();
  Solder::Parameters const& preconditioner = *solver.find("preconditioner")->as_tree();
  std::int64_t const degree = *preconditioner.find("degree")->as_integer();
  bool const has_runner = solver.find("runner") != nullptr;
  //! [parameters]
  return tolerance == 1e-6 && degree == 3 && !has_runner;
}

bool matrix_market() {
  std::string const path = "solder_example_of_the_api.mtx";
  //! [matrix_market]
  // #include <solder/io/matrix_market.hpp>, and link Solder::io.
  Solder::write_matrix_market(path, Solder::fem_poisson_2d<double>(31));  // .gz: gzipped

  try {
    Solder::HostCsr<double> const host = Solder::read_matrix_market<double>(path);
    Kokkos::DefaultExecutionSpace const exec;
    Solder::CsrMatrix const A(exec, host);
    std::printf("%d rows, %lld nonzeros\n", A.rows(), static_cast<long long>(A.nonzeros()));
  } catch (Solder::InputError const& error) {
    std::fprintf(stderr, "%s\n", error.what());  // names the file and the line
  }
  //! [matrix_market]
  bool const fine = Solder::read_matrix_market_header(path).rows == 31 * 31;
  std::remove(path.c_str());
  return fine;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  std::pair<char const*, bool (*)()> const examples[] = {
      {"cg", cg},
      {"bicgstab", bicgstab},
      {"gmres", gmres},
      {"idr", idr},
      {"block_cg", block_cg},
      {"jacobi", jacobi},
      {"fsai", fsai},
      {"incomplete", incomplete},
      {"scaled", scaled},
      {"triangular_solve", triangular_solve},
      {"chebyshev", chebyshev},
      {"amg", amg},
      {"amg_elasticity", amg_elasticity},
      {"apply", apply},
      {"preconditioners", preconditioners},
      {"csr_matrix", csr_matrix},
      {"csr_arrays", csr_arrays},
      {"sell_matrix", sell_matrix},
      {"block_matrix", block_matrix},
      {"batch", batch},
      {"make_solver", make_solver},
      {"parameters", parameters},
      {"matrix_market", matrix_market},
  };
  int wrong = 0;
  for (auto const& [name, example] : examples) {
    bool const fine = example();
    std::printf("%s: %s\n", name, fine ? "right" : "WRONG");
    wrong += !fine;
  }
  return wrong == 0 ? 0 : 1;
}
