// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several right-hand sides at once, each column against a solve of its own.
#include "../kokkos_events.hpp"
#include "bicgstab.hpp"
#include "cg.hpp"
#include "columns.hpp"
#include "gmres.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Solder::Fsai;

/// Widths of full and of broken packs, and of two groups.
constexpr int widths[] = {1, 2, 3, 5, 8, 13, 33};

// ---- Each column as it is alone ----

template <class Scalar>
struct Columns : testing::Test {
  HostCsr<Scalar> const host = definite<Scalar>(21);
  CsrMatrix<Scalar, Default> const A{Default(), host};
  double const tolerance =
      std::is_same_v<typename Solder::ScalarTraits<Scalar>::Real, float> ? 3e-6 : 1e-9;

  template <class Options, class Preconditioner>
  void expect_all_widths(Preconditioner const& M, Options options, double slack = 0) {
    options.tolerance = tolerance;
    for (int const width : widths) {
      auto b = random_columns<Scalar>(host.rows, width, 10),
           x0 = random_columns<Scalar>(host.rows, width, 100);
      mix(host, b, x0);
      expect_columns_as_alone(A, M, options, b, x0, slack);
    }
  }
};
/// All four scalars, between two solvers that share what is tested: each costs many seconds to
/// compile.
using OfCg = testing::Types<double, Kokkos::complex<float>>;
using OfBiCgStab = testing::Types<float, Kokkos::complex<double>>;
struct ScalarName {
  template <class Scalar>
  static std::string GetName(int) {
    return std::string(Solder::scalar_name<Scalar>());
  }
};
TYPED_TEST_SUITE(Columns, OfCg, ScalarName);

TYPED_TEST(Columns, OfCgAreAsAlone) {
  Default const exec;
  for (auto const& [name, form] : Method<CgOptions>::forms()) {
    SCOPED_TRACE(name);
    this->expect_all_widths(Identity{}, form, 0.02);
    this->expect_all_widths(Jacobi<TypeParam, Default>(exec, this->A), form, 0.02);
    this->expect_all_widths(Fsai<TypeParam, Default>(exec, this->A), form, 0.02);
  }
}

template <class Scalar>
struct ColumnsOfBiCgStab : Columns<Scalar> {};
TYPED_TEST_SUITE(ColumnsOfBiCgStab, OfBiCgStab, ScalarName);

TYPED_TEST(ColumnsOfBiCgStab, AreAsAlone) {
  Default const exec;
  for (auto const& [name, form] : Method<Solder::BiCgStabOptions>::forms()) {
    SCOPED_TRACE(name);
    this->expect_all_widths(Identity{}, form, 0.3);
    this->expect_all_widths(Jacobi<TypeParam, Default>(exec, this->A), form, 0.3);
    this->expect_all_widths(Fsai<TypeParam, Default>(exec, this->A), form, 0.3);
  }
}

TEST(ColumnsOf, PolynomialsAreAsAlone) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(25);
  CsrMatrix<double, Default> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 7, 1),
             x0 = random_columns<double>(host.rows, 7, 50);
  Jacobi<double, Default> const J(exec, A);
  Fsai<double, Default> const F(exec, A);
  for (auto const& [name, form] : Method<CgOptions>::forms()) {
    expect_columns_as_alone(A, Solder::Chebyshev(exec, A, J, {.degree = 3}), form, b, x0, 0.02);
    expect_columns_as_alone(A, Solder::Chebyshev(exec, A, F, {.degree = 2}), form, b, x0, 0.02);
  }
}

TEST(ColumnsOf, MultigridIsAsAlone) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  CsrMatrix<double, Default> const A(exec, host);
  for (int const sweeps : {1, 2, 3})
    for (auto const smoother :
         {Solder::AmgSmoother::chebyshev, Solder::AmgSmoother::jacobi, Solder::AmgSmoother::fsai}) {
      Solder::Amg const M(exec, A,
                          {.smoother = smoother,
                           .cycle = sweeps == 2 ? Solder::AmgCycle::w : Solder::AmgCycle::v,
                           .pre = sweeps,
                           .post = sweeps,
                           .max_coarse_size = 20});
      for (int const width : {3, 8})
        expect_columns_as_alone(A, M, CgOptions{}, random_columns<double>(host.rows, width, 1),
                                random_columns<double>(host.rows, width, 50), 0.1);
    }
}

