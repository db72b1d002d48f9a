// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <solder/core/report.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Calls `solve` `repeat` times; each call must start from scratch. Returns the reports of
/// the first call, one for each right-hand side, with the medians of solve_seconds. Throws
/// std::runtime_error if iterations or residuals differ in any bit.
/// \param each what a report is about
/// \param search a first call that chooses what all others solve with, whose attempts are then in
/// the reports; null: there is nothing to choose. Left out where `repeat` is 1
std::vector<Report> solve_repeatedly(int repeat, std::function<std::vector<Report>()> const& solve,
                                     std::string_view each = "right-hand side",
                                     std::function<std::vector<Report>()> const& search = {});

/// \brief Prints what auto has chosen for the run, and why, where that is asked for.
void introduce(RunConfig const& run, std::function<std::string()> const& explain);

}  // namespace Solder::Driver
