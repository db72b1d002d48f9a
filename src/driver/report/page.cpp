// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "charts.hpp"
#include "text.hpp"

namespace Solder::Charts {
namespace {

constexpr std::size_t most_rows = 600, most_words = 200, most_text = 60'000, most_cell = 160,
                      most_records = 20, most_facts = 400;

std::string element(std::string const& name, std::string const& inside,
                    std::string const& how = "") {
  return "<" + name + how + ">" + inside + "</" + name + ">";
}
std::string cell(std::string const& text, std::string const& how = "") {
  return element("td", escape(shortened(text, most_cell)), how);
}
std::string number_cell(std::string const& text) { return cell(text, " class=\"q\""); }

std::string cut(std::string const& text, std::size_t most) {
  return text.size() <= most ? text : shortened(text, most) + "\n(cut)";
}

std::string folded(std::string const& summary, std::string const& inside, bool is_open = false) {
  return "<details" + std::string(is_open ? " open=\"open\"" : "") + ">\n" +
         element("summary", escape(summary)) + "\n" + inside + "</details>\n";
}

std::string plural(std::size_t count, std::string const& one) {
  return count_text(double(count)) + " " + one + (count == 1 ? "" : "s");
}

// ---- tables ----

/// A table whose columns that say nothing are left out.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : heading_(std::move(heading)) {}

  /// \param numbers a 'q' for each cell that is a number
  void add(std::vector<std::string> cells, std::string const& classes = "") {
    rows_.push_back({std::move(cells), classes});
  }
  std::size_t rows() const { return rows_.size(); }

  std::string text(std::string const& kinds) const {
    std::vector<bool> says(heading_.size(), false);
    for (Row const& row : rows_)
      for (std::size_t c = 0; c < row.cells.size(); ++c)
        says[c] = says[c] || (!row.cells[c].empty() && row.cells[c] != "-");
    std::string result = "<div class=\"wide\"><table>\n<thead><tr>";
    for (std::size_t c = 0; c < heading_.size(); ++c)
      if (says[c])
        result += element("th", escape(heading_[c]), kinds[c] == 'q' ? " class=\"q\"" : "");
    result += "</tr></thead>\n<tbody>\n";
    for (std::size_t r = 0; r < rows_.size() && r < most_rows; ++r) {
      result +=
          "<tr" + (rows_[r].classes.empty() ? "" : " class=\"" + rows_[r].classes + "\"") + ">";
      for (std::size_t c = 0; c < heading_.size(); ++c)
        if (says[c])
          result += kinds[c] == 'q' ? number_cell(rows_[r].cells[c]) : cell(rows_[r].cells[c]);
      result += "</tr>\n";
    }
    result += "</tbody></table></div>\n";
    if (rows_.size() > most_rows)
      result += element("p",
                        "The first " + count_text(most_rows) + " of " +
                            plural(rows_.size(), "row") + "; the JSON has all.",
                        " class=\"soft\"") +
                "\n";
    return result;
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string classes;
  };
  std::vector<std::string> heading_;
  std::vector<Row> rows_{};
};

std::string spread_text(Run const& run) {
  Quartiles const q = quartiles(run.samples);
  return run.samples.size() < 3 ? "" : seconds_text(q.lower) + " to " + seconds_text(q.upper);
}

std::string results(std::vector<Run> const& runs) {
  auto const ways = ways_of(runs);
  bool const one_way =
      std::all_of(ways.begin(), ways.end(), [](std::string const& way) { return way.empty(); });
  bool const of_kernels = std::all_of(runs.begin(), runs.end(), [](Run const& run) {
    return run.is_fixed() && run.solver.empty();
  });
  Table table({"", "problem", "rows", "nonzeros", of_kernels ? "columns" : "rhs", "way", "runner",
               "matrix format", "reason", "iterations", of_kernels ? "error" : "true residual",
               "set-up", "solve", of_kernels ? "time" : "an iteration", "quartiles", "of copy",
               "cores busy"});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run const& run = runs[i];
    double const share = run.bytes / run.per_iteration / run.bandwidth;
    bool const has_share = std::isfinite(share) && run.bandwidth > 0;
    table.add({count_text(double(i + 1)), run.problem, count_text(run.rows),
               count_text(run.nonzeros), run.columns > 1 ? count_text(run.columns) : "",
               !one_way ? ways[i]
               : run.solver.empty() || run.preconditioner.empty()
                   ? run.solver + run.preconditioner
                   : run.solver + ", " + run.preconditioner,
               run.runner, run.format, run.reason, count_text(run.iterations),
               number(std::isfinite(run.true_residual) ? run.true_residual : run.residual, 3),
               seconds_text(run.setup), seconds_text(run.solve), seconds_text(run.per_iteration),
               spread_text(run), has_share ? number(100 * share, share < 10 ? 3 : 5) + " %" : "",
               run.busy_cores >= 0.01 ? number(100 * run.busy_cores, 2) + " %" : ""},
              run.has_ended_well() ? "" : "bad");
  }
  return table.text("qtqqqttttqqqqqqqq");
}

