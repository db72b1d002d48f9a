// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The true residual is that of the numbers as they are stored: products and sums have twice the
// digits of double. All solvers have one residual check; CG asks
// it here.
#include "batches.hpp"
#include "cg.hpp"

#include <solder/matrix/sell.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;

/// What long double itself may be off: of doubles it has but 11 bits more.
template <class Scalar>
constexpr double slack = sizeof(typename Solder::ScalarTraits<Scalar>::Real) == sizeof(float) ? 1e-3
                                                                                              : 0.1;

/// The report of a solve, and of a residual check of the x that it returned.
template <class Matrix, class Scalar>
void expect_the_exact_residual(Exec const& exec, HostCsr<Scalar> const& host, Matrix const& A,
                               std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                               double tolerance, double near) {
  for (Runner const runner : every_runner)
    for (int const most : {0, 300}) {
      SCOPED_TRACE(std::string(to_string(runner)) + ", " + std::to_string(most) + " iterations");
      CgOptions options;
      options.runner = runner;
      options.max_iterations = most;
      options.tolerance = tolerance;
      SolverOn<CgOptions, Exec, Matrix, Identity> solver(exec, A, Identity{}, options);
      auto const x = to_device(exec, x0);
      Report const report = solver.solve(to_device(exec, b), x);
      double const exact = exact_residual(host, b, to_host(exec, x)).relative;
      EXPECT_NEAR(report.true_relative_residual, exact, near * exact);
      EXPECT_EQ(report.reason == Reason::converged, exact <= options.tolerance)
          << to_string(report.reason) << ", " << exact;
    }
}

/// With a tolerance that rounding does not reach.
template <class Matrix, class Scalar>
void expect_the_exact_residual(Exec const& exec, HostCsr<Scalar> const& host, Matrix const& A,
                               std::vector<Scalar> const& b, std::vector<Scalar> const& x0) {
  double const tolerance = epsilon<Scalar> > 1e-10 ? 1e-10 : 1e-20;
  expect_the_exact_residual(exec, host, A, b, x0, tolerance, slack<Scalar>);
}

/// A x rounded: what is left of b - A x is rounding alone.
template <class Scalar>
std::vector<Scalar> rounded_product(HostCsr<Scalar> const& host, std::vector<Scalar> const& x) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  std::vector<Scalar> b(host.rows);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    std::complex<long double> sum = 0;
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k) {
      std::complex<long double> const a = plain(host.values[k]), of_x = plain(x[host.columns[k]]);
      sum += a * of_x;
    }
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      b[i] = Scalar(Real(sum.real()), Real(sum.imag()));
    else
      b[i] = Real(sum.real());
  }
  double const exact = exact_residual(host, b, x).relative;
  EXPECT_LT(exact, epsilon<Scalar>);
  EXPECT_GT(exact, epsilon<Scalar> / 100);
  return b;
}

/// Definite, with a first row and column without zeros: on a GPU whole teams share such a row.
template <class Scalar>
HostCsr<Scalar> arrow(std::int32_t n) {
  auto const head = random_vector<Scalar>(std::size_t(n), 9);
  HostCsr<Scalar> A;
  A.rows = A.columns_count = n;
  A.columns = {0};
  A.values = {Scalar(n)};
  for (std::int32_t j = 1; j < n; ++j) {
    A.columns.push_back(j);
    A.values.push_back(head[std::size_t(j)]);
  }
  A.row_offsets = {0, n};
  for (std::int32_t i = 1; i < n; ++i) {
    A.columns.insert(A.columns.end(), {0, i});
    A.values.insert(A.values.end(), {Solder::Impl::conjugated(head[std::size_t(i)]), Scalar(n)});
    A.row_offsets.push_back(A.row_offsets.back() + 2);
  }
  return A;
}

/// In every format, with the x0 that is as close to the solution as the scalar allows.
template <class Scalar>
void expect_the_exact_residual_in_all_formats(HostCsr<Scalar> const& host) {
  Exec const exec;
  auto const x0 = random_vector<Scalar>(host.rows, 1);
  auto const b = rounded_product(host, x0);
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
  {
    SCOPED_TRACE("ell");
    expect_the_exact_residual(exec, host, Sell::ell(exec, A), b, x0);
  }
  if (host.rows % 2 != 0) return;
  SCOPED_TRACE("block");
  expect_the_exact_residual(exec, host, Solder::BlockMatrix<Scalar, Exec>(exec, A, 2), b, x0);
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
  expect_the_exact_residual_in_all_formats(Solder::random_spd<double>(400, 5, 3));
  expect_the_exact_residual_in_all_formats(
      Solder::magnetic_laplacian_2d<Kokkos::complex<double>>(20, 0.1));
}

TEST(Truth, LongRows) {
  expect_the_exact_residual_in_all_formats(Solder::random_spd<float>(1500, 700, 5));
  expect_the_exact_residual_in_all_formats(Solder::random_spd<Kokkos::complex<float>>(900, 400, 6));
  expect_the_exact_residual_in_all_formats(arrow<double>(2400));
  expect_the_exact_residual_in_all_formats(arrow<Kokkos::complex<double>>(2400));
}

