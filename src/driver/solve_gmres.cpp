// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <solder/solvers/gmres.hpp>

#include "solve_on.hpp"

namespace Solder::Driver {

struct ByGmres {
  template <class Exec, class OpenedA, class OpenedM>
  using Of = Solder::Impl::GmresMethod<Exec, OpenedA, OpenedM>;

  static GmresOptions options(SolverConfig const& config) {
    GmresOptions options;
    for (GmresForm const form : {GmresForm::pipelined, GmresForm::cgs, GmresForm::cgs2,
                                 GmresForm::mgs, GmresForm::flexible})
      if (to_string(form) == config.form) options.form = form;
    options.restart = config.restart;
    for (GmresSecondRound const round : {GmresSecondRound::lost, GmresSecondRound::halved})
      if (to_string(round) == config.second_round) options.second_round = round;
    return options;
  }
};

template Solved<SOLDER_SCALAR> solve_by<ByGmres>(RunConfig const&, System<SOLDER_SCALAR> const&,
                                                 std::function<void(Progress const&)> const&);

}  // namespace Solder::Driver
