// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text.hpp"

namespace Solder::Charts {
namespace {

constexpr double width = 480, line_height = 17;
constexpr int colours = 7;

/// Colours and dashes repeat in cycles of 7 and 4, so that 28 styles are all different.
std::string class_of(int style) { return style < 0 ? "sg" : "s" + std::to_string(style % colours); }
std::string dashes_of(int style) {
  static constexpr char const* dashes[] = {"", "7 3", "2 3", "9 3 2 3"};
  char const* const mine = style < 0 ? "" : dashes[style % 4];
  return *mine == '\0' ? "" : std::string(" stroke-dasharray=\"") + mine + "\"";
}

std::string text_at(double x, double y, std::string const& text, std::string const& how = "") {
  return "<text x=\"" + place(x) + "\" y=\"" + place(y) + "\"" + how + ">" + escape(text) +
         "</text>\n";
}

/// A value's place between two edges of the picture.
class Scale {
 public:
  Scale(Axis const& axis, std::vector<double> const& values, double begin, double end)
      : is_log_(axis.is_log), begin_(begin), end_(end) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (auto const* const each : {&values, &axis.holds})
      for (double const value : *each)
        if (has(value)) {
          least = std::min(least, value);
          most = std::max(most, value);
        }
    if (!(least <= most)) least = is_log_ ? 0.1 : 0, most = 1;
    if (is_log_ && most / least < 1.2) least = std::max(least / 2, smallest), most *= 2;
    if (!is_log_ && least == most) {
      double const some = least == 0 ? 1 : std::max(std::abs(least) / 2, smallest);
      least -= some, most += some;
    }
    least_ = std::max(least, -std::numeric_limits<double>::max() / 4);
    most_ = std::min(most, std::numeric_limits<double>::max() / 4);
  }
  bool has(double value) const { return std::isfinite(value) && (!is_log_ || value >= smallest); }
  double operator()(double value) const {
    double const from = along(least_), to = along(most_);
    return begin_ + (end_ - begin_) * (along(value) - from) / (to - from);
  }
  std::vector<double> ticks() const { return Charts::ticks(least_, most_, is_log_); }

 private:
  static constexpr double smallest = 1e-300;  ///< on a logarithmic axis

  double along(double value) const { return is_log_ ? std::log10(value) : value; }

  bool is_log_;
  double begin_, end_, least_ = 0, most_ = 1;
};

/// The legend's entries, in as many columns as fit, below `top`; and where they end.
class Legend {
 public:
  explicit Legend(double top) : y_(top) {}

  void add(std::string const& sample, std::string const& name) {
    std::string const text = shortened(name, 66);
    double const needs = 34 + width_of(text) + 12;
    if (x_ > left && x_ + needs > width) next_line();
    result_ += "<g transform=\"translate(" + place(x_) + " " + place(y_) + ")\">" + sample +
               "</g>\n" + text_at(x_ + 32, y_ + 4, text);
    x_ += needs;
    is_empty_ = false;
  }
  std::string const& text() const { return result_; }
  double end() const { return is_empty_ ? y_ : y_ + line_height; }

 private:
  static constexpr double left = 12;

