// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/matrix/csr.hpp>

namespace Solder {

/// \brief The device side of a factorised approximate inverse: z = G^H (G r), applied by solvers as
/// two fused products.
///
/// Its first product gives t = G r and with it (r, z) = ||t||^2; the consumer of its second has z_i
/// in a register. Not row-wise: it cannot be applied inside a vector kernel, nor undone.
template <class Factor, class Offset>
struct FsaiOperator {
  static constexpr bool is_identity = false, is_row_wise = false;

  CsrOperator<Factor, Offset> G, GH;

  bool operator==(FsaiOperator const&) const = default;
};

}  // namespace Solder
