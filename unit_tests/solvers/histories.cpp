// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints a line for each of some thousand solves: every solver, preconditioner, form and runner, of
// one right-hand side, of five, of a block and of a batch. What is no change of the numbers changes
// no line. Not a test of ctest: compare the lines of two builds by diff.
#include "batches.hpp"
#include "bench.hpp"
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>
#include <solder/solvers/block_cg.hpp>

#ifndef SOLDER_HISTORIES_OF
#define SOLDER_HISTORIES_OF 0xff  // a bit for each of cg, bicgstab, gmres, idr, block_cg
#endif

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using Scalar = SOLDER_TEST_SCALAR;
using Csr = CsrMatrix<Scalar, Exec>;
using Sell = Solder::SellMatrix<Scalar, Exec>;

constexpr int iterations = 60;

// ---- What a line says ----

/// FNV-1a.
struct Hash {
  std::uint64_t value = 14695981039346656037u;

  template <class T>
  void add(std::vector<T> const& entries) {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(entries.data());
    for (std::size_t k = 0; k < entries.size() * sizeof(T); ++k)
      value = (value ^ bytes[k]) * 1099511628211u;
  }
};

void print(std::string const& what, std::vector<Report> const& reports,
           std::vector<Scalar> const& x) {
  Hash of_x, of_history;
  of_x.add(x);
  std::string said;
  for (Report const& report : reports) {
    of_history.add(report.history);
    said += ' ' + std::to_string(report.iterations) + ' ' + std::string(to_string(report.reason));
  }
  std::printf("%s: %s, kernels %g, words %.0f,%s, history %016llx, x %016llx\n", what.c_str(),
              reports.empty() ? "none" : std::string(to_string(reports[0].runner)).c_str(),
              reports.empty() ? 0 : reports[0].kernels_per_iteration,
              reports.empty() ? 0 : reports[0].words_per_iteration, said.c_str(),
              (unsigned long long)(of_history.value), (unsigned long long)(of_x.value));
}

// ---- The systems ----

struct Problem {
  std::string name;
  HostCsr<Scalar> matrix;
};

template <class S>
std::vector<Problem> problems() {
  std::vector<Problem> all;
  if constexpr (Solder::ScalarTraits<S>::is_complex) {
    all.push_back({"magnetic_laplacian_2d(21)", Solder::magnetic_laplacian_2d<S>(21, 0.1)});
    all.push_back({"magnetic_laplacian_2d(80)", Solder::magnetic_laplacian_2d<S>(80, 0.1)});
    all.push_back({"helmholtz_2d(17)", Solder::helmholtz_2d<S>(17)});
  } else {
    all.push_back({"fem_poisson_2d(21)", Solder::fem_poisson_2d<S>(21)});
    all.push_back({"fem_poisson_2d(80)", Solder::fem_poisson_2d<S>(80)});
    all.push_back({"convection_diffusion_2d(17)", Solder::convection_diffusion_2d<S>(17)});
  }
  all.push_back({"poisson_3d_27pt(8)", Solder::poisson_3d_27pt<S>(8)});
  all.push_back({"random_spd(150, 90)", Solder::random_spd<S>(150, 90, 1)});
  all.push_back({"random_spd(2000, 5)", Solder::random_spd<S>(2000, 5, 2)});
  return all;
}

/// z = r / (i % 3 + 1), by one kernel.
struct ScaleRows {
  Scalar const* r;
  Scalar* z;
  KOKKOS_FUNCTION void operator()(int i) const { z[i] = r[i] / double(i % 3 + 1); }
};

Solder::Apply<Scalar, Exec> scaling(std::int32_t rows) {
  return {rows, [](Exec const& exec, auto const& r, auto const& z) {
            Kokkos::parallel_for("Solder::test::apply",
                                 Kokkos::RangePolicy<Exec>(exec, 0, int(r.extent(0))),
                                 ScaleRows{r.data(), z.data()});
          }};
}

/// f(name, M).
template <class F>
void with_each_preconditioner(Exec const& exec, Csr const& A, bool definite, F const& f) {
  Solder::Jacobi<Scalar, Exec> const jacobi(exec, A);
  f("none", Identity{});
  f("jacobi", jacobi);
  f("chebyshev over jacobi", Solder::Chebyshev(exec, A, jacobi, {3}));
  using Solder::Factorisation;
  f("incomplete", Solder::Incomplete<Scalar, Exec>(
                      exec, A, definite ? Factorisation::ic0 : Factorisation::ilu0));
  if (definite) {
    f("fsai", Solder::Fsai<Scalar, Exec>(exec, A));
    f("amg", Solder::Amg<Scalar, Exec>(exec, A));
  }
  f("apply", scaling(A.rows()));
}

// ---- The solves ----

double tolerance() {
  return std::is_same_v<typename Solder::ScalarTraits<Scalar>::Real, float> ? 1e-4 : 1e-9;
}

struct System {
  Exec exec;
  Problem problem;
  Csr A{exec, problem.matrix};
  std::vector<Scalar> b = random_vector<Scalar>(problem.matrix.rows, 7);
  Kokkos::View<Scalar*, typename Exec::memory_space> device_b = to_device(exec, b),
                                                     x = to_device(exec, b);

