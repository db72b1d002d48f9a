// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages and pictures of results: small records whose pictures are known, and any that people have.
#include <gtest/gtest.h>
#include <driver/report/charts.hpp>
#include <driver/report/page.hpp>
#include <driver/report/text.hpp>

#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/core/errors.hpp>
#include <string>
#include <vector>

using namespace Solder::Charts;

namespace {

using Json = nlohmann::ordered_json;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++number;
  return number;
}

/// What is wrong with a text as XML, or nothing: tags that do not match, attributes without quotes
/// or given twice, references that there are not, characters that XML has not.
std::string wrong_with(std::string text) {
  if (text.starts_with("<?xml")) text.erase(0, text.find("?>") + 2);
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t i = 0; i < text.size();) {
    char const c = text[i];
    if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 127) return "a control character";
    if (c == '&') {
      std::string const rest = text.substr(i, 8);
      bool known = false;
      for (char const* const name : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known = known || rest.starts_with(name);
      if (!known) return "a bare ampersand: " + rest;
    }
    if (c == '>') return "a bare >: " + text.substr(i, 40);
    if (c != '<') {
      if (open.empty() && c != '\n') return "text outside of the root";
      ++i;
      continue;
    }
    std::size_t const end = text.find('>', i);
    if (end == std::string::npos) return "a tag without end";
    std::string tag = text.substr(i + 1, end - i - 1);
    i = end + 1;
    if (tag.starts_with("!DOCTYPE")) continue;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return "an end of nothing: " + tag;
      open.pop_back();
      continue;
    }
    bool const is_empty = tag.ends_with("/");
    if (is_empty) tag.pop_back();
    std::size_t at = tag.find_first_of(" \n");
    std::string const name = tag.substr(0, at);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz123456") != name.npos)
      return "a strange name: " + tag;
    std::vector<std::string> names;
    while (at < tag.size() && (at = tag.find_first_not_of(" \n", at)) != tag.npos) {
      std::size_t const equals = tag.find("=\"", at);
      if (equals == tag.npos) return "an attribute without a value: " + tag;
      std::size_t const close = tag.find('"', equals + 2);
      if (close == tag.npos) return "an attribute without an end: " + tag;
      std::string const attribute = tag.substr(at, equals - at);
      for (std::string const& other : names)
        if (other == attribute) return "an attribute twice: " + tag;
      names.push_back(attribute);
      if (tag.substr(equals, close - equals).find('<') != tag.npos) return "a < in " + tag;
      at = close + 1;
      if (at < tag.size() && tag[at] != ' ' && tag[at] != '\n') return "no space in " + tag;
    }
    if (open.empty() && ++roots > 1) return "two roots";
    if (!is_empty) open.push_back(name);
  }
  if (!open.empty()) return "no end of " + open.back();
  return roots == 1 ? "" : "no root";
}

TEST(WrongWith, SeesWhatIsWrong) {
  EXPECT_EQ(wrong_with("<a b=\"1\"><c/>&amp;</a>"), "");
  for (char const* const text :
       {"", "<a>", "<a></b>", "<a b></a>", "<a b=1></a>", "<a>&</a>", "<a>&nbsp;</a>",
        "<a>\x01</a>", "<a b=\"1\" b=\"2\"/>", "<a/><a/>", "a", "<a>></a>", "<a b=\"1\"c=\"2\"/>"})
    EXPECT_NE(wrong_with(text), "") << text;
}

Json run_json(std::string const& problem, int rows, std::string const& solver, double seconds) {
  return {{"problem",
           {{"name", problem}, {"rows", rows}, {"nonzeros", 5 * rows}, {"scalar", "double"}}},
          {"input",
           {{"problem", {{"generate", "p"}, {"size", 3}}},
            {"solver", {{"name", solver}, {"tolerance", 1e-8}}},
            {"execution", {{"space", "default"}}}}},
          {"solver", solver},
          {"tolerance", 1e-8},
          {"preconditioner", "none"},
          {"reason", "converged"},
          {"iterations", 2},
          {"true_relative_residual", 2e-9},
          {"setup_seconds", 0.25},
          {"solve_seconds", seconds},
          {"seconds_per_iteration", seconds / 2},
          {"history", {1.0, 1e-4, 1e-9}}};
}
std::string document(std::vector<Json> const& runs) {
  return Json{{"solder", "1.2.3"}, {"device", "a device"}, {"file", "a.yaml"}, {"runs", runs}}
      .dump();
}
Record record_of(std::vector<Json> const& runs) { return read_record("r.json", document(runs)); }

