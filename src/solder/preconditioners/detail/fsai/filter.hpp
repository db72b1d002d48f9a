// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace Solder::Impl::fsai {

/// \brief How rows are postfiltered; see FsaiOptions.
struct Filtration {
  double delta, energy_limit;
};

/// \brief The postfiltration of a row g of G: drops the entries |g_j| <= delta ||g||, except the
/// diagonal (paper 2, 3.11), unless the row would lose too much.
///
/// Dropping the part eps raises g A g^H, which was 1, by eps A eps^H; (3.13) rescales the row to
/// undo that. If A is badly scaled or nearly singular (shells, flow problems), small entries may
/// account for most of g A g^H, and FSAI without them is worse than Jacobi. So delta is halved for
/// the row as long as eps A eps^H exceeds the limit; after eight times, only zeros are dropped.
class RowFilter {
 public:
  KOKKOS_FUNCTION explicit RowFilter(Filtration const& filtration)
      : delta_squared_(filtration.delta * filtration.delta), limit_(filtration.energy_limit) {}

  /// \brief Whether an entry with |g_j|^2 = squared is dropped from a row with ||g||^2 =
  /// norm_squared.
  KOKKOS_FORCEINLINE_FUNCTION bool drops(double squared, double norm_squared) const {
    return !(squared > delta_squared_ * norm_squared);
  }

  /// \brief Whether the row must be filtered again, with a smaller delta. `energy` is eps A eps^H
  /// of the dropped part, relative to g A g^H.
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
