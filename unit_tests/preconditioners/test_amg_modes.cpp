// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid of systems: nodes, near-nullspaces and rigid-body modes, against plain loops.
#include "amg_solves.hpp"
#include "applied.hpp"
#include "plain_cycle.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include <solder/problems/elasticity.hpp>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;

template <class Exec>
struct AmgModesOn : testing::Test {};
TYPED_TEST_SUITE(AmgModesOn, Spaces::Types, TypeName);

/// Vectors, one after another.
using Vectors = std::vector<Vector>;

template <class Exec>
using DeviceVectors = Kokkos::View<double**, Kokkos::LayoutRight, typename Exec::memory_space>;

template <class Exec>
DeviceVectors<Exec> rows_to_device(Exec const& exec, std::vector<std::vector<double>> const& rows) {
  DeviceVectors<Exec> const device("rows", rows.size(), rows.empty() ? 0 : rows[0].size());
  auto const host = Kokkos::create_mirror_view(device);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < rows[i].size(); ++c) host(i, c) = rows[i][c];
  Kokkos::deep_copy(exec, device, host);
  exec.fence();
  return device;
}

// ---- Rigid bodies ----

std::vector<std::vector<double>> points_of_cube(int cells) {
  auto const flat = Solder::elasticity_3d_coordinates(cells);
  std::vector<std::vector<double>> points;
  for (std::size_t p = 0; p < flat.size(); p += 3)
    points.push_back({flat[p], flat[p + 1], flat[p + 2]});
  return points;
}

template <class Exec>
Vectors modes_of(Exec const& exec, std::vector<std::vector<double>> const& points) {
  auto const device = Solder::rigid_body_modes(exec, rows_to_device(exec, points));
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  Vectors modes(host.extent(1), Vector(host.extent(0)));
  for (std::size_t i = 0; i < host.extent(0); ++i)
    for (std::size_t c = 0; c < host.extent(1); ++c) modes[c][i] = host(i, c);
  return modes;
}

/// No distance changes, to first order: (u_p - u_q) . (p - q) = 0; and they are independent.
TYPED_TEST(AmgModesOn, RigidBodiesKeepTheirDistances) {
  TypeParam const exec;
  for (int const dimensions : {2, 3}) {
    std::vector<std::vector<double>> points;
    auto const random = random_vector<double>(8 * dimensions, 3);
    for (int p = 0; p < 8; ++p)
      points.emplace_back(random.begin() + p * dimensions, random.begin() + (p + 1) * dimensions);
    for (auto& point : points) point[0] += 1000;  // far from the origin
    auto const modes = modes_of(exec, points);
    ASSERT_EQ(modes.size(), dimensions == 2 ? 3u : 6u);
    for (auto const& u : modes) {
      ASSERT_EQ(u.size(), points.size() * dimensions);
      ASSERT_LE(norm_of(u), 10);  // they turn about the middle
      for (int p = 0; p < 8; ++p)
        for (int q = 0; q < p; ++q) {
          double change = 0;
          for (int d = 0; d < dimensions; ++d)
            change += (u[p * dimensions + d] - u[q * dimensions + d]).real() *
                      (points[p][d] - points[q][d]);
          ASSERT_LE(std::abs(change), 1e-12);
        }
    }
    // Gram's determinant, by elimination.
    std::size_t const m = modes.size();
    std::vector<std::vector<Complex>> gram(m, std::vector<Complex>(m));
    for (std::size_t a = 0; a < m; ++a)
      for (std::size_t b = 0; b < m; ++b) gram[a][b] = inner(modes[a], modes[b]);
    for (std::size_t k = 0; k < m; ++k) {
      ASSERT_GT(gram[k][k].real(), 1e-3) << "mode " << k << " depends on those before it";
      for (std::size_t i = k + 1; i < m; ++i)
        for (std::size_t j = m; j-- > k;) gram[i][j] -= gram[i][k] / gram[k][k] * gram[k][j];
    }
  }
  EXPECT_EQ(modes_of(exec, {{1, 2}}).size(), 3u);
  EXPECT_EQ(Solder::rigid_body_modes(exec, DeviceVectors<TypeParam>("none", 0, 3)).extent(0), 0u);
  for (std::size_t const dimensions : {0, 1, 4})
    EXPECT_THROW(Solder::rigid_body_modes(exec, DeviceVectors<TypeParam>("points", 5, dimensions)),
                 std::invalid_argument);
}

