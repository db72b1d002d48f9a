// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/solvers/block_cg.hpp>

#include "solve_on.hpp"

namespace Solder::Driver {

struct ByBlockCg {
  template <class Exec, class OpenedA, class OpenedM>
  using Of = Solder::Impl::BlockCgMethod<Exec, OpenedA, OpenedM>;

  static BlockCgOptions options(SolverConfig const&) { return {}; }
};

template Solved<SOLDER_SCALAR> solve_by<ByBlockCg>(RunConfig const&, System<SOLDER_SCALAR> const&,
                                                   std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