/// Of each problem the way that took least time.
std::string fastest(std::vector<Run> const& runs) {
  auto const ways = ways_of(runs);
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> problems;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string const name = runs[i].what();
    if (problems[name].empty()) order.push_back(name);
    problems[name].push_back(i);
  }
  Table table({"problem", "fastest", "time", "next", "takes so many times as long", "solved"});
  for (std::string const& name : order) {
    auto mine = problems[name];
    std::size_t const all = mine.size();
    if (all < 2) continue;
    std::erase_if(mine, [&](std::size_t i) {
      return !runs[i].has_ended_well() || !(runs[i].measured() > 0);
    });
    std::stable_sort(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) {
      return runs[a].measured() < runs[b].measured();
    });
    std::string const solved = count_text(double(mine.size())) + " of " + count_text(double(all));
    std::string const& problem = runs[problems[name][0]].problem;
    if (mine.empty())
      table.add({problem, "none converged", "", "", "", solved}, "bad");
    else
      table.add(
          {problem, ways[mine[0]], seconds_text(runs[mine[0]].measured()),
           mine.size() > 1 ? ways[mine[1]] : "",
           mine.size() > 1 ? number(runs[mine[1]].measured() / runs[mine[0]].measured(), 3) : "",
           solved});
  }
  return table.rows() == 0 ? "" : element("h2", "Which was fastest") + "\n" + table.text("ttqtqq");
}

// ---- words ----

/// What is said of runs, each sentence once, with the runs that it is said of.
std::string sentences(std::vector<Run> const& runs, std::string const Run::*member,
                      std::string const Run::*what) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if ((runs[i].*member).empty()) continue;
    std::string const text =
        (runs[i].*what).empty() ? runs[i].*member : runs[i].*what + ": " + runs[i].*member;
    if (of[text].empty()) order.push_back(text);
    of[text].push_back(i + 1);
  }
  std::string list;
  for (std::size_t k = 0; k < order.size() && k < most_words; ++k) {
    auto const& numbers = of[order[k]];
    std::string which = numbers.size() == runs.size() ? "all runs" : "run ";
    if (numbers.size() != runs.size())
      for (std::size_t i = 0; i < numbers.size() && i < 8; ++i)
        which += (i == 0 ? "" : ", ") + count_text(double(numbers[i]));
    if (numbers.size() != runs.size() && numbers.size() > 8)
      which += " and " + count_text(double(numbers.size() - 8)) + " more";
    list += element("li", escape(cut(order[k], 600)) + " " +
                              element("span", "(" + which + ")", " class=\"soft\"")) +
            "\n";
  }
  if (order.size() > most_words) list += element("li", "and more, which the JSON has") + "\n";
  return list.empty() ? list : element("ul", "\n" + list) + "\n";
}

std::string failures(std::vector<Run> const& runs) {
  std::string const list = sentences(runs, &Run::detail, &Run::reason);
  return list.empty() ? list : folded("What the solvers said", list, true);
}

std::string plans(std::vector<Run> const& runs) {
  std::string const runners = sentences(runs, &Run::runner_reason, &Run::runner),
                    formats = sentences(runs, &Run::format_reason, &Run::format),
                    ranks = sentences(runs, &Run::ranks, &Run::solver);
  if (runners.empty() && formats.empty() && ranks.empty()) return {};
  return folded("The plan, and why",
                (runners.empty() ? "" : element("p", "Runner") + runners) +
                    (formats.empty() ? "" : element("p", "Matrix format") + formats) +
                    (ranks.empty() ? "" : element("p", "Ranks") + ranks));
}

