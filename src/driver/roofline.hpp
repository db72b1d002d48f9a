// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "output.hpp"

namespace Solder::Driver {

/// \brief The bytes per second of a copy on the space with that YAML name. The first call measures
/// it, which takes a second or two and the memory of a BandwidthTest's two arrays.
double copy_bandwidth(std::string_view space);

/// \brief A run compared with memory at the speed of a copy: the time to move words at that speed,
/// as a share of the time that the run took. NaN if unknown.
struct Roofline {
  double of_copy;   ///< for the words that Solder says its iterations move
  double of_model;  ///< for the words of equation (2) of paper 5; idr without preconditioner
};

/// \brief The shares of a run whose copy_bandwidth is known. All iterations of all right-hand sides
/// (systems) count.
Roofline roofline(RunResult const& result);

}  // namespace Solder::Driver
