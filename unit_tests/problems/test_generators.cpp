// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "well_formed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <solder/problems/generators.hpp>

namespace {

using SolderTest::expect_well_formed;
using Complex = std::complex<double>;
using KokkosComplex = Kokkos::complex<double>;

Complex plain(double value) { return value; }
Complex plain(float value) { return value; }
template <class Real>
Complex plain(Kokkos::complex<Real> value) {
  return {double(value.real()), double(value.imag())};
}

struct Dense {
  std::int64_t rows, columns;
  std::vector<Complex> values;
  Dense(std::int64_t m, std::int64_t n) : rows(m), columns(n), values(m * n) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return values.at(i * columns + j); }
  Complex operator()(std::int64_t i, std::int64_t j) const { return values.at(i * columns + j); }
};

template <class Scalar>
Dense dense(Solder::HostCsr<Scalar> const& a) {
  Dense result(a.rows, a.columns_count);
  for (std::int32_t i = 0; i < a.rows; ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      result(i, a.columns[k]) += plain(a.values[k]);
    }
  }
  return result;
}

void expect_near(Dense const& a, Dense const& b, double tolerance) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.columns, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      ASSERT_LE(std::abs(a(i, j) - b(i, j)), tolerance) << "entry (" << i << ", " << j << ")";
    }
  }
}

bool is_symmetric(Dense const& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      if (a(i, j) != a(j, i)) return false;
    }
  }
  return true;
}

bool is_hermitian(Dense const& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (a(i, j) != std::conj(a(j, i))) return false;
    }
  }
  return true;
}

/// Dense Cholesky of a Hermitian matrix; false at the first pivot that is not positive.
bool is_positive_definite(Dense a) {
  for (std::int64_t j = 0; j < a.rows; ++j) {
    double pivot = a(j, j).real();
    for (std::int64_t k = 0; k < j; ++k) pivot -= std::norm(a(j, k));
    if (!(pivot > 1e-12 * std::abs(a(j, j)))) return false;
    double const root = std::sqrt(pivot);
    a(j, j) = root;
    for (std::int64_t i = j + 1; i < a.rows; ++i) {
      Complex sum = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= a(i, k) * std::conj(a(j, k));
      a(i, j) = sum / root;
    }
  }
  return true;
}

TEST(TestOracle, CholeskyTellsDefiniteFromIndefinite) {
  Dense a(2, 2);
  a(0, 0) = a(1, 1) = 2.0;
  a(1, 0) = {0.0, 1.0};
  a(0, 1) = {0.0, -1.0};
  EXPECT_TRUE(is_hermitian(a));
  EXPECT_FALSE(is_symmetric(a));
  EXPECT_TRUE(is_positive_definite(a));
  a(1, 0) = {0.0, 3.0};
  EXPECT_FALSE(is_positive_definite(a));
}

// ---- all generators, all scalars -------------------------------------------------------------

template <class Scalar>
class GeneratorsTyped : public testing::Test {};
using Scalars = testing::Types<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;
TYPED_TEST_SUITE(GeneratorsTyped, Scalars);

