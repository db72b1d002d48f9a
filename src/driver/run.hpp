// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "config.hpp"
#include "problem.hpp"

namespace Solder::Driver {

enum ExitCode : int { all_converged = 0, some_failed = 1, invalid_input = 2 };

/// \brief Carries out runs that were checked: solves, writes the table to standard output, the
/// output files, and the reason of each run that did not converge to standard error. Needs Kokkos
/// initialised. A run that cannot be carried out (memory, disk) ends everything with
/// invalid_input; the JSON of its file is then not written.
ExitCode run_all(std::vector<FileConfig> const& files, SystemStore& store);

}  // namespace Solder::Driver
