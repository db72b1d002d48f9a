// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief FSAI as the paper writes it, for tests to compare with: sets for the patterns, Gaussian
/// elimination in long double for the local systems, eps A eps^H straight from A. Columns of a row
/// of A may be in any order.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/scalar.hpp>
#include <solder/matrix/host_csr.hpp>

namespace SolderTest {

/// \brief Lower triangular, columns ascending, the diagonal last in each row.
struct OracleFactor {
  std::vector<std::vector<std::pair<std::int32_t, std::complex<double>>>> rows;
  std::vector<std::int32_t> repaired;  ///< rows made diagonal, ascending

  std::int64_t nonzeros() const {
    std::int64_t sum = 0;
    for (auto const& row : rows) sum += static_cast<std::int64_t>(row.size());
    return sum;
  }
};

template <class Scalar>
class FsaiOracle {
 public:
  using Pattern = std::set<std::int32_t>;

  explicit FsaiOracle(Solder::HostCsr<Scalar> const& A) : A_(A), diagonal_(A.rows, 0) {
    for (std::int32_t i = 0; i < A.rows; ++i)
      for_each_entry(i, [&](std::int32_t j, Value const& a) {
        if (i == j) diagonal_[i] = std::real(a);
      });
  }

  /// \brief (3.8), (3.9): the pattern of row i before postfiltration.
  Pattern pattern(std::int32_t i, double tau, int k) const {
    Pattern P = {i};
    for (int p = 0; p < k; ++p) {
      Pattern next = P;
      for (auto const s : P)
        for_each_entry(s, [&](std::int32_t c, Value const& a) {
          if (c <= i && c != s && is_kept(s, c, a, tau)) next.insert(c);
        });
      P = next;
    }
    return P;
  }

  OracleFactor static_fsai(double tau, int k, double delta, double energy_limit = 0.03) const {
    return factor([&](std::int32_t i) { return row_of(pattern(i, tau, k)); }, delta, energy_limit);
  }

  OracleFactor adaptive_fsai(int steps, int entries_per_step, double improvement, double delta,
                             double energy_limit = 0.03) const {
    return factor(
        [&](std::int32_t i) { return grown_row(i, steps, entries_per_step, improvement); }, delta,
        energy_limit);
  }

 private:
  using Real = long double;
  using Value =
      std::conditional_t<Solder::ScalarTraits<Scalar>::is_complex, std::complex<Real>, Real>;
  using Row = std::map<std::int32_t, Value>;

  static Value wide(Scalar const& a) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return {a.real(), a.imag()};
    else
      return a;
  }

  static Value conjugate(Value const& a) {
    if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
      return std::conj(a);
    else
      return a;
  }

  template <class Body>
  void for_each_entry(std::int32_t row, Body const& body) const {
    for (auto at = A_.row_offsets[row]; at < A_.row_offsets[row + 1]; ++at)
      body(A_.columns[at], wide(A_.values[at]));
  }

  bool is_kept(std::int32_t i, std::int32_t j, Value const& a, double tau) const {
    double const re = double(std::real(a)), im = double(std::imag(a));
    return re * re + im * im >
           tau * tau * std::abs(double(diagonal_[i])) * std::abs(double(diagonal_[j]));
  }

  /// \brief A[P, P] from the lower triangle of A, dense.
  std::vector<std::vector<Value>> local_matrix(Pattern const& P) const {
    std::map<std::int32_t, std::size_t> place;
    for (auto const s : P) place.emplace(s, place.size());
    std::vector<std::vector<Value>> M(P.size(), std::vector<Value>(P.size()));
    for (auto const r : P) {
      M[place[r]][place[r]] = diagonal_[r];
      for_each_entry(r, [&](std::int32_t c, Value const& a) {
        if (c >= r || !P.count(c)) return;
        M[place[r]][place[c]] = a;
        M[place[c]][place[r]] = conjugate(a);
      });
    }
    return M;
  }

  /// \brief w of M w = b by Gaussian elimination; nothing where a pivot is not positive or the
  /// result not finite.
  static std::optional<std::vector<Value>> solve(std::vector<std::vector<Value>> M,
                                                 std::vector<Value> b) {
    std::size_t const m = b.size();
    for (std::size_t k = 0; k < m; ++k) {
      if (!(std::real(M[k][k]) > 0) || !std::isfinite(std::real(M[k][k]))) return {};
      for (std::size_t i = k + 1; i < m; ++i) {
        Value const l = M[i][k] / std::real(M[k][k]);
        if (l == Value(0)) continue;
        for (std::size_t j = k + 1; j < m; ++j) M[i][j] -= l * M[k][j];
        b[i] -= l * b[k];
      }
    }
    for (std::size_t k = m; k-- > 0;) {
      for (std::size_t j = k + 1; j < m; ++j) b[k] -= M[k][j] * b[j];
      b[k] /= std::real(M[k][k]);
      if (!std::isfinite(std::abs(b[k]))) return {};
    }
    return b;
  }

