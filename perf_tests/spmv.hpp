// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief `measure: spmv`: times y = A x alone for the matrix and the format of every run, beside
/// that of the peers; a table on standard output with geometric means at its end, and the file's
/// JSON.
///
/// Runs that differ in nothing but what a product does not depend on are one. In order as
/// time_solves. \throws std::runtime_error where Solder's result is wrong by more than rounding
nlohmann::ordered_json time_products(Driver::FileConfig const& file,
                                     std::vector<std::string> const& peers,
                                     Driver::SystemStore& store, Machine& machine);

}  // namespace Solder::Perf
