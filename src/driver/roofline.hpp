// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "output.hpp"

namespace Solder::Driver {

/// \brief Bytes per second of a copy on the space of that YAML name, measured when first asked for:
/// takes a second or two, and the memory of a BandwidthTest's two arrays.
double copy_bandwidth(std::string_view space);

/// \brief A run beside what the memory could do at the speed of a copy: shares of the time that it
/// took. NaN where there is nothing to say.
struct Roofline {
  double of_copy;   ///< of the words that Solder says its iterations move
  double of_model;  ///< idr without preconditioner: of those of paper 5's equation (2)
};

/// \brief The shares of a run whose copy_bandwidth is known: all iterations of all right-hand sides
/// (systems) count.
Roofline roofline(RunResult const& result);

}  // namespace Solder::Driver
