// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>
#include <solder/preconditioners/detail/amg/nodes.hpp>

namespace Solder::Impl::amg {

/// \brief The tentative prolongator: row i has a 1 in the column of its aggregate, so the constant
/// is in its range. Rows without an aggregate are empty. Columns are not normalised: that would
/// only change the scale of the coarse unknowns.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> tentative(Exec const& exec,
                                                       Aggregates<Exec> const& aggregates) {
  auto const n = static_cast<std::int32_t>(aggregates.of_row.extent(0));
  std::int32_t const* const of_row = aggregates.of_row.data();
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  std::int32_t* const to = offsets.data();
  std::int64_t const total =
      offsets_of_lengths(
          exec, to, n, KOKKOS_LAMBDA(std::int32_t i)->std::int32_t { return of_row[i] >= 0; })
          .nonzeros;
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", total);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", total);
  std::int32_t* const to_columns = columns.data();
  Kokkos::parallel_for(
      "Solder::amg::tentative", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (of_row[i] >= 0) to_columns[to[i]] = of_row[i];
      });
  Kokkos::deep_copy(exec, values, Scalar(1));
  return {exec, n, aggregates.count, offsets, columns, values, {1}};
}

/// \brief \throws std::length_error if a matrix of the hierarchy has too many entries for its
/// offsets
template <class Matrix>
void check_entries(std::int64_t nonzeros) {
  if (nonzeros > Matrix::most_nonzeros)
    throw std::length_error("Solder::Amg: a matrix of the hierarchy has " +
                            std::to_string(nonzeros) + " nonzeros, too many for 32-bit offsets");
}

/// \brief The entries of a matrix that couple strongly, and its diagonal.
template <class Scalar>
struct KeptEntries : MarkedCoupling<Scalar> {
  KOKKOS_FORCEINLINE_FUNCTION bool is_strong(std::int32_t i, std::int32_t k) const {
    return this->A.columns[k] == i || MarkedCoupling<Scalar>::is_strong(i, k);
  }
};

/// \brief A row of I - omega D^-1 F.
class SmoothingRow {
 public:
  /// \param diagonal,weak the diagonal entry of A's row, and the sum of its weak couplings
  /// \param is_smoothed whether it is not that of I
  KOKKOS_FUNCTION SmoothingRow(double diagonal, double weak, double omega, bool is_smoothed) {
    double const filtered = diagonal + weak > 0.1 * diagonal ? diagonal + weak : diagonal;
    factor_ = filtered > 0 ? omega / filtered : 0;
    diagonal_ = is_smoothed ? 1 - factor_ * filtered : 1;
  }
  /// \brief The entry in place of one of A's row: of the diagonal, or of a strong coupling.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar entry(bool is_diagonal, Scalar const& of_A) const {
    return is_diagonal ? Scalar(to_real<Scalar>(diagonal_)) : to_real<Scalar>(-factor_) * of_A;
  }

 private:
  double diagonal_, factor_;
};

/// \brief I - omega D^-1 F, with an entry for the diagonal and for each strong coupling, in the
/// order of A's rows. F is A without its weak couplings; those of the same unknown of two nodes
/// (all, without nodes) are added to its diagonal if that stays clearly positive. Without nodes,
/// rows without strong couplings remain those of I. Each row of A has an entry on the diagonal.
/// \param nodes those of A's rows; none: `count` 0
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> smoothing(Exec const& exec,
                                                       CsrMatrix<Scalar, Exec> const& A,
                                                       Nodes<Exec> const& nodes,
                                                       Graph<Exec> const& graph, double omega) {
  std::int32_t const n = A.rows();
  KeptEntries<Scalar> const kept{{A.device_operator(), graph.strong.data()}};
  bool const has_nodes = nodes.count > 0;
  std::int32_t const *const node_of = nodes.of_row.data(), *const first_of = nodes.first.data();
  std::int32_t const* const strong = graph.offsets.data();
  std::int64_t const nonzeros = n + graph.size;
  check_entries<CsrMatrix<Scalar, Exec>>(nonzeros);
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", nonzeros);
  std::int32_t *const to = offsets.data(), *const to_columns = columns.data();
  Scalar* const to_values = values.data();
  Kokkos::parallel_for(
      "Solder::amg::smoothing_rows", Kokkos::RangePolicy<Exec>(exec, 0, n + 1),
      KOKKOS_LAMBDA(std::int32_t i) { to[i] = strong[i] + i; });
  for_each_row_group(
      exec, "Solder::amg::smoothing", n, row_lane_bits<Exec>(n, A.nonzeros()),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        std::int32_t const first = strong[i] + i, last = strong[i + 1] + i + 1;
        double diagonal = 0, weak = 0;
        for_each_coupling(group, kept, i, [&](std::int32_t k, std::int32_t place) {
          std::int32_t const j = kept.A.columns[k];
          Scalar const value = kept.A.values[k];
          if (j == i) diagonal = real_part(value);
          if (place >= 0) {
            to_columns[first + place] = j;
            to_values[first + place] = value;
          } else if (!has_nodes || i - first_of[node_of[i]] == j - first_of[node_of[j]]) {
            weak += real_part(value);
          }
        });
        SmoothingRow const row(group.sum(diagonal), group.sum(weak), omega,
                               last > first + 1 || has_nodes);
        group.barrier();
        for (std::int32_t q = first + group.rank(); q < last; q += group.size())
          to_values[q] = row.entry(to_columns[q] == i, to_values[q]);
      });
  exec.fence("Solder::amg: the smoothing of the prolongator is ready");
  return {exec, n, n, offsets, columns, values, {A.longest_row()}};
}

