// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "config.hpp"

namespace Solder::Driver {

/// \brief The rows and nonzeros of a matrix and the right-hand sides of its system, as numbers that
/// do not overflow.
struct Counts {
  double rows = 0, nonzeros = 0, right_hand_sides = 1;
};

/// \brief The limits of the library's matrices with the 32-bit row offsets that the driver uses.
/// They are the same for every scalar and space.
extern Counts const most_counts;

inline bool are_too_many(Counts const& counts) {
  return counts.rows > most_counts.rows || counts.nonzeros > most_counts.nonzeros;
}

/// \brief The largest problem.size of a generator on a grid for which the matrix does not have too
/// many rows or nonzeros.
double largest_size(std::string_view generator);

/// \brief Whether a rank can make its own rows of the matrix, and no others: those of a grid.
bool makes_any_rows(ProblemConfig const& problem);

/// \brief How many right-hand sides there will be, according to the configuration or the header of
/// their file; 1 if unknown.
std::int32_t promised_right_hand_sides(ProblemConfig const& problem);

/// \brief What is known about a system before it is made: from the parameters of the generator (the
/// nonzeros of a random matrix are approximate), or from the header of its file (the nonzeros are a
/// lower bound, unless the file has duplicates). 0: unknown, as for a pipe or a file that cannot be
/// read, or on another rank than the first.
Counts promised_counts(ProblemConfig const& problem);

}  // namespace Solder::Driver
