// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The block method of conjugate gradients: truth in every column, and the method itself against a
// projection by plain loops.
#include "../long.hpp"
#include "cg.hpp"
#include "columns.hpp"
#include "real_matrices.hpp"

#include <numeric>
#include <stdexcept>

#include <solder/io/matrix_market.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>
#include <solder/solvers/block_cg.hpp>

namespace {

using namespace SolderTest;
using Solder::BlockCg;
using Solder::BlockCgOptions;
using Solder::Fsai;

template <class Scalar>
struct Outcome {
  std::vector<Report> reports;
  Vectors<Scalar> x;

  int most_iterations() const {
    int most = 0;
    for (Report const& report : reports) most = std::max(most, report.iterations);
    return most;
  }
};

template <class Scalar, class Preconditioner>
Outcome<Scalar> solve_block(CsrMatrix<Scalar, Default> const& A, Preconditioner const& M,
                            BlockCgOptions const& options, Vectors<Scalar> const& b,
                            Vectors<Scalar> const& x0) {
  BlockCg<Default, CsrMatrix<Scalar, Default>, Preconditioner> solver(Default(), A, M, options);
  auto const b_device = columns_to_device(b), x = columns_to_device(x0);
  Outcome<Scalar> outcome{solver.solve(b_device, x), columns_to_host(x)};
  auto const b_after = columns_to_host(b_device);
  for (std::size_t c = 0; c < b.size(); ++c)
    EXPECT_TRUE(same_memory(b_after[c], b[c])) << "b was written to";
  return outcome;
}

/// What holds of every column: it says "converged" where it is true, and all but those of `other`
/// have converged.
template <class Scalar>
void expect_truth(HostCsr<Scalar> const& A, Vectors<Scalar> const& b,
                  Outcome<Scalar> const& outcome, BlockCgOptions const& options,
                  std::vector<std::size_t> const& other = {}) {
  ASSERT_EQ(outcome.reports.size(), b.size());
  for (std::size_t c = 0; c < b.size(); ++c) {
    SCOPED_TRACE("column " + std::to_string(c) + " of " + std::to_string(b.size()));
    Report const& report = outcome.reports[c];
    if (std::find(other.begin(), other.end(), c) != other.end()) {
      EXPECT_NE(report.reason, Reason::converged);
      continue;
    }
    EXPECT_EQ(report.reason, Reason::converged) << report.detail;
    EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
    EXPECT_EQ(report.form, "block");
    bool const is_zero =
        std::all_of(b[c].begin(), b[c].end(), [](Scalar const& s) { return s == Scalar{}; });
    if (is_zero) {
      for (Scalar const& entry : outcome.x[c]) EXPECT_EQ(entry, Scalar{});
      continue;
    }
    auto const [relative, rounding] = true_residual(A, b[c], outcome.x[c]);
    EXPECT_LE(relative, options.tolerance + rounding);
    EXPECT_NEAR(report.true_relative_residual, relative, rounding + 1e-12 * relative);
  }
}

// ---- The method ----

/// Columns that span the block Krylov space of M A and M B of so many steps, orthonormal, by plain
/// Gram-Schmidt in dense real arithmetic.
using Dense = std::vector<std::vector<double>>;

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Dense block_krylov(HostCsr<double> const& A, std::vector<double> const& M, Dense const& B,
                   int steps) {
  Dense V, newest;
  auto const scaled = [&](std::vector<double> v) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] *= M[i];
    return v;
  };
  for (auto const& b : B) newest.push_back(scaled(b));
  for (int step = 0; step < steps; ++step) {
    Dense added;
    for (auto v : newest) {
      double const before = std::sqrt(dot(v, v));
      for (int round = 0; round < 3; ++round)
        for (auto const& u : V) {
          double const h = dot(u, v);
          for (std::size_t i = 0; i < v.size(); ++i) v[i] -= h * u[i];
        }
      double const norm = std::sqrt(dot(v, v));
      if (norm < 1e-10 * before) continue;
      for (double& entry : v) entry /= norm;
      V.push_back(v);
      added.push_back(v);
    }
    newest.clear();
    for (auto const& v : added) newest.push_back(scaled(multiply(A, v)));
  }
  return V;
}

