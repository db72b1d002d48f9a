// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do: see bench.hpp. That its checks can fail is tested for CG.
#include "bench.hpp"
#include "bicgstab.hpp"

#include <solder/core/runners/kernels.hpp>
#include <solder/matrix/block.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace {

using namespace SolderTest;

int kernels_per_iteration(BiCgStabOptions const& options) {
  return options.form == BiCgStabForm::pipelined ? 4 : 5;
}

template <class Exec>
struct BiCgStabKernels : testing::Test {};
TYPED_TEST_SUITE(BiCgStabKernels, Spaces::Types, TypeName);

TYPED_TEST(BiCgStabKernels, FourAnIterationPipelinedAndFiveClassical) {
  expect_kernels<BiCgStabOptions, TypeParam>(kernels_per_iteration);
}

TYPED_TEST(BiCgStabKernels, PaddedFormatsTakeTheSameKernelsAndNothingElse) {
  expect_padded_formats_take_the_same_kernels<BiCgStabOptions, TypeParam>(kernels_per_iteration);
}

TYPED_TEST(BiCgStabKernels, PaddedFormatsRepeatBitForBit) {
  expect_padded_formats_repeat<BiCgStabOptions, TypeParam>();
}

TYPED_TEST(BiCgStabKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<BiCgStabOptions, TypeParam>();
}

TYPED_TEST(BiCgStabKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<BiCgStabOptions, TypeParam>();
}

TYPED_TEST(BiCgStabKernels, ConstructionWorksOnTheInstanceGiven) {
  expect_construction_on_the_instance<BiCgStabOptions, TypeParam>();
}

/// The largest stage of all, and a program of hosts does not have it: a polynomial's last step and
/// BiCGStab's first decision.
template <class Operator>
constexpr std::size_t bytes_of_largest_stage() {
  using namespace Solder::Impl;
  using End = ChebyshevPointwiseEnd<double, JacobiOperator<double>, double const*>;
  using HalfStep = Body<BiCgStabHalfStepApart, BiCgStabAlpha<double, true>, NoOperation,
                        double const*, double*, double*, double*>;
  using Rows = Solder::Mapped<Solder::Product<Operator, double const*>, End>;
  return sizeof(StageKernel<Solder::Stage<Rows, HalfStep>, OneColumn>);
}

TEST(BiCgStabStages, FitAmongTheArgumentsOfAGpu) {
  EXPECT_LE(bytes_of_largest_stage<Solder::SellOperator<double>>(), Solder::Impl::largest_functor);
  EXPECT_LE(bytes_of_largest_stage<Solder::BlockOperator<double>>(), Solder::Impl::largest_functor);
}

}  // namespace
