// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace Solder::Driver {

/// \brief The most characters of a line, unless all columns are asked for.
inline constexpr std::size_t most_columns = 100;

/// \brief How lines are shown where they go.
struct Style {
  std::size_t width = most_columns;  ///< characters of a line
  bool wide = false;                 ///< all columns, however wide
  bool colour = false;               ///< only on terminals
};

/// \brief The style of standard output: colour on a terminal, unless NO_COLOR is set or TERM is
/// dumb; as wide as the terminal, but no wider than most_columns.
Style style_of_output(bool wide);

/// \brief The characters of a line on this stream's terminal; most_columns where it is none.
std::size_t width_of(int stream);

/// \brief The characters of a line on standard output, as style_of_output() has them.
std::size_t width_of_output();

/// \brief Text with a colour of the terminal ("32": green), as far as the style has colours.
std::string coloured(std::string_view text, char const* colour, Style const& style);

/// \brief printf, to a string.
template <class... Arguments>
std::string format(char const* pattern, Arguments... arguments) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, pattern, arguments...)) + 1,
                   '\0');
  std::snprintf(text.data(), text.size(), pattern, arguments...);
  text.pop_back();
  return text;
}

/// \brief The characters of a text, which is UTF-8.
std::size_t characters(std::string_view text);

/// \brief A text of at most so many characters, without some in its midst: "fem_poi~size=63)".
std::string shortened(std::string_view text, std::size_t most);

/// \brief A text of exactly so many characters, filled up with blanks.
std::string padded(std::string_view text, std::size_t width, bool left);

/// \brief Text in lines of at most `width` characters, broken at blanks. The first begins with
/// `first`; each further one is indented as much.
std::string wrapped(std::string_view first, std::string_view text, std::size_t width);

/// \brief The lines of a text, those that are wider than `width` broken at blanks. What follows is
/// indented by four more than its line.
std::string narrowed(std::string_view text, std::size_t width);

/// \brief A cell of a CSV file: in quotes where it has to be.
std::string csv_cell(std::string_view text);

/// \brief With small letters in place of A to Z.
std::string lower_case(std::string_view text);

/// \brief "1,048,576".
std::string grouped(long long number);

/// \brief "1,048,576 rows", "1 row".
std::string counted(long long number, std::string_view one);

}  // namespace Solder::Driver
