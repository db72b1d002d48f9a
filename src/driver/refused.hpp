// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "columns.hpp"
#include "solve.hpp"
#include "world.hpp"

namespace Solder::Driver {

/// \brief What is to say of a run in which no iteration ran: x stays 0. All ranks call this
/// together.
template <class T>
void refuse(System<T> const& system, Reason reason, std::string const& why, Solved<T>& solved) {
  Report report;
  report.reason = reason;
  report.detail = why;
  auto const starts = system.starts.empty() ? std::vector{0, system.matrix.rows} : system.starts;
  int const count = system.right_hand_sides();
  for (std::size_t k = 0; k + 1 < starts.size(); ++k)
    for (int c = 0; c < count; ++c) {
      double residual = 0;  // ||b|| / ||b||, or 0 where b is
      for (std::size_t i = starts[k]; i < std::size_t(starts[k + 1]); ++i)
        if (system.rhs[i * count + c] != T(0)) residual = 1;
      residual = world().any(residual > 0);
      report.relative_residual = report.true_relative_residual = residual;
      if (system.starts.empty()) report.history = {residual};
      solved.columns.push_back(report);
    }
  solved.report = summary(solved.columns, true);
  solved.solution.assign(system.rhs.size(), T(0));
  solved.matrix_format = "csr";
  solved.format_reason = "not solved";
}

}  // namespace Solder::Driver