  void next_line() {
    x_ = left;
    y_ += line_height;
  }
  double x_ = left, y_;
  bool is_empty_ = true;
  std::string result_{};
};

std::string dot(double x, double y, double radius, std::string const& classes) {
  return "<circle cx=\"" + place(x) + "\" cy=\"" + place(y) + "\" r=\"" + place(radius) +
         "\" class=\"" + classes + "\"/>";
}
std::string cross(double x, double y, std::string const& classes) {
  auto const p = [&](double dx, double dy) { return place(x + dx) + " " + place(y + dy); };
  return "<path d=\"M" + p(-4, -4) + "L" + p(4, 4) + "M" + p(-4, 4) + "L" + p(4, -4) +
         "\" class=\"l " + classes + "\"/>";
}

std::string line_of(Series const& series, Scale const& x, Scale const& y) {
  std::string path;
  bool is_drawing = false;
  for (Point const& point : series.points) {
    bool const is_there = x.has(point.x) && y.has(point.y);
    if (is_there) path += (is_drawing ? "L" : "M") + place(x(point.x)) + " " + place(y(point.y));
    is_drawing = is_there;
  }
  if (path.empty()) return {};
  return "<path d=\"" + path + "\" class=\"l " + class_of(series.style) + "\"" +
         dashes_of(series.style) + "/>\n";
}

std::string marks_of(Series const& series, Scale const& x, Scale const& y) {
  std::string const colour = class_of(series.style);
  std::string result;
  Point const* last = nullptr;
  for (Point const& point : series.points) {
    if (!x.has(point.x) || !y.has(point.y)) continue;
    last = &point;
    if (series.has_dots) result += dot(x(point.x), y(point.y), 3, "d " + colour);
  }
  for (Spread const& spread : series.spreads)
    if (x.has(spread.x) && y.has(spread.lower) && y.has(spread.upper))
      result += "<path d=\"M" + place(x(spread.x)) + " " + place(y(spread.lower)) + "L" +
                place(x(spread.x)) + " " + place(y(spread.upper)) + "\" class=\"l " + colour +
                "\"/>";
  for (Point const& point : series.crosses)
    if (x.has(point.x) && y.has(point.y)) result += cross(x(point.x), y(point.y), colour);
  for (Point const& ring : series.rings)
    if (x.has(ring.x) && y.has(ring.y)) result += dot(x(ring.x), y(ring.y), 3.5, "r " + colour);
  if (last != nullptr && series.end == End::good)
    result += dot(x(last->x), y(last->y), 4, "d " + colour);
  if (last != nullptr && series.end == End::bad) result += cross(x(last->x), y(last->y), colour);
  return result.empty() ? result : result + "\n";
}

std::string sample_of(Series const& series) {
  std::string result;
  if (series.has_line)
    result += "<path d=\"M0 0L26 0\" class=\"l " + class_of(series.style) + "\"" +
              dashes_of(series.style) + "/>";
  if (series.has_dots) result += dot(13, 0, 3, "d " + class_of(series.style));
  return result;
}

/// The lines of a text that is broken between words.
std::vector<std::string> wrapped(std::string const& text, double most) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t const end = std::min(text.find(' ', i), text.size());
    std::string const word = text.substr(i, end - i);
    if (!line.empty() && width_of(line + " " + word) > most) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    i = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// The element around a picture with its title and its note.
std::string picture(std::string const& title, std::string body, double height,
                    std::string const& note) {
  for (std::string const& line : wrapped(note, width - 20)) {
    body += text_at(12, height + 4, line, " class=\"n\"");
    height += line_height;
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + place(width) + " " +
         place(height + 4) + "\" width=\"" + place(width) + "\" height=\"" + place(height + 4) +
         "\" class=\"plot\" role=\"img\">\n<title>" + escape(title) + "</title>\n" +
         text_at(12, 17, shortened(title, 68), " class=\"h\"") + body + "</svg>\n";
}

/// A tick's value: 0.01 to 99999 as they are, else "2e-8".
std::string tick_text(double value) {
  double const size = std::abs(value);
  if (size == 0 || (size >= 0.01 && size < 1e5)) return number(value, 5);
  auto const exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  return number(value / std::pow(10.0, exponent), 3) + "e" + std::to_string(exponent);
}

/// Every so many of the labels, so that none covers another.
std::size_t stride_of(std::size_t labels, double room, double of_label) {
  double const fit = std::max(1.0, std::floor(room / of_label));
  return std::max<std::size_t>(1, std::size_t(std::ceil(double(labels) / fit)));
}

}  // namespace

std::vector<double> ticks(double least, double most, bool is_log) {
  std::vector<double> values;
  if (!(least < most) || !std::isfinite(most - least)) return {least};
  if (is_log && most / least > 8) {
    double const first = std::floor(std::log10(least)), last = std::ceil(std::log10(most));
    double const every = std::max(1.0, std::ceil((last - first) / 10));
    bool const few = last - first <= 3;
    for (double e = std::ceil(first / every) * every; e <= last; e += every)
      for (double const digit : {1.0, 2.0, 5.0}) {
        double const value = digit * std::pow(10.0, e);
        bool const is_inside = value >= least * (1 - 1e-9) && value <= most * (1 + 1e-9);
        if (is_inside && (digit == 1 || few)) values.push_back(value);
      }
    return values.empty() ? std::vector{least, most} : values;
  }
  double const raw = (most - least) / 6, power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double const digit : {5.0, 2.0, 1.0})
    if (digit * power >= raw) step = digit * power;
  for (double k = std::ceil(least / step - 1e-9);
       k * step <= most + 1e-9 * step && values.size() < 20; ++k)
    values.push_back(k == 0 ? 0 : k * step);
  return values;
}

std::vector<Point> thinned(std::vector<Point> const& points, std::size_t most) {
  if (points.size() <= most || most < 4) return points;
  std::size_t const pieces = most / 3, size = points.size();
  std::vector<Point> kept;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    std::size_t const begin = piece * size / pieces, end = (piece + 1) * size / pieces;
    std::size_t low = end, high = end, gap = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) {
        gap = i;
        continue;
      }
      if (low == end || points[i].y < points[low].y) low = i;
      if (high == end || points[i].y > points[high].y) high = i;
    }
    std::vector<std::size_t> mine;
    for (std::size_t const i :
         {piece == 0 ? std::size_t{0} : low, low, high, gap, piece + 1 == pieces ? size - 1 : low})
      if (i < end) mine.push_back(i);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (std::size_t const i : mine) kept.push_back(points[i]);
  }
  return kept;
}

