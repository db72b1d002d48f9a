// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace Solder::Impl::fsai {

/// \brief How rows are postfiltered: see FsaiOptions.
struct Filtration {
  double delta, energy_limit;
};

/// \brief What postfiltration drops from a row g of G: entries of |g_j| <= delta ||g||, not the
/// diagonal (paper 2, 3.11), unless the row would lose too much.
///
/// g A g^H, 1 before, grows by eps A eps^H of the dropped part eps, which (3.13) scales away again.
/// Where A is badly scaled or nearly singular (shells, flow problems) small entries may hold most
/// of g A g^H, and without them FSAI is worse than Jacobi. So where eps A eps^H exceeds the limit,
/// delta is halved for the row, until it does not; after eight times zeros only are dropped.
class RowFilter {
 public:
  KOKKOS_FUNCTION explicit RowFilter(Filtration const& filtration)
      : delta_squared_(filtration.delta * filtration.delta), limit_(filtration.energy_limit) {}

  /// \brief Whether an entry of |g_j|^2 = squared is dropped from a row of that ||g||^2.
  KOKKOS_FORCEINLINE_FUNCTION bool drops(double squared, double norm_squared) const {
    return !(squared > delta_squared_ * norm_squared);
  }

  /// \brief Whether the row is to be filtered again, with less, since its dropped part has this
  /// eps A eps^H, relative to g A g^H.
  KOKKOS_FORCEINLINE_FUNCTION bool eases(double energy) {
    if (!(energy > limit_) || delta_squared_ == 0) return false;
    delta_squared_ = ++times_ <= 8 ? delta_squared_ / 4 : 0;
    return true;
  }

 private:
  double delta_squared_, limit_;
  int times_ = 0;
};

}  // namespace Solder::Impl::fsai
