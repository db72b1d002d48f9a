// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR. The methods themselves are
// compiled in src/compiled.
#include "solve.hpp"

#include <cctype>
#include <memory>
#include <solder/matrix/batch.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>
#include <stdexcept>
#include <utility>

#include "columns.hpp"
#include "methods.hpp"
#include "repeat.hpp"
#include "spaces.hpp"
#include "systems.hpp"

namespace Solder::Driver {
namespace {

/// \brief The run's method for a system: a further solver is a further line here, in methods.hpp,
/// in footprint.cpp and in src/compiled.
template <class Exec, class OpenedA, class OpenedM>
std::unique_ptr<Solder::Impl::AnyMethod<Exec, typename OpenedA::scalar_type>> make_method(
    Exec const& exec, RunConfig const& run,
    std::shared_ptr<Solder::Impl::System<Exec, OpenedA, OpenedM>> const& system,
    std::function<void(Progress const&)> const& monitor) {
  using namespace Solder::Impl;
  auto const with = [&](auto options) {
    options.monitor = monitor;
    for (auto const& [runner, word] : words_of(Runner{}))
      if (word == run.execution.runner) options.runner = runner;
    return options;
  };
  SolverConfig const& config = run.solver;
  if (config.name == "bicgstab")
    return compiled_method<BiCgStabMethod>(exec, system, with(config.bicgstab));
  if (config.name == "block_cg")
    return compiled_method<BlockCgMethod>(exec, system, with(config.block_cg));
  if (config.name == "cg") return compiled_method<CgMethod>(exec, system, with(config.cg));
  if (config.name == "gmres") return compiled_method<GmresMethod>(exec, system, with(config.gmres));
  if (config.name == "idr") return compiled_method<IdrMethod>(exec, system, with(config.idr));
  throw std::logic_error("no solver is named " + config.name);  // schema() knows them all
}

/// \brief What is to say of a run whose matrix its solver does not take: x stays 0.
template <class T>
void refuse(System<T> const& system, std::string const& why, Solved<T>& solved) {
  Report report;
  report.reason = Reason::nonsymmetric_matrix;
  report.detail = why;
  auto const starts = system.starts.empty() ? std::vector{0, system.matrix.rows} : system.starts;
  int const count = system.right_hand_sides();
  for (std::size_t k = 0; k + 1 < starts.size(); ++k)
    for (int c = 0; c < count; ++c) {
      double residual = 0;  // ||b|| / ||b||, or 0 where b is
      for (std::size_t i = starts[k]; i < std::size_t(starts[k + 1]); ++i)
        if (system.rhs[i * count + c] != T(0)) residual = 1;
      report.relative_residual = report.true_relative_residual = residual;
      if (system.starts.empty()) report.history = {residual};
      solved.columns.push_back(report);
    }
  solved.report = summary(solved.columns, true);
  solved.solution.assign(system.rhs.size(), T(0));
  solved.matrix_format = "csr";
  solved.format_reason = "not solved";
}

template <class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system,
              std::function<void(Progress const&)> const& monitor, Solved<T>& solved) {
  using Columns = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  SystemOn<T, Exec> made(exec, run, system);
  solved.space = Exec::name();
  for (char& c : solved.space) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  solved.symmetry = made.symmetry;
  if (!made.refusal.empty()) return refuse(system, made.refusal, solved);
  auto const method =
      std::visit([&](auto& of) { return make_method(exec, run, of, monitor); }, made.system);
  bool const is_batch = !system.starts.empty();
  int const count = system.right_hand_sides();
  bool const is_one = !is_batch && count == 1 && !is_block(run);
  if (is_one) method->reserve();
  std::unique_ptr<Batch<Exec>> batch;
  if (is_batch) batch = std::make_unique<Batch<Exec>>(exec, system.starts);
  auto const solve_once = [&]() -> std::vector<Report> {
    made.clear_x(exec);
    T *const b = made.b.data(), *const x = made.x.data();
    if (is_batch) return method->solve_batch(b, x, *batch);
    if (is_one) return {method->solve(b, x)};
    std::size_t const rows = made.b.extent(0) / count;
    return method->solve_columns(Solder::Impl::ColumnsView<T const>(Columns(b, rows, count)),
                                 Solder::Impl::ColumnsView<T>(Columns(x, rows, count)));
  };
  solved.columns =
      solve_repeatedly(run.execution.repeat, solve_once, is_batch ? "system" : "right-hand side");
  solved.report = summary(solved.columns, is_batch || (!is_one && method->takes_columns()));
  if (is_batch)  // of all systems
    for (std::size_t k = 1; k < solved.columns.size(); ++k)
      solved.report.words_per_iteration += solved.columns[k].words_per_iteration;
  solved.report.setup_seconds += made.setup_seconds;
  solved.matrix_format = made.matrix_format;
  solved.format_reason = made.format_reason;
  solved.solution = made.solution(exec);
}

}  // namespace

template <class T>
Solved<T> solve(RunConfig const& run, System<T> const& system,
                std::function<void(Progress const&)> const& monitor) {
  Solved<T> solved;
  with_space(run.execution.space,
             [&](auto const& exec) { solve_on(exec, run, system, monitor, solved); });
  return solved;
}

template Solved<SOLDER_SCALAR> solve(RunConfig const&, System<SOLDER_SCALAR> const&,
                                     std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
