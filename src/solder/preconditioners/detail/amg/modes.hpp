// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/detail/amg/nodes.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>

namespace Solder::Impl::amg {

/// \brief The vectors of the near-nullspace, which span the errors that converge slowly. Entry i of
/// vector c is entries[i * count + c] and has magnitude at most 1. No vectors: the constant.
template <class Scalar, class Exec>
struct Modes {
  using Array = DeviceArray<Wide<Scalar>, Exec>;

  Array entries = no_view<Array>();
  std::int32_t count = 0;

  std::int64_t rows() const { return static_cast<std::int64_t>(entries.extent(0)) / count; }
};

/// \brief Copies the vectors of a user and scales each by a power of two. \throws
/// std::invalid_argument if there are none or too many, or if an entry is not finite
template <class Scalar, class Exec, class View>
SOLDER_MAKES_LAMBDAS Modes<Scalar, Exec> given_modes(Exec const& exec, View const& given) {
  static_assert(View::rank() == 2,
                "Solder: a near-nullspace must be a rank-2 view, [rows of the matrix][vectors]");
  static_assert(
      Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible,
      "Solder: the execution space cannot access the near-nullspace; copy it to its memory first");
  std::size_t const count = given.extent(1);
  if (count < 1 || count > most_modes)
    throw std::invalid_argument("Solder::Amg: a near-nullspace must have 1 to " +
                                std::to_string(most_modes) + " vectors, not " +
                                std::to_string(count));
  Modes<Scalar, Exec> modes;
  modes.count = static_cast<std::int32_t>(count);
  modes.entries = allocate<Wide<Scalar>>(exec, "Solder::amg::modes",
                                         static_cast<std::int64_t>(given.extent(0) * count));
  auto* const entries = modes.entries.data();
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce(
      "Solder::amg::given_modes",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, given.extent(0)),
      KOKKOS_LAMBDA(std::size_t i, std::int64_t & bad) {
        for (std::size_t c = 0; c < count; ++c) {
          Wide<Scalar> const entry(given(i, c));
          bad += !is_finite(entry);
          entries[i * count + c] = entry;
        }
      },
      wrong);
  if (wrong > 0)
    throw std::invalid_argument("Solder::Amg: " + std::to_string(wrong) +
                                " entries of the near-nullspace are not finite");
  // The scale of a vector is irrelevant, but its squares must not leave the range.
  for (std::size_t c = 0; c < count; ++c) {
    double largest = 0;
    Kokkos::parallel_reduce(
        "Solder::amg::largest_of_mode",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, given.extent(0)),
        KOKKOS_LAMBDA(std::size_t i, double& most) {
          most = Kokkos::max(most, double(Kokkos::abs(entries[i * count + c])));
        },
        Kokkos::Max<double>(largest));
    if (!(largest > 0 && std::isfinite(largest))) continue;
    int exponent = 0;
    std::frexp(largest, &exponent);
    // In two steps: the power itself may be out of range.
    double const half = std::ldexp(1.0, -exponent / 2),
                 rest = std::ldexp(1.0, -exponent + exponent / 2);
    Kokkos::parallel_for(
        "Solder::amg::scaled_mode",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, given.extent(0)),
        KOKKOS_LAMBDA(std::size_t i) {
          entries[i * count + c] = rest * (half * entries[i * count + c]);
        });
  }
  return modes;
}

/// \brief The constant vector of each of the `size` unknowns of a node.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS Modes<Scalar, Exec> constant_modes(Exec const& exec, std::int32_t rows,
                                                        std::int32_t size) {
  Modes<Scalar, Exec> modes;
  modes.count = size;
  modes.entries = allocate<Wide<Scalar>>(exec, "Solder::amg::modes", std::int64_t(rows) * size);
  auto* const entries = modes.entries.data();
  Kokkos::parallel_for(
      "Solder::amg::constant_modes", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int32_t i) {
        for (std::int32_t c = 0; c < size; ++c)
          entries[std::int64_t(i) * size + c] = i % size == c ? 1.0 : 0.0;
      });
  return modes;
}

