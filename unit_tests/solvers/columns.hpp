// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of several right-hand sides share: solves of all columns against a solve
/// of each alone, by a solver of its own.

#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <solder/problems/poisson.hpp>
#include <solder/problems/waves.hpp>

namespace SolderTest {

using Default = Kokkos::DefaultExecutionSpace;

/// \brief Columns of the same length.
template <class Scalar>
using Vectors = std::vector<std::vector<Scalar>>;

template <class Scalar, class Layout = Kokkos::LayoutRight>
using DeviceColumns = Kokkos::View<Scalar**, Layout, Default::memory_space>;

template <class Scalar, class Layout = Kokkos::LayoutRight>
DeviceColumns<Scalar, Layout> columns_to_device(Vectors<Scalar> const& columns) {
  DeviceColumns<Scalar, Layout> const device("SolderTest::columns", columns.at(0).size(),
                                             columns.size());
  auto const mirror = Kokkos::create_mirror_view(device);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < columns[c].size(); ++i) mirror(i, c) = columns[c][i];
  Kokkos::deep_copy(device, mirror);
  return device;
}

template <class View>
auto columns_to_host(View const& device) {
  using Scalar = typename View::non_const_value_type;
  Kokkos::fence("SolderTest: before the copy to the host");
  auto const mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  Vectors<Scalar> columns(device.extent(1), std::vector<Scalar>(device.extent(0)));
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < columns[c].size(); ++i) columns[c][i] = mirror(i, c);
  return columns;
}

template <class Scalar>
Vectors<Scalar> random_columns(std::size_t rows, int count, unsigned seed) {
  Vectors<Scalar> columns;
  for (int c = 0; c < count; ++c)
    columns.push_back(random_vector<Scalar>(rows, seed + unsigned(c)));
  return columns;
}

/// \brief Hermitian positive definite, of some hundred rows, badly scaled where it is real.
template <class Scalar>
HostCsr<Scalar> definite(std::int32_t side) {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Solder::magnetic_laplacian_2d<Scalar>(side, 0.1);
  else
    return Solder::fem_poisson_2d<Scalar>(side);
}

/// \brief Right-hand sides that end in many ways: 0, a solution that is known from the start, one
/// of 1e-3 of it, one that has a NaN; the others are random.
template <class Scalar>
void mix(HostCsr<Scalar> const& A, Vectors<Scalar>& b, Vectors<Scalar>& x0) {
  auto const set = [&](std::size_t c, auto const& change) {
    if (c < b.size()) change(b[c], x0[c]);
  };
  set(1, [](auto& bc, auto&) { std::fill(bc.begin(), bc.end(), Scalar{}); });
  set(2, [&](auto& bc, auto& xc) { bc = multiply(A, xc); });
  set(4, [](auto& bc, auto&) { bc[bc.size() / 2] = Scalar(std::nan("")); });
  set(6, [](auto&, auto& xc) { xc[3] = Scalar(std::nan("")); });
}

/// \brief Whether they are the same, a NaN too.
template <class T>
bool same_memory(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// \brief What is asked of column j of a solve of several: what a solve of its own gives. On hosts
/// bit for bit, where the solve alone has as many teams; on GPUs, whose sums have another order,
/// the reason, the solution to the tolerance and the iterations, within `slack` of them.
template <class Scalar>
void expect_as_alone(Report const& report, std::vector<Scalar> const& x, Report const& alone,
                     std::vector<Scalar> const& x_alone, double slack) {
  EXPECT_EQ(report.reason, alone.reason) << report.detail << " | " << alone.detail;
  EXPECT_EQ(report.form, alone.form);
  ASSERT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
  if (Solder::Impl::is_host_space<Default>) {
    EXPECT_EQ(report.iterations, alone.iterations);
    EXPECT_EQ(report.detail, alone.detail);
    EXPECT_TRUE(same_memory(report.history, alone.history));
    EXPECT_TRUE(same_memory(x, x_alone));
    EXPECT_TRUE(same_memory(std::vector<double>{report.true_relative_residual},
                            std::vector<double>{alone.true_relative_residual}));
    return;
  }
  EXPECT_NEAR(report.iterations, alone.iterations, slack * alone.iterations);
  if (report.reason != Reason::converged) return;
  double size = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    size = std::max(size, std::abs(plain(x_alone[i])));
    difference = std::max(difference, std::abs(plain(x[i]) - plain(x_alone[i])));
  }
  EXPECT_LE(difference, 1e-3 * size);
}

/// \brief Solves for b from x0 with one solver, and each column with another one.
template <class Options, class Matrix, class Preconditioner,
          class Scalar = typename Matrix::scalar_type>
void expect_columns_as_alone(Matrix const& A, Preconditioner const& M, Options const& options,
                             Vectors<Scalar> const& b, Vectors<Scalar> const& x0,
                             double slack = 0) {
  Default const exec;
  Options given = options;
  if (Solder::Impl::is_host_space<Default>) given.runner = Runner::launch;
  SolverOn<Options, Default, Matrix, Preconditioner> together(exec, A, M, given),
      alone(exec, A, M, given);
  auto const b_device = columns_to_device(b), x = columns_to_device(x0);
  auto const reports = together.solve(b_device, x);
  auto const x_host = columns_to_host(x);
  ASSERT_EQ(reports.size(), b.size());
  for (std::size_t c = 0; c < b.size(); ++c) {
    SCOPED_TRACE("column " + std::to_string(c) + " of " + std::to_string(b.size()));
    auto const b1 = to_device(exec, b[c]), x1 = to_device(exec, x0[c]);
    Report const report = alone.solve(b1, x1);
    expect_as_alone(reports[c], x_host[c], report, to_host(exec, x1), slack);
  }
  auto const b_after = columns_to_host(b_device);
  for (std::size_t c = 0; c < b.size(); ++c)
    EXPECT_TRUE(same_memory(b_after[c], b[c])) << "b was written to";
}

/// \brief A Jacobi that lacks a diagonal entry: all columns end as they do alone.
template <class Options>
void expect_defect_for_all(Options const& options) {
  Default const exec;
  Solder::TripletBuilder<double> builder;
  builder.add(0, 0, 1.0);
  builder.add(1, 0, 1.0);
  builder.add(0, 1, 1.0);
  CsrMatrix<double, Default> const A(exec, builder.build(2, 2));
  expect_columns_as_alone(A, Jacobi<double, Default>(exec, A), options,
                          random_columns<double>(2, 4, 1), Vectors<double>(4, {0, 0}));
}

}  // namespace SolderTest
