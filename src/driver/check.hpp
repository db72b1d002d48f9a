// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <set>
#include <solder/core/compiled.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "problem.hpp"
#include "scalars.hpp"

namespace Solder::Driver {

/// \brief Checks what the text of the input cannot tell, before anything runs or is written: that
/// the execution spaces are in this build; that no two outputs are the same file and none
/// overwrites an input; that the folders of the outputs, after following links, exist and are
/// writable; that every problem can be made; and that there is enough memory for each run.
/// Everything wrong is added to `errors`.
void check_runs(std::vector<FileConfig> const& files, SystemStore& store, Errors& errors);

/// \brief What the runs name and this build, or one with these parts, lacks: scalars by their YAML
/// names, and "single" for what is stored in single precision beside double.
std::set<std::string> lacking_parts(std::vector<FileConfig> const& files,
                                    std::string_view scalars = built_scalars,
                                    bool has_single = Impl::has_single);

}  // namespace Solder::Driver
