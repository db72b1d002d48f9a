// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns.hpp"

#include <algorithm>

namespace Solder::Driver {

bool solves_many(std::string_view solver) {
  return solver == "auto" || solver == "cg" || solver == "bicgstab";
}

bool takes_batches(std::string_view preconditioner) {
  return preconditioner == "auto" || preconditioner == "none" || preconditioner == "jacobi" || preconditioner == "fsai" ||
         preconditioner == "chebyshev";
}

bool is_block(RunConfig const& run) { return run.solver.name == "block_cg"; }

bool takes_columns(RunConfig const& run) {
  std::string const& preconditioner = run.preconditioner.name;
  return (solves_many(run.solver.name) || is_block(run)) &&
         !run.preconditioner.scaling.is_wanted() &&
         (takes_batches(preconditioner) || preconditioner == "amg");
}

Report summary(std::vector<Report> const& columns, bool together) {
  Report all = columns[0];
  for (std::size_t c = 1; c < columns.size(); ++c) {
    Report const& column = columns[c];
    if (all.reason == Reason::converged && column.reason != Reason::converged) {
      all.reason = column.reason;
      all.detail = column.detail;
    }
    all.iterations = std::max(all.iterations, column.iterations);
    all.relative_residual = worse(all.relative_residual, column.relative_residual);
    all.true_relative_residual = worse(all.true_relative_residual, column.true_relative_residual);
    all.setup_seconds = std::max(all.setup_seconds, column.setup_seconds);
    all.busy_cores = std::max(all.busy_cores, column.busy_cores);
    bool const is_counted = together && column.solve_seconds == columns[c - 1].solve_seconds;
    if (!is_counted) all.solve_seconds += column.solve_seconds;
    if (all.history.size() < column.history.size())
      all.history.resize(column.history.size(), all.history.empty() ? 0 : all.history.back());
    for (std::size_t i = 0; i < all.history.size() && !column.history.empty(); ++i)
      all.history[i] =
          worse(all.history[i], column.history[std::min(i, column.history.size() - 1)]);
  }
  return all;
}

}  // namespace Solder::Driver
