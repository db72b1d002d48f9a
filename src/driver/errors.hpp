// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <solder/core/errors.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace Solder::Driver {

/// \brief Concatenates the parts, which are strings of any kind.
template <class... Parts>
std::string concat(Parts const&... parts) {
  std::string text;
  ((text += std::string_view(parts)), ...);
  return text;
}

/// \brief Whether a character of UTF-8 or ASCII text is a control character.
constexpr bool is_control(char c) { return (c >= 0 && c < ' ') || c == 127; }

/// \brief The message of an exception. A std::bad_alloc has none, so that memory is lacking is said
/// instead.
inline char const* what_of(std::exception const& error) {
  bool const is_mute = dynamic_cast<std::bad_alloc const*>(&error) != nullptr &&
                       dynamic_cast<OutOfMemory const*>(&error) == nullptr;
  return is_mute ? "out of memory, even for a small allocation" : error.what();
}

/// \brief Everything found wrong with the input of one call, in the order found, each message once.
/// Control characters in the user's text, which a terminal would obey, become '?'; line ends stay.
class Errors {
 public:
  /// \brief Adds "where: what". `where` is a file, a file:line, a command line option or empty;
  /// `what` is one or more strings.
  template <class... What>
  void add(std::string_view where, What const&... what) {
    std::string message = concat(where, where.empty() ? "" : ": ", what...);
    std::replace_if(
        message.begin(), message.end(), [](char c) { return is_control(c) && c != '\n'; }, '?');
    if (std::find(messages_.begin(), messages_.end(), message) == messages_.end())
      messages_.push_back(std::move(message));
  }
  bool empty() const { return messages_.empty(); }
  std::vector<std::string> const& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

}  // namespace Solder::Driver
