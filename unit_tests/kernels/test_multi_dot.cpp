// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merged inner products against plain loops.
#include "../kokkos_events.hpp"
#include "../support.hpp"

#include <solder/kernels/multi_dot.hpp>

namespace {

using namespace SolderTest;
using Solder::MultiDot;
using Solder::Wide;

template <class C>
struct MultiDotOf : testing::Test {
  using Exec = typename C::Exec;
  using Scalar = typename C::Scalar;
  Exec exec;

  struct Products {
    std::vector<Wide<Scalar>> got;
    std::vector<Scalar> basis, y;
  };

  Products products_of(MultiDot<Scalar, Exec> const& plan, int rows, int stride, int columns) {
    Products p{{},
               random_vector<Scalar>(std::size_t(stride) * columns, 5),
               random_vector<Scalar>(rows, 6)};
    auto const basis = to_device(exec, p.basis), y = to_device(exec, p.y);
    auto const h = to_device(exec, std::vector<Wide<Scalar>>(columns + 1, Wide<Scalar>(77)));
    plan(basis, stride, columns, y, h);
    p.got = to_host(exec, h);
    return p;
  }
};
TYPED_TEST_SUITE(MultiDotOf, AllCases, TypeName);

TYPED_TEST(MultiDotOf, AnyNumberOfColumnsAndRows) {
  using Scalar = typename TestFixture::Scalar;
  for (int const rows : {1, 31, 257, 9000, 20000}) {
    MultiDot<Scalar, typename TestFixture::Exec> const plan(this->exec, rows, 70);
    for (int const columns : {1, 2, 3, 17, 32, 33, 70}) {
      int const stride = rows + 5;
      auto const p = this->products_of(plan, rows, stride, columns);
      for (int k = 0; k < columns; ++k) {
        Complex sum = 0;
        double terms = 0;
        for (int i = 0; i < rows; ++i) {
          Complex const term =
              std::conj(plain(p.basis[std::size_t(k) * stride + i])) * plain(p.y[i]);
          sum += term;
          terms += std::abs(term);
        }
        // Terms and sums are double, whatever the scalar.
        EXPECT_LE(std::abs(plain(p.got[k]) - sum), rows * 4e-16 * terms)
            << rows << " rows, column " << k << " of " << columns;
      }
      EXPECT_EQ(p.got[columns], Wide<Scalar>(77)) << "nothing is written beyond the products";
    }
  }
}

TYPED_TEST(MultiDotOf, TwoKernelsNoFenceAndTheSameBitsAgain) {
  using Scalar = typename TestFixture::Scalar;
  int const rows = 5000, columns = 9;
  MultiDot<Scalar, typename TestFixture::Exec> const plan(this->exec, rows, columns);
  auto const first = this->products_of(plan, rows, rows, columns);
  EXPECT_EQ(this->products_of(plan, rows, rows, columns).got, first.got);

  auto const basis = to_device(this->exec, first.basis), y = to_device(this->exec, first.y);
  auto const h = to_device(this->exec, first.got);
  KokkosEvents events;
  plan(basis, rows, columns, y, h);
  events.stop();
  EXPECT_EQ(events.kernels.size(), 2u);
  for (auto const& kernel : events.kernels)
    EXPECT_EQ(kernel.label.substr(0, 19), "Solder::multi_dot::");
  EXPECT_TRUE(events.fences.empty());
  EXPECT_TRUE(events.allocations.empty());
}

/// Column k is constant: k + 1 in all rows. (On a GPU a team's scratch does not hold that many
/// complex sums.)
TYPED_TEST(MultiDotOf, AsManyColumnsAsItTakes) {
  using Scalar = typename TestFixture::Scalar;
  int const rows = 3, columns = 4096;
  MultiDot<Scalar, typename TestFixture::Exec> const plan(this->exec, rows, columns);
  std::vector<Scalar> basis;
  for (int k = 0; k < columns; ++k) basis.insert(basis.end(), rows, Scalar(float(k + 1)));
  auto const V = to_device(this->exec, basis),
             y = to_device(this->exec, std::vector<Scalar>{1, 2, 4});
  auto const h = to_device(this->exec, std::vector<Wide<Scalar>>(columns));
  plan(V, rows, columns, y, h);
  auto const got = to_host(this->exec, h);
  for (int k = 0; k < columns; ++k) ASSERT_EQ(got[k], Wide<Scalar>(7.0 * (k + 1))) << k;
}

TYPED_TEST(MultiDotOf, WhatDoesNotFitIsRefused) {
  using Scalar = typename TestFixture::Scalar;
  using Plan = MultiDot<Scalar, typename TestFixture::Exec>;
  EXPECT_THROW(Plan(this->exec, 10, 4097), std::invalid_argument);
  // Loops step beyond the last row before they compare: a little room is kept.
  std::int32_t const largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_THROW(Plan(this->exec, largest, 1), std::length_error);
  EXPECT_THROW(Plan(this->exec, largest - (1 << 22) + 1, 1), std::length_error);
  EXPECT_NO_THROW(Plan(this->exec, largest - (1 << 22), 1));
  EXPECT_THROW(Plan(this->exec, 10, 0), std::invalid_argument);
  EXPECT_THROW(Plan(this->exec, -1, 3), std::invalid_argument);
  Plan const plan(this->exec, 10, 3);
  auto const basis = to_device(this->exec, std::vector<Scalar>(30)),
             y = to_device(this->exec, std::vector<Scalar>(10));
  auto const h = to_device(this->exec, std::vector<Wide<Scalar>>(3));
  EXPECT_NO_THROW(plan(basis, 10, 3, y, h));
  EXPECT_NO_THROW(plan(basis, 10, 0, y, h));
  EXPECT_THROW(plan(basis, 10, 4, y, h), std::invalid_argument);  // more columns than planned
  EXPECT_THROW(plan(basis, 9, 3, y, h), std::invalid_argument);   // columns overlap
  EXPECT_THROW(plan(basis, 11, 3, y, h), std::invalid_argument);  // the last column is cut
  EXPECT_THROW(plan(basis, 10, 3, basis, h), std::invalid_argument);
}

}  // namespace
