// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/compiled.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/made_of.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/csr_operator.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder {

namespace Impl {

/// \brief Nonzeros of the longest row.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS std::int32_t longest_row(Exec const& exec, Offset const* offsets,
                                              std::int32_t rows) {
  std::int32_t longest = 0;
  Kokkos::parallel_reduce(
      "Solder::csr::longest_row", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int i, std::int32_t& most) {
        auto const length = static_cast<std::int32_t>(offsets[i + 1] - offsets[i]);
        if (length > most) most = length;
      },
      Kokkos::Max<std::int32_t>(longest));
  return std::max(longest, 0);
}

/// \brief Writes the rows with more than `above` and at most `most` nonzeros, ascending, to `list`
/// from `at` on. Returns their number. Without a list it only counts.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS std::int32_t list_rows(Exec const& exec, Offset const* offsets,
                                            std::int32_t rows, std::int64_t above,
                                            std::int64_t most, std::int32_t* list = nullptr,
                                            std::int32_t at = 0) {
  std::int32_t count = 0;
  Kokkos::parallel_scan(
      "Solder::csr::list_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int i, std::int32_t& c, bool last) {
        auto const length = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
        if (length <= above || length > most) return;
        if (last && list != nullptr) list[at + c] = i;
        ++c;
      },
      count);
  return count;
}

/// \brief to[0], to[1], to[2] = a, b, c.
template <class Exec>
SOLDER_MAKES_LAMBDAS void set_three(Exec const& exec, std::int32_t* to, std::int32_t a,
                                    std::int32_t b, std::int32_t c) {
  Kokkos::parallel_for(
      "Solder::csr::note_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, 3), KOKKOS_LAMBDA(int k) {
        to[k] = k == 0 ? a : k == 1 ? b : c;
      });
}

/// \brief What is known about the lengths of a matrix's rows.
struct RowLengths {
  std::int32_t most = -1;  ///< the longest row, or a bound of it; -1: unknown
};

template <class V>
concept IsView = Kokkos::is_view_v<V>;

/// \brief Whether kernels of Exec can access the memory of these views.
template <class Exec, class... Views>
inline constexpr bool can_access =
    (Kokkos::SpaceAccessibility<Exec, typename Views::memory_space>::accessible && ...);

}  // namespace Impl

/// \brief A type with the members of Kokkos Kernels' CrsMatrix.
template <class M>
concept CrsMatrixLike = requires(M const& m) {
  m.graph.row_map.data();
  m.graph.row_map.extent(0);
  m.graph.entries.data();
  m.graph.entries.extent(0);
  m.values.data();
  m.values.extent(0);
  { m.numRows() } -> std::convertible_to<std::int64_t>;
  { m.numCols() } -> std::convertible_to<std::int64_t>;
};

/// \brief A sparse matrix in CSR format, on the device of Exec.
///
/// \tparam Scalar float, double or Kokkos::complex of them
/// \tparam Offset type of the row offsets: int32; int64 for more than 2^31 - 1 nonzeros;
/// std::size_t as in Tpetra
///
/// Shares the arrays it was made from (views count references) and adds the row partition. The
/// pattern must not change afterwards; values may, followed by values_changed(). Entries of a row
/// may be in any order. Entries with the same row and column count as their sum. Host data are
/// checked; device data are trusted unless validate() is called.
template <class Scalar, class Exec, class Offset = std::int32_t>
class CsrMatrix {
 public:
  /// \brief Type of the entries.
  using scalar_type = Scalar;
  /// \brief Where products run.
  using execution_space = Exec;
  /// \brief Where the arrays are.
  using memory_space = typename Exec::memory_space;
  /// \brief What kernels use.
  using Operator = CsrOperator<Scalar, Offset>;
  /// \brief rows + 1 row offsets.
  using Offsets = Kokkos::View<Offset const*, memory_space>;
  /// \brief The column of each nonzero, counted from 0.
  using Columns = Kokkos::View<std::int32_t const*, memory_space>;
  /// \brief The value of each nonzero.
  using Values = Kokkos::View<Scalar const*, memory_space>;

