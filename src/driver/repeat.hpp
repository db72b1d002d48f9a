// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <solder/core/report.hpp>

namespace Solder::Driver {

/// \brief Calls `solve` so often, which must begin anew each time: the first report, with the
/// median of solve_seconds. Throws std::runtime_error if iterations or residuals differ in any bit.
Report solve_repeatedly(int repeat, std::function<Report()> const& solve);

}  // namespace Solder::Driver
