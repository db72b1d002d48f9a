// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of multigrid for nonsymmetric matrices share.

#include "amg_solves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace SolderTest {

inline constexpr AmgOptions air{.interpolation = Solder::AmgInterpolation::air};

/// A flow that turns in the unit square, by upwind differences with 5 points on side^2 nodes.
inline HostCsr<double> recirculating_flow(std::int32_t side, double peclet) {
  double const h = 1.0 / (side + 1);
  Solder::TripletBuilder<double> builder;
  for (std::int32_t y = 0; y < side; ++y)
    for (std::int32_t x = 0; x < side; ++x) {
      double const X = (x + 1) * h, Y = (y + 1) * h, u = peclet * 4 * X * (X - 1) * (1 - 2 * Y),
                   v = -peclet * 4 * Y * (Y - 1) * (1 - 2 * X);
      double diagonal = 4;
      for (auto const& [dx, dy] : {std::pair(0, -1), {-1, 0}, {1, 0}, {0, 1}}) {
        double const inflow = std::max(-(u * dx + v * dy) * h, 0.0);
        diagonal += inflow;
        if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side)
          builder.add(y * side + x, (y + dy) * side + x + dx, -1 - inflow);
      }
      builder.add(y * side + x, y * side + x, diagonal);
    }
  return builder.build(side * side, side * side);
}

/// Row i times a number of its own.
inline HostCsr<ComplexDouble> turned(HostCsr<double> const& A) {
  HostCsr<ComplexDouble> B{A.rows, A.columns_count, A.row_offsets, A.columns, {}};
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      B.values.push_back(A.values[k] * ComplexDouble(std::cos(i), std::sin(i)));
  return B;
}

inline GmresOptions gmres(Runner runner = Runner::launch) {
  GmresOptions options;
  options.runner = runner;
  options.restart = 30;
  options.tolerance = 1e-8;
  options.max_iterations = 100;
  return options;
}

/// The iterations of GMRES(30) for b = 1.
inline int iterations_of(HostCsr<double> const& host, AmgOptions const& options = air) {
  Default const exec;
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A, options);
  EXPECT_EQ(M.failure(), "");
  std::vector<double> const b(host.rows, 1.0);
  auto const s = solved(A, M, b, gmres());
  EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
  expect_true_report(host, b, s, gmres());
  return s.report.iterations;
}

}  // namespace SolderTest
