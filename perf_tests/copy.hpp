// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "machine.hpp"
#include "sizes.hpp"

namespace Solder::Perf {

/// \brief Reads a file with `measure: copy`, which describes vectors instead of linear systems
/// (count: batches that are timed, sizes: rows), its keys overridden by "section.key=value" of the
/// command line. Everything wrong goes to `errors`.
SizesConfig read_copy(std::filesystem::path const& file,
                      std::vector<std::string> const& assignments, Driver::Errors& errors);

/// \brief `measure: copy`: times b = a for vectors of so many rows, which is what a kernel of one
/// pass can reach at its size; a table on standard output and the file's JSON. In order as
/// time_solves. \throws std::runtime_error where b is not a
nlohmann::ordered_json time_copy(SizesConfig const& config, Machine& machine);

}  // namespace Solder::Perf
