// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/matrix/place_of.hpp>
#include <solder/matrix/transpose.hpp>

namespace Solder {

/// \brief How closely a matrix agrees with its transpose or conjugate transpose.
struct Agreement {
  /// The largest relative difference of a pair: 0 if all pairs are equal to the bit, 2 at most;
  /// infinite if an entry is not finite or A is not square.
  double difference = std::numeric_limits<double>::infinity();
  double rounding = 0;  ///< the largest difference that counts as rounding

  /// The first pair with that difference, row <= column, and both its entries, 0 for one that is
  /// not stored; -1 if no pair differs.
  std::int32_t row = -1,
               column = -1;    ///< of that pair; see row
  std::complex<double> entry,  ///< a(row, column)
      mirrored;                ///< a(column, row)

  /// \brief Whether all pairs agree to the bit.
  bool is_exact() const { return difference == 0; }
  /// \brief Whether the two differ only by rounding.
  bool holds() const { return difference <= rounding; }
};

/// \brief The first rows, or -1, whose diagonal entry is impossible in a Hermitian positive
/// definite matrix.
struct DiagonalSigns {
  std::int32_t missing = -1;   ///< it is not stored
  std::int32_t zero = -1;      ///< it is stored, and its real part is 0
  std::int32_t negative = -1;  ///< its real part is negative
  std::int32_t not_real = -1;  ///< its imaginary part is not 0

  /// \brief Whether all diagonal entries are stored, positive and real (ignoring any that are not
  /// finite).
  bool is_positive() const { return std::max({missing, zero, negative, not_real}) < 0; }
};

/// \brief What check_symmetry found out about a matrix.
struct Symmetry {
  bool is_square = false;   ///< as many rows as columns; if not, no entry is looked at
  bool is_complex = false;  ///< whether the scalar is complex
  bool is_finite = false;   ///< no entry is a NaN or an infinity
  bool pattern = false;     ///< if (i, j) is stored, even as a zero, so is (j, i)
  Agreement hermitian;      ///< of A with A^H, which CG needs; same as `symmetric` for real scalars
  Agreement symmetric;      ///< of A with A^T
  DiagonalSigns diagonal;   ///< which diagonal entries speak against it
};

/// \brief A sentence without a full stop that says whether A is Hermitian (symmetric, if scalars
/// are real) and names the worst pair. Rows and columns are counted from 1, as in Matrix Market
/// files.
/// \ingroup matrices
inline std::string describe(Symmetry const& symmetry) {
  if (!symmetry.is_square) return "A is not square";
  std::string const wanted = symmetry.is_complex ? "Hermitian" : "symmetric";
  Agreement const& worst = symmetry.hermitian;
  if (worst.is_exact()) return "A is " + wanted;
  auto const text = [&](std::complex<double> const& value, int digits) {
    char buffer[64];
    if (symmetry.is_complex)
      std::snprintf(buffer, sizeof buffer, "(%.*g, %.*g)", digits, value.real(), digits,
                    value.imag());
    else
      std::snprintf(buffer, sizeof buffer, "%.*g", digits, value.real());
    return std::string(buffer);
  };
  bool const is_pair = worst.row != worst.column;
  int const digits = is_pair && text(worst.entry, 6) == text(worst.mirrored, 6) ? 17 : 6;
  std::string const i = std::to_string(worst.row + 1), j = std::to_string(worst.column + 1);
  std::string pair = ": a(" + i + ", " + j + ") = " + text(worst.entry, digits);
  if (is_pair) pair += ", but a(" + j + ", " + i + ") = " + text(worst.mirrored, digits);
  pair += " (counted from 1)";
  if (!symmetry.is_finite) return "A is not finite" + pair;
  if (worst.holds()) return "A is " + wanted + " to rounding" + pair;
  if (symmetry.symmetric.holds()) return "A is complex symmetric, not Hermitian" + pair;
  return "A is not " + wanted + pair;
}

namespace Impl {

/// \brief The worst pair of a matrix so far.
struct WorstPair {
  double difference = 0;  ///< 0: no pair differs
  std::int32_t row = -1, column = -1;
  double entry[2] = {0, 0}, mirrored[2] = {0, 0};  ///< real and imaginary parts

