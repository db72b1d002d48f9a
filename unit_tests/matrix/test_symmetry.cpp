// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../support.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <solder/matrix/csr.hpp>
#include <solder/matrix/symmetry.hpp>

namespace {

using namespace SolderTest;
using Solder::Agreement;
using Solder::check_symmetry;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::Symmetry;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Entries by row and column.
template <class Scalar>
using Entries = std::map<std::pair<std::int32_t, std::int32_t>, Scalar>;

template <class Scalar>
HostCsr<Scalar> matrix_of(std::int32_t n, Entries<Scalar> const& entries) {
  HostCsr<Scalar> A{n, n, std::vector<std::int64_t>(n + 1), {}, {}};
  for (auto const& [place, value] : entries) {
    ++A.row_offsets[place.first + 1];
    A.columns.push_back(place.second);
    A.values.push_back(value);
  }
  for (std::int32_t i = 0; i < n; ++i) A.row_offsets[i + 1] += A.row_offsets[i];
  return A;
}

/// The same matrix with its rows in no order.
template <class Scalar>
HostCsr<Scalar> shuffled(HostCsr<Scalar> A) {
  std::mt19937 generator(5);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      auto const other = A.row_offsets[i] + generator() % (A.row_offsets[i + 1] - A.row_offsets[i]);
      std::swap(A.columns[k], A.columns[other]);
      std::swap(A.values[k], A.values[other]);
    }
  return A;
}

/// Every third entry becomes two halves, beside each other, or the second at the end of its row.
template <class Scalar>
HostCsr<Scalar> in_halves(HostCsr<Scalar> const& A, bool apart) {
  HostCsr<Scalar> B{A.rows, A.columns_count, {0}, {}, {}};
  auto const add = [&](std::int32_t column, Scalar const& value) {
    B.columns.push_back(column);
    B.values.push_back(value);
  };
  for (std::int32_t i = 0; i < A.rows; ++i) {
    std::vector<std::int64_t> later;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      Scalar const value = A.values[k];
      bool const is_split = k % 3 == 0;
      add(A.columns[k], is_split ? value * Scalar(0.5) : value);
      if (is_split && apart) later.push_back(k);
      if (is_split && !apart) add(A.columns[k], value * Scalar(0.5));
    }
    for (auto const k : later) add(A.columns[k], A.values[k] * Scalar(0.5));
    B.row_offsets.push_back(static_cast<std::int64_t>(B.columns.size()));
  }
  return B;
}

double largest_part(Complex const& a) { return std::max(std::abs(a.real()), std::abs(a.imag())); }

/// Plain loops over all pairs of places.
template <class Scalar>
Symmetry expected(HostCsr<Scalar> const& A) {
  Symmetry s;
  s.is_square = A.rows == A.columns_count;
  s.is_complex = Solder::ScalarTraits<Scalar>::is_complex;
  if (!s.is_square) return s;
  Entries<Scalar> entries;
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      auto const [at, is_new] = entries.emplace(std::pair(i, A.columns[k]), A.values[k]);
      if (!is_new) at->second += A.values[k];
    }
  auto const has = [&](std::int32_t i, std::int32_t j) { return entries.count({i, j}) > 0; };
  auto const a = [&](std::int32_t i, std::int32_t j) {
    return has(i, j) ? plain(entries.at({i, j})) : Complex();
  };
  auto const is_finite = [](Complex const& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  };
  s.is_finite = s.pattern = true;
  s.hermitian = s.symmetric = Agreement{0, 1000 * epsilon<Scalar>, -1, -1, 0, 0};
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (std::int32_t j = i; j < A.rows; ++j) {
      if (has(i, j) != has(j, i)) s.pattern = false;
      Complex const here = a(i, j), there = a(j, i);
      bool const finite = is_finite(here) && is_finite(there);
      if (!finite) s.is_finite = false;
      double const size =
          std::max({largest_part(here), largest_part(there),
                    std::sqrt(largest_part(a(i, i))) * std::sqrt(largest_part(a(j, j)))});
      auto const compare = [&](Agreement& worst, Complex const& image) {
        double const difference = !finite         ? infinity
                                  : here == image ? 0
                                                  : largest_part(here - image) / size;
        if (difference > worst.difference) worst = {difference, worst.rounding, i, j, here, there};
      };
      compare(s.hermitian, std::conj(there));
      compare(s.symmetric, there);
    }
  for (std::int32_t i = A.rows - 1; i >= 0; --i) {
    if (!has(i, i)) s.diagonal.missing = i;
    if (has(i, i) && a(i, i).real() == 0) s.diagonal.zero = i;
    if (a(i, i).real() < 0) s.diagonal.negative = i;
    if (a(i, i).imag() != 0) s.diagonal.not_real = i;
  }
  return s;
}

