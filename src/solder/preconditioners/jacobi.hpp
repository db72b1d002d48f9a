// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <solder/core/allocate.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/identity.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>

namespace Solder {

namespace Impl {

/// \brief The diagonal entries of a CSR matrix, with duplicates summed.
template <class Scalar, class Offset>
struct DiagonalOfRows {
  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;

  KOKKOS_FUNCTION Scalar operator()(std::int32_t i) const {
    Scalar sum{};
    for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
      if (columns[k] == i) sum += values[k];
    return sum;
  }
};

/// \brief inverse[i] = 1 / diagonal(i), and the first i for which diagonal(i) is zero, or so small
/// that the inverse overflows.
template <class Scalar, class Diagonal>
struct InvertDiagonal {
  Diagonal diagonal;
  Scalar* inverse;

  KOKKOS_FUNCTION void operator()(std::int32_t i, std::int32_t& zero) const {
    Scalar const entry(diagonal(i));
    Scalar const inverted = Scalar(1) / entry;
    inverse[i] = inverted;
    bool const is_zero =
        entry == Scalar{} || (is_finite(Wide<Scalar>(entry)) && !is_finite(Wide<Scalar>(inverted)));
    if (is_zero && i < zero) zero = i;
  }
};

/// \brief D^-1 in a program; see Identity::Operator in core/identity.hpp.
template <class Scalar>
struct JacobiOperator {
  Scalar const* inverse;
  std::int32_t columns;  ///< vector entries per row: the number of right-hand sides
  static constexpr bool is_identity = false, is_pointwise = true, takes_columns = true,
                        takes_batches = true;
  using compiled_for = Scalar;  ///< see src/compiled

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(std::int32_t i, Scalar const& r) const {
    return inverse[row_of_entry(i, columns)] * r;
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const {
    Impl::ask_for(inverse + row_of_entry(i, columns));
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar undo(std::int32_t i, Scalar const& z) const {
    return z / inverse[row_of_entry(i, columns)];
  }
  bool operator==(JacobiOperator const&) const = default;
};

}  // namespace Impl

/// \brief The diagonal preconditioner z = D^-1 r, D = diag(A).
///
/// Costs no kernel: solvers scale inside their own kernels. If a diagonal entry is zero, missing or
/// so small that its inverse overflows, solvers refuse to start (Reason::breakdown, with the row).
/// Call refresh after the values of A have changed. If A is an operator without entries, pass its
/// diagonal.
template <class Scalar, class Exec>
class Jacobi : public Impl::PreconditionerBase<Jacobi<Scalar, Exec>, Exec, Scalar> {
 public:
  /// \brief What solvers embed in their kernels.
  using Operator = Impl::JacobiOperator<Scalar>;

  /// \brief Inverts the diagonal of a square matrix with CsrMatrix's members; at most one kernel.
  /// \throws std::invalid_argument if A is not square
  template <class Matrix>
  Jacobi(Exec const& exec, Matrix const& A) : Jacobi(exec, A.rows()) {
    refresh(exec, A);
  }

  /// \brief Inverts a diagonal that is given as a view of rank 1 in memory that Exec can access;
  /// one kernel. Keeps no reference to it.
  /// \throws std::length_error if it has more entries than kernels support: 2^31 - 2^22 - 1
  template <Impl::IsView Diagonal>
  Jacobi(Exec const& exec, Diagonal const& diagonal) : Jacobi(exec, checked_rows(diagonal)) {
    refresh(exec, diagonal);
  }

  /// \brief Inverts the diagonal again, for an A with the same number of rows and new values. If it
  /// throws, the old inverse stays in use. If that was already overwritten, failure() says so until
  /// a refresh succeeds.
  /// \throws std::invalid_argument if A is not square or has a different number of rows
  template <class Matrix>
  void refresh(Exec const& exec, Matrix const& A) {
    if (A.rows() != A.columns() || A.rows() != rows())
      throw std::invalid_argument("Solder::Jacobi: a square matrix of " + std::to_string(rows()) +
                                  " rows is needed, not " + std::to_string(A.rows()) + " x " +
                                  std::to_string(A.columns()));
    using Offset = std::remove_cvref_t<decltype(*A.row_offsets().data())>;
    Impl::with_memory_for("Solder::Jacobi", A.rows(), A.nonzeros(), [&] {
      invert(exec,
             Impl::DiagonalOfRows<Scalar, Offset>{A.row_offsets().data(), A.column_indices().data(),
                                                  A.values().data()},
             A.nonzeros());
    });
    this->set_made_of(A);
  }

