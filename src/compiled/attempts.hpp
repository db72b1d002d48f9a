// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What auto notes of the candidates that it tries, and how their reports become one.

#include <solder/core/report.hpp>
#include <string>
#include <vector>

#include "candidates.hpp"

namespace Solder::Compiled {

/// \brief A candidate whose set-up failed.
Attempt failed_set_up(Candidate const& candidate, std::string const& failure);
/// \brief The end of a sentence: why a candidate with complete factors was passed over.
/// \param fill entries of the factors for each of A's; 0: they could not be counted
/// \param seconds that they would take; infinite: they would be too large
/// \param most seconds that there are
/// \param is_limited by time_limit
std::string why_not_begun(Candidate const& candidate, double fill, double seconds, double most,
                          bool is_limited);

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
