// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "charts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "text.hpp"

namespace Solder::Charts {
namespace {

using Group = std::vector<std::size_t>;  // numbers of runs

constexpr std::size_t most_in_legend = 12, most_plots = 12, most_bars = 40;
/// Points of all lines of a report, so that it stays small.
constexpr std::size_t most_points = 24'000;

/// The runs by what `name` says of them, in the order of the first of each.
template <class Name>
std::vector<Group> grouped(std::vector<Run> const& runs, Name const& name) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto const [place, is_new] = places.try_emplace(name(i), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(i);
  }
  return groups;
}

std::string and_others(std::size_t shown, std::size_t all, std::string const& what) {
  return all <= shown ? std::string()
                      : count_text(double(shown)) + " of " + count_text(double(all)) + " " + what +
                            " are shown";
}

/// What a run's size is counted in: rows, or right-hand sides where only these differ.
struct Size {
  std::string label;
  double Run::*member;
};
Size size_of(std::vector<Run> const& runs, Group const& group) {
  auto const differ = [&](double Run::*member) {
    std::set<double> values;
    for (std::size_t const i : group)
      if (std::isfinite(runs[i].*member)) values.insert(runs[i].*member);
    return values.size() > 1;
  };
  if (differ(&Run::rows)) return {"rows", &Run::rows};
  if (differ(&Run::columns)) return {"columns", &Run::columns};
  return {"", nullptr};
}

std::string name_of_measure(Run const& run) {
  if (!run.is_fixed()) return "s to the solution, set-up included";
  return run.solver.empty() ? "seconds" : "seconds an iteration";
}

// ---- residuals ----

Series history_of(Run const& run, std::string const& way, int style, double unit,
                  std::size_t points) {
  Series series{way, {}};
  series.style = style;
  for (std::size_t i = 0; i < run.history.size(); ++i)
    series.points.push_back({double(i) * unit, run.history[i]});
  series.points = thinned(series.points, points);
  for (Point const& check : run.checks) series.rings.push_back({check.x * unit, check.y});
  if (run.checks.empty() && std::isfinite(run.true_residual))
    series.rings.push_back({run.iterations * unit, run.true_residual});
  series.rings = thinned(series.rings, 12);
  series.end = run.has_ended_well() ? End::good : End::bad;
  return series;
}

void add_tolerances(Plot& plot, std::vector<Run> const& runs, Group const& group) {
  std::set<double> tolerances;
  for (std::size_t const i : group)
    if (runs[i].tolerance > 0) tolerances.insert(runs[i].tolerance);
  if (tolerances.size() > 3) return;
  for (double const tolerance : tolerances)
    plot.rules.push_back({tolerance, "tolerance " + number(tolerance)});
}

std::vector<std::string> convergence(std::vector<Run> const& runs) {
  std::vector<std::string> result;
  auto groups = grouped(runs, [&](std::size_t i) {
    return runs[i].history.empty() ? std::string() : runs[i].problem + "\n" + runs[i].scalar;
  });
  std::erase_if(groups, [&](Group const& group) { return runs[group[0]].history.empty(); });
  std::size_t lines = 0;
  for (Group const& group : groups) lines += group.size();
  std::size_t const points = std::clamp<std::size_t>(most_points / (2 * lines + 1), 12, 360);
  std::size_t const most_lines = 400;
  for (Group const& group : groups) {
    if (result.size() / 2 == most_plots) break;
    std::vector<Run> mine;
    for (std::size_t const i : group) mine.push_back(runs[i]);
    auto const ways = ways_of(mine);
    for (bool const is_time : {false, true}) {
      Plot plot{runs[group[0]].problem + (is_time ? ": residual over time" : ": residual"),
                {is_time ? "seconds of the solve" : "iterations", false, {0}},
                {"||b - A x|| / ||b||", true},
                {}};
      for (std::size_t k = 0; k < mine.size() && k < most_lines; ++k) {
        Run const& run = mine[k];
        double const unit = is_time ? run.per_iteration : 1;
        bool const is_named = k < most_in_legend || mine.size() <= most_in_legend + 2;
        plot.series.push_back(
            history_of(run, is_named ? ways[k] : "", is_named ? int(k) : -1, unit, points));
      }
      std::reverse(plot.series.begin(), plot.series.end());  // what has a name lies above
      std::stable_partition(plot.series.begin(), plot.series.end(),
                            [](Series const& s) { return s.name.empty(); });
      std::reverse(std::find_if(plot.series.begin(), plot.series.end(),
                                [](Series const& s) { return !s.name.empty(); }),
                   plot.series.end());
      add_tolerances(plot, runs, group);
      plot.note = is_time ? "Seconds: iterations times the mean time of one."
                          : "Line: the recursion's residual. Ring: recomputed from x. Ends: dot, "
                            "converged; cross, not.";
      if (mine.size() > most_in_legend + 2)
        plot.note += " Grey: the others, which the table below has.";
      result.push_back(svg(plot));
    }
  }
  return result;
}

// ---- times ----

/// The parts of all bars: the six that take longest, and the others.
void name_parts(Bars& bars, std::vector<Run const*> const& runs) {
  std::map<std::string, double> sums;
  for (Run const* const run : runs)
    for (auto const& [name, seconds] : run->parts)
      if (std::isfinite(seconds)) sums[name] += seconds;
  std::vector<std::pair<double, std::string>> longest;
  for (auto const& [name, seconds] : sums) longest.emplace_back(-seconds, name);
  std::sort(longest.begin(), longest.end());
  for (std::size_t k = 0; k < longest.size() && k < 6; ++k) bars.parts.push_back(longest[k].second);
  if (longest.size() > 6) bars.parts.push_back("others");
}

std::vector<double> parts_of(Run const& run, std::vector<std::string> const& names) {
  std::vector<double> parts(names.size());
  for (auto const& [name, seconds] : run.parts) {
    auto const place = std::find(names.begin(), names.end(), name);
    if (std::isfinite(seconds))
      parts[place == names.end() ? names.size() - 1 : std::size_t(place - names.begin())] +=
          seconds;
  }
  return parts;
}

/// "f(size=3,k=1)" without its name: "size=3,k=1".
std::string parameters_of(std::string const& problem) {
  auto const begin = problem.find('('), end = problem.find(')', begin);
  if (begin == std::string::npos || end == std::string::npos) return problem;
  return problem.substr(begin + 1, end - begin - 1) + problem.substr(end + 1);
}

std::vector<std::string> times(std::vector<Run> const& runs) {
  std::vector<Run const*> chosen;
  for (Run const& run : runs)
    if (std::isfinite(run.measured()) || !run.parts.empty()) chosen.push_back(&run);
  if (chosen.empty()) return {};
  auto const ways = ways_of(runs);
  bool const one_problem =
      grouped(runs, [&](std::size_t i) { return runs[i].problem; }).size() == 1;
  bool const one_family = grouped(runs, [&](std::size_t i) { return runs[i].family; }).size() == 1;
  bool const in_parts = std::all_of(chosen.begin(), chosen.end(), [](Run const* run) {
    return run->is_fixed() && !run->parts.empty();
  });
  Group all(runs.size());
  std::iota(all.begin(), all.end(), std::size_t(0));
  Size const size = size_of(runs, all);
  Run const& first = *chosen[0];
  Bars bars;
  bars.title = in_parts ? "Where the time goes"
               : first.is_fixed()
                   ? std::string(first.solver.empty() ? "Times" : "Times of an iteration")
                   : "Set-up and solve";
  if (in_parts)
    name_parts(bars, chosen);
  else
    bars.parts = first.is_fixed() ? std::vector<std::string>{"median"}
                                  : std::vector<std::string>{"set-up", "solve"};
  for (Run const* const run : chosen) {
    if (bars.bars.size() == most_bars) break;
    std::string const& way = ways[std::size_t(run - runs.data())];
    std::string const problem = one_family ? parameters_of(run->problem) : run->problem;
    Bars::Bar bar{one_problem ? way : problem + (way.empty() ? "" : ", " + way), {}};
    if (one_problem && size.member != nullptr)
      bar.label += (way.empty() ? "" : ", ") + count_text(run->*size.member) + " " + size.label;
    if (bar.label.empty()) bar.label = run->problem;
    bar.is_good = run->has_ended_well();
    if (in_parts)
      bar.parts = parts_of(*run, bars.parts);
    else if (first.is_fixed())
      bar.parts = {run->per_iteration};
    else
      bar.parts = {run->setup, run->solve};
    Quartiles const q = quartiles(run->samples);
    double const before = bars.parts.size() == 2 && std::isfinite(run->setup) ? run->setup : 0;
    if (run->samples.size() > 2 && !in_parts)
      bar.lower = before + q.lower, bar.upper = before + q.upper;
    bars.bars.push_back(std::move(bar));
  }
  if (chosen.size() > 1 || in_parts)
    bars.note = and_others(bars.bars.size(), chosen.size(), "runs");
  bool const any_failed =
      std::any_of(bars.bars.begin(), bars.bars.end(), [](auto const& bar) { return !bar.is_good; });
  if (any_failed)
    bars.note += (bars.note.empty() ? "" : ". ") + std::string("Pale, \xC3\x97: has not converged");
  return {svg(bars)};
}

std::vector<std::string> over_size(std::vector<Run> const& runs) {
  std::vector<std::string> result;
  auto const ways = ways_of(runs);
  for (Group const& group : grouped(runs, [&](std::size_t i) { return runs[i].family; })) {
    Size const size = size_of(runs, group);
    if (size.member == nullptr || result.size() == most_plots) continue;
    Plot plot{runs[group[0]].family + ": time over size",
              {size.label, true},
              {name_of_measure(runs[group[0]]), true},
              {}};
    std::map<std::string, std::size_t> places;
    bool any_spread = false, any_cross = false;
    for (std::size_t const i : group) {
      Run const& run = runs[i];
      // the number of columns is the axis, not a way
      std::string way = ways[i];
      auto const [place, is_new] = places.try_emplace(way, plot.series.size());
      if (is_new) {
        plot.series.push_back({way, {}});
        plot.series.back().has_dots = true;
        plot.series.back().style = int(place->second);
      }
      Series& series = plot.series[place->second];
      Point const point{run.*size.member, run.measured()};
      if (run.has_ended_well())
        series.points.push_back(point);
      else
        series.crosses.push_back(point), any_cross = true;
      Quartiles const q = quartiles(run.samples);
      double const before = run.is_fixed() || !std::isfinite(run.setup) ? 0 : run.setup;
      if (run.samples.size() > 2)
        series.spreads.push_back({point.x, before + q.lower, before + q.upper}), any_spread = true;
    }
    for (Series& series : plot.series)
      std::stable_sort(series.points.begin(), series.points.end(),
                       [](Point const& a, Point const& b) { return a.x < b.x; });
    if (plot.series.size() == 1 && plot.series[0].name.empty()) plot.series[0].style = 0;
    if (plot.series.size() > most_in_legend + 2)
      for (std::size_t k = most_in_legend; k < plot.series.size(); ++k)
        plot.series[k].name.clear(), plot.series[k].style = -1;
    plot.note = any_spread ? "Dots: medians; lines through them: quartiles." : "";
    if (any_cross)
      plot.note += std::string(plot.note.empty() ? "" : " ") + "Cross: has not converged.";
    result.push_back(svg(plot));
  }
  return result;
}

// ---- a performance profile ----

std::vector<std::string> profile(std::vector<Run> const& runs) {
  auto const ways = ways_of(runs);
  auto const problems = grouped(runs, [&](std::size_t i) { return runs[i].what(); });
  auto const by_way = grouped(runs, [&](std::size_t i) { return ways[i]; });
  if (problems.size() < 2 || by_way.size() < 2) return {};
  std::vector<double> best(runs.size(), unknown);  // of each run's problem
  for (Group const& problem : problems) {
    double least = unknown;
    for (std::size_t const i : problem)
      if (double const time = runs[i].measured(); runs[i].has_ended_well() && time > 0)
        least = std::fmin(least, time);
    for (std::size_t const i : problem) best[i] = least;
  }
  constexpr double most_ratio = 1000;
  double largest = 1;
  std::vector<std::vector<double>> ratios;
  for (Group const& way : by_way) {
    std::vector<double>& mine = ratios.emplace_back();
    for (std::size_t const i : way)
      if (double const ratio = runs[i].measured() / best[i];
          runs[i].has_ended_well() && std::isfinite(ratio))
        mine.push_back(std::min(ratio, most_ratio));
    std::sort(mine.begin(), mine.end());
    if (!mine.empty()) largest = std::max(largest, mine.back());
  }
  Plot plot{"Performance profile of " + count_text(double(problems.size())) + " problems",
            {"at most so many times the least time of any", true, {1, largest * 1.1}},
            {"share of the problems", false, {0, 1}},
            {}};
  for (std::size_t w = 0; w < by_way.size(); ++w) {
    std::vector<double> const& mine = ratios[w];
    Series series{ways[by_way[w][0]], {}};
    series.style = int(w);
    double share = 0;
    for (std::size_t k = 0; k < mine.size(); ++k) {
      series.points.push_back({mine[k], share});
      share = double(k + 1) / double(problems.size());
      series.points.push_back({mine[k], share});
    }
    if (mine.empty()) series.points.push_back({1, 0});
    series.points.push_back({largest * 1.1, share});
    if (w >= most_in_legend && by_way.size() > most_in_legend + 2)
      series.name.clear(), series.style = -1;
    plot.series.push_back(std::move(series));
  }
  plot.note =
      "At 1: how often fastest. At the right end: how many are solved at all. (Dolan and "
      "More, 2002.)";
  return {svg(plot)};
}

// ---- a roofline ----

std::vector<std::string> roofline(std::vector<Run> const& runs) {
  auto const ways = ways_of(runs);
  Plot plot{
      "Bandwidth, and that of a copy", {"bytes that an iteration moves", true}, {"GB/s", true}, {}};
  std::map<std::string, std::size_t> places;
  std::set<double> roofs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run const& run = runs[i];
    double const rate = run.bytes / run.per_iteration * 1e-9;
    if (!(rate > 0) || !std::isfinite(rate) || !(run.bandwidth > 0)) continue;
    roofs.insert(run.bandwidth * 1e-9);
    auto const [place, is_new] = places.try_emplace(ways[i], plot.series.size());
    if (is_new) {
      plot.series.push_back({ways[i], {}});
      plot.series.back().has_dots = true;
      plot.series.back().has_line = false;
      plot.series.back().style = int(place->second);
    }
    plot.series[place->second].points.push_back({run.bytes, rate});
  }
  if (plot.series.empty()) return {};
  if (runs[0].solver.empty()) plot.x.label = "bytes that have to be moved";
  for (std::size_t k = most_in_legend; k < plot.series.size(); ++k)
    if (plot.series.size() > most_in_legend + 2)
      plot.series[k].name.clear(), plot.series[k].style = -1;
  if (roofs.size() <= 3)
    for (double const roof : roofs)
      plot.rules.push_back({roof, "a copy: " + number(roof, 3) + " GB/s"});
  plot.note =
      "Rates count the words that have to be moved. Above the line: caches hold the system.";
  return {svg(plot)};
}