/// V (V^T A V)^-1 V^T b: the iterate of a block method, which is the best there is in the norm of
/// A.
std::vector<double> projected(HostCsr<double> const& A, Dense const& V,
                              std::vector<double> const& b) {
  std::size_t const m = V.size();
  Dense L(m, std::vector<double>(m));
  std::vector<double> y(m);
  for (std::size_t i = 0; i < m; ++i) {
    auto const Av = multiply(A, V[i]);
    for (std::size_t j = 0; j < m; ++j) L[i][j] = dot(V[j], Av);
    y[i] = dot(V[i], b);
  }
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = j; i < m; ++i) {
      for (std::size_t k = 0; k < j; ++k) L[i][j] -= L[i][k] * L[j][k];
      L[i][j] = i == j ? std::sqrt(L[i][j]) : L[i][j] / L[j][j];
    }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < i; ++k) y[i] -= L[i][k] * y[k];
    y[i] /= L[i][i];
  }
  for (std::size_t i = m; i-- > 0;) {
    for (std::size_t k = i + 1; k < m; ++k) y[i] -= L[k][i] * y[k];
    y[i] /= L[i][i];
  }
  std::vector<double> x(b.size());
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[k] * V[k][i];
  return x;
}

TEST(BlockCgMethod, IteratesAreTheBestInTheBlockKrylovSpace) {
  Default const exec;
  auto const host = Solder::random_spd<double>(60, 5, 3);
  CsrMatrix<double, Default> const A(exec, host);
  std::vector<double> ones(60, 1), inverse(60);
  for (std::int32_t i = 0; i < 60; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (host.columns[k] == i) inverse[i] = 1 / host.values[k];
  for (int const width : {2, 3, 6})
    for (int const steps : {1, 2, 4, 7})
      for (bool const jacobi : {false, true}) {
        SCOPED_TRACE(std::to_string(width) + " columns, step " + std::to_string(steps));
        auto b = random_columns<double>(60, width, 5);
        if (width == 6) b[4] = b[1];  // dependent: a smaller space
        BlockCgOptions options;
        options.tolerance = 0;
        options.max_iterations = steps;
        Vectors<double> const x0(width, std::vector<double>(60));
        auto const outcome = jacobi
                                 ? solve_block(A, Jacobi<double, Default>(exec, A), options, b, x0)
                                 : solve_block(A, Identity{}, options, b, x0);
        auto const V = block_krylov(host, jacobi ? inverse : ones, b, steps);
        for (int c = 0; c < width; ++c) {
          auto const expected = projected(host, V, b[c]);
          double difference = 0;
          for (int i = 0; i < 60; ++i)
            difference = std::max(difference, std::abs(outcome.x[c][i] - expected[i]));
          EXPECT_LE(difference, 1e-9 * std::sqrt(dot(expected, expected))) << "column " << c;
          EXPECT_EQ(outcome.reports[c].iterations, steps);
          EXPECT_EQ(outcome.reports[c].reason, Reason::max_iterations);
        }
      }
}

// ---- Truth ----

template <class Scalar>
struct BlockCgOf : testing::Test {};
using ScalarsOfBlocks = testing::Types<double, Kokkos::complex<float>>;
TYPED_TEST_SUITE(BlockCgOf, ScalarsOfBlocks);

TYPED_TEST(BlockCgOf, AllWidthsConvergeInFewerIterationsThanAlone) {
  using Scalar = TypeParam;
  Default const exec;
  auto const host = definite<Scalar>(24);
  CsrMatrix<Scalar, Default> const A(exec, host);
  constexpr bool single = std::is_same_v<typename Solder::ScalarTraits<Scalar>::Real, float>;
  auto const expect = [&](auto const& M) {
    int alone = 0;
    for (int const width : {1, 2, 3, 7, 16, 33}) {
      SCOPED_TRACE(width);
      BlockCgOptions options;
      options.tolerance = single ? 1e-5 : 1e-9;
      auto const b = random_columns<Scalar>(host.rows, width, 3);
      auto const outcome =
          solve_block(A, M, options, b, random_columns<Scalar>(host.rows, width, 70));
      expect_truth(host, b, outcome, options);
      if (width == 1) {
        CgOptions of_cg;
        of_cg.tolerance = options.tolerance;
        SolverOf<CgOptions, Default, Scalar, std::decay_t<decltype(M)>> cg(exec, A, M, of_cg);
        auto const x = to_device(exec, random_columns<Scalar>(host.rows, 1, 70)[0]);
        alone = cg.solve(to_device(exec, b[0]), x).iterations;
        EXPECT_NEAR(outcome.most_iterations(), alone, 0.05 * alone + 1);
      }
      // The complex matrix is well conditioned: CG takes 21 iterations.
      if (width >= 16) {
        EXPECT_LE(outcome.most_iterations(), (single ? 1 : 0.6) * alone);
      }
      bool const is_plain = std::is_same_v<std::decay_t<decltype(M)>, Identity>;
      if (!std::is_same_v<std::decay_t<decltype(M)>, Fsai<Scalar, Default>>) {
        EXPECT_EQ(outcome.reports[0].kernels_per_iteration, is_plain ? 7 : 8);
      }
    }
  };
  expect(Identity{});
  expect(Jacobi<Scalar, Default>(exec, A));
  expect(Fsai<Scalar, Default>(exec, A));
}

TEST(BlockCgWith, PolynomialsAndMultigrid) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(30);
  CsrMatrix<double, Default> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 9, 3);
  Vectors<double> const x0(9, std::vector<double>(host.rows));
  BlockCgOptions const options;
  Jacobi<double, Default> const J(exec, A);
  expect_truth(host, b,
               solve_block(A, Solder::Chebyshev(exec, A, J, {.degree = 3}), options, b, x0),
               options);
  auto const outcome =
      solve_block(A, Solder::Amg(exec, A, {.max_coarse_size = 30}), options, b, x0);
  expect_truth(host, b, outcome, options);
  EXPECT_LE(outcome.most_iterations(), 15);
}

