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

std::string why_factors_are_dear(double fill, double seconds, double most, bool is_limited) {
  if (std::isinf(seconds))
    return "its factors would have " + Impl::rounded_text(fill) + " entries for each of A's";
  std::string const has = Impl::rounded_text(most) + " s";
  return "its factors would take about " + Impl::rounded_text(seconds) + " s, and " +
         (is_limited ? "time_limit leaves " + has : "auto allows " + has + " without a time_limit");
}

std::string why_unsolved(Report const& last, Unsolved const& how) {
  std::string text = last.detail;
  if (how.rounding > 0)
    text = std::string(Impl::rounding_of_entries) + Impl::rounded_text(how.rounding) +
           ", so no candidate can be expected to reach the tolerance in " +
           (how.is_single ? std::string(Impl::single_precision) : "double precision");
  else if (!how.end_of_all.empty())
    text = how.end_of_all;
  else if (how.attempts > 1)
    text = "none of the " + std::to_string(how.attempts) +
           " candidates that were tried has solved the system; the last one ended so: " +
           (text.empty() ? std::string(to_string(last.reason)) : text);
  text += how.passed_over;
  auto const hint = [&](std::string const& what) { text += (text.empty() ? "" : "; ") + what; };
  if (last.reason != Reason::stopped) {
    if (double const times = how.analysis.row_sizes.ratio(); times > 1e10)
      hint("rows of A differ by a factor of " + Impl::rounded_text(times) +
           " in their largest entries: scale them, and b");
    if (how.is_single && how.rounding == 0) hint("double precision has more digits");
  }
  return last.is_singular ? "A is " + why_singular(how.analysis) + "; " + text : text;
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
