// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Row products of any matrix format against plain loops.

#include "../support.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <solder/matrix/csr.hpp>

namespace SolderTest {

/// y[i] = (A x)_i, and how often row i was given out.
template <class Operator, class Scalar>
struct ProductBody {
  Operator A;
  Scalar const* x;
  Scalar* y;
  int* met;
  int* wrong_answers;
  bool answer;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    bool const went_on = A.for_each_row_product(
        team, x, [&] { return answer; },
        [&](std::int32_t i, Scalar const& value) {
          y[i] = value;
          Kokkos::atomic_add(&met[i], 1);
        });
    if (went_on != answer) Kokkos::atomic_add(wrong_answers, 1);
  }
};

/// Row lengths from 0 to `most`.
inline std::vector<int> random_lengths(int rows, int most, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<int> lengths(rows);
  for (int& length : lengths) length = static_cast<int>(generator() % (most + 1));
  return lengths;
}

/// A random matrix with the given entries in each row, columns ascending.
template <class Scalar>
Solder::HostCsr<Scalar> with_row_lengths(std::vector<int> const& lengths,
                                         std::int32_t columns_count) {
  Solder::HostCsr<Scalar> A;
  A.rows = static_cast<std::int32_t>(lengths.size());
  A.columns_count = columns_count;
  A.row_offsets = {0};
  std::mt19937 generator(3);
  for (int const length : lengths) {
    std::int32_t column = 0;
    for (int k = 0; k < length; ++k) {
      int const room = columns_count - column - (length - k);
      column += room > 0 ? static_cast<int>(generator() % (2 * room / (length - k) + 1)) : 0;
      column = std::min(column, columns_count - (length - k));
      A.columns.push_back(column++);
    }
    A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
  }
  A.values = random_vector<Scalar>(A.columns.size(), 4);
  return A;
}

/// Products A x by the league that the matrix asks for and by the team runner's team: all rows,
/// once each, right.
template <class Scalar, class Exec, class Matrix>
void expect_products(Exec const& exec, Solder::HostCsr<Scalar> const& host, Matrix const& A,
                     std::vector<Scalar> const& x_host) {
  auto const x = to_device(exec, x_host);
  auto const op = A.device_operator();
  using Body = ProductBody<std::decay_t<decltype(op)>, Scalar>;
  for (bool const league : {true, false}) {
    SCOPED_TRACE(league ? "league" : "one team");
    auto const y = to_device(exec, std::vector<Scalar>(host.rows, Scalar(77)));
    auto const met = to_device(exec, std::vector<int>(host.rows));
    auto const wrong = to_device(exec, std::vector<int>(1));
    for (bool const answer : {false, true}) {
      Body const body{op, x.data(), y.data(), met.data(), wrong.data(), answer};
      if (league)
        run_league(exec, op.teams, 2, body);
      else
        run_league<Solder::Impl::team_threads>(exec, 1, 2, body);
      for (int const count : to_host(exec, met)) ASSERT_EQ(count, answer ? 1 : 0);
    }
    ASSERT_EQ(to_host(exec, wrong)[0], 0);
    auto const got = to_host(exec, y);
    for (std::int32_t i = 0; i < host.rows; ++i) {
      Complex sum = 0;
      double terms = 0;
      for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k) {
        Complex const term = plain(host.values[k]) * plain(x_host[host.columns[k]]);
        sum += term;
        terms += std::abs(term);
      }
      double const length = double(host.row_offsets[i + 1] - host.row_offsets[i]);
      ASSERT_LE(std::abs(plain(got[i]) - sum), 2 * (length + 2) * epsilon<Scalar> * terms)
          << "row " << i;
    }
  }
}

/// The same for a random x.
template <class Scalar, class Exec, class Matrix>
void expect_products(Exec const& exec, Solder::HostCsr<Scalar> const& host, Matrix const& A) {
  expect_products(exec, host, A, random_vector<Scalar>(host.columns_count, 8));
}

/// What a matrix in another format, which make(csr) makes, does when values change.
template <class Exec, class Make>
void expect_takes_new_values(Exec const& exec, Solder::HostCsr<double> host, Make const& make) {
  using Csr = Solder::CsrMatrix<double, Exec>;
  auto csr = std::make_unique<Csr>(exec, host);
  auto A = make(*csr);
  csr.reset();  // it keeps nothing of it
  expect_products(exec, host, A);
  for (double& value : host.values) value *= -2;
  A.refresh(exec, Csr(exec, host));
  exec.fence("SolderTest: refreshed");
  expect_products(exec, host, A);
  Csr const another(exec, with_row_lengths<double>({2, 3, 1}, 6));
  EXPECT_THROW(A.refresh(exec, another), std::invalid_argument);
  EXPECT_THROW(A.with_values_of(exec, another), std::invalid_argument);
  // A copy with other values.
  auto other_host = host;
  for (double& value : other_host.values) value += 1;
  Csr const other(exec, other_host);
  auto const changed = A.with_values_of(exec, other);
  exec.fence("SolderTest: copied");
  expect_products(exec, other_host, changed);
  expect_products(exec, host, A);
  other.values_changed();
  EXPECT_TRUE(changed.is_stale());
  EXPECT_FALSE(A.is_stale());
}

}  // namespace SolderTest
