// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Matrix Market file, plain.
#include "matrix.hpp"

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const file = folder().write("A.mtx", text_of(data, size)).string();
  claim_matrix<double>(file);
  claim_matrix<float>(file);
  claim_matrix<Kokkos::complex<double>>(file);
  return 0;
}
