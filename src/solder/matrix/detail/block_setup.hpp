// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How a matrix in blocks is made of compressed rows.

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/compiled.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/block_operator.hpp>
#include <solder/matrix/place_of.hpp>

namespace Solder {

namespace Impl {

/// \brief Blocks that take a larger share of the bytes of compressed rows gain too little.
inline constexpr double most_share_of_blocks = 0.85;

/// \brief Whether blocks of that size are stored. On GPUs each size takes a kernel, and those of 4
/// and 6 rows are stored as four blocks each, which takes 9% and 4% more bytes.
template <class Exec>
constexpr bool is_block_size(std::int32_t size) {
  return size >= 2 && size <= most_block_size &&
         (is_host_space<Exec> || size % 2 != 0 || size == 2);
}

/// \brief Rows of blocks in a slice: as many as a warp has lanes for; on hosts one.
template <class Exec>
constexpr std::int32_t block_rows_in_slice(std::int32_t size) {
  return is_host_space<Exec> ? 1 : warp / size;
}

/// \brief The rows of blocks of a CSR matrix.
template <class Offset>
struct BlockRows {
  Offset const* offsets;
  std::int32_t const* columns;
  std::int32_t size, count, in_slice;

  std::int32_t slices() const { return (count + in_slice - 1) / in_slice; }
  KOKKOS_FUNCTION Offset nonzeros(std::int32_t i) const {
    return offsets[(i + 1) * size] - offsets[i * size];
  }

  /// \brief Whether all rows in row i of blocks have the same columns, which ascend and fill whole
  /// blocks.
  KOKKOS_FUNCTION bool is_filled(std::int32_t i) const {
    Offset const first = offsets[i * size], length = offsets[i * size + 1] - first;
    if (length % size != 0) return false;
    for (std::int32_t r = 1; r < size; ++r) {
      Offset const begin = offsets[i * size + r];
      if (offsets[i * size + r + 1] - begin != length) return false;
      bool same = true;
      for (Offset k = 0; k < length; ++k) same &= columns[begin + k] == columns[first + k];
      if (!same) return false;
    }
    std::int32_t before = -1;
    for (Offset k = first; k < first + length; k += size) {
      std::int32_t const column = columns[k];
      bool whole = column > before && column % size == 0;
      for (std::int32_t c = 1; c < size; ++c) whole &= columns[k + c] == column + c;
      if (!whole) return false;
      before = column;
    }
    return true;
  }

  /// \brief Calls f(j) for each block column j of row i, ascending. Returns whether the columns of
  /// each of its rows ascend, as they must.
  template <class F>
  KOKKOS_FUNCTION bool for_each_block(std::int32_t i, F const& f) const {
    if (is_filled(i)) {  // of most matrices that have blocks, most rows are
      for (Offset k = offsets[i * size]; k < offsets[i * size + 1]; k += size) f(columns[k] / size);
      return true;
    }
    Offset at[most_block_size], end[most_block_size];
    for (std::int32_t r = 0; r < size; ++r) {
      at[r] = offsets[i * size + r];
      end[r] = offsets[i * size + r + 1];
    }
    constexpr std::int32_t none = Kokkos::Experimental::finite_max_v<std::int32_t>;
    bool ascend = true;
    while (true) {
      std::int32_t least = none;
      for (std::int32_t r = 0; r < size; ++r)
        if (at[r] < end[r]) least = Kokkos::min(least, columns[at[r]]);
      if (least == none) return ascend;
      std::int32_t const j = least / size;
      for (std::int32_t r = 0; r < size; ++r) {
        std::int32_t before = j * size - 1;
        while (at[r] < end[r] && columns[at[r]] < (j + 1) * size) {
          ascend &= columns[at[r]] > before;
          before = columns[at[r]];
          ++at[r];
        }
      }
      f(j);
    }
  }

