// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <optional>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <vector>

#include "makers.hpp"
#include "problem.hpp"

namespace Solder::Driver {

/// \brief A run's system where it is solved: its matrix in the format of the run, and its
/// preconditioner; neither is made where the matrix is refused. Compiled in systems.cpp, once a
/// scalar, whatever solvers there are.
template <class T, class Exec>
struct SystemOn {
  std::optional<Symmetry> symmetry;  ///< where the run asks for it
  std::string refusal;               ///< why the solver does not take the matrix, or empty
  Compiled::AnySystem<T, Exec> system;
  Kokkos::View<T*, Exec> b, x;  ///< of all columns, row by row
  std::string matrix_format, format_reason;
  double setup_seconds = 0;  ///< of the format and the preconditioner

  SystemOn(Exec const& exec, RunConfig const& run, System<T> const& of);
  void clear_x(Exec const& exec) const;
  std::vector<T> solution(Exec const& exec) const;
};

}  // namespace Solder::Driver
