// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CG as a user of Kokkos Kernels would write it: one call an operation, scalars on the host. And
// its products: of a CSR matrix, and of a tall transposed one, with a vector; column by column.

#include "kokkos_kernels.hpp"
#include "product.hpp"

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_mult.hpp>
#include <KokkosBlas2_gemv.hpp>
#include <KokkosSparse_spmv.hpp>

namespace Solder::Perf {
namespace {

using namespace KernelsPeer;

template <class Scalar, class Exec>
PeerTiming run_cg(Exec const& exec, PeerProblem<Scalar> const& problem,
                  PeerRequest const& request) {
  using Vector = Array<Scalar, Exec>;
  int const n = problem.rows;
  auto const matrix = make_matrix<Exec>(problem);
  KokkosSparse::SPMVHandle<Exec, Matrix<Scalar, Exec>, Vector, Vector> handle;
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
    double const seconds = seconds_between(begin, Clock::now());
    return PeerRun<Scalar>{seconds, iterations, copy_to_host<Scalar, Exec>(x)};
  };
  return time_variant("CSR", problem, request, solve);
}

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<Scalar> const& problem,
                                           PeerRequest const& request) {
  bool const known = request.preconditioner == "none" || request.preconditioner == "jacobi";
  if (request.solver != "cg" || !known) return {};
  return with_space(request.on_device, request.threads, [&](auto const& exec) {
    return std::vector<PeerTiming>{run_cg(exec, problem, request)};
  });
}

template <class Scalar>
std::vector<Product<Scalar>> multiply_with_kokkos_kernels(PeerProblem<Scalar> const& problem,
                                                          Batches const& request) {
  return with_space(request.on_device, request.threads, [&]<class Exec>(Exec const& exec) {
    using Vector = Array<Scalar, Exec>;
    auto const matrix = make_matrix<Exec>(problem);
    KokkosSparse::SPMVHandle<Exec, Matrix<Scalar, Exec>, Vector, Vector> handle;
    Vector const x = copy_to_device<Scalar, Exec>(problem.right_side);
    Vector const y("Solder::Perf::y", problem.rows);
    auto const multiply = [&] {
      KokkosSparse::spmv(exec, &handle, "N", Scalar(1), matrix, x, Scalar(0), y);
    };
    auto seconds = time_batches(request, multiply, [&] { exec.fence("Solder::Perf::product"); });
    return std::vector<Product<Scalar>>{{"CSR", std::move(seconds), copy_to_host<Scalar, Exec>(y)}};
  });
}

template std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_kokkos_kernels(PeerProblem<double> const&, PeerRequest const&);
template <class Scalar>
std::vector<Product<Scalar>> multi_dot_with_kokkos_kernels(Basis<Scalar> const& basis,
                                                           std::vector<int> const& counts,
                                                           Batches const& request) {
  return with_space(request.on_device, request.threads, [&]<class Exec>(Exec const& exec) {
    auto const values = copy_to_device<Scalar, Exec>(basis.values);
    auto const y = copy_to_device<Scalar, Exec>(basis.y);
    Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Exec::device_type,
                 Kokkos::MemoryTraits<Kokkos::Unmanaged>> const all(values.data(), basis.rows,
                                                                    basis.columns);
    std::vector<Product<Scalar>> products;
    for (int const columns : counts) {
      auto const V = Kokkos::subview(all, Kokkos::ALL, std::make_pair(0, columns));
      Array<Scalar, Exec> const h("Solder::Perf::h", columns);
      auto const time = [&](char const* name, auto const& launch) {
        auto seconds = time_batches(for_columns(request, columns), launch,
                                    [&] { exec.fence("Solder::Perf::product"); });
        products.push_back({name, std::move(seconds), copy_to_host<Scalar, Exec>(h), columns});
      };
      time("gemv", [&] { KokkosBlas::gemv(exec, "T", Scalar(1), V, y, Scalar(0), h); });
      time("dots", [&] {
        for (int k = 0; k < columns; ++k)
          KokkosBlas::dot(exec, Kokkos::subview(h, k), Kokkos::subview(V, Kokkos::ALL, k), y);
      });
    }
    return products;
  });
}

template std::vector<Product<float>> multiply_with_kokkos_kernels(PeerProblem<float> const&,
                                                                  Batches const&);
template std::vector<Product<double>> multiply_with_kokkos_kernels(PeerProblem<double> const&,
                                                                   Batches const&);
template std::vector<Product<float>> multi_dot_with_kokkos_kernels(Basis<float> const&,
                                                                   std::vector<int> const&,
                                                                   Batches const&);
template std::vector<Product<double>> multi_dot_with_kokkos_kernels(Basis<double> const&,
                                                                    std::vector<int> const&,
                                                                    Batches const&);

}  // namespace Solder::Perf
