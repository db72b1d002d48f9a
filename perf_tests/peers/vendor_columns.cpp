// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CG for several right-hand sides from cuSPARSE's SpMM and cuBLAS calls, the scalars on the host.

#include "vendor.hpp"

namespace Solder::Perf {
namespace {

using namespace Vendor;

inline void gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                 float const* A, int lda, float const* B, int ldb, float keep, float* C, int ldc) {
  float const one = 1;
  check(cublasSgemm(h, a, b, m, n, k, &one, A, lda, B, ldb, &keep, C, ldc));
}
inline void gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                 double const* A, int lda, double const* B, int ldb, double keep, double* C,
                 int ldc) {
  double const one = 1;
  check(cublasDgemm(h, a, b, m, n, k, &one, A, lda, B, ldb, &keep, C, ldc));
}
inline void dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n, float* A, int lda,
                 float const* diagonal) {
  check(cublasSdgmm(h, side, m, n, A, lda, diagonal, 1, A, lda));
}
inline void dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n, double* A, int lda,
                 double const* diagonal) {
  check(cublasDdgmm(h, side, m, n, A, lda, diagonal, 1, A, lda));
}

/// \brief A CSR matrix for cusparseSpMM, and n x b arrays whose rows (or columns) are contiguous.
template <class Scalar>
class ManyColumns {
 public:
  ManyColumns(PeerProblem<Scalar> const& problem, bool by_rows)
      : n_(problem.rows),
        b_(problem.right_sides),
        by_rows_(by_rows),
        algorithm_(by_rows ? CUSPARSE_SPMM_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG1),
        offsets_(copy_to_device<int>(problem.row_offsets)),
        columns_(copy_to_device<int>(problem.columns)),
        values_(copy_to_device<Scalar>(problem.values)),
        right_sides_(copy_to_device<Scalar>(reordered(problem.right_side, false))),
        gram_(allocate<Scalar>(std::size_t(b_) * b_)),
        x_(array()),
        r_(array()),
        p_(array()),
        q_(array()) {
    check(cusparseCreateCsr(&matrix_, n_, n_, std::int64_t(problem.values.size()), offsets_.get(),
                            columns_.get(), values_.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, data_type<Scalar>));
    auto const order = by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    int const leading = by_rows ? b_ : n_;
    check(cusparseCreateDnMat(&of_p_, n_, b_, leading, p_.get(), data_type<Scalar>, order));
    check(cusparseCreateDnMat(&of_q_, n_, b_, leading, q_.get(), data_type<Scalar>, order));
    handles_.set_pointer_mode(CUBLAS_POINTER_MODE_HOST);
    Scalar const one = 1, zero = 0;
    std::size_t size = 0;
    check(cusparseSpMM_bufferSize(handles_.sparse, plain, plain, &one, matrix_, of_p_, &zero, of_q_,
                                  data_type<Scalar>, algorithm_, &size));
    buffer_ = allocate<char>(size);
    check(cusparseSpMM_preprocess(handles_.sparse, plain, plain, &one, matrix_, of_p_, &zero, of_q_,
                                  data_type<Scalar>, algorithm_, buffer_.get()));
  }
  ManyColumns(ManyColumns const&) = delete;
  ManyColumns& operator=(ManyColumns const&) = delete;
  ~ManyColumns() {
    cusparseDestroyDnMat(of_p_);
    cusparseDestroyDnMat(of_q_);
    cusparseDestroySpMat(matrix_);
  }

  PeerRun<Scalar> solve(int iterations) const {
    check(cudaMemsetAsync(x_.get(), 0, bytes(), handles_.stream));
    for (auto const* const copy : {&r_, &p_})
      check(cudaMemcpyAsync(copy->get(), right_sides_.get(), bytes(), cudaMemcpyDeviceToDevice,
                            handles_.stream));
    auto rr = products(r_, r_);
    auto const begin = handles_.synchronized_now();
    for (int i = 0; i < iterations; ++i) {
      multiply_by_matrix();
      auto alpha = products(p_, q_);
      for (int c = 0; c < b_; ++c) alpha[c] = rr[c] / alpha[c];
      add(alpha, 1, p_, x_);
      add(alpha, -1, q_, r_);
      auto beta = products(r_, r_);
      for (int c = 0; c < b_; ++c) {
        Scalar const now = beta[c];
        beta[c] /= rr[c];
        rr[c] = now;
      }
      Scalar const one = 1;
      scale(beta, p_);
      axpy(handles_.blas, n_ * b_, &one, r_.get(), p_.get());
    }
    double const seconds = seconds_between(begin, handles_.synchronized_now());
    return {seconds, iterations, reordered(copy_to_host(x_.get(), size()), true)};
  }

