// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>

namespace Solder {

/// \brief Columns of equal length: column k begins at values + k * stride.
template <class Scalar>
struct TallBasis {
  Scalar* values;
  std::int64_t stride;

  KOKKOS_FUNCTION Scalar* column(std::int32_t k) const { return values + k * stride; }
  KOKKOS_FUNCTION TallBasis<Scalar const> from(std::int32_t k) const { return {column(k), stride}; }
  /// \brief Entry i of column k.
  KOKKOS_FORCEINLINE_FUNCTION auto at(std::int32_t k, std::int32_t i) const { return column(k)[i]; }
  /// \brief Stores it, and answers what is stored.
  KOKKOS_FORCEINLINE_FUNCTION Scalar store(std::int32_t k, std::int32_t i, Scalar const& v) const {
    return column(k)[i] = v;
  }
  /// \brief Calls f(columns, first, last) for the columns of one type.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_parts(std::int32_t count, F const& f) const {
    f(*this, 0, count);
  }
  static constexpr bool has_parts = false;  ///< whether columns are of several types
  bool operator==(TallBasis const&) const = default;
};

/// \brief Columns of Scalars that are stored in the scalar's single-precision counterpart, except
/// the first `full` ones. The first `room` columns have room for Scalars, the others for half as
/// much.
template <class Scalar>
struct MixedBasis {
  static constexpr std::int32_t room = 8;

  void* values;
  std::int64_t stride;
  std::int32_t full;  ///< columns in Scalar: `room`, or none

  /// \brief The memory of so many columns, in Scalars.
  static std::int64_t size(std::int64_t columns, std::int64_t stride) {
    std::int64_t const large = columns < room ? columns : room;
    return large * stride + ((columns - large) * stride + 1) / 2;
  }

  /// \brief The columns in Scalar.
  KOKKOS_FUNCTION TallBasis<Scalar> wide() const { return {static_cast<Scalar*>(values), stride}; }
  /// \brief The others.
  struct Narrow {
    SingleOf<Scalar>* values;
    std::int64_t stride;

    KOKKOS_FUNCTION SingleOf<Scalar>* column(std::int32_t k) const {
      return values + (k + (k < room ? k : room)) * stride;
    }
  };
  KOKKOS_FUNCTION Narrow narrow() const { return {static_cast<SingleOf<Scalar>*>(values), stride}; }

