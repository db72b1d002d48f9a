// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

// Listing the tests must work where no device is: only running them starts Kokkos.
int main(int argc, char* argv[]) {
  ::testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
