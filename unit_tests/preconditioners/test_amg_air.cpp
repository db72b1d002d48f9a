// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid by approximate ideal restriction, for nonsymmetric matrices, against plain loops.
#include "applied.hpp"
#include "flows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/problems/convection_diffusion.hpp>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Solder::AmgInterpolation;
using Solder::AmgSmoother;

/// A few hundred rows that are not symmetric.
template <class Scalar>
std::vector<Named<Scalar>> nonsymmetric() {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return {{"turned", turned(recirculating_flow(18, 100))}};
  else
    return {{"recirculating", recirculating_flow(20, 1000)},
            {"3d", Solder::convection_diffusion_3d<double>(7)},
            {"random", Solder::random_spd<double>(300, 7, 3)},
            {"rows that have a diagonal only", Solder::random_spd<double>(300, 2, 2)}};
}

// ---- The set-up ----

template <class Exec>
class AmgAirOn : public ::testing::Test {};
TYPED_TEST_SUITE(AmgAirOn, Spaces::Types, TypeName);

template <class Scalar, class Exec>
amg::Splitting<Exec> split(Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double strength,
                           double share) {
  auto const largest = amg::largest_couplings(exec, A);
  auto const graph = amg::strong_graph(
      exec, amg::Coupling<Scalar, true>{A.device_operator(), largest.data(), strength},
      A.nonzeros(), lane_bits<Exec>);
  return amg::split(exec, A, graph, share);
}

template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> restriction(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                    Scalar const* inverse, amg::Splitting<Exec> const& splitting,
                                    double share, Solder::Impl::ProductMemory<Exec>& memory) {
  auto const sizes = amg::diagonal_sizes(exec, inverse, A.rows());
  return amg::air_restriction(exec, A, inverse, sizes.data(), splitting, share, memory);
}

/// In each pass the contenders one by one, those that come first in the order of keys first.
template <class Scalar>
std::vector<bool> split_plainly(Plain const& A, double strength, double share) {
  std::int32_t const n = A.size();
  std::vector<std::vector<bool>> strong(n, std::vector<bool>(n));
  std::vector<std::int32_t> dependents(n), open;
  for (std::int32_t i = 0; i < n; ++i) {
    double largest = 0;
    for (auto const& [j, a] : A.rows[i])
      if (j != i) largest = std::max(largest, std::abs(a));
    for (auto const& [j, a] : A.rows[i])
      if (j != i && a != 0.0 && (1 + amg::tie<Scalar>)*std::abs(a) >= strength * largest) {
        strong[i][j] = true;
        ++dependents[j];
      }
  }
  std::vector<bool> coarse(n);
  do {
    open.clear();
    for (std::int32_t i = 0; i < n; ++i) {
      double others = 0;
      for (auto const& [j, a] : A.rows[i])
        if (j != i && !coarse[j]) others += std::abs(a);
      if (!coarse[i] && others > share * (1 + amg::tie<Scalar>)*std::abs(A.at(i, i)))
        open.push_back(i);
    }
    std::sort(open.begin(), open.end(), [&](std::int32_t i, std::int32_t j) {
      return amg::Contender::key(dependents[i], i) > amg::Contender::key(dependents[j], j);
    });
    std::vector<std::int32_t> chosen;
    for (std::int32_t const i : open)
      if (std::none_of(chosen.begin(), chosen.end(),
                       [&](std::int32_t j) { return strong[i][j] || strong[j][i]; }))
        chosen.push_back(i);
    for (std::int32_t const i : chosen) coarse[i] = true;
  } while (!open.empty());
  return coarse;
}

