// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Classical multigrid, with interpolation of distance two, against plain loops.
#include "amg_solves.hpp"
#include "applied.hpp"
#include "plain_cycle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Solder::AmgInterpolation;
using Solder::AmgSmoother;

constexpr AmgOptions extended{.interpolation = AmgInterpolation::extended};

/// Diffusion at an angle of 30 degrees, 1000 times as strong along it as across, by bilinear finite
/// elements on side^2 nodes: some couplings are positive.
HostCsr<double> rotated_diffusion(std::int32_t side) {
  double const pi = std::acos(-1.0), c = std::cos(pi / 6), s = std::sin(pi / 6), ratio = 1e-3,
               xx = c * c + ratio * s * s, yy = s * s + ratio * c * c, xy = (1 - ratio) * c * s;
  double const stiffness[] = {-1, 2, -1}, mass[] = {1.0 / 6, 4.0 / 6, 1.0 / 6},
               by[] = {-0.5, 0, 0.5};
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < side * side; ++i)
    for (std::int32_t q = 0; q < 9; ++q) {
      std::int32_t const x = i % side + q % 3 - 1, y = i / side + q / 3 - 1;
      if (x < 0 || y < 0 || x >= side || y >= side) continue;
      builder.add(i, y * side + x,
                  xx * stiffness[q % 3] * mass[q / 3] + yy * mass[q % 3] * stiffness[q / 3] -
                      2 * xy * by[q % 3] * by[q / 3]);
    }
  return builder.build(side * side, side * side);
}

/// Diffusion in a cube of side^3 cells of these conductivities, with walls at 0.
HostCsr<double> diffusion_in_cells(std::int32_t side,
                                   std::function<double(int, int, int)> const& conductivity,
                                   double along_z = 1) {
  Solder::TripletBuilder<double> builder;
  std::int32_t const n = side * side * side;
  for (std::int32_t i = 0; i < n; ++i) {
    int const at[] = {i % side, i / side % side, i / (side * side)},
              step[] = {1, side, side * side};
    double const own = conductivity(at[0], at[1], at[2]);
    double diagonal = 0;
    for (int axis = 0; axis < 3; ++axis)
      for (int const to : {-1, 1}) {
        int next[] = {at[0], at[1], at[2]};
        next[axis] += to;
        bool const is_wall = next[axis] < 0 || next[axis] >= side;
        double const other = is_wall ? 0 : conductivity(next[0], next[1], next[2]),
                     flow = (axis == 2 ? along_z : 1) *
                            (is_wall ? 2 * own : 2 * own * other / (own + other));
        diagonal += flow;
        if (!is_wall) builder.add(i, i + to * step[axis], -flow);
      }
    builder.add(i, i, diagonal);
  }
  return builder.build(n, n);
}
double random_cells(int x, int y, int z) {
  return std::pow(10.0, 4 * std::abs(std::sin(1 + 12.9898 * x + 78.233 * y + 37.719 * z)));
}
double cubes(int x, int y, int z) { return (x / 4 + y / 4 + z / 4) % 2 == 1 ? 1e6 : 1; }

/// A random M-matrix whose rows sum to 0, apart from the last ones, which have a diagonal only.
HostCsr<double> random_laplacian(std::int32_t n, std::int32_t alone) {
  auto const numbers = random_vector<double>(8 * n, 5);
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t i = 0; i + 1 < n; ++i)
    for (int q = 0; q < 4; ++q) {
      auto const j = static_cast<std::int32_t>(std::abs(numbers[8 * i + q]) * 0.99 * n);
      double const weight = std::pow(10.0, 2 * numbers[8 * i + 4 + q]);
      if (i != j && j < n) edges.push_back({i, j, weight});
    }
  auto A = graph_laplacian(n, edges);
  for (std::int32_t i = 0; i < alone; ++i) {
    A.columns.push_back(n + i);
    A.values.push_back(2);
    A.row_offsets.push_back(std::int64_t(A.columns.size()));
  }
  A.rows = A.columns_count = n + alone;
  return A;
}

