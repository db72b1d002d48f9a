// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What solves on hosts do whatever their method: compiled once for each scalar; see CMakeLists.txt.
#include <solder/solvers/detail/method.hpp>

namespace Solder::Impl {

template class Solve<Host, SOLDER_SCALAR>;
template class ColumnGroups<Host, SOLDER_SCALAR>;
template class Batches<Host, SOLDER_SCALAR>;
template class AnyMethod<Host, SOLDER_SCALAR>;

}  // namespace Solder::Impl
