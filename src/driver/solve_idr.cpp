// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/solvers/idr.hpp>

#include "solve_on.hpp"

namespace Solder::Driver {

struct ByIdr {
  template <class Exec, class OpenedA, class OpenedM>
  using Of = Solder::Impl::IdrMethod<Exec, OpenedA, OpenedM>;

  static IdrOptions options(SolverConfig const& config) {
    IdrOptions options;
    options.shadow_space = config.shadow_space;
    options.smoothing = config.smoothing;
    options.seed = static_cast<std::uint64_t>(config.seed);
    return options;
  }
};

template Solved<SOLDER_SCALAR> solve_by<ByIdr>(RunConfig const&, System<SOLDER_SCALAR> const&,
                                               std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
