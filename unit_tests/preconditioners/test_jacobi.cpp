// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../kokkos_events.hpp"
#include "../support.hpp"

#include <limits>
#include <string>
#include <type_traits>

#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/random.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::Jacobi;

template <class Operator, class Scalar>
struct ApplyBody {
  Operator M;
  Scalar const* r;
  Scalar* z;

  KOKKOS_FUNCTION void operator()(int i) const { z[i] = M(i, r[i]); }
};

/// M r, on the device.
template <class Exec, class Operator, class Scalar>
std::vector<Scalar> apply(Exec const& exec, Operator const& M, std::vector<Scalar> const& r) {
  auto const r_device = to_device(exec, r), z = to_device(exec, std::vector<Scalar>(r.size()));
  Kokkos::parallel_for("SolderTest::apply",
                       Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(r.size())),
                       ApplyBody<Operator, Scalar>{M, r_device.data(), z.data()});
  return to_host(exec, z);
}

template <class Exec, class Scalar>
void expect_inverse(Exec const& exec, Jacobi<Scalar, Exec> const& M,
                    std::vector<Scalar> const& diagonal) {
  auto const r = random_vector<Scalar>(diagonal.size(), 21);
  Solder::Arena<Exec> arena(exec, false);
  auto const z = apply(exec, M.open(arena), r);
  for (std::size_t i = 0; i < r.size(); ++i) {
    Complex const expected = plain(r[i]) / plain(diagonal[i]);
    ASSERT_LE(std::abs(plain(z[i]) - expected), 8 * epsilon<Scalar> * std::abs(expected))
        << "row " << i;
  }
}

template <class C>
struct JacobiOf : testing::Test {};
TYPED_TEST_SUITE(JacobiOf, AllCases, TypeName);

TYPED_TEST(JacobiOf, InvertsTheDiagonal) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto host = Solder::random_spd<Scalar>(500, 7, 2);
  auto entries = random_vector<Scalar>(500, 6);  // negative and complex ones, too
  for (std::int32_t i = 0; i < 500; ++i) {
    entries[i] *= Scalar(std::pow(10.f, float(i % 9 - 4)));
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (host.columns[k] == i) host.values[k] = entries[i];
  }
  CsrMatrix<Scalar, Exec> const A(exec, host);
  Jacobi<Scalar, Exec> const M(exec, A);
  EXPECT_EQ(M.zero_row(), -1);
  EXPECT_EQ(M.rows(), 500);
  expect_inverse(exec, M, entries);
}

TYPED_TEST(JacobiOf, RemembersTheFirstZeroRow) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  Scalar const o{}, a(2);
  auto const zero_row_of = [&](std::vector<std::vector<Scalar>> const& rows) {
    return Jacobi<Scalar, Exec>(exec, CsrMatrix<Scalar, Exec>(exec, sparse(rows))).zero_row();
  };
  EXPECT_EQ(zero_row_of({{a, o, o}, {o, a, o}, {o, o, a}}), -1);
  EXPECT_EQ(zero_row_of({{a, o, o}, {a, o, a}, {o, a, o}}), 1);  // missing in rows 1 and 2
  EXPECT_EQ(zero_row_of({{o, o, o}, {o, a, o}, {o, o, a}}), 0);  // an empty row
  EXPECT_EQ(zero_row_of({{a, o, o}, {o, a, o}, {a, a, o}}), 2);
  auto stored = diagonal<Scalar>({a, a, a, a});
  stored.values[2] = o;  // stored, and zero
  EXPECT_EQ((Jacobi<Scalar, Exec>(exec, CsrMatrix<Scalar, Exec>(exec, stored)).zero_row()), 2);
}

template <class Exec>
struct JacobiOfDouble : testing::Test {};
TYPED_TEST_SUITE(JacobiOfDouble, Spaces::Types, TypeName);

