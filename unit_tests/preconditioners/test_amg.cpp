// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Smoothed aggregation multigrid, from the sparse product to solves, against plain loops.
#include "../solvers/bicgstab.hpp"
#include "../solvers/cg.hpp"
#include "../solvers/gmres.hpp"
#include "../solvers/idr.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <solder/preconditioners/amg.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;
using Default = Kokkos::DefaultExecutionSpace;
using ComplexDouble = Kokkos::complex<double>;
using Solder::Amg;
using Solder::AmgOptions;
using Solder::AmgSmoother;
using Solder::Phase;
using Vector = std::vector<Complex>;

// ---- Plain loops ----

template <class Scalar>
Vector plain(std::vector<Scalar> const& v) {
  Vector result;
  for (auto const& entry : v) result.push_back(SolderTest::plain(entry));
  return result;
}

/// A matrix as maps from columns to values, duplicates summed.
struct Plain {
  std::int32_t columns = 0;
  std::vector<std::map<std::int32_t, Complex>> rows;

  Plain(std::int32_t n, std::int32_t m) : columns(m), rows(n) {}
  template <class Scalar>
  explicit Plain(HostCsr<Scalar> const& A) : Plain(A.rows, A.columns_count) {
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        rows[i][A.columns[k]] += SolderTest::plain(A.values[k]);
  }
  template <class Scalar, class Exec>
  explicit Plain(CsrMatrix<Scalar, Exec> const& A) : Plain(A.rows(), A.columns()) {
    Exec const exec;
    auto const offsets = to_host(exec, A.row_offsets());
    auto const indices = to_host(exec, A.column_indices());
    auto const values = to_host(exec, A.values());
    for (std::int32_t i = 0; i < A.rows(); ++i)
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
        rows[i][indices[k]] += SolderTest::plain(values[k]);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(rows.size()); }
  Complex at(std::int32_t i, std::int32_t j) const {
    auto const found = rows[i].find(j);
    return found == rows[i].end() ? 0 : found->second;
  }
  Complex row_sum(std::int32_t i) const {
    Complex sum = 0;
    for (auto const& [j, a] : rows[i]) sum += a;
    return sum;
  }
  double largest() const {
    double most = 0;
    for (auto const& row : rows)
      for (auto const& [j, a] : row) most = std::max(most, std::abs(a));
    return most;
  }
  Vector times(Vector const& x) const {
    Vector y(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (auto const& [j, a] : rows[i]) y[i] += a * x[j];
    return y;
  }
  Plain times(Plain const& B) const {
    Plain C(size(), B.columns);
    for (std::int32_t i = 0; i < size(); ++i)
      for (auto const& [j, a] : rows[i])
        for (auto const& [k, b] : B.rows[j]) C.rows[i][k] += a * b;
    return C;
  }
  Plain adjoint() const {
    Plain B(columns, size());
    for (std::int32_t i = 0; i < size(); ++i)
      for (auto const& [j, a] : rows[i]) B.rows[j][i] = std::conj(a);
    return B;
  }
};

/// Entries agree, missing ones being zero.
void expect_near(Plain const& A, Plain const& B, double bound) {
  ASSERT_EQ(A.size(), B.size());
  ASSERT_EQ(A.columns, B.columns);
  for (std::int32_t i = 0; i < A.size(); ++i) {
    for (auto const& [j, a] : A.rows[i])
      ASSERT_LE(std::abs(a - B.at(i, j)), bound) << "row " << i << ", column " << j;
    for (auto const& [j, b] : B.rows[i])
      ASSERT_LE(std::abs(b - A.at(i, j)), bound) << "row " << i << ", column " << j;
  }
}

Complex inner(Vector const& a, Vector const& b) {
  Complex sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(a[i]) * b[i];
  return sum;
}
double norm_of(Vector const& a) { return std::sqrt(inner(a, a).real()); }

// ---- Matrices ----

/// Columns in any order and with duplicates, every fourth row empty, row 1 of `longest` entries.
template <class Scalar>
HostCsr<Scalar> random_matrix(std::int32_t rows, std::int32_t columns, int longest, unsigned seed) {
  std::mt19937 generator(seed);
  HostCsr<Scalar> A{rows, columns, {0}, {}, {}};
  for (std::int32_t i = 0; i < rows; ++i) {
    int const length = columns == 0 || i % 4 == 3 ? 0 : i == 1 ? longest : int(generator() % 12);
    for (int k = 0; k < length; ++k)
      A.columns.push_back(static_cast<std::int32_t>(generator() % columns));
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<Scalar>(A.columns.size(), seed + 1);
  return A;
}

/// The graph Laplacian of edges (i, j, weight): each row sums to 0.
HostCsr<double> graph_laplacian(
    std::int32_t n, std::vector<std::tuple<std::int32_t, std::int32_t, double>> const& edges) {
  Solder::TripletBuilder<double> builder;
  for (auto const& [i, j, weight] : edges) {
    builder.add(i, j, -weight);
    builder.add(j, i, -weight);
    builder.add(i, i, weight);
    builder.add(j, j, weight);
  }
  return builder.build(n, n);
}
HostCsr<double> path_laplacian(std::int32_t n, double irregular = 0) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t i = 0; i + 1 < n; ++i)
    edges.push_back({i, i + 1, 1 + irregular * std::abs(std::sin(1.0 + i))});
  return graph_laplacian(n, edges);
}
HostCsr<double> grid_laplacian(std::int32_t side) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
  for (std::int32_t y = 0; y < side; ++y)
    for (std::int32_t x = 0; x < side; ++x) {
      if (x + 1 < side) edges.push_back({y * side + x, y * side + x + 1, 1});
      if (y + 1 < side) edges.push_back({y * side + x, (y + 1) * side + x, 1});
    }
  return graph_laplacian(side * side, edges);
}

/// diag(A, scale B).
HostCsr<double> side_by_side(HostCsr<double> const& A, HostCsr<double> const& B, double scale) {
  auto C = A;
  C.rows = C.columns_count = A.rows + B.rows;
  for (std::int32_t i = 1; i <= B.rows; ++i)
    C.row_offsets.push_back(A.nonzeros() + B.row_offsets[i]);
  for (auto const& column : B.columns) C.columns.push_back(A.rows + column);
  for (auto const& value : B.values) C.values.push_back(scale * value);
  return C;
}

HostCsr<double> negated(HostCsr<double> A) {
  for (double& value : A.values) value = -value;
  return A;
}

double* entry_of(HostCsr<double>& A, std::int32_t i, std::int32_t j) {
  for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
    if (A.columns[k] == j) return &A.values[k];
  return nullptr;
}

