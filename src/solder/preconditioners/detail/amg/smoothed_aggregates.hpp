// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/matrix/product.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>

namespace Solder::Impl::amg {

/// \brief Rows of (I - omega D^-1 F) T on a GPU, where T is tentative() of aggregates: their
/// lengths, or their entries. A lane for each entry of a row of A. A lane of the group gets one
/// column of the row, and adds its terms in the order of A's row, as product() does.
template <class Scalar, class Exec>
struct SmoothedRows {
  KeptEntries<Scalar> kept;
  std::int32_t const* aggregate;  ///< of each row; -1: none
  double omega;
  std::int32_t lane_bits;
  std::int32_t* lengths = nullptr;  ///< null: compute the entries
  std::int32_t const* offsets = nullptr;
  std::int32_t* columns = nullptr;
  Scalar* values = nullptr;

  KOKKOS_FUNCTION void operator()(std::int64_t id) const {
    auto const& A = kept.A;
    auto const in_warp = static_cast<std::int32_t>(id & (warp - 1));
    RowGroup<Exec> const group{in_warp, in_warp & ((1 << lane_bits) - 1), 1 << lane_bits};
    auto const i = static_cast<std::int32_t>(id >> lane_bits);
    bool const exists = i < A.rows.count;  // the groups of a warp stay together
    std::int32_t const k = exists ? A.row_offsets[i] + group.rank() : 0;
    bool const has_entry = exists && k < A.row_offsets[i + 1],
               is_kept = has_entry && kept.is_strong(i, k);
    std::int32_t const j = has_entry ? A.columns[k] : -1;
    Scalar const entry = has_entry && lengths == nullptr ? A.values[k] : Scalar{};

    std::int32_t left = is_kept ? aggregate[j] : -1, column = -1, length = 0;
    std::uint32_t terms = 0;  // the lanes with those of `column`
    while (lane_votes(left >= 0) != 0) {
      std::uint32_t const lanes = group.votes(left >= 0);
      std::int32_t const next = group.value(left, lowest_of(group, lanes));
      if (lanes == 0) continue;
      std::uint32_t const same = group.votes(left == next);
      if (length == group.rank()) {
        column = next;
        terms = same;
      }
      if (left == next) left = -1;
      ++length;
    }
    if (lengths != nullptr) {
      if (exists && group.rank() == 0) lengths[i] = length;
      return;
    }

    bool const is_diagonal = has_entry && j == i, is_weak = has_entry && !is_kept;
    std::uint32_t const diagonal = group.votes(is_diagonal);
    double weak = 0;
    if (lane_votes(is_weak) != 0) weak = group.sum(is_weak ? real_part(entry) : 0);
    SmoothingRow const row(group.value(real_part(entry), lowest_of(group, diagonal)), weak, omega,
                           group.votes(is_kept && !is_diagonal) != 0);
    Scalar const term = row.entry(is_diagonal, entry);
    Scalar sum{};
    for (std::uint32_t rest = terms; lane_votes(rest != 0) != 0; rest &= rest - 1) {
      Scalar const next = group.value(term, lowest_of(group, rest));
      if (rest != 0) sum = rest == terms ? next : rounded_sum(sum, next);
    }
    std::int32_t place = 0;
    for (std::int32_t t = 0; lane_votes(t < length) != 0; ++t) {
      std::int32_t const other = group.value(column, t & (group.size() - 1));
      place += t < length && other < column;
    }
    if (exists && group.rank() < length) {
      columns[offsets[i] + place] = column;
      values[offsets[i] + place] = sum;
    }
  }

 private:
  /// \brief The lowest of these lanes of the group; any, where there is none.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t lowest_of(RowGroup<Exec> const& group,
                                                            std::uint32_t lanes) {
    return bits_set((lanes & -lanes) - 1) & (group.size() - 1);
  }
};

/// \brief Whether smoothed_aggregates() takes this matrix: if a warp has a lane for each entry of a
/// row, and more than a quarter of the lanes have one. (On a host the same in two passes took up to
/// 1.7 times as long as the product.)
template <class Scalar, class Exec>
bool can_be_smoothed_at_once(CsrMatrix<Scalar, Exec> const& A) {
  return A.longest_row() <= warp &&
         row_lane_bits<Exec>(1, A.longest_row()) <= row_lane_bits<Exec>(A.rows(), A.nonzeros()) + 1;
}

/// \brief (I - omega D^-1 F) T, as the product of smoothing() and tentative(), without storing
/// either: on GPUs, where can_be_smoothed_at_once(). \param strong per entry of A: whether it
/// couples strongly \param known the pattern, if it is
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> smoothed_aggregates(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                            char const* strong, Aggregates<Exec> const& aggregates,
                                            double omega, ProductPattern<Exec> const* known) {
  std::int32_t const n = A.rows();
  SmoothedRows<Scalar, Exec> rows{{{A.device_operator(), strong}},
                                  aggregates.of_row.data(),
                                  omega,
                                  row_lane_bits<Exec>(1, A.longest_row())};
  auto const run = [&](char const* label) {
    std::int64_t const lanes = (std::int64_t(n) << rows.lane_bits) + warp - 1;
    Kokkos::parallel_for(
        label,
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, lanes / warp * warp),
        rows);
  };
  auto const counted = [&]() -> ProductPattern<Exec> {
    auto const offsets =
        allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
    rows.lengths = offsets.data();
    run("Solder::amg::smoothed_lengths");
    auto const totals =
        offsets_of_lengths(exec, offsets.data(), n, LengthsInArray<std::int32_t>{rows.lengths});
    check_entries<CsrMatrix<Scalar, Exec>>(totals.nonzeros);
    return {offsets, totals.nonzeros, totals.longest};
  };
  return computed(exec, rows, n, aggregates.count, known != nullptr ? *known : counted(),
                  [&](std::int32_t) { run("Solder::amg::smoothed_aggregates"); });
}

}  // namespace Solder::Impl::amg
