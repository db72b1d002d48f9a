// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES(30) on real matrices: see outcomes.hpp.
#include "gmres.hpp"
#include "outcomes.hpp"

namespace {

using namespace SolderTest;

TEST(GmresRealMatrices, ConvergeOrSayWhyNot) {
  auto const forms = Method<GmresOptions>::forms(30);
  expect_true_outcomes({500, 9}, {700, 10}, std::vector{forms.front(), forms.back()});
}

}  // namespace
