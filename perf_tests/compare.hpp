// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "driver/errors.hpp"
#include "peers/peer.hpp"

namespace Solder::Perf {

/// \brief The peers that `compare` may name, in order.
std::vector<std::string_view> peer_names();

/// \brief Was this peer found when this program was configured?
bool was_found(std::string_view peer);

/// \brief Runs one peer; nothing from a peer that was not found, or that does not take the problem.
template <class Scalar>
std::vector<PeerTiming> run_peer(std::string_view peer, PeerProblem<Scalar> const& problem,
                                 PeerRequest const& request);

/// \brief The list at the key `compare` of a YAML file, or nothing where there is none. What is not
/// a list of peer names goes to `errors`. Precondition: the file is valid YAML.
std::vector<std::string> read_compare(std::filesystem::path const& file, Driver::Errors& errors);

/// \brief What the key `measure` may say: `solve`, the default, or another.
std::vector<std::string_view> measures();

/// \brief The word at the key `measure` of a YAML file; `solve` where there is none or the file is
/// not valid YAML, which others report. Another word goes to `errors`.
std::string read_measure(std::filesystem::path const& file, Driver::Errors& errors);

}  // namespace Solder::Perf