std::string svg(Plot const& plot) {
  constexpr double left = 66, right = width - 14, top = 28, bottom = 262;
  std::vector<double> xs, ys;
  for (Series const& series : plot.series)
    for (auto const* const points : {&series.points, &series.rings, &series.crosses})
      for (Point const& point : *points) {
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
        xs.push_back(point.x);
        ys.push_back(point.y);
      }
  for (Rule const& rule : plot.rules) ys.push_back(rule.y);
  Scale const x(plot.x, xs, left, right), y(plot.y, ys, bottom, top);
  std::string grid, labels;
  auto const x_ticks = x.ticks(), y_ticks = y.ticks();
  double widest = 0;
  for (double const value : x_ticks) widest = std::max(widest, width_of(tick_text(value)) + 10);
  std::size_t const every = stride_of(x_ticks.size(), right - left, widest);
  for (std::size_t i = 0; i < x_ticks.size(); ++i) {
    double const at = x(x_ticks[i]);
    grid += "M" + place(at) + " " + place(top) + "L" + place(at) + " " + place(bottom);
    if (i % every == 0)
      labels += text_at(at, bottom + 15, tick_text(x_ticks[i]), " text-anchor=\"middle\"");
  }
  for (double const value : y_ticks) {
    double const at = y(value);
    grid += "M" + place(left) + " " + place(at) + "L" + place(right) + " " + place(at);
    labels += text_at(left - 6, at + 4, tick_text(value), " text-anchor=\"end\"");
  }
  std::string body = "<path d=\"" + grid + "\" class=\"g\"/>\n<path d=\"M" + place(left) + " " +
                     place(top) + "L" + place(left) + " " + place(bottom) + "L" + place(right) +
                     " " + place(bottom) + "\" class=\"a\"/>\n" + labels;
  body += text_at((left + right) / 2, bottom + 32, plot.x.label, " text-anchor=\"middle\"");
  body += "<text transform=\"translate(14 " + place((top + bottom) / 2) +
          ") rotate(-90)\" text-anchor=\"middle\">" + escape(plot.y.label) + "</text>\n";
  std::string levels;
  for (Rule const& rule : plot.rules) {
    if (!y.has(rule.y)) continue;
    double const at = y(rule.y);
    body += "<path d=\"M" + place(left) + " " + place(at) + "L" + place(right) + " " + place(at) +
            "\" class=\"u\"/>\n";
    levels += text_at(right, at - 4, rule.label, " text-anchor=\"end\" class=\"n\"");
  }
  Legend legend(bottom + 52);
  for (Series const& series : plot.series)
    if (series.has_line) body += line_of(series, x, y);
  for (Series const& series : plot.series) body += marks_of(series, x, y);
  body += levels;
  for (Series const& series : plot.series)
    if (!series.name.empty()) legend.add(sample_of(series), series.name);
  return picture(plot.title, body + legend.text(), legend.end(), plot.note);
}

std::string svg(Bars const& bars) {
  constexpr double top = 34, right = width - 66, row = 20;
  double longest = 0, label_width = 60;
  auto const total = [](Bars::Bar const& bar) {
    double sum = 0;
    for (double const part : bar.parts) sum += std::isfinite(part) && part > 0 ? part : 0;
    return std::isfinite(sum) ? sum : 0;
  };
  for (Bars::Bar const& bar : bars.bars) {
    longest = std::max({longest, total(bar), std::isfinite(bar.upper) ? bar.upper : 0});
    label_width = std::max(label_width, width_of(end_of(bar.label, 33)) + 8);
  }
  double const left = 10 + std::min(label_width, 230.0);
  double const unit = longest > 0 ? (right - left) / longest : 0;
  double y = top;
  std::string body;
  for (Bars::Bar const& bar : bars.bars) {
    double x = left;
    body += text_at(left - 6, y + 12, end_of(bar.label, 33), " text-anchor=\"end\"");
    for (std::size_t p = 0; p < bar.parts.size(); ++p) {
      double const part = bar.parts[p];
      if (!(part > 0) || !std::isfinite(part)) continue;
      std::string const what = p < bars.parts.size() ? bars.parts[p] + ": " : "";
      body += "<rect x=\"" + place(x) + "\" y=\"" + place(y) + "\" width=\"" +
              place(std::max(part * unit, 0.5)) + "\" height=\"14\" class=\"b " +
              class_of(static_cast<int>(p)) + (bar.is_good ? "" : " f") + "\"><title>" +
              escape(bar.label + ", " + what + seconds_text(part)) + "</title></rect>";
      x += part * unit;
    }
    if (bar.upper > bar.lower && std::isfinite(bar.upper))
      body += "<path d=\"M" + place(left + bar.lower * unit) + " " + place(y + 7) + "L" +
              place(left + bar.upper * unit) + " " + place(y + 7) + "\" class=\"w\"/>";
    double const end = std::max(x, left + (bar.upper > bar.lower ? bar.upper * unit : 0));
    body += text_at(end + 5, y + 12, (bar.is_good ? "" : "\xC3\x97 ") + seconds_text(total(bar)));
    y += row;
  }
  Legend legend(y + 10);
  for (std::size_t p = 0; p < bars.parts.size() && bars.parts.size() > 1; ++p)
    legend.add("<rect x=\"0\" y=\"-6\" width=\"24\" height=\"12\" class=\"b " +
                   class_of(static_cast<int>(p)) + "\"/>",
               bars.parts[p]);
  return picture(bars.title, body + legend.text(), legend.end(), bars.note);
}