/// What auto tried, an attempt a line.
std::string attempts(std::vector<Run> const& runs) {
  std::vector<std::string> names;
  for (Run const& run : runs)
    for (Run::Words const& attempt : run.attempts)
      for (auto const& [name, text] : attempt)
        if (names.size() < 12 && std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
  std::vector<std::string> heading = {"run", "problem"};
  for (std::string const& name : names) {
    std::string words = shortened(name, 40);
    std::replace(words.begin(), words.end(), '_', ' ');
    heading.push_back(words);
  }
  Table table(std::move(heading));
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (Run::Words const& attempt : runs[i].attempts) {
      std::vector<std::string> cells = {count_text(double(i + 1)), runs[i].problem};
      for (std::string const& name : names) {
        auto const said = std::find_if(attempt.begin(), attempt.end(),
                                       [&](auto const& word) { return word.first == name; });
        cells.push_back(said == attempt.end() ? "" : said->second);
      }
      table.add(std::move(cells));
    }
  std::string const kinds = "qt" + std::string(names.size(), 't');
  return table.rows() == 0 ? "" : folded("What auto tried", table.text(kinds), true);
}

/// The keys that all runs share, as YAML, and those in which they differ.
std::string keys(std::vector<Run> const& runs) {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (Run const& run : runs)
    for (auto const& [key, value] : run.keys) {
      auto const [place, is_new] = values.try_emplace(key);
      if (is_new) order.push_back(key);
      ++counts[key];
      if (place->second.size() < 40) place->second.insert(value);
    }
  Table table({"key", "value"});
  for (std::string const& key : order) {
    std::string text;
    for (std::string const& value : values[key])
      text += (text.empty() ? "" : "; ") + shortened(value, 80);
    bool const is_shared = counts[key] == runs.size() && values[key].size() == 1;
    table.add({key, cut(text, 600)}, is_shared ? "" : "some");
  }
  return table.rows() == 0
             ? ""
             : folded("All keys, defaults included",
                      table.text("tt") +
                          element("p", "Bold: not the same in all runs.", " class=\"soft\"") +
                          "\n");
}

std::string phases(std::vector<Run> const& runs) {
  Table table({"", "problem", "phase or kernel", "time"});
  for (std::size_t i = 0; i < runs.size() && table.rows() < most_rows; ++i)
    for (auto const& [name, seconds] : runs[i].parts)
      table.add({count_text(double(i + 1)), runs[i].problem, name, seconds_text(seconds)});
  return table.rows() == 0 ? "" : folded("Set-up by phase, or time by kernel", table.text("qttq"));
}

std::string provenance(Record const& record) {
  Table table({"", ""});
  std::string list;
  for (std::size_t k = 0; k < record.facts.size() && k < 30; ++k)
    list += element("dt", escape(record.facts[k].first)) +
            element("dd", escape(cut(record.facts[k].second, most_facts))) + "\n";
  std::string text = element("dl", "\n" + list) + "\n";
  if (!record.command.empty())
    text += element("p", "Command") + element("pre", escape(cut(record.command, 2000))) + "\n";
  if (!record.yaml.empty())
    text += element("p", escape("YAML: " + cut(record.yaml_name, 300))) +
            element("pre", escape(cut(record.yaml, most_text))) + "\n";
  if (!record.absent.empty()) {
    std::string absent;
    for (std::size_t k = 0; k < record.absent.size() && k < 40; ++k)
      absent += element("li", escape(cut(record.absent[k], 300))) + "\n";
    text += element("p", "Not compared with") + element("ul", "\n" + absent) + "\n";
  }
  return text;
}

// ---- a comparison ----

std::string identity(Run const& run, std::string const& way) {
  return run.problem + "\n" + number(run.rows) + "\n" + number(run.columns) + "\n" + run.who +
         "\n" + (run.who == "solder" && !run.keys.empty() ? std::string() : run.runner) + "\n" +
         way;
}

std::string comparison(std::vector<Run> runs, std::vector<Run> old) {
  if (old.empty()) return {};
  for (auto* const each : {&runs, &old})
    for (Run& run : *each) run.file.clear();
  std::vector<Run> both = runs;
  both.insert(both.end(), old.begin(), old.end());
  auto const ways = ways_of(both);
  std::map<std::string, std::size_t> before;
  for (std::size_t i = 0; i < old.size(); ++i)
    before.try_emplace(identity(old[i], ways[runs.size() + i]), i);
  Table table({"problem", "way", "before", "now", "now / before", "iterations before", "now", ""});
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto const found = before.find(identity(runs[i], ways[i]));
    if (found == before.end()) continue;
    Run const& was = old[found->second];
    double const ratio = runs[i].measured() / was.measured();
    if (std::isfinite(ratio) && ratio > 0) sum += std::log(ratio), ++pairs;
    Quartiles const then = quartiles(was.samples), now = quartiles(runs[i].samples);
    bool const apart = now.lower > then.upper || now.upper < then.lower;
    bool const is_worse = was.has_ended_well() && !runs[i].has_ended_well();
    table.add({runs[i].problem, ways[i].empty() ? runs[i].solver : ways[i],
               seconds_text(was.measured()), seconds_text(runs[i].measured()), number(ratio, 3),
               count_text(was.iterations), count_text(runs[i].iterations),
               is_worse ? "no longer converges"
               : apart  ? "quartiles apart"
                        : ""},
              is_worse ? "bad" : "");
  }
  std::string const mean =
      pairs == 0 ? ""
                 : element("p", "Geometric mean of now / before, of " + plural(pairs, "run") +
                                    ": " + number(std::exp(sum / double(pairs)), 3) + ".");
  return element("h2", "Compared with earlier results") + "\n" +
         (table.rows() == 0 ? element("p",
                                      "No run of the earlier results has the same problem and "
                                      "the same keys.")
                            : mean + folded(plural(table.rows(), "run") + " compared",
                                            table.text("ttqqqqqt"), table.rows() <= 20));
}

