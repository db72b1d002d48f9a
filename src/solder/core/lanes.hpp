// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Lanes that work on one row together, for kernels over sparse rows outside a solve.

#include <cstdint>
#include <string>

#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

/// \brief Warps of a GPU team in kernels where each warp, or group of its lanes, has its own rows.
inline constexpr int warps_of_rows = 8;

/// \brief The policy of a kernel over rows: teams of `warps` warps, dealt out as they become free;
/// on hosts teams of one thread.
///
/// \tparam LeastTeams that a GPU's multiprocessor is to hold at once: limits the registers
template <class Exec, int Warps, int LeastTeams = 1>
auto row_policy(Exec const& exec, std::int32_t teams, int scratch_bytes) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Warps * warp, LeastTeams>,
                                    Kokkos::Schedule<Kokkos::Dynamic>>;
  constexpr bool host = is_host_space<Exec>;
  return Policy(exec, teams, host ? 1 : Warps, host ? 1 : warp)
      .set_scratch_size(0, Kokkos::PerTeam(scratch_bytes));
}

/// \brief The binary logarithm of the lanes that read a row together: so many that each has about
/// `entries_per_lane` of the row's entries, on average. `entries` are those of all rows.
template <class Exec>
std::int32_t row_lane_bits(std::int64_t rows, std::int64_t entries,
                           std::int64_t entries_per_lane = 1) {
  std::int32_t bits = 0;
  while (!is_host_space<Exec> && bits < 5 && (rows << bits) * entries_per_lane < entries) ++bits;
  return bits;
}

/// \brief The lanes of a warp that work on a row together, an aligned power of two of them; on
/// hosts a thread.
template <class Exec>
struct RowGroup {
  static constexpr bool on_host = is_host_space<Exec>;

  std::int32_t id;  ///< of the lane in its warp, up to multiples of the warp
  std::int32_t lane, lanes;

  KOKKOS_FUNCTION std::int32_t rank() const { return lane; }
  KOKKOS_FUNCTION std::int32_t size() const { return lanes; }

  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {
#if defined(__CUDA_ARCH__)
    __syncwarp(mask());
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#endif
  }
  /// \brief Bit l of the answer: whether lane l of the group says yes. All its lanes call this
  /// together, as sum().
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t votes(bool yes) const {
#if defined(__CUDA_ARCH__)
    return __ballot_sync(mask(), yes) >> first();
#elif defined(__HIP_DEVICE_COMPILE__)
    return static_cast<std::uint32_t>(__ballot(yes) >> (__lane_id() & ~(lanes - 1))) &
           (lanes == warp ? 0xffffffffu : (1u << lanes) - 1);
#else
    return yes ? 1 : 0;
#endif
  }
  KOKKOS_FORCEINLINE_FUNCTION double sum(double value) const {
#if defined(__CUDA_ARCH__)
    for (int m = 1; m < lanes; m *= 2) value += __shfl_xor_sync(mask(), value, m);
#elif defined(__HIP_DEVICE_COMPILE__)
    for (int m = 1; m < lanes; m *= 2) value += __shfl_xor(value, m, warp);
#endif
    return value;
  }
  KOKKOS_FORCEINLINE_FUNCTION double largest(double value) const {
#if defined(__CUDA_ARCH__)
    for (int m = 1; m < lanes; m *= 2)
      value = Kokkos::max(value, __shfl_xor_sync(mask(), value, m));
#elif defined(__HIP_DEVICE_COMPILE__)
    for (int m = 1; m < lanes; m *= 2) value = Kokkos::max(value, __shfl_xor(value, m, warp));
#endif
    return value;
  }
  /// \brief The value of lane `from` of the group.
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION Real value(Real mine, [[maybe_unused]] std::int32_t from) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(mask(), mine, from, lanes);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __shfl(mine, from, lanes);
#else
    return mine;
#endif
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> value(Kokkos::complex<Real> const& mine,
                                                          std::int32_t from) const {
    return {value(mine.real(), from), value(mine.imag(), from)};
  }

  /// \brief Its first lane in the warp.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t first() const { return id & (warp - 1) & ~(lanes - 1); }

 private:
  /// \brief All its lanes in the warp.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t mask() const {
    return (lanes == warp ? 0xffffffffu : (1u << lanes) - 1) << first();
  }
};

