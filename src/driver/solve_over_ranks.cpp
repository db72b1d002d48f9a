// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar, with MPI; CMakeLists.txt defines SOLDER_SCALAR.
#include "solve_over_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <solder/core/allocate.hpp>
#include <solder/matrix/ghost_rows.hpp>
#include <solder/solver.hpp>
#include <solder/trilinos/mpi.hpp>
#include <utility>

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

/// \brief The first row of all that any rank has found, or -1; each has numbered them its own way.
std::int32_t first_of_all(std::int32_t row, std::vector<std::int64_t> const& numbers) {
  double first = -1;
  for (double const of_rank : world().each(row < 0 ? -1.0 : double(numbers[row])))
    if (of_rank >= 0 && (first < 0 || of_rank < first)) first = of_rank;
  return static_cast<std::int32_t>(first);
}

/// \brief The worst pair of all ranks.
Agreement worst_of_all(Agreement mine, std::vector<std::int64_t> const& numbers) {
  if (mine.row >= 0) {
    mine.row = static_cast<std::int32_t>(numbers[mine.row]);
    mine.column = static_cast<std::int32_t>(numbers[mine.column]);
    if (mine.row > mine.column) {
      std::swap(mine.row, mine.column);
      std::swap(mine.entry, mine.mirrored);
    }
  }
  auto const differences = world().each(mine.difference), rows = world().each(double(mine.row));
  int worst = 0;
  for (int rank = 1; rank < world().ranks(); ++rank)
    if (differences[rank] > differences[worst] ||
        (differences[rank] == differences[worst] && rows[rank] >= 0 &&
         (rows[worst] < 0 || rows[rank] < rows[worst])))
      worst = rank;
  double numbers_of[6] = {double(mine.row),  double(mine.column),  mine.entry.real(),
                          mine.entry.imag(), mine.mirrored.real(), mine.mirrored.imag()};
  world().broadcast(numbers_of, sizeof numbers_of, worst);
  mine.difference = differences[worst];
  mine.row = static_cast<std::int32_t>(numbers_of[0]);
  mine.column = static_cast<std::int32_t>(numbers_of[1]);
  mine.entry = {numbers_of[2], numbers_of[3]};
  mine.mirrored = {numbers_of[4], numbers_of[5]};
  return mine;
}

/// \brief check_symmetry() of the matrix of all ranks: each checks its rows and those of its
/// ghosts, which have all pairs that reach beyond it.
template <class T, class Exec>
Symmetry symmetry_of_all(Exec const& exec, DistributedMatrix<T, Exec> const& A) {
  auto const block = Solder::Impl::enlarged_block(exec, A);
  Symmetry all;
  world().together([&] { all = check_symmetry(exec, CsrMatrix<T, Exec>(exec, block.rows)); });
  all.is_finite = !world().any(!all.is_finite);
  all.pattern = !world().any(!all.pattern);
  all.hermitian = worst_of_all(all.hermitian, block.numbers);
  all.symmetric = worst_of_all(all.symmetric, block.numbers);
  for (std::int32_t DiagonalSigns::*const sign :
       {&DiagonalSigns::missing, &DiagonalSigns::zero, &DiagonalSigns::negative,
        &DiagonalSigns::not_real})
    all.diagonal.*sign = first_of_all(all.diagonal.*sign, block.numbers);
  return all;
}

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

template <class T, class Exec>
void solve_on(Exec const& exec, RunConfig const& run, System<T> const& system, Solved<T>& solved) {
  using Vector = Kokkos::View<T*, typename Exec::memory_space>;
  World const& all = world();
  solved.space = name_of_space<Exec>();
  auto const A = from_mpi(exec, world_comm(), system.matrix);
  if (asks_for_symmetry(run)) {
    solved.symmetry = symmetry_of_all(exec, A);
    std::string const why = refusal(run, *solved.symmetry, {});
    if (!why.empty()) return refuse(system, why, solved);
  }

  int const count = system.right_hand_sides();
  std::int32_t const n = system.matrix.rows;
  Kokkos::Timer timer;
  SolverInputs inputs;
  Vector b, x;
  all.together([&] {
    inputs.coordinates = coordinates_of(run, system);
    b = Solder::Impl::allocate_view<Vector>(exec, "Solder::b", n);
    x = Solder::Impl::allocate_view<Vector>(exec, "Solder::x", n);
    solved.solution.resize(system.rhs.size());
  });
  Solver<T, Exec> const solver = make_solver(exec, A, parameters_of(run, "csr"), inputs);
  exec.fence("Solder::driver: preconditioner made");
  double const setup_seconds = timer.seconds();
  if (count == 1) all.together([&] { solver.reserve(); });

  auto const& halo = static_cast<MpiHalo<T> const&>(*A.halo());
  Traffic const before = halo.traffic();
  double iterations = 0, seconds = 0;  // of all solves
  auto const solve_once = [&] {
    std::vector<Report> reports;
    for (int c = 0; c < count; ++c) {
      for (std::int32_t i = 0; i < n; ++i) {
        b(i) = system.rhs[std::size_t(i) * count + c];
        x(i) = T(0);
      }
      Kokkos::Timer const whole;
      reports.push_back(solver.solve(b, x));
      exec.fence("Solder::driver: solved");
      seconds += whole.seconds();
      for (std::int32_t i = 0; i < n; ++i) solved.solution[std::size_t(i) * count + c] = x(i);
      iterations += reports.back().iterations;
    }
    solved.seconds.push_back(summary(reports, false).solve_seconds);
    return reports;
  };
  solved.columns = solve_repeatedly(run.execution.repeat, solve_once, "right-hand side");
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
  if (!run.output.solution.empty())
    solved.solution = collect(solved.solution, slices_of(system.first_row, system.rows()), count);
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