template <class Scalar>
struct Named {
  std::string name;
  HostCsr<Scalar> A;
};

/// A few hundred rows, columns ascending, no duplicates.
template <class Scalar>
std::vector<Named<Scalar>> matrices() {
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return {{"magnetic", Solder::magnetic_laplacian_2d<Scalar>(18, 0.1)},
            {"random", Solder::random_spd<Scalar>(300, 7, 3)}};
  else
    return {{"fem_poisson_2d", Solder::fem_poisson_2d<Scalar>(20)},
            {"poisson_3d_27pt", Solder::poisson_3d_27pt<Scalar>(8)},
            {"random", Solder::random_spd<Scalar>(300, 9, 1)},
            {"random, with rows that have a diagonal only", Solder::random_spd<Scalar>(300, 2, 2)},
            {"path, Neumann", path_laplacian(200, 0.7)},
            {"grid, Neumann", grid_laplacian(15)}};
}

// ---- The sparse product ----

template <class Scalar, class Exec>
void check_product(Exec const& exec, HostCsr<Scalar> const& X_host, HostCsr<Scalar> const& Y_host) {
  CsrMatrix<Scalar, Exec> const X(exec, X_host), Y(exec, Y_host);
  auto const Z = Solder::product(exec, X, Y);
  ASSERT_EQ(Z.rows(), X_host.rows);
  ASSERT_EQ(Z.columns(), Y_host.columns_count);
  auto const offsets = to_host(exec, Z.row_offsets());
  auto const columns = to_host(exec, Z.column_indices());
  auto const values = to_host(exec, Z.values());
  ASSERT_EQ(offsets.size(), std::size_t(X_host.rows) + 1);
  ASSERT_EQ(offsets[0], 0);
  for (std::int32_t i = 0; i < X_host.rows; ++i) {
    struct Sum {
      Complex value = 0;
      double sizes = 0;
      int terms = 0;
    };
    std::map<std::int32_t, Sum> expected;
    for (auto k = X_host.row_offsets[i]; k < X_host.row_offsets[i + 1]; ++k)
      for (auto q = Y_host.row_offsets[X_host.columns[k]];
           q < Y_host.row_offsets[X_host.columns[k] + 1]; ++q) {
        Complex const term =
            SolderTest::plain(X_host.values[k]) * SolderTest::plain(Y_host.values[q]);
        Sum& sum = expected[Y_host.columns[q]];
        sum.value += term;
        sum.sizes += std::abs(term);
        ++sum.terms;
      }
    ASSERT_EQ(std::size_t(offsets[i + 1] - offsets[i]), expected.size()) << "row " << i;
    auto k = offsets[i];
    for (auto const& [column, sum] : expected) {
      ASSERT_EQ(columns[k], column) << "row " << i;
      ASSERT_LE(std::abs(SolderTest::plain(values[k]) - sum.value),
                (sum.terms + 3) * epsilon<Scalar> * sum.sizes)
          << "row " << i << ", column " << column;
      ++k;
    }
  }
  auto const again = Solder::product(exec, X, Y);
  EXPECT_TRUE(same_bits(to_host(exec, again.row_offsets()), offsets));
  EXPECT_TRUE(same_bits(to_host(exec, again.column_indices()), columns));
  EXPECT_TRUE(same_bits(to_host(exec, again.values()), values));
}

template <class Scalar, class Exec>
void check_products(Exec const& exec) {
  check_product(exec, random_matrix<Scalar>(90, 150, 700, 1),
                random_matrix<Scalar>(150, 70, 300, 2));
  check_product(exec, random_matrix<Scalar>(400, 300, 500, 3),
                random_matrix<Scalar>(300, 2000, 20, 4));
  check_product(exec, random_matrix<Scalar>(2, 40, 9, 5), random_matrix<Scalar>(40, 1, 9, 6));
  for (int const n : {0, 5})
    for (int const k : {0, 5})
      for (int const m : {0, 5})
        check_product(exec, random_matrix<Scalar>(n, k, 3, 7), random_matrix<Scalar>(k, m, 3, 8));
}

template <class Exec>
struct AmgOn : testing::Test {};
TYPED_TEST_SUITE(AmgOn, Spaces::Types, TypeName);

TYPED_TEST(AmgOn, ProductIsThatOfPlainLoops) {
  TypeParam const exec;
  check_products<float>(exec);
  check_products<double>(exec);
  check_products<ComplexDouble>(exec);
  check_product(exec, Solder::fem_poisson_2d<double>(30), Solder::fem_poisson_2d<double>(30));
}

/// Rows of all lengths around powers of two, long and short ones by turns.
TYPED_TEST(AmgOn, ProductHasRowsOfEveryLength) {
  TypeParam const exec;
  HostCsr<double> Y{0, 3000, {0}, {}, {}};
  for (int const size : {64, 96, 128, 224, 256, 512, 992, 1024, 2048, 2990})
    for (int length = size - 3; length <= size + 3; ++length)
      for (int const entries : {length, length % 7}) {
        for (int k = 0; k < entries; ++k) Y.columns.push_back(k * 1009 % 3000);
        Y.row_offsets.push_back(static_cast<std::int64_t>(Y.columns.size()));
        ++Y.rows;
      }
  Y.values = random_vector<double>(Y.columns.size(), 9);
  check_product(exec, diagonal(random_vector<double>(Y.rows, 10)), Y);
}

TYPED_TEST(AmgOn, ProductRefusesWhatDoesNotFit) {
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const X(exec, random_matrix<double>(3, 4, 2, 1)),
      Y(exec, random_matrix<double>(3, 4, 2, 2));
  EXPECT_THROW(Solder::product(exec, X, Y), std::invalid_argument);
}

// ---- Aggregates ----

/// Strong couplings and aggregates of plain loops.
template <class Scalar>
struct PlainAggregates {
  std::vector<std::vector<std::int32_t>> strong;
  std::vector<std::int32_t> roots;  ///< ascending

  PlainAggregates(HostCsr<Scalar> const& A, double strength) : strong(A.rows) {
    std::vector<double> largest(A.rows);
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        if (A.columns[k] != i)
          largest[i] = std::max(largest[i], std::abs(SolderTest::plain(A.values[k])));
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
        auto const j = A.columns[k];
        double const size = std::abs(SolderTest::plain(A.values[k]));
        if (j != i && size > 0 && size >= strength * std::sqrt(largest[i] * largest[j]))
          strong[i].push_back(j);
      }
    // Greedy, those of the largest keys first.
    std::vector<std::int32_t> order;
    for (std::int32_t i = 0; i < A.rows; ++i)
      if (!strong[i].empty()) order.push_back(i);
    std::sort(order.begin(), order.end(), [](std::int32_t i, std::int32_t j) {
      return amg::Candidate::key(1, i) > amg::Candidate::key(1, j);
    });
    std::vector<bool> covered(A.rows);
    for (auto const i : order) {
      if (covered[i]) continue;
      roots.push_back(i);
      covered[i] = true;
      for (auto const j : strong[i]) {
        covered[j] = true;
        for (auto const k : strong[j]) covered[k] = true;
      }
    }
    std::sort(roots.begin(), roots.end());
  }
};