/// D^H A D for a diagonal unitary D.
HostCsr<ComplexDouble> with_phases(HostCsr<double> const& A) {
  auto const phase = [](double i) { return ComplexDouble(std::cos(i * i), std::sin(i * i)); };
  HostCsr<ComplexDouble> B{A.rows, A.columns_count, A.row_offsets, A.columns, {}};
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      B.values.push_back(Solder::Impl::conjugated(phase(i)) * A.values[k] * phase(A.columns[k]));
  return B;
}

template <class Scalar>
std::vector<Named<Scalar>> classical_matrices() {
  auto all = matrices<Scalar>();
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
    all.push_back({"with phases", with_phases(random_laplacian(200, 2))});
  } else {
    all.push_back({"rotated", rotated_diffusion(18)});
    all.push_back({"cells", diffusion_in_cells(7, random_cells)});
    all.push_back({"random M-matrix", random_laplacian(300, 3)});
  }
  return all;
}

// ---- The set-up ----

template <class Exec>
struct AmgExtendedOn : testing::Test {};
TYPED_TEST_SUITE(AmgExtendedOn, Spaces::Types, TypeName);

/// What the set-up of a level makes first.
template <class Scalar, class Exec>
struct MadeExtended {
  CsrMatrix<Scalar, Exec> A;
  amg::Graph<Exec> graph;
  amg::Splitting<Exec> splitting;
  CsrMatrix<Scalar, Exec> P;

  MadeExtended(Exec const& exec, HostCsr<Scalar> const& host, double strength)
      : A(exec, host),
        graph(graph_of(exec, A, strength)),
        splitting(amg::split(exec, graph, A.rows())),
        P(interpolation_of(exec)) {}

 private:
  static amg::Graph<Exec> graph_of(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                   double strength) {
    auto const largest = amg::largest_couplings<amg::Attraction>(exec, A);
    return amg::strong_graph(
        exec,
        amg::Coupling<Scalar, true, amg::Attraction>{A.device_operator(), largest.data(), strength},
        A.nonzeros(), lane_bits<Exec>);
  }
  CsrMatrix<Scalar, Exec> interpolation_of(Exec const& exec) const {
    Solder::Impl::ProductMemory<Exec> memory;
    return amg::extended_interpolation(exec, A, graph, splitting, memory);
  }
};

/// The same by the formulas, row by row.
template <class Scalar>
struct PlainExtended {
  Plain A;
  std::vector<std::vector<bool>> strong;
  std::vector<bool> coarse;
  std::vector<std::int32_t> number;
  std::int32_t count = 0;
  Plain P;

  PlainExtended(HostCsr<Scalar> const& host, double strength)
      : A(host),
        strong(host.rows, std::vector<bool>(host.rows)),
        coarse(host.rows),
        number(host.rows, -1),
        P(host.rows, 0) {
    find_strong(strength);
    choose();
    for (std::int32_t i = 0; i < A.size(); ++i)
      if (coarse[i]) number[i] = count++;
    P.columns = count;
    for (std::int32_t i = 0; i < A.size(); ++i) interpolate(i);
  }

