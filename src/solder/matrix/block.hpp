// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/team.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/block_operator.hpp>
#include <solder/matrix/detail/block_setup.hpp>
#include <solder/matrix/detail/copy_of_csr.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder {

/// \brief The blocks that a matrix would be stored in; see BlockMatrix.
/// \ingroup matrices
struct BlockStatistics {
  std::int32_t size = 1;    ///< rows and columns of a block; 1: there is nothing to gain
  std::int64_t blocks = 0;  ///< stored, padding included
};

/// \brief Bytes of a matrix in blocks, over those of compressed rows with int32 columns.
/// \param scalar_bytes sizeof of the matrix's scalar
/// \ingroup matrices
inline double share_of_bytes(BlockStatistics const& of, std::int64_t nonzeros,
                             std::size_t scalar_bytes) {
  double const entries = double(of.size) * of.size;
  return of.blocks * (entries * double(scalar_bytes) + 4) /
         (double(nonzeros) * (double(scalar_bytes) + 4));
}

/// \brief The blocks of a matrix, counted: see find_blocks().
/// \ingroup matrices
template <class Exec>
struct BlockLayout : BlockStatistics {
  /// \brief Type of the slices' bounds.
  using Offsets = Kokkos::View<std::int64_t*, typename Exec::memory_space>;

  /// The first block of each slice of rows of blocks, and at the end their number.
  Offsets slice_offsets = Impl::no_view<Offsets>();
};

namespace Impl {

/// \brief Counts the blocks of that size. Their number is negative if the columns of a row do not
/// ascend. Waits for the device.
template <class Scalar, class Exec, class Offset>
BlockLayout<Exec> count_blocks(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                               std::int32_t size) {
  BlockLayout<Exec> layout;
  auto const rows = block_rows(A, size);
  layout.slice_offsets = allocate_view<typename BlockLayout<Exec>::Offsets>(
      exec, "Solder::block::slice_offsets", rows.slices() + std::size_t(1));
  layout.size = size;
  layout.blocks = find_slices(exec, rows, layout.slice_offsets.data());
  return layout;
}

}  // namespace Impl

/// \brief The blocks in which a matrix takes the fewest bytes, if that is at most 0.85 of what it
/// takes in compressed rows, and its columns ascend in each row; else of size 1. Looks at 128 rows
/// of blocks of each size, and at all of the most promising size; up to 3 kernels, for which it
/// waits.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
BlockLayout<Exec> find_blocks(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  auto const is_worth_it = [](BlockStatistics const& of, std::int64_t nonzeros) {
    return nonzeros > 0 && of.blocks >= 0 &&
           share_of_bytes(of, nonzeros, sizeof(Scalar)) <= Impl::most_share_of_blocks;
  };
  Impl::BlockSample const sample = Impl::sample_blocks(exec, A);
  BlockStatistics best;
  double least = 1;
  for (std::int32_t size = 2; size <= Impl::most_block_size; ++size) {
    BlockStatistics const of{size, sample.blocks[size]};
    if (!Impl::is_block_size<Exec>(size) || !is_worth_it(of, sample.nonzeros[size])) continue;
    double const share = share_of_bytes(of, sample.nonzeros[size], sizeof(Scalar));
    if (share >= least) continue;
    least = share;
    best = of;
  }
  if (best.size == 1) return {};
  auto const layout = Impl::count_blocks(exec, A, best.size);
  return is_worth_it(layout, A.nonzeros()) ? layout : BlockLayout<Exec>();
}

/// \brief A sparse matrix in square blocks of 2 to 6 rows, on the device of Exec: a column index
/// for each block, not for each entry. For systems with several unknowns at each point, as of
/// elasticity. Known elsewhere as BSR, BAIJ or BlockCrs; on GPUs rows of blocks stand in slices, as
/// in SellMatrix. It is made from a CSR matrix, of which it keeps no reference.
///
/// Rows and columns are multiples of the size of a block. A block in which an entry is stored is
/// stored whole, zeros included. A product reads `size`^2 numbers and an index a block. On hosts it
/// sums a row in the order of its columns, as that of a CsrMatrix does.
///
/// \tparam Scalar float, double or Kokkos::complex of them
/// \ingroup matrices
template <class Scalar, class Exec>
class BlockMatrix : public Impl::CopyOfCsr<BlockMatrix<Scalar, Exec>, Scalar, Exec> {
  using Copy = Impl::CopyOfCsr<BlockMatrix, Scalar, Exec>;
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
  using Operator = BlockOperator<Scalar>;
  /// \brief The largest size of a block.
  static constexpr std::int32_t most_size = Impl::most_block_size;

