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

/// \brief What a matrix in another format knows of the CsrMatrix that it was made from: how large
/// it is, and whether its values have changed.
template <class Scalar, class Exec>
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

 protected:
  template <class Offset>
  explicit CopyOfCsr(CsrMatrix<Scalar, Exec, Offset> const& csr)
      : rows_(csr.rows()), columns_(csr.columns()), nonzeros_(csr.nonzeros()) {}

  /// \param name of the matrix, for people. \throws std::invalid_argument
  template <class Offset>
  void check_pattern(char const* name, CsrMatrix<Scalar, Exec, Offset> const& csr) const {
    if (csr.rows() != rows_ || csr.columns() != columns_ || csr.nonzeros() != nonzeros_)
      throw std::invalid_argument(std::string(name) + ": refresh needs the pattern it was made " +
                                  "from, " + std::to_string(rows_) + " x " +
                                  std::to_string(columns_) + " with " + std::to_string(nonzeros_) +
                                  " nonzeros");
  }
  /// \brief Says that the values are those of csr now.
  template <class Offset>
  void has_values_of(CsrMatrix<Scalar, Exec, Offset> const& csr) {
    *of_ = made_of(csr);
    version_.change();
  }
  /// \brief Says that this copy of a matrix has values of its own.
  void is_another() {
    version_ = {};
    of_ = make_shared_on_host<MadeOf>("Solder: made of");
  }

 private:
  std::int32_t rows_, columns_;
  std::int64_t nonzeros_;
  Version version_;
  std::shared_ptr<MadeOf> of_ = make_shared_on_host<MadeOf>("Solder: made of");  // shared by copies
};

}  // namespace Solder::Impl
