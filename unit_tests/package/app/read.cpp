// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <solder/io/matrix_market.hpp>
#include <solder/problems/poisson.hpp>

int main() {
  auto const written = Solder::fem_poisson_2d<double>(3);
  Solder::write_matrix_market("A.mtx.gz", written);
  auto const A = Solder::read_matrix_market<double>("A.mtx.gz");
  std::printf("%d rows, %d nonzeros\n", A.rows, static_cast<int>(A.nonzeros()));
  return A.values == written.values ? 0 : 1;
}
