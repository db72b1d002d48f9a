// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The definition of solve_by(): included by solve_<solver>.cpp only, which is compiled once a
// scalar.

#include <cctype>
#include <memory>
#include <solder/matrix/batch.hpp>
#include <solder/solvers/detail/batches.hpp>
#include <solder/solvers/detail/columns.hpp>
#include <tuple>
#include <utility>

#include "columns.hpp"
#include "methods.hpp"
#include "repeat.hpp"
#include "spaces.hpp"
#include "systems.hpp"

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

/// \brief Solves the systems of a batch, from x = 0: one report of each.
template <class OfMethod, class T, class Exec, class Options>
std::vector<Report> solve_batch(Exec const& exec, SystemOn<T, Exec> const& made,
                                std::shared_ptr<typename OfMethod::System> const& system,
                                Options const& options, std::vector<std::int32_t> const& starts,
                                int repeat) {
  Solder::Impl::BatchOf<OfMethod, Exec> all(exec, system, options, Batch<Exec>(exec, starts));
  return solve_repeatedly(
      repeat,
      [&] {
        made.clear_x(exec);
        return all.solve(made.b.data(), made.x.data());
      },
      "system");
}

/// \brief Solves for the columns of a run's system, from x = 0: one report of each; and whether
/// they were solved together.
template <class OfMethod, class T, class Exec, class Options>
std::pair<std::vector<Report>, bool> solve_columns(
    Exec const& exec, SystemOn<T, Exec> const& made,
    std::shared_ptr<typename OfMethod::System> const& system, Options const& options, int columns,
    int repeat) {
  if constexpr (!requires { OfMethod::is_block; }) {
    if (columns == 1) {
      OfMethod method(exec, system, options);
      return {
          solve_repeatedly(repeat,
                           [&] {
                             made.clear_x(exec);
                             return std::vector<Report>{method.solve(made.b.data(), made.x.data())};
                           }),
          false};
    }
  }
  using View = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::size_t const rows = made.b.extent(0) / columns;
  View const b(made.b.data(), rows, columns), x(made.x.data(), rows, columns);
  Solder::Impl::ColumnsOf<OfMethod> all(exec, system, options);
  return {solve_repeatedly(repeat,
                           [&] {
                             made.clear_x(exec);
                             return all.solve(exec, b, x);
                           }),
          all.together()};
}

template <class Method, class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system,
              std::function<void(Progress const&)> const& monitor, Solved<T>& solved) {
  SystemOn<T, Exec> made(exec, run, system);
  auto options = Method::options(run.solver);
  fill(options, run, monitor);
  std::visit(
      [&](auto& of) {
        using Given = typename std::decay_t<decltype(of)>::element_type;
        using OfMethod =
            typename Method::template Of<Exec, typename Given::OpenedA, typename Given::OpenedM>;
        std::shared_ptr<Given> const given(std::move(of));
        bool together = true;
        if (!system.starts.empty())
          solved.columns = solve_batch<OfMethod>(exec, made, given, options, system.starts,
                                                 run.execution.repeat);
        else
          std::tie(solved.columns, together) = solve_columns<OfMethod>(
              exec, made, given, options, system.right_hand_sides(), run.execution.repeat);
        solved.report = summary(solved.columns, together);
        if (!system.starts.empty())  // of all systems
          for (std::size_t k = 1; k < solved.columns.size(); ++k)
            solved.report.words_per_iteration += solved.columns[k].words_per_iteration;
      },
      made.system);
  solved.report.setup_seconds += made.setup_seconds;
  solved.matrix_format = made.matrix_format;
  solved.format_reason = made.format_reason;
  solved.solution = made.solution(exec);
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
