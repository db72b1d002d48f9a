// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar, with MPI; CMakeLists.txt defines SOLDER_SCALAR.
#include "solve_over_ranks.hpp"

#include <algorithm>
#include <functional>
#include <solder/core/allocate.hpp>
#include <solder/matrix/distributed_analysis.hpp>
#include <solder/solver.hpp>
#include <solder/trilinos/mpi.hpp>
#include <vector>

#include "columns.hpp"
#include "coordinates.hpp"
#include "deal.hpp"
#include "parameters.hpp"
#include "refused.hpp"
#include "repeat.hpp"
#include "spaces.hpp"
#include "symmetry.hpp"
#include "world.hpp"
#include "world_mpi.hpp"

namespace Solder::Driver {
namespace {

double sum_of_all(double mine) {
  double sum = 0;
  for (double const of_rank : world().each(mine)) sum += of_rank;
  return sum;
}
double most_of_all(double mine) {
  auto const each = world().each(mine);
  return *std::max_element(each.begin(), each.end());
}

/// \brief Of what each rank has set up: all entries, and the longest times. Levels are the first
/// rank's.
template <class T>
void add_up(Report& report, System<T> const& system) {
  SetupReport& setup = report.preconditioner;
  double const nonzeros = double(system.matrix.nonzeros()), all = double(system.nonzeros);
  setup.density = sum_of_all(setup.density * nonzeros) / std::max(all, 1.0);
  setup.nonzeros = static_cast<std::int64_t>(sum_of_all(double(setup.nonzeros)));
  double const repaired =
      setup.first_repaired_row < 0 ? -1 : double(setup.first_repaired_row + system.first_row);
  double first = -1;
  for (double const row : world().each(repaired))
    if (first < 0) first = row;
  setup.first_repaired_row = static_cast<std::int32_t>(first);
  setup.repaired_rows = static_cast<std::int32_t>(sum_of_all(double(setup.repaired_rows)));
  setup.shift = most_of_all(setup.shift);
  report.setup_seconds = most_of_all(report.setup_seconds);
  report.words_per_iteration = sum_of_all(report.words_per_iteration);
}

/// \brief Gives the first rank all rows of the solution, if it is to be written.
template <class T>
void collect_solution(RunConfig const& run, System<T> const& system, Solved<T>& solved) {
  if (!run.output.solution.empty())
    solved.solution = collect(solved.solution, slices_of(system.first_row, system.rows()),
                              system.right_hand_sides());
}

template <class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system, Solved<T>& solved) {
  using Vector = Kokkos::View<T*, typename Exec::memory_space>;
  using Columns = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  World const& all = world();
  solved.space = name_of_space<Exec>();
  auto const A = from_mpi(exec, world_comm(), system.matrix);
  if (asks_for_symmetry(run)) {
    solved.symmetry = check_symmetry(exec, A);
    std::string const why = refusal(run, *solved.symmetry, {});
    if (!why.empty()) {
      refuse(system, Reason::nonsymmetric_matrix, why, solved);
      return collect_solution(run, system, solved);
    }
  }

  int const count = system.right_hand_sides();
  std::int32_t const n = system.matrix.rows;
  Kokkos::Timer timer;
  SolverInputs inputs{.columns = count};
  Vector b, x;  // of all columns, row by row
  all.together([&] {
    inputs.coordinates = coordinates_of(run, system);
    b = Solder::Impl::allocate_view<Vector>(exec, "Solder::b", system.rhs.size());
    x = Solder::Impl::allocate_view<Vector>(exec, "Solder::x", system.rhs.size());
    std::copy(system.rhs.begin(), system.rhs.end(), b.data());
    solved.solution.resize(system.rhs.size());
  });
  Solver<T, Exec> const solver = make_solver(exec, A, parameters_of(run, "csr"), inputs);
  exec.fence("Solder::driver: preconditioner made");
  double const setup_seconds = timer.seconds();
  introduce(run, [&] { return solver.explain(); });
  if (count == 1) all.together([&] { solver.reserve(); });

  auto const& halo = static_cast<MpiHalo<T> const&>(*A.halo());
  Traffic const before = halo.traffic();
  double iterations = 0, seconds = 0;  // of all solves
  auto const solve_all = [&] {
    std::fill(x.data(), x.data() + x.size(), T(0));
    Kokkos::Timer const whole;
    std::vector<Report> reports;
    if (count == 1)
      reports = {solver.solve(b, x)};
    else
      reports = solver.solve(Columns(b.data(), n, count), Columns(x.data(), n, count));
    exec.fence("Solder::driver: solved");
    seconds += whole.seconds();
    for (Report const& report : reports) iterations += report.iterations;
    return reports;
  };
  auto const solve_once = [&] {
    std::vector<Report> reports = solve_all();
    solved.seconds.push_back(summary(reports, false).solve_seconds);
    return reports;
  };
  using Search = std::function<std::vector<Report>()>;
  solved.columns = solve_repeatedly(run.execution.repeat, solve_once, "right-hand side",
                                    run.chooses() ? Search(solve_all) : Search());
  Traffic const traffic = halo.traffic().since(before);

  solved.report = summary(solved.columns, false);
  solved.report.setup_seconds += setup_seconds;
  add_up(solved.report, system);
  solved.matrix_format = solver.matrix_format();
  solved.format_reason = "matrices over ranks";
  auto const an_iteration = [&](std::int64_t of) {
    return iterations > 0 ? double(of) / iterations : 0;
  };
  solved.ranks = RanksReport{.rows = all.each_count(n),
                             .nonzeros = all.each_count(A.nonzeros()),
                             .ghosts = all.each_count(A.ghosts()),
                             .waited = all.each(traffic.waited / std::max(seconds, 1e-300)),
                             .sums_per_iteration = an_iteration(traffic.sums),
                             .exchanges_per_iteration = an_iteration(traffic.exchanges)};
  std::copy(x.data(), x.data() + x.size(), solved.solution.begin());
  collect_solution(run, system, solved);
}

}  // namespace

template <class T>
Solved<T> solve_over_ranks(RunConfig const& run, System<T> const& system) {
  Solved<T> solved;
  with_space(run.execution.space, [&]<class Exec>(Exec const& exec) {
    if constexpr (Solder::Impl::is_host_space<Exec>)  // check_runs() refuses the others
      solve_on(exec, run, system, solved);
  });
  return solved;
}

template Solved<SOLDER_SCALAR> solve_over_ranks(RunConfig const&, System<SOLDER_SCALAR> const&);

}  // namespace Solder::Driver
