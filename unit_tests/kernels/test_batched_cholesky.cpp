// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batched Cholesky against plain loops.
#include "../kokkos_events.hpp"
#include "../support.hpp"

#include <solder/kernels/batched_cholesky.hpp>

namespace {

using namespace SolderTest;

constexpr int orders[] = {1,  2,  3,  7,  8,  9,  15, 16,  17,  31,  32,  33,
                          48, 63, 64, 65, 95, 96, 97, 128, 130, 200, 256, 300};

template <class C>
struct BatchedCholesky : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  using Memory = typename Exec::memory_space;
  Exec exec;

  /// Matrices one after the other, entry (r, c) at r * m + c. The lower triangles are those of
  /// C + m I, C Hermitian with entries below 1: positive definite. The upper ones hold 77.
  static std::vector<Scalar> matrices(int count, int m, unsigned seed = 3) {
    auto A = random_vector<Scalar>(std::size_t(count) * m * m, seed);
    for (int b = 0; b < count; ++b)
      for (int r = 0; r < m; ++r)
        for (int c = 0; c < m; ++c) {
          Scalar& entry = A[(std::size_t(b) * m + r) * m + c];
          if (c > r) entry = Scalar(77);
          if (c == r) entry = Scalar(Real(1.5 * m + real_part(plain(entry))));
        }
    return A;
  }
  static double real_part(Complex const& z) { return z.real(); }

  struct Outcome {
    std::vector<Scalar> L;
    std::vector<std::int32_t> info;
  };

  enum class Order { rows, columns, padded_rows, batch_first };

  /// The strides of entry (b, r, c).
  static std::array<std::size_t, 3> strides(Order order, std::size_t count, std::size_t m) {
    if (order == Order::rows) return {m * m, m, 1};
    if (order == Order::columns) return {m * m, 1, m};
    if (order == Order::padded_rows) return {m * (m + 3) + 5, m + 3, 1};
    return {1, count, count * m};
  }

  Outcome factor(std::vector<Scalar> const& A, int count, int m, Order order = Order::rows) {
    auto const [sb, sr, sc] = strides(order, count, m);
    std::size_t const span = count == 0 ? 0 : (count - 1) * sb + (m - 1) * (sr + sc) + 1;
    std::vector<Scalar> stored(span, Scalar(55));
    auto const at = [&](int b, int r, int c) { return b * sb + r * sr + c * sc; };
    auto const index = [&](int b, int r, int c) { return (std::size_t(b) * m + r) * m + c; };
    auto const for_each = [&](auto const& f) {
      for (int b = 0; b < count; ++b)
        for (int r = 0; r < m; ++r)
          for (int c = 0; c < m; ++c) f(at(b, r, c), index(b, r, c));
    };
    for_each([&](std::size_t to, std::size_t from) { stored[to] = A[from]; });
    auto const values = to_device(exec, stored);
    Kokkos::View<std::int32_t*, Memory> const info("SolderTest::info", count);
    Kokkos::deep_copy(info, -5);
    Kokkos::View<Scalar***, Kokkos::LayoutStride, Memory> const view(
        values.data(), Kokkos::LayoutStride(count, sb, m, sr, m, sc));
    Solder::batched_cholesky(exec, view, info);
    Outcome outcome{A, to_host(exec, info)};
    stored = to_host(exec, values);
    for_each([&](std::size_t from, std::size_t to) { outcome.L[to] = stored[from]; });
    return outcome;
  }

