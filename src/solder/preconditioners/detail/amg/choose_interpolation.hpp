// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/mix_bits.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief Rows that are looked at, and entries of each, at most. Entries (i, j) whose row j has
/// more than most_mirrored entries do not count.
inline constexpr std::int32_t rows_looked_at = 1024, entries_looked_at = 64, most_mirrored = 1000;
/// \brief A row is skew if its entries differ from those of A^H by more than this share of both
/// together: with an upwind scheme, if a cell has more than twice as much convection as diffusion.
/// A matrix is skew if more than skew_rows_of_matrix of the rows looked at are. With less,
/// aggregation takes more iterations, but less time ("The choice" in docs/preconditioners/amg.md).
inline constexpr double skew_share_of_row = 0.5, skew_rows_of_matrix = 0.3;

/// \brief Whether row i of A, without its diagonal entry, is far from that of A^H, as convection
/// makes it.
///
/// Rows that have nothing but a diagonal do not count, nor do entries in their columns: such rows
/// fix values at a boundary.
template <class Scalar>
struct SkewRow {
  CsrOperator<Scalar, std::int32_t> A;

  /// \brief Each lane of the group takes an entry at a time.
  template <class Exec>
  KOKKOS_FUNCTION bool operator()(RowGroup<Exec> const& group, std::int32_t i) const {
    std::int32_t const begin = A.row_offsets[i],
                       end = Kokkos::min(A.row_offsets[i + 1], begin + entries_looked_at);
    double different = 0, all = 0;
    for (std::int32_t k = begin + group.rank(); k < end; k += group.size()) {
      std::int32_t const j = A.columns[k];
      if (j == i) continue;
      Entry const mine = entry(i, j), mirrored = entry(j, i);
      if (!mine.counts || !mirrored.counts) continue;
      different += magnitude(mine.value - conjugated(mirrored.value));
      all += magnitude(mine.value) + magnitude(mirrored.value);
    }
    return group.sum(different) > skew_share_of_row * group.sum(all);
  }

 private:
  struct Entry {
    Scalar value{};
    bool counts = false;  ///< whether the row has entries beside its diagonal, and not too many
  };

  /// \brief a_ij, the sum where it is stored several times. The columns of a row are in any order.
  KOKKOS_FUNCTION Entry entry(std::int32_t i, std::int32_t j) const {
    Entry found;
    std::int32_t const begin = A.row_offsets[i], end = A.row_offsets[i + 1];
    if (end - begin > most_mirrored) return found;
    for (std::int32_t k = begin; k < end; ++k) {
      if (A.columns[k] == j) found.value += A.values[k];
      if (A.columns[k] != i && A.values[k] != Scalar{}) found.counts = true;
    }
    return found;
  }
};

/// \brief The interpolation that suits A: air if many rows are skew, else aggregation. Looks at a
/// sample of the rows, which is the same in each run; one kernel, which is waited for.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS AmgInterpolation choose_interpolation(Exec const& exec,
                                                           CsrMatrix<Scalar, Exec> const& A) {
  std::int32_t const n = A.rows(), step = std::max(1, n / rows_looked_at), count = n / step;
  SkewRow<Scalar> const is_skew{A.device_operator()};
  Counted<Exec> const skew(exec);
  auto const skew_rows = skew.view();
  Kokkos::deep_copy(exec, skew_rows, 0);
  for_each_row_group(
      exec, "Solder::amg::skew_rows", count, row_lane_bits<Exec>(n, A.nonzeros()),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t s) {
        auto const within = static_cast<std::int32_t>(mix_bits(static_cast<std::uint64_t>(s)) %
                                                      static_cast<std::uint64_t>(step));
        if (is_skew(group, s * step + within) && group.rank() == 0)
          Kokkos::atomic_inc(skew_rows.data());
      });
  return skew.get(exec) > skew_rows_of_matrix * count ? AmgInterpolation::air
                                                      : AmgInterpolation::aggregation;
}

}  // namespace Solder::Impl::amg