void expect_same(Agreement const& got, Agreement const& wanted) {
  EXPECT_EQ(got.row, wanted.row);
  EXPECT_EQ(got.column, wanted.column);
  EXPECT_EQ(got.rounding, wanted.rounding);
  EXPECT_EQ(got.is_exact(), wanted.is_exact());
  EXPECT_EQ(got.holds(), wanted.holds());
  if (std::isinf(wanted.difference)) {
    EXPECT_EQ(got.difference, wanted.difference);  // an entry may be NaN
  } else {
    EXPECT_NEAR(got.difference, wanted.difference, 1e-14 * wanted.difference);
    EXPECT_EQ(got.entry, wanted.entry);
    EXPECT_EQ(got.mirrored, wanted.mirrored);
  }
}

/// Checks what is seen of a matrix, twice, and answers it.
template <class Scalar, class Offset = std::int32_t, class Exec>
Symmetry seen(Exec const& exec, HostCsr<Scalar> const& host) {
  CsrMatrix<Scalar, Exec, Offset> const A(exec, host);
  Symmetry const got = check_symmetry(exec, A), again = check_symmetry(exec, A),
                 wanted = expected(host);
  EXPECT_EQ(got.is_square, wanted.is_square);
  EXPECT_EQ(got.is_complex, wanted.is_complex);
  EXPECT_EQ(got.is_finite, wanted.is_finite);
  EXPECT_EQ(got.pattern, wanted.pattern);
  EXPECT_EQ(got.diagonal.missing, wanted.diagonal.missing);
  EXPECT_EQ(got.diagonal.zero, wanted.diagonal.zero);
  EXPECT_EQ(got.diagonal.negative, wanted.diagonal.negative);
  EXPECT_EQ(got.diagonal.not_real, wanted.diagonal.not_real);
  expect_same(got.hermitian, wanted.hermitian);
  expect_same(got.symmetric, wanted.symmetric);
  EXPECT_EQ(got.hermitian.difference, again.hermitian.difference) << "to the bit";
  EXPECT_EQ(describe(got), describe(again));
  return got;
}

/// A random Hermitian matrix with a positive diagonal; of two neighbouring rows the second is empty
/// now and then.
template <class Scalar>
Entries<Scalar> hermitian(std::int32_t n) {
  auto const values = random_vector<Scalar>(6 * n, 3);
  std::mt19937 generator(2);
  Entries<Scalar> entries;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i % 7 == 3) continue;
    for (int t = 0; t < 5; ++t) {
      auto const j = static_cast<std::int32_t>(generator() % n);
      if (j % 7 == 3 || j == i) continue;
      entries[{i, j}] = values[6 * i + t];
      entries[{j, i}] = Solder::Impl::conjugated(values[6 * i + t]);
    }
    entries[{i, i}] = Scalar(1 + std::abs(plain(values[6 * i + 5])));
  }
  return entries;
}

/// The next number beyond a real part.
template <class Scalar>
Scalar by_an_ulp(Scalar const& value) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return {std::nextafter(value.real(), Real(9)), value.imag()};
  else
    return std::nextafter(value, Real(9));
}

template <class C>
struct SymmetryOf : testing::Test {};
TYPED_TEST_SUITE(SymmetryOf, AllCases, TypeName);

TYPED_TEST(SymmetryOf, AHermitianMatrixInAnyOrderAndInParts) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto const A = matrix_of<Scalar>(90, hermitian<Scalar>(90));
  for (auto const& host :
       {A, shuffled(A), in_halves(A, false), in_halves(A, true), shuffled(in_halves(A, true))}) {
    Symmetry const s = seen(exec, host);
    EXPECT_TRUE(s.is_square && s.is_finite && s.pattern);
    EXPECT_TRUE(s.hermitian.is_exact() && s.hermitian.holds());
    EXPECT_EQ(s.symmetric.holds(), !s.is_complex);
    EXPECT_EQ(s.diagonal.missing, 3);
    EXPECT_EQ(s.diagonal.negative, -1);
  }
}

