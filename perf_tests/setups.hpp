// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief `measure: setup`: times the set-up of FSAI phase by phase, beside an iteration of the
/// solver that uses it, and watches its peak of memory; a table on standard output, and the file's
/// JSON. Runs without fsai are left out, with a line that says so.
nlohmann::ordered_json time_setups(Driver::FileConfig const& file, Driver::SystemStore& store,
                                   Machine& machine);

}  // namespace Solder::Perf
