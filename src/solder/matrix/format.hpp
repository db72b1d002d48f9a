// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <variant>

#include <solder/core/errors.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/block.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/matrix_format.hpp>
#include <solder/matrix/sell.hpp>

namespace Solder {

/// \brief What the choice of a format is based on.
struct RowStatistics {
  std::int32_t rows = 0;           ///< of the matrix
  std::int64_t nonzeros = 0;       ///< of the matrix
  std::int32_t shortest = 0,       ///< nonzeros of the shortest row
      longest = 0;                 ///< nonzeros of the longest row
  double mean = 0,                 ///< of the nonzeros of a row
      deviation = 0;               ///< standard deviation of the nonzeros of a row
  std::int32_t sigma = 1;          ///< that SELL would use
  std::int32_t csr_lane_bits = 0,  ///< 2^bits lanes would share a row in CSR
      sell_lane_bits = 0;          ///< 2^bits lanes would share a row in SELL
  std::int64_t sell_entries = 0,   ///< that SELL would store, padding included
      ell_entries = 0;             ///< that ELL would store, padding included
  BlockStatistics blocks = {};     ///< that a BlockMatrix would store
};

/// \brief A format, never automatic, and the reason for it in words.
struct FormatChoice {
  MatrixFormat format = MatrixFormat::csr;  ///< what was chosen
  std::string reason;                       ///< why, for people
};

namespace Impl {

/// \brief The cost of a product on a GPU: the time to stream the bytes or the time of the longest
/// chain of dependent loads, whichever is longer. Measured on an H100.
struct ProductCosts {
  static constexpr double bytes_per_nanosecond = 2800;
  /// The time of each format divided by the time to stream its bytes. Sorted rows no longer share
  /// entries of x with their neighbours.
  static constexpr double csr_slowdown = 1.08, sell_slowdown = 1, sorted_slowdown = 1.25,
                          ell_slowdown = 1, block_slowdown = 1;
  static constexpr double nanoseconds_a_load = 500;
  /// What an iteration with a kernel for each stage takes longer than in a kernel of the whole
  /// solve, which block matrices do not have.
  static constexpr double kernels_of_blocks = 11000;
  /// Terms that a lane has in flight at once.
  static constexpr double batch = 8;
  /// An upper bound: more lanes share longer rows in CSR.
  static constexpr double most_csr_terms = 64;

