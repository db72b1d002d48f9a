// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <solder/core/deadline.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/detail/triangular/pattern.hpp>

namespace Solder::Impl::triangular {

/// \brief Factors with entries that are not in A, on the host: their pattern in the order of
/// elimination, including every diagonal entry. An entry that is not in A has the source -1.
template <class Scalar>
struct Filled {
  OrderedPattern pattern;
  std::vector<Scalar> values;        ///< of the factors; empty: they are still to be computed
  std::int64_t dropped = 0;          ///< entries that were left out
  bool is_too_large = false;         ///< more entries than allowed: the pattern is useless
  std::int32_t wrong = -1;           ///< a row of A without a usable pivot: there are no factors
  bool may_shift = true;             ///< a larger diagonal may make it usable
  double shift = 0;                  ///< what was added to the diagonal, relative to it
  std::int64_t repaired = 0;         ///< pivots that were replaced, where there are values
  std::int32_t first_repaired = -1;  ///< the first of them, in the order of elimination
};

/// \brief The row that is being eliminated. Its columns before the diagonal are handed out in
/// ascending order, those that elimination adds meanwhile included: a binary heap, which takes
/// log(columns) an entry. A column is marked with the row that has it, so that nothing is cleared.
class WorkRow {
 public:
  explicit WorkRow(std::int32_t rows) : marked_(rows, -1), source_(rows) {}

  /// \brief Begins with A's entries of row i; f(k, column) for each.
  template <class F>
  void begin(std::int32_t i, OrderedPattern const& A, F const& f) {
    i_ = i;
    below_.clear();
    above_.clear();
    add(i);
    for (std::int32_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      add(A.columns[k]);
      source_[A.columns[k]] = A.source[k];
      f(k, A.columns[k]);
    }
  }
  bool has(std::int32_t column) const { return marked_[column] == i_; }
  /// \brief Adds a column unless the row has it.
  void add(std::int32_t column) {
    if (marked_[column] == i_) return;
    marked_[column] = i_;
    source_[column] = -1;
    if (column > i_) {
      above_.push_back(column);
    } else if (column < i_) {
      below_.push_back(column);
      std::push_heap(below_.begin(), below_.end(), std::greater<>());
    }
  }
  bool has_below() const { return !below_.empty(); }
  /// \brief Removes the first of the columns before the diagonal, and returns it.
  std::int32_t next_below() {
    std::pop_heap(below_.begin(), below_.end(), std::greater<>());
    std::int32_t const column = below_.back();
    below_.pop_back();
    return column;
  }
  std::vector<std::int32_t> const& above() const { return above_; }
  /// \brief The place in A of a column's entry, or -1.
  std::int32_t source(std::int32_t column) const { return source_[column]; }

 private:
  std::int32_t i_ = -1;
  std::vector<std::int32_t> marked_, source_, below_, above_;
};

/// \brief Appends row i with these columns, which ascend, and the diagonal between them.
inline void append_row(OrderedPattern& to, WorkRow const& row, std::int32_t i,
                       std::vector<std::int32_t> const& below,
                       std::vector<std::int32_t> const& above) {
  auto const append = [&](std::int32_t column) {
    to.columns.push_back(column);
    to.source.push_back(row.source(column));
  };
  for (std::int32_t const column : below) append(column);
  to.diagonal.push_back(static_cast<std::int32_t>(to.columns.size()));
  append(i);
  for (std::int32_t const column : above) append(column);
  to.offsets.push_back(static_cast<std::int32_t>(to.columns.size()));
}

/// \brief The entries that the factors may have in their first `i` rows. Those that follow have
/// room for their diagonals.
inline std::int64_t most_entries(OrderedPattern const& A, double fill_factor, std::int32_t i) {
  std::int64_t const to_come = static_cast<std::int64_t>(A.offsets.size()) - 1 - i;
  return static_cast<std::int64_t>(
      std::min(fill_factor * A.offsets[i] + i,
               double(std::numeric_limits<std::int32_t>::max() - 1 - to_come)));
}

/// \brief The pattern of incomplete factors with fill up to a level: an entry of A has level 0, and
/// elimination of row i by row k gives entry (i, j) the level level(i, k) + level(k, j) + 1, if it
/// has no lower one (Saad, Iterative Methods for Sparse Linear Systems, 10.3.3). It is symmetric if
/// A's is.
template <class Scalar>
Filled<Scalar> filled_by_level(OrderedPattern const& A, int most_level, double fill_factor) {
  auto const rows = static_cast<std::int32_t>(A.label.size());
  Filled<Scalar> filled;
  OrderedPattern& F = filled.pattern;
  F.label = A.label;
  std::int64_t const most = most_entries(A, fill_factor, rows);
  WorkRow row(rows);
  std::vector<std::int32_t> below, above;
  std::vector<std::int8_t> level_of(rows), levels;  // of the factors' entries, as most_level <= 100
  for (std::int32_t i = 0; i < rows; ++i) {
    Deadline::check(i);
    level_of[i] = 0;
    row.begin(i, A, [&](std::int32_t, std::int32_t j) { level_of[j] = 0; });
    below.clear();
    while (row.has_below()) {
      std::int32_t const k = row.next_below();
      below.push_back(k);
      for (std::int32_t e = F.diagonal[k] + 1; e < F.offsets[k + 1]; ++e) {
        std::int32_t const j = F.columns[e];
        int const level = level_of[k] + levels[e] + 1;
        if (level > most_level) continue;
        if (!row.has(j)) {
          row.add(j);
          level_of[j] = static_cast<std::int8_t>(level);
        } else if (level < level_of[j]) {
          level_of[j] = static_cast<std::int8_t>(level);
        }
      }
    }
    above = row.above();
    std::sort(above.begin(), above.end());
    if (static_cast<std::int64_t>(F.columns.size() + below.size() + above.size()) >= most) {
      filled.is_too_large = true;
      return filled;
    }
    append_row(F, row, i, below, above);
    for (std::int32_t k = F.offsets[i]; k < F.offsets[i + 1]; ++k)
      levels.push_back(level_of[F.columns[k]]);
  }
  return filled;
}

}  // namespace Solder::Impl::triangular
