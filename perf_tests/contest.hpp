// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "peers/product.hpp"
#include "text.hpp"

namespace Solder::Perf {

/// \brief One way to do what is measured, on one problem.
struct Contestant {
  std::string who, how;
  std::vector<double> samples;  ///< seconds
  double error;                 ///< largest, relative to what the absolute terms add up to

  double seconds() const { return median(samples); }
  bool is_solder() const { return who == "solder"; }
};

/// \brief All ways on one problem, Solder's first.
struct Contest {
  std::string problem;
  std::vector<Contestant> contestants;
  std::vector<std::string> absent;  ///< why a peer gave nothing
  double bytes;                     ///< that any of them must move

  /// \brief Adds samples to a contestant, who may be new.
  void add(std::string const& who, std::string const& how, std::vector<double> const& samples,
           double error) {
    auto const same = [&](Contestant const& c) { return c.who == who && c.how == how; };
    auto found = std::find_if(contestants.begin(), contestants.end(), same);
    if (found == contestants.end())
      found = contestants.insert(contestants.end(), {who, how, {}, 0});
    found->samples.insert(found->samples.end(), samples.begin(), samples.end());
    found->error = std::max(found->error, error);
  }

  void add_absent(std::string const& why) {
    if (std::find(absent.begin(), absent.end(), why) == absent.end()) absent.push_back(why);
  }
};

/// \brief The table of one measurement and what sums it up.
class ContestTable {
 public:
  explicit ContestTable(double copy_bandwidth) : copy_bandwidth_(copy_bandwidth) {}

  /// \brief A line for each contestant; the speed is relative to the first peer's first variant.
  std::string lines(Contest const& contest) const {
    std::string text;
    double const reference = reference_seconds(contest);
    for (Contestant const& c : contest.contestants) {
      double const rate = contest.bytes / c.seconds();
      text +=
          format("%-44s %-15s %-16s %12.2f %9.1f %8.1f%% %9s %9.1e\n", contest.problem.c_str(),
                 c.who.c_str(), c.how.c_str(), c.seconds() * 1e6, rate * 1e-9,
                 100 * rate / copy_bandwidth_,
                 reference > 0 ? format("%.3f", reference / c.seconds()).c_str() : "-", c.error);
    }
    for (std::string const& why : contest.absent) text += "  " + why + "\n";
    return text;
  }

  std::string heading() const {
    return format("copy %.1f GB/s; speed: relative to the first line of a peer\n",
                  copy_bandwidth_ * 1e-9) +
           format("%-44s %-15s %-16s %12s %9s %9s %9s %9s\n", "problem", "who", "how", "us", "GB/s",
                  "of copy", "speed", "error");
  }

  /// \brief The geometric mean over all problems, and the least, of a peer's time over Solder's:
  /// each of Solder's ways with each of a peer's and with its best.
  static std::string means(std::vector<Contest> const& contests) {
    std::string text;
    for (auto const& [names, ratios] : all_ratios(contests))
      text += format(
          "solder %s: geometric mean %.3f of the time of %s over its own, least %.3f, %d "
          "problems\n",
          names.first.c_str(), geometric_mean(ratios), names.second.c_str(),
          *std::min_element(ratios.begin(), ratios.end()), int(ratios.size()));
    return text;
  }

  nlohmann::ordered_json json(std::vector<Contest> const& contests) const {
    using Json = nlohmann::ordered_json;
    Json runs = Json::array(), summary = Json::array();
    for (Contest const& contest : contests) {
      Json run{
          {"problem", contest.problem}, {"bytes", contest.bytes}, {"contestants", Json::array()}};
      double const reference = reference_seconds(contest);
      for (Contestant const& c : contest.contestants) {
        Json one{{"who", c.who},
                 {"how", c.how},
                 {"seconds", c.seconds()},
                 {"gb_s", contest.bytes / c.seconds() * 1e-9},
                 {"of_copy", contest.bytes / c.seconds() / copy_bandwidth_},
                 {"error", c.error}};
        if (reference > 0) one["speed"] = reference / c.seconds();
        run["contestants"].push_back(std::move(one));
      }
      run["absent"] = contest.absent;
      runs.push_back(std::move(run));
    }
    for (auto const& [names, ratios] : all_ratios(contests))
      summary.push_back({{"solder", names.first},
                         {"peer", names.second},
                         {"geometric_mean", geometric_mean(ratios)},
                         {"least", *std::min_element(ratios.begin(), ratios.end())},
                         {"problems", ratios.size()}});
    return {{"copy_bandwidth_gb_s", copy_bandwidth_ * 1e-9},
            {"summary", std::move(summary)},
            {"runs", std::move(runs)}};
  }

 private:
  /// (Solder's way, the peer and its way) -> the peer's time over Solder's on every problem
  using Ratios = std::map<std::pair<std::string, std::string>, std::vector<double>>;

  static double reference_seconds(Contest const& contest) {
    for (Contestant const& c : contest.contestants)
      if (!c.is_solder()) return c.seconds();
    return 0;
  }

  static Ratios all_ratios(std::vector<Contest> const& contests) {
    Ratios ratios;
    for (Contest const& contest : contests)
      for (Contestant const& own : contest.contestants) {
        if (!own.is_solder()) continue;
        std::map<std::string, double> best;  // of a peer's ways
        for (Contestant const& peer : contest.contestants) {
          if (peer.is_solder()) continue;
          double const ratio = peer.seconds() / own.seconds();
          ratios[{own.how, peer.who + " " + peer.how}].push_back(ratio);
          auto const [place, is_new] = best.try_emplace(peer.who, ratio);
          if (!is_new) place->second = std::min(place->second, ratio);
        }
        for (auto const& [who, ratio] : best) ratios[{own.how, who + " (best)"}].push_back(ratio);
      }
    return ratios;
  }

  static double geometric_mean(std::vector<double> const& ratios) {
    double sum = 0;
    for (double const ratio : ratios) sum += std::log(ratio);
    return std::exp(sum / double(ratios.size()));
  }

  double copy_bandwidth_;
};

}  // namespace Solder::Perf