/// Rows of thousands, rows without entries, a pattern that is not symmetric.
TEST(ColumnsOf, IrregularMatricesAreAsAlone) {
  Default const exec;
  std::int32_t const n = 6000;
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i % 1000 == 999) continue;
    builder.add(i, i, i == 7 ? 3000 : 4);
    if (i != 7) builder.add(i, (i * 37) % n, -0.5);
    if (i % 2 == 0) builder.add(7, i, 0.25);
    for (std::int32_t k = 0; i % 50 == 3 && k < 300; ++k) builder.add(i, (i + 11 * k) % n, 0.01);
  }
  auto const host = builder.build(n, n);
  CsrMatrix<double, Default> const A(exec, host);
  auto b = random_columns<double>(n, 9, 1);
  for (auto& column : b)
    for (std::int32_t i = 999; i < n; i += 1000) column[i] = 0;
  Solder::BiCgStabOptions options;
  options.max_iterations = 60;
  options.tolerance = 2e-6;  // where the residual falls steeply: before it lingers, at 1e-8
  expect_columns_as_alone(A, Identity{}, options, b, Vectors<double>(9, std::vector<double>(n)),
                          0.2);
}

/// Where the tolerance is near what can be attained the residual check sends some columns back,
/// others end stagnated, and at the iteration limit: all in the same solve.
TEST(ColumnsOf, JudgedAtDifferentTimesAreAsAlone) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<float>(40);
  CsrMatrix<float, Default> const A(exec, host);
  Jacobi<float, Default> const M(exec, A);
  auto b = random_columns<float>(host.rows, 12, 5);
  for (int c = 0; c < 12; ++c)
    for (auto& entry : b[c]) entry = std::ldexp(entry, 3 * c);
  auto const x0 = random_columns<float>(host.rows, 12, 80);
  for (double const tolerance : {1e-5, 2e-6, 1e-6, 3e-7, 1e-8})
    for (int const limit : {0, 1, 40, 3000}) {
      SCOPED_TRACE(std::to_string(tolerance) + ", " + std::to_string(limit));
      for (auto options :
           {Method<CgOptions>::forms()[0].second, Method<CgOptions>::forms()[1].second}) {
        options.tolerance = tolerance;
        options.max_iterations = limit;
        if (Solder::Impl::is_host_space<Default> || limit < 40)
          expect_columns_as_alone(A, M, options, b, x0);
      }
      Solder::BiCgStabOptions options;
      options.tolerance = tolerance;
      options.max_iterations = limit;
      if (Solder::Impl::is_host_space<Default> || limit < 40)
        expect_columns_as_alone(A, M, options, b, x0);
    }
}

/// An indefinite matrix ends CG in one column and not in another, which is in the definite part.
TEST(ColumnsOf, SingularAndIndefiniteProblemsAreAsAlone) {
  Default const exec;
  std::int32_t const n = 300;
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < n; ++i) builder.add(i, i, i < 100 ? 1 + i : i < 200 ? -1.0 - i : 0);
  auto const host = builder.build(n, n);
  CsrMatrix<double, Default> const A(exec, host);
  auto b = random_columns<double>(n, 5, 3);
  for (std::int32_t i = 0; i < n; ++i) {
    if (i >= 100) b[0][i] = 0;             // definite
    if (i < 100 || i >= 200) b[1][i] = 0;  // negative definite
    if (i < 200) b[2][i] = 0;              // singular
  }
  Default const other;
  SolverOf<CgOptions, Default, double> solver(other, A, Identity{}, CgOptions{});
  auto const x = columns_to_device(Vectors<double>(5, std::vector<double>(n)));
  auto const reports = solver.solve(columns_to_device(b), x);
  EXPECT_EQ(reports[0].reason, Reason::converged);
  EXPECT_EQ(reports[1].reason, Reason::indefinite_matrix);
  EXPECT_EQ(reports[2].reason, Reason::breakdown);
  expect_columns_as_alone(A, Identity{}, CgOptions{}, b, Vectors<double>(5, std::vector<double>(n)),
                          0.1);
}

