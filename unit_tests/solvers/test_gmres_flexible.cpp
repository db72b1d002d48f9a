// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flexible GMRES with an M that is not the same in every call: a few steps of another solver.
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"

#include <functional>
#include <memory>
#include <stdexcept>

#include <solder/preconditioners/apply.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = CsrMatrix<double, Exec>;
using Apply = Solder::Apply<double, Exec>;
using Vector = std::vector<double>;

/// z = so many steps towards A^-1 r as steps(calls) says, from z = 0.
template <class Options>
Apply steps_of(Matrix const& A, std::function<int(int)> const& steps) {
  using Solver = SolverOf<Options, Exec, double>;
  auto const solvers = std::make_shared<std::vector<std::unique_ptr<Solver>>>();
  auto const calls = std::make_shared<int>(0);
  return {A.rows(), [=](Exec const& exec, auto const& r, auto const& z) {
            std::size_t const wanted = steps((*calls)++);
            while (solvers->size() <= wanted) {
              Options options;
              options.tolerance = 0;
              options.max_iterations = static_cast<int>(solvers->size());
              solvers->push_back(std::make_unique<Solver>(exec, A, Identity{}, options));
            }
            Kokkos::deep_copy(exec, z, 0.0);
            (*solvers)[wanted]->solve(r, z);
          }};
}

int four(int) { return 4; }
int one_to_five(int call) { return 1 + call * 7 % 5; }

template <class Preconditioner>
Solved<double> solve_with(Matrix const& A, Preconditioner const& M, Vector const& b,
                          GmresOptions const& options) {
  Exec const exec;
  Gmres<Exec, Matrix, Preconditioner> solver(exec, A, M, options);
  auto const x = to_device(exec, Vector(b.size()));
  Solved<double> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  return s;
}

/// Flexible GMRES converges in truth, sooner than without; its recursion tells the truth within a
/// cycle.
template <class InnerOptions>
void expect_flexible_converges(HostCsr<double> const& host) {
  Exec const exec;
  Matrix const A(exec, host);
  auto const b = random_vector<double>(host.rows, 51);
  auto options = gmres(GmresForm::flexible, 6);
  options.tolerance = 1e-10;
  options.max_iterations = 2000;
  auto const without = solve_with(A, Identity{}, b, options);
  for (auto const& steps : {four, one_to_five}) {
    auto const s = solve_with(A, steps_of<InnerOptions>(A, steps), b, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_EQ(s.report.form, "flexible");
    EXPECT_EQ(s.report.runner, Runner::launch);
    expect_true_report(host, b, s, options);
    EXPECT_LT(2 * s.report.iterations, without.report.iterations);
    auto few = options;
    few.tolerance = 0;
    for (int const most : {1, 4, 6, 9}) {
      few.max_iterations = most;
      auto const cut = solve_with(A, steps_of<InnerOptions>(A, steps), b, few);
      EXPECT_EQ(cut.report.iterations, most);
      double const truth = true_residual(host, b, cut.x).relative;
      EXPECT_NEAR(cut.report.relative_residual, truth, 1e-10) << most << " iterations";
    }
  }
}

TEST(FlexibleGmres, ConvergesWithAFewStepsOfCg) {
  expect_flexible_converges<CgOptions>(Solder::fem_poisson_2d<double>(20));
}

TEST(FlexibleGmres, ConvergesWithAFewStepsOfBiCgStab) {
  expect_flexible_converges<BiCgStabOptions>(
      Solder::convection_diffusion_2d<double>(20, {5, 3}, Solder::Convection::upwind));
}

/// The other forms take M for a matrix: with one that varies their recursion is wrong, and they
/// must not believe it.
TEST(FlexibleGmres, OtherFormsAreNotDeceived) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  Matrix const A(exec, host);
  auto const b = random_vector<double>(host.rows, 52);
  double worst = 0;
  for (auto const& [name, form] : Method<GmresOptions>::forms())
    for (double const tolerance : {1e-4, 1e-10}) {
      if (form.form == GmresForm::flexible) continue;
      SCOPED_TRACE(name);
      GmresOptions options = form;
      options.tolerance = tolerance;
      options.max_iterations = 300;
      expect_true_report(host, b, solve_with(A, steps_of<CgOptions>(A, one_to_five), b, options),
                         options);
      options.tolerance = 0;
      options.max_iterations = 7;
      auto const cut = solve_with(A, steps_of<CgOptions>(A, one_to_five), b, options);
      worst =
          std::max(worst, true_residual(host, b, cut.x).relative / cut.report.relative_residual);
    }
  EXPECT_GT(worst, 1.1) << "this M does not deceive anyone: the test shows nothing";
}

TEST(FlexibleGmres, WhatMThrowsComesOutAndTheNextSolveIsRight) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  Matrix const A(exec, host);
  auto const b = random_vector<double>(host.rows, 53);
  struct Broken {};
  int left = 100'000;
  auto const scaling = Apply::on_host(A.rows(), [&](auto r, auto z) {
    if (--left == 0) throw Broken();
    for (std::size_t i = 0; i < r.size(); ++i) z[i] = r[i] / double(i % 4 + 1);
  });
  auto const options = gmres(GmresForm::flexible, 6);
  auto const alone = solve_with(A, scaling, b, options);
  EXPECT_EQ(alone.report.reason, Reason::converged);
  Gmres<Exec, Matrix, Apply> solver(exec, A, scaling, options);
  for (int const calls : {1, 2, 7, 20}) {
    left = calls;
    {
      auto const gone = to_device(exec, Vector(b.size()));
      EXPECT_THROW(solver.solve(to_device(exec, random_vector<double>(host.rows, 54)), gone),
                   Broken);
    }
    left = 100'000;
    auto const x = to_device(exec, Vector(b.size()));
    Report const report = solver.solve(to_device(exec, b), x);
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_EQ(report.history, alone.report.history);
    EXPECT_TRUE(same_bits(to_host(exec, x), alone.x));
  }
}

}  // namespace
