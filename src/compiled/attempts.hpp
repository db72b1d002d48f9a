// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What auto notes of the candidates that it tries, and how their reports become one.

#include <cstddef>
#include <set>
#include <solder/core/report.hpp>
#include <string>
#include <vector>

#include "candidates.hpp"

namespace Solder::Compiled {

/// \brief A candidate whose set-up failed.
Attempt failed_set_up(Candidate const& candidate, std::string const& failure);

/// \brief What a search does not set up, or not again.
struct Skipped {
  std::set<std::string> preconditioners;  ///< that cannot be applied, or are passed over
  std::string sentences;  ///< which candidates were passed over, and why: ends of a sentence
  int late = 0;           ///< set-ups that took too long
};
/// \brief Why a candidate with complete factors is passed over.
/// \param fill entries of the factors for each of A's
/// \param seconds that they would take; infinite: they would be too large
/// \param most seconds that there are
/// \param is_limited by time_limit
std::string why_factors_are_dear(double fill, double seconds, double most, bool is_limited);

/// \brief How a search ended that has solved nothing.
struct Unsolved {
  Analysis const& analysis;
  std::size_t attempts;            ///< how many were tried
  std::string end_of_all;          ///< why all ended at once; empty: the last one's detail says it
  std::string const& passed_over;  ///< see Skipped::sentences
  double rounding;                 ///< the residual that rounding x makes, if that ended it; else 0
  bool is_single;                  ///< all is in single precision
};
/// \brief The detail of its report, the last attempt's.
std::string why_unsolved(Report const& last, Unsolved const& how);

/// \brief A candidate that has run.
/// \param ended how, in a sentence
Attempt attempt_of(Candidate const& candidate, Report const& report, std::string const& ended);

/// \brief A candidate that was given up.
struct GivenUp {
  double left;  ///< iterations that it needs from its next guess on; may be infinite
  Candidate candidate;

  /// \brief Seconds that it promises to take if it goes on, its set-up included.
  double promise() const { return candidate.setup + left * candidate.iteration; }
};
/// \brief The most promising of them; end() if there is none.
std::vector<GivenUp>::const_iterator most_promising(std::vector<GivenUp> const& given_up);

/// \brief The report of the first right-hand side that has not converged, else of the one with the
/// most iterations; but with the time and the largest residual of all.
Report worst_of(std::vector<Report> const& reports);

/// \brief Adds an attempt to those before: what they took is summed up, the rest replaced.
/// \param total of each right-hand side; empty before the first attempt
void add(std::vector<Report>& total, std::vector<Report> const& reports);

}  // namespace Solder::Compiled