TYPED_TEST(JacobiOfDouble, RefreshFollowsTheValues) {
  TypeParam const exec;
  using Vector = Kokkos::View<double*, typename TypeParam::memory_space>;
  auto const offsets = to_device(exec, std::vector<std::int32_t>{0, 2, 3, 5});
  auto const columns = to_device(exec, std::vector<std::int32_t>{0, 2, 1, 0, 2});
  Vector const values = to_device(exec, std::vector<double>{2, 9, 4, 9, -8});
  CsrMatrix<double, TypeParam> const A(exec, 3, 3, offsets, columns, values);
  Jacobi<double, TypeParam> M(exec, A);
  auto const copy = M;  // shares what M has
  expect_inverse<TypeParam, double>(exec, M, {2, 4, -8});

  Kokkos::deep_copy(values, to_device(exec, std::vector<double>{5, 9, 0, 9, 3}));
  expect_inverse<TypeParam, double>(exec, M, {2, 4, -8});
  M.refresh(exec, A);
  EXPECT_EQ(M.zero_row(), 1);
  EXPECT_EQ(copy.zero_row(), 1);

  Kokkos::deep_copy(values, to_device(exec, std::vector<double>{5, 9, 7, 9, 3}));
  M.refresh(exec, A);
  EXPECT_EQ(M.zero_row(), -1);
  expect_inverse<TypeParam, double>(exec, M, {5, 7, 3});
  expect_inverse<TypeParam, double>(exec, copy, {5, 7, 3});
}

TYPED_TEST(JacobiOfDouble, DuplicatesOfTheDiagonalAreSummed) {
  TypeParam const exec;
  auto const offsets = to_device(exec, std::vector<std::int32_t>{0, 3, 5});
  auto const columns = to_device(exec, std::vector<std::int32_t>{0, 1, 0, 1, 1});
  auto const values = to_device(exec, std::vector<double>{2, 9, 3, 1, -1});
  CsrMatrix<double, TypeParam> const A(exec, 2, 2, offsets, columns, values);
  EXPECT_EQ((Jacobi<double, TypeParam>(exec, A).zero_row()), 1);
}

TYPED_TEST(JacobiOf, OfADiagonalAlone) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto entries = random_vector<Scalar>(700, 6);
  Jacobi M(exec, to_device(exec, entries));
  static_assert(std::is_same_v<decltype(M), Jacobi<Scalar, Exec>>);
  EXPECT_EQ(M.rows(), 700);
  EXPECT_EQ(M.zero_row(), -1);
  expect_inverse(exec, M, entries);

  entries = random_vector<Scalar>(700, 7);
  Kokkos::View<Scalar const*, typename Exec::memory_space> const other = to_device(exec, entries);
  M.refresh(exec, other);
  expect_inverse(exec, M, entries);
  entries[612] = entries[345] = Scalar{};
  M.refresh(exec, to_device(exec, entries));
  EXPECT_EQ(M.zero_row(), 345);
  EXPECT_EQ(Jacobi(exec, to_device(exec, entries)).zero_row(), 345);
}

TYPED_TEST(JacobiOfDouble, DiagonalsWithAStrideOrOfAnotherScalar) {
  TypeParam const exec;
  Kokkos::View<double**, Kokkos::LayoutRight, typename TypeParam::memory_space> const columns(
      "SolderTest::columns", 3, 2);
  Kokkos::deep_copy(columns, 2.0);
  Kokkos::deep_copy(Kokkos::subview(columns, Kokkos::ALL(), 1), 4.0);
  expect_inverse<TypeParam, double>(exec, Jacobi(exec, Kokkos::subview(columns, Kokkos::ALL(), 1)),
                                    {4, 4, 4});
  expect_inverse<TypeParam, double>(
      exec, Jacobi<double, TypeParam>(exec, to_device(exec, std::vector<float>{2, 5})), {2, 5});
}

TYPED_TEST(JacobiOfDouble, DiagonalsOfAnotherLengthAreRefused) {
  TypeParam const exec;
  auto const three = to_device(exec, std::vector<double>{1, 2, 3}),
             two = to_device(exec, std::vector<double>{1, 2});
  Jacobi M(exec, three);
  try {
    M.refresh(exec, two);
    ADD_FAILURE() << "accepted";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(), "Solder::Jacobi: a diagonal of 3 entries is needed, not 2");
  }
  using Unmanaged = Kokkos::View<double const*, typename TypeParam::memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::size_t const most = 2147483647 - (1 << 22);  // nothing of it may be read
  EXPECT_THROW(Jacobi(exec, Unmanaged(three.data(), most + 1)), std::length_error);
}