TEST(ColumnsOf, APreconditionerThatCannotBeAppliedIsSaidForAll) {
  expect_defect_for_all(CgOptions{});
}

// ---- What takes no columns together ----

TEST(ColumnsOf, WhatTakesNoColumnsIsSolvedColumnByColumn) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(15);
  CsrMatrix<double, Default> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 4, 1),
             x0 = random_columns<double>(host.rows, 4, 9);
  CgOptions cg;
  Solder::GmresOptions gmres;
  cg.runner = gmres.runner = Runner::launch;
  expect_columns_as_alone(A, Jacobi<double, Default>(exec, A), gmres, b, x0);
  expect_columns_as_alone(Solder::SellMatrix<double, Default>::sell(exec, A), Identity{}, cg, b,
                          x0);
  expect_columns_as_alone(
      A, Solder::Incomplete<double, Default>(exec, A, Solder::Factorisation::ic0), cg, b, x0);
}

/// What a polynomial is made of may take no columns, which a host no longer sees in its type.
TEST(ColumnsOf, PolynomialsOverWhatTakesNoColumnsAreSolvedColumnByColumn) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(15);
  CsrMatrix<double, Default> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 4, 1),
             x0 = random_columns<double>(host.rows, 4, 9);
  CgOptions options;
  options.runner = Runner::launch;
  Solder::Incomplete<double, Default> const I(exec, A, Solder::Factorisation::ic0);
  expect_columns_as_alone(A, Solder::Chebyshev(exec, A, I), options, b, x0);
  auto const sell = Solder::SellMatrix<double, Default>::sell(exec, A);
  expect_columns_as_alone(A, Solder::Chebyshev(exec, sell, Identity{}), options, b, x0);
}

// ---- Views and solvers ----

TEST(ColumnsOf, AnyLayoutGivesTheSame) {
  Default const exec;
  auto const host = Solder::poisson_3d_27pt<double>(7);
  CsrMatrix<double, Default> const A(exec, host);
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, CgOptions{});
  for (int const width : {3, 6}) {
    auto const b = random_columns<double>(host.rows, width, 1),
               x0 = random_columns<double>(host.rows, width, 9);
    auto const expected = columns_to_device(x0);
    auto const reports = solver.solve(columns_to_device(b), expected);
    auto const left = columns_to_device<double, Kokkos::LayoutLeft>(x0);
    auto const again = solver.solve(columns_to_device<double, Kokkos::LayoutLeft>(b), left);
    // Columns 2 to width + 1 of wider arrays.
    auto wide_b = random_columns<double>(host.rows, width + 3, 77), wide_x = wide_b;
    std::copy(b.begin(), b.end(), wide_b.begin() + 2);
    std::copy(x0.begin(), x0.end(), wide_x.begin() + 2);
    auto const device_b = columns_to_device(wide_b), device_x = columns_to_device(wide_x);
    auto const some = std::make_pair(2, width + 2);
    auto const x_part = Kokkos::subview(device_x, Kokkos::ALL, some);
    auto const third = solver.solve(Kokkos::subview(device_b, Kokkos::ALL, some), x_part);
    for (int c = 0; c < width; ++c) {
      EXPECT_TRUE(same_bits(reports[c].history, again[c].history));
      EXPECT_TRUE(same_bits(reports[c].history, third[c].history));
      EXPECT_TRUE(same_bits(columns_to_host(expected)[c], columns_to_host(left)[c]));
      EXPECT_TRUE(same_bits(columns_to_host(expected)[c], columns_to_host(device_x)[c + 2]));
    }
    for (int const c : {0, 1, width + 2})
      EXPECT_TRUE(same_bits(columns_to_host(device_x)[c], wide_x[c])) << "another column";
  }
}

