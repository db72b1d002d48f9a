// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cuSPARSE's product of a CSR matrix with a vector, by each of its algorithms; cuBLAS's products of
// a tall transposed matrix with a vector, and column by column.

#include "product.hpp"
#include "vendor.hpp"

namespace Solder::Perf {

template <class Scalar>
std::vector<Product<Scalar>> multiply_with_vendor(PeerProblem<Scalar> const& problem,
                                                  Batches const& request) {
  using namespace Vendor;
  if (!request.on_device) return {};
  struct Algorithm {
    char const* name;
    cusparseSpMVAlg_t id;
  };
  Handles const handles;
  auto const x = copy_to_device<Scalar>(problem.right_side);
  auto const y = allocate<Scalar>(problem.rows);
  Scalar const one = 1, zero = 0;
  std::vector<Product<Scalar>> products;
  for (Algorithm const algorithm : {Algorithm{"CSR, default", CUSPARSE_SPMV_ALG_DEFAULT},
                                    Algorithm{"CSR, ALG1", CUSPARSE_SPMV_CSR_ALG1},
                                    Algorithm{"CSR, ALG2", CUSPARSE_SPMV_CSR_ALG2}}) {
    Matrix<Scalar> const matrix(problem, handles, algorithm.id);
    check(cudaMemset(y.get(), 0, problem.rows * sizeof(Scalar)));
    auto seconds = time_batches(
        request, [&] { matrix.multiply(&one, x.get(), &zero, y.get()); },
        [&] { handles.synchronized_now(); });
    products.push_back({algorithm.name, std::move(seconds), copy_to_host(y.get(), problem.rows)});
  }
  return products;
}

template <class Scalar>
std::vector<Product<Scalar>> multi_dot_with_vendor(Basis<Scalar> const& basis,
                                                   std::vector<int> const& counts,
                                                   Batches const& request) {
  using namespace Vendor;
  if (!request.on_device) return {};
  Handles const handles;
  int const n = basis.rows;
  auto const V = copy_to_device<Scalar>(basis.values), y = copy_to_device<Scalar>(basis.y);
  auto const h = allocate<Scalar>(basis.columns);
  auto const one = copy_to_device<Scalar>(std::vector<int>{1}),
             zero = copy_to_device<Scalar>(std::vector<int>{0});
  // All scalars on the device: the host waits for none.
  handles.set_pointer_mode(CUBLAS_POINTER_MODE_DEVICE);
  std::vector<Product<Scalar>> products;
  auto const time = [&](char const* name, int columns, auto const& launch) {
    auto seconds =
        time_batches(for_columns(request, columns), launch, [&] { handles.synchronized_now(); });
    products.push_back({name, std::move(seconds), copy_to_host(h.get(), columns), columns});
  };
  for (int const columns : counts) {
    time("gemv", columns, [&] {
      gemv(handles.blas, CUBLAS_OP_T, n, columns, one.get(), V.get(), n, y.get(), zero.get(),
           h.get());
    });
    time("dots", columns, [&] {
      for (int k = 0; k < columns; ++k)
        dot(handles.blas, n, V.get() + std::size_t(k) * n, y.get(), h.get() + k);
    });
  }
  return products;
}

template std::vector<Product<float>> multiply_with_vendor(PeerProblem<float> const&,
                                                          Batches const&);
template std::vector<Product<double>> multiply_with_vendor(PeerProblem<double> const&,
                                                           Batches const&);
template std::vector<Product<float>> multi_dot_with_vendor(Basis<float> const&,
                                                           std::vector<int> const&, Batches const&);
template std::vector<Product<double>> multi_dot_with_vendor(Basis<double> const&,
                                                            std::vector<int> const&,
                                                            Batches const&);

}  // namespace Solder::Perf