  /// \brief Whether entry k, of row i of blocks, is the first one of its block. The columns of each
  /// row must ascend; else the answer is meaningless.
  KOKKOS_FUNCTION bool begins_block(std::int32_t i, Offset k) const {
    std::int32_t const first = columns[k] / size * size, last = first + size - 1;
    auto const is_in_block = [&](Offset entry) {
      return first <= columns[entry] && columns[entry] <= last;
    };
    if (k > offsets[i * size] && is_in_block(k - 1)) return false;
    for (std::int32_t row = i * size; offsets[row + 1] <= k; ++row) {
      Offset const at = place_of(columns, offsets[row], offsets[row + 1], first);
      if (at < offsets[row + 1] && is_in_block(at)) return false;
    }
    return true;
  }
};

template <class Scalar, class Exec, class Offset>
BlockRows<Offset> block_rows(CsrMatrix<Scalar, Exec, Offset> const& A, std::int32_t size) {
  return {A.row_offsets().data(), A.column_indices().data(), size, A.rows() / size,
          block_rows_in_slice<Exec>(size)};
}

/// \brief Finds where each slice begins: each of its rows has as many blocks as the longest one.
/// Returns the number of blocks, padding included, or -1 if the columns of a row do not ascend;
/// waits for it.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS std::int64_t find_slices(Exec const& exec, BlockRows<Offset> const& rows,
                                              std::int64_t* starts) {
  auto const lengths_there =
      allocate_temporary<std::int32_t>(exec, "Solder::block::lengths", rows.count);
  std::int32_t* const lengths = lengths_there.data();
  std::int32_t unsorted = 0;
  Kokkos::parallel_reduce(
      "Solder::block::count", Kokkos::RangePolicy<Exec>(exec, 0, rows.count),
      KOKKOS_LAMBDA(std::int32_t i, std::int32_t & rows_unsorted) {
        std::int32_t blocks = 0;
        if (!rows.for_each_block(i, [&](std::int32_t) { ++blocks; })) ++rows_unsorted;
        lengths[i] = blocks;
      },
      unsorted);
  if (unsorted > 0) return -1;
  std::int64_t blocks = 0;
  Kokkos::parallel_scan(
      "Solder::block::offsets",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                 rows.slices() + std::int64_t(1)),
      KOKKOS_LAMBDA(std::int64_t s, std::int64_t & at, bool last) {
        if (last) starts[s] = at;
        std::int64_t const end = Kokkos::min(std::int64_t(rows.count), (s + 1) * rows.in_slice);
        std::int32_t longest = 0;
        for (std::int64_t i = s * rows.in_slice; i < end; ++i)
          longest = Kokkos::max(longest, lengths[i]);
        at += longest * std::int64_t(rows.in_slice);
      },
      blocks);
  return blocks;
}

/// \brief Fills in the columns of all blocks.
template <class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void fill_block_columns(Exec const& exec, BlockRows<Offset> const& rows,
                                             std::int64_t const* starts, std::int32_t* columns) {
  Kokkos::parallel_for(
      "Solder::block::columns", Kokkos::RangePolicy<Exec>(exec, 0, rows.slices() * rows.in_slice),
      KOKKOS_LAMBDA(std::int32_t i) {
        std::int32_t const s = i / rows.in_slice;
        std::int64_t at = starts[s] + i % rows.in_slice;
        if (i < rows.count)
          rows.for_each_block(i, [&](std::int32_t j) {
            columns[at] = j;
            at += rows.in_slice;
          });
        for (; at < starts[s + 1]; at += rows.in_slice) columns[at] = -1;
      });
}

/// \brief Fills in the entries of all blocks, row by row; those that csr does not store are 0.
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void fill_block_values(Exec const& exec,
                                            CsrMatrix<Scalar, Exec, Offset> const& csr,
                                            BlockOperator<Scalar> const& shape, Scalar* values) {
  Offset const* const offsets = csr.row_offsets().data();
  std::int32_t const* const columns = csr.column_indices().data();
  Scalar const* const entries = csr.values().data();
  Kokkos::parallel_for(
      "Solder::block::values", Kokkos::RangePolicy<Exec>(exec, 0, csr.rows()),
      KOKKOS_LAMBDA(std::int32_t i) {
        std::int32_t const s = i / shape.step, lane = i % shape.step, q = lane / shape.size;
        std::int64_t const first = shape.slice_offsets[s];
        auto const width =
            static_cast<std::int32_t>((shape.slice_offsets[s + 1] - first) / shape.in_slice);
        Offset k = offsets[i];
        Offset const end = offsets[i + 1];
        bool const is_filled =
            static_cast<std::int64_t>(end - k) == std::int64_t(width) * shape.size;
        for (std::int32_t j = 0; j < width; ++j) {
          std::int32_t const column =
              shape.columns[first + j * std::int64_t(shape.in_slice) + q] * shape.size;
          for (std::int32_t c = 0; c < shape.size; ++c) {
            bool const is_there = is_filled || (k < end && columns[k] == column + c);
            values[shape.place(first, j, q, lane - q * shape.size, c)] =
                is_there ? entries[k++] : Scalar{};
          }
        }
      });
}

