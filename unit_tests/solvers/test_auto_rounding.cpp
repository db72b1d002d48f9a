// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where x is as near to the solution as its type allows, auto ends, and says so.
#include "auto.hpp"
#include "reals.hpp"

#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace SolderTest;
using Solder::HostCsr;

template <class Scalar>
struct AutoRounding : Auto {};
using BothPrecisions = testing::Types<float, double>;
TYPED_TEST_SUITE(AutoRounding, BothPrecisions);

/// The solution of a tridiagonal system, by elimination in long double.
std::vector<long double> solution(HostCsr<double> const& A, std::vector<double> const& b) {
  int const n = A.rows;
  std::vector<long double> x(b.begin(), b.end()), above(n);
  auto const entry = [&](int i, int j) {
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      if (A.columns[k] == j) return (long double)A.values[k];
    return 0.0L;
  };
  for (int i = 0; i < n; ++i) {
    long double const below = i > 0 ? entry(i, i - 1) : 0,
                      pivot = entry(i, i) - (i > 0 ? below * above[i - 1] : 0);
    above[i] = i + 1 < n ? entry(i, i + 1) / pivot : 0;
    x[i] = (x[i] - (i > 0 ? below * x[i - 1] : 0)) / pivot;
  }
  for (int i = n - 2; i >= 0; --i) x[i] -= above[i] * x[i + 1];
  return x;
}

template <class Scalar>
struct System {
  HostCsr<double> A;
  std::vector<double> b;

  /// -u'' = f, with numbers that both types have.
  explicit System(int n) : A(Auto::tridiagonal(n, -1, 2, -1)) {
    for (float const v : random_vector<float>(n, 5)) b.push_back(v);
  }
  /// The residual of the solution whose entries are rounded.
  double of_rounding() const {
    std::vector<double> rounded;
    for (long double const v : solution(A, b)) rounded.push_back(Scalar(v));
    return Auto::residual(A, b, rounded);
  }
  struct Solved {
    Report report;
    double residual;
  };
  auto solver(Exec const& exec, Parameters const& parameters) const {
    HostCsr<Scalar> const here{A.rows, A.rows, A.row_offsets, A.columns,
                               std::vector<Scalar>(A.values.begin(), A.values.end())};
    return make_solver(exec, Solder::CsrMatrix<Scalar, Exec>(exec, here), parameters);
  }
  auto b_there(Exec const& exec) const {
    return to_device(exec, std::vector<Scalar>(b.begin(), b.end()));
  }
  Solved solve(Exec const& exec, Parameters const& parameters) const {
    auto const x = to_device(exec, std::vector<Scalar>(b.size()));
    Report const report = solver(exec, parameters).solve(b_there(exec), x);
    auto const found = to_host(exec, x);
    return {report, Auto::residual(A, b, std::vector<double>(found.begin(), found.end()))};
  }
};

/// Of 5,000 rows rounding x to float makes a residual above 1e-3, where A may be singular
/// elsewhere.
TYPED_TEST(AutoRounding, EndsASolveThatNoCandidateCanEnd) {
  for (int const n : {300, 5000}) {
    SCOPED_TRACE(n);
    System<TypeParam> const system(n);
    double const least = system.of_rounding();
    auto const [report, residual] = system.solve(this->exec, {{"tolerance", 1e-3 * least}});
    EXPECT_EQ(report.reason, Reason::stagnated) << report;
    EXPECT_LE(report.attempts.size(), 3u) << report;
    EXPECT_LT(residual, 10 * least);
    EXPECT_NEAR(report.true_relative_residual, residual, 0.01 * residual);
    ASSERT_TRUE(report.detail.starts_with("rounding the entries of x alone makes")) << report;
    double const said = std::stod(report.detail.substr(report.detail.find("about ") + 6));
    EXPECT_GT(said, 0.5 * least);
    EXPECT_LT(said, 2 * least);
    bool const is_single = std::is_same_v<TypeParam, float>;
    EXPECT_EQ(contains(report.detail, "in single precision"), is_single) << report;

    // What is advised is right.
    std::string const text = advice(report), above = "ask for a tolerance above ";
    ASSERT_TRUE(text.starts_with(above)) << text;
    double const tolerance = std::stod(text.substr(above.size()));
    EXPECT_EQ(system.solve(this->exec, {{"tolerance", tolerance}}).report.reason,
              Reason::converged);
    EXPECT_EQ(contains(text, "solve in double precision"), is_single) << text;
    if (is_single) {
      System<double> const other(n);
      EXPECT_EQ(other.solve(this->exec, {{"tolerance", 1e-3 * least}}).report.reason,
                Reason::converged);
    }
  }
}

/// The solver is as good as new for the solves that follow, and for several right-hand sides, which
/// are not looked at.
TYPED_TEST(AutoRounding, LeavesASolverThatSolves) {
  using Scalar = TypeParam;
  System<Scalar> const system(300);
  Parameters const parameters{{"tolerance", 1e-3 * system.of_rounding()}};
  auto const solver = system.solver(this->exec, parameters);
  auto const hard = system.b_there(this->exec),
             zero = to_device(this->exec, std::vector<Scalar>(300)),
             x = to_device(this->exec, std::vector<Scalar>(300));
  Report const first = solver.solve(hard, x);
  ASSERT_EQ(first.reason, Reason::stagnated) << first;
  Report const again = solver.solve(hard, x);
  EXPECT_EQ(again.reason, Reason::stagnated) << again;
  EXPECT_TRUE(again.detail.starts_with("rounding the entries of x alone makes")) << again;
  EXPECT_EQ(solver.solve(zero, x).reason, Reason::converged);

  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutRight, Exec::memory_space>;
  Columns const b("b", 300, 2), found("x", 300, 2);
  for (int c = 0; c < 2; ++c) Kokkos::deep_copy(Kokkos::subview(b, Kokkos::ALL, c), hard);
  std::vector<Report> const reports = solver.solve(b, found);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_FALSE(contains(reports[0].detail, "rounding the entries of x")) << reports[0];
}

}  // namespace
