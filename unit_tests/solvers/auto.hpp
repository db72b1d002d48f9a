// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Solvers that choose, as make_solver() makes them.
#include "by_name.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace SolderTest {

struct Auto : testing::Test {
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight, Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Exec exec;

  static Solder::HostCsr<double> tridiagonal(int n, double lower, double diagonal, double upper) {
    Solder::HostCsr<double> A{n, n, {0}, {}, {}};
    for (int i = 0; i < n; ++i) {
      auto const add = [&](int j, double value) {
        if (j < 0 || j >= n || value == 0) return;
        A.columns.push_back(j);
        A.values.push_back(value);
      };
      add(i - 1, lower);
      add(i, diagonal);
      add(i + 1, upper);
      A.row_offsets.push_back(std::int64_t(A.columns.size()));
    }
    return A;
  }
  /// Whose factors take seconds.
  static Solder::HostCsr<double> full() {
    constexpr std::int32_t n = 1400;
    Solder::HostCsr<double> A{n, n, {0}, {}, random_vector<double>(std::size_t(n) * n, 4)};
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) A.columns.push_back(j);
      A.row_offsets.push_back(std::int64_t(i + 1) * n);
    }
    return A;
  }
  struct Solved {
    Report report;
    std::vector<double> x;
  };
  template <class Solver>
  Solved solve(Solver const& solver, std::vector<double> const& b, std::vector<double> guess = {}) {
    guess.resize(b.size());
    auto const r = to_device(exec, b), x = to_device(exec, guess);
    Report const report = solver.solve(r, x);
    return {report, to_host(exec, x)};
  }
  /// ||b - A x|| / ||b||, by a loop.
  static double residual(Solder::HostCsr<double> const& A, std::vector<double> const& b,
                         std::vector<double> const& x) {
    long double squares = 0, of_b = 0;
    for (int i = 0; i < A.rows; ++i) {
      long double r = b[i];
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        r -= (long double)A.values[k] * x[A.columns[k]];
      squares += r * r;
      of_b += (long double)b[i] * b[i];
    }
    return double(std::sqrt(squares / of_b));
  }
  static constexpr bool is_host = Solder::Impl::is_host_space<Exec>;
  /// Solves with all defaults; what is claimed must be so.
  Report expect_solved(Solder::HostCsr<double> const& host, Parameters const& parameters = {}) {
    auto const b = random_vector<double>(host.rows, 3);
    auto const solver = make_solver(exec, Matrix(exec, host), parameters);
    auto const [report, x] = solve(solver, b);
    EXPECT_EQ(report.reason, Reason::converged) << report;
    EXPECT_LE(residual(host, b, x), 1.001e-8);
    EXPECT_FALSE(report.attempts.empty());
    int iterations = 0;
    for (Solder::Attempt const& attempt : report.attempts) iterations += attempt.iterations;
    EXPECT_EQ(iterations, report.iterations);
    EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
    EXPECT_EQ(report.attempts.back().reason, report.reason);
    return report;
  }
};

}  // namespace SolderTest
