// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The set-up of smoothed aggregation multigrid against plain loops.
#include "amg.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace {

using namespace SolderTest;
namespace amg = Solder::Impl::amg;

template <class Exec>
struct AmgOn : testing::Test {};
TYPED_TEST_SUITE(AmgOn, Spaces::Types, TypeName);

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
        graph(amg::strong_graph(exec, coupling, A.nonzeros(), lane_bits<Exec>)),
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
  // With so many couplings GPUs take two kernels a round.
  auto const large = Solder::poisson_3d_27pt<double>(14);
  ASSERT_GT(large.nonzeros(), amg::RootSearchOfTeam::most);
  check_aggregates(exec, large, 0.25);
  check_aggregates(exec, diagonal<double>({1, 2, 3}), 0.25);
  check_aggregates(exec, diagonal<double>({}), 0.25);
  check_aggregates(exec, HostCsr<double>{3, 3, {0, 0, 0, 0}, {}, {}}, 0.25);
}

/// Keys of the rows of a graph, after find(search) has decided them.
template <class Exec, class Find>
std::vector<std::uint64_t> decided(Exec const& exec, amg::Graph<Exec> const& graph, std::int32_t n,
                                   Find const& find) {
  auto const offsets = to_host(exec, graph.offsets);
  std::vector<std::uint64_t> keys(n);
  for (std::int32_t i = 0; i < n; ++i)
    keys[i] = amg::Candidate::key(
        offsets[i] == offsets[i + 1] ? amg::Candidate::out : amg::Candidate::undecided, i);
  auto const there = to_device(exec, keys), near = to_device(exec, std::vector<std::uint64_t>(n));
  find(amg::RootSearch{graph.offsets.data(), graph.columns.data(), there.data(), near.data()});
  exec.fence();
  return to_host(exec, there);
}

/// In rounds, in the order of the keys, or by one team.
TYPED_TEST(AmgOn, RootsAreTheSameWhicheverWayTheyAreFound) {
  using Search = amg::RootSearch;
  TypeParam const exec;
  for (auto const& [name, host] : matrices<double>())
    for (double const strength : {0.0, 0.25, 0.9}) {
      SCOPED_TRACE(name + ", strength " + std::to_string(strength));
      std::int32_t const n = host.rows;
      Made<double, TypeParam> const made(exec, host, strength);
      auto const in_rounds = decided(exec, made.graph, n, [&](Search const& search) {
        EXPECT_TRUE(amg::is_symmetric(exec, search, n));
        amg::find_roots_in_rounds(exec, search, n);
      });
      for (auto const key : in_rounds)
        ASSERT_NE(amg::Candidate::state(key), amg::Candidate::undecided);
      EXPECT_EQ(decided(exec, made.graph, n,
                        [&](Search const& search) {
                          if constexpr (Solder::Impl::is_host_space<TypeParam>) {
                            std::vector<std::uint64_t> order(n);
                            amg::find_roots_in_order(search, n, order.data());
                          } else {
                            amg::find_roots(exec, search, n, std::int64_t(made.graph.size));
                          }
                        }),
                in_rounds);
    }
}

