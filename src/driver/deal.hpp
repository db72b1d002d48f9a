// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <solder/matrix/host_csr.hpp>
#include <vector>

#include "world.hpp"

namespace Solder::Driver {

/// \brief Slices of rows, a rank's from number rank up to, but without, number rank + 1.
using Slices = std::vector<std::int64_t>;

/// \brief Deals out what the first rank has: its entry number by * slices[k] is the first one of
/// rank k. All ranks call this together. \return of this rank
template <class T>
std::vector<T> deal(std::vector<T> const& whole, Slices const& slices, std::int64_t by = 1) {
  World const& all = world();
  auto const begin = [&](int rank) { return static_cast<std::size_t>(by * slices[rank]); };
  auto const size = [&](int rank) { return begin(rank + 1) - begin(rank); };
  std::vector<T> mine;
  all.together([&] { mine.resize(size(all.rank())); });
  if (!all.is_first()) {
    all.receive(mine.data(), mine.size() * sizeof(T), 0);
    return mine;
  }
  std::copy(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(mine.size()), mine.begin());
  for (int rank = 1; rank < all.ranks(); ++rank)
    all.send(whole.data() + begin(rank), size(rank) * sizeof(T), rank);
  return mine;
}

/// \brief The other way: the first rank has all then, the others nothing.
template <class T>
std::vector<T> collect(std::vector<T> const& mine, Slices const& slices, std::int64_t by = 1) {
  World const& all = world();
  auto const begin = [&](int rank) { return static_cast<std::size_t>(by * slices[rank]); };
  std::vector<T> whole;
  all.first_alone([&] { whole.resize(begin(all.ranks())); });
  if (!all.is_first()) {
    all.send(mine.data(), mine.size() * sizeof(T), 0);
    return whole;
  }
  std::copy(mine.begin(), mine.end(), whole.begin());
  for (int rank = 1; rank < all.ranks(); ++rank)
    all.receive(whole.data() + begin(rank), (begin(rank + 1) - begin(rank)) * sizeof(T), rank);
  return whole;
}

/// \brief The slices that ranks have of vectors, from their first rows and the number of all.
inline Slices slices_of(std::int64_t first_row, std::int64_t rows) {
  Slices slices = world().each_count(first_row);
  slices.push_back(rows);
  return slices;
}

/// \brief Deals out the rows of a matrix that the first rank has, and frees them there.
template <class T>
HostCsr<T> deal(HostCsr<T>& whole, Slices const& slices) {
  World const& all = world();
  HostCsr<T> mine;
  std::int64_t const first = slices[all.rank()], last = slices[all.rank() + 1];
  mine.rows = static_cast<std::int32_t>(last - first);
  mine.columns_count = static_cast<std::int32_t>(slices.back());
  std::vector<std::int64_t> lengths, ends = slices;
  all.first_alone([&] {
    for (std::int64_t& end : ends) end = whole.row_offsets[end];
    for (std::int32_t i = 0; i < whole.rows; ++i)
      lengths.push_back(whole.row_offsets[i + 1] - whole.row_offsets[i]);
  });
  all.broadcast(ends.data(), ends.size() * sizeof(std::int64_t), 0);
  lengths = deal(lengths, slices);
  mine.columns = deal(whole.columns, ends);
  mine.values = deal(whole.values, ends);
  whole = {};
  all.together([&] {
    mine.row_offsets = {0};
    for (std::int64_t const length : lengths)
      mine.row_offsets.push_back(mine.row_offsets.back() + length);
  });
  return mine;
}

}  // namespace Solder::Driver
