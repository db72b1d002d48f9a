// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ViennaCL's pipelined solvers (the code of the paper on pipelined solvers), on the host with
// OpenMP or on CUDA. ViennaCL 1.7.1 compiles as C++20 and with CUDA 13 as it is, because the
// headers below instantiate none of its sparse matrix-matrix products (these use the mask-free warp
// shuffles that CUDA 13 no longer has). With a preconditioner it preconditions BiCGStab and GMRES
// from the left and pipelines neither.

#include "peer.hpp"

#ifdef VIENNACL_WITH_OPENMP
#include <omp.h>
#endif

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/ell_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/gmres.hpp>
#include <viennacl/linalg/jacobi_precond.hpp>
#include <viennacl/sliced_ell_matrix.hpp>
#include <viennacl/vector.hpp>

#if defined(VIENNACL_WITH_CUDA) && defined(__CUDACC__)
// ViennaCL launches its CSR kernels for long rows with 16 lanes, but for devices newer than 2014
// compiles those with 8 only: without these lines the launch fails.
namespace viennacl::linalg::cuda {
template __global__ void pipelined_cg_csr_vec_mul_blocked_kernel<16, float>(
    unsigned const*, unsigned const*, float const*, float const*, float*, unsigned, float*,
    unsigned);
template __global__ void pipelined_cg_csr_vec_mul_blocked_kernel<16, double>(
    unsigned const*, unsigned const*, double const*, double const*, double*, unsigned, double*,
    unsigned);
template __global__ void pipelined_bicgstab_csr_vec_mul_blocked_kernel<16, float>(
    unsigned const*, unsigned const*, float const*, float const*, float*, float const*, unsigned,
    float*, unsigned, unsigned);
template __global__ void pipelined_bicgstab_csr_vec_mul_blocked_kernel<16, double>(
    unsigned const*, unsigned const*, double const*, double const*, double*, double const*,
    unsigned, double*, unsigned, unsigned);
}  // namespace viennacl::linalg::cuda
#endif

namespace Solder::Perf {
namespace {

/// \brief The iterators over a matrix that viennacl::copy asks for, over a PeerProblem
template <class Scalar>
struct IterableMatrix {
  using size_type = std::size_t;
  struct const_iterator2 {
    PeerProblem<Scalar> const* problem;
    std::int64_t row, position;
    std::int64_t index1() const { return row; }
    std::int64_t index2() const { return problem->columns[position]; }
    Scalar operator*() const { return problem->values[position]; }
    const_iterator2& operator++() { return ++position, *this; }
    bool operator!=(const_iterator2 const& other) const { return position != other.position; }
  };
  struct const_iterator1 {
    PeerProblem<Scalar> const* problem;
    std::size_t row;
    std::size_t index1() const { return row; }
    const_iterator2 begin() const {
      return {problem, std::int64_t(row), problem->row_offsets[row]};
    }
    const_iterator2 end() const {
      return {problem, std::int64_t(row), problem->row_offsets[row + 1]};
    }
    const_iterator1& operator++() { return ++row, *this; }
    bool operator!=(const_iterator1 const& other) const { return row != other.row; }
  };
  PeerProblem<Scalar> const* problem;
  std::size_t size1() const { return problem->rows; }
  std::size_t size2() const { return problem->rows; }
  const_iterator1 begin1() const { return {problem, 0}; }
  const_iterator1 end1() const { return {problem, size1()}; }
};

/// \brief When the solver called its monitor first and last: after each iteration, GMRES after each
/// cycle
struct Stopwatch {
  Clock::time_point first, last;
  int calls = 0;

