// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief Why a solve ended. `running` is never the reason of a finished solve.
enum class Reason : std::int32_t {
  running,                    ///< it has not ended
  converged,                  ///< the recomputed true residual meets the tolerance
  max_iterations,             ///< the iteration limit came first
  breakdown,                  ///< a divisor became zero; Report::detail names it
  indefinite_matrix,          ///< (p, A p) < 0
  indefinite_preconditioner,  ///< (r, M r) < 0
  not_finite,                 ///< a NaN or an infinity in A, b, x or a scalar
  diverged,                   ///< the residual grew beyond every use
  stagnated,                  ///< restarting from the true residual no longer reduces it
  stopped,                    ///< the monitor stopped the solve
  nonsymmetric_matrix         ///< A is not Hermitian: from callers of check_symmetry
};

/// \brief The name of a reason, as in reports.
constexpr std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::running:
      return "running";
    case Reason::converged:
      return "converged";
    case Reason::max_iterations:
      return "max_iterations";
    case Reason::breakdown:
      return "breakdown";
    case Reason::indefinite_matrix:
      return "indefinite_matrix";
    case Reason::indefinite_preconditioner:
      return "indefinite_preconditioner";
    case Reason::not_finite:
      return "not_finite";
    case Reason::diverged:
      return "diverged";
    case Reason::stagnated:
      return "stagnated";
    case Reason::stopped:
      return "stopped";
    case Reason::nonsymmetric_matrix:
      return "nonsymmetric_matrix";
  }
  return "unknown";
}

/// \brief Who executes a program of stages; see Engine in core/runners/engine.hpp.
enum class Runner : std::int32_t {
  automatic,  ///< chosen by the plan
  launch,     ///< a kernel for each stage
  graph,      ///< a batch of iterations as one graph; on CPUs as launch
  team,       ///< the whole solve in one kernel of one team
  resident    ///< the whole solve in one kernel of the whole device
};

