// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <solder/core/program.hpp>
#include <solder/core/scalar.hpp>

namespace Solder::Impl {

/// \brief s = b - A x, kept in Data::true_residual(); leaves (s, s), (b, b) and the nonzeros of b
/// in Data::of_residual(). Words: the matrix, and 4 a row.
struct Residual : ProductStage {
  static constexpr char const* label = "Solder::residual";
  static constexpr Phase phase = Phase::judge;

  template <class Data, class Team>
  KOKKOS_FUNCTION static void run(Data const& d, Team const& team, Control const& now, Control&) {
    Sums<3> mine{};
    auto* const residual = d.true_residual();
    bool const went_on = d.A.for_each_row_product(
        team, d.x, [&] { return now.phase == phase; },
        [&](std::int32_t i, auto const& Ax) {
          auto const s = d.b[i] - Ax;
          residual[i] = s;
          // A column of zeros would hide an infinite x_i from s: 0 * NaN.
          mine[0] += abs_squared(s) + 0 * count_nonzero(d.x[i]);
          mine[1] += abs_squared(d.b[i]);
          mine[2] += count_nonzero(d.b[i]);
        });
    if (!went_on) return;
    d.of_residual().leave(team, mine);
  }
};

/// \brief A stage whose teams go through the rows of the factor G of a preconditioner that is not
/// row-wise.
struct FactorStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) {
    return d.M.G.teams;
  }
};

/// \brief The same of G^H.
struct FactorTransposedStage {
  template <class Data>
  KOKKOS_FUNCTION static int teams(Data const& d) {
    return d.M.GH.teams;
  }
};

/// \brief The judge's verdict on the residual that the stage Residual left; sets x = 0 where it
/// says so.
template <class Data, class Team>
KOKKOS_FORCEINLINE_FUNCTION Verdict verdict_on_residual(Data const& d, Team const& team,
                                                        Control& next, Recovery recovery = {}) {
  auto const total = team.total(team.gather(d.product_teams, d.of_residual()), d.product_teams);
  Verdict const verdict = judge(next, d.limits, total[0], total[1], total[2], recovery);
  if (verdict == Verdict::zero) team.for_each_row(d.rows, [&](std::int32_t i) { d.x[i] = {}; });
  return verdict;
}

/// \brief What every solver's constructor checks; `solver` is its name for people.
/// \throws std::invalid_argument where A is not square or an option is out of range
template <class Matrix>
void check_system(std::string const& solver, Matrix const& A, SolverOptions const& options) {
  if (A.rows() != A.columns())
    throw std::invalid_argument(solver + ": a square matrix is needed, not " +
                                std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
  if (!(options.tolerance >= 0) || options.max_iterations < 0)
    throw std::invalid_argument(solver + ": tolerance and max_iterations must not be negative");
}

/// \brief What every solve checks: b and x are contiguous views of n scalars.
/// \throws std::invalid_argument where they are not
template <class B, class X>
void check_vectors(std::string const& solver, std::size_t n, B const& b, X const& x) {
  if (b.extent(0) != n || x.extent(0) != n)
    throw std::invalid_argument(solver + ": b and x need " + std::to_string(n) + " entries, not " +
                                std::to_string(b.extent(0)) + " and " +
                                std::to_string(x.extent(0)));
  if (n > 0 && !(b.span_is_contiguous() && x.span_is_contiguous()))
    throw std::invalid_argument(solver + ": b and x must be contiguous, not strided, views");
}

/// \brief Checks that a preconditioner that is not row-wise is one of A, which it may no longer be
/// once it was refreshed.
/// \throws std::invalid_argument where it has another number of rows
template <class Preconditioner>
void check_preconditioner(std::string const& solver, std::int32_t rows, Preconditioner const& M) {
  if constexpr (!Preconditioner::is_row_wise)
    if (M.G.rows.count != rows)
      throw std::invalid_argument(solver + ": the preconditioner has " +
                                  std::to_string(M.G.rows.count) + " rows, and the matrix " +
                                  std::to_string(rows));
}

/// \brief The rows that vector stages deal to their teams: the factor's, whose league they have,
/// where the preconditioner is not row-wise.
template <class Operator, class Preconditioner>
Rows vector_rows(Operator const& A, Preconditioner const& M) {
  if constexpr (Preconditioner::is_row_wise)
    return A.rows;
  else
    return M.G.rows;
}

/// \brief Words of sizeof(Scalar) that one application of M reads of the preconditioner itself.
template <class Scalar, class Preconditioner>
double words_of(Preconditioner const& M, std::int32_t rows) {
  if constexpr (requires { M.words_per_row(); })
    return double(M.words_per_row()) * rows;
  else
    return M.bytes() / sizeof(Scalar);
}

/// \brief Solves by `solve(options)`; a system without unknowns is solved as it is, and one whose
/// Jacobi preconditioner would divide by zero is only judged.
template <class Preconditioner, class Solve>
Report solve_unless_trivial(std::int32_t rows, Preconditioner const& M, SolverOptions options,
                            Solve const& solve) {
  Report report;
  if (rows == 0) {
    report.reason = Reason::converged;
    report.history = {0};
    report.runner = options.runner;
    return report;
  }
  std::int32_t const zero_row = M.zero_row();
  if (zero_row >= 0) options.max_iterations = 0;
  report = solve(options);
  if constexpr (requires { M.setup(); }) report.preconditioner = M.setup();
  if (zero_row >= 0 && report.reason == Reason::max_iterations) {
    report.reason = Reason::breakdown;
    report.detail = "the diagonal entry of row " + std::to_string(zero_row + 1) +
                    " (counted from 1) is zero: Jacobi cannot divide by it";
  }
  return report;
}

}  // namespace Solder::Impl