  /// \brief Keeps the worse pair, or the first of two equally bad ones. The result does not depend
  /// on the order of calls.
  KOKKOS_FUNCTION void join(WorstPair const& other) {
    bool const is_before = other.row < row || (other.row == row && other.column < column);
    if (other.difference > difference || (other.difference == difference && is_before))
      *this = other;
  }

  template <class Scalar>
  Agreement agreement() const {
    using Real = typename ScalarTraits<Scalar>::Real;
    return {difference,
            1000 * double(std::numeric_limits<Real>::epsilon()),
            row,
            column,
            {entry[0], entry[1]},
            {mirrored[0], mirrored[1]}};
  }
};

/// \brief What all pairs of a matrix show together.
struct MirroredPairs {
  WorstPair hermitian, symmetric;
  /// Entries beside the diagonal with |a_ij|^2 > |a_ii a_jj|, beyond rounding.
  std::int64_t outsized = 0;
  std::int64_t unpaired = 0;  ///< entries without a mirror image
  std::int64_t paired = 0;    ///< entries below the diagonal that have one
  std::int32_t infinite = 0;  ///< 1 if some entry is
  /// 1 if some are not in the order of their columns; only a search finds it.
  std::int32_t disordered = 0;

  /// \brief Takes those of other entries.
  KOKKOS_FUNCTION void join(MirroredPairs const& others) {
    hermitian.join(others.hermitian);
    symmetric.join(others.symmetric);
    outsized += others.outsized;
    unpaired += others.unpaired;
    paired += others.paired;
    infinite |= others.infinite;
    disordered |= others.disordered;
  }
};

/// \brief The larger of a, which is a number, and b; a where b is a NaN. Unlike fmax() it is no
/// call.
KOKKOS_INLINE_FUNCTION double larger(double a, double b) { return b > a ? b : a; }
/// \brief The smaller of a, which is a number, and b; a where b is a NaN.
KOKKOS_INLINE_FUNCTION double smaller(double a, double b) { return b < a ? b : a; }
/// \brief The larger of |Re a| and |Im a|, which is finite if a is.
KOKKOS_INLINE_FUNCTION double largest_part(double a) { return Kokkos::fabs(a); }
KOKKOS_INLINE_FUNCTION double largest_part(Kokkos::complex<double> const& a) {
  return Kokkos::fmax(Kokkos::fabs(a.real()), Kokkos::fabs(a.imag()));
}

/// \brief Rounding of an entry that was assembled, relative to it.
template <class Scalar>
inline constexpr double rounding_of =
    1000 * double(Kokkos::Experimental::epsilon_v<typename ScalarTraits<Scalar>::Real>);

/// \brief Compares entries with their mirror images. The columns of each row must ascend.
template <class Scalar, class Offset>
struct MirrorImages {
  using value_type = MirroredPairs;
  static constexpr double greatest = Kokkos::Experimental::finite_max_v<double>;

  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  double const* roots;  ///< of the sizes of diagonal entries
  std::int32_t rows;
  std::int64_t nonzeros;

  KOKKOS_FUNCTION void init(MirroredPairs& pairs) const { pairs = MirroredPairs(); }
  KOKKOS_FUNCTION void join(MirroredPairs& pairs, MirroredPairs const& others) const {
    pairs.join(others);
  }

