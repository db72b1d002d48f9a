// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CG from cuSPARSE and cuBLAS calls: with the scalars on the host, as most programs do, and with
// all scalars on the device and one iteration captured in a CUDA graph, the best that one can
// build from these calls.

#include "peer.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <memory>
#include <stdexcept>

namespace Solder::Perf {
namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}
void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

template <class T>
struct FreeDevice {
  void operator()(T* pointer) const { cudaFree(pointer); }
};
template <class T>
using DeviceArray = std::unique_ptr<T, FreeDevice<T>>;

template <class T>
DeviceArray<T> allocate(std::size_t size) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, std::max<std::size_t>(1, size) * sizeof(T)));
  return DeviceArray<T>(static_cast<T*>(pointer));
}

template <class T, class From>
DeviceArray<T> copy_to_device(std::vector<From> const& from) {
  std::vector<T> const host(from.begin(), from.end());
  auto device = allocate<T>(host.size());
  check(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// The cuBLAS calls that CG uses, by scalar type.
void dot(cublasHandle_t h, int n, float const* x, float const* y, float* s) {
  check(cublasSdot(h, n, x, 1, y, 1, s));
}
void dot(cublasHandle_t h, int n, double const* x, double const* y, double* s) {
  check(cublasDdot(h, n, x, 1, y, 1, s));
}
void axpy(cublasHandle_t h, int n, float const* a, float const* x, float* y) {
  check(cublasSaxpy(h, n, a, x, 1, y, 1));
}
void axpy(cublasHandle_t h, int n, double const* a, double const* x, double* y) {
  check(cublasDaxpy(h, n, a, x, 1, y, 1));
}
void scal(cublasHandle_t h, int n, float const* a, float* x) { check(cublasSscal(h, n, a, x, 1)); }
void scal(cublasHandle_t h, int n, double const* a, double* x) {
  check(cublasDscal(h, n, a, x, 1));
}

/// \brief The scalars of the graph variant, in device memory
template <class Scalar>
struct Scalars {
  Scalar rz, rz_new, pq, alpha, minus_alpha, beta;
};

template <class Scalar>
__global__ void divide_for_alpha(Scalars<Scalar>* s) {
  s->alpha = s->rz / s->pq;
  s->minus_alpha = -s->alpha;
}

template <class Scalar>
__global__ void divide_for_beta(Scalars<Scalar>* s) {
  s->beta = s->rz_new / s->rz;
  s->rz = s->rz_new;
}

template <class Scalar>
__global__ void multiply(int n, Scalar const* a, Scalar const* b, Scalar* product) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) product[i] = a[i] * b[i];
}

template <class Scalar>
class VendorCg {
 public:
  VendorCg(PeerProblem<Scalar> const& problem, bool jacobi)
      : n_(problem.rows),
        jacobi_(jacobi),
        offsets_(copy_to_device<int>(problem.row_offsets)),
        columns_(copy_to_device<int>(problem.columns)),
        values_(copy_to_device<Scalar>(problem.values)),
        b_(copy_to_device<Scalar>(problem.right_side)),
        x_(allocate<Scalar>(n_)),
        r_(allocate<Scalar>(n_)),
        p_(allocate<Scalar>(n_)),
        q_(allocate<Scalar>(n_)),
        scalars_(allocate<Scalars<Scalar>>(1)),
        one_(copy_to_device<Scalar>(std::vector<int>{1})),
        zero_(copy_to_device<Scalar>(std::vector<int>{0})) {
    if (jacobi) {
      std::vector<Scalar> inverse(n_);
      for (int i = 0; i < n_; ++i)
        for (auto k = problem.row_offsets[i]; k < problem.row_offsets[i + 1]; ++k)
          if (problem.columns[k] == i) inverse[i] = 1 / problem.values[k];
      diagonal_ = copy_to_device<Scalar>(inverse);
      z_ = allocate<Scalar>(n_);
    }
    check(cudaStreamCreate(&stream_));
    check(cublasCreate(&blas_));
    check(cusparseCreate(&sparse_));
    check(cublasSetStream(blas_, stream_));
    check(cusparseSetStream(sparse_, stream_));
    constexpr auto type = std::is_same<Scalar, double>::value ? CUDA_R_64F : CUDA_R_32F;
    check(cusparseCreateCsr(&matrix_, n_, n_, std::int64_t(problem.values.size()), offsets_.get(),
                            columns_.get(), values_.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, type));
    check(cusparseCreateDnVec(&p_descriptor_, n_, p_.get(), type));
    check(cusparseCreateDnVec(&q_descriptor_, n_, q_.get(), type));
    Scalar const one = 1, zero = 0;
    std::size_t size = 0;
    check(cusparseSpMV_bufferSize(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_,
                                  p_descriptor_, &zero, q_descriptor_, type,
                                  CUSPARSE_SPMV_ALG_DEFAULT, &size));
    buffer_ = allocate<char>(size);
    check(cusparseSpMV_preprocess(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_,
                                  p_descriptor_, &zero, q_descriptor_, type,
                                  CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()));
  }

  VendorCg(VendorCg const&) = delete;
  VendorCg& operator=(VendorCg const&) = delete;

