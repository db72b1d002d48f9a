// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <solder/core/plan.hpp>
#include <solder/core/report.hpp>

namespace Solder::Impl {

/// \brief Refuses what no solver takes.
template <class System>
void check_system(std::string const& name, System const& system, SolverOptions const& options) {
  if (system.rows() != system.columns())
    throw std::invalid_argument(name + ": a square matrix is needed, not " +
                                std::to_string(system.rows()) + " x " +
                                std::to_string(system.columns()));
  std::int32_t const of_M = system.preconditioner_rows();
  if (of_M >= 0 && of_M != system.rows())
    throw std::invalid_argument(name + ": the preconditioner has " + std::to_string(of_M) +
                                " rows, and the matrix " + std::to_string(system.rows()));
  if (!(options.tolerance >= 0 && options.absolute_tolerance >= 0 &&
        options.guess_tolerance >= 0) ||
      options.max_iterations < 0)
    throw std::invalid_argument(name + ": tolerances and max_iterations must not be negative");
}

/// \brief Refuses to solve with what is older than the values of the matrix.
template <class System>
void check_fresh(std::string const& name, System const& system, SolverOptions const& options) {
  if (system.is_matrix_stale())
    throw std::logic_error(name +
                           ": the values of the CsrMatrix have changed since its copy in another "
                           "format was made: call the copy's refresh(exec, A)");
  if (system.is_preconditioner_stale() && !options.allow_stale_preconditioner)
    throw std::logic_error(name +
                           ": the values of the matrix have changed since the preconditioner was "
                           "set up: call its refresh(exec, A), an inner one's first; or set "
                           "allow_stale_preconditioner if the older one is meant");
}

/// \brief Refuses what block methods do not take.
/// \param at_once whether A and M take several right-hand sides at once
inline void check_block(std::int32_t rows, bool at_once) {
  if (columns_at_once(rows) < 2)
    throw std::length_error("Solder::BlockCg: entries of two columns of " + std::to_string(rows) +
                            " rows are too many to be counted");
  if (!at_once)
    throw std::invalid_argument(
        "Solder::BlockCg: the matrix must be a CsrMatrix, and the preconditioner none, Jacobi, "
        "Fsai, Amg or Chebyshev with one of them: others take one right-hand side");
}

/// \brief Refuses vectors of other lengths than n, or strided ones.
inline void check_lengths(std::string_view name, std::int32_t n, std::size_t b, std::size_t x,
                          bool contiguous) {
  if (b != std::size_t(n) || x != std::size_t(n))
    throw std::invalid_argument(std::string(name) + ": b and x need " + std::to_string(n) +
                                " entries, not " + std::to_string(b) + " and " + std::to_string(x));
  if (n > 0 && !contiguous)
    throw std::invalid_argument(std::string(name) +
                                ": b and x must be contiguous, not strided, views");
}

/// \brief Refuses a solution that would be written into the right-hand side, of which the true
/// residual is to be taken: b and x share an entry, or lie in the same piece of memory by different
/// strides. Columns of one table, side by side, do not.
template <class B, class X>
void check_apart(std::string_view name, B const& b, X const& x) {
  if (b.size() == 0 || x.size() == 0) return;
  auto const begin = [](auto const& view) { return reinterpret_cast<std::intptr_t>(view.data()); };
  auto const end = [&](auto const& view) {
    return begin(view) + static_cast<std::intptr_t>(view.span() * sizeof(*view.data()));
  };
  if (begin(b) >= end(x) || begin(x) >= end(b)) return;
  struct Strides {
    std::int64_t row, column;

    bool operator==(Strides const&) const = default;
  };
  std::int64_t const rows = b.extent(0), columns = b.extent(1);  // 1 where there are none
  auto const strides = [&](auto const& view) {
    return Strides{rows > 1 ? std::int64_t(view.stride(0)) : 0,
                   columns > 1 ? std::int64_t(view.stride(B::rank() - 1)) : 0};
  };
  Strides const by = strides(b);
  std::int64_t const bytes = begin(x) - begin(b), size = sizeof(*x.data());
  bool overlap = by != strides(x) || bytes % size != 0;
  for (std::int64_t c = 1 - columns; c < columns && !overlap; ++c) {
    std::int64_t const left = bytes / size - c * by.column;  // that rows are to make up for
    overlap = by.row == 0 ? left == 0 : left % by.row == 0 && std::abs(left / by.row) < rows;
  }
  if (overlap)
    throw std::invalid_argument(std::string(name) + ": b and x overlap; x needs memory of its own");
}

/// \brief Refuses vectors that the execution space cannot access.
template <class Exec, class B, class X>
constexpr void check_access() {
  using Access = Kokkos::SpaceAccessibility<Exec, typename B::memory_space>;
  using AccessX = Kokkos::SpaceAccessibility<Exec, typename X::memory_space>;
  static_assert(Access::accessible && AccessX::accessible,
                "Solder: the solver's execution space cannot access the memory of b or x");
}

/// \brief Refuses a right-hand side and a solution of other lengths than n, that are strided,
/// overlap, or that the execution space cannot access.
template <class Exec, class B, class X>
void check_vectors(std::string_view name, std::int32_t n, B const& b, X const& x) {
  check_access<Exec, B, X>();
  check_lengths(name, n, b.extent(0), x.extent(0),
                b.span_is_contiguous() && x.span_is_contiguous());
  check_apart(name, b, x);
}

/// \brief Refuses several right-hand sides and solutions of other extents than n rows, that
/// overlap, or that the execution space cannot access.
template <class Exec, class B, class X>
void check_columns(std::string_view name, std::int32_t n, B const& b, X const& x) {
  check_access<Exec, B, X>();
  if (b.extent(0) != std::size_t(n) || x.extent(0) != std::size_t(n) ||
      b.extent(1) != x.extent(1)) {
    auto const extents = [](auto const& view) {
      return std::to_string(view.extent(0)) + " x " + std::to_string(view.extent(1));
    };
    throw std::invalid_argument(std::string(name) + ": b and x need " + std::to_string(n) +
                                " rows, and the same columns, not " + extents(b) + " and " +
                                extents(x));
  }
  check_apart(name, b, x);
}

}  // namespace Solder::Impl
