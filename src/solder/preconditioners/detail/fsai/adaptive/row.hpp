// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/detail/fsai/adaptive/table.hpp>
#include <solder/preconditioners/detail/fsai/filter.hpp>

namespace Solder {

/// \brief How the rows of an adaptive FSAI grow. The caller must have checked the ranges.
struct AdaptiveOptions {
  std::int32_t steps;             ///< most steps, >= 0
  std::int32_t entries_per_step;  ///< >= 1
  double improvement;          ///< a row is done when a step lowers its psi by this share or less
  double delta;                ///< postfiltration: |g_ij| <= delta ||g_i|| is dropped
  double energy_limit = 0.03;  ///< for the dropped part of a row; see FsaiOptions
};

namespace Impl {

/// \brief What the work on every row reads: the matrix, the options and where the rows go.
template <class Scalar, class Factor, class Offset>
struct AdaptiveJob {
  Offset const* offsets;
  std::int32_t const* columns;
  Scalar const* values;
  typename ScalarTraits<Scalar>::Real const* diagonal;  ///< real parts
  AdaptiveOptions options;
  std::int32_t most;  ///< most off-diagonal entries of a row
  std::int32_t first;
  std::int32_t* out_columns;  ///< most + 1 per row, from row `first` on
  Factor* out_values;
  std::int32_t* out_counts;
};

/// \brief All the work for one row. All lanes call its functions together.
template <class Scalar, class Exec, class Factor, class Offset>
struct AdaptiveRow {
  using Number = Wide<Scalar>;
  static constexpr int width = AdaptiveLanes<Exec>::count;

  AdaptiveJob<Scalar, Factor, Offset> const& job;
  AdaptiveMemory<Number, Offset> memory;
  AdaptiveTable<Exec, Number, Offset> table;
  AdaptiveLanes<Exec> lanes;
  std::int32_t i;
  std::int32_t size = 0;  ///< of P
  double psi = 0;

  enum class End { written, repaired, table_full };

  KOKKOS_FUNCTION End work() {
    double const diagonal = static_cast<double>(job.diagonal[i]);
    psi = diagonal;
    bool sound = is_positive(psi);
    double lowered = 0;  // ||y||^2
    for (std::int32_t step = 0; sound && step < job.options.steps; ++step) {
      if (!gradients()) return End::table_full;
      std::int32_t const added = choose();
      if (added == 0) break;
      sound = extend(added, lowered);
      double const before = psi;
      psi = diagonal - lowered;
      sound = sound && is_positive(psi);
      if (!sound) break;
      solve();
      if (before - psi <= job.options.improvement * before) break;
    }
    if (sound && write()) return End::written;
    repair();
    return End::repaired;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static bool is_positive(double value) {
    return value > 0 && Kokkos::isfinite(value);
  }

  /// \brief The place of a row of A, and this lane's first entry of it.
  struct Row {
    Offset begin;
    std::int32_t length, column;
    Scalar value;
  };

  /// \brief Row i of A if s = 0, else the row of member s - 1.
  KOKKOS_FORCEINLINE_FUNCTION Row row_of_A(std::int32_t s) const {
    Row row{memory.begins()[s], memory.lengths()[s], 0, Scalar{}};
    if (lanes.lane < row.length) {
      row.column = job.columns[row.begin + lanes.lane];
      row.value = job.values[row.begin + lanes.lane];
    }
    return row;
  }

  /// \brief Called by one lane: looks up where row number s of row_of_A is.
  KOKKOS_FORCEINLINE_FUNCTION void find_row(std::int32_t s, std::int32_t row) const {
    memory.begins()[s] = job.offsets[row];
    memory.lengths()[s] = static_cast<std::int32_t>(job.offsets[row + 1] - job.offsets[row]);
  }

  /// \brief Computes (A gtilde^H)_j of all candidates j, row by row of {i} u P. Each row is loaded
  /// while the one before it is processed. False if the table is full.
  KOKKOS_FORCEINLINE_FUNCTION bool gradients() const {
    if (size == 0 && lanes.lane == 0) find_row(0, i);
    table.for_each_candidate([](std::int32_t, Number& sum) { sum = Number{}; });
    lanes.sync();
    Row next = row_of_A(0);
    bool room = true;  // this lane has not found the table full
    for (std::int32_t s = 0; s <= size; ++s) {
      Row const row = next;
      if (s < size) next = row_of_A(s + 1);
      Number const weight = s == 0 ? Number(1) : memory.u()[s - 1];
      if (room && lanes.lane < row.length) room = add_entry(row.column, row.value, weight);
      for (std::int32_t k = lanes.lane + width; room && k < row.length; k += width)
        room = add_entry(job.columns[row.begin + k], job.values[row.begin + k], weight);
      lanes.sync();
    }
    return !table.is_full();
  }

  KOKKOS_FORCEINLINE_FUNCTION bool add_entry(std::int32_t column, Scalar const& value,
                                             Number const& weight) const {
    return column >= i ||
           table.add(static_cast<std::uint32_t>(column), conjugate(Number(value)) * weight);
  }

  /// \brief Appends the candidates with the largest |gradient|^2 / a_jj, if positive and finite, to
  /// the members of P. Returns their number.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t choose() const {
    std::int32_t added = 0;
    for (; added < job.options.entries_per_step; ++added) {
      double best = 0;
      std::int32_t at = -1;
      table.for_each_candidate([&](std::int32_t column, Number& sum) {
        // Only the first pass finds a gradient, which it replaces by the score.
        double score = real_part(sum);
        if (added == 0) {
          score = abs_squared(sum) / static_cast<double>(job.diagonal[column]);
          if (!Kokkos::isfinite(score)) score = 0;
          sum = Number(score);
        }
        take_better(best, at, score, column);
      });
      for (int m = width / 2; m > 0; m /= 2) {
        double const score = lanes.exchange(best, m);
        take_better(best, at, score, lanes.exchange(at, m));
      }
      if (at < 0) break;
      lanes.sync();  // the score lies where the place is to be
      if (lanes.lane == 0) table.mark(static_cast<std::uint32_t>(at), size + added);
      lanes.sync();
    }
    return added;
  }