TYPED_TEST(AmgAirOn, SplittingsAreThoseOfPlainLoops) {
  TypeParam const exec;
  auto const check = [&]<class Scalar>(Named<Scalar> const& named) {
    CsrMatrix<Scalar, TypeParam> const A(exec, named.A);
    for (double const strength : {0.0, 0.25, 1.0})
      for (double const share : {0.2, 0.5, 0.7}) {
        SCOPED_TRACE(named.name + ", " + std::to_string(strength) + ", " + std::to_string(share));
        auto const splitting = split(exec, A, strength, share);
        auto const number = to_host(exec, splitting.number);
        auto const coarse = split_plainly<Scalar>(Plain(named.A), strength, share);
        std::int32_t count = 0;
        for (std::int32_t i = 0; i < A.rows(); ++i)
          ASSERT_EQ(number[i], coarse[i] ? count++ : -1) << "row " << i;
        EXPECT_EQ(splitting.count, count);
      }
  };
  for (auto const& named : nonsymmetric<double>()) check(named);
  for (auto const& named : nonsymmetric<ComplexDouble>()) check(named);
}

/// P, or with `adjoint` R, by the formulas, entry by entry.
struct PlainTransfers {
  Plain R, P;

  PlainTransfers(Plain const& A, std::vector<std::int32_t> const& number, std::int32_t count)
      : R(count, A.size()), P(A.size(), count) {
    std::int32_t const n = A.size();
    Plain Z(count, n), X(n, n);  // -A_cf D_ff^-1, and 2 I - A_ff D_ff^-1
    for (std::int32_t i = 0; i < n; ++i)
      for (auto const& [j, a] : A.rows[i]) {
        if (number[j] >= 0) continue;
        Complex const share = a / A.at(j, j);
        if (number[i] >= 0)
          Z.rows[number[i]][j] = -share;
        else
          X.rows[i][j] = (i == j ? 2.0 : 0.0) - share;
      }
    R = Z.times(X);
    for (std::int32_t i = 0; i < n; ++i) {
      if (number[i] >= 0) {
        R.rows[number[i]][i] = 1;
        P.rows[i][number[i]] = 1;
        continue;
      }
      std::vector<std::pair<double, std::int32_t>> sizes;
      double all = 0, kept = 0;
      for (auto const& [j, a] : A.rows[i]) {
        if (j == i) continue;
        all += std::abs(a);
        if (number[j] >= 0) sizes.push_back({-std::abs(a), j});
      }
      std::stable_sort(sizes.begin(), sizes.end(), [](auto const& s, auto const& t) {
        return s.first < t.first * (1 + 1e-12);
      });
      if (sizes.size() > 3) sizes.resize(3);
      for (auto const& [size, j] : sizes) kept -= size;
      for (auto const& [size, j] : sizes)
        P.rows[i][number[j]] = -(all / kept) * A.at(i, j) / A.at(i, i);
    }
  }
};

TYPED_TEST(AmgAirOn, TransfersAreThoseOfPlainLoops) {
  TypeParam const exec;
  auto const check = [&]<class Scalar>(Named<Scalar> const& named) {
    SCOPED_TRACE(named.name);
    CsrMatrix<Scalar, TypeParam> const A(exec, named.A);
    auto const splitting = split(exec, A, 0.25, 0.5);
    Solder::Jacobi<Scalar, TypeParam> const D(exec, A);
    Solder::Arena<TypeParam> arena(exec, 0);
    Scalar const* const inverse = D.open(arena).inverse;
    Solder::Impl::ProductMemory<TypeParam> memory;
    PlainTransfers const expected(Plain(named.A), to_host(exec, splitting.number), splitting.count);
    auto const R = restriction(exec, A, inverse, splitting, 0, memory);
    expect_near(Plain(R), expected.R, 1e-13 * expected.R.largest());
    auto const P = amg::direct_interpolation(exec, A, inverse, splitting);
    expect_near(Plain(P), expected.P, 1e-13 * expected.P.largest());
    EXPECT_EQ(P.nonzeros(), [&] {
      std::int64_t entries = 0;
      for (auto const& row : expected.P.rows) entries += std::int64_t(row.size());
      return entries;
    }());
  };
  for (auto const& named : nonsymmetric<double>()) check(named);
  for (auto const& named : nonsymmetric<ComplexDouble>()) check(named);
}

