// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What solves do whatever their method: compiled once for each scalar; see CMakeLists.txt.
#include <solder/solvers/detail/method.hpp>

namespace Solder::Impl {

template class Solve<Host, SOLDER_SCALAR>;
template class ColumnGroups<Host, SOLDER_SCALAR>;
template class Batches<Host, SOLDER_SCALAR>;
template class AnyMethod<Host, SOLDER_SCALAR>;
#ifdef SOLDER_HAS_GPU
template class Solve<Gpu, SOLDER_SCALAR>;
template class ColumnGroups<Gpu, SOLDER_SCALAR>;
template class Batches<Gpu, SOLDER_SCALAR>;
template class AnyMethod<Gpu, SOLDER_SCALAR>;
#endif

}  // namespace Solder::Impl