/// Away from the clamped faces the generator's matrix makes zero of them.
TEST(AmgModes, AreThoseOfElasticity) {
  int const cells = 6;
  auto const points = points_of_cube(cells);
  Plain const A(Solder::elasticity_3d<double>(cells));
  ASSERT_EQ(points.size() * 3, std::size_t(A.size()));
  for (auto const& u : modes_of(Default(), points)) {
    auto const Au = A.times(u);
    for (std::size_t p = 0; p < points.size(); ++p)
      if (points[p][0] > 1.5 / cells && points[p][0] < 1 - 1.5 / cells) {
        for (std::size_t d = 0; d < 3; ++d)
          ASSERT_LE(std::abs(Au[3 * p + d]), 1e-13) << "point " << p;
      }
  }
}

// ---- Nodes ----

template <class Scalar>
struct Case {
  std::string name;
  HostCsr<Scalar> A;
  std::int32_t block_size;
  std::vector<std::vector<double>> modes;  ///< by rows
};

std::vector<std::vector<double>> random_modes(std::int32_t rows, int count) {
  std::vector<std::vector<double>> modes;
  auto const random = random_vector<double>(rows * count, 17);
  for (std::int32_t i = 0; i < rows; ++i)
    modes.emplace_back(random.begin() + i * count, random.begin() + (i + 1) * count);
  return modes;
}

