// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/copy_of_csr.hpp>
#include <solder/matrix/detail/slice_products.hpp>
#include <solder/matrix/kept.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder {

/// \cond kernels

/// \brief The device side of a SELL or ELL matrix: what kernels need to hand out row products.
///
/// A slice has one place for each lane of a warp, and 2^lane_bits neighbouring lanes share a row,
/// so it has warp >> lane_bits rows. Entry j of lane l in slice s is at begin(s) + warp * j + l. It
/// is entry number (j << lane_bits) + (l & (2^lane_bits - 1)) of its row. Padding has column -1 and
/// reads no x.
template <class Scalar>
struct SellOperator {
  std::int32_t const* columns;
  Scalar const* values;
  std::int64_t const* slice_offsets;  ///< null: all slices have `width` entries per lane (ELL)
  std::int32_t const* permutation;    ///< place -> row; null: the rows are in order
  Rows rows;
  std::int32_t slices;
  std::int32_t width;
  std::int32_t lane_bits;
  std::int32_t teams;

  /// \brief See CsrOperator.
  static constexpr bool takes_twice = true;

  /// On hosts the rows of a team's slices are not always those between two bounds.
  static constexpr bool in_order() { return false; }

  /// \brief See CsrOperator.
  bool is_aligned() const { return permutation == nullptr; }

  bool operator==(SellOperator const&) const = default;

  /// \brief What a lane must know of a slice before it can load an entry.
  struct Slice {
    std::int64_t begin = 0;
    std::int32_t width = 0, row = -1;  ///< row -1: none
  };

  KOKKOS_FORCEINLINE_FUNCTION Slice slice(std::int32_t s, std::int32_t lane) const {
    Slice found;
    if (slice_offsets == nullptr) {
      found.begin = static_cast<std::int64_t>(s) * width * Impl::warp;
      found.width = width;
    } else {
      found.begin = slice_offsets[s];
      found.width = static_cast<std::int32_t>((slice_offsets[s + 1] - found.begin) / Impl::warp);
    }
    std::int32_t const place = s * (Impl::warp >> lane_bits) + (lane >> lane_bits);
    if (place >= rows.count)
      found.row = -1;
    else
      found.row = permutation == nullptr ? place : permutation[place];
    return found;
  }

  /// \brief Calls prepare() and returns its result. If that is true, calls consume(i, (A x)_i) once
  /// for every row i of this team, in one thread, with the value in a register.
  ///
  /// All threads of the team call this together; prepare must return the same in all of them. On
  /// GPUs slices are dealt cyclically to the warps of all teams, from the last to the first, as
  /// CsrOperator's rows; on hosts each team takes the slices of its rows.
  template <class Team, class Operand, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(Team const& team, Operand const& x,
                                                        Prepare const& prepare,
                                                        Consumer const& consume) const {
    if constexpr (std::is_same_v<Team, Impl::HostTeam>) {
      if (!prepare()) return false;
      host_products(team, x, consume);
      return true;
    } else {
      return Impl::slice_products(team, *this, x, prepare, consume);
    }
  }

  /// \brief See CsrOperator.
  std::int64_t threads_to_hold() const { return static_cast<std::int64_t>(slices) * Impl::warp; }
  template <class Team, class Vector>
  KOKKOS_FORCEINLINE_FUNCTION auto keep(Team const& team, Vector const& x) const {
    std::int32_t const at_once = team.warps_of_team(),
                       place = team.first_place(slices, at_once, at_once << lane_bits) +
                               team.warp_rank();
    Slice const now = place < slices ? slice(slices - 1 - place, team.lane()) : Slice{0, 0, -1};
    std::int64_t const begin = now.begin + team.lane(),
                       entries = now.row < 0 ? 0 : std::int64_t(now.width) * Impl::warp;
    return Impl::keep_share(*this, x, {now.row, begin, begin + entries}, Impl::warp);
  }
  template <class Team, class Weight, class Made, class Prepare, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(
      Team const& team, Impl::KeptShare<SellOperator, Weight> const& kept, Made const& x,
      Prepare const& prepare, Consumer const& consume) const {
    return Impl::kept_product(team, *this, kept, lane_bits, Impl::warp, x, prepare, consume);
  }

