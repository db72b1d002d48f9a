// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Cycles of multigrid against plain loops.

#include "amg.hpp"
#include "applied.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace SolderTest {

/// A^-1 b.
inline Vector solve_densely(Plain const& A, Vector const& b) {
  std::vector<std::vector<ComplexDouble>> rows(b.size(), std::vector<ComplexDouble>(b.size()));
  for (std::int32_t i = 0; i < A.size(); ++i)
    for (auto const& [j, a] : A.rows[i]) rows[i][j] = ComplexDouble(a.real(), a.imag());
  return dense_solve(sparse(rows), std::vector<ComplexDouble>(b.begin(), b.end()));
}

/// A cycle, textbook, of the matrices of a hierarchy.
struct PlainCycle {
  struct Level {
    Plain A, P, R, G, GH;
    double largest;
  };
  std::vector<Level> levels;
  bool is_direct;
  AmgOptions options;

  template <class Scalar>
  PlainCycle(Solder::Impl::amg::Hierarchy<Scalar, Default> const& H, AmgOptions const& o)
      : is_direct(H.is_direct), options(o) {
    bool const with_fsai = options.smoother == Solder::AmgSmoother::fsai;
    for (std::size_t l = 0; l < H.levels.size(); ++l) {
      auto const& level = H.levels[l];
      Plain const P = level.P ? Plain(*level.P) : Plain(0, 0),
                  G = with_fsai && !(is_direct && l + 1 == H.levels.size()) ? Plain(level.fsai->G())
                                                                            : Plain(0, 0);
      levels.push_back({Plain(level.A), P, P.adjoint(), G, G.adjoint(),
                        with_fsai ? level.largest_of_fsai : level.largest});
    }
  }

  /// For residuals that lie in [0.2, 1] of the largest eigenvalue: the zeros of a Chebyshev
  /// polynomial there.
  double weight(std::size_t l, int k, int sweeps) const {
    double const pi = std::acos(-1.0), top = levels[l].largest;
    if (options.smoother == Solder::AmgSmoother::jacobi) return 4 / (3 * top);
    return 1 / (0.6 * top + 0.4 * top * std::cos(pi * (k + 0.5) / sweeps));
  }
  Vector residual(std::size_t l, Vector const& b, Vector const& x) const {
    auto r = levels[l].A.times(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    return r;
  }
  void sweep(std::size_t l, double weight, Vector const& b, Vector& x) const {
    auto r = residual(l, b, x);
    if (options.smoother == Solder::AmgSmoother::fsai)
      r = levels[l].GH.times(levels[l].G.times(r));
    else
      for (std::size_t i = 0; i < r.size(); ++i)
        r[i] /= levels[l].A.at(std::int32_t(i), std::int32_t(i));
    for (std::size_t i = 0; i < r.size(); ++i) x[i] += weight * r[i];
  }
  Vector operator()(Vector const& b) const {
    Vector x(b.size());
    cycle(0, b, x);
    return x;
  }
  void cycle(std::size_t l, Vector const& b, Vector& x) const {
    bool const is_last = l + 1 == levels.size();
    if (is_last && is_direct) {
      x = solve_densely(levels[l].A, b);
      return;
    }
    for (int k = 0; k < options.pre; ++k) sweep(l, weight(l, k, options.pre), b, x);
    if (!is_last) {
      auto const r = levels[l].R.times(residual(l, b, x));
      Vector e(r.size());
      bool const twice = options.cycle == Solder::AmgCycle::w && l + 2 < levels.size();
      for (int k = 0; k < (twice ? 2 : 1); ++k) cycle(l + 1, r, e);
      auto const Pe = levels[l].P.times(e);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += Pe[i];
    }
    for (int k = options.post; k-- > 0;) sweep(l, weight(l, k, options.post), b, x);
  }
};

/// Every smoother, with these sweeps.
template <class Scalar>
void check_cycles(HostCsr<Scalar> const& host, AmgOptions options, std::size_t levels, bool direct,
                  std::vector<std::pair<int, int>> const& sweeps = {
                      {1, 1}, {2, 2}, {3, 3}, {8, 8}}) {
  Default const exec;
  CsrMatrix<Scalar, Default> const A(exec, host);
  auto const u = random_vector<Scalar>(host.rows, 1), v = random_vector<Scalar>(host.rows, 2);
  for (auto const smoother :
       {Solder::AmgSmoother::jacobi, Solder::AmgSmoother::chebyshev, Solder::AmgSmoother::fsai}) {
    options.smoother = smoother;
    auto const made = hierarchy(A, options);
    auto const& H = *made;
    EXPECT_EQ(H.levels.size(), levels);
    EXPECT_EQ(H.is_direct, direct);
    for (auto const& [pre, post] : sweeps) {
      SCOPED_TRACE(std::string(to_string(smoother)) + ", " + std::to_string(pre) + " and " +
                   std::to_string(post) + " sweeps");
      options.pre = pre;
      options.post = post;
      Amg<Scalar, Default> const M(exec, A, options);
      ASSERT_EQ(M.failure(), "");
      ASSERT_EQ(M.levels().size(), H.levels.size());
      auto const Mu = applied(M, u), Mv = applied(M, v);
      auto const expected = PlainCycle(H, options)(plain(v));
      double const size = norm_of(expected);
      for (std::int32_t i = 0; i < host.rows; ++i)
        ASSERT_LE(std::abs(SolderTest::plain(Mv[i]) - expected[i]), 1e-12 * size) << "row " << i;

      if (pre == post) {  // Hermitian positive definite
        Complex const uMv = inner(plain(u), plain(Mv)), Muv = inner(plain(Mu), plain(v));
        EXPECT_LE(std::abs(uMv - Muv), 1e-12 * norm(u) * norm(Mv));
        Complex const uMu = inner(plain(u), plain(Mu));
        EXPECT_GT(uMu.real(), 0);
        EXPECT_LE(std::abs(uMu.imag()), 1e-12 * norm(u) * norm(Mu));
      }

      EXPECT_TRUE(same_bits(applied(M, v), Mv));
      Amg<Scalar, Default> again(exec, A, options);
      EXPECT_TRUE(same_bits(applied(again, v), Mv));
      again.refresh(exec, A);
      EXPECT_TRUE(same_bits(applied(again, v), Mv));
      // One team takes the rows in the same order, one by one: nothing is summed across them.
      if (Solder::Impl::is_host_space<Default>) {
        EXPECT_TRUE(same_bits(applied(M, v, true), Mv));
      }
    }
  }
}

}  // namespace SolderTest
