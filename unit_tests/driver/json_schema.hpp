// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

/// \brief As much of JSON Schema as docs/results.schema.json uses: type, enum, properties,
/// required, additionalProperties, items, anyOf and $ref into $defs. Other words that assert
/// something are errors.
class JsonSchema {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonSchema(Json schema) : root_(std::move(schema)) {}

  /// \brief The first thing that is wrong, after its place; empty if nothing is.
  std::string wrong_with(Json const& value) const { return check(root_, value, ""); }

 private:
  static bool is_of(std::string const& type, Json const& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }

  std::string check(Json const& schema, Json const& value, std::string const& at) const {
    for (auto const& [word, what] : schema.items()) {
      std::string wrong;
      if (word == "type") {
        bool fits = what.is_string() && is_of(what, value);
        if (what.is_array())
          fits =
              std::any_of(what.begin(), what.end(), [&](Json const& t) { return is_of(t, value); });
        if (!fits) wrong = " is not of type " + what.dump();
      } else if (word == "enum") {
        if (std::find(what.begin(), what.end(), value) == what.end())
          wrong = " is none of " + what.dump();
      } else if (word == "required") {
        for (Json const& name : what)
          if (value.is_object() && !value.contains(name.get<std::string>()))
            wrong = " has no " + name.get<std::string>();
      } else if (word == "properties") {
        for (auto const& [name, inner] : what.items())
          if (wrong.empty() && value.is_object() && value.contains(name))
            if (wrong = check(inner, value[name], at + "/" + name); !wrong.empty()) return wrong;
      } else if (word == "additionalProperties") {
        if (value.is_object())
          for (auto const& [name, inner] : value.items()) {
            if (schema.contains("properties") && schema["properties"].contains(name)) continue;
            if (what == false) wrong = " has " + name + ", which the schema has not";
            if (!what.is_object()) continue;
            if (std::string inside = check(what, inner, at + "/" + name); !inside.empty())
              return inside;
          }
      } else if (word == "items") {
        if (value.is_array())
          for (std::size_t i = 0; i < value.size(); ++i)
            if (wrong = check(what, value[i], at + "/" + std::to_string(i)); !wrong.empty())
              return wrong;
      } else if (word == "anyOf") {
        bool const fits = std::any_of(what.begin(), what.end(), [&](Json const& one) {
          return check(one, value, at).empty();
        });
        if (!fits) wrong = " fits none of " + what.dump();
      } else if (word == "$ref") {
        Json const& target = root_.at(Json::json_pointer(what.get<std::string>().substr(1)));
        if (wrong = check(target, value, at); !wrong.empty()) return wrong;
      } else if (word != "$schema" && word != "$defs" && word != "title" && word != "description") {
        wrong = ": the schema has " + word + ", which this test does not know";
      }
      if (!wrong.empty()) return (at.empty() ? "the document" : at) + wrong;
    }
    return {};
  }

  Json root_;
};
