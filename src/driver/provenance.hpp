// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "config.hpp"
#include "json.hpp"

namespace Solder::Driver {

/// \brief Where, when and by what results were made; nothing of it changes them.
struct Provenance {
  std::string device{};        ///< of the default execution space
  std::string date{};          ///< when the runs began, UTC: "2026-11-26T23:38:37Z"
  std::string cpu{};           ///< its model; empty: unknown
  std::string host{};          ///< its name; empty: not asked for
  int cores = 0, threads = 0;  ///< of the machine; of the default space on a host; 0: unknown
  std::vector<double> load{};  ///< averages over 1, 5 and 15 minutes; empty: unknown
  std::vector<std::string> command{};  ///< the program's name, without its folder, and arguments
  std::string file{}, yaml{};          ///< of the input: its name, and its text
};

/// \brief Of this machine, now. Needs Kokkos initialised. \param command main's arguments
Provenance provenance_here(std::vector<std::string> const& command);

/// \brief The same for the runs of a file, with the host's name where it asks for that.
Provenance provenance_of(Provenance here, FileConfig const& file);

/// \brief The members with which a JSON file of results begins: versions, machine, command, input.
Json provenance_json(Provenance const& provenance);

}  // namespace Solder::Driver