  /// \brief Looks at entry k, which is (i, j). A pair is examined at its lower entry.
  /// \param at where (j, i) is, if `is_paired`
  KOKKOS_FUNCTION void look_at(std::int32_t i, std::int32_t j, Offset k, Offset at, bool is_paired,
                               MirroredPairs& pairs) const {
    if (!is_paired) ++pairs.unpaired;
    if (is_paired && i < j) return;
    if (is_paired && i > j) ++pairs.paired;
    Wide<Scalar> const here(values[k]), there(is_paired ? values[at] : Scalar{});
    double const size = largest_part(here);
    bool is_number = true;
    double const most = (1 + rounding_of<Scalar>)*roots[i] * roots[j];
    if (here == conjugate(there) && size <= greatest) {  // of most matrices, most pairs are
      if (i != j) pairs.outsized += size > most ? 2 : 0;
      if constexpr (!ScalarTraits<Scalar>::is_complex) return;
    } else {
      is_number = is_finite(here) && is_finite(there);
      if (!is_number) pairs.infinite = 1;
      if (i != j) pairs.outsized += (size > most) + (largest_part(there) > most);
    }
    auto const compare = [&](WorstPair& worst, Wide<Scalar> const& image) {
      double const least = larger(larger(size, largest_part(there)), roots[i] * roots[j]);
      if (is_number && largest_part(here - image) < 0.999 * worst.difference * least)
        return;  // known without a division: it is not the worst
      double const apart = difference(i, j, here, image);
      if (apart == 0) return;
      WorstPair pair{apart, Kokkos::min(i, j), Kokkos::max(i, j)};
      set_wide(i <= j ? pair.entry : pair.mirrored, 0, here);
      set_wide(i <= j ? pair.mirrored : pair.entry, 0, there);
      worst.join(pair);
    };
    compare(pairs.hermitian, conjugate(there));
    if constexpr (ScalarTraits<Scalar>::is_complex) compare(pairs.symmetric, there);
  }

  /// \brief Relative to the largest of |a_ij|, |a_ji| and sqrt(|a_ii a_jj|).
  KOKKOS_FUNCTION double difference(std::int32_t i, std::int32_t j, Wide<Scalar> const& a,
                                    Wide<Scalar> const& b) const {
    if (!is_finite(a) || !is_finite(b)) return Kokkos::Experimental::infinity_v<double>;
    if (a == b) return 0;
    double size = larger(largest_part(a), largest_part(b));
    size = larger(size, roots[i] * roots[j]);
    // A relative difference is at most 2, even if a - b overflows; if it underflows, it is not
    // zero.
    constexpr double least = Kokkos::Experimental::norm_min_v<double>;
    double const relative = larger(least, largest_part(a - b) / size);
    return relative < 2 ? relative : 2;
  }
};

/// \brief Examines the pairs of a few consecutive entries: bisects a row for each.
template <class Scalar, class Offset>
struct SearchKernel : MirrorImages<Scalar, Offset> {
  std::int64_t share;  ///< entries per thread, which looks up only the row of the first one

  KOKKOS_FUNCTION void operator()(std::int64_t number, MirroredPairs& pairs) const {
    auto const begin = static_cast<Offset>(number * share),
               end = static_cast<Offset>(Kokkos::min(this->nonzeros, (number + 1) * share));
    Offset const* const offsets = this->offsets;
    std::int32_t const* const columns = this->columns;
    std::int32_t i = place_of(offsets, 1, this->rows + 1, begin + 1) - 1;
    for (Offset k = begin; k < end; ++k) {
      while (offsets[i + 1] <= k) ++i;
      std::int32_t const j = columns[k];
      if (k > offsets[i] && j <= columns[k - 1]) pairs.disordered = 1;
      Offset const at = place_of(columns, offsets[j], offsets[j + 1], i);
      this->look_at(i, j, k, at, at < offsets[j + 1] && columns[at] == i, pairs);
    }
  }
};

/// \brief Examines the pairs of consecutive rows: walks through their entries below the diagonal in
/// order, with a cursor among the entries of each row j above it. The cursor only moves forward, as
/// the rows i of its mirror images ascend; what it passes has no mirror image.
///
/// Where there are more entries above the diagonal than pairs, each cursor goes on to the end.
template <class Scalar, class Offset>
struct WalkKernel : MirrorImages<Scalar, Offset> {
  static constexpr Offset unset = std::numeric_limits<Offset>::max();

