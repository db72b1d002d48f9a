// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do: see bench.hpp. That its checks can fail is tested for CG. Where the
// preconditioner is not pointwise, on the default space only.
#include "bench.hpp"
#include "idr.hpp"

#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;
using Default = Kokkos::DefaultExecutionSpace;

int kernels_per_iteration(IdrOptions const& options) { return has_shadow_kernel(options) ? 3 : 2; }

/// A large shadow space has a kernel at a beginning too.
struct RowWiseOfIdr : RowWise {
  static constexpr int kernels_of_residual_check = 3;
};

template <class Exec>
struct IdrKernels : testing::Test {};
TYPED_TEST_SUITE(IdrKernels, Spaces::Types, TypeName);

TYPED_TEST(IdrKernels, TwoAnIterationAndThreeWithALargeShadowSpace) {
  expect_kernels<IdrOptions, TypeParam, RowWiseOfIdr>(kernels_per_iteration);
}

TYPED_TEST(IdrKernels, PaddedFormatsTakeTheSameKernelsAndNothingElse) {
  expect_padded_formats_take_the_same_kernels<IdrOptions, TypeParam>(kernels_per_iteration);
}

TYPED_TEST(IdrKernels, PaddedFormatsRepeatBitForBit) {
  expect_padded_formats_repeat<IdrOptions, TypeParam>();
}

TYPED_TEST(IdrKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<IdrOptions, TypeParam>();
}

TYPED_TEST(IdrKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<IdrOptions, TypeParam>();
}

TYPED_TEST(IdrKernels, ConstructionWorksOnTheInstanceGiven) {
  expect_construction_on_the_instance<IdrOptions, TypeParam>();
}

/// On hosts the launch runner sends what is needed, and the step that finds the end: nothing else,
/// wherever in a cycle that is.
TEST(IdrKernelsOfAHost, EveryKernelOfASolve) {
  if (!Solder::Impl::is_host_space<Default>) GTEST_SKIP() << "other spaces send whole batches";
  Bench<Default> bench;
  for (int const s : {1, 4, 5, 9, 32})
    for (int const iterations : {0, 1, 2, 3, 9, 10, 35}) {
      SCOPED_TRACE("s = " + std::to_string(s) + ", " + std::to_string(iterations) + " iterations");
      std::vector<std::string> expected;
      auto const append = [&](std::vector<std::string> const& more) {
        for (auto const& label : more)
          if (has_shadow_kernel(idr(s)) || label != "shadow") expected.push_back(label);
      };
      append({"residual", "check", "shadow"});
      for (int k = 0; k <= iterations && iterations > 0; ++k)
        append({"product", "shadow", "update"});
      if (iterations > 0) append({"residual", "check", "shadow"});
      std::vector<std::string> seen;
      auto const events = bench.watch(Identity{}, with(idr(s), Runner::launch, iterations));
      for (auto const& kernel : events->kernels)
        seen.push_back(kernel.label.substr(kernel.label.rfind(':') + 1));
      EXPECT_EQ(seen, expected);
    }
}

/// The preconditioners that have kernels of their own, each in a list of one; kernels: of an
/// application, with the one that hands out what the triangular solves have made.
struct WithFsai {
  static constexpr int kernels = 2, kernels_of_residual_check = 5;
  template <class Exec, class F>
  static void for_each(Bench<Exec>& bench, F const& f) {
    SCOPED_TRACE("fsai");
    f(Solder::Fsai<double, Exec>(bench.exec, bench.A));
  }
};
struct WithIlu {
  static constexpr int kernels = 4, kernels_of_residual_check = 7;
  static constexpr bool has_no_league = true;
  template <class Exec, class F>
  static void for_each(Bench<Exec>& bench, F const& f) {
    SCOPED_TRACE("ilu0");
    f(Solder::Incomplete<double, Exec>(bench.exec, bench.A, Solder::Factorisation::ilu0));
  }
};

template <class Preconditioner>
struct IdrWithKernels : testing::Test {};
using PreconditionersWithKernels = testing::Types<WithFsai, WithIlu>;
TYPED_TEST_SUITE(IdrWithKernels, PreconditionersWithKernels);

TYPED_TEST(IdrWithKernels, TakesThoseOfThePreconditionerMore) {
  auto const all = [](IdrOptions const& options) {
    return kernels_per_iteration(options) + TypeParam::kernels;
  };
  expect_kernels<IdrOptions, Default, TypeParam>(all);
  Bench<Default> bench;
  with_each_preconditioner_and_form<IdrOptions, TypeParam>(
      bench, [&](auto const& M, IdrOptions const& options) {
        SolverOf<IdrOptions, Default, double, std::decay_t<decltype(M)>> solver(
            bench.exec, bench.A, M, with(options, Runner::launch, 20));
        EXPECT_EQ(solver.solve(bench.b, bench.x).kernels_per_iteration, all(options));
      });
}

TYPED_TEST(IdrWithKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<IdrOptions, Default, TypeParam>();
}

TYPED_TEST(IdrWithKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<IdrOptions, Default, TypeParam>();
}

TYPED_TEST(IdrWithKernels, ConvergesInTruthWithFewerIterationsThanJacobi) {
  Bench<Default> symmetric, general;
  general.host = Solder::convection_diffusion_2d<double>(20, {5, 3}, Solder::Convection::upwind);
  general.A = CsrMatrix<double, Default>(general.exec, general.host);
  for (auto* const bench : {&symmetric, &general}) {
    if (std::is_same_v<TypeParam, WithFsai> && bench == &general) continue;  // for SPD matrices
    auto const b = to_host(bench->exec, bench->b);
    with_each_preconditioner_and_form<IdrOptions, TypeParam>(
        *bench, [&](auto const& M, IdrOptions const& form) {
          for (Runner const runner : every_runner) {
            SCOPED_TRACE(name_of(form) + ", " + std::string(to_string(runner)));
            auto const options = with(form, runner, 1000, 1e-10);
            auto const run = [&](auto const& preconditioner) {
              SolverOf<IdrOptions, Default, double, std::decay_t<decltype(preconditioner)>> solver(
                  bench->exec, bench->A, preconditioner, options);
              Kokkos::deep_copy(bench->x, 0);
              Solved<double> s;
              s.report = solver.solve(bench->b, bench->x);
              s.x = to_host(bench->exec, bench->x);
              EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
              expect_true_report(bench->host, b, s, options);
              return s;
            };
            auto const s = run(M), again = run(M);
            EXPECT_TRUE(same_bits(s.x, again.x));
            EXPECT_TRUE(same_bits(s.report.history, again.report.history));
            EXPECT_LT(s.report.iterations,
                      run(Jacobi<double, Default>(bench->exec, bench->A)).report.iterations);
          }
        });
  }
}

}  // namespace