  template <class Vector, class Scalar>
  static bool monitor(Vector const&, Scalar, void* self) {
    auto& watch = *static_cast<Stopwatch*>(self);
    watch.last = Clock::now();
    if (watch.calls++ == 0) watch.first = watch.last;
    return false;
  }
};

/// \param steps iterations between two calls of the monitor
template <class Solver, class Scalar, class Matrix, class Preconditioner>
PeerRun<Scalar> run_once(Solver solver, int steps, Matrix const& matrix,
                         viennacl::vector<Scalar> const& b, Preconditioner const& preconditioner) {
  using Vector = viennacl::vector<Scalar>;
  Stopwatch watch;
  solver.set_monitor(&Stopwatch::monitor<Vector, Scalar>, &watch);
  Vector const x = solver(matrix, b, preconditioner);
  PeerRun<Scalar> run{seconds_between(watch.first, watch.last),
                      std::max(1, steps * (watch.calls - 1)), std::vector<Scalar>(b.size())};
  viennacl::fast_copy(x.begin(), x.end(), run.solution.begin());
  return run;
}

template <class Scalar, class Matrix, class Preconditioner>
PeerTiming run_solver(std::string const& name, PeerProblem<Scalar> const& problem,
                      PeerRequest const& request, Matrix const& matrix,
                      Preconditioner const& preconditioner, viennacl::context context) {
  using Vector = viennacl::vector<Scalar>;
  namespace solvers = viennacl::linalg;
  Vector b(problem.rows, context);
  viennacl::fast_copy(problem.right_side.begin(), problem.right_side.end(), b.begin());

  // The host waits for a scalar of every iteration (of GMRES: every cycle), so the monitor's clock
  // tells when each ended. With tolerance 0 no test ends a solve but that of the iterations.
  auto const solve = [&](int iterations) {
    if (request.solver == "cg")
      return run_once<solvers::cg_solver<Vector>>({{0, unsigned(iterations)}}, 1, matrix, b,
                                                  preconditioner);
    if (request.solver == "bicgstab")
      return run_once<solvers::bicgstab_solver<Vector>>(
          {{0, std::size_t(iterations), std::size_t(iterations)}}, 1, matrix, b, preconditioner);
    // GMRES does whole cycles only: a short solve is a short cycle.
    int const restart = std::min(request.restart, iterations);
    return run_once<solvers::gmres_solver<Vector>>({{0, unsigned(iterations), unsigned(restart)}},
                                                   restart, matrix, b, preconditioner);
  };
  return time_variant(name, problem, request, solve);
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_viennacl(PeerProblem<Scalar> const& problem,
                                     PeerRequest const& request) {
  if (request.solver != "cg" && request.solver != "bicgstab" && request.solver != "gmres")
    return {};
#ifdef VIENNACL_WITH_OPENMP
  if (request.threads > 0) omp_set_num_threads(request.threads);
#endif
#ifdef VIENNACL_WITH_CUDA
  viennacl::context const context(request.on_device ? viennacl::CUDA_MEMORY
                                                    : viennacl::MAIN_MEMORY);
#else
  if (request.on_device) return {};
  viennacl::context const context(viennacl::MAIN_MEMORY);
#endif
  std::vector<unsigned> const offsets(problem.row_offsets.begin(), problem.row_offsets.end());
  std::vector<unsigned> const columns(problem.columns.begin(), problem.columns.end());
  viennacl::compressed_matrix<Scalar> csr(context);
  csr.set(offsets.data(), columns.data(), problem.values.data(), problem.rows, problem.rows,
          columns.size());

  if (request.preconditioner == "jacobi") {
    viennacl::linalg::jacobi_precond<viennacl::compressed_matrix<Scalar>> const jacobi(
        csr, viennacl::linalg::jacobi_tag());
    return {run_solver("CSR", problem, request, csr, jacobi, context)};
  }
  if (request.preconditioner != "none") return {};
  viennacl::linalg::no_precond const none;
  std::vector<PeerTiming> timings{run_solver("CSR", problem, request, csr, none, context)};
  viennacl::ell_matrix<Scalar> ell(context);
  viennacl::copy(IterableMatrix<Scalar>{&problem}, ell);
  // An ELL matrix of very uneven rows is mostly padding: no candidate for the best.
  if (ell.internal_nnz() < 4 * columns.size())
    timings.push_back(run_solver("ELL", problem, request, ell, none, context));
  // On hosts its product reads beyond the arrays where 32 divides the rows.
  if (request.on_device) {
    viennacl::sliced_ell_matrix<Scalar> sliced(context);
    viennacl::copy(IterableMatrix<Scalar>{&problem}, sliced);
    timings.push_back(run_solver("sliced ELL", problem, request, sliced, none, context));
  }
  return timings;
}

template std::vector<PeerTiming> run_viennacl(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_viennacl(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
