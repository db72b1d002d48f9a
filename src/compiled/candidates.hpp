// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Which solvers and preconditioners `name: auto` tries for a matrix, in which order, and
/// why: a pure function of what was seen of the matrix and of the machine.

#include <solder/core/plan.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/parameters.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief A solver with a preconditioner that may suit a matrix.
struct Candidate {
  std::string solver, preconditioner;                     ///< names
  Parameters solver_options{}, preconditioner_options{};  ///< those that are not the defaults
  double setup = 0;                                       ///< seconds of the set-up, by the model
  double iteration = 0;                                   ///< seconds of an iteration, by the model
  int likely = 0;         ///< iterations that it takes where it suits the matrix, by the model
  std::string because{};  ///< it is tried, a sentence without a full stop
  bool needs_definite = false;  ///< of no use once A has turned out to be indefinite
  /// It has no set-up to speak of, and goes on from its 20th iteration only where it promises to be
  /// done before the next one would be set up; for single right-hand sides.
  bool is_trial = false;

  /// \brief "cg+amg".
  std::string name() const { return solver + "+" + preconditioner; }
  /// \brief Seconds that it promises to take, set-up and all.
  double promise() const { return setup + likely * iteration; }
};

/// \brief What the user leaves to auto.
struct Restriction {
  std::string solver{};          ///< the only one; empty: any
  std::string preconditioner{};  ///< the only one; empty: any
  std::string candidates{};      ///< "cg+amg gmres+ilu0": these in this order; empty: the table's
  bool is_matched = false;       ///< rows are permuted for the preconditioner, which cg cannot take
  bool may_try = true;           ///< a candidate may be on trial
};

/// \brief What of a solver is left to auto.
Restriction restriction_of(Wanted const& wanted);

/// \brief The candidates for a matrix, the one to try first in front.
/// \throws std::invalid_argument where `restriction.candidates` names what there is not, or nothing
/// is left
std::vector<Candidate> candidates_for(Analysis const& analysis, Machine const& machine,
                                      Restriction const& restriction = {});

/// \brief What is wanted, with a candidate in place of what was left to auto.
Wanted wanted_of(Wanted const& wanted, Candidate const& candidate);

/// \brief The matrix and its candidates, for people: what `--explain` prints.
std::string explained(Analysis const& analysis, std::vector<Candidate> const& candidates);
/// \brief The matrix, the candidate that was chosen, and the names of those that follow it.
std::string introduced(Analysis const& analysis, std::vector<Candidate> const& candidates,
                       std::size_t chosen);

}  // namespace Solder::Compiled
