// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include <solder/matrix/csr_operator.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder::Impl {

/// \brief Rows of a product while they are summed: their columns, in the order of their first
/// terms, and their sums. Rows of X with the same columns, such as those of a node with several
/// unknowns, are summed together: their products have the same columns too, which are then searched
/// and sorted once.
///
/// \tparam most the largest place of sums; places are counted on from one begin() to the next
template <class Scalar, std::int32_t most = std::numeric_limits<std::int32_t>::max()>
class SummedRows {
 public:
  /// \param place [width]: memory for the place of each column's sums
  SummedRows(std::int32_t* place, std::int32_t width) : place_(place), width_(width) {
    std::fill(place_, place_ + width_, -1);
  }
  /// \brief Forgets the rows before.
  /// \tparam rows that are next
  template <std::int32_t rows>
  void begin() {
    if (sums_.size() < columns_.size() * rows) sums_.resize(columns_.size() * rows);
    before_ += count_;
    count_ = 0;
    if (before_ <= most - width_) return;
    std::fill(place_, place_ + width_, -1);
    before_ = 0;
  }
  /// \brief Adds X_rk Y_kc to the sum of row r and column c, for successive rows k of Y, all of
  /// which have these columns.
  /// \tparam rows as in begin()
  /// \param terms rows of Y
  /// \param X [terms][rows]
  /// \param Y [terms][count]
  template <std::int32_t rows>
  void add(std::int32_t terms, Scalar const* X, std::int32_t const* columns, Scalar const* Y,
           std::int32_t count) {
    std::size_t const room = count_ + std::size_t(count) + at_once;
    if (room > columns_.size()) {
      columns_.resize(2 * room);
      sums_.resize(2 * room * rows);
    }
    std::int32_t *const mine = columns_.data(), *const places = place_;
    Scalar* const all = sums_.data();
    std::int32_t const before = before_;
    std::int32_t n = count_;
    for (std::int32_t c = 0; c < count; ++c) {
      std::int32_t place = places[columns[c]] - before;
      if (place >= 0 && terms == 1) {
        for (std::int32_t r = 0; r < rows; ++r) all[std::size_t(place) * rows + r] += X[r] * Y[c];
        continue;
      }
      Scalar sums[rows];
      for (std::int32_t r = 0; r < rows; ++r) sums[r] = X[r] * Y[c];
      if (place >= 0) {
        for (std::int32_t r = 0; r < rows; ++r) sums[r] += all[std::size_t(place) * rows + r];
      } else {
        place = n++;
        places[columns[c]] = before + place;
        mine[place] = columns[c];
      }
      for (std::int32_t k = 1; k < terms; ++k)
        for (std::int32_t r = 0; r < rows; ++r)
          sums[r] += X[k * rows + r] * Y[k * std::size_t(count) + c];
      std::copy_n(sums, rows, all + std::size_t(place) * rows);
    }
    count_ = n;
  }
  /// \brief The entries of each row.
  std::int32_t size() const { return count_; }

