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

/// \brief A row of a product while it is summed: its columns, in the order of their first terms,
/// and their sums.
///
/// \tparam most of the places of sums, which are counted on from row to row
template <class Scalar, std::int32_t most = std::numeric_limits<std::int32_t>::max()>
class SummedRow {
 public:
  /// \param place [width]: memory for the place of each column's sum
  SummedRow(std::int32_t* place, std::int32_t width) : place_(place), width_(width) {
    std::fill(place_, place_ + width_, -1);
  }
  /// \brief Forgets the row before.
  void begin() {
    before_ += count_;
    count_ = 0;
    if (before_ <= most - width_) return;
    std::fill(place_, place_ + width_, -1);
    before_ = 0;
  }
  /// \brief Adds factor * values[k] to the sum of columns[k], for count entries of Y.
  void add(Scalar const& factor, std::int32_t const* columns, Scalar const* values,
           std::int32_t count) {
    std::size_t const room = count_ + std::size_t(count) + at_once;
    if (room > columns_.size()) {
      columns_.resize(2 * room);
      sums_.resize(2 * room);
    }
    std::int32_t* const mine = columns_.data();
    Scalar* const sums = sums_.data();
    std::int32_t n = count_;
    for (std::int32_t k = 0; k < count; ++k) {
      std::int32_t const column = columns[k], at = place_[column] - before_;
      Scalar const term = factor * values[k];
      if (at >= 0) {
        sums[at] += term;
      } else {
        place_[column] = before_ + n;
        mine[n] = column;
        sums[n++] = term;
      }
    }
    count_ = n;
  }
  std::int32_t size() const { return count_; }

  /// \brief Stores the row in the order of its columns.
  void store(std::int32_t* columns, Scalar* values) {
    if (count_ <= few) {
      std::int32_t* const mine = columns_.data();
      std::int32_t const end = (count_ + at_once - 1) / at_once * at_once;
      std::fill(mine + count_, mine + end, std::numeric_limits<std::int32_t>::max());
      for (std::int32_t t = 0; t < count_; ++t) {
        std::int32_t place = 0;  // the number of smaller columns
        for (std::int32_t s = 0; s < end; s += at_once)
          for (std::int32_t u = 0; u < at_once; ++u) place += mine[s + u] < mine[t];
        columns[place] = mine[t];
        values[place] = sums_[t];
      }
    } else {
      keys_.clear();
      for (std::int32_t t = 0; t < count_; ++t)
        keys_.push_back(static_cast<std::uint64_t>(columns_[t]) << 32 |
                        static_cast<std::uint32_t>(t));
      std::sort(keys_.begin(), keys_.end());
      for (std::int32_t t = 0; t < count_; ++t) {
        columns[t] = static_cast<std::int32_t>(keys_[t] >> 32);
        values[t] = sums_[static_cast<std::uint32_t>(keys_[t])];
      }
    }
  }

 private:
  /// Rows of so many entries or fewer are sorted by counting, so many columns at once.
  static constexpr std::int32_t few = 64, at_once = 8;

  std::int32_t *place_, width_;  ///< before_ + the place of a column's sum; less: it has none yet
  std::int32_t before_ = 0, count_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<Scalar> sums_;
  std::vector<std::uint64_t> keys_;  ///< column and place of each entry
};

/// \brief Rows of a product that a thread keeps until it is known where they go.
template <class Scalar>
class KeptRows {
 public:
  /// \param all entries of all threads, but those of the piece that each fills
  void add(SummedRow<Scalar>& row, std::atomic<std::int64_t>& all) {
    std::int32_t const count = row.size();
    if (pieces_.empty() || pieces_.back().room - pieces_.back().size < count) {
      std::int32_t const room = std::max(least, count);
      if (!pieces_.empty()) all += pieces_.back().size;
      pieces_.push_back({std::make_unique_for_overwrite<std::int32_t[]>(room),
                         std::make_unique_for_overwrite<Scalar[]>(room), 0, room});
    }
    Piece& last = pieces_.back();
    row.store(last.columns.get() + last.size, last.values.get() + last.size);
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
  static constexpr std::int32_t least = 1 << 15;  ///< entries of a piece

  struct Piece {
    std::unique_ptr<std::int32_t[]> columns;
    std::unique_ptr<Scalar[]> values;
    std::int32_t size = 0, room = 0;
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
  void multiply(std::int32_t worker) const {
    SummedRow<Scalar> row(places + std::int64_t(worker) * width, width);
    std::int32_t const end = first_row(worker + 1);
    for (std::int32_t i = first_row(worker); i < end; ++i) {
      row.begin();
      for (std::int32_t k = X.row_offsets[i]; k < X.row_offsets[i + 1]; ++k) {
        std::int32_t const q = Y.row_offsets[X.columns[k]];
        row.add(X.values[k], Y.columns + q, Y.values + q, Y.row_offsets[X.columns[k] + 1] - q);
      }
      if (lengths == nullptr) {
        row.store(columns + offsets[i], values + offsets[i]);
      } else {
        lengths[i] = row.size();
        if (entries->load(std::memory_order_relaxed) <= most)
          of_worker[worker].rows.add(row, *entries);
        else
          of_worker[worker].rows = {};
      }
    }
  }
};

}  // namespace Solder::Impl
