// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief A look at a matrix before anything is solved with it: what make_solver() chooses by.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/compiled.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/findings.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/matching.hpp>
#include <solder/matrix/symmetry.hpp>

namespace Solder {

/// \brief The smallest and the largest of some sizes that are not 0.
struct Spread {
  double smallest = Kokkos::Experimental::infinity_v<double>;  ///< infinite: all are, or are 0
  double largest = 0;                                          ///< 0: all are 0
  std::int32_t zeros = 0;                                      ///< how many are 0

  /// \brief largest / smallest, at least 1; infinite if a size is.
  double ratio() const {
    return !(largest > 0) ? 1 : std::isinf(largest) ? largest : largest / smallest;
  }
  /// \brief Takes a size. A NaN is passed over.
  KOKKOS_INLINE_FUNCTION void add(double size) {
    if (size == 0) ++zeros;
    if (size > 0 && size < smallest) smallest = size;
    if (size > largest) largest = size;
  }
  /// \brief Takes those of another.
  KOKKOS_INLINE_FUNCTION void join(Spread const& other) {
    smallest = Kokkos::fmin(smallest, other.smallest);
    largest = Kokkos::fmax(largest, other.largest);
    zeros += other.zeros;
  }
};

/// \brief What analyse() saw of a matrix. All of it comes from counts, maxima and minima, so that
/// it is the same to the bit on every device and for every number of threads.
///
/// The size of a complex number is the larger one of its parts. An entry that is stored as 0 counts
/// for the lengths and patterns of rows, and for nothing else.
struct Analysis {
  Symmetry symmetry;  ///< of values and pattern, and the signs of the diagonal
  RowStatistics
      rows;  ///< number and lengths of the rows, as row_statistics() has them for `automatic`

  Spread diagonal;                      ///< of |a_ii|; its zeros: 0 or not stored
  std::int32_t negative_diagonals = 0;  ///< rows whose a_ii has a negative real part
  /// Rows with |a_ii| >= the sum of |a_ij|, j != i, up to rounding, and the least ratio of the two
  /// in any row; infinite where there is nothing beside the diagonal.
  std::int32_t dominant_rows = 0;
  double dominance = std::numeric_limits<double>::infinity();  ///< see dominant_rows

  std::int64_t off_diagonals = 0;  ///< entries beside the diagonal that are not 0
  std::int64_t lower = 0;          ///< of these, those below it
  std::int64_t opposite = 0;       ///< of these, those with another sign than a_ii (real parts)
  std::int64_t outsized = 0;       ///< of these, those with |a_ij|^2 > |a_ii a_jj|, beyond rounding
  /// Entries (i, j) that are stored where (j, i) is not; duplicates count once.
  std::int64_t unpaired = 0;

  Spread row_sizes;           ///< of the largest |a_ij| of each row; its zeros: rows of zeros
  Spread column_sizes;        ///< of the largest |a_ij| of each column
  bool knows_columns = true;  ///< whether these were looked at
  /// Rows that a maximum matching of rows to columns in which they have a nonzero leaves out. If
  /// there are any, A is singular, whatever its values are. Only find_unmatched_rows() finds them.
  std::int32_t unmatched_rows = 0;
  std::int32_t first_unmatched_row = -1;  ///< the first of them; -1: none
  std::int32_t bandwidth = 0;             ///< the largest |i - j| of an entry
  std::int32_t repeated_rows = 0;         ///< rows with the columns of the row before, as in blocks

  /// \brief Whether A is square and equal to its conjugate transpose, up to rounding.
  bool is_hermitian() const {
    return symmetry.is_square && symmetry.is_finite && symmetry.hermitian.holds();
  }
  /// \brief Whether nothing that was seen speaks against a Hermitian positive definite A: a
  /// diagonal that is positive, and no a_ij that outweighs a_ii and a_jj.
  bool may_be_definite() const {
    return is_hermitian() && symmetry.diagonal.is_positive() && outsized == 0;
  }
  /// \brief Whether A is Hermitian and certainly neither positive nor negative definite.
  bool is_indefinite() const {
    bool const all_negative = negative_diagonals == rows.rows;
    return is_hermitian() && (outsized > 0 || (!symmetry.diagonal.is_positive() && !all_negative));
  }
  /// \brief Whether A looks like a discretised elliptic equation: most entries beside the diagonal
  /// have the other sign, and most rows are dominant. Multigrid is made for such.
  bool looks_elliptic() const {
    return off_diagonals > 0 && double(opposite) >= 0.9 * double(off_diagonals) &&
           dominant_rows >= 0.9 * rows.rows;
  }
  /// \brief Whether A is triangular, or diagonal.
  bool is_triangular() const { return lower == 0 || lower == off_diagonals; }
};

namespace Impl {

/// \brief What the rows of a matrix show together.
struct RowFacts {
  Spread diagonal, row_sizes;
  double dominance = Kokkos::Experimental::infinity_v<double>;
  std::int64_t off_diagonals = 0, lower = 0, opposite = 0;
  std::int32_t negative_diagonals = 0, dominant_rows = 0, bandwidth = 0, repeated_rows = 0;
  DiagonalFacts signs;

