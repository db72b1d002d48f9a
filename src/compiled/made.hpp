// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <solder/solver.hpp>

#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief A solver and a preconditioner that are named. Compiled only in make_solver.cpp.
template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_named(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                      Wanted const& wanted,
                                                      SolverInputs const& inputs);

/// \brief Those that auto chooses. Compiled only in auto.cpp.
template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_auto(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                     Wanted const& wanted,
                                                     SolverInputs const& inputs);

}  // namespace Solder::Compiled
