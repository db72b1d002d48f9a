// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.hpp"

namespace Solder::Perf {

/// \brief What a file describes that has a section of sizes instead of linear systems.
struct SizesConfig {
  std::int32_t count = 0;
  std::vector<int> sizes;
  bool single_precision = false;
  std::string space = "default";
  Driver::OutputConfig output{};
  std::string text{};  ///< of the file
};

/// \brief The keys of such a section, which is named as the measure is.
struct SizesKeys {
  std::string section;
  std::string count;
  int most_count;
  std::string sizes;
  int most_size;
};

/// \brief Reads such a file, its keys overridden by "section.key=value" of the command line, what
/// neither says being the defaults'. Everything wrong goes to `errors`.
SizesConfig read_sizes(SizesKeys const& keys, SizesConfig const& defaults,
                       std::filesystem::path const& file,
                       std::vector<std::string> const& assignments, Driver::Errors& errors);

}  // namespace Solder::Perf
