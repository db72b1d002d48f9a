// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chebyshev polynomials against plain loops, applied in a program as solvers do.
#include "../solvers/cg.hpp"
#include "applied.hpp"
#include "plain.hpp"

#include <functional>
#include <stdexcept>

#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using Solder::Chebyshev;
using Solder::ChebyshevOptions;
using Solder::Fsai;

// ---- Plain loops ----

/// M = F^H F of plain loops.
struct PlainInner {
  std::function<Vector(Vector const&)> F, FH;
  Vector operator()(Vector const& r) const { return FH(F(r)); }
};

PlainInner plain_inner(Plain const&, Identity const&) {
  auto const same = [](Vector const& r) { return r; };
  return {same, same};
}
template <class Scalar>
PlainInner plain_inner(Plain const& A, Jacobi<Scalar, Exec> const&) {
  auto const scale = [&A](Vector r) {
    for (std::size_t i = 0; i < r.size(); ++i)
      r[i] /= std::sqrt(A.at(std::int32_t(i), std::int32_t(i)));
    return r;
  };
  return {scale, scale};
}
template <class Scalar>
PlainInner plain_inner(Plain const&, Fsai<Scalar, Exec> const& M) {
  Plain const G(M.G());
  return {[G](Vector const& r) { return G.times(r); },
          [GH = G.adjoint()](Vector const& r) { return GH.times(r); }};
}

/// degree + 1 steps of the Chebyshev semi-iterative method in its second-order form (Golub &
/// Varga), which the library does not use, for eigenvalues in [share, 1] times `largest`.
Vector plain_chebyshev(Plain const& A, PlainInner const& M, Vector const& r, int degree,
                       double share, double largest) {
  double const theta = largest * (1 + share) / 2, rho = (1 - share) / (1 + share);
  std::size_t const n = r.size();
  Vector older(n), x = M(r);
  for (auto& entry : x) entry /= theta;
  double omega = 2;
  for (int k = 1; k <= degree; ++k) {
    omega = 1 / (1 - rho * rho * omega / 4);
    auto s = A.times(x);
    for (std::size_t i = 0; i < n; ++i) s[i] = r[i] - s[i];
    s = M(s);
    Vector next(n);
    for (std::size_t i = 0; i < n; ++i)
      next[i] = older[i] + omega * (s[i] / theta + x[i] - older[i]);
    older = x;
    x = next;
  }
  return x;
}