  KOKKOS_FORCEINLINE_FUNCTION Scalar at(std::int32_t k, std::int32_t i) const {
    return k < full ? wide().column(k)[i] : Scalar(narrow().column(k)[i]);
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar store(std::int32_t k, std::int32_t i, Scalar const& v) const {
    if (k < full) return wide().column(k)[i] = v;
    return Scalar(narrow().column(k)[i] = Impl::narrow<SingleOf<Scalar>>(v));
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_parts(std::int32_t count, F const& f) const {
    std::int32_t const first = full < count ? full : count;
    f(wide(), 0, first);
    f(narrow(), first, count);
  }
  static constexpr bool has_parts = true;
  /// \brief f(the columns of column k's type). The columns up to the next multiple of `room` have
  /// this type too: a GPU decides once for all loads of f, which then are in flight together.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void with_part(std::int32_t k, F const& f) const {
    if (k < full)
      f(wide());
    else
      f(narrow());
  }
};

namespace Impl {

/// \brief The GPU threads of a team that computes merged inner products, and the rows that one of
/// its warps loads at a time.
inline constexpr int multi_dot_threads = 1024, multi_dot_loads = 8,
                     multi_dot_chunk = multi_dot_loads * warp;

/// \brief The rows of a block that a host thread goes through column by column: 64 kB, which stay
/// in its caches. With fewer, it would change columns before the core's prefetcher has detected the
/// sequential reads. Blocks on the stack, which may be small, have 16 kB.
template <class Scalar>
inline constexpr std::int32_t host_block = 65536 / sizeof(Scalar);
template <class Scalar>
inline constexpr std::int32_t host_block_on_stack = 16384 / sizeof(Scalar);

/// \brief Calls f(number of columns, the first of them) until all `count` columns are covered. Each
/// call covers as many columns as a host thread has registers for. For all of these together, it
/// reads y, or the vector to subtract from, only once.
template <int Width, class F>
KOKKOS_FUNCTION void for_packs(std::int32_t count, F const& f, std::int32_t k = 0) {
  for (; k + Width <= count; k += Width) f(std::integral_constant<int, Width>{}, k);
  if constexpr (Width > 1) for_packs<Width / 2>(count, f, k);
}
template <class Scalar>
inline constexpr int widest_pack = parts<Scalar> == 1 ? 8 : 4;

/// \brief Adds the share of rows [first, last) in (v_k, y), for `Columns` columns from k on, to the
/// sums in `workspace`, on a host. At least four independent sums are in flight at a time.
template <class Scalar, int Columns, class Part, class Vector>
KOKKOS_FUNCTION void add_dots(Part const& V, std::int32_t k, Vector const& y, std::int32_t first,
                              std::int32_t last, double* workspace) {
  constexpr int steps = Columns < 4 ? 4 / Columns : 1;
  decltype(V.column(0)) v[Columns];
  for (int c = 0; c < Columns; ++c) v[c] = V.column(k + c);
  Wide<Scalar> sums[steps][Columns]{};
  std::int32_t i = first;
  for (; i + steps <= last; i += steps)
    for (int u = 0; u < steps; ++u)
      for (int c = 0; c < Columns; ++c)
        sums[u][c] += dot_term(Scalar(v[c][i + u]), Scalar(y[i + u]));
  for (; i < last; ++i)
    for (int c = 0; c < Columns; ++c) sums[0][c] += dot_term(Scalar(v[c][i]), Scalar(y[i]));
  for (int c = 0; c < Columns; ++c) {
    double* const at = workspace + (k + c) * parts<Scalar>;
    for (int u = 1; u < steps; ++u) sums[0][c] += sums[u][c];
    add_to(at, 0, sums[0][c]);
  }
}

/// \brief block -= sum of c(k) v_k for `Columns` columns from k on and `size` rows from `first` on,
/// on a host.
template <int Columns, class Part, class Scalar, class Coefficient>
KOKKOS_FUNCTION void subtract_columns(Part const& V, std::int32_t k, Coefficient const& c,
                                      std::int32_t first, std::int32_t size, Scalar* block) {
  decltype(V.column(0)) v[Columns];
  Scalar factor[Columns];
  for (int u = 0; u < Columns; ++u) {
    v[u] = V.column(k + u) + first;
    factor[u] = c(k + u);
  }
  for (std::int32_t i = 0; i < size; ++i) {
    Scalar value = block[i];
    for (int u = 0; u < Columns; ++u) value -= factor[u] * Scalar(v[u][i]);
    block[i] = value;
  }
}

/// \brief The number of teams that share a merged inner product over `rows` rows: one per
/// multiprocessor on GPUs, one per slice of rows on hosts.
template <class Exec>
int multi_dot_teams(Exec const& exec, std::int32_t rows, int host_slices) {
  if (is_host_space<Exec>) return host_slices;
  std::int64_t const chunks = (std::int64_t(rows) + multi_dot_chunk - 1) / multi_dot_chunk;
  return static_cast<int>(std::clamp<std::int64_t>(chunks, 1, exec.concurrency() / 2048));
}

/// \brief The doubles of team workspace that multi_dot and its totals need for `columns` columns.
template <class Scalar>
KOKKOS_FUNCTION constexpr int multi_dot_workspace(int columns) {
  int const slots = most_threads / warp;
  return static_cast<int>(parts<Scalar>) * (columns > slots ? columns : slots);
}

/// \brief Rows of two vectors that a lane loads at a time, as they are stored.
template <class OfV, class OfY>
struct DotChunk {
  OfV v[multi_dot_loads];
  OfY y[multi_dot_loads];
};
/// \brief Those of rows first, first + warp, ...; zeros from row `rows` on.
template <class OfV, class Vector>
KOKKOS_FORCEINLINE_FUNCTION auto load_chunk(OfV const* v, Vector const& y, std::int32_t first,
                                            std::int32_t rows) {
  using OfY = std::remove_cvref_t<decltype(y[first])>;
  DotChunk<OfV, OfY> chunk;
  for (int u = 0; u < multi_dot_loads; ++u) {
    std::int32_t const i = first + u * warp;
    bool const inside = i < rows;
    chunk.v[u] = inside ? v[i] : OfV{};
    chunk.y[u] = inside ? y[i] : OfY{};
  }
  return chunk;
}

/// \brief Calls prepare() after the first loads; on hosts, and for a basis of several types, before
/// them. If that returns true, leaves this team's share of (v_k, y) for the columns k < count of V:
/// value v of parts<Scalar> * count goes to partials[v * league_size + league_rank].
///
/// One pass over the basis for all products (paper 5, section 4: merged dot product). A column
/// belongs to one warp, or to 2^split warps if there are few columns. The warp's lanes stride over
/// the rows. y comes from the nearest cache, because all warps of the team read it at about the
/// same time. Words: count + 1 a row; of a MixedBasis half of that for columns in single precision.
///
/// \param V a TallBasis or a MixedBasis
/// \param y what is indexed by rows
template <class Scalar, class Team, class Basis, class Vector, class Prepare>
KOKKOS_FORCEINLINE_FUNCTION void multi_dot(Team const& team, Rows const& rows, Basis const& V,
                                           std::int32_t count, Vector const& y, double* partials,
                                           double* workspace, Prepare const& prepare) {
  std::int32_t const teams = team.league_size();
  auto const leave = [&](std::int32_t k, Sums<parts<Scalar>> const& sums) {
    for (std::size_t p = 0; p < parts<Scalar>; ++p)
      partials[(k * parts<Scalar> + p) * teams + team.league_rank()] = sums[p];
  };
  if constexpr (std::is_same_v<Team, HostTeam>) {
    if (!prepare()) return;
    constexpr std::int32_t block = host_block<Scalar>;
    std::int32_t const begin = team.first(rows), end = team.last(rows);
    for (std::int32_t k = 0; k < count * std::int32_t(parts<Scalar>); ++k) workspace[k] = 0;
    for (std::int32_t first = begin; first < end; first += block) {
      std::int32_t const last = first + block < end ? first + block : end;
      V.for_parts(count, [&](auto const& part, std::int32_t from, std::int32_t to) {
        for_packs<widest_pack<Scalar>>(
            to,
            [&](auto columns, std::int32_t k) {
              add_dots<Scalar, columns>(part, k, y, first, last, workspace);
            },
            from);
      });
    }
    for (std::int32_t k = 0; k < count; ++k) {
      Sums<parts<Scalar>> sums;
      for (std::size_t p = 0; p < parts<Scalar>; ++p) sums[p] = workspace[k * parts<Scalar> + p];
      leave(k, sums);
    }
    team.has_left(partials, count * std::int32_t(parts<Scalar>), teams);
  } else {
    int const warps = team.warps_of_team();
    int split = 0;
    while (count << (split + 1) <= warps) ++split;
    int const shares = 1 << split, share = team.warp_rank() & (shares - 1);
    std::int32_t const stride = (teams << split) * multi_dot_chunk;
    std::int32_t const begin =
        ((team.league_rank() << split) + share) * multi_dot_chunk + team.lane();
    auto const leave_sum = [&](std::int32_t k, Wide<Scalar> const& sum) {
      Sums<parts<Scalar>> sums{};
      add_to(sums, 0, sum);
      team.sum_lanes(sums);
      if (team.lane() == 0) {
        if (split == 0)
          leave(k, sums);
        else
          for (std::size_t p = 0; p < parts<Scalar>; ++p)
            workspace[team.warp_rank() * parts<Scalar> + p] = sums[p];
      }
    };
    std::int32_t k = team.warp_rank() >> split;
    if constexpr (Basis::has_parts) {
      if (!prepare()) return;
      for (; k < count; k += warps >> split)
        V.with_part(k, [&](auto const& part) {
          auto const* const v = part.column(k);
          Wide<Scalar> sum{};
          for (std::int32_t first = begin; first - team.lane() < rows.count; first += stride) {
            auto const chunk = load_chunk(v, y, first, rows.count);
            for (int u = 0; u < multi_dot_loads; ++u)
              sum += dot_term(Scalar(chunk.v[u]), Scalar(chunk.y[u]));
          }
          leave_sum(k, sum);
        });
    } else {
      auto const load = [&](std::int32_t k, std::int32_t first) {
        return load_chunk(V.column(k), y, first, k < count ? rows.count : 0);
      };
      auto chunk = load(k, begin);
      if (!prepare()) return;
      while (k < count) {
        Wide<Scalar> sum{};
        std::int32_t first = begin;
        while (true) {
          for (int u = 0; u < multi_dot_loads; ++u) sum += dot_term(chunk.v[u], chunk.y[u]);
          first += stride;
          if (first - team.lane() >= rows.count) break;
          chunk = load(k, first);
        }
        leave_sum(k, sum);
        k += warps >> split;
        if (k < count) chunk = load(k, begin);
      }
    }
    if (split == 0) return;
    team.barrier();
    if (std::int32_t const column = team.rank(); column < count) {
      Sums<parts<Scalar>> sums{};
      for (int s = 0; s < shares; ++s)
        for (std::size_t p = 0; p < parts<Scalar>; ++p)
          sums[p] += workspace[((column << split) + s) * parts<Scalar> + p];
      leave(column, sums);
    }
  }
}

/// \brief Totals `values` values that earlier stages left. For each, one thread calls
/// f(v, total of sum_of(v), factor(v)). A barrier follows, so that all threads of the team see the
/// results. factor(v) is loaded ahead.
///
/// \tparam Batch values that a warp takes at once: 1 if there are no more values than warps
template <int Batch, class Team, class SumOf, class Factor, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_total(Team const& team, std::int32_t values,
                                                SumOf const& sum_of, Factor const& factor,
                                                F const& f) {
  constexpr int batch = Batch, loads = 16 / Batch;
  for (std::int32_t first = team.warp_rank() * batch; first < values;
       first += team.warps_of_team() * batch) {
    Sums<batch> share{};
    double factors[batch];
    Sum<1> sums[batch];
    std::int32_t most = 0;
    for (int k = 0; k < batch; ++k) {
      bool const inside = first + k < values;
      factors[k] = inside ? factor(first + k) : 0;
      sums[k] = inside ? sum_of(first + k) : Sum<1>{nullptr, 0};
      most = sums[k].parts > most ? sums[k].parts : most;
    }
    for (std::int32_t j = team.lane(); j < most; j += loads * team.lanes()) {
      double term[batch][loads];
      for (int k = 0; k < batch; ++k)
        for (int u = 0; u < loads; ++u) {
          std::int32_t const t = j + u * team.lanes();
          term[k][u] = t < sums[k].parts ? sums[k].values[t] : 0;
        }
      for (int k = 0; k < batch; ++k)
        for (int u = 0; u < loads; u += 4)
          share[k] += (term[k][u] + term[k][u + 1]) + (term[k][u + 2] + term[k][u + 3]);
    }
    team.sum_lanes(share);
    if (team.lane() == 0)
      for (int k = 0; k < batch; ++k)
        if (first + k < values) f(first + k, share[k], factors[k]);
  }
  team.barrier();
}

/// \brief The same for values that one stage of `teams` teams left contiguously.
template <class Team, class Factor, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_total(Team const& team, std::int32_t values,
                                                std::int32_t teams, double const* partials,
                                                Factor const& factor, F const& f) {
  auto const sum_of = [&](std::int32_t v) {
    return Sum<1>{const_cast<double*>(partials) + v * teams, teams};
  };
  for_each_total<4>(team, values, sum_of, factor, f);
}

/// \brief Columns that a lane loads at a time, of one type.
inline constexpr int axpy_batch = MixedBasis<double>::room;

/// \brief Entries of a row, as they are stored.
template <class Of>
struct ColumnBatch {
  Of v[axpy_batch];
};
/// \brief Those of columns k, k + 1, ...; zeros from column `count` on.
template <class Part>
KOKKOS_FORCEINLINE_FUNCTION auto load_columns(Part const& part, std::int32_t count, std::int32_t i,
                                              std::int32_t k) {
  using Of = std::remove_cvref_t<decltype(part.column(0)[0])>;
  ColumnBatch<Of> columns;
  for (int u = 0; u < axpy_batch; ++u) columns.v[u] = k + u < count ? part.column(k + u)[i] : Of{};
  return columns;
}

/// \brief Calls prepare() after the first loads and before c, and returns its result. If that is
/// true, calls finish(i, start(i) - sum over k < count of c(k) v_k[i]) for every row i of this
/// team. GPUs go from the last rows to the first.
///
/// One pass over the basis (merged axpy). Words: count a row, of a MixedBasis half of that for
/// columns in single precision, and what start and finish move.
///
/// \param V a TallBasis or a MixedBasis
template <class Scalar, class Team, class Basis, class Start, class Prepare, class Coefficient,
          class Finish>
KOKKOS_FORCEINLINE_FUNCTION bool multi_axpy(Team const& team, Rows const& rows, Basis const& V,
                                            std::int32_t count, Start const& start,
                                            Prepare const& prepare, Coefficient const& c,
                                            Finish const& finish) {
  if constexpr (std::is_same_v<Team, HostTeam>) {
    if (!prepare()) return false;
    std::int32_t const begin = team.first(rows), end = team.last(rows);
    constexpr std::int32_t most = host_block_on_stack<Scalar>;
    // Bypasses constructors, because those of complex scalars write zeros.
    alignas(64) std::byte memory[most * sizeof(Scalar)];
    auto* const block = reinterpret_cast<Scalar*>(memory);
    for (std::int32_t first = begin; first < end; first += most) {
      std::int32_t const size = first + most < end ? most : end - first;
      for (std::int32_t i = 0; i < size; ++i) block[i] = start(first + i);
      V.for_parts(count, [&](auto const& part, std::int32_t from, std::int32_t to) {
        for_packs<widest_pack<Scalar>>(
            to,
            [&](auto columns, std::int32_t k) {
              subtract_columns<columns>(part, k, c, first, size, block);
            },
            from);
      });
      for (std::int32_t i = 0; i < size; ++i) finish(first + i, block[i]);
    }
    return true;
  } else {
    auto const subtract = [&](Scalar& sum, std::int32_t k, auto const& columns) {
      for (int u = 0; u < axpy_batch; ++u)
        if (k + u < count) sum -= c(k + u) * Scalar(columns.v[u]);
    };
    if constexpr (Basis::has_parts) {
      return team.for_each_row_downwards(rows, start, prepare, [&](std::int32_t i, Scalar sum) {
        for (std::int32_t k = 0; k < count; k += axpy_batch)
          V.with_part(k,
                      [&](auto const& part) { subtract(sum, k, load_columns(part, count, i, k)); });
        finish(i, sum);
      });
    } else {
      struct Row {
        Scalar sum;
        ColumnBatch<Scalar> columns;
      };
      return team.for_each_row_downwards(
          rows,
          [&](std::int32_t i) {
            Row row;
            row.sum = start(i);
            row.columns = load_columns(V, count, i, 0);
            return row;
          },
          prepare,
          [&](std::int32_t i, Row row) {
            subtract(row.sum, 0, row.columns);
            for (std::int32_t k = axpy_batch; k < count; k += axpy_batch)
              subtract(row.sum, k, load_columns(V, count, i, k));
            finish(i, row.sum);
          });
    }
  }
}

}  // namespace Impl
}  // namespace Solder
