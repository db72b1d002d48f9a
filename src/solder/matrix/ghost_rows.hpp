// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The rows that a rank's ghosts have on their own ranks: what its preconditioner needs to know
// beyond its own rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <solder/core/ranks.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/distributed.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder::Impl {

/// \brief Brings whole numbers, one a row, to the ranks that have these rows as ghosts: as scalars,
/// one for each digit, which even a float holds exactly.
template <class Scalar>
class NumberExchange {
 public:
  /// \param most numbers are less than this
  NumberExchange(Halo<Scalar> const& halo, std::int32_t rows, std::int32_t ghosts,
                 std::int64_t most)
      : halo_(halo), here_(std::size_t(rows)), there_(std::size_t(ghosts)) {
    for (; most > 0; most /= base) ++digits_;
  }
  /// \param numbers of the rows; behind them those of the ghosts, which are filled in
  void operator()(std::vector<std::int64_t>& numbers) {
    std::size_t const rows = here_.size();
    std::fill(numbers.begin() + static_cast<std::ptrdiff_t>(rows), numbers.end(), 0);
    std::int64_t unit = 1;
    for (int digit = 0; digit < digits_; ++digit, unit *= base) {
      for (std::size_t i = 0; i < rows; ++i)
        here_[i] = to_real<Scalar>(static_cast<double>(numbers[i] / unit % base));
      halo_.exchange(here_.data(), there_.data());
      for (std::size_t g = 0; g < there_.size(); ++g)
        numbers[rows + g] += unit * std::llround(real_part(there_[g]));
    }
  }

 private:
  static constexpr std::int64_t base = 1 << 16;

  static double real_part(Scalar const& value) {
    if constexpr (ScalarTraits<Scalar>::is_complex)
      return double(value.real());
    else
      return double(value);
  }

  Halo<Scalar> const& halo_;
  std::vector<Scalar> here_, there_;
  int digits_ = 0;
};

/// \brief A rank's rows and those of its ghosts, without entries in columns of others: a square
/// matrix.
template <class Scalar>
struct EnlargedBlock {
  HostCsr<Scalar> rows;               ///< ghosts behind the own ones
  std::vector<std::int64_t> numbers;  ///< of its rows among those of all ranks
};

/// \brief Brings the ghosts' rows here. All ranks call it together. For each entry of the longest
/// row of all ranks it takes an exchange, one or two for the column, and a sum. If a rank has
/// failed before, all throw.
template <class Scalar, class Exec>
EnlargedBlock<Scalar> enlarged_block(Exec const& exec, DistributedMatrix<Scalar, Exec> const& A) {
  exec.fence("Solder::distributed: the rows are there");
  together(A.ranks(), [] {});  // a rank may have failed on the way here
  auto const offsets = [&A](std::int32_t i) { return A.row_begin(i); };
  std::int32_t const* const columns = A.column_indices();
  Scalar const* const values = A.values();
  Halo<Scalar> const& halo = *A.halo();
  std::int32_t const n = A.rows(), ghosts = A.ghosts(), all = n + ghosts;
  std::int64_t longest = 0, most = 0;
  for (std::int32_t i = 0; i < n; ++i)
    longest = std::max<std::int64_t>(longest, offsets(i + 1) - offsets(i));
  for (double longer = 1; longer > 0;) {
    longer = longest > most;
    halo.sum(&longer, 1);
    if (longer > 0) ++most;
  }

  EnlargedBlock<Scalar> block;
  std::vector<std::int64_t> of_columns;
  std::vector<Scalar> here;
  std::vector<std::vector<std::int64_t>> ghost_columns;
  std::vector<std::vector<Scalar>> ghost_values;
  AllOrNone ready(&halo);
  NumberExchange<Scalar> exchange(halo, n, ghosts, halo.rows() + 1);
  block.numbers.resize(std::size_t(all));
  of_columns.resize(std::size_t(all));
  here.resize(std::size_t(n));
  ghost_columns.assign(std::size_t(most), std::vector<std::int64_t>(std::size_t(ghosts)));
  ghost_values.assign(std::size_t(most), std::vector<Scalar>(std::size_t(ghosts)));
  ready.reach();  // nothing allocates until all exchanges are done

  for (std::int32_t i = 0; i < n; ++i) block.numbers[i] = halo.first_row() + i;
  exchange(block.numbers);
  for (std::int64_t k = 0; k < most; ++k) {
    for (std::int32_t i = 0; i < n; ++i) {
      bool const is_there = offsets(i) + k < offsets(i + 1);
      of_columns[i] = is_there ? block.numbers[columns[offsets(i) + k]] + 1 : 0;
      here[i] = is_there ? values[offsets(i) + k] : Scalar{};
    }
    exchange(of_columns);
    std::copy(of_columns.begin() + n, of_columns.end(), ghost_columns[k].begin());
    halo.exchange(here.data(), ghost_values[k].data());
  }

  std::unordered_map<std::int64_t, std::int32_t> place;
  for (std::int32_t g = n; g < all; ++g) place.emplace(block.numbers[g], g);
  HostCsr<Scalar>& rows = block.rows;
  rows.rows = rows.columns_count = all;
  rows.row_offsets = {0};
  for (std::int32_t i = 0; i < n; ++i) {
    rows.columns.insert(rows.columns.end(), columns + offsets(i), columns + offsets(i + 1));
    rows.values.insert(rows.values.end(), values + offsets(i), values + offsets(i + 1));
    rows.row_offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  for (std::int32_t g = 0; g < ghosts; ++g) {
    for (std::int64_t k = 0; k < most && ghost_columns[k][g] > 0; ++k) {
      std::int64_t const number = ghost_columns[k][g] - 1, of_rank = number - halo.first_row();
      auto const found = place.find(number);
      if ((of_rank < 0 || of_rank >= n) && found == place.end()) continue;
      rows.columns.push_back(found == place.end() ? static_cast<std::int32_t>(of_rank)
                                                  : found->second);
      rows.values.push_back(ghost_values[k][g]);
    }
    rows.row_offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return block;
}

}  // namespace Solder::Impl