/// \brief All values, with their words.
constexpr auto words_of(Runner) {
  return std::array<Word<Runner>, 5>{{{Runner::automatic, "auto"},
                                      {Runner::launch, "launch"},
                                      {Runner::graph, "graph"},
                                      {Runner::team, "team"},
                                      {Runner::resident, "resident"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Runner runner) { return word_of(runner); }

/// \brief The larger one of two residuals; NaN is worse than any.
inline double worse(double a, double b) { return std::isnan(a) || a > b ? a : b; }

/// \brief What a monitor is told: on hosts after each iteration, on GPUs after each batch of them.
struct Progress {
  int iteration;               ///< iterations so far
  double relative_residual;    ///< of the recursion
  double seconds;              ///< since the solve began
  mutable bool stops = false;  ///< see stop()
  mutable double pause = 0;    ///< see pause_for()
  mutable int resume = 0;      ///< see pause_until()

  /// \brief Ends the solve, all columns of it, by Reason::stopped after the iteration under way;
  /// on GPUs after the batches under way. The true residual of that x is in the report.
  void stop() const { stops = true; }
  /// \brief The monitor need not be called for so many seconds, and should be called after them. A
  /// solve in one kernel, which returns to the host for each call, then runs for as long. Batches
  /// of systems, solves beside one another and auto ignore this.
  void pause_for(double seconds_from_now) const { pause = seconds_from_now; }
  /// \brief The same, up to this iteration: the monitor is called at it or the next one, or at the
  /// end of its cycle or, on GPUs, of its batch.
  void pause_until(int iteration_to_hear) const { resume = iteration_to_hear; }
};

/// \brief Called on the host. Where it throws, the solve ends, and x is as far as the solve had
/// come. It must not set up A or M anew, or use the solver.
using Monitor = std::function<void(Progress const&)>;

class Log;

/// \brief What every solver is told of the guess, the x that a solve begins with.
struct GuessOptions {
  double guess_tolerance = 0;  ///< of ||b - A x|| / ||b - A x_0||, x_0 being the guess
  bool zero_guess = false;     ///< whether the guess is 0, whatever x holds
  /// Whether the guess comes back where a solve ends without having converged and its x has a
  /// larger true residual, or one that is not finite. It costs a vector, and a copy of x. Where all
  /// tolerances are 0, x is always that of the last iteration.
  bool keep_guess = true;

  /// \brief Names, ranges and purposes; see Option.
  static constexpr auto described() {
    return std::tuple(
        Option("guess_tolerance", &GuessOptions::guess_tolerance, from_to(0, 1),
               "also converged at ||b - A x|| <= guess_tolerance * ||b - A x_0||, x_0 the guess"),
        Option("zero_guess", &GuessOptions::zero_guess, Flag{}, "start from 0, whatever x holds"),
        Option("keep_guess", &GuessOptions::keep_guess, Flag{},
               "return the guess if a failed solve ends with a larger residual"));
  }
};

/// \brief What every solver is told.
///
/// A solve has converged where its true residual is at most the largest of tolerance * ||b||,
/// absolute_tolerance and guess_tolerance * ||b - A x_0||. Where all three are 0 it never does:
/// exactly max_iterations run.
struct SolverOptions : GuessOptions {
  double tolerance = 1e-8;        ///< of ||b - A x|| / ||b||
  double absolute_tolerance = 0;  ///< of ||b - A x||
  int max_iterations = 10000;     ///< at most
  /// Whether M may be older than the values of its matrix (CsrMatrix::values_changed()); else such
  /// a solve throws std::logic_error.
  bool allow_stale_preconditioner = false;
  Runner runner = Runner::automatic;  ///< who executes the solve
  Monitor monitor{};                  ///< may be empty
  Log* log = nullptr;  ///< where each solve is noted; may be null, and outlives the solver

  /// \brief Whether no residual is small enough.
  bool never_converges() const {
    return tolerance == 0 && absolute_tolerance == 0 && guess_tolerance == 0;
  }

  /// \brief The options of every method, but for the runner, which concerns the execution. The
  /// ranges are the driver's: a solver takes any tolerances and max_iterations that are not
  /// negative.
  static constexpr auto described() {
    return std::tuple(Option("tolerance", &SolverOptions::tolerance, from_to(0, 1),
                             "converged at ||b - A x|| <= tolerance * ||b||; 0: never"),
                      Option("absolute_tolerance", &SolverOptions::absolute_tolerance, at_least(0),
                             "also converged at ||b - A x|| <= absolute_tolerance"),
                      Option("max_iterations", &SolverOptions::max_iterations,
                             from_to(1, std::numeric_limits<int>::max()),
                             "iterations after which a solve gives up"));
  }
};

/// \brief What the set-up of a preconditioner cost and gave; empty without one and for Jacobi.
struct SetupReport {
  /// \brief A part of the set-up.
  struct Phase {
    std::string name;  ///< for people
    double seconds;    ///< that it took
  };
  std::vector<Phase> phases;  ///< in their order
  std::int64_t nonzeros = 0;  ///< of the factor
  double density = 0;         ///< nonzeros of the factor / nonzeros of A
  std::int64_t dropped = 0;   ///< entries that an incomplete factorisation left out
  /// Rows whose local matrix was not positive definite, or whose pivot was too small.
  std::int64_t repaired_rows = 0;
  std::int32_t first_repaired_row = -1;  ///< -1: none
  double largest_eigenvalue = 0;         ///< that a polynomial is made for; 0: there is none
  double shift = 0;  ///< of the diagonal, relative, that an incomplete factorisation needed
  std::vector<std::int32_t> level_rows;      ///< of a multigrid hierarchy, the finest level first
  std::vector<std::int64_t> level_nonzeros;  ///< of the same levels
  std::string interpolation;  ///< of multigrid: the one that was taken, never auto; empty: none
  std::string ordering;       ///< of incomplete factors: the one that was taken; empty: none
  std::string schedule;       ///< of triangular solves, of L and of U, or "jacobi"; empty: none
};

namespace Impl {

/// \brief What the detail of a breakdown at b begins with. It says itself what to do.
inline constexpr std::string_view norm_of_b_squared = "||b||^2 ";

/// \brief What a report's detail ends with where the guess came back; a number follows.
inline constexpr std::string_view x_is_the_guess = "x is the guess: the residual at the end was ";

/// \brief What a detail says where a restarted cycle was taken back.
inline constexpr std::string_view was_undone = "has been undone";

/// \brief What the detail of a solver that chooses begins with where rounding ends it; the residual
/// that it makes follows.
inline constexpr std::string_view rounding_of_entries =
    "rounding the entries of x alone makes a residual of about ";
inline constexpr std::string_view single_precision = "single precision";

/// \brief Whether a detail speaks of a singular A, which advice then need not do.
inline bool says_singular(std::string_view detail) {
  return detail.find("singular") != std::string_view::npos;
}

/// \brief A number a little larger, with two digits: "2.3e-9".
inline std::string rounded_up(double x) {
  double const unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", (std::floor(x / unit) + 1) * unit);
  return text;
}

}  // namespace Impl

/// \brief A candidate that a solver of make_solver() has tried: see `name: auto` there.
struct Attempt {
  std::string solver;                 ///< its name
  std::string preconditioner;         ///< its name
  std::string why;                    ///< it was tried, in a sentence
  Reason reason = Reason::running;    ///< why it ended; stopped: by auto, as too slow
  std::string ended;                  ///< the same in a sentence, or empty
  int iterations = 0;                 ///< that it took; 0 where its set-up failed
  double true_relative_residual = 0;  ///< recomputed, where it ended; NaN: its set-up failed
  double setup_seconds = 0;           ///< of its set-up, on the host's clock
  double solve_seconds = 0;           ///< of its iterations
};

/// \brief How a solve went.
struct Report {
  Reason reason = Reason::running;  ///< why the solve ended
  std::string detail;               ///< a sentence for people, or empty
  std::string form;                 ///< of the method: the one that ran, never auto
  int iterations = 0;               ///< that the solve took
  double relative_residual = 0;     ///< of the recursion
  double true_relative_residual =
      0;  ///< ||b - A x|| / ||b|| recomputed from the x that is returned
  double guess_relative_residual = 0;  ///< the same of the guess
  bool kept_guess = false;             ///< x is the guess: see SolverOptions::keep_guess
  std::vector<double>
      history;  ///< the recursion's relative residual of iterations 0, 1, ..., iterations
  /// \brief The true residual, recomputed in the midst of a solve.
  struct Check {
    int iteration;             ///< at which the host learned of it, a batch later at most
    double relative_residual;  ///< ||b - A x|| / ||b||
  };
  /// Of a single right-hand side; the first is that of the guess. Where several fall into one batch
  /// of iterations, the last.
  std::vector<Check> checks;
  double setup_seconds =
      0;  ///< solver construction: workspace and, for the graph runner, its recording
  double solve_seconds = 0;  ///< the solve, on the host's clock
  /// Share of solve_seconds in which the calling thread was ready to go on and waited for a core
  /// that others had. Of hosts whose system tells it, as Linux does; else 0.
  double busy_cores = 0;
  double kernels_per_iteration = 0;  ///< 0 where the whole solve is one kernel (team, resident)
  double words_per_iteration =
      0;  ///< words of sizeof(Scalar) to and from memory, caches not counted
  Runner runner = Runner::automatic;  ///< the one that ran: never automatic
  std::string runner_because;         ///< why that one, in a sentence; see plan_solve
  SetupReport preconditioner;         ///< what the set-up of M cost and gave
  bool is_singular = false;  ///< a solver that chooses has found A singular, whatever its values
  /// Of a solver that chooses: what was tried, in this order. Then iterations, seconds and history
  /// are those of all attempts together, and the rest is the last one's. Else empty.
  std::vector<Attempt> attempts;
};

/// \brief What to try next after a solve that has not converged, in a sentence without a full stop;
/// empty where there is nothing to say.
inline std::string advice(Report const& report) {
  if (report.is_singular) return "check A for rows or columns that lack entries";
  if (report.detail.starts_with(Impl::norm_of_b_squared)) return {};
  if (report.detail.starts_with(Impl::rounding_of_entries)) {
    double const tolerance = 2 * report.true_relative_residual;
    std::string const next = tolerance < 0.01
                                 ? "ask for a tolerance above " + Impl::rounded_up(tolerance)
                                 : "check whether A is singular: only some b have a solution then";
    return report.detail.find(Impl::single_precision) == std::string::npos
               ? next
               : next + ", or solve in double precision";
  }
  std::string const automatic = "the solver auto, which tries several";
  std::string const if_singular =
      Impl::says_singular(report.detail) ? "" : "; if A is singular, only some b have a solution";
  bool const is_far = !(report.true_relative_residual < 1e-3),
             is_near = report.true_relative_residual < 1e-8;
  bool const may_be_singular = report.reason == Reason::indefinite_matrix ||
                               report.reason == Reason::indefinite_preconditioner ||
                               report.reason == Reason::diverged ||
                               (report.reason == Reason::breakdown && !is_near) ||
                               (report.reason == Reason::stagnated && is_far);
  if (!report.attempts.empty() && may_be_singular) {
    auto const all_have = [&](std::string Attempt::*name) {
      return std::all_of(report.attempts.begin(), report.attempts.end(), [&](Attempt const& each) {
        return each.*name == report.attempts[0].*name;
      });
    };
    if (all_have(&Attempt::solver) || all_have(&Attempt::preconditioner))
      return "leave both the solver and the preconditioner to auto, which then tries others" +
             if_singular;
    return "if A is not singular, and its rows or columns differ much in size, scale them" +
           if_singular;
  }
  // \param times factor by which a solve with another tolerance may end farther from the solution
  auto const nearest = [&](double times = 2) {
    return (report.attempts.empty() ? "" : "no candidate came nearer to a solution: ") +
           ("ask for a tolerance above " + Impl::rounded_up(times * report.true_relative_residual));
  };
  switch (report.reason) {
    case Reason::max_iterations:
      if (std::any_of(report.attempts.begin(), report.attempts.end(),
                      [](Attempt const& each) { return Impl::says_singular(each.ended); }))
        return "A may be singular and b not in its range; otherwise allow more iterations, or ask "
               "for a larger tolerance";
      if (!is_far &&
          std::any_of(report.attempts.begin(), report.attempts.end(), [&](Attempt const& each) {
            return each.reason == Reason::stagnated &&
                   each.true_relative_residual <= report.true_relative_residual;
          }))  // its x is the best, and does not get better
        return nearest() + ", or allow more iterations";
      if (!report.attempts.empty()) return "allow more iterations, or ask for a larger tolerance";
      return "allow more iterations, or take a stronger preconditioner, or " + automatic;
    case Reason::breakdown:
      if (is_near) return nearest(10) + ", or take another method or preconditioner";
      return "take another method or preconditioner, or " + automatic + if_singular;
    case Reason::indefinite_matrix:
      return "cg does not suit this A: take gmres, bicgstab or idr, or " + automatic;
    case Reason::indefinite_preconditioner:
      return "take another preconditioner, or gmres, bicgstab or idr with this one";
    case Reason::not_finite:
      return "check A, b and the guess for a NaN or an infinity; if there is none, scale A";
    case Reason::diverged:
      return "take another preconditioner or method, or " + automatic + if_singular;
    case Reason::stagnated:
      if (!is_far)  // cycles that are undone end here and there
        return nearest(report.detail.find(Impl::was_undone) == std::string::npos ? 2 : 10) +
               ", or take another preconditioner";
      return "take another preconditioner, another form or a longer restart of gmres, or " +
             automatic + if_singular;
    case Reason::nonsymmetric_matrix:  // whose detail names the solvers for such an A
      return "or take " + automatic;
    default:
      return {};
  }
}

/// \brief A line for people.
inline std::ostream& operator<<(std::ostream& out, Attempt const& attempt) {
  out << attempt.solver << " + " << attempt.preconditioner << ": " << to_string(attempt.reason)
      << " after " << attempt.iterations << " iteration" << (attempt.iterations == 1 ? "" : "s")
      << " in " << attempt.solve_seconds << " s, set up in " << attempt.setup_seconds << " s";
  if (!std::isnan(attempt.true_relative_residual))
    out << ", ||b - A x|| / ||b|| = " << attempt.true_relative_residual;
  out << "; tried because " << attempt.why;
  if (!attempt.ended.empty()) out << "; " << attempt.ended;
  return out;
}
/// \brief A line for people, and others for what is to be explained.
inline std::ostream& operator<<(std::ostream& out, Report const& report) {
  out << to_string(report.reason) << " after " << report.iterations << " iteration"
      << (report.iterations == 1 ? "" : "s");
  if (!report.form.empty()) out << " (" << report.form << ")";
  out << ", ||b - A x|| / ||b|| = " << report.true_relative_residual << ", of the guess "
      << report.guess_relative_residual << ", in " << report.solve_seconds << " s";
  if (!report.detail.empty()) out << "\n  " << report.detail;
  if (std::string const next = advice(report); !next.empty()) out << "\n  what next: " << next;
  if (!report.runner_because.empty())
    out << "\n  runner: " << to_string(report.runner) << ", because " << report.runner_because;
  for (Attempt const& attempt : report.attempts) out << "\n  tried " << attempt;
  return out;
}

}  // namespace Solder
