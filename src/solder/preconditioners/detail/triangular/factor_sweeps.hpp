// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include <solder/core/deadline.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/detail/triangular/factorise.hpp>

namespace Solder::Impl::triangular {

/// \brief A sweep of the fine-grained iteration for A = L U within the pattern of A (Chow and Patel
/// 2015). It computes all entries, in any order, from those of the sweep before:
///
///     v_ij = a_ij - sum over k < min(i, j) of v_ik v_kj / v_kk
///
/// On and above the diagonal, v is U; below it, v is L times U's diagonal, so that v stays
/// Hermitian if A is. The fixed point gives the factors. A row that needs rows of l levels is exact
/// after l sweeps. On GPUs a few lanes share a row. An entry takes one search for each entry of its
/// row's lower part. So elimination is faster for rows of dozens of entries, and in a pattern that
/// is not symmetric a row of thousands takes time proportional to the square of its length.
template <class Scalar>
struct FactorSweep {
  IncompleteRows<Scalar> const& of;
  bool symmetric;  ///< A's pattern

  /// \brief Computes `to` from `old`; if `old` is null, `to` is the initial guess, A.
  template <class Exec>
  SOLDER_MAKES_LAMBDAS void run(Exec const& exec, Scalar const* old, Scalar* to,
                                int lane_bits) const {
    auto const rows = of;
    bool const mirrors = symmetric;
    Kokkos::parallel_for(
        "Solder::incomplete::sweep", each_lane<Exec>(exec, rows.rows, lane_bits),
        KOKKOS_LAMBDA(std::int64_t t) {
          auto const i = static_cast<std::int32_t>(t >> lane_bits);
          std::int32_t const lane = static_cast<std::int32_t>(t) & ((1 << lane_bits) - 1);
          for (std::int32_t e = rows.offsets[i] + lane; e < rows.offsets[i + 1];
               e += 1 << lane_bits)
            to[e] = rows.swept(i, e, old, mirrors);
        });
  }

  /// \brief Computes the factors from the result of the last sweep; L has a unit diagonal. Returns
  /// the first row whose pivot is unusable, that is not finite, or for which the sweeps have not
  /// converged, or -1; waits for it. Sweeps may diverge although their pivots are good, so the
  /// pivot that one more sweep would give is checked too.
  template <class Exec>
  SOLDER_MAKES_LAMBDAS std::int32_t finish(Exec const& exec, Scalar const* swept, Scalar* to,
                                           int lane_bits) const {
    auto const rows = of;
    bool const mirrors = symmetric;
    std::int32_t const none = std::numeric_limits<std::int32_t>::max();
    std::int32_t wrong = none;
    Kokkos::parallel_reduce(
        "Solder::incomplete::finish", each_lane<Exec>(exec, rows.rows, lane_bits),
        KOKKOS_LAMBDA(std::int64_t t, std::int32_t & first) {
          auto const i = static_cast<std::int32_t>(t >> lane_bits);
          std::int32_t const lane = static_cast<std::int32_t>(t) & ((1 << lane_bits) - 1);
          for (std::int32_t e = rows.offsets[i] + lane; e < rows.offsets[i + 1];
               e += 1 << lane_bits) {
            std::int32_t const pivot = rows.diagonal[i];
            to[e] = e < pivot ? swept[e] / swept[rows.diagonal[rows.columns[e]]] : swept[e];
            bool const fine = e == pivot
                                  ? rows.is_fine(swept[e]) &&
                                        rows.is_near(swept[e], rows.swept(i, e, swept, mirrors))
                                  : is_finite(Wide<Scalar>(to[e]));
            if (!fine && i < first) first = i;
          }
        },
        Kokkos::Min<std::int32_t>(wrong));
    return wrong == none ? -1 : wrong;
  }

 private:
  template <class Exec>
  static auto each_lane(Exec const& exec, std::int32_t rows, int lane_bits) {
    return Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
        exec, 0, std::int64_t(rows) << lane_bits);
  }
};

/// \brief Factorises by `sweeps` sweeps. The factors are left in `rows.values`; `rows.work` is
/// workspace of the same size. Returns the first row, in the order of elimination, whose pivot is
/// unusable, or -1.
template <class Exec, class Scalar>
std::int32_t factorise_by_sweeps(Exec const& exec, IncompleteRows<Scalar> const& rows,
                                 std::int64_t entries, int sweeps, bool symmetric) {
  auto const mean = static_cast<std::uint32_t>((entries + rows.rows - 1) / rows.rows);
  int const lane_bits =
      is_host_space<Exec> ? 0 : std::bit_width(std::min<std::uint32_t>(mean, warp) - 1);
  FactorSweep<Scalar> const sweep{rows, symmetric};
  Scalar *to = sweeps % 2 == 0 ? rows.work : rows.values,
         *other = sweeps % 2 == 0 ? rows.values : rows.work;  // the last sweep writes to `work`
  sweep.run(exec, nullptr, to, lane_bits);
  for (int k = 0; k < sweeps; ++k) {
    if (Deadline::is_set()) exec.fence("Solder::incomplete: a sweep has ended");
    Deadline::check();
    sweep.run(exec, to, other, lane_bits);
    std::swap(to, other);
  }
  return sweep.finish(exec, rows.work, rows.values, lane_bits);
}

}  // namespace Solder::Impl::triangular
