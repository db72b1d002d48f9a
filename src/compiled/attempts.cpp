// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "attempts.hpp"

#include <algorithm>
#include <cmath>
#include <solder/core/options.hpp>
#include <utility>

namespace Solder::Compiled {

Attempt failed_set_up(Candidate const& candidate, std::string const& failure) {
  return {.solver = candidate.solver,
          .preconditioner = candidate.preconditioner,
          .why = std::string(candidate.because),
          .reason = Reason::breakdown,
          .ended = "its set-up failed: " + failure,
          .true_relative_residual = std::nan("")};
}

std::string why_not_begun(Candidate const& candidate, double fill, double seconds, double most,
                          bool is_limited) {
  std::string const factors = "; " + candidate.name() + " was not begun: its factors ";
  if (fill == 0) return factors + "could not be counted, for lack of time or memory";
  if (std::isinf(seconds))
    return factors + "would have " + Impl::rounded_text(fill) + " entries for each of A's";
  std::string const has = Impl::rounded_text(most) + " s";
  return factors + "would take about " + Impl::rounded_text(seconds) + " s, and " +
         (is_limited ? "time_limit leaves " + has : "auto allows " + has + " without a time_limit");
}

Attempt attempt_of(Candidate const& candidate, Report const& report, std::string const& ended) {
  return {.solver = candidate.solver,
          .preconditioner = candidate.preconditioner,
          .why = std::string(candidate.because),
          .reason = report.reason,
          .ended = ended,
          .iterations = report.iterations,
          .true_relative_residual = report.true_relative_residual,
          .solve_seconds = report.solve_seconds};
}

std::vector<GivenUp>::const_iterator most_promising(std::vector<GivenUp> const& given_up) {
  return std::min_element(
      given_up.begin(), given_up.end(),
      [](GivenUp const& one, GivenUp const& other) { return one.promise() < other.promise(); });
}

Report worst_of(std::vector<Report> const& reports) {
  auto const failed = std::find_if(reports.begin(), reports.end(), [](Report const& report) {
    return report.reason != Reason::converged;
  });
  auto const longest = std::max_element(
      reports.begin(), reports.end(),
      [](Report const& a, Report const& b) { return a.iterations < b.iterations; });
  Report worst = failed != reports.end() ? *failed : *longest;
  worst.solve_seconds = 0;
  double& largest = worst.true_relative_residual;
  for (std::size_t c = 0; c < reports.size(); ++c) {
    Report const& each = reports[c];
    // Those that were solved together have the same time, that of all.
    if (c == 0 || each.solve_seconds != reports[c - 1].solve_seconds)
      worst.solve_seconds += each.solve_seconds;
    if (!std::isnan(largest) && !(each.true_relative_residual <= largest))
      largest = each.true_relative_residual;
  }
  return worst;
}

void add(std::vector<Report>& total, std::vector<Report> const& reports) {
  if (total.empty()) {
    total = reports;
    return;
  }
  for (std::size_t c = 0; c < reports.size(); ++c) {
    Report before = std::exchange(total[c], reports[c]);
    Report& now = total[c];
    now.iterations += before.iterations;
    now.guess_relative_residual = before.guess_relative_residual;
    now.setup_seconds += before.setup_seconds;
    now.solve_seconds += before.solve_seconds;
    now.busy_cores = std::max(now.busy_cores, before.busy_cores);
    if (!now.history.empty())
      before.history.insert(before.history.end(), now.history.begin() + 1, now.history.end());
    now.history = std::move(before.history);
  }
}

}  // namespace Solder::Compiled
