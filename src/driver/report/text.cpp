// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace Solder::Charts {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// U+FFFE and U+FFFF, which XML has not.
bool is_no_character(std::string_view rest) {
  return rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF");
}

/// Whether a byte goes on with a character that an earlier one has begun.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 127)
      result += replacement;
    else if (is_no_character(text.substr(i))) {
      result += replacement;
      i += 2;
    } else
      result += c;
  }
  return result;
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char text[40];
  return {text,
          std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

std::string place(double value) {
  char text[40];
  double const bounded = std::clamp(value, -1e6, 1e6);
  std::string result(
      text, std::to_chars(text, text + sizeof text, bounded, std::chars_format::fixed, 1).ptr);
  if (result.ends_with(".0")) result.resize(result.size() - 2);
  return result == "-0" ? "0" : result;
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  double const size = std::abs(seconds);
  if (size >= 1 || size == 0) return number(seconds) + " s";
  if (size >= 1e-3) return number(seconds * 1e3) + " ms";
  return size >= 1e-6 ? number(seconds * 1e6) + " us" : number(seconds * 1e9) + " ns";
}

std::string count_text(double count) {
  if (!std::isfinite(count) || std::abs(count) > 1e18) return number(count);
  std::string text = std::to_string(static_cast<long long>(std::llround(count)));
  for (std::size_t end = text.size(); end > (text[0] == '-' ? 4u : 3u);) text.insert(end -= 3, ",");
  return text;
}

double width_of(std::string_view text) {
  constexpr double of_character = 6.3;  // of 12 units, sans serif
  return of_character * static_cast<double>(std::count_if(text.begin(), text.end(),
                                                          [](char c) { return !continues(c); }));
}

std::string shortened(std::string const& text, std::size_t most) {
  std::size_t characters = 0, i = 0;
  for (; i < text.size(); ++i)
    if (!continues(text[i]) && ++characters > most) break;
  return i == text.size() ? text : text.substr(0, i) + "...";
}

std::string end_of(std::string const& text, std::size_t most) {
  std::size_t characters = 0, begin = text.size();
  for (std::size_t i = text.size(); i-- > 0 && characters < most;)
    if (!continues(text[i])) begin = i, ++characters;
  return begin == 0 ? text : "..." + text.substr(begin);
}

}  // namespace Solder::Charts
