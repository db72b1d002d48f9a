// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace Solder::Driver {

/// \brief Must be called first. Makes failing writes (to a pipe without a reader, to a file beyond
/// the limit) errors instead of signals, and prevents files from taking the place of a closed
/// standard stream.
void prepare_streams();

/// \brief Writes to standard output and flushes it. std::runtime_error if it cannot be written.
void print(std::string_view text);

}  // namespace Solder::Driver