/// What the set-up makes first.
template <class Scalar, class Exec>
struct Made {
  CsrMatrix<Scalar, Exec> A;
  decltype(amg::largest_couplings(Exec(), A)) sizes;
  amg::Coupling<Scalar> coupling;
  amg::Graph<Exec> graph;
  amg::Aggregates<Exec> aggregates;

  Made(Exec const& exec, HostCsr<Scalar> const& host, double strength)
      : A(exec, host),
        sizes(amg::largest_couplings(exec, A)),
        coupling{A.device_operator(), sizes.data(), strength},
        graph(amg::strong_graph(exec, coupling)),
        aggregates(amg::aggregate(exec, coupling, graph)) {}
};

template <class Scalar, class Exec>
void check_aggregates(Exec const& exec, HostCsr<Scalar> const& host, double strength) {
  Made<Scalar, Exec> const made(exec, host, strength);
  PlainAggregates<Scalar> const expected(host, strength);
  auto const offsets = to_host(exec, made.graph.offsets);
  auto const columns = to_host(exec, made.graph.columns);
  ASSERT_EQ(offsets.size(), std::size_t(host.rows) + 1);
  for (std::int32_t i = 0; i < host.rows; ++i)
    ASSERT_EQ(
        std::vector<std::int32_t>(columns.begin() + offsets[i], columns.begin() + offsets[i + 1]),
        expected.strong[i])
        << "row " << i;
  ASSERT_EQ(std::size_t(offsets.back()), columns.size());

  auto const of_row = to_host(exec, made.aggregates.of_row);
  ASSERT_EQ(of_row.size(), std::size_t(host.rows));
  ASSERT_EQ(std::size_t(made.aggregates.count), expected.roots.size());
  std::vector<std::int32_t> near(host.rows, -1);  // the aggregates of the roots and around them
  for (std::size_t r = 0; r < expected.roots.size(); ++r) {
    near[expected.roots[r]] = static_cast<std::int32_t>(r);
    for (auto const j : expected.strong[expected.roots[r]]) {
      ASSERT_EQ(near[j], -1);
      near[j] = static_cast<std::int32_t>(r);
    }
  }
  Plain const A(host);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    if (near[i] >= 0 || expected.strong[i].empty()) {
      ASSERT_EQ(of_row[i], near[i]) << "row " << i;
      continue;
    }
    double strongest = 0, mine = -1;
    for (auto const j : expected.strong[i])
      if (near[j] >= 0) {
        strongest = std::max(strongest, std::abs(A.at(i, j)));
        if (near[j] == of_row[i]) mine = std::max(mine, std::abs(A.at(i, j)));
      }
    ASSERT_GE(mine, strongest * (1 - 1e-14)) << "row " << i;
  }
  auto const again = amg::aggregate(exec, made.coupling, made.graph);
  EXPECT_EQ(to_host(exec, again.of_row), of_row);
}

template <class Scalar, class Exec>
void check_all_aggregates(Exec const& exec) {
  for (auto const& [name, A] : matrices<Scalar>())
    for (double const strength : {0.0, 0.25, 0.6, 0.9}) {
      SCOPED_TRACE(name + ", strength " + std::to_string(strength));
      check_aggregates(exec, A, strength);
    }
}

TYPED_TEST(AmgOn, AggregatesAreThoseOfTheGreedyOrder) {
  TypeParam const exec;
  check_all_aggregates<double>(exec);
  check_all_aggregates<ComplexDouble>(exec);
  check_aggregates(exec, diagonal<double>({1, 2, 3}), 0.25);
  check_aggregates(exec, diagonal<double>({}), 0.25);
  check_aggregates(exec, HostCsr<double>{3, 3, {0, 0, 0, 0}, {}, {}}, 0.25);
}

/// The largest coupling of both rows is strong at every strength that is allowed.
TYPED_TEST(AmgOn, TheLargestCouplingsAreStrong) {
  TypeParam const exec;
  auto const host = Solder::magnetic_laplacian_2d<ComplexDouble>(12, 0.1);
  Made<ComplexDouble, TypeParam> const made(exec, host, 1 - 1e-13);
  EXPECT_EQ(made.graph.columns.extent(0), std::size_t(host.nonzeros() - host.rows));
  Solder::TripletBuilder<ComplexDouble> builder;
  for (std::int32_t i = 0; i < 200; i += 2) {
    ComplexDouble const value((1 + i % 17) * std::cos(i), std::sin(1.3 * i));
    builder.add(i, i, 2);
    builder.add(i + 1, i + 1, 2);
    builder.add(i, i + 1, value);
    builder.add(i + 1, i, Solder::Impl::conjugated(value));
  }
  Made<ComplexDouble, TypeParam> const pairs(exec, builder.build(200, 200), 1.0);
  EXPECT_EQ(pairs.graph.columns.extent(0), 200u);
}

// ---- Prolongators ----

template <class Scalar, class Exec>
void check_prolongators(Exec const& exec, HostCsr<Scalar> const& host, double strength) {
  Made<Scalar, Exec> const made(exec, host, strength);
  auto const of_row = to_host(exec, made.aggregates.of_row);
  auto const T_made = amg::tentative<Scalar>(exec, made.aggregates);
  Plain const T(T_made);
  ASSERT_EQ(T.size(), host.rows);
  ASSERT_EQ(T.columns, made.aggregates.count);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    ASSERT_EQ(T.rows[i].size(), of_row[i] >= 0 ? 1u : 0u) << "row " << i;
    if (of_row[i] >= 0) {
      ASSERT_EQ(T.at(i, of_row[i]), 1.0) << "row " << i;
    }
  }

  double const omega = 0.7;
  auto const S_made = amg::smoothing<Scalar>(exec, made.coupling, made.graph, omega);
  Plain const A(host), S(S_made), P(Solder::product(exec, S_made, T_made));
  PlainAggregates<Scalar> const expected(host, strength);
  Plain smoothing(host.rows, host.rows);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    double weak = 0, filtered = A.at(i, i).real();
    std::set<std::int32_t> const strong(expected.strong[i].begin(), expected.strong[i].end());
    for (auto const& [j, a] : A.rows[i])
      if (j != i && !strong.count(j)) weak += a.real();
    if (filtered + weak > 0.1 * filtered) filtered += weak;
    smoothing.rows[i][i] = 1 - omega;
    for (auto const j : strong) smoothing.rows[i][j] = -omega / filtered * A.at(i, j);
  }
  expect_near(S, smoothing, 1e-14);
  ASSERT_EQ(S_made.nonzeros(), std::int64_t(made.graph.columns.extent(0)) + host.rows);
  // Constants stay constant where A makes zero of them, and all rows around are in aggregates.
  for (std::int32_t i = 0; i < host.rows; ++i)
    if (std::abs(A.row_sum(i)) <= 1e-14 && of_row[i] >= 0) {
      ASSERT_LE(std::abs(P.row_sum(i) - 1.0), 1e-13) << "row " << i;
    }
}

