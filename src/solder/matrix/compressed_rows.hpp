// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How a thread of a host multiplies compressed rows.

#include <cstdint>
#include <type_traits>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/detail/twice_rows.hpp>
#include <solder/matrix/place_of.hpp>

namespace Solder::Impl {

/// \brief f(i) for the team's compressed rows, from the last to the first.
///
/// Short rows that do not stay in the caches are prefetched, a few at a time: their own loads, with
/// a guess at each row's end, keep too few cache lines in flight. Long rows among them are not:
/// they need no help, and would evict what is waited for.
template <class Offset, class Scalar, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_compressed_row(HostTeam const& team, Rows const& rows,
                                                         Offset const* row_offsets,
                                                         std::int32_t const* columns,
                                                         Scalar const* values, F const& f) {
  constexpr std::int64_t cached = 12 << 20, at_once = 32, distance = 512, line = 64,
                         value = sizeof(Scalar), column = sizeof(std::int32_t);
  std::int32_t const begin = team.first(rows), end = team.last(rows);
  std::int64_t const count = end - begin, entries = row_offsets[end] - row_offsets[begin];
  bool const ahead =
      entries * (value + column) > cached && entries >= 4 * count && entries < at_once / 2 * count;
  auto const most = static_cast<std::int32_t>(ahead ? at_once * count / entries : count);
  for (std::int32_t top = end; top > begin;) {
    std::int32_t const bottom = top - begin > most ? top - most : begin;
    std::int64_t const first = row_offsets[bottom], last = row_offsets[top];
    if (ahead && last - first <= 2 * at_once) {
      for (std::int64_t k = first; k < last; k += line / value)
        prefetch(values + k, -distance * value);
      for (std::int64_t k = first; k < last; k += line / column)
        prefetch(columns + k, -distance * column);
    }
    for (std::int32_t i = top - 1; i >= bottom; --i) f(i);
    top = bottom;
  }
}

/// \brief A function that gives the product of row i with x.
template <class Offset, class Scalar, class Operand>
KOKKOS_FORCEINLINE_FUNCTION auto row_product(Offset const* row_offsets, std::int32_t const* columns,
                                             Scalar const* values, Operand const& x) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  if constexpr (std::is_same_v<Operand, Widened<Scalar>> && std::is_same_v<X, Twice>) {
    auto const sum = twice_sum_of_host<Scalar, Offset>();
    return [=](std::int32_t i) {
      return sum(values, columns, x.values, row_offsets[i], row_offsets[i + 1]);
    };
  } else {
    return [=](std::int32_t i) {
      X sum{};
      for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
        sum += X(values[k]) * x[columns[k]];
      return sum;
    };
  }
}

/// \brief The products of compressed rows with x, from the last of the team's rows to the first:
/// what the vector stages, which go upwards, touched last is still in the cache.
template <class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void compressed_products(HostTeam const& team, Rows const& rows,
                                                     Offset const* row_offsets,
                                                     std::int32_t const* columns,
                                                     Scalar const* values, Operand const& x,
                                                     Consume const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  if (team.columns() > 1) {
    std::int32_t const width = team.columns(), begin = team.first(rows);
    for (std::int32_t i = team.last(rows) - 1; i >= begin; --i) {
      X sum{};
      for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
        sum += X(values[k]) * x[columns[k] * width + team.column()];
      consume(i * width + team.column(), sum);
    }
    return;
  }
  auto const product = row_product(row_offsets, columns, values, x);
  for_each_compressed_row(team, rows, row_offsets, columns, values,
                          [&](std::int32_t i) { consume(i, product(i)); });
}

/// \brief What the rows of a rank need of other ranks; see DistributedMatrix.
template <class Scalar>
struct GhostRows {
  Scalar const* ghosts;      ///< entries of x: column j is ghost j - own
  std::int32_t own;          ///< columns of this rank, the first ones
  std::int32_t const* rows;  ///< that have ghosts, ascending
  std::int32_t count;
  void const* halo = nullptr;
  void (*finish)(void const* halo) = nullptr;  ///< waits for the ghosts; null: they are there

  /// \brief How many of them come before row i.
  KOKKOS_FUNCTION std::int32_t before(std::int32_t i) const {
    return place_of(rows, std::int32_t(0), count, i);
  }
};

/// \brief The products of a rank's compressed rows: first of those that need no ghost, while the
/// halo is under way, then of the others; each from the last row to the first.
template <class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void products_with_ghosts(
    HostTeam const& team, Rows const& rows, GhostRows<Scalar> const& of, Offset const* row_offsets,
    std::int32_t const* columns, Scalar const* values, Operand const& x, Consume const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  std::int32_t const first = of.before(team.first(rows)), last = of.before(team.last(rows));
  auto const product = row_product(row_offsets, columns, values, x);
  // Rows between two that have ghosts, the last ones first.
  std::int32_t end = team.last(rows);
  for (std::int32_t k = last - 1; k >= first - 1; --k) {
    std::int32_t const begin = k < first ? team.first(rows) : of.rows[k] + 1;
    for_each_compressed_row(team.window(begin, end), rows, row_offsets, columns, values,
                            [&](std::int32_t i) { consume(i, product(i)); });
    if (k >= first) end = of.rows[k];
  }
  if (last == first) return;
  if (of.finish != nullptr) of.finish(of.halo);
  for (std::int32_t k = last - 1; k >= first; --k) {
    std::int32_t const i = of.rows[k];
    X sum{};
    for (Offset e = row_offsets[i]; e < row_offsets[i + 1]; ++e) {
      std::int32_t const j = columns[e];
      sum += X(values[e]) * (j < of.own ? x[j] : X(Wide<Scalar>(of.ghosts[j - of.own])));
    }
    consume(i, sum);
  }
}

/// \brief The products of compressed row i with Width columns of x, from column `first` on: the
/// matrix is read once for them. consume(column, number of the entry, value).
template <int Width, class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void products_of_pack(std::int32_t i, std::int32_t columns_of_x,
                                                  std::int32_t first, Offset const* row_offsets,
                                                  std::int32_t const* columns, Scalar const* values,
                                                  Operand const& x, Consume const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  X sum[Width]{};
  for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
    X const value(values[k]);
    std::int32_t const at = columns[k] * columns_of_x + first;
    for (int c = 0; c < Width; ++c) sum[c] += value * x[at + c];
  }
  for (int c = 0; c < Width; ++c) consume(first + c, i * columns_of_x + first + c, sum[c]);
}

/// \brief The products of compressed rows with all columns of x.
template <class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void products_of_columns(HostTeam const& team, Rows const& rows,
                                                     Offset const* row_offsets,
                                                     std::int32_t const* columns,
                                                     Scalar const* values, Operand const& x,
                                                     Consume const& consume) {
  std::int32_t const width = team.columns(), begin = team.first(rows);
  for (std::int32_t i = team.last(rows) - 1; i >= begin; --i) {
    std::int32_t c = 0;
    for (; c + 8 <= width; c += 8)
      products_of_pack<8>(i, width, c, row_offsets, columns, values, x, consume);
    if (c + 4 <= width) {
      products_of_pack<4>(i, width, c, row_offsets, columns, values, x, consume);
      c += 4;
    }
    for (; c < width; ++c)
      products_of_pack<1>(i, width, c, row_offsets, columns, values, x, consume);
  }
}

}  // namespace Solder::Impl