  /// \brief Stores the rows one after another, each in the order of its columns.
  /// \tparam rows as in begin()
  /// \param columns, values [rows][size]
  template <std::int32_t rows>
  void store(std::int32_t* columns, Scalar* values) {
    std::int32_t* const mine = columns_.data();
    Scalar const* const sums = sums_.data();
    std::int32_t const count = count_;
    auto const put = [=](std::int32_t place, std::int32_t t) {
      for (std::int32_t r = 0; r < rows; ++r) {
        columns[std::size_t(r) * count + place] = mine[t];
        values[std::size_t(r) * count + place] = sums[std::size_t(t) * rows + r];
      }
    };
    if (count <= very_few) {
      std::int32_t order[very_few];
      for (std::int32_t t = 0; t < count; ++t) {
        std::int32_t place = t;
        for (; place > 0 && mine[order[place - 1]] > mine[t]; --place)
          order[place] = order[place - 1];
        order[place] = t;
      }
      for (std::int32_t t = 0; t < count; ++t) put(t, order[t]);
    } else if (count <= few) {
      std::int32_t const end = (count + at_once - 1) / at_once * at_once;
      std::fill(mine + count, mine + end, std::numeric_limits<std::int32_t>::max());
      for (std::int32_t t = 0; t < count; ++t) {
        std::int32_t place = 0;  // the number of smaller columns
        for (std::int32_t s = 0; s < end; s += at_once)
          for (std::int32_t u = 0; u < at_once; ++u) place += mine[s + u] < mine[t];
        put(place, t);
      }
    } else {
      keys_.clear();
      for (std::int32_t t = 0; t < count; ++t)
        keys_.push_back(static_cast<std::uint64_t>(mine[t]) << 32 | static_cast<std::uint32_t>(t));
      std::sort(keys_.begin(), keys_.end());
      for (std::int32_t t = 0; t < count; ++t)
        put(t, static_cast<std::int32_t>(keys_[t] & 0xffffffff));
    }
  }

 private:
  /// Rows of at most very_few entries are sorted by insertion (they are often nearly sorted),
  /// others of at most `few` by counting smaller columns, at_once of them at a time.
  static constexpr std::int32_t very_few = 16, few = 64, at_once = 8;

  std::int32_t *place_, width_;  ///< before_ + the place of a column's sums; less: it has none yet
  std::int32_t before_ = 0, count_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<Scalar> sums_;         ///< [places][rows]
  std::vector<std::uint64_t> keys_;  ///< column and place of each entry
};

/// \brief Rows of a product that a thread keeps until it is known where they go.
template <class Scalar>
class KeptRows {
 public:
  /// \param all entries of all threads, except those in the piece that each is filling
  template <std::int32_t alike>
  void add(SummedRows<Scalar>& rows, std::atomic<std::int64_t>& all) {
    std::int64_t const count = std::int64_t(alike) * rows.size();
    if (pieces_.empty() || pieces_.back().room - pieces_.back().size < count) {
      std::int64_t const room = std::max(least, count);
      if (!pieces_.empty()) all += pieces_.back().size;
      pieces_.push_back({std::make_unique_for_overwrite<std::int32_t[]>(room),
                         std::make_unique_for_overwrite<Scalar[]>(room), 0, room});
    }
    Piece& last = pieces_.back();
    rows.template store<alike>(last.columns.get() + last.size, last.values.get() + last.size);
    last.size += count;
  }
  bool is_empty() const { return pieces_.empty(); }
  /// \brief Copies the rows to their place, and gives back their memory.
  void move_to(std::int32_t* columns, Scalar* values) {
    for (Piece& piece : pieces_) {
      columns = std::copy_n(piece.columns.get(), piece.size, columns);
      values = std::copy_n(piece.values.get(), piece.size, values);
      piece = {};
    }
    pieces_.clear();
  }

 private:
  static constexpr std::int64_t least = 1 << 15;  ///< entries of a piece

  struct Piece {
    std::unique_ptr<std::int32_t[]> columns;
    std::unique_ptr<Scalar[]> values;
    std::int64_t size = 0, room = 0;
  };
  std::vector<Piece> pieces_;
};

/// \brief Rows of X Y on hosts (Gustavson's algorithm). Each worker sums a range of rows, once: if
/// the offsets are not known it keeps its rows and notes their lengths. When all workers have more
/// than `most` entries, which no matrix may have, they only note lengths.
template <class Scalar>
struct ProductRowsOnHosts {
  /// \brief What a worker has of its own.
  struct Worker {
    KeptRows<Scalar> rows{};
    bool lacks_memory = false;
  };

  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t width;  ///< columns of Y
  std::int32_t workers = 0;
  std::int32_t* places = nullptr;                ///< [workers][width]
  Worker* of_worker = nullptr;                   ///< [workers]
  std::atomic<std::int64_t>* entries = nullptr;  ///< that all workers keep
  std::int64_t most = 0;
  std::int32_t* lengths = nullptr;        ///< [rows], to compute; null: offsets are known
  std::int32_t const* offsets = nullptr;  ///< [rows + 1]
  std::int32_t* columns = nullptr;
  Scalar* values = nullptr;

