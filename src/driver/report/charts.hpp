// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "records.hpp"

namespace Solder::Charts {

/// \brief What a picture can show. `automatic`: what the runs are for.
enum class Kind { automatic, convergence, time, size, profile, roofline };
/// \brief Their names in YAML.
inline constexpr std::array<std::string_view, 6> kind_names = {"auto", "convergence", "time",
                                                               "size", "profile",     "roofline"};
constexpr std::string_view to_string(Kind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

/// \brief The kind of that name; automatic where there is none.
constexpr Kind kind_of(std::string_view name) {
  for (std::size_t k = 0; k < kind_names.size(); ++k)
    if (kind_names[k] == name) return static_cast<Kind>(k);
  return Kind::automatic;
}

/// \brief The runs of all records. Of several records a run's way begins with its file's name.
std::vector<Run> all_runs(std::vector<Record> const& records);

/// \brief What tells the runs apart beside their problems: of each the values of the keys in which
/// some differ, "amg strength=0.25"; of others than Solder their names.
std::vector<std::string> ways_of(std::vector<Run> const& runs);

/// \brief Pictures of one kind, as SVG; none where the runs have nothing of it.
std::vector<std::string> pictures(Kind kind, std::vector<Run> const& runs);

/// \brief The kind that runs are for: several sizes of a problem are `size`, several ways for
/// several problems `profile`; else `convergence` where there are histories, and `time`.
Kind natural_kind(std::vector<Run> const& runs);

}  // namespace Solder::Charts