  /// \param ahead dependent loads before a row's first entry
  /// \param terms of a lane at most
  static double nanoseconds(double bytes, double slowdown, double ahead, double terms) {
    double const loads = ahead + 2 * std::ceil(terms / batch);  // columns, then values and x
    return std::max(bytes * slowdown / bytes_per_nanosecond, loads * nanoseconds_a_load);
  }
};

/// \brief Stored entries beyond which a padded format is refused.
inline std::int64_t most_entries(std::int64_t nonzeros) {
  constexpr std::int64_t small = 1 << 20;
  return nonzeros > (std::numeric_limits<std::int64_t>::max() - small) / 10
             ? std::numeric_limits<std::int64_t>::max()
             : 10 * nonzeros + small;
}

/// \brief "rows of 3 to 18 nonzeros".
inline std::string lengths_text(RowStatistics const& s) {
  std::string const longest = std::to_string(s.longest);
  return "rows of " +
         (s.shortest == s.longest ? longest : std::to_string(s.shortest) + " to " + longest) +
         (s.longest == 1 ? " nonzero" : " nonzeros");
}

/// \brief "4%".
inline std::string percent_text(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.*f%%", share > 0 && share < 0.01 ? 1 : 0, 100 * share);
  return text;
}

/// \brief "4% padding".
inline std::string padding_text(RowStatistics const& s, std::int64_t entries) {
  return percent_text(static_cast<double>(entries - s.nonzeros) /
                      static_cast<double>(std::max<std::int64_t>(1, s.nonzeros))) +
         " padding";
}

inline std::int64_t entries_in(MatrixFormat format, RowStatistics const& s) {
  return format == MatrixFormat::sell    ? s.sell_entries
         : format == MatrixFormat::ell   ? s.ell_entries
         : format == MatrixFormat::block ? s.blocks.blocks * s.blocks.size * s.blocks.size
                                         : s.nonzeros;
}

/// \brief "blocks of 3 x 3, 1% padding".
inline std::string blocks_text(RowStatistics const& s) {
  std::string const size = std::to_string(s.blocks.size);
  return "blocks of " + size + " x " + size + ", " +
         padding_text(s, entries_in(MatrixFormat::block, s));
}

/// \brief The bytes of the entries and columns that a format stores.
inline double bytes_in(MatrixFormat format, RowStatistics const& s, std::size_t scalar_bytes) {
  double const entries = static_cast<double>(entries_in(format, s)),
               columns = format == MatrixFormat::block ? double(s.blocks.blocks) : entries;
  return entries * static_cast<double>(scalar_bytes) + columns * sizeof(std::int32_t);
}

inline bool storable(MatrixFormat format, RowStatistics const& s) {
  if (format == MatrixFormat::block && s.blocks.size == 1) return false;
  constexpr std::int32_t most_row = SellMatrix<double, Kokkos::DefaultHostExecutionSpace>::most_row;
  return s.longest <= most_row && entries_in(format, s) <= most_entries(s.nonzeros);
}

inline double product_nanoseconds(MatrixFormat format, RowStatistics const& s,
                                  std::size_t scalar_bytes) {
  double const rows = s.rows, longest = s.longest;
  double const matrix = bytes_in(format, s, scalar_bytes);
  double const sell_terms = longest / (1 << s.sell_lane_bits);
  double const slices = rows * (1 << s.sell_lane_bits) / warp;
  switch (format) {
    case MatrixFormat::block:
      return ProductCosts::kernels_of_blocks +
             ProductCosts::nanoseconds(matrix, ProductCosts::block_slowdown, 1, longest);
    case MatrixFormat::ell:
      return ProductCosts::nanoseconds(matrix, ProductCosts::ell_slowdown, 0, sell_terms);
    case MatrixFormat::sell:
      return ProductCosts::nanoseconds(
          matrix + 8 * slices + (s.sigma > 1 ? 4 * rows : 0),
          s.sigma > 1 ? ProductCosts::sorted_slowdown : ProductCosts::sell_slowdown, 1, sell_terms);
    default:
      return ProductCosts::nanoseconds(
          matrix + 4 * rows, ProductCosts::csr_slowdown, 1,
          std::min(ProductCosts::most_csr_terms, longest / (1 << s.csr_lane_bits)));
  }
}

/// \brief Whether SELL by sorted rows would be quicker than CSR if it took no padding at all.
inline bool sorting_may_pay(RowStatistics s, std::size_t scalar_bytes) {
  s.sigma = sell_window;
  s.sell_entries = s.nonzeros;
  return product_nanoseconds(MatrixFormat::sell, s, scalar_bytes) <
         product_nanoseconds(MatrixFormat::csr, s, scalar_bytes);
}

/// \brief What looks at the slices that a matrix would have.
template <class Scalar, class Exec, class Offset>
SliceKernel<Offset> slices_of(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  return {A.row_offsets().data(), nullptr, A.rows(), sell_lane_bits(exec, A.rows(), A.nonzeros())};
}

/// \brief row_statistics() of a matrix whose slices are known.
template <class Scalar, class Exec, class Offset>
RowStatistics statistics_by(SliceStatistics const& in_order, Exec const& exec,
                            CsrMatrix<Scalar, Exec, Offset> const& A, MatrixFormat wanted) {
  RowStatistics s;
  s.rows = A.rows();
  s.nonzeros = A.nonzeros();
  if (s.rows == 0) return s;
  auto const kernel = slices_of(exec, A);
  s.csr_lane_bits = A.device_operator().lane_bits;
  s.sell_lane_bits = kernel.lane_bits;
  s.longest = A.longest_row();
  s.mean = static_cast<double>(s.nonzeros) / s.rows;
  std::int64_t const lanes = std::int64_t(1) << s.sell_lane_bits;
  s.ell_entries = slice_count(s.rows, s.sell_lane_bits) * ((s.longest + lanes - 1) / lanes) * warp;
  auto const may_sort = [&] {
    return wanted == MatrixFormat::sell ||
           (wanted == MatrixFormat::automatic && sorting_may_pay(s, sizeof(Scalar)));
  };
  auto const choice = choose_slices(exec, kernel, s.nonzeros, in_order, may_sort);
  s.shortest = choice.slices.shortest;
  s.deviation = std::sqrt(std::max(0.0, choice.slices.squares / s.rows - s.mean * s.mean));
  s.sigma = choice.sigma;
  s.sell_entries = choice.slices.entries;
  return s;
}

}  // namespace Impl

/// \brief The statistics of a matrix except its blocks, which find_blocks() finds; from one kernel
/// over the row offsets, and two more where SELL might sort the rows; waits for them.
/// \param wanted sell: rows are sorted if that saves much; automatic: if it could pay as well;
/// another format: never
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
RowStatistics row_statistics(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                             MatrixFormat wanted = MatrixFormat::sell) {
  Impl::SliceStatistics in_order;
  if (A.rows() > 0) in_order = Impl::look_at_slices(exec, Impl::slices_of(exec, A));
  return Impl::statistics_by(in_order, exec, A, wanted);
}

/// \brief Whether choose_format() is to know the blocks of a matrix. Small matrices are searched
/// only if blocks are wanted: they stay in caches, and a search takes as long as some products.
/// \ingroup matrices
inline bool may_be_blocks(MatrixFormat wanted, std::int64_t nonzeros) {
  constexpr std::int64_t least = 100'000;
  return wanted == MatrixFormat::block || (wanted == MatrixFormat::automatic && nonzeros >= least);
}

/// \brief The format for a matrix with these rows: the wanted one, or the cheapest by the measured
/// costs in Impl::ProductCosts. Nothing is timed, so every run of an input makes the same choice.
///
/// Hosts read rows one after another and gain nothing from padding, so they get block or csr; if
/// they may choose, `s` needs rows, nonzeros and blocks alone.
/// \param scalar_bytes sizeof of the matrix's scalar
/// \throws InputError if the wanted format would store more than ten times the nonzeros, or the
/// matrix has no blocks that are worth it
/// \ingroup matrices
inline FormatChoice choose_format(MatrixFormat wanted, RowStatistics const& s,
                                  std::size_t scalar_bytes, bool on_host) {
  std::string const lengths = Impl::lengths_text(s);
  if (wanted != MatrixFormat::automatic) {
    if (wanted == MatrixFormat::csr) return {wanted, "asked for; " + lengths};
    if (wanted == MatrixFormat::block) {
      if (s.blocks.size > 1) return {wanted, "asked for; " + Impl::blocks_text(s)};
      throw InputError(
          "block would gain too little: blocks of no size from 2 to " +
          std::to_string(Impl::most_block_size) + " take at most " +
          Impl::percent_text(Impl::most_share_of_blocks) +
          " of the memory of compressed rows (rows and columns must be multiples of the size, "
          "and columns must ascend); take csr or auto");
    }
    std::int64_t const entries = Impl::entries_in(wanted, s);
    if (!Impl::storable(wanted, s))
      throw InputError(std::string(to_string(wanted)) + " would store " + std::to_string(entries) +
                       " entries for " + std::to_string(s.nonzeros) + " nonzeros in " + lengths +
                       "; take " + (wanted == MatrixFormat::ell ? "sell, " : "") + "csr or auto");
    return {wanted, "asked for; " + lengths + ", " + Impl::padding_text(s, entries)};
  }
  if (s.nonzeros == 0) return {MatrixFormat::csr, "no nonzeros"};
  if (on_host && s.blocks.size > 1) return {MatrixFormat::block, Impl::blocks_text(s)};
  if (on_host) return {MatrixFormat::csr, "hosts gain nothing from padded rows"};
  MatrixFormat best = MatrixFormat::csr;
  double least = Impl::product_nanoseconds(best, s, scalar_bytes);
  for (MatrixFormat const format : {MatrixFormat::sell, MatrixFormat::ell, MatrixFormat::block}) {
    if (!Impl::storable(format, s)) continue;
    double const time = Impl::product_nanoseconds(format, s, scalar_bytes);
    if (time >= least) continue;
    best = format;
    least = time;
  }
  if (best == MatrixFormat::csr)
    return {best, lengths + "; sell, with " + Impl::padding_text(s, s.sell_entries) +
                      ", would be no faster"};
  if (best == MatrixFormat::block) return {best, Impl::blocks_text(s)};
  return {best, lengths + ", " + Impl::padding_text(s, Impl::entries_in(best, s))};
}

namespace Impl {

/// \brief A matrix in the format that was chosen for it.
template <class Scalar, class Exec>
struct FormattedMatrix {
  FormatChoice choice;
  std::variant<CsrMatrix<Scalar, Exec>, SellMatrix<Scalar, Exec>, BlockMatrix<Scalar, Exec>> matrix;
};

/// \brief A in the format that choose_format() chooses. A format that `automatic` has chosen gives
/// way to csr where memory does not suffice for it.
/// \param known row_statistics() of A for `automatic`, or null
/// \throws InputError as choose_format()
template <class Scalar, class Exec>
FormattedMatrix<Scalar, Exec> formatted(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                        MatrixFormat wanted, RowStatistics const* known = nullptr) {
  FormattedMatrix<Scalar, Exec> made{{}, A};
  RowStatistics rows{.rows = A.rows(), .nonzeros = A.nonzeros()};
  if (known != nullptr && wanted == MatrixFormat::automatic)
    rows = *known;
  else if (!is_host_space<Exec> || wanted != MatrixFormat::automatic)
    rows = row_statistics(exec, A, wanted);
  try {
    BlockLayout<Exec> layout;
    if (may_be_blocks(wanted, A.nonzeros())) rows.blocks = layout = find_blocks(exec, A);
    made.choice = choose_format(wanted, rows, sizeof(Scalar), is_host_space<Exec>);
    MatrixFormat const format = made.choice.format;
    if (format == MatrixFormat::ell) made.matrix = SellMatrix<Scalar, Exec>::ell(exec, A);
    if (format == MatrixFormat::sell)
      made.matrix = SellMatrix<Scalar, Exec>::sell(exec, A, {rows.sigma, rows.sell_lane_bits});
    if (format == MatrixFormat::block) made.matrix = BlockMatrix<Scalar, Exec>(exec, A, layout);
  } catch (OutOfMemory const&) {
    if (wanted != MatrixFormat::automatic) throw;
    made.choice = {MatrixFormat::csr,
                   "no memory for " + std::string(to_string(made.choice.format))};
  }
  return made;
}

}  // namespace Impl

}  // namespace Solder