std::vector<std::vector<double>> rigid_rows(int cells) {
  auto const columns = modes_of(Default(), points_of_cube(cells));
  std::vector<std::vector<double>> rows(columns[0].size(), std::vector<double>(columns.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < columns.size(); ++c) rows[i][c] = columns[c][i].real();
  return rows;
}

/// Columns of a row backwards.
template <class Scalar>
HostCsr<Scalar> backwards(HostCsr<Scalar> A) {
  for (std::int32_t i = 0; i < A.rows; ++i) {
    std::reverse(A.columns.begin() + A.row_offsets[i], A.columns.begin() + A.row_offsets[i + 1]);
    std::reverse(A.values.begin() + A.row_offsets[i], A.values.begin() + A.row_offsets[i + 1]);
  }
  return A;
}

template <class Scalar>
std::vector<Case<Scalar>> cases() {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return {{"magnetic", Solder::magnetic_laplacian_2d<Scalar>(18, 0.1), 2, random_modes(324, 2)}};
  else
    return {
        {"elasticity", Solder::elasticity_3d<Scalar>(5), 3, rigid_rows(5)},
        {"elasticity, backwards", backwards(Solder::elasticity_3d<Scalar>(4)), 3, rigid_rows(4)},
        {"random, nodes of 4", Solder::random_spd<Scalar>(300, 5, 1), 4, random_modes(300, 3)},
        {"random, most rows alone", Solder::random_spd<Scalar>(300, 2, 2), 1, random_modes(300, 2)},
        {"one node", Solder::random_spd<Scalar>(8, 3, 2), 8, random_modes(8, 2)}};
}

/// What the set-up makes first.
template <class Scalar, class Exec>
struct MadeWithModes {
  CsrMatrix<Scalar, Exec> A;
  Solder::Impl::ProductMemory<Exec> memory;
  amg::Nodes<Exec> nodes;
  CsrMatrix<double, Exec> norms;
  decltype(amg::largest_couplings(Exec(), norms)) sizes;
  amg::Coupling<double> of_nodes;
  amg::NodeCoupling<Scalar> coupling;
  amg::Aggregates<Exec> aggregates;

  MadeWithModes(Exec const& exec, Case<Scalar> const& of, double strength)
      : A(exec, of.A),
        nodes(amg::equal_nodes(exec, of.A.rows, of.block_size)),
        norms(amg::block_norms(exec, A, nodes, memory)),
        sizes(amg::largest_couplings(exec, norms)),
        of_nodes{norms.device_operator(), sizes.data(), strength},
        coupling{A.device_operator(), of_nodes, nodes.of_row.data()},
        aggregates(amg::aggregate(
            exec, of_nodes, amg::strong_graph(exec, of_nodes, norms.nonzeros(), lane_bits<Exec>))) {
  }
};

template <class Scalar, class Exec>
void check_nodes(Exec const& exec, Case<Scalar> const& of, double strength) {
  MadeWithModes<Scalar, Exec> const made(exec, of, strength);
  std::int32_t const b = of.block_size, count = of.A.rows / b;
  Plain const A(of.A), norms(made.norms);
  Plain expected(count, count);
  for (std::int32_t i = 0; i < of.A.rows; ++i)
    for (auto const& [j, a] : A.rows[i]) expected.rows[i / b][j / b] += std::norm(a);
  std::vector<double> largest(count);
  for (std::int32_t node = 0; node < count; ++node)
    for (auto& [other, square] : expected.rows[node]) {
      square = std::sqrt(square.real());
      if (other != node) largest[node] = std::max(largest[node], square.real());
    }
  expect_near(norms, expected, 1e-14 * expected.largest());

  // A row of I - omega D^-1 F, where F has the blocks that are strong, and what is weak of an
  // unknown's own kind is on the diagonal.
  double const omega = 0.7;
  auto const graph = amg::strong_graph(exec, made.coupling, made.A.nonzeros(), lane_bits<Exec>);
  Plain const S(amg::smoothing(exec, made.A, made.nodes, graph, omega));
  Plain smoothing(of.A.rows, of.A.rows);
  for (std::int32_t i = 0; i < of.A.rows; ++i) {
    auto const is_strong = [&](std::int32_t j) {
      double const size = expected.at(i / b, j / b).real();
      return i / b == j / b ||
             (size > 0 &&
              size * (1 + 1e-12) >= strength * std::sqrt(largest[i / b] * largest[j / b]));
    };
    double weak = 0, filtered = A.at(i, i).real();
    for (auto const& [j, a] : A.rows[i])
      if (!is_strong(j) && i % b == j % b) weak += a.real();
    if (filtered + weak > 0.1 * filtered) filtered += weak;
    for (auto const& [j, a] : A.rows[i])
      if (is_strong(j)) smoothing.rows[i][j] = -omega / filtered * a;
    smoothing.rows[i][i] = 1 - omega;
  }
  expect_near(S, smoothing, 1e-13);
}

TYPED_TEST(AmgModesOn, NodesCoupleAsPlainLoopsSay) {
  TypeParam const exec;
  for (double const strength : {0.0, 0.25, 0.9}) {
    SCOPED_TRACE("strength " + std::to_string(strength));
    for (auto const& of : cases<double>()) {
      SCOPED_TRACE(of.name);
      check_nodes(exec, of, strength);
    }
    check_nodes(exec, cases<ComplexDouble>()[0], strength);
  }
}

// ---- The tentative prolongator ----

/// Columns of these rows that are independent of those before them, to single precision.
int rank_of(std::vector<std::vector<Complex>> rows, std::size_t columns) {
  int rank = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    double before = 0, after = 0;
    for (auto const& row : rows) before += std::norm(row[c]);
    for (int round = 0; round < 2; ++round)
      for (std::size_t k = 0; k < c; ++k) {
        Complex product = 0, square = 0;
        for (auto const& row : rows) {
          product += std::conj(row[k]) * row[c];
          square += std::norm(row[k]);
        }
        if (square.real() == 0) continue;
        for (auto& row : rows) row[c] -= product / square * row[k];
      }
    for (auto const& row : rows) after += std::norm(row[c]);
    bool const is_new = after > 1e-14 * before;
    rank += is_new;
    if (!is_new)
      for (auto& row : rows) row[c] = 0;
  }
  return rank;
}

