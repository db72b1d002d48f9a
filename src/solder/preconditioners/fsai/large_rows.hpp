// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <solder/preconditioners/fsai/local_rows.hpp>

namespace Solder::Impl::fsai {

/// \brief A GPU's team that works on one row.
template <class Member>
struct RowTeam {
  Member const& member;

  KOKKOS_FUNCTION int lane() const { return lane_number(); }
  KOKKOS_FUNCTION int rank() const { return member.team_rank() * warp + lane_number(); }
  KOKKOS_FUNCTION int size() const { return member.team_size() * warp; }
  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }

  /// \brief The sum of term(0), ..., term(count - 1), in a fixed order, known to all: every warp
  /// adds for itself.
  template <class Number, class Term>
  KOKKOS_FORCEINLINE_FUNCTION Number sum(std::int32_t count, Term const& term) const {
    Number value{};
    for (std::int32_t k = lane(); k < count; k += warp) value += term(k);
    for (int mask = warp / 2; mask > 0; mask /= 2) value += lane_exchange(value, mask);
    return value;
  }
};

/// \brief The envelope of a local matrix, and its factor in its place: tiles of T x T entries; tile
/// row R has the tiles first[R], ..., R, its T rows one after another from start[R] on.
///
/// What lies left of the first entry of a row stays zero in L and is neither stored nor computed.
/// The last tile row is padded with the identity.
template <class Scalar>
struct Envelope {
  static constexpr int T = 4;

  Scalar* values;
  std::int64_t* start;
  std::int32_t *first, *reach;  ///< reach[K]: the last tile row R of first[R] <= K
  std::int32_t tiles;

  KOKKOS_FUNCTION std::int32_t width(std::int32_t R) const { return T * (R + 1 - first[R]); }
  /// \brief Row a of tile row R; its column c is at [c].
  KOKKOS_FUNCTION Scalar* row(std::int32_t R, std::int32_t a) const {
    return values + start[R] + a * width(R) - T * first[R];
  }
  KOKKOS_FUNCTION Scalar& operator()(std::int32_t r, std::int32_t c) const {
    return row(r / T, r % T)[c];
  }
};

/// \brief A diagonal tile in registers, 1 / l_jj on its diagonal: what each thread factorises for
/// itself.
template <class Scalar>
struct DiagonalTile {
  static constexpr int T = Envelope<Scalar>::T;
  Scalar l[T][T];
  RealOf<Scalar> inverse[T];
  bool fine = true;

  KOKKOS_FORCEINLINE_FUNCTION DiagonalTile(Envelope<Scalar> const& A, std::int32_t K) {
    for (int r = 0; r < T; ++r) {
      Scalar const* const row = A.row(K, r) + K * T;
      for (int c = 0; c <= r; ++c) l[r][c] = row[c];
    }
    for (int j = 0; j < T; ++j) {
      RealOf<Scalar> const pivot = real_of(l[j][j]);
      fine = fine && pivot > 0 && Kokkos::isfinite(pivot);
      inverse[j] = 1 / Kokkos::sqrt(pivot);
      l[j][j] = pivot * inverse[j];
      for (int r = j + 1; r < T; ++r) l[r][j] *= inverse[j];
      for (int r = j + 1; r < T; ++r)
        for (int c = j + 1; c <= r; ++c) l[r][c] -= l[r][j] * conj_of(l[c][j]);
    }
  }
};

