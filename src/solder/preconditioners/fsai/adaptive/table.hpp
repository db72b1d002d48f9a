// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>

namespace Solder::Impl {

/// \brief The lanes that work on one row: a warp on GPUs, one thread on hosts.
template <class Exec>
struct AdaptiveLanes {
  static constexpr int count = is_host_space<Exec> ? 1 : warp;
  int lane;

  /// \brief Orders the memory accesses of the lanes before it before those after it.
  KOKKOS_FORCEINLINE_FUNCTION void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#endif
  }

  /// \brief The value of lane `from`.
  KOKKOS_FORCEINLINE_FUNCTION double broadcast(double value, [[maybe_unused]] int from) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, value, from);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __shfl(value, from, warp);
#else
    return value;
#endif
  }
  KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<double> broadcast(
      Kokkos::complex<double> const& value, int from) const {
    return {broadcast(value.real(), from), broadcast(value.imag(), from)};
  }

  /// \brief The sum over the lanes, in a fixed order, known to all.
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number sum(Number value) const {
    for (int m = count / 2; m > 0; m /= 2) value += lane_exchange(value, m);
    return value;
  }
};

/// \brief What a row needs while it grows to at most `most` entries beside the diagonal, with a
/// table of 2^bits columns.
template <class Number, class Offset>
struct AdaptiveMemory {
  Number* L;               ///< of A[P,P], strictly lower, packed by rows
  Number* y;               ///< L^-1 A[P,i]
  Number* u;               ///< gtilde_P^H = -L^-H y
  Number* sums;            ///< a gradient for each slot of the table
  double* inverse;         ///< 1 / diag(L)
  Offset* begins;          ///< of row i of A, then of the rows P
  std::int32_t* lengths;   ///< of the same rows
  std::int32_t* members;   ///< P, in the order of addition
  std::uint32_t* keys;     ///< columns, in a table with open addressing
  std::int32_t* used;      ///< the slots that hold a column
  std::int32_t* inserted;  ///< their number

  static constexpr std::size_t triangle(std::int32_t rows) {
    return std::size_t(rows) * (rows > 0 ? rows - 1 : 0) / 2;
  }

  /// \brief Columns that a table may hold: three quarters of its slots.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t limit(int bits) {
    return static_cast<std::int32_t>((std::int64_t(3) << bits) / 4);
  }

  static std::size_t bytes(std::int32_t most, int bits) {
    std::size_t const m = most, slots = std::size_t(1) << bits, most_used = limit(bits);
    std::size_t const all = sizeof(Number) * (triangle(most) + 2 * m + slots) + sizeof(double) * m +
                            sizeof(Offset) * (m + 1) +
                            sizeof(std::int32_t) * (2 * m + 1 + slots + most_used + 1);
    return (all + 15) / 16 * 16;
  }

  KOKKOS_FUNCTION AdaptiveMemory(char* base, std::int32_t most, int bits) {
    std::size_t const slots = std::size_t(1) << bits;
    L = reinterpret_cast<Number*>(base);
    y = L + (most > 0 ? std::size_t(most) * (most - 1) / 2 : 0);
    u = y + most;
    sums = u + most;
    inverse = reinterpret_cast<double*>(sums + slots);
    begins = reinterpret_cast<Offset*>(inverse + most);
    lengths = reinterpret_cast<std::int32_t*>(begins + most + 1);
    members = lengths + most + 1;
    keys = reinterpret_cast<std::uint32_t*>(members + most);
    used = reinterpret_cast<std::int32_t*>(keys + slots);
    inserted = used + limit(bits);
  }
};

/// \brief The table of the columns j < i that rows {i} u P of A have: candidates with their
/// gradients, and members of P (marked) with their places in P.
///
/// The slots depend on which lane comes first, but nothing that is computed depends on the slots.
template <class Exec, class Number, class Offset>
struct AdaptiveTable {
  static constexpr std::uint32_t empty = 0xffffffffu, member = 0x80000000u;