  Offset const* above;  ///< each row's first entry above the diagonal
  Offset* cursors;      ///< rows for each walk
  std::int64_t walks;
  bool goes_on = false;  ///< the cursors do, to the end

  std::int32_t first_row(std::int64_t walk) const {
    std::int64_t const entry = this->nonzeros / walks * walk;
    return walk == walks ? this->rows
                         : place_of(this->offsets, 0, this->rows, static_cast<Offset>(entry));
  }

  void operator()(std::int64_t walk, MirroredPairs& pairs) const {
    std::int32_t const begin = first_row(walk), end = first_row(walk + 1);
    Offset* const cursor = cursors + walk * this->rows;
    MirroredPairs found;
    if (goes_on) {
      for (std::int32_t j = 0; j < end; ++j) moved(cursor[j], end, j, begin, found);
    } else {
      if (begin == 0)
        std::copy(above, above + end, cursor);
      else
        std::fill(cursor, cursor + end, unset);
      for (std::int32_t i = begin; i < end; ++i) examine(i, begin, cursor, found);
    }
    pairs.join(found);
  }

 private:
  /// \brief Row i, up to the diagonal. What most entries of most matrices are is looked at here:
  /// finite, and like the entry that the cursor is at.
  void examine(std::int32_t i, std::int32_t begin, Offset* cursor, MirroredPairs& found) const {
    constexpr bool may_be_alike = !ScalarTraits<Scalar>::is_complex;
    std::int32_t const* const columns = this->columns;
    double const most = (1 + rounding_of<Scalar>)*this->roots[i];
    for (Offset k = this->offsets[i]; k < above[i]; ++k) {
      std::int32_t const j = columns[k];
      double const size = largest_part(Wide<Scalar>(this->values[k]));
      bool const is_usual = may_be_alike && size <= this->greatest;
      if (j == i) {
        if (!is_usual) this->look_at(i, i, k, k, true, found);
        return;
      }
      Offset const last = this->offsets[j + 1];
      Offset at = cursor[j];
      if (at == unset || (at < last && columns[at] < i)) at = moved(at, i, j, begin, found);
      bool const is_paired = at < last && columns[at] == i;
      cursor[j] = at + is_paired;
      if (is_usual && is_paired && this->values[k] == this->values[at] &&
          size <= most * this->roots[j])
        ++found.paired;
      else
        this->look_at(i, j, k, at, is_paired, found);
    }
  }
  /// \brief A cursor of row j, moved to column i or beyond.
  Offset moved(Offset at, std::int32_t i, std::int32_t j, std::int32_t begin,
               MirroredPairs& found) const {
    Offset const last = this->offsets[j + 1];
    if (at == unset) at = place_of(this->columns, above[j], last, begin);
    for (; at < last && this->columns[at] < i; ++at)
      this->look_at(j, this->columns[at], at, at, false, found);
    return at;
  }
};

/// \brief What the rows of a matrix show of its diagonal.
struct DiagonalFacts {
  static constexpr std::int32_t none = Kokkos::Experimental::finite_max_v<std::int32_t>;
  std::int32_t missing = none, zero = none, negative = none, not_real = none;  ///< the first rows
  std::int32_t disordered = 0;  ///< 1 if a row was seen whose columns do not ascend
  std::int64_t upper = 0;       ///< entries above the diagonal, if they ascend