TYPED_TEST(SymmetryOf, OneEntryThatIsOff) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto const fine = hermitian<Scalar>(90);
  auto const upper = std::find_if(fine.begin(), fine.end(), [](auto const& entry) {
                       return entry.first.first > 40 && entry.first.second > entry.first.first;
                     })->first;
  using Place = std::pair<int, int>;
  for (Place const& at : std::vector<Place>{upper, {upper.second, upper.first}}) {
    Place const mirrored{at.second, at.first};
    Scalar const value = fine.at(at);
    auto const with = [&](Scalar const& other) {
      auto entries = fine;
      entries[at] = other;
      auto const A = matrix_of<Scalar>(90, entries);
      EXPECT_EQ(describe(seen(exec, A)), describe(seen(exec, in_halves(shuffled(A), true))));
      return seen(exec, A).hermitian;
    };
    Agreement const ulp = with(by_an_ulp(value)), rounded = with(value * Scalar(1 + 1e-3)),
                    negated = with(-value);
    EXPECT_FALSE(ulp.is_exact());
    EXPECT_TRUE(ulp.holds());
    for (Agreement const& off : {ulp, rounded, negated})
      EXPECT_EQ(std::pair(off.row, off.column), upper);
    EXPECT_FALSE(rounded.holds());
    EXPECT_FALSE(negated.holds());
    auto entries = fine;
    entries.erase(at);
    Symmetry const without = seen(exec, matrix_of<Scalar>(90, entries));
    EXPECT_FALSE(without.pattern || without.hermitian.holds());
    entries[at] = entries[mirrored] = Scalar(0);
    entries.erase(at);
    Symmetry const zero = seen(exec, matrix_of<Scalar>(90, entries));
    EXPECT_TRUE(!zero.pattern && zero.hermitian.is_exact()) << "a zero on one side only";
  }
}

// Entries of all sizes, in rows of all lengths, on both sides of what one thread looks at.
TYPED_TEST(SymmetryOf, AnyMatrix) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  std::mt19937 generator(11);
  for (std::int32_t const n : {1, 2, 3, 8, 33, 100}) {
    SCOPED_TRACE(n);
    auto const values = random_vector<Scalar>(n * n, 7);
    Entries<Scalar> entries;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        if (generator() % n <= static_cast<unsigned>(i) % 50) entries[{i, j}] = values[i * n + j];
    auto const A = matrix_of(n, entries);
    seen(exec, A);
    seen(exec, in_halves(shuffled(A), true));
    seen<Scalar, std::int64_t>(exec, A);
  }
}

TYPED_TEST(SymmetryOf, NoneIsNotFinite) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  for (double const bad : {std::nan(""), infinity, -infinity})
    for (auto const& [i, j] : {std::pair(20, 20), std::pair(1, 44), std::pair(44, 1)}) {
      auto entries = hermitian<Scalar>(50);
      entries[{i, j}] = Scalar(bad);
      Symmetry s = seen(exec, matrix_of<Scalar>(50, entries));
      EXPECT_FALSE(s.is_finite || s.hermitian.holds() || s.symmetric.holds());
      EXPECT_EQ(std::pair(s.hermitian.row, s.hermitian.column),
                std::pair(std::min(i, j), std::max(i, j)));
      entries[{j, i}] = Scalar(bad);
      s = seen(exec, matrix_of<Scalar>(50, entries));
      EXPECT_FALSE(s.is_finite || s.hermitian.holds()) << "though both are the same";
      EXPECT_NE(describe(s).find("A is not finite: a("), std::string::npos) << describe(s);
    }
}

template <class Exec>
struct SymmetryOfDouble : testing::Test {};
TYPED_TEST_SUITE(SymmetryOfDouble, Spaces::Types, TypeName);

TYPED_TEST(SymmetryOfDouble, ComplexSymmetricIsNotHermitian) {
  using C = Kokkos::complex<double>;
  TypeParam const exec;
  Entries<C> entries{{{0, 0}, 2}, {{0, 1}, {1, 3}}, {{1, 0}, {1, 3}}, {{1, 1}, 2}};
  Symmetry s = seen(exec, matrix_of(2, entries));
  EXPECT_TRUE(s.symmetric.is_exact());
  EXPECT_FALSE(s.hermitian.holds());
  EXPECT_EQ(describe(s),
            "A is complex symmetric, not Hermitian: a(1, 2) = (1, 3), but a(2, 1) = (1, 3) "
            "(counted from 1)")
      << "the same digits would say nothing";
  entries[{1, 0}] = C(1, -3);
  s = seen(exec, matrix_of(2, entries));
  EXPECT_TRUE(s.hermitian.is_exact());
  EXPECT_FALSE(s.symmetric.holds());
  EXPECT_EQ(describe(s), "A is Hermitian");
  entries[{1, 1}] = C(2, 1);
  s = seen(exec, matrix_of(2, entries));
  EXPECT_FALSE(s.hermitian.holds() || s.symmetric.holds());
  EXPECT_EQ(s.diagonal.not_real, 1);
  EXPECT_EQ(describe(s), "A is not Hermitian: a(2, 2) = (2, 1) (counted from 1)");
}

