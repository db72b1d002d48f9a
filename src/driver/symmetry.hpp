// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Whether the run is to look if its matrix is Hermitian: where something needs that, and
/// the check is not waived.
bool asks_for_symmetry(RunConfig const& run);

/// \brief Why the run's solver does not take such a matrix, and what to do; empty where it does.
/// One that is not finite the solver finds by itself. The worst pair of a batch, whose systems
/// start at these rows, is named by its place in its system.
std::string refusal(RunConfig const& run, Symmetry const& symmetry,
                    std::vector<std::int32_t> const& starts);

/// \brief That a preconditioner takes a matrix to be Hermitian that is not, beside a solver for
/// any; empty where there is nothing to say.
std::string symmetry_word(RunConfig const& run, std::optional<Symmetry> const& symmetry);

}  // namespace Solder::Driver