  /// \brief Takes those of other rows.
  KOKKOS_FUNCTION void join(RowFacts const& others) {
    diagonal.join(others.diagonal);
    row_sizes.join(others.row_sizes);
    dominance = Kokkos::fmin(dominance, others.dominance);
    off_diagonals += others.off_diagonals;
    lower += others.lower;
    opposite += others.opposite;
    negative_diagonals += others.negative_diagonals;
    dominant_rows += others.dominant_rows;
    bandwidth = Kokkos::max(bandwidth, others.bandwidth);
    repeated_rows += others.repeated_rows;
    signs.join(others.signs);
  }
};

/// \brief Looks at the entries of a row. Leaves what DiagonalKernel does.
template <class Scalar, class Offset>
struct RowFactsKernel {
  using value_type = RowFacts;

  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  double* roots;
  Offset* above;

  KOKKOS_FUNCTION void init(RowFacts& facts) const { facts = RowFacts(); }
  KOKKOS_FUNCTION void join(RowFacts& facts, RowFacts const& others) const { facts.join(others); }

  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int32_t i, RowFacts& facts) const {
    Offset const begin = offsets[i], end = offsets[i + 1];
    Wide<Scalar> diagonal{};
    double others = 0, largest = 0;
    std::int32_t positive = 0, negative = 0, count = 0, below = 0, on_it = 0, before = -1;
    bool ascends = true;
    for (Offset k = begin; k < end; ++k) {
      std::int32_t const j = columns[k];
      Wide<Scalar> const entry(values[k]);
      ascends = ascends && j > before;
      before = j;
      if (j == i) {
        diagonal += entry;
        ++on_it;
        continue;
      }
      double const size = largest_part(entry), part = real_part(entry);
      below += j < i;
      others += size;
      largest = larger(largest, size);
      count += size != 0;
      positive += part > 0;
      negative += part < 0;
    }
    std::int32_t lower = below, first = i, last = i;
    if (ascends && count + on_it == end - begin) {
      if (count > 0) first = Kokkos::min(i, columns[begin]);
      if (count > 0) last = Kokkos::max(i, columns[end - 1]);
    } else {  // zeros are passed over
      lower = 0;
      for (Offset k = begin; k < end; ++k) {
        if (columns[k] == i || largest_part(Wide<Scalar>(values[k])) == 0) continue;
        lower += columns[k] < i;
        first = Kokkos::min(first, columns[k]);
        last = Kokkos::max(last, columns[k]);
      }
    }
    Offset const count_above = end - begin - below - on_it;
    double const size = largest_part(diagonal), real = real_part(diagonal);
    facts.off_diagonals += count;
    facts.lower += lower;
    if (real != 0) facts.opposite += real > 0 ? negative : positive;
    facts.bandwidth = Kokkos::max(facts.bandwidth, Kokkos::max(i - first, last - i));
    facts.diagonal.add(size);
    facts.row_sizes.add(larger(largest, size));
    facts.signs.add(i, on_it > 0, diagonal, count_above, ascends);
    if (real < 0) ++facts.negative_diagonals;
    if (size > 0 && size >= (1 - rounding_of<Scalar>)*others) ++facts.dominant_rows;
    if (others > 0) facts.dominance = smaller(facts.dominance, size / others);
    if (is_repeated(i)) ++facts.repeated_rows;
    roots[i] = Kokkos::sqrt(size);
    above[i] = end - count_above;
  }