  /// \brief Takes the diagonal entry of row i, 0 if it is not stored.
  /// \param above entries of the row above the diagonal
  template <class Wide>
  KOKKOS_INLINE_FUNCTION void add(std::int32_t i, bool is_there, Wide const& entry,
                                  std::int64_t above, bool ascends) {
    double const real = real_part(entry);
    if (!is_there) missing = Kokkos::min(missing, i);
    if (is_there && real == 0) zero = Kokkos::min(zero, i);
    if (real < 0) negative = Kokkos::min(negative, i);
    if (imaginary_part(entry) != 0) not_real = Kokkos::min(not_real, i);
    upper += above;
    disordered |= !ascends;
  }
  /// \brief Takes those of other rows.
  KOKKOS_INLINE_FUNCTION void join(DiagonalFacts const& others) {
    missing = Kokkos::min(missing, others.missing);
    zero = Kokkos::min(zero, others.zero);
    negative = Kokkos::min(negative, others.negative);
    not_real = Kokkos::min(not_real, others.not_real);
    disordered |= others.disordered;
    upper += others.upper;
  }
  DiagonalSigns signs() const {
    auto const or_none = [](std::int32_t row) { return row == none ? -1 : row; };
    return {or_none(missing), or_none(zero), or_none(negative), or_none(not_real)};
  }
};

/// \brief Finds the diagonal of a matrix whose rows ascend. For others, only `disordered` is
/// meaningful. Leaves the root of |a_ii|, or 0 if that is not stored, and where what is above the
/// diagonal begins.
template <class Scalar, class Offset>
struct DiagonalKernel {
  using value_type = DiagonalFacts;

  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  double* roots;
  Offset* above;
  bool bisects;  ///< rows, and does not see whether they ascend; else it reads them