template <class Scalar, class Exec>
void check_all_prolongators(Exec const& exec) {
  for (auto const& [name, A] : matrices<Scalar>())
    for (double const strength : {0.0, 0.25, 0.9}) {
      SCOPED_TRACE(name + ", strength " + std::to_string(strength));
      check_prolongators(exec, A, strength);
    }
}

TYPED_TEST(AmgOn, ProlongatorsAreThoseOfPlainLoops) {
  TypeParam const exec;
  check_all_prolongators<double>(exec);
  check_all_prolongators<ComplexDouble>(exec);
}

// ---- The inverse of the coarsest level ----

/// Row by row, and n.
template <class Number>
Plain dense(std::int32_t n, std::vector<Number> const& entries) {
  Plain A(n, n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) A.rows[i][j] = SolderTest::plain(entries[i * n + j]);
  return A;
}
Plain identity(std::int32_t n) {
  Plain I(n, n);
  for (std::int32_t i = 0; i < n; ++i) I.rows[i][i] = 1;
  return I;
}

template <class Number>
void check_inverses() {
  for (std::int32_t const n : {1, 2, 7, 40}) {
    auto const B = random_vector<Number>(n * n, n);
    std::vector<Number> A(n * n);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) {
        if (i == j) A[i * n + j] = 1;
        for (std::int32_t k = 0; k < n; ++k)
          A[i * n + j] += B[i * n + k] * Solder::Impl::conjugated(B[j * n + k]);
      }
    auto X = A;
    ASSERT_EQ(amg::invert_hermitian(n, X, epsilon<Number>), -1) << n;
    expect_near(dense(n, A).times(dense(n, X)), identity(n), 1e-13 * n * n);
    expect_near(dense(n, X), dense(n, X).adjoint(), 0);
  }
}

TEST(AmgInverse, IsTheInverse) {
  check_inverses<double>();
  check_inverses<ComplexDouble>();
}

TEST(AmgInverse, OfSingularMatricesSolvesWhatCanBeSolved) {
  for (std::int32_t const n : {1, 2, 5, 40}) {
    Plain const A(n == 1 ? diagonal<double>({0}) : path_laplacian(n, 0.9));
    std::vector<double> entries;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) entries.push_back(A.at(i, j).real());
    ASSERT_EQ(amg::invert_hermitian(n, entries, epsilon<double>), -1) << n;
    Plain const X = dense(n, entries);
    expect_near(A.times(X).times(A), A, 1e-13 * n);
  }
}

TEST(AmgInverse, NamesANegativePivot) {
  auto const negative = [](std::int32_t n, std::vector<double> a) {
    return amg::invert_hermitian(n, a, epsilon<double>);
  };
  EXPECT_EQ(negative(1, {-1}), 0);
  EXPECT_EQ(negative(2, {1, 2, 2, 1}), 1);
  EXPECT_EQ(negative(3, {1, 0, 0, 0, -1, 0, 0, 0, -2}), 1);
  EXPECT_EQ(negative(3, {4, 1, 0, 1, 4, 1, 0, 1, 4}), -1);
  EXPECT_EQ(negative(0, {}), -1);
}

/// A small pivot of a small diagonal entry is no rounding.
TEST(AmgInverse, MayHaveRowsOfAnyScale) {
  std::vector<double> two{1, 0, 0, 1e-16};
  ASSERT_EQ(amg::invert_hermitian(2, two, epsilon<double>), -1);
  EXPECT_NEAR(two[3], 1e16, 1e3);
  std::vector<double> of_floats{1, 0, 0, 1e-6};
  ASSERT_EQ(amg::invert_hermitian(2, of_floats, epsilon<float>), -1);
  EXPECT_NEAR(of_floats[3], 1e6, 1);
  std::vector<double> negative{1, 0, 0, -1e-16};
  EXPECT_EQ(amg::invert_hermitian(2, negative, epsilon<double>), 1);
}

// ---- The hierarchy ----

/// That of an Amg of these options, as far as its grids go.
template <class Scalar>
amg::Hierarchy<Scalar, Default> hierarchy(CsrMatrix<Scalar, Default> const& A,
                                          AmgOptions const& options) {
  return {Default(), A, options.strength, options.levels, options.coarsest, 1.0};
}

template <class Scalar>
void check_hierarchy(HostCsr<Scalar> const& host, int most, std::int32_t coarsest) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const H = hierarchy(A, {.levels = most, .coarsest = coarsest});
  ASSERT_EQ(H.defect, "");
  ASSERT_GE(H.levels.size(), 2u);
  ASSERT_LE(H.levels.size(), std::size_t(most));
  expect_near(Plain(H.levels[0].A), Plain(host), 0);
  for (std::size_t l = 0; l + 1 < H.levels.size(); ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    auto const &here = H.levels[l], &next = H.levels[l + 1];
    Plain const P(*here.P), fine(here.A), coarse(next.A);
    expect_near(coarse, P.adjoint().times(fine).times(P), 1e-13 * fine.largest());
    expect_near(coarse, coarse.adjoint(), 1e-14 * coarse.largest());
    ASSERT_LT(next.A.rows(), here.A.rows());
  }
  Plain const last(H.levels.back().A);
  ASSERT_EQ(H.is_direct, last.size() <= coarsest);
}

TEST(AmgHierarchy, CoarseMatricesAreThoseOfPlainLoops) {
  check_hierarchy(Solder::fem_poisson_2d<double>(18), 16, 128);
  check_hierarchy(Solder::fem_poisson_2d<double>(18), 16, 5);
  check_hierarchy(Solder::fem_poisson_2d<double>(18), 2, 5);
  check_hierarchy(Solder::poisson_3d_27pt<double>(7), 3, 1);
  check_hierarchy(Solder::random_spd<double>(300, 5, 1), 16, 100);
  check_hierarchy(Solder::magnetic_laplacian_2d<ComplexDouble>(18, 0.1), 16, 10);
}