TYPED_TEST(GeneratorsTyped, AreWellFormedAndOfTheSizeDocumented) {
  using Scalar = TypeParam;
  using namespace Solder;
  auto const check = [](HostCsr<Scalar> const& a, std::int64_t rows, std::int64_t longest_row) {
    expect_well_formed(a);
    EXPECT_EQ(a.rows, rows);
    EXPECT_EQ(a.columns_count, rows);
    std::int64_t longest = 0;
    for (std::int32_t i = 0; i < a.rows; ++i) {
      longest = std::max(longest, a.row_offsets[i + 1] - a.row_offsets[i]);
    }
    EXPECT_EQ(longest, longest_row);
  };
  check(fem_poisson_2d<Scalar>(1), 1, 1);
  check(fem_poisson_2d<Scalar>(15), 225, 7);
  check(poisson_3d_7pt<Scalar>(1), 1, 1);
  check(poisson_3d_7pt<Scalar>(4), 64, 7);
  check(poisson_3d_27pt<Scalar>(1), 1, 1);
  check(poisson_3d_27pt<Scalar>(4), 64, 27);
  check(convection_diffusion_2d<Scalar>(5), 25, 5);
  check(convection_diffusion_3d<Scalar>(4), 64, 7);
  check(elasticity_3d<Scalar>(2), 27, 21);
  check(elasticity_3d<Scalar>(6), 735, 45);
  check(random_spd<Scalar>(1, 1), 1, 1);
  check(random_spd<Scalar>(7, 1), 7, 1);
  check(block_lower_triangular<Scalar>(3, 10, 1.0), 30, 10);
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    check(helmholtz_2d<Scalar>(6), 36, 5);
    check(magnetic_laplacian_2d<Scalar>(6), 36, 5);
  }
}

TYPED_TEST(GeneratorsTyped, ValuesAgreeAcrossScalars) {
  using namespace Solder;
  auto const same = [](auto const& a, auto const& b) {
    EXPECT_EQ(a.columns, b.columns);
    expect_near(dense(a), dense(b), 1e-5);
  };
  same(fem_poisson_2d<TypeParam>(4), fem_poisson_2d<double>(4));
  same(poisson_3d_27pt<TypeParam>(3), poisson_3d_27pt<double>(3));
  same(convection_diffusion_3d<TypeParam>(3), convection_diffusion_3d<double>(3));
  same(elasticity_3d<TypeParam>(3), elasticity_3d<double>(3));
  same(random_spd<TypeParam>(30, 5, 3), random_spd<double>(30, 5, 3));
  same(block_lower_triangular<TypeParam>(2, 20, 0.2, 3),
       block_lower_triangular<double>(2, 20, 0.2, 3));
}

// ---- fem_poisson_2d --------------------------------------------------------------------------

/// P1 stiffness, triangle by triangle, from the nodes' coordinates.
Dense assemble_fem_2d(int m) {
  double const h = 1.0 / (m + 1);
  Dense a(m * m, m * m);
  auto const unknown = [&](int x, int y) {  // of node (x, y), 0 to m + 1; -1 on the boundary
    return x < 1 || x > m || y < 1 || y > m ? -1 : (y - 1) * m + x - 1;
  };
  auto const add_triangle = [&](std::array<std::array<int, 2>, 3> const& nodes) {
    double p[3][2];
    for (int v = 0; v < 3; ++v) {
      for (int d = 0; d < 2; ++d) p[v][d] = h * nodes[v][d];
    }
    double const twice_area =
        (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
    ASSERT_GT(twice_area, 0.0);
    double gradient[3][2];
    for (int v = 0; v < 3; ++v) {
      int const next = (v + 1) % 3, last = (v + 2) % 3;
      gradient[v][0] = (p[next][1] - p[last][1]) / twice_area;
      gradient[v][1] = (p[last][0] - p[next][0]) / twice_area;
    }
    for (int v = 0; v < 3; ++v) {
      for (int w = 0; w < 3; ++w) {
        int const i = unknown(nodes[v][0], nodes[v][1]), j = unknown(nodes[w][0], nodes[w][1]);
        if (i < 0 || j < 0) continue;
        double const flux_x = 2.0 * gradient[w][0] + 0.5 * gradient[w][1];
        double const flux_y = 0.5 * gradient[w][0] + 1.0 * gradient[w][1];
        a(i, j) += 0.5 * twice_area * (gradient[v][0] * flux_x + gradient[v][1] * flux_y);
      }
    }
  };
  for (int y = 0; y <= m; ++y) {
    for (int x = 0; x <= m; ++x) {
      add_triangle({{{x, y}, {x + 1, y}, {x + 1, y + 1}}});
      add_triangle({{{x, y}, {x + 1, y + 1}, {x, y + 1}}});
    }
  }
  return a;
}

TEST(FemPoisson2d, EqualsElementByElementAssembly) {
  for (int const m : {1, 2, 3, 7}) {
    expect_near(dense(Solder::fem_poisson_2d<double>(m)), assemble_fem_2d(m), 1e-12);
  }
}

TEST(FemPoisson2d, IsSymmetricPositiveDefiniteWithSevenEntriesARow) {
  auto const a = Solder::fem_poisson_2d<double>(15);
  EXPECT_EQ(a.rows, 225);
  EXPECT_EQ(a.nonzeros(), 15 * 15 + 4 * 15 * 14 + 2 * 14 * 14);
  EXPECT_TRUE(is_symmetric(dense(a)));
  EXPECT_TRUE(is_positive_definite(dense(a)));
}

TEST(FemPoisson2d, HasTheHandComputedTwoByTwoMatrix) {
  Dense expected(4, 4);
  double const rows[4][4] = {
      {5, -1.5, -.5, -.5}, {-1.5, 5, 0, -.5}, {-.5, 0, 5, -1.5}, {-.5, -.5, -1.5, 5}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) expected(i, j) = rows[i][j];
  }
  expect_near(dense(Solder::fem_poisson_2d<double>(2)), expected, 0.0);
}

