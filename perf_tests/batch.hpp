// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief Refuses runs without problem.batch where the file's measure is `batch`, and runs with it
/// where the measure is another.
void check_batches(std::string const& measure, Driver::FileConfig const& file,
                   Driver::Errors& errors);

/// \brief `measure: batch`: times the solves of all systems of a batch to the run's tolerance, each
/// from x = 0 and without set-up: as the run says, all at once; some of them alone, one after
/// another, scaled to all; and beside the peers' solves of all. A table on standard output with
/// geometric means at its end, and the file's JSON. The residuals are recomputed here, from what
/// each handed back.
///
/// In order as time_solves.
nlohmann::ordered_json time_batch_solves(Driver::FileConfig const& file,
                                         std::vector<std::string> const& peers,
                                         Driver::SystemStore& store, Machine& machine);

}  // namespace Solder::Perf
