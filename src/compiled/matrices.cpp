// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSR matrices. Compiled once for each scalar, and for those of set-ups; see CMakeLists.txt.
#include <solder/matrix/csr.hpp>

namespace Solder {

template class CsrMatrix<SOLDER_SCALAR, Impl::Host>;
#ifdef SOLDER_HAS_GPU
template class CsrMatrix<SOLDER_SCALAR, Impl::Gpu>;
#endif

}  // namespace Solder