// ---- elasticity_3d ---------------------------------------------------------------------------

/// Strain-displacement matrices, tetrahedron by tetrahedron: K = volume * B^T C B with Voigt's C.
Dense assemble_elasticity(int cells) {
  double const h = 1.0 / cells, young = 1.0, nu = 0.3;
  double const c = young / ((1 + nu) * (1 - 2 * nu));
  double stress[6][6] = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) stress[i][j] = i == j ? c * (1 - nu) : c * nu;
    stress[i + 3][i + 3] = c * (1 - 2 * nu) / 2;
  }
  int const nx = cells - 1, ny = cells + 1;
  std::int64_t const n = 3LL * nx * ny * ny;
  Dense a(n, n);
  auto const unknown = [&](std::array<int, 3> const& p) {
    return p[0] < 1 || p[0] > nx ? -1 : 3 * ((p[2] * ny + p[1]) * nx + p[0] - 1);
  };
  auto const det = [](std::array<double, 3> const& u, std::array<double, 3> const& v,
                      std::array<double, 3> const& w) {
    return u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) +
           u[2] * (v[0] * w[1] - v[1] * w[0]);
  };
  for (int cube = 0; cube < cells * cells * cells; ++cube) {
    std::array<int, 3> const low{cube % cells, cube / cells % cells, cube / cells / cells};
    std::array<int, 3> order{0, 1, 2};
    do {
      std::array<std::array<int, 3>, 4> node;
      node[0] = low;
      for (int v = 1; v < 4; ++v) {
        node[v] = node[v - 1];
        ++node[v][order[v - 1]];
      }
      // Gradients solve J g = e with the edges as rows of J: Cramer's rule.
      std::array<std::array<double, 3>, 3> edge;
      for (int v = 0; v < 3; ++v) {
        for (int d = 0; d < 3; ++d) edge[v][d] = h * (node[v + 1][d] - node[0][d]);
      }
      double const determinant = det(edge[0], edge[1], edge[2]);
      double gradient[4][3] = {};
      for (int v = 1; v < 4; ++v) {
        for (int d = 0; d < 3; ++d) {
          auto changed = edge;
          for (int r = 0; r < 3; ++r) changed[r][d] = r == v - 1 ? 1.0 : 0.0;
          gradient[v][d] = det(changed[0], changed[1], changed[2]) / determinant;
          gradient[0][d] -= gradient[v][d];
        }
      }
      double strain[6][12] = {};
      for (int v = 0; v < 4; ++v) {
        auto const* g = gradient[v];
        for (int d = 0; d < 3; ++d) strain[d][3 * v + d] = g[d];
        strain[3][3 * v] = g[1];
        strain[3][3 * v + 1] = g[0];
        strain[4][3 * v + 1] = g[2];
        strain[4][3 * v + 2] = g[1];
        strain[5][3 * v] = g[2];
        strain[5][3 * v + 2] = g[0];
      }
      for (int p = 0; p < 12; ++p) {
        for (int q = 0; q < 12; ++q) {
          int const i = unknown(node[p / 3]), j = unknown(node[q / 3]);
          if (i < 0 || j < 0) continue;
          double energy = 0;
          for (int s = 0; s < 6; ++s) {
            for (int t = 0; t < 6; ++t) energy += strain[s][p] * stress[s][t] * strain[t][q];
          }
          a(i + p % 3, j + q % 3) += std::abs(determinant) / 6 * energy;
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return a;
}

TEST(Elasticity3d, EqualsElementByElementAssembly) {
  for (int const cells : {2, 3, 5}) {
    expect_near(dense(Solder::elasticity_3d<double>(cells)), assemble_elasticity(cells), 1e-12);
  }
}

TEST(Elasticity3d, IsExactlySymmetricAndPositiveDefinite) {
  auto const a = dense(Solder::elasticity_3d<double>(4));
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_TRUE(is_positive_definite(a));
}

TEST(Elasticity3d, HasTheDocumentedSizesAndFullBlocks) {
  for (auto const& [cells, rows] : {std::pair{6, 735}, std::pair{12, 5577}, std::pair{24, 43125}}) {
    auto const a = Solder::elasticity_3d<float>(cells);
    EXPECT_EQ(a.rows, rows);
    for (std::int32_t i = 0; i < a.rows; i += 3) {
      auto const length = a.row_offsets[i + 1] - a.row_offsets[i];
      ASSERT_EQ(length % 3, 0);
      ASSERT_EQ(a.row_offsets[i + 2] - a.row_offsets[i + 1], length);
      ASSERT_EQ(a.row_offsets[i + 3] - a.row_offsets[i + 2], length);
      for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; k += 3) {
        ASSERT_EQ(a.columns[k] % 3, 0);
        ASSERT_EQ(a.columns[k + 2], a.columns[k] + 2);
      }
    }
  }
}

// ---- finite differences ----------------------------------------------------------------------

/// A dense stencil matrix by brute force over all pairs of nodes of an nx x ny x nz grid.
template <class Entry>
Dense all_pairs(int nx, int ny, int nz, Entry const& entry) {
  int const n = nx * ny * nz;
  Dense a(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      int const dx = j % nx - i % nx, dy = j / nx % ny - i / nx % ny,
                dz = j / nx / ny - i / nx / ny;
      a(i, j) = entry(dx, dy, dz, i / nx % ny);
    }
  }
  return a;
}

TEST(Poisson3d, SevenPointsAgreeWithPlainLoops) {
  auto const a = Solder::poisson_3d_7pt<double>(4);
  auto const expected = all_pairs(4, 4, 4, [](int dx, int dy, int dz, int) {
    int const distance = std::abs(dx) + std::abs(dy) + std::abs(dz);
    return Complex(distance == 0 ? 6.0 : distance == 1 ? -1.0 : 0.0);
  });
  expect_near(dense(a), expected, 0.0);
  EXPECT_EQ(a.nonzeros(), 64 + 6 * 48);
  EXPECT_TRUE(is_positive_definite(dense(a)));
}

TEST(Poisson3d, TwentySevenPointsAgreeWithPlainLoops) {
  auto const a = Solder::poisson_3d_27pt<double>(4);
  auto const expected = all_pairs(4, 4, 4, [](int dx, int dy, int dz, int) {
    int const distance = std::max({std::abs(dx), std::abs(dy), std::abs(dz)});
    return Complex(distance == 0 ? 26.0 : distance == 1 ? -1.0 : 0.0);
  });
  expect_near(dense(a), expected, 0.0);
  EXPECT_EQ(a.nonzeros(), 10 * 10 * 10);
  EXPECT_TRUE(is_positive_definite(dense(a)));
}

/// A linear u gives h^2 velocity . grad(u) at nodes without a boundary neighbour, both schemes;
/// with the central one a quadratic u is exact too.
TEST(ConvectionDiffusion, DifferencesAreConsistentInsideThreeDimensions) {
  int const m = 5;
  double const h = 1.0 / (m + 1);
  std::array<double, 3> const velocity{30.0, -7.0, 2.0}, slope{1.0, 10.0, -3.0};
  for (auto const scheme : {Solder::Convection::upwind, Solder::Convection::central}) {
    auto const a = dense(Solder::convection_diffusion_3d<double>(m, velocity, scheme));
    bool const central = scheme == Solder::Convection::central;
    auto const u = [&](int node) {
      double const x = (node % m + 1) * h, y = (node / m % m + 1) * h, z = (node / m / m + 1) * h;
      return slope[0] * x + slope[1] * y + slope[2] * z + (central ? 4.0 * y * y : 0.0);
    };
    for (int z = 1; z < m - 1; ++z) {
      for (int y = 1; y < m - 1; ++y) {
        for (int x = 1; x < m - 1; ++x) {
          int const node = (z * m + y) * m + x;
          double image = 0;
          for (int j = 0; j < m * m * m; ++j) image += a(node, j).real() * u(j);
          double const u_y = slope[1] + (central ? 8.0 * (y + 1) * h : 0.0);
          double const laplace = central ? 8.0 : 0.0;
          double const expected =
              -laplace + velocity[0] * slope[0] + velocity[1] * u_y + velocity[2] * slope[2];
          EXPECT_NEAR(image, h * h * expected, 1e-12);
        }
      }
    }
  }
}

TEST(ConvectionDiffusion, UpwindRowsAgreeWithPlainLoops) {
  double const h = 0.25;  // three nodes a side
  auto const a = dense(Solder::convection_diffusion_2d<double>(3, {8.0, -4.0}));
  auto const expected = all_pairs(3, 3, 1, [&](int dx, int dy, int, int) -> Complex {
    if (dx == 0 && dy == 0) return 4.0 + h * 12.0;
    if (dx == -1 && dy == 0) return -1.0 - h * 8.0;  // against the flow
    if (dx == 0 && dy == 1) return -1.0 - h * 4.0;
    return std::abs(dx) + std::abs(dy) == 1 ? -1.0 : 0.0;
  });
  expect_near(a, expected, 1e-14);
  EXPECT_FALSE(is_symmetric(a));
}

TEST(ConvectionDiffusion, IsThePoissonMatrixWithoutFlow) {
  auto const still = Solder::convection_diffusion_3d<double>(4, {0.0, 0.0, 0.0});
  expect_near(dense(still), dense(Solder::poisson_3d_7pt<double>(4)), 0.0);
  EXPECT_TRUE(is_symmetric(dense(Solder::convection_diffusion_2d<double>(4, {0.0, 0.0}))));
}

TEST(Helmholtz2d, AgreesWithPlainLoopsAndIsComplexSymmetric) {
  double const wavenumber = 12.0, damping = 0.25, h = 1.0 / 7.0;
  auto const a = dense(Solder::helmholtz_2d<KokkosComplex>(6, wavenumber, damping));
  auto const expected = all_pairs(6, 6, 1, [&](int dx, int dy, int, int) -> Complex {
    int const distance = std::abs(dx) + std::abs(dy);
    if (distance == 0) return 4.0 - h * h * wavenumber * wavenumber * Complex(1.0, -damping);
    return distance == 1 ? -1.0 : 0.0;
  });
  expect_near(a, expected, 1e-13);
  EXPECT_GT(a(0, 0).imag(), 0.1);
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_FALSE(is_hermitian(a));
}

TEST(MagneticLaplacian2d, AgreesWithPlainLoopsAndIsHermitianPositiveDefinite) {
  double const flux = 0.3;
  auto const a = dense(Solder::magnetic_laplacian_2d<KokkosComplex>(7, flux));
  auto const expected = all_pairs(7, 7, 1, [&](int dx, int dy, int, int y) -> Complex {
    if (dx == 0 && dy == 0) return 4.0;
    if (std::abs(dx) == 1 && dy == 0) {
      return -std::polar(1.0, dx * 2.0 * std::numbers::pi * flux * y);
    }
    return dx == 0 && std::abs(dy) == 1 ? -1.0 : 0.0;
  });
  expect_near(a, expected, 1e-13);
  EXPECT_TRUE(is_hermitian(a));
  EXPECT_FALSE(is_symmetric(a));
  EXPECT_TRUE(is_positive_definite(a));
}

TEST(MagneticLaplacian2d, EveryCellHoldsTheSameFlux) {
  int const m = 6;
  double const flux = 0.17;
  auto const a = dense(Solder::magnetic_laplacian_2d<KokkosComplex>(m, flux));
  for (int y = 0; y + 1 < m; ++y) {
    for (int x = 0; x + 1 < m; ++x) {
      int const p = y * m + x, east = p + 1, north = p + m, far = north + 1;
      Complex const loop = a(p, north) * a(north, far) * a(far, east) * a(east, p);
      EXPECT_NEAR(std::abs(loop - std::polar(1.0, 2.0 * std::numbers::pi * flux)), 0.0, 1e-13);
    }
  }
}

// ---- random ----------------------------------------------------------------------------------

TEST(RandomSpd, IsSymmetricDominantAndAsLongAsAsked) {
  auto const a = Solder::random_spd<double>(300, 8, 5);
  auto const d = dense(a);
  EXPECT_TRUE(is_symmetric(d));
  EXPECT_TRUE(is_positive_definite(d));
  for (int i = 0; i < 300; ++i) {
    double others = 0;
    for (int j = 0; j < 300; ++j) others += i == j ? 0.0 : std::abs(d(i, j));
    EXPECT_GE(d(i, i).real(), others + 1.0 - 1e-12);
  }
  double const average = double(a.nonzeros()) / 300;
  EXPECT_LE(average, 8.0);
  EXPECT_GE(average, 7.6);
}

TEST(RandomSpd, FollowsItsSeed) {
  auto const a = Solder::random_spd<double>(100, 5, 1), b = Solder::random_spd<double>(100, 5, 1);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
  EXPECT_NE(a.columns, Solder::random_spd<double>(100, 5, 2).columns);
}

/// FNV-1a over the numbers: the same on every platform, or the generator has changed.
template <class Scalar>
std::uint64_t fingerprint(Solder::HostCsr<Scalar> const& a) {
  std::uint64_t hash = 14695981039346656037u;
  auto const add = [&](std::uint64_t number) { hash = (hash ^ number) * 1099511628211u; };
  for (auto const offset : a.row_offsets) add(std::uint64_t(offset));
  for (auto const column : a.columns) add(std::uint64_t(column));
  for (auto const value : a.values) add(std::uint64_t(std::int64_t(std::ldexp(value, 48))));
  return hash;
}

TEST(RandomGenerators, GiveTheSameNumbersOnEveryPlatform) {
  EXPECT_EQ(fingerprint(Solder::random_spd<double>(1000, 9, 42)), 14430681156945862118u);
  EXPECT_EQ(fingerprint(Solder::block_lower_triangular<double>(4, 250, 0.02, 42)),
            4825543586484269092u);
}

/// The number of connected components of the matrix's undirected graph.
template <class Scalar>
int count_components(Solder::HostCsr<Scalar> const& a) {
  std::vector<int> parent(a.rows);
  std::iota(parent.begin(), parent.end(), 0);
  std::function<int(int)> const root = [&](int i) {
    return parent[i] == i ? i : parent[i] = root(parent[i]);
  };
  int count = a.rows;
  for (int i = 0; i < a.rows; ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      int const p = root(i), q = root(a.columns[k]);
      if (p == q) continue;
      parent[p] = q;
      --count;
    }
  }
  return count;
}

