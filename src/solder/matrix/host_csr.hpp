// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>

namespace Solder {

namespace Impl {

/// \brief Whether row offset i of a matrix contradicts the one before it or the extents.
KOKKOS_INLINE_FUNCTION bool is_wrong_offset(std::int32_t i, std::int32_t rows,
                                            std::int64_t previous, std::int64_t offset,
                                            std::int64_t nonzeros) {
  return (i == 0 ? offset != 0 : offset < previous) || (i == rows && offset != nonzeros);
}

/// \brief Says what is wrong with such an offset.
inline std::string wrong_offset(std::int32_t i, std::int64_t previous, std::int64_t offset,
                                std::int64_t nonzeros) {
  if (i == 0 && offset != 0)
    return "row 0 begins at " + std::to_string(offset) + ", not at 0: wrong row offsets";
  if (i > 0 && offset < previous)
    return "row " + std::to_string(i - 1) + " begins at " + std::to_string(previous) +
           " and ends before, at " + std::to_string(offset) + ": row offsets must not descend";
  std::string const entries = std::to_string(nonzeros) + " nonzeros";
  if (i == 0) return "there are no rows, but " + entries;
  return "row " + std::to_string(i - 1) + ", the last, ends at " + std::to_string(offset) +
         ", but there are " + entries;
}

/// \brief Says that a row has a column which the matrix does not have.
inline std::string wrong_column(std::int32_t row, std::int32_t column, std::int32_t columns) {
  return "row " + std::to_string(row) + " has an entry in column " + std::to_string(column) +
         ", but there are " + std::to_string(columns) + " columns, counted from 0";
}

}  // namespace Impl

/// \brief A sparse matrix in plain host memory: what readers and generators produce.
///
/// Row i holds the entries row_offsets[i] to row_offsets[i + 1] - 1 of columns and values; columns
/// ascend strictly in each row. row_offsets has rows + 1 entries, or none if default constructed.
template <class Scalar>
struct HostCsr {
  std::int32_t rows = 0;                  ///< number of rows
  std::int32_t columns_count = 0;         ///< number of columns
  std::vector<std::int64_t> row_offsets;  ///< [rows + 1]
  std::vector<std::int32_t> columns;      ///< [nonzeros], counted from 0
  std::vector<Scalar> values;             ///< [nonzeros]

  /// \brief Number of stored entries.
  std::int64_t nonzeros() const { return row_offsets.empty() ? 0 : row_offsets.back(); }

