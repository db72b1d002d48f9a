// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief IDR(s) as the textbook has it, in plain loops.

#include "idr.hpp"

namespace SolderTest {

template <class Scalar>
struct PlainIdr {
  std::vector<PlainNumber<Scalar, typename Solder::ScalarTraits<Scalar>::Real>> x;
  std::vector<double> history;  ///< of the recursion, relative

  int iterations() const { return static_cast<int>(history.size()) - 1; }
  double residual() const { return history.back(); }
};

/// \brief The iteration in which a recursion first claims to have converged. The solver goes on
/// from there where the truth is another; the textbook does not know.
inline int first_claim(std::vector<double> const& history, double tolerance) {
  int k = 0;
  while (k < static_cast<int>(history.size()) && history[k] > tolerance) ++k;
  return k;
}

/// \brief IDR(s) with biorthogonal residuals, preconditioned from the right (Van Gijzen and
/// Sonneveld 2011, figure 2), with no safeguards: one inner product after the other, P^H r from r
/// in each cycle, the small systems by forward substitution. Vectors have the scalar's precision,
/// what is made of inner products has double. An iteration is a product with A.
///
/// The shadow vectors are the solver's, entry by entry: others would make another iteration.
/// \param inverse empty, or 1 / diag(A)
template <class Scalar>
PlainIdr<Scalar> plain_idr(HostCsr<Scalar> const& A, std::vector<Scalar> const& inverse,
                           std::vector<Scalar> const& b, std::vector<Scalar> const& x0,
                           IdrOptions const& options) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  using Entry = PlainNumber<Scalar, Real>;
  using Number = PlainNumber<Scalar, double>;
  using Line = std::vector<Entry>;
  std::size_t const n = b.size(), s = std::min<std::size_t>(options.shadow_dimension, n);
  auto const number = [](auto const& value) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return Number(value.real(), value.imag());
    else
      return Number(value);
  };
  auto const entries = [&](std::vector<Scalar> const& values) {
    Line line;
    for (auto const& value : values) line.push_back(Entry(number(value)));
    return line;
  };
  auto const dot = [&](auto const& a, Line const& c) {
    Number sum{};
    for (std::size_t i = 0; i < n; ++i)
      if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
        sum += std::conj(Number(a[i])) * Number(c[i]);
      else
        sum += Number(a[i]) * Number(c[i]);
    return sum;
  };
  auto const length = [&](Line const& a) { return std::sqrt(std::abs(dot(a, a))); };
  auto const add = [&](Line& y, Number const& factor, Line const& z) {
    for (std::size_t i = 0; i < n; ++i) y[i] += Entry(factor) * z[i];
  };
  auto const values = entries(A.values), scales = entries(inverse);
  auto const product = [&](Line const& z) {
    Line y(n);
    for (std::size_t i = 0; i < n; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        y[i] += values[k] * z[A.columns[k]];
    return y;
  };
  auto const preconditioned = [&](Line z) {
    for (std::size_t i = 0; i < scales.size(); ++i) z[i] *= scales[i];
    return z;
  };

  using Numbers = std::vector<Number>;
  std::vector<Line> G(s, Line(n)), U = G;
  std::vector<Numbers> P(s, Numbers(n)), M(s, Numbers(s));
  Solder::ShadowSpace<Scalar> const shadow{options.seed};
  for (std::size_t j = 0; j < s; ++j) {
    for (std::size_t i = 0; i < n; ++i) P[j][i] = number(shadow.entry(int(i), int(j)));
    M[j][j] = 1;
  }

  PlainIdr<Scalar> run;
  Line x = entries(x0), r = entries(b);
  double const norm_b = length(r);
  add(r, -1, product(x));
  Line smoothed_x = x, smoothed_r = r;
  run.history = {length(r) / norm_b};
  auto const is_done = [&] {
    return run.residual() <= options.tolerance || run.iterations() >= options.max_iterations;
  };
  // Takes the new x and r in; whether they end it.
  auto const ends = [&] {
    if (options.smoothing) {
      Line d = smoothed_r, e = smoothed_x;
      add(d, -1, r);
      add(e, -1, x);
      Number const gamma = dot(d, smoothed_r) / dot(d, d);
      add(smoothed_r, -gamma, d);
      add(smoothed_x, -gamma, e);
    }
    run.history.push_back(length(options.smoothing ? smoothed_r : r) / norm_b);
    return is_done();
  };
  auto const iterate = [&] {
    Number omega = 1;
    while (true) {
      Numbers f(s);
      for (std::size_t i = 0; i < s; ++i) f[i] = dot(P[i], r);
      for (std::size_t k = 0; k < s; ++k) {
        Numbers c(s);
        Line v = r, u(n);
        for (std::size_t i = k; i < s; ++i) {
          c[i] = f[i];
          for (std::size_t j = k; j < i; ++j) c[i] -= M[i][j] * c[j];
          c[i] /= M[i][i];
          add(v, -c[i], G[i]);
          add(u, c[i], U[i]);
        }
        add(u, omega, preconditioned(v));
        U[k] = u;
        G[k] = product(u);
        for (std::size_t i = 0; i < k; ++i) {
          Number const alpha = dot(P[i], G[k]) / M[i][i];
          add(G[k], -alpha, G[i]);
          add(U[k], -alpha, U[i]);
        }
        for (std::size_t i = k; i < s; ++i) M[i][k] = dot(P[i], G[k]);
        Number const beta = f[k] / M[k][k];
        add(r, -beta, G[k]);
        add(x, beta, U[k]);
        if (ends()) return;
        for (std::size_t i = k + 1; i < s; ++i) f[i] -= beta * M[i][k];
      }
      Line const v = preconditioned(r), t = product(v);
      omega = dot(t, r) / dot(t, t);
      double const cosine = std::abs(dot(t, r)) / (length(t) * length(r));
      if (cosine < 0.7) omega *= 0.7 / cosine;
      add(x, omega, v);
      add(r, -omega, t);
      if (ends()) return;
    }
  };
  if (!is_done()) iterate();
  run.x = options.smoothing ? smoothed_x : x;
  return run;
}

}  // namespace SolderTest