TEST(ColumnsOf, ASolverSolvesAnewWithTheSameBitsWhateverTheWidths) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Default> const A(exec, host);
  Fsai<double, Default> const M(exec, A);
  CgOptions options;
  options.form = Solder::CgForm::pipelined;
  SolverOf<CgOptions, Default, double, Fsai<double, Default>> solver(exec, A, M, options);
  std::map<int, std::pair<std::vector<double>, Vectors<double>>> first;
  for (int const width : {8, 3, 1, 33, 8, 3, 33, 5, 1, 8}) {
    auto const b = random_columns<double>(host.rows, width, 7);
    auto const x = columns_to_device(Vectors<double>(width, std::vector<double>(host.rows)));
    auto const reports = solver.solve(columns_to_device(b), x);
    auto const [found, fresh] =
        first.try_emplace(width, reports.back().history, columns_to_host(x));
    EXPECT_TRUE(same_bits(found->second.first, reports.back().history)) << width;
    for (int c = 0; c < width; ++c)
      EXPECT_TRUE(same_bits(found->second.second[c], columns_to_host(x)[c])) << width;
  }
}

TEST(ColumnsOf, ExtentsThatDoNotFitAreRefusedAndNoColumnsAreFine) {
  Default const exec;
  CsrMatrix<double, Default> const A(exec, Solder::fem_poisson_2d<double>(5));
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, CgOptions{});
  auto const view = [](int rows, int columns) { return DeviceColumns<double>("v", rows, columns); };
  EXPECT_THROW(solver.solve(view(24, 2), view(25, 2)), std::invalid_argument);
  EXPECT_THROW(solver.solve(view(25, 2), view(25, 3)), std::invalid_argument);
  EXPECT_THROW(solver.solve(view(26, 2), view(26, 2)), std::invalid_argument);
  EXPECT_TRUE(solver.solve(view(25, 0), view(25, 0)).empty());
  auto const four = view(25, 4);
  auto const two_of = [](auto const& table, int from) {
    return Kokkos::subview(table, Kokkos::ALL, std::pair(from, from + 2));
  };
  EXPECT_THROW(solver.solve(four, four), std::invalid_argument);
  EXPECT_THROW(solver.solve(two_of(four, 0), two_of(four, 1)), std::invalid_argument);
  EXPECT_THROW(solver.solve(two_of(four, 2), two_of(four, 1)), std::invalid_argument);
  EXPECT_EQ(solver.solve(two_of(four, 0), two_of(four, 2)).size(), 2u);
  DeviceColumns<double, Kokkos::LayoutLeft> const left("v", 50, 3);
  auto const rows_of = [&](int from, int column) {
    return Kokkos::subview(left, std::pair(from, from + 25), std::pair(column, column + 2));
  };
  EXPECT_THROW(solver.solve(rows_of(0, 0), rows_of(0, 1)), std::invalid_argument);
  EXPECT_THROW(solver.solve(rows_of(0, 0), rows_of(24, 1)), std::invalid_argument);
  EXPECT_EQ(solver.solve(rows_of(0, 0), rows_of(25, 0)).size(), 2u);

  CsrMatrix<double, Default> const none(exec, HostCsr<double>{0, 0, {0}, {}, {}});
  SolverOf<CgOptions, Default, double> of_none(exec, none, Identity{}, CgOptions{});
  auto const reports = of_none.solve(view(0, 4), view(0, 4));
  ASSERT_EQ(reports.size(), 4u);
  for (Report const& report : reports) EXPECT_EQ(report.reason, Reason::converged);
}

