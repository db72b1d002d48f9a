// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace Solder {

/// \brief The version of this package; CMakeLists.txt reads it here.
constexpr std::string_view version() { return "0.1.0"; }

}  // namespace Solder