std::string summary(std::vector<Record> const& records, std::vector<Run> const& runs) {
  std::size_t good = 0, solves = 0;
  double busiest = 0;
  for (Run const& run : runs) {
    if (run.is_fixed()) continue;
    ++solves;
    good += run.has_ended_well();
    busiest = std::fmax(busiest, run.busy_cores);
  }
  std::string text = plural(runs.size(), runs.size() == solves ? "run" : "measurement");
  if (solves > 0)
    text += ": " + (good == solves ? std::string(solves == 1 ? "it" : "all") + " converged"
                                   : count_text(double(good)) + " converged, " +
                                         count_text(double(solves - good)) + " did not");
  text += ".";
  std::set<std::string> devices;
  for (Record const& record : records)
    if (!record.device.empty()) devices.insert(record.device);
  std::string on;
  for (std::string const& device : devices) on += (on.empty() ? "" : "; ") + cut(device, 200);
  std::string result = element("p", escape(text + (on.empty() ? "" : " On " + on + "."))) + "\n";
  if (busiest >= 0.1)
    result += element("p",
                      "Other processes had the cores for up to " + number(100 * busiest, 2) +
                          " % of a solve: these times are not the solvers' own.",
                      " class=\"warn\"") +
              "\n";
  for (Record const& record : records)
    if (solves < runs.size() && record.load >= 0.5 * record.cores) {
      result += element("p",
                        "The load was " + number(record.load, 3) + " on " +
                            plural(std::size_t(record.cores), "core") +
                            " when this began: other processes were busy, and these times are not "
                            "the solvers' own.",
                        " class=\"warn\"") +
                "\n";
      break;
    }
  for (Record const& record : records)
    if (!record.stopped.empty())
      result +=
          element("p", escape("Not all runs: " + cut(record.stopped, 600)), " class=\"warn\"") +
          "\n";
  return result;
}

/// Figures side by side; those after the first ones are folded away.
std::string section(std::string const& heading, std::vector<std::string> const& figures) {
  if (figures.empty()) return {};
  constexpr std::size_t open = 4;
  auto const grid = [&](std::size_t begin, std::size_t end) {
    std::string text = "<div class=\"figures\">\n";
    for (std::size_t k = begin; k < end; ++k) text += element("figure", figures[k]) + "\n";
    return text + "</div>\n";
  };
  std::string text = element("h2", heading) + "\n" + grid(0, std::min(open, figures.size()));
  if (figures.size() > open)
    text += folded(plural(figures.size() - open, "more picture"), grid(open, figures.size()));
  return text;
}

