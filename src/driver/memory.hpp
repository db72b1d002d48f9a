// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

namespace Solder::Driver {

/// \brief The bytes of main memory that this process can still use: what the system calls
/// available, within the limits of its control group. The largest integer if neither is known.
std::uint64_t available_memory();

/// \brief "1.5 GB".
std::string memory_text(double bytes);

/// \brief While this object lives, an allocation beyond the available memory throws std::bad_alloc.
/// Otherwise an overcommitting kernel would kill the process later. Has no effect if not supported.
class AllocationLimit {
 public:
  AllocationLimit();
  ~AllocationLimit();
  AllocationLimit(AllocationLimit const&) = delete;
  AllocationLimit& operator=(AllocationLimit const&) = delete;

 private:
  std::uint64_t previous_ = 0;
  bool active_ = false;
};

}  // namespace Solder::Driver
