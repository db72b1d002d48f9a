// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "contest.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "driver/solve.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

/// (Solder's way, the peer and its way) -> the peer's time over Solder's on every problem
using Ratios = std::map<std::pair<std::string, std::string>, std::vector<double>>;

Ratios all_ratios(std::vector<Contest> const& contests) {
  Ratios ratios;
  for (Contest const& contest : contests)
    for (Contestant const& own : contest.contestants) {
      if (!own.is_solder()) continue;
      std::string const way = own.how.substr(0, own.how.find(':'));  // "auto: csr" is "auto"
      std::map<std::string, double> best;                            // of a peer's ways
      for (Contestant const& peer : contest.contestants) {
        if (peer.is_solder()) continue;
        double const ratio = peer.seconds() / own.seconds();
        ratios[{way, peer.who + " " + peer.how}].push_back(ratio);
        auto const [place, is_new] = best.try_emplace(peer.who, ratio);
        if (!is_new) place->second = std::min(place->second, ratio);
      }
      for (auto const& [who, ratio] : best) ratios[{way, who + " (best)"}].push_back(ratio);
    }
  return ratios;
}

double geometric_mean(std::vector<double> const& ratios) {
  double sum = 0;
  for (double const ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / double(ratios.size()));
}

double least(std::vector<double> const& ratios) {
  return *std::min_element(ratios.begin(), ratios.end());
}

Json json_of(Contest const& contest, std::string const& size_name) {
  Json run{{"problem", contest.problem},
           {"rows", contest.rows},
           {size_name, contest.size},
           {"bytes", contest.bytes},
           {"copy_bandwidth_gb_s", contest.copy_bandwidth * 1e-9},
           {"contestants", Json::array()},
           {"absent", contest.absent}};
  double const reference = contest.reference_seconds();
  for (Contestant const& c : contest.contestants) {
    double const rate = contest.bytes / c.seconds();
    Json one{{"who", c.who},           {"how", c.how},
             {"seconds", c.seconds()}, {"seconds_each", c.samples},
             {"gb_s", rate * 1e-9},    {"of_copy", rate / contest.copy_bandwidth},
             {"error", c.error}};
    if (reference > 0) one["speed"] = reference / c.seconds();
    run["contestants"].push_back(std::move(one));
  }
  return run;
}

}  // namespace

Contestant& Contest::add(std::string const& who, std::string const& how,
                         std::vector<double> const& samples, double error) {
  auto const same = [&](Contestant const& c) { return c.who == who && c.how == how; };
  auto found = std::find_if(contestants.begin(), contestants.end(), same);
  if (found == contestants.end()) found = contestants.insert(contestants.end(), {who, how, {}, 0});
  found->samples.insert(found->samples.end(), samples.begin(), samples.end());
  found->error = error <= found->error ? found->error : error;  // NaN is not lost
  return *found;
}

void Contest::add_absent(std::string const& why) {
  if (std::find(absent.begin(), absent.end(), why) == absent.end()) absent.push_back(why);
}

double Contest::reference_seconds() const {
  for (Contestant const& c : contestants)
    if (!c.is_solder()) return c.seconds();
  return 0;
}

std::string ContestTable::heading(double copy_bandwidth) const {
  return format("copy %.1f GB/s; speed: over that of the first line of another library\n",
                copy_bandwidth * 1e-9) +
         format("  %-14s %-19s %11s %19s %8s %8s %6s %7s\n", "who", "how", "us", "quartiles",
                "GB/s", "of copy", "speed", "error");
}

std::string ContestTable::lines(Contest const& contest) const {
  std::string text = contest.problem + ": ";
  if (size_name_ == "order")
    text += Driver::grouped(contest.rows) + " matrices of order " + std::to_string(contest.size);
  else  // "columns", "nonzeros"
    text += counted(contest.rows, "row") + ", " +
            counted(contest.size, size_name_.substr(0, size_name_.size() - 1));
  text += "\n";
  double const reference = contest.reference_seconds();
  for (Contestant const& c : contest.contestants) {
    double const rate = contest.bytes / c.seconds();
    std::string const speed = reference > 0 ? format("%.2f", reference / c.seconds()) : "-";
    text += format("  %-14s %-19s %11.2f %19s %8.1f %7.1f%% %6s %7.0e\n", c.who.c_str(),
                   c.how.c_str(), c.seconds() * 1e6, quartiles_text(c.samples).c_str(), rate * 1e-9,
                   100 * rate / contest.copy_bandwidth, speed.c_str(), c.error);
  }
  for (std::string const& why : contest.absent) text += "  " + why + "\n";
  return text;
}

std::string ContestTable::means(std::vector<Contest> const& contests) {
  std::string text;
  for (auto const& [names, ratios] : all_ratios(contests))
    text += format("%s takes %.2f times as long as solder %s", names.second.c_str(),
                   geometric_mean(ratios), names.first.c_str()) +
            (ratios.size() == 1 ? "\n"
                                : format(": the geometric mean of %zu problems; least %.2f\n",
                                         ratios.size(), least(ratios)));
  return text;
}

std::string title_of(Driver::RunConfig const& run) {
  std::string text = run.problem.name;
  if (run.problem.scalar != Driver::Scalar::double_)
    text += ", " + std::string(Driver::to_string(run.problem.scalar));
  if (run.execution.space != "default") text += ", " + run.execution.space;
  return text;
}

Json contests_json(std::vector<Contest> const& contests, Json runs) {
  Json document{{"summary", Json::array()}, {"runs", std::move(runs)}};
  for (auto const& [names, ratios] : all_ratios(contests))
    document["summary"].push_back({{"solder", names.first},
                                   {"peer", names.second},
                                   {"geometric_mean", geometric_mean(ratios)},
                                   {"least", least(ratios)},
                                   {"problems", ratios.size()}});
  return document;
}

Json ContestTable::json(std::vector<Contest> const& contests) const {
  Json runs = Json::array();
  for (Contest const& contest : contests) runs.push_back(json_of(contest, size_name_));
  return contests_json(contests, std::move(runs));
}

}  // namespace Solder::Perf