  /// How a positive or complex entry counts.
  static double attraction(Complex a) {
    return Solder::ScalarTraits<Scalar>::is_complex ? std::abs(a) : -a.real();
  }
  void find_strong(double strength) {
    for (std::int32_t i = 0; i < A.size(); ++i) {
      double largest = 0;
      for (auto const& [j, a] : A.rows[i])
        if (j != i) largest = std::max(largest, attraction(a));
      for (auto const& [j, a] : A.rows[i])
        strong[i][j] = j != i && attraction(a) > 0 &&
                       attraction(a) * (1 + amg::tie<Scalar>) >= strength * largest;
    }
  }
  /// One by one, those that come first in the order of keys first: a row becomes coarse unless it
  /// depends on a coarse row.
  void choose() {
    std::vector<std::int32_t> dependents(A.size()), open;
    for (auto const& row : strong)
      for (std::int32_t j = 0; j < A.size(); ++j) dependents[j] += row[j];
    for (std::int32_t i = 0; i < A.size(); ++i)
      if (dependents[i] > 0) open.push_back(i);
    std::sort(open.begin(), open.end(), [&](std::int32_t i, std::int32_t j) {
      return amg::Contender::key(dependents[i], i) > amg::Contender::key(dependents[j], j);
    });
    for (std::int32_t const i : open) {
      bool depends = false;
      for (std::int32_t j = 0; j < A.size(); ++j) depends = depends || (strong[i][j] && coarse[j]);
      coarse[i] = !depends;
    }
  }
  void interpolate(std::int32_t i) {
    auto& row = P.rows[i];
    if (coarse[i]) {
      row[number[i]] = 1;
      return;
    }
    double diagonal = 0, sum = 0;
    for (auto const& [k, a] : A.rows[i]) {
      if (k == i) {
        diagonal += a.real();
      } else if (!strong[i][k]) {
        diagonal -= attraction(a);
      } else if (coarse[k]) {
        row[number[k]] -= a;
        sum += attraction(a);
      } else {
        // e_k is the mean of the errors that k is strongly coupled to, and of e_i.
        double all = attraction(A.at(k, i));
        for (auto const& [l, b] : A.rows[k])
          if (strong[k][l] && coarse[l]) all += attraction(b);
        diagonal -= attraction(a) * attraction(A.at(k, i)) / all;
        for (auto const& [l, b] : A.rows[k])
          if (strong[k][l] && coarse[l]) {
            row[number[l]] += a * b / all;
            sum += attraction(a) * attraction(b) / all;
          }
      }
    }
    if (sum > 2 * diagonal) diagonal = sum;
    for (auto& [j, p] : row) p /= diagonal;
    truncate(row);
  }
  /// The four largest, that sum to what all did.
  static void truncate(std::map<std::int32_t, Complex>& row) {
    std::vector<std::pair<double, std::int32_t>> sizes;
    double all = 0, kept = 0;
    for (auto const& [j, p] : row) {
      sizes.push_back({std::abs(p), j});
      all += std::abs(p);
    }
    std::stable_sort(sizes.begin(), sizes.end(),
                     [](auto const& s, auto const& t) { return s.first > t.first * (1 + 1e-12); });
    for (std::size_t q = 0; q < sizes.size(); ++q)
      if (q < 4)
        kept += sizes[q].first;
      else
        row.erase(sizes[q].second);
    for (auto& [j, p] : row) p *= all / kept;
  }
};

template <class Scalar, class Exec>
void check_extended(Exec const& exec, Named<Scalar> const& named) {
  for (double const strength : {0.0, 0.25, 0.7, 1.0}) {
    SCOPED_TRACE(named.name + ", " + std::to_string(strength));
    MadeExtended<Scalar, Exec> const made(exec, named.A, strength);
    PlainExtended<Scalar> const expected(named.A, strength);
    ASSERT_EQ(made.splitting.count, expected.count);
    EXPECT_EQ(to_host(exec, made.splitting.number), expected.number);
    expect_near(Plain(made.P), expected.P, 1e-13 * expected.P.largest());
    std::int64_t entries = 0;
    for (auto const& row : expected.P.rows) entries += std::int64_t(row.size());
    EXPECT_EQ(made.P.nonzeros(), entries);
  }
}