/// With rows that are dominated among fine rows, what R leaves of A in fine columns is small, and
/// the smaller the better they are dominated.
TYPED_TEST(AmgAirOn, RestrictionsAreNearlyIdeal) {
  TypeParam const exec;
  auto const host = recirculating_flow(24, 1e4);
  CsrMatrix<double, TypeParam> const A(exec, host);
  Solder::Jacobi<double, TypeParam> const D(exec, A);
  Solder::Arena<TypeParam> arena(exec, 0);
  Solder::Impl::ProductMemory<TypeParam> memory;
  for (double const share : {0.1, 0.5}) {
    auto const splitting = split(exec, A, 0.25, share);
    auto const number = to_host(exec, splitting.number);
    auto const R = restriction(exec, A, D.open(arena).inverse, splitting, 0, memory);
    Plain const RA = Plain(R).times(Plain(host)), first(host);
    for (std::int32_t i = 0; i < host.rows; ++i) {
      if (number[i] < 0) continue;
      double left = 0, whole = 0;
      for (auto const& [j, a] : RA.rows[number[i]])
        if (number[j] < 0) left += std::abs(a);
      for (auto const& [j, a] : first.rows[i])
        if (number[j] < 0) whole += std::abs(a);
      ASSERT_LE(left, (share * share + 1e-12) * whole) << "row " << i << ", share " << share;
    }
  }
}

TYPED_TEST(AmgAirOn, SmallEntriesAreDropped) {
  TypeParam const exec;
  auto const check = [&]<class Scalar>(Named<Scalar> const& named) {
    SCOPED_TRACE(named.name);
    CsrMatrix<Scalar, TypeParam> const A(exec, named.A);
    Plain const before(named.A);
    auto const own = amg::numbers(exec, A.rows());
    for (double const share : {0.0, 0.3, 2.0}) {
      Plain const some(amg::dropped(exec, A, share)),
          lumped(amg::dropped(exec, A, share, own.data(), true)),
          shared(amg::dropped(exec, A, share, nullptr, true));
      for (std::int32_t i = 0; i < A.rows(); ++i) {
        double largest = 0;
        for (auto const& [j, a] : before.rows[i]) largest = std::max(largest, std::abs(a));
        std::size_t large = 0, with_own = 0;
        for (auto const& [j, a] : before.rows[i]) {
          bool const is_large = std::abs(a) >= share * largest * (1 - 1e-9) && a != 0.0;
          large += is_large;
          with_own += is_large || j == i;
          if (is_large) {
            EXPECT_EQ(some.at(i, j), a);
          }
          if (is_large && j != i) {
            EXPECT_EQ(lumped.at(i, j), a);
          }
        }
        ASSERT_EQ(some.rows[i].size(), large);
        ASSERT_EQ(lumped.rows[i].size(), with_own);
        EXPECT_LE(std::abs(lumped.row_sum(i) - before.row_sum(i)), 1e-14 * 10 * largest);
        // All that stay absorb as much.
        ASSERT_EQ(shared.rows[i].size(), large);
        Complex const part = (before.row_sum(i) - some.row_sum(i)) / std::max(1.0, double(large));
        for (auto const& [j, a] : some.rows[i])
          EXPECT_LE(std::abs(shared.at(i, j) - (a + part)), 1e-14 * 10 * largest);
      }
    }
  };
  for (auto const& named : nonsymmetric<double>()) check(named);
  for (auto const& named : nonsymmetric<ComplexDouble>()) check(named);
}

