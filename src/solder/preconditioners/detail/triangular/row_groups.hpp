// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <solder/core/scalar.hpp>

namespace Solder::Impl::triangular {

/// \brief Sums of several rows that have the same columns: factors[0] rows[0][e] + factors[1]
/// rows[1][e] + ... for each of `count` entries e. Four rows at a time, so that a sum is loaded and
/// stored once for four.
template <class Scalar>
class SumOfRows {
 public:
  void clear() {
    factors_.clear();
    rows_.clear();
  }
  void add(Scalar const& factor, Scalar const* row) {
    factors_.push_back(factor);
    rows_.push_back(row);
  }
  /// \brief f(e, sum) for each entry.
  template <class F>
  void for_each(std::int32_t count, F const& f) {
    sums_.assign(std::size_t(count), Scalar{});
    Scalar* const sums = sums_.data();
    std::size_t r = 0;
    for (; r + 4 <= rows_.size(); r += 4) {
      Scalar const *a = rows_[r], *b = rows_[r + 1], *c = rows_[r + 2], *d = rows_[r + 3];
      Scalar const A = factors_[r], B = factors_[r + 1], C = factors_[r + 2], D = factors_[r + 3];
      for (std::int32_t e = 0; e < count; ++e)
        sums[e] += A * a[e] + B * b[e] + (C * c[e] + D * d[e]);
    }
    for (; r < rows_.size(); ++r) {
      Scalar const* const a = rows_[r];
      Scalar const A = factors_[r];
      for (std::int32_t e = 0; e < count; ++e) sums[e] += A * a[e];
    }
    for (std::int32_t e = 0; e < count; ++e) f(e, sums[e]);
  }

 private:
  std::vector<Scalar> factors_, sums_;
  std::vector<Scalar const*> rows_;
};

/// \brief Whether a row with so many columns may have those of the row before, apart from its own:
/// that one has one more, and the row's own is the first of them.
inline bool may_continue_group(std::int32_t row, std::span<std::int32_t const> before,
                               std::size_t columns) {
  return before.size() == columns + 1 && before[0] == row;
}
/// \brief Whether a row has the columns of the row before, apart from its own.
inline bool continues_group(std::int32_t row, std::span<std::int32_t const> before,
                            std::span<std::int32_t const> columns) {
  return may_continue_group(row, before, columns.size()) &&
         std::equal(columns.begin(), columns.end(), before.begin() + 1);
}
/// \brief Sorts the columns of a row if they are those of the row before, apart from its own: then
/// their order is known.
/// \param has whether the row has a column
template <class F>
void take_order(std::int32_t row, std::span<std::int32_t const> before,
                std::vector<std::int32_t>& columns, F const& has) {
  if (may_continue_group(row, before, columns.size()) &&
      std::all_of(before.begin() + 1, before.end(), has))
    columns.assign(before.begin() + 1, before.end());
}

/// \brief The rows of a strictly upper triangular factor, which grows row by row, found by the
/// column that they are needed for next.
///
/// Rows that follow one another and have the same columns, apart from each other's, are a group,
/// which is needed as one: a supernode, where nothing is dropped. Each group is in the list of its
/// next column.
template <class Scalar>
class GroupedRows {
 public:
  explicit GroupedRows(std::int32_t rows)
      : last_(rows), left_(rows), first_(rows, -1), next_(rows, -1) {}

  std::int32_t entries() const { return static_cast<std::int32_t>(columns.size()); }
  std::int32_t begin(std::int32_t row) const { return offsets[row]; }
  std::int32_t end(std::int32_t row) const { return offsets[row + 1]; }

  std::span<std::int32_t const> columns_of(std::int32_t row) const {
    return std::span(columns).subspan(begin(row), end(row) - begin(row));
  }
  /// \brief Appends the next row, with these columns, which ascend, and their entries of w.
  void append(std::vector<std::int32_t> const& columns_of_row, std::vector<Scalar> const& w) {
    auto const row = static_cast<std::int32_t>(offsets.size()) - 1;
    for (std::int32_t const j : columns_of_row) {
      columns.push_back(j);
      values.push_back(w[j]);
    }
    offsets.push_back(entries());
    if (row > 0 && continues_group(row, columns_of(row - 1), columns_of(row))) {
      last_[group_] = row;  // it is in the list of its next column, which is this row's
      return;
    }
    group_ = last_[row] = row;
    left_[row] = end(row) - begin(row);
    enlist(row);
  }

  /// \brief f(j, sum_k conj(u_ki) u_kj / d_k) for the groups of rows k that have an entry in column
  /// i, and their columns j >= i; a column as often as there are groups with it. Called once for
  /// each i, before row i is appended.
  template <class F>
  void for_each_update(std::int32_t i, std::vector<double> const& d, F const& f) {
    using Real = typename ScalarTraits<Scalar>::Real;
    for (std::int32_t group = first_[i], after; group >= 0; group = after) {
      after = next_[group];
      std::int32_t const end_of_last = end(last_[group]), left = left_[group];
      std::int32_t const* const j = columns.data() + end_of_last - left;
      auto const row_of = [&](std::int32_t k) { return values.data() + end(k) - left; };
      auto const factor_of = [&](std::int32_t k) {
        return conjugated(*row_of(k)) * static_cast<Real>(1 / d[k]);
      };
      if (last_[group] == group) {
        Scalar const factor = factor_of(group);
        Scalar const* const row = row_of(group);
        for (std::int32_t e = 0; e < left; ++e) f(j[e], factor * row[e]);
      } else {
        sum_.clear();
        for (std::int32_t k = group; k <= last_[group]; ++k) sum_.add(factor_of(k), row_of(k));
        sum_.for_each(left, [&](std::int32_t e, Scalar const& sum) { f(j[e], sum); });
      }
      --left_[group];
      enlist(group);
    }
  }

  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<Scalar> values;

 private:
  void enlist(std::int32_t group) {
    if (left_[group] == 0) return;
    std::int32_t const j = columns[end(last_[group]) - left_[group]];
    next_[group] = first_[j];
    first_[j] = group;
  }

  // Of a group, by its first row: its last row, its columns to come, and the next in its list.
  std::vector<std::int32_t> last_, left_, first_, next_;
  std::int32_t group_ = -1;  ///< of the last row
  SumOfRows<Scalar> sum_;
};

}  // namespace Solder::Impl::triangular