/// What has to hold of any page.
void expect_good(std::string const& page) {
  EXPECT_EQ(wrong_with(page), "");
  EXPECT_LT(page.size(), 1'000'000u);
  for (char const* const word :
       {"<script", "http://", "https://", "src=", "@import", "url(", " on"})
    for (std::size_t at = page.find(word); at != page.npos; at = page.find(word, at + 1))
      EXPECT_TRUE(page.substr(at, 11) == "http://www." || std::string(word) == " on")
          << word << " in " << page.substr(at, 60);
  EXPECT_EQ(page.find("nan"), page.npos);
}

// ---- texts ----

TEST(Text, EscapesWhatXmlReads) {
  EXPECT_EQ(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escape(std::string("a\0b\x1b[0m\n\t", 8)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[0m\n");
  EXPECT_EQ(escape("\xEF\xBF\xBE\xEF\xBF\xBF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escape("\xC3\xA4"), "\xC3\xA4");
}

TEST(Text, WritesNumbersForPeople) {
  EXPECT_EQ(number(0.25), "0.25");
  EXPECT_EQ(number(1.5e-9), "1.5e-09");
  EXPECT_EQ(number(NAN), "-");
  EXPECT_EQ(number(-infinity), "-");
  EXPECT_EQ(place(1.25), "1.2");
  EXPECT_EQ(place(-0.01), "0");
  EXPECT_EQ(place(7), "7");
  EXPECT_EQ(place(1e300), "1000000");
  EXPECT_EQ(seconds_text(0.00125), "1.25 ms");
  EXPECT_EQ(seconds_text(2), "2 s");
  EXPECT_EQ(seconds_text(3e-9), "3 ns");
  EXPECT_EQ(seconds_text(NAN), "-");
  EXPECT_EQ(count_text(65025), "65,025");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(NAN), "-");
}

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xB6\xC3\xBC", 2), "\xC3\xA4\xC3\xB6...");
  EXPECT_EQ(end_of("abc", 3), "abc");
  EXPECT_EQ(end_of("abcd", 3), "...bcd");
  EXPECT_EQ(end_of("\xC3\xA4\xC3\xB6", 1), "...\xC3\xB6");
  EXPECT_DOUBLE_EQ(width_of("\xC3\xA4"), width_of("a"));
}

// ---- axes and lines ----

TEST(Ticks, AreRound) {
  EXPECT_EQ(ticks(0, 10, false), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(-1, 1, false).size(), 5u);
  EXPECT_EQ(ticks(1, 1000, true), (std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}));
  for (double const tick : ticks(1e-30, 1e30, true)) {
    EXPECT_GE(tick, 0.9e-30);
    EXPECT_LE(tick, 1.1e30);
  }
  EXPECT_LE(ticks(1e-300, 1e300, true).size(), 12u);
  EXPECT_LE(ticks(1e-300, 1e300, false).size(), 20u);
  EXPECT_FALSE(ticks(3.1, 3.2, true).empty());
  EXPECT_EQ(ticks(2, 2, false), std::vector<double>{2});
}

TEST(Thinned, KeepsEndsAndPeaksAndGaps) {
  std::vector<Point> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({double(i), 1.0});
  points[41'234].y = 50;
  points[70'001].y = 1e-30;
  points[90'000].y = NAN;
  auto const kept = thinned(points, 300);
  EXPECT_LE(kept.size(), 400u);
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 99'999);
  double highest = 0, lowest = 1;
  bool has_gap = false;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(kept[i - 1].x, kept[i].x);
    }
    has_gap = has_gap || std::isnan(kept[i].y);
    if (kept[i].y > highest) highest = kept[i].y;
    if (kept[i].y < lowest) lowest = kept[i].y;
  }
  EXPECT_EQ(highest, 50);
  EXPECT_EQ(lowest, 1e-30);
  EXPECT_TRUE(has_gap);
  EXPECT_EQ(thinned({{0, 1}, {1, 2}}, 300).size(), 2u);
  EXPECT_TRUE(thinned({}, 300).empty());
}

/// The axis goes from 66 to 466 and from 262 up to 28.
TEST(Svg, PutsPointsWhereTheyBelong) {
  Plot plot{"t", {"x", false, {0, 4}}, {"y", true}, {}};
  plot.series.push_back({"line", {{0, 1}, {2, 10}, {3, NAN}, {4, 100}}});
  std::string const picture = svg(plot);
  EXPECT_TRUE(picture.find("d=\"M66 262L266 145M466 28\"") != picture.npos) << picture;
  EXPECT_EQ(wrong_with(picture), "");
  plot.series[0].end = End::bad;
  plot.series[0].rings = {{2, 10}};
  EXPECT_TRUE(svg(plot).find("M462 24L470 32M462 32L470 24") != std::string::npos);
  EXPECT_TRUE(svg(plot).find("cx=\"266\" cy=\"145\" r=\"3.5\" class=\"r s0\"") !=
              std::string::npos);
}

TEST(Svg, HasTheLegendTheRuleAndTheNote) {
  Plot plot{"a & b", {"x"}, {"y"}, {}};
  plot.series.push_back({"one <1>", {{0, 0}, {1, 1}}});
  plot.series.push_back({"two", {{0, 1}, {1, 0}}});
  plot.series[1].style = 1;
  plot.rules.push_back({0.5, "half"});
  plot.note = "a note";
  std::string const picture = svg(plot);
  for (char const* const word : {">one &lt;1&gt;<", ">two<", ">half<", ">a note<", ">a &amp; b<",
                                 "class=\"l s1\" stroke-dasharray=\"7 3\""})
    EXPECT_TRUE(picture.find(word) != picture.npos) << word;
  EXPECT_EQ(wrong_with(picture), "");
}

TEST(Svg, TakesAnyNumbers) {
  double const most = std::numeric_limits<double>::max();
  for (bool const is_log : {false, true})
    for (auto const& values : std::vector<std::vector<double>>{{},
                                                               {0},
                                                               {3, 3, 3},
                                                               {NAN, NAN},
                                                               {infinity, -infinity},
                                                               {-1, 0},
                                                               {most, -most},
                                                               {most, most},
                                                               {5e-324, 1},
                                                               {5e-324},
                                                               {1e-300, 1e300}}) {
      Plot plot{"t", {"x", is_log}, {"y", is_log}, {}};
      Series series{"s", {}};
      for (std::size_t i = 0; i < values.size(); ++i)
        series.points.push_back({values[i], values[i]});
      series.rings = series.points;
      plot.series = {series};
      plot.rules.push_back({NAN, "r"});
      std::string const picture = svg(plot);
      EXPECT_EQ(wrong_with(picture), "");
      EXPECT_EQ(picture.find("nan"), picture.npos) << picture;
      EXPECT_EQ(picture.find("inf"), picture.npos) << picture;
      EXPECT_LT(picture.size(), 20'000u);
    }
}

TEST(Svg, BarsAreAsLongAsTheirTimes) {
  Bars bars{"t", {"set-up", "solve"}, {{"a", {1, 3}}, {"b", {NAN, 2}}, {"c", {-1, infinity}}}};
  bars.bars[1].is_good = false;
  std::string const picture = svg(bars);
  EXPECT_EQ(count(picture, "<rect x="), 2 + 1 + 2u) << "two of the legend";
  EXPECT_TRUE(picture.find(">4 s<") != picture.npos);
  EXPECT_TRUE(picture.find(">\xC3\x97 2 s<") != picture.npos);
  EXPECT_TRUE(picture.find(" f\"") != picture.npos);
  EXPECT_EQ(wrong_with(picture), "");
  EXPECT_EQ(wrong_with(svg(Bars{"none", {}, {}})), "");
}

TEST(SvgFile, IsOneDocument) {
  Plot plot{"t", {"x"}, {"y"}, {}};
  std::string const file = svg_file({svg(plot), svg(plot)});
  EXPECT_EQ(wrong_with(file), "");
  EXPECT_EQ(count(file, "<svg "), 3u);
  EXPECT_TRUE(file.starts_with("<?xml"));
  EXPECT_EQ(wrong_with(svg_file({})), "");
}

// ---- records ----

TEST(ReadRecord, RefusesWhatIsNoResult) {
  for (char const* const text : {"", "{", "[]", "3", "{\"runs\": 3}", "{}", "\xff"})
    EXPECT_THROW(read_record("r.json", text), Solder::InputError) << text;
  try {
    read_record("r.json", "{}");
  } catch (Solder::InputError const& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 7), "r.json:");
  }
}

TEST(ReadRecord, TakesWhatIsMissingOrOfAnotherTypeForUnknown) {
  Record const record = read_record(
      "r.json", R"({"runs": [{}, 3, null, [], {"problem": 3, "history": "x", "iterations": "many",
                "checks": [1, {}], "peers": {"a": 1}, "attempts": {"b": 2}, "input": {"c": 1}},
                {"contestants": [{}, 1]}, {"kernels": [1, {}]}, {"phase_seconds": {"a": "b"}}]})");
  EXPECT_EQ(record.runs.size(), 9u);
  expect_good(html({record}));
}