/// The largest eigenvalue of F A F^H, from below, by the power method.
double plain_largest(Plain const& A, PlainInner const& M) {
  Vector v(A.rows.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = Complex(std::sin(1.0 + 7.0 * i), std::cos(3.0 * i));
  double largest = 0;
  for (int k = 0; k < 3000; ++k) {
    double const norm = norm_of(v);
    for (auto& entry : v) entry /= norm;
    auto const w = M.F(A.times(M.FH(v)));
    largest = inner(v, w).real();
    v = w;
  }
  return largest;
}

// ---- The library ----

/// All checks of a matrix and one M.
template <class Scalar, class Inner>
void expect_polynomial(HostCsr<Scalar> const& host, CsrMatrix<Scalar, Exec> const& A,
                       Inner const& M) {
  Exec const exec;
  Plain const plain_A(host);
  auto const plain_M = plain_inner(plain_A, M);
  double const exact = plain_largest(plain_A, plain_M);
  auto const u = random_vector<Scalar>(host.rows, 1), v = random_vector<Scalar>(host.rows, 2);
  for (int const degree : {1, 2, 3, 8})
    for (double const share : {0.02, 0.3}) {
      SCOPED_TRACE("degree " + std::to_string(degree) + ", share " + std::to_string(share));
      Chebyshev const C(exec, A, M, ChebyshevOptions{degree, share});
      EXPECT_EQ(C.failure(), "");
      EXPECT_EQ(C.rows(), host.rows);
      double const largest = C.largest_eigenvalue();
      EXPECT_GE(largest, exact);
      EXPECT_LE(largest, 1.2 * exact);

      auto const Cu = applied(C, u), Cv = applied(C, v);
      auto const expected = plain_chebyshev(plain_A, plain_M, plain(v), degree, share, largest);
      double const size = norm_of(expected);
      for (std::int32_t i = 0; i < host.rows; ++i)
        ASSERT_LE(std::abs(SolderTest::plain(Cv[i]) - expected[i]), 1e-12 * size) << "row " << i;

      // Hermitian positive definite.
      Complex const uCv = inner(plain(u), plain(Cv)), vCu = inner(plain(v), plain(Cu));
      EXPECT_LE(std::abs(uCv - std::conj(vCu)), 1e-13 * norm(u) * norm(Cv));
      Complex const uCu = inner(plain(u), plain(Cu));
      EXPECT_GT(uCu.real(), 0);
      EXPECT_LE(std::abs(uCu.imag()), 1e-13 * norm(u) * norm(Cu));

      Chebyshev const again(exec, A, M, ChebyshevOptions{degree, share});
      EXPECT_EQ(again.largest_eigenvalue(), largest);
      EXPECT_TRUE(same_bits(applied(again, v), Cv));
      EXPECT_TRUE(same_bits(applied(C, v), Cv));
      // One team takes the rows in the same order, one by one: nothing is summed across them.
      if (Solder::Impl::is_host_space<Exec>) {
        EXPECT_TRUE(same_bits(applied(C, v, true), Cv));
      }
    }
}

template <class Scalar>
void expect_polynomials(HostCsr<Scalar> const& host) {
  Exec const exec;
  CsrMatrix<Scalar, Exec> const A(exec, host);
  {
    SCOPED_TRACE("identity");
    expect_polynomial(host, A, Identity{});
  }
  {
    SCOPED_TRACE("jacobi");
    expect_polynomial(host, A, Jacobi(exec, A));
  }
  SCOPED_TRACE("fsai");
  expect_polynomial(host, A, Fsai<Scalar, Exec>(exec, A));
}

TEST(Chebyshev, IsThePolynomialOfPlainLoops) {
  expect_polynomials(Solder::fem_poisson_2d<double>(12));
  auto scaled = Solder::random_spd<double>(150, 9, 1);
  std::vector<double> scales;
  for (int i = 0; i < scaled.rows; ++i) scales.push_back(std::pow(10.0, i % 3));
  scale_both_sides(scaled, scales);
  expect_polynomials(scaled);
}

TEST(Chebyshev, IsThePolynomialOfPlainLoopsInComplex) {
  expect_polynomials(Solder::magnetic_laplacian_2d<Kokkos::complex<double>>(12, 0.1));
  expect_polynomials(Solder::random_spd<Kokkos::complex<double>>(150, 9, 2));
}

/// What is left of the residual at an eigenvalue l is T((theta - l) / delta) / T(theta / delta), T
/// of degree + 1: at most a small number on the interval, in as many equal peaks as can be.
TEST(Chebyshev, LeavesAChebyshevPolynomialOfTheResidual) {
  Exec const exec;
  std::vector<double> entries;
  for (int i = 0; i < 200; ++i) entries.push_back(0.01 + i / 199.0);
  auto const host = diagonal(entries);
  CsrMatrix<double, Exec> const A(exec, host);
  auto const T = [](int k, double x) {
    return std::abs(x) <= 1
               ? std::cos(k * std::acos(x))
               : std::pow(x < 0 ? -1.0 : 1.0, k) * std::cosh(k * std::acosh(std::abs(x)));
  };
  for (int const degree : {1, 2, 3, 8, 100})
    for (double const share : {0.001, 0.1, 0.9}) {
      Chebyshev const C(exec, A, ChebyshevOptions{degree, share});
      double const largest = C.largest_eigenvalue(), theta = largest * (1 + share) / 2,
                   delta = largest * (1 - share) / 2;
      EXPECT_GE(largest, 1.01);
      EXPECT_LE(largest, 1.2 * 1.01);
      auto const z = applied(C, std::vector<double>(200, 1.0));
      for (int i = 0; i < 200; ++i)
        ASSERT_NEAR(1 - entries[i] * z[i],
                    T(degree + 1, (theta - entries[i]) / delta) / T(degree + 1, theta / delta),
                    1e-11)
            << degree << ", " << share << ", " << entries[i];
    }
}

TEST(Chebyshev, FindsTheLargestEigenvalueOfSmallMatrices) {
  Exec const exec;
  auto const largest = [&](HostCsr<double> const& host) {
    CsrMatrix<double, Exec> const A(exec, host);
    return Chebyshev(exec, A).largest_eigenvalue();
  };
  EXPECT_NEAR(largest(diagonal<double>({4})), 4.4, 1e-12);
  EXPECT_NEAR(largest(diagonal<double>({4, 4, 4})), 4.4, 1e-12);
  EXPECT_NEAR(largest(diagonal<double>({1, 2, 3})), 3.3, 1e-12);
  EXPECT_NEAR(largest(sparse<double>({{2, 1}, {1, 2}})), 3.3, 1e-12);
  for (double const size : {1e-100, 1e-30, 1e30, 1e100})
    EXPECT_NEAR(largest(diagonal<double>({size, 2 * size, 5 * size})), 5.5 * size, 1e-11 * size);
  EXPECT_GT(largest(diagonal<double>({})), 0);
}

TEST(Chebyshev, FindsTheLargestEigenvalueOfLargerOnes) {
  Exec const exec;
  auto const host = Solder::poisson_3d_7pt<double>(24);
  double const exact = 6 + 6 * std::cos(std::acos(-1.0) / 25);
  for (int const steps : {12, 30}) {
    CsrMatrix<double, Exec> const A(exec, host);
    Chebyshev const C(exec, A, ChebyshevOptions{.lanczos_steps = steps});
    EXPECT_GE(C.largest_eigenvalue(), exact);
    EXPECT_LE(C.largest_eigenvalue(), 1.2 * exact);
  }
}

TEST(Chebyshev, RefreshFollowsTheValuesInAllCopiesAndSolvers) {
  Exec const exec;
  auto const first = Solder::fem_poisson_2d<double>(12);
  auto second = first;
  std::vector<double> scales;
  for (int i = 0; i < second.rows; ++i) scales.push_back(1 + i % 5);
  scale_both_sides(second, scales);
  auto const b = random_vector<double>(first.rows, 3);
  auto const offsets = to_device(
      exec, std::vector<std::int32_t>(first.row_offsets.begin(), first.row_offsets.end()));
  Kokkos::View<double*, Exec> const entries = to_device(exec, first.values);
  CsrMatrix<double, Exec> const A(exec, first.rows, first.rows, offsets,
                                  to_device(exec, first.columns), entries);
  Jacobi jacobi(exec, A);
  Chebyshev C(exec, A, jacobi);
  auto const copy = C;
  using Solver = SolverOf<CgOptions, Exec, double, decltype(C)>;
  auto const solved = [&](Solver& solver) {
    auto const x = to_device(exec, std::vector<double>(b.size()));
    EXPECT_EQ(solver.solve(to_device(exec, b), x).reason, Reason::converged);
    return to_host(exec, x);
  };
  for (Runner const runner : every_runner) {
    CgOptions options;
    options.runner = runner;
    Solver solver(exec, A, copy, options);
    for (auto const& values : {second, first, second}) {
      Kokkos::deep_copy(entries, to_device(exec, values.values));
      jacobi.refresh(exec, A);
      C.refresh(exec, A);
      CsrMatrix<double, Exec> const fresh_A(exec, values);
      Chebyshev const fresh(exec, fresh_A, Jacobi(exec, fresh_A));
      EXPECT_EQ(copy.largest_eigenvalue(), fresh.largest_eigenvalue());
      EXPECT_TRUE(same_bits(applied(copy, b), applied(fresh, b)));
      Solver alone(exec, fresh_A, fresh, options);
      EXPECT_TRUE(same_bits(solved(solver), solved(alone))) << to_string(runner);
    }
  }
}

/// Named, and never "converged" where the truth is not.
TEST(Chebyshev, MatricesThatItIsNotForAreNamed) {
  Exec const exec;
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const end = [&](HostCsr<double> const& host, auto const& make_inner,
                       CgOptions const& options) {
    CsrMatrix<double, Exec> const A(exec, host);
    auto const M = make_inner(A);
    Chebyshev const C(exec, A, M);
    auto const b = random_vector<double>(host.rows, 4);
    SolverOf<CgOptions, Exec, double, std::remove_const_t<decltype(C)>> solver(exec, A, C, options);
    auto const x = to_device(exec, std::vector<double>(b.size()));
    Solved<double> s;
    s.report = solver.solve(to_device(exec, b), x);
    s.x = to_host(exec, x);
    EXPECT_NE(s.report.reason, Reason::running);
    EXPECT_NE(s.report.detail, "") << to_string(s.report.reason);
    if (s.report.reason == Reason::not_finite) {
      EXPECT_TRUE(std::isnan(s.report.true_relative_residual) ||
                  s.report.true_relative_residual > options.tolerance);
    } else {
      expect_true_report(host, b, s, options);
    }
    return s.report;
  };
  auto const none = [](auto const&) { return Identity{}; };
  auto const jacobi = [&](auto const& A) { return Jacobi(exec, A); };
  auto negative = Solder::fem_poisson_2d<double>(10);
  for (double& value : negative.values) value = -value;
  auto indefinite = Solder::fem_poisson_2d<double>(10);
  for (std::int32_t i = 0; i < indefinite.rows; ++i)
    for (auto k = indefinite.row_offsets[i]; k < indefinite.row_offsets[i + 1]; ++k)
      if (indefinite.columns[k] == i && i % 3 == 0) indefinite.values[k] = -indefinite.values[k];
  auto broken = Solder::fem_poisson_2d<double>(10);
  broken.values[17] = nan;
  HostCsr<double> const zero{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {0, 0, 0}};
  for (auto const& [name, form] : Method<CgOptions>::forms())
    for (Runner const runner : {Runner::launch, Runner::team, Runner::resident}) {
      SCOPED_TRACE(name + ", " + std::string(to_string(runner)));
      CgOptions options = form;
      options.runner = runner;
      options.max_iterations = 500;
      auto const expect = [&](Reason reason, std::string const& text,
                              Solder::Report const& report) {
        EXPECT_EQ(to_string(report.reason), to_string(reason));
        EXPECT_NE(report.detail.find(text), std::string::npos) << report.detail;
      };
      std::string const eigenvalue = "the largest eigenvalue of M A";
      expect(Reason::breakdown, eigenvalue, end(zero, none, options));
      expect(Reason::breakdown, "row 1 ", end(zero, jacobi, options));
      expect(Reason::breakdown, eigenvalue, end(negative, none, options));
      expect(Reason::not_finite, "NaN", end(broken, none, options));
      expect(Reason::not_finite, "NaN", end(broken, jacobi, options));
      for (auto const& report : {end(indefinite, none, options), end(indefinite, jacobi, options),
                                 end(negative, jacobi, options)}) {
        EXPECT_NE(report.reason, Reason::converged);
        EXPECT_NE(report.reason, Reason::max_iterations);
      }
    }
}

TEST(Chebyshev, RefusesWhatCannotBe) {
  Exec const exec;
  using Matrix = CsrMatrix<double, Exec>;
  Matrix const A(exec, diagonal<double>({1, 2, 3})), other(exec, diagonal<double>({1, 2}));
  auto wide_host = diagonal<double>({1, 2, 3});
  wide_host.columns_count = 4;
  Matrix const wide(exec, wide_host);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const refuses = [&](char const* option, ChebyshevOptions const& options) {
    try {
      Chebyshev(exec, A, options);
      return false;
    } catch (std::invalid_argument const& error) {
      return std::string(error.what())
                 .find(std::string("Solder::Chebyshev: ") + option + " must be ") == 0;
    }
  };
  for (int const degree : {-1, 0, 101}) EXPECT_TRUE(refuses("degree", {.degree = degree}));
  for (double const fraction : {-0.1, 0.0, 1.0, 2.0, nan})
    EXPECT_TRUE(refuses("eigenvalue_fraction", {.eigenvalue_fraction = fraction}));
  for (int const steps : {-1, 0, 1, 101})
    EXPECT_TRUE(refuses("lanczos_steps", {.lanczos_steps = steps}));
  EXPECT_FALSE(refuses("", {.degree = 100, .eigenvalue_fraction = 0.999, .lanczos_steps = 100}));

  Jacobi const three(exec, A), two(exec, other);
  EXPECT_THROW(Chebyshev(exec, A, two), std::invalid_argument);
  EXPECT_THROW(Chebyshev(exec, wide), std::invalid_argument);
  Chebyshev C(exec, A, three);
  auto const before = applied(C, std::vector<double>{1, 2, 3});
  EXPECT_THROW(C.refresh(exec, other), std::invalid_argument);
  EXPECT_THROW(C.refresh(exec, wide), std::invalid_argument);
  EXPECT_EQ(C.rows(), 3);
  EXPECT_TRUE(same_bits(applied(C, std::vector<double>{1, 2, 3}), before)) << "it did not stay";
}

}  // namespace
