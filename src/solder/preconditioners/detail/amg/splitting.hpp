// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/mix_bits.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>

namespace Solder::Impl::amg {

/// \brief The coarse rows of a level; the others are fine.
template <class Exec>
struct Splitting {
  /// The number of each row among the coarse ones, in their order; -1 for fine rows.
  DeviceArray<std::int32_t, Exec> number = no_view<DeviceArray<std::int32_t, Exec>>();
  std::int32_t count = 0;  ///< coarse rows
};

/// \brief The key of a row that may become coarse: a state, the number of rows that depend on it
/// strongly (at most `most`), a pseudo-random number and the row, from the most significant bits
/// down. Keys are unique.
struct Contender {
  static constexpr std::uint64_t none = 0, contends = 1, chosen = 2;
  static constexpr std::int32_t most = (1 << 14) - 1;

  KOKKOS_FUNCTION static std::uint64_t key(std::int32_t dependents, std::int32_t i) {
    return contends << 62 |
           static_cast<std::uint64_t>(dependents < most ? dependents : most) << 48 |
           (mix_bits(static_cast<std::uint64_t>(i) + 1) >> 48) << 32 |
           static_cast<std::uint32_t>(i);
  }
  KOKKOS_FUNCTION static std::uint64_t state(std::uint64_t key) { return key >> 62; }
  KOKKOS_FUNCTION static std::uint64_t choose(std::uint64_t key) {
    return (key & ~(std::uint64_t(3) << 62)) | chosen << 62;
  }
};

/// \brief A search for coarse rows, in which rows contend with those that they are strongly coupled
/// to.
template <class Exec>
struct Contest {
  std::int32_t rows;
  DeviceArray<std::int32_t, Exec> dependents;  ///< of each row: rows that depend on it strongly
  DeviceArray<std::int32_t, Exec> coarse;      ///< whether a row is; at first none is
  DeviceArray<std::uint64_t, Exec> keys;       ///< see Contender
  DeviceArray<std::uint64_t, Exec> near;       ///< the largest key around a row
  Counted<Exec> counted;
};

/// \brief A contest whose rows have no keys yet.
template <class Exec>
SOLDER_MAKES_LAMBDAS Contest<Exec> contest_of(Exec const& exec, Graph<Exec> const& graph,
                                              std::int32_t n) {
  Contest<Exec> const contest{n,
                              allocate_zeros<std::int32_t>(exec, "Solder::amg::dependents", n),
                              allocate_zeros<std::int32_t>(exec, "Solder::amg::coarse", n),
                              allocate<std::uint64_t>(exec, "Solder::amg::keys", n),
                              allocate<std::uint64_t>(exec, "Solder::amg::largest_near", n),
                              Counted<Exec>(exec)};
  std::int32_t const *const offsets = graph.offsets.data(), *const columns = graph.columns.data();
  std::int32_t* const dependents = contest.dependents.data();
  Kokkos::parallel_for(
      "Solder::amg::dependents", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i) {
        for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k)
          Kokkos::atomic_inc(&dependents[columns[k]]);
      });
  return contest;
}

/// \brief Of the rows that contend, an independent set becomes coarse, in rounds in which rows on
/// which most others depend come first: the parallel modified independent set of De Sterck, Yang
/// and Heys 2006. The others around it stop contending. Every run chooses the same rows: only
/// integers are combined in any order.
/// \param open rows that contend, whose keys and `near` (0) are set
/// \param both whether rows on which a chosen one depends stop contending too, not only those that
/// depend on it
template <class Exec>
SOLDER_MAKES_LAMBDAS void choose_independent(Exec const& exec, Graph<Exec> const& graph,
                                             Contest<Exec> const& contest, std::int32_t open,
                                             bool both) {
  using Policy = Kokkos::RangePolicy<Exec>;
  constexpr std::uint64_t excluded = ~std::uint64_t(0);
  std::int32_t const n = contest.rows;
  std::int32_t const *const offsets = graph.offsets.data(), *const columns = graph.columns.data();
  std::int32_t* const coarse = contest.coarse.data();
  std::uint64_t *const keys = contest.keys.data(), *const near = contest.near.data();
  while (open > 0) {
    Kokkos::parallel_for(
        "Solder::amg::largest_near", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
          std::uint64_t const mine = keys[i];
          if (mine == Contender::none) return;
          std::uint64_t largest = 0;
          for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) {
            std::uint64_t const other = keys[columns[k]];
            if (other == Contender::none) continue;
            largest = Kokkos::max(largest, other);
            Kokkos::atomic_max(&near[columns[k]], mine);
          }
          Kokkos::atomic_max(&near[i], largest);
        });
    Kokkos::parallel_for(
        "Solder::amg::choose", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
          if (keys[i] > near[i]) keys[i] = Contender::choose(keys[i]);
        });
    Kokkos::parallel_for(
        "Solder::amg::exclude", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
          if (keys[i] == Contender::none) return;
          bool const is_chosen = Contender::state(keys[i]) == Contender::chosen;
          for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) {
            std::int32_t const j = columns[k];
            if (both && is_chosen && keys[j] != Contender::none)
              Kokkos::atomic_store(&near[j], excluded);
            else if (Contender::state(keys[j]) == Contender::chosen)
              Kokkos::atomic_store(&near[i], excluded);
          }
        });
    Kokkos::parallel_reduce(
        "Solder::amg::decide", Policy(exec, 0, n),
        KOKKOS_LAMBDA(std::int32_t i, std::int32_t & left) {
          bool const is_chosen = Contender::state(keys[i]) == Contender::chosen;
          if (is_chosen) coarse[i] = 1;
          if (is_chosen || near[i] == excluded) keys[i] = Contender::none;
          left += keys[i] != Contender::none;
          near[i] = 0;
        },
        contest.counted.view());
    open = contest.counted.get(exec);
  }
}

