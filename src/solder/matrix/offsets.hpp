// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Row offsets from the lengths of rows.

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>

namespace Solder::Impl {

/// \brief The nonzeros of all rows, and of the longest row.
struct RowTotals {
  std::int64_t nonzeros;
  std::int32_t longest;
};

/// \brief The most entries of a row that is not far longer than the others, which have `mean`
/// entries on average. Longer ones fill up coarse grids and the patterns of approximate inverses.
constexpr double longest_even_row(double mean) { return 20 * mean + 50; }

/// \brief The scan that computes offsets on a host.
template <class Offset, class LengthOf>
struct OffsetsKernel {
  using value_type = RowTotals;

  LengthOf length_of;
  Offset* offsets;
  std::int32_t rows;

  KOKKOS_FUNCTION void init(RowTotals& totals) const { totals = {0, 0}; }
  KOKKOS_FUNCTION void join(RowTotals& totals, RowTotals const& others) const {
    totals.nonzeros += others.nonzeros;
    totals.longest = Kokkos::max(totals.longest, others.longest);
  }
  KOKKOS_FUNCTION void operator()(std::int32_t i, RowTotals& before, bool last) const {
    std::int32_t const length = i < rows ? length_of(i) : 0;
    if (last) offsets[i] = static_cast<Offset>(before.nonzeros);
    join(before, {length, length});
  }
};

/// \brief The same on a GPU, where a team has a tile of rows. First each tile is added up, then one
/// team adds up the tiles, and at last each tile is scanned. If there are few tiles a single team
/// does all that. (Kokkos's scan takes 25 us, and 100 us for two million rows.)
template <class Exec, class Offset, class LengthOf>
struct OffsetsOfTiles {
  static constexpr std::int32_t per_lane = 8, of_warp = per_lane * warp,
                                tile = warps_of_rows * of_warp;
  enum Step { add_tiles, add_up, scan_tiles, all_at_once };

  LengthOf length_of;
  Offset* offsets;
  std::int32_t rows;
  RowTotals* tiles;  ///< of each tile; then what is before it
  RowTotals* total;
  std::int32_t tiles_count;
  Step step;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const of_warps = static_cast<RowTotals*>(
        member.team_scratch(0).get_shmem_aligned(scratch_bytes(), alignof(RowTotals)));
    if (step == add_up) {
      add_up_tiles(member, of_warps);
    } else if (step == all_at_once) {
      RowTotals before{0, 0};
      for (std::int32_t t = 0; t < tiles_count; ++t)
        before = joined(before, scan(member, of_warps, t, before.nonzeros, true));
      if (member.team_rank() == 0 && lane_number() == 0) *total = before;
    } else {
      std::int32_t const t = member.league_rank();
      RowTotals const mine =
          scan(member, of_warps, t, step == scan_tiles ? tiles[t].nonzeros : 0, step == scan_tiles);
      if (step == add_tiles && member.team_rank() == 0 && lane_number() == 0) tiles[t] = mine;
    }
  }
  KOKKOS_FUNCTION static constexpr int scratch_bytes() { return warps_of_rows * sizeof(RowTotals); }

 private:
  KOKKOS_FUNCTION static RowTotals joined(RowTotals const& a, RowTotals const& b) {
    return {a.nonzeros + b.nonzeros, Kokkos::max(a.longest, b.longest)};
  }
  /// \brief The sum of the lanes before this one and itself.
  KOKKOS_FUNCTION static std::int64_t scanned(std::int64_t value) {
    std::int32_t const lane = lane_number();
    for (std::int32_t d = 1; d < warp; d *= 2) {
      std::int64_t const other = lane_value(value, lane - d);
      if (lane >= d) value += other;
    }
    return value;
  }
  KOKKOS_FUNCTION static std::int32_t largest(std::int32_t value) {
    for (int mask = 1; mask < warp; mask *= 2)
      value = Kokkos::max(value, lane_exchange(value, mask));
    return value;
  }

