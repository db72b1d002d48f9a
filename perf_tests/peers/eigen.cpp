// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Eigen's ConjugateGradient, BiCGSTAB and GMRES (Householder, preconditioned from the left). The
// sparse product runs in parallel with OpenMP, the vector operations do not. With tolerance 0 CG
// and BiCGSTAB still stop when ||r||^2 underflows.

#include "product.hpp"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

namespace Solder::Perf {
namespace {

/// \brief A preconditioner that counts its uses: BiCGSTAB counts iterations anew when it restarts.
template <class Base>
class Counting : public Base {
 public:
  template <class Right>
  decltype(auto) solve(Right const& b) const {
    ++uses;
    return Base::solve(b);
  }

  mutable int uses = 0;
};

template <class Solver, class Matrix, class Scalar>
PeerTiming run_solver(Solver& solver, Matrix const& matrix, PeerProblem<Scalar> const& problem,
                      PeerRequest const& request) {
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  Eigen::Map<Vector const> const b(problem.right_side.data(), problem.rows);
  solver.compute(matrix);
  solver.setTolerance(0);
  bool const cycles = request.solver == "gmres", twice = request.solver == "bicgstab";

  auto const timed_solve = [&](int iterations) {
    solver.setMaxIterations(iterations);
    solver.preconditioner().uses = 0;
    auto const begin = Clock::now();
    Vector const x = solver.solve(b);
    double const seconds = seconds_between(begin, Clock::now());
    int const done = twice ? solver.preconditioner().uses / 2 : int(solver.iterations());
    return PeerRun<Scalar>{seconds, done, {x.data(), x.data() + x.size()}};
  };
  // What one iteration costs is the difference of two solves, so that set-up does not count.
  int const short_solve = cycles ? request.restart : 1;
  auto const solve = [&](int iterations) {
    double const setup = timed_solve(short_solve).seconds;
    auto run = timed_solve(iterations);
    if (run.iterations > short_solve) {
      run.seconds -= setup;
      run.iterations -= short_solve;
    }
    return run;
  };
  return time_variant("CSR", problem, request, solve);
}

template <class Scalar>
using CsrMatrix = Eigen::SparseMatrix<Scalar, Eigen::RowMajor>;

template <class Scalar>
CsrMatrix<Scalar> make_matrix(PeerProblem<Scalar> const& problem) {
  std::vector<int> const offsets(problem.row_offsets.begin(), problem.row_offsets.end());
  return Eigen::Map<CsrMatrix<Scalar> const>(problem.rows, problem.rows,
                                             Eigen::Index(problem.values.size()), offsets.data(),
                                             problem.columns.data(), problem.values.data());
}

template <class Preconditioner, class Scalar>
std::vector<PeerTiming> run(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  using Matrix = CsrMatrix<Scalar>;
  Matrix const matrix = make_matrix(problem);
  if (request.solver == "cg") {
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Counting<Preconditioner>> cg;
    return {run_solver(cg, matrix, problem, request)};
  }
  if (request.solver == "bicgstab") {
    Eigen::BiCGSTAB<Matrix, Counting<Preconditioner>> bicgstab;
    return {run_solver(bicgstab, matrix, problem, request)};
  }
  if (request.solver == "gmres" && problem.rows > request.restart) {
    Eigen::GMRES<Matrix, Counting<Preconditioner>> gmres;
    gmres.set_restart(request.restart);
    return {run_solver(gmres, matrix, problem, request)};
  }
  return {};
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_eigen(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  Eigen::setNbThreads(request.threads);
  if (request.preconditioner == "none") return run<Eigen::IdentityPreconditioner>(problem, request);
  if (request.preconditioner == "jacobi")
    return run<Eigen::DiagonalPreconditioner<Scalar>>(problem, request);
  return {};
}

template <class Scalar>
std::vector<Product<Scalar>> multiply_with_eigen(PeerProblem<Scalar> const& problem,
                                                 Batches const& request) {
  if (request.on_device) return {};
  Eigen::setNbThreads(request.threads);
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  auto const matrix = make_matrix(problem);
  Eigen::Map<Vector const> const x(problem.right_side.data(), problem.rows);
  Vector y(problem.rows);
  auto seconds = time_batches(
      request, [&] { y.noalias() = matrix * x; }, [] {});
  return {{"CSR", std::move(seconds), {y.data(), y.data() + y.size()}}};
}

template std::vector<PeerTiming> run_eigen(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_eigen(PeerProblem<double> const&, PeerRequest const&);
template std::vector<Product<float>> multiply_with_eigen(PeerProblem<float> const&, Batches const&);
template std::vector<Product<double>> multiply_with_eigen(PeerProblem<double> const&,
                                                          Batches const&);

}  // namespace Solder::Perf
