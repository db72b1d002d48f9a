// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failing_allocations.hpp"

#include <dlfcn.h>
#include <unwind.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

namespace {

std::atomic<bool> of_new = false, all_later = false;
thread_local bool of_malloc = false;  // of this thread alone: other libraries' threads know of none
std::atomic<std::int64_t> left = 0, failures = 0, spared = 0, live = 0;

/// Of a frame of the stack: whether Kokkos gives up a view's reference there.
_Unwind_Reason_Code is_end_of_view(_Unwind_Context* context, void* found) {
  auto* const at = reinterpret_cast<void*>(_Unwind_GetIP(context) - 1);
  Dl_info info{};
  if (dladdr(at, &info) != 0 && info.dli_sname != nullptr &&
      std::strstr(info.dli_sname, "SharedAllocationRecord") != nullptr)
    *static_cast<bool*>(found) = true;
  return *static_cast<bool*>(found) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// Whether it is Kokkos that asks, for a few bytes beside a view's own: it copies labels in
/// destructors, from where nothing can be thrown, and loses the view's memory where it cannot while
/// it makes one. These do not fail.
bool is_for_records_of_views() {
  if (Solder::Impl::MakingView::count > 0) return true;
  bool found = false;
  _Unwind_Backtrace(is_end_of_view, &found);
  return found;
}

/// Whether this allocation, of those that are counted, fails.
bool fails(bool may_be_for_records = false) {
  std::int64_t const number = --left;
  if (number > 0 || (number < 0 && !all_later)) return false;
  if (may_be_for_records && is_for_records_of_views()) {
    if (number == 0) ++spared;
    return false;
  }
  ++failures;
  return true;
}

/// \param may_be_for_records a view's own memory is aligned
void* allocated(std::size_t bytes, bool may_be_for_records,
                std::size_t alignment = alignof(std::max_align_t)) {
  if (of_new && fails(may_be_for_records)) throw std::bad_alloc();
  std::size_t const room = (bytes + alignment - 1) / alignment * alignment;
  void* const block = std::aligned_alloc(alignment, room);
  if (block == nullptr) throw std::bad_alloc();
  std::memset(block, 0xff, room);
  ++live;
  return block;
}

void deallocate(void* block) {
  if (block == nullptr) return;
  --live;
  std::free(block);
}

void fail_on_device(char const*, std::size_t) {
  if (fails()) throw std::bad_alloc();
}

/// The views that live, in the order in which they were made. It allocates nothing.
class Ledger {
 public:
  static Ledger& of_all() {
    static Ledger ledger;
    return ledger;
  }

  void add(char const* label, void const* at) {
    if (std::strncmp(label, "Kokkos::", 8) == 0) return;  // an instance's own, which it keeps
    std::lock_guard const lock(mutex_);
    if (size_ == most) Kokkos::abort("failing_allocations.cpp: too many views");
    views_[size_] = {at, {}};
    std::strncpy(views_[size_].label, label, sizeof views_[size_].label - 1);
    ++size_;
  }
  void take_out(void const* at) {
    std::lock_guard const lock(mutex_);
    auto* const end = views_ + size_;
    auto* const found = std::find_if(views_, end, [&](auto const& view) { return view.at == at; });
    if (found == end) return;  // it was made before the first call
    std::copy(found + 1, end, found);
    --size_;
  }
  std::int64_t size() {
    std::lock_guard const lock(mutex_);
    return size_;
  }
  std::string newest(std::int64_t count) {
    std::lock_guard const lock(mutex_);
    std::string labels;
    for (std::int64_t v = std::max<std::int64_t>(0, size_ - count); v < size_; ++v)
      labels += std::string(" ") + views_[v].label;
    return labels;
  }

 private:
  static constexpr std::int64_t most = 4096;
  struct View {
    void const* at;
    char label[56];
  };

  std::mutex mutex_;
  View views_[most];
  std::int64_t size_ = 0;
};

}  // namespace

// All other forms call these.
void* operator new(std::size_t bytes) { return allocated(bytes, true); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, false, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { deallocate(block); }
void operator delete(void* block, std::align_val_t) noexcept { deallocate(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { deallocate(block); }

// What a sanitizer has in place of malloc is left alone, and what nvcc has, which is for devices
// too.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__CUDACC__)
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t bytes) noexcept {
  if (!of_malloc || !fails()) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}
#endif

namespace SolderTest {

void fail_allocation(Of of, std::int64_t n, bool and_later) {
  left = n;
  failures = spared = 0;
  all_later = and_later;
  if (of == Of::device) Solder::Impl::before_allocation = fail_on_device;
  of_malloc = of == Of::files;
  of_new = of != Of::device;
}

Stopped stop_failing() {
  of_new = of_malloc = false;
  Solder::Impl::before_allocation = nullptr;
  return failures > 0 ? Stopped::failed : spared > 0 ? Stopped::spared : Stopped::not_reached;
}

std::int64_t live_blocks() { return live; }

std::int64_t live_views() {
  namespace Tools = Kokkos::Tools::Experimental;
  Tools::set_allocate_data_callback([](Kokkos::Tools::SpaceHandle, char const* label,
                                       void const* at,
                                       std::uint64_t) { Ledger::of_all().add(label, at); });
  Tools::set_deallocate_data_callback([](Kokkos::Tools::SpaceHandle, char const*, void const* at,
                                         std::uint64_t) { Ledger::of_all().take_out(at); });
  return Ledger::of_all().size();
}

std::string newest_views(std::int64_t count) { return Ledger::of_all().newest(count); }

}  // namespace SolderTest
