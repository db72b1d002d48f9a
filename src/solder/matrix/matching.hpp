// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <solder/core/deadline.hpp>

namespace Solder::Impl::scaling {

/// \brief log2 |a| of each entry of a square matrix in CSR, on the host; -infinity for a zero.
template <class Offset>
struct Logarithms {
  std::int32_t rows;
  Offset const* offsets;
  std::int32_t const* columns;
  std::vector<double> of;
};

/// \brief A matching of rows to columns, and factors with which no entry is larger than 1, and the
/// matched ones are 1.
struct Matching {
  std::vector<std::int32_t> column;         ///< of each row, all different
  std::vector<double> of_rows, of_columns;  ///< log2 of the factors
  std::int32_t unmatched = 0;               ///< rows that got a column without an entry of theirs
  std::int32_t first_unmatched = -1;        ///< the first of them; -1: none
};

/// \brief The matching whose product of entries is as large as it can be (Duff and Koster, On
/// algorithms for permuting large entries to the diagonal of a sparse matrix, 2001: MC64, job 5).
///
/// It is a linear assignment of least cost, an entry's cost being log2 (largest of the row / |a|):
/// no cost is negative, and a zero has none. A first matching takes entries whose reduced cost
/// c - u_i - v_j is zero, where necessary by moving another row. Each row that is left then gets
/// the shortest augmenting path (Dijkstra's algorithm with a heap), which ends at the first free
/// column that is nearer than whatever is in the heap. The dual variables u and v give the factors.
/// O(rows entries log rows) at worst, far less in practice.
template <class Offset>
class ProductMatching {
 public:
  explicit ProductMatching(Logarithms<Offset> const& A) : A_(A) {}

  Matching made() {
    std::int32_t const n = A_.rows;
    largest_.assign(n, 0);
    u_.assign(n, 0);
    v_.assign(n, infinity);
    place_.assign(n, -1);
    row_.assign(n, -1);
    for (std::int32_t i = 0; i < n; ++i) {
      double largest = -infinity;
      for_each(i, [&](Offset k) { largest = std::max(largest, A_.of[k]); });
      if (largest > -infinity) largest_[i] = largest;
    }
    for (std::int32_t i = 0; i < n; ++i)
      for_each(i, [&](Offset k) {
        double& v = v_[A_.columns[k]];
        v = std::min(v, cost(i, k));
      });
    for (double& v : v_)
      if (v == infinity) v = 0;
    match_cheaply();
    distance_.assign(n, infinity);
    from_.assign(n, -1);
    via_.assign(n, -1);
    is_done_.assign(n, 0);
    std::int32_t unmatched = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      Deadline::check(i);
      if (place_[i] < 0 && !augment(i)) ++unmatched;
    }
    return result(unmatched);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// f(k) for each entry of row i that is not zero.
  template <class F>
  void for_each(std::int32_t i, F const& f) const {
    for (Offset k = A_.offsets[i]; k < A_.offsets[i + 1]; ++k)
      if (A_.of[k] > -infinity) f(k);
  }
  double cost(std::int32_t i, Offset k) const { return largest_[i] - A_.of[k]; }
  double reduced(std::int32_t i, Offset k) const {
    return std::max(0.0, cost(i, k) - u_[i] - v_[A_.columns[k]]);
  }
  void match(std::int32_t i, Offset k) {
    place_[i] = static_cast<std::int64_t>(k);
    row_[A_.columns[k]] = i;
  }

