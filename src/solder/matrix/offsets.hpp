// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Row offsets from the lengths of rows.

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief The nonzeros of all rows, and of the longest row.
struct RowTotals {
  std::int64_t nonzeros;
  std::int32_t longest;
};

/// \brief The most entries of a row that is not far longer than the others, of `mean` entries on
/// average. Coarse grids and the patterns of approximate inverses fill up from longer ones.
constexpr double longest_even_row(double mean) { return 20 * mean + 50; }

/// \brief The scan that computes offsets.
template <class Offset, class LengthOf>
struct OffsetsKernel {
  using value_type = RowTotals;

  LengthOf length_of;
  Offset* offsets;
  std::int32_t rows;

  KOKKOS_FUNCTION void init(RowTotals& totals) const { totals = {0, 0}; }
  KOKKOS_FUNCTION void join(RowTotals& totals, RowTotals const& others) const {
    totals.nonzeros += others.nonzeros;
    totals.longest = Kokkos::max(totals.longest, others.longest);
  }
  KOKKOS_FUNCTION void operator()(std::int32_t i, RowTotals& before, bool last) const {
    std::int32_t const length = i < rows ? length_of(i) : 0;
    if (last) offsets[i] = static_cast<Offset>(before.nonzeros);
    join(before, {length, length});
  }
};

/// \brief Computes the offsets of rows with these lengths: offsets[0] to offsets[rows]. One scan;
/// waits for it. length_of(i) may read the length of row i from offsets[i].
template <class Exec, class Offset, class LengthOf>
RowTotals offsets_of_lengths(Exec const& exec, Offset* offsets, std::int32_t rows,
                             LengthOf const& length_of) {
  RowTotals totals{0, 0};
  Kokkos::parallel_scan("Solder::csr::offsets", Kokkos::RangePolicy<Exec>(exec, 0, rows + 1),
                        OffsetsKernel<Offset, LengthOf>{length_of, offsets, rows}, totals);
  exec.fence("Solder::csr: the offsets are known");
  return totals;
}

/// \brief The lengths in an array, as a length_of.
template <class Length>
struct LengthsInArray {
  Length const* lengths;

  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t i) const {
    return static_cast<std::int32_t>(lengths[i]);
  }
};

/// \brief The lengths that these offsets were computed from, in an array of the same size. Correct
/// even if the offsets overflowed, because they wrap around. One kernel.
template <class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<std::int32_t, Exec> lengths_of_offsets(
    Exec const& exec, DeviceArray<std::int32_t, Exec> const& offsets, std::int32_t rows) {
  auto const lengths = allocate<std::int32_t>(exec, "Solder::csr::row_offsets", offsets.extent(0));
  std::int32_t const* const from = offsets.data();
  std::int32_t* const to = lengths.data();
  Kokkos::parallel_for(
      "Solder::csr::lengths", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int32_t i) {
        to[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[i + 1]) -
                                          static_cast<std::uint32_t>(from[i]));
      });
  return lengths;
}

}  // namespace Solder::Impl