  ~VendorCg() {
    cusparseDestroyDnVec(p_descriptor_);
    cusparseDestroyDnVec(q_descriptor_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(sparse_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  PeerRun<Scalar> solve_with_host_scalars(int iterations) {
    start(CUBLAS_POINTER_MODE_HOST);
    Scalar const one = 1, zero = 0;
    Scalar rz, rz_new, pq;
    dot(blas_, n_, r_.get(), z(), &rz);
    auto const begin = synchronized_now();
    for (int i = 0; i < iterations; ++i) {
      multiply_by_matrix(&one, &zero);
      dot(blas_, n_, p_.get(), q_.get(), &pq);
      Scalar const alpha = rz / pq, minus_alpha = -alpha;
      axpy(blas_, n_, &alpha, p_.get(), x_.get());
      axpy(blas_, n_, &minus_alpha, q_.get(), r_.get());
      precondition();
      dot(blas_, n_, r_.get(), z(), &rz_new);
      Scalar const beta = rz_new / rz;
      scal(blas_, n_, &beta, p_.get());
      axpy(blas_, n_, &one, z(), p_.get());
      rz = rz_new;
    }
    return finish(begin, iterations);
  }

  PeerRun<Scalar> solve_with_graph(int iterations) {
    start(CUBLAS_POINTER_MODE_DEVICE);
    auto* const s = scalars_.get();
    dot(blas_, n_, r_.get(), z(), &s->rz);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    multiply_by_matrix(one_.get(), zero_.get());
    dot(blas_, n_, p_.get(), q_.get(), &s->pq);
    divide_for_alpha<<<1, 1, 0, stream_>>>(s);
    axpy(blas_, n_, &s->alpha, p_.get(), x_.get());
    axpy(blas_, n_, &s->minus_alpha, q_.get(), r_.get());
    precondition();
    dot(blas_, n_, r_.get(), z(), &s->rz_new);
    divide_for_beta<<<1, 1, 0, stream_>>>(s);
    scal(blas_, n_, &s->beta, p_.get());
    axpy(blas_, n_, one_.get(), z(), p_.get());
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphUpload(executable, stream_));
    auto const begin = synchronized_now();
    for (int i = 0; i < iterations; ++i) check(cudaGraphLaunch(executable, stream_));
    auto run = finish(begin, iterations);
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
    return run;
  }

 private:
  Scalar* z() const { return jacobi_ ? z_.get() : r_.get(); }

  void precondition() {
    if (!jacobi_) return;
    multiply<<<(n_ + 255) / 256, 256, 0, stream_>>>(n_, diagonal_.get(), r_.get(), z_.get());
    check(cudaGetLastError());
  }

  void multiply_by_matrix(Scalar const* one, Scalar const* zero) {
    constexpr auto type = std::is_same<Scalar, double>::value ? CUDA_R_64F : CUDA_R_32F;
    check(cusparseSpMV(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, one, matrix_, p_descriptor_, zero,
                       q_descriptor_, type, CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()));
  }

  /// x = 0, r = b, z = M r, p = z, and where both libraries look for scalars
  void start(cublasPointerMode_t mode) {
    check(cublasSetPointerMode(blas_, mode));
    check(cusparseSetPointerMode(sparse_, mode == CUBLAS_POINTER_MODE_HOST
                                              ? CUSPARSE_POINTER_MODE_HOST
                                              : CUSPARSE_POINTER_MODE_DEVICE));
    std::size_t const bytes = n_ * sizeof(Scalar);
    check(cudaMemsetAsync(x_.get(), 0, bytes, stream_));
    check(cudaMemcpyAsync(r_.get(), b_.get(), bytes, cudaMemcpyDeviceToDevice, stream_));
    precondition();
    check(cudaMemcpyAsync(p_.get(), z(), bytes, cudaMemcpyDeviceToDevice, stream_));
  }

  Clock::time_point synchronized_now() {
    check(cudaStreamSynchronize(stream_));
    return Clock::now();
  }

  PeerRun<Scalar> finish(Clock::time_point begin, int iterations) {
    double const seconds = seconds_between(begin, synchronized_now());
    PeerRun<Scalar> run{seconds, iterations, std::vector<Scalar>(n_)};
    check(cudaMemcpy(run.solution.data(), x_.get(), n_ * sizeof(Scalar), cudaMemcpyDeviceToHost));
    return run;
  }

  int n_;
  bool jacobi_;
  DeviceArray<int> offsets_, columns_;
  DeviceArray<Scalar> values_, b_, x_, r_, p_, q_, z_, diagonal_;
  DeviceArray<Scalars<Scalar>> scalars_;
  DeviceArray<Scalar> one_, zero_;
  DeviceArray<char> buffer_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  cusparseHandle_t sparse_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t p_descriptor_ = nullptr, q_descriptor_ = nullptr;
};

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_vendor(PeerProblem<Scalar> const& problem,
                                   PeerRequest const& request) {
  bool const known = request.preconditioner == "none" || request.preconditioner == "jacobi";
  if (!request.on_device || request.solver != "cg" || !known) return {};
  VendorCg<Scalar> cg(problem, request.preconditioner == "jacobi");
  return {time_variant("host scalars", problem, request,
                       [&](int iterations) { return cg.solve_with_host_scalars(iterations); }),
          time_variant("CUDA graph", problem, request,
                       [&](int iterations) { return cg.solve_with_graph(iterations); })};
}

template std::vector<PeerTiming> run_vendor(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_vendor(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
