// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <solder/core/deadline.hpp>
#include <solder/preconditioners/detail/triangular/neighbours.hpp>

namespace Solder::Impl::triangular {

/// \brief An approximate minimum degree order (Amestoy, Davis, Duff, An approximate minimum degree
/// ordering algorithm, 1996): elimination of a symmetric pattern in the order of an upper bound of
/// the rows' degrees, on the quotient graph.
///
/// A row that is not eliminated is a variable, an eliminated one an element: the clique of the
/// variables that it has left. The neighbours of a variable are other variables, and those of its
/// elements. The lists of variables never grow, so they stay where the pattern was. Variables with
/// the same neighbours are merged into one of a larger weight; those whose neighbours are all in a
/// pivot's clique are eliminated with it. Rows with far more neighbours than others come last.
///
/// The degree of a pivot is the length of its column of the factor, so the degrees tell what the
/// complete factor takes, before anything is factorised.
class MinimumDegree {
 public:
  explicit MinimumDegree(Neighbours const& next)
      : rows_(next.rows()), begin_(next.offsets), list_(next.columns) {}

  std::vector<std::int32_t> order() {
    set_up();
    while (eliminated_ < rows_) {
      Deadline::check(static_cast<std::int64_t>(pivots_.size()));
      std::int32_t const p = take_pivot();
      make_element(p);
      find_outsides();
      for (std::int32_t const i : clique_) update(i, p);
      merge_alike();
      finish(p);
    }
    return in_order();
  }
  /// \brief Entries of the complete Cholesky factor in this order, and the sum of the squares of
  /// its columns' lengths, which is about twice the multiplications that it takes. Known once
  /// order() has ended; dense rows count as full.
  double entries() const { return entries_; }
  double products() const { return products_; }

 private:
  enum class State : std::int8_t { variable, element, merged, absorbed, dense };

  void set_up() {
    auto const all = std::size_t(rows_);
    size_.resize(all);
    elements_.assign(all, 0);
    degree_.resize(all);
    weight_.assign(all, 1);
    state_.assign(all, State::variable);
    outside_.assign(all, 0);
    mark_.assign(all, 0);
    hash_.assign(all, 0);
    bucket_.assign(all + 1, -1);
    after_.assign(all, -1);
    before_.assign(all, -1);
    with_.assign(all, -1);
    element_.resize(all);
    auto const dense = std::max(16.0, 10 * std::sqrt(double(rows_)));
    for (std::int32_t i = 0; i < rows_; ++i) {
      size_[i] = degree_[i] = static_cast<std::int32_t>(begin_[i + 1] - begin_[i]);
      if (degree_[i] <= dense) continue;
      state_[i] = State::dense;
      weight_[i] = 0;
      ++eliminated_;
      add_column(++dense_);
    }
    for (std::int32_t i = rows_ - 1; i >= 0; --i)
      if (state_[i] == State::variable) insert(i);
  }

  void add_column(double length) {
    entries_ += length;
    products_ += length * length;
  }
  void insert(std::int32_t i) {
    std::int32_t const d = degree_[i];
    after_[i] = bucket_[d];
    before_[i] = -1;
    if (bucket_[d] >= 0) before_[bucket_[d]] = i;
    bucket_[d] = i;
    least_ = std::min(least_, d);
  }
  void remove(std::int32_t i) {
    if (after_[i] >= 0) before_[after_[i]] = before_[i];
    (before_[i] >= 0 ? after_[before_[i]] : bucket_[degree_[i]]) = after_[i];
  }
  std::int32_t take_pivot() {
    while (bucket_[least_] < 0) ++least_;
    std::int32_t const p = bucket_[least_];
    remove(p);
    pivots_.push_back(p);
    return p;
  }

  /// The clique that p leaves: its neighbours. The elements that it had are part of it.
  void make_element(std::int32_t p) {
    ++stamp_;
    mark_[p] = stamp_;
    clique_.clear();
    auto const take = [&](std::int32_t j) {
      if (state_[j] != State::variable || mark_[j] == stamp_) return;
      mark_[j] = stamp_;
      clique_.push_back(j);
      remove(j);
    };
    for (std::int32_t k = 0; k < size_[p]; ++k) {
      std::int32_t const e = list_[begin_[p] + k];
      if (k >= elements_[p]) {
        take(e);
      } else if (state_[e] == State::element) {
        for (std::int32_t const j : element_[e]) take(j);
        absorb(e);
      }
    }
    state_[p] = State::element;
    eliminated_ += weight_[p];
    degree_[p] = 0;
    for (std::int32_t const j : clique_) degree_[p] += weight_[j];
  }
  void absorb(std::int32_t e) {
    state_[e] = State::absorbed;
    std::vector<std::int32_t>().swap(element_[e]);
  }

  /// The weight of each neighbouring element's variables that are outside of p's clique.
  void find_outsides() {
    for (std::int32_t const i : clique_)
      for (std::int32_t k = 0; k < elements_[i]; ++k) {
        std::int32_t const e = list_[begin_[i] + k];
        if (state_[e] != State::element) continue;
        if (mark_[e] != stamp_) {
          mark_[e] = stamp_;
          outside_[e] = degree_[e];
        }
        outside_[e] -= weight_[i];
      }
  }