TYPED_TEST(AmgExtendedOn, InterpolationsAreThoseOfPlainLoops) {
  TypeParam const exec;
  for (auto const& named : classical_matrices<double>()) check_extended(exec, named);
  for (auto const& named : classical_matrices<ComplexDouble>()) check_extended(exec, named);
  check_extended<double>(exec, {"diagonal", diagonal<double>({1, 2, 3})});
  check_extended<double>(exec, {"no rows", diagonal<double>({})});
  check_extended<double>(exec, {"positive couplings", sparse<double>({{2, 1}, {1, 2}})});
  // The weights of rows 2 and 4 would sum to 4 and to -2.
  check_extended<double>(
      exec, {"heavy rows",
             sparse<double>({{20, -2, -2, -2}, {-2, 0.5, 0, 0}, {-2, 0, 1.5, 0}, {-2, 0, 0, -1}})});
}

/// A constant is interpolated exactly wherever a row sums to 0, if it is coupled to others.
TYPED_TEST(AmgExtendedOn, ConstantsAreInterpolatedExactly) {
  TypeParam const exec;
  std::int32_t const n = 400;
  for (auto const& host : {random_laplacian(n, 2), grid_laplacian(20)}) {
    MadeExtended<double, TypeParam> const made(exec, host, 0.25);
    EXPECT_GT(made.splitting.count, n / 10);
    EXPECT_LT(made.splitting.count, n / 2);
    Plain const P(made.P), A(host);
    for (std::int32_t i = 0; i < host.rows; ++i) {
      bool const is_coupled = A.rows[i].size() > 1;
      EXPECT_LE(std::abs(P.row_sum(i) - (is_coupled ? 1.0 : 0.0)), 1e-12) << "row " << i;
      EXPECT_LE(P.rows[i].size(), is_coupled ? 4u : 0u);
    }
  }
}

/// What A is to D^H A D is the one P to the other: entries differ by phases.
TYPED_TEST(AmgExtendedOn, PhasesDoNotMatter) {
  TypeParam const exec;
  auto const host = random_laplacian(300, 0);
  MadeExtended<double, TypeParam> const real(exec, host, 0.25);
  MadeExtended<ComplexDouble, TypeParam> const turned(exec, with_phases(host), 0.25);
  EXPECT_EQ(to_host(exec, real.splitting.number), to_host(exec, turned.splitting.number));
  Plain sizes(turned.P);
  for (auto& row : sizes.rows)
    for (auto& [j, p] : row) p = std::abs(p);
  expect_near(sizes, Plain(real.P), 1e-12);
}

/// Weights are ratios of entries: those of 2^k A are those of A to the bit, as far as sums of
/// entries are normal numbers.
TYPED_TEST(AmgExtendedOn, ScalesDoNotMatter) {
  TypeParam const exec;
  auto const check = [&]<class Scalar>(HostCsr<Scalar> const& host,
                                       std::vector<int> const& powers) {
    MadeExtended<Scalar, TypeParam> const as_it_is(exec, host, 0.25);
    for (int const power : powers) {
      SCOPED_TRACE(power);
      auto scaled = host;
      for (Scalar& value : scaled.values) value *= Scalar(std::ldexp(1., power));
      MadeExtended<Scalar, TypeParam> const made(exec, scaled, 0.25);
      EXPECT_EQ(to_host(exec, made.splitting.number), to_host(exec, as_it_is.splitting.number));
      EXPECT_TRUE(same_bits(to_host(exec, made.P.values()), to_host(exec, as_it_is.P.values())));
    }
  };
  check(random_laplacian(300, 2), {-1000, -530, 530, 1000});
  check(with_phases(random_laplacian(300, 2)), {-1000, -530, 530, 1000});
  auto const host = random_laplacian(300, 2);
  HostCsr<float> const single{host.rows,
                              host.columns_count,
                              host.row_offsets,
                              host.columns,
                              {host.values.begin(), host.values.end()}};
  check(single, {-110, -70, 70, 110});
}

/// An instance of one thread, where a host's instances may have a number of their own.
template <class Exec>
Exec with_one_thread() {
  if constexpr (Solder::Impl::is_host_space<Exec> && std::is_constructible_v<Exec, int>)
    return Exec(1);
  else
    return Exec();
}

