// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Which solvers and preconditioners `name: auto` tries for a matrix, in which order, and
/// why: a pure function of what was seen of the matrix and of the machine.

#include <algorithm>
#include <solder/core/plan.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/parameters.hpp>
#include <solder/solver.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "wanted.hpp"
#include "watch.hpp"

namespace Solder::Compiled {

/// \brief Iterations that a candidate takes where it suits the matrix: a share of those that CG
/// with jacobi takes, at least and at most so many.
struct Likely {
  double share;     ///< of the iterations of CG with jacobi
  int least, most;  ///< iterations

  /// \brief Iterations, where CG with jacobi takes `plain`.
  double of(double plain) const {
    return std::clamp(share * plain, double(least), double(std::max(least, most)));
  }
};

/// \brief A solver with a preconditioner that may suit a matrix.
struct Candidate {
  std::string solver, preconditioner;                     ///< names
  Parameters solver_options{}, preconditioner_options{};  ///< those that are not the defaults
  double setup = 0;                                       ///< seconds of the set-up, by the model
  double iteration = 0;                                   ///< seconds of an iteration, by the model
  Likely model{0, 0, 0};                                  ///< of its iterations
  int likely = 0;              ///< iterations that it takes where it suits the matrix, by the model
  std::string_view because{};  ///< why it is tried: a sentence without a full stop, a literal
  bool needs_definite = false;  ///< of no use once A has turned out to be indefinite
  /// It has no set-up to speak of, and goes on only as long as it promises to end before others
  /// would; for single right-hand sides.
  bool is_trial = false;
  /// The share of the next one's promised seconds that a trial may take, in all. Not of cg, whose
  /// rest may take those of the best of the others.
  double share_of_next = 0;
  int judged_from = Haste::least_iterations;  ///< iterations after which it may be given up
  bool is_complete = false;  ///< nearly nothing of its factors is dropped, however much that is

  /// \brief "cg+amg".
  std::string name() const { return solver + "+" + preconditioner; }
  /// \brief Whether the other one is the same; two may differ in options alone, and then in why.
  bool is_same_as(Candidate const& other) const {
    return solver == other.solver && preconditioner == other.preconditioner &&
           because == other.because;
  }
  /// \brief Seconds that it promises to take, set-up and all.
  double promise() const { return setup + likely * iteration; }
  /// \brief The same where CG with jacobi takes so many iterations.
  double promise_at(double plain) const { return setup + model.of(plain) * iteration; }
};

/// \brief What a complete Cholesky factor takes, in an order that reduces fill.
struct CompleteFactor {
  double entries = 0;   ///< 0: they were not counted
  double products = 0;  ///< the sum of the squares of its columns' lengths

  bool is_known() const { return entries > 0; }
  /// \brief Entries of the factor and its adjoint for each of A's.
  double fill(Analysis const& of) const {
    return 2 * entries / std::max(double(of.rows.nonzeros), 1.0);
  }
};

/// \brief What the user leaves to auto.
struct Restriction {
  std::string solver{};          ///< the only one; empty: any
  std::string preconditioner{};  ///< the only one; empty: any
  std::string candidates{};      ///< "cg+amg gmres+ilu0": these in this order; empty: the table's
  bool is_not_for_cg = false;  ///< rows are permuted for the preconditioner, or it is not symmetric
  bool may_try = true;         ///< a candidate may be on trial
  bool keeps_order = false;    ///< the options of ic0 rule out that it orders by colours
  /// Each rank factorises its own rows: no factors of the whole matrix are nearly complete.
  bool is_over_ranks = false;
  /// Iterations that CG with jacobi needs, judged by its trial, after which it does not come first;
  /// 0: it has not been tried.
  double plain_iterations = 0;
  CompleteFactor complete{};  ///< of a Hermitian A, where it was counted
};

/// \brief Takes A as one that is not definite, whatever it looks like.
inline void rule_out_definite(Analysis& of) {
  of.outsized = std::max<std::int64_t>(1, of.outsized);
}

/// \brief What of a solver is left to auto.
Restriction restriction_of(Wanted const& wanted, SolverInputs const& inputs);

/// \brief The candidates for a matrix, the one to try first in front.
/// \throws std::invalid_argument where `restriction.candidates` names something unknown, or nothing
/// is left
std::vector<Candidate> candidates_for(Analysis const& analysis, Machine const& machine,
                                      Restriction const& restriction = {});

/// \brief The most iterations that CG with jacobi is thought to take for so many rows, however slow
/// it is at first.
double most_plain_iterations(std::int32_t rows);
/// \brief Of the candidates for a definite matrix that have a set-up, the one that promises the
/// least time where CG with jacobi takes so many iterations, or null.
Candidate const* best_of(std::vector<Candidate> const& candidates, double plain_iterations);

/// \brief Whether to count the entries of a complete factor of a Hermitian A: where that is
/// thought to take at most half of the time that the best candidate promises, and the factor may
/// not be too large.
bool counts_complete(Analysis const& of, Machine const& machine, double promise);
/// \brief Seconds that a candidate takes to set up complete factors of A; infinite where they would
/// be too large. For an A with a matching, which makes others of them, seldom smaller ones, too.
double seconds_of_complete(Candidate const& candidate, CompleteFactor const& complete,
                           Analysis const& of, Machine const& machine);
/// \brief A factor without a zero, as large as there can be.
CompleteFactor full_factor(std::int32_t rows);
/// \brief Seconds that auto allows a set-up, of those that time_limit leaves (infinite: there is
/// none). Complete factors have a minute where there is none, but all of it where they come first
/// in the list, and so promise least. Any other preconditioner that auto has chosen has a hundred
/// times what is predicted, and at least 20 s.
double seconds_for_set_up(Candidate const& candidate, bool is_first, Wanted const& wanted,
                          double left);

/// \brief What is wanted, with a candidate in place of what was left to auto.
Wanted wanted_of(Wanted const& wanted, Candidate const& candidate);

/// \brief The matrix and its candidates, for people: what `--explain` prints.
std::string explained(Analysis const& analysis, std::vector<Candidate> const& candidates);
/// \brief The matrix, the candidate that was chosen, and the names of those that follow it.
std::string introduced(Analysis const& analysis, std::vector<Candidate> const& candidates,
                       std::size_t chosen);

}  // namespace Solder::Compiled
