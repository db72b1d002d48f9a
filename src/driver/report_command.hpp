// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "errors.hpp"
#include "report/records.hpp"

namespace Solder::Driver {

/// \brief Reads files of results; what is wrong with them goes to `errors`.
std::vector<Charts::Record> read_records(std::vector<std::filesystem::path> const& files,
                                         Errors& errors);

/// \brief `solder-driver report FILE.json ...`: makes pages and pictures of results that were
/// written before, and solves nothing. Says on standard error what is wrong. \param arguments those
/// after `report` \return the exit code, 0 or 2
int report_command(std::vector<std::string> const& arguments);

}  // namespace Solder::Driver