TEST(BlockLowerTriangular, HasConnectedDisjointLowerTriangularBlocks) {
  int const components = 16, size = 250;
  auto const a = Solder::block_lower_triangular<double>(components, size, 0.03, 9);
  ASSERT_EQ(a.rows, components * size);
  EXPECT_EQ(count_components(a), components);
  for (int i = 0; i < a.rows; ++i) {
    auto const begin = a.row_offsets[i], end = a.row_offsets[i + 1];
    ASSERT_LT(begin, end);
    ASSERT_EQ(a.columns[end - 1], i) << "the diagonal is the last entry of a row";
    ASSERT_EQ(a.columns[begin] / size, i / size) << "row " << i << " leaves its block";
    EXPECT_GE(a.values[end - 1], 1.0);
    EXPECT_LT(a.values[end - 1], 2.0);
    double others = 0;
    for (auto k = begin; k + 1 < end; ++k) others += std::abs(a.values[k]);
    EXPECT_LE(others, 1.0);
  }
  double const places = components * size * (size - 1) / 2.0;
  EXPECT_NEAR(double(a.nonzeros() - a.rows) / places, 0.03, 0.001);
}

TEST(BlockLowerTriangular, ReachesBothEndsOfTheDensity) {
  auto const full = Solder::block_lower_triangular<double>(2, 30, 1.0, 1);
  EXPECT_EQ(full.nonzeros(), 2 * 30 * 31 / 2);
  auto const tree = Solder::block_lower_triangular<double>(3, 40, 0.0, 1);
  EXPECT_EQ(tree.nonzeros(), 3 * (40 + 39));
  EXPECT_EQ(count_components(tree), 3);
}

