// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace Solder::Driver {

/// \brief A JSON value, stored as its text. It can be destroyed when there is no memory left. The
/// destructors of nlohmann's arrays and objects allocate, and end the program if they cannot.
class Json {
 public:
  using Member = std::pair<std::string_view, Json>;

  Json(std::nullptr_t) : text_("null") {}
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(double value);  ///< null if it is not finite
  Json(std::integral auto value) : text_(std::to_string(value)) {}
  Json(std::string_view text);  ///< what is not UTF-8 is replaced
  Json(std::string const& text) : Json(std::string_view(text)) {}
  Json(char const* text) : Json(std::string_view(text)) {}
  template <class T>
  Json(std::vector<T> const& values) : Json(array()) {
    for (T const& value : values) append(value);
  }
  /// \brief An object.
  Json(std::initializer_list<Member> members) : Json('{', '}') { add(members); }

  static Json object() { return {'{', '}'}; }
  static Json array(std::initializer_list<Json> values = {});

  /// \brief Adds a value to an array.
  void append(Json const& value);
  /// \brief Adds a new member to an object.
  void add(std::string_view name, Json const& value);
  void add(std::initializer_list<Member> members);

  /// \brief The text in lines, with nested levels indented by two.
  std::string text() const;

 private:
  Json(char begin, char end) : text_(1, begin), end_(end) {}

  std::string text_;  ///< of an array or object, everything except its end
  char end_ = '\0';   ///< of an array or object
};

}  // namespace Solder::Driver
