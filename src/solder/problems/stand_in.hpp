// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/problems/detail/split_mix.hpp>
#include <solder/problems/detail/stand_in_lengths.hpp>
#include <solder/problems/detail/stand_in_pattern.hpp>
#include <solder/problems/stand_in_figures.hpp>

namespace Solder {

namespace Impl {

/// \brief The off-diagonal entry (i, j) of a stand-in: 20 bits, so that all sums of a row are
/// exact. It is in [-1, 0), or of either sign if the matrix is symmetric but not definite.
inline double stand_in_value(StandInSymmetry symmetry, std::uint64_t salt, std::int64_t i,
                             std::int64_t j) {
  if (symmetry >= StandInSymmetry::symmetric && i > j) std::swap(i, j);
  std::uint64_t const bits = mix_bits(salt + static_cast<std::uint64_t>(i << 32 | j));
  double const value = -static_cast<double>((bits >> 44) + 1) * 0x1p-20;
  return symmetry == StandInSymmetry::symmetric && (bits & 1) != 0 ? -value : value;
}

/// \brief Gives each row its diagonal, sorts it and sets the values. Rows that lack entries,
/// because no pattern was found for them, become shorter.
template <class Scalar>
void finish_stand_in(HostCsr<Scalar>& matrix, StandInSymmetry symmetry, std::uint64_t salt,
                     std::vector<std::int32_t> const& filled) {
  auto& columns = matrix.columns;
  matrix.values.resize(columns.size());
  std::int64_t kept = 0, begin = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    std::int64_t const length = filled[i] + 1, next = matrix.row_offsets[i + 1];
    columns[begin + filled[i]] = i;
    if (kept < begin) std::copy_n(columns.begin() + begin, length, columns.begin() + kept);
    std::sort(columns.begin() + kept, columns.begin() + kept + length);
    double magnitudes = 0.0;
    std::int64_t diagonal = kept;
    for (std::int64_t k = kept; k < kept + length; ++k) {
      if (columns[k] == i) {
        diagonal = k;
        continue;
      }
      double const value = stand_in_value(symmetry, salt, i, columns[k]);
      magnitudes += value < 0.0 ? -value : value;
      matrix.values[k] = Scalar(value);
    }
    double const dominant = magnitudes == 0.0 ? 1.0 : magnitudes * (1.0 + 0x1p-10);
    bool const negative = symmetry == StandInSymmetry::symmetric &&
                          (mix_bits(salt ^ static_cast<std::uint64_t>(i)) & 7) == 0;
    matrix.values[diagonal] = Scalar(negative ? -dominant : dominant);
    kept += length;
    begin = next;
    matrix.row_offsets[i + 1] = kept;
  }
  columns.resize(kept);
  matrix.values.resize(kept);
}

}  // namespace Impl

/// \brief A random matrix that stands in for one that is not available, in measurements of the
/// speed of products and iterations, for which only its size and row lengths matter.
///
/// Rows, nonzeros, longest row and therefore the mean are as in `figures`. The deviation of the row
/// lengths is met within a few per cent if the figures allow it. A matrix with a symmetric pattern
/// has one nonzero less if nonzeros - rows is odd, and up to 0.1% less if no symmetric pattern has
/// these lengths. Every diagonal entry is stored. The share `near` of the others is within the half
/// bandwidth, in clusters of neighbouring columns; the rest is anywhere.
///
/// Off-diagonal entries are in [-1, 0). The diagonal exceeds the sum of their magnitudes by a
/// factor of 1 + 2^-10. So the matrix is an M-matrix, symmetric positive definite for spd, and any
/// solver can solve it with the Jacobi preconditioner. For `symmetric` the signs are random, and
/// one in eight diagonal entries is negative: the matrix is indefinite. The same seed gives the
/// same matrix on every platform.
///
/// Cost O(nonzeros), about 50 ns each, in one thread; the memory is the matrix and two words per
/// row. InputError for figures that contradict each other.
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> stand_in(StandInFigures figures, std::uint64_t seed = 0) {
  bool const symmetric = figures.symmetry != StandInSymmetry::none;
  Impl::check_stand_in(figures);
  if (symmetric) figures.nonzeros -= (figures.nonzeros - figures.rows) % 2;
  Impl::SplitMix random(seed);
  HostCsr<Scalar> matrix;
  // Reserves all memory first, so that a matrix that does not fit fails at once.
  matrix.columns.reserve(static_cast<std::size_t>(figures.nonzeros));
  matrix.values.reserve(static_cast<std::size_t>(figures.nonzeros));
  matrix.rows = matrix.columns_count = static_cast<std::int32_t>(figures.rows);
  {
    auto const lengths = Impl::stand_in_lengths(figures, random);
    matrix.row_offsets.reserve(lengths.size() + 1);
    matrix.row_offsets.push_back(0);
    for (auto const length : lengths)
      matrix.row_offsets.push_back(matrix.row_offsets.back() + length);
  }
  matrix.columns.resize(static_cast<std::size_t>(figures.nonzeros));
  auto const finish = [&](auto pattern) {
    pattern.fill();
    Impl::finish_stand_in(matrix, figures.symmetry, random.bits(), pattern.filled());
  };
  if (symmetric) {
    finish(Impl::SymmetricPattern(figures, random, matrix.row_offsets, matrix.columns));
  } else {
    finish(Impl::GeneralPattern(figures, random, matrix.row_offsets, matrix.columns));
  }
  std::int64_t const lost = figures.nonzeros - matrix.nonzeros();
  if (lost * 1000 > figures.nonzeros) {
    throw InputError("stand_in: no symmetric pattern with these row lengths was found; " +
                     std::to_string(lost) + " of " + std::to_string(figures.nonzeros) +
                     " nonzeros could not be placed");
  }
  return matrix;
}

/// \brief The stand-in for a matrix of the papers' tables, as in stand_in<double>("pwtk").
/// \ingroup problems
template <class Scalar>
HostCsr<Scalar> stand_in(std::string_view like, std::uint64_t seed = 0) {
  return stand_in<Scalar>(stand_in_figures(like), seed);
}

}  // namespace Solder