  /// The lists of variable i, without what p's clique covers, and its degree apart from the clique.
  void update(std::int32_t i, std::int32_t p) {
    kept_.clear();
    std::int64_t degree = 0, hash = p;
    for (std::int32_t k = 0; k < elements_[i]; ++k) {
      std::int32_t const e = list_[begin_[i] + k];
      if (state_[e] != State::element) continue;
      if (outside_[e] == 0) {  // the clique covers all of it
        absorb(e);
        continue;
      }
      kept_.push_back(e);
      degree += outside_[e];
      hash += e;
    }
    kept_.push_back(p);
    auto const elements = static_cast<std::int32_t>(kept_.size());
    for (std::int32_t k = elements_[i]; k < size_[i]; ++k) {
      std::int32_t const j = list_[begin_[i] + k];
      if (state_[j] != State::variable || mark_[j] == stamp_) continue;
      kept_.push_back(j);
      degree += weight_[j];
      hash += j;
    }
    if (degree == 0) {  // no neighbours but the clique: eliminated with p
      merge(i, p);
      eliminated_ += weight_[i];
      weight_[p] += weight_[i];
      weight_[i] = 0;
      return;
    }
    elements_[i] = elements;
    size_[i] = static_cast<std::int32_t>(kept_.size());
    std::copy(kept_.begin(), kept_.end(), list_.begin() + begin_[i]);
    degree_[i] = static_cast<std::int32_t>(std::min<std::int64_t>(degree_[i], degree));
    hash_[i] = hash;
  }
  void merge(std::int32_t i, std::int32_t into) {
    state_[i] = State::merged;
    with_[i] = into;
  }

  /// Merges the variables of the clique that have the same lists.
  void merge_alike() {
    alike_.clear();
    for (std::int32_t const i : clique_)
      if (state_[i] == State::variable) alike_.emplace_back(hash_[i], i);
    std::sort(alike_.begin(), alike_.end());
    for (std::size_t a = 0; a < alike_.size(); ++a) {
      std::int32_t const i = alike_[a].second;
      if (state_[i] != State::variable) continue;
      bool is_marked = false;
      for (std::size_t b = a + 1; b < alike_.size() && alike_[b].first == alike_[a].first; ++b) {
        std::int32_t const j = alike_[b].second;
        if (state_[j] != State::variable || size_[j] != size_[i] || elements_[j] != elements_[i])
          continue;
        if (!is_marked) {
          ++stamp_;
          for (std::int32_t k = 0; k < size_[i]; ++k) mark_[list_[begin_[i] + k]] = stamp_;
          is_marked = true;
        }
        bool same = true;
        for (std::int32_t k = 0; same && k < size_[j]; ++k)
          same = mark_[list_[begin_[j] + k]] == stamp_;
        if (!same) continue;
        merge(j, i);
        weight_[i] += weight_[j];
        weight_[j] = 0;
      }
    }
  }

  /// The variables go back to the buckets, with the clique in their degrees.
  void finish(std::int32_t p) {
    degree_[p] = 0;
    for (std::int32_t const i : clique_) degree_[p] += weight_[i];
    for (std::int32_t k = 1; k <= weight_[p]; ++k) add_column(degree_[p] + k + dense_);
    for (std::int32_t const i : clique_) {
      if (state_[i] != State::variable) continue;
      degree_[i] = std::min(degree_[i] + degree_[p], rows_ - eliminated_) - weight_[i];
      degree_[i] = std::max(degree_[i], 0);
      insert(i);
      element_[p].push_back(i);
    }
    if (element_[p].empty()) state_[p] = State::absorbed;
  }

  /// Each pivot with those that were merged into it, directly or through others.
  std::vector<std::int32_t> in_order() const {
    std::vector<std::int32_t> first(rows_, -1), next(rows_, -1), order, stack;
    for (std::int32_t i = rows_ - 1; i >= 0; --i)
      if (with_[i] >= 0) {
        next[i] = first[with_[i]];
        first[with_[i]] = i;
      }
    order.reserve(rows_);
    for (std::int32_t const p : pivots_) {
      stack.push_back(p);
      while (!stack.empty()) {
        std::int32_t const i = stack.back();
        stack.pop_back();
        order.push_back(i);
        for (std::int32_t j = first[i]; j >= 0; j = next[j]) stack.push_back(j);
      }
    }
    for (std::int32_t i = 0; i < rows_; ++i)
      if (state_[i] == State::dense) order.push_back(i);
    return order;
  }

  std::int32_t rows_, eliminated_ = 0, dense_ = 0, least_ = 0;
  std::int64_t stamp_ = 0;
  double entries_ = 0, products_ = 0;
  std::vector<std::int64_t> begin_;
  std::vector<std::int32_t> list_, size_, elements_;  ///< of variables: elements, then variables
  std::vector<std::vector<std::int32_t>> element_;    ///< the variables of each element
  std::vector<std::int32_t> degree_, weight_, outside_, bucket_, after_, before_, with_, pivots_,
      clique_, kept_;
  std::vector<std::int64_t> mark_, hash_;
  std::vector<State> state_;
  std::vector<std::pair<std::int64_t, std::int32_t>> alike_;
};

inline std::vector<std::int32_t> minimum_degree(Neighbours const& next) {
  return MinimumDegree(next).order();
}

}  // namespace Solder::Impl::triangular