TYPED_TEST(SymmetryOfDouble, TheSentenceNamesTheWorstPair) {
  TypeParam const exec;
  Entries<double> entries{{{0, 0}, 2}, {{0, 2}, 1}, {{2, 0}, -2}, {{1, 0}, 1e-3}};
  EXPECT_EQ(describe(seen(exec, matrix_of(3, entries))),
            "A is not symmetric: a(1, 3) = 1, but a(3, 1) = -2 (counted from 1)");
  entries = {{{0, 1}, 1}, {{1, 0}, 1 + 4 * epsilon<double>}};
  EXPECT_EQ(describe(seen(exec, matrix_of(2, entries))),
            "A is symmetric to rounding: a(1, 2) = 1, but a(2, 1) = 1.0000000000000009 (counted "
            "from 1)");
  EXPECT_EQ(describe(seen(exec, diagonal<double>({1, 2}))), "A is symmetric");
  EXPECT_EQ(describe(seen(exec, HostCsr<double>{2, 3, {0, 0, 0}, {}, {}})), "A is not square");
}

TYPED_TEST(SymmetryOfDouble, TheDiagonal) {
  TypeParam const exec;
  Symmetry const s = seen(exec, diagonal<double>({1, 2, 0, 3, -1, -0.0, 4, -2}));
  EXPECT_EQ(s.diagonal.zero, 2);
  EXPECT_EQ(s.diagonal.negative, 4);
  EXPECT_EQ(s.diagonal.missing, -1);
  EXPECT_FALSE(s.diagonal.is_positive());
  EXPECT_TRUE(seen(exec, diagonal<double>({1, 2})).diagonal.is_positive());
  // In parts, which cancel.
  HostCsr<double> const parts{2, 2, {0, 3, 5}, {0, 1, 0, 0, 1}, {1, 5, -1, 5, 3}};
  EXPECT_EQ(seen(exec, parts).diagonal.zero, 0);
}

// What rounding explains is relative to sqrt(a_ii a_jj), however much terms have cancelled: so it
// is the same of D A D.
TYPED_TEST(SymmetryOfDouble, RoundingIsJudgedByTheDiagonalsToo) {
  TypeParam const exec;
  Entries<double> const cancelled{{{0, 0}, 1e4}, {{0, 1}, 1e-12}, {{1, 0}, -2e-12}, {{1, 1}, 1e4}};
  EXPECT_TRUE(seen(exec, matrix_of(2, cancelled)).hermitian.holds());
  auto scaled = matrix_of(2, cancelled);
  scale_both_sides(scaled, {std::ldexp(1, 300), std::ldexp(1, -400)});
  EXPECT_EQ(seen(exec, scaled).hermitian.difference,
            seen(exec, matrix_of(2, cancelled)).hermitian.difference);
  auto alone = cancelled;
  alone.erase({0, 0});
  EXPECT_FALSE(seen(exec, matrix_of(2, alone)).hermitian.holds()) << "of itself";
}

TYPED_TEST(SymmetryOfDouble, TheEndsOfTheRange) {
  TypeParam const exec;
  double const most = std::numeric_limits<double>::max(),
               least = std::numeric_limits<double>::denorm_min();
  auto const of = [&](double a, double b, double on_diagonal) {
    CsrMatrix<double, TypeParam> const A(exec,
                                         sparse<double>({{on_diagonal, a}, {b, on_diagonal}}));
    return check_symmetry(exec, A).hermitian;
  };
  EXPECT_EQ(of(most, -most, 0).difference, 2);
  EXPECT_EQ(of(least, -least, 0).difference, 2);
  EXPECT_EQ(of(least, 0, 0).difference, 1);
  EXPECT_TRUE(of(most, most, most).is_exact());
  EXPECT_FALSE(of(least, 0, most).is_exact()) << "it underflows, and is there all the same";
  EXPECT_TRUE(of(least, 0, most).holds());
}

