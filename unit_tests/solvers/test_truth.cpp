// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The true residual of a solve in single precision is that of the numbers as they are stored: its
// products are exact and its sums double. All solvers have one judge; CG asks it here.
#include "cg.hpp"

#include <solder/matrix/sell.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
/// The report of a solve, and of a judgement of the x that it returned.
template <class Matrix, class Scalar>
void expect_the_exact_residual(Exec const& exec, HostCsr<Scalar> const& host, Matrix const& A,
                               std::vector<Scalar> const& b, std::vector<Scalar> const& x0) {
  for (Runner const runner : every_runner)
    for (int const most : {0, 300}) {
      SCOPED_TRACE(std::string(to_string(runner)) + ", " + std::to_string(most) + " iterations");
      CgOptions options;
      options.runner = runner;
      options.max_iterations = most;
      options.tolerance = 1e-10;
      SolverOn<CgOptions, Exec, Matrix, Identity> solver(exec, A, Identity{}, options);
      auto const x = to_device(exec, x0);
      Report const report = solver.solve(to_device(exec, b), x);
      double const exact = exact_residual(host, b, to_host(exec, x)).relative;
      EXPECT_NEAR(report.true_relative_residual, exact, 1e-3 * exact);
      EXPECT_EQ(report.reason == Reason::converged, exact <= options.tolerance)
          << to_string(report.reason) << ", " << exact;
    }
}

/// In every format, with the x0 that is as close to the solution as the scalar allows.
template <class Scalar>
void expect_the_exact_residual_in_all_formats(HostCsr<Scalar> const& host) {
  Exec const exec;
  // b = A x rounded: what is left of b - A x is rounding alone.
  auto const x0 = random_vector<Scalar>(host.rows, 1);
  std::vector<Scalar> b(host.rows);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    Complex sum = 0;
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      sum += plain(host.values[k]) * plain(x0[host.columns[k]]);
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      b[i] = Scalar(float(sum.real()), float(sum.imag()));
    else
      b[i] = float(sum.real());
  }
  EXPECT_LT(exact_residual(host, b, x0).relative, 1e-7);
  EXPECT_GT(exact_residual(host, b, x0).relative, 1e-9);
  CsrMatrix<Scalar, Exec> const A(exec, host);
  using Sell = Solder::SellMatrix<Scalar, Exec>;
  {
    SCOPED_TRACE("csr");
    expect_the_exact_residual(exec, host, A, b, x0);
  }
  {
    SCOPED_TRACE("sell");
    expect_the_exact_residual(exec, host, Sell::sell(exec, A), b, x0);
  }
  SCOPED_TRACE("ell");
  expect_the_exact_residual(exec, host, Sell::ell(exec, A), b, x0);
}

TEST(Truth, AThirdIsNotAThirdInFloat) {
  for (float const divisor : {3.0f, 7.0f, 1.1f}) {
    Exec const exec;
    auto const host = diagonal<float>({divisor});
    // Exactly it is about 3e-8 of b: a product in float would round it away.
    ASSERT_GT(exact_residual(host, {1}, {1 / divisor}).relative, 1e-9);
    expect_the_exact_residual(exec, host, CsrMatrix<float, Exec>(exec, host), {1}, {0});
    expect_the_exact_residual(exec, host, CsrMatrix<float, Exec>(exec, host), {1}, {1 / divisor});
  }
}

TEST(Truth, ShortRows) {
  expect_the_exact_residual_in_all_formats(Solder::fem_poisson_2d<float>(20));
  expect_the_exact_residual_in_all_formats(
      Solder::magnetic_laplacian_2d<Kokkos::complex<float>>(20, 0.1));
}

TEST(Truth, LongRows) {
  expect_the_exact_residual_in_all_formats(Solder::random_spd<float>(1500, 700, 5));
  expect_the_exact_residual_in_all_formats(Solder::random_spd<Kokkos::complex<float>>(900, 400, 6));
}

/// A + shift I: an operator of one's own, whose members have the names of CsrOperator's.
struct Shifted {
  using scalar_type = double;

  struct Operator {
    std::int32_t const *row_offsets, *columns;
    double const* values;
    Solder::Rows rows;
    std::int32_t teams;
    double shift;

    bool operator==(Operator const&) const = default;

    template <class Team, class U, class Prepare, class Consume>
    KOKKOS_FUNCTION bool for_each_row_product(Team const& team, U const& u, Prepare const& prepare,
                                              Consume const& consume) const {
      if (!prepare()) return false;
      team.for_each_row(rows, [&](std::int32_t i) {
        double sum = shift * u[i];
        for (std::int32_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
          sum += values[k] * u[columns[k]];
        consume(i, sum);
      });
      return true;
    }
  };

  CsrMatrix<double, Exec> A;
  double shift;

  std::int32_t rows() const { return A.rows(); }
  std::int32_t columns() const { return A.columns(); }
  std::int64_t nonzeros() const { return A.nonzeros(); }
  double words() const { return A.words(); }
  Operator device_operator() const {
    auto const op = A.device_operator();
    Solder::Rows const rows{op.rows.count, op.rows.teams, op.rows.bounds};
    return {op.row_offsets, op.columns, op.values, rows, op.teams, shift};
  }
};

TEST(TrueResidual, IsThatOfOperatorsOfOnesOwn) {
  Exec const exec;
  auto host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Exec> const A(exec, host);
  auto const b = random_vector<double>(host.rows, 7);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (host.columns[k] == i) host.values[k] += 5;
  expect_the_exact_residual(exec, host, Shifted{A, 5}, b, std::vector<double>(host.rows));
}

}  // namespace
