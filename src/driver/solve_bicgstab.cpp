// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/solvers/bicgstab.hpp>

#include "solve_on.hpp"

namespace Solder::Driver {

struct ByBiCgStab {
  template <class Exec, class OpenedA, class OpenedM>
  using Of = Solder::Impl::BiCgStabMethod<Exec, OpenedA, OpenedM>;

  static BiCgStabOptions options(SolverConfig const& config) {
    BiCgStabOptions options;
    options.form = config.form == "classical" ? BiCgStabForm::classical : BiCgStabForm::pipelined;
    return options;
  }
};

template Solved<SOLDER_SCALAR> solve_by<ByBiCgStab>(RunConfig const&, System<SOLDER_SCALAR> const&,
                                                    std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