template <class Number>
Plain inverted(HostCsr<Number> const& A) {
  Default const exec;
  std::int32_t const n = A.rows;
  std::vector<Number> dense(std::size_t(n) * n);
  for (std::int32_t i = 0; i < n; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      dense[i * n + A.columns[k]] += A.values[k];
  auto const matrix = to_device(exec, dense);
  amg::invert_any(exec, n, matrix, std::numeric_limits<double>::epsilon());
  dense = to_host(exec, matrix);
  Plain result(n, n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) result.rows[i][j] = plain(dense[i * n + j]);
  return result;
}

/// Rows that are permuted cyclically: without a choice of pivots there is none.
template <class Number>
void check_any_inverses() {
  for (std::int32_t const n : {1, 2, 3, 17, 100, 257}) {
    auto const entries = random_vector<Number>(n * n, n);
    std::vector<std::vector<Number>> rows(n, std::vector<Number>(n));
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        rows[(i + 1) % n][j] = entries[i * n + j] + (i == j ? Number(2.0 * n) : Number(0));
    if (n > 1) rows[0][0] = Number(0);
    auto const A = sparse(rows);
    Plain one(n, n);
    for (std::int32_t i = 0; i < n; ++i) one.rows[i][i] = 1;
    expect_near(inverted(A).times(Plain(A)), one, 1e-12 * n);
  }
}

TEST(AmgAir, InvertsAnyMatrix) {
  check_any_inverses<double>();
  check_any_inverses<ComplexDouble>();
}

/// A generalised inverse: A X A = A.
TEST(AmgAir, InvertsWhatCanBeOfSingularMatrices) {
  for (auto const& A : {path_laplacian(30, 0.9), sparse<double>({{0, 0}, {0, 0}}),
                        sparse<double>({{0, 3, 0}, {0, 0, 0}, {2, 0, 1}}),
                        side_by_side(path_laplacian(5), path_laplacian(4), 3)}) {
    Plain const plainly(A);
    expect_near(plainly.times(inverted(A)).times(plainly), plainly, 1e-12);
  }
}

// ---- The cycle ----

/// A textbook cycle of each level's matrix, with nothing dropped from the matrices that the cycle
/// multiplies by.
struct PlainAirCycle {
  struct Level {
    Plain A, R, P;
    std::vector<std::int32_t> number;
  };
  std::vector<Level> levels;
  int pre, post;

  template <class Scalar>
  PlainAirCycle(amg::Hierarchy<Scalar, Default> const& H, int pre_, int post_)
      : pre(pre_), post(post_) {
    Default const exec;
    amg::AirShares const share;
    Solder::Impl::ProductMemory<Default> memory;
    for (std::size_t l = 0; l < H.levels.size(); ++l) {
      auto const& A = H.levels[l].A;
      if (l + 1 == H.levels.size()) {
        levels.push_back({Plain(A), Plain(0, 0), Plain(0, 0), {}});
        return;
      }
      auto const splitting = split(exec, A, 0.25, l == 0 ? share.split_first : share.split_next);
      auto const number = to_host(exec, splitting.number);
      Solder::Jacobi<Scalar, Default> const D(exec, A);
      Solder::Arena<Default> arena(exec, 0);
      auto const R =
          restriction(exec, A, D.open(arena).inverse, splitting, share.restriction, memory);
      levels.push_back(
          {Plain(A), Plain(R), PlainTransfers(Plain(A), number, splitting.count).P, number});
    }
  }

  Vector residual(std::size_t l, Vector const& b, Vector const& x) const {
    auto r = levels[l].A.times(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    return r;
  }
  void sweep(std::size_t l, Vector const& b, Vector& x) const {
    auto const r = residual(l, b, x);
    for (std::size_t i = 0; i < r.size(); ++i)
      if (levels[l].number[i] < 0) x[i] += r[i] / levels[l].A.at(std::int32_t(i), std::int32_t(i));
  }
  Vector operator()(Vector const& b, std::size_t l = 0) const {
    if (l + 1 == levels.size()) {
      std::vector<std::vector<ComplexDouble>> rows(b.size(), std::vector<ComplexDouble>(b.size()));
      for (std::int32_t i = 0; i < levels[l].A.size(); ++i)
        for (auto const& [j, a] : levels[l].A.rows[i])
          rows[i][j] = ComplexDouble(a.real(), a.imag());
      return dense_solve(sparse(rows), std::vector<ComplexDouble>(b.begin(), b.end()));
    }
    Vector x(b.size());
    for (int k = 0; k < pre; ++k) sweep(l, b, x);
    auto const e = levels[l].P.times((*this)(levels[l].R.times(residual(l, b, x)), l + 1));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += e[i];
    for (int k = 0; k < post; ++k) sweep(l, b, x);
    return x;
  }
};

template <class Scalar>
void check_air_cycles(HostCsr<Scalar> const& host) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const v = random_vector<Scalar>(host.rows, 2);
  for (auto const& [pre, post] : {std::pair(1, 1), {0, 1}, {1, 0}, {2, 2}, {0, 3}}) {
    SCOPED_TRACE(std::to_string(pre) + " and " + std::to_string(post) + " sweeps");
    AmgOptions options = air;
    options.smoother = AmgSmoother::jacobi;
    options.pre = pre;
    options.post = post;
    options.max_coarse_size = 40;
    amg::Sweeps const sweeps{pre > 0 ? amg::air_bound : 0, post > 0 ? amg::air_bound : 0, false,
                             options.interpolation};
    auto const H = amg::make_hierarchy<Scalar>(exec, A, 0.25, 16, 40, sweeps);
    ASSERT_GE(H->levels.size(), 3u);
    ASSERT_TRUE(H->is_direct);
    Amg<Scalar, Default> const M(exec, A, options);
    ASSERT_EQ(M.failure(), "");
    auto const Mv = applied(M, v);
    auto const expected = PlainAirCycle(*H, pre, post)(plain(v));
    double difference = 0;
    for (std::int32_t i = 0; i < host.rows; ++i)
      difference += std::norm(SolderTest::plain(Mv[i]) - expected[i]);
    EXPECT_LE(std::sqrt(difference), 5 * amg::AirShares().cycle * norm_of(expected));
    EXPECT_TRUE(same_bits(applied(M, v), Mv));
    Amg<Scalar, Default> const again(exec, A, options);
    EXPECT_TRUE(same_bits(applied(again, v), Mv));
  }
}

TEST(AmgAir, CyclesAreThoseOfPlainLoops) {
  check_air_cycles(recirculating_flow(20, 1000));
  check_air_cycles(Solder::convection_diffusion_3d<double>(7));
  check_air_cycles(turned(recirculating_flow(18, 100)));
}

// ---- Solves ----

/// Whether diffusion or convection prevails, few iterations do, and hardly more for four times the
/// unknowns.
TEST(AmgAir, SolvesRecirculatingFlows) {
  for (double const peclet : {1e2, 1e4, 1e6}) {
    SCOPED_TRACE(peclet);
    EXPECT_LE(iterations_of(recirculating_flow(50, peclet)), 10);
    EXPECT_LE(iterations_of(recirculating_flow(100, peclet)), 12);
  }
}

TEST(AmgAir, SolvesConvectionAndDiffusion) {
  EXPECT_LE(iterations_of(Solder::convection_diffusion_2d<double>(127)), 12);
  EXPECT_LE(iterations_of(Solder::convection_diffusion_2d<double>(127, {4e6, -1e6})), 12);
  EXPECT_LE(iterations_of(Solder::convection_diffusion_3d<double>(24)), 12);
  EXPECT_LE(iterations_of(Solder::convection_diffusion_3d<double>(24, {-4000, 2000, 0})), 12);
  EXPECT_LE(iterations_of(Solder::convection_diffusion_2d<double>(63, {100, 50},
                                                                  Solder::Convection::central)),
            15);
}

TEST(AmgAir, GoesThroughLevelsAsOptionsSay) {
  auto const host = recirculating_flow(63, 1e4);
  AmgOptions options = air;
  options.cycle = Solder::AmgCycle::w;
  EXPECT_LE(iterations_of(host, options), 7);
  options = air;
  options.pre = options.post = 2;
  for (auto const smoother : {AmgSmoother::jacobi, AmgSmoother::chebyshev}) {
    options.smoother = smoother;
    EXPECT_LE(iterations_of(host, options), 11);
  }
  options = air;
  options.max_levels = 3;  // the coarsest is inverted nevertheless
  EXPECT_LE(iterations_of(recirculating_flow(40, 1e4), options), 8);
  // It is left to sweeps if it has more than 1000 rows.
  auto dominated = recirculating_flow(60, 1e3);
  for (std::int32_t i = 0; i < dominated.rows; ++i) *entry_of(dominated, i, i) *= 1.5;
  options.max_levels = 2;
  EXPECT_LE(iterations_of(dominated, options), 20);
}

TEST(AmgAir, SolvesInEveryRunnerAlike) {
  Default const exec;
  auto const host = recirculating_flow(40, 1e3);
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A, air);
  auto const b = random_vector<double>(host.rows, 6);
  expect_alike_by_every_runner(host, A, M, b, [](Runner runner) { return gmres(runner); });
  expect_solved(host, A, M, b, BiCgStabOptions{});
  expect_solved(host, A, M, b, IdrOptions{});
}

