// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/matrix/csr_operator.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder::Impl {

/// \brief Rows of X Y on a host: the number of entries of each or, if the offsets are known, the
/// entries (Gustavson's algorithm). A worker takes a range of rows, and knows for each column where
/// its entry in the current row is.
template <class Scalar>
struct ProductRowsOnHosts {
  CsrOperator<Scalar, std::int32_t> X, Y;
  std::int32_t width;  ///< columns of Y
  std::int32_t workers = 0;
  std::int32_t* places = nullptr;   ///< [workers][width]
  std::int32_t* lengths = nullptr;  ///< [rows]; null: compute the entries
  std::int32_t const* offsets = nullptr;
  std::int32_t* columns = nullptr;
  Scalar* values = nullptr;
  std::int32_t longest = 0;       ///< of the rows, or more; 0 without entries
  std::uint64_t* keys = nullptr;  ///< [workers][longest]
  Scalar* unsorted = nullptr;     ///< [workers][longest]

  /// \brief As many entries, or more, that all arrays which follow one another are aligned.
  static std::int64_t padded(std::int64_t count) { return (count + 31) / 32 * 32; }
  /// \brief Bytes of memory that a worker needs. \param longest of the rows; 0: only count
  std::int64_t bytes_of_worker(std::int32_t longest) const {
    return 4 * padded(width) + padded(longest) * std::int64_t(8 + sizeof(Scalar));
  }
  /// \brief Takes this memory for all workers, aligned as allocations are.
  void use(char* memory, std::int32_t longest_row) {
    longest = static_cast<std::int32_t>(padded(longest_row));
    auto const carve = [&]<class T>(T*& pointer, std::int64_t count) {
      pointer = reinterpret_cast<T*>(memory);
      memory += workers * count * std::int64_t(sizeof(T));
    };
    carve(unsorted, longest);
    carve(keys, longest);
    carve(places, padded(width));
  }

  void operator()(std::int32_t worker) const {
    std::int32_t* const place = places + std::int64_t(worker) * width;
    std::fill(place, place + width, -1);
    std::int32_t const end = first_row(worker + 1);
    for (std::int32_t i = first_row(worker); i < end; ++i) {
      if (lengths != nullptr)
        lengths[i] = length(place, i);
      else
        compute(place, i, worker);
    }
  }

 private:
  std::int32_t first_row(std::int32_t worker) const {
    return first_row_of_worker(worker, workers, X.rows.count, X.row_offsets);
  }
  /// \brief f(entry of X, entry of Y) for the terms of row i.
  template <class F>
  void for_each_term(std::int32_t i, F const& f) const {
    std::int32_t const last = X.row_offsets[i + 1];
    for (std::int32_t k = X.row_offsets[i]; k < last; ++k) {
      std::int32_t const end = Y.row_offsets[X.columns[k] + 1];
      for (std::int32_t q = Y.row_offsets[X.columns[k]]; q < end; ++q) f(k, q);
    }
  }
  std::int32_t length(std::int32_t* place, std::int32_t i) const {
    std::int32_t count = 0;
    for_each_term(i, [&](std::int32_t, std::int32_t q) {
      count += place[Y.columns[q]] != i;
      place[Y.columns[q]] = i;
    });
    return count;
  }
  void compute(std::int32_t* place, std::int32_t i, std::int32_t worker) const {
    std::int32_t const first = offsets[i];
    std::int32_t end = first;
    for_each_term(i, [&](std::int32_t k, std::int32_t q) {
      std::int32_t const j = Y.columns[q];
      Scalar const term = X.values[k] * Y.values[q];
      if (place[j] >= first) {
        values[place[j]] += term;
      } else {
        place[j] = end;
        columns[end] = j;
        values[end++] = term;
      }
    });
    if (!std::is_sorted(columns + first, columns + end)) sort(first, end - first, worker);
  }
  void sort(std::int32_t first, std::int32_t count, std::int32_t worker) const {
    constexpr std::int32_t few = 40;
    std::int32_t* const column = columns + first;
    Scalar* const value = values + first;
    if (count <= few) {
      for (std::int32_t t = 1; t < count; ++t) {
        std::int32_t const j = column[t];
        if (column[t - 1] < j) continue;
        Scalar const mine = value[t];
        std::int32_t at = t;
        for (; at > 0 && column[at - 1] > j; --at) {
          column[at] = column[at - 1];
          value[at] = value[at - 1];
        }
        column[at] = j;
        value[at] = mine;
      }
      return;
    }
    std::uint64_t* const key = keys + std::int64_t(worker) * longest;
    Scalar* const from = unsorted + std::int64_t(worker) * longest;
    for (std::int32_t t = 0; t < count; ++t) {
      key[t] = static_cast<std::uint64_t>(column[t]) << 32 | static_cast<std::uint32_t>(t);
      from[t] = value[t];
    }
    std::sort(key, key + count);
    for (std::int32_t t = 0; t < count; ++t) {
      column[t] = static_cast<std::int32_t>(key[t] >> 32);
      value[t] = from[static_cast<std::uint32_t>(key[t])];
    }
  }
};

}  // namespace Solder::Impl