 private:
  KOKKOS_FUNCTION bool is_repeated(std::int32_t i) const {
    if (i == 0) return false;
    Offset const begin = offsets[i], length = offsets[i + 1] - begin, before = offsets[i - 1];
    if (length == 0 || begin - before != length) return false;
    for (Offset k = 0; k < length; ++k)
      if (columns[begin + k] != columns[before + k]) return false;
    return true;
  }
};

/// \brief The spread of an array of sizes.
struct SpreadKernel {
  using value_type = Spread;
  double const* sizes;

  KOKKOS_FUNCTION void init(Spread& all) const { all = Spread(); }
  KOKKOS_FUNCTION void join(Spread& all, Spread const& others) const { all.join(others); }
  KOKKOS_FUNCTION void operator()(std::int32_t place, Spread& all) const { all.add(sizes[place]); }
};

/// \brief The sizes of the columns.
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS Spread sizes_of_columns(Exec const& exec,
                                             CsrMatrix<Scalar, Exec, Offset> const& A) {
  std::int32_t const n = A.rows();
  Offset const* const offsets = A.row_offsets().data();
  std::int32_t const* const columns = A.column_indices().data();
  Scalar const* const values = A.values().data();
  auto const sizes_there = allocate<double>(exec, "Solder::analysis::columns", n);
  double* const sizes = sizes_there.data();
  Kokkos::RangePolicy<Exec> const each_row(exec, 0, n);
  Kokkos::parallel_for(
      "Solder::analysis::clear", each_row, KOKKOS_LAMBDA(int j) { sizes[j] = 0; });
  Kokkos::parallel_for(
      "Solder::analysis::entries", each_row, KOKKOS_LAMBDA(int i) {
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
          double const size = largest_part(Wide<Scalar>(values[k]));
          if (size > sizes[columns[k]]) Kokkos::atomic_max(&sizes[columns[k]], size);
        }
      });
  Spread all;
  Kokkos::parallel_reduce("Solder::analysis::columns", each_row, SpreadKernel{sizes}, all);
  return all;
}

/// \brief How many entries of a matrix whose rows do not ascend are outsized; see Analysis.
/// \param roots of |a_ii|
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS std::int64_t outsized_entries(Exec const& exec,
                                                   CsrMatrix<Scalar, Exec, Offset> const& A,
                                                   double const* roots) {
  Offset const* const offsets = A.row_offsets().data();
  std::int32_t const* const columns = A.column_indices().data();
  Scalar const* const values = A.values().data();
  std::int64_t all = 0;
  Kokkos::parallel_reduce(
      "Solder::analysis::outsized", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(int i, std::int64_t& outsized) {
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
          std::int32_t const j = columns[k];
          double const size = largest_part(Wide<Scalar>(values[k]));
          if (j != i && size > (1 + rounding_of<Scalar>)*roots[i] * roots[j]) ++outsized;
        }
      },
      all);
  return all;
}

/// \brief A maximum matching of rows to columns in which they have an entry other than 0: the
/// product matching with all these entries taken as alike. On the host.
template <class Exec, class Scalar, class Offset>
scaling::Matching largest_matching(CsrMatrix<Scalar, Exec, Offset> const& A) {
  auto const host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  auto const offsets = host(A.row_offsets());
  auto const columns = host(A.column_indices());
  auto const values = host(A.values());
  scaling::Logarithms<Offset> alike{A.rows(), offsets.data(), columns.data(), {}};
  alike.of.resize(columns.extent(0));
  for (std::size_t k = 0; k < alike.of.size(); ++k)
    alike.of[k] = size_of(values(k)) == 0 ? -std::numeric_limits<double>::infinity() : 0;
  return scaling::ProductMatching<Offset>(alike).made();
}

/// \brief "1 row", "2 rows".
inline std::string plural(std::int64_t count, char const* one, char const* many) {
  return std::to_string(count) + (count == 1 ? one : many);
}

/// \brief What the kernels of a look find.
struct LookFindings {
  SliceStatistics slices;
  RowFacts rows;
  MirroredPairs pairs;  ///< of a search
};