/// T has orthonormal columns, as many in each aggregate as its modes are independent, and T times
/// the coarse modes gives the modes of all rows in aggregates.
template <class Scalar, class Exec>
void check_tentative(Exec const& exec, Case<Scalar> const& of,
                     amg::Aggregates<Exec> const& aggregates) {
  auto const nodes = amg::equal_nodes(exec, of.A.rows, of.block_size);
  auto const modes = amg::given_modes<Scalar>(exec, rows_to_device(exec, of.modes));
  auto const made = amg::tentative(exec, nodes, aggregates, modes);
  auto const scaled = to_host(exec, modes.entries);  // each vector with its own power of two
  Plain const T(made.T);
  std::size_t const m = of.modes[0].size();
  std::int32_t const b = of.block_size;
  auto const aggregate_of = to_host(exec, aggregates.of_row);
  auto const first = to_host(exec, made.nodes.first), node_of = to_host(exec, made.nodes.of_row);
  auto const coarse = to_host(exec, made.modes.entries);
  ASSERT_EQ(made.nodes.count, aggregates.count);
  ASSERT_EQ(made.modes.count, std::int32_t(m));
  ASSERT_EQ(first.size(), std::size_t(aggregates.count) + 1);
  ASSERT_EQ(first.back(), T.columns);
  ASSERT_EQ(node_of.size(), std::size_t(T.columns));
  ASSERT_EQ(coarse.size(), node_of.size() * m);
  std::map<std::int32_t, std::vector<std::vector<Complex>>> rows_of;
  for (std::int32_t i = 0; i < T.size(); ++i) {
    std::int32_t const a = aggregate_of[i / b];
    if (a < 0) {
      ASSERT_TRUE(T.rows[i].empty()) << "row " << i;
      continue;
    }
    rows_of[a].emplace_back(of.modes[i].begin(), of.modes[i].end());
    for (std::size_t c = 0; c < m; ++c) {
      Complex sum = 0, expected = plain(scaled[i * m + c]), given = of.modes[i][c];
      for (auto const& [j, t] : T.rows[i]) sum += t * plain(coarse[j * m + c]);
      ASSERT_LE(std::abs(sum - expected), 1e-13) << "row " << i << ", mode " << c;
      int exponent;
      if (given != 0.0) {
        ASSERT_EQ(std::frexp((expected / given).real(), &exponent), 0.5);
      }
    }
    for (auto const& [j, t] : T.rows[i]) ASSERT_EQ(node_of[j], a);
  }
  for (std::int32_t a = 0; a < aggregates.count; ++a)
    ASSERT_EQ(first[a + 1] - first[a], rank_of(rows_of[a], m)) << "aggregate " << a;
  Plain const TT = T.adjoint().times(T);
  for (std::int32_t j = 0; j < T.columns; ++j)
    for (auto const& [k, value] : TT.rows[j])
      ASSERT_LE(std::abs(value - (j == k ? 1.0 : 0.0)), 1e-13);
  auto const again = amg::tentative(exec, nodes, aggregates, modes);
  ASSERT_TRUE(same_bits(to_host(exec, again.T.values()), to_host(exec, made.T.values())));
}

TYPED_TEST(AmgModesOn, TentativeProlongatorsHaveTheModesInTheirRange) {
  TypeParam const exec;
  for (auto const& of : cases<double>()) {
    SCOPED_TRACE(of.name);
    check_tentative(exec, of, MadeWithModes<double, TypeParam>(exec, of, 0.25).aggregates);
  }
  auto const of = cases<ComplexDouble>()[0];
  check_tentative(exec, of, MadeWithModes<ComplexDouble, TypeParam>(exec, of, 0.25).aggregates);
}

/// Aggregates of one point, of two, of three on a line, of three others, and a point in none.
TYPED_TEST(AmgModesOn, DependentModesAreLeftOut) {
  TypeParam const exec;
  std::vector<std::vector<double>> const points{{1, 2, 3}, {0, 0, 0}, {1, 0, 0}, {1, 1, 1},
                                                {2, 2, 2}, {3, 3, 3}, {0, 0, 1}, {5, 0, 2},
                                                {3, 1, 1}, {9, 9, 9}};
  std::vector<std::int32_t> const of_point{0, 1, 1, 2, 2, 2, 3, 3, 3, -1};
  auto const columns = modes_of(exec, points);
  Case<double> of{"points", diagonal(std::vector<double>(30, 1.0)), 3, {}};
  for (std::size_t i = 0; i < 30; ++i) {
    of.modes.emplace_back();
    for (auto const& column : columns) of.modes.back().push_back(column[i].real());
  }
  amg::Aggregates<TypeParam> aggregates;
  aggregates.of_row = to_device(exec, of_point);
  aggregates.count = 4;
  check_tentative(exec, of, aggregates);
  auto const made = amg::tentative(exec, amg::equal_nodes(exec, 30, 3), aggregates,
                                   amg::given_modes<double>(exec, rows_to_device(exec, of.modes)));
  EXPECT_EQ(to_host(exec, made.nodes.first), (std::vector<std::int32_t>{0, 3, 8, 13, 19}));
}

