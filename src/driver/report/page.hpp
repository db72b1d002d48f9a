// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "records.hpp"

namespace Solder::Charts {

/// \brief A page of HTML, also well-formed as XML, that needs nothing else: no script, no font, no
/// network. Below 1 MB whatever the records have: long texts and lists are cut, and say so.
/// \param records those that the page is about, not none
/// \param old what the runs are compared with; may be empty
std::string html(std::vector<Record> const& records, std::vector<Record> const& old = {});

}  // namespace Solder::Charts
