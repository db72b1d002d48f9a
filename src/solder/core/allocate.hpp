// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <solder/core/copy.hpp>
#include <solder/core/kept_arrays.hpp>
#include <solder/core/kokkos_ext.hpp>

namespace Solder::Impl {

template <class T, class Exec>
using DeviceArray = Kokkos::View<T*, typename Exec::memory_space>;

template <class View, class... Extents>
std::size_t bytes_of(Extents... extents) {
  return (sizeof(typename View::value_type) * ... * static_cast<std::size_t>(extents));
}

/// \brief A View with memory of its own, not initialised.
/// \throws OutOfMemory
template <class View, class Exec, class... Extents>
View allocate_view(Exec const& exec, char const* label, Extents... extents) {
  auto const make = [&] {
    return allocated<typename View::memory_space>(label, bytes_of<View>(extents...), [&] {
      return View(Kokkos::view_alloc(std::string(label), exec, Kokkos::WithoutInitializing),
                  static_cast<std::size_t>(extents)...);
    });
  };
  if constexpr (sizeof...(Extents) <= 1)
    if (auto* const kept = KeptArrays::current()) {
      bool is_used = false;
      return kept->take<View>((1 * ... * static_cast<std::size_t>(extents)), is_used, make);
    }
  return make();
}

/// \brief The same, zero at first.
template <class View, class Exec, class... Extents>
View allocate_zero_view(Exec const& exec, char const* label, Extents... extents) {
  auto const make = [&] {
    return allocated<typename View::memory_space>(label, bytes_of<View>(extents...), [&] {
      return View(Kokkos::view_alloc(std::string(label), exec),
                  static_cast<std::size_t>(extents)...);
    });
  };
  if constexpr (sizeof...(Extents) <= 1)
    if (auto* const kept = KeptArrays::current()) {
      bool is_used = false;
      View const view =
          kept->take<View>((1 * ... * static_cast<std::size_t>(extents)), is_used, make);
      if (is_used) clear(exec, view);
      return view;
    }
  return make();
}

/// \brief The alignment, in bytes, of an array that is part of a larger one.
inline constexpr std::size_t part_alignment = 256;

/// \brief While an object of this class lives, `allocate` cuts the small arrays of its thread for
/// Exec out of larger ones.
///
/// An allocation makes a GPU wait for what runs, and its host for 10 us: most of a set-up that
/// makes hundreds of small arrays. A part is a View like any other; the whole lives until its last
/// part is gone. These objects may be nested; the innermost counts.
template <class Exec>
class PooledAllocations {
 public:
  /// \param bytes of a whole, which has at least 8 MB and at most 32
  explicit PooledAllocations(std::size_t bytes = 0)
      : whole_(std::clamp(bytes, least_whole, 4 * least_whole)),
        outer_(std::exchange(current_, this)) {}
  ~PooledAllocations() { current_ = outer_; }
  PooledAllocations(PooledAllocations const&) = delete;
  PooledAllocations& operator=(PooledAllocations const&) = delete;

  /// \brief The one that counts for the calling thread, or null.
  static PooledAllocations* current() { return current_; }

  /// \brief Bytes of the largest array that is a part of a whole.
  std::size_t most() const { return whole_ / 4; }

  /// \brief An array of `size` entries, at most most() bytes, aligned as one of its own would be.
  template <class T>
  DeviceArray<T, Exec> part(Exec const& exec, std::size_t size) {
    std::any& slot = rest_[typeid(T)];
    if (!slot.has_value()) slot = no_view<DeviceArray<T, Exec>>();
    auto& rest = *std::any_cast<DeviceArray<T, Exec>>(&slot);
    std::size_t const step = part_alignment / sizeof(T), room = (size + step - 1) / step * step;
    if (rest.extent(0) < room)
      rest = allocate_view<DeviceArray<T, Exec>>(exec, "Solder::pool", whole_ / sizeof(T));
    DeviceArray<T, Exec> const taken = Kokkos::subview(rest, std::make_pair(std::size_t(0), size));
    rest = Kokkos::subview(rest, std::make_pair(room, rest.extent(0)));
    return taken;
  }

 private:
  static constexpr std::size_t least_whole = std::size_t(8) << 20;

  static inline thread_local PooledAllocations* current_ = nullptr;
  std::size_t whole_;
  PooledAllocations* outer_;
  std::unordered_map<std::type_index, std::any> rest_;  ///< of a whole of each type: a DeviceArray
};

/// \brief Memory for the arrays that a set-up needs for a while: a stack. (A GPU waits for the
/// allocation and the release of each separate array, together for 100 us and more.)
///
/// Free memory is kept until the end, unless memory runs out.
template <class Exec>
class Temporaries {
 public:
  /// \param chunk bytes that it takes at once, at least
  explicit Temporaries(std::size_t chunk) : chunk_(chunk) {}
  Temporaries(Temporaries const&) = delete;
  Temporaries& operator=(Temporaries const&) = delete;

