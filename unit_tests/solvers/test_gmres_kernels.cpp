// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do, on the default space: see bench.hpp. That its checks can fail is
// tested for CG.
#include "gmres_kernels.hpp"

#include <cmath>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;

/// The kernels of step `step` of a cycle, as their labels end.
std::vector<std::string> labels(GmresForm form, int step) {
  switch (form) {
    case GmresForm::pipelined:
      return step == 0 ? std::vector<std::string>{"product", "normalise"}
                       : std::vector<std::string>{"product", "dots", "orthogonalise", "normalise"};
    case GmresForm::cgs:
      return {"product", "dots", "orthogonalise"};
    case GmresForm::cgs2:
      return {"product", "dots", "orthogonalise", "dots_again", "orthogonalise_again"};
    case GmresForm::mgs:
    case GmresForm::flexible:  // whose kernels nobody names
      break;
  }
  std::vector<std::string> list(2 + step, "project");
  list.front() = "product";
  return list;
}

/// On hosts the launch runner sends what is needed and nothing else: after every number of
/// iterations up to two cycles and a bit.
TEST(GmresKernels, EveryKernelOfASolveOnAHost) {
  if (!Solder::Impl::is_host_space<Exec>) GTEST_SKIP() << "other spaces send whole cycles ahead";
  Bench<Exec> bench;
  with_each_preconditioner_and_form<GmresOptions>(bench, [&](auto const& M,
                                                             GmresOptions const& options) {
    std::vector<std::string> const residual_check{"least_squares", "update", "residual", "check"};
    for (int const iterations : {1, 2, 7, 8, 9, 16, 18}) {
      auto expected = residual_check;
      auto const append = [&](auto const& more) {
        expected.insert(expected.end(), more.begin(), more.end());
      };
      for (int k = 0; k < iterations; ++k) {
        append(labels(options.form, k % options.restart));
        if ((k + 1) % options.restart == 0 || k + 1 == iterations) append(residual_check);
      }
      std::vector<std::string> seen;
      auto const events = bench.watch(M, with(options, Runner::launch, iterations));
      for (auto const& kernel : events->kernels)
        seen.push_back(kernel.label.substr(kernel.label.rfind(':') + 1));
      EXPECT_EQ(seen, expected) << iterations << " iterations";
    }
  });
}

TEST(GmresKernels, ACycleHasItsKernelsAndNoMore) {
  expect_kernels<GmresOptions, Exec>(kernels_per_iteration);
}

/// With a strong M most of the first cycle is not needed. On GPUs it is sent in two parts, and no
/// cycle ahead of the end of the second.
TEST(GmresKernels, ASolveThatEndsInTheFirstCycleLaunchesLittleInVain) {
  Bench<Exec> bench;
  auto const options = gmres(GmresForm::cgs2, 30);
  int const check = 4, of_step = 5, most_in_first_part = 48;
  auto const kernels = [&](int iterations, int solves) {
    auto const events = bench.watch(Identity{}, with(options, Runner::launch, iterations), solves);
    return static_cast<int>(events->kernels.size());
  };
  for (int const solves : {1, 2, 3}) {
    EXPECT_LE(kernels(2, solves), 2 * check + most_in_first_part) << solves;
    EXPECT_LE(kernels(20, solves), 2 * check + 30 * of_step) << solves;
  }
}

/// A GPU's first solve sends its first cycle in two parts, and the following ones do not: the bits
/// are the same, also where the cycle begins anew after some steps because A is badly scaled.
TEST(GmresKernels, ACycleInPartsHasTheBitsOfAWholeOne) {
  Exec const exec;
  for (double const scale : {1.0, 0x1p-400, 0x1p400}) {
    auto host = Solder::fem_poisson_2d<double>(12);
    for (double& value : host.values) value *= scale;
    CsrMatrix<double, Exec> const A(exec, host);
    for (auto const form : {GmresForm::cgs2, GmresForm::cgs, GmresForm::mgs, GmresForm::pipelined})
      for (Runner const runner : {Runner::launch, Runner::graph}) {
        auto options = gmres(form, 30);
        options.runner = runner;
        options.tolerance = 1e-9;
        SCOPED_TRACE(name_of(options) + ", scaled by " + std::to_string(std::log2(scale)));
        expect_solves_anew(exec, host, A, Identity{}, options);
      }
  }
}

TEST(GmresKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<GmresOptions, Exec>();
}

TEST(GmresKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<GmresOptions, Exec>();
}

TEST(GmresKernels, ConstructionWorksOnTheInstanceGiven) {
  expect_construction_on_the_instance<GmresOptions, Exec>();
}

TEST(GmresKernels, ASolverSolvesAnewWithTheSameBits) {
  Exec const exec;
  auto const host = Solder::fem_poisson_2d<double>(12);
  CsrMatrix<double, Exec> const A(exec, host);
  in_every_way<GmresOptions>(1e-9, 1000, [&](GmresOptions const& options, bool jacobi) {
    if (jacobi)
      expect_solves_anew(exec, host, A, Jacobi<double, Exec>(exec, A), options);
    else
      expect_solves_anew(exec, host, A, Identity{}, options);
  });
}

}  // namespace
