// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Whether the run checks if its matrix is Hermitian: if something needs that and the check
/// is not waived.
bool asks_for_symmetry(RunConfig const& run);

/// \brief Why the run's solver cannot be used for such a matrix, and what to do instead; empty if
/// it can. The solver itself detects a matrix that is not finite. In a batch, whose systems start
/// at the rows `starts`, the worst pair is named by its place in its system.
std::string refusal(RunConfig const& run, Symmetry const& symmetry,
                    std::vector<std::int32_t> const& starts);

/// \brief A warning that a preconditioner assumes a Hermitian matrix but the matrix is not,
/// although the solver takes any; empty if there is nothing to say.
std::string symmetry_word(RunConfig const& run, std::optional<Symmetry> const& symmetry);

}  // namespace Solder::Driver
