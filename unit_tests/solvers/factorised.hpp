// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solvers with a factorised preconditioner, whose factor the plain-loop oracle makes: what
/// is tested here is how it is applied, whatever made it.

#include "../preconditioners/fsai_oracle.hpp"
#include "bench.hpp"

#include <solder/preconditioners/detail/fsai/operator.hpp>

namespace SolderTest {

template <class Scalar>
Scalar scalar_of(Complex const& value) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Scalar(Real(value.real()), Real(value.imag()));
  else
    return Real(value.real());
}

/// \brief G, or G^H, of the oracle.
template <class Factor>
HostCsr<Factor> to_csr(OracleFactor const& G, bool transposed) {
  std::size_t const n = G.rows.size();
  std::vector<std::map<std::int32_t, std::complex<double>>> rows(n);
  for (std::size_t i = 0; i < n; ++i)
    for (auto const& [j, g] : G.rows[i])
      (transposed ? rows[j][std::int32_t(i)] : rows[i][j]) = transposed ? std::conj(g) : g;
  HostCsr<Factor> host;
  host.rows = host.columns_count = static_cast<std::int32_t>(n);
  host.row_offsets = {0};
  for (auto const& row : rows) {
    for (auto const& [j, g] : row) {
      host.columns.push_back(j);
      host.values.push_back(scalar_of<Factor>(g));
    }
    host.row_offsets.push_back(static_cast<std::int64_t>(host.columns.size()));
  }
  return host;
}

/// \brief What solvers ask of a factorised preconditioner, and nothing more.
template <class Scalar, class Exec, class Factor = Scalar>
struct GivenFactor {
  CsrMatrix<Factor, Exec> G, GH;

  GivenFactor(Exec const& exec, HostCsr<Scalar> const& A)
      : GivenFactor(exec, FsaiOracle<Scalar>(A).static_fsai(0.01, 2, 0.02)) {}
  GivenFactor(Exec const& exec, OracleFactor const& factor)
      : G(exec, to_csr<Factor>(factor, false)), GH(exec, to_csr<Factor>(factor, true)) {}

  std::int32_t rows() const { return G.rows(); }
  Solder::FsaiOperator<Scalar, Factor, std::int32_t> open(Solder::Arena<Exec>& arena) const {
    return {arena, G.device_operator(), GH.device_operator()};
  }
  template <class Of>
  double words(std::int32_t n) const {
    return (G.words() + GH.words()) * sizeof(Factor) / sizeof(Of) + 3.0 * n;
  }
};

struct Factorised {
  static constexpr int kernels_of_residual_check = 4;  ///< it begins anew with M r

  template <class Exec, class F>
  static void for_each(Bench<Exec>& bench, F const& f) {
    SCOPED_TRACE("factorised");
    f(GivenFactor<double, Exec>(bench.exec, bench.host));
  }
};

/// \brief f(options) for all forms and all runners.
template <class Options, class F>
void in_each_form_and_runner(double tolerance, int max_iterations, F const& f) {
  for (auto const& [name, form] : Method<Options>::forms())
    for (Runner const runner : every_runner) {
      SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
      f(with(form, runner, max_iterations, tolerance));
    }
}

template <class Options, class Exec, class Scalar, class Preconditioner>
Solved<Scalar> solve_with(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                          Preconditioner const& M, std::vector<Scalar> const& b,
                          Options const& options) {
  SolverOf<Options, Exec, Scalar, Preconditioner> solver(exec, A, M, options);
  auto const b_device = to_device(exec, b), x = to_device(exec, std::vector<Scalar>(b.size()));
  Solved<Scalar> s;
  s.report = solver.solve(b_device, x);
  s.x = to_host(exec, x);
  return s;
}

/// \brief Expects that a solve in every form and runner converges, in truth, with fewer iterations
/// than Jacobi, and twice to the same bits.
template <class Options, class Exec, class Scalar, class Factor = Scalar>
void expect_solves(HostCsr<Scalar> const& host) {
  Exec const exec;
  CsrMatrix<Scalar, Exec> const A(exec, host);
  GivenFactor<Scalar, Exec, Factor> const M(exec, host);
  auto const b = random_vector<Scalar>(host.rows, 71);
  double const tolerance = epsilon<Scalar> < 1e-10 ? 1e-10 : 1e-4;
  in_each_form_and_runner<Options>(tolerance, 2000, [&](Options const& options) {
    auto const s = solve_with(exec, A, M, b, options), again = solve_with(exec, A, M, b, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    expect_true_report(host, b, s, options);
    EXPECT_TRUE(same_bits(s.x, again.x));
    EXPECT_TRUE(same_bits(s.report.history, again.report.history));
    auto const jacobi = solve_with(exec, A, Jacobi<Scalar, Exec>(exec, A), b, options);
    EXPECT_LT(s.report.iterations, jacobi.report.iterations);
  });
}

/// \brief Expects an honest report of solves that ask for more than rounding allows: they claim,
/// are refuted, go on, begin anew.
template <class Options, class Exec>
void expect_truth_at_the_limit_of_rounding(HostCsr<double> const& host) {
  Exec const exec;
  CsrMatrix<double, Exec> const A(exec, host);
  GivenFactor<double, Exec> const M(exec, host);
  auto const b = random_vector<double>(host.rows, 72);
  for (double const tolerance : {1e-14, 3e-16, 1e-17})
    in_each_form_and_runner<Options>(tolerance, 300, [&](Options const& options) {
      auto const s = solve_with(exec, A, M, b, options);
      expect_true_report(host, b, s, options);
      EXPECT_LE(s.report.true_relative_residual, 1e-12);
    });
}

}  // namespace SolderTest
