// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <solder/core/report.hpp>
#include <string_view>
#include <vector>

namespace Solder::Driver {

/// \brief Calls `solve` `repeat` times; each call must start from scratch. Returns the reports of
/// the first call, one for each right-hand side, with the medians of solve_seconds. Throws
/// std::runtime_error if iterations or residuals differ in any bit.
/// \param each what a report is about
std::vector<Report> solve_repeatedly(int repeat, std::function<std::vector<Report>()> const& solve,
                                     std::string_view each = "right-hand side");

}  // namespace Solder::Driver
