// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The definition of solve_by(): included by solve_<solver>.cpp only, which is compiled once a scalar.

#include <Kokkos_Core.hpp>
#include <cctype>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>

#include "methods.hpp"
#include "repeat.hpp"
#include "spaces.hpp"

namespace Solder::Driver {

inline void fill(SolverOptions& options, RunConfig const& run,
                 std::function<void(Progress const&)> const& monitor) {
  options.tolerance = run.solver.tolerance;
  options.max_iterations = run.solver.max_iterations;
  options.monitor = monitor;
  for (Runner const runner : {Runner::automatic, Runner::launch, Runner::graph, Runner::team})
    if (to_string(runner) == run.execution.runner) options.runner = runner;
}

/// Makes the preconditioner and calls f(preconditioner).
template <class T, class Exec, class Function>
void with_preconditioner(Exec const& exec, RunConfig const& run, CsrMatrix<T, Exec> const& A,
                         Function const& f) {
  if (run.preconditioner == "none") f(Identity{});
  if (run.preconditioner == "jacobi") f(Jacobi<T, Exec>(exec, A));
}

template <class Method, class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system,
              std::function<void(Progress const&)> const& monitor, Solved<T>& solved) {
  using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using ConstHostVector =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  CsrMatrix<T, Exec> const A(exec, system.matrix);
  std::size_t const n = system.rhs.size();
  Kokkos::View<T*, Exec> const b(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "Solder::b"),
                                 n);
  Kokkos::View<T*, Exec> const x(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "Solder::x"),
                                 n);
  Kokkos::deep_copy(exec, b, ConstHostVector(system.rhs.data(), n));
  exec.fence("Solder::driver: system copied");
  Kokkos::Timer timer;
  with_preconditioner(exec, run, A, [&](auto const& M) {
    exec.fence("Solder::driver: preconditioner made");
    double const preconditioner_seconds = timer.seconds();
    auto options = Method::options(run.solver);
    fill(options, run, monitor);
    typename Method::template Solver<Exec, CsrMatrix<T, Exec>, std::decay_t<decltype(M)>> solver(
        exec, A, M, options);
    solved.report = solve_repeatedly(run.execution.repeat, [&] {
      Kokkos::deep_copy(exec, x, T(0));
      return solver.solve(b, x);
    });
    solved.report.setup_seconds += preconditioner_seconds;
  });
  solved.solution.resize(n);
  Kokkos::deep_copy(exec, HostVector(solved.solution.data(), n), x);
  exec.fence("Solder::driver: solution copied");
  solved.space = Exec::name();
  for (char& c : solved.space) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

template <class Method, class T>
Solved<T> solve_by(RunConfig const& run, System<T> const& system,
                   std::function<void(Progress const&)> const& monitor) {
  Solved<T> solved;
  with_space(run.execution.space,
             [&](auto const& exec) { solve_on<Method>(exec, run, system, monitor, solved); });
  return solved;
}

}  // namespace Solder::Driver