  /// \brief Four kernels, the memory of the blocks, and meanwhile 4 bytes for each row of blocks.
  /// \param size of a block, 2 to 6; GPUs store one of 4 or 6 as four blocks. \throws
  /// std::invalid_argument if it is another one, or rows or columns are no multiples of it, or the
  /// columns of a row of csr do not ascend
  template <class Offset>
  BlockMatrix(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr, std::int32_t size)
      : BlockMatrix(exec, csr, counted(exec, csr, size)) {}
  /// \brief The same, of blocks that find_blocks() has found in csr; one kernel less.
  /// \throws std::invalid_argument if it has found none, or they are of another matrix
  template <class Offset>
  BlockMatrix(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
              BlockLayout<Exec> layout)
      : Copy(csr), layout_(std::move(layout)) {
    if (block_size() == 1 || rows() % block_size() != 0 || columns() % block_size() != 0 ||
        slices() != Impl::block_rows(csr, block_size()).slices())
      throw std::invalid_argument(
          block_size() == 1
              ? "Solder::BlockMatrix: no blocks were found in the matrix; use it as it is"
              : "Solder::BlockMatrix: the blocks were found in another matrix");
    Impl::with_memory_for("Solder::BlockMatrix", rows(), nonzeros(), [&] {
      column_indices_ = Impl::allocate_view<Indices>(exec, "Solder::block::columns", blocks());
      allocate_values(exec);
      Impl::fill_block_columns(exec, Impl::block_rows(csr, block_size()),
                               layout_.slice_offsets.data(), column_indices_.data());
      partition(exec);
    });
    refresh(exec, csr);
    exec.fence("Solder::block: filled");  // csr may now change or be destroyed
  }

  /// \brief Rows and columns of a stored block.
  std::int32_t block_size() const { return layout_.size; }
  /// \brief Stored blocks, including padding.
  std::int64_t blocks() const { return layout_.blocks; }
  /// \brief Stored entries, including padding.
  std::int64_t entries() const { return blocks() * block_size() * block_size(); }

  /// \brief What kernels use, by value. Valid while this matrix, or a copy of it, lives.
  Operator device_operator() const {
    std::int32_t const size = block_size(), in_slice = Impl::block_rows_in_slice<Exec>(size);
    return {column_indices_.data(),
            values_.data(),
            layout_.slice_offsets.data(),
            {rows(), teams_, bounds_.data()},
            slices(),
            size,
            in_slice,
            in_slice * size,
            teams_};
  }

  /// \brief Words of sizeof(Scalar) that one product reads from the matrix, including padding.
  double words() const {
    double const bytes = static_cast<double>(entries()) * sizeof(Scalar) +
                         static_cast<double>(blocks()) * sizeof(std::int32_t) +
                         static_cast<double>(slices() + 1) * sizeof(std::int64_t);
    return bytes / sizeof(Scalar);
  }

 private:
  static constexpr char const* name = "Solder::BlockMatrix";
  void allocate_values(Exec const& exec) {
    values_ = Impl::allocate_view<Values>(exec, "Solder::block::values", entries());
  }
  template <class Offset>
  void fill(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr) {
    Impl::fill_block_values(exec, csr, device_operator(), values_.data());
  }

  using Indices = Kokkos::View<std::int32_t*, memory_space>;
  using Values = Kokkos::View<Scalar*, memory_space>;

  std::int32_t slices() const {
    return static_cast<std::int32_t>(layout_.slice_offsets.extent(0)) - 1;
  }
  template <class Offset>
  static BlockLayout<Exec> counted(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& csr,
                                   std::int32_t size) {
    if (size < 2 || size > most_size)
      throw std::invalid_argument("Solder::BlockMatrix: the size of a block must be 2 to " +
                                  std::to_string(most_size) + ", not " + std::to_string(size));
    if (csr.rows() % size != 0 || csr.columns() % size != 0)
      throw std::invalid_argument(
          "Solder::BlockMatrix: rows and columns must be multiples of the size of a block, " +
          std::to_string(size) + ", not " + std::to_string(csr.rows()) + " x " +
          std::to_string(csr.columns()));
    if (!Impl::is_block_size<Exec>(size)) size /= 2;
    auto layout = Impl::with_memory_for("Solder::BlockMatrix", csr.rows(), csr.nonzeros(),
                                        [&] { return Impl::count_blocks(exec, csr, size); });
    if (layout.blocks < 0)
      throw std::invalid_argument("Solder::BlockMatrix: the columns of each row must ascend");
    return layout;
  }

  /// \brief Chooses the teams; for hosts, rows of blocks with equal work.
  void partition(Exec const& exec) {
    teams_ = Impl::vector_teams(exec, rows());
    if constexpr (Impl::is_host_space<Exec>)
      bounds_ = Impl::balanced_bounds<memory_space>(
          "Solder::block::bounds", teams_, rows(), block_size(), [&](std::int32_t row) {
            std::int64_t const blocks_before = layout_.slice_offsets(row / block_size());
            return Impl::host_work(blocks_before * block_size() * block_size(), row);
          });
  }

  BlockLayout<Exec> layout_;
  std::int32_t teams_ = 1;
  Indices column_indices_ = Impl::no_view<Indices>(), bounds_ = Impl::no_view<Indices>();
  Values values_ = Impl::no_view<Values>();
};

}  // namespace Solder