  /// \brief Wraps three views without copying: rows + 1 offsets, and the column and value of each
  /// nonzero. If there are no rows, the offsets may be missing or null. Does not compile for views
  /// of memory that Exec cannot access. \throws std::invalid_argument if the extents are
  /// inconsistent \throws std::length_error if there are too many rows or nonzeros for the index
  /// types
  template <Impl::IsView RowOffsets, Impl::IsView ColumnIndices, Impl::IsView EntryValues>
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns,
            RowOffsets const& row_offsets, ColumnIndices const& column_indices,
            EntryValues const& values, Impl::RowLengths lengths = {})
      : CsrMatrix(exec, rows, columns, wrapped<Offsets>(row_offsets),
                  wrapped<Columns>(column_indices), wrapped<Values>(values), lengths) {}

  /// \brief The same.
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns, Offsets const& row_offsets,
            Columns const& column_indices, Values const& values, Impl::RowLengths lengths = {});

  /// \brief Wraps raw device arrays without copying.
  CsrMatrix(Exec const& exec, std::int32_t rows, std::int32_t columns, std::int64_t nonzeros,
            Offset const* row_offsets, std::int32_t const* column_indices, Scalar const* values)
      : CsrMatrix(exec, rows, columns, Offsets(row_offsets, std::size_t(rows) + 1),
                  Columns(column_indices, nonzeros), Values(values, nonzeros)) {}

  /// \brief Wraps a Kokkos Kernels CrsMatrix, or any type with its members, without copying.
  template <CrsMatrixLike M>
  CsrMatrix(Exec const& exec, M const& m)
      : CsrMatrix(exec, checked_rows(m.numRows()), checked_rows(m.numCols()),
                  Offsets(m.graph.row_map.data(), m.graph.row_map.extent(0)),
                  Columns(m.graph.entries.data(), m.graph.entries.extent(0)),
                  Values(m.values.data(), m.values.extent(0))) {
    static_assert(
        Impl::can_access<Exec, std::remove_cvref_t<decltype(m.graph.row_map)>,
                         std::remove_cvref_t<decltype(m.graph.entries)>,
                         std::remove_cvref_t<decltype(m.values)>>,
        "Solder::CsrMatrix: Exec cannot access the memory of this matrix; copy it to a matrix in "
        "Exec::memory_space");
  }

  /// \brief Copies host data to the device.
  /// \throws std::invalid_argument if HostCsr::validate does
  /// \throws std::length_error if there are too many nonzeros for Offset
  CsrMatrix(Exec const& exec, HostCsr<Scalar> const& host);

  /// \brief The same matrix with row offsets of another type, which are copied: one kernel. Column
  /// indices and values are shared, and so is what values_changed() says. \throws std::length_error
  /// if there are too many nonzeros for Offset
  template <class OtherOffset>
  requires(!std::is_same_v<OtherOffset, Offset>)
      CsrMatrix(Exec const& exec, CsrMatrix<Scalar, Exec, OtherOffset> const& other)
      : CsrMatrix(exec, other.rows(), other.columns(), converted(exec, other),
                  other.column_indices(), other.values(), {other.longest_row()}) {
    version_ = other.version();
  }

  /// \brief Number of rows.
  std::int32_t rows() const { return rows_; }
  /// \brief Number of columns.
  std::int32_t columns() const { return columns_; }
  /// \brief Number of stored entries, zeros and duplicates included.
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values_.extent(0)); }
  /// \brief Nonzeros of the longest row; an upper bound if the library made this matrix.
  std::int32_t longest_row() const { return longest_row_; }
  /// \brief Where each row begins among the nonzeros; finally their number.
  Offsets const& row_offsets() const { return row_offsets_; }
  /// \brief The column of each nonzero.
  Columns const& column_indices() const { return column_indices_; }
  /// \brief The value of each nonzero.
  Values const& values() const { return values_; }

  /// \brief Checks the pattern once, for data that the constructor had to trust. Two kernels; waits
  /// for them.
  /// \throws std::invalid_argument, naming the row, if row offsets do not begin at 0, descend or do
  /// not end with the number of nonzeros, or if a column is out of range
  SOLDER_MAKES_LAMBDAS void validate(Exec const& exec) const;

  /// \brief Says that the values have changed, to all copies: what was made of the old ones
  /// (preconditioners, SellMatrix, BlockMatrix) is then stale, and solvers refuse it until its
  /// refresh().
  void values_changed() const { version_.change(); }
  /// \cond kernels
  Impl::Version const& version() const { return version_; }
  /// Of what has the values of a part of another matrix.
  void is_part_of(Impl::Version const& whole) { version_ = whole; }
  /// \endcond

  /// \brief What kernels use, by value. Valid while this matrix, or a copy of it, lives.
  Operator device_operator() const {
    return {row_offsets_.data(), column_indices_.data(),
            values_.data(),      {rows_, vector_teams_, bounds_.data()},
            lane_bits_,          teams_};
  }

  /// \brief Words of sizeof(Scalar) that one product reads from the matrix.
  double words() const {
    return static_cast<double>(nonzeros()) * (1 + double(sizeof(std::int32_t)) / sizeof(Scalar)) +
           static_cast<double>(rows_) * sizeof(Offset) / sizeof(Scalar);
  }

  /// \brief The most nonzeros, and the most rows or columns. Indices need room for a stride beyond
  /// the last one, because loops add a stride before they compare.
  static constexpr std::int64_t most_nonzeros = std::numeric_limits<Offset>::max() / 2 >
                                                        (std::int64_t(1) << 31)
                                                    ? std::numeric_limits<std::int64_t>::max() / 2
                                                    : std::numeric_limits<std::int32_t>::max() -
                                                          (1 << 16);
  /// \brief The most rows, and the most columns.
  static constexpr std::int32_t most_rows = Impl::most_rows;

 private:
  static std::int32_t checked_rows(std::int64_t count) {
    if (count < 0 || count > Impl::most_rows)
      throw std::length_error("Solder::CsrMatrix: at most " + std::to_string(Impl::most_rows) +
                              " rows and columns, not " + std::to_string(count));
    return static_cast<std::int32_t>(count);
  }

  template <class To, class From>
  static To wrapped(From const& view) {
    constexpr bool fine = Impl::can_access<Exec, From>;
    static_assert(fine,
                  "Solder::CsrMatrix: Exec cannot access the memory of these views; copy them to "
                  "Exec::memory_space, or wrap host data in a HostCsr");
    if constexpr (fine)
      return view;
    else
      return {};
  }

  static HostCsr<Scalar> const& checked(HostCsr<Scalar> const& host) {
    if (host.nonzeros() > most_nonzeros)
      throw std::length_error("Solder::CsrMatrix: " + std::to_string(host.nonzeros()) +
                              " nonzeros do not fit these row offsets; use Offset = std::int64_t");
    host.validate();
    return host;
  }

  /// \brief Entries first to last - 1 of a view.
  template <class View>
  static auto to_host(Exec const& exec, View const& view, std::int64_t first, std::int64_t last) {
    std::vector<typename View::non_const_value_type> host(last - first);
    Impl::copy(exec,
               Kokkos::View<typename View::non_const_value_type*, Kokkos::HostSpace>(host.data(),
                                                                                     host.size()),
               Kokkos::subview(view, std::make_pair(first, last)));
    exec.fence("Solder::csr: copied to the host");
    return host;
  }

  template <class To, class From>
  static Kokkos::View<To const*, memory_space> to_device(Exec const& exec,
                                                         std::vector<From> const& host,
                                                         char const* label) {
    auto const device =
        Impl::allocate_view<Kokkos::View<To*, memory_space>>(exec, label, host.size());
    auto const staging = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, device);
    exec.fence("Solder::csr: staging is free");
    std::copy(host.begin(), host.end(), staging.data());
    Impl::copy(exec, device, staging);
    exec.fence("Solder::csr: copied to the device");
    return device;
  }

  /// \brief Chooses the lanes per row, long rows and teams for GPUs; slices of equal work for
  /// hosts.
  void partition(Exec const& exec, Impl::RowLengths lengths);

 public:
  /// \cond kernels
  /// \brief Another matrix's row offsets. (Public for the same reason as list_long_rows().)
  template <class OtherOffset>
  SOLDER_MAKES_LAMBDAS static Offsets converted(Exec const& exec,
                                                CsrMatrix<Scalar, Exec, OtherOffset> const& other) {
    if (other.nonzeros() > most_nonzeros)
      throw std::length_error("Solder::CsrMatrix: " + std::to_string(other.nonzeros()) +
                              " nonzeros do not fit these row offsets; use Offset = std::int64_t");
    auto const offsets = Impl::allocate_view<Kokkos::View<Offset*, memory_space>>(
        exec, "Solder::csr::row_offsets", other.row_offsets().extent(0));
    Offset* const to = offsets.data();
    OtherOffset const* const from = other.row_offsets().data();
    Kokkos::parallel_for(
        "Solder::csr::convert", Kokkos::RangePolicy<Exec>(exec, 0, other.rows() + 1),
        KOKKOS_LAMBDA(int i) { to[i] = static_cast<Offset>(from[i]); });
    if constexpr (Impl::is_host_space<Exec>) exec.fence("Solder::csr: the offsets are converted");
    return offsets;
  }

  /// \brief Finds the longest row and lists the long ones. In a row for a group, each lane has one
  /// batch of loads; in a row for a warp, up to 8 batches. (Public because CUDA accepts lambdas
  /// only in public functions.)
  SOLDER_MAKES_LAMBDAS void list_long_rows(Exec const& exec);
  /// \endcond

 private:
  std::int32_t rows_ = 0, columns_ = 0;
  Offsets row_offsets_;
  Columns column_indices_;
  Values values_;
  Kokkos::View<std::int32_t*, memory_space> bounds_;
  std::int32_t longest_row_ = 0, lane_bits_ = 0, teams_ = 1, vector_teams_ = 1;
  Impl::Version version_;
};