  template <class Solver>
  void solve(std::string const& what, Solver& solver) {
    Kokkos::deep_copy(x, Scalar{});
    Kokkos::fence("histories: before the solve");
    std::vector<Report> const reports{solver.solve(device_b, x)};
    print(what, reports, to_host(exec, x));
  }

  template <class Solver>
  void solve_columns(std::string const& what, Solver& solver) {
    std::int32_t const n = problem.matrix.rows, columns = 5;
    using View = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Exec::memory_space>;
    View const B("histories::b", n, columns), X("histories::x", n, columns);
    auto const mirror = Kokkos::create_mirror_view(B);
    auto const entries = random_vector<Scalar>(std::size_t(n) * columns, 8);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t c = 0; c < columns; ++c)
        mirror(i, c) = c == 3 ? Scalar(i % 7 == 0 ? 1 : 0) : entries[std::size_t(i) * columns + c];
    Kokkos::deep_copy(B, mirror);
    Kokkos::fence("histories: before the solve");
    auto const reports = solver.solve(B, X);
    print(what, reports, to_host(exec, X));
  }
};

template <class Options>
void record(System& system, std::string const& solver_name, bool definite) {
  Sell const sell = Sell::sell(system.exec, system.A);
  with_each_preconditioner(
      system.exec, system.A, definite, [&](std::string const& M_name, auto const& M) {
        using M_type = std::decay_t<decltype(M)>;
        for (auto const& [form, form_options] : every_form<Options>()) {
          std::string const name =
              system.problem.name + ", " + solver_name + " " + form + ", " + M_name;
          for (Runner const runner : {Runner::automatic, Runner::launch, Runner::graph,
                                      Runner::team, Runner::resident}) {
            if (M_name == "apply" && runner != Runner::automatic) continue;
            auto const options = with(form_options, runner, iterations, tolerance());
            std::string const what = name + ", " + std::string(to_string(runner));
            SolverOn<Options, Exec, Csr, M_type> solver(system.exec, system.A, M, options);
            system.solve(what, solver);
            if (runner == Runner::automatic || runner == Runner::launch)
              system.solve_columns(what + ", 5 columns", solver);
            if (runner != Runner::automatic) continue;
            SolverOn<Options, Exec, Sell, M_type> padded(system.exec, sell, M, options);
            system.solve(what + ", sell", padded);
          }
        }
      });
}

void record_blocks(System& system) {
  with_each_preconditioner(system.exec, system.A, true, [&](std::string const& name,
                                                             auto const& M) {
    if (name == "incomplete" || name == "apply") return;
    Solder::BlockCgOptions options;
    options.max_iterations = iterations;
    options.tolerance = tolerance();
    Solder::BlockCg<Exec, Csr, std::decay_t<decltype(M)>> solver(system.exec, system.A, M, options);
    system.solve_columns(system.problem.name + ", block_cg, " + name + ", 5 columns", solver);
  });
}

template <class Options>
void record_batch(std::string const& solver_name) {
  Exec const exec;
  std::vector<HostCsr<Scalar>> systems;
  for (int const n : {1, 2, 31, 300})
    systems.push_back(Solder::random_spd<Scalar>(n, n < 5 ? n : 5, unsigned(n)));
  systems.push_back(Solder::random_spd<Scalar>(120, 60, 1));
  for (int const side : {3, 9, 20}) systems.push_back(definite<Scalar>(side));
  auto const host = batch_of(systems);
  Csr const A(exec, host.matrix);
  auto const b = to_device(exec, random_vector<Scalar>(host.matrix.rows, 9));
  with_each_preconditioner(exec, A, true, [&](std::string const& M_name, auto const& M) {
    if (M_name == "incomplete" || M_name == "apply" || M_name == "amg") return;
    for (auto const& [form, form_options] : every_form<Options>()) {
      SolverOn<Options, Exec, Csr, std::decay_t<decltype(M)>> solver(
          exec, A, M, with(form_options, Runner::automatic, iterations, tolerance()));
      auto const x = to_device(exec, std::vector<Scalar>(host.matrix.rows));
      auto const reports = solver.solve(b, x, Solder::Batch<Exec>(exec, host.starts));
      print("batch, " + solver_name + " " + form + ", " + M_name, reports, to_host(exec, x));
    }
  });
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  constexpr unsigned of = SOLDER_HISTORIES_OF;
  for (Problem const& problem : problems<Scalar>()) {
    System system{Exec(), problem};
    bool const definite = problem.name.find("convection") != 0 && problem.name.find("helm") != 0;
    if constexpr ((of & 1) != 0) record<Solder::CgOptions>(system, "cg", definite);
    if constexpr ((of & 2) != 0) record<Solder::BiCgStabOptions>(system, "bicgstab", definite);
    if constexpr ((of & 4) != 0) record<Solder::GmresOptions>(system, "gmres", definite);
    if constexpr ((of & 8) != 0) record<Solder::IdrOptions>(system, "idr", definite);
    if constexpr ((of & 16) != 0)
      if (definite) record_blocks(system);
  }
  if constexpr ((of & 1) != 0) record_batch<Solder::CgOptions>("cg");
  if constexpr ((of & 2) != 0) record_batch<Solder::BiCgStabOptions>("bicgstab");
  std::printf("done\n");
}
