// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <exception>
#include <mutex>

namespace Solder::Impl {

/// \brief Keeps the first exception of a host's threads in a parallel region, which none may leave,
/// until the region has ended.
class FirstFailure {
 public:
  template <class F>
  void guard(F const& f) noexcept {
    try {
      f();
    } catch (...) {
      std::lock_guard const lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }
  /// \brief Throws it, if there is any.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace Solder::Impl