/// The same of several right-hand sides, and of the systems of a batch.
template <class Scalar>
void expect_the_exact_residual_of_many(std::vector<HostCsr<Scalar>> const& systems) {
  Exec const exec;
  CgOptions options;
  options.max_iterations = 0;
  options.tolerance = 1e-20;
  Vectors<Scalar> b, x0;
  for (auto const& host : systems) {
    x0.push_back(random_vector<Scalar>(host.rows, 2));
    b.push_back(rounded_product(host, x0.back()));
    for (int const width : {2, 3, 8, 12}) {
      SCOPED_TRACE(std::to_string(host.rows) + " rows, " + std::to_string(width) + " columns");
      SolverOf<CgOptions, Exec, Scalar> solver(exec, CsrMatrix<Scalar, Exec>(exec, host),
                                               Identity{}, options);
      auto const reports = solver.solve(
          columns_to_device<Scalar, Kokkos::LayoutRight>(Vectors<Scalar>(width, b.back())),
          columns_to_device<Scalar, Kokkos::LayoutRight>(Vectors<Scalar>(width, x0.back())));
      double const exact = exact_residual(host, b.back(), x0.back()).relative;
      for (Report const& report : reports)
        EXPECT_NEAR(report.true_relative_residual, exact, slack<Scalar> * exact);
    }
  }
  auto const host = batch_of(systems);
  SolverOf<CgOptions, Exec, Scalar> solver(exec, CsrMatrix<Scalar, Exec>(exec, host.matrix),
                                           Identity{}, options);
  auto const reports = solver.solve(to_device(exec, joined(b)), to_device(exec, joined(x0)),
                                    Batch<Exec>(exec, host.starts));
  for (std::size_t k = 0; k < systems.size(); ++k) {
    SCOPED_TRACE("system " + std::to_string(k));
    double const exact = exact_residual(systems[k], b[k], x0[k]).relative;
    EXPECT_NEAR(reports[k].true_relative_residual, exact, slack<Scalar> * exact);
  }
}

TEST(Truth, ColumnsAndBatches) {
  expect_the_exact_residual_of_many<double>({Solder::random_spd<double>(60, 5, 3),
                                             Solder::random_spd<double>(400, 5, 3),
                                             arrow<double>(2400)});
  expect_the_exact_residual_of_many<Kokkos::complex<double>>(
      {Solder::magnetic_laplacian_2d<Kokkos::complex<double>>(20, 0.1),
       arrow<Kokkos::complex<double>>(2400)});
}

/// Of floats too sums in double are not enough: |A||x| is 2^50 times |b| here.
template <class Scalar>
void expect_a_half_where_large_terms_cancel() {
  Exec const exec;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  Scalar const large = Real(0x1p50), one = Real(1), third = Real(0.3), none{};
  auto const host = sparse<Scalar>(
      {{large, one, -large, one}, {none, one}, {none, none, one}, {none, none, none, one}});
  std::vector<Scalar> const b(4, third);
  auto const expect = [&](auto const& A) {
    for (Runner const runner : every_runner) {
      CgOptions options;
      options.runner = runner;
      options.max_iterations = 0;
      SolverOn<CgOptions, Exec, std::decay_t<decltype(A)>, Identity> solver(exec, A, Identity{},
                                                                            options);
      Report const report = solver.solve(to_device(exec, b), to_device(exec, b));
      EXPECT_NEAR(report.true_relative_residual, 0.5, 1e-6) << to_string(runner);
      EXPECT_EQ(report.reason, Reason::max_iterations);
    }
  };
  CsrMatrix<Scalar, Exec> const A(exec, host);
  expect(A);
  expect(Solder::SellMatrix<Scalar, Exec>::sell(exec, A));
  expect(Solder::BlockMatrix<Scalar, Exec>(exec, A, 2));
}

TEST(Truth, WhereLargeTermsCancelInFloat) {
  expect_a_half_where_large_terms_cancel<float>();
  expect_a_half_where_large_terms_cancel<Kokkos::complex<float>>();
  expect_a_half_where_large_terms_cancel<double>();
}

/// IDR(s) once said `converged` here: its own residuals, of plain products, were small, and b - A x
/// was not.
TEST(Truth, WhereProductsCancel) {
  Exec const exec;
  // Row i: (1 + 2^-30) (1 - 2^-30) - 1 + 2^-50 is 2^-50 in double, and 2^-50 - 2^-60.
  int const n = 96;
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    rows[i][i % 32] = 1 + 0x1p-30;
    rows[i][32 + i % 32] = -1;
    rows[i][64 + i % 32] = 0x1p-50;
  }
  auto const host = sparse(rows);
  std::vector<double> x0(n, 1);
  for (int i = 0; i < 32; ++i) x0[i] = 1 - 0x1p-30;
  CgOptions options;
  options.max_iterations = 0;
  auto const solved = solve(exec, host, false, std::vector<double>(n, 0x1p-50), x0, options);
  EXPECT_EQ(to_string(solved.report.reason), "max_iterations");
  EXPECT_DOUBLE_EQ(solved.report.true_relative_residual, 0x1p-10);
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
  expect_the_exact_residual(exec, host, Shifted{A, 5}, b, std::vector<double>(host.rows), 1e-10,
                            1e-3);
}

}  // namespace