/// \brief A = L L^H in place, 1 / l_jj in inverse[j]; false, and a half-done factor, where a pivot
/// is not positive or not finite. A team calls this together.
///
/// Right-looking over the tile columns: every thread factorises the diagonal tile for itself and
/// solves a row of the column's tiles; then a thread updates a tile.
template <class Team, class Scalar>
KOKKOS_FUNCTION bool factorize(Team const& team, Envelope<Scalar> const& A, double* inverse) {
  constexpr int T = Envelope<Scalar>::T;
  for (std::int32_t K = 0; K < A.tiles; ++K) {
    DiagonalTile<Scalar> const diagonal(A, K);
    if (!diagonal.fine) return false;
    std::int32_t const below = T * (K + 1), end = T * (A.reach[K] + 1);
    for (std::int32_t r = below + team.rank(); r < end; r += team.size()) {
      std::int32_t const R = r / T;
      if (A.first[R] > K) continue;
      Scalar* const x = A.row(R, r % T) + K * T;
      Scalar y[T];
      for (int j = 0; j < T; ++j) {
        y[j] = x[j];
        for (int c = 0; c < j; ++c) y[j] -= y[c] * conj_of(diagonal.l[j][c]);
        y[j] *= diagonal.inverse[j];
      }
      for (int j = 0; j < T; ++j) x[j] = y[j];
    }
    team.barrier();
    if (team.rank() == 0) {
      for (int r = 0; r < T; ++r) {
        inverse[T * K + r] = diagonal.inverse[r];
        for (int c = 0; c <= r; ++c) A.row(K, r)[K * T + c] = diagonal.l[r][c];
      }
    }
    // 8 tile columns side by side, as many tile rows at a time as the team has threads for.
    std::int32_t const last = A.reach[K], stride = team.size() >= 8 ? team.size() / 8 : 1;
    std::int32_t const across = team.size() >= 8 ? 8 : 1;
    for (std::int32_t R = K + 1 + team.rank() / 8; R <= last; R += stride) {
      if (A.first[R] > K) continue;
      for (std::int32_t C = K + 1 + team.rank() % 8; C <= R; C += across) {
        if (A.first[C] > K) continue;
        Scalar x[T][T], y[T][T];
        for (int a = 0; a < T; ++a)
          for (int j = 0; j < T; ++j) {
            x[a][j] = A.row(R, a)[K * T + j];
            y[a][j] = conj_of(A.row(C, a)[K * T + j]);
          }
        for (int a = 0; a < T; ++a) {
          Scalar* const z = A.row(R, a) + C * T;
          for (int b = 0; b < T; ++b) {
            Scalar sum = z[b];
            for (int j = 0; j < T; ++j) sum -= x[a][j] * y[b][j];
            z[b] = sum;
          }
        }
      }
    }
    team.barrier();
  }
  return true;
}

/// \brief g of g L = e, e the unit row vector of column `last`; s is workspace. A team calls this
/// together.
template <class Team, class Scalar>
KOKKOS_FUNCTION void solve_last_row(Team const& team, Envelope<Scalar> const& L,
                                    double const* inverse, std::int32_t last, Scalar* s,
                                    Scalar* g) {
  constexpr int T = Envelope<Scalar>::T;
  for (std::int32_t c = team.rank(); c < T * L.tiles; c += team.size())
    s[c] = Scalar(c == last ? -1 : 0);
  team.barrier();
  for (std::int32_t K = L.tiles - 1; K >= 0; --K) {
    Scalar x[T];
    for (int a = T - 1; a >= 0; --a) {
      x[a] = s[T * K + a];
      for (int b = a + 1; b < T; ++b) x[a] += x[b] * L.row(K, b)[T * K + a];
      x[a] *= -static_cast<RealOf<Scalar>>(inverse[T * K + a]);
    }
    if (team.rank() == 0)
      for (int a = 0; a < T; ++a) g[T * K + a] = x[a];
    for (std::int32_t c = T * L.first[K] + team.rank(); c < T * K; c += team.size()) {
      Scalar sum = s[c];
      for (int a = 0; a < T; ++a) sum += x[a] * L.row(K, a)[c];
      s[c] = sum;
    }
    team.barrier();
  }
}

/// \brief The arrays that a team needs for a row of m entries, beside the envelope's values.
template <class Scalar>
struct LargeScratch {
  static constexpr int T = Envelope<Scalar>::T;

  Scalar *g, *s;
  double* inverse;
  std::int64_t* start;
  std::int32_t *first, *reach, *columns;

  KOKKOS_FUNCTION static constexpr std::size_t bytes(std::int64_t m) {
    std::int64_t const tiles = (m + T - 1) / T;
    std::size_t const all = tiles * (T * (2 * sizeof(Scalar) + sizeof(double) + 4) + 8 + 4 + 4);
    return (all + 15) / 16 * 16;
  }

