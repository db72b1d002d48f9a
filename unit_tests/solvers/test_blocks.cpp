// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solvers by name of a matrix in blocks.
#include "by_name.hpp"

#include <solder/matrix/batch.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/solver.hpp>

namespace {

using namespace SolderTest;

struct BlocksByName : ByName {
  /// Large enough that blocks are looked for.
  BlocksByName() {
    host = Solder::elasticity_3d<double>(12);
    A = Matrix(exec, host);
    b = random_vector<double>(host.rows, 1);
  }
  auto solve_by(Solder::Solver<double, Exec> const& solver) {
    return solved([&](auto const& r, auto const& y) { return solver.solve(r, y); });
  }
  void expect_solved(Solder::HostCsr<double> const& of, std::vector<double> const& x) {
    EXPECT_LE(true_residual(of, b, x).relative, 1.1e-8);
  }
};

TEST_F(BlocksByName, AreAsGoodAsCompressedRows) {
  auto anew = host;
  for (double& value : anew.values) value *= 2;
  for (std::string const solver : {"cg", "bicgstab", "gmres", "idr"})
    for (std::string const preconditioner : {"jacobi", "fsai", "ic0", "chebyshev", "amg"}) {
      if (solver != "cg" && preconditioner != "chebyshev" && preconditioner != "ic0") continue;
      SCOPED_TRACE(solver + ", " + preconditioner);
      Matrix const old(exec, host), other(exec, anew);
      Parameters parameters{{"name", solver}, {"preconditioner", preconditioner}};
      Report const of_rows = solve_by(make_solver(exec, A, in_csr(parameters))).first;
      auto const made = make_solver(exec, old, parameters.set("matrix_format", "block"));
      EXPECT_EQ(made.matrix_format(), "block");
      EXPECT_TRUE(made.format_reason().starts_with("asked for; blocks of 3 x 3, "));
      auto const [report, x] = solve_by(made);
      EXPECT_EQ(report.reason, Reason::converged) << report.detail;
      EXPECT_NEAR(report.iterations, of_rows.iterations, 2 + of_rows.iterations / 10);
      expect_solved(host, x);
      made.set_matrix(other);
      EXPECT_THROW(solve_by(made), std::logic_error);
      made.refresh();
      expect_solved(anew, solve_by(made).second);
    }
}

TEST_F(BlocksByName, AreChosenOnHosts) {
  if (!Solder::Impl::is_host_space<Exec>) GTEST_SKIP() << "a GPU asks how long a product takes";
  auto const solver = make_solver(exec, A, {{"name", "cg"}, {"preconditioner", "jacobi"}});
  EXPECT_EQ(solver.matrix_format(), "block");
  EXPECT_EQ(solver.format_reason(), "blocks of 3 x 3, 0% padding");
  expect_solved(host, solve_by(solver).second);
  Matrix const small(exec, Solder::elasticity_3d<double>(5));
  EXPECT_EQ(make_solver(exec, small, {{"name", "cg"}}).matrix_format(), "csr");
}

/// They are solved with compressed rows, whatever format one right-hand side has.
TEST_F(BlocksByName, SeveralRightHandSidesAndBatches) {
  using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  auto const rhs = to_device(exec, random_vector<double>(3 * host.rows, 5));
  auto const columns_by = [&](Solder::Solver<double, Exec> const& solver) {
    auto const x = to_device(exec, std::vector<double>(3 * host.rows));
    EXPECT_TRUE(solver.solves_columns_at_once());
    for (Report const& report :
         solver.solve(Columns(rhs.data(), host.rows, 3), Columns(x.data(), host.rows, 3)))
      EXPECT_EQ(report.reason, Reason::converged);
    return to_host(exec, x);
  };
  auto const batch_by = [&](Solder::Solver<double, Exec> const& solver) {
    auto const x = to_device(exec, std::vector<double>(host.rows));
    for (Report const& report :
         solver.solve(to_device(exec, b), x, Solder::Batch<Exec>(exec, {0, host.rows})))
      EXPECT_EQ(report.reason, Reason::converged);
    return to_host(exec, x);
  };
  Parameters const parameters{{"name", "cg"}, {"preconditioner", "jacobi"}};
  auto const chosen = make_solver(exec, A, parameters);
  auto of_rows = make_solver(exec, A, in_csr(parameters));
  EXPECT_EQ(columns_by(chosen), columns_by(of_rows));
  EXPECT_EQ(batch_by(chosen), batch_by(of_rows));
  EXPECT_EQ(chosen.workspace_bytes(3), of_rows.workspace_bytes(3));
  // With other values.
  for (double& value : host.values) value *= 2;
  Matrix const other(exec, host);
  for (auto const& solver : {chosen, of_rows}) {
    solver.set_matrix(other);
    solver.refresh();
  }
  EXPECT_EQ(columns_by(chosen), columns_by(of_rows));
  EXPECT_EQ(batch_by(chosen), batch_by(of_rows));
  expect_solved(host, solve_by(chosen).second);
}

TEST_F(BlocksByName, WhatIsAskedForIsNotReplaced) {
  auto const solver = make_solver(exec, A, {{"name", "cg"}, {"matrix_format", "block"}});
  EXPECT_FALSE(solver.solves_columns_at_once());
  auto const x = to_device(exec, b);
  EXPECT_THROW(solver.solve(x, x, Solder::Batch<Exec>(exec, {0, host.rows})),
               std::invalid_argument);
  host = Solder::fem_poisson_2d<double>(20);
  A = Matrix(exec, host);
  expect_error(
      {{"name", "cg"}, {"matrix_format", "block"}},
      " matrix_format: block would gain too little: blocks of no size from 2 to 6 take at "
      "most 85% of the memory of compressed rows (rows and columns must be multiples of the "
      "size, and columns must ascend); take csr or auto");
}

}  // namespace