template <class Exec, class Offset>
void expect_scalar_deduced() {
  Exec const exec;
  CsrMatrix<float, Exec, Offset> const A(exec, diagonal<float>({2, -5, 3}));
  Jacobi const M(exec, A);
  static_assert(std::is_same_v<decltype(M), Jacobi<float, Exec> const>);
  expect_inverse<Exec, float>(exec, M, {2, -5, 3});
}

TYPED_TEST(JacobiOfDouble, DeducesTheScalarWhateverTheOffsets) {
  expect_scalar_deduced<TypeParam, std::int32_t>();
  expect_scalar_deduced<TypeParam, std::int64_t>();
  expect_scalar_deduced<TypeParam, std::size_t>();
}

TYPED_TEST(JacobiOfDouble, SquareMatricesOnly) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  auto wide = diagonal<double>({1, 2, 3});
  wide.columns_count = 4;
  EXPECT_THROW((Jacobi<double, TypeParam>(exec, Matrix(exec, wide))), std::invalid_argument);
  Jacobi<double, TypeParam> M(exec, Matrix(exec, diagonal<double>({1, 2, 3})));
  EXPECT_THROW(M.refresh(exec, Matrix(exec, diagonal<double>({1, 2}))), std::invalid_argument);
  EXPECT_THROW(M.refresh(exec, Matrix(exec, wide)), std::invalid_argument);
}

TYPED_TEST(JacobiOfDouble, NamesADiagonalEntryThatIsTooSmallToDivideBy) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  Jacobi<double, TypeParam> const M(exec, Matrix(exec, diagonal<double>({1, 1e-307, -4e-310, 0})));
  EXPECT_EQ(M.zero_row(), 2);
  EXPECT_NE(M.failure().find("row 3 (counted from 1) is zero, or too small to divide by"),
            std::string::npos)
      << M.failure();
  double const infinity = std::numeric_limits<double>::infinity();  // solvers say not_finite
  EXPECT_EQ(
      (Jacobi<double, TypeParam>(exec, Matrix(exec, diagonal<double>({1, infinity})))).zero_row(),
      -1);
}

TYPED_TEST(JacobiOfDouble, EmptyMatrix) {
  TypeParam const exec;
  Jacobi<double, TypeParam> const M(exec, CsrMatrix<double, TypeParam>(exec, diagonal<double>({})));
  EXPECT_EQ(M.zero_row(), -1);
  EXPECT_EQ(M.rows(), 0);
}

/// \brief Kernels of a set-up, all of the instance given.
template <class Exec>
std::size_t kernels_of_set_up(Exec const& exec, CsrMatrix<double, Exec> const& A,
                              std::int32_t zero_row) {
  KokkosEvents const events;
  Jacobi<double, Exec> const M(exec, A);
  EXPECT_EQ(M.zero_row(), zero_row);
  expect_kernels_of(exec, events);
  return events.kernels.size();
}

TYPED_TEST(JacobiOfDouble, OneKernelButNoneForFewEntriesOnAHost) {
  auto const exec = another_instance<TypeParam>();
  constexpr bool is_host = Solder::Impl::is_host_space<TypeParam>;
  CsrMatrix<double, TypeParam> const few(exec, diagonal<double>({1, 2, 3}));
  EXPECT_EQ(kernels_of_set_up(exec, few, -1), is_host ? 0u : 1u);
  std::vector<double> entries(1'000'001, 2);
  entries[700'000] = entries[900'000] = 0;
  CsrMatrix<double, TypeParam> const many(exec, diagonal<double>(entries));
  EXPECT_EQ(kernels_of_set_up(exec, many, 700'000), 1u);
}

TEST(Identity, GivesBackWhatItGets) {
  Solder::Identity const M;
  Kokkos::DefaultExecutionSpace const exec;
  Solder::Arena<Kokkos::DefaultExecutionSpace> arena(exec, false);
  EXPECT_EQ(M.open(arena)(3, 4.5), 4.5);
  EXPECT_EQ(M.words<double>(10), 0);
  EXPECT_EQ(M.rows(), -1) << "any";
}

}  // namespace
