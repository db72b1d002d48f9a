// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What holds of several solvers in the same words; each one's tests say on which systems.

#include "solve.hpp"

#include <cmath>
#include <complex>
#include <string>
#include <vector>

namespace SolderTest {

/// \brief ||x - expected|| / ||expected||.
template <class Scalar>
double relative_difference(std::vector<Scalar> const& x,
                           std::vector<std::complex<double>> const& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += std::norm(plain(x[i]) - expected[i]);
    size += std::norm(expected[i]);
  }
  return std::sqrt(difference / size);
}

/// \brief Expects what expect_solves_anew does, with and without Jacobi.
template <class Options, class Exec, class Scalar>
void expect_solves_anew_in_every_way(Exec const& exec, HostCsr<Scalar> const& host,
                                     double tolerance) {
  CsrMatrix<Scalar, Exec> const A(exec, host);
  in_every_way<Options>(tolerance, 1000, [&](Options const& options, bool jacobi) {
    if (jacobi)
      expect_solves_anew(exec, host, A, Jacobi<Scalar, Exec>(exec, A), options);
    else
      expect_solves_anew(exec, host, A, Identity{}, options);
  });
}

/// \brief Expects convergence where A and b are multiplied by `large`, by its inverse, or one by
/// each.
template <class Options, class Exec, class Scalar>
void expect_convergence_whatever_the_size(Exec const& exec, HostCsr<Scalar> const& matrix,
                                          double large, double tolerance) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  double const small = 1 / large;
  for (double const of_A : {large, small})
    for (double const of_b : {large, small}) {
      SCOPED_TRACE(std::to_string(std::log10(of_A)) + " " + std::to_string(std::log10(of_b)));
      auto A = matrix;
      for (auto& value : A.values) value *= Real(of_A);
      auto b = random_vector<Scalar>(A.rows, 53);
      for (auto& value : b) value *= Real(of_b);
      in_every_way<Options>(tolerance, 1000, [&](Options const& options, bool jacobi) {
        auto const s = solve(exec, A, jacobi, b, std::vector<Scalar>(A.rows), options);
        EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
        expect_true_report(A, b, s, options);
      });
    }
}

}  // namespace SolderTest