/// \brief Replaces diagonal entries of the coarse matrix that consist only of rounding by what they
/// would be without couplings, sum_i |r_i|^2 |a_ii|. Such an unknown represents a vector without
/// energy, such as the constant of a pure Neumann problem.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS void pin(Exec const& exec, Scalar const* inverse,
                              CsrMatrix<Scalar, Exec> const& R,
                              CsrMatrix<Scalar, Exec> const& coarse, double rounding) {
  auto const r = R.device_operator(), a = coarse.device_operator();
  auto* const values = const_cast<Scalar*>(a.values);
  for_each_row_group(
      exec, "Solder::amg::pin", R.rows(), row_lane_bits<Exec>(R.rows(), R.nonzeros()),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        double mine = 0;
        for (std::int32_t k = r.row_offsets[i] + group.rank(); k < r.row_offsets[i + 1];
             k += group.size())
          mine += abs_squared(r.values[k]) / magnitude(inverse[r.columns[k]]);
        double const size = group.sum(mine);
        for (std::int32_t k = a.row_offsets[i] + group.rank(); k < a.row_offsets[i + 1];
             k += group.size())
          if (a.columns[k] == i && magnitude(a.values[k]) <= rounding * size)
            values[k] = Scalar(to_real<Scalar>(size));
      });
}

/// \brief Q = (I - w D^-1 A) P: the prolongator followed by a sweep. Q has the pattern of A P,
/// which contains P's. The columns of both must ascend. \param in_place whether to overwrite A P
/// \tparam by_columns R (I - w A D^-1) instead, of R and R A: a sweep followed by the restriction
template <bool by_columns = false, class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> smooth(Exec const& exec, Scalar const* inverse,
                                                    double w, CsrMatrix<Scalar, Exec> const& P,
                                                    CsrMatrix<Scalar, Exec> const& AP,
                                                    bool in_place) {
  auto const p = P.device_operator(), ap = AP.device_operator();
  typename CsrMatrix<Scalar, Exec>::Values made = AP.values();
  if (!in_place) made = allocate<Scalar>(exec, "Solder::csr::values", AP.nonzeros());
  auto* const values = const_cast<Scalar*>(made.data());
  auto const weight = to_real<Scalar>(w);
  for_each_row_group(
      exec, "Solder::amg::smooth", P.rows(), row_lane_bits<Exec>(AP.rows(), AP.nonzeros()),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        std::int32_t const end = p.row_offsets[i + 1];
        std::int32_t k = p.row_offsets[i];
        for (std::int32_t q = ap.row_offsets[i] + group.rank(); q < ap.row_offsets[i + 1];
             q += group.size()) {
          while (k < end && p.columns[k] < ap.columns[q]) ++k;
          Scalar const scale = weight * inverse[by_columns ? ap.columns[q] : i],
                       value = -(scale * ap.values[q]);
          values[q] = k < end && p.columns[k] == ap.columns[q] ? value + p.values[k] : value;
        }
      });
  return {exec, AP.rows(),         AP.columns(), AP.row_offsets(), AP.column_indices(),
          made, {AP.longest_row()}};
}

/// \brief [S Q] for a sweep of weight v before the coarse grid and one of weight w after it; a
/// weight of 0 means no sweep. S = (v + w) D^-1 - v w D^-1 A D^-1 is the effect of both sweeps on b
/// without the coarse grid. Q maps the coarse correction to the level; its columns follow those of
/// S. S has A's pattern or, with only one sweep, the diagonal's. A must have no duplicates.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Scalar, Exec> sweeps_and_correction(
    Exec const& exec, Scalar const* inverse, double v, double w, CsrMatrix<Scalar, Exec> const& A,
    CsrMatrix<Scalar, Exec> const& Q) {
  std::int32_t const n = A.rows();
  bool const both = v != 0 && w != 0;
  std::int64_t const of_S = both ? A.nonzeros() : n, nonzeros = of_S + Q.nonzeros();
  check_entries<CsrMatrix<Scalar, Exec>>(nonzeros);
  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", nonzeros);
  auto const a = A.device_operator(), q = Q.device_operator();
  std::int32_t *const to = offsets.data(), *const to_columns = columns.data();
  Scalar* const to_values = values.data();
  auto const before = to_real<Scalar>(v), after = to_real<Scalar>(w);
  std::int32_t const bits = row_lane_bits<Exec>(n, nonzeros), lanes = 1 << bits;
  Kokkos::parallel_for(
      "Solder::amg::sweeps_and_correction",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                 (n + std::int64_t(1)) << bits),
      KOKKOS_LAMBDA(std::int64_t id) {
        auto const i = static_cast<std::int32_t>(id >> bits),
                   lane = static_cast<std::int32_t>(id & (lanes - 1));
        std::int32_t const from = both ? a.row_offsets[i] : i;
        if (lane == 0) to[i] = from + q.row_offsets[i];
        if (i == n) return;
        std::int32_t const end = both ? a.row_offsets[i + 1] : i + 1;
        Scalar const first = before * inverse[i], last = after * inverse[i];
        for (std::int32_t k = from + lane; k < end; k += lanes) {
          std::int32_t const j = both ? a.columns[k] : i, at = k + q.row_offsets[i];
          Scalar value{};
          if (both) value = -(last * a.values[k] * (before * inverse[j]));
          if (j == i) value += first + last;
          to_columns[at] = j;
          to_values[at] = value;
        }
        for (std::int32_t k = q.row_offsets[i] + lane; k < q.row_offsets[i + 1]; k += lanes) {
          to_columns[k + end] = n + q.columns[k];
          to_values[k + end] = q.values[k];
        }
      });
  exec.fence("Solder::amg: a level's cycle is ready");
  return {exec,
          n,
          n + Q.columns(),
          offsets,
          columns,
          values,
          {(both ? A.longest_row() : 1) + Q.longest_row()}};
}

}  // namespace Solder::Impl::amg