  KOKKOS_FUNCTION void init(DiagonalFacts& facts) const { facts = DiagonalFacts(); }
  KOKKOS_FUNCTION void join(DiagonalFacts& facts, DiagonalFacts const& others) const {
    facts.join(others);
  }
  KOKKOS_FUNCTION void operator()(std::int32_t i, DiagonalFacts& facts) const {
    Offset const begin = offsets[i], end = offsets[i + 1];
    Offset place = begin;
    bool ascends = true;
    if (bisects) {
      place = place_of(columns, begin, end, i);
    } else {
      std::int32_t before = -1;
      for (Offset k = begin; k < end; ++k) {
        place += columns[k] < i;
        ascends = ascends && columns[k] > before;
        before = columns[k];
      }
    }
    bool const is_there = place < end && columns[place] == i;
    Wide<Scalar> const entry(is_there ? values[place] : Scalar{});
    Offset const count_above = end - place - is_there;
    roots[i] = Kokkos::sqrt(largest_part(entry));
    above[i] = end - count_above;
    facts.add(i, is_there, entry, count_above, ascends);
  }
};

/// \brief The diagonal of a matrix: see DiagonalKernel.
template <class Offset>
struct Diagonal {
  DiagonalFacts facts;
  double const* roots;
  Offset const* above;
};

/// \brief Finds it; into these arrays.
/// \param bisects see DiagonalKernel
template <class Exec, class Scalar, class Offset>
Diagonal<Offset> find_diagonal(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                               double* roots, Offset* above, bool bisects) {
  Diagonal<Offset> found{{}, roots, above};
  Kokkos::parallel_reduce(
      "Solder::symmetry::diagonal", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      DiagonalKernel<Scalar, Offset>{A.row_offsets().data(), A.column_indices().data(),
                                     A.values().data(), roots, above, bisects},
      found.facts);
  return found;
}

/// \brief How many walks go through a matrix at once; 0: each entry's mirror image is searched.
///
/// A walk needs a cursor for each row; devices, and more than 16 threads, search instead.
template <class Exec>
std::int64_t walks_of(Exec const& exec) {
  constexpr int most = 16;
  if constexpr (is_host_space<Exec>)
    if (int const threads = exec.concurrency(); threads <= most) return threads;
  return 0;
}

/// \brief What examines the pairs of a square matrix whose rows ascend.
/// \param roots of |a_ii|
template <class Exec, class Scalar, class Offset>
MirrorImages<Scalar, Offset> mirror_images(CsrMatrix<Scalar, Exec, Offset> const& A,
                                           double const* roots) {
  return {A.row_offsets().data(),
          A.column_indices().data(),
          A.values().data(),
          roots,
          A.rows(),
          A.nonzeros()};
}

/// \brief Runs a kernel for each part of a matrix.
/// \param result a variable of the host, which is waited for; or a View
template <class Exec, class Kernel, class Result>
void examine_pairs(Exec const& exec, std::int64_t parts, Kernel const& kernel, Result&& result) {
  Kokkos::parallel_reduce(
      "Solder::symmetry::pairs",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, parts), kernel, result);
}

/// \brief Examines the pairs of a square matrix by searches. If its rows do not ascend, only
/// `disordered` is meaningful.
template <class Exec, class Scalar, class Offset, class Result>
void search_pairs(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A, double const* roots,
                  Result&& result) {
  // The searches of a thread wait for each other: on a GPU the entries of a small matrix have one
  // each. (Kokkos 4.6 reduces with 256 x 256 threads.)
  constexpr std::int64_t threads = 65'536, most = is_host_space<Exec> ? 1024 : 8,
                         least = is_host_space<Exec> ? most : 1;
  std::int64_t const share = std::clamp(A.nonzeros() / threads, least, most);
  examine_pairs(exec, (A.nonzeros() + share - 1) / share,
                SearchKernel<Scalar, Offset>{mirror_images(A, roots), share}, result);
}

/// \brief The same by walks, on hosts; its rows must ascend.
template <class Exec, class Scalar, class Offset>
MirroredPairs walk_through_pairs(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                                 Diagonal<Offset> const& diagonal, std::int64_t walks) {
  auto const cursors = allocate<Offset>(exec, "Solder::symmetry::cursors",
                                        static_cast<std::size_t>(walks) * A.rows());
  WalkKernel<Scalar, Offset> walk{
      {mirror_images(A, diagonal.roots)}, diagonal.above, cursors.data(), walks};
  MirroredPairs pairs;
  examine_pairs(exec, walks, walk, pairs);
  walk.goes_on = true;
  if (diagonal.facts.upper <= pairs.paired) return pairs;
  MirroredPairs others;
  examine_pairs(exec, walks, walk, others);
  pairs.join(others);
  return pairs;
}

/// \brief Examines the pairs of a square matrix by walks, or by searches if there are none. Not at
/// all if the diagonal has shown that rows do not ascend.
template <class Exec, class Scalar, class Offset>
MirroredPairs mirrored_pairs(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                             Diagonal<Offset> const& diagonal, std::int64_t walks) {
  MirroredPairs pairs;
  if (diagonal.facts.disordered != 0) return pairs;
  if constexpr (is_host_space<Exec>)
    if (walks > 0) return walk_through_pairs(exec, A, diagonal, walks);
  search_pairs(exec, A, diagonal.roots, pairs);
  return pairs;
}

/// \brief A Symmetry, and what else was seen.
struct SymmetryFacts {
  Symmetry symmetry;
  bool is_ordered = false;    ///< the columns of each row ascend
  std::int64_t outsized = 0;  ///< of MirroredPairs; of an ordered matrix alone
  std::int64_t unpaired = 0;  ///< of MirroredPairs
};

/// \brief What the pairs of a square matrix say. If its rows do not ascend, a sorted copy is
/// examined.
/// \param pairs not looked at if the diagonal has shown that rows do not ascend
template <class Scalar, class Exec, class Offset>
SymmetryFacts symmetry_of(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A,
                          DiagonalFacts const& diagonal, MirroredPairs pairs) {
  SymmetryFacts facts;
  Symmetry& symmetry = facts.symmetry;
  symmetry.is_complex = ScalarTraits<Scalar>::is_complex;
  symmetry.is_square = true;
  symmetry.diagonal = diagonal.signs();
  facts.is_ordered = diagonal.disordered == 0 && pairs.disordered == 0;
  if (facts.is_ordered) {
    facts.outsized = pairs.outsized;
  } else {
    auto const sorted =
        sum_duplicates(exec, conjugate_transpose(exec, conjugate_transpose(exec, A)));
    auto const roots = allocate<double>(exec, "Solder::symmetry::diagonal", A.rows());
    auto const above = allocate<Offset>(exec, "Solder::symmetry::above", A.rows());
    auto const of_sorted = find_diagonal(exec, sorted, roots.data(), above.data(), true);
    symmetry.diagonal = of_sorted.facts.signs();
    pairs = mirrored_pairs(exec, sorted, of_sorted, walks_of(exec));
  }
  symmetry.is_finite = pairs.infinite == 0;
  symmetry.pattern = pairs.unpaired == 0;
  facts.unpaired = pairs.unpaired;
  symmetry.hermitian = pairs.hermitian.template agreement<Scalar>();
  symmetry.symmetric = ScalarTraits<Scalar>::is_complex
                           ? pairs.symmetric.template agreement<Scalar>()
                           : symmetry.hermitian;
  return facts;
}

}  // namespace Impl

