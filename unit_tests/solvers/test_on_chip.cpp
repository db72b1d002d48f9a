// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/cg.hpp>

#include "../kokkos_events.hpp"
#include "../support.hpp"
#include "as_launched.hpp"

// Systems so large that the kernel of a whole solve keeps vectors on chip, on GPUs that it was
// measured on: 357,000 rows and more. What each solve says is held against the launch runner's.

namespace {

using namespace SolderTest;
using Solder::Report;
using Solder::Runner;

/// Rows beyond what the teams' scratch has room for, and a last block that is not full.
constexpr int side = 731, cube = 73;

template <class Exec>
class OnChip : public testing::Test {
 protected:
  Exec exec;
};
TYPED_TEST_SUITE(OnChip, Spaces::Types, TypeName);

TYPED_TEST(OnChip, CgIsAsLaunched) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
  using Cg = Solder::Cg<TypeParam, Matrix, Solder::Jacobi<double, TypeParam>>;
  Solder::Jacobi const M(this->exec, A);
  auto options = some_iterations<Solder::CgOptions>(25);
  expect_same_as_launched<Cg>(this->exec, A, M, options);
  options.form = Solder::CgForm::classical;
  expect_same_as_launched<Cg>(this->exec, A, M, options);
}

/// Of 27 entries a row has several lanes.
TYPED_TEST(OnChip, CgIsAsLaunchedWhereLanesShareRows) {
  using Matrix = Solder::CsrMatrix<float, TypeParam>;
  Matrix const A(this->exec, Solder::poisson_3d_27pt<float>(cube));
  expect_same_as_launched<Solder::Cg<TypeParam, Matrix>>(this->exec, A, Solder::Identity{},
                                                         some_iterations<Solder::CgOptions>(10));
}

TYPED_TEST(OnChip, ComplexCgIsAsLaunched) {
  using Scalar = Kokkos::complex<double>;
  using Matrix = Solder::SellMatrix<Scalar, TypeParam>;
  Solder::CsrMatrix<Scalar, TypeParam> const A(this->exec, Solder::poisson_3d_7pt<Scalar>(cube));
  expect_same_as_launched<Solder::Cg<TypeParam, Matrix>>(this->exec, Matrix::sell(this->exec, A),
                                                         Solder::Identity{},
                                                         some_iterations<Solder::CgOptions>(10));
}

TYPED_TEST(OnChip, BiCgStabIsAsLaunched) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
  using BiCgStab = Solder::BiCgStab<TypeParam, Matrix>;
  auto options = some_iterations<Solder::BiCgStabOptions>(8);
  expect_same_as_launched<BiCgStab>(this->exec, A, Solder::Identity{}, options);
  options.form = Solder::BiCgStabForm::classical;
  expect_same_as_launched<BiCgStab>(this->exec, A, Solder::Identity{}, options);
}

TYPED_TEST(OnChip, ASolveIsOneKernelAndNothingElse) {
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
  auto const b = to_device(this->exec, std::vector<double>(A.rows(), 1.0)),
             x = to_device(this->exec, std::vector<double>(A.rows()));
  auto options = some_iterations<Solder::CgOptions>(40);
  options.runner = Runner::resident;
  options.keep_guess = false;  // to give one back takes a kernel
  Solder::Cg<TypeParam, Matrix> solver(this->exec, A, {}, options);
  solver.solve(b, x);
  KokkosEvents events;
  Report const report = solver.solve(b, x);
  events.stop();
  if (report.runner != Runner::resident) GTEST_SKIP() << report.detail;  // a busy host
  ASSERT_EQ(events.kernels.size(), 1u);
  EXPECT_EQ(events.kernels[0].label, "Solder::cg::solve");
  EXPECT_EQ(events.allocations.size(), 0u);
  EXPECT_EQ(events.copies.size(), 0u);
  EXPECT_EQ(events.fences, std::vector<std::string>{});
}

/// Letters that are full end the kernel, and the next one goes on; the residual check is asked in
/// between.
TYPED_TEST(OnChip, GoesOnAfterALetter) {
  if (Solder::Impl::is_host_space<TypeParam>) GTEST_SKIP() << "it takes a GPU some milliseconds";
  using Matrix = Solder::CsrMatrix<double, TypeParam>;
  Matrix const A(this->exec, Solder::fem_poisson_2d<double>(side));
  auto const options = [&](Runner runner) {
    Solder::CgOptions some;
    some.tolerance = 1e-9;
    some.max_iterations = 10000;
    some.runner = runner;
    some.monitor = [](Solder::Progress const&) {};
    return some;
  };
  auto const b = to_device(this->exec, std::vector<double>(A.rows(), 1.0));
  auto const solve = [&](Runner runner) {
    auto const x = to_device(this->exec, std::vector<double>(A.rows()));
    return Solder::Cg<TypeParam, Matrix>(this->exec, A, {}, options(runner)).solve(b, x);
  };
  Report const resident = solve(Runner::resident), launched = solve(Runner::graph);
  EXPECT_EQ(resident.runner, Runner::resident) << resident.detail;
  EXPECT_EQ(resident.reason, Solder::Reason::converged);
  EXPECT_LE(resident.true_relative_residual, 1e-9);
  EXPECT_GT(resident.iterations, 1000);
  EXPECT_NEAR(resident.iterations, launched.iterations, 0.02 * launched.iterations);
}

TEST(OnChipChoice, LeaguesFitTheDevice) {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  auto const plan_of = [&](std::int64_t rows, bool owns) {
    return Solder::plan_solve(Solder::machine_of(exec),
                              {.rows = rows, .nonzeros = 5 * rows, .items = rows}, {.owns = owns},
                              Runner::resident);
  };
  auto const plan = plan_of(1'000'000, true);
  EXPECT_EQ(plan.on_chip, Solder::Impl::is_measured(exec));
  if (plan.on_chip) {
    EXPECT_EQ(plan.teams, Solder::Impl::resident_league(exec));
  }
  EXPECT_FALSE(plan_of(1'000'000, false).on_chip);
  EXPECT_FALSE(plan_of(16'129, true).on_chip);
}

/// Of each team the rows count from 0 upwards, whatever its league.
TEST(OnChipRows, AreCountedTeamByTeam) {
  using Solder::Impl::Blocks;
  for (int const teams : {2, 3, 7, 132, 396, 1024}) {
    Blocks const blocks = Blocks::of(teams);
    for (std::int64_t i = 0; i < 20'000'000; i += 997) {
      std::int64_t const number = i / Blocks::rows / teams * Blocks::rows + i % Blocks::rows;
      ASSERT_EQ(blocks.own(static_cast<std::int32_t>(i)).number, number) << i << ", " << teams;
    }
  }
}

}  // namespace