TYPED_TEST(SymmetryOfDouble, NothingToLookAt) {
  TypeParam const exec;
  for (auto const& none : {HostCsr<double>{}, HostCsr<double>{0, 0, {0}, {}, {}},
                           HostCsr<double>{3, 3, {0, 0, 0, 0}, {}, {}}}) {
    Symmetry const s = seen(exec, none);
    EXPECT_TRUE(s.pattern && s.hermitian.is_exact() && s.symmetric.holds());
    EXPECT_EQ(s.diagonal.is_positive(), none.rows == 0);
  }
  for (auto const& [rows, columns] : {std::pair(2, 3), std::pair(3, 2), std::pair(0, 2)}) {
    Symmetry const s =
        seen(exec, HostCsr<double>{rows, columns, std::vector<std::int64_t>(rows + 1), {}, {}});
    EXPECT_FALSE(s.is_square || s.hermitian.holds() || s.symmetric.holds());
  }
}

// An antidiagonal of which the lower half alone is there: the first pair comes last.
TYPED_TEST(SymmetryOfDouble, OfEqualPairsTheFirstIsNamed) {
  std::int32_t const n = 300;
  Entries<double> entries;
  for (std::int32_t i = n / 2; i < n; ++i) entries[{i, n - 1 - i}] = 1;
  Agreement const worst = seen(TypeParam(), matrix_of(n, entries)).hermitian;
  EXPECT_EQ(std::pair(worst.row, worst.column), std::pair(0, n - 1));
}

// A full row and a full column.
TYPED_TEST(SymmetryOfDouble, Arrow) {
  std::int32_t const n = 30000, full = 77;
  HostCsr<double> A{n, n, {0}, {}, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    auto const add = [&](std::int32_t j) {
      A.columns.push_back(j);
      A.values.push_back(i == j ? n : 1);
    };
    if (i == full)
      for (std::int32_t j = 0; j < n; ++j) add(j);
    else
      for (std::int32_t const j : {std::min(i, full), std::max(i, full)}) add(j);
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const fine(exec, A);
  EXPECT_TRUE(check_symmetry(exec, fine).hermitian.is_exact());
  A.values[A.row_offsets[20000]] = 5;  // a(20000, 77)
  Agreement const off = check_symmetry(exec, CsrMatrix<double, TypeParam>(exec, A)).hermitian;
  EXPECT_EQ(std::pair(off.row, off.column), std::pair(full, 20000));
  EXPECT_EQ(off.mirrored, 5.);
}

TYPED_TEST(SymmetryOfDouble, WideOffsets) {
  TypeParam const exec;
  auto const A = matrix_of<double>(60, hermitian<double>(60));
  seen<double, std::int64_t>(exec, A);
  seen<double, std::size_t>(exec, A);
  seen<double, std::size_t>(exec, shuffled(A));
}

// Each walk ends where another begins, and the last one searches: all of them see the same to the
// bit, also where a row's mirror images are spread over all walks, or missing.
TYPED_TEST(SymmetryOf, ByAnyNumberOfWalks) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  std::int32_t const n = 60;
  auto fine = hermitian<Scalar>(n);
  for (std::int32_t j = 0; j < n; ++j) fine[{30, j}] = fine[{j, 30}] = Scalar(j == 30 ? 9 : 1);
  std::vector<Entries<Scalar>> all{fine};
  for (auto const& [i, j] : {std::pair(30, 2), std::pair(2, 30), std::pair(30, 58),
                             std::pair(58, 30), std::pair(1, 1)}) {
    all.push_back(fine);
    all.back()[{i, j}] = Scalar(3);
    all.push_back(fine);
    all.back().erase({i, j});
  }
  // An infinite entry with a mirror image, or that a cursor passes, or that is left at the end.
  for (auto const& [i, j] : {std::pair(30, 2), std::pair(2, 30), std::pair(1, 1)}) {
    for (bool const is_alone : {false, true}) {
      all.push_back(fine);
      all.back()[{i, j}] = Scalar(std::numeric_limits<double>::infinity());
      if (is_alone && i != j) all.back().erase({j, i});
    }
  }
  auto const values = random_vector<Scalar>(n * n, 9);
  std::mt19937 generator(4);
  for (int const share : {2, 10}) {
    Entries<Scalar> entries;
    for (int k = 0; k < n * n; ++k)
      if (generator() % share == 0) entries[{k / n, k % n}] = values[k];
    all.push_back(entries);
  }
  for (Entries<Scalar> const& entries : all) {
    HostCsr<Scalar> const host = matrix_of(n, entries);
    Symmetry const wanted = seen(exec, host);
    std::int64_t outsized = 0;
    for (auto const& [at, value] : entries) {
      auto const root_of = [&](std::int32_t i) {
        auto const found = entries.find({i, i});
        return found == entries.end() ? 0 : std::sqrt(largest_part(plain(found->second)));
      };
      double const most = root_of(at.first) * root_of(at.second);
      if (at.first != at.second && largest_part(plain(value)) > (1 + 1000 * epsilon<Scalar>)*most)
        ++outsized;
    }
    CsrMatrix<Scalar, Exec> const A(exec, host);
    for (std::int64_t const walks : {0, 1, 2, 3, 7, 16, 100}) {
      if (walks > 0 && !Solder::Impl::is_host_space<Exec>) continue;
      SCOPED_TRACE(walks);
      Kokkos::View<double*, typename Exec::memory_space> const roots("roots", n);
      Kokkos::View<std::int32_t*, typename Exec::memory_space> const above("above", n);
      auto const diagonal =
          Solder::Impl::find_diagonal(exec, A, roots.data(), above.data(), walks == 0);
      EXPECT_EQ(diagonal.facts.disordered, 0);
      auto const pairs = Solder::Impl::mirrored_pairs(exec, A, diagonal, walks);
      Agreement const got = pairs.hermitian.template agreement<Scalar>();
      EXPECT_EQ(got.difference, wanted.hermitian.difference) << "to the bit";
      expect_same(got, wanted.hermitian);
      if (wanted.is_complex)
        expect_same(pairs.symmetric.template agreement<Scalar>(), wanted.symmetric);
      EXPECT_EQ(pairs.unpaired == 0, wanted.pattern);
      EXPECT_EQ(pairs.unpaired,
                std::count_if(entries.begin(), entries.end(), [&](auto const& entry) {
                  return !entries.contains({entry.first.second, entry.first.first});
                }));
      EXPECT_EQ(pairs.infinite != 0, !wanted.is_finite);
      EXPECT_EQ(pairs.outsized, outsized);
      EXPECT_EQ(pairs.disordered, 0);
      CsrMatrix<Scalar, Exec> const in_no_order(exec, shuffled(host));
      if (walks == 0)
        EXPECT_EQ(Solder::Impl::mirrored_pairs(exec, in_no_order, diagonal, walks).disordered, 1);
      else
        EXPECT_EQ(Solder::Impl::find_diagonal(exec, in_no_order, roots.data(), above.data(), false)
                      .facts.disordered,
                  1);
    }
  }
}

