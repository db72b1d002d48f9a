// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief Refuses runs that name another runner than `launch`: in a graph, and in a kernel of the
/// whole solve, there is nothing to time apart.
void check_kernels(Driver::FileConfig const& file, Driver::Errors& errors);

/// \brief `measure: kernels`: times each kernel of a fixed number of iterations by itself, beside
/// the whole solve by the same runner; a table on standard output, and the file's JSON.
nlohmann::ordered_json time_kernels(Driver::FileConfig const& file, Driver::SystemStore& store,
                                    Machine& machine);

}  // namespace Solder::Perf