TEST(ReadRecord, HasTheRunsNumbers) {
  Json json = run_json("p(size=3,k=2)", 9, "cg", 4);
  json["history"] = {1.0, nullptr, 1e-9};
  json["checks"] = {{{"iteration", 2}, {"relative_residual", 2e-9}}};
  json["solve_seconds_each"] = {3, 4, 5};
  json["words_per_iteration"] = 10;
  json["roofline"] = {{"copy_gb_s", 2}};
  json["attempts"] = {{{"method", "cg"}, {"why", "b"}, {"setup_seconds", 0.002}}, "gmres"};
  auto const run = record_of({json}).runs.at(0);
  EXPECT_EQ(run.problem, "p(size=3,k=2)");
  EXPECT_EQ(run.family, "p(k=2)");
  EXPECT_EQ(run.measured(), 4.25);
  EXPECT_EQ(run.bytes, 80);
  EXPECT_EQ(run.bandwidth, 2e9);
  ASSERT_EQ(run.history.size(), 3u);
  EXPECT_TRUE(std::isnan(run.history[1]));
  ASSERT_EQ(run.checks.size(), 1u);
  EXPECT_EQ(run.checks[0].y, 2e-9);
  EXPECT_EQ(run.samples, (std::vector<double>{3, 4, 5}));
  ASSERT_EQ(run.attempts.size(), 2u);
  EXPECT_EQ(run.attempts[0], (Run::Words{{"method", "cg"}, {"why", "b"}, {"setup", "2 ms"}}));
  EXPECT_EQ(run.attempts[1], (Run::Words{{"what", "gmres"}}));
  EXPECT_EQ(record_of({run_json("p(size=3)", 9, "cg", 4)}).runs[0].family, "p");
  EXPECT_EQ(record_of({run_json("p(k=1,size=3)", 9, "cg", 4)}).runs[0].family, "p(k=1)");
  EXPECT_EQ(record_of({run_json("p(oversize=3)", 9, "cg", 4)}).runs[0].family, "p(oversize=3)");
}