  /// \brief While a Frame lives, its thread's temporary arrays come from this memory. At its end
  /// they are given back: only kernels already launched on the instance may still use them.
  class Frame {
   public:
    explicit Frame(Temporaries& memory) : memory_(memory), outer_(current_) {
      for (Chunk const& chunk : memory.chunks_) used_.push_back(chunk.used);
      current_ = &memory;
    }
    ~Frame() {
      for (std::size_t k = 0; k < memory_.chunks_.size(); ++k)
        memory_.chunks_[k].used = k < used_.size() ? used_[k] : 0;
      current_ = outer_;
    }
    Frame(Frame const&) = delete;
    Frame& operator=(Frame const&) = delete;

   private:
    Temporaries& memory_;
    Temporaries* const outer_;
    std::vector<std::size_t> used_;  ///< of each chunk at the beginning
  };

  /// \brief f(). Where there is a Frame, all arrays that f allocates are temporary.
  template <class F>
  static auto temporarily(F const& f) {
    struct Guard {
      bool const outer = std::exchange(takes_all_, true);
      ~Guard() { takes_all_ = outer; }
    } const guard;
    return f();
  }

  /// \brief The memory of the calling thread's innermost Frame, or null.
  static Temporaries* current() { return current_; }
  /// \brief The same if all arrays are temporary, else null.
  static Temporaries* of_all() { return takes_all_ ? current_ : nullptr; }

  /// \brief An array from the chunk with the least room that suffices, or else from a new one.
  template <class T>
  DeviceArray<T, Exec> take(Exec const& exec, std::size_t size) {
    std::size_t const bytes =
        (size * sizeof(T) + part_alignment - 1) / part_alignment * part_alignment;
    Chunk* best = nullptr;
    for (Chunk& chunk : chunks_)
      if (chunk.room() >= bytes && (best == nullptr || chunk.room() < best->room())) best = &chunk;
    if (best == nullptr) {
      auto const memory = retried([&] {
        return allocate_view<DeviceArray<char, Exec>>(exec, "Solder::temporaries",
                                                      std::max(bytes, chunk_));
      });
      best = &chunks_.emplace_back(Chunk{memory, 0});
    }
    char* const there = best->memory.data() + best->used;
    best->used += bytes;
    return DeviceArray<T, Exec>(reinterpret_cast<T*>(there), size);
  }

  /// \brief make(). Where memory does not suffice, it is called once more after the calling
  /// thread's innermost Frame has given up its free memory.
  template <class Make>
  static auto retried(Make const& make) {
    return made_or_again<OutOfMemory>(make,
                                      [] { return current_ != nullptr && current_->gives_up(); });
  }

 private:
  struct Chunk {
    DeviceArray<char, Exec> memory;
    std::size_t used;

    std::size_t room() const { return memory.size() - used; }
  };

  /// \brief Gives up the chunks of which nothing is used. \return whether there were any
  bool gives_up() {
    bool any = false;
    for (Chunk& chunk : chunks_)
      if (chunk.used == 0 && chunk.memory.size() > 0) {
        chunk.memory = no_view<DeviceArray<char, Exec>>();
        any = true;
      }
    return any;
  }

  static inline thread_local Temporaries* current_ = nullptr;
  static inline thread_local bool takes_all_ = false;
  std::size_t chunk_;
  std::vector<Chunk> chunks_;
};

/// \brief An array on the device, not initialised.
/// \throws OutOfMemory
template <class T, class Exec>
DeviceArray<T, Exec> allocate(Exec const& exec, char const* label, std::int64_t size) {
  if (auto* const memory = Temporaries<Exec>::of_all())
    return memory->template take<T>(exec, static_cast<std::size_t>(size));
  auto* const pool = PooledAllocations<Exec>::current();
  auto const entries = static_cast<std::size_t>(size);
  auto const make = [&] {
    return pool != nullptr && entries * sizeof(T) <= pool->most()
               ? pool->template part<T>(exec, entries)
               : allocate_view<DeviceArray<T, Exec>>(exec, label, entries);
  };
  return Temporaries<Exec>::retried(make);
}

/// \brief The same, with all bits zero at first.
template <class T, class Exec>
DeviceArray<T, Exec> allocate_zeros(Exec const& exec, char const* label, std::int64_t size) {
  auto const array = allocate<T>(exec, label, size);
  clear(exec, array);
  return array;
}

/// \brief An array that is given back at the end of the innermost Temporaries::Frame, if there is
/// one; else one of its own.
/// \throws OutOfMemory
template <class T, class Exec>
DeviceArray<T, Exec> allocate_temporary(Exec const& exec, char const* label, std::int64_t size) {
  auto const entries = static_cast<std::size_t>(size);
  if (auto* const memory = Temporaries<Exec>::current())
    return memory->template take<T>(exec, entries);
  return allocate<T>(exec, label, size);
}

}  // namespace Solder::Impl
