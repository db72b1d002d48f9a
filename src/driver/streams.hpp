// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace Solder::Driver {

/// \brief To be called first of all: sees to it that what cannot be written is an error of the
/// write, not a signal (a pipe that nobody reads, a file beyond the limit), and that no file takes
/// the place of a standard stream that is closed.
void prepare_streams();

/// \brief Writes to standard output, at once. std::runtime_error where that cannot be written.
void print(std::string_view text);

}  // namespace Solder::Driver
