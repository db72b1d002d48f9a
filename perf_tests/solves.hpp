// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief `measure: solve`: times a fixed number of iterations of every run, beside the same of the
/// peers; a table on standard output, and the file's JSON.
///
/// On GPUs Solder runs everything before the first peer starts: the handles and contexts that GPU
/// peers leave behind slow later kernels of the process by a few per cent, Solder's and the peers'
/// alike. On hosts, whose speed drifts, Solder and the peers take turns at each problem.
nlohmann::ordered_json time_solves(Driver::FileConfig const& file,
                                   std::vector<std::string> const& peers,
                                   Driver::SystemStore& store, Machine& machine);

}  // namespace Solder::Perf
