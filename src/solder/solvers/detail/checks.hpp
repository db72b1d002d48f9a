// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <solder/core/plan.hpp>
#include <solder/core/report.hpp>
#include <solder/core/vectors.hpp>
#include <solder/solvers/detail/system.hpp>

namespace Solder::Impl {

/// \brief Refuses what no solver takes.
template <class Exec>
void check_system(std::string const& name, SystemBase<Exec> const& system,
                  SolverOptions const& options) {
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
template <class Exec>
void check_fresh(std::string const& name, SystemBase<Exec> const& system,
                 SolverOptions const& options) {
  if (system.is_matrix_stale())
    throw std::logic_error(name +
                           ": the values of the CsrMatrix have changed since its copy in another "
                           "format was made: call refresh(exec, A) of the copy");
  if (system.is_preconditioner_stale() && !options.allow_stale_preconditioner)
    throw std::logic_error(name +
                           ": the values of the matrix have changed since the preconditioner was "
                           "set up: call its refresh(exec, A), that of an inner one first, or set "
                           "allow_stale_preconditioner to keep using it");
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

}  // namespace Solder::Impl