/// \brief Orthonormalises the modes on the rows of an aggregate, modes = Q R, by the modified
/// Gram-Schmidt method, applied twice to each mode. A warp does so, or a thread on hosts. Modes
/// that depend linearly on earlier ones are left out, as happens with the six rigid-body modes on
/// one or two points: Q has `rank` columns, and R has as many rows.
template <class Scalar, class Exec>
struct Orthonormalise {
  using Number = Wide<Scalar>;
  static constexpr int warps = warps_of_rows;
  /// A mode is left out if no more than this share of its squared norm remains: the rest is
  /// rounding, or not worth a column.
  static constexpr double negligible = 1e-16;

  std::int32_t const *offsets, *members;  ///< the nodes of each aggregate
  std::int32_t const* first;              ///< the rows of each node
  std::int32_t aggregates, modes;
  Number* Q;           ///< [rows][modes]; initially the modes
  Number* R;           ///< [aggregates][modes][modes], row by row
  std::int32_t* rank;  ///< [aggregates]

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int32_t const a = member.league_rank() * member.team_size() + member.team_rank();
    if (a >= aggregates) return;
    Number* const r = R + std::int64_t(a) * modes * modes;
    for (std::int32_t k = lane_number(); k < modes * modes; k += WarpLanes<Exec>::size())
      r[k] = Number{};
    lane_barrier();
    std::int32_t kept = 0;
    for (std::int32_t c = 0; c < modes; ++c) {
      double const before = real_part(product(a, c, c));
      for (int round = 0; round < 2; ++round)
        for (std::int32_t k = 0; k < kept; ++k) {
          Number const s = product(a, k, c);
          for_each_row(a, [&](Number* q) { q[c] -= s * q[k]; });
          if (lane_number() == 0) r[k * modes + c] += s;
        }
      double const square = real_part(product(a, c, c));
      if (!(square > negligible * before)) continue;
      double const size = Kokkos::sqrt(square);
      for_each_row(a, [&](Number* q) { q[kept] = q[c] * (1 / size); });
      if (lane_number() == 0) r[kept * modes + c] = size;
      ++kept;
    }
    if (lane_number() == 0) rank[a] = kept;
  }

 private:
  /// \brief A lane gets the same rows each time, so it reads only what it wrote itself.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(std::int32_t a, F const& f) const {
    for (std::int32_t t = offsets[a] + lane_number(); t < offsets[a + 1];
         t += WarpLanes<Exec>::size())
      for (std::int32_t i = first[members[t]]; i < first[members[t] + 1]; ++i)
        f(Q + std::int64_t(i) * modes);
  }
  /// \brief (column k, column c), the same in all lanes.
  KOKKOS_FORCEINLINE_FUNCTION Number product(std::int32_t a, std::int32_t k, std::int32_t c) const {
    Number sum{};
    for_each_row(a, [&](Number const* q) { sum += conjugate(q[k]) * q[c]; });
    for (int mask = 1; mask < WarpLanes<Exec>::size(); mask *= 2) sum += lane_exchange(sum, mask);
    return sum;
  }
};

/// \brief The tentative prolongator T for modes, and the coarse nodes and modes. In each aggregate
/// of nodes, T has as many orthonormal columns as the modes are independent there. These columns
/// form a coarse node. T times the coarse modes gives the fine modes. T is temporary.
template <class Scalar, class Exec>
struct ModesProlongator {
  CsrMatrix<Scalar, Exec> T;
  Nodes<Exec> nodes;
  Modes<Scalar, Exec> modes;
};