/// A benchmark counts an iteration, Solder's and the peers'.
TEST(ReadRecord, HasTheTimesOfPeers) {
  Json json = run_json("p", 9, "cg", 4);
  json["reason"] = "max_iterations";
  json["peers"] = {
      {"eigen",
       {{"variants", {{{"variant", "CSR"}, {"seconds_per_iteration", 3.0}, {"agrees", true}}}}}},
      {"vendor", {{"why_not", "no GPU"}}}};
  Record const record = record_of({json});
  ASSERT_EQ(record.runs.size(), 2u);
  EXPECT_EQ(record.runs[0].measured(), 2);
  EXPECT_TRUE(record.runs[0].has_ended_well());
  EXPECT_EQ(record.runs[1].who, "eigen");
  EXPECT_EQ(record.runs[1].measured(), 3);
  EXPECT_EQ(record.absent, std::vector<std::string>{"vendor: no GPU"});
  EXPECT_EQ(ways_of(record.runs), (std::vector<std::string>{"solder", "eigen CSR"}));
}

TEST(Quartiles, LieBetweenNeighbours) {
  Quartiles const q = quartiles({5, 1, 2, 4, 3});
  EXPECT_EQ(q.lower, 2);
  EXPECT_EQ(q.median, 3);
  EXPECT_EQ(q.upper, 4);
  EXPECT_EQ(quartiles({1, 2}).median, 1.5);
  EXPECT_EQ(quartiles({NAN, 7}).upper, 7);
  EXPECT_TRUE(std::isnan(quartiles({}).median));
}