template <class Scalar, class Exec, class Offset>
CsrMatrix<Scalar, Exec, Offset>::CsrMatrix(Exec const& exec, std::int32_t rows,
                                           std::int32_t columns, Offsets const& row_offsets,
                                           Columns const& column_indices, Values const& values,
                                           Impl::RowLengths lengths)
    : rows_(rows),
      columns_(columns),
      row_offsets_(row_offsets),
      column_indices_(column_indices),
      values_(values) {
  if (rows < 0 || columns < 0)
    throw std::invalid_argument("Solder::CsrMatrix: " + std::to_string(rows) + " rows and " +
                                std::to_string(columns) + " columns must not be negative");
  if (rows == 0 && (row_offsets_.extent(0) == 0 || row_offsets_.data() == nullptr)) {
    if (nonzeros() > 0)
      throw std::invalid_argument("Solder::CsrMatrix: " + Impl::wrong_offset(0, 0, 0, nonzeros()));
    row_offsets_ = Impl::allocate_zero_view<Kokkos::View<Offset*, memory_space>>(
        exec, "Solder::csr::row_offsets", 1);
  }
  if (row_offsets_.extent(0) != std::size_t(rows) + 1)
    throw std::invalid_argument("Solder::CsrMatrix: " + std::to_string(rows) + " rows need " +
                                std::to_string(rows + std::int64_t(1)) + " row offsets, not " +
                                std::to_string(row_offsets_.extent(0)));
  if (column_indices.extent(0) != values.extent(0))
    throw std::invalid_argument(
        "Solder::CsrMatrix: there must be as many values as column indices, " +
        std::to_string(column_indices.extent(0)) + ", not " + std::to_string(values.extent(0)));
  if (nonzeros() > most_nonzeros)
    throw std::length_error("Solder::CsrMatrix: " + std::to_string(nonzeros()) +
                            " nonzeros do not fit these row offsets; use Offset = std::int64_t");
  if (std::max(rows, columns) > Impl::most_rows)
    throw std::length_error("Solder::CsrMatrix: at most " + std::to_string(Impl::most_rows) +
                            " rows and columns");
  if (row_offsets_.data() == nullptr ||
      (nonzeros() > 0 && (column_indices_.data() == nullptr || values_.data() == nullptr)))
    throw std::invalid_argument("Solder::CsrMatrix: an array of a matrix with " +
                                std::to_string(rows) + " rows and " + std::to_string(nonzeros()) +
                                " nonzeros is a null pointer");
  Impl::with_memory_for("Solder::CsrMatrix", rows, nonzeros(), [&] { partition(exec, lengths); });
}

