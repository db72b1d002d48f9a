// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench.hpp"
#include "gmres.hpp"

namespace SolderTest {

/// \brief On average over a cycle, its end of 4 kernels included.
inline double kernels_per_iteration(GmresOptions const& options) {
  double const m = options.restart;
  switch (options.form) {
    case GmresForm::pipelined:
      return (2 + 4 * (m - 1) + 4) / m;
    case GmresForm::cgs:
      return (3 * m + 4) / m;
    case GmresForm::cgs2:
      return (5 * m + 4) / m;
    case GmresForm::mgs:
    case GmresForm::flexible:  // which nobody counts
      break;
  }
  return (2 * m + m * (m - 1) / 2 + 4) / m;
}

}  // namespace SolderTest
