// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The set-ups of FSAI, of multigrid and of matrices in blocks for hosts, matchings, and the
// analysis of a matrix. Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/matrix/analysis.hpp>
#include <solder/matrix/block.hpp>
#include <solder/matrix/matching.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <tuple>

#include "systems.hpp"

namespace Solder {

template class Incomplete<SOLDER_SCALAR, Impl::Host>;
template auto Impl::host_preconditioner<SOLDER_SCALAR>(
    Impl::Keeper&, Incomplete<SOLDER_SCALAR, Impl::Host>::Opened const&);
template class Impl::triangular::Scheduled<SOLDER_SCALAR, Impl::Host>;
template class Impl::scaling::ProductMatching<std::int32_t>;
template Analysis Impl::first_look(Impl::Host const&, CsrMatrix<SOLDER_SCALAR, Impl::Host> const&);
template std::int64_t Impl::find_slices(Impl::Host const&, Impl::BlockRows<std::int32_t> const&,
                                        std::int64_t*);
template void Impl::fill_block_columns(Impl::Host const&, Impl::BlockRows<std::int32_t> const&,
                                       std::int64_t const*, std::int32_t*);
template void Impl::fill_block_values(Impl::Host const&,
                                      CsrMatrix<SOLDER_SCALAR, Impl::Host> const&,
                                      BlockOperator<SOLDER_SCALAR> const&, SOLDER_SCALAR*);

namespace Impl {

template <class Scalar, class X>
void compiled_sum_block_rows(BlockSums<Scalar> const& rows, std::int32_t size, std::int32_t first,
                             std::int32_t last, X const* x, X* sums) {
  sum_block_rows(rows, size, first, last, x, sums);
}

}  // namespace Impl

namespace Impl::fsai {

template <class Factor, class Scalar, class Exec, class Offset>
Factors<Factor, Exec, Offset> compiled_factors(Exec const& exec,
                                               CsrMatrix<Scalar, Exec, Offset> const& A,
                                               FsaiOptions const& options,
                                               Factors<Factor, Exec, Offset>* before) {
  return MakeFactors<Scalar, Exec, Factor, Offset>{options}(exec, A, before);
}

}  // namespace Impl::fsai

namespace Impl::amg {

template <class Scalar, class Exec>
std::shared_ptr<Hierarchy<Scalar, Exec>> compiled_hierarchy(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double strength, int most,
    std::int32_t coarsest, Sweeps const& sweeps, Modes<Scalar, Exec> const& modes,
    std::int32_t block_size, Hierarchy<Scalar, Exec> const* before,
    typename Hierarchy<Scalar, Exec>::Time began) {
  return std::make_shared<Hierarchy<Scalar, Exec>>(exec, A, strength, most, coarsest, sweeps, modes,
                                                   block_size, before, began);
}

}  // namespace Impl::amg

namespace Compiled {

/// \brief Taking a function's address compiles it.
template <class T>
auto setups() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    if constexpr (Impl::is_host_space<Exec>)
      return std::tuple(&Impl::fsai::compiled_factors<T, T, Exec, std::int32_t>,
                        &Impl::fsai::compiled_factors<Single<T>, T, Exec, std::int32_t>,
                        &Impl::amg::compiled_hierarchy<T, Exec>,
                        &Impl::compiled_sum_block_rows<T, T>,
                        &Impl::compiled_sum_block_rows<Single<T>, T>);
    else
      return std::tuple<>();
  });
}

template auto setups<SOLDER_SCALAR>();

}  // namespace Compiled
}  // namespace Solder