  /// \brief Divides memory, aligned to 16 bytes.
  KOKKOS_FUNCTION LargeScratch(void* memory, std::int32_t m) {
    std::int32_t const tiles = (m + T - 1) / T, padded = tiles * T;
    g = static_cast<Scalar*>(memory);
    s = g + padded;
    inverse = reinterpret_cast<double*>(s + padded);
    start = reinterpret_cast<std::int64_t*>(inverse + padded);
    first = reinterpret_cast<std::int32_t*>(start + tiles);
    reach = first + tiles;
    columns = reach + tiles;
  }
};

/// \brief Finds the envelope of the local matrix of m rows `columns`: first, reach and start;
/// answers the values it has. A team calls this together.
template <class Team, class Scalar, class Offset>
KOKKOS_FUNCTION std::int64_t find_envelope(Team const& team, Lower<Scalar, Offset> const& lower,
                                           std::int32_t lane_bits, std::int32_t const* columns,
                                           std::int32_t m, Envelope<Scalar> const& A) {
  constexpr int T = Envelope<Scalar>::T;
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
    std::int64_t at = 0;
    for (std::int32_t R = 0; R < A.tiles; ++R) {
      A.start[R] = at;
      at += T * A.width(R);
      if (R > 0 && A.reach[R - 1] > A.reach[R]) A.reach[R] = A.reach[R - 1];
    }
  }
  team.barrier();
  std::int32_t const R = A.tiles - 1;
  return A.start[R] + T * A.width(R);
}

/// \brief Filters and writes row k of the chunk: g of m entries, its L; s and squares, of m
/// entries, are workspace. A team calls this together.
template <class Team, class Scalar, class Factor, class Offset>
KOKKOS_FUNCTION bool write_filtered(Team const& team, Chunk<Scalar, Factor, Offset> const& chunk,
                                    std::int32_t k, std::int32_t m, Envelope<Scalar> const& L,
                                    Scalar const* g, Scalar* s, double* squares) {
  constexpr int T = Envelope<Scalar>::T;
  Offset const begin = chunk.offsets[k];
  double const norm_squared =
      team.template sum<double>(m, [&](std::int32_t c) { return abs_squared(g[c]); });
  auto const dropped = [&](std::int32_t c) { return c < m - 1 && chunk.drops(g[c], norm_squared); };
  int const kept = team.template sum<int>(m, [&](std::int32_t c) { return int(!dropped(c)); });
  double energy = 0;
  if (kept < m) {  // ||eps L||^2
    for (std::int32_t c = team.rank(); c < m; c += team.size()) s[c] = dropped(c) ? g[c] : Scalar{};
    team.barrier();
    for (std::int32_t c = team.rank(); c < m; c += team.size()) {
      std::int32_t const C = c / T;
      Scalar sum{};
      for (std::int32_t r = c; r < T * (C + 1) && r < m; ++r) sum += s[r] * L.row(C, r % T)[c];
      for (std::int32_t R = C + 1; R <= L.reach[C]; ++R) {
        if (L.first[R] > C) continue;
        for (std::int32_t r = T * R; r < T * (R + 1) && r < m; ++r)
          sum += s[r] * L.row(R, r % T)[c];
      }
      squares[c] = abs_squared(sum);
    }
    team.barrier();
    energy = team.template sum<double>(m, [&](std::int32_t c) { return squares[c]; });
  }
  auto const scale = static_cast<RealOf<Scalar>>(1 / Kokkos::sqrt(1 + energy));
  if (team.template sum<int>(
          m, [&](std::int32_t c) { return int(!finite(stored<Factor>(g[c] * scale))); }) > 0)
    return false;
  for (std::int32_t c = team.rank(); c < m; c += team.size()) {
    chunk.values[begin + c] = stored<Factor>(g[c] * scale);
    if (dropped(c)) chunk.columns[begin + c] = -1;
  }
  if (team.rank() == 0) chunk.kept[k] = kept;
  return true;
}

