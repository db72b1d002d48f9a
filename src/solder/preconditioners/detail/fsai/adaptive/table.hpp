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

  /// \brief Orders the lanes' earlier memory accesses before their later ones.
  KOKKOS_FORCEINLINE_FUNCTION void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#endif
  }

  /// \brief The value of lane `from`.
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number broadcast(Number const& value, int from) const {
    return lane_value(value, from);
  }

  /// \brief The value of the lane whose number differs in the bits of `mask`.
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number exchange(Number const& value, int mask) const {
    return lane_exchange(value, mask);
  }

  /// \brief Replaces each value by its sum over the lanes, in a fixed order. All lanes get it.
  template <class... Numbers>
  KOKKOS_FORCEINLINE_FUNCTION void sum(Numbers&... values) const {
    for (int m = count / 2; m > 0; m /= 2) ((values += exchange(values, m)), ...);
  }
};

/// \brief The layout of a worker's memory, in bytes from its beginning, for rows that grow to at
/// most `most` off-diagonal entries, with a table of 2^bits slots.
struct AdaptiveLayout {
  int bits;
  std::int32_t limit;  ///< columns that the table may hold: three quarters of its slots
  std::size_t u, sums, inverse, begins, lengths, members, keys, used, inserted, bytes;
  std::size_t factor_bytes;  ///< of L, which is stored separately

  template <class Number, class Offset>
  static AdaptiveLayout of(std::int32_t most, int bits) {
    AdaptiveLayout at{};
    std::size_t const m = most, slots = std::size_t(1) << bits;
    at.bits = bits;
    at.limit = static_cast<std::int32_t>(slots / 4 * 3);
    at.factor_bytes = (sizeof(Number) * (m * m - m) / 2 + 15) / 16 * 16;
    at.u = sizeof(Number) * m;
    at.sums = at.u + sizeof(Number) * m;
    at.inverse = at.sums + sizeof(Number) * slots;
    at.begins = at.inverse + sizeof(double) * m;
    at.lengths = at.begins + sizeof(Offset) * (m + 1);
    at.members = at.lengths + sizeof(std::int32_t) * (m + 1);
    at.keys = at.members + sizeof(std::int32_t) * m;
    at.used = at.keys + sizeof(std::uint32_t) * slots;
    at.inserted = at.used + sizeof(std::int32_t) * at.limit;
    at.bytes = (at.inserted + sizeof(std::int32_t) + 15) / 16 * 16;
    return at;
  }
};

/// \brief A worker's memory. (Pointers would take registers; the layout does not, because it is a
/// kernel argument.)
template <class Number, class Offset>
struct AdaptiveMemory {
  char* base;
  Number* factor;
  AdaptiveLayout const& layout;

  /// \brief The Cholesky factor L of A[P,P]: its strict lower triangle, packed by rows, ...
  KOKKOS_FORCEINLINE_FUNCTION Number* row_of_L(std::int32_t place) const {
    return factor + static_cast<std::ptrdiff_t>(place) * (place - 1) / 2;
  }
  /// \brief ... and 1 / diag(L).
  KOKKOS_FORCEINLINE_FUNCTION double* inverse() const { return at<double>(layout.inverse); }
  /// \brief L^-1 A[P,i].
  KOKKOS_FORCEINLINE_FUNCTION Number* y() const { return at<Number>(0); }
  /// \brief gtilde_P^H = -L^-H y.
  KOKKOS_FORCEINLINE_FUNCTION Number* u() const { return at<Number>(layout.u); }
  /// \brief Where row i of A begins, then the rows P.
  KOKKOS_FORCEINLINE_FUNCTION Offset* begins() const { return at<Offset>(layout.begins); }
  /// \brief The lengths of the same rows.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t* lengths() const {
    return at<std::int32_t>(layout.lengths);
  }
  /// \brief P, in the order of addition.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t* members() const {
    return at<std::int32_t>(layout.members);
  }
  /// \brief The table's columns, with open addressing, ...
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t* keys() const { return at<std::uint32_t>(layout.keys); }
  /// \brief ... and a gradient for each slot, ...
  KOKKOS_FORCEINLINE_FUNCTION Number* sums() const { return at<Number>(layout.sums); }
  /// \brief ... the slots that hold a column, and the number of them.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t* used() const { return at<std::int32_t>(layout.used); }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t* inserted() const {
    return at<std::int32_t>(layout.inserted);
  }

 private:
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T* at(std::size_t bytes) const {
    return reinterpret_cast<T*>(base + bytes);
  }
};