/// As far as can be known: of the matrices that everybody solves.
TEST(AmgHierarchy, KnowsTheLargestEigenvalues) {
  Default const exec;
  for (auto const& [name, host] : matrices<double>()) {
    SCOPED_TRACE(name);
    CsrMatrix<double, Default> const A(exec, host);
    auto const inverse = inverse_diagonal(host);
    auto v = random_vector<double>(host.rows, 1);
    double exact = 0;  // the power method for D^-1 A, similar to a symmetric matrix
    for (int k = 0; k < 3000; ++k) {
      double const size = norm(v);
      for (double& entry : v) entry /= size;
      v = multiply(host, v);
      for (std::int32_t i = 0; i < host.rows; ++i) v[i] *= inverse[i];
      exact = norm(v);
    }
    double const largest = Amg<double, Default>(exec, A).setup().largest_eigenvalue;
    EXPECT_GE(largest, exact);
    EXPECT_LE(largest, 1.2 * exact);
  }
}

// ---- The cycle ----

/// A^-1 b.
Vector solve_densely(Plain const& A, Vector const& b) {
  std::vector<std::vector<ComplexDouble>> rows(b.size(), std::vector<ComplexDouble>(b.size()));
  for (std::int32_t i = 0; i < A.size(); ++i)
    for (auto const& [j, a] : A.rows[i]) rows[i][j] = ComplexDouble(a.real(), a.imag());
  return dense_solve(sparse(rows), std::vector<ComplexDouble>(b.begin(), b.end()));
}

/// A V-cycle, textbook, of the matrices of a hierarchy.
struct PlainCycle {
  struct Level {
    Plain A, P, R;
    double largest;
  };
  std::vector<Level> levels;
  bool is_direct;
  AmgOptions options;

  template <class Scalar>
  PlainCycle(amg::Hierarchy<Scalar, Default> const& H, AmgOptions const& o)
      : is_direct(H.is_direct), options(o) {
    for (auto const& level : H.levels) {
      Plain const P = level.P ? Plain(*level.P) : Plain(0, 0);
      levels.push_back({Plain(level.A), P, P.adjoint(), level.largest});
    }
  }

  /// For residuals that lie in [0.2, 1] of the largest eigenvalue: the zeros of a Chebyshev
  /// polynomial there.
  double weight(std::size_t l, int k) const {
    double const pi = std::acos(-1.0), top = levels[l].largest;
    if (options.smoother == AmgSmoother::jacobi) return 4 / (3 * top);
    return 1 / (0.6 * top + 0.4 * top * std::cos(pi * (k + 0.5) / options.sweeps));
  }
  Vector residual(std::size_t l, Vector const& b, Vector const& x) const {
    auto r = levels[l].A.times(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    return r;
  }
  void sweep(std::size_t l, int k, Vector const& b, Vector& x) const {
    auto const r = residual(l, b, x);
    for (std::size_t i = 0; i < r.size(); ++i)
      x[i] += weight(l, k) * r[i] / levels[l].A.at(std::int32_t(i), std::int32_t(i));
  }
  Vector operator()(Vector const& b, std::size_t l = 0) const {
    bool const is_last = l + 1 == levels.size();
    if (is_last && is_direct) return solve_densely(levels[l].A, b);
    Vector x(b.size());
    for (int k = 0; k < options.sweeps; ++k) sweep(l, k, b, x);
    if (!is_last) {
      auto const e = levels[l].P.times((*this)(levels[l].R.times(residual(l, b, x)), l + 1));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += e[i];
    }
    for (int k = options.sweeps; k-- > 0;) sweep(l, k, b, x);
    return x;
  }
};

/// z = M r in a program of its own.
template <class M, class Scalar>
std::vector<Scalar> applied(M const& m, std::vector<Scalar> const& r, bool one_team = false) {
  Default const exec;
  Solder::Arena<Default> arena(exec, one_team);
  auto const opened = m.open(arena);
  auto const from = to_device(exec, r),
             z = to_device(exec, std::vector<Scalar>(r.size(), Scalar(7)));
  auto const application = opened.apply(Phase::judge, from.data());
  Solder::Impl::Engine<Default> engine(exec, "SolderTest::apply", Runner::launch, {}, true);
  engine.run(Solder::program(
      application.before,
      Solder::stage("SolderTest::keep", Phase::judge, application.rows, Solder::store(z.data()))));
  EXPECT_TRUE(same_bits(to_host(exec, from), r)) << "r was written to";
  return to_host(exec, z);
}

template <class Scalar>
void check_cycles(HostCsr<Scalar> const& host, AmgOptions options, std::size_t levels,
                  bool direct) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const H = hierarchy(A, options);
  EXPECT_EQ(H.levels.size(), levels);
  EXPECT_EQ(H.is_direct, direct);
  auto const u = random_vector<Scalar>(host.rows, 1), v = random_vector<Scalar>(host.rows, 2);
  for (auto const smoother : {AmgSmoother::jacobi, AmgSmoother::chebyshev})
    for (int const sweeps : {1, 2, 3, 8}) {
      SCOPED_TRACE(std::string(to_string(smoother)) + ", " + std::to_string(sweeps) + " sweeps");
      options.smoother = smoother;
      options.sweeps = sweeps;
      Amg<Scalar, Default> const M(exec, A, options);
      ASSERT_EQ(M.defect(), "");
      ASSERT_EQ(M.levels().size(), H.levels.size());
      auto const Mu = applied(M, u), Mv = applied(M, v);
      auto const expected = PlainCycle(H, options)(plain(v));
      double const size = norm_of(expected);
      for (std::int32_t i = 0; i < host.rows; ++i)
        ASSERT_LE(std::abs(SolderTest::plain(Mv[i]) - expected[i]), 1e-12 * size) << "row " << i;

      // Hermitian positive definite.
      Complex const uMv = inner(plain(u), plain(Mv)), Muv = inner(plain(Mu), plain(v));
      EXPECT_LE(std::abs(uMv - Muv), 1e-12 * norm(u) * norm(Mv));
      Complex const uMu = inner(plain(u), plain(Mu));
      EXPECT_GT(uMu.real(), 0);
      EXPECT_LE(std::abs(uMu.imag()), 1e-12 * norm(u) * norm(Mu));

      EXPECT_TRUE(same_bits(applied(M, v), Mv));
      EXPECT_TRUE(same_bits(applied(Amg<Scalar, Default>(exec, A, options), v), Mv));
      // One team takes the rows in the same order, one by one: nothing is summed across them.
      if (Solder::Impl::is_host_space<Default>) {
        EXPECT_TRUE(same_bits(applied(M, v, true), Mv));
      }
    }
}

