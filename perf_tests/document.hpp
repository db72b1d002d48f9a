// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "driver/config.hpp"
#include "driver/provenance.hpp"
#include "driver/report/records.hpp"

namespace Solder::Perf {

/// \brief Where results go that a file names no place for: FILE.json in the current folder; and a
/// page and a picture beside the JSON.
Driver::OutputConfig complete(Driver::OutputConfig output, std::filesystem::path const& file);

/// \brief Writes results with what they are from, as JSON, as a page and as a picture. Each file
/// appears whole or not at all. \param old earlier results, with which the page compares them
void write(nlohmann::ordered_json results, Driver::OutputConfig const& output,
           Driver::Provenance const& provenance, std::vector<Charts::Record> const& old);

}  // namespace Solder::Perf
