// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "machine.hpp"
#include "sizes.hpp"

namespace Solder::Perf {

/// \brief Reads a file with `measure: batched_cholesky`, which describes batches instead of linear
/// systems (count: matrices, sizes: orders), its keys overridden by "section.key=value" of the
/// command line. Everything wrong goes to `errors`.
SizesConfig read_batched_cholesky(std::filesystem::path const& file,
                                  std::vector<std::string> const& assignments,
                                  Driver::Errors& errors);

/// \brief `measure: batched_cholesky`: times A = L L^H for many matrices of each order, stored by
/// rows and by columns, beside the vendor's; a table on standard output and the file's JSON. In
/// order as time_solves. \throws std::runtime_error where Solder's residual is more than rounding
nlohmann::ordered_json time_batched_cholesky(SizesConfig const& config,
                                             std::vector<std::string> const& peers,
                                             Machine& machine);

}  // namespace Solder::Perf