TEST(AmgAir, SolvesInComplexAndInSingle) {
  auto const real = recirculating_flow(63, 1e4);
  // Rows that are turned are what they were to all that looks at sizes.
  expect_solved_in_complex_and_in_single(real, turned(real), air, gmres(), iterations_of(real) + 2);
}

TEST(AmgAir, ReportsItsHierarchy) {
  Default const exec;
  auto const host = recirculating_flow(63, 1e4);
  AmgOf const M(exec, MatrixOf(exec, host), air);
  auto const setup = M.setup();
  EXPECT_EQ(setup.largest_eigenvalue, 0);  // none was looked for
  ASSERT_GE(setup.level_rows.size(), 4u);
  EXPECT_LE(setup.level_rows.back(), 128);
  for (std::size_t l = 1; l < setup.level_rows.size(); ++l)
    EXPECT_LE(setup.level_rows[l], 0.7 * setup.level_rows[l - 1]);
  EXPECT_LE(setup.density, 6);
  EXPECT_GT(M.template words<double>(1), 0);
}

// ---- Odd matrices, refresh, and what is refused ----

TEST(AmgAir, SolvesOddMatrices) {
  std::vector<double> entries;
  for (int i = 0; i < 500; ++i) entries.push_back(std::pow(10.0, i % 7));
  EXPECT_LE(iterations_of(diagonal(entries)), 1);
  EXPECT_LE(iterations_of(diagonal<double>({4, -20, 3})), 1);
  EXPECT_LE(iterations_of(sparse<double>({{2, 1}, {-30, 2}})), 1);
  // An arrow, and a triangular matrix.
  Solder::TripletBuilder<double> arrow, chain;
  for (std::int32_t i = 0; i < 2000; ++i) {
    arrow.add(i, i, i == 0 ? 3000 : 1);
    chain.add(i, i, 1);
    if (i > 0) {
      arrow.add(i, 0, -0.5);
      arrow.add(0, i, -0.9);
      chain.add(i, i - 1, -1);
    }
  }
  EXPECT_LE(iterations_of(arrow.build(2000, 2000)), 10);
  EXPECT_LE(iterations_of(chain.build(2000, 2000)), 10);
  EXPECT_LE(
      iterations_of(side_by_side(recirculating_flow(30, 1e4), recirculating_flow(26, 1), 1e-9)),
      14);
  EXPECT_LE(iterations_of(negated(recirculating_flow(40, 1e3))), 12);
}

