// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/problem.hpp"
#include "machine.hpp"

namespace Solder::Perf {

/// \brief `measure: triangular`: times solves with L and U of ILU(0) of every run's matrix, with
/// its lower triangle where that has no such factors, or with the matrix itself where it is lower
/// triangular; TriangularSolve by each schedule, beside the peers; a table on standard output with
/// geometric means at its end, and the file's JSON.
///
/// For real scalars. In order as time_solves. \throws std::runtime_error where Solder's backward
/// error is more than rounding
nlohmann::ordered_json time_triangles(Driver::FileConfig const& file,
                                      std::vector<std::string> const& peers,
                                      Driver::SystemStore& store, Machine& machine);

}  // namespace Solder::Perf