// ---- bad parameters --------------------------------------------------------------------------

/// A part of the rows is those rows of the whole, to the bit.
template <class Scalar>
void expect_same_rows(std::function<Solder::HostCsr<Scalar>(Solder::RowRange const&)> const& make) {
  auto const all = make({});
  std::int64_t const n = all.rows;
  for (auto const& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, n},
                                    {0, n / 3},
                                    {n / 3, n - 1},
                                    {n - 1, n},
                                    {n / 2, n / 2},
                                    {n, n},
                                    {n / 2, n + 100}}) {
    auto const part = make({first, last});
    std::int64_t const end = std::min(last, n);
    ASSERT_EQ(part.rows, end - first);
    ASSERT_EQ(part.columns_count, all.columns_count);
    expect_well_formed(part);
    std::int64_t const begin = all.row_offsets[first];
    ASSERT_EQ(part.nonzeros(), all.row_offsets[end] - begin);
    for (std::int64_t i = first; i <= end; ++i)
      ASSERT_EQ(part.row_offsets[i - first], all.row_offsets[i] - begin);
    for (std::int64_t k = 0; k < part.nonzeros(); ++k) {
      ASSERT_EQ(part.columns[k], all.columns[begin + k]);
      ASSERT_EQ(part.values[k], all.values[begin + k]);
    }
  }
}

