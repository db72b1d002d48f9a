// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bandwidth.hpp"
#include "driver/config.hpp"
#include "measure.hpp"

namespace Solder::Perf {

/// \brief A peer beside one run.
struct PeerResult {
  std::string name;
  std::vector<PeerTiming> timings;
  std::string why_not;  ///< where there are no timings

  /// \brief The fastest variant. Precondition: there are timings.
  PeerTiming const& best() const;
};

/// \brief Everything measured for one run.
struct Row {
  Driver::RunConfig const* config;
  std::int64_t rows, nonzeros;
  std::size_t scalar_bytes;
  Bandwidth bandwidth;
  Measurement solder;
  std::vector<PeerResult> peers;

  /// \brief The share of copy bandwidth that Solder's iteration used. Above 1 where caches hold the
  /// system.
  double bandwidth_fraction() const;
};

/// \brief The table's heading, with the bandwidths before it.
std::string heading(Row const& first);

/// \brief A line for Solder and one for each variant of each peer.
std::string lines(Row const& row);

/// \brief The runs of the driver's JSON, without history, with "peers" and the bandwidths added.
nlohmann::ordered_json results_json(std::vector<Row> const& rows);

}  // namespace Solder::Perf
