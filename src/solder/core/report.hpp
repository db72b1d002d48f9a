// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
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
  nonsymmetric_matrix         ///< A is not Hermitian: of who asks check_symmetry before a solve
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

/// \brief What a monitor is told, once per batch of iterations.
struct Progress {
  int iteration;             ///< iterations so far
  double relative_residual;  ///< of the recursion
  double seconds;            ///< since the solve began
};

/// \brief What every solver is told.
struct SolverOptions {
  /// ||b - A x|| / ||b|| at which a solve has converged. 0 never converges: exactly max_iterations
  /// run.
  double tolerance = 1e-8;
  int max_iterations = 10000;         ///< at most
  Runner runner = Runner::automatic;  ///< who executes the solve
  /// Called on the host once per batch; may be empty. Where it throws the solve ends, and x is as
  /// far as that had brought it. It must not set up A or M anew.
  std::function<void(Progress const&)> monitor;

  /// \brief Of every method; the runner, which is of the execution, apart. The ranges are the
  /// driver's: a solver takes any tolerance and max_iterations that are not negative.
  static constexpr auto described() {
    return std::tuple(Option("tolerance", &SolverOptions::tolerance, from_to(0, 1),
                             "stop at ||b - A x|| <= tolerance * ||b||; 0: never"),
                      Option("max_iterations", &SolverOptions::max_iterations,
                             from_to(1, std::numeric_limits<int>::max()), "give up after so many"));
  }
};

/// \brief What the set-up of a preconditioner cost and gave; empty without one and for Jacobi.
struct SetupReport {
  /// \brief A part of the set-up.
  struct Phase {
    std::string name;  ///< for people
    double seconds;    ///< that it took
  };
  std::vector<Phase> phases;             ///< in their order
  std::int64_t nonzeros = 0;             ///< of the factor
  double density = 0;                    ///< nonzeros of the factor / nonzeros of A
  std::int64_t repaired_rows = 0;        ///< whose local matrix was not positive definite
  std::int32_t first_repaired_row = -1;  ///< -1: none
  double largest_eigenvalue = 0;         ///< that a polynomial is made for; 0: there is none
  double shift = 0;  ///< of the diagonal, relative, that an incomplete factorisation needed
  std::vector<std::int32_t> level_rows;      ///< of a multigrid hierarchy, the finest level first
  std::vector<std::int64_t> level_nonzeros;  ///< of the same levels
  std::string schedule;  ///< of triangular solves, of L and of U, or "jacobi"; empty: none
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
  std::vector<double>
      history;  ///< the recursion's relative residual of iterations 0, 1, ..., iterations
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
};

}  // namespace Solder