  // ---- What slice_products calls ----

  static constexpr bool asks_ahead = true;
  /// The terms that a lane has in flight at a time: 8; 4 with twice the digits.
  template <class X>
  static constexpr int columns_at_once = Impl::TwiceTheDigits<X> ? 4 : 8;

  template <int batch>
  KOKKOS_FORCEINLINE_FUNCTION void load_columns(Slice const& of, std::int32_t lane,
                                                std::int32_t (&column)[batch]) const {
    std::int64_t const k = of.begin + lane;
    for (int j = 0; j < batch; ++j) column[j] = j < of.width ? columns[k + Impl::warp * j] : -1;
  }

  /// \tparam ahead whether to load the columns of the slice that comes next, while the entries of x
  /// are under way
  template <bool ahead, class Operand, int batch>
  KOKKOS_FORCEINLINE_FUNCTION auto lane_product(Operand const& x, Slice now, Slice const& next,
                                                std::int32_t lane,
                                                std::int32_t (&column)[batch]) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    X sum{};
    do {
      Scalar value[batch];
      X factor[batch];
      std::int64_t const k = now.begin + lane;
      for (int j = 0; j < batch; ++j)
        value[j] = j < now.width ? values[k + Impl::warp * j] : Scalar{};
      for (int j = 0; j < batch; ++j) factor[j] = column[j] >= 0 ? x[column[j]] : X{};
      now.begin += batch * Impl::warp;
      now.width -= batch;
      if (ahead || now.width > 0) load_columns(now.width > 0 ? now : next, lane, column);
      for (int j = 0; j < batch; ++j) sum += X(value[j]) * factor[j];
    } while (now.width > 0);
    return sum;
  }

 private:
  template <class Operand, class Consumer>
  KOKKOS_FORCEINLINE_FUNCTION void host_products(Impl::HostTeam const& team, Operand const& x,
                                                 Consumer const& consume) const {
    using X = std::remove_cvref_t<decltype(x[0])>;
    std::int32_t const lanes = 1 << lane_bits, in_slice = Impl::warp >> lane_bits;
    auto const slices_before = [&](std::int32_t row) {  // a bound, or the end of the rows
      return static_cast<std::int32_t>((static_cast<std::int64_t>(row) + in_slice - 1) / in_slice);
    };
    std::int32_t const end = slices_before(team.last(rows));
    for (std::int32_t s = slices_before(team.first(rows)); s < end; ++s) {
      Slice const now = slice(s, 0);
      std::int32_t const* column_at = columns + now.begin;
      Scalar const* value_at = values + now.begin;
      X sums[Impl::warp] = {};
      for (std::int32_t j = 0; j < now.width; ++j) {
        for (int l = 0; l < Impl::warp; ++l)
          if (column_at[l] >= 0) sums[l] += X(value_at[l]) * x[column_at[l]];
        column_at += Impl::warp;
        value_at += Impl::warp;
      }
      for (std::int32_t l = 0; l < Impl::warp; l += lanes) {
        std::int32_t const row = slice(s, l).row;
        X sum{};
        for (std::int32_t k = 0; k < lanes; ++k) sum += sums[l + k];
        if (row >= 0) consume(row, sum);
      }
    }
  }
};

/// \endcond

/// \brief How rows are laid out in slices. `automatic` parameters are chosen from the row lengths
/// and the execution space.
struct SellShape {
  static constexpr std::int32_t automatic = -1;        ///< chosen from the row lengths
  static constexpr std::int32_t most_sigma = 1 << 14;  ///< the largest window

