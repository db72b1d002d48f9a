// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <solder/core/deadline.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/triangular/minimum_degree.hpp>
#include <solder/preconditioners/detail/triangular/neighbours.hpp>
#include <utility>
#include <vector>

#include "candidates.hpp"

namespace Solder::Compiled {

/// \brief A complete factor of a matrix A, of which only the size is known.
class CountedFactor {
 public:
  /// \brief Orders A on the host (`ordering: amd`), its pattern taken as symmetric, and counts the
  /// entries. Once: it does nothing if it was called before.
  /// \return whether they are known: there may have been no memory, or not so many seconds
  template <class T, class Exec>
  bool count(CsrMatrix<T, Exec> const& A, double seconds) {
    if (!std::exchange(has_tried_, true)) try {
        Impl::Deadline const deadline(seconds);
        auto const offsets =
            Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.row_offsets());
        auto const columns =
            Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.column_indices());
        Impl::triangular::MinimumDegree by_degree(
            Impl::triangular::neighbours_of(A.rows(), offsets.data(), columns.data()));
        order_ = std::make_shared<std::vector<std::int32_t> const>(by_degree.order());
        factor_ = {by_degree.entries(), by_degree.products()};
      } catch (std::exception const&) {
      }
    return factor_.is_known();
  }
  CompleteFactor const& factor() const { return factor_; }
  /// \brief A's rows in the order of its elimination; null if it is not known.
  std::shared_ptr<std::vector<std::int32_t> const> const& order() const { return order_; }

 private:
  bool has_tried_ = false;
  CompleteFactor factor_{};
  std::shared_ptr<std::vector<std::int32_t> const> order_;
};

}  // namespace Solder::Compiled
