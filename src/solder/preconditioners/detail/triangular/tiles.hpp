// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <solder/preconditioners/detail/triangular/dependencies.hpp>

namespace Solder::Impl::triangular {

/// \brief A schedule: rows grouped in tiles, and tiles in the order in which teams take them.
///
/// A row needs only rows before it in `order`. So a team only ever waits for tiles that have
/// already been taken.
struct Tiles {
  std::vector<std::int32_t> order;     ///< the rows, tile by tile
  std::vector<std::int32_t> begin{0};  ///< where each tile begins in `order`, and the end
  std::int32_t levels = 0;             ///< tiles on the longest path

  std::int32_t count() const { return static_cast<std::int32_t>(begin.size()) - 1; }

  /// \brief The tile of each row.
  std::vector<std::int32_t> tile_of_rows() const {
    std::vector<std::int32_t> tile(order.size());
    for (std::int32_t t = 0; t < count(); ++t)
      for (std::int32_t p = begin[t]; p < begin[t + 1]; ++p) tile[order[p]] = t;
    return tile;
  }
};

/// \brief Cuts a valid order into tiles of `most` rows.
inline Tiles cut(std::vector<std::int32_t> order, std::int32_t most) {
  Tiles tiles;
  auto const rows = static_cast<std::int32_t>(order.size());
  for (std::int64_t end = most; end < rows; end += most)
    tiles.begin.push_back(static_cast<std::int32_t>(end));
  if (rows > 0) tiles.begin.push_back(rows);
  tiles.order = std::move(order);
  return tiles;
}

/// \brief The level of each tile of a valid order, in the graph whose vertices are the tiles.
inline std::vector<std::int32_t> levels_of_tiles(Dependencies const& needs, Tiles const& tiles) {
  auto const tile = tiles.tile_of_rows();
  std::vector<std::int32_t> level(tiles.count(), 0);
  for (std::int32_t t = 0; t < tiles.count(); ++t)
    for (std::int32_t p = tiles.begin[t]; p < tiles.begin[t + 1]; ++p)
      needs.for_each_needed(tiles.order[p], [&](std::int32_t j) {
        if (tile[j] != t) level[t] = std::max(level[t], level[tile[j]] + 1);
      });
  return level;
}

/// \brief Sorts tiles level by level, so that tiles which can be solved at the same time are taken
/// one after another.
inline Tiles by_level_of_tiles(Dependencies const& needs, Tiles const& tiles) {
  auto const level = levels_of_tiles(needs, tiles);
  Tiles sorted;
  for (std::int32_t const of : level) sorted.levels = std::max(sorted.levels, of + 1);
  sorted.order.reserve(tiles.order.size());
  for (std::int32_t const t : sorted_by(level, sorted.levels)) {
    sorted.order.insert(sorted.order.end(), tiles.order.begin() + tiles.begin[t],
                        tiles.order.begin() + tiles.begin[t + 1]);
    sorted.begin.push_back(static_cast<std::int32_t>(sorted.order.size()));
  }
  return sorted;
}

/// \brief Sub-graphs of at most `most` rows that keep dependent rows together: Algorithm 3 of paper
/// 3, applied to one band of `height` levels after another.
///
/// The rows of a band's first level are dealt to sub-graphs in order. Each row of the band's other
/// levels goes to the last of its parents' sub-graphs in the band, or to the next one that has
/// room; so the graph of sub-graphs has no cycle. A row without a parent in the band goes to the
/// sub-graph of the row before it in its level, or to a later one.
inline Tiles partition(Dependencies const& needs, std::vector<std::int32_t> const& level,
                       std::int32_t levels, std::int32_t most, std::int32_t height) {
  std::int32_t const rows = needs.rows(), wide = std::max(1, most / height);
  auto const sorted = sorted_by(level, levels);
  std::vector<std::int32_t> part(rows, -1), size, next, keys;
  auto const grow = [&](std::int32_t parts) {
    while (static_cast<std::int32_t>(size.size()) < parts) {
      next.push_back(static_cast<std::int32_t>(size.size()));
      size.push_back(0);
    }
  };
  auto const first_with_room = [&](std::int32_t part) {  // next[p] == p: p has room
    grow(part + 1);
    std::int32_t found = part;
    while (next[found] != found) found = next[found];
    for (; next[part] != found; part = std::exchange(next[part], found)) {
    }
    return found;
  };
  Tiles tiles;
  tiles.order.reserve(rows);
  std::int32_t begin = 0;
  for (std::int32_t first = 0; first < levels; first += height) {
    size.clear();
    next.clear();
    keys.clear();
    std::int32_t end = begin, last = 0, level_before = -1;
    for (; end < rows && level[sorted[end]] < first + height; ++end) {
      std::int32_t const i = sorted[end];
      if (level[i] != level_before) last = 0;
      level_before = level[i];
      std::int32_t at = -1;
      needs.for_each_needed(i, [&](std::int32_t j) {
        if (level[j] >= first) at = std::max(at, part[j]);
      });
      if (level[i] == first)
        at = (end - begin) / wide;
      else if (at < 0)
        at = last;
      at = first_with_room(at);
      if (++size[at] == most) {
        grow(at + 2);
        next[at] = at + 1;
      }
      part[i] = last = at;
      keys.push_back(at);
    }
    for (std::int32_t const k : sorted_by(keys, static_cast<std::int32_t>(size.size()))) {
      if (static_cast<std::int32_t>(tiles.order.size()) > begin &&
          part[tiles.order.back()] != keys[k])
        tiles.begin.push_back(static_cast<std::int32_t>(tiles.order.size()));
      tiles.order.push_back(sorted[begin + k]);
    }
    tiles.begin.push_back(static_cast<std::int32_t>(tiles.order.size()));
    begin = end;
  }
  return by_level_of_tiles(needs, tiles);
}

/// \brief The costs of a schedule on a GPU, in seconds. The first three are alpha, tau' and tau in
/// (5) of paper 3.
struct Costs {
  double tile;         ///< from taking a tile to its first row
  double external;     ///< from the end of a tile to the end of one that was waiting for it
  double turn;         ///< of a tile, for all rows of one depth
  std::int32_t teams;  ///< tiles that are solved at once
};

/// \brief The seconds that a solve takes, by the performance model of paper 3, tile by tile. A free
/// team takes the next tile. The tile ends when the tiles that it needs have ended and its own rows
/// are solved.
inline double predict(Dependencies const& needs, Tiles const& tiles, Costs const& costs) {
  auto const tile = tiles.tile_of_rows();
  std::vector<float> end(tiles.count(), 0);
  std::vector<std::int32_t> depth(needs.rows(), 1);
  std::priority_queue<float, std::vector<float>, std::greater<>> free;
  for (std::int32_t t = 0; t < std::min(costs.teams, tiles.count()); ++t) free.push(0);
  float last = 0;
  for (std::int32_t t = 0; t < tiles.count(); ++t) {
    double ready = free.top() + costs.tile;
    free.pop();
    std::int32_t deepest = 1;
    for (std::int32_t p = tiles.begin[t]; p < tiles.begin[t + 1]; ++p) {
      std::int32_t const i = tiles.order[p];
      needs.for_each_needed(i, [&](std::int32_t j) {
        if (tile[j] == t)
          depth[i] = std::max(depth[i], depth[j] + 1);
        else
          ready = std::max(ready, end[tile[j]] + costs.external);
      });
      deepest = std::max(deepest, depth[i]);
    }
    end[t] = static_cast<float>(ready + costs.turn * (deepest - 1));
    free.push(end[t]);
    last = std::max(last, end[t]);
  }
  return last;
}

}  // namespace Solder::Impl::triangular