/// What a coarse row restricts of itself stays, however large its other entries are.
TEST(AmgAir, SolvesWhereRowsDifferInScale) {
  auto host = recirculating_flow(30, 1e2);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      host.values[k] *= std::pow(10.0, 3 * (i % 3 - 1));
  EXPECT_LE(iterations_of(host), 20);
}

TEST(AmgAir, InvertsWhatCannotBeMadeCoarser) {
  // No entry of a matrix that is inverted is dropped.
  EXPECT_LE(iterations_of(sparse<double>({{1e-5, -1e-5, 1}, {1, 2, 0.1}, {0.3, -0.4, 1}})), 2);
  std::int32_t const n = 300;
  auto const entries = random_vector<double>(n * n, 3);
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) rows[i][j] = entries[i * n + j] + (i == j ? 1 : 0);
  EXPECT_LE(iterations_of(sparse(rows)), 3);
}

TEST(AmgAir, GivesUpWhereLevelsFillIn) {
  Default const exec;
  std::int32_t const n = 4000;
  std::mt19937 random(1);
  Solder::TripletBuilder<double> entries;
  for (std::int32_t i = 0; i < n; ++i) {
    entries.add(i, i, 4);
    for (int k = 0; k < 6; ++k) entries.add(i, std::int32_t(random() % n), -1);
  }
  AmgOf const M(exec, MatrixOf(exec, entries.build(n, n)), air);
  EXPECT_NE(M.failure().find("more than 20 times the entries of A"), std::string::npos)
      << M.failure();
}

