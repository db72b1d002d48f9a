// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The schedules of a triangular matrix, and what decides between them.

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

/// \brief The schedule that was chosen, and what was seen of the matrix.
struct TriangularReport {
  TriangularSchedule schedule = TriangularSchedule::automatic;  ///< never automatic
  std::int32_t levels = 0;
  std::int32_t tiles = 0;
  std::int32_t tile_levels = 0;  ///< of the graph that the tiles are vertices of
  std::int64_t entries = 0;      ///< off the diagonal
  std::int64_t external = 0;     ///< of them with an entry of x of another tile
  double predicted_seconds = 0;  ///< by the model; 0: there was no choice
  double analysis_seconds = 0;   ///< on the host or the device, copies included
};

namespace Impl::triangular {

/// \throws std::invalid_argument where Exec is not known to let every team that has started make
/// progress, as those that wait for each other need
template <class Exec>
void require_progress(std::string_view who) {
  if (!has_progress<Exec>)
    throw std::invalid_argument(
        std::string(who) +
        ": for CPUs and the GPUs of CUDA and HIP; others promise no teams that wait");
}

/// \brief Threads of a host, which has as many strands.
template <class Exec>
int threads_of(Exec const& exec) {
  return std::max(1, static_cast<int>(exec.concurrency()));
}

/// \brief What a host's solve costs, measured: docs/performance.md.
inline constexpr HostCosts host_costs{1e-7, 6e-7, 3.5e-9, 0.4e-9};

/// \brief The seconds of a solve by the model.
template <class Exec>
double predicted(Exec const& exec, Dependencies const& needs, Tiles const& tiles) {
  if constexpr (is_host_space<Exec>)
    return predict(needs, strands_of(needs, tiles, threads_of(exec)), host_costs);
  else
    return predict(needs, tiles,
                   {2e-6, 0.57e-6, 0.05e-6, resident_league(exec) * (league_threads / warp)});
}

/// \brief The same if no thread of a host ever waited; of a GPU 0. A schedule that comes as close
/// to it as `good_enough` is taken without a look at others.
template <class Exec>
double ideal_seconds(Exec const& exec, Dependencies const& needs) {
  if (!is_host_space<Exec>) return 0;
  return (host_costs.row * needs.rows() + host_costs.entry * double(needs.columns.size())) /
         threads_of(exec);
}
inline constexpr double good_enough = 1.2;

/// \brief Lanes of a GPU that share a row, in bits: a lane is to have about as many entries as it
/// waits for at once.
template <class Scalar, class Exec>
std::int32_t choose_lane_bits(std::int32_t rows, std::int64_t entries) {
  if (is_host_space<Exec>) return 0;
  std::int64_t const a_row = std::int64_t(TriangularOperator<Scalar>::batch) * rows;
  std::int32_t bits = 0;
  while (bits < 5 && entries > (a_row << bits)) ++bits;
  return bits;
}

/// \brief What decides which schedules a GPU looks at: whether so few lanes share a row that a tile
/// has rows to keep together, and up to how many levels they count as wide.
constexpr bool has_short_rows(std::int32_t lane_bits) { return lane_bits < 2; }
constexpr std::int32_t most_wide_levels(std::int32_t rows) { return rows / 256; }

/// \brief Entries of a row up to which its level is found on the device, by one lane.
inline constexpr std::int32_t most_row_of_device = 4096;

/// \brief Levels in work at once on a GPU. Who waits for levels far away slows down the others by
/// asking: with all warps that there are a solve may take four times as long.
inline constexpr std::int64_t levels_ahead = 8;

/// \brief Rows of a tile at most.
template <class Exec>
constexpr std::int32_t most_rows(std::int32_t lane_bits) {
  return is_host_space<Exec> ? 256 : warp >> lane_bits;
}

/// \param alone one thread takes all tiles: it goes through natural ones in their order
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