  void match_cheaply() {
    for (std::int32_t i = 0; i < A_.rows; ++i) {
      double least = infinity;
      for_each(i, [&](Offset k) { least = std::min(least, cost(i, k) - v_[A_.columns[k]]); });
      if (least == infinity) continue;
      u_[i] = least;
      for_each(i, [&](Offset k) {
        if (place_[i] < 0 && row_[A_.columns[k]] < 0 && reduced(i, k) == 0) match(i, k);
      });
    }
    for (std::int32_t i = 0; i < A_.rows; ++i) {
      if (place_[i] >= 0) continue;
      for_each(i, [&](Offset k) {  // the row that has the column may have another
        if (place_[i] >= 0 || reduced(i, k) > 0) return;
        std::int32_t const other = row_[A_.columns[k]];
        bool has_moved = false;
        for_each(other, [&](Offset e) {
          if (has_moved || row_[A_.columns[e]] >= 0 || reduced(other, e) > 0) return;
          match(other, e);
          has_moved = true;
        });
        if (has_moved) match(i, k);
      });
    }
  }

  /// Gives row `start` a column. Returns false if there is none.
  bool augment(std::int32_t start) {
    heap_.clear();
    done_.clear();
    seen_.clear();
    double path = 0, shortest = infinity;
    std::int32_t end = -1, i = start;
    auto const later = std::greater<std::pair<double, std::int32_t>>();
    while (true) {
      for_each(i, [&](Offset k) {
        std::int32_t const j = A_.columns[k];
        double const length = path + reduced(i, k);
        if (is_done_[j] || length >= shortest || length >= distance_[j]) return;
        if (distance_[j] == infinity) seen_.push_back(j);
        distance_[j] = length;
        from_[j] = static_cast<std::int64_t>(k);
        via_[j] = i;
        if (row_[j] < 0) {
          shortest = length;
          end = j;
        } else {
          heap_.emplace_back(length, j);
          std::push_heap(heap_.begin(), heap_.end(), later);
        }
      });
      std::int32_t nearest = -1;
      while (!heap_.empty() && nearest < 0) {
        auto const [length, j] = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
        if (!is_done_[j] && length == distance_[j] && length < shortest) nearest = j;
      }
      if (nearest < 0) break;
      is_done_[nearest] = 1;
      done_.push_back(nearest);
      path = distance_[nearest];
      i = row_[nearest];
    }
    if (end >= 0) {
      u_[start] += shortest;
      for (std::int32_t const j : done_) {
        u_[row_[j]] += shortest - distance_[j];
        v_[j] -= shortest - distance_[j];
      }
      for (std::int32_t j = end; j >= 0;) {
        std::int32_t const row = via_[j];
        std::int32_t const before =
            place_[row] < 0 ? -1 : A_.columns[static_cast<Offset>(place_[row])];
        match(row, static_cast<Offset>(from_[j]));
        j = row == start ? -1 : before;
      }
    }
    // Where a search has failed, no later one finds a free column by those that it has seen.
    if (end >= 0)
      for (std::int32_t const j : done_) is_done_[j] = 0;
    for (std::int32_t const j : seen_) distance_[j] = infinity;
    return end >= 0;
  }

  Matching result(std::int32_t unmatched) const {
    Matching found;
    found.unmatched = unmatched;
    found.column.resize(A_.rows);
    found.of_rows.resize(A_.rows);
    found.of_columns = v_;
    std::int32_t free = 0;
    for (std::int32_t i = 0; i < A_.rows; ++i) {
      found.of_rows[i] = u_[i] - largest_[i];
      if (place_[i] >= 0) {
        found.column[i] = A_.columns[static_cast<Offset>(place_[i])];
      } else {
        if (found.first_unmatched < 0) found.first_unmatched = i;
        while (row_[free] >= 0) ++free;
        found.column[i] = free++;
      }
    }
    return found;
  }

  Logarithms<Offset> const& A_;
  std::vector<double> largest_, u_, v_, distance_;
  std::vector<std::int64_t> place_, from_;  ///< entries: of each row, and that led to each column
  std::vector<std::int32_t> row_, via_, done_, seen_;
  std::vector<char> is_done_;
  std::vector<std::pair<double, std::int32_t>> heap_;
};

#ifdef SOLDER_COMPILED  // in src/compiled/setups.cpp
extern template class ProductMatching<std::int32_t>;
#endif

}  // namespace Solder::Impl::scaling
