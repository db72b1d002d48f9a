// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace Solder::Charts {

/// \brief A point of a series; one that is not finite, or not positive on a logarithmic axis, is a
/// gap.
struct Point {
  double x, y;
};

/// \brief A vertical line: from where to where something lies at x.
struct Spread {
  double x, lower, upper;
};

/// \brief How a series ends.
enum class End { plain, good, bad };

/// \brief A line, dots, or both.
struct Series {
  std::string name;              ///< of the legend; empty: not in it
  std::vector<Point> points;     ///< in the order of x
  std::vector<Point> rings{};    ///< hollow dots in the line's colour
  std::vector<Point> crosses{};  ///< what has failed
  std::vector<Spread> spreads{};
  bool has_line = true, has_dots = false;
  End end = End::plain;  ///< marked by a dot, or by a cross
  int style = 0;         ///< colour and dashes; below 0: grey
};

/// \brief An axis.
struct Axis {
  std::string label;
  bool is_log = false;
  std::vector<double> holds{};  ///< values that it has to reach, where they are finite
};

/// \brief A level that goes across the picture.
struct Rule {
  double y;
  std::string label;
};

/// \brief A picture with two axes.
struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Rule> rules{};
  std::string note{};  ///< below the legend
};

/// \brief Lengths of time, from left to right, a bar for each line.
struct Bars {
  struct Bar {
    std::string label;
    std::vector<double> parts;    ///< seconds, of the parts; what is not positive is nothing
    double lower = 0, upper = 0;  ///< quartiles of the whole; shown where they differ
    bool is_good = true;          ///< else hatched: what took this time has failed
  };
  std::string title;
  std::vector<std::string> parts;  ///< their names
  std::vector<Bar> bars;
  std::string note{};
};

/// \brief A picture as SVG: an element without a style sheet (see style_sheet).
std::string svg(Plot const& plot);
std::string svg(Bars const& bars);

/// \brief Pictures one below the other as a file of its own.
std::string svg_file(std::vector<std::string> const& pictures);

/// \brief CSS for what svg() makes, for light and dark screens and for print.
std::string style_sheet();

/// \brief At most about so many of a line's points: of each piece of the x axis the lowest and the
/// highest, and both ends. Gaps stay, if they are not too many. Cost: one pass.
std::vector<Point> thinned(std::vector<Point> const& points, std::size_t most);

/// \brief The values at which an axis from `least` to `most` has its ticks.
std::vector<double> ticks(double least, double most, bool is_log);

}  // namespace Solder::Charts