/// \brief Looks at a square matrix: all of an Analysis but the sizes of its columns, where A is not
/// equal to its transpose or conjugate transpose to the bit.
template <class Scalar, class Exec, class Offset>
Analysis look_at_entries(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  std::int32_t const n = A.rows();
  auto const roots = allocate<double>(exec, "Solder::analysis::diagonal", n);
  auto const above = allocate<Offset>(exec, "Solder::analysis::above", n);
  Findings<LookFindings, Exec> const findings(exec);
  look_at_slices(exec, slices_of(exec, A), findings.place(&LookFindings::slices));
  Kokkos::parallel_reduce(
      "Solder::analysis::rows", Kokkos::RangePolicy<Exec>(exec, 0, n),
      RowFactsKernel<Scalar, Offset>{A.row_offsets().data(), A.column_indices().data(),
                                     A.values().data(), roots.data(), above.data()},
      findings.place(&LookFindings::rows));
  std::int64_t const walks = walks_of(exec);
  if (walks == 0) search_pairs(exec, A, roots.data(), findings.place(&LookFindings::pairs));
  LookFindings seen = findings.read();
  RowFacts const& facts = seen.rows;
  if (walks > 0)
    seen.pairs =
        mirrored_pairs(exec, A, Diagonal<Offset>{facts.signs, roots.data(), above.data()}, walks);
  auto const pairs = symmetry_of(exec, A, facts.signs, seen.pairs);

  Analysis analysis;
  analysis.rows = statistics_by(seen.slices, exec, A, MatrixFormat::automatic);
  analysis.symmetry = pairs.symmetry;
  analysis.unpaired = pairs.unpaired;
  analysis.outsized = pairs.is_ordered ? pairs.outsized : outsized_entries(exec, A, roots.data());
  analysis.knows_columns = pairs.is_ordered && (analysis.symmetry.hermitian.is_exact() ||
                                                analysis.symmetry.symmetric.is_exact());
  if (analysis.knows_columns) analysis.column_sizes = facts.row_sizes;
  analysis.diagonal = facts.diagonal;
  analysis.row_sizes = facts.row_sizes;
  analysis.dominance = facts.dominance;
  analysis.off_diagonals = facts.off_diagonals;
  analysis.lower = facts.lower;
  analysis.opposite = facts.opposite;
  analysis.negative_diagonals = facts.negative_diagonals;
  analysis.dominant_rows = facts.dominant_rows;
  analysis.bandwidth = facts.bandwidth;
  analysis.repeated_rows = facts.repeated_rows;
  return analysis;
}

/// \brief analyse() without Analysis::column_sizes, unless these are known for nothing.
template <class Scalar, class Exec, class Offset>
Analysis first_look(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  using Memory = Temporaries<Exec>;
  // At once: the roots of the diagonal, where what is above it begins, the cursors of walks, and
  // what is found.
  auto const offsets = static_cast<std::size_t>(1 + walks_of(exec));
  Memory memory((sizeof(double) + offsets * sizeof(Offset)) * std::size_t(A.rows()) +
                16 * part_alignment);
  typename Memory::Frame const frame(memory);
  return Memory::temporarily([&] {
    if (A.rows() > 0 && A.rows() == A.columns()) return look_at_entries(exec, A);
    Analysis analysis;
    analysis.rows = row_statistics(exec, A, MatrixFormat::automatic);
    analysis.symmetry = check_symmetry(exec, A);
    return analysis;
  });
}

#ifdef SOLDER_COMPILED
// Compiled once for hosts: src/compiled/setups.cpp.
extern template Analysis first_look(Host const&, CsrMatrix<float, Host> const&);
extern template Analysis first_look(Host const&, CsrMatrix<double, Host> const&);
extern template Analysis first_look(Host const&, CsrMatrix<Kokkos::complex<float>, Host> const&);
extern template Analysis first_look(Host const&, CsrMatrix<Kokkos::complex<double>, Host> const&);
#endif

}  // namespace Impl

/// \brief Finds Analysis::column_sizes of a matrix that has been looked at, if they are not known.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
void find_column_sizes(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                       Analysis& analysis) {
  if (analysis.knows_columns) return;
  analysis.column_sizes = Impl::sizes_of_columns(exec, A);
  analysis.knows_columns = true;
}

/// \brief Looks at a square matrix: see Analysis. Entries of a row may be in any order. Duplicates
/// count one by one, but on the diagonal as their sum, and once in unpaired.
///
/// It takes what check_symmetry() and row_statistics() take; one kernel that goes through all rows
/// finds the diagonal, too. Where A is not equal to its transpose or conjugate transpose to the
/// bit, or the columns of a row do not ascend, find_column_sizes() goes through all entries once
/// more, and through the columns. Its memory is allocated at once, as an allocation takes a GPU as
/// long as a kernel. It takes about as long as ten products with A, and waits for the device.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
Analysis analyse(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  Analysis analysis = Impl::first_look(exec, A);
  find_column_sizes(exec, A, analysis);
  return analysis;
}