template <class Scalar, class Exec, class Offset>
CsrMatrix<Scalar, Exec, Offset>::CsrMatrix(Exec const& exec, HostCsr<Scalar> const& host)
    : CsrMatrix(Impl::with_memory_for("Solder::CsrMatrix", host.rows, host.nonzeros(), [&] {
        return CsrMatrix(exec, checked(host).rows, host.columns_count,
                         to_device<Offset>(exec, host.row_offsets, "Solder::csr::row_offsets"),
                         to_device<std::int32_t>(exec, host.columns, "Solder::csr::columns"),
                         to_device<Scalar>(exec, host.values, "Solder::csr::values"));
      })) {}

template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void CsrMatrix<Scalar, Exec, Offset>::validate(Exec const& exec) const {
  Offset const* const offsets = row_offsets_.data();
  std::int32_t const* const indices = column_indices_.data();
  std::int32_t const n = rows_, count = columns_;
  std::int32_t const none = std::numeric_limits<std::int32_t>::max();
  std::int64_t const entries = nonzeros();
  std::int32_t wrong = none;
  Kokkos::parallel_reduce(
      "Solder::csr::validate_offsets", Kokkos::RangePolicy<Exec>(exec, 0, n + 1),
      KOKKOS_LAMBDA(int i, std::int32_t& first) {
        auto const previous = static_cast<std::int64_t>(i == 0 ? 0 : offsets[i - 1]);
        auto const offset = static_cast<std::int64_t>(offsets[i]);
        if (i < first && Impl::is_wrong_offset(i, n, previous, offset, entries)) first = i;
      },
      Kokkos::Min<std::int32_t>(wrong));
  if (wrong != none) {
    auto const pair = to_host(exec, row_offsets_, std::max(wrong - 1, 0), wrong + 1);
    throw std::invalid_argument("Solder::CsrMatrix: " +
                                Impl::wrong_offset(wrong, static_cast<std::int64_t>(pair.front()),
                                                   static_cast<std::int64_t>(pair.back()),
                                                   entries));
  }
  Kokkos::parallel_reduce(
      "Solder::csr::validate_columns", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(int i, std::int32_t& first) {
        if (i >= first) return;
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
          if (indices[k] < 0 || indices[k] >= count) first = i;
      },
      Kokkos::Min<std::int32_t>(wrong));
  if (wrong == none) return;
  auto const bounds = to_host(exec, row_offsets_, wrong, wrong + 2);
  auto const row = to_host(exec, column_indices_, bounds.front(), bounds.back());
  auto const column =
      std::find_if(row.begin(), row.end(), [&](auto j) { return j < 0 || j >= count; });
  throw std::invalid_argument("Solder::CsrMatrix: " + Impl::wrong_column(wrong, *column, count));
}

