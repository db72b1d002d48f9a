// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Matrix Market file, plain, for one of the scalars.
#include "matrix.hpp"

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const file = folder().write("A.mtx", text_of(data, size)).string();
  switch (size % 4) {
    case 0:
      claim_matrix<float>(file);
      break;
    case 1:
      claim_matrix<double>(file);
      break;
    case 2:
      claim_matrix<Kokkos::complex<float>>(file);
      break;
    default:
      claim_matrix<Kokkos::complex<double>>(file);
  }
  return 0;
}