// ---- ways ----

/// Keys of which the problem's name, the axis or nothing in the result tells.
bool is_of_way(std::string const& key) {
  if (key == "problem.scalar" || key == "problem.rhs" || key == "problem.seed") return true;
  return !key.starts_with("problem.") && !key.starts_with("output.");
}

std::string value_of(Run const& run, std::string const& key) {
  for (auto const& [name, value] : run.keys)
    if (name == key) return value;
  return {};
}

}  // namespace

std::vector<Run> all_runs(std::vector<Record> const& records) {
  std::vector<Run> runs;
  for (Record const& record : records)
    for (Run run : record.runs) {
      if (records.size() > 1) run.file = record.name;
      runs.push_back(std::move(run));
    }
  return runs;
}

std::vector<std::string> ways_of(std::vector<Run> const& runs) {
  // Of each key, beside each name in its section: gmres has another default form than cg.
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  std::vector<std::string> order;
  bool has_others = false;
  for (Run const& run : runs) {
    has_others = has_others || run.who != "solder";
    for (auto const& [key, value] : run.keys) {
      if (!is_of_way(key)) continue;
      auto const [place, is_new] = values.try_emplace(key);
      if (is_new) order.push_back(key);
      std::string const name = key.substr(0, key.find('.')) + ".name";
      place->second[key == name ? "" : value_of(run, name)].insert(value);
    }
  }
  std::erase_if(order, [&](std::string const& key) {
    return std::none_of(values[key].begin(), values[key].end(),
                        [](auto const& of_name) { return of_name.second.size() > 1; });
  });
  auto const before = [](std::string const& key) { return key.ends_with(".name") ? 0 : 1; };
  std::stable_sort(order.begin(), order.end(), [&](std::string const& a, std::string const& b) {
    return before(a) < before(b);
  });
  std::vector<std::string> ways;
  for (Run const& run : runs) {
    std::string way = run.file;
    auto const add = [&](std::string const& text) {
      if (!text.empty()) way += (way.empty() ? "" : " ") + text;
    };
    if (has_others) add(run.who);
    if (run.who != "solder" || run.keys.empty()) add(run.runner);
    if (run.keys.empty() && run.who == "solder") add(run.solver);
    for (std::string const& key : order) {
      std::string const value = value_of(run, key);
      bool const is_plain = key.ends_with(".name") || key == "problem.scalar" ||
                            key == "solver.form" || key.starts_with("execution.");
      if (!value.empty()) add(is_plain ? value : key.substr(key.find('.') + 1) + "=" + value);
    }
    ways.push_back(way);
  }
  return ways;
}

std::vector<std::string> pictures(Kind kind, std::vector<Run> const& runs) {
  if (runs.empty()) return {};
  switch (kind) {
    case Kind::automatic:
      return pictures(natural_kind(runs), runs);
    case Kind::convergence:
      return convergence(runs);
    case Kind::time:
      return times(runs);
    case Kind::size:
      return over_size(runs);
    case Kind::profile:
      return profile(runs);
    case Kind::roofline:
      return roofline(runs);
  }
  return {};
}

Kind natural_kind(std::vector<Run> const& runs) {
  auto const families = grouped(runs, [&](std::size_t i) { return runs[i].family; });
  for (Group const& family : families)
    if (size_of(runs, family).member != nullptr) return Kind::size;
  if (!profile(runs).empty()) return Kind::profile;
  bool const any =
      std::any_of(runs.begin(), runs.end(), [](Run const& run) { return run.history.size() > 1; });
  return any ? Kind::convergence : Kind::time;
}

}  // namespace Solder::Charts
