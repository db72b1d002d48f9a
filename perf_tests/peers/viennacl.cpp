// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ViennaCL's pipelined CG (the code of the paper on pipelined solvers), on the host with OpenMP
// or on CUDA. ViennaCL 1.7.1 compiles as C++20 and with CUDA 13 as it is, because the headers
// below instantiate none of its sparse matrix-matrix products (these use the mask-free warp
// shuffles that CUDA 13 no longer has).

#include "peer.hpp"

#ifdef VIENNACL_WITH_OPENMP
#include <omp.h>
#endif

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/ell_matrix.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/jacobi_precond.hpp>
#include <viennacl/vector.hpp>

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
    std::int64_t row;
    const_iterator2 begin() const { return {problem, row, problem->row_offsets[row]}; }
    const_iterator2 end() const { return {problem, row, problem->row_offsets[row + 1]}; }
    const_iterator1& operator++() { return ++row, *this; }
    bool operator!=(const_iterator1 const& other) const { return row != other.row; }
  };
  PeerProblem<Scalar> const* problem;
  std::size_t size1() const { return problem->rows; }
  std::size_t size2() const { return problem->rows; }
  const_iterator1 begin1() const { return {problem, 0}; }
  const_iterator1 end1() const { return {problem, problem->rows}; }
};

/// \brief When the solver's monitor saw the end of the first and of the last iteration
struct Stopwatch {
  Clock::time_point first, last;
  int iterations = 0;

  template <class Vector, class Scalar>
  static bool monitor(Vector const&, Scalar, void* self) {
    auto& watch = *static_cast<Stopwatch*>(self);
    watch.last = Clock::now();
    if (watch.iterations++ == 0) watch.first = watch.last;
    return false;
  }
};

template <class Scalar, class Matrix, class Preconditioner>
PeerTiming run_cg(std::string const& name, PeerProblem<Scalar> const& problem,
                  PeerRequest const& request, Matrix const& matrix,
                  Preconditioner const& preconditioner, viennacl::context context) {
  using Vector = viennacl::vector<Scalar>;
  Vector b(problem.rows, context);
  viennacl::fast_copy(problem.right_side.begin(), problem.right_side.end(), b.begin());

  // The host waits for a scalar of every iteration, so the monitor's clock tells when each ended.
  auto const solve = [&](int iterations) {
    viennacl::linalg::cg_solver<Vector> cg(viennacl::linalg::cg_tag(0, iterations));
    Stopwatch watch;
    cg.set_monitor(&Stopwatch::monitor<Vector, Scalar>, &watch);
    Vector const x = cg(matrix, b, preconditioner);
    PeerRun<Scalar> run{seconds_between(watch.first, watch.last),
                        std::max(1, watch.iterations - 1),
                        std::vector<Scalar>(problem.rows)};
    viennacl::fast_copy(x.begin(), x.end(), run.solution.begin());
    return run;
  };
  return time_variant(name, problem, request, solve);
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_viennacl(PeerProblem<Scalar> const& problem,
                                     PeerRequest const& request) {
  if (request.solver != "cg") return {};
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
    return {run_cg("CSR", problem, request, csr, jacobi, context)};
  }
  if (request.preconditioner != "none") return {};
  viennacl::linalg::no_precond const none;
  std::vector<PeerTiming> timings{run_cg("CSR", problem, request, csr, none, context)};
  viennacl::ell_matrix<Scalar> ell(context);
  viennacl::copy(IterableMatrix<Scalar>{&problem}, ell);
  // An ELL matrix of very uneven rows is mostly padding: no candidate for the best.
  if (ell.internal_nnz() < 4 * columns.size())
    timings.push_back(run_cg("ELL", problem, request, ell, none, context));
  return timings;
}

template std::vector<PeerTiming> run_viennacl(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_viennacl(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
