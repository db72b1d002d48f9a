// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cuSPARSE's sparse triangular solve, SpSV.

#include "triangle.hpp"
#include "vendor.hpp"

namespace Solder::Perf {
namespace {

using namespace Vendor;

template <class Scalar>
class TriangularMatrix {
 public:
  TriangularMatrix(TriangularProblem<Scalar> const& problem, Handles const& handles)
      : handles_(handles),
        offsets_(copy_to_device<int>(problem.system.row_offsets)),
        columns_(copy_to_device<int>(problem.system.columns)),
        values_(copy_to_device<Scalar>(problem.system.values)),
        b_(copy_to_device<Scalar>(problem.system.right_side)),
        x_(allocate<Scalar>(problem.system.rows)) {
    int const n = problem.system.rows;
    check(cusparseCreateCsr(&matrix_, n, n, std::int64_t(problem.system.values.size()),
                            offsets_.get(), columns_.get(), values_.get(), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<Scalar>));
    auto fill = problem.lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    auto diagonal = problem.unit_diagonal ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
    check(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
    check(
        cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)));
    check(cusparseCreateDnVec(&b_vector_, n, b_.get(), data_type<Scalar>));
    check(cusparseCreateDnVec(&x_vector_, n, x_.get(), data_type<Scalar>));
    handles.set_pointer_mode(CUBLAS_POINTER_MODE_HOST);
  }
  TriangularMatrix(TriangularMatrix const&) = delete;
  TriangularMatrix& operator=(TriangularMatrix const&) = delete;
  ~TriangularMatrix() {
    discard();
    cusparseDestroyDnVec(b_vector_);
    cusparseDestroyDnVec(x_vector_);
    cusparseDestroySpMat(matrix_);
  }

  void discard() {
    if (solver_ != nullptr) cusparseSpSV_destroyDescr(solver_);
    solver_ = nullptr;
    buffer_.reset();
  }

  void analyse() {
    check(cusparseSpSV_createDescr(&solver_));
    std::size_t size = 0;
    check(cusparseSpSV_bufferSize(handles_.sparse, operation, &one, matrix_, b_vector_, x_vector_,
                                  data_type<Scalar>, algorithm, solver_, &size));
    buffer_ = allocate<char>(size);
    check(cusparseSpSV_analysis(handles_.sparse, operation, &one, matrix_, b_vector_, x_vector_,
                                data_type<Scalar>, algorithm, solver_, buffer_.get()));
    handles_.synchronized_now();
  }

  void update() const {
    check(cusparseSpSV_updateMatrix(handles_.sparse, solver_, values_.get(),
                                    CUSPARSE_SPSV_UPDATE_GENERAL));
    handles_.synchronized_now();
  }

  void solve() const {
    check(cusparseSpSV_solve(handles_.sparse, operation, &one, matrix_, b_vector_, x_vector_,
                             data_type<Scalar>, algorithm, solver_));
  }

  Scalar const* solution() const { return x_.get(); }

 private:
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
  static constexpr Scalar one = 1;

  Handles const& handles_;
  DeviceArray<int> offsets_, columns_;
  DeviceArray<Scalar> values_, b_, x_;
  DeviceArray<char> buffer_;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t b_vector_ = nullptr, x_vector_ = nullptr;
  cusparseSpSVDescr_t solver_ = nullptr;
};

}  // namespace

template <class Scalar>
std::vector<TriangularTiming<Scalar>> solve_triangle_with_vendor(
    TriangularProblem<Scalar> const& problem, TriangularRequest const& request) {
  if (!request.on_device) return {};
  Handles const handles;
  TriangularMatrix<Scalar> matrix(problem, handles);
  TriangularTiming<Scalar> timing{"SpSV", {}, {}, {}, {}};
  timing.analysis = time_preparation(
      request, [&] { matrix.discard(); }, [&] { matrix.analyse(); });
  timing.update = time_preparation(
      request, [] {}, [&] { matrix.update(); });
  timing.seconds = time_enough(
      request, [&] { matrix.solve(); }, [&] { handles.synchronized_now(); });
  timing.solution = copy_to_host(matrix.solution(), problem.system.rows);
  return {timing};
}

template std::vector<TriangularTiming<float>> solve_triangle_with_vendor(
    TriangularProblem<float> const&, TriangularRequest const&);
template std::vector<TriangularTiming<double>> solve_triangle_with_vendor(
    TriangularProblem<double> const&, TriangularRequest const&);

}  // namespace Solder::Perf