  /// The rows of a window within which rows are sorted by length: a power of two from 32 to
  /// most_sigma; 1: rows are not sorted.
  std::int32_t sigma = automatic;
  /// 2^lane_bits lanes share a row, 0 to 5.
  std::int32_t lane_bits = automatic;
};

namespace Impl {

/// \brief A window wide enough to even out the row lengths of unstructured meshes, and narrow
/// enough that the rows of a slice stay close together.
inline constexpr std::int32_t sell_window = 1024;
/// \brief If padding takes no more than this share of the nonzeros, rows are not sorted.
inline constexpr double padding_not_worth_sorting = 0.05;

/// \brief The layout: all slices, and where they begin.
template <class Exec>
struct SellLayout {
  using Permutation = Kokkos::View<std::int32_t*, typename Exec::memory_space>;
  using SliceOffsets = Kokkos::View<std::int64_t*, typename Exec::memory_space>;

  std::int32_t sigma = 1, lane_bits = 0, slices = 0;
  std::int64_t entries = 0;                              ///< padding included
  Permutation permutation = no_view<Permutation>();      ///< none if sigma = 1
  SliceOffsets slice_offsets = no_view<SliceOffsets>();  ///< slices + 1; none in ELL
};

/// \brief The number of slices, each of warp >> lane_bits rows.
inline std::int32_t slice_count(std::int32_t rows, std::int32_t lane_bits) {
  std::int64_t const in_slice = warp >> lane_bits;
  return static_cast<std::int32_t>((rows + in_slice - 1) / in_slice);
}

/// \brief Chooses the lanes per row: more of them if there are too few rows to keep a GPU busy, as
/// long as each lane has 10 terms.
template <class Exec>
std::int32_t sell_lane_bits(Exec const& exec, std::int64_t rows, std::int64_t nonzeros) {
  if (is_host_space<Exec> || rows == 0) return 0;
  std::int64_t const resident =
      std::int64_t(exec.concurrency()) / 2048 * resident_teams * league_threads;
  std::int32_t bits = 0;
  while (bits < 5 && (rows << bits) < resident && rows * (10 << (bits + 1)) <= nonzeros) ++bits;
  return bits;
}

/// \brief Sorts the rows of each window of sigma rows, a power of two, by descending length. Rows
/// of the same length stay in order.
///
/// Each row counts the rows that precede it: sigma comparisons per row, and no scratch.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS typename SellLayout<Exec>::Permutation sort_windows(Exec const& exec,
                                                                         Offset const* offsets,
                                                                         std::int32_t rows,
                                                                         std::int32_t sigma) {
  auto const permutation = allocate<std::int32_t>(exec, "Solder::sell::permutation", rows);
  std::int32_t* const row_at = permutation.data();
  Kokkos::parallel_for(
      "Solder::sell::sort_windows", Kokkos::RangePolicy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(int i) {
        std::int32_t const first = i & ~(sigma - 1), end = Kokkos::min(first + sigma, rows);
        Offset const mine = offsets[i + 1] - offsets[i];
        Offset begin = offsets[first];
        std::int32_t place = first;
        for (std::int32_t j = first; j < end; ++j) {
          Offset const next = offsets[j + 1], length = next - begin;
          place += length > mine || (length == mine && j < i) ? 1 : 0;
          begin = next;
        }
        row_at[place] = i;
      });
  return permutation;
}

/// \brief The lengths of the rows of a matrix, or of a slice, and what slices would store of them.
struct SliceStatistics {
  std::int32_t shortest = Kokkos::Experimental::finite_max_v<std::int32_t>;  ///< if there are rows
  double squares = 0;        ///< summed: integers, exact in any order, up to 2^53
  std::int64_t entries = 0;  ///< padding included
};