  /// \brief Checks the pattern once. Columns need not ascend.
  /// \throws std::invalid_argument, naming the row, if the extents are inconsistent, if row offsets
  /// do not begin at 0, descend or do not end with the number of nonzeros, or if a column is out of
  /// range
  void validate() const;
};

template <class Scalar>
void HostCsr<Scalar>::validate() const {
  auto const require = [](bool fine, auto const& what) {
    if (!fine) throw std::invalid_argument("Solder::HostCsr: " + what());
  };
  require(rows >= 0 && columns_count >= 0, [&] {
    return std::to_string(rows) + " rows and " + std::to_string(columns_count) +
           " columns must not be negative";
  });
  require(columns.size() == values.size(), [&] {
    return "there must be as many values as column indices, " + std::to_string(columns.size()) +
           ", not " + std::to_string(values.size());
  });
  auto const entries = static_cast<std::int64_t>(columns.size());
  if (rows == 0 && row_offsets.empty())
    return require(entries == 0, [&] { return Impl::wrong_offset(0, 0, 0, entries); });
  require(row_offsets.size() == std::size_t(rows) + 1, [&] {
    return std::to_string(rows) + " rows need " + std::to_string(rows + std::int64_t(1)) +
           " row offsets, not " + std::to_string(row_offsets.size());
  });
  for (std::int32_t i = 0; i <= rows; ++i) {
    std::int64_t const previous = i == 0 ? 0 : row_offsets[i - 1];
    require(!Impl::is_wrong_offset(i, rows, previous, row_offsets[i], entries),
            [&] { return Impl::wrong_offset(i, previous, row_offsets[i], entries); });
  }
  for (std::int32_t i = 0; i < rows; ++i)
    for (auto k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
      require(columns[k] >= 0 && columns[k] < columns_count,
              [&] { return Impl::wrong_column(i, columns[k], columns_count); });
}

namespace Impl {

template <class Scalar>
bool is_finite_value(Scalar const& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  } else {
    return std::isfinite(value);
  }
}

/// \brief Sorts each row by column and sums duplicates in the given order. O(nonzeros) if rows are
/// already sorted, else a sort within each unsorted row. Shrinks the arrays, but not their
/// capacity.
template <class Scalar>
void sort_and_merge_rows(HostCsr<Scalar>& matrix) {
  auto& columns = matrix.columns;
  auto& values = matrix.values;
  std::vector<std::pair<std::int32_t, Scalar>> scratch;
  std::int64_t begin = 0;
  std::int64_t kept = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    std::int64_t const end = matrix.row_offsets[row + 1];
    if (!std::is_sorted(columns.begin() + begin, columns.begin() + end)) {
      scratch.clear();
      for (auto k = begin; k < end; ++k) scratch.emplace_back(columns[k], values[k]);
      std::stable_sort(scratch.begin(), scratch.end(),
                       [](auto const& a, auto const& b) { return a.first < b.first; });
      for (auto k = begin; k < end; ++k) {
        columns[k] = scratch[k - begin].first;
        values[k] = scratch[k - begin].second;
      }
    }
    std::int64_t const row_begin = kept;
    for (auto k = begin; k < end; ++k) {
      if (kept > row_begin && columns[kept - 1] == columns[k]) {
        values[kept - 1] += values[k];
      } else {
        columns[kept] = columns[k];
        values[kept] = values[k];
        ++kept;
      }
    }
    matrix.row_offsets[row + 1] = kept;
    begin = end;
  }
  columns.resize(kept);
  values.resize(kept);
}

}  // namespace Impl

/// \brief What TripletBuilder adds at (column, row) for an entry given at (row, column).
enum class Mirror {
  none,       ///< nothing
  same,       ///< the value: a symmetric matrix
  negated,    ///< minus the value: a skew-symmetric matrix
  conjugated  ///< the conjugate: a Hermitian matrix
};

/// \brief Collects entries (row, column, value) in any order and builds a HostCsr from them.
///
/// Duplicates are summed in the given order. Storage grows in blocks, which are freed while the
/// matrix is filled. So the peak is the entries plus the matrix: at most 2.5 times the matrix.
template <class Scalar>
class TripletBuilder {
 public:
  /// \brief Adds an entry. Indices are counted from 0; build() checks them.
  void add(std::int32_t row, std::int32_t column, Scalar value) {
    if (used_ == room_) grow();
    Block& block = blocks_.back();
    block.rows[used_] = row;
    block.columns[used_] = column;
    block.values[used_] = value;
    ++used_;
  }

  /// \brief Entries added since the last build().
  std::int64_t size() const { return in_full_blocks_ + used_; }

