// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief A look at a matrix whose rows are dealt to ranks: what symmetry.hpp and analysis.hpp say
/// of a CsrMatrix, of all ranks together. All ranks call these functions together, and all get the
/// same answer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/ranks.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/matrix/distributed.hpp>
#include <solder/matrix/ghost_rows.hpp>
#include <solder/matrix/symmetry.hpp>

namespace Solder {
namespace Impl {

/// \brief The worst pair that any rank has seen, its rows counted among those of all ranks.
/// \param numbers of this rank's rows and ghosts among the rows of all ranks
inline Agreement worst_of_all(Ranks const& ranks, Agreement mine,
                              std::vector<std::int64_t> const& numbers) {
  if (mine.row >= 0) {
    mine.row = static_cast<std::int32_t>(numbers[std::size_t(mine.row)]);
    mine.column = static_cast<std::int32_t>(numbers[std::size_t(mine.column)]);
    if (mine.row > mine.column) {
      std::swap(mine.row, mine.column);
      std::swap(mine.entry, mine.mirrored);
    }
  }
  auto const each =
      of_each(ranks, {mine.difference, double(mine.row), double(mine.column), mine.entry.real(),
                      mine.entry.imag(), mine.mirrored.real(), mine.mirrored.imag()});
  std::vector<double> const* worst = &each[0];
  for (std::vector<double> const& other : each) {
    bool const is_before = other[1] >= 0 && ((*worst)[1] < 0 || other[1] < (*worst)[1]);
    if (other[0] > (*worst)[0] || (other[0] == (*worst)[0] && is_before)) worst = &other;
  }
  std::vector<double> const& of = *worst;
  return {of[0],          mine.rounding, std::int32_t(of[1]), std::int32_t(of[2]),
          {of[3], of[4]}, {of[5], of[6]}};
}

/// \brief What the ranks have seen of the symmetry, together.
inline Symmetry of_all(Ranks const& ranks, Symmetry mine,
                       std::vector<std::int64_t> const& numbers) {
  DiagonalSigns& signs = mine.diagonal;
  std::int32_t* const first_rows[] = {&signs.missing, &signs.zero, &signs.negative,
                                      &signs.not_real};
  std::vector<double> seen{double(!mine.is_finite), double(!mine.pattern)};
  for (std::int32_t const* row : first_rows)
    seen.push_back(*row < 0 ? -1 : double(numbers[std::size_t(*row)]));
  for (std::int32_t* row : first_rows) *row = -1;
  for (std::vector<double> const& other : of_each(ranks, seen)) {
    mine.is_finite = mine.is_finite && other[0] == 0;
    mine.pattern = mine.pattern && other[1] == 0;
    for (std::size_t k = 0; k < 4; ++k)
      if (double const row = other[k + 2]; row >= 0)
        if (std::int32_t& first = *first_rows[k]; first < 0 || row < first)
          first = static_cast<std::int32_t>(row);
  }
  mine.hermitian = worst_of_all(ranks, mine.hermitian, numbers);
  mine.symmetric = worst_of_all(ranks, mine.symmetric, numbers);
  return mine;
}

/// \brief What a rank's own rows show. Their columns are numbered among those of all ranks, counted
/// from its first row.
template <class Scalar>
struct OwnFacts {
  RowFacts rows;
  double shortest = std::numeric_limits<double>::infinity(), longest = 0, squares = 0;
  double outsized = 0, unpaired = 0;
  std::vector<Scalar> columns;  ///< the largest entry here of each own column and ghost