/// \brief Looks at a slice of rows.
/// \param row_at the rows in the order of the slices; null: as they are
template <class Offset>
KOKKOS_FUNCTION SliceStatistics look_at_slice(Offset const* offsets, std::int32_t const* row_at,
                                              std::int32_t rows, std::int32_t lane_bits,
                                              std::int32_t slice) {
  std::int32_t const in_slice = warp >> lane_bits, first = slice * in_slice,
                     end = Kokkos::min(first + in_slice, rows);
  SliceStatistics seen;
  std::int32_t longest = 0;
  for (std::int32_t place = first; place < end; ++place) {
    std::int32_t const row = row_at == nullptr ? place : row_at[place];
    auto const length = static_cast<std::int32_t>(offsets[row + 1] - offsets[row]);
    longest = Kokkos::max(longest, length);
    seen.shortest = Kokkos::min(seen.shortest, length);
    seen.squares += static_cast<double>(length) * length;
  }
  seen.entries = ((std::int64_t(longest) + (1 << lane_bits) - 1) >> lane_bits) * warp;
  return seen;
}

/// \brief Computes layout.slice_offsets and layout.entries; waits for them.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void measure_slices(Exec const& exec, Offset const* offsets, std::int32_t rows,
                                         SellLayout<Exec>& layout) {
  layout.slices = slice_count(rows, layout.lane_bits);
  layout.slice_offsets =
      allocate<std::int64_t>(exec, "Solder::sell::slice_offsets", layout.slices + std::int64_t(1));
  std::int64_t* const starts = layout.slice_offsets.data();
  std::int32_t const* const row_at = layout.permutation.data();
  std::int32_t const slices = layout.slices, lane_bits = layout.lane_bits;
  Kokkos::parallel_scan(
      "Solder::sell::measure_slices",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, std::int64_t(slices) + 1),
      KOKKOS_LAMBDA(std::int64_t s, std::int64_t & at, bool last) {
        if (last) starts[s] = at;
        if (s < slices)
          at +=
              look_at_slice(offsets, row_at, rows, lane_bits, static_cast<std::int32_t>(s)).entries;
      },
      layout.entries);
}

/// \brief Looks at a slice of rows for each index.
template <class Offset>
struct SliceKernel {
  using value_type = SliceStatistics;

  Offset const* offsets;
  std::int32_t const* row_at;  ///< see look_at_slice
  std::int32_t rows, lane_bits;

  KOKKOS_FUNCTION void init(SliceStatistics& all) const { all = SliceStatistics(); }
  KOKKOS_FUNCTION void join(SliceStatistics& all, SliceStatistics const& others) const {
    all.shortest = Kokkos::min(all.shortest, others.shortest);
    all.squares += others.squares;
    all.entries += others.entries;
  }
  KOKKOS_FUNCTION void operator()(std::int32_t slice, SliceStatistics& all) const {
    join(all, look_at_slice(offsets, row_at, rows, lane_bits, slice));
  }
};

/// \brief Looks at all slices of rows.
/// \param result a variable of the host, which is waited for; or a View
template <class Exec, class Offset, class Result>
void look_at_slices(Exec const& exec, SliceKernel<Offset> const& kernel, Result&& result) {
  Kokkos::parallel_reduce(
      "Solder::sell::look_at_slices",
      Kokkos::RangePolicy<Exec>(exec, 0, slice_count(kernel.rows, kernel.lane_bits)), kernel,
      result);
}
/// \brief What it finds; waits for it.
template <class Exec, class Offset>
SliceStatistics look_at_slices(Exec const& exec, SliceKernel<Offset> const& kernel) {
  SliceStatistics all;
  look_at_slices(exec, kernel, all);
  return all;
}

/// \brief How rows are to be sorted, and what slices would store then.
template <class Exec>
struct SellChoice {
  using Permutation = typename SellLayout<Exec>::Permutation;

  std::int32_t sigma = 1;                            ///< the window; 1: rows are not sorted
  Permutation permutation = no_view<Permutation>();  ///< the rows as they are sorted
  SliceStatistics slices{};
};