  /// \brief The totals of tile t; if `writes`, its offsets, which begin at `before`.
  template <class Member>
  KOKKOS_FUNCTION RowTotals scan(Member const& member, RowTotals* of_warps, std::int32_t t,
                                 std::int64_t before, bool writes) const {
    std::int32_t const first = t * tile + member.team_rank() * of_warp + lane_number();
    std::int32_t lengths[per_lane];
    RowTotals mine{0, 0};
    for (std::int32_t k = 0; k < per_lane; ++k) {
      std::int32_t const i = first + k * warp;
      lengths[k] = i < rows ? length_of(i) : 0;
      mine = joined(mine, {lengths[k], lengths[k]});
    }
    mine = {lane_value(scanned(mine.nonzeros), warp - 1), largest(mine.longest)};
    if (lane_number() == 0) of_warps[member.team_rank()] = mine;
    member.team_barrier();
    RowTotals all{0, 0};
    for (std::int32_t w = 0; w < warps_of_rows; ++w) {
      if (w == member.team_rank()) before += all.nonzeros;
      all = joined(all, of_warps[w]);
    }
    member.team_barrier();  // of_warps is free
    for (std::int32_t k = 0; k < per_lane && writes; ++k) {
      std::int64_t const end = before + scanned(lengths[k]);
      std::int32_t const i = first + k * warp;
      if (i <= rows) offsets[i] = static_cast<Offset>(end - lengths[k]);
      before = lane_value(end, warp - 1);
    }
    return all;
  }
  /// \brief Replaces the totals of tiles by what is before them.
  template <class Member>
  KOKKOS_FUNCTION void add_up_tiles(Member const& member, RowTotals* of_warps) const {
    RowTotals before{0, 0};
    std::int32_t const in_team = member.team_rank() * warp + lane_number();
    for (std::int32_t first = 0; first < tiles_count; first += warps_of_rows * warp) {
      std::int32_t const t = first + in_team;
      RowTotals const mine = t < tiles_count ? tiles[t] : RowTotals{0, 0};
      std::int64_t const end = scanned(mine.nonzeros);
      RowTotals const of_warp_{lane_value(end, warp - 1), largest(mine.longest)};
      if (lane_number() == 0) of_warps[member.team_rank()] = of_warp_;
      member.team_barrier();
      std::int64_t start = before.nonzeros;
      for (std::int32_t w = 0; w < warps_of_rows; ++w) {
        if (w < member.team_rank()) start += of_warps[w].nonzeros;
        before = joined(before, of_warps[w]);
      }
      member.team_barrier();
      if (t < tiles_count) tiles[t] = {start + end - mine.nonzeros, 0};
    }
    if (in_team == 0) *total = before;
  }
};

/// \brief Computes the offsets of rows with these lengths: offsets[0] to offsets[rows]. Waits for
/// them. length_of(i) may read the length of row i from offsets[i]. On GPUs one kernel, or three
/// from 8,192 rows on.
template <class Exec, class Offset, class LengthOf>
RowTotals offsets_of_lengths(Exec const& exec, Offset* offsets, std::int32_t rows,
                             LengthOf const& length_of) {
  RowTotals totals{0, 0};
  if constexpr (is_host_space<Exec>) {
    Kokkos::parallel_scan("Solder::csr::offsets", Kokkos::RangePolicy<Exec>(exec, 0, rows + 1),
                          OffsetsKernel<Offset, LengthOf>{length_of, offsets, rows}, totals);
  } else {
    using Kernel = OffsetsOfTiles<Exec, Offset, LengthOf>;
    std::int32_t const tiles = rows / Kernel::tile + 1;
    auto const memory =
        allocate_temporary<RowTotals>(exec, "Solder::csr::tiles", tiles + std::int64_t(1));
    RowTotals* const total = memory.data();
    Kernel kernel{length_of, offsets, rows, total + 1, total, tiles, Kernel::all_at_once};
    auto const run = [&](typename Kernel::Step step, std::int32_t teams) {
      kernel.step = step;
      Kokkos::parallel_for("Solder::csr::offsets",
                           row_policy<Exec, warps_of_rows>(exec, teams, Kernel::scratch_bytes()),
                           kernel);
    };
    if (tiles <= 4) {
      run(Kernel::all_at_once, 1);
    } else {
      run(Kernel::add_tiles, tiles);
      run(Kernel::add_up, 1);
      run(Kernel::scan_tiles, tiles);
    }
    Impl::copy(exec, Kokkos::View<RowTotals, Kokkos::HostSpace>(&totals),
               Kokkos::View<RowTotals const, typename Exec::memory_space>(total));
  }
  exec.fence("Solder::csr: the offsets are known");
  return totals;
}

/// \brief The lengths in an array, as a length_of.
template <class Length>
struct LengthsInArray {
  Length const* lengths;

  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t i) const {
    return static_cast<std::int32_t>(lengths[i]);
  }
};

/// \brief The lengths that these offsets were computed from, in an array of the same size. Correct
/// even if the offsets overflowed, because they wrap around. One kernel.
template <class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<std::int32_t, Exec> lengths_of_offsets(
    Exec const& exec, DeviceArray<std::int32_t, Exec> const& offsets, std::int32_t rows) {
  auto const lengths = allocate<std::int32_t>(exec, "Solder::csr::row_offsets", offsets.extent(0));
  std::int32_t const* const from = offsets.data();
  std::int32_t* const to = lengths.data();
  Kokkos::parallel_for(
      "Solder::csr::lengths", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int32_t i) {
        to[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[i + 1]) -
                                          static_cast<std::uint32_t>(from[i]));
      });
  return lengths;
}

}  // namespace Solder::Impl
