// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <solder/problems/detail/split_mix.hpp>
#include <solder/problems/stand_in_figures.hpp>

namespace Solder::Impl {

/// \brief What both patterns share: the row lengths, the columns that they fill, and where clusters
/// begin. Entry k of row i is at offsets[i] + k; the last entry of a row is left for the diagonal.
class StandInPattern {
 public:
  StandInPattern(StandInFigures const& figures, SplitMix& random,
                 std::vector<std::int64_t> const& offsets, std::vector<std::int32_t>& columns)
      : n_(figures.rows),
        width_(std::min(std::max(half_bandwidth(figures), figures.cluster), n_ - 1)),
        cluster_(figures.cluster),
        alike_(figures.alike),
        scattered_share_(scattered_share(figures.near, width_, n_)),
        random_(random),
        salt_(random.bits()),
        offsets_(offsets),
        columns_(columns),
        filled_(static_cast<std::size_t>(n_), 0) {}

  std::vector<std::int32_t> const& filled() const { return filled_; }

 protected:
  /// The share of scattered entries in 65536ths. It allows for the scattered entries that happen to
  /// be near the diagonal.
  static std::int64_t scattered_share(double near, std::int64_t width, std::int64_t n) {
    double const far =
        1.0 - std::min(1.0, static_cast<double>(2 * width + 1) / static_cast<double>(n));
    double const share = near == 1.0 ? 0.0 : 1.0 - near >= far ? 1.0 : (1.0 - near) / far;
    return static_cast<std::int64_t>(share * 65536.0);
  }
  /// The number of off-diagonal entries that row i should have.
  std::int64_t goal(std::int64_t i) const { return offsets_[i + 1] - offsets_[i] - 1; }
  void append(std::int64_t i, std::int64_t j) {
    columns_[offsets_[i] + filled_[i]++] = static_cast<std::int32_t>(j);
  }
  auto row_begin(std::int64_t i) const { return columns_.begin() + offsets_[i]; }
  auto row_end(std::int64_t i) const { return columns_.begin() + offsets_[i] + filled_[i]; }
  bool contains(std::int64_t i, std::int64_t j) const {
    return std::find(row_begin(i), row_end(i), j) != row_end(i);
  }
  /// How many of `entries` entries are scattered; fractions are rounded at random.
  std::int64_t scattered_of(std::int64_t entries) {
    return (entries * scattered_share_ + random_.below(65536)) >> 16;
  }
  /// The distance from the diagonal to the start of row i's k-th cluster. It is the same for alike
  /// rows; clusters are denser towards the diagonal.
  std::int64_t distance(std::int64_t i, std::int64_t k) const {
    auto const patch = static_cast<std::uint64_t>(i / alike_);
    std::uint64_t const u = mix_bits(salt_ + patch * 0x9e3779b97f4a7c15u +
                                     static_cast<std::uint64_t>(k) * 0xd1342543de82ef95u) >>
                            32;
    return static_cast<std::int64_t>((u * u >> 32) * static_cast<std::uint64_t>(width_) >> 32);
  }
  std::int64_t aligned(std::int64_t i) const { return i - i % cluster_; }

  std::int64_t n_, width_, cluster_, alike_, scattered_share_;
  SplitMix& random_;
  std::uint64_t salt_;
  std::vector<std::int64_t> const& offsets_;
  std::vector<std::int32_t>& columns_;
  std::vector<std::int32_t> filled_;
};

/// \brief A pattern whose rows are drawn one by one.
class GeneralPattern : StandInPattern {
 public:
  using StandInPattern::filled;
  using StandInPattern::StandInPattern;

  void fill() {
    for (std::int64_t i = 0; i < n_; ++i) fill_row(i);
  }

 private:
  void fill_row(std::int64_t i) {
    row_.clear();
    auto const missing = [&] { return goal(i) - static_cast<std::int64_t>(row_.size()); };
    std::int64_t const scattered = scattered_of(goal(i)), near = goal(i) - scattered;
    for (std::int64_t k = 0, drawn = 0; drawn < near; ++k) {
      std::int64_t const run = std::min(cluster_, near - drawn);
      std::int64_t const away = aligned(k == 0 ? 0 : distance(i, k));
      std::int64_t const first = aligned(i) + (k % 2 == 0 ? away : -away - cluster_);
      for (std::int64_t j = first; j < first + run; ++j) insert(i, j);
      drawn += run;
    }
    for (std::int64_t k = 0; k < scattered; ++k) insert(i, random_.below(n_));
    sort_unique();
    // The nearest free columns replace draws that were repeated or out of range.
    auto const drawn = static_cast<std::ptrdiff_t>(row_.size());
    for (std::int64_t away = 1; missing() > 0; ++away) {
      for (std::int64_t const j : {i + away, i - away}) {
        if (missing() > 0 && !std::binary_search(row_.begin(), row_.begin() + drawn, j))
          insert(i, j);
      }
    }
    for (auto const j : row_) append(i, j);
  }
  void insert(std::int64_t i, std::int64_t j) {
    if (j >= 0 && j < n_ && j != i) row_.push_back(static_cast<std::int32_t>(j));
  }
  void sort_unique() {
    std::sort(row_.begin(), row_.end());
    row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
  }