/// Equal and dependent columns, zero ones, some that are solved already, and scales of all sizes:
/// the block has fewer directions than columns, and ends well all the same.
TEST(BlockCgOfDependentColumns, NeverBreaksDown) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  std::int32_t const n = host.rows;
  CsrMatrix<double, Default> const A(exec, host);
  Jacobi<double, Default> const J(exec, A);
  int const width = 12;
  auto const random = random_columns<double>(n, width, 3);
  auto const zero = Vectors<double>(width, std::vector<double>(n));
  auto const change = [&](auto const& f) {
    auto b = random;
    for (int c = 0; c < width; ++c)
      for (std::int32_t i = 0; i < n; ++i) b[c][i] = f(c, i);
    return b;
  };
  std::vector<Vectors<double>> const all = {
      change([&](int, int i) { return random[0][i]; }),
      change([&](int c, int i) { return random[c % 4][i] * std::ldexp(1.0, c); }),
      change([&](int c, int i) {
        return random[0][i] + (c + 1) * random[1][i] - 3 * c * c * random[2][i];
      }),
      change([&](int c, int i) { return random[0][i] + 1e-6 * random[c][i]; }),
      change([&](int c, int i) { return random[0][i] + 1e-10 * random[c][i]; }),
      change([&](int c, int i) { return c % 3 == 1 ? 0 : random[c][i]; }),
      change([&](int c, int i) { return random[c][i] * std::pow(10.0, 20 * (c - 6)); }),
      zero};
  for (std::size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(k);
    BlockCgOptions options;
    expect_truth(host, all[k], solve_block(A, J, options, all[k], zero), options);
    options.tolerance = 1e-12;
    expect_truth(host, all[k], solve_block(A, Identity{}, options, all[k], zero), options);
  }
  // Those that begin with their solution.
  auto b = random;
  auto x0 = zero;
  for (int const c : {0, 5, 11}) {
    x0[c] = random[c];
    b[c] = multiply(host, x0[c]);
  }
  auto const outcome = solve_block(A, J, {}, b, x0);
  expect_truth(host, b, outcome, {});
  for (int const c : {0, 5, 11}) {
    EXPECT_EQ(outcome.reports[c].iterations, 0);
    EXPECT_TRUE(same_memory(outcome.x[c], x0[c])) << "what was solved is left as it is";
  }
}

TEST(BlockCgOfDependentColumns, AsManyAsRowsAndMoreAreOneIteration) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(5);
  CsrMatrix<double, Default> const A(exec, host);
  for (int const width : {24, 25, 31, 50}) {
    auto const b = random_columns<double>(25, width, 3);
    Vectors<double> const x0(width, std::vector<double>(25));
    auto const outcome = solve_block(A, Identity{}, {}, b, x0);
    expect_truth(host, b, outcome, {});
    EXPECT_LE(outcome.most_iterations(), 2);
  }
}