// ---- Solves ----

Solved<double> solved_for_ones(HostCsr<double> const& host, AmgOf const& M, Runner runner) {
  return solved(MatrixOf(Default(), host), M, std::vector<double>(host.rows, 1.0),
                cg(runner, 1e-8));
}

/// CG's iterations.
int iterations(HostCsr<double> const& host, AmgOf const& M, Runner runner = Runner::launch) {
  EXPECT_EQ(M.failure(), "");
  auto const s = solved_for_ones(host, M, runner);
  EXPECT_EQ(s.report.reason, Solder::Reason::converged);
  return s.report.iterations;
}

TEST(AmgModes, MakeElasticityConvergeAtAnySize) {
  Default const exec;
  std::map<int, int> rigid, constant;
  for (int const cells : {6, 12, 16}) {
    auto const host = Solder::elasticity_3d<double>(cells);
    MatrixOf const A(exec, host);
    AmgOf const M(exec, A, rows_to_device(exec, rigid_rows(cells)), {.block_size = 3});
    rigid[cells] = iterations(host, M);
    constant[cells] = iterations(host, Amg(exec, A, {.block_size = 3}));
    EXPECT_LE(rigid[cells], constant[cells]);
    if (cells == 6) {
      EXPECT_NEAR(iterations(host, M, Runner::team), rigid[cells], 1);
    }
    if (cells == 12) {
      EXPECT_LE(constant[cells], 0.6 * iterations(host, Amg(exec, A)));
    }
  }
  EXPECT_LE(rigid[16], 1.2 * rigid[12]);
  EXPECT_LE(rigid[16], 27);
}

template <class Scalar>
void check_hierarchy(Case<Scalar> const& of) {
  SCOPED_TRACE(of.name);
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, of.A);
  auto const modes = amg::given_modes<Scalar>(exec, rows_to_device(exec, of.modes));
  auto const made = amg::make_hierarchy<Scalar>(exec, A, 0.25, 16, 5, {}, modes, of.block_size);
  auto const& H = *made;
  ASSERT_EQ(H.failure, "");
  ASSERT_EQ(H.levels.size() > 1, of.A.rows > of.block_size);
  for (std::size_t l = 0; l + 1 < H.levels.size(); ++l) {
    Plain const P(*H.levels[l].P), fine(H.levels[l].A), coarse(H.levels[l + 1].A);
    expect_near(coarse, P.adjoint().times(fine).times(P), 1e-13 * fine.largest());
  }
  Amg const M(exec, A, rows_to_device(exec, of.modes),
              {.max_coarse_size = 5, .block_size = of.block_size});
  ASSERT_EQ(M.levels().size(), H.levels.size());
  auto const u = random_vector<Scalar>(of.A.rows, 1), v = random_vector<Scalar>(of.A.rows, 2);
  auto const Mu = applied(M, u), Mv = applied(M, v);
  EXPECT_LE(std::abs(inner(plain(u), plain(Mv)) - inner(plain(Mu), plain(v))),
            1e-12 * norm(u) * norm(Mv));
  EXPECT_GT(inner(plain(u), plain(Mu)).real(), 0);
  Amg const again(exec, A, rows_to_device(exec, of.modes), M.options());
  EXPECT_TRUE(same_bits(applied(again, v), Mv));
}

TEST(AmgModes, HierarchiesAreThoseOfPlainLoops) {
  for (auto const& of : cases<double>()) check_hierarchy(of);
  for (auto const& of : cases<ComplexDouble>()) check_hierarchy(of);
}

