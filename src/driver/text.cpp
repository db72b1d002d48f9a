// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace Solder::Driver {
namespace {

constexpr std::size_t narrowest = 40;

/// Whether a byte begins a character of UTF-8.
bool begins(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

bool is_set(char const* variable) {
  char const* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::size_t width_of(int stream) {
  winsize size{};
  if (isatty(stream) != 1 || ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col < narrowest)
    return most_columns;
  return std::min<std::size_t>(size.ws_col, most_columns);
}

Style style_of_output(bool wide) {
  char const* const terminal = std::getenv("TERM");
  bool const is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return {width_of(STDOUT_FILENO), wide,
          isatty(STDOUT_FILENO) == 1 && !is_dumb && !is_set("NO_COLOR")};
}

std::size_t width_of_output() { return width_of(STDOUT_FILENO); }

std::string coloured(std::string_view text, char const* colour, Style const& style) {
  if (!style.colour) return std::string(text);
  return std::string("\x1b[") + colour + "m" + std::string(text) + "\x1b[0m";
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t const size = characters(text);
  if (size <= most) return std::string(text);
  std::size_t const first = most / 2, rest = most - std::min<std::size_t>(most, first + 1);
  std::string all;
  std::size_t number = 0;  // of the character
  for (char const c : text) {
    number += begins(c);
    if (number == first + 1 && begins(c)) all += '~';
    if (number <= first || number > size - rest) all += c;
  }
  return all;
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  std::size_t const size = characters(text);
  std::string const blanks(width > size ? width - size : 0, ' ');
  return left ? std::string(text) + blanks : blanks + std::string(text);
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t width) {
  std::string all(first), line;
  std::size_t const indent = characters(first);
  std::size_t const room = width > indent + 20 ? width - indent : 20;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(' '), text.size());
    std::string_view const word = text.substr(0, end);
    if (!line.empty() && characters(line) + 1 + characters(word) > room) {
      all += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all + line + "\n";
}

std::string narrowed(std::string_view text, std::size_t width) {
  std::string all;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    std::size_t const indent = std::min(line.find_first_not_of(' '), line.size());
    std::string part = wrapped(std::string(indent + 4, ' '), line.substr(indent), width);
    all += characters(line) > width ? std::string(indent, ' ') + part.substr(indent + 4)
                                    : std::string(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char const c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string lower_case(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

std::string grouped(long long number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3 + (number < 0 ? 1u : 0u);) text.insert(i -= 3, ",");
  return text;
}

std::string counted(long long number, std::string_view one) {
  return grouped(number) + ' ' + std::string(one) + (number == 1 ? "" : "s");
}

}  // namespace Solder::Driver
