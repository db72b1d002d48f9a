// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cuSPARSE's product of a CSR matrix with a vector, by each of its algorithms.

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

template std::vector<Product<float>> multiply_with_vendor(PeerProblem<float> const&,
                                                          Batches const&);
template std::vector<Product<double>> multiply_with_vendor(PeerProblem<double> const&,
                                                           Batches const&);

}  // namespace Solder::Perf
