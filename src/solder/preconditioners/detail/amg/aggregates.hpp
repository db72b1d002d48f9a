// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/amg/roots.hpp>

namespace Solder::Impl::amg {

/// \brief Entries whose relative difference is at most this are assumed to differ only by rounding.
template <class Scalar>
inline constexpr double tie = sizeof(typename ScalarTraits<Scalar>::Real) == 4 ? 2e-6 : 1e-12;

/// \brief |a| of any size, even if its square would be out of range.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double magnitude(Scalar const& a) {
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return Kokkos::hypot(double(a.real()), double(a.imag()));
  else
    return Kokkos::fabs(double(a));
}

/// \brief |a|, as the size of an entry.
struct Magnitude {
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION double operator()(Scalar const& a) const {
    return magnitude(a);
  }
};

/// \brief How much an off-diagonal entry draws the errors of its two rows together: -a of a real
/// one, so that positive entries are never strong; |a| of a complex one. Errors that converge
/// slowly are then alike up to phases, which the entries give, and an entry has no sign of its own
/// (D^H A D, with a diagonal unitary D, gives it any phase).
struct Attraction {
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION double operator()(Scalar const& a) const {
    if constexpr (ScalarTraits<Scalar>::is_complex)
      return magnitude(a);
    else
      return -double(a);
  }
};

/// \brief The size of an entry times the weight of its column, where there are weights.
template <class Size = Magnitude, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION double weighted(double const* weight, std::int32_t column,
                                            Scalar const& a) {
  return weight == nullptr ? Size()(a) : weight[column] * Size()(a);
}

/// \brief Which entries couple strongly: those at least as large as `strength` times the geometric
/// mean of the largest couplings of the two rows. (Compared with the diagonal instead, a 27-point
/// stencil would have no strong couplings, because its couplings are all equal and small.) Those of
/// hubs are never strong: see mark_hubs().
///
/// \tparam by_row times the largest coupling of their own row, for a matrix that need not be
/// symmetric
/// \tparam Size of an entry
template <class Scalar, bool by_row = false, class Size = Magnitude>
struct Coupling {
  CsrOperator<Scalar, std::int32_t> A;
  /// Per row: the root of the size of the largest off-diagonal entry; its negative for hubs.
  double const* largest;
  double strength;
  double rounding = tie<Scalar>;  ///< relative tolerance, so that rounding does not break ties

  KOKKOS_FORCEINLINE_FUNCTION bool is_hub(std::int32_t i) const { return largest[i] < 0; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_strong(std::int32_t i, std::int32_t k) const {
    return is_large(i, k) && !is_hub(i) && !is_hub(by_row ? i : A.columns[k]);
  }
  /// \brief Whether an entry would couple strongly if there were no hubs.
  KOKKOS_FORCEINLINE_FUNCTION bool is_large(std::int32_t i, std::int32_t k) const {
    std::int32_t const j = A.columns[k];
    if (j == i) return false;
    double const size = Size()(A.values[k]);
    return size > 0 &&
           (1 + rounding) * size >= strength * Kokkos::fabs(largest[i] * largest[by_row ? i : j]);
  }
};

/// \brief The binary logarithm of the lanes that go through the entries of a row of A one by one: a
/// lane for four entries, because the loads of a lane overlap. With more lanes a warp has fewer
/// rows, and waits for the offsets of each. Hubs have a lane an entry.
template <class Exec, class Scalar>
std::int32_t reading_lane_bits(CsrMatrix<Scalar, Exec> const& A) {
  bool const is_even =
      A.longest_row() <= longest_even_row(double(A.nonzeros()) / std::max(A.rows(), 1));
  return row_lane_bits<Exec>(A.rows(), A.nonzeros(), is_even ? 4 : 1);
}

/// \brief The root of the largest off-diagonal size of each row, or of the largest of all; 0 if no
/// size is positive. Temporary. One kernel. \param weight per column: the factor with which its
/// entries count; null: 1
template <class Size = Magnitude, class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS Kokkos::View<double*, typename Exec::memory_space> largest_couplings(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix, bool with_diagonal = false,
    double const* weight = nullptr) {
  auto const A = matrix.device_operator();
  auto const view = allocate_temporary<double>(exec, "Solder::amg::largest", A.rows.count);
  double* const largest = view.data();
  for_each_row_group(
      exec, "Solder::amg::largest", A.rows.count, reading_lane_bits(matrix),
      KOKKOS_LAMBDA(RowGroup<Exec> const& group, std::int32_t i) {
        double mine = 0;
        for (std::int32_t k = A.row_offsets[i] + group.rank(); k < A.row_offsets[i + 1];
             k += group.size())
          if (with_diagonal || A.columns[k] != i)
            mine = Kokkos::max(mine, weighted<Size>(weight, A.columns[k], A.values[k]));
        double const most = group.largest(mine);
        if (group.rank() == 0) largest[i] = Kokkos::sqrt(most);
      });
  return view;
}

/// \brief Marks hubs, rows far longer than the others, by the negative of their largest coupling.
/// They stay out of strong couplings, so that the prolongator has one entry in the row of a hub: A
/// P has all entries of that row wherever A has one in the hub's column.
template <class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS void mark_hubs(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                    double* largest) {
  double const most = longest_even_row(static_cast<double>(A.nonzeros()) / A.rows());
  if (A.longest_row() <= most) return;
  std::int32_t const* const offsets = A.row_offsets().data();
  Kokkos::parallel_for(
      "Solder::amg::hubs", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int32_t i) {
        if (offsets[i + 1] - offsets[i] > most) largest[i] = -largest[i];
      });
}

