// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>

namespace SolderTest {

/// \brief Whether all is to be tried, for minutes (`./test --long`); else what takes seconds.
inline bool is_long() { return std::getenv("SOLDER_TEST_LONG") != nullptr; }

}  // namespace SolderTest