/// Neither the run nor the number of threads makes a difference to a bit.
TEST(AmgExtended, HierarchiesAreTheSameForAnyThreads) {
  Default const all, one = with_one_thread<Default>();
  auto const check = [&]<class Scalar>(HostCsr<Scalar> const& host) {
    CsrMatrix<Scalar, Default> const A(all, host);
    auto const made = [&](Default const& exec) {
      return amg::make_hierarchy<Scalar>(exec, A, 0.25, 16, 20,
                                         {.interpolation = AmgInterpolation::extended});
    };
    auto const first = made(all);
    ASSERT_GE(first->levels.size(), 4u);
    for (auto const& other : {made(one), made(all)}) {
      ASSERT_EQ(other->levels.size(), first->levels.size());
      for (std::size_t l = 0; l < first->levels.size(); ++l) {
        auto const& a = first->levels[l];
        auto const& b = other->levels[l];
        EXPECT_EQ(to_host(all, a.A.column_indices()), to_host(all, b.A.column_indices()));
        EXPECT_TRUE(same_bits(to_host(all, a.A.values()), to_host(all, b.A.values())));
        ASSERT_EQ(a.P.has_value(), l + 1 < first->levels.size());
        if (!a.P) continue;
        EXPECT_EQ(to_host(all, a.P->column_indices()), to_host(all, b.P->column_indices()));
        EXPECT_TRUE(same_bits(to_host(all, a.P->values()), to_host(all, b.P->values())));
      }
    }
  };
  check(rotated_diffusion(40));
  check(with_phases(diffusion_in_cells(11, random_cells)));
}

// ---- The cycle ----

TEST(AmgExtended, CyclesAreThoseOfPlainLoopsInComplex) {
  AmgOptions options = extended;
  options.max_coarse_size = 10;
  check_cycles(Solder::magnetic_laplacian_2d<ComplexDouble>(16, 0.1), options, 4, true,
               {{1, 1}, {2, 2}, {0, 1}});
}

/// In real small entries of the matrices that restrict and interpolate with a sweep are dropped,
/// the others of their row absorb them, and the one remains the adjoint of the other.
TEST(AmgExtended, SmallEntriesOfTheCycleAreDropped) {
  Default const exec;
  for (auto const& host : {rotated_diffusion(24), diffusion_in_cells(8, random_cells)}) {
    CsrMatrix<double, Default> const A(exec, host);
    auto const H = amg::make_hierarchy<double>(exec, A, 0.25, 16, 10,
                                               {.interpolation = AmgInterpolation::extended});
    auto const& level = H->levels[0];
    Plain const P(*level.P), all(level.A), AP = all.times(P), QH = Plain(*level.QH).adjoint(),
                                           SQ(*level.SQ);
    Plain Q(AP.size(), AP.columns), of_SQ = Q;
    for (std::int32_t i = 0; i < AP.size(); ++i) {
      double largest = 0;
      for (auto const& [j, ap] : AP.rows[i]) {
        Q.rows[i][j] = P.at(i, j) - ap / (level.largest * all.at(i, i));
        largest = std::max(largest, std::abs(Q.rows[i][j]));
      }
      Complex const sum = Q.row_sum(i);
      std::erase_if(Q.rows[i],
                    [&](auto const& entry) { return std::abs(entry.second) < 0.02 * largest; });
      Complex const lost = (sum - Q.row_sum(i)) / double(Q.rows[i].size());
      for (auto& [j, q] : Q.rows[i]) q += lost;
      for (auto const& [j, q] : SQ.rows[i])
        if (j >= AP.size()) of_SQ.rows[i][j - AP.size()] = q;
    }
    expect_near(QH, Q, 1e-12);
    expect_near(of_SQ, Q, 1e-12);
    EXPECT_LT(level.QH->nonzeros(), [&] {
      std::int64_t entries = 0;
      for (auto const& row : AP.rows) entries += std::int64_t(row.size());
      return entries;
    }());
  }
}

// ---- Solves ----

