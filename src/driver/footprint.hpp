// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "counts.hpp"

namespace Solder::Driver {

/// \brief The main memory that a solve on a host takes for one purpose.
struct Share {
  std::string what;      ///< to display, as in "gmres(restart=30)"
  std::string_view key;  ///< of the configuration: what to change if it is too much
  double bytes = 0;
};

/// \brief The memory of a run on a host, by purpose: the solver's vectors, the preconditioner,
/// copies of the system, and the system itself if it has yet to be made. A factor of fsai is
/// estimated, and a padded matrix counts without its padding.
std::vector<Share> footprint(RunConfig const& run, Counts const& matrix, bool is_made);

/// \brief The memory of a run's system when it is made.
Share share_of_system(RunConfig const& run, Counts const& matrix);

}  // namespace Solder::Driver
