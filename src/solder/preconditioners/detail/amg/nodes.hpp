// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/product.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief Unknowns that are aggregated together, such as the displacements of a point: consecutive
/// rows.
template <class Exec>
struct Nodes {
  using Array = DeviceArray<std::int32_t, Exec>;

  Array of_row = no_view<Array>();  ///< [rows]: its node
  Array first = no_view<Array>();   ///< [count + 1]: its first row
  std::int32_t count = 0;
};

/// \brief 0, 1, 2, ... Temporary.
template <class Exec>
SOLDER_MAKES_LAMBDAS DeviceArray<std::int32_t, Exec> numbers(Exec const& exec, std::int64_t size) {
  auto const view = allocate_temporary<std::int32_t>(exec, "Solder::amg::numbers", size);
  std::int32_t* const number = view.data();
  Kokkos::parallel_for(
      "Solder::amg::numbers",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, size),
      KOKKOS_LAMBDA(std::int64_t i) { number[i] = static_cast<std::int32_t>(i); });
  return view;
}

/// \brief Nodes of `size` rows each; `size` divides `rows`.
template <class Exec>
SOLDER_MAKES_LAMBDAS Nodes<Exec> equal_nodes(Exec const& exec, std::int32_t rows,
                                             std::int32_t size) {
  Nodes<Exec> nodes;
  nodes.count = rows / size;
  nodes.of_row = allocate<std::int32_t>(exec, "Solder::amg::node_of_row", rows);
  nodes.first =
      allocate<std::int32_t>(exec, "Solder::amg::first_of_node", std::int64_t(nodes.count) + 1);
  std::int32_t *const of_row = nodes.of_row.data(), *const first = nodes.first.data();
  Kokkos::parallel_for(
      "Solder::amg::nodes", Kokkos::RangePolicy<Exec>(exec, 0, rows + 1),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (i < rows) of_row[i] = i / size;
        if (i % size == 0) first[i / size] = i;
      });
  return nodes;
}

/// \brief How strongly nodes couple: a matrix with one row per node, whose entries are the
/// Frobenius norms of A's blocks. They are the roots of the entries of N^T |A|^2 N, where each row
/// of N has a 1 in the column of its node.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<double, Exec> block_norms(Exec const& exec,
                                                         CsrMatrix<Scalar, Exec> const& A,
                                                         Nodes<Exec> const& nodes,
                                                         ProductMemory<Exec>& memory) {
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::int32_t const n = A.rows();
  auto const squares_view = allocate<double>(exec, "Solder::amg::squares", A.nonzeros()),
             ones = allocate<double>(exec, "Solder::amg::ones", n);
  Kokkos::deep_copy(exec, ones, 1.0);
  Scalar const* const values = A.values().data();
  double* const squares = squares_view.data();
  // A power of two scales the largest entry to about 1, because squares have half the range.
  double most = 0;
  Kokkos::parallel_reduce(
      "Solder::amg::most", Range(exec, 0, A.nonzeros()),
      KOKKOS_LAMBDA(std::int64_t k, double& largest) {
        largest = Kokkos::max(largest, magnitude(values[k]));
      },
      Kokkos::Max<double>(most));
  double const scale = most > 0 && std::isfinite(most) ? std::ldexp(1.0, -std::ilogb(most)) : 1;
  Kokkos::parallel_for(
      "Solder::amg::squares", Range(exec, 0, A.nonzeros()), KOKKOS_LAMBDA(std::int64_t k) {
        double const size = magnitude(values[k]) * scale;
        squares[k] = size * size;
      });
  auto const rows = numbers(exec, std::int64_t(n) + 1);
  CsrMatrix<double, Exec> const squared(exec, n, n, A.row_offsets(), A.column_indices(),
                                        squares_view),
      N(exec, n, nodes.count, rows, nodes.of_row, ones),
      NT(exec, nodes.count, n, nodes.first, Kokkos::subview(rows, std::make_pair(0, n)), ones);
  auto const of_rows = Impl::product<double, Exec>(exec, squared, N, memory, nullptr, true),
             norms = Impl::product(exec, NT, of_rows, memory);
  auto* const roots = const_cast<double*>(norms.values().data());
  Kokkos::parallel_for(
      "Solder::amg::roots", Range(exec, 0, norms.nonzeros()),
      KOKKOS_LAMBDA(std::int64_t k) { roots[k] = Kokkos::sqrt(roots[k]) / scale; });
  return norms;
}

/// \brief Which entries couple strongly if unknowns are aggregated by nodes: those within a node,
/// and those between two nodes whose block is strong.
template <class Scalar>
struct NodeCoupling {
  CsrOperator<Scalar, std::int32_t> A;
  Coupling<double> nodes;  ///< for block_norms(A), whose columns ascend
  std::int32_t const* of_row;

  KOKKOS_FORCEINLINE_FUNCTION bool is_strong(std::int32_t i, std::int32_t k) const {
    std::int32_t const j = A.columns[k];
    if (j == i) return false;
    std::int32_t const node = of_row[i], other = of_row[j];
    return node == other || nodes.is_strong(node, entry(node, other));
  }

 private:
  /// \brief The place of the norm of their block. It must exist.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t entry(std::int32_t node, std::int32_t other) const {
    std::int32_t low = nodes.A.row_offsets[node], high = nodes.A.row_offsets[node + 1] - 1;
    while (low < high) {
      std::int32_t const middle = low + (high - low) / 2;
      if (nodes.A.columns[middle] < other)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

}  // namespace Solder::Impl::amg