/// \brief What some rows of a matrix show of blocks of each size.
struct BlockSample {
  std::int64_t blocks[most_block_size + 1] = {}, nonzeros[most_block_size + 1] = {};

  KOKKOS_FUNCTION BlockSample& operator+=(BlockSample const& other) {
    for (std::int32_t size = 2; size <= most_block_size; ++size) {
      blocks[size] += other.blocks[size];
      nonzeros[size] += other.nonzeros[size];
    }
    return *this;
  }
};

/// \brief Counts the blocks of each size in some rows of blocks. The threads of a GPU share each
/// row's entries, because one thread alone would take hundreds of microseconds for a long row.
template <class Exec, class Offset>
struct SampleBlocks {
  using value_type = BlockSample;
  static constexpr std::int32_t samples = 128,  ///< of each size
      lanes = is_host_space<Exec> ? 1 : warp;   ///< threads that share a row
  static constexpr std::int32_t threads = (most_block_size - 1) * samples * lanes;

  Offset const* offsets;
  std::int32_t const* columns;
  std::int32_t rows, columns_count;

  KOKKOS_FUNCTION void init(BlockSample& sum) const { sum = BlockSample(); }
  KOKKOS_FUNCTION void join(BlockSample& sum, BlockSample const& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(std::int32_t thread, BlockSample& sum) const {
    std::int32_t const lane = thread % lanes, place = thread / lanes % samples,
                       size = 2 + thread / lanes / samples, count = rows / size;
    if (rows % size != 0 || columns_count % size != 0) return;
    BlockRows<Offset> const of{offsets, columns, size, count, 1};
    auto const i = static_cast<std::int32_t>(std::int64_t(count) * place / samples);
    if constexpr (lanes == 1) {
      of.for_each_block(i, [&](std::int32_t) { ++sum.blocks[size]; });
    } else {
      std::int64_t const end = offsets[(i + 1) * size];
      for (std::int64_t k = offsets[i * size] + std::int64_t(lane); k < end; k += lanes)
        sum.blocks[size] += of.begins_block(i, static_cast<Offset>(k));
    }
    if (lane == 0) sum.nonzeros[size] += of.nonzeros(i);
  }
};

template <class Scalar, class Exec, class Offset>
BlockSample sample_blocks(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  BlockSample sample;
  if (A.rows() == 0) return sample;
  SampleBlocks<Exec, Offset> const look{A.row_offsets().data(), A.column_indices().data(), A.rows(),
                                        A.columns()};
  Kokkos::parallel_reduce("Solder::block::sample", Kokkos::RangePolicy<Exec>(exec, 0, look.threads),
                          look, sample);
  return sample;
}

#ifdef SOLDER_COMPILED
// Compiled once for hosts: src/compiled/setups.cpp.
extern template std::int64_t find_slices(Host const&, BlockRows<std::int32_t> const&,
                                         std::int64_t*);
extern template void fill_block_columns(Host const&, BlockRows<std::int32_t> const&,
                                        std::int64_t const*, std::int32_t*);
extern template void fill_block_values(Host const&, CsrMatrix<float, Host> const&,
                                       BlockOperator<float> const&, float*);
extern template void fill_block_values(Host const&, CsrMatrix<double, Host> const&,
                                       BlockOperator<double> const&, double*);
extern template void fill_block_values(Host const&, CsrMatrix<Kokkos::complex<float>, Host> const&,
                                       BlockOperator<Kokkos::complex<float>> const&,
                                       Kokkos::complex<float>*);
extern template void fill_block_values(Host const&, CsrMatrix<Kokkos::complex<double>, Host> const&,
                                       BlockOperator<Kokkos::complex<double>> const&,
                                       Kokkos::complex<double>*);
#endif

}  // namespace Impl

}  // namespace Solder
