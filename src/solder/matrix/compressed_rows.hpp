// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How a thread of a host multiplies compressed rows.

#include <cstdint>
#include <type_traits>
#include <utility>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/detail/twice_rows.hpp>
#include <solder/matrix/place_of.hpp>

namespace Solder::Impl {

/// \brief Asks for the entries that come some cache lines after those being summed. The loads of a
/// row alone keep too few cache lines in flight: with 7 to 125 entries a row, this saves a quarter
/// to more than half of the time of a product.
template <class Scalar>
class EntriesAhead {
 public:
  /// The most entries to be summed for which ask() asks once; a row is at least one piece.
  static constexpr int piece = 16;

  /// \param rows, entries of the thread; so few entries that they stay in the caches need no help,
  /// and rows of two or three lose by it
  KOKKOS_FORCEINLINE_FUNCTION EntriesAhead(std::int32_t const* columns, Scalar const* values,
                                           std::int64_t rows, std::int64_t entries)
      : columns_(columns),
        values_(values),
        helps_(entries * bytes > 12 << 20 && entries >= 4 * rows) {}
  KOKKOS_FORCEINLINE_FUNCTION bool helps() const { return helps_; }
  /// \brief Asks for what comes after the piece that begins at entry k.
  KOKKOS_FORCEINLINE_FUNCTION void ask(std::int64_t k) const {
    constexpr int values_of_line = 64 / sizeof(Scalar);
    for (int j = 0; j < piece; j += values_of_line)
      prefetch(values_, (k + j + distance) * sizeof(Scalar));
    prefetch(columns_, (k + distance) * sizeof(std::int32_t));
  }

 private:
  static constexpr std::int64_t distance = 512, bytes = sizeof(Scalar) + sizeof(std::int32_t);

  std::int32_t const* columns_;
  Scalar const* values_;
  bool helps_;
};

/// \brief The product of row i of the team with x.
template <class Offset, class Scalar, class Operand>
struct RowProduct {
  using X = std::remove_cvref_t<decltype(std::declval<Operand const&>()[0])>;

  Offset const* row_offsets;
  std::int32_t const* columns;
  Scalar const* values;
  Operand x;
  EntriesAhead<Scalar> ahead;

  KOKKOS_FORCEINLINE_FUNCTION X operator()(std::int32_t i) const {
    X sum{};
    Offset k = row_offsets[i];
    Offset const end = row_offsets[i + 1];
    if (ahead.helps())
      for (; end - k > ahead.piece; k += ahead.piece) {
        ahead.ask(k);
        add(k, k + ahead.piece, sum);
      }
    if (ahead.helps()) ahead.ask(k);
    add(k, end, sum);
    return sum;
  }

 private:
  /// \brief Two at a time: a loop for one takes 1.3 to 1.5 times as long where its instructions
  /// cross a cache line.
  KOKKOS_FORCEINLINE_FUNCTION void add(Offset k, Offset end, X& sum) const {
    for (; end - k > 1; k += 2) {
      sum += X(values[k]) * x[columns[k]];
      sum += X(values[k + 1]) * x[columns[k + 1]];
    }
    if (k < end) sum += X(values[k]) * x[columns[k]];
  }
};

/// \brief A function that gives the product of row i of the team with x.
template <class Offset, class Scalar, class Operand>
KOKKOS_FORCEINLINE_FUNCTION auto row_product(HostTeam const& team, Rows const& rows,
                                             Offset const* row_offsets, std::int32_t const* columns,
                                             Scalar const* values, Operand const& x) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  HostTeam const whole = team.whole(rows);
  std::int32_t const begin = whole.first(rows), end = whole.last(rows);
  EntriesAhead<Scalar> const ahead(columns, values, end - begin,
                                   row_offsets[end] - row_offsets[begin]);
  if constexpr (std::is_same_v<Operand, Widened<Scalar>> && std::is_same_v<X, Twice>) {
    auto const sum = twice_sum_of_host<Scalar, Offset>();
    return [=](std::int32_t i) {
      Offset const first = row_offsets[i], last = row_offsets[i + 1];
      if (ahead.helps())
        for (Offset k = first; k < last; k += ahead.piece) ahead.ask(k);
      return sum(values, columns, x.values, first, last);
    };
  } else {
    return RowProduct<Offset, Scalar, Operand>{row_offsets, columns, values, x, ahead};
  }
}

/// \brief The products of compressed rows with x.
template <class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void compressed_products(HostTeam const& team, Rows const& rows,
                                                     Offset const* row_offsets,
                                                     std::int32_t const* columns,
                                                     Scalar const* values, Operand const& x,
                                                     Consume const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  std::int32_t const begin = team.first(rows), end = team.last(rows), width = team.columns();
  if (width > 1) {
    for (std::int32_t i = begin; i < end; ++i) {
      X sum{};
      for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
        sum += X(values[k]) * x[columns[k] * width + team.column()];
      consume(i * width + team.column(), sum);
    }
    return;
  }
  auto const product = row_product(team, rows, row_offsets, columns, values, x);
  for (std::int32_t i = begin; i < end; ++i) consume(i, product(i));
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
/// halo is under way, then of the others.
template <class Offset, class Scalar, class Operand, class Consume>
KOKKOS_FORCEINLINE_FUNCTION void products_with_ghosts(
    HostTeam const& team, Rows const& rows, GhostRows<Scalar> const& of, Offset const* row_offsets,
    std::int32_t const* columns, Scalar const* values, Operand const& x, Consume const& consume) {
  using X = std::remove_cvref_t<decltype(x[0])>;
  std::int32_t const first = of.before(team.first(rows)), last = of.before(team.last(rows));
  auto const product = row_product(team, rows, row_offsets, columns, values, x);
  std::int32_t begin = team.first(rows);
  for (std::int32_t k = first; k <= last; ++k) {
    std::int32_t const end = k < last ? of.rows[k] : team.last(rows);
    for (std::int32_t i = begin; i < end; ++i) consume(i, product(i));
    begin = end + 1;
  }
  if (last == first) return;
  if (of.finish != nullptr) of.finish(of.halo);
  for (std::int32_t k = first; k < last; ++k) {
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
  std::int32_t const width = team.columns(), end = team.last(rows);
  for (std::int32_t i = team.first(rows); i < end; ++i) {
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
