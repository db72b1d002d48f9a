// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/solvers/cg.hpp>

#include "solve_on.hpp"

namespace Solder::Driver {

struct ByCg {
  template <class Exec, class OpenedA, class OpenedM>
  using Of = Solder::Impl::CgMethod<Exec, OpenedA, OpenedM>;

  static CgOptions options(SolverConfig const& config) {
    CgOptions options;
    for (CgForm const form : {CgForm::automatic, CgForm::classical, CgForm::pipelined})
      if (to_string(form) == config.form) options.form = form;
    return options;
  }
};

template Solved<SOLDER_SCALAR> solve_by<ByCg>(RunConfig const&, System<SOLDER_SCALAR> const&,
                                              std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