/// \brief Chooses whether rows are sorted: where that saves much padding, but never on hosts.
/// \param in_order the slices of the rows in order
/// \param may_sort whether sorting is to be looked at, asked where slices in order have much
/// padding
template <class Exec, class Offset, class MaySort>
SellChoice<Exec> choose_slices(Exec const& exec, SliceKernel<Offset> kernel, std::int64_t nonzeros,
                               SliceStatistics const& in_order, MaySort const& may_sort) {
  auto const not_worth_it =
      static_cast<std::int64_t>(padding_not_worth_sorting * static_cast<double>(nonzeros));
  SellChoice<Exec> choice;
  choice.slices = in_order;
  if (is_host_space<Exec> || in_order.entries - nonzeros <= not_worth_it || !may_sort())
    return choice;
  auto const permutation = sort_windows(exec, kernel.offsets, kernel.rows, sell_window);
  kernel.row_at = permutation.data();
  SliceStatistics const sorted = look_at_slices(exec, kernel);
  if (in_order.entries - sorted.entries > not_worth_it) choice = {sell_window, permutation, sorted};
  return choice;
}

/// \brief The layout for a shape.
template <class Exec, class Offset>
SellLayout<Exec> lay_out(Exec const& exec, Offset const* offsets, std::int32_t rows,
                         std::int64_t nonzeros, SellShape const& shape) {
  bool const open = shape.sigma == SellShape::automatic;
  if (!open && shape.sigma != 1 &&
      (shape.sigma < warp || shape.sigma > SellShape::most_sigma ||
       (shape.sigma & (shape.sigma - 1)) != 0))
    throw std::invalid_argument(
        "Solder::SellMatrix: sigma must be 1 or a power of two from 32 to " +
        std::to_string(SellShape::most_sigma) + ", not " + std::to_string(shape.sigma));
  if (shape.lane_bits < SellShape::automatic || shape.lane_bits > 5)
    throw std::invalid_argument("Solder::SellMatrix: lane_bits must be 0 to 5, not " +
                                std::to_string(shape.lane_bits));
  SellLayout<Exec> layout;
  layout.lane_bits = shape.lane_bits == SellShape::automatic ? sell_lane_bits(exec, rows, nonzeros)
                                                             : shape.lane_bits;
  if (open && !is_host_space<Exec>) {
    SliceKernel<Offset> const kernel{offsets, nullptr, rows, layout.lane_bits};
    auto const choice =
        choose_slices(exec, kernel, nonzeros, look_at_slices(exec, kernel), [] { return true; });
    layout.sigma = choice.sigma;
    layout.permutation = choice.permutation;
  } else if (!open && shape.sigma > 1) {
    layout.sigma = shape.sigma;
    layout.permutation = sort_windows(exec, offsets, rows, shape.sigma);
  }
  measure_slices(exec, offsets, rows, layout);
  return layout;
}

/// \brief Copies the entries of a CSR matrix to their places. `shape` describes the matrix to fill.
template <class Exec, class Scalar, class Offset>
SOLDER_MAKES_LAMBDAS void fill_slices(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
                                      SellOperator<Scalar> const& shape, std::int32_t* columns,
                                      Scalar* values) {
  Offset const* const offsets = csr.row_offsets().data();
  std::int32_t const* const from_columns = csr.column_indices().data();
  Scalar const* const from_values = csr.values().data();
  Kokkos::parallel_for(
      "Solder::sell::fill",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                 std::int64_t(shape.slices) * warp),
      KOKKOS_LAMBDA(std::int64_t t) {
        std::int32_t const s = static_cast<std::int32_t>(t / warp),
                           lane = static_cast<std::int32_t>(t & (warp - 1)),
                           lanes = 1 << shape.lane_bits;
        auto const slice = shape.slice(s, lane);
        std::int64_t from = 0, end = 0;
        if (slice.row >= 0) {
          from = static_cast<std::int64_t>(offsets[slice.row]) + (lane & (lanes - 1));
          end = static_cast<std::int64_t>(offsets[slice.row + 1]);
        }
        std::int64_t to = slice.begin + lane;
        for (std::int32_t j = 0; j < slice.width; ++j) {
          bool const inside = from < end;
          columns[to] = inside ? from_columns[from] : -1;
          values[to] = inside ? from_values[from] : Scalar{};
          from += lanes;
          to += warp;
        }
      });
}

}  // namespace Impl

