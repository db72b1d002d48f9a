// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace Solder {

/// \brief What the user gave is wrong: a file, a parameter, a key. The message is for people: what
/// is wrong, where (file and line), and what would be right. Never thrown for a failed solve.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string const& message) : std::runtime_error(message) {}

  /// \brief The message becomes "file: message", or "file:line: message" where line > 0.
  InputError(std::string_view file, std::int64_t line, std::string_view message)
      : std::runtime_error(located(file, line, message)) {}

 private:
  static std::string located(std::string_view file, std::int64_t line, std::string_view message) {
    std::string text(file);
    if (line > 0) text += ":" + std::to_string(line);
    return text.append(": ").append(message);
  }
};

namespace Impl {

/// \brief A row or column as people and Matrix Market files count.
inline std::string counted(std::int64_t index) {
  return std::to_string(index + 1) + " (counted from 1)";
}

}  // namespace Impl
}  // namespace Solder
