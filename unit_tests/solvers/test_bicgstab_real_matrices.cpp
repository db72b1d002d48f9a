// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BiCGStab on real matrices: see outcomes.hpp.
#include "bicgstab.hpp"
#include "outcomes.hpp"

namespace {

using namespace SolderTest;

TEST(BiCgStabRealMatrices, ConvergeOrSayWhyNot) {
  expect_true_outcomes({500, 17}, {1000, 50}, Method<BiCgStabOptions>::forms());
}

}  // namespace