  OwnFacts(EnlargedBlock<Scalar> const& block, std::int32_t n, std::int64_t first_row) {
    HostCsr<Scalar> const& of = block.rows;
    std::size_t const all = std::size_t(of.rows), own = std::size_t(of.row_offsets[n]);
    std::vector<double> roots(all, 0.0), largest(all, 0.0);
    std::vector<std::int64_t> above(all);
    std::vector<std::int32_t> numbers(own, 0);
    columns.resize(all);
    for (std::size_t k = 0; k < own; ++k)
      numbers[k] = static_cast<std::int32_t>(block.numbers[of.columns[k]] - first_row);
    for (std::int32_t i = 0; i < of.rows; ++i) {
      Wide<Scalar> diagonal{};
      for (auto k = of.row_offsets[i]; k < of.row_offsets[i + 1]; ++k)
        if (of.columns[k] == i) diagonal += Wide<Scalar>(of.values[k]);
      roots[i] = std::sqrt(largest_part(diagonal));
    }
    RowFactsKernel<Scalar, std::int64_t> const look{of.row_offsets.data(), numbers.data(),
                                                    of.values.data(), roots.data(), above.data()};
    for (std::int32_t i = 0; i < n; ++i) {
      look(i, rows);
      double const length = double(of.row_offsets[i + 1] - of.row_offsets[i]);
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
      squares += length * length;
      for (auto k = of.row_offsets[i]; k < of.row_offsets[i + 1]; ++k) {
        std::int32_t const j = of.columns[k];
        double const size = largest_part(Wide<Scalar>(of.values[k]));
        largest[j] = std::max(largest[j], size);
        outsized += j != i && size > (1 + rounding_of<Scalar>)*roots[i] * roots[j];
      }
    }
    for (std::size_t j = 0; j < all; ++j) columns[j] = to_real<Scalar>(largest[j]);
    unpaired = double(unpaired_entries(of, n));
  }

  /// \brief Entries (i, j) of own rows that are stored where (j, i) is not; duplicates count once.
  static std::int64_t unpaired_entries(HostCsr<Scalar> const& of, std::int32_t n) {
    std::vector<std::int64_t> begins(std::size_t(n) + 1, 0);  // of the rows that have a column
    for (std::int32_t const j : of.columns)
      if (j < n) ++begins[std::size_t(j) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::int32_t> with(static_cast<std::size_t>(begins[n]));
    std::vector<std::int64_t> at(begins.begin(), begins.end() - 1);
    for (std::int32_t i = 0; i < of.rows; ++i)
      for (auto k = of.row_offsets[i]; k < of.row_offsets[i + 1]; ++k)
        if (std::int32_t const j = of.columns[k]; j < n) with[std::size_t(at[j]++)] = i;
    std::int64_t count = 0;
    std::vector<std::int32_t> has(std::size_t(of.rows), -1);  // the last i whose mirror is there
    for (std::int32_t i = 0; i < n; ++i) {
      for (auto k = begins[i]; k < begins[i + 1]; ++k) has[with[std::size_t(k)]] = i;
      for (auto k = of.row_offsets[i]; k < of.row_offsets[i + 1]; ++k)
        count += std::exchange(has[of.columns[k]], i) != i;
    }
    return count;
  }
};

/// \brief Numbers of each rank, to be joined over all ranks.
class Joined {
 public:
  void add(double number) { mine_.push_back(number); }
  void add(Spread const& of) {
    for (double const number : {of.smallest, of.largest, double(of.zeros)}) add(number);
  }
  /// \brief Brings them to all ranks. They are then asked for in the order of add().
  void join(Ranks const& ranks) { each_ = of_each(ranks, mine_); }

  double sum() {
    double sum = 0;
    for (std::vector<double> const& of : each_) sum += of[at_];
    ++at_;
    return sum;
  }
  double least() {
    double least = each_[0][at_];
    for (std::vector<double> const& of : each_) least = std::min(least, of[at_]);
    ++at_;
    return least;
  }
  double most() {
    double most = each_[0][at_];
    for (std::vector<double> const& of : each_) most = std::max(most, of[at_]);
    ++at_;
    return most;
  }
  Spread spread() {
    Spread all;
    all.smallest = least();
    all.largest = most();
    all.zeros = static_cast<std::int32_t>(sum());
    return all;
  }

