// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/core/mix_bits.hpp>

namespace Solder::Impl::amg {

/// \brief The key of a row during the search for roots: a state, a pseudo-random number and the
/// row, from the most significant bits down. Keys are unique, so that neighbours agree on their
/// order.
struct Candidate {
  static constexpr std::uint64_t out = 0, undecided = 1, root = 2;

  KOKKOS_FUNCTION static std::uint64_t key(std::uint64_t state, std::int32_t i) {
    return state << 62 | (mix_bits(static_cast<std::uint64_t>(i) + 1) >> 34) << 32 |
           static_cast<std::uint32_t>(i);
  }
  KOKKOS_FUNCTION static std::uint64_t state(std::uint64_t key) { return key >> 62; }
  /// \brief The key with another state.
  KOKKOS_FUNCTION static std::uint64_t with_state(std::uint64_t key, std::uint64_t state) {
    return state << 62 | (key & ~(std::uint64_t(3) << 62));
  }

  /// A bit that no key has. Set in the largest key near a row, it says that the key is final.
  static constexpr std::uint64_t settled = std::uint64_t(1) << 31;
};

/// \brief A number that the device has counted.
template <class Exec>
class Counted {
 public:
  using View = Kokkos::View<std::int32_t, typename Exec::memory_space>;

  explicit Counted(Exec const& exec)
      : memory_(allocate<std::int32_t>(exec, "Solder::amg::counted", 1)), view_(memory_.data()) {}

  View const& view() const { return view_; }
  /// \brief Waits for the device.
  std::int32_t get(Exec const& exec) const {
    std::int32_t count = 0;
    Impl::copy(exec, Kokkos::View<std::int32_t, Kokkos::HostSpace>(&count), view_);
    exec.fence("Solder::amg: a count is known");
    return count;
  }

 private:
  DeviceArray<std::int32_t, Exec> memory_;
  View view_;
};

/// \brief A round of the search for roots: every row sees the largest key near it, then decides.
struct RootSearch {
  std::int32_t const *offsets, *columns;  ///< of the strong couplings
  std::uint64_t* keys;                    ///< of each row
  std::uint64_t* near;                    ///< the largest key of a row and its neighbours

  KOKKOS_FUNCTION void look(std::int32_t i) const {
    if ((near[i] & Candidate::settled) != 0) return;
    std::uint64_t largest = keys[i];
    bool is_settled = Candidate::state(largest) != Candidate::undecided;
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      std::uint64_t const other = keys[columns[k]];
      largest = Kokkos::max(largest, other);
      is_settled = is_settled && Candidate::state(other) != Candidate::undecided;
    }
    near[i] = is_settled ? largest | Candidate::settled : largest;
  }
  /// \brief Whether the row has yet to be decided.
  KOKKOS_FUNCTION bool decide(std::int32_t i) const {
    if (Candidate::state(keys[i]) != Candidate::undecided) return false;
    std::uint64_t largest = near[i];
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k)
      largest = Kokkos::max(largest, near[columns[k]]);
    bool const is_root = largest == keys[i], is_out = Candidate::state(largest) == Candidate::root;
    if (is_root || is_out)
      keys[i] = Candidate::with_state(keys[i], is_root ? Candidate::root : Candidate::out);
    return !is_root && !is_out;
  }
};

/// \brief All rounds in one team of a GPU: where there are so few rows and couplings that two
/// launches a round would take longer.
struct RootSearchOfTeam {
  /// Rows and couplings together.
  static constexpr std::int64_t most = 1 << 15;

  RootSearch search;
  std::int32_t rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int32_t const first = member.team_rank() * warp + lane_number(),
                       threads = member.team_size() * warp;
    auto* const is_left =
        static_cast<std::int32_t*>(member.team_scratch(0).get_shmem(2 * sizeof(std::int32_t)));
    if (first == 0) is_left[0] = 0;
    for (int turn = 0;; turn = 1 - turn) {
      for (std::int32_t i = first; i < rows; i += threads) search.look(i);
      member.team_barrier();
      if (first == 0) is_left[1 - turn] = 0;
      for (std::int32_t i = first; i < rows; i += threads)
        if (search.decide(i)) is_left[turn] = 1;
      member.team_barrier();
      if (is_left[turn] == 0) return;
    }
  }
};