/// \brief A sparse matrix in slices of padded rows, on the device of Exec: SELL-C-sigma (Kreutzer
/// et al. 2014) or ELL. It is made from a CSR matrix, of which it keeps no reference.
///
/// C is the warp size divided by the lanes per row. In ELL all slices are as wide as the longest
/// row, so no slice offsets are needed. In SELL each slice is as wide as its own longest row, and
/// rows may be sorted by length within windows of sigma rows. x, and the rows that consumers see,
/// are in the original order. Construction takes 2 to 5 kernels, and the memory of the padded
/// entries.
///
/// \tparam Scalar float, double or Kokkos::complex of them
template <class Scalar, class Exec>
class SellMatrix : public Impl::CopyOfCsr<SellMatrix<Scalar, Exec>, Scalar, Exec> {
  using Copy = Impl::CopyOfCsr<SellMatrix, Scalar, Exec>;
  friend Copy;

 public:
  using Copy::rows, Copy::columns, Copy::nonzeros, Copy::refresh;

  /// \brief Type of the entries.
  using scalar_type = Scalar;
  /// \brief Where products run.
  using execution_space = Exec;
  /// \brief Where the arrays are.
  using memory_space = typename Exec::memory_space;
  /// \brief What kernels use.
  using Operator = SellOperator<Scalar>;
  /// \brief Columns and rows, counted from 0.
  using Indices = Kokkos::View<std::int32_t*, memory_space>;
  /// \brief The stored entries, padding included.
  using Values = Kokkos::View<Scalar*, memory_space>;

  /// \brief SELL-C-sigma. \throws std::invalid_argument if the shape is out of range \throws
  /// std::length_error if a row has more than most_row nonzeros
  template <class Offset>
  static SellMatrix sell(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
                         SellShape const& shape = {}) {
    return Impl::with_memory_for("Solder::SellMatrix", csr.rows(), csr.nonzeros(), [&] {
      auto layout =
          Impl::lay_out(exec, csr.row_offsets().data(), csr.rows(), csr.nonzeros(), shape);
      return SellMatrix(exec, csr, std::move(layout), 0);
    });
  }

  /// \brief ELL: rows in order, all of the same width. \throws as sell does
  template <class Offset>
  static SellMatrix ell(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
                        std::int32_t lane_bits = SellShape::automatic) {
    Impl::SellLayout<Exec> layout;
    layout.lane_bits = lane_bits == SellShape::automatic
                           ? Impl::sell_lane_bits(exec, csr.rows(), csr.nonzeros())
                           : lane_bits;
    if (layout.lane_bits < 0 || layout.lane_bits > 5)
      throw std::invalid_argument("Solder::SellMatrix: lane_bits must be 0 to 5, not " +
                                  std::to_string(lane_bits));
    layout.slices = Impl::slice_count(csr.rows(), layout.lane_bits);
    std::int64_t const lanes = std::int64_t(1) << layout.lane_bits;
    std::int64_t const width = (csr.longest_row() + lanes - 1) / lanes;
    layout.entries = layout.slices * width * Impl::warp;
    return Impl::with_memory_for("Solder::SellMatrix", csr.rows(), csr.nonzeros(), [&] {
      return SellMatrix(exec, csr, std::move(layout), static_cast<std::int32_t>(width));
    });
  }