TEST(RowRanges, AreThoseRowsOfTheWhole) {
  using Range = Solder::RowRange;
  expect_same_rows<double>([](Range const& r) { return Solder::fem_poisson_2d<double>(7, r); });
  expect_same_rows<double>([](Range const& r) { return Solder::poisson_3d_7pt<double>(4, r); });
  expect_same_rows<double>([](Range const& r) { return Solder::poisson_3d_27pt<double>(4, r); });
  expect_same_rows<double>([](Range const& r) { return Solder::elasticity_3d<double>(4, r); });
  expect_same_rows<double>([](Range const& r) {
    return Solder::convection_diffusion_2d<double>(6, {3, -2}, Solder::Convection::central, r);
  });
  expect_same_rows<double>([](Range const& r) {
    return Solder::convection_diffusion_3d<double>(4, {3, 2, 1}, Solder::Convection::upwind, r);
  });
  expect_same_rows<KokkosComplex>(
      [](Range const& r) { return Solder::helmholtz_2d<KokkosComplex>(6, 5, 0.1, r); });
  expect_same_rows<KokkosComplex>(
      [](Range const& r) { return Solder::magnetic_laplacian_2d<KokkosComplex>(6, 0.1, r); });
}

TEST(RandomNumbers, CanBeSkipped) {
  Solder::Impl::SplitMix one(7), other(7);
  for (int k = 0; k < 5; ++k) one.bits();
  other.skip(5);
  EXPECT_EQ(one.bits(), other.bits());
}

