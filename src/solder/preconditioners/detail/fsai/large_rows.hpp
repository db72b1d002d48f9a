// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <solder/preconditioners/detail/fsai/tiles.hpp>

namespace Solder::Impl::fsai {

/// \brief A team of a GPU that works on one row.
template <class Member>
struct RowTeam {
  Member const& member;

  KOKKOS_FUNCTION int lane() const { return lane_number(); }
  KOKKOS_FUNCTION int warp_rank() const { return member.team_rank(); }
  KOKKOS_FUNCTION int warps() const { return member.team_size(); }
  KOKKOS_FUNCTION int rank() const { return member.team_rank() * warp + lane_number(); }
  KOKKOS_FUNCTION int size() const { return member.team_size() * warp; }
  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }
  KOKKOS_FUNCTION void sync_lanes() const { lane_barrier(); }

  /// \brief The value of lane `source` of the warp, or of the lane whose number differs in the bits
  /// of `mask`. All lanes of a warp call these together.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar from(int source, Scalar const& value) const {
    return lane_value(value, source);
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar exchange(Scalar const& value, int mask) const {
    return lane_exchange(value, mask);
  }

  /// \brief The sum of term(0), ..., term(count - 1), in a fixed order. All threads get it, because
  /// each warp computes it itself.
  template <class Number, class Term>
  KOKKOS_FORCEINLINE_FUNCTION Number sum(std::int32_t count, Term const& term) const {
    Number value{};
    for (std::int32_t k = lane(); k < count; k += warp) value += term(k);
    for (int mask = warp / 2; mask > 0; mask /= 2) value += lane_exchange(value, mask);
    return value;
  }
};

/// \brief The arrays that a team needs for a row of m entries, in addition to the envelope's
/// values.
template <class Scalar>
struct LargeScratch {
  static constexpr int T = tile_rows;

  Scalar *g, *s, *below;
  double* squares;
  std::int32_t *start, *first, *reach, *columns, *failed;

  KOKKOS_FUNCTION static constexpr std::size_t bytes(std::int64_t m) {
    std::int64_t const tiles = (m + T - 1) / T;
    std::size_t const all = tile_values * sizeof(Scalar) + 4 +
                            tiles * (T * (2 * sizeof(Scalar) + sizeof(double) + 4) + 3 * 4);
    return (all + 127) / 128 * 128;
  }

  /// \brief Divides `memory`, which is aligned to 16 bytes.
  KOKKOS_FUNCTION LargeScratch(void* memory, std::int32_t m) {
    std::int32_t const tiles = (m + T - 1) / T, padded = tiles * T;
    below = static_cast<Scalar*>(memory);
    g = below + tile_values;
    s = g + padded;
    squares = reinterpret_cast<double*>(s + padded);
    columns = reinterpret_cast<std::int32_t*>(squares + padded);
    start = columns + padded;
    first = start + tiles;
    reach = first + tiles;
    failed = reach + tiles;
  }
};

/// \brief Finds the envelope of the local matrix of the m rows `columns`: first, reach and start.
/// Returns the number of its tiles. A team calls this together.
template <class Team, class Scalar, class Offset>
KOKKOS_FUNCTION std::int32_t find_envelope(Team const& team, Lower<Scalar, Offset> const& lower,
                                           std::int32_t lane_bits, std::int32_t const* columns,
                                           std::int32_t m, Envelope<Scalar> const& A) {
  constexpr int T = tile_rows;
  for (std::int32_t R = team.rank(); R < A.tiles; R += team.size()) A.first[R] = A.reach[R] = R;
  team.barrier();
  for_each_local_entry(lower, columns, m, team.rank(), team.size(), lane_bits,
                       [&](std::int32_t r, std::int32_t c, Offset) {
                         if (c / T < A.first[r / T]) Kokkos::atomic_min(&A.first[r / T], c / T);
                       });
  team.barrier();
  for (std::int32_t R = team.rank(); R < A.tiles; R += team.size())
    Kokkos::atomic_max(&A.reach[A.first[R]], R);
  team.barrier();
  if (team.rank() == 0) {
    std::int32_t at = 0, reach = 0;
    for (std::int32_t R = 0; R < A.tiles; ++R) {
      A.start[R] = at - A.first[R];
      at += R + 1 - A.first[R];
      reach = A.reach[R] > reach ? A.reach[R] : reach;
      A.reach[R] = reach;
    }
  }
  team.barrier();
  return A.start[A.tiles - 1] + A.tiles;
}