TEST(AmgCycle, IsThatOfPlainLoops) {
  auto const grid = Solder::fem_poisson_2d<double>(24);
  {
    SCOPED_TRACE("to a direct solver");
    check_cycles(grid, {}, 2, true);
  }
  {
    SCOPED_TRACE("down to few rows");
    check_cycles(grid, {.coarsest = 4}, 4, true);
  }
  {
    SCOPED_TRACE("with sweeps on the coarsest level");
    check_cycles(grid, {.levels = 3, .coarsest = 1}, 3, false);
  }
  {
    SCOPED_TRACE("one level");
    check_cycles(diagonal(std::vector<double>(200, 3.0)), {}, 1, false);
  }
  SCOPED_TRACE("random");
  check_cycles(Solder::random_spd<double>(400, 5, 4), {.coarsest = 10}, 3, true);
}

TEST(AmgCycle, IsThatOfPlainLoopsInComplex) {
  check_cycles(Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1), {.coarsest = 10}, 3, true);
}

/// Duplicates count as their sum, in any order.
TEST(AmgCycle, TakesMatricesAsTheyCome) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(16);
  HostCsr<double> split{host.rows, host.rows, {0}, {}, {}};
  for (std::int32_t i = 0; i < host.rows; ++i) {
    for (auto k = host.row_offsets[i + 1]; k-- > host.row_offsets[i];)
      for (double const part : {0.25, 0.75}) {
        split.columns.push_back(host.columns[k]);
        split.values.push_back(part * host.values[k]);
      }
    split.row_offsets.push_back(static_cast<std::int64_t>(split.columns.size()));
  }
  auto const r = random_vector<double>(host.rows, 5);
  Amg<double, Default> const M(exec, CsrMatrix<double, Default>(exec, host)),
      of_split(exec, CsrMatrix<double, Default>(exec, split));
  EXPECT_TRUE(same_bits(applied(M, r), applied(of_split, r)));
}

// ---- Solves ----

using MatrixOf = CsrMatrix<double, Default>;
using AmgOf = Amg<double, Default>;

template <class Options>
Solved<double> solved(MatrixOf const& A, AmgOf const& M, std::vector<double> const& b,
                      Options const& options) {
  Default const exec;
  SolverOf<Options, Default, double, AmgOf> solver(exec, A, M, options);
  auto const x = to_device(exec, std::vector<double>(b.size()));
  Solved<double> s;
  s.report = solver.solve(to_device(exec, b), x);
  s.x = to_host(exec, x);
  return s;
}

CgOptions cg(Runner runner, double tolerance = 1e-10, int max_iterations = 300) {
  CgOptions options;
  options.form = Solder::CgForm::classical;
  options.runner = runner;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return options;
}

/// Set-up and solve.
Solved<double> solved_by_cg(HostCsr<double> const& host, std::vector<double> const& b,
                            CgOptions const& options, AmgOptions const& amg_options = {}) {
  Default const exec;
  MatrixOf const A(exec, host);
  return solved(A, AmgOf(exec, A, amg_options), b, options);
}

/// The last one included, which is handed out; with more sweeps there is one to begin, and what is
/// handed out is a copy.
int kernels_of_cycle(std::size_t levels, int sweeps, bool direct) {
  int const others = static_cast<int>(levels) - 1;
  return others * 2 * sweeps + (direct ? 1 : 2 * sweeps - 1) + (sweeps > 1 ? 2 : 0);
}

TEST(AmgSolves, InEveryRunnerAlike) {
  for (auto const& host :
       {Solder::fem_poisson_2d<double>(63), Solder::poisson_3d_27pt<double>(16)}) {
    auto const b = random_vector<double>(host.rows, 6);
    int iterations = -1;
    for (Runner const runner : every_runner) {
      SCOPED_TRACE(to_string(runner));
      auto const options = cg(runner);
      auto const s = solved_by_cg(host, b, options), again = solved_by_cg(host, b, options);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      expect_true_report(host, b, s, options);
      EXPECT_LE(s.report.iterations, 30);
      if (iterations < 0) iterations = s.report.iterations;
      EXPECT_LE(std::abs(s.report.iterations - iterations), 1);
      EXPECT_TRUE(same_bits(s.x, again.x));
      EXPECT_TRUE(same_bits(s.report.history, again.report.history));
    }
  }
}

TEST(AmgSolves, TakesTheKernelsThatItSays) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  auto const b = random_vector<double>(host.rows, 6);
  for (int const sweeps : {1, 2, 3})
    for (int const levels : {2, 16}) {
      AmgOf const M(exec, A, {.sweeps = sweeps, .levels = levels, .coarsest = 20});
      auto const report = solved(A, M, b, cg(Runner::launch)).report;
      EXPECT_EQ(report.reason, Reason::converged);
      EXPECT_EQ(report.kernels_per_iteration,
                3 + kernels_of_cycle(M.levels().size(), sweeps, levels == 16));
      EXPECT_EQ(report.preconditioner.level_rows.size(), M.levels().size());
      EXPECT_EQ(report.preconditioner.level_rows[0], host.rows);
    }
}

TEST(AmgSolves, WithEverySolver) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(40);
  MatrixOf const A(exec, host);
  AmgOf const M(exec, A);
  auto const b = random_vector<double>(host.rows, 6);
  auto const check = [&](auto options) {
    options.tolerance = 1e-10;
    options.max_iterations = 100;
    auto const s = solved(A, M, b, options), again = solved(A, M, b, options);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    expect_true_report(host, b, s, options);
    EXPECT_TRUE(same_bits(s.x, again.x));
  };
  auto pipelined = cg(Runner::launch);
  pipelined.form = Solder::CgForm::pipelined;
  check(pipelined);
  check(BiCgStabOptions{});
  check(GmresOptions{});
  check(IdrOptions{});
}

// ---- Odd matrices ----

/// A solve of a system that has a solution, in whatever way it ends.
Solved<double> ended(HostCsr<double> const& host, std::vector<double> const& b,
                     Runner runner = Runner::launch, AmgOptions const& amg_options = {}) {
  auto const options = cg(runner);
  auto const s = solved_by_cg(host, b, options, amg_options);
  EXPECT_NE(s.report.reason, Reason::running);
  if (s.report.reason != Reason::not_finite) expect_true_report(host, b, s, options);
  return s;
}

