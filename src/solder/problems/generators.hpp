// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All matrix generators: functions that return a HostCsr<Scalar>.
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/stand_in.hpp>
#include <solder/problems/waves.hpp>