/// The constant given is the constant that is taken, but for the length of columns.
TEST(AmgModes, TheConstantIsOneToo) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  Amg const M(exec, A),
      given(exec, A, rows_to_device(exec, std::vector<std::vector<double>>(host.rows, {2.5})));
  EXPECT_EQ(given.setup().level_rows, M.setup().level_rows);
  EXPECT_EQ(solved_for_ones(host, given, Runner::launch).report.iterations,
            solved_for_ones(host, M, Runner::launch).report.iterations);
}

/// A body that nothing holds: the six modes are A's kernel.
TEST(AmgModes, SolveFreeBodies) {
  Default const exec;
  int const cells = 7;
  auto const all = Solder::elasticity_3d<double>(cells);
  auto const points = points_of_cube(cells);
  // A truss: springs along the edges of the generator's mesh.
  Solder::TripletBuilder<double> builder;
  auto const n = static_cast<std::int32_t>(points.size());
  for (std::int32_t p = 0; p < n; ++p)
    for (auto k = all.row_offsets[3 * p]; k < all.row_offsets[3 * p + 1]; k += 3) {
      std::int32_t const q = all.columns[k] / 3;
      if (q <= p) continue;
      std::array<double, 3> along;
      double length = 0;
      for (int d = 0; d < 3; ++d) {
        along[d] = points[q][d] - points[p][d];
        length += along[d] * along[d];
      }
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e) {
          double const stiffness = along[d] * along[e] / length;
          builder.add(3 * p + d, 3 * p + e, stiffness);
          builder.add(3 * q + d, 3 * q + e, stiffness);
          builder.add(3 * p + d, 3 * q + e, -stiffness);
          builder.add(3 * q + d, 3 * p + e, -stiffness);
        }
    }
  auto const host = builder.build(3 * n, 3 * n);
  MatrixOf const A(exec, host);
  Amg const M(exec, A, rows_to_device(exec, rigid_rows(cells)), {.block_size = 3});
  ASSERT_EQ(M.failure(), "");
  auto const b = multiply(host, random_vector<double>(host.rows, 4));  // consistent
  CgOptions options;
  options.form = Solder::CgForm::classical;
  options.tolerance = 1e-8;
  options.max_iterations = 100;
  SolverOf<CgOptions, Default, double, AmgOf> solver(exec, A, M, options);
  auto const x = to_device(exec, std::vector<double>(b.size()));
  auto const report = solver.solve(to_device(exec, b), x);
  EXPECT_EQ(to_string(report.reason), to_string(Solder::Reason::converged));
  auto const Ax = multiply(host, to_host(exec, x));
  double error = 0;
  for (std::size_t i = 0; i < b.size(); ++i) error += (b[i] - Ax[i]) * (b[i] - Ax[i]);
  EXPECT_LE(std::sqrt(error), 1.01e-8 * norm(b));
}

/// The scale of a matrix is nobody's business, though squares of its entries have left the range.
TEST(AmgModes, MatricesMayHaveAnyScale) {
  Default const exec;
  auto const host = Solder::elasticity_3d<double>(6);
  AmgOptions const options{.max_coarse_size = 20, .block_size = 3};
  Amg const M(exec, MatrixOf(exec, host), options);
  auto const r = random_vector<double>(host.rows, 3), expected = applied(M, r);
  for (int const power : {-680, 680}) {
    auto scaled = host;
    for (double& value : scaled.values) value = std::ldexp(value, power);
    Amg const of_scaled(exec, MatrixOf(exec, scaled), options);
    EXPECT_EQ(of_scaled.setup().level_nonzeros, M.setup().level_nonzeros);
    auto z = applied(of_scaled, r);
    for (double& value : z) value = std::ldexp(value, power);
    EXPECT_TRUE(same_bits(z, expected)) << "2^" << power;
  }
}

