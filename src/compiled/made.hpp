// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <solder/matrix/distributed.hpp>
#include <solder/matrix/format.hpp>
#include <solder/solver.hpp>

#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief A solver and a preconditioner that are named. Compiled only in make_solver.cpp.
/// \param rows of A, where they have been counted; null: they are counted if the format needs them
template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_named(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                      Wanted const& wanted,
                                                      SolverInputs const& inputs,
                                                      RowStatistics const* rows = nullptr);

/// \brief The same over ranks, which call it together.
template <class T, class Exec>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_named(Exec const& exec,
                                                      DistributedMatrix<T, Exec> const& A,
                                                      Wanted const& wanted,
                                                      SolverInputs const& inputs,
                                                      RowStatistics const* rows = nullptr);

/// \brief Those that auto chooses. Compiled only in auto.cpp.
/// \tparam Matrix CsrMatrix, or DistributedMatrix
template <class T, class Exec, class Matrix>
std::shared_ptr<Impl::MadeSolver<T, Exec>> make_auto(Exec const& exec, Matrix const& A,
                                                     Wanted const& wanted,
                                                     SolverInputs const& inputs);

}  // namespace Solder::Compiled