TEST(BlockCgOfBrokenColumns, ANanIsItsOwnAffair) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Default> const A(exec, host);
  auto b = random_columns<double>(host.rows, 7, 3);
  auto x0 = random_columns<double>(host.rows, 7, 50);
  b[2][10] = std::nan("");
  x0[4][11] = INFINITY;
  auto const outcome = solve_block(A, Jacobi<double, Default>(exec, A), {}, b, x0);
  expect_truth(host, b, outcome, {}, {2, 4});
  EXPECT_EQ(outcome.reports[2].reason, Reason::not_finite);
  EXPECT_EQ(outcome.reports[4].reason, Reason::not_finite);
}

TEST(BlockCgOfBrokenColumns, IndefiniteProblemsAreSaidToBeSo) {
  Default const exec;
  auto const diagonal = [](auto const& entry) {
    Solder::TripletBuilder<double> builder;
    for (std::int32_t i = 0; i < 200; ++i) builder.add(i, i, entry(i));
    return builder.build(200, 200);
  };
  auto const b = random_columns<double>(200, 6, 3);
  Vectors<double> const x0(6, std::vector<double>(200));
  auto const reasons = [&](HostCsr<double> const& host, auto const& make, Reason reason) {
    CsrMatrix<double, Default> const A(exec, host);
    for (Report const& report : solve_block(A, make(A), {}, b, x0).reports)
      EXPECT_EQ(report.reason, reason) << report.detail;
  };
  auto const none = [](auto const&) { return Identity{}; };
  auto const jacobi = [&](auto const& A) { return Jacobi<double, Default>(exec, A); };
  reasons(diagonal([](int i) { return i - 20.5; }), none, Reason::indefinite_matrix);
  reasons(diagonal([](int i) { return -1.0 - i; }), none, Reason::indefinite_matrix);
  reasons(diagonal([](int i) { return -1.0 - i; }), jacobi, Reason::indefinite_preconditioner);
  reasons(diagonal([](int i) { return i == 3 ? 0 : 1.0 + i; }), jacobi, Reason::breakdown);
  // A consistent singular system is solved.
  auto const singular = diagonal([](int i) { return i < 5 ? 0 : 1.0 + i; });
  auto consistent = b;
  for (auto& column : consistent) std::fill(column.begin(), column.begin() + 5, 0.0);
  CsrMatrix<double, Default> const A(exec, singular);
  expect_truth(singular, consistent, solve_block(A, Identity{}, {}, consistent, x0), {});
}

/// With tolerance 0 exactly as many iterations as asked for, though the block has no direction
/// left.
TEST(BlockCgOfBrokenColumns, TheBenchmarkModeGoesOnWhateverIsLeft) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(5);
  CsrMatrix<double, Default> const A(exec, host);
  auto b = random_columns<double>(25, 24, 3);
  Vectors<double> x0(24, std::vector<double>(25));
  x0[3] = random_columns<double>(25, 1, 8)[0];
  b[3] = multiply(host, x0[3]);
  x0[5].assign(25, 0);
  b[5].assign(25, 0);
  BlockCgOptions options;
  options.tolerance = 0;
  options.max_iterations = 40;
  auto const outcome = solve_block(A, Jacobi<double, Default>(exec, A), options, b, x0);
  for (int c = 0; c < 24; ++c) {
    if (c == 5) continue;  // zero: solved exactly
    EXPECT_EQ(outcome.reports[c].reason, Reason::max_iterations) << c << outcome.reports[c].detail;
    EXPECT_EQ(outcome.reports[c].iterations, 40);
    EXPECT_LE(true_residual(host, b[c], outcome.x[c]).relative, 1e-10) << c;
  }
}

TEST(BlockCgOfBrokenColumns, FloatColumnsOfAllSizes) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<float>(15);
  CsrMatrix<float, Default> const A(exec, host);
  auto b = random_columns<float>(host.rows, 8, 3);
  for (int c = 0; c < 8; ++c)
    for (float& entry : b[c]) entry *= std::pow(10.0f, float(8 * (c - 4)));
  BlockCgOptions options;
  options.tolerance = 1e-5;
  auto const outcome =
      solve_block(A, Identity{}, options, b, Vectors<float>(8, std::vector<float>(host.rows)));
  for (int c = 0; c < 8; ++c) EXPECT_EQ(outcome.reports[c].reason, Reason::converged) << c;
}