 private:
  static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

  std::size_t size() const { return std::size_t(n_) * b_; }
  std::size_t bytes() const { return size() * sizeof(Scalar); }
  DeviceArray<Scalar> array() const { return allocate<Scalar>(size()); }

  /// \brief From rows that are contiguous to what by_rows_ says, or back.
  std::vector<Scalar> reordered(std::vector<Scalar> const& from, bool back) const {
    if (by_rows_) return from;
    std::vector<Scalar> to(from.size());
    for (std::size_t i = 0; i < std::size_t(n_); ++i)
      for (std::size_t c = 0; c < std::size_t(b_); ++c) {
        std::size_t const by_row = i * b_ + c, by_column = c * n_ + i;
        to[back ? by_row : by_column] = from[back ? by_column : by_row];
      }
    return to;
  }

  void multiply_by_matrix() const {
    Scalar const one = 1, zero = 0;
    check(cusparseSpMM(handles_.sparse, plain, plain, &one, matrix_, of_p_, &zero, of_q_,
                       data_type<Scalar>, algorithm_, buffer_.get()));
  }
  /// \brief Of each column of V with that of W, by all b x b products in one call.
  std::vector<Scalar> products(DeviceArray<Scalar> const& V, DeviceArray<Scalar> const& W) const {
    int const leading = by_rows_ ? b_ : n_;
    gemm(handles_.blas, by_rows_ ? CUBLAS_OP_N : CUBLAS_OP_T, by_rows_ ? CUBLAS_OP_T : CUBLAS_OP_N,
         b_, b_, n_, V.get(), leading, W.get(), leading, 0, gram_.get(), b_);
    handles_.synchronized_now();
    auto const all = copy_to_host(gram_.get(), std::size_t(b_) * b_);
    std::vector<Scalar> diagonal(b_);
    for (int c = 0; c < b_; ++c) diagonal[c] = all[std::size_t(c) * b_ + c];
    return diagonal;
  }
  /// \brief W = W + sign V diag(factors)
  void add(std::vector<Scalar> const& factors, Scalar sign, DeviceArray<Scalar> const& V,
           DeviceArray<Scalar> const& W) const {
    std::vector<Scalar> matrix(std::size_t(b_) * b_);
    for (int c = 0; c < b_; ++c) matrix[std::size_t(c) * b_ + c] = sign * factors[c];
    send(matrix);
    if (by_rows_)
      gemm(handles_.blas, CUBLAS_OP_N, CUBLAS_OP_N, b_, n_, b_, gram_.get(), b_, V.get(), b_, 1,
           W.get(), b_);
    else
      gemm(handles_.blas, CUBLAS_OP_N, CUBLAS_OP_N, n_, b_, b_, V.get(), n_, gram_.get(), b_, 1,
           W.get(), n_);
  }
  /// \brief V = V diag(factors)
  void scale(std::vector<Scalar> const& factors, DeviceArray<Scalar> const& V) const {
    send(factors);
    if (by_rows_)
      dgmm(handles_.blas, CUBLAS_SIDE_LEFT, b_, n_, V.get(), b_, gram_.get());
    else
      dgmm(handles_.blas, CUBLAS_SIDE_RIGHT, n_, b_, V.get(), n_, gram_.get());
  }
  void send(std::vector<Scalar> const& values) const {
    check(cudaMemcpyAsync(gram_.get(), values.data(), values.size() * sizeof(Scalar),
                          cudaMemcpyHostToDevice, handles_.stream));
  }

  int n_, b_;
  bool by_rows_;
  cusparseSpMMAlg_t algorithm_;
  Handles handles_;
  DeviceArray<int> offsets_, columns_;
  DeviceArray<Scalar> values_, right_sides_, gram_, x_, r_, p_, q_;
  DeviceArray<char> buffer_;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnMatDescr_t of_p_ = nullptr, of_q_ = nullptr;
};

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_vendor_columns(PeerProblem<Scalar> const& problem,
                                           PeerRequest const& request) {
  if (!request.on_device || request.preconditioner != "none" || request.solver != "cg") return {};
  std::vector<PeerTiming> timings;
  for (bool const by_rows : {true, false}) {
    ManyColumns<Scalar> const cg(problem, by_rows);
    timings.push_back(time_variant(by_rows ? "SpMM, by rows" : "SpMM, by columns", problem, request,
                                   [&](int iterations) { return cg.solve(iterations); }));
  }
  return timings;
}

template std::vector<PeerTiming> run_vendor_columns(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_vendor_columns(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
