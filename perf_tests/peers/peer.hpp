// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// No other header of this project and no Kokkos here: most peers need neither.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// \brief Other libraries on the same linear system, each in its own translation unit
namespace Solder::Perf {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// \brief The median; the mean of the middle two for an even count. Precondition: not empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// \brief A X = B in plain host arrays, CSR with ascending columns
template <class Scalar>
struct PeerProblem {
  std::int32_t rows;
  std::vector<std::int64_t> const& row_offsets;
  std::vector<std::int32_t> const& columns;
  std::vector<Scalar> const& values;
  std::vector<Scalar> const& right_side;  ///< entry i of column c is number i * right_sides + c
  int right_sides = 1;
};

/// \brief What to run, and how long
struct PeerRequest {
  std::string solver;          ///< "cg", "bicgstab", "gmres" or "idr"
  int restart;                 ///< steps of a cycle: of GMRES; of IDR(s), s + 1
  std::string preconditioner;  ///< "none" or "jacobi"
  int iterations;        ///< of one timed solve; where there are cycles, two or more whole ones
  int repeats;           ///< timed solves; the median counts
  int check_iterations;  ///< of the untimed solve whose true residual is compared; at most a cycle
  bool on_device;        ///< run where device memory is; else on the host
  int threads;           ///< of the host; 0: as many as the peer takes by itself
  /// Of IDR(s): entry `row` of vector number `vector` of its shadow space.
  std::function<double(std::int32_t row, int vector)> shadow_entry{};
};

/// \brief One way in which a peer ran the problem
struct PeerTiming {
  std::string variant;
  std::vector<double> seconds;  ///< an iteration of each timed solve
  int iterations;               ///< that one timed solve did; fewer than asked if the peer stopped
  double check_residual;        ///< ||b - A x|| / ||b|| after check_iterations iterations

  double seconds_per_iteration() const { return median(seconds); }
};

/// \brief What a peer's solve of some number of iterations hands back
template <class Scalar>
struct PeerRun {
  double seconds;  ///< of its iterations alone, set-up excluded
  int iterations;
  std::vector<Scalar> solution;  ///< as the right-hand sides
};

// Each returns its variants, or nothing when it does not take such a problem or such a request.
// They start from x = 0, never stop for convergence if the peer allows that, and may throw
// std::exception. Instantiated for float and double.
template <class Scalar>
std::vector<PeerTiming> run_eigen(PeerProblem<Scalar> const&, PeerRequest const&);
/// One process; PETSc has one type of numbers.
template <class Scalar>
std::vector<PeerTiming> run_petsc(PeerProblem<Scalar> const&, PeerRequest const&);
template <class Scalar>
std::vector<PeerTiming> run_viennacl(PeerProblem<Scalar> const&, PeerRequest const&);
template <class Scalar>
std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<Scalar> const&, PeerRequest const&);
template <class Scalar>
std::vector<PeerTiming> run_vendor(PeerProblem<Scalar> const&, PeerRequest const&);
/// Several right-hand sides at once.
template <class Scalar>
std::vector<PeerTiming> run_vendor_columns(PeerProblem<Scalar> const&, PeerRequest const&);

/// \brief ||b - A x|| / ||b|| of the first right-hand side, by a plain loop in double
template <class Scalar>
double true_residual(PeerProblem<Scalar> const& problem, std::vector<Scalar> const& x) {
  double residual = 0, norm = 0;
  for (std::int32_t i = 0; i < problem.rows; ++i) {
    auto const row = std::size_t(i) * problem.right_sides;
    double const b = problem.right_side[row];
    double sum = b;
    for (auto k = problem.row_offsets[i]; k < problem.row_offsets[i + 1]; ++k)
      sum -= double(problem.values[k]) *
             double(x[std::size_t(problem.columns[k]) * problem.right_sides]);
    residual += sum * sum;
    norm += b * b;
  }
  return std::sqrt(residual / norm);
}

/// \brief Runs one variant: a short solve to check, one to warm up, then the timed ones
/// \param solve `PeerRun<Scalar>(int iterations)`
template <class Scalar, class Solve>
PeerTiming time_variant(std::string name, PeerProblem<Scalar> const& problem,
                        PeerRequest const& request, Solve&& solve) {
  PeerTiming timing{std::move(name), {}, 0, 1};
  if (request.check_iterations > 0)
    timing.check_residual = true_residual(problem, solve(request.check_iterations).solution);
  solve(request.iterations);
  for (int i = 0; i < request.repeats; ++i) {
    auto const run = solve(request.iterations);
    timing.seconds.push_back(run.seconds / run.iterations);
    timing.iterations = run.iterations;
  }
  return timing;
}

}  // namespace Solder::Perf