/// \brief Checks whether A is symmetric or Hermitian, as CG, IC(0), FSAI, Amg and Chebyshev assume;
/// see Symmetry. Solvers do not check this themselves.
///
///     Solder::Symmetry const symmetry = Solder::check_symmetry(exec, A);
///     if (!symmetry.hermitian.holds()) std::cerr << describe(symmetry) << "\n";
///
/// Entries of a row may be in any order, and duplicates count as their sum. The difference of a
/// pair is relative to the largest of |a_ij|, |a_ji| and sqrt(|a_ii a_jj|) (for complex numbers,
/// the larger part). holds() accepts up to 1000 times the scalar's epsilon. sqrt(|a_ii a_jj|)
/// bounds the rounding in an assembled matrix: if A is a sum of positive semidefinite matrices, the
/// terms of a_ij add up to at most sqrt(a_ii a_jj), however much they cancel. So the verdict does
/// not change if A is scaled from both sides. (Among 94 matrices of collections whose files store
/// both halves, five are within 250 epsilons; the next is at 1e-5.)
///
/// If the columns of each row ascend, this takes two kernels: one finds the diagonal, the other
/// a_ji for each entry a_ij. On a host of up to 16 threads each thread walks through rows of its
/// own in order, with a cursor in each row that only moves forward: so the time grows with the
/// entries alone. 8 bytes and an offset per row are allocated meanwhile, and an offset per row and
/// thread. Where the places of entries are not symmetric, a third kernel goes on to the end of each
/// row. Elsewhere threads bisect the columns of a row, which are usually cached, for each entry. If
/// columns do not ascend, two transposes sort a copy (with doubles, 32 bytes per entry meanwhile),
/// of which the two kernels run. It waits for the device. The result is the same every time, and
/// for every number of threads.
/// \ingroup matrices
template <class Scalar, class Exec, class Offset>
Symmetry check_symmetry(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& A) {
  if (A.rows() != A.columns()) {
    Symmetry none;
    none.is_complex = ScalarTraits<Scalar>::is_complex;
    return none;
  }
  auto const roots = Impl::allocate<double>(exec, "Solder::symmetry::diagonal", A.rows());
  auto const above = Impl::allocate<Offset>(exec, "Solder::symmetry::above", A.rows());
  std::int64_t const walks = Impl::walks_of(exec);  // 0: a search sees whether columns ascend
  auto const diagonal = Impl::find_diagonal(exec, A, roots.data(), above.data(), walks == 0);
  auto const pairs = Impl::mirrored_pairs(exec, A, diagonal, walks);
  return Impl::symmetry_of(exec, A, diagonal.facts, pairs).symmetry;
}

}  // namespace Solder
