// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES(30) on real matrices: see outcomes.hpp.
#include "gmres.hpp"
#include "outcomes.hpp"

namespace {

using namespace SolderTest;

TEST(GmresRealMatrices, ConvergeOrSayWhyNot) {
  auto const forms = Method<GmresOptions>::forms(30);
  auto const single = Method<GmresOptions>::forms_in_single(30).front();
  expect_true_outcomes({500, 9}, {700, 10}, std::vector{forms.front(), single, forms.back()});
}

}  // namespace