/// Badly conditioned for float: the accuracy may be out of reach, but the matrix is definite.
TEST(BlockCgOfBrokenColumns, RoundingIsNotIndefiniteness) {
  Default const exec;
  auto host = Solder::fem_poisson_2d<float>(40);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      host.values[k] *=
          float(std::pow(10.0, 1.5 * ((i * 7 % 41) / 40.0 + (host.columns[k] * 7 % 41) / 40.0)));
  CsrMatrix<float, Default> const A(exec, host);
  for (int const width : {3, 16}) {
    BlockCgOptions options;
    options.tolerance = 1e-5;
    options.max_iterations = 3000;
    auto const outcome =
        solve_block(A, Identity{}, options, random_columns<float>(host.rows, width, 3),
                    Vectors<float>(width, std::vector<float>(host.rows)));
    for (Report const& report : outcome.reports)
      EXPECT_TRUE(report.reason == Reason::converged || report.reason == Reason::stagnated ||
                  report.reason == Reason::max_iterations)
          << to_string(report.reason) << ": " << report.detail;
  }
}

TEST(BlockCgOfBrokenColumns, AFirstGuessFarAwayIsItsOwnAffair) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Default> const A(exec, host);
  auto const b = random_columns<double>(host.rows, 6, 3);
  auto x0 = random_columns<double>(host.rows, 6, 9);
  for (double& entry : x0[2]) entry *= 1e16;
  auto const outcome = solve_block(A, Identity{}, {}, b, x0);
  expect_truth(host, b, outcome, {});
}

/// The truth is a little behind the recursion: the iteration goes on from where it was.
TEST(BlockCgOfBrokenColumns, AClaimThatComesTooEarlyIsNoNewBeginning) {
  Default const exec;
  auto host = Solder::fem_poisson_2d<double>(20);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      host.values[k] *= std::pow(10.0, 4.0 * ((i % 20) + (host.columns[k] % 20)) / 40.0);
  CsrMatrix<double, Default> const A(exec, host);
  for (int const width : {1, 2, 5}) {
    auto const b = random_columns<double>(host.rows, width, 3);
    Vectors<double> const x0(width, std::vector<double>(host.rows));
    int before = 0;
    for (double const tolerance : {1e-8, 1e-9, 1e-10, 1e-11, 3e-12}) {
      BlockCgOptions options;
      options.tolerance = tolerance;
      auto const outcome = solve_block(A, Identity{}, options, b, x0);
      if (outcome.reports[0].reason != Reason::converged) {
        EXPECT_EQ(outcome.reports[0].reason, Reason::stagnated);
        continue;
      }
      expect_truth(host, b, outcome, options);
      if (before > 0) {
        EXPECT_LE(outcome.most_iterations(), 1.3 * before);
      }
      before = outcome.most_iterations();
    }
  }
}

TEST(BlockCgOfBrokenColumns, LimitsAndWhatCannotBeAttainedAreSaid) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<float>(40);
  CsrMatrix<float, Default> const A(exec, host);
  auto const b = random_columns<float>(host.rows, 5, 3),
             x0 = random_columns<float>(host.rows, 5, 9);
  for (int const limit : {0, 1, 5}) {
    BlockCgOptions options;
    options.max_iterations = limit;
    for (Report const& report : solve_block(A, Identity{}, options, b, x0).reports) {
      EXPECT_EQ(report.reason, Reason::max_iterations);
      EXPECT_EQ(report.iterations, limit);
    }
  }
  BlockCgOptions options;
  options.tolerance = 1e-10;
  for (Report const& report : solve_block(A, Identity{}, options, b, x0).reports) {
    EXPECT_EQ(report.reason, Reason::stagnated) << report.iterations;
    EXPECT_GT(report.true_relative_residual, 1e-10);
    EXPECT_LT(report.true_relative_residual, 1e-4);
  }
}