template <class Scalar, class Exec, class Offset>
void CsrMatrix<Scalar, Exec, Offset>::partition(Exec const& exec, Impl::RowLengths lengths) {
  Offset const* const offsets = row_offsets_.data();
  std::int32_t const n = rows_;
  if constexpr (Impl::is_host_space<Exec>) {
    longest_row_ = lengths.most < 0 ? Impl::longest_row(exec, offsets, n) : lengths.most;
    teams_ = vector_teams_ =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(n, 1, exec.concurrency()));
    bounds_ = Impl::balanced_bounds<memory_space>(
        "Solder::csr::bounds", teams_, n, 1,
        [&](std::int32_t i) { return Impl::host_work(static_cast<std::int64_t>(offsets[i]), i); });
  } else {
    double const mean = n == 0 ? 0 : static_cast<double>(nonzeros()) / n;
    lane_bits_ = 0;
    while (lane_bits_ < 5 && (10 << lane_bits_) < mean) ++lane_bits_;
    teams_ = Impl::vector_teams(exec, std::int64_t(n) << lane_bits_);
    vector_teams_ = Impl::vector_teams(exec, n);
    longest_row_ = lengths.most;
    if (longest_row_ < 0 || longest_row_ > Operator::short_row(lane_bits_)) list_long_rows(exec);
  }
}