/// \brief The rows that a contest has made coarse, numbered.
template <class Exec>
SOLDER_MAKES_LAMBDAS Splitting<Exec> splitting_of(Exec const& exec, Contest<Exec> const& contest) {
  Splitting<Exec> splitting;
  splitting.number = allocate<std::int32_t>(exec, "Solder::amg::number", contest.rows);
  std::int32_t const* const coarse = contest.coarse.data();
  std::int32_t* const number = splitting.number.data();
  Kokkos::parallel_scan(
      "Solder::amg::number_coarse", Kokkos::RangePolicy<Exec>(exec, 0, contest.rows),
      KOKKOS_LAMBDA(std::int32_t i, std::int32_t & at, bool last) {
        if (last) number[i] = coarse[i] != 0 ? at : -1;
        at += coarse[i] != 0;
      },
      splitting.count);
  exec.fence("Solder::amg: the rows are split");
  return splitting;
}

/// \brief An independent set of all rows that others depend on strongly. A fine row with strong
/// couplings has a coarse row at distance one or two; rows without strong couplings are fine.
template <class Exec>
SOLDER_MAKES_LAMBDAS Splitting<Exec> split(Exec const& exec, Graph<Exec> const& graph,
                                           std::int32_t n) {
  auto const contest = contest_of(exec, graph, n);
  std::int32_t const* const dependents = contest.dependents.data();
  std::uint64_t *const keys = contest.keys.data(), *const near = contest.near.data();
  Kokkos::parallel_reduce(
      "Solder::amg::contend", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i, std::int32_t & open) {
        bool const is_open = dependents[i] > 0;
        keys[i] = is_open ? Contender::key(dependents[i], i) : Contender::none;
        near[i] = 0;
        open += is_open;
      },
      contest.counted.view());
  choose_independent(exec, graph, contest, contest.counted.get(exec), false);
  return splitting_of(exec, contest);
}

/// \brief Splits rows so that a fine row is dominated by its diagonal entry among fine rows: the
/// other entries in columns of fine rows sum, in magnitude, to at most `share` times that entry.
/// Jacobi sweeps for fine rows alone then reduce their error by this factor, and A_ff^-1 is nearly
/// the first terms of its Neumann series.
///
/// At first all rows are fine. In each pass the rows that are not yet dominated contend: of the
/// strong couplings among them, an independent set becomes coarse, in rounds in which rows on which
/// most others depend come first (as in the parallel modified independent set of De Sterck, Yang
/// and Heys 2006). The first pass finds that set; later passes repair the domination where it
/// leaves too many fine rows together. Passes go on until all fine rows are dominated. Every run
/// gives the same splitting: only integers are combined in any order.
template <class Exec, class Scalar>
SOLDER_MAKES_LAMBDAS Splitting<Exec> split(Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix,
                                           Graph<Exec> const& graph, double share) {
  auto const A = matrix.device_operator();
  std::int32_t const n = A.rows.count;
  auto const contest = contest_of(exec, graph, n);
  std::int32_t const *const dependents = contest.dependents.data(), *const coarse =
                                                                        contest.coarse.data();
  std::uint64_t *const keys = contest.keys.data(), *const near = contest.near.data();
  double const limit = share * (1 + tie<Scalar>);
  for (;;) {
    Kokkos::parallel_reduce(
        "Solder::amg::contend", Kokkos::RangePolicy<Exec>(exec, 0, n),
        KOKKOS_LAMBDA(std::int32_t i, std::int32_t & open) {
          double diagonal = 0, others = 0;
          for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1] && coarse[i] == 0; ++k) {
            std::int32_t const j = A.columns[k];
            if (j == i)
              diagonal = magnitude(A.values[k]);
            else if (coarse[j] == 0)
              others += magnitude(A.values[k]);
          }
          bool const is_open = others > limit * diagonal;
          keys[i] = is_open ? Contender::key(dependents[i], i) : Contender::none;
          near[i] = 0;
          open += is_open;
        },
        contest.counted.view());
    std::int32_t const open = contest.counted.get(exec);
    if (open == 0) return splitting_of(exec, contest);
    choose_independent(exec, graph, contest, open, true);
  }
}

}  // namespace Solder::Impl::amg