  std::vector<std::int32_t> row_;
};

/// \brief A symmetric pattern. Each row in turn takes the partners that it still lacks from the
/// rows after it; both rows then store an entry. Entries that are left over at the end are joined
/// by exchanging partners with pairs that are already joined.
class SymmetricPattern : StandInPattern {
 public:
  using StandInPattern::filled;
  using StandInPattern::StandInPattern;

  void fill() {
    for (std::int64_t i = 0; i < n_; ++i) fill_row(i);
    join_leftovers();
  }

 private:
  std::int64_t missing(std::int64_t i) const { return goal(i) - filled_[i]; }
  void join(std::int64_t i, std::int64_t j) {
    append(i, j);
    append(j, i);
  }
  /// For i < j, while row i is being filled. It relies on row j's entries being in ascending order.
  bool is_joined(std::int64_t i, std::int64_t j) const {
    return filled_[j] > 0 && columns_[offsets_[j] + filled_[j] - 1] == i;
  }
  /// Joins row i to up to `count` rows of [begin, end) that have a free entry. half: uses at most
  /// about half of such a row's entries, so that some remain for the rows after it.
  void take(std::int64_t i, std::int64_t begin, std::int64_t end, std::int64_t count, bool half) {
    end = std::min({end, i + width_ + 1, n_});
    count = std::min(count, missing(i));
    for (std::int64_t j = begin; j < end && count > 0; ++j) {
      std::int64_t const most = half ? (goal(j) * 5 + 11) / 8 : goal(j);
      if (filled_[j] >= std::min(most, goal(j)) || is_joined(i, j)) continue;
      join(i, j);
      --count;
    }
  }
  void fill_row(std::int64_t i) {
    if (i + 1 == n_) return;
    std::int64_t const scattered = scattered_of(missing(i));
    for (std::int64_t draws = 3 * scattered, joined = 0; draws > 0 && joined < scattered; --draws) {
      std::int64_t const j = i + 1 + random_.below(n_ - i - 1);
      if (missing(j) <= 0 || is_joined(i, j)) continue;
      join(i, j);
      ++joined;
    }
    std::int64_t const runs = (missing(i) + cluster_ - 1) / cluster_;
    for (std::int64_t k = 0; k < runs && missing(i) > 0; ++k) {
      std::int64_t const begin = k == 0 ? i + 1 : aligned(i) + cluster_ + aligned(distance(i, k));
      take(i, begin, begin + 2 * cluster_ + 2, cluster_, true);
    }
    std::int64_t const scan = 4 * goal(i) + 64;
    take(i, i + 1, i + 1 + scan, goal(i), true);
    for (int attempt = 0; attempt < 4 && missing(i) > 0; ++attempt) {
      std::int64_t const begin = i + 1 + random_.below(width_);
      take(i, begin, begin + scan, goal(i), false);
    }
  }

  void join_leftovers() {
    std::vector<std::int32_t> ends;
    for (std::int64_t i = 0; i < n_; ++i) {
      ends.insert(ends.end(), static_cast<std::size_t>(missing(i)), static_cast<std::int32_t>(i));
    }
    std::int64_t attempts = 1000000 + n_;  // in total; usually a few each suffice
    while (ends.size() >= 2) {
      std::int64_t const u = ends.back();
      ends.pop_back();
      auto const first = ends.size() > 1024 ? ends.end() - 1024 : ends.begin();
      auto const free = std::find_if(first, ends.end(),
                                     [&](std::int64_t v) { return v != u && !contains(u, v); });
      if (free != ends.end()) {
        join(u, *free);
        ends.erase(free);
        continue;
      }
      std::int64_t const v = ends.back();
      ends.pop_back();
      std::int64_t const last = std::max<std::int64_t>(0, attempts - 4096);
      while (attempts > last && !exchange(u, v, attempts > last + 2048)) --attempts;
    }
  }
  /// Replaces a joined pair (a, b) by (a, u) and (b, v). a is drawn at random; near: close to u.
  bool exchange(std::int64_t u, std::int64_t v, bool near) {
    std::int64_t const begin = near ? std::max<std::int64_t>(0, u - width_) : 0;
    std::int64_t const end = near ? std::min(n_, u + width_ + 1) : n_;
    std::int64_t const a = begin + random_.below(end - begin);
    if (filled_[a] == 0) return false;
    std::int64_t const b = *(row_begin(a) + random_.below(filled_[a]));
    if (a == u || a == v || b == u || b == v || contains(u, a) || contains(v, b)) return false;
    replace(a, b, u);
    replace(b, a, v);
    append(u, a);
    append(v, b);
    return true;
  }
  void replace(std::int64_t i, std::int64_t old_column, std::int64_t new_column) {
    auto const begin = columns_.begin() + offsets_[i];
    *std::find(begin, begin + filled_[i], old_column) = static_cast<std::int32_t>(new_column);
  }
};

}  // namespace Solder::Impl
