// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace Solder::Charts {

/// \brief A text as XML and HTML take it, between tags and in attributes. What XML forbids, control
/// characters above all, becomes U+FFFD. \param text UTF-8
std::string escape(std::string_view text);

/// \brief The number with so many digits at most: "0.25", "1.5e-09". "-" if it is not finite.
std::string number(double value, int digits = 4);

/// \brief A coordinate, with one digit behind the point.
std::string place(double value);

/// \brief A time: "1.25 ms"; "-" if it is not finite.
std::string seconds_text(double seconds);

/// \brief A whole number in groups: "65,025"; "-" if it is not finite.
std::string count_text(double count);

/// \brief About how wide a text is in the font of the pictures, in their units.
double width_of(std::string_view text);

/// \brief The first so many characters, with "..." in place of the rest. \param text UTF-8
std::string shortened(std::string const& text, std::size_t most);
/// \brief The last so many, with "..." before them.
std::string end_of(std::string const& text, std::size_t most);

}  // namespace Solder::Charts
