// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Must not compile: views, and a look-alike of Kokkos Kernels' CrsMatrix, of memory that no kernel
// can access. See CMakeLists.txt for what the compiler is to say.
#include <solder/matrix/csr.hpp>

struct Elsewhere {
  using memory_space = Elsewhere;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, Elsewhere>;
  using size_type = std::size_t;
};

using Exec = Kokkos::DefaultExecutionSpace;

template <class T>
using Foreign = Kokkos::View<T*, Elsewhere>;

struct LookAlike {
  struct {
    Foreign<std::int32_t> row_map, entries;
  } graph;
  Foreign<double> values;
  int numRows() const;
  int numCols() const;
};

void wrap(Exec const& exec, Foreign<std::int32_t> const& indices, Foreign<double> const& values,
          LookAlike const& matrix) {
  Solder::CsrMatrix<double, Exec> const A(exec, 1, 1, indices, indices, values);
  Solder::CsrMatrix<double, Exec> const B(exec, matrix);
}