// ---- pictures ----

TEST(Ways, AreTheKeysThatDiffer) {
  Json a = run_json("p", 9, "cg", 1), b = run_json("p", 9, "gmres", 1), c = b;
  b["input"]["solver"]["restart"] = 10;
  c["input"]["solver"]["restart"] = 20;
  EXPECT_EQ(ways_of(record_of({a, b, c}).runs),
            (std::vector<std::string>{"cg", "gmres restart=10", "gmres restart=20"}));
  EXPECT_EQ(ways_of(record_of({a, a}).runs), (std::vector<std::string>{"", ""}));
  a["input"]["solver"]["form"] = "auto";
  b["input"]["solver"]["form"] = "cgs2";
  EXPECT_EQ(ways_of(record_of({a, b}).runs), (std::vector<std::string>{"cg", "gmres"}))
      << "each has its own default";
}

TEST(NaturalKind, IsWhatTheRunsAreFor) {
  auto const kind = [](std::vector<Json> const& runs) {
    return natural_kind(record_of(runs).runs);
  };
  Json const one = run_json("p(size=3)", 9, "cg", 1), large = run_json("p(size=4)", 16, "cg", 1);
  Json mute = one;
  mute["history"] = Json::array();
  EXPECT_EQ(kind({one}), Kind::convergence);
  EXPECT_EQ(kind({mute}), Kind::time);
  EXPECT_EQ(kind({one, large}), Kind::size);
  EXPECT_EQ(kind({one, run_json("p(size=3)", 9, "idr", 1), run_json("q", 9, "cg", 1)}),
            Kind::profile);
  for (std::size_t k = 0; k < kind_names.size(); ++k)
    EXPECT_EQ(kind_of(kind_names[k]), static_cast<Kind>(k));
}

/// cg takes 1 and 4 s, idr 2 and 3 (all with 0.25 s of set-up), where the third problem idr alone
/// solves.
TEST(Profile, IsDolansAndMores) {
  Json fails = run_json("c", 9, "cg", 1);
  fails["reason"] = "breakdown";
  auto const runs = record_of({run_json("a", 9, "cg", 0.75), run_json("a", 9, "idr", 1.75),
                               run_json("b", 9, "cg", 3.75), run_json("b", 9, "idr", 1.75), fails,
                               run_json("c", 9, "idr", 9.75)})
                        .runs;
  auto const figures = pictures(Kind::profile, runs);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_TRUE(figures[0].find("Performance profile of 3 problems") != std::string::npos);
  EXPECT_EQ(wrong_with(figures[0]), "");
  // cg: a third at 1, two thirds from 2 on; idr: two thirds at 1, all from 2 on.
  double const third = 262 - 234.0 / 3, two_thirds = 262 - 2 * 234.0 / 3;
  EXPECT_TRUE(figures[0].find("d=\"M66 262L66 " + place(third)) != std::string::npos);
  EXPECT_TRUE(figures[0].find("L466 " + place(two_thirds) + "\"") != std::string::npos);
  EXPECT_TRUE(figures[0].find("L466 28\"") != std::string::npos);
  EXPECT_TRUE(pictures(Kind::profile, record_of({fails, fails}).runs).empty());
}

