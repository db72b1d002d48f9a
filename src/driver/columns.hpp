// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/report.hpp>
#include <string_view>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Whether any iteration ran: not where the solver does not take the matrix, or nothing is
/// set up within the time limit.
inline bool was_solved(Report const& report) { return report.runner != Runner::automatic; }

/// \brief Whether the solver is only for blocks of right-hand sides.
bool is_block(RunConfig const& run);

/// \brief Whether the library solves several right-hand sides of this run at once, if the matrix is
/// in CSR format (see Solver::solve).
bool takes_columns(RunConfig const& run);

/// \brief Whether this solver solves several right-hand sides at once but independently, and also
/// batches of systems; see Solver::solve.
bool solves_many(std::string_view solver);

/// \brief Whether this preconditioner supports batches of systems.
bool takes_batches(std::string_view preconditioner);

/// \brief One report for all right-hand sides, or for all systems of a batch; if there is only one,
/// its own report.
///
/// It has the most iterations, the worst residuals and, iteration by iteration, the worst history;
/// columns that have ended keep their last residual there. The reason and the detail are those of
/// the first one that did not converge. solve_seconds is the time of all.
/// \param together whether neighbours with the same solve_seconds were solved at once
Report summary(std::vector<Report> const& columns, bool together);

}  // namespace Solder::Driver
