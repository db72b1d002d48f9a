// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/matrix/generators/poisson.hpp>