/// One coupling has no opposite, in a matrix that is symmetric otherwise.
TYPED_TEST(AmgOn, CouplingsOfOneWayAreSeen) {
  TypeParam const exec;
  auto host = Solder::fem_poisson_2d<double>(12);
  std::int64_t one = host.row_offsets[70];
  while (host.columns[one] == 70) ++one;
  host.values[one] = 0;
  Made<double, TypeParam> const made(exec, host, 0.25);
  decided(exec, made.graph, host.rows, [&](amg::RootSearch const& search) {
    EXPECT_FALSE(amg::is_symmetric(exec, search, host.rows));
  });
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
  auto const S_made = amg::smoothing(exec, made.A, {}, made.graph, omega);
  Plain const A(host), S(S_made), P(Solder::product(exec, S_made, T_made));
  PlainAggregates<Scalar> const expected(host, strength);
  Plain smoothing(host.rows, host.rows);
  for (std::int32_t i = 0; i < host.rows; ++i) {
    double weak = 0, filtered = A.at(i, i).real();
    std::set<std::int32_t> const strong(expected.strong[i].begin(), expected.strong[i].end());
    for (auto const& [j, a] : A.rows[i])
      if (j != i && !strong.count(j)) weak += a.real();
    if (filtered + weak > 0.1 * filtered) filtered += weak;
    smoothing.rows[i][i] = strong.empty() ? 1 : 1 - omega;
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

/// 200 rows, most of which have 32 entries: 15 on each side of the diagonal, and one far from it.
template <class Scalar>
HostCsr<Scalar> rows_of_32_entries() {
  constexpr std::int32_t n = 200;
  Solder::TripletBuilder<Scalar> builder;
  auto const add = [&](std::int32_t i, std::int32_t j) {
    Scalar const value = -1 - 0.5 * std::sin(i + 3 * j);
    builder.add(i, j, value);
    builder.add(j, i, value);
  };
  for (std::int32_t i = 0; i < n; ++i) {
    builder.add(i, i, 40);
    for (std::int32_t j = std::max(i - 15, 0); j < i; ++j) add(i, j);
    if (i >= n / 2) add(i, i - n / 2);
  }
  return builder.build(n, n);
}

template <class Scalar, class Exec>
void check_smoothed_at_once(Exec const& exec) {
  if constexpr (!Solder::Impl::is_host_space<Exec>) {
    auto of = matrices<Scalar>();
    of.push_back({"rows of 32 entries", rows_of_32_entries<Scalar>()});
    for (auto const& [name, host] : of)
      for (double const strength : {0.0, 0.25, 0.9}) {
        SCOPED_TRACE(name + ", strength " + std::to_string(strength));
        Made<Scalar, Exec> const made(exec, host, strength);
        ASSERT_LE(made.A.longest_row(), 32);
        auto const P = Solder::product(exec, amg::smoothing(exec, made.A, {}, made.graph, 0.7),
                                       amg::tentative<Scalar>(exec, made.aggregates));
        auto const known = Solder::Impl::pattern_of(P);
        auto const make = [&](Solder::Impl::ProductPattern<Exec> const* pattern) {
          return amg::smoothed_aggregates(exec, made.A, made.graph.strong.data(), made.aggregates,
                                          0.7, pattern);
        };
        auto const counted = make(nullptr), refreshed = make(&known);
        EXPECT_EQ(counted.columns(), P.columns());
        EXPECT_EQ(to_host(exec, counted.row_offsets()), to_host(exec, P.row_offsets()));
        EXPECT_EQ(to_host(exec, counted.column_indices()), to_host(exec, P.column_indices()));
        EXPECT_EQ(to_host(exec, refreshed.column_indices()), to_host(exec, P.column_indices()));
        EXPECT_EQ(to_host(exec, refreshed.values()), to_host(exec, counted.values()));
        expect_near(Plain(counted), Plain(P), 1e-15);
      }
  }
}

/// They are so but for the order in which weak couplings are added. A known pattern changes no bit.
TYPED_TEST(AmgOn, ProlongatorsMadeAtOnceAreThoseOfTheProduct) {
  TypeParam const exec;
  if (Solder::Impl::is_host_space<TypeParam>)
    GTEST_SKIP() << "hosts make prolongators by the product";
  check_smoothed_at_once<double>(exec);
  check_smoothed_at_once<ComplexDouble>(exec);
}

/// A path, leaves that couple to one of two hubs or to both, and the hubs, which couple to all.
TYPED_TEST(AmgOn, HubsAreAggregatesThatOnlyTheirLeavesJoin) {
  constexpr std::int32_t path = 300, leaves = 60, n = path + leaves + 2, hub = n - 2;
  Solder::TripletBuilder<double> alone, builder;
  for (std::int32_t i = 0; i < n; ++i) builder.add(i, i, i < hub ? 4 : n);
  for (std::int32_t i = 0; i < path; ++i) alone.add(i, i, 4);
  for (std::int32_t i = 1; i < path; ++i)
    for (auto* to : {&alone, &builder}) couple(*to, i - 1, i, -1 - 0.5 * std::sin(i));
  for (std::int32_t i = 0; i < path; ++i)
    for (std::int32_t const h : {hub, hub + 1}) couple(builder, i, h, -0.4);
  for (std::int32_t i = path; i < hub; ++i) {
    couple(builder, i, hub, i % 3 == 0 ? -0.3 : -0.7);
    if (i % 2 == 0) couple(builder, i, hub + 1, -0.6);
  }
  couple(builder, hub, hub + 1, -2);
  TypeParam const exec;
  Made<double, TypeParam> const made(exec, alone.build(path, path), 0.25);
  Plain const P_alone(Solder::product(exec, amg::smoothing(exec, made.A, {}, made.graph, 0.7),
                                      amg::tentative<double>(exec, made.aggregates)));

  CsrMatrix<double, TypeParam> const A(exec, builder.build(n, n));
  auto const sizes = amg::largest_couplings(exec, A);
  amg::mark_hubs(exec, A, sizes.data());
  amg::Coupling<double> const coupling{A.device_operator(), sizes.data(), 0.25};
  auto const graph = amg::strong_graph(exec, coupling, A.nonzeros(), lane_bits<TypeParam>);
  auto const aggregates = amg::aggregate(exec, coupling, graph);
  Plain const P(Solder::product(exec, amg::smoothing(exec, A, {}, graph, 0.7),
                                amg::tentative<double>(exec, aggregates)));
  ASSERT_EQ(P.columns, P_alone.columns + 2);
  for (std::int32_t i = 0; i < path; ++i) {
    ASSERT_EQ(P.rows[i].size(), P_alone.rows[i].size()) << "row " << i;
    for (auto const& [j, value] : P_alone.rows[i]) ASSERT_EQ(P.rows[i].count(j), 1u) << i;
  }
  for (std::int32_t i = path; i < n; ++i) {
    bool const of_second = i == hub + 1 || (i < hub && i % 6 == 0);
    ASSERT_EQ(P.rows[i].size(), 1u) << "row " << i;
    ASSERT_EQ(P.at(i, P_alone.columns + of_second), 1.0) << "row " << i;
  }
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
template <class Number>
std::vector<Number> product(std::int32_t n, std::vector<Number> const& A,
                            std::vector<Number> const& B) {
  std::vector<Number> C(A.size());
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t k = 0; k < n; ++k)
      for (std::int32_t j = 0; j < n; ++j) C[i * n + j] += A[i * n + k] * B[k * n + j];
  return C;
}
Plain identity(std::int32_t n) {
  Plain I(n, n);
  for (std::int32_t i = 0; i < n; ++i) I.rows[i][i] = 1;
  return I;
}

/// On the device, in place.
template <class Number>
std::int32_t invert(std::int32_t n, std::vector<Number>& a, double epsilon) {
  Default const exec;
  auto const there = to_device(exec, a);
  std::int32_t const negative = amg::invert_hermitian<Number>(exec, n, there, epsilon);
  a = to_host(exec, there);
  return negative;
}

template <class Number>
void check_inverses() {
  // By one team up to 256, on GPUs in registers up to 128 (complex 96).
  for (std::int32_t const n : {1, 2, 7, 32, 33, 40, 64, 65, 83, 96, 97, 128, 129, 256, 257}) {
    auto const B = random_vector<Number>(n * n, n);
    std::vector<Number> A(n * n);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j <= i; ++j) {
        if (i == j) A[i * n + j] = 1;
        for (std::int32_t k = 0; k < n; ++k)
          A[i * n + j] += B[i * n + k] * Solder::Impl::conjugated(B[j * n + k]);
        A[j * n + i] = Solder::Impl::conjugated(A[i * n + j]);
      }
    auto X = A;
    ASSERT_EQ(invert(n, X, epsilon<Number>), -1) << n;
    expect_near(dense(n, product(n, A, X)), identity(n), 1e-13 * n * n);
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
    ASSERT_EQ(invert(n, entries, epsilon<double>), -1) << n;
    Plain const X = dense(n, entries);
    expect_near(A.times(X).times(A), A, 1e-13 * n);
  }
}

TEST(AmgInverse, NamesANegativePivot) {
  auto const negative = [](std::int32_t n, std::vector<double> a) {
    return invert(n, a, epsilon<double>);
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
  ASSERT_EQ(invert(2, two, epsilon<double>), -1);
  EXPECT_NEAR(two[3], 1e16, 1e3);
  std::vector<double> of_floats{1, 0, 0, 1e-6};
  ASSERT_EQ(invert(2, of_floats, epsilon<float>), -1);
  EXPECT_NEAR(of_floats[3], 1e6, 1);
  std::vector<double> negative{1, 0, 0, -1e-16};
  EXPECT_EQ(invert(2, negative, epsilon<double>), 1);
}

// ---- The hierarchy ----

template <class Scalar>
void check_hierarchy(HostCsr<Scalar> const& host, int most, std::int32_t coarsest) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const made = hierarchy(A, {.max_levels = most, .max_coarse_size = coarsest});
  auto const& H = *made;
  ASSERT_EQ(H.failure, "");
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

/// Other values in the pattern of a hierarchy that is there: what was strong stays strong, and P
/// and the coarse matrices are those of plain loops over it.
template <class Scalar>
void check_kept(HostCsr<Scalar> const& host, HostCsr<Scalar> const& other,
                amg::Sweeps const& sweeps) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host), B(exec, other);
  auto const made = [&](auto const& matrix, amg::Hierarchy<Scalar, Default> const* before) {
    return amg::make_hierarchy<Scalar>(exec, matrix, 0.25, 16, 10, sweeps, {}, 1, before);
  };
  auto const made_first = made(A, nullptr), made_fresh = made(B, nullptr),
             made_after = made(B, made_first.get());
  auto const &first = *made_first, &fresh = *made_fresh, &H = *made_after;
  ASSERT_EQ(H.failure, "");
  ASSERT_EQ(H.levels.size(), first.levels.size());
  ASSERT_NE(fresh.levels[1].A.nonzeros(), H.levels[1].A.nonzeros()) << "nothing is kept";
  expect_near(Plain(H.levels[0].A), Plain(other), 0);
  for (std::size_t l = 0; l + 1 < H.levels.size(); ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    auto const &here = H.levels[l], &next = H.levels[l + 1], &was = first.levels[l];
    Plain const P(*here.P), fine(here.A), coarse(next.A);
    expect_near(coarse, P.adjoint().times(fine).times(P), 1e-13 * fine.largest());
    EXPECT_EQ(to_host(exec, here.P->column_indices()), to_host(exec, was.P->column_indices()));
    EXPECT_EQ(to_host(exec, next.A.column_indices()),
              to_host(exec, first.levels[l + 1].A.column_indices()));
    if (was.graph.size == 0) continue;  // small enough to be its own coarse grid
    auto const offsets = to_host(exec, here.A.row_offsets()),
               columns = to_host(exec, here.A.column_indices()),
               of_row = to_host(exec, was.aggregates.of_row);
    auto const values = to_host(exec, here.A.values());
    auto const strong = to_host(
        exec, Kokkos::View<char*, Default::memory_space>(was.graph.strong.data(), values.size()));
    Plain S(here.A.rows(), here.A.rows()), T(here.A.rows(), was.aggregates.count);
    for (std::int32_t i = 0; i < here.A.rows(); ++i) {
      if (of_row[i] >= 0) T.rows[i][of_row[i]] = 1;
      double diagonal = 0, weak = 0;
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k) {
        double const real = Solder::Impl::real_part(values[k]);
        if (columns[k] == i) diagonal = real;
        if (columns[k] != i && strong[k] == 0) weak += real;
      }
      double const filtered = diagonal + weak > 0.1 * diagonal ? diagonal + weak : diagonal,
                   factor = 4.0 / 3 / here.largest / filtered;
      S.rows[i][i] = 1 - factor * filtered;
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
        if (strong[k] != 0) S.rows[i][columns[k]] = -factor * plain(values[k]);
    }
    expect_near(P, S.times(T), 1e-13);
  }
}