/// The stiffness matrices of the matrices folder: at most 0.6 of CG's iterations, and the truth.
TEST(BlockCgRealMatrices, NeedAFractionOfTheIterations) {
  Default const exec;
  int found = 0;
  for (RealMatrix const& matrix : real_matrices(is_long() ? 6000 : 2000)) {
    if (!matrix.spd || matrix.is_complex || matrix.rows < 100) continue;
    // On others of these CG itself does not attain 8 digits.
    std::vector<std::string> const names = {"bcsstk07", "bcsstk08", "bcsstk09", "bcsstk10",
                                            "bcsstk14", "bcsstk15", "bcsstk26", "bcsstk34",
                                            "s1rmq4m1", "s1rmt3m1", "1138_bus"};
    if (std::find(names.begin(), names.end(), matrix.name) == names.end()) continue;
    SCOPED_TRACE(matrix.name);
    ++found;
    auto const host = Solder::read_matrix_market<double>(matrix_file(matrix));
    CsrMatrix<double, Default> const A(exec, host);
    Jacobi<double, Default> const M(exec, A);
    auto const b = random_columns<double>(host.rows, 16, 3);
    Vectors<double> const x0(16, std::vector<double>(host.rows));
    auto const outcome = solve_block(A, M, {}, b, x0);
    expect_truth(host, b, outcome, {});
    SolverOf<CgOptions, Default, double, Jacobi<double, Default>> cg(exec, A, M, CgOptions{});
    auto const x = to_device(exec, x0[0]);
    Report const alone = cg.solve(to_device(exec, b[0]), x);
    EXPECT_LE(outcome.most_iterations(), 0.6 * alone.iterations);
  }
  if (found == 0)
    GTEST_SKIP() << "no INDEX.tsv in " << matrices_folder()
                 << "; set SOLDER_MATRICES to the folder";
}

// ---- Use ----

TEST(BlockCgUse, TheSameBitsAgainInAnyLayoutAndWhateverCameBefore) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(15);
  CsrMatrix<double, Default> const A(exec, host);
  BlockCg<Default, CsrMatrix<double, Default>> solver(exec, A);
  auto const b = random_columns<double>(host.rows, 6, 3),
             x0 = random_columns<double>(host.rows, 6, 7);
  auto const first = columns_to_device(x0);
  auto const reports = solver.solve(columns_to_device(b), first);
  auto broken = b;
  broken[1][0] = std::nan("");
  solver.solve(columns_to_device(broken), columns_to_device(x0));
  solver.solve(columns_to_device(random_columns<double>(host.rows, 3, 9)),
               columns_to_device(random_columns<double>(host.rows, 3, 9)));
  auto const left = columns_to_device<double, Kokkos::LayoutLeft>(x0);
  auto const again = solver.solve(columns_to_device<double, Kokkos::LayoutLeft>(b), left);
  for (int c = 0; c < 6; ++c) {
    EXPECT_TRUE(same_bits(reports[c].history, again[c].history));
    EXPECT_TRUE(same_bits(columns_to_host(first)[c], columns_to_host(left)[c]));
  }
  EXPECT_TRUE(
      solver
          .solve(DeviceColumns<double>("b", host.rows, 0), DeviceColumns<double>("x", host.rows, 0))
          .empty());
}

TEST(BlockCgUse, WhatItDoesNotTakeIsRefused) {
  Default const exec;
  CsrMatrix<double, Default> const A(exec, Solder::fem_poisson_2d<double>(5));
  using Sell = Solder::SellMatrix<double, Default>;
  EXPECT_THROW((BlockCg<Default, Sell>(exec, Sell::sell(exec, A))), std::invalid_argument);
  using Incomplete = Solder::Incomplete<double, Default>;
  EXPECT_THROW((BlockCg<Default, CsrMatrix<double, Default>, Incomplete>(
                   exec, A, Incomplete(exec, A, Solder::Factorisation::ic0))),
               std::invalid_argument);
  BlockCgOptions wrong;
  wrong.tolerance = -1;
  EXPECT_THROW((BlockCg<Default, CsrMatrix<double, Default>>(exec, A, {}, wrong)),
               std::invalid_argument);
  CsrMatrix<double, Default> const other(exec, Solder::fem_poisson_2d<double>(6));
  EXPECT_THROW((BlockCg<Default, CsrMatrix<double, Default>, Jacobi<double, Default>>(
                   exec, A, Jacobi<double, Default>(exec, other))),
               std::invalid_argument);
  BlockCg<Default, CsrMatrix<double, Default>> solver(exec, A);
  EXPECT_THROW(solver.solve(DeviceColumns<double>("b", 25, 2), DeviceColumns<double>("x", 25, 3)),
               std::invalid_argument);
  DeviceColumns<double> const both("b and x", 25, 2);
  EXPECT_THROW(solver.solve(both, both), std::invalid_argument);
}

}  // namespace
