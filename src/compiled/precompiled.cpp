// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing: the target of this file reads <Kokkos_Core.hpp> once for all those that are compiled as
// it is.