TEST(Pictures, AreThereWhereRunsHaveSomethingOfTheKind) {
  Json json = run_json("p", 9, "cg", 1);
  auto const numbers = [](std::vector<Json> const& runs) {
    std::vector<std::size_t> result;
    for (Kind const kind :
         {Kind::convergence, Kind::time, Kind::size, Kind::profile, Kind::roofline})
      result.push_back(pictures(kind, record_of(runs).runs).size());
    return result;
  };
  EXPECT_EQ(numbers({json}), (std::vector<std::size_t>{2, 1, 0, 0, 0}));
  json["words_per_iteration"] = 100;
  json["roofline"] = {{"copy_gb_s", 10}};
  EXPECT_EQ(numbers({json, run_json("p", 99, "cg", 1)}), (std::vector<std::size_t>{2, 1, 1, 0, 1}));
  EXPECT_EQ(numbers({}), (std::vector<std::size_t>{0, 0, 0, 0, 0}));
}

// ---- pages ----

TEST(Html, ShowsARunAndHowItWasMade) {
  Json json = run_json("poisson", 65025, "cg", 0.5);
  json["detail"] = "a detail";
  json["runner_reason"] = "two threads";
  json["runner"] = "resident";
  json["ranks"] = {{"count", 2},
                   {"rows", {3, 4}},
                   {"nonzeros", {7, 8}},
                   {"ghosts", {1, 2}},
                   {"all_reduces_per_iteration", 1.04},
                   {"exchanges_per_iteration", 1.5},
                   {"waited", {0.25, 0.5}}};
  Json const all{{"solder", "1.2.3"},
                 {"commit", "abc"},
                 {"device", "a device"},
                 {"command", {"solder", "a b.yaml", "--set", "x=1"}},
                 {"file", "a b.yaml"},
                 {"yaml", "problem: {}"},
                 {"stopped", "by SIGINT in run 2"},
                 {"machine", {{"cpu", "a CPU"}, {"load_average", {0.5, 1}}}},
                 {"runs", {json}}};
  std::string const page = html({read_record("r.json", all.dump())});
  for (char const* const word :
       {"1 run: it converged. On a device.", "65,025", "250 ms", "500 ms", "tolerance 1e-08", "abc",
        "solder &#39;a b.yaml&#39; --set x=1", "problem: {}", "by SIGINT in run 2", "a CPU",
        "0.5, 1", "resident: two threads",
        "2 ranks with 3, 4 rows, 7, 8 nonzeros and 1, 2 ghosts", "1.04 all-reduces",
        "waited for 25%, 50% of the solve", "converged: a detail", "<details"})
    EXPECT_TRUE(page.find(word) != page.npos) << word;
  expect_good(page);
}

TEST(Html, EscapesWhatEveryFieldSays) {
  std::string const evil = "<script>alert(1)</script><img src=x onerror=y>\"'&\x01]]>\u202e";
  Json json = run_json(evil, 9, evil, 1);
  for (char const* const key :
       {"form", "preconditioner", "preconditioner_label", "space", "runner", "runner_reason",
        "matrix_format", "matrix_format_reason", "reason", "detail"})
    json[key] = evil;
  json["input"][evil] = {{evil, evil}};
  json["ranks"] = {{"count", 2}, {"rows", evil}};
  json["attempts"] = {{{evil, evil}}, evil};
  json["preconditioner_setup"] = {{"phase_seconds", {{evil, 1}}}};
  json["peers"] = {{evil, {{"why_not", evil}}}};
  Json const all{{"solder", evil}, {"device", evil},          {"file", evil},
                 {"yaml", evil},   {"command", {evil, evil}}, {"stopped", evil},
                 {"date", evil},   {"runs", {json, json}}};
  Record record = read_record("r.json", all.dump());
  record.name = evil;
  std::string const page = html({record, record}, {record});
  EXPECT_EQ(wrong_with(page), "");
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_EQ(page.find("<img"), page.npos);
  for (Kind const kind : {Kind::convergence, Kind::time, Kind::size, Kind::profile, Kind::roofline})
    EXPECT_EQ(wrong_with(svg_file(pictures(kind, record.runs))), "");
}

