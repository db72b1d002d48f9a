// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve with a SELL or ELL matrix makes Kokkos do: as much as with CSR. See bench.hpp.
#include "gmres_kernels.hpp"

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;

TEST(GmresOfPaddedFormats, TakesTheSameKernelsAndNothingElse) {
  expect_padded_formats_take_the_same_kernels<GmresOptions, Exec>(kernels_per_iteration);
}

TEST(GmresOfPaddedFormats, RepeatsBitForBit) { expect_padded_formats_repeat<GmresOptions, Exec>(); }

}  // namespace
