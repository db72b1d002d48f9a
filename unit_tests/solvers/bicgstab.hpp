// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

#include <solder/solvers/bicgstab.hpp>

namespace SolderTest {

using Solder::BiCgStab;
using Solder::BiCgStabForm;
using Solder::BiCgStabOptions;

template <>
struct Method<BiCgStabOptions> {
  template <class Exec, class Matrix, class Preconditioner>
  using Solver = BiCgStab<Exec, Matrix, Preconditioner>;

  static std::vector<std::pair<std::string, BiCgStabOptions>> forms() {
    BiCgStabOptions classical, pipelined;
    classical.form = BiCgStabForm::classical;
    pipelined.form = BiCgStabForm::pipelined;
    return {{"classical", classical}, {"pipelined", pipelined}};
  }
  static bool has_whole_solve(BiCgStabOptions const& options, bool) {
    return options.form == BiCgStabForm::pipelined;
  }
};

}  // namespace SolderTest
