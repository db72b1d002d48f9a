// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES with a factorised preconditioner, M = G^H G: see factorised.hpp.
#include "factorised.hpp"
#include "gmres_kernels.hpp"

#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;

/// Two more in a step, and two at a cycle's end.
double kernels_of_gmres(GmresOptions const& options) {
  return kernels_per_iteration(options) + 2 + 2.0 / options.restart;
}

TEST(GmresFactorised, TwoKernelsMoreAStepAndACycle) {
  expect_kernels<GmresOptions, Exec, Factorised>(kernels_of_gmres);
}

TEST(GmresFactorised, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<GmresOptions, Exec, Factorised>();
}

TEST(GmresFactorised, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<GmresOptions, Exec, Factorised>();
}

TEST(GmresFactorised, Solves) {
  expect_solves<GmresOptions, Exec, double>(
      Solder::convection_diffusion_2d<double>(15, {5, 3}, Solder::Convection::upwind));
}

TEST(GmresFactorised, TruthAtTheLimitOfRounding) {
  expect_truth_at_the_limit_of_rounding<GmresOptions, Exec>(Solder::fem_poisson_2d<double>(6));
}

}  // namespace
