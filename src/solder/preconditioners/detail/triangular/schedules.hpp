// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The schedules of a triangular matrix, and the rules that choose between them.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/arena.hpp>
#include <solder/preconditioners/detail/triangular/rows.hpp>
#include <solder/preconditioners/detail/triangular/strands.hpp>
#include <solder/preconditioners/detail/triangular/tiles.hpp>
#include <solder/preconditioners/incomplete_options.hpp>

namespace Solder {

/// \brief The chosen schedule, and what the analysis found about the matrix.
struct TriangularReport {
  TriangularSchedule schedule = TriangularSchedule::automatic;  ///< never automatic
  std::int32_t levels = 0;       ///< rows of a level need nothing of each other
  std::int32_t tiles = 0;        ///< groups of rows that are solved together
  std::int32_t tile_levels = 0;  ///< of the graph whose vertices are the tiles
  std::int64_t entries = 0;      ///< off the diagonal
  std::int64_t external = 0;     ///< those entries that need x from another tile
  double predicted_seconds = 0;  ///< by the model; 0 if there was no choice
  double analysis_seconds = 0;   ///< on the host or the device, including copies
};

namespace Impl::triangular {

/// \throws std::invalid_argument if Exec is not known to guarantee that every team that has started
/// makes progress, which teams that wait for each other need
template <class Exec>
void require_progress(std::string_view who) {
  if (!has_progress<Exec>)
    throw std::invalid_argument(std::string(who) +
                                ": needs CPUs, or GPUs with CUDA or HIP; others do not guarantee "
                                "progress to waiting teams");
}

/// \brief The threads of a host; there are as many strands.
template <class Exec>
int threads_of(Exec const& exec) {
  return std::max(1, static_cast<int>(exec.concurrency()));
}

/// \brief The measured costs of a solve on a host; see docs/performance/triangular.md.
inline constexpr HostCosts host_costs{1e-7, 6e-7, 3.5e-9, 0.4e-9};

/// \brief The seconds of a solve according to the model.
/// \param strands of a host
template <class Exec>
double predicted(Exec const& exec, Dependencies const& needs, Tiles const& tiles,
                 Strands const& strands) {
  if constexpr (is_host_space<Exec>)
    return predict(needs, strands, host_costs);
  else
    return predict(needs, tiles,
                   {2e-6, 0.57e-6, 0.05e-6, resident_league(exec) * (league_threads / warp)});
}

/// \brief The same for a single thread of a host, which never waits.
inline double seconds_alone(std::int32_t rows, std::int64_t entries) {
  return host_costs.row * rows + host_costs.entry * double(entries);
}
/// \brief A host's schedule that takes no more than `good_enough` times as long as threads that
/// never wait is taken without trying others. A single thread solves alone what takes it no longer
/// than `short_alone` seconds, or what others promise to take more than `worth_others` of its time
/// for: on two cores, that is quicker on 10 of 12 matrices.
inline constexpr double good_enough = 1.3, short_alone = 20e-6, worth_others = 0.75;

/// \brief The base-2 logarithm of the number of GPU lanes that share a row: each lane should have
/// about as many entries as it can wait for at once.
template <class Scalar, class Exec>
std::int32_t choose_lane_bits(std::int32_t rows, std::int64_t entries) {
  if (is_host_space<Exec>) return 0;
  std::int64_t const a_row = std::int64_t(TriangularOperator<Scalar>::batch) * rows;
  std::int32_t bits = 0;
  while (bits < 5 && entries > (a_row << bits)) ++bits;
  return bits;
}

/// \brief These decide which schedules a GPU tries: whether so few lanes share a row that a tile
/// has several rows to keep together, the number of levels up to which levels count as wide, and
/// the number that is few however many rows there are.
constexpr bool has_short_rows(std::int32_t lane_bits) { return lane_bits < 2; }
constexpr std::int32_t most_wide_levels(std::int32_t rows) { return rows / 256; }
inline constexpr std::int32_t few_levels = 64;

/// \brief The longest row, in entries, whose level is found on the device, where one lane does it.
inline constexpr std::int32_t most_row_of_device = 4096;

/// \brief Levels that a GPU works on at once. Warps that wait for distant levels slow down the
/// others by polling: if all warps took part, a solve could take four times as long.
inline constexpr std::int64_t levels_ahead = 8;

/// \brief The most rows of a tile.
template <class Exec>
constexpr std::int32_t most_rows(std::int32_t lane_bits) {
  return is_host_space<Exec> ? 256 : warp >> lane_bits;
}

/// \param alone one thread takes all tiles, and natural tiles in their order
template <class Exec>
Tiles tiles_by(TriangularSchedule schedule, Dependencies const& needs,
               std::vector<std::int32_t> const& level, std::int32_t levels, std::int32_t most,
               bool alone) {
  if (schedule == TriangularSchedule::partition)
    return partition(needs, level, levels, most, is_host_space<Exec> ? 32 : std::max(2, most / 4));
  if (schedule == TriangularSchedule::natural) {
    std::vector<std::int32_t> order(needs.rows());
    std::iota(order.begin(), order.end(), 0);
    Tiles const tiles = cut(std::move(order), most);
    return alone ? tiles : by_level_of_tiles(needs, tiles);
  }
  Tiles tiles;
  tiles.levels = levels;
  tiles.order = sorted_by(level, levels);
  for (std::int32_t p = 1; p <= needs.rows(); ++p)
    if (p == needs.rows() || level[tiles.order[p]] != level[tiles.order[p - 1]] ||
        p - tiles.begin.back() == most)
      tiles.begin.push_back(p);
  return tiles;
}

}  // namespace Impl::triangular
}  // namespace Solder