void expect_solved(HostCsr<double> const& host, int most_iterations,
                   AmgOptions const& options = {}) {
  for (Runner const runner : {Runner::launch, Runner::team}) {
    auto const report = ended(host, random_vector<double>(host.rows, 7), runner, options).report;
    EXPECT_EQ(report.reason, Reason::converged) << report.detail;
    EXPECT_LE(report.iterations, most_iterations);
  }
}

TEST(AmgOfOddMatrices, SolvesSmallAndDiagonalOnes) {
  expect_solved(diagonal<double>({4}), 1);
  expect_solved(diagonal<double>({1, 20, 3}), 2);
  expect_solved(sparse<double>({{2, 1}, {1, 2}}), 2);
  expect_solved(diagonal(std::vector<double>(500, 1.0)), 1);
  std::vector<double> entries;
  for (int i = 0; i < 500; ++i) entries.push_back(std::pow(10.0, i % 7));
  expect_solved(diagonal(entries), 2);
  entries.resize(100);
  expect_solved(diagonal(entries), 2);
}

TEST(AmgOfOddMatrices, ThoseWithoutEntries) {
  Default const exec;
  for (std::int32_t const n : {0, 3, 500}) {
    HostCsr<double> const host{n, n, std::vector<std::int64_t>(n + 1), {}, {}};
    MatrixOf const A(exec, host);
    AmgOf const M(exec, A);
    EXPECT_EQ(M.rows(), n);
    EXPECT_EQ(M.defect().empty(), n == 0) << M.defect();
    auto const report = solved(A, M, std::vector<double>(n, 1.0), cg(Runner::launch)).report;
    EXPECT_EQ(report.reason, n == 0 ? Reason::converged : Reason::breakdown);
  }
}

TEST(AmgOfOddMatrices, SolvesPositiveOffDiagonals) {
  Solder::TripletBuilder<double> builder;
  for (std::int32_t i = 0; i < 900; ++i) {
    builder.add(i, i, 4.1);
    if (i % 30 > 0) builder.add(i, i - 1, 1);
    if (i % 30 < 29) builder.add(i, i + 1, 1);
    if (i >= 30) builder.add(i, i - 30, 1);
    if (i < 870) builder.add(i, i + 30, 1);
  }
  expect_solved(builder.build(900, 900), 100);
}

TEST(AmgOfOddMatrices, SolvesAnArrow) {
  Solder::TripletBuilder<double> builder;
  builder.add(0, 0, 3000);
  for (std::int32_t i = 1; i < 3000; ++i) {
    builder.add(i, i, 1);
    builder.add(i, 0, -0.5);
    builder.add(0, i, -0.5);
  }
  expect_solved(builder.build(3000, 3000), 10);
}

TEST(AmgOfOddMatrices, SolvesGridsSideBySide) {
  auto const A = Solder::fem_poisson_2d<double>(30), B = Solder::fem_poisson_2d<double>(26);
  expect_solved(side_by_side(A, B, 1), 25);
  expect_solved(side_by_side(A, B, 1e-6), 25);
}

/// Two grids have nothing to do with each other: the scale of one does not matter to the other.
TEST(AmgOfOddMatrices, SolvesGridsOfDifferentScales) {
  auto const grid = Solder::fem_poisson_2d<double>(60);
  auto b = random_vector<double>(2 * grid.rows, 7);
  for (std::int32_t i = 0; i < grid.rows; ++i) b[i] = 0;  // only the second one is to be solved
  auto const iterations = [&](double scale) {
    auto const s = solved_by_cg(side_by_side(grid, grid, scale), b, cg(Runner::launch));
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    return s.report.iterations;
  };
  int const alike = iterations(1);
  for (double const scale : {1e12, 1e-6, 1e-12, 1e-13, 1e-16, 1e-20})
    EXPECT_LE(std::abs(iterations(scale) - alike), 2) << scale;
}

TEST(AmgOfOddMatrices, NamesAZeroOnTheDiagonal) {
  auto host = Solder::fem_poisson_2d<double>(20);
  *entry_of(host, 6, 6) = 0;
  Default const exec;
  AmgOf const M(exec, MatrixOf(exec, host));
  EXPECT_NE(M.defect().find("row 7 "), std::string::npos) << M.defect();
  auto const b = random_vector<double>(host.rows, 7);
  for (Runner const runner : every_runner) {
    auto const s = ended(host, b, runner);
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_EQ(s.report.detail, M.defect());
  }
}

TEST(AmgOfOddMatrices, NamesWhatIsNotPositive) {
  Default const exec;
  for (auto const& host : {negated(Solder::fem_poisson_2d<double>(20)), diagonal<double>({-1}),
                           negated(diagonal(std::vector<double>(500, 1.0)))}) {
    EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).defect(), "");
    auto const s = ended(host, random_vector<double>(host.rows, 7));
    EXPECT_EQ(s.report.reason, Reason::breakdown);
    EXPECT_NE(s.report.detail, "");
  }
  // Only the coarse grid tells: the constant has a negative energy.
  auto host = grid_laplacian(20);
  for (std::int32_t i = 0; i < host.rows; ++i) *entry_of(host, i, i) -= 0.1;
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, host)).defect(), "");
  EXPECT_NE(ended(host, random_vector<double>(host.rows, 7)).report.reason, Reason::converged);
  // One row has a negative diagonal.
  auto indefinite = Solder::fem_poisson_2d<double>(20);
  *entry_of(indefinite, 50, 50) = -4;
  auto const s = ended(indefinite, random_vector<double>(indefinite.rows, 7));
  EXPECT_NE(s.report.reason, Reason::max_iterations);
}

/// A solution exists; any is fine.
TEST(AmgOfOddMatrices, SolvesConsistentNeumannProblems) {
  for (auto const& host : {grid_laplacian(30), grid_laplacian(8), path_laplacian(300, 0.7)}) {
    SCOPED_TRACE(host.rows);
    auto const b = multiply(host, random_vector<double>(host.rows, 8));
    for (Runner const runner : {Runner::launch, Runner::team}) {
      auto const s = ended(host, b, runner);
      EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
      EXPECT_LE(s.report.iterations, 40);
      EXPECT_LT(norm(s.x), 1e3 * norm(b) * host.rows);
    }
  }
}

/// Where the coarsest grid is the constant of each component alone, its matrix is nothing but
/// rounding.
TEST(AmgOfOddMatrices, EndsNeumannProblemsDownToTheConstant) {
  Default const exec;
  for (int const n : {2, 3, 4, 60, 61, 62, 63, 64, 65, 66}) {
    SCOPED_TRACE(n);
    auto const host = path_laplacian(n, 0.7);
    auto const s =
        ended(host, multiply(host, random_vector<double>(n, 8)), Runner::launch, {.coarsest = 1});
    EXPECT_NE(s.report.reason, Reason::max_iterations);
  }
}