/// \brief f(group, i) for each of `rows` rows, 2^bits lanes each.
template <class Exec, class F>
SOLDER_MAKES_LAMBDAS void for_each_row_group(Exec const& exec, std::string const& label,
                                             std::int32_t rows, std::int32_t bits, F const& f) {
  std::int64_t const lanes = (std::int64_t(rows) << bits) + (is_host_space<Exec> ? 0 : warp - 1),
                     all = is_host_space<Exec> ? lanes : lanes / warp * warp;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, all),
      KOKKOS_LAMBDA(std::int64_t id) {
        auto const i = static_cast<std::int32_t>(id >> bits);
        auto const in_warp = static_cast<std::int32_t>(id & (warp - 1));
        std::int32_t const lanes_of_row = 1 << bits;
        if (i < rows) f(RowGroup<Exec>{in_warp, in_warp & (lanes_of_row - 1), lanes_of_row}, i);
      });
}

/// \brief A warp; on hosts a thread.
template <class Exec>
class WarpLanes {
 public:
  static constexpr bool on_host = is_host_space<Exec>;

  KOKKOS_FUNCTION static constexpr std::int32_t size() { return on_host ? 1 : warp; }
  KOKKOS_FUNCTION std::int32_t rank() const { return lane_number(); }
  KOKKOS_FUNCTION void barrier() const { lane_barrier(); }

  /// \brief Begins to count places, from `first` on.
  KOKKOS_FUNCTION void start(std::int32_t first) { taken_ = first; }
  /// \brief A place of its own for each lane that wants one; `votes` of the warp say which do.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t take_place(bool, std::uint32_t votes) {
    std::int32_t const place = taken_ + bits_set(votes & ((std::uint32_t(1) << rank()) - 1));
    taken_ += bits_set(votes);
    return place;
  }
  /// \brief The places taken so far; a barrier.
  KOKKOS_FUNCTION std::int32_t taken() const {
    barrier();
    return taken_;
  }

 private:
  std::int32_t taken_ = 0;
};

/// \brief A whole team. `counter` is in memory that the team shares.
template <class Exec, class Member>
class TeamLanes {
 public:
  static constexpr bool on_host = is_host_space<Exec>;

  KOKKOS_FUNCTION TeamLanes(Member const& member, std::int32_t* counter)
      : member_(member), counter_(counter) {}

  KOKKOS_FUNCTION std::int32_t size() const {
    return member_.team_size() * WarpLanes<Exec>::size();
  }
  KOKKOS_FUNCTION std::int32_t rank() const {
    return member_.team_rank() * WarpLanes<Exec>::size() + lane_number();
  }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }

  KOKKOS_FUNCTION void start(std::int32_t first) {
    if (rank() == 0) *counter_ = first;
    barrier();
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t take_place(bool wanted, std::uint32_t) {
    return wanted ? Kokkos::atomic_fetch_add(counter_, 1) : 0;
  }
  KOKKOS_FUNCTION std::int32_t taken() const {
    barrier();
    std::int32_t const count = *counter_;
    barrier();  // nobody takes more before all have read
    return count;
  }

 private:
  Member const& member_;
  std::int32_t* counter_;
};

/// \brief Comparator t of a step of a bitonic network: puts two of keys[0] to keys[count - 1] in
/// order. False where t lies beyond the step's last comparator.
///
/// All comparators point upwards, because the first step of a merge is a mirrored one. Keys beyond
/// `count` would therefore stay there, so any count is sorted in place.
template <class Key>
KOKKOS_FORCEINLINE_FUNCTION bool compare_and_swap(Key* keys, std::uint32_t count, std::uint32_t t,
                                                  std::uint32_t stride, bool mirrored) {
  std::uint32_t const low = t & (stride - 1), block = 2 * (t - low), a = block + low,
                      b = mirrored ? block + 2 * stride - 1 - low : a + stride;
  if (a >= count) return false;
  if (b >= count) return true;
  Key const first = keys[a], second = keys[b];
  if (second < first) {
    keys[a] = second;
    keys[b] = first;
  }
  return true;
}

/// \brief f(stride, mirrored) for each step of a bitonic network over count keys.
SOLDER_FOR_HOST_OR_DEVICE
template <class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_bitonic_step(std::uint32_t count, F const& f) {
  for (std::uint32_t half = 1; half < count; half *= 2)
    for (std::uint32_t stride = half; stride > 0; stride /= 2) f(stride, stride == half);
}