  /// The largest ||A - L L^H|| / ||A|| over the matrices, by Frobenius norms; and 77 above.
  static double error(std::vector<Scalar> const& A, Outcome const& outcome, int count, int m) {
    double worst = 0;
    for (int b = 0; b < count; ++b) {
      auto const at = [&](std::vector<Scalar> const& v, int r, int c) {
        return plain(v[(std::size_t(b) * m + r) * m + c]);
      };
      double difference = 0, norm = 0;
      for (int r = 0; r < m; ++r) {
        for (int c = 0; c <= r; ++c) {
          Complex sum = at(A, r, c);
          double const weight = c < r ? 2 : 1;
          norm += weight * std::norm(sum);
          for (int k = 0; k <= c; ++k) sum -= at(outcome.L, r, k) * std::conj(at(outcome.L, c, k));
          difference += weight * std::norm(sum);
        }
        for (int c = r + 1; c < m; ++c) EXPECT_EQ(at(outcome.L, r, c), 77.0) << "upper triangle";
        Complex const diagonal = at(outcome.L, r, r);
        EXPECT_TRUE(diagonal.real() > 0 && diagonal.imag() == 0) << diagonal;
      }
      double const relative = std::sqrt(difference / norm);
      worst = relative <= worst ? worst : relative;  // NaN stays
    }
    return worst;
  }
};
TYPED_TEST_SUITE(BatchedCholesky, AllCases, TypeName);

TYPED_TEST(BatchedCholesky, EveryOrderInBothLayouts) {
  using Scalar = typename TestFixture::Scalar;
  using Order = typename TestFixture::Order;
  for (int const m : orders) {
    int const count = m < 40 ? 21 : 2;
    auto const A = this->matrices(count, m);
    for (Order const order :
         {Order::rows, Order::columns, Order::padded_rows, Order::batch_first}) {
      if (m > 100 && order >= Order::padded_rows) continue;
      auto const outcome = this->factor(A, count, m, order);
      for (auto const info : outcome.info) EXPECT_EQ(info, 0);
      EXPECT_LE(this->error(A, outcome, count, m), 4 * epsilon<Scalar> * std::sqrt(m + 4.0))
          << "order " << m << ", layout " << int(order);
    }
  }
}

TYPED_TEST(BatchedCholesky, TheFirstMinorThatIsNotPositiveDefiniteIsNamed) {
  using Real = typename TestFixture::Real;
  using Scalar = typename TestFixture::Scalar;
  Real const infinity = std::numeric_limits<Real>::infinity(),
             nan = std::numeric_limits<Real>::quiet_NaN();
  for (int const m : {1, 5, 8, 13, 16, 27, 32, 33, 70, 130}) {
    auto const bad = {1, m / 2 + 1, m};
    for (Real const pivot : {Real(-1), Real(0), nan, infinity}) {
      auto A = this->matrices(5, m);
      int b = 1;
      for (int const k : bad) {  // matrices 1 to 3
        // Also a later one, which does not count.
        A[(std::size_t(b) * m + k - 1) * m + k - 1] = Scalar(pivot);
        A[(std::size_t(b) * m + m - 1) * m + m - 1] = Scalar(pivot);
        // Zero exactly, whatever came before.
        for (int c = 0; c < k - 1; ++c) A[(std::size_t(b) * m + k - 1) * m + c] = Scalar{};
        ++b;
      }
      auto const outcome = this->factor(A, 5, m);
      EXPECT_EQ(outcome.info, (std::vector<std::int32_t>{0, 1, m / 2 + 1, m, 0}))
          << "order " << m << ", pivot " << pivot;
    }
  }
  // Not a bad diagonal entry, but a bad minor: [1 2; 2 1] at the place k.
  int const m = 90;
  for (int const k : {0, 7, 31, 62, 88}) {
    auto A = this->matrices(1, m);
    for (int r : {k, k + 1})
      for (int c = 0; c <= r; ++c) A[std::size_t(r) * m + c] = Scalar(c < k ? 0 : r == c ? 1 : 2);
    EXPECT_EQ(this->factor(A, 1, m).info, std::vector<std::int32_t>{k + 2});
  }
}

TYPED_TEST(BatchedCholesky, NaNOffTheDiagonalCountsToo) {
  using Scalar = typename TestFixture::Scalar;
  using Real = typename TestFixture::Real;
  for (int const m : {6, 16, 32, 75}) {
    auto A = this->matrices(2, m);
    A[(std::size_t(m) + m - 2) * m + 1] = Scalar(std::numeric_limits<Real>::quiet_NaN());
    EXPECT_EQ(this->factor(A, 2, m).info, (std::vector<std::int32_t>{0, m - 1}));
  }
}