/// \cond kernels
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void CsrMatrix<Scalar, Exec, Offset>::list_long_rows(Exec const& exec) {
  Offset const* const offsets = row_offsets_.data();
  constexpr std::int64_t most_of_warp = Operator::most_of_warp,
                         no_limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t const short_row = Operator::short_row(lane_bits_);
  std::int64_t const most_of_group = lane_bits_ < 2 ? 64 << lane_bits_ : most_of_warp;
  std::int32_t groups = 0, warps = 0, teams = 0;
  Kokkos::parallel_reduce(
      "Solder::csr::count_long_rows", Kokkos::RangePolicy<Exec>(exec, 0, rows_),
      KOKKOS_LAMBDA(int i, std::int32_t& longest, std::int32_t& of_groups, std::int32_t& of_warps,
                    std::int32_t& of_teams) {
        auto const length = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
        longest = Kokkos::max(longest, static_cast<std::int32_t>(length));
        of_groups += length > short_row && length <= most_of_group;
        of_warps += length > short_row && length > most_of_group && length <= most_of_warp;
        of_teams += length > short_row && length > most_of_warp;
      },
      Kokkos::Max<std::int32_t>(longest_row_), groups, warps, teams);
  longest_row_ = std::max(longest_row_, 0);
  if (groups + warps + teams == 0) return;
  bounds_ =
      Impl::allocate<std::int32_t>(exec, "Solder::csr::long_rows", groups + warps + teams + 3);
  auto const list = [&](std::int32_t count, std::int64_t above, std::int64_t most,
                        std::int32_t at) {
    if (count > 0) Impl::list_rows(exec, offsets, rows_, above, most, bounds_.data() + 3, at);
  };
  list(groups, short_row, most_of_group, 0);
  list(warps, most_of_group, most_of_warp, groups);
  list(teams, most_of_warp, no_limit, groups + warps);
  Impl::set_three(exec, bounds_.data(), groups, warps, teams);
}
/// \endcond

template <class Exec, Impl::IsView RowOffsets, Impl::IsView ColumnIndices, Impl::IsView EntryValues>
CsrMatrix(Exec const&, std::int32_t, std::int32_t, RowOffsets const&, ColumnIndices const&,
          EntryValues const&) -> CsrMatrix<typename EntryValues::non_const_value_type, Exec,
                                           typename RowOffsets::non_const_value_type>;
template <class Exec, CrsMatrixLike M>
CsrMatrix(Exec const&, M const&)
    -> CsrMatrix<std::remove_cvref_t<decltype(*std::declval<M const&>().values.data())>, Exec,
                 std::remove_cvref_t<decltype(*std::declval<M const&>().graph.row_map.data())>>;

#ifdef SOLDER_COMPILED  // in src/compiled/matrices.cpp
extern template class CsrMatrix<float, Impl::Host>;
extern template class CsrMatrix<double, Impl::Host>;
extern template class CsrMatrix<Kokkos::complex<float>, Impl::Host>;
extern template class CsrMatrix<Kokkos::complex<double>, Impl::Host>;
#ifdef SOLDER_HAS_GPU
extern template class CsrMatrix<float, Impl::Gpu>;
extern template class CsrMatrix<double, Impl::Gpu>;
extern template class CsrMatrix<Kokkos::complex<float>, Impl::Gpu>;
extern template class CsrMatrix<Kokkos::complex<double>, Impl::Gpu>;
#endif
#endif

}  // namespace Solder