/// \brief Filters row k of the chunk, g with m entries and factor L, and writes it; false if g is
/// not finite. s and squares are workspace. All arrays are padded to whole tiles. A team calls this
/// together.
template <class Team, class Scalar, class Factor, class Offset>
KOKKOS_FUNCTION bool write_filtered(Team const& team, Chunk<Scalar, Factor, Offset> const& chunk,
                                    std::int32_t k, std::int32_t m, Envelope<Scalar> const& L,
                                    Scalar const* g, Scalar* s, double* squares) {
  Offset const begin = chunk.offsets[k];
  double const norm_squared =
      team.template sum<double>(m, [&](std::int32_t c) { return abs_squared(g[c]); });
  RowFilter filter(chunk.filtration);
  auto const dropped = [&](std::int32_t c) {
    return c < m - 1 && filter.drops(abs_squared(g[c]), norm_squared);
  };
  int kept = 0;
  double energy = 0;
  do {
    energy = 0;
    kept = team.template sum<int>(m, [&](std::int32_t c) { return int(!dropped(c)); });
    if (kept == m) break;
    std::int32_t const padded = L.tiles * tile_rows;
    for (std::int32_t c = team.rank(); c < padded; c += team.size())
      s[c] = c < m && dropped(c) ? g[c] : Scalar{};
    team.barrier();
    squares_of_product(team, L, s, squares);
    team.barrier();
    energy = team.template sum<double>(m, [&](std::int32_t c) { return squares[c]; });
  } while (filter.eases(energy));
  auto const scale = static_cast<RealOf<Scalar>>(1 / Kokkos::sqrt(1 + energy));
  if (team.template sum<int>(
          m, [&](std::int32_t c) { return int(!finite(stored<Factor>(g[c] * scale))); }) > 0)
    return false;
  for (std::int32_t c = team.rank(); c < m; c += team.size()) {
    chunk.values[begin + c] = stored<Factor>(g[c] * scale);
    chunk.mark(begin + c, dropped(c));
  }
  if (team.rank() == 0) chunk.kept[k] = kept;
  return true;
}

/// \brief Computes row k of the chunk by a team, in a block of `capacity` bytes: LargeScratch, then
/// the tiles. The block is either in scratch or in memory. In the latter case the arrays go to the
/// `scratch_bytes` of scratch if they fit. If the block is too small, returns false and writes only
/// `needed`: a size that is large enough, or at least allows getting further.
template <bool in_scratch, class Team, class Scalar, class Factor, class Offset>
KOKKOS_FUNCTION bool large_row(Team const& team, Chunk<Scalar, Factor, Offset> const& chunk,
                               std::int32_t k, char* block, std::size_t capacity,
                               [[maybe_unused]] char* scratch,
                               [[maybe_unused]] std::size_t scratch_bytes, std::size_t& needed) {
  constexpr int T = tile_rows;
  Offset const begin = chunk.offsets[k];
  std::int32_t const m = chunk.length(k);
  std::size_t const arrays_bytes = LargeScratch<Scalar>::bytes(m);
  needed = arrays_bytes;
  if (needed > capacity) return false;

  char* where = block;
  if constexpr (!in_scratch) where = arrays_bytes <= scratch_bytes ? scratch : block;
  LargeScratch<Scalar> const arrays(where, m);
  Envelope<Scalar> const A{reinterpret_cast<Scalar*>(block + arrays_bytes), arrays.start,
                           arrays.first, arrays.reach, (m + T - 1) / T};
  for (std::int32_t c = team.rank(); c < m; c += team.size())
    arrays.columns[c] = chunk.column(begin + c);
  team.barrier();
  std::int32_t const tiles =
      find_envelope(team, chunk.lower, chunk.lane_bits, arrays.columns, m, A);
  needed = arrays_bytes + tiles * (tile_values * sizeof(Scalar));
  if (needed > capacity) return false;

  std::int64_t const values = std::int64_t(tiles) * tile_values;
  for (std::int64_t e = team.rank(); e < values; e += team.size()) A.values[e] = Scalar{};
  team.barrier();
  for_each_local_entry(
      chunk.lower, arrays.columns, m, team.rank(), team.size(), chunk.lane_bits,
      [&](std::int32_t r, std::int32_t c, Offset e) { A(r, c) = chunk.lower.values[e]; });
  for (std::int32_t r = m + team.rank(); r < T * A.tiles; r += team.size()) A(r, r) = 1;
  team.barrier();
  RealOf<Scalar> const diagonal = real_of(A(m - 1, m - 1));
  bool fine = factorize(team, A, arrays.below, arrays.failed);
  if (fine) {
    solve_last_row(team, A, m - 1, arrays.s, arrays.g);
    fine = write_filtered(team, chunk, k, m, A, arrays.g, arrays.s, arrays.squares);
  }
  if (!fine) {
    for (std::int32_t c = team.rank(); c < m; c += team.size()) chunk.mark(begin + c, c < m - 1);
    if (team.rank() == 0) {
      chunk.values[begin + m - 1] = repaired_entry<Factor>(diagonal);
      chunk.kept[k] = 1;
      chunk.count_repaired(k);
    }
  }
  return true;
}

