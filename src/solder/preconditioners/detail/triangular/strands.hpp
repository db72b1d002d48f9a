// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <solder/preconditioners/detail/triangular/tiles.hpp>

namespace Solder::Impl::triangular {

/// \brief What a task waits for: that another strand has done a number of its tasks.
struct StrandNeed {
  std::int32_t strand, tasks;
  bool operator==(StrandNeed const&) const = default;
};

/// \brief A schedule for the threads of a host. Each thread has a strand: a sequence of tasks. A
/// task consists of the tiles of one level that belong to the strand.
///
/// Neighbouring tiles of a level go to the same strand, in every level. So a row's own thread has
/// computed most of what the row needs. For the rest, a task waits for the progress of other
/// strands, unless an earlier task of its strand has already waited for as much (Park et al.,
/// Sparsifying synchronization for high-performance shared-memory sparse triangular solver, 2014).
struct Strands {
  std::vector<std::int32_t> order;           ///< the rows, strand by strand, task by task
  std::vector<std::int32_t> begin{0};        ///< where each task begins in `order`, and the end
  std::vector<std::int32_t> first{0};        ///< the first task of each strand, and the end
  std::vector<std::int32_t> needs_begin{0};  ///< where each task's needs begin, and the end
  std::vector<StrandNeed> needs;
  std::vector<std::int32_t> by_level;  ///< the tasks, level by level
};

/// \brief Deals tiles to `count` strands: each gets about the same number of entries of each level.
inline Strands strands_of(Dependencies const& needs, Tiles const& tiles, std::int32_t count) {
  Strands strands;
  if (count == 1) {  // a single strand never waits
    strands.order = tiles.order;
    strands.begin.push_back(needs.rows());
    strands.first.push_back(1);
    strands.needs_begin.push_back(0);
    strands.by_level = {0};
    return strands;
  }
  auto const tile = tiles.tile_of_rows();
  auto const level = levels_of_tiles(needs, tiles);
  std::int32_t const levels = level.empty() ? 0 : *std::max_element(level.begin(), level.end()) + 1;
  auto const weight = [&](std::int32_t t) {
    std::int64_t sum = 0;
    for (std::int32_t p = tiles.begin[t]; p < tiles.begin[t + 1]; ++p)
      sum += 1 + needs.offsets[tiles.order[p] + 1] - needs.offsets[tiles.order[p]];
    return sum;
  };
  std::vector<std::int64_t> of_level(levels, 0), before(levels, 0);
  for (std::int32_t t = 0; t < tiles.count(); ++t) of_level[level[t]] += weight(t);
  std::vector<std::int32_t> strand(tiles.count());
  for (std::int32_t t = 0; t < tiles.count(); ++t) {
    std::int64_t const own = weight(t), middle = before[level[t]] + own / 2;
    strand[t] = static_cast<std::int32_t>(middle * count / of_level[level[t]]);
    before[level[t]] += own;
  }

  std::vector<std::int32_t> task(tiles.count()), level_of_task;
  auto const by_level = sorted_by(level, levels);
  std::vector<std::int32_t> strand_by_level;
  for (std::int32_t const t : by_level) strand_by_level.push_back(strand[t]);
  strands.order.reserve(tiles.order.size());
  for (std::int32_t const k : sorted_by(strand_by_level, count)) {
    std::int32_t const t = by_level[k];
    auto const tasks = static_cast<std::int32_t>(level_of_task.size());
    while (static_cast<std::int32_t>(strands.first.size()) <= strand[t])
      strands.first.push_back(tasks);
    if (tasks == strands.first.back() || level_of_task.back() != level[t]) {
      if (tasks > 0) strands.begin.push_back(static_cast<std::int32_t>(strands.order.size()));
      level_of_task.push_back(level[t]);
    }
    task[t] = static_cast<std::int32_t>(level_of_task.size()) - 1;
    strands.order.insert(strands.order.end(), tiles.order.begin() + tiles.begin[t],
                         tiles.order.begin() + tiles.begin[t + 1]);
  }
  auto const tasks = static_cast<std::int32_t>(level_of_task.size());
  if (tasks > 0) strands.begin.push_back(needs.rows());
  strands.first.resize(count + 1, tasks);
  strands.by_level = sorted_by(level_of_task, levels);

  std::vector<std::int32_t> waited(count), wanted(count, 0), asked;
  for (std::int32_t s = 0; s < count; ++s) {
    std::fill(waited.begin(), waited.end(), 0);
    for (std::int32_t k = strands.first[s]; k < strands.first[s + 1]; ++k) {
      asked.clear();
      for (std::int32_t p = strands.begin[k]; p < strands.begin[k + 1]; ++p)
        needs.for_each_needed(strands.order[p], [&](std::int32_t j) {
          std::int32_t const of = strand[tile[j]], number = task[tile[j]] - strands.first[of] + 1;
          if (of == s || number <= std::max(waited[of], wanted[of])) return;
          if (wanted[of] == 0) asked.push_back(of);
          wanted[of] = number;
        });
      for (std::int32_t const of : asked) {
        strands.needs.push_back({of, wanted[of]});
        waited[of] = std::exchange(wanted[of], 0);
      }
      strands.needs_begin.push_back(static_cast<std::int32_t>(strands.needs.size()));
    }
  }
  return strands;
}

/// \brief The costs of a schedule on a host, in seconds.
struct HostCosts {
  double task;      ///< from one task of a strand to the next
  double external;  ///< until a task of another strand that waited for a finished one can start
  double row, entry;
};

/// \brief The seconds that a solve takes, by the performance model (5) of paper 3, task by task.
inline double predict(Dependencies const& needs, Strands const& strands, HostCosts const& costs) {
  auto const tasks = static_cast<std::int32_t>(strands.begin.size()) - 1;
  std::vector<std::int32_t> strand(tasks);
  for (std::size_t s = 0; s + 1 < strands.first.size(); ++s)
    for (std::int32_t k = strands.first[s]; k < strands.first[s + 1]; ++k)
      strand[k] = static_cast<std::int32_t>(s);
  std::vector<double> end(tasks, 0);
  double last = 0;
  for (std::int32_t const k : strands.by_level) {
    double ready = k > strands.first[strand[k]] ? end[k - 1] : 0;
    for (std::int32_t n = strands.needs_begin[k]; n < strands.needs_begin[k + 1]; ++n) {
      StrandNeed const& need = strands.needs[n];
      ready = std::max(ready, end[strands.first[need.strand] + need.tasks - 1] + costs.external);
    }
    std::int64_t entries = 0;
    for (std::int32_t p = strands.begin[k]; p < strands.begin[k + 1]; ++p)
      entries += needs.offsets[strands.order[p] + 1] - needs.offsets[strands.order[p]];
    end[k] = ready + costs.task + costs.row * (strands.begin[k + 1] - strands.begin[k]) +
             costs.entry * static_cast<double>(entries);
    last = std::max(last, end[k]);
  }
  return last;
}

}  // namespace Solder::Impl::triangular