TEST(ColumnsOf, AMonitorHearsOfTheSlowestAndMayEndTheSolve) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(30);
  CsrMatrix<double, Default> const A(exec, host);
  CgOptions options;
  int most = 0, calls = 0;
  options.monitor = [&](Solder::Progress const& progress) {
    most = std::max(most, progress.iteration);
    if (++calls > 1000) throw std::runtime_error("enough");
  };
  auto const b = columns_to_device(random_columns<double>(host.rows, 6, 1));
  auto const x = columns_to_device(Vectors<double>(6, std::vector<double>(host.rows)));
  auto const reports =
      SolverOf<CgOptions, Default, double>(exec, A, Identity{}, options).solve(b, x);
  int slowest = 0;
  for (Report const& report : reports) slowest = std::max(slowest, report.iterations);
  EXPECT_LE(most, slowest);
  EXPECT_GE(most, slowest - 16);

  options.monitor = [](Solder::Progress const&) { throw std::runtime_error("enough"); };
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, options);
  EXPECT_THROW(solver.solve(b, x), std::runtime_error);
}

// ---- When most have ended ----

/// \brief Columns that end at very different times: the last two are far from a solution, the two
/// and the four before them ever nearer to it, and the others there.
template <class Scalar>
std::pair<Vectors<Scalar>, Vectors<Scalar>> of_different_lengths(HostCsr<Scalar> const& A,
                                                                 int count) {
  auto const x = random_columns<Scalar>(A.rows, count, 1),
             noise = random_columns<Scalar>(A.rows, count, 200);
  Vectors<Scalar> b, x0 = x;
  for (int c = 0; c < count; ++c) {
    b.push_back(multiply(A, x[c]));
    double const far = c >= count - 2 ? 1 : c >= count - 4 ? 1e-5 : c >= count - 8 ? 1e-7 : 0;
    for (std::int32_t i = 0; i < A.rows; ++i) x0[c][i] += Scalar(far) * noise[c][i];
  }
  return {b, x0};
}

/// They are solved by themselves, again and again by fewer, and each goes on as if alone.
template <class Options, class Preconditioner>
void expect_narrowing(CsrMatrix<double, Default> const& A, HostCsr<double> const& host,
                      Preconditioner const& M, Options options, double slack) {
  options.runner = Runner::launch;
  options.tolerance = 1e-10;
  auto const [b, x0] = of_different_lengths(host, 16);
  expect_columns_as_alone(A, M, options, b, x0, slack);

  SolverOn<Options, Default, CsrMatrix<double, Default>, Preconditioner> solver(Default(), A, M,
                                                                                options);
  auto const b_device = columns_to_device(b), x = columns_to_device(x0),
             again = columns_to_device(x0);
  KokkosEvents first;
  solver.solve(b_device, x);
  first.stop();
  auto const handed_on = [](auto const& kernel) { return kernel.label == "Solder::columns::take"; };
  // GPUs do so at the ends of batches, of which few are between the ends of the columns.
  EXPECT_GE(std::count_if(first.kernels.begin(), first.kernels.end(), handed_on),
            Solder::Impl::is_host_space<Default> ? 2 : 1);
  KokkosEvents second;
  solver.solve(b_device, again);
  second.stop();
  EXPECT_EQ(second.allocations.size(), 0u);
  EXPECT_EQ(second.copies.size(), 0u);
  EXPECT_EQ(second.fences, std::vector<std::string>{});
  auto const x1 = columns_to_host(x), x2 = columns_to_host(again);
  for (std::size_t c = 0; c < x1.size(); ++c) EXPECT_TRUE(same_memory(x1[c], x2[c])) << c;
}

TEST(ColumnsOf, ThoseThatGoOnWhenMostHaveEndedAreSolvedByThemselves) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(60);
  CsrMatrix<double, Default> const A(exec, host);
  Jacobi<double, Default> const J(exec, A);
  for (auto const& [name, form] : Method<CgOptions>::forms()) {
    SCOPED_TRACE(name);
    expect_narrowing(A, host, Identity{}, form, 0.1);
    expect_narrowing(A, host, Fsai<double, Default>(exec, A), form, 0.1);
    expect_narrowing(A, host, Solder::Chebyshev(exec, A, J, {.degree = 2}), form, 0.1);
  }
  // Rounding alone moves BiCGStab's count: a textbook's, given b to within 1e-15, is 45 to 56 here.
  for (auto const& [name, form] : Method<Solder::BiCgStabOptions>::forms()) {
    SCOPED_TRACE(name);
    expect_narrowing(A, host, J, form, 0.3);
  }
}