/// \brief Bytes in an array of 32-bit words, which most arrays of a set-up are: a type that few
/// arrays have needs no pool of its own.
template <class Exec>
struct Bytes {
  DeviceArray<std::int32_t, Exec> words = no_view<DeviceArray<std::int32_t, Exec>>();

  char* data() const { return reinterpret_cast<char*>(words.data()); }
};

/// \brief The strong couplings, in CSR form.
template <class Exec>
struct Graph {
  DeviceArray<std::int32_t, Exec> offsets = no_view<DeviceArray<std::int32_t, Exec>>(),
                                  columns = offsets;
  Bytes<Exec> strong{};   ///< per entry of A: whether it is strong
  std::int64_t size = 0;  ///< number of strong couplings
};

/// \brief The couplings that are marked as strong, whatever the values are now.
template <class Scalar>
struct MarkedCoupling {
  CsrOperator<Scalar, std::int32_t> A;
  char const* strong;  ///< per entry

  KOKKOS_FORCEINLINE_FUNCTION bool is_strong(std::int32_t, std::int32_t k) const {
    return strong[k] != 0;
  }
};
template <class Scalar>
MarkedCoupling(CsrOperator<Scalar, std::int32_t> const&, char const*) -> MarkedCoupling<Scalar>;

/// \brief f(entry, its number among the strong ones, or -1) for the entries of row i. Each lane
/// takes one entry at a time. \return the number of strong entries
template <class Exec, class Couples, class F>
KOKKOS_FORCEINLINE_FUNCTION std::int32_t for_each_coupling(RowGroup<Exec> const& group,
                                                           Couples const& coupling, std::int32_t i,
                                                           F const& f) {
  std::int32_t const end = coupling.A.row_offsets[i + 1];
  std::int32_t strong = 0;
  for (std::int32_t first = coupling.A.row_offsets[i]; first < end; first += group.size()) {
    std::int32_t const k = first + group.rank();
    bool const is_strong = k < end && coupling.is_strong(i, k);
    std::uint32_t const votes = group.votes(is_strong),
                        before = votes & ((std::uint32_t(1) << group.rank()) - 1);
    if (k < end) f(k, is_strong ? strong + bits_set(before) : -1);
    strong += bits_set(votes);
  }
  return strong;
}

/// \brief Which arrays of a graph stay; the others are temporary.
struct LastingParts {
  bool columns = true, strong = true;
};

/// \param entries of A
/// \tparam Couples Coupling, or NodeCoupling
template <class Exec, class Couples>
SOLDER_MAKES_LAMBDAS Graph<Exec> strong_graph(Exec const& exec, Couples const& coupling,
                                              std::int64_t entries, std::int32_t lane_bits,
                                              LastingParts const& lasting = {}) {
  auto const array = [&](bool lasts, char const* label, std::int64_t size) {
    return lasts ? allocate<std::int32_t>(exec, label, size)
                 : allocate_temporary<std::int32_t>(exec, label, size);
  };
  using Group = RowGroup<Exec>;
  std::int32_t const n = coupling.A.rows.count;
  Graph<Exec> graph;
  graph.offsets = allocate<std::int32_t>(exec, "Solder::amg::strong_offsets", std::int64_t(n) + 1);
  graph.strong.words = array(lasting.strong, "Solder::amg::strong", (entries + 3) / 4);
  std::int32_t* const offsets = graph.offsets.data();
  char* const strong = graph.strong.data();
  for_each_row_group(
      exec, "Solder::amg::mark_strong", n, lane_bits,
      KOKKOS_LAMBDA(Group const& group, std::int32_t i) {
        std::int32_t const count =
            for_each_coupling(group, coupling, i,
                              [&](std::int32_t k, std::int32_t place) { strong[k] = place >= 0; });
        if (group.rank() == 0) offsets[i] = count;
      });
  graph.size = offsets_of_lengths(exec, offsets, n, LengthsInArray<std::int32_t>{offsets}).nonzeros;
  graph.columns = array(lasting.columns, "Solder::amg::strong_columns", graph.size);
  std::int32_t* const columns = graph.columns.data();
  MarkedCoupling const marked{coupling.A, strong};
  for_each_row_group(
      exec, "Solder::amg::list_strong", n, lane_bits,
      KOKKOS_LAMBDA(Group const& group, std::int32_t i) {
        for_each_coupling(group, marked, i, [&](std::int32_t k, std::int32_t place) {
          if (place >= 0) columns[offsets[i] + place] = marked.A.columns[k];
        });
      });
  return graph;
}

