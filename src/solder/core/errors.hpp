// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace Solder {

/// \brief What the user gave is wrong: a file, a parameter, a key. The message is for people: what
/// is wrong, where (file and line), and what would be right. Never thrown for a failed solve.
class InputError : public std::runtime_error {
 public:
  /// \brief An error with this message.
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

/// \brief Memory does not suffice: says for what, and how much was asked for. Takes none itself.
class OutOfMemory : public std::bad_alloc {
 public:
  /// \param space whose memory: "Host"
  /// \param label of the array
  OutOfMemory(char const* space, char const* label, std::size_t bytes) noexcept {
    double const size = static_cast<double>(bytes);
    bool const few = size < 1e6, many = size >= 1e9;
    std::snprintf(text_, sizeof text_, "out of memory: cannot allocate %.*f %s of %s memory for %s",
                  few ? 0 : 1, few ? size : size / (many ? 1e9 : 1e6),
                  few    ? "bytes"
                  : many ? "GB"
                         : "MB",
                  space, label);
  }
  /// \brief A small allocation failed, in work on a matrix of this size.
  OutOfMemory(char const* what, std::int64_t rows, std::int64_t nonzeros) noexcept {
    std::snprintf(
        text_, sizeof text_,
        "out of memory (%s): the host has too little memory for a matrix of %lld rows and "
        "%lld nonzeros",
        what, static_cast<long long>(rows), static_cast<long long>(nonzeros));
  }

  /// \brief The message; it lives as long as the error.
  char const* what() const noexcept override { return text_; }

 private:
  char text_[200];
};

namespace Impl {

/// \brief Calls f, which works on a matrix of so many rows and nonzeros. If a small allocation
/// fails on the host, OutOfMemory says what was worked on.
template <class F>
decltype(auto) with_memory_for(char const* what, std::int64_t rows, std::int64_t nonzeros,
                               F const& f) {
  try {
    return f();
  } catch (OutOfMemory const&) {
    throw;
  } catch (std::bad_alloc const&) {
    throw OutOfMemory(what, rows, nonzeros);
  }
}

/// \brief A T that is shared, on the host. \throws OutOfMemory
template <class T>
std::shared_ptr<T> make_shared_on_host(char const* label) {
  try {
    return std::make_shared<T>();
  } catch (std::bad_alloc const&) {
    throw OutOfMemory("Host", label, sizeof(T));
  }
}

/// \brief A row or column as people and Matrix Market files count.
inline std::string counted(std::int64_t index) {
  return std::to_string(index + 1) + " (counted from 1)";
}

}  // namespace Impl
}  // namespace Solder