  /// \brief The same, for a diagonal with new values.
  /// \throws std::invalid_argument if it has a different length
  template <Impl::IsView Diagonal>
  void refresh(Exec const& exec, Diagonal const& diagonal) {
    static_assert(Diagonal::rank() == 1, "Solder::Jacobi: a diagonal is a view of rank 1");
    static_assert(Impl::can_access<Exec, Diagonal>,
                  "Solder::Jacobi: Exec cannot access the memory of this diagonal; copy it to "
                  "Exec::memory_space");
    if (diagonal.extent(0) != inverse_.extent(0))
      throw std::invalid_argument("Solder::Jacobi: a diagonal of " + std::to_string(rows()) +
                                  " entries is needed, not " + std::to_string(diagonal.extent(0)));
    Impl::with_memory_for("Solder::Jacobi", rows(), rows(),
                          [&] { invert(exec, diagonal, rows()); });
  }

  /// \brief Rows of the matrices that it can be applied to.
  std::int32_t rows() const { return static_cast<std::int32_t>(inverse_.extent(0)); }
  /// \brief For solvers; see Application.
  Operator open(Arena<Exec>& arena) const { return {inverse_.data(), arena.columns()}; }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  template <class Of>
  static constexpr double words(std::int32_t rows) {
    return rows;
  }
  /// \brief The first row whose diagonal entry is zero, or so small that its inverse overflows; or
  /// -1.
  std::int32_t zero_row() const { return std::max(zero_row_(), -1); }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const {
    if (zero_row_() == unknown)
      return "the inverse of its diagonal is unfinished because an exception interrupted it: "
             "call "
             "refresh again";
    if (zero_row() < 0) return {};
    return "the diagonal entry of row " + Impl::counted(zero_row()) +
           " is zero, or too small to divide by: D^-1 does not exist";
  }

 private:
  static constexpr std::int32_t unknown = -2;

  Jacobi(Exec const& exec, std::int32_t rows)
      : inverse_(Impl::allocate<Scalar>(exec, "Solder::jacobi::inverse", rows)),
        zero_row_(Impl::allocate_view<decltype(zero_row_)>(Kokkos::DefaultHostExecutionSpace(),
                                                           "Solder::jacobi::zero_row")) {}

  template <class Diagonal>
  static std::int32_t checked_rows(Diagonal const& diagonal) {
    if (diagonal.extent(0) > std::size_t(Impl::most_rows))
      throw std::length_error("Solder::Jacobi: at most " + std::to_string(Impl::most_rows) +
                              " entries, not " + std::to_string(diagonal.extent(0)));
    return static_cast<std::int32_t>(diagonal.extent(0));
  }

  /// \brief diagonal(i) is entry i, on the device; to read them all takes as many entries of A.
  ///
  /// On a host whose cores are taken, other threads may wait for a core for some milliseconds: the
  /// calling thread reads a million entries in less.
  template <class Diagonal>
  void invert(Exec const& exec, Diagonal const& diagonal, std::int64_t entries) {
    std::int32_t const none = std::numeric_limits<std::int32_t>::max();
    std::int32_t first = none;
    zero_row_() = unknown;
    Impl::InvertDiagonal<Scalar, Diagonal> const invert_entry{diagonal, inverse_.data()};
    if (Impl::is_host_space<Exec> && entries <= 1'000'000)
      for (std::int32_t i = 0; i < rows(); ++i) invert_entry(i, first);
    else
      Kokkos::parallel_reduce("Solder::jacobi::invert", Kokkos::RangePolicy<Exec>(exec, 0, rows()),
                              invert_entry, Kokkos::Min<std::int32_t>(first));
    zero_row_() = first == none ? -1 : first;
  }

  Kokkos::View<Scalar*, typename Exec::memory_space> inverse_;
  Kokkos::View<std::int32_t, Kokkos::HostSpace> zero_row_;  // shared by copies, like inverse_
};

template <class Scalar, class Exec, class Offset>
Jacobi(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&) -> Jacobi<Scalar, Exec>;
template <class Exec, Impl::IsView Diagonal>
Jacobi(Exec const&, Diagonal const&) -> Jacobi<typename Diagonal::non_const_value_type, Exec>;

}  // namespace Solder