/// \brief Rows that did not fit into the memory of their teams, and the size that the largest
/// needs.
struct Overflow {
  std::int32_t* list;
  std::int32_t* count;
  std::uint64_t* most_bytes;

  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t k, std::size_t needed) const {
    list[Kokkos::atomic_fetch_add(count, 1)] = k;
    Kokkos::atomic_max(most_bytes, static_cast<std::uint64_t>(needed));
  }
};

/// \brief All listed rows: one team per row in level-0 scratch, or a few teams that each have a
/// block of memory. Rows that do not fit are listed in `overflow`.
template <bool in_scratch, class Scalar, class Factor, class Offset>
struct LargeRows {
  static constexpr int most_warps = 4;

  Chunk<Scalar, Factor, Offset> chunk;
  std::int32_t const* list;
  std::int32_t count;
  int scratch_bytes;
  char* memory;  ///< capacity bytes per team, unless in_scratch
  std::size_t capacity;
  Overflow overflow;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    RowTeam<Member> const team{member};
    char* const scratch =
        static_cast<char*>(member.team_scratch(0).get_shmem_aligned(scratch_bytes, 16));
    for (std::int32_t at = member.league_rank(); at < count; at += member.league_size()) {
      std::size_t needed = 0;
      bool fits;
      if constexpr (in_scratch)
        fits = large_row<true>(team, chunk, list[at], scratch, scratch_bytes, nullptr, 0, needed);
      else
        fits = large_row<false>(team, chunk, list[at], memory + member.league_rank() * capacity,
                                capacity, scratch, scratch_bytes, needed);
      if (!fits && team.rank() == 0) overflow.add(list[at], needed);
      team.barrier();  // the memory is free for the next row
    }
  }

  template <class Exec>
  void launch(Exec const& exec, int teams, int warps) const {
    // Four of the largest teams per multiprocessor: 128 registers per thread.
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most_warps * warp, 4>>;
    auto kernel = *this;
    auto const policy = [&] {
      return Policy(exec, teams, warps, warp)
          .set_scratch_size(0, Kokkos::PerTeam(kernel.scratch_bytes + 16));
    };
    // On GPUs with less scratch for these four teams than an H100 has, more rows go to memory.
    while (kernel.scratch_bytes > 4096 &&
           policy().team_size_max(kernel, Kokkos::ParallelForTag()) < warps)
      kernel.scratch_bytes /= 2;
    Kokkos::parallel_for(in_scratch ? "Solder::fsai::large_rows" : "Solder::fsai::largest_rows",
                         policy(), kernel);
  }
};

}  // namespace Solder::Impl::fsai
