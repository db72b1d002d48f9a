// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/report.hpp>
#include <string_view>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Whether the solver is for blocks of right-hand sides alone.
bool is_block(RunConfig const& run);

/// \brief Whether the library solves several right-hand sides of this run at once, if the matrix is
/// in compressed rows (see Solver::solve).
bool takes_columns(RunConfig const& run);

/// \brief Whether this solver solves several right-hand sides at once, each by itself, and batches
/// of systems; see Solver::solve.
bool solves_many(std::string_view solver);

/// \brief Whether this preconditioner takes batches of systems.
bool takes_batches(std::string_view preconditioner);

/// \brief One report of all right-hand sides, or of all systems of a batch; of one: its own.
///
/// The most iterations, the worst residuals and, iteration by iteration, the worst history, in
/// which those that ended keep their last residual; the reason and the detail of the first that did
/// not converge. solve_seconds is the time of all.
/// \param together whether neighbours of the same solve_seconds were solved at once
Report summary(std::vector<Report> const& columns, bool together);

}  // namespace Solder::Driver