TYPED_TEST(BatchedCholesky, TheImaginaryPartOfTheDiagonalIsIgnored) {
  using Scalar = typename TestFixture::Scalar;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex) {
    for (int const m : {8, 20, 50}) {
      auto const A = this->matrices(2, m);
      auto other = A;
      for (int b = 0; b < 2; ++b)
        for (int r = 0; r < m; ++r) other[(std::size_t(b) * m + r) * m + r].imag(3);
      EXPECT_TRUE(same_bits(this->factor(A, 2, m).L, this->factor(other, 2, m).L));
    }
  }
}

TYPED_TEST(BatchedCholesky, LargeAndSmallNumbers) {
  using Scalar = typename TestFixture::Scalar;
  using Real = typename TestFixture::Real;
  // L has entries near the roots of these; their squares are used, their fourth powers are not.
  Real const big = std::sqrt(std::numeric_limits<Real>::max()) * Real(100),
             small = std::numeric_limits<Real>::min() * Real(10);
  for (Real const scale : {big, small})
    for (int const m : {8, 16, 32, 40}) {
      auto A = this->matrices(1, m);
      for (int r = 0; r < m; ++r)
        for (int c = 0; c <= r; ++c) A[std::size_t(r) * m + c] *= scale;
      auto const outcome = this->factor(A, 1, m);
      EXPECT_EQ(outcome.info[0], 0);
      EXPECT_LE(std::abs(plain(outcome.L[0]) * plain(outcome.L[0]) / plain(A[0]) - 1.0),
                8 * epsilon<Scalar>)
          << "order " << m << ", scale " << scale;
    }
}

TYPED_TEST(BatchedCholesky, OneKernelNoFenceAndTheSameBitsAgain) {
  using Scalar = typename TestFixture::Scalar;
  for (int const m : {8, 16, 32, 100}) {
    auto const A = this->matrices(9, m);
    auto const first = this->factor(A, 9, m);
    EXPECT_TRUE(same_bits(this->factor(A, 9, m).L, first.L));

    auto const exec = another_instance<typename TestFixture::Exec>();
    Kokkos::View<Scalar***, Kokkos::LayoutRight, typename TestFixture::Memory> const view(
        "SolderTest::matrices", 9, m, m);
    Kokkos::View<std::int32_t*, typename TestFixture::Memory> const info("SolderTest::info", 9);
    KokkosEvents events;
    Solder::batched_cholesky(exec, view, info);
    events.stop();
    EXPECT_EQ(events.kernels.size(), 1u);
    for (auto const& kernel : events.kernels) {
      EXPECT_EQ(kernel.label.substr(0, 26), "Solder::batched_cholesky::");
      EXPECT_EQ(kernel.device, Kokkos::Tools::Experimental::device_id(exec));
    }
    EXPECT_TRUE(events.fences.empty());
    EXPECT_TRUE(events.allocations.empty());
    EXPECT_EQ(to_host(exec, info), std::vector<std::int32_t>(9, 1)) << "zero matrices";
  }
}

TYPED_TEST(BatchedCholesky, NothingToDoAndWhatDoesNotFit) {
  using Scalar = typename TestFixture::Scalar;
  using View = Kokkos::View<Scalar***, typename TestFixture::Memory>;
  using Info = Kokkos::View<std::int32_t*, typename TestFixture::Memory>;
  Info const info("SolderTest::info", 3), none("SolderTest::info", 0);
  Kokkos::deep_copy(info, 7);
  EXPECT_NO_THROW(Solder::batched_cholesky(this->exec, View("SolderTest::A", 0, 4, 4), none));
  EXPECT_NO_THROW(Solder::batched_cholesky(this->exec, View("SolderTest::A", 3, 0, 0), info));
  EXPECT_EQ(to_host(this->exec, info), std::vector<std::int32_t>(3, 0));
  EXPECT_THROW(Solder::batched_cholesky(this->exec, View("SolderTest::A", 3, 4, 5), info),
               std::invalid_argument);
  EXPECT_THROW(Solder::batched_cholesky(this->exec, View("SolderTest::A", 2, 4, 4), info),
               std::invalid_argument);
}

}  // namespace
