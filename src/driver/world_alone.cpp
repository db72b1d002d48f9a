// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The world of a build without MPI.
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "world.hpp"

namespace Solder::Driver {

World const& world() {
  static World const alone;
  return alone;
}

WorldGuard::WorldGuard(int*, char***) {
  for (char const* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (char const* const size = std::getenv(name); size != nullptr && std::atoi(size) > 1)
      throw std::runtime_error(
          "started by mpirun as several ranks, but this build has no MPI: each of them would solve "
          "everything. Configure with -DSolder_ENABLE_MPI=ON, or call ./solder --ranks " +
          std::string(size) + " FILE.yaml (docs/ranks.md)");
}
WorldGuard::~WorldGuard() = default;

}  // namespace Solder::Driver
