// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <string>

namespace Solder::Perf {

/// \brief printf into a string.
template <class... Arguments>
std::string format(char const* pattern, Arguments... arguments) {
  int const size = std::snprintf(nullptr, 0, pattern, arguments...);
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, arguments...);
  text.pop_back();
  return text;
}

}  // namespace Solder::Perf
