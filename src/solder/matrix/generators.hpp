// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All matrix generators: functions that return a HostCsr<Scalar>.
#include <solder/matrix/generators/convection_diffusion.hpp>
#include <solder/matrix/generators/elasticity.hpp>
#include <solder/matrix/generators/poisson.hpp>
#include <solder/matrix/generators/random.hpp>
#include <solder/matrix/generators/stand_in.hpp>
#include <solder/matrix/generators/waves.hpp>
