// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>

#ifdef __linux__
#include <sys/resource.h>
#endif

namespace Solder::Driver {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

/// The number after `key` in a file with lines "key number ..."; the first word if the key is
/// empty.
std::optional<std::uint64_t> number_in(char const* file, std::string const& key) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (key.empty()) return stream >> value ? std::optional(value) : std::nullopt;
  for (std::string word; stream >> word;)
    if (word == key) return stream >> value ? std::optional(value) : std::nullopt;
  return {};
}

}  // namespace

std::uint64_t available_memory() {
  std::uint64_t bytes = unknown;
  if (auto const kilobytes = number_in("/proc/meminfo", "MemAvailable:")) bytes = *kilobytes * 1024;
  auto const limit = number_in("/sys/fs/cgroup/memory.max", "");
  auto const used = number_in("/sys/fs/cgroup/memory.current", "");
  if (limit && used) {
    auto const reclaimable = number_in("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0);
    std::uint64_t const busy = *used - std::min(*used, reclaimable);
    bytes = std::min(bytes, *limit - std::min(*limit, busy));
  }
  return bytes;
}

std::string memory_text(double bytes) {
  char buffer[32];
  if (bytes >= 1e9)
    std::snprintf(buffer, sizeof(buffer), "%.1f GB", bytes / 1e9);
  else
    std::snprintf(buffer, sizeof(buffer), "%.0f MB", bytes / 1e6);
  return buffer;
}

#ifdef __linux__
AllocationLimit::AllocationLimit() {
  rlimit limit{};
  auto const used = number_in("/proc/self/status", "VmData:");
  std::uint64_t const available = available_memory();
  if (!used || available == unknown || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  previous_ = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, *used * 1024 + available);
  active_ = setrlimit(RLIMIT_DATA, &limit) == 0;
}

AllocationLimit::~AllocationLimit() {
  rlimit limit{};
  if (!active_ || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = previous_;
  setrlimit(RLIMIT_DATA, &limit);
}
#else
AllocationLimit::AllocationLimit() = default;
AllocationLimit::~AllocationLimit() = default;
#endif

}  // namespace Solder::Driver
