// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <solder/preconditioners/detail/triangular/fill.hpp>
#include <solder/preconditioners/detail/triangular/pivots.hpp>
#include <solder/preconditioners/detail/triangular/row_groups.hpp>

namespace Solder::Impl::triangular {

/// \brief The candidates of a row, of which the largest are kept.
class Candidates {
 public:
  void clear() { all_.clear(); }
  /// \brief A NaN counts as the largest, so that it stays and shows.
  void add(std::int32_t column, double size) {
    all_.push_back({std::isnan(size) ? std::numeric_limits<double>::infinity() : size, column});
  }
  std::int64_t count() const { return static_cast<std::int64_t>(all_.size()); }
  /// \brief Keeps the `most` largest. Returns how many are dropped.
  std::int64_t keep(std::int64_t most) {
    if (count() <= most) return 0;
    most = std::max<std::int64_t>(most, 0);
    std::int64_t const dropped = count() - most;
    std::nth_element(all_.begin(), all_.begin() + most, all_.end(), [](One const& a, One const& b) {
      return a.size != b.size ? a.size > b.size : a.column < b.column;
    });
    all_.resize(most);
    return dropped;
  }
  /// \brief The columns before and after i, ascending.
  void split(std::int32_t i, std::vector<std::int32_t>& below, std::vector<std::int32_t>& above) {
    below.clear();
    above.clear();
    for (One const& one : all_) (one.column < i ? below : above).push_back(one.column);
    for (auto* const part : {&below, &above})
      if (!std::is_sorted(part->begin(), part->end())) std::sort(part->begin(), part->end());
  }

