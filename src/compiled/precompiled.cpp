// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Empty: this file's target precompiles <Kokkos_Core.hpp> for all targets with the same compile
// options.
