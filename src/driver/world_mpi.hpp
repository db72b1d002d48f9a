// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mpi.h>

namespace Solder::Driver {

/// \brief The communicator of world(), where it is not alone.
MPI_Comm world_comm();

}  // namespace Solder::Driver