  /// \brief A row of G: w^H / sqrt(w_m), where A[P, P] w = e_m (3.6), (3.7).
  std::optional<Row> row_of(Pattern const& P) const {
    std::vector<Value> last(P.size());
    last.back() = 1;
    auto const w = solve(local_matrix(P), last);
    if (!w || !(std::real(w->back()) > 0)) return {};
    Row g;
    std::size_t at = 0;
    for (auto const s : P) {
      g[s] = conjugate((*w)[at++]) / std::sqrt(std::real(w->back()));
      if (!std::isfinite(std::abs(g[s]))) return {};
    }
    return g;
  }

  /// \brief Row i of G on a pattern grown along the gradient of Kaporin's number. A row of G on a
  /// pattern holds 1 / sqrt(psi) on the diagonal, so gtilde and psi are read from row_of.
  /// A candidate whose diagonal entry is not positive is never taken.
  std::optional<Row> grown_row(std::int32_t i, int steps, int entries_per_step,
                               double improvement) const {
    Pattern P = {i};
    auto g = row_of(P);
    for (int step = 0; step < steps && g; ++step) {
      Real const psi = 1 / std::norm((*g)[i]);
      std::map<std::int32_t, Value> gradient;  // of the candidates, conjugated
      for (auto const s : P)
        for_each_entry(s, [&](std::int32_t j, Value const& a) {
          if (j < i && !P.count(j)) gradient[j] += (*g)[s] / (*g)[i] * a;
        });
      std::set<std::pair<Real, std::int32_t>, std::greater<>> best;
      for (auto const& [j, d] : gradient) {
        Real const gain = std::norm(d) / diagonal_[j];
        if (gain > 0 && std::isfinite(gain)) best.emplace(gain, j);
      }
      if (best.empty()) break;
      int added = 0;
      for (auto at = best.begin(); at != best.end() && added < entries_per_step; ++at, ++added)
        P.insert(at->second);
      g = row_of(P);
      if (g && psi - 1 / std::norm((*g)[i]) <= improvement * psi) break;
    }
    return g;
  }

  /// \brief (3.11) to (3.13), with delta halved until eps A eps^H is within the limit, zero after
  /// eight times.
  Row filtered(std::int32_t i, Row const& g, double delta, double energy_limit) const {
    for (int times = 0;; ++times, delta = times > 8 ? 0 : delta / 2) {
      Row kept, dropped;
      split(i, g, delta, kept, dropped);
      Real const energy = energy_of(dropped);
      if (energy > energy_limit && delta > 0) continue;
      for (auto& [j, value] : kept) value /= std::sqrt(1 + energy);
      return kept;
    }
  }

  static void split(std::int32_t i, Row const& g, double delta, Row& kept, Row& dropped) {
    Real squares = 0;
    for (auto const& [j, value] : g) squares += std::norm(value);
    for (auto const& [j, value] : g)
      (j == i || std::abs(value) > delta * std::sqrt(squares) ? kept : dropped)[j] = value;
  }

  /// \brief eps A eps^H.
  Real energy_of(Row const& eps) const {
    Real energy = 0;
    for (auto const& [r, at_r] : eps) {
      energy += std::norm(at_r) * diagonal_[r];
      for_each_entry(r, [&](std::int32_t c, Value const& a) {
        if (c < r && eps.count(c)) energy += 2 * std::real(at_r * a * conjugate(eps.at(c)));
      });
    }
    return energy;
  }

  template <class MakeRow>
  OracleFactor factor(MakeRow const& make_row, double delta, double energy_limit) const {
    OracleFactor G;
    for (std::int32_t i = 0; i < A_.rows; ++i) {
      std::optional<Row> row = make_row(i);
      if (row) {
        row = filtered(i, *row, delta, energy_limit);
      } else {
        Real const a = std::abs(diagonal_[i]);
        row = Row{{i, a == 0 || !std::isfinite(a) ? 1 : 1 / std::sqrt(a)}};
        G.repaired.push_back(i);
      }
      auto& entries = G.rows.emplace_back();
      for (auto const& [j, value] : *row)
        entries.emplace_back(
            j, std::complex<double>(double(std::real(value)), double(std::imag(value))));
    }
    return G;
  }

  Solder::HostCsr<Scalar> const& A_;
  std::vector<Real> diagonal_;
};

}  // namespace SolderTest