/// The monitor hears of the slowest, as if all were still together, and may stop the solve.
TEST(ColumnsOf, AMonitorHearsOfThoseThatGoOnAndMayEndTheSolve) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(60);
  CsrMatrix<double, Default> const A(exec, host);
  auto const [b, x0] = of_different_lengths(host, 16);
  CgOptions options;
  options.tolerance = 1e-10;
  options.runner = Runner::launch;
  std::vector<int> iterations;
  int stop_at = std::numeric_limits<int>::max();
  options.monitor = [&](Solder::Progress const& progress) {
    iterations.push_back(progress.iteration);
    if (progress.iteration > stop_at) throw std::runtime_error("enough");
  };
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, options);
  auto const b_device = columns_to_device(b);
  auto const reports = solver.solve(b_device, columns_to_device(x0));
  int slowest = 0;
  for (Report const& report : reports) slowest = std::max(slowest, report.iterations);
  EXPECT_TRUE(std::is_sorted(iterations.begin(), iterations.end()));
  EXPECT_EQ(iterations.back(), slowest);

  // x is then as far as the solve has come, wherever its columns lie.
  stop_at = slowest - 20;
  auto const reached = [&](auto const& x) {
    EXPECT_THROW(solver.solve(b_device, x), std::runtime_error);
    auto const columns = columns_to_host(x);
    for (std::size_t c = 0; c < b.size(); ++c) {
      auto const [relative, rounding] = true_residual(host, b[c], columns[c]);
      EXPECT_LE(relative, 1e-6) << c;
    }
  };
  reached(columns_to_device(x0));
  reached(columns_to_device<double, Kokkos::LayoutLeft>(x0));
  stop_at = std::numeric_limits<int>::max();
  auto const anew = solver.solve(b_device, columns_to_device(x0));
  for (std::size_t c = 0; c < anew.size(); ++c) EXPECT_EQ(anew[c].history, reports[c].history);
}

// ---- What a solve makes Kokkos do ----

TEST(ColumnsOf, TheKernelsAreThoseOfOneColumnAndNothingElseHappens) {
  Default const exec = another_instance<Default>();
  auto const host = Solder::fem_poisson_2d<double>(30);
  CsrMatrix<double, Default> const A(exec, host);
  CgOptions options;
  options.tolerance = 0;
  options.max_iterations = 20;
  options.runner = Runner::launch;
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, options);
  auto const b = columns_to_device(random_columns<double>(host.rows, 8, 1));
  auto const x = columns_to_device(Vectors<double>(8, std::vector<double>(host.rows)));
  solver.solve(b, x);
  KokkosEvents events;
  auto const reports = solver.solve(b, x);
  events.stop();
  int products = 0;
  for (auto const& kernel : events.kernels) {
    EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
    products += kernel.label == "Solder::cg::product";
  }
  // On GPUs batches of 16 iterations: the second one claims the end, the third begins with the
  // residual check, and a fourth has been sent ahead.
  int const most = Solder::Impl::is_host_space<Default> ? 21 : 64;
  EXPECT_GE(products, 20);
  EXPECT_LE(products, most);
  EXPECT_EQ(reports[0].kernels_per_iteration, 2);
  EXPECT_EQ(events.allocations.size(), 0u);
  EXPECT_EQ(events.copies.size(), 0u);
  EXPECT_EQ(events.fences, std::vector<std::string>{});
}