  AdaptiveMemory<Number, Offset> const& memory;
  AdaptiveLanes<Exec> lanes;
  int bits;

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t slot_of(std::uint32_t column) const {
    return column * 2654435769u >> (32 - bits);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t mask() const { return (1u << bits) - 1; }

  /// \brief All lanes: empties the table whatever it holds.
  KOKKOS_FORCEINLINE_FUNCTION void wipe() const {
    std::int64_t const slots = std::int64_t(1) << bits;
    lanes.sync();
    for (std::int64_t slot = lanes.lane; slot < slots; slot += lanes.count)
      memory.keys[slot] = empty;
    if (lanes.lane == 0) *memory.inserted = 0;
    lanes.sync();
  }

  /// \brief All lanes: empties the slots in use.
  KOKKOS_FORCEINLINE_FUNCTION void clear() const {
    lanes.sync();
    std::int32_t const count = *memory.inserted;
    for (std::int32_t t = lanes.lane; t < count; t += lanes.count)
      memory.keys[memory.used[t]] = empty;
    lanes.sync();
    if (lanes.lane == 0) *memory.inserted = 0;
    lanes.sync();
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_full() const { return *memory.inserted > memory.limit(bits); }

  /// \brief Adds a term to the gradient of a column unless that is a member of P; no two lanes
  /// bring the same column at once. False where the table is full: then the lane must stop.
  KOKKOS_FORCEINLINE_FUNCTION bool add(std::uint32_t column, Number const& term) const {
    std::uint32_t slot = slot_of(column);
    while (true) {
      std::uint32_t key = memory.keys[slot];
      if (key == empty) {
        key = claim(slot, column);
        if (key == empty) {
          std::int32_t const t = count_one();
          if (t >= memory.limit(bits)) return false;
          memory.used[t] = static_cast<std::int32_t>(slot);
          memory.sums[slot] = term;
          return true;
        }
      }
      if (key == column) memory.sums[slot] += term;
      if ((key & ~member) == column) return true;
      slot = (slot + 1) & mask();
    }
  }

  /// \brief The place of a column in P; -1: it is not there.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t place(std::uint32_t column) const {
    std::uint32_t slot = slot_of(column);
    while (true) {
      std::uint32_t const key = memory.keys[slot];
      if (key == (column | member)) return static_cast<std::int32_t>(real_part(memory.sums[slot]));
      if (key == empty || key == column) return -1;
      slot = (slot + 1) & mask();
    }
  }

  /// \brief One lane: makes a candidate the member of P at `place`.
  KOKKOS_FORCEINLINE_FUNCTION void mark(std::uint32_t column, std::int32_t place) const {
    std::uint32_t slot = slot_of(column);
    while (memory.keys[slot] != column) slot = (slot + 1) & mask();
    memory.keys[slot] = column | member;
    memory.sums[slot] = Number(place);
    memory.members[place] = static_cast<std::int32_t>(column);
  }

  /// \brief f(column, its gradient) for the candidates of this lane.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_candidate(F const& f) const {
    std::int32_t const count = *memory.inserted;
    for (std::int32_t t = lanes.lane; t < count; t += lanes.count) {
      std::int32_t const slot = memory.used[t];
      std::uint32_t const key = memory.keys[slot];
      if ((key & member) == 0) f(static_cast<std::int32_t>(key), memory.sums[slot]);
    }
  }

 private:
  /// \brief What the slot held before; the column is there if that was `empty`.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t claim(std::uint32_t slot, std::uint32_t column) const {
    if constexpr (AdaptiveLanes<Exec>::count > 1) {
      std::uint32_t const none = empty;
      return Kokkos::atomic_compare_exchange(memory.keys + slot, none, column);
    } else {
      memory.keys[slot] = column;
      return empty;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t count_one() const {
    if constexpr (AdaptiveLanes<Exec>::count > 1)
      return Kokkos::atomic_fetch_add(memory.inserted, 1);
    else
      return (*memory.inserted)++;
  }
};

}  // namespace Solder::Impl