/// The iterations of CG for b = 1, to 1e-8.
int iterations_by_extended(HostCsr<double> const& host, AmgOptions const& options = extended) {
  std::vector<double> const b(host.rows, 1.0);
  auto const solve_options = cg(Runner::launch, 1e-8, 100);
  auto const s = solved_by_cg(host, b, solve_options, options);
  EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
  expect_true_report(host, b, s, solve_options);
  return s.report.iterations;
}

/// Hardly more for more unknowns, however couplings differ.
TEST(AmgExtended, SolvesDiffusion) {
  EXPECT_LE(iterations_by_extended(Solder::fem_poisson_2d<double>(50)), 13);
  EXPECT_LE(iterations_by_extended(Solder::poisson_3d_27pt<double>(12)), 10);
  EXPECT_LE(iterations_by_extended(rotated_diffusion(40)), 20);
  EXPECT_LE(iterations_by_extended(rotated_diffusion(80)), 25);
  EXPECT_LE(iterations_by_extended(diffusion_in_cells(10, random_cells)), 12);
  EXPECT_LE(iterations_by_extended(diffusion_in_cells(20, random_cells)), 13);
  EXPECT_LE(iterations_by_extended(diffusion_in_cells(20, cubes)), 13);
  EXPECT_LE(iterations_by_extended(diffusion_in_cells(
                20, [](int, int, int) { return 1; }, 1e-3)),
            12);
}

TEST(AmgExtended, GoesThroughLevelsAsOptionsSay) {
  auto const host = rotated_diffusion(50);
  int const once = iterations_by_extended(host);
  AmgOptions options = extended;
  options.cycle = Solder::AmgCycle::w;
  EXPECT_LE(iterations_by_extended(host, options), once);
  options = extended;
  options.pre = options.post = 2;
  for (auto const smoother : {AmgSmoother::chebyshev, AmgSmoother::fsai}) {
    options.smoother = smoother;
    EXPECT_LT(iterations_by_extended(host, options), once);
  }
  options = extended;
  options.max_levels = 3;  // the last one is left to sweeps
  EXPECT_LE(iterations_by_extended(host, options), 2 * once);
}

TEST(AmgExtended, SolvesInEveryRunnerAlike) {
  Default const exec;
  auto const host = diffusion_in_cells(10, cubes);
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A, extended);
  auto const b = random_vector<double>(host.rows, 6);
  expect_alike_by_every_runner(host, A, M, b, [](Runner runner) { return cg(runner); });
  expect_solved(host, A, M, b, BiCgStabOptions{});
  expect_solved(host, A, M, b, GmresOptions{});
}

TEST(AmgExtended, SolvesInComplexAndInSingle) {
  auto const real = diffusion_in_cells(14, random_cells);
  expect_solved_in_complex_and_in_single(real, with_phases(real), extended,
                                         cg(Runner::launch, 1e-8, 100),
                                         iterations_by_extended(real) + 2);
}

// ---- Odd matrices, refresh, and what is refused ----

TEST(AmgExtended, SolvesOddMatrices) {
  std::vector<double> entries;
  for (int i = 0; i < 500; ++i) entries.push_back(std::pow(10.0, i % 7));
  EXPECT_LE(iterations_by_extended(diagonal(entries)), 2);
  EXPECT_LE(iterations_by_extended(diagonal<double>({4})), 1);
  EXPECT_LE(iterations_by_extended(rotated_diffusion(11)), 1);  // inverted as it is
  auto const grid = Solder::fem_poisson_2d<double>(30);
  EXPECT_LE(iterations_by_extended(side_by_side(grid, diffusion_in_cells(9, cubes), 1e-6)), 15);
  EXPECT_LE(iterations_by_extended(side_by_side(grid, diagonal(entries), 1)), 13);
  EXPECT_LE(iterations_by_extended(Solder::random_spd<double>(2000, 5, 3)), 12);
  EXPECT_LE(iterations_by_extended(arrow(3000)), 10);  // all rows but one are its head's alone
  // No coupling is negative: none is strong, and sweeps are all there is.
  auto positive = diffusion_in_cells(6, cubes);
  for (double& value : positive.values) value = std::abs(value);
  for (std::int32_t i = 0; i < positive.rows; ++i) *entry_of(positive, i, i) *= 1.5;
  Default const exec;
  EXPECT_EQ(AmgOf(exec, MatrixOf(exec, positive), extended).levels().size(), 1u);
  EXPECT_LE(iterations_by_extended(positive), 9);
}

