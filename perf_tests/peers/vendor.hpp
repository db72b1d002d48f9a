// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the peers made of cuSPARSE and cuBLAS calls share.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <memory>
#include <stdexcept>

#include "peer.hpp"

namespace Solder::Perf::Vendor {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}
inline void check(cusparseStatus_t status) {
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

template <class T>
std::vector<T> copy_to_host(T const* device, std::size_t size) {
  std::vector<T> host(size);
  check(cudaMemcpy(host.data(), device, size * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

template <class Scalar>
inline constexpr cudaDataType data_type = std::is_same_v<Scalar, double> ? CUDA_R_64F : CUDA_R_32F;

// cuBLAS by scalar type
inline void dot(cublasHandle_t h, int n, float const* x, float const* y, float* s) {
  check(cublasSdot(h, n, x, 1, y, 1, s));
}
inline void dot(cublasHandle_t h, int n, double const* x, double const* y, double* s) {
  check(cublasDdot(h, n, x, 1, y, 1, s));
}
inline void norm(cublasHandle_t h, int n, float const* x, float* s) {
  check(cublasSnrm2(h, n, x, 1, s));
}
inline void norm(cublasHandle_t h, int n, double const* x, double* s) {
  check(cublasDnrm2(h, n, x, 1, s));
}
inline void axpy(cublasHandle_t h, int n, float const* a, float const* x, float* y) {
  check(cublasSaxpy(h, n, a, x, 1, y, 1));
}
inline void axpy(cublasHandle_t h, int n, double const* a, double const* x, double* y) {
  check(cublasDaxpy(h, n, a, x, 1, y, 1));
}
inline void scal(cublasHandle_t h, int n, float const* a, float* x) {
  check(cublasSscal(h, n, a, x, 1));
}
inline void scal(cublasHandle_t h, int n, double const* a, double* x) {
  check(cublasDscal(h, n, a, x, 1));
}
inline void gemv(cublasHandle_t h, cublasOperation_t op, int rows, int columns, float const* a,
                 float const* V, int stride, float const* x, float const* b, float* y) {
  check(cublasSgemv(h, op, rows, columns, a, V, stride, x, 1, b, y, 1));
}
inline void gemv(cublasHandle_t h, cublasOperation_t op, int rows, int columns, double const* a,
                 double const* V, int stride, double const* x, double const* b, double* y) {
  check(cublasDgemv(h, op, rows, columns, a, V, stride, x, 1, b, y, 1));
}

/// \brief A stream with its handles of both libraries
class Handles {
 public:
  Handles() {
    check(cudaStreamCreate(&stream));
    check(cublasCreate(&blas));
    check(cusparseCreate(&sparse));
    check(cublasSetStream(blas, stream));
    check(cusparseSetStream(sparse, stream));
  }
  Handles(Handles const&) = delete;
  Handles& operator=(Handles const&) = delete;
  ~Handles() {
    cusparseDestroy(sparse);
    cublasDestroy(blas);
    cudaStreamDestroy(stream);
  }

  /// \brief Where both libraries look for scalars.
  void set_pointer_mode(cublasPointerMode_t mode) const {
    check(cublasSetPointerMode(blas, mode));
    check(cusparseSetPointerMode(sparse, mode == CUBLAS_POINTER_MODE_HOST
                                             ? CUSPARSE_POINTER_MODE_HOST
                                             : CUSPARSE_POINTER_MODE_DEVICE));
  }

  /// \brief The time when all work given to the stream is done.
  Clock::time_point synchronized_now() const {
    check(cudaStreamSynchronize(stream));
    return Clock::now();
  }

  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
  cusparseHandle_t sparse = nullptr;
};

/// \brief A CSR matrix for cusparseSpMV
template <class Scalar>
class Matrix {
 public:
  Matrix(PeerProblem<Scalar> const& problem, Handles const& handles,
         cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_ALG_DEFAULT)
      : handles_(handles),
        algorithm_(algorithm),
        offsets_(copy_to_device<int>(problem.row_offsets)),
        columns_(copy_to_device<int>(problem.columns)),
        values_(copy_to_device<Scalar>(problem.values)) {
    int const n = problem.rows;
    auto const any = allocate<Scalar>(n);
    check(cusparseCreateCsr(&matrix_, n, n, std::int64_t(problem.values.size()), offsets_.get(),
                            columns_.get(), values_.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, data_type<Scalar>));
    check(cusparseCreateDnVec(&x_, n, any.get(), data_type<Scalar>));
    check(cusparseCreateDnVec(&y_, n, any.get(), data_type<Scalar>));
    Scalar const one = 1, zero = 0;
    std::size_t size = 0;
    handles.set_pointer_mode(CUBLAS_POINTER_MODE_HOST);
    check(cusparseSpMV_bufferSize(handles.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_,
                                  x_, &zero, y_, data_type<Scalar>, algorithm, &size));
    buffer_ = allocate<char>(size);
    check(cusparseSpMV_preprocess(handles.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_,
                                  x_, &zero, y_, data_type<Scalar>, algorithm, buffer_.get()));
  }
  Matrix(Matrix const&) = delete;
  Matrix& operator=(Matrix const&) = delete;
  ~Matrix() {
    cusparseDestroyDnVec(x_);
    cusparseDestroyDnVec(y_);
    cusparseDestroySpMat(matrix_);
  }

  /// \brief y = one A x + zero y; the two scalars are where the pointer mode says.
  void multiply(Scalar const* one, Scalar* x, Scalar const* zero, Scalar* y) const {
    check(cusparseDnVecSetValues(x_, x));
    check(cusparseDnVecSetValues(y_, y));
    check(cusparseSpMV(handles_.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, one, matrix_, x_, zero,
                       y_, data_type<Scalar>, algorithm_, buffer_.get()));
  }

 private:
  Handles const& handles_;
  cusparseSpMVAlg_t algorithm_;
  DeviceArray<int> offsets_, columns_;
  DeviceArray<Scalar> values_;
  DeviceArray<char> buffer_;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t x_ = nullptr, y_ = nullptr;
};

}  // namespace Solder::Perf::Vendor
