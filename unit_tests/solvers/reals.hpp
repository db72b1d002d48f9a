// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Short names for the tests of how solves end.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace SolderTest {

using Vector = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace SolderTest
