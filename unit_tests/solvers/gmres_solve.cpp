// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// solve() of GMRES on the default space, for one scalar.
#include "gmres.hpp"

namespace SolderTest {

template SolveGmres<SOLDER_TEST_SCALAR> solve;

}  // namespace SolderTest
