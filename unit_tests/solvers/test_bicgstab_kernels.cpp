// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do: see bench.hpp. That its checks can fail is tested for CG.
#include "bench.hpp"
#include "bicgstab.hpp"

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

}  // namespace