/// \brief All rounds, in two kernels each.
template <class Exec>
SOLDER_MAKES_LAMBDAS void find_roots_in_rounds(Exec const& exec, RootSearch const& search,
                                               std::int32_t n) {
  using Policy = Kokkos::RangePolicy<Exec>;
  // The host of a GPU waits only once for several rounds: first for as many as nearly all graphs
  // need. Surplus rounds do nothing.
  constexpr int first = is_host_space<Exec> ? 1 : 6, at_once = is_host_space<Exec> ? 1 : 2;
  Counted<Exec> const undecided(exec);
  std::int32_t left = n;
  for (int round = 0; left > 0; ++round) {
    Kokkos::parallel_for(
        "Solder::amg::largest_near", Policy(exec, 0, n),
        KOKKOS_LAMBDA(std::int32_t i) { search.look(i); });
    Kokkos::parallel_reduce(
        "Solder::amg::decide", Policy(exec, 0, n),
        KOKKOS_LAMBDA(std::int32_t i, std::int32_t & others) { others += search.decide(i); },
        undecided.view());
    if (round + 1 < first || (round + 1 - first) % at_once != 0) continue;
    left = undecided.get(exec);
  }
}

/// \brief Whether each coupling has its opposite: by a sum to which two opposite ones add zero.
/// (Without, the sum is zero by chance once in 10^9 graphs.)
template <class Exec>
SOLDER_MAKES_LAMBDAS bool is_symmetric(Exec const& exec, RootSearch const& search, std::int32_t n) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce(
      "Solder::amg::is_symmetric", Kokkos::RangePolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int32_t i, std::uint64_t & all) {
        std::uint64_t const mine = search.keys[i];
        for (std::int32_t k = search.offsets[i]; k < search.offsets[i + 1]; ++k) {
          std::uint64_t const other = search.keys[search.columns[k]];
          all += mine * other * (other - mine);
        }
      },
      sum);
  return sum == 0;
}

/// \brief The same roots on one thread of a host, for symmetric couplings: rows are taken in the
/// order of their keys, and a root puts out the rows within distance 2. A row has at most one root
/// beside it, so no coupling is looked at twice.
///
/// \param order [n] memory; that of search.near is used, too
inline void find_roots_in_order(RootSearch const& search, std::int32_t n, std::uint64_t* order) {
  constexpr int digit = 10;  // bits of a pass of the radix sort by the pseudo-random 30 bits
  std::uint64_t *from = order, *to = search.near;
  std::int32_t left = 0;
  for (std::int32_t i = 0; i < n; ++i)
    if (Candidate::state(search.keys[i]) == Candidate::undecided) from[left++] = search.keys[i];
  for (int shift = 32; shift < 62; shift += digit) {
    std::int32_t places[1 << digit] = {};
    auto const bucket = [&](std::uint64_t key) { return key >> shift & ((1 << digit) - 1); };
    for (std::int32_t t = 0; t < left; ++t) ++places[bucket(from[t])];
    std::int32_t before = 0;
    for (std::int32_t& place : places) before += std::exchange(place, before);
    for (std::int32_t t = 0; t < left; ++t) to[places[bucket(from[t])]++] = from[t];
    std::swap(from, to);
  }
  auto const put_out = [&](std::int32_t i) {
    std::uint64_t& key = search.keys[i];
    if (Candidate::state(key) == Candidate::undecided)
      key = Candidate::with_state(key, Candidate::out);
  };
  while (left > 0) {
    auto const i = static_cast<std::int32_t>(from[--left] & 0xffffffff);
    if (Candidate::state(search.keys[i]) != Candidate::undecided) continue;
    search.keys[i] = Candidate::with_state(search.keys[i], Candidate::root);
    for (std::int32_t k = search.offsets[i]; k < search.offsets[i + 1]; ++k) {
      std::int32_t const j = search.columns[k];
      put_out(j);
      for (std::int32_t l = search.offsets[j]; l < search.offsets[j + 1]; ++l)
        put_out(search.columns[l]);
    }
  }
}

/// \brief Decides each undecided row: a root, or out. Whichever way is taken, the roots are the
/// same.
template <class Exec>
void find_roots(Exec const& exec, RootSearch const& search, std::int32_t n,
                std::int64_t couplings) {
  if constexpr (is_host_space<Exec>) {
    constexpr int most_threads = 3;  // one takes 10 ms where the rounds of one take 28
    if (exec.concurrency() <= most_threads && is_symmetric(exec, search, n)) {
      auto const order = allocate_temporary<std::uint64_t>(exec, "Solder::amg::order", n);
      exec.fence("Solder::amg: the keys are known");
      return find_roots_in_order(search, n, order.data());
    }
  } else if (n + couplings <= RootSearchOfTeam::most) {
    return Kokkos::parallel_for("Solder::amg::find_roots", row_policy<Exec, warp>(exec, 1, 16),
                                RootSearchOfTeam{search, n});
  }
  find_roots_in_rounds(exec, search, n);
}

}  // namespace Solder::Impl::amg