  /// \brief Keeps the larger score; among equal scores, the larger column.
  KOKKOS_FORCEINLINE_FUNCTION static void take_better(double& best, std::int32_t& at, double score,
                                                      std::int32_t column) {
    if (score > best || (score == best && score > 0 && column > at)) {
      best = score;
      at = column;
    }
  }

  /// \brief Computes the rows of L and the entries of y for `added` members after the first `size`,
  /// which then includes them. Adds |y|^2 to lowered. False if a pivot is not positive.
  KOKKOS_FORCEINLINE_FUNCTION bool extend(std::int32_t added, double& lowered) {
    for (std::int32_t k = lanes.lane; k < added; k += width)
      find_row(size + k + 1, memory.members()[size + k]);
    lanes.sync();
    Row next = row_of_A(size + 1);
    for (std::int32_t const grown = size + added; size < grown; ++size) {
      Row const row = next;
      if (size + 1 < grown) next = row_of_A(size + 2);
      double const diagonal = static_cast<double>(job.diagonal[memory.members()[size]]);
      gather(row);
      if (!eliminate(diagonal, lowered)) return false;
    }
    return true;
  }

  /// \brief Copies A[q,P] and A[q,i] of the member q at place `size` to where L and y will be.
  KOKKOS_FORCEINLINE_FUNCTION void gather(Row const& row) const {
    Number* const row_of_L = memory.row_of_L(size);
    for (std::int32_t j = lanes.lane; j < size; j += width) row_of_L[j] = Number{};
    if (lanes.lane == 0) memory.y()[size] = Number{};
    lanes.sync();
    auto const put = [&](std::int32_t column, Scalar const& value) {
      if (column > i) return;
      if (column == i) {
        memory.y()[size] = Number(value);
      } else {
        std::int32_t const place = table.place(static_cast<std::uint32_t>(column));
        if (place >= 0 && place < size) row_of_L[place] = Number(value);
      }
    };
    if (lanes.lane < row.length) put(row.column, row.value);
    for (std::int32_t k = lanes.lane + width; k < row.length; k += width)
      put(job.columns[row.begin + k], job.values[row.begin + k]);
    lanes.sync();
  }

  /// \brief Computes the row of L and the entry of y from what gather left there.
  KOKKOS_FORCEINLINE_FUNCTION bool eliminate(double diagonal, double& lowered) const {
    Number* const row = memory.row_of_L(size);
    double norm = 0;
    Number product{};
    for (std::int32_t block = 0; block < size; block += width) {
      std::int32_t const j = block + lanes.lane, stop = size - block < width ? size : block + width;
      bool const mine = j < size;
      Number const* const row_j = memory.row_of_L(mine ? j : 0);
      Number rest = mine ? row[j] : Number{}, solved{};
      if (mine)
        for (std::int32_t k = 0; k < block; ++k) rest -= row[k] * conjugate(row_j[k]);
      for (std::int32_t k = block; k < stop; ++k) {
        Number const x = lanes.broadcast(rest, k - block) * memory.inverse()[k];
        if (j == k) solved = x;
        if (mine && j > k) rest -= x * conjugate(row_j[k]);
      }
      if (mine) {
        row[j] = solved;
        norm += abs_squared(solved);
        product += solved * memory.y()[j];
      }
      lanes.sync();
    }
    lanes.sum(norm, product);
    double const pivot = diagonal - norm;
    if (!is_positive(pivot)) return false;
    double const inverse = 1 / Kokkos::sqrt(pivot);
    Number const y = (memory.y()[size] - product) * inverse;
    lowered += abs_squared(y);
    lanes.sync();
    if (lanes.lane == 0) {
      memory.inverse()[size] = inverse;
      memory.y()[size] = y;
    }
    lanes.sync();
    return true;
  }