  void operator()(std::int32_t worker) const {
    try {
      multiply(worker);
    } catch (std::bad_alloc const&) {  // none may leave a parallel loop
      of_worker[worker].lacks_memory = true;
    }
  }
  std::int32_t first_row(std::int32_t worker) const {
    return first_row_of_worker(worker, workers, X.rows.count, X.row_offsets);
  }

 private:
  /// Rows, of X and of Y, that are taken together.
  static constexpr std::int32_t most_alike = 6;

  void multiply(std::int32_t worker) const {
    using Rows = ProductRowsOnHosts;
    using Sum = std::int32_t (Rows::*)(SummedRows<Scalar>&, std::int32_t, std::int32_t) const;
    // Called by pointers, so that the compiler leaves the registers to single rows.
    static constexpr Sum several[] = {&Rows::template sum<2>, &Rows::template sum<3>,
                                      &Rows::template sum<4>, &Rows::template sum<4>,
                                      &Rows::template sum<6>};
    SummedRows<Scalar> rows(places + std::int64_t(worker) * width, width);
    std::int32_t const end = first_row(worker + 1);
    for (std::int32_t i = first_row(worker); i < end;) {
      std::int32_t const alike = alike_rows(X, i, std::min(end, i + most_alike));
      i += alike == 1 ? sum<1>(rows, i, worker) : (this->*several[alike - 2])(rows, i, worker);
    }
  }
  /// \brief How many rows, from i on, have the columns of row i, in the same order.
  static std::int32_t alike_rows(CsrOperator<Scalar, std::int32_t> const& A, std::int32_t i,
                                 std::int32_t end) {
    auto const columns_of = [&](std::int32_t row) { return A.columns + A.row_offsets[row]; };
    std::int32_t const *const first = columns_of(i), *const last = columns_of(i + 1);
    std::int32_t n = i + 1;
    for (; n < end && columns_of(n + 1) - columns_of(n) == last - first; ++n) {
      if (first == last) continue;
      if (*first != *columns_of(n) || !std::equal(first, last, columns_of(n))) break;
    }
    return n - i;
  }
  /// \brief Sums rows from i on, which have the same columns. \return how many
  template <std::int32_t alike>
  std::int32_t sum(SummedRows<Scalar>& rows, std::int32_t i, std::int32_t worker) const {
    rows.template begin<alike>();
    std::int32_t const first = X.row_offsets[i], length = X.row_offsets[i + 1] - first;
    Scalar factors[most_alike * alike];
    for (std::int32_t k = 0, terms = 1; k < length; k += terms) {
      std::int32_t const row = X.columns[first + k], q = Y.row_offsets[row],
                         count = Y.row_offsets[row + 1] - q;
      Scalar const* x = X.values + first + k;
      if constexpr (alike > 1) {
        for (terms = 1; terms < most_alike && k + terms < length; ++terms)
          if (X.columns[first + k + terms] != row + terms) break;
        terms = alike_rows(Y, row, row + terms);
        for (std::int32_t t = 0; t < terms; ++t)
          for (std::int32_t r = 0; r < alike; ++r) factors[t * alike + r] = x[r * length + t];
        x = factors;
      }
      rows.template add<alike>(alike > 1 ? terms : 1, x, Y.columns + q, Y.values + q, count);
    }
    if (lengths == nullptr) {
      rows.template store<alike>(columns + offsets[i], values + offsets[i]);
      return alike;
    }
    std::fill_n(lengths + i, alike, rows.size());
    if (entries->load(std::memory_order_relaxed) <= most)
      of_worker[worker].rows.template add<alike>(rows, *entries);
    else
      of_worker[worker].rows = {};
    return alike;
  }
};

}  // namespace Solder::Impl
