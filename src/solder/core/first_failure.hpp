// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <exception>
#include <mutex>

namespace Solder::Impl {

/// \brief What a host's threads throw in a parallel region, which nothing may leave: the first of
/// it is kept until the region has ended.
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
