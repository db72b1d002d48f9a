// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <memory>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/triangular/minimum_degree.hpp>
#include <solder/preconditioners/detail/triangular/neighbours.hpp>
#include <vector>

#include "candidates.hpp"

namespace Solder::Compiled {

/// \brief Counts the entries of a complete factor of a Hermitian A, by ordering it (`ordering:
/// amd`) on the host.
/// \param order the order that was found
/// \throws OutOfTime, std::bad_alloc
template <class T, class Exec>
CompleteFactor complete_factor_of(CsrMatrix<T, Exec> const& A,
                                  std::shared_ptr<std::vector<std::int32_t> const>& order) {
  namespace triangular = Impl::triangular;
  auto const offsets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.row_offsets());
  auto const columns = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.column_indices());
  triangular::MinimumDegree by_degree(
      triangular::neighbours_of(A.rows(), offsets.data(), columns.data()));
  order = std::make_shared<std::vector<std::int32_t> const>(by_degree.order());
  return {by_degree.entries(), by_degree.products()};
}

}  // namespace Solder::Compiled