template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS ModesProlongator<Scalar, Exec> tentative(Exec const& exec,
                                                              Nodes<Exec> const& nodes,
                                                              Aggregates<Exec> const& aggregates,
                                                              Modes<Scalar, Exec> const& modes) {
  using Number = Wide<Scalar>;
  using Range = Kokkos::RangePolicy<Exec>;
  using Kernel = Orthonormalise<Scalar, Exec>;
  auto const n = static_cast<std::int32_t>(nodes.of_row.extent(0));
  std::int32_t const m = modes.count;
  // The nodes of each aggregate as a row, ascending.
  auto const members = Temporaries<Exec>::temporarily(
      [&] { return conjugate_transpose(exec, tentative<Scalar>(exec, aggregates)); });
  auto const Q_view =
                 allocate_temporary<Number>(exec, "Solder::amg::orthonormal", std::int64_t(n) * m),
             R_view = allocate_temporary<Number>(exec, "Solder::amg::triangles",
                                                 std::int64_t(aggregates.count) * m * m);
  auto const ranks_view =
      allocate_temporary<std::int32_t>(exec, "Solder::amg::ranks", aggregates.count);
  Kokkos::deep_copy(exec, Q_view, modes.entries);
  std::int32_t const at_once = is_host_space<Exec> ? 1 : Kernel::warps;
  Kokkos::parallel_for(
      "Solder::amg::orthonormalise",
      row_policy<Exec, Kernel::warps>(exec, (aggregates.count + at_once - 1) / at_once, 0),
      Kernel{members.row_offsets().data(), members.column_indices().data(), nodes.first.data(),
             aggregates.count, m, Q_view.data(), R_view.data(), ranks_view.data()});

  Nodes<Exec> coarse_nodes;
  coarse_nodes.count = aggregates.count;
  coarse_nodes.first = allocate<std::int32_t>(exec, "Solder::amg::first_of_node",
                                              std::int64_t(aggregates.count) + 1);
  Kokkos::deep_copy(exec, Kokkos::subview(coarse_nodes.first, std::make_pair(0, aggregates.count)),
                    ranks_view);
  auto const columns_count = static_cast<std::int32_t>(
      offsets_of_lengths(exec, coarse_nodes.first.data(), aggregates.count,
                         LengthsInArray<std::int32_t>{coarse_nodes.first.data()})
          .nonzeros);
  coarse_nodes.of_row = allocate<std::int32_t>(exec, "Solder::amg::node_of_row", columns_count);
  Modes<Scalar, Exec> coarse_modes;
  coarse_modes.count = m;
  coarse_modes.entries =
      allocate<Number>(exec, "Solder::amg::modes", std::int64_t(columns_count) * m);
  std::int32_t *const of_row = coarse_nodes.of_row.data(), *const starts =
                                                               coarse_nodes.first.data();
  Number *const coarse = coarse_modes.entries.data(), *const R = R_view.data();
  Kokkos::parallel_for(
      "Solder::amg::coarse_modes", Range(exec, 0, aggregates.count), KOKKOS_LAMBDA(std::int32_t a) {
        for (std::int32_t k = 0; k < starts[a + 1] - starts[a]; ++k) {
          of_row[starts[a] + k] = a;
          for (std::int32_t c = 0; c < m; ++c)
            coarse[std::int64_t(starts[a] + k) * m + c] = R[(std::int64_t(a) * m + k) * m + c];
        }
      });

  std::int32_t const *const node_of = nodes.of_row.data(), *const aggregate_of =
                                                               aggregates.of_row.data();
  Number* const Q = Q_view.data();
  auto const offsets =
      allocate_temporary<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  std::int32_t* const to = offsets.data();
  Kokkos::parallel_for(
      "Solder::amg::tentative_lengths", Range(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        std::int32_t const a = aggregate_of[node_of[i]];
        to[i] = a < 0 ? 0 : starts[a + 1] - starts[a];
      });
  std::int64_t const nonzeros =
      offsets_of_lengths(exec, to, n, LengthsInArray<std::int32_t>{to}).nonzeros;
  check_entries<CsrMatrix<Scalar, Exec>>(nonzeros);
  auto const columns = allocate_temporary<std::int32_t>(exec, "Solder::csr::columns", nonzeros);
  auto const values = allocate_temporary<Scalar>(exec, "Solder::csr::values", nonzeros);
  std::int32_t* const to_columns = columns.data();
  Scalar* const to_values = values.data();
  Kokkos::parallel_for(
      "Solder::amg::tentative", Range(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        for (std::int32_t k = 0; k < to[i + 1] - to[i]; ++k) {
          to_columns[to[i] + k] = starts[aggregate_of[node_of[i]]] + k;
          to_values[to[i] + k] = narrow<Scalar>(Q[std::int64_t(i) * m + k]);
        }
      });
  exec.fence("Solder::amg: the tentative prolongator is made");
  return {{exec, n, columns_count, offsets, columns, values}, coarse_nodes, coarse_modes};
}

}  // namespace Solder::Impl::amg