  /// \brief Stored entries, including padding.
  std::int64_t entries() const { return layout_.entries; }
  /// \brief Rows of a window within which rows are sorted by length; 1: not sorted.
  std::int32_t sigma() const { return layout_.sigma; }
  /// \brief 2^lane_bits lanes share a row.
  std::int32_t lane_bits() const { return layout_.lane_bits; }
  /// \brief Whether all slices are as wide as the longest row.
  bool is_ell() const { return layout_.slice_offsets.data() == nullptr; }

  /// \brief What kernels use, by value. Valid while this matrix, or a copy of it, lives.
  Operator device_operator() const {
    return {column_indices_.data(),
            values_.data(),
            layout_.slice_offsets.data(),
            layout_.permutation.data(),
            {rows(), vector_teams_, bounds_.data()},
            layout_.slices,
            width_,
            layout_.lane_bits,
            teams_};
  }

  /// \brief Words of sizeof(Scalar) that one product reads from the matrix, including padding.
  double words() const {
    double const bytes =
        static_cast<double>(entries()) * (sizeof(Scalar) + sizeof(std::int32_t)) +
        static_cast<double>(layout_.slice_offsets.extent(0)) * sizeof(std::int64_t) +
        static_cast<double>(layout_.permutation.extent(0)) * sizeof(std::int32_t);
    return bytes / sizeof(Scalar);
  }

  /// The most nonzeros of a row: a lane's last place in a slice, plus a batch beyond it, must fit
  /// in 32 bits.
  static constexpr std::int32_t most_row = (1 << 26) - 8;

 private:
  static constexpr char const* name = "Solder::SellMatrix";
  void allocate_values(Exec const& exec) {
    values_ = Impl::allocate_view<Values>(exec, "Solder::sell::values", entries());
  }
  template <class Offset>
  void fill(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr) {
    Impl::fill_slices(exec, csr, device_operator(), column_indices_.data(), values_.data());
  }

  template <class Offset>
  SellMatrix(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
             Impl::SellLayout<Exec> layout, std::int32_t width)
      : Copy(csr),
        layout_(std::move(layout)),
        width_(width),
        column_indices_(Impl::no_view<Indices>()),
        bounds_(Impl::no_view<Indices>()),
        values_(Impl::no_view<Values>()) {
    if (csr.longest_row() > most_row)
      throw std::length_error("Solder::SellMatrix: a row has " + std::to_string(csr.longest_row()) +
                              " nonzeros, and at most " + std::to_string(most_row) +
                              " can be stored in slices");
    partition(exec);
    column_indices_ = Impl::allocate_view<Indices>(exec, "Solder::sell::columns", entries());
    allocate_values(exec);
    refresh(exec, csr);
    exec.fence("Solder::sell: filled");  // csr may now change or be destroyed
  }

  /// \brief Chooses the teams for GPUs; for hosts, slices of whole windows with equal work.
  void partition(Exec const& exec) {
    bool constexpr host = Impl::is_host_space<Exec>;
    teams_ = Impl::vector_teams(exec, std::int64_t(rows()) << (host ? 0 : layout_.lane_bits));
    vector_teams_ = Impl::vector_teams(exec, rows());
    if constexpr (host) {
      exec.fence("Solder::sell: slices measured");
      std::int32_t const in_slice = Impl::warp >> layout_.lane_bits;
      std::int64_t const* const offsets = layout_.slice_offsets.data();
      bounds_ = Impl::balanced_bounds<memory_space>(
          "Solder::sell::bounds", teams_, rows(), std::max(layout_.sigma, in_slice),
          [&](std::int32_t row) {
            std::int64_t const slice = Impl::slice_count(row, layout_.lane_bits);
            return Impl::host_work(is_ell() ? slice * width_ * Impl::warp : offsets[slice], row);
          });
    }
  }

  Impl::SellLayout<Exec> layout_;
  std::int32_t width_, teams_ = 1, vector_teams_ = 1;
  Indices column_indices_, bounds_;
  Values values_;
};

}  // namespace Solder
