// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/parameters.hpp>

#include "config.hpp"

namespace Solder::Driver {

/// \brief What make_solver() is to make for a run, in this matrix format. It does not look for
/// symmetry: the driver has, and says more about it (symmetry.hpp).
Parameters parameters_of(RunConfig const& run, std::string_view matrix_format);

}  // namespace Solder::Driver
