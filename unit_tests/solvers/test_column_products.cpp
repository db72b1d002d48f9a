// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with several right-hand sides, of as many rows as GPU threads do not share: an iteration
// of CG, and the residual that the residual check takes, against the same on the host.
#include "cg.hpp"
#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace SolderTest;

/// Rows of none to 22 entries and of some hundred, and two of the longest, which all threads share;
/// not symmetric, but (x, A x) > 0.
template <class Scalar>
HostCsr<Scalar> rows_of_all_lengths() {
  std::int32_t const n = 35'000;
  Solder::TripletBuilder<Scalar> builder;
  auto const value = [](std::int32_t i, std::int32_t k) {
    double const part = 0.01 * ((i + 3 * k) % 7 - 3);
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return Scalar(part, 0.01 * ((i * k) % 5 - 2));
    else
      return Scalar(part);
  };
  for (std::int32_t i = 0; i < n; ++i) {
    std::int32_t const length = i % 12'345 == 77 ? 2500 : i % 2'000 == 3 ? 150 : i % 23;
    if (length == 0) continue;
    builder.add(i, i, Scalar(30 + i % 3));
    for (std::int32_t k = 1; k < length; ++k) builder.add(i, (i + k * k + 40 * k) % n, value(i, k));
  }
  return builder.build(n, n);
}

template <class Scalar>
struct ColumnProducts : testing::Test {};
using Scalars = testing::Types<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;
TYPED_TEST_SUITE(ColumnProducts, Scalars);

TYPED_TEST(ColumnProducts, OfAnyWidthAreThoseOfTheHost) {
  using Scalar = TypeParam;
  Default const exec;
  auto const host = rows_of_all_lengths<Scalar>();
  CsrMatrix<Scalar, Default> const A(exec, host);
  std::vector<Runner> const runners = Solder::Impl::is_host_space<Default>
                                          ? std::vector{Runner::launch}
                                          : std::vector{Runner::launch, Runner::resident};
  auto const b = random_columns<Scalar>(host.rows, 33, 1);
  Vectors<Scalar> expected;
  for (auto const& column : b)
    expected.push_back(plain_cg(host, {}, column, std::vector<Scalar>(host.rows), 0, 1).x);
  // Each column's latest solution and the residual of that: on hosts all widths give the same.
  Vectors<Scalar> known(b.size());
  std::vector<double> residuals(b.size());
  CgOptions options;
  options.tolerance = 0;
  options.max_iterations = 1;
  for (int const width : {2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 30, 32, 33})
    for (Runner const runner : runners) {
      options.runner = runner;
      SolverOn<CgOptions, Default, CsrMatrix<Scalar, Default>, Identity> solver(exec, A, Identity{},
                                                                                options);
      Vectors<Scalar> const some(b.begin(), b.begin() + width);
      auto const x = columns_to_device(Vectors<Scalar>(width, std::vector<Scalar>(host.rows)));
      auto const reports = solver.solve(columns_to_device(some), x);
      auto const got = columns_to_host(x);
      for (int c = 0; c < width; ++c) {
        SCOPED_TRACE("column " + std::to_string(c) + " of " + std::to_string(width));
        EXPECT_EQ(reports[c].iterations, 1);
        if (!same_memory(got[c], known[c])) {
          known[c] = got[c];
          residuals[c] = true_residual(host, b[c], got[c]).relative;
        }
        EXPECT_NEAR(reports[c].true_relative_residual, residuals[c], 1e-12);
        double worst = 0;
        for (std::size_t i = 0; i < got[c].size(); ++i)
          worst = std::max(worst, std::abs(plain(got[c][i]) - plain(expected[c][i])));
        EXPECT_LE(worst, 1e3 * epsilon<Scalar>);
      }
    }
}

}  // namespace