TEST(GeneratorErrors, NameTheGeneratorAndTheProblem) {
  auto const expect_error = [](auto const& make, std::string const& words) {
    try {
      make();
      ADD_FAILURE() << "no error; expected: " << words;
    } catch (Solder::InputError const& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  using namespace Solder;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  expect_error([] { fem_poisson_2d<double>(0); },
               "fem_poisson_2d: size is 0; it must be at least 1");
  expect_error([] { fem_poisson_2d<double>(-5); }, "size is -5");
  expect_error([] { fem_poisson_2d<double>(46341); }, "more than 2147483647 rows");
  expect_error([] { fem_poisson_2d<double>(std::int64_t{1} << 62); }, "more than 2147483647 rows");
  expect_error([] { poisson_3d_7pt<double>(1291); }, "more than 2147483647 rows");
  expect_error([] { poisson_3d_7pt<double>(0); }, "poisson_3d_7pt: size is 0");
  expect_error([] { poisson_3d_27pt<double>(0); }, "poisson_3d_27pt: size is 0");
  expect_error([] { elasticity_3d<double>(1); }, "elasticity_3d: size is 1; it must be at least 2");
  expect_error([] { elasticity_3d<double>(900); }, "more than 2147483647 rows");
  expect_error([] { convection_diffusion_2d<double>(0); }, "convection_diffusion_2d: size is 0");
  expect_error([] { convection_diffusion_2d<double>(3, {inf, 0.0}); }, "velocity must be finite");
  expect_error([] { convection_diffusion_3d<double>(3, {0.0, 0.0, nan}); }, "velocity");
  expect_error([] { helmholtz_2d<KokkosComplex>(0); }, "helmholtz_2d: size is 0");
  expect_error([] { helmholtz_2d<KokkosComplex>(3, nan); }, "wavenumber");
  expect_error([] { helmholtz_2d<KokkosComplex>(3, 1.0, -0.1); }, "damping");
  expect_error([] { magnetic_laplacian_2d<KokkosComplex>(0); }, "magnetic_laplacian_2d: size is 0");
  expect_error([] { magnetic_laplacian_2d<KokkosComplex>(3, inf); }, "flux must be finite");
  expect_error([] { random_spd<double>(0, 1); }, "random_spd: size is 0");
  expect_error([] { random_spd<double>(5, 0); }, "nonzeros per row is 0");
  expect_error([] { random_spd<double>(5, 6); }, "6 nonzeros per row do not fit");
  expect_error([] { random_spd<double>(3000000000, 2); }, "more than 2147483647 rows");
  expect_error([] { block_lower_triangular<double>(0, 5, 0.1); }, "components is 0");
  expect_error([] { block_lower_triangular<double>(5, 0, 0.1); }, "size is 0");
  expect_error([] { block_lower_triangular<double>(5, 5, 1.5); },
               "density must lie between 0 and 1");
  expect_error([] { block_lower_triangular<double>(5, 5, nan); }, "density");
  expect_error([] { block_lower_triangular<double>(70000, 70000, 0.1); }, "more than 2147483647");
}

}  // namespace
