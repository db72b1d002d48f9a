// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "solve.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <solder/core/allocate.hpp>
#include <solder/core/deadline.hpp>
#include <solder/matrix/format.hpp>
#include <solder/solver.hpp>
#include <utility>

#include "columns.hpp"
#include "coordinates.hpp"
#include "memory.hpp"
#include "parameters.hpp"
#include "refused.hpp"
#include "repeat.hpp"
#include "solve_over_ranks.hpp"
#include "spaces.hpp"
#include "symmetry.hpp"
#include "text.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

/// \brief The format that a run asks for, and why it is to be CSR where it leaves the choice, or
/// nothing: several right-hand sides are solved at once then; and a host may end a program that
/// takes the last of its memory for another format.
template <class T>
std::pair<std::string, std::string> wanted_format(RunConfig const& run, System<T> const& system) {
  std::string const& format = run.execution.matrix_format;
  if (run.problem.batch > 0) return {"csr", "for a batch"};
  if (format != "auto" || is_block(run)) return {format, ""};
  if (system.right_hand_sides() > 1 && takes_columns(run))
    return {"csr", "for several right-hand sides"};
  if (on_host(run.execution.space) &&
      2 * double(system.matrix.nonzeros()) * (sizeof(T) + 4) > double(available_memory()))
    return {"csr", "too little memory for a copy in another format"};
  return {format, ""};
}

/// \brief Refuses a format that would store too much, or not fit in the memory of a host.
template <class T, class Exec>
void check_format(Exec const& exec, RunConfig const& run, std::string const& format,
                  CsrMatrix<T, Exec> const& A) {
  if (format == "auto" || format == "csr") return;
  MatrixFormat wanted = MatrixFormat::automatic;
  read_word(format, wanted);
  RowStatistics rows = row_statistics(exec, A, wanted);
  if (wanted == MatrixFormat::block) rows.blocks = find_blocks(exec, A);
  auto const refuse = [&](std::string const& why) {
    throw InputError(concat(run.where("execution.matrix_format"),
                            ": execution.matrix_format: ", run.problem.name, ": ", why));
  };
  try {
    choose_format(wanted, rows, sizeof(T), Solder::Impl::is_host_space<Exec>);
  } catch (InputError const& error) {
    refuse(error.what());
  }
  double const bytes = Solder::Impl::bytes_in(wanted, rows, sizeof(T));
  if (Solder::Impl::is_host_space<Exec> && bytes > double(available_memory()))
    refuse(concat(format, " needs ", memory_text(bytes), " more memory; ",
                  memory_text(double(available_memory())), " is available"));
}

/// \brief A right-hand side or a solution, of all columns, row by row.
template <class T, class Exec>
Kokkos::View<T*, Exec> vector(Exec const& exec, char const* label, std::size_t size) {
  return Impl::allocate_view<Kokkos::View<T*, Exec>>(exec, label, size);
}