 private:
  struct One {
    double size;
    std::int32_t column;
  };
  std::vector<One> all_;
};

/// \brief ILUT: A = L U row by row, without what is small, on the host (Saad, ILUT: a dual
/// threshold incomplete LU factorization, 1994; Iterative Methods for Sparse Linear Systems,
/// algorithm 10.6).
///
/// An entry is measured by what it does to its row of A: |u_ij|, and |l_ik| max_j |u_kj|. It is
/// left out if that is below drop_tolerance times the mean |a_ij|: l_ik before it is used. So
/// nothing depends on how the rows of A are scaled; nor does l_ik itself on how its columns are.
/// The second rule bounds the memory: rows 0, ..., i have at most fill_factor times the entries of
/// these rows of A, and their diagonal. Room that a row does not need is left to later ones. Of a
/// row with too many entries, the largest are kept.
///
/// A pivot below a hundredth of that threshold (or below rounding) is replaced by one of this size,
/// an error smaller than those of dropping.
///
/// \param given A's values
template <class Scalar>
Filled<Scalar> filled_by_threshold(OrderedPattern const& A, Scalar const* given,
                                   double drop_tolerance, double fill_factor) {
  auto const rows = static_cast<std::int32_t>(A.label.size());
  Filled<Scalar> filled;
  OrderedPattern& F = filled.pattern;
  F.label = A.label;
  WorkRow row(rows);
  Candidates candidates;
  std::vector<std::int32_t> below, above;
  std::vector<Scalar> w(rows), inverse(rows);
  std::vector<double> largest(rows);  // of each row of U
  for (std::int32_t i = 0; i < rows; ++i) {
    Deadline::check(i);
    RowSize of_row;
    w[i] = Scalar{};
    row.begin(i, A, [&](std::int32_t k, std::int32_t j) {
      w[j] = given[A.source[k]];
      of_row.add(w[j]);
    });
    double const small = of_row.small(drop_tolerance);
    candidates.clear();
    while (row.has_below()) {
      std::int32_t const k = row.next_below();
      Scalar const factor = w[k] * inverse[k];
      double const size = size_of(factor) * largest[k];
      if (size < small || factor == Scalar{}) {
        ++filled.dropped;
        continue;
      }
      w[k] = factor;
      candidates.add(k, size);
      for (std::int32_t e = F.diagonal[k] + 1; e < F.offsets[k + 1]; ++e) {
        std::int32_t const j = F.columns[e];
        if (row.has(j)) {
          w[j] -= factor * filled.values[e];
        } else {
          row.add(j);
          w[j] = -(factor * filled.values[e]);
        }
      }
    }
    for (std::int32_t const j : row.above()) {
      if (double const size = size_of(w[j]); size < small || size == 0)
        ++filled.dropped;
      else
        candidates.add(j, size);
    }
    std::int64_t const most =
        most_entries(A, fill_factor, i + 1) - static_cast<std::int64_t>(F.columns.size()) - 1;
    filled.dropped += candidates.keep(most);
    candidates.split(i, below, above);

    double const least = of_row.least_pivot<Scalar>(drop_tolerance), pivot = size_of(w[i]);
    if (pivot < least) {
      w[i] = enlarged_pivot(w[i], least);
      if (filled.repaired++ == 0) filled.first_repaired = i;
    }
    inverse[i] = Scalar(1) / w[i];
    append_row(F, row, i, below, above);
    double& most_of_row = largest[i] = size_of(w[i]);
    for (std::int32_t const j : below) filled.values.push_back(w[j]);
    filled.values.push_back(w[i]);
    for (std::int32_t const j : above) {
      filled.values.push_back(w[j]);
      most_of_row = std::max(most_of_row, size_of(w[j]));
    }
  }
  return filled;
}

/// \brief ICT: A = L D L^H row by row of L^H, without what is small, on the host, and the mirror
/// image of it. Only the upper part of A is read.
///
/// The values come with the pattern if A is Hermitian and all pivots are positive, both up to
/// rounding. Else they have to be computed in the pattern, from all of A; pivots that are not
/// positive are replaced for the choice of the pattern alone.
///
/// Entry (i, j) is left out if it is below drop_tolerance sqrt(|a_ii a_jj|), which symmetric
/// scaling does not change. Rows of both factors together are bounded as in filled_by_threshold().
///
/// \param shift what is added to the diagonal, relative to it
/// \param ends whether a pivot of a Hermitian A that is negative, beyond rounding, or no number
/// ends it, so that a larger shift can be tried
template <class Scalar>
Filled<Scalar> filled_by_symmetric_threshold(OrderedPattern const& A, Scalar const* given,
                                             double drop_tolerance, double fill_factor,
                                             double shift, bool ends) {
  using Real = typename ScalarTraits<Scalar>::Real;
  auto const rows = static_cast<std::int32_t>(A.label.size());
  Filled<Scalar> filled;
  Candidates candidates;
  GroupedRows<Scalar> U(rows);
  std::vector<std::int32_t> below, above, marked(rows, -1), in_column(rows, 0);
  std::vector<Scalar> w(rows);
  std::vector<double> pivots(rows), root(rows);
  filled.shift = shift;
  filled.pattern.label = A.label;
  auto const diagonal_of = [&](std::int32_t i) {
    return A.diagonal[i] < 0 ? Scalar{} : given[A.source[A.diagonal[i]]] * Real(1 + shift);
  };
  for (std::int32_t i = 0; i < rows; ++i) root[i] = std::sqrt(size_of(diagonal_of(i)));
  bool gives_values = is_mirrored(
      rows, A.offsets.data(), A.columns.data(), [&](std::int32_t k, std::int32_t mirrored) {
        Scalar const here = given[A.source[k]], there = conjugated(given[A.source[mirrored]]);
        double const scale = root[A.columns[k]] * root[A.columns[mirrored]];
        return size_of(here - there) <=
               1000 * double(std::numeric_limits<Real>::epsilon()) * std::max(size_of(here), scale);
      });
  for (std::int32_t i = 0; i < rows; ++i) {
    Deadline::check(i);
    above.clear();
    auto const add = [&](std::int32_t j) {
      marked[j] = i;
      w[j] = Scalar{};
      if (j > i) above.push_back(j);
    };
    add(i);
    for (std::int32_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      std::int32_t const j = A.columns[k];
      if (j <= i) continue;
      add(j);
      w[j] = given[A.source[k]];
    }
    w[i] = diagonal_of(i);
    U.for_each_update(i, pivots, [&](std::int32_t j, Scalar const& update) {
      if (marked[j] != i) add(j);
      w[j] -= update;
    });
    if (i > 0)
      take_order(i, U.columns_of(i - 1), above, [&](std::int32_t j) { return marked[j] == i; });
    double const small = drop_tolerance * root[i];
    candidates.clear();
    for (std::int32_t const j : above) {
      if (double const size = size_of(w[j]); size < small * root[j] || size == 0)
        ++filled.dropped;
      else
        candidates.add(j, root[j] > 0 ? size / root[j] : size);
    }
    std::int64_t const most =
        (most_entries(A, fill_factor, i + 1) - i - 1) / 2 - static_cast<std::int64_t>(U.entries());
    filled.dropped += candidates.keep(most);
    candidates.split(i, below, above);
    double const pivot = real_part(Wide<Scalar>(w[i]));
    double const of_row = root[i] * root[i];
    double const rounding = 100 * double(std::numeric_limits<Real>::epsilon()) * of_row;
    bool const is_fine = pivot > rounding;
    if (ends && gives_values && !(pivot >= -rounding)) {
      filled.wrong = A.label[i];
      filled.may_shift = real_part(diagonal_of(i)) > 0;
      return filled;
    }
    gives_values = gives_values && is_fine;
    pivots[i] = is_fine ? pivot : std::max(1e-3 * of_row, double(std::numeric_limits<Real>::min()));
    for (std::int32_t const j : above) ++in_column[j];
    U.append(above, w);
  }

  OrderedPattern& F = filled.pattern;
  F.diagonal.resize(rows);
  F.offsets.resize(std::size_t(rows) + 1);
  for (std::int32_t i = 0; i < rows; ++i) {
    F.diagonal[i] = F.offsets[i] + in_column[i];
    F.offsets[i + 1] = F.diagonal[i] + 1 + U.end(i) - U.begin(i);
  }
  F.columns.resize(F.offsets[rows]);
  F.source.assign(F.offsets[rows], -1);
  if (gives_values) filled.values.resize(F.offsets[rows]);
  std::vector<std::int32_t> fill_at(F.offsets.begin(), F.offsets.end() - 1);
  for (std::int32_t i = 0; i < rows; ++i) {
    std::int32_t const diagonal = F.diagonal[i];
    F.columns[diagonal] = i;
    if (gives_values) filled.values[diagonal] = static_cast<Real>(pivots[i]);
    for (std::int32_t k = U.begin(i); k < U.end(i); ++k) {
      std::int32_t const upper = diagonal + 1 + k - U.begin(i), lower = fill_at[U.columns[k]]++;
      F.columns[upper] = U.columns[k];
      F.columns[lower] = i;
      if (!gives_values) continue;
      filled.values[upper] = U.values[k];
      filled.values[lower] = conjugated(U.values[k]) / static_cast<Real>(pivots[i]);
    }
  }
  for (std::int32_t i = 0; i < rows; ++i)  // both parts of A's rows ascend, as those of F do
    for (std::int32_t k = A.offsets[i], f = F.offsets[i]; k < A.offsets[i + 1]; ++k) {
      while (f < F.offsets[i + 1] && F.columns[f] < A.columns[k]) ++f;
      if (f < F.offsets[i + 1] && F.columns[f] == A.columns[k]) F.source[f] = A.source[k];
    }
  return filled;
}

}  // namespace Solder::Impl::triangular
