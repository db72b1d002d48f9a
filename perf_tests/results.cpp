// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/output.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

/// Did the peer, after the same few iterations, reach the residual that Solder reached?
bool agrees(PeerTiming const& timing, Row const& row) {
  double const expected = row.solder.check_residual;
  return std::abs(timing.check_residual - expected) <= 0.02 * expected;
}

/// The fastest peer's time per iteration, or 0 where none ran.
double best_peer_seconds(Row const& row) {
  double best = 0;
  for (PeerResult const& peer : row.peers)
    if (!peer.timings.empty() && (best == 0 || peer.best().seconds_per_iteration() < best))
      best = peer.best().seconds_per_iteration();
  return best;
}

Json json_of(PeerResult const& peer, Row const& row) {
  if (peer.timings.empty()) return {{"why_not", peer.why_not}};
  Json variants = Json::array();
  for (PeerTiming const& timing : peer.timings)
    variants.push_back({{"variant", timing.variant},
                        {"seconds_per_iteration", timing.seconds_per_iteration()},
                        {"seconds_each", timing.seconds},
                        {"iterations", timing.iterations},
                        {"check_residual", timing.check_residual},
                        {"agrees", agrees(timing, row)}});
  PeerTiming const& best = peer.best();
  return {{"variant", best.variant},
          {"seconds_per_iteration", best.seconds_per_iteration()},
          {"ratio", best.seconds_per_iteration() / row.solder.seconds_per_iteration()},
          {"variants", std::move(variants)}};
}

}  // namespace

PeerTiming const& PeerResult::best() const {
  return *std::min_element(timings.begin(), timings.end(),
                           [](PeerTiming const& a, PeerTiming const& b) {
                             return a.seconds_per_iteration() < b.seconds_per_iteration();
                           });
}

double Row::bandwidth_fraction() const {
  double const bytes = solder.report.words_per_iteration * double(scalar_bytes);
  return bytes / solder.seconds_per_iteration() / bandwidth.copy;
}

std::string heading(Row const& first) {
  return format("copy %.1f GB/s, triad %.1f GB/s (%s); x Solder: the time over Solder's\n",
                first.bandwidth.copy * 1e-9, first.bandwidth.triad * 1e-9,
                first.solder.space.c_str()) +
         format("  %-14s %-23s %10s %11s %17s %8s %8s\n", "who", "how", "iterations", "us each",
                "quartiles", "of copy", "x Solder");
}

std::string lines(Row const& row) {
  double const own = row.solder.seconds_per_iteration();
  auto const line = [&](std::string const& who, std::string const& how, int iterations,
                        double seconds, std::vector<double> const& each,
                        std::string const& of_copy) {
    return format("  %-14s %-23s %10d %11.2f %17s %8s %8.2f\n", who.c_str(), how.c_str(),
                  iterations, seconds * 1e6, quartiles_text(each).c_str(), of_copy.c_str(),
                  seconds / own);
  };
  std::vector<double> each = row.solder.samples;
  for (double& seconds : each) seconds /= std::max(1, row.solder.report.iterations);
  std::string text =
      row.config->problem.name + ": " + counted(row.rows, "row") + "; " + row.config->solver.name +
      ", " + row.config->preconditioner.label + ", " + row.solder.space + "\n" +
      line("solder",
           row.solder.report.form + " " + std::string(to_string(row.solder.report.runner)) + " " +
               row.solder.matrix_format,
           row.solder.report.iterations, own, each,
           format("%.1f%%", 100 * row.bandwidth_fraction()));
  if (SetupReport const& setup = row.solder.report.preconditioner; !setup.phases.empty()) {
    double total = 0;
    text += "  set-up:";
    for (auto const& [name, seconds] : setup.phases) {
      text += format(" %s %.2f ms,", name.c_str(), seconds * 1e3);
      total += seconds;
    }
    text +=
        format(" total %.2f ms = %.1f iterations; density %.3f, %lld rows repaired\n", total * 1e3,
               total / own, setup.density, static_cast<long long>(setup.repaired_rows));
  }
  if (row.solder.report.reason != Reason::max_iterations)
    text += "  solder: stopped early, " + std::string(to_string(row.solder.report.reason)) + "; " +
            row.solder.report.detail + "\n";
  for (PeerResult const& peer : row.peers) {
    if (peer.timings.empty()) text += format("  %-14s ", peer.name.c_str()) + peer.why_not + "\n";
    for (PeerTiming const& timing : peer.timings) {
      text += line(peer.name, timing.variant, timing.iterations, timing.seconds_per_iteration(),
                   timing.seconds, "");
      if (!agrees(timing, row))
        text += format(
            "  %s %s: residual %.3e after %d iterations, where Solder has %.3e: not the same "
            "method\n",
            peer.name.c_str(), timing.variant.c_str(), timing.check_residual,
            row.solder.check_iterations, row.solder.check_residual);
    }
  }
  if (double const best = best_peer_seconds(row); best > 0)
    text += format("  Solder / best of the others: %.2f\n", own / best);
  return text;
}

Json results_json(std::vector<Row> const& rows) {
  std::vector<Driver::RunResult> results;
  for (Row const& row : rows) {
    results.push_back({row.config, row.rows, row.nonzeros, row.solder.space, row.solder.report,
                       row.solder.matrix_format, row.solder.format_reason});
    results.back().report.history.clear();
    results.back().seconds = row.solder.samples;
  }
  Json document{{"copy_bandwidth_gb_s", rows[0].bandwidth.copy * 1e-9},
                {"triad_bandwidth_gb_s", rows[0].bandwidth.triad * 1e-9},
                {"runs", Json::parse(Driver::json_text(results, {}))["runs"]}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row const& row = rows[i];
    Json& run = document["runs"][i];
    run["repeats"] = row.solder.repeats;
    run["bandwidth_fraction"] = row.bandwidth_fraction();
    run["check_iterations"] = row.solder.check_iterations;
    run["check_residual"] = row.solder.check_residual;
    run["peers"] = Json::object();
    for (PeerResult const& peer : row.peers) run["peers"][peer.name] = json_of(peer, row);
  }
  return document;
}

}  // namespace Solder::Perf