/// \brief Solves a system. \throws OutOfTime where nothing is set up within the time limit
template <class T, class Exec>
void solve_in_time(Exec const& exec, RunConfig const& run, System<T> const& system,
                   Monitor const& monitor, Solved<T>& solved) {
  using Columns = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using ConstHostVector =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  solved.space = name_of_space<Exec>();
  std::size_t const size = system.rhs.size();
  bool const is_batch = !system.starts.empty();
  int const count = system.right_hand_sides();
  CsrMatrix<T, Exec> const A(exec, system.matrix);
  auto const b = vector<T>(exec, "Solder::b", size), x = vector<T>(exec, "Solder::x", size);
  Kokkos::deep_copy(exec, b, ConstHostVector(system.rhs.data(), size));
  exec.fence("Solder::driver: system copied");
  if (asks_for_symmetry(run)) {
    solved.symmetry = check_symmetry(exec, A);
    std::string const why = refusal(run, *solved.symmetry, system.starts);
    if (!why.empty()) return refuse(system, Reason::nonsymmetric_matrix, why, solved);
  }

  auto const [format, reason] = wanted_format(run, system);
  check_format(exec, run, format, A);
  Kokkos::Timer timer;
  SolverInputs const inputs{monitor, coordinates_of(run, system), nullptr, count};
  Solver<T, Exec> const solver = make_solver(exec, A, parameters_of(run, format), inputs);
  exec.fence("Solder::driver: matrix and preconditioner made");
  double const setup_seconds = timer.seconds();
  introduce(run, [&] { return solver.explain(); });
  bool const is_one = !is_batch && count == 1 && !is_block(run);
  if (is_one) solver.reserve();
  std::optional<Batch<Exec>> batch;
  if (is_batch) batch.emplace(exec, system.starts);
  auto const solve_all = [&]() -> std::vector<Report> {
    Kokkos::deep_copy(exec, x, T(0));
    if (is_batch) return solver.solve(b, x, *batch);
    if (is_one) return {solver.solve(b, x)};
    std::size_t const rows = size / count;
    return solver.solve(Columns(b.data(), rows, count), Columns(x.data(), rows, count));
  };
  bool const together = is_batch || (!is_one && solver.solves_columns_at_once());
  auto const solve_once = [&] {
    std::vector<Report> reports = solve_all();
    solved.seconds.push_back(summary(reports, together).solve_seconds);
    return reports;
  };
  using Search = std::function<std::vector<Report>()>;
  solved.columns =
      solve_repeatedly(run.execution.repeat, solve_once, is_batch ? "system" : "right-hand side",
                       run.chooses() ? Search(solve_all) : Search());
  solved.report = summary(solved.columns, together);
  if (is_batch)  // of all systems
    for (std::size_t k = 1; k < solved.columns.size(); ++k)
      solved.report.words_per_iteration += solved.columns[k].words_per_iteration;
  solved.report.setup_seconds += setup_seconds;
  solved.matrix_format = solver.matrix_format();
  solved.format_reason = reason.empty() ? solver.format_reason() : reason;
  solved.solution.resize(size);
  Kokkos::deep_copy(exec, HostVector(solved.solution.data(), size), x);
  exec.fence("Solder::driver: solution copied");
}

template <class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system,
              Monitor const& monitor, Solved<T>& solved) {
  Kokkos::Timer const timer;
  try {
    solve_in_time(exec, run, system, monitor, solved);
  } catch (Solder::Impl::OutOfTime const& error) {
    refuse(system, Reason::stopped,
           concat("the set-up of ", run.preconditioner.label, " was ended: ", error.what(),
                  "; allow more time, or take a preconditioner whose set-up is cheaper; ordering: amd "
                  "makes factors with fill cheaper"),
           solved);
    for (Report& column : solved.columns)
      column.setup_seconds = timer.seconds();  // with the copy of A
    solved.report = summary(solved.columns, true);
  }
}

}  // namespace

template <class T>
Solved<T> solve(RunConfig const& run, System<T> const& system, Monitor const& monitor) {
#if defined(SOLDER_MPI)
  if (!world().is_alone()) return solve_over_ranks(run, system);
#endif
  Solved<T> solved;
  with_space(run.execution.space,
             [&](auto const& exec) { solve_on(exec, run, system, monitor, solved); });
  return solved;
}

template <class T>
std::string explain(RunConfig const& run, System<T> const& system) {
  std::string text;
  with_space(run.execution.space, [&]<class Exec>(Exec const& exec) {
    text = explain_solver(exec, CsrMatrix<T, Exec>(exec, system.matrix),
                          parameters_of(run, wanted_format(run, system).first),
                          {.columns = system.right_hand_sides()});
  });
  return text;
}

template std::string explain(RunConfig const&, System<SOLDER_SCALAR> const&);
template Solved<SOLDER_SCALAR> solve(RunConfig const&, System<SOLDER_SCALAR> const&,
                                     Monitor const&);

}  // namespace Solder::Driver
