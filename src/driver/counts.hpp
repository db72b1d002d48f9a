// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <solder/matrix/csr.hpp>
#include <string_view>

#include "config.hpp"

namespace Solder::Driver {

/// \brief Rows and nonzeros of a matrix and right-hand sides of its system, as numbers that do not
/// overflow.
struct Counts {
  double rows = 0, nonzeros = 0, right_hand_sides = 1;
};

/// \brief The most that the library's matrices hold, with the 32-bit row offsets of the driver's;
/// the same for every scalar and space.
inline constexpr Counts most_counts = {
    CsrMatrix<double, Kokkos::DefaultHostExecutionSpace>::most_rows,
    CsrMatrix<double, Kokkos::DefaultHostExecutionSpace>::most_nonzeros};

inline bool are_too_many(Counts const& counts) {
  return counts.rows > most_counts.rows || counts.nonzeros > most_counts.nonzeros;
}

/// \brief The largest problem.size of a generator on a grid whose matrix has not too many rows or
/// nonzeros.
double largest_size(std::string_view generator);

/// \brief How many there will be: as the configuration or the head of their file says; 1 where
/// that is not known.
std::int32_t promised_right_hand_sides(ProblemConfig const& problem);

/// \brief What is known of a system before it is made: from the parameters of the generator
/// (nonzeros of a random one: about), or from the head of its file (nonzeros: no fewer, but where
/// the file stores some twice). 0: not known, as of a file that cannot be read or is a pipe.
Counts promised_counts(ProblemConfig const& problem);

}  // namespace Solder::Driver