/// So is that of each vector, beyond where its squares are in range.
TEST(AmgModes, VectorsMayHaveAnyScale) {
  Default const exec;
  auto const host = Solder::elasticity_3d<double>(6);
  MatrixOf const A(exec, host);
  AmgOptions const options{.max_coarse_size = 20, .block_size = 3};
  auto const rigid = rigid_rows(6);
  auto const r = random_vector<double>(host.rows, 3),
             expected = applied(Amg(exec, A, rows_to_device(exec, rigid), options), r);
  for (int const power : {-1000, -1, 1000}) {
    auto scaled = rigid;
    for (auto& row : scaled)
      for (std::size_t c = 0; c < row.size(); c += 2) row[c] = std::ldexp(row[c], power);
    Amg const M(exec, A, rows_to_device(exec, scaled), options);
    EXPECT_TRUE(same_bits(applied(M, r), expected)) << "2^" << power;
  }
}

/// The cycle for elasticity with rigid bodies, of plain loops.
template <class Scalar, class Exec>
auto hierarchy_of_bodies(CsrMatrix<Scalar, Exec> const& A, int cells,
                         Solder::AmgOptions const& options,
                         amg::Hierarchy<Scalar, Exec> const* before = nullptr) {
  Exec const exec;
  return amg::make_hierarchy<Scalar>(
      exec, A, options.strength, options.max_levels, options.max_coarse_size, {},
      amg::given_modes<Scalar>(exec, rows_to_device(exec, rigid_rows(cells))), 3, before);
}

template <class Scalar>
void expect_cycle(std::vector<Scalar> const& z, Vector const& expected, double rounding) {
  double const size = norm_of(expected);
  for (std::size_t i = 0; i < z.size(); ++i)
    ASSERT_LE(std::abs(plain(z[i]) - expected[i]), rounding * size) << "row " << i;
}

/// On hosts large levels have their products in blocks, if the columns of each row ascend.
template <class Scalar, class Stored>
void check_cycle_in_blocks(int cells, Solder::AmgOptions options, double rounding) {
  Default const exec;
  options.block_size = 3;
  auto const host = Solder::elasticity_3d<Scalar>(cells);
  auto const modes = rows_to_device(exec, rigid_rows(cells));
  CsrMatrix<Scalar, Default> const A(exec, host), without(exec, backwards(host));
  Solder::Amg<Scalar, Default, Stored> const M(exec, A, modes, options),
      other(exec, without, modes, options);
  if (Solder::Impl::is_host_space<Default> && options.pre == 1) {
    EXPECT_LT(M.template words<Scalar>(1), 0.9 * other.template words<Scalar>(1));
  }
  auto const r = random_vector<Scalar>(host.rows, 5);
  expect_cycle(applied(M, r),
               PlainCycle(*hierarchy_of_bodies(A, cells, options), options)(plain(r)), rounding);
}

TEST(AmgModes, TakeProductsOfLargeLevelsInBlocks) {
  using Solder::AmgCycle;
  // The next level has more than 100,000 nonzeros, too.
  for (auto const cycle : {AmgCycle::v, AmgCycle::w})
    check_cycle_in_blocks<double, double>(14, {.cycle = cycle}, 1e-11);
  check_cycle_in_blocks<double, double>(12, {.pre = 0, .post = 1}, 1e-11);
  check_cycle_in_blocks<double, double>(12, {.max_levels = 2}, 1e-11);
  check_cycle_in_blocks<double, float>(12, {}, 1e-5);
  check_cycle_in_blocks<ComplexDouble, ComplexDouble>(12, {}, 1e-11);
}

TEST(AmgModes, SolveSeveralRightHandSidesAsWellAsOne) {
  Default const exec;
  int const cells = 12;
  auto const host = Solder::elasticity_3d<double>(cells);
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A, rows_to_device(exec, rigid_rows(cells)), {.block_size = 3});
  int const alone = iterations(host, M);
  Solder::Cg solver(exec, A, M);
  DeviceVectors<Default> const b("b", host.rows, 2), x("x", host.rows, 2);
  Kokkos::deep_copy(b, 1.0);
  for (auto const& report : solver.solve(b, x)) {
    EXPECT_EQ(report.reason, Solder::Reason::converged);
    EXPECT_NEAR(report.iterations, alone, 1);
  }
}

