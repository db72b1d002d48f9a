// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <solder/core/report.hpp>
#include <string_view>
#include <vector>

namespace Solder::Driver {

/// \brief Calls `solve` so often, which must begin anew each time: the first reports, one of each
/// right-hand side, with the medians of solve_seconds. Throws std::runtime_error if iterations or
/// residuals differ in any bit.
/// \param each what there is a report of
std::vector<Report> solve_repeatedly(int repeat, std::function<std::vector<Report>()> const& solve,
                                     std::string_view each = "right-hand side");

}  // namespace Solder::Driver
