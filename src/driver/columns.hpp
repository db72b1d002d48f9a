// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/report.hpp>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Whether the library solves several right-hand sides of this run at once, if the matrix is
/// in compressed rows (see Solver::solve).
bool takes_columns(RunConfig const& run);

/// \brief One report of all right-hand sides; of one: its own.
///
/// The most iterations, the worst residuals and, iteration by iteration, the worst history, in
/// which those that ended keep their last residual; the reason and the detail of the first that did
/// not converge. solve_seconds is the time of all.
/// \param together whether neighbours of the same solve_seconds were solved at once
Report summary(std::vector<Report> const& columns, bool together);

}  // namespace Solder::Driver
