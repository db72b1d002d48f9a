// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <solder/core/allocate.hpp>
#include <solder/core/made_of.hpp>
#include <solder/matrix/csr.hpp>

namespace Solder::Impl {

/// \brief The base of a matrix in another format than the CsrMatrix that it was made from: its
/// size, whether the values have changed since, and how to take them anew.
///
/// \tparam Matrix the derived class: it has a `name` for people, allocate_values(exec), and
/// fill(exec, csr), which copies the values to their places
template <class Matrix, class Scalar, class Exec>
class CopyOfCsr {
 public:
  /// \brief Number of rows.
  std::int32_t rows() const { return rows_; }
  /// \brief Number of columns.
  std::int32_t columns() const { return columns_; }
  /// \brief Number of entries, padding not counted.
  std::int64_t nonzeros() const { return nonzeros_; }
  /// \brief Whether the values of the CsrMatrix have changed since: see
  /// CsrMatrix::values_changed().
  bool is_stale() const { return of_->is_stale(); }
  /// \cond kernels
  Version const& version() const { return version_; }
  /// \endcond

  /// \brief Takes the values of csr, which must have the pattern that this matrix was made from;
  /// one kernel. \throws std::invalid_argument if rows, columns or nonzeros differ
  template <class Offset>
  void refresh(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr) {
    if (csr.rows() != rows_ || csr.columns() != columns_ || csr.nonzeros() != nonzeros_)
      throw std::invalid_argument(std::string(Matrix::name) + ": refresh needs the pattern it was" +
                                  " made from, " + std::to_string(rows_) + " x " +
                                  std::to_string(columns_) + " with " + std::to_string(nonzeros_) +
                                  " nonzeros");
    with_memory_for(Matrix::name, rows_, nonzeros_,
                    [&] { static_cast<Matrix&>(*this).fill(exec, csr); });
    *of_ = made_of(csr);
    version_.change();
  }
  /// \brief The matrix with the values of csr, which must have the pattern that this one was made
  /// from. This one stays as it is; the pattern is shared. \throws as refresh does
  template <class Offset>
  Matrix with_values_of(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr) const {
    Matrix other = static_cast<Matrix const&>(*this);
    with_memory_for(Matrix::name, rows_, nonzeros_, [&] {
      other.allocate_values(exec);
      CopyOfCsr& copy = other;
      copy.version_ = {};
      copy.of_ = make_shared_on_host<MadeOf>("Solder: made of");
    });
    other.refresh(exec, csr);
    return other;
  }

 protected:
  template <class Offset>
  explicit CopyOfCsr(CsrMatrix<Scalar, Exec, Offset> const& csr)
      : rows_(csr.rows()), columns_(csr.columns()), nonzeros_(csr.nonzeros()) {}

 private:
  std::int32_t rows_, columns_;
  std::int64_t nonzeros_;
  Version version_;
  std::shared_ptr<MadeOf> of_ = make_shared_on_host<MadeOf>("Solder: made of");  // shared by copies
};

}  // namespace Solder::Impl
