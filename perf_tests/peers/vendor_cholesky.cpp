// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cuSOLVER's potrfBatched.

#include <cusolverDn.h>

#include "product.hpp"
#include "vendor.hpp"

namespace Solder::Perf {
namespace {

void check(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw std::runtime_error("cuSOLVER status " + std::to_string(static_cast<int>(status)));
}

cusolverStatus_t potrf(cusolverDnHandle_t h, int n, float** A, int* info, int count) {
  return cusolverDnSpotrfBatched(h, CUBLAS_FILL_MODE_LOWER, n, A, n, info, count);
}
cusolverStatus_t potrf(cusolverDnHandle_t h, int n, double** A, int* info, int count) {
  return cusolverDnDpotrfBatched(h, CUBLAS_FILL_MODE_LOWER, n, A, n, info, count);
}

class Solver {
 public:
  explicit Solver(cudaStream_t stream) {
    check(cusolverDnCreate(&handle));
    check(cusolverDnSetStream(handle, stream));
  }
  Solver(Solver const&) = delete;
  Solver& operator=(Solver const&) = delete;
  ~Solver() { cusolverDnDestroy(handle); }

  cusolverDnHandle_t handle = nullptr;
};

}  // namespace

template <class Scalar>
std::vector<Product<Scalar>> factor_with_vendor(MatrixBatch<Scalar> const& batch,
                                                Batches const& request) {
  using namespace Vendor;
  if (!request.on_device) return {};
  Handles const handles;
  Solver const solver(handles.stream);
  std::size_t const one = batch.entries_of_one(), all = batch.count * one;
  auto const original = copy_to_device<Scalar>(batch.values);
  auto const matrices = allocate<Scalar>(all * request.launches);
  auto const info = allocate<int>(batch.count);
  std::vector<Scalar*> pointers;
  for (std::size_t i = 0; i < std::size_t(batch.count) * request.launches; ++i)
    pointers.push_back(matrices.get() + i * one);
  auto const pointers_there = copy_to_device<Scalar*>(pointers);
  auto const restore = [&] {
    for (int k = 0; k < request.launches; ++k)
      for (std::size_t done = 0; done < all; done += batch.values.size()) {
        std::size_t const some = std::min(batch.values.size(), all - done);
        check(cudaMemcpyAsync(matrices.get() + k * all + done, original.get(),
                              some * sizeof(Scalar), cudaMemcpyDeviceToDevice, handles.stream));
      }
  };
  auto const factor = [&](int k) {
    Perf::check(potrf(solver.handle, batch.order,
                      pointers_there.get() + std::size_t(k) * batch.count, info.get(),
                      batch.count));
  };
  auto seconds = time_in_place(request, restore, factor, [&] { handles.synchronized_now(); });
  return {{"potrfBatched", std::move(seconds), copy_to_host(matrices.get(), batch.values.size())}};
}

template std::vector<Product<float>> factor_with_vendor(MatrixBatch<float> const&, Batches const&);
template std::vector<Product<double>> factor_with_vendor(MatrixBatch<double> const&,
                                                         Batches const&);

}  // namespace Solder::Perf
