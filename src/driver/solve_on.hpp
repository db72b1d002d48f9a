// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The definition of solve_by(): included by solve_<solver>.cpp only, which is compiled once a
// scalar.

#include <cctype>
#include <utility>

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

template <class Method, class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system,
              std::function<void(Progress const&)> const& monitor, Solved<T>& solved) {
  SystemOn<T, Exec> made(exec, run, system);
  auto options = Method::options(run.solver);
  fill(options, run, monitor);
  std::visit(
      [&](auto& of) {
        using Given = typename std::decay_t<decltype(of)>::element_type;
        typename Method::template Of<Exec, typename Given::OpenedA, typename Given::OpenedM> method(
            exec, std::move(of), options);
        solved.report = solve_repeatedly(run.execution.repeat, [&] {
          made.clear_x(exec);
          return method.solve(made.b.data(), made.x.data());
        });
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