/// \brief Finds Analysis::unmatched_rows of a matrix that has been looked at: on the host,
/// near-linear in practice. Does nothing where no diagonal entry is 0 or missing: then there are
/// none.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
void find_unmatched_rows(CsrMatrix<Scalar, Exec, Offset> const& A, Analysis& analysis) {
  if (analysis.diagonal.zeros == 0) return;
  auto const matching = Impl::largest_matching(A);
  analysis.unmatched_rows = matching.unmatched;
  analysis.first_unmatched_row = matching.first_unmatched;
}

/// \brief Why A is singular, whatever its values are; empty where it is not known to be.
inline std::string why_singular(Analysis const& analysis) {
  std::int32_t const rows = analysis.row_sizes.zeros, columns = analysis.column_sizes.zeros;
  if (rows + columns + analysis.unmatched_rows == 0) return {};
  std::string text = "structurally singular: ";
  if (rows + columns > 0)
    text += (rows > 0 ? Impl::plural(rows, " row", " rows") : "") +
            (rows > 0 && columns > 0 ? " and " : "") +
            (columns > 0 ? Impl::plural(columns, " column", " columns") : "") +
            " with nothing but zeros";
  else if (analysis.unmatched_rows == 1)
    text += "row " + Impl::counted(analysis.first_unmatched_row) +
            " cannot be matched with a column of its own";
  else
    text += std::to_string(analysis.unmatched_rows) +
            " rows cannot be matched with a column of their own, the first of them row " +
            Impl::counted(analysis.first_unmatched_row);
  return text + "; only some b have a solution";
}

/// \brief What a matrix is, in a few lines for people who need no theory, each indented by two.
/// \ingroup matrices
inline std::string describe(Analysis const& analysis) {
  RowStatistics const& rows = analysis.rows;
  Symmetry const& symmetry = analysis.symmetry;
  auto const number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", value);
    return std::string(text);
  };
  auto const counted = [&](std::int32_t count, std::string const& what) {
    return std::to_string(count) + " of its diagonal entries " + (count == 1 ? "is " : "are ") +
           what;
  };
  using Impl::plural;
  std::string text = "  " + plural(rows.rows, " row, ", " rows, ") +
                     plural(rows.nonzeros, " entry, ", " entries, ") + Impl::lengths_text(rows) +
                     "\n  " + describe(symmetry);
  if (!symmetry.is_square || !symmetry.is_finite) return text + "\n";
  if (!symmetry.hermitian.holds())
    text +=
        symmetry.pattern ? "; its pattern is symmetric" : "; its pattern is not symmetric either";
  if (analysis.off_diagonals == 0)
    text += "\n  diagonal";
  else if (analysis.is_triangular())
    text += analysis.lower == 0 ? "\n  upper triangular" : "\n  lower triangular";
  text += "\n  ";
  if (analysis.diagonal.zeros > 0)
    text += counted(analysis.diagonal.zeros, "zero or missing");
  else if (symmetry.diagonal.is_positive())
    text += "its diagonal is positive";
  else if (analysis.negative_diagonals == 0)
    text += "its diagonal is not real";
  if (analysis.negative_diagonals > 0)
    text += (analysis.diagonal.zeros > 0 ? ", " : "") +
            counted(analysis.negative_diagonals, "negative");
  int const percent = int(100.0 * analysis.dominant_rows / std::max(1, rows.rows));
  text += "; in " + std::to_string(percent) +
          "% of the rows the diagonal entry is at least as large as the sum of the others";
  if (analysis.is_hermitian())
    text += analysis.may_be_definite() ? "\n  it may be positive definite"
            : analysis.is_indefinite()
                ? "\n  it is not positive definite"
                : "\n  it may be negative definite: then cg solves -A x = -b";
  if (double const ratio = std::max(analysis.row_sizes.ratio(), analysis.column_sizes.ratio());
      ratio > 1e4)
    text += "\n  badly scaled: the largest entries of its rows or columns differ by " +
            (std::isfinite(ratio) ? number(ratio) : "more than 1e308") + " times";
  if (std::string const why = why_singular(analysis); !why.empty()) text += "\n  " + why;
  if (analysis.looks_elliptic() && analysis.symmetry.pattern)
    text += "\n  it looks like a discretised diffusion operator";
  return text + "\n";
}

}  // namespace Solder