/// \brief The aggregate of each row; -1 for rows without strong couplings, which are left to the
/// sweeps. (A sweep solves a single such row, but not the rows of a node.)
template <class Exec>
struct Aggregates {
  DeviceArray<std::int32_t, Exec> of_row = no_view<DeviceArray<std::int32_t, Exec>>();
  std::int32_t count = 0;
};

/// \brief Finds a maximal independent set of distance 2, in rounds: a row that comes first within
/// distance 2 becomes a root; a row with a root within distance 2 is out (Bell, Dalton and Olson
/// 2012, Algorithm 5). A root and its neighbours form an aggregate. Each remaining row, at distance
/// 2, joins the neighbouring aggregate to which it is most strongly coupled. Every run gives the
/// same aggregates.
///
/// A hub is the root of an aggregate of its own. Rows join it that would couple strongly to hubs
/// alone.
template <class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS Aggregates<Exec> aggregate(Exec const& exec, Coupling<Scalar> const& coupling,
                                                Graph<Exec> const& graph) {
  using Policy = Kokkos::RangePolicy<Exec>;
  std::int32_t const n = coupling.A.rows.count;
  std::int32_t const *const offsets = graph.offsets.data(), *const columns = graph.columns.data();
  auto const keys_view = allocate_temporary<std::uint64_t>(exec, "Solder::amg::keys", n);
  auto const near_view = allocate_temporary<std::uint64_t>(exec, "Solder::amg::largest_near", n);
  std::uint64_t *const keys = keys_view.data(), *const near = near_view.data();
  Kokkos::parallel_for(
      "Solder::amg::begin", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        bool const alone = offsets[i] == offsets[i + 1];
        keys[i] = Candidate::key(coupling.is_hub(i) ? Candidate::root
                                 : alone            ? Candidate::out
                                                    : Candidate::undecided,
                                 i);
        near[i] = 0;
      });
  find_roots(exec, RootSearch{offsets, columns, keys, near}, n, graph.size);
  Aggregates<Exec> aggregates;
  aggregates.of_row = allocate<std::int32_t>(exec, "Solder::amg::aggregate", n);
  std::int32_t* const of_row = aggregates.of_row.data();
  Kokkos::parallel_scan(
      "Solder::amg::number_roots", Policy(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i, std::int32_t & at, bool last) {
        bool const is_root = Candidate::state(keys[i]) == Candidate::root;
        if (last) of_row[i] = is_root ? at : -1;
        at += is_root;
      },
      aggregates.count);
  char const* const strong = graph.strong.data();
  // A row has at most one neighbouring root: two would be within distance 2 of each other.
  auto const joined_view = allocate_temporary<std::int32_t>(exec, "Solder::amg::joined", n);
  std::int32_t* const joined = joined_view.data();
  Kokkos::parallel_for(
      "Solder::amg::neighbours", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        std::int32_t mine = of_row[i];
        for (std::int32_t k = offsets[i]; k < offsets[i + 1] && mine < 0; ++k)
          if (Candidate::state(keys[columns[k]]) == Candidate::root) mine = of_row[columns[k]];
        joined[i] = mine;
      });
  Kokkos::parallel_for(
      "Solder::amg::leftovers", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        std::int32_t mine = joined[i];
        if (mine < 0) {
          bool const alone = offsets[i] == offsets[i + 1];
          double strongest = 0;
          for (std::int32_t k = coupling.A.row_offsets[i]; k < coupling.A.row_offsets[i + 1]; ++k) {
            std::int32_t const j = coupling.A.columns[k];
            if (joined[j] < 0 ||
                !(alone ? coupling.is_hub(j) && coupling.is_large(i, k) : strong[k] != 0))
              continue;
            double const size = magnitude(coupling.A.values[k]);
            if (size > strongest || (size == strongest && joined[j] < mine)) {
              strongest = size;
              mine = joined[j];
            }
          }
        }
        of_row[i] = mine;
      });
  exec.fence("Solder::amg: aggregates are made");
  return aggregates;
}

}  // namespace Solder::Impl::amg