  /// \brief u = -L^-H y.
  KOKKOS_FORCEINLINE_FUNCTION void solve() const {
    for (std::int32_t block = (size - 1) / width * width; block >= 0; block -= width) {
      std::int32_t const j = block + lanes.lane, stop = size - block < width ? size : block + width;
      bool const mine = j < size;
      Number rest = mine ? -memory.y()[j] : Number{}, solved{};
      for (std::int32_t k = stop; k < size; ++k)
        rest -= conjugate(memory.row_of_L(k)[j]) * memory.u()[k];
      for (std::int32_t k = stop - 1; k >= block; --k) {
        Number const x = lanes.broadcast(rest, k - block) * memory.inverse()[k];
        if (j == k) solved = x;
        if (j < k) rest -= conjugate(memory.row_of_L(k)[j]) * x;
      }
      if (mine) memory.u()[j] = solved;
      lanes.sync();
    }
  }

  /// \brief Filters, scales, sorts and writes the row. False if a value is not finite.
  KOKKOS_FORCEINLINE_FUNCTION bool write() const {
    double squares = 0;
    for (std::int32_t k = lanes.lane; k < size; k += width) squares += abs_squared(memory.u()[k]);
    lanes.sum(squares);
    fsai::RowFilter filter({job.options.delta, job.options.energy_limit});
    std::int32_t dropped = 0;
    double energy = 0;
    do {
      dropped = 0;
      for (std::int32_t k = lanes.lane; k < size; k += width) {
        std::int32_t& column = memory.members()[k];
        bool const drop = filter.drops(abs_squared(memory.u()[k]), 1 + squares);
        if (drop != (column < 0)) column = ~column;
        dropped += drop;
      }
      lanes.sum(dropped);
      lanes.sync();
      energy = dropped > 0 ? dropped_energy() : 0;
      lanes.sync();
    } while (filter.eases(energy / psi));
    double const scale = 1 / Kokkos::sqrt(psi + energy);

    auto const base = static_cast<std::int64_t>(i - job.first) * (job.most + 1);
    std::int32_t not_finite = is_positive(scale) ? 0 : 1;
    for (std::int32_t k = lanes.lane; k < size; k += width) {
      std::int32_t const column = memory.members()[k];
      if (column < 0) continue;
      std::int64_t at = base;
      for (std::int32_t other = 0; other < size; ++other)
        at += memory.members()[other] >= 0 && memory.members()[other] < column;
      Factor const value = narrow<Factor>(conjugate(memory.u()[k]) * scale);
      job.out_columns[at] = column;
      job.out_values[at] = value;
      if (!is_finite(Number(value))) ++not_finite;
    }
    std::int32_t const kept = size - dropped;
    if (lanes.lane == 0) {
      Factor const value = narrow<Factor>(Number(scale));
      job.out_columns[base + kept] = i;
      job.out_values[base + kept] = value;
      job.out_counts[i - job.first] = kept + 1;
      if (!is_finite(Number(value))) ++not_finite;
    }
    lanes.sync();
    lanes.sum(not_finite);
    return not_finite == 0;
  }

  /// \brief ||eps L||^2 for the dropped part eps of gtilde.
  KOKKOS_FORCEINLINE_FUNCTION double dropped_energy() const {
    double energy = 0;
    for (std::int32_t j = lanes.lane; j < size; j += width) {
      Number entry{};
      if (memory.members()[j] < 0) entry = conjugate(memory.u()[j]) / memory.inverse()[j];
      for (std::int32_t k = j + 1; k < size; ++k)
        if (memory.members()[k] < 0) entry += conjugate(memory.u()[k]) * memory.row_of_L(k)[j];
      energy += abs_squared(entry);
    }
    lanes.sum(energy);
    return energy;
  }

  /// \brief Writes a diagonal row: 1 / sqrt|a_ii|, or 1 if that is not a number.
  KOKKOS_FORCEINLINE_FUNCTION void repair() const {
    if (lanes.lane != 0) return;
    auto const base = static_cast<std::int64_t>(i - job.first) * (job.most + 1);
    double const magnitude = Kokkos::abs(static_cast<double>(job.diagonal[i]));
    Factor const value = narrow<Factor>(Number(1 / Kokkos::sqrt(magnitude)));
    bool const good = is_positive(magnitude) && is_positive(real_part(Number(value)));
    job.out_columns[base] = i;
    job.out_values[base] = good ? value : Factor(1);
    job.out_counts[i - job.first] = 1;
  }
};

}  // namespace Impl
}  // namespace Solder