 private:
  std::vector<double> mine_;
  std::vector<std::vector<double>> each_;
  std::size_t at_ = 0;
};

/// \brief Looks at the entries of all ranks' rows, whose symmetry is known.
/// \param block of this rank
template <class Scalar, class Exec>
void look_at_entries(DistributedMatrix<Scalar, Exec> const& A, EnlargedBlock<Scalar> const& block,
                     Analysis& analysis) {
  Halo<Scalar> const& halo = *A.halo();
  std::optional<OwnFacts<Scalar>> own;
  together(&halo, [&] { own.emplace(block, A.rows(), halo.first_row()); });
  halo.add_back(own->columns.data() + A.rows(), own->columns.data());
  Spread columns;
  for (std::int32_t j = 0; j < A.rows(); ++j)
    columns.add(largest_part(Wide<Scalar>(own->columns[std::size_t(j)])));

  RowFacts const& rows = own->rows;
  Joined all;
  all.add(rows.diagonal);
  all.add(rows.row_sizes);
  all.add(columns);
  for (double const number : {double(A.nonzeros()), own->squares, own->shortest, own->longest,
                              double(rows.off_diagonals), double(rows.lower), double(rows.opposite),
                              own->outsized, own->unpaired, double(rows.negative_diagonals),
                              double(rows.dominant_rows), rows.dominance, double(rows.bandwidth)})
    all.add(number);
  all.join(halo);
  bool const is_mirrored =
      analysis.symmetry.hermitian.is_exact() || analysis.symmetry.symmetric.is_exact();
  double const count = double(std::max<std::int64_t>(1, halo.rows()));
  analysis.diagonal = all.spread();
  analysis.row_sizes = all.spread();
  analysis.column_sizes = all.spread();
  if (is_mirrored) analysis.column_sizes = analysis.row_sizes;
  analysis.rows.rows = static_cast<std::int32_t>(halo.rows());
  analysis.rows.nonzeros = static_cast<std::int64_t>(all.sum());
  analysis.rows.mean = double(analysis.rows.nonzeros) / count;
  double const mean = analysis.rows.mean, squares = all.sum();
  analysis.rows.deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  double const shortest = all.least();  // infinite without any row
  analysis.rows.shortest = halo.rows() > 0 ? static_cast<std::int32_t>(shortest) : 0;
  analysis.rows.longest = static_cast<std::int32_t>(all.most());
  analysis.off_diagonals = static_cast<std::int64_t>(all.sum());
  analysis.lower = static_cast<std::int64_t>(all.sum());
  analysis.opposite = static_cast<std::int64_t>(all.sum());
  analysis.outsized = static_cast<std::int64_t>(all.sum());
  analysis.unpaired = static_cast<std::int64_t>(all.sum());
  analysis.negative_diagonals = static_cast<std::int32_t>(all.sum());
  analysis.dominant_rows = static_cast<std::int32_t>(all.sum());
  analysis.dominance = all.least();
  analysis.bandwidth = static_cast<std::int32_t>(all.most());
}

/// \brief The rows of this rank and of its ghosts, for what counts rows in 32 bits.
template <class Scalar, class Exec>
EnlargedBlock<Scalar> block_to_look_at(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
  if (A.halo()->rows() > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        "Solder: a look at a matrix needs at most 2147483647 rows of all ranks, not " +
        std::to_string(A.halo()->rows()) + ": name solver and preconditioner");
  return enlarged_block(exec, A);
}

/// \brief check_symmetry() of all ranks' rows together. \param block of this rank
template <class Scalar, class Exec>
Symmetry symmetry_of_all(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A,
                         EnlargedBlock<Scalar> const& block) {
  Symmetry mine;
  together(A.ranks(),
           [&] { mine = check_symmetry(exec, CsrMatrix<Scalar, Exec>(exec, block.rows)); });
  return of_all(*A.ranks(), mine, block.numbers);
}

}  // namespace Impl

/// \brief check_symmetry() of a matrix over ranks. Each rank checks its own rows and those of its
/// ghosts, which have all pairs that reach beyond it. To bring these here takes two or three
/// exchanges for each entry of the longest row. \throws std::invalid_argument if all ranks have
/// 2^31 rows
/// \ingroup ranks
template <class Scalar, class Exec>
Symmetry check_symmetry(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
  return Impl::symmetry_of_all(exec, A, Impl::block_to_look_at(exec, A));
}

/// \brief analyse() of a matrix over ranks: the same to the bit, but for three things.
/// Analysis::column_sizes of a matrix that is not symmetric are the sums of the largest entries
/// that each rank has in a column; rows has nothing on formats; and repeated_rows are not counted.
/// Takes what check_symmetry() takes, an exchange more, and two all-reduces.
/// \ingroup ranks
template <class Scalar, class Exec>
Analysis analyse(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
  auto const block = Impl::block_to_look_at(exec, A);
  Analysis analysis;
  analysis.symmetry = Impl::symmetry_of_all(exec, A, block);
  Impl::look_at_entries(A, block, analysis);
  return analysis;
}

}  // namespace Solder
