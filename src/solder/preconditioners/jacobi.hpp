// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <solder/core/arena.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>

namespace Solder {

/// \brief No preconditioner: z = r.
struct Identity {
  /// \brief Applied inside a solver's own kernels, row by row.
  struct Operator {
    static constexpr bool is_identity = true, is_pointwise = true;

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

  /// \brief Rows of the matrices that it is for; -1: of any.
  static constexpr std::int32_t rows() { return -1; }
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
/// \brief In place of an M that does not come into it.
using NoOperation = Identity::Operator;
}  // namespace Impl

/// \brief The diagonal preconditioner z = D^-1 r, D = diag(A).
///
/// Costs no kernel: solvers scale inside their own. A zero or missing diagonal entry is remembered,
/// and solvers refuse to start with it (Reason::breakdown names the row). Call refresh after the
/// values of A have changed.
template <class Scalar, class Exec>
class Jacobi {
 public:
  /// \brief See Identity::Operator.
  struct Operator {
    Scalar const* inverse;
    static constexpr bool is_identity = false, is_pointwise = true;

    KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(std::int32_t i, Scalar const& r) const {
      return inverse[i] * r;
    }
    KOKKOS_FORCEINLINE_FUNCTION Scalar undo(std::int32_t i, Scalar const& z) const {
      return z / inverse[i];
    }
    bool operator==(Operator const&) const = default;
  };

  /// \brief Inverts the diagonal of a square matrix with CsrMatrix's members; one kernel.
  /// \throws std::invalid_argument where A is not square
  template <class Matrix>
  Jacobi(Exec const& exec, Matrix const& A)
      : inverse_(Kokkos::view_alloc("Solder::jacobi::inverse", exec, Kokkos::WithoutInitializing),
                 A.rows()),
        zero_row_(Kokkos::view_alloc("Solder::jacobi::zero_row", Kokkos::WithoutInitializing)) {
    refresh(exec, A);
  }

  /// \brief Inverts the diagonal again, A having the same rows and new values.
  template <class Matrix>
  void refresh(Exec const& exec, Matrix const& A) {
    if (A.rows() != A.columns() || std::size_t(A.rows()) != inverse_.extent(0))
      throw std::invalid_argument("Solder::Jacobi: a square matrix of " +
                                  std::to_string(inverse_.extent(0)) + " rows is needed, not " +
                                  std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
    auto const* const offsets = A.row_offsets().data();
    std::int32_t const* const columns = A.column_indices().data();
    Scalar const* const values = A.values().data();
    Scalar* const inverse = inverse_.data();
    std::int32_t const none = std::numeric_limits<std::int32_t>::max();
    std::int32_t first = none;
    Kokkos::parallel_reduce(
        "Solder::jacobi::invert", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        KOKKOS_LAMBDA(int i, std::int32_t& zero) {
          Scalar diagonal{};
          for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
            if (columns[k] == i) diagonal += values[k];
          inverse[i] = Scalar(1) / diagonal;
          if (diagonal == Scalar{} && i < zero) zero = i;
        },
        Kokkos::Min<std::int32_t>(first));
    zero_row_() = first == none ? -1 : first;
  }

  /// \brief Rows of the matrices that it is for.
  std::int32_t rows() const { return static_cast<std::int32_t>(inverse_.extent(0)); }
  Operator open(Arena<Exec>&) const { return {inverse_.data()}; }
  template <class Of>
  static constexpr double words(std::int32_t rows) {
    return rows;
  }
  /// \brief The row whose diagonal entry is zero, or -1.
  std::int32_t zero_row() const { return zero_row_(); }

 private:
  Kokkos::View<Scalar*, typename Exec::memory_space> inverse_;
  Kokkos::View<std::int32_t, Kokkos::HostSpace> zero_row_;  // shared by copies, as inverse_ is
};

}  // namespace Solder
