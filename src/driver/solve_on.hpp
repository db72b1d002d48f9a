// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The definition of solve_by(): included by solve_<solver>.cpp only, which is compiled once a
// scalar.

#include <Kokkos_Core.hpp>
#include <cctype>
#include <exception>
#include <optional>
#include <solder/core/errors.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/jacobi.hpp>

#include "makers.hpp"
#include "memory.hpp"
#include "methods.hpp"
#include "repeat.hpp"
#include "spaces.hpp"

namespace Solder::Driver {

inline void fill(SolverOptions& options, RunConfig const& run,
                 std::function<void(Progress const&)> const& monitor) {
  options.tolerance = run.solver.tolerance;
  options.max_iterations = run.solver.max_iterations;
  options.monitor = monitor;
  for (Runner const runner :
       {Runner::automatic, Runner::launch, Runner::graph, Runner::team, Runner::resident})
    if (to_string(runner) == run.execution.runner) options.runner = runner;
}

/// Makes the preconditioner called `name` and calls f(preconditioner).
template <class T, class Exec, class Function>
void with_plain_preconditioner(std::string const& name, Exec const& exec,
                               PreconditionerConfig const& config, CsrMatrix<T, Exec> const& A,
                               Function const& f) {
  if (name == "none") f(Identity{});
  if (name == "jacobi") f(Jacobi<T, Exec>(exec, A));
  if (name == "fsai") f(FsaiMaker<T, Exec>::same(exec, A, config));
}

/// Makes the run's preconditioner, of A or a polynomial in `matrix`, which is A in the format of
/// the run, and calls f(preconditioner).
template <class T, class Exec, class Matrix, class Function>
void with_preconditioner(Exec const& exec, RunConfig const& run, CsrMatrix<T, Exec> const& A,
                         Matrix const& matrix, Function const& f) {
  PreconditionerConfig const& config = run.preconditioner;
  if (config.name == "chebyshev") {
    using Of = PolynomialMatrix<Matrix, T, Exec>;
    with_plain_preconditioner(config.over, exec, config, A, [&](auto const& inner) {
      using Maker = ChebyshevMaker<Exec, Of, std::decay_t<decltype(inner)>>;
      if constexpr (std::is_same_v<Of, Matrix>)
        f(Maker::make(exec, matrix, inner, config));
      else
        f(Maker::make(exec, A, inner, config));
    });
  } else if (config.name == "fsai" && config.precision == "single" &&
             !std::is_same_v<T, Single<T>>) {
    f(FsaiMaker<T, Exec>::single(exec, A, config));
  } else if (config.name == "ic0" || config.name == "ilu0") {
    f(IncompleteMaker<T, Exec>::make(exec, A, config));
  } else {
    with_plain_preconditioner(config.name, exec, config, A, f);
  }
}

/// The matrix in the padded format chosen. InputError if the memory of a host would not hold it.
template <class T, class Exec>
SellMatrix<T, Exec> make_padded(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                RowStatistics const& rows, MatrixFormat format) {
  bool const ell = format == MatrixFormat::ell;
  double const bytes = double(ell ? rows.ell_entries : rows.sell_entries) * (sizeof(T) + 4);
  if (Solder::Impl::is_host_space<Exec> && bytes > double(available_memory()))
    throw InputError(concat(to_string(format), " needs ", memory_text(bytes), " more memory; ",
                            memory_text(double(available_memory())), " is available"));
  return ell ? SellMatrix<T, Exec>::ell(exec, A) : SellMatrix<T, Exec>::sell(exec, A);
}

/// Puts the matrix into the format of the run, and calls f(matrix, format and why). A format that
/// nobody asked for gives way to CSR where memory does not suffice for it.
template <class T, class Exec, class Function>
void with_matrix(Exec const& exec, RunConfig const& run, CsrMatrix<T, Exec> const& A,
                 Function const& f) {
  MatrixFormat wanted = MatrixFormat::automatic;
  for (MatrixFormat const format : {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::ell})
    if (to_string(format) == run.execution.matrix_format) wanted = format;
  RowStatistics const rows = row_statistics(exec, A);
  FormatChoice choice;
  std::optional<SellMatrix<T, Exec>> padded;
  try {
    choice = choose_format(wanted, rows, sizeof(T), Solder::Impl::is_host_space<Exec>);
    if (choice.format != MatrixFormat::csr) padded = make_padded(exec, A, rows, choice.format);
  } catch (std::exception const& error) {
    if (wanted != MatrixFormat::automatic)
      throw InputError(concat(run.where("execution.matrix_format"),
                              ": execution.matrix_format: ", run.problem.name, ": ", error.what()));
    choice = {MatrixFormat::csr, concat("no memory for ", to_string(choice.format))};
  }
  if (padded)
    f(*padded, choice);
  else
    f(A, choice);
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
  auto const solve_with = [&](auto const& matrix, auto const& M) {
    exec.fence("Solder::driver: matrix and preconditioner made");
    double const seconds = timer.seconds();
    auto options = Method::options(run.solver);
    fill(options, run, monitor);
    typename Method::template Solver<Exec, std::decay_t<decltype(matrix)>,
                                     std::decay_t<decltype(M)>>
        solver(exec, matrix, M, options);
    solved.report = solve_repeatedly(run.execution.repeat, [&] {
      Kokkos::deep_copy(exec, x, T(0));
      return solver.solve(b, x);
    });
    solved.report.setup_seconds += seconds;
  };
  with_matrix(exec, run, A, [&](auto const& matrix, FormatChoice const& choice) {
    solved.matrix_format = to_string(choice.format);
    solved.format_reason = choice.reason;
    with_preconditioner(exec, run, A, matrix, [&](auto const& M) { solve_with(matrix, M); });
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