TEST(Html, TakesHistoriesOfAnyNumbers) {
  for (char const* const history : {"[]", "[null]", "[1]", "[1,1,1]", "[0,0]", "[1,null,null]",
                                    "[-1,1e308,1e-308]", "[1,\"x\"]", "{}"}) {
    Json json = run_json("p", 9, "cg", 1);
    json["history"] = Json::parse(history);
    expect_good(html({record_of({json})}));
  }
  Json never = run_json("p", 9, "cg", 1);
  for (char const* const key : {"true_relative_residual", "seconds_per_iteration", "solve_seconds"})
    never[key] = nullptr;
  never["reason"] = "not_finite";
  std::string const page = html({record_of({never, never})});
  expect_good(page);
  EXPECT_TRUE(page.find("2 runs: 0 converged, 2 did not.") != page.npos);
  expect_good(html({record_of({})}));
}

TEST(Html, ComparesWithEarlierResults) {
  Json now = run_json("p", 9, "cg", 0.75), other = run_json("q", 9, "cg", 1);
  Record const before = record_of({run_json("p", 9, "cg", 1.75), run_json("r", 9, "cg", 1)});
  std::string const page = html({record_of({now, other})}, {before});
  EXPECT_TRUE(page.find("of 1 run: 0.5.") != page.npos) << page;
  EXPECT_TRUE(page.find("2 s</td><td class=\"q\">1 s</td><td class=\"q\">0.5</td>") != page.npos);
  now["reason"] = "stagnated";
  EXPECT_TRUE(html({record_of({now})}, {before}).find("no longer converges") != std::string::npos);
  EXPECT_TRUE(html({record_of({other})}, {before}).find("No run of the earlier") !=
              std::string::npos);
}

/// A sweep of 200 runs with long histories, and one of 1,000 with long words.
TEST(Html, StaysSmallAndIsMadeSoon) {
  std::vector<Json> runs;
  std::vector<double> history;
  for (int i = 0; i < 2000; ++i) history.push_back(std::pow(0.99, i) * (1 + i % 7));
  for (int k = 0; k < 200; ++k) {
    Json json = run_json("p" + std::to_string(k / 20), 1000 + k / 20, "cg", 1 + k);
    json["input"]["solver"]["tolerance"] = std::pow(10.0, -k % 20);
    json["history"] = history;
    runs.push_back(json);
  }
  std::string const text = document(runs);
  std::clock_t const begin = std::clock();  // of this process alone: the machine may be busy
  std::string const page = html({read_record("r.json", text)});
  double const seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  expect_good(page);
  EXPECT_LT(seconds, 2);
  EXPECT_EQ(page, html({read_record("r.json", text)})) << "the same again";

  runs.clear();
  for (int k = 0; k < 1000; ++k) {
    Json json = run_json(std::string(300, 'x') + std::to_string(k), 9, "cg", 1);
    json["detail"] = std::string(2000, '&') + std::to_string(k);
    json["attempts"] = {std::string(5000, '<')};
    json["input"]["solver"]["name"] = std::string(300, '"') + std::to_string(k);
    runs.push_back(json);
  }
  Json all = Json::parse(document(runs));
  all["yaml"] = std::string(3'000'000, '&');
  std::vector<Record> records(1, read_record("r.json", all.dump()));
  all["runs"] = {runs[0]};
  all["yaml"] = std::string(100'000, '&');
  for (int k = 0; k < 30; ++k) {
    records.push_back(read_record(std::string(300, 'y'), all.dump()));
  }
  std::string const large = html(records);
  EXPECT_EQ(wrong_with(large), "");
  EXPECT_LT(large.size(), 1'000'000u);
}

}  // namespace