TEST(AmgHierarchy, KeepsWhatWasStrongForOtherValues) {
  auto const weaken = [](auto host) {  // along one direction, the diagonal as it was
    for (std::int32_t i = 0; i < host.rows; ++i)
      for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
        if (std::abs(host.columns[k] - i) == 1) host.values[k] *= 0.01;
    return host;
  };
  auto const fem = Solder::fem_poisson_2d<double>(24);
  for (amg::Sweeps const& sweeps :
       {amg::Sweeps{1, 1}, amg::Sweeps{0, 1}, amg::Sweeps{1, 0}, amg::Sweeps{1, 1, true}})
    check_kept(fem, weaken(fem), sweeps);
  auto const magnetic = Solder::magnetic_laplacian_2d<ComplexDouble>(20, 0.1);
  check_kept(magnetic, weaken(magnetic), {});
}

/// As far as can be known: of the matrices that everybody solves, and of one whose rows are of any
/// scale, some of the largest where its eigenvalues are the smallest.
TEST(AmgHierarchy, KnowsTheLargestEigenvalues) {
  Default const exec;
  auto all = matrices<double>();
  all.push_back({"scaled", Solder::fem_poisson_2d<double>(20)});
  std::vector<double> scales;
  for (int i = 0; i < 400; ++i) scales.push_back(i % 20 < 3 ? 1e-5 : std::pow(10.0, i % 4));
  scale_both_sides(all.back().A, scales);
  for (auto const& [name, host] : all) {
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

}  // namespace