/// GPUs keep small systems on the device for the whole solve, whose programs its launch takes along
/// or, multigrid's, has in memory; hosts launch. Of very small ones each column has its kernel.
TEST(ColumnsOf, AWholeSolveIsOneKernelOnGpus) {
  Default const exec;
  bool const whole = !Solder::Impl::is_host_space<Default>;
  auto const host = Solder::fem_poisson_2d<double>(60);
  CsrMatrix<double, Default> const A(exec, host);
  constexpr int columns = 6;  // an even number is taken as it lies
  auto const b = columns_to_device(random_columns<double>(host.rows, columns, 1));
  auto const expect_one = [&](auto const& M) {
    Vectors<double> launched;
    for (Runner const runner : {Runner::launch, Runner::resident, Runner::automatic}) {
      CgOptions options;
      options.tolerance = 1e-10;
      options.runner = runner;
      SolverOn<CgOptions, Default, CsrMatrix<double, Default>, std::decay_t<decltype(M)>> solver(
          exec, A, M, options);
      for (int turn = 0; turn < 2; ++turn) {
        auto const x = columns_to_device(Vectors<double>(columns, std::vector<double>(host.rows)));
        KokkosEvents events;
        auto const reports = solver.solve(b, x);
        events.stop();
        // The library picks it on GPUs that it was measured on.
        bool const is_picked = runner != Runner::automatic || Solder::Impl::is_measured(exec);
        bool const is_whole = whole && runner != Runner::launch && is_picked;
        for (Report const& report : reports) {
          EXPECT_EQ(report.reason, Reason::converged);
          EXPECT_EQ(report.runner, is_whole                            ? Runner::resident
                                   : whole && runner != Runner::launch ? Runner::graph
                                                                       : Runner::launch)
              << report.detail;
          EXPECT_EQ(report.kernels_per_iteration == 0, is_whole);
        }
        if (is_whole) {
          int of_solve = 0;
          for (auto const& kernel : events.kernels) {
            EXPECT_FALSE(kernel.label.starts_with("Solder::amg::")) << kernel.label;
            of_solve += kernel.label.starts_with("Solder::cg");
          }
          EXPECT_EQ(of_solve, runner == Runner::automatic ? columns : 1);
        }
        if (launched.empty()) launched = columns_to_host(x);
        auto const found = columns_to_host(x);
        for (std::size_t c = 0; c < found.size(); ++c)
          for (std::size_t i = 0; i < found[c].size(); ++i)
            ASSERT_NEAR(found[c][i], launched[c][i], 1e-6 * (1 + std::abs(launched[c][i])));
      }
    }
  };
  expect_one(Identity{});
  expect_one(Solder::Amg(exec, A, {.max_coarse_size = 20}));
}

/// Large systems on GPUs: no cost of any number of columns is more than a column's above that of
/// one column less, and no more columns are solved at once than can be.
TEST(GroupsOfColumns, HaveNoCliff) {
  using Solder::Impl::quickest_groups;
  using Groups = std::vector<std::int32_t>;
  EXPECT_EQ(quickest_groups(1, 32), (Groups{1}));
  EXPECT_EQ(quickest_groups(3, 32), (Groups{3}));
  EXPECT_EQ(quickest_groups(9, 32), (Groups{8, 1}));
  EXPECT_EQ(quickest_groups(17, 32), (Groups{16, 1}));
  EXPECT_EQ(quickest_groups(32, 32), (Groups{32}));
  EXPECT_EQ(quickest_groups(33, 32), (Groups{32, 1}));
  EXPECT_EQ(quickest_groups(256, 32), Groups(8, 32));
  EXPECT_EQ(quickest_groups(5, 1), Groups(5, 1));
  double before = 0;
  for (std::int32_t count = 1; count <= 100; ++count)
    for (std::int32_t const most : {32, 20}) {
      auto const groups = quickest_groups(count, most);
      double cost = 0;
      for (std::int32_t const width : groups) {
        EXPECT_LE(std::bit_ceil(static_cast<unsigned>(width)), static_cast<unsigned>(most));
        cost += Solder::Impl::pack_costs[std::bit_width(static_cast<unsigned>(width) - 1)];
      }
      EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), 0), count);
      if (most < 32) continue;
      EXPECT_LE(cost, before + 1 + 1e-12) << count;
      before = cost;
    }
}

}  // namespace
