// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <solder/core/report.hpp>

#include "../support.hpp"

namespace SolderTest {

/// Solves by `runner`, twice, and by the launch runner, which are to agree.
template <class Solver, class Exec, class Matrix, class M, class Options>
void expect_same_as_launched(Exec const& exec, Matrix const& A, M const& m, Options options,
                             Solder::Runner runner = Solder::Runner::resident) {
  using Solder::Report, Solder::Runner;
  using Scalar = typename Matrix::scalar_type;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  auto const n = static_cast<std::size_t>(A.rows());
  std::vector<Scalar> ones(n, Scalar(1)), guess(n);
  for (std::size_t i = 0; i < n; ++i) guess[i] = Scalar(Real(i % 13) / 100);
  auto const b = to_device(exec, ones);
  auto const run = [&](Runner by, auto const& check) {
    options.runner = by;
    Solver solver(exec, A, m, options);
    for (int turn = 0; turn < 2; ++turn) {
      auto const x = to_device(exec, guess);
      Report const report = solver.solve(b, x);
      check(report, to_host(exec, x));
    }
  };
  Report launched, resident;
  std::vector<Scalar> x_launched, x_resident;
  run(Runner::launch, [&](Report const& report, std::vector<Scalar> const& x) {
    launched = report;
    x_launched = x;
  });
  run(runner, [&](Report const& report, std::vector<Scalar> const& x) {
    if (resident.history.empty()) {
      resident = report;
      x_resident = x;
    } else if (report.runner == resident.runner) {
      EXPECT_EQ(report.history, resident.history) << "the second solve differs from the first";
      EXPECT_EQ(x, x_resident);
    }
  });
  EXPECT_EQ(resident.reason, launched.reason);
  EXPECT_EQ(resident.iterations, launched.iterations);
  ASSERT_EQ(resident.history.size(), launched.history.size());
  double const rounding = 1e5 * Kokkos::Experimental::epsilon_v<Real>;
  for (std::size_t k = 0; k < launched.history.size(); ++k)
    EXPECT_NEAR(resident.history[k] / launched.history[k], 1, rounding) << "iteration " << k;
  EXPECT_NEAR(resident.true_relative_residual / launched.true_relative_residual, 1, rounding);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    difference = std::max(difference, double(Kokkos::abs(x_resident[i] - x_launched[i])));
    size = std::max(size, double(Kokkos::abs(x_launched[i])));
  }
  EXPECT_LT(difference, rounding * size);
}

template <class Options>
Options some_iterations(int most) {
  Options options;
  options.tolerance = 1e-12;
  options.max_iterations = most;
  return options;
}

}  // namespace SolderTest