TEST(AmgOfOddMatrices, SolvesNeumannProblemsDownToTheConstant) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> star, pairs;
  for (std::int32_t i = 1; i < 1000; ++i) star.push_back({0, i, 1 + std::abs(std::sin(i))});
  for (std::int32_t i = 0; i < 200; i += 2) pairs.push_back({i, i + 1, 1});
  for (auto const& host : {path_laplacian(2), path_laplacian(4, 0.7), graph_laplacian(1000, star),
                           graph_laplacian(200, pairs)}) {
    SCOPED_TRACE(host.rows);
    auto const b = multiply(host, random_vector<double>(host.rows, 8));
    auto const s = ended(host, b);
    EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
    EXPECT_LT(norm(s.x), 1e3 * norm(b) * host.rows);
  }
}

TEST(AmgOfOddMatrices, EndsWhereNumbersAreNotFinite) {
  Default const exec;
  double const nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (double const value : {nan, infinity, -infinity})
    for (auto const& [i, j] : {std::pair(50, 50), std::pair(50, 51)})
      for (int const nodes : {10, 20}) {
        auto host = Solder::fem_poisson_2d<double>(nodes);
        *entry_of(host, i, j) = value;
        *entry_of(host, j, i) = value;
        AmgOf const M(exec, MatrixOf(exec, host));
        EXPECT_NE(M.defect(), "");
        for (Runner const runner : {Runner::launch, Runner::team}) {
          auto const s =
              solved_by_cg(host, random_vector<double>(host.rows, 7), cg(runner, 1e-10, 50));
          EXPECT_EQ(to_string(s.report.reason), to_string(Reason::not_finite)) << value;
        }
      }
  EXPECT_NE(AmgOf(exec, MatrixOf(exec, diagonal<double>({nan}))).defect(), "");
}

TEST(AmgOfOddMatrices, RefusesWhatCannotBe) {
  Default const exec;
  MatrixOf const A(exec, Solder::fem_poisson_2d<double>(5));
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const refuses = [&](AmgOptions const& options) {
    try {
      AmgOf(exec, A, options);
      return false;
    } catch (std::invalid_argument const& error) {
      return std::string(error.what()).find("Solder::Amg: ") == 0;
    }
  };
  for (double const strength : {-0.1, 1.1, nan}) EXPECT_TRUE(refuses({.strength = strength}));
  for (int const sweeps : {-1, 0, 9}) EXPECT_TRUE(refuses({.sweeps = sweeps}));
  for (int const levels : {-1, 0, 1, 17}) EXPECT_TRUE(refuses({.levels = levels}));
  for (int const coarsest : {-1, 0, 1001}) EXPECT_TRUE(refuses({.coarsest = coarsest}));
  EXPECT_FALSE(refuses({.strength = 0, .sweeps = 8, .levels = 16, .coarsest = 1000}));
  EXPECT_FALSE(refuses({.strength = 1, .sweeps = 1, .levels = 2, .coarsest = 1}));
  EXPECT_THROW(AmgOf(exec, MatrixOf(exec, random_matrix<double>(4, 5, 2, 1))),
               std::invalid_argument);
  using Solver = SolverOf<CgOptions, Default, double, AmgOf>;
  EXPECT_THROW(Solver(exec, MatrixOf(exec, Solder::fem_poisson_2d<double>(6)), AmgOf(exec, A)),
               std::invalid_argument);
}

// ---- Refresh ----

TEST(AmgRefresh, FollowsTheValuesInAllCopiesAndSolvers) {
  Default const exec;
  auto const first = Solder::fem_poisson_2d<double>(24);
  auto second = first;
  std::vector<double> scales;
  for (int i = 0; i < second.rows; ++i) scales.push_back(1 + i % 5);
  scale_both_sides(second, scales);
  auto const b = random_vector<double>(first.rows, 3);
  MatrixOf const A(exec, first), B(exec, second);
  AmgOptions const options{.coarsest = 10};
  AmgOf M(exec, A, options);
  auto const copy = M;
  for (auto const* matrix : {&B, &A, &B}) {
    M.refresh(exec, *matrix);
    AmgOf const fresh(exec, *matrix, options);
    EXPECT_EQ(copy.setup().largest_eigenvalue, fresh.setup().largest_eigenvalue);
    EXPECT_EQ(copy.setup().level_rows, fresh.setup().level_rows);
    EXPECT_TRUE(same_bits(applied(copy, b), applied(fresh, b)));
    for (Runner const runner : {Runner::launch, Runner::team})
      EXPECT_TRUE(same_bits(solved(*matrix, copy, b, cg(runner)).x,
                            solved(*matrix, fresh, b, cg(runner)).x));
  }
  // One solver, of M set up anew between its solves, with more levels and with fewer.
  M.refresh(exec, A);
  using Solver = SolverOf<CgOptions, Default, double, AmgOf>;
  auto const solve_with = [&](Solver& solver) {
    auto const x = to_device(exec, std::vector<double>(b.size()));
    solver.solve(to_device(exec, b), x);
    return to_host(exec, x);
  };
  MatrixOf const easy(exec, diagonal(std::vector<double>(first.rows, 2.0)));
  for (Runner const runner : every_runner) {
    Solver solver(exec, A, copy, cg(runner));
    auto const before = solve_with(solver);
    M.refresh(exec, easy);
    Solver other(exec, A, AmgOf(exec, easy, options), cg(runner));
    EXPECT_TRUE(same_bits(solve_with(solver), solve_with(other))) << to_string(runner);
    M.refresh(exec, A);
    EXPECT_TRUE(same_bits(solve_with(solver), before)) << to_string(runner);
  }
}

TEST(AmgRefresh, ThatThrowsLeavesEverythingAsItWas) {
  Default const exec;
  auto const host = Solder::fem_poisson_2d<double>(20);
  AmgOf M(exec, MatrixOf(exec, host));
  auto const r = random_vector<double>(host.rows, 3), before = applied(M, r);
  EXPECT_THROW(M.refresh(exec, MatrixOf(exec, random_matrix<double>(4, 5, 2, 1))),
               std::invalid_argument);
  EXPECT_EQ(M.rows(), host.rows);
  EXPECT_EQ(M.defect(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
  // A defect is no exception, and goes away.
  M.refresh(exec, MatrixOf(exec, negated(host)));
  EXPECT_NE(M.defect(), "");
  M.refresh(exec, MatrixOf(exec, host));
  EXPECT_EQ(M.defect(), "");
  EXPECT_TRUE(same_bits(applied(M, r), before));
}

}  // namespace