std::string style_sheet() {
  static constexpr char const* light[] = {"#0072b2", "#d55e00", "#009e73", "#b8548e",
                                          "#b27a00", "#3a9bd0", "#444444"};
  static constexpr char const* dark[] = {"#5cb8f0", "#ff8a3d", "#35c89b", "#e39bc3",
                                         "#f0d050", "#a8d8f5", "#d0d0d0"};
  auto const set = [](auto const& colors, std::string const& rest) {
    std::string text = ":root{" + rest;
    for (int k = 0; k < colours; ++k) text += "--c" + std::to_string(k) + ":" + colors[k] + ";";
    return text + "}\n";
  };
  std::string const day = set(light,
                              "color-scheme:light dark;--ink:#1c2126;--soft:#5a646e;--line:#e0e4e8;"
                              "--paper:#fff;--raised:#f6f8fa;--grey:#c4c9ce;--bad:#b3261e;");
  std::string css =
      day + "@media screen and (prefers-color-scheme:dark){" +
      set(dark,
          "--ink:#e6e9ec;--soft:#a3adb7;--line:#343b42;--paper:#14181c;--raised:#1d2329;"
          "--grey:#59626b;--bad:#ff8a80;") +
      "}\n"
      ".plot{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;"
      "height:auto;max-width:100%}\n"
      ".plot text{fill:var(--ink)}.plot .h{font-weight:600;font-size:13px}"
      ".plot "
      ".n{fill:var(--soft);font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px}"
      "\n"
      ".plot .a{stroke:var(--soft);fill:none}.plot .g{stroke:var(--line);fill:none}"
      ".plot .u{stroke:var(--ink);stroke-dasharray:4 4;fill:none}\n"
      ".plot .l{fill:none;stroke-width:1.6;stroke-linejoin:round}"
      ".plot .r{stroke-width:1.4;fill:var(--paper)}.plot .d{stroke:none}\n"
      ".plot .b{stroke:none}.plot .f{fill-opacity:.4}"
      ".plot .w{stroke:var(--ink);stroke-width:2;fill:none}\n"
      ".plot .l.sg,.plot .r.sg{stroke:var(--grey)}.plot .d.sg,.plot .b.sg{fill:var(--grey)}\n";
  for (int k = 0; k < colours; ++k) {
    std::string const s = ".s" + std::to_string(k), colour = "var(--c" + std::to_string(k) + ")";
    css += ".plot .l" + s + ",.plot .r" + s + "{stroke:" + colour + "}.plot .d" + s + ",.plot .b" +
           s + "{fill:" + colour + "}\n";
  }
  return css;
}

std::string svg_file(std::vector<std::string> const& pictures) {
  auto const height_of = [](std::string const& picture) {
    auto const at = picture.find("\" height=\"") + 10;
    return std::stod(picture.substr(at));
  };
  double height = 0;
  std::string inside;
  for (std::string picture : pictures) {
    picture.insert(4, " y=\"" + place(height) + "\"");
    height += height_of(picture) + 12;
    inside += picture;
  }
  height = std::max(height, 24.0);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
         "viewBox=\"0 0 " +
         place(width) + " " + place(height) + "\" width=\"" + place(width) + "\" height=\"" +
         place(height) + "\">\n<style>\n" + style_sheet() +
         "</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n" + inside +
         "</svg>\n";
}

}  // namespace Solder::Charts