/// The sections of a page, as far as they fit.
class Body {
 public:
  void add(std::string const& section) {
    constexpr std::size_t most = 950'000;
    if (text_.size() + section.size() <= most)
      text_ += section;
    else if (left_out_++ == 0)
      text_ +=
          element("p", "Left out, so that this page stays below 1 MB: what the JSON has besides.",
                  " class=\"warn\"") +
          "\n";
  }
  std::string const& text() const { return text_; }

 private:
  std::string text_{};
  std::size_t left_out_ = 0;
};

constexpr char const* page_style =
    "body{margin:0 auto;padding:1.2rem;max-width:1240px;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\n"
    "h1{font-size:1.5rem;margin:.2rem 0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.6rem 0 "
    ".5rem}\n"
    "p{margin:.4rem 0}.soft{color:var(--soft)}.warn{border-left:4px solid var(--bad);"
    "padding:.2rem .7rem;background:var(--raised)}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:"
    "1rem}\n"
    "figure{margin:0;break-inside:avoid}figure svg{display:block;width:100%}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;line-height:1.35}\n"
    "th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid var(--line);"
    "vertical-align:top}td{overflow-wrap:break-word}\n"
    "th{font-weight:600;border-bottom:2px solid var(--soft);white-space:nowrap}"
    ".q{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "tr.bad td{color:var(--bad)}tr.some td{font-weight:600}\n"
    "details{margin:.6rem 0;border:1px solid var(--line);border-radius:6px;padding:.4rem .8rem}"
    "summary{cursor:pointer;font-weight:600}\n"
    "pre{overflow-x:auto;background:var(--raised);padding:.6rem;font-size:12px;line-height:1.4}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dd{margin:0;"
    "overflow-wrap:anywhere}dt{color:var(--soft)}\n"
    "@media "
    "(max-width:500px){body{padding:.7rem}dl{grid-template-columns:1fr}dt{margin-top:.3rem}}\n"
    "@media print{body{max-width:none;padding:0;font-size:11pt}"
    "details::details-content{content-visibility:visible;block-size:auto}"
    ".wide{overflow:visible}table{font-size:8pt}th,td{padding:.1rem .3rem}th{white-space:normal}"
    ".figures{grid-template-columns:1fr 1fr}"
    "pre{white-space:pre-wrap}tr,details summary{break-inside:avoid}}\n";

}  // namespace

std::string html(std::vector<Record> const& records, std::vector<Record> const& old) {
  std::vector<Run> const runs = all_runs(records);
  std::string title;
  for (std::size_t k = 0; k < records.size() && k < 3; ++k) {
    std::string const& name = records[k].yaml_name.empty() ? records[k].name : records[k].yaml_name;
    title += (k == 0 ? "" : ", ") + shortened(name, 80);
  }
  if (records.size() > 3) title += " and " + plural(records.size() - 3, "more file");
  Body body;
  body.add(element("h1", escape(title)) + "\n" + summary(records, runs));
  body.add(comparison(runs, all_runs(old)));
  auto const of = [&](Kind kind) { return pictures(kind, runs); };
  body.add(section("Time over size", of(Kind::size)));
  body.add(section("Residuals", of(Kind::convergence)));
  std::vector<std::string> times;
  for (Kind const kind : {Kind::time, Kind::profile, Kind::roofline})
    for (std::string& picture : of(kind)) times.push_back(std::move(picture));
  body.add(section("Times", times));
  body.add(fastest(runs));
  body.add(element("h2", "Runs") + "\n");
  body.add(folded(plural(runs.size(), "run"), results(runs), runs.size() <= 60));
  for (std::string const& part :
       {failures(runs), attempts(runs), plans(runs), phases(runs), keys(runs)})
    body.add(part);
  body.add(element("h2", "How it was made") + "\n");
  for (std::size_t k = 0; k < records.size() && k < most_records; ++k)
    body.add(folded("Machine, versions and input of " + shortened(records[k].name, 80),
                    provenance(records[k]), records.size() == 1));
  return "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
         "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
         "initial-scale=1\"/>\n" +
         element("title", escape(title)) + "\n<style>\n" + style_sheet() + page_style +
         "</style>\n</head>\n<body>\n" + body.text() + "</body>\n</html>\n";
}

}  // namespace Solder::Charts