  /// \brief The matrix; leaves the builder empty. A counting sort by row, then a sort within each
  /// row that needs it. Throws std::out_of_range for an index outside rows x columns_count, and
  /// std::invalid_argument for a mirrored matrix that is not square.
  HostCsr<Scalar> build(std::int32_t rows, std::int32_t columns_count,
                        Mirror mirror = Mirror::none) {
    if (mirror != Mirror::none && rows != columns_count) {
      throw std::invalid_argument("Solder::TripletBuilder: only a square matrix can be mirrored");
    }
    HostCsr<Scalar> matrix;
    matrix.rows = rows;
    matrix.columns_count = columns_count;
    auto& offsets = matrix.row_offsets;
    offsets.assign(std::size_t(rows) + 1, 0);
    for_each([&](std::int32_t row, std::int32_t column, Scalar const&) {
      if (row < 0 || row >= rows || column < 0 || column >= columns_count) {
        throw std::out_of_range("Solder::TripletBuilder: entry (" + std::to_string(row) + ", " +
                                std::to_string(column) + ") lies outside the matrix");
      }
      ++offsets[row + 1];
      if (mirror != Mirror::none && row != column) ++offsets[column + 1];
    });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    matrix.columns.resize(offsets.back());
    matrix.values.resize(offsets.back());
    auto put = [&](std::int32_t row, std::int32_t column, Scalar const& value) {
      std::int64_t const position = offsets[row]++;
      matrix.columns[position] = column;
      matrix.values[position] = value;
    };
    for_each_and_free([&](std::int32_t row, std::int32_t column, Scalar const& value) {
      put(row, column, value);
      if (mirror != Mirror::none && row != column) put(column, row, mirrored(value, mirror));
    });
    std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());  // ends become begins
    offsets[0] = 0;
    Impl::sort_and_merge_rows(matrix);
    return matrix;
  }

 private:
  static constexpr std::int32_t smallest_block = 1 << 8, largest_block = 1 << 16;
  struct Block {
    std::int32_t size = 0;
    std::unique_ptr<std::int32_t[]> rows, columns;
    std::unique_ptr<Scalar[]> values;
  };

  static Scalar mirrored(Scalar value, Mirror mirror) {
    if (mirror == Mirror::negated) return -value;
    return mirror == Mirror::conjugated ? Impl::conjugated(value) : value;
  }

  void grow() {
    std::int32_t const size = std::clamp(2 * room_, smallest_block, largest_block);
    blocks_.push_back({size, std::unique_ptr<std::int32_t[]>(new std::int32_t[size]),
                       std::unique_ptr<std::int32_t[]>(new std::int32_t[size]),
                       std::unique_ptr<Scalar[]>(new Scalar[size])});
    in_full_blocks_ += used_;
    used_ = 0;
    room_ = size;
  }

  std::int32_t used_in(std::size_t block) const {
    return block + 1 == blocks_.size() ? used_ : blocks_[block].size;
  }

  template <class Visitor>
  void for_each(Visitor const& visit) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b) visit_block(blocks_[b], used_in(b), visit);
  }

  template <class Visitor>
  void for_each_and_free(Visitor const& visit) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      visit_block(blocks_[b], used_in(b), visit);
      blocks_[b] = Block{};
    }
    blocks_.clear();
    used_ = room_ = 0;
    in_full_blocks_ = 0;
  }

  template <class Visitor>
  static void visit_block(Block const& block, std::int32_t used, Visitor const& visit) {
    for (std::int32_t k = 0; k < used; ++k) visit(block.rows[k], block.columns[k], block.values[k]);
  }

  std::vector<Block> blocks_;
  std::int64_t in_full_blocks_ = 0;
  std::int32_t used_ = 0, room_ = 0;  ///< of the last block
};

/// \brief The same matrix in another scalar type: wider, narrower, or real to complex. Throws
/// InputError if a finite value is out of To's range. Complex to real does not compile.
/// \ingroup matrices
template <class To, class From>
HostCsr<To> convert_scalar(HostCsr<From> const& matrix) {
  using Real = typename ScalarTraits<To>::Real;
  static_assert(ScalarTraits<To>::is_complex || !ScalarTraits<From>::is_complex,
                "a complex matrix cannot be converted to a real scalar");
  HostCsr<To> result{matrix.rows, matrix.columns_count, matrix.row_offsets, matrix.columns, {}};
  result.values.reserve(matrix.values.size());
  for (From const& value : matrix.values) {
    if constexpr (ScalarTraits<From>::is_complex) {
      result.values.push_back(To(Real(value.real()), Real(value.imag())));
    } else {
      result.values.push_back(To(Real(value)));
    }
    if (Impl::is_finite_value(value) && !Impl::is_finite_value(result.values.back())) {
      throw InputError(
          "entry " + std::to_string(result.values.size() - 1) +
          " of the matrix is too large for the requested scalar type; use a wider one");
    }
  }
  return result;
}

}  // namespace Solder
