// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "machine.hpp"
#include "sizes.hpp"

namespace Solder::Perf {

/// \brief Reads a file with `measure: multi_dot`, which describes bases instead of linear systems
/// (count: rows, sizes: columns), its keys overridden by "section.key=value" of the command line.
/// Everything wrong goes to `errors`.
SizesConfig read_multi_dot(std::filesystem::path const& file,
                           std::vector<std::string> const& assignments, Driver::Errors& errors);

/// \brief `measure: multi_dot`: times h = V^H y for a tall basis of so many columns, beside the
/// peers' gemv and separate inner products; a table on standard output and the file's JSON. In
/// order as time_solves. \throws std::runtime_error where Solder's result is wrong by more than
/// rounding
nlohmann::ordered_json time_multi_dot(SizesConfig const& config,
                                      std::vector<std::string> const& peers, Machine& machine);

}  // namespace Solder::Perf
