// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace Solder::Driver {

/// \brief `solder-driver report FILE.json ...`: makes pages and pictures of results that were
/// written before, and solves nothing. Says on standard error what is wrong. \param arguments those
/// after `report` \return the exit code, 0 or 2
int report_command(std::vector<std::string> const& arguments);

}  // namespace Solder::Driver
