// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An operator without a matrix: heat that diffuses, is carried by a wind and is absorbed,
//
//     -Laplace(u) + wind du/dx + absorption(x) u = 1,  u = 0 on the boundary of a square,
//
// by finite differences. Only the size of the grid is stored: each row of A u is computed from u at
// a point and its four neighbours. Without wind A is symmetric and is solved by CG; with wind, by
// GMRES.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include <solder/solder.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Vector = Kokkos::View<double*>;

constexpr int side = 64;  // unknowns along each side, numbered row by row
constexpr int n = side * side;

// What a solver requires of a matrix: the concept Solder::LinearOperator
// (solder/core/application.hpp).
class HeatWithWind {
 public:
  using scalar_type = double;

  // The wind is in mesh widths: wind * h / 2, below 1.
  HeatWithWind(Exec const& exec, double wind) : slices_(exec, n), wind_(wind) {}

  int rows() const { return n; }
  int columns() const { return n; }
  std::int64_t nonzeros() const { return 5 * n; }  // the work of a product, to choose the runner
  double words() const { return 0; }               // words read besides u, for the report

  // What the kernels use, by value: a small struct of plain data.
  struct Operator {
    Solder::Rows rows;   // how rows are dealt to the teams of a kernel
    std::int32_t teams;  // the teams of a kernel that computes A u
    double wind;

    bool operator==(Operator const&) const = default;

    KOKKOS_FUNCTION double diagonal(int i) const { return 4 + double(i % side) / side; }

    // Hands out the rows of A u: calls consume(i, (A u)_i) once for each row i of this team. The
    // solver's consume processes the value while it is in a register, so nothing is stored here.
    // First, all threads of the team call prepare, which says whether there is anything to do.
    //
    // u is anything with u[i]. If scalar_type were float, the residual would be computed from
    // doubles. A team is a thread of a CPU or a block of a GPU. for_each_row hides the difference
    // and gives each i to one thread.
    template <class Team, class U, class Prepare, class Consume>
    KOKKOS_FUNCTION bool for_each_row_product(Team const& team, U const& u, Prepare const& prepare,
                                              Consume const& consume) const {
      if (!prepare()) return false;
      team.for_each_row(rows, [&](std::int32_t i) {
        int const column = i % side, line = i / side;
        double sum = diagonal(i) * u[i];
        if (column > 0) sum -= (1 + wind) * u[i - 1];
        if (column < side - 1) sum -= (1 - wind) * u[i + 1];
        if (line > 0) sum -= u[i - side];
        if (line < side - 1) sum -= u[i + side];
        consume(i, sum);
      });
      return true;
    }
  };
  Operator device_operator() const { return {slices_.rows(), slices_.rows().teams, wind_}; }

 private:
  Solder::EqualSlices<Exec> slices_;  // owns what Rows points to
  double wind_;
};

// ||b - A u|| / ||b|| by plain loops over the grid; b = 1.
double recomputed_residual(double wind, Vector const& solution) {
  auto const u = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
  auto const at = [&](int column, int line) {
    bool const inside = 0 <= column && column < side && 0 <= line && line < side;
    return inside ? u(line * side + column) : 0;
  };
  double sum = 0;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      double const diffusion =
          4 * at(x, y) - at(x - 1, y) - at(x + 1, y) - at(x, y - 1) - at(x, y + 1);
      double const carried = wind * (at(x + 1, y) - at(x - 1, y));
      double const absorbed = double(x) / side * at(x, y);
      double const r = 1 - diffusion - carried - absorbed;
      sum += r * r;
    }
  return std::sqrt(sum / n);
}

// Solves, and returns whether the report is correct.
template <class Solver>
bool solve(char const* name, double wind, Solver& solver, Vector const& b) {
  Vector const u("u", n);
  Solder::Report const report = solver.solve(b, u);
  double const residual = recomputed_residual(wind, u);
  std::printf("%-5s %s after %d iterations; residual %.3e, recomputed here %.3e\n", name,
              to_string(report.reason).data(), report.iterations, report.true_relative_residual,
              residual);
  bool const agree = std::abs(residual - report.true_relative_residual) <= 1e-3 * residual;
  return agree && report.reason == Solder::Reason::converged;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  Vector const b("b", n), diagonal("diagonal", n);
  Kokkos::deep_copy(exec, b, 1.0);

  HeatWithWind const calm(exec, 0), windy(exec, 0.4);
  auto const A = calm.device_operator();
  Kokkos::parallel_for(
      "diagonal", Kokkos::RangePolicy(exec, 0, n),
      KOKKOS_LAMBDA(int i) { diagonal(i) = A.diagonal(i); });
  Solder::Jacobi const M(exec, diagonal);  // the diagonal is all that Jacobi needs

  Solder::Cg cg(exec, calm, M);
  Solder::Gmres gmres(exec, windy, M);
  bool const right = solve("CG", 0, cg, b) & solve("GMRES", 0.4, gmres, b);
  return right ? 0 : 1;
}
