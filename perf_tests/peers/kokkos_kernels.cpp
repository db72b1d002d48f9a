// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CG as a user of Kokkos Kernels would write it: one call an operation, scalars on the host.

#include "peer.hpp"

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_mult.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>

namespace Solder::Perf {
namespace {

template <class T, class Exec>
using Array = Kokkos::View<T*, Kokkos::LayoutLeft, typename Exec::device_type>;

template <class T, class Exec, class From>
Array<T, Exec> copy_to_device(std::vector<From> const& from) {
  Array<T, Exec> to(Kokkos::view_alloc("Solder::Perf::peer", Kokkos::WithoutInitializing),
                    from.size());
  auto const host = Kokkos::create_mirror_view(to);
  std::copy(from.begin(), from.end(), host.data());
  Kokkos::deep_copy(to, host);
  return to;
}

template <class Scalar, class Exec>
PeerTiming run_cg(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  using Matrix = KokkosSparse::CrsMatrix<Scalar, int, typename Exec::device_type, void, int>;
  using Vector = Array<Scalar, Exec>;
  Exec const exec;
  int const n = problem.rows;
  Matrix const matrix("Solder::Perf::matrix", n, n, int(problem.values.size()),
                      copy_to_device<Scalar, Exec>(problem.values),
                      copy_to_device<int, Exec>(problem.row_offsets),
                      copy_to_device<int, Exec>(problem.columns));
  KokkosSparse::SPMVHandle<Exec, Matrix, Vector, Vector> handle;
  Vector const b = copy_to_device<Scalar, Exec>(problem.right_side);
  Vector const x("Solder::Perf::x", n), r("Solder::Perf::r", n), p("Solder::Perf::p", n),
      q("Solder::Perf::q", n);

  bool const jacobi = request.preconditioner == "jacobi";
  std::vector<Scalar> inverse_diagonal(jacobi ? n : 0);
  for (int i = 0; i < int(inverse_diagonal.size()); ++i)
    for (auto k = problem.row_offsets[i]; k < problem.row_offsets[i + 1]; ++k)
      if (problem.columns[k] == i) inverse_diagonal[i] = 1 / problem.values[k];
  Vector const diagonal = copy_to_device<Scalar, Exec>(inverse_diagonal);
  Vector const z = jacobi ? Vector("Solder::Perf::z", n) : r;
  auto const precondition = [&] {
    if (jacobi) KokkosBlas::mult(exec, Scalar(0), z, Scalar(1), diagonal, r);
  };

  auto const solve = [&](int iterations) {
    Kokkos::deep_copy(exec, x, Scalar(0));
    Kokkos::deep_copy(exec, r, b);
    precondition();
    Kokkos::deep_copy(exec, p, z);
    Scalar rz = KokkosBlas::dot(exec, r, z);
    exec.fence("Solder::Perf::begin");
    auto const begin = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      KokkosSparse::spmv(exec, &handle, "N", Scalar(1), matrix, p, Scalar(0), q);
      Scalar const alpha = rz / KokkosBlas::dot(exec, p, q);
      KokkosBlas::axpy(exec, alpha, p, x);
      KokkosBlas::axpy(exec, -alpha, q, r);
      precondition();
      Scalar const rz_new = KokkosBlas::dot(exec, r, z);
      KokkosBlas::axpby(exec, Scalar(1), z, rz_new / rz, p);
      rz = rz_new;
    }
    exec.fence("Solder::Perf::end");
    PeerRun<Scalar> run{seconds_between(begin, Clock::now()), iterations, {}};
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    run.solution.assign(host.data(), host.data() + n);
    return run;
  };
  return time_variant("CSR", problem, request, solve);
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<Scalar> const& problem,
                                           PeerRequest const& request) {
  bool const known = request.preconditioner == "none" || request.preconditioner == "jacobi";
  if (request.solver != "cg" || !known) return {};
  if (request.on_device) return {run_cg<Scalar, Kokkos::DefaultExecutionSpace>(problem, request)};
#ifdef KOKKOS_ENABLE_SERIAL
  if (request.threads == 1) return {run_cg<Scalar, Kokkos::Serial>(problem, request)};
#endif
  return {run_cg<Scalar, Kokkos::DefaultHostExecutionSpace>(problem, request)};
}

template std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<float> const&,
                                                    PeerRequest const&);
template std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<double> const&,
                                                    PeerRequest const&);

}  // namespace Solder::Perf