/// \brief Row k of the chunk by a team, with memory of `capacity` bytes, aligned to 16; false,
/// nothing written but `needed`, the bytes that would do, or that would get further, where it is
/// too little.
template <class Team, class Scalar, class Factor, class Offset>
KOKKOS_FUNCTION bool large_row(Team const& team, Chunk<Scalar, Factor, Offset> const& chunk,
                               std::int32_t k, void* memory, std::size_t capacity,
                               std::size_t& needed) {
  constexpr int T = Envelope<Scalar>::T;
  Offset const begin = chunk.offsets[k];
  std::int32_t const m = chunk.length(k);
  std::size_t const arrays = LargeScratch<Scalar>::bytes(m);
  needed = arrays;
  if (needed > capacity) return false;

  LargeScratch<Scalar> const scratch(memory, m);
  Envelope<Scalar> const A{reinterpret_cast<Scalar*>(static_cast<char*>(memory) + arrays),
                           scratch.start, scratch.first, scratch.reach, (m + T - 1) / T};
  for (std::int32_t c = team.rank(); c < m; c += team.size())
    scratch.columns[c] = chunk.columns[begin + c];
  team.barrier();
  std::int64_t const values =
      find_envelope(team, chunk.lower, chunk.lane_bits, scratch.columns, m, A);
  needed = arrays + values * sizeof(Scalar);
  if (needed > capacity) return false;

  for (std::int64_t e = team.rank(); e < values; e += team.size()) A.values[e] = Scalar{};
  team.barrier();
  for_each_local_entry(
      chunk.lower, scratch.columns, m, team.rank(), team.size(), chunk.lane_bits,
      [&](std::int32_t r, std::int32_t c, Offset e) { A(r, c) = chunk.lower.values[e]; });
  for (std::int32_t r = m + team.rank(); r < T * A.tiles; r += team.size()) A(r, r) = 1;
  team.barrier();
  RealOf<Scalar> const diagonal = real_of(A(m - 1, m - 1));
  bool fine = factorize(team, A, scratch.inverse);
  if (fine) {
    solve_last_row(team, A, scratch.inverse, m - 1, scratch.s, scratch.g);
    fine = write_filtered(team, chunk, k, m, A, scratch.g, scratch.s, scratch.inverse);
  }
  if (!fine) {
    for (std::int32_t c = team.rank(); c < m - 1; c += team.size()) chunk.columns[begin + c] = -1;
    if (team.rank() == 0) {
      chunk.values[begin + m - 1] = repaired_entry<Factor>(diagonal);
      chunk.kept[k] = 1;
      chunk.count_repaired(k);
    }
  }
  return true;
}

/// \brief Rows that did not fit into the memory of their teams, and what the largest would need.
struct Overflow {
  std::int32_t* list;
  std::int32_t* count;
  std::uint64_t* most_bytes;

  KOKKOS_FORCEINLINE_FUNCTION void add(std::int32_t k, std::size_t needed) const {
    list[Kokkos::atomic_fetch_add(count, 1)] = k;
    Kokkos::atomic_max(most_bytes, static_cast<std::uint64_t>(needed));
  }
};

/// \brief All listed rows: a team each in level-0 scratch, or by few teams with memory of their
/// own. Those that do not fit are listed in `overflow`.
template <class Scalar, class Factor, class Offset>
struct LargeRows {
  Chunk<Scalar, Factor, Offset> chunk;
  std::int32_t const* list;
  std::int32_t count;
  char* memory;  ///< capacity bytes a team; null: level-0 scratch
  std::size_t capacity;
  Overflow overflow;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    RowTeam<Member> const team{member};
    void* const mine = memory ? memory + member.league_rank() * capacity
                              : member.team_scratch(0).get_shmem(capacity, 16);
    for (std::int32_t at = member.league_rank(); at < count; at += member.league_size()) {
      std::size_t needed = 0;
      bool const fits = large_row(team, chunk, list[at], mine, capacity, needed);
      if (!fits && team.rank() == 0) overflow.add(list[at], needed);
      team.barrier();  // the memory is free for the next row
    }
  }

  template <class Exec>
  void launch(Exec const& exec, int teams, int warps) const {
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<256>>;
    Kokkos::parallel_for(memory ? "Solder::fsai::largest_rows" : "Solder::fsai::large_rows",
                         Policy(exec, teams, warps, warp)
                             .set_scratch_size(0, Kokkos::PerTeam(memory ? 0 : capacity + 16)),
                         *this);
  }
};

}  // namespace Solder::Impl::fsai