/// A row that sums to nothing in each body: the constant has no energy.
TEST(AmgAir, SolvesConsistentSingularSystems) {
  Default const exec;
  for (std::int32_t const coarsest : {1, 128}) {
    auto const host = grid_laplacian(30);
    MatrixOf const A(exec, host);
    AmgOptions options = air;
    options.max_coarse_size = coarsest;
    AmgOf const M(exec, A, options);
    ASSERT_EQ(M.failure(), "");
    auto b = random_vector<double>(host.rows, 5);
    double mean = 0;
    for (double const entry : b) mean += entry / b.size();
    for (double& entry : b) entry -= mean;
    auto const s = solved(A, M, b, gmres());
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_LE(s.report.iterations, 20);
  }
}

TEST(AmgAir, NamesWhatItCannotDo) {
  Default const exec;
  auto host = recirculating_flow(20, 100);
  *entry_of(host, 6, 6) = 0;
  AmgOf const M(exec, MatrixOf(exec, host), air);
  EXPECT_NE(M.failure().find("row 7 "), std::string::npos) << M.failure();
  EXPECT_TRUE(std::isnan(M.setup().largest_eigenvalue));
  for (double const odd :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    *entry_of(host, 6, 6) = odd;
    AmgOf const of_odd(exec, MatrixOf(exec, host), air);
    EXPECT_NE(of_odd.failure().find("not finite"), std::string::npos) << of_odd.failure();
  }
  HostCsr<double> const empty{0, 0, {0}, {}, {}};
  EXPECT_EQ(AmgOf(exec, MatrixOf(exec, empty), air).failure(), "");
}

TEST(AmgAir, RefusesWhatBelongsToAggregation) {
  auto const host = recirculating_flow(20, 100);
  AmgOptions options = air;
  options.block_size = 2;
  expect_refused(host, options, "block_size is for aggregation only; it must be 1, not 2");
  options = air;
  options.smoother = AmgSmoother::fsai;
  expect_refused(host, options, "smoother must be jacobi or chebyshev");
  expect_modes_refused(host, air);
}

/// Other couplings are strong, and others rows coarse: all as in a new set-up.
TEST(AmgAir, RefreshesAsSetUpAnew) {
  expect_refreshed_as_anew(recirculating_flow(40, 10), recirculating_flow(40, 1e5), air);
}

}  // namespace