/// A row that sums to nothing in each body: the constant has no energy.
TEST(AmgExtended, SolvesConsistentSingularSystems) {
  Default const exec;
  for (std::int32_t const coarsest : {1, 128}) {
    auto const host = grid_laplacian(30);
    MatrixOf const A(exec, host);
    AmgOptions options = extended;
    options.max_coarse_size = coarsest;
    AmgOf const M(exec, A, options);
    ASSERT_EQ(M.failure(), "");
    auto b = random_vector<double>(host.rows, 5);
    double mean = 0;
    for (double const entry : b) mean += entry / double(b.size());
    for (double& entry : b) entry -= mean;
    auto const s = solved(A, M, b, cg(Runner::launch, 1e-8));
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_LE(s.report.iterations, 11);
  }
}

TEST(AmgExtended, NamesWhatIsNotPositive) {
  Default const exec;
  auto host = rotated_diffusion(20);
  *entry_of(host, 6, 6) = 0;
  AmgOf const M(exec, MatrixOf(exec, host), extended);
  EXPECT_NE(M.failure().find("row 7 "), std::string::npos) << M.failure();
  *entry_of(host, 6, 6) = std::numeric_limits<double>::quiet_NaN();
  AmgOf const of_nan(exec, MatrixOf(exec, host), extended);
  EXPECT_NE(of_nan.failure().find("not finite"), std::string::npos) << of_nan.failure();
  HostCsr<double> const empty{0, 0, {0}, {}, {}};
  EXPECT_EQ(AmgOf(exec, MatrixOf(exec, empty), extended).failure(), "");
}

TEST(AmgExtended, RefusesWhatBelongsToAggregation) {
  auto const host = rotated_diffusion(20);
  AmgOptions options = extended;
  options.block_size = 2;
  expect_refused(host, options,
                 "interpolation is extended: block_size is for aggregation only; it must be 1");
  options = extended;
  options.pre = options.post = 0;
  expect_refused(host, options, "are both 0");
  expect_modes_refused(host, extended);
  options = extended;
  options.post = 2;
  EXPECT_TRUE(amg::cycle_failures(options, "", "", false).empty());
  auto const of_cg = amg::cycle_failures(options, "", "cg", false);
  ASSERT_EQ(of_cg.size(), 1u);
  EXPECT_EQ(of_cg[0].text,
            "pre is 1 and post 2: for cg, which needs a symmetric cycle, they must be equal");
}

/// No failure hides another one.
TEST(AmgExtended, NamesAllThatIsWrongOfACycle) {
  AmgOptions options;
  options.interpolation = Solder::AmgInterpolation::air;
  options.smoother = Solder::AmgSmoother::fsai;
  options.block_size = 7;
  options.pre = options.post = 0;
  std::vector<std::string> texts;
  for (auto const& failure : amg::cycle_failures(options, "", "cg", true))
    texts.push_back(failure.text);
  ASSERT_EQ(texts.size(), 5u);
  for (char const* const part : {"both 0", "near_nullspace", "block_size", "fsai", "cg"})
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](std::string const& text) {
      return text.find(part) != std::string::npos;
    })) << part;
}

/// Other couplings are strong, and others rows coarse: all as in a new set-up.
TEST(AmgExtended, RefreshesAsSetUpAnew) {
  expect_refreshed_as_anew(diffusion_in_cells(10, random_cells), diffusion_in_cells(10, cubes),
                           extended);
}

}  // namespace