/// \brief Sorts `count` different keys, in memory that the lanes share, in ascending order.
/// Barriers before and after. On GPUs a bitonic network, on hosts Shell's sort.
template <class Lanes, class Key>
KOKKOS_FUNCTION void sort_keys(Lanes const& lanes, Key* keys, std::int32_t count) {
  if constexpr (Lanes::on_host) {
    std::int32_t gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
      for (std::int32_t i = gap; i < count; ++i) {
        Key const key = keys[i];
        std::int32_t j = i;
        for (; j >= gap && key < keys[j - gap]; j -= gap) keys[j] = keys[j - gap];
        keys[j] = key;
      }
  } else {
    lanes.barrier();
    for_each_bitonic_step(count, [&](std::uint32_t stride, bool mirrored) {
      for (std::uint32_t t = lanes.rank(); compare_and_swap(keys, count, t, stride, mirrored);
           t += lanes.size()) {
      }
      lanes.barrier();
    });
  }
}

/// \brief The steps of a bitonic network over all lanes of a warp from step (run, distance) on.
template <int run, int distance, int keys, class Key>
KOKKOS_FORCEINLINE_FUNCTION void bitonic_steps(Key (&key)[keys], int lane) {
  if constexpr (distance >= keys) {
    constexpr int mask = distance / keys;
    bool const smaller = ((lane & mask) == 0) == ((lane & (run / keys)) == 0);
    for (int r = 0; r < keys; ++r) {
      Key const other = lane_exchange(key[r], mask);
      key[r] = smaller ? Kokkos::min(key[r], other) : Kokkos::max(key[r], other);
    }
  } else {
    for (int r = 0; r < keys; ++r) {
      if ((r & distance) != 0) continue;
      bool const up = run < keys ? (r & run) == 0 : (lane & (run / keys)) == 0;
      Key const low = Kokkos::min(key[r], key[r | distance]),
                high = Kokkos::max(key[r], key[r | distance]);
      key[r] = up ? low : high;
      key[r | distance] = up ? high : low;
    }
  }
  if constexpr (distance > 1)
    bitonic_steps<run, distance / 2>(key, lane);
  else if constexpr (run < warp * keys)
    bitonic_steps<2 * run, run>(key, lane);
}

/// \brief Sorts the keys of all lanes of a GPU's warp, a few in each lane: lane 0 gets the smallest
/// ones. All lanes call this together.
template <int keys, class Key>
KOKKOS_FORCEINLINE_FUNCTION void sort_lanes(Key (&key)[keys]) {
  bitonic_steps<2, 1>(key, lane_number());
}

/// \brief A GPU's warp sorts keys from[0] to from[count - 1] into `to`, which may be the same
/// array: count <= warp * keys.
template <int keys, class Key>
KOKKOS_FORCEINLINE_FUNCTION void sort_through_registers(Key const* from, Key* to,
                                                        std::int32_t count) {
  constexpr Key none = Kokkos::Experimental::finite_max_v<Key>;
  int const lane = lane_number();
  Key key[keys];
  for (int r = 0; r < keys; ++r) {
    std::int32_t const k = lane + warp * r;
    key[r] = k < count ? from[k] : none;
  }
  sort_lanes(key);
  lane_barrier();
  for (int r = 0; r < keys; ++r)
    if (lane * keys + r < count) to[lane * keys + r] = key[r];
  lane_barrier();
}

/// \brief Keys that a warp sorts in its registers.
inline constexpr std::int32_t most_warp_keys = 8 * warp;

/// \brief The same for up to most_warp_keys keys, all less than the largest number there is.
template <class Key>
KOKKOS_FORCEINLINE_FUNCTION void sort_by_warp(Key const* from, Key* to, std::int32_t count) {
  if (count <= warp)
    sort_through_registers<1>(from, to, count);
  else if (count <= 2 * warp)
    sort_through_registers<2>(from, to, count);
  else if (count <= 4 * warp)
    sort_through_registers<4>(from, to, count);
  else
    sort_through_registers<8>(from, to, count);
}

template <class Key>
struct BitonicStep {
  Key* keys;
  std::uint32_t count, stride;
  bool mirrored;

  KOKKOS_FUNCTION void operator()(std::uint32_t t) const {
    compare_and_swap(keys, count, t, stride, mirrored);
  }
};

/// \brief Sorts `count` different keys with all of the device, a kernel a step: for so many that
/// a team takes longer.
template <class Exec, class Key>
void sort_many_keys(Exec const& exec, std::string const& label, Key* keys, std::uint32_t count) {
  for_each_bitonic_step(count, [&](std::uint32_t stride, bool mirrored) {
    std::uint32_t const comparators = (count + 2 * stride - 1) / (2 * stride) * stride;
    Kokkos::parallel_for(
        label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::uint32_t>>(exec, 0, comparators),
        BitonicStep<Key>{keys, count, stride, mirrored});
  });
}

}  // namespace Solder::Impl