TYPED_TEST(SymmetryOfDouble, FewKernelsOnTheInstanceAndNothingIsKept) {
  auto const exec = another_instance<TypeParam>();
  auto const host = matrix_of<double>(90, hermitian<double>(90));
  auto lower = hermitian<double>(90);
  std::erase_if(lower, [](auto const& entry) { return entry.first.first < entry.first.second; });
  auto upper = hermitian<double>(90);
  std::erase_if(upper, [](auto const& entry) { return entry.first.first > entry.first.second; });
  CsrMatrix<double, TypeParam> const A(exec, host), B(exec, shuffled(host)),
      L(exec, matrix_of<double>(90, lower)), U(exec, matrix_of<double>(90, upper));
  std::int64_t const walks = Solder::Impl::walks_of(exec);
  KokkosEvents events;
  check_symmetry(exec, A);
  EXPECT_EQ(events.kernels.size(), 2u);
  std::size_t bytes = 0, arrays = 0;
  for (auto const& allocation : events.allocations) {
    // Others are Kokkos's, for the first reduction of so many bytes in this process.
    if (!allocation.label.starts_with("Solder::")) continue;
    bytes += allocation.bytes;
    ++arrays;
  }
  EXPECT_EQ(arrays, walks > 0 ? 3u : 2u);
  EXPECT_LE(bytes, 90 * (8 + (1 + walks) * sizeof(std::int32_t)) + 256u);
  check_symmetry(exec, L);
  EXPECT_EQ(events.kernels.size(), 4u) << "all above the diagonal is passed over";
  check_symmetry(exec, U);
  EXPECT_EQ(events.kernels.size(), walks > 0 ? 7u : 6u) << "the cursors go on to the end";
  check_symmetry(exec, B);
  events.stop();
  for (auto const& kernel : events.kernels) {
    EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
    EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec)) << kernel.label;
  }
}

}  // namespace