/// \brief The table of the columns j < i in rows {i} u P of A: candidates with their gradients, and
/// members of P (marked) with their places in P.
///
/// Which slot a column gets depends on which lane comes first, but no result depends on the slots.
template <class Exec, class Number, class Offset>
struct AdaptiveTable {
  static constexpr std::uint32_t empty = 0xffffffffu, member = 0x80000000u;

  AdaptiveMemory<Number, Offset> memory;
  AdaptiveLanes<Exec> lanes;

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t slot_of(std::uint32_t column) const {
    return column * 2654435769u >> (32 - memory.layout.bits);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t mask() const { return (1u << memory.layout.bits) - 1; }

  /// \brief Called by all lanes: empties the table, even if it has overflowed.
  KOKKOS_FORCEINLINE_FUNCTION void wipe() const {
    std::int64_t const slots = std::int64_t(1) << memory.layout.bits;
    lanes.sync();
    for (std::int64_t slot = lanes.lane; slot < slots; slot += lanes.count)
      memory.keys()[slot] = empty;
    if (lanes.lane == 0) *memory.inserted() = 0;
    lanes.sync();
  }

  /// \brief Called by all lanes: empties the slots in use.
  KOKKOS_FORCEINLINE_FUNCTION void clear() const {
    lanes.sync();
    std::int32_t const count = *memory.inserted();
    for (std::int32_t t = lanes.lane; t < count; t += lanes.count)
      memory.keys()[memory.used()[t]] = empty;
    lanes.sync();
    if (lanes.lane == 0) *memory.inserted() = 0;
    lanes.sync();
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_full() const {
    return *memory.inserted() > memory.layout.limit;
  }

  /// \brief Adds a term to the gradient of a column, unless the column is a member of P. No two
  /// lanes may pass the same column at once. False if the table is full; the lane must not call
  /// this again then.
  KOKKOS_FORCEINLINE_FUNCTION bool add(std::uint32_t column, Number const& term) const {
    std::uint32_t slot = slot_of(column);
    while (true) {
      std::uint32_t key = *static_cast<std::uint32_t volatile const*>(memory.keys() + slot);
      if (key == empty) {
        key = claim(slot, column);
        if (key == empty) {
          std::int32_t const t = count_one();
          if (t >= memory.layout.limit) return false;
          memory.used()[t] = static_cast<std::int32_t>(slot);
          memory.sums()[slot] = term;
          return true;
        }
      }
      if (key == column) memory.sums()[slot] += term;
      if ((key & ~member) == column) return true;
      slot = (slot + 1) & mask();
    }
  }

  /// \brief The place of a column in P; -1 if it is not there.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t place(std::uint32_t column) const {
    std::uint32_t slot = slot_of(column);
    while (true) {
      std::uint32_t const key = memory.keys()[slot];
      if (key == (column | member))
        return static_cast<std::int32_t>(real_part(memory.sums()[slot]));
      if (key == empty || key == column) return -1;
      slot = (slot + 1) & mask();
    }
  }

  /// \brief Called by one lane: makes a candidate the member of P at `place`.
  KOKKOS_FORCEINLINE_FUNCTION void mark(std::uint32_t column, std::int32_t place) const {
    std::uint32_t slot = slot_of(column);
    while (memory.keys()[slot] != column) slot = (slot + 1) & mask();
    memory.keys()[slot] = column | member;
    memory.sums()[slot] = Number(place);
    memory.members()[place] = static_cast<std::int32_t>(column);
  }

  /// \brief f(column, its gradient) for the candidates of this lane.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_candidate(F const& f) const {
    std::int32_t const count = *memory.inserted();
    for (std::int32_t t = lanes.lane; t < count; t += lanes.count) {
      std::int32_t const slot = memory.used()[t];
      std::uint32_t const key = memory.keys()[slot];
      if ((key & member) == 0) f(static_cast<std::int32_t>(key), memory.sums()[slot]);
    }
  }

 private:
  /// \brief Puts the column in the slot if that is empty. Returns what the slot held before.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t claim(std::uint32_t slot, std::uint32_t column) const {
    if constexpr (AdaptiveLanes<Exec>::count > 1) {
      std::uint32_t const none = empty;
      return Kokkos::atomic_compare_exchange(memory.keys() + slot, none, column);
    } else {
      memory.keys()[slot] = column;
      return empty;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t count_one() const {
    if constexpr (AdaptiveLanes<Exec>::count > 1)
      return Kokkos::atomic_fetch_add(memory.inserted(), 1);
    else
      return (*memory.inserted())++;
  }
};

}  // namespace Solder::Impl
