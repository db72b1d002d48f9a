// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "setting.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "text.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

/// A number as JSON and YAML 1.2 have it, also +2, .5 and 5.; nothing if it is none. Not 010, which
/// YAML 1.1 reads as 8.
template <class Number>
std::optional<Number> parse(std::string_view text) {
  bool const has_sign = text.starts_with('+') || text.starts_with('-');
  std::string_view const digits = text.substr(has_sign ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return {};
  if (text.starts_with('+')) text = digits.starts_with('-') ? "" : digits;
  Number number{};
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

/// What may have been meant by a number with zeros in front; empty where there are none.
std::string without_zeros(std::string const& text) {
  std::size_t const sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  std::size_t const first = std::min(text.find_first_not_of('0', sign), text.size());
  bool const has_digit = first < text.size() && text[first] >= '1' && text[first] <= '9';
  return first == sign || !has_digit ? "" : concat(text.substr(0, sign), text.substr(first));
}

/// A number in the one way that results and comparisons write it: the shortest.
template <class Number>
std::string written(Number number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

bool in_range(Key const& row, double x) { return std::isfinite(x) && row.range().holds(x); }

}  // namespace

std::optional<Setting> check_value(Key const& row, Text const& value, Errors& errors) {
  Setting setting{.row = &row, .text = value.text, .where = value.where};
  auto const refuse = [&](std::string_view hint = {}) {
    errors.add(value.where, row.full_name(), " must be ", row.allowed(), ", not ",
               shown(value.text), value.quoted ? " in quotes" : "", suggestion(hint));
    return std::nullopt;
  };
  bool const known_word =
      std::find(row.words.begin(), row.words.end(), value.text) != row.words.end();
  switch (row.kind) {
    case Kind::word:
      if (!known_word) return refuse(nearest(value.text, row.words));
      setting.word = value.text;
      break;
    case Kind::integer: {
      auto const integer = value.quoted ? std::nullopt : parse<std::int64_t>(value.text);
      if (!integer || !in_range(row, static_cast<double>(*integer)))
        return refuse(without_zeros(value.text));
      setting.integer = *integer;
      setting.number = static_cast<double>(*integer);
      setting.text = written(*integer);
      break;
    }
    case Kind::real: {
      auto const number = value.quoted ? std::nullopt : parse<double>(value.text);
      if (!number || !in_range(row, *number)) return refuse(without_zeros(value.text));
      setting.number = *number + 0.0;  // no -0
      setting.text = written(setting.number);
      break;
    }
    case Kind::text:
      if (std::any_of(value.text.begin(), value.text.end(), is_control)) return refuse();
      setting.word = value.text;
      break;
    case Kind::word_or_path:
      if (known_word) {
        setting.word = value.text;
        break;
      }
      [[fallthrough]];
    case Kind::path:
      if (value.text.empty() || std::any_of(value.text.begin(), value.text.end(), is_control))
        return refuse();
      setting.path =
          fs::path(value.text).is_absolute() ? fs::path(value.text) : value.folder / value.text;
      break;
  }
  return setting;
}

}  // namespace Solder::Driver
