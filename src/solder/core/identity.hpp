// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/arena.hpp>

namespace Solder {

/// \brief No preconditioner: z = r.
struct Identity {
  /// \cond kernels

  /// \brief Applied inside a solver's own kernels, row by row.
  struct Operator {
    static constexpr bool is_identity = true, is_pointwise = true, takes_columns = true,
                          takes_batches = true;
    using compiled_for = void;  ///< any scalar; see src/compiled

    template <class Scalar>
    KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(std::int32_t, Scalar const& r) const {
      return r;
    }
    /// \brief The r of which z = M r.
    template <class Scalar>
    KOKKOS_FORCEINLINE_FUNCTION Scalar undo(std::int32_t, Scalar const& z) const {
      return z;
    }
    bool operator==(Operator const&) const = default;
  };

  /// \endcond

  /// \brief Rows of the matrices that it is for; -1: of any.
  static constexpr std::int32_t rows() { return -1; }
  /// \brief For solvers; see Application.
  template <class Exec>
  Operator open(Arena<Exec>&) const {
    return {};
  }
  /// \brief Words of sizeof(Scalar) that one application moves, its operand and result apart.
  template <class Scalar>
  static constexpr double words(std::int32_t) {
    return 0;
  }
};

namespace Impl {
/// \brief Stands for M where none is applied.
using NoOperation = Identity::Operator;
}  // namespace Impl

}  // namespace Solder
