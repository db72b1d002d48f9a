// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace Solder::Driver {
namespace {

/// Of a number or a text.
template <class T>
std::string text_of(T const& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(double value) : text_(std::isfinite(value) ? text_of(value) : "null") {}

Json::Json(std::string_view text) : text_(text_of(text)) {}

Json Json::array(std::initializer_list<Json> values) {
  Json json('[', ']');
  for (Json const& value : values) json.append(value);
  return json;
}

void Json::append(Json const& value) {
  text_ += text_.size() > 1 ? ",\n  " : "\n  ";
  for (char const c : value.text()) {
    text_ += c;
    if (c == '\n') text_ += "  ";
  }
}

void Json::add(std::string_view name, Json const& value) {
  Json member(name);
  member.text_ += ": " + value.text();
  append(member);
}

void Json::add(std::initializer_list<Member> members) {
  for (auto const& [name, value] : members) add(name, value);
}

std::string Json::text() const {
  if (end_ == '\0') return text_;
  return text_ + (text_.size() > 1 ? "\n" : "") + end_;
}

}  // namespace Solder::Driver