/// Refreshed for other values, and back again, twice.
TEST(AmgModes, AreRefreshedForOtherValues) {
  Default const exec;
  int const cells = 12;
  auto const first = Solder::elasticity_3d<double>(cells);
  auto second = first;
  auto const change = random_vector<double>(first.rows, 6);
  for (std::int32_t i = 0; i < first.rows; ++i)
    for (auto k = first.row_offsets[i]; k < first.row_offsets[i + 1]; ++k)
      second.values[k] *= (1 + 0.2 * change[i]) * (1 + 0.2 * change[first.columns[k]]);
  MatrixOf const A(exec, first), B(exec, second);
  Solder::AmgOptions const options{.block_size = 3};
  AmgOf M(exec, A, rows_to_device(exec, rigid_rows(cells)), options);
  auto const r = random_vector<double>(first.rows, 7), before = applied(M, r);
  auto const made = hierarchy_of_bodies(A, cells, options),
             refreshed = hierarchy_of_bodies(B, cells, options, made.get());
  auto const expected = PlainCycle(*refreshed, options)(plain(r));
  for (int times = 0; times < 2; ++times) {
    M.refresh(exec, B);
    expect_cycle(applied(M, r), expected, 1e-11);
    M.refresh(exec, A);
    EXPECT_TRUE(same_bits(applied(M, r), before));
  }
}

TEST(AmgModes, KeepTheirNearNullspaceInARefresh) {
  Default const exec;
  auto const host = Solder::elasticity_3d<double>(8);
  auto second = host;
  for (double& value : second.values) value *= 4;
  auto const modes = rows_to_device(exec, rigid_rows(8));
  MatrixOf const A(exec, host), B(exec, second);
  Amg M(exec, A, modes, {.block_size = 3});
  auto const r = random_vector<double>(host.rows, 3), before = applied(M, r);
  Kokkos::deep_copy(modes, 0.0);  // a copy was taken
  M.refresh(exec, B);
  auto const fourth = applied(M, r);
  for (std::size_t i = 0; i < r.size(); ++i)
    ASSERT_NEAR(4 * fourth[i], before[i], 1e-10 * norm(before)) << "row " << i;
  M.refresh(exec, A);
  EXPECT_TRUE(same_bits(applied(M, r), before));
  EXPECT_THROW(M.refresh(exec, MatrixOf(exec, Solder::elasticity_3d<double>(6))),
               std::invalid_argument);
  EXPECT_TRUE(same_bits(applied(M, r), before));
}

TEST(AmgModes, RefuseWhatCannotBe) {
  Default const exec;
  auto const host = Solder::elasticity_3d<double>(4);  // 225 rows
  MatrixOf const A(exec, host);
  for (int const size : {-3, 0, 2, 33, 1000}) {
    try {
      Amg(exec, A, {.block_size = size});
      ADD_FAILURE() << size;
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(std::string(error.what()).find("block_size"), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW(Amg(exec, A, {.block_size = 15}));
  auto const refuses = [&](std::size_t rows, std::size_t count, double entry) {
    DeviceVectors<Default> const modes("modes", rows, count);
    Kokkos::deep_copy(modes, entry);
    EXPECT_THROW(Amg(exec, A, modes, {.block_size = 3}), std::invalid_argument)
        << rows << " x " << count;
  };
  refuses(225, 0, 1);
  refuses(225, 33, 1);
  refuses(224, 3, 1);
  refuses(0, 3, 1);
  refuses(225, 3, std::numeric_limits<double>::quiet_NaN());
  refuses(225, 3, std::numeric_limits<double>::infinity());
}

/// Vectors of zeros span nothing: there is no coarse grid, and the sweeps alone precondition.
TEST(AmgModes, MayBeWorthNothing) {
  Default const exec;
  auto const host = Solder::elasticity_3d<double>(6);
  DeviceVectors<Default> const zeros("modes", host.rows, 2);
  Amg const M(exec, MatrixOf(exec, host), zeros, {.block_size = 3});
  EXPECT_EQ(M.levels().size(), 1u);
  EXPECT_EQ(solved_for_ones(host, M, Runner::launch).report.reason, Solder::Reason::converged);
}

}  // namespace
