// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

namespace Solder::Driver {

/// \brief Bytes of main memory this process can still use: what the system calls available, within
/// the limits of its control group. The largest integer where neither is known.
std::uint64_t available_memory();

/// \brief "1.5 GB".
std::string memory_text(double bytes);

/// \brief While it lives, an allocation beyond the available memory throws std::bad_alloc, where an
/// overcommitting kernel would otherwise kill the process later. Without effect where not
/// supported.
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
