// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Eigen's ConjugateGradient. Its sparse product runs in parallel with OpenMP, its vector
// operations do not. With tolerance 0 it still stops when ||r||^2 underflows.

#include "peer.hpp"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

namespace Solder::Perf {
namespace {

template <class Preconditioner, class Scalar>
PeerTiming run_cg(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  using Matrix = Eigen::SparseMatrix<Scalar, Eigen::RowMajor>;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  std::vector<int> const offsets(problem.row_offsets.begin(), problem.row_offsets.end());
  Matrix const matrix = Eigen::Map<Matrix const>(
      problem.rows, problem.rows, Eigen::Index(problem.values.size()), offsets.data(),
      problem.columns.data(), problem.values.data());
  Eigen::Map<Vector const> const b(problem.right_side.data(), problem.rows);
  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner> cg(matrix);
  cg.setTolerance(0);

  auto const timed_solve = [&](int iterations) {
    cg.setMaxIterations(iterations);
    auto const begin = Clock::now();
    Vector const x = cg.solve(b);
    double const seconds = seconds_between(begin, Clock::now());
    return PeerRun<Scalar>{seconds, int(cg.iterations()), {x.data(), x.data() + x.size()}};
  };
  // What one iteration costs is the difference of two solves, so that set-up does not count.
  auto const solve = [&](int iterations) {
    double const setup = timed_solve(1).seconds;
    auto run = timed_solve(iterations);
    if (run.iterations > 1) {
      run.seconds -= setup;
      run.iterations -= 1;
    }
    return run;
  };
  return time_variant("CSR", problem, request, solve);
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_eigen(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  if (request.solver != "cg") return {};
  Eigen::setNbThreads(request.threads);
  if (request.preconditioner == "none")
    return {run_cg<Eigen::IdentityPreconditioner>(problem, request)};
  if (request.preconditioner == "jacobi")
    return {run_cg<Eigen::DiagonalPreconditioner<Scalar>>(problem, request)};
  return {};
}

template std::vector<PeerTiming> run_eigen(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_eigen(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
