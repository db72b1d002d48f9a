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

/// \brief A run's system on the space where it is solved: the matrix in the format of the run, and
/// the preconditioner. Neither is made if the matrix is refused. Compiled in systems.cpp, once per
/// scalar, whatever solvers there are.
template <class T, class Exec>
struct SystemOn {
  std::optional<Symmetry> symmetry;  ///< if the run asks for it
  std::string refusal;               ///< why the solver cannot be used for the matrix, or empty
  Compiled::AnySystem<T, Exec> system;
  Kokkos::View<T*, Exec> b, x;  ///< of all columns, row by row
  std::string matrix_format, format_reason;
  double setup_seconds = 0;  ///< for the format and the preconditioner

  SystemOn(Exec const& exec, RunConfig const& run, System<T> const& of);
  void clear_x(Exec const& exec) const;
  std::vector<T> solution(Exec const& exec) const;
};

}  // namespace Solder::Driver
