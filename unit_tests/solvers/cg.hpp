// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

#include <solder/solvers/cg.hpp>

namespace SolderTest {

using Solder::Cg;
using Solder::CgForm;
using Solder::CgOptions;

template <>
struct Method<CgOptions> {
  template <class Exec, class Matrix, class Preconditioner>
  using Solver = Cg<Exec, Matrix, Preconditioner>;

  static std::vector<std::pair<std::string, CgOptions>> forms() {
    CgOptions classical, pipelined;
    classical.form = CgForm::classical;
    pipelined.form = CgForm::pipelined;
    return {{"classical", classical}, {"pipelined", pipelined}};
  }
  static bool has_whole_solve(CgOptions const& options, bool pointwise) {
    return options.form != (pointwise ? CgForm::classical : CgForm::pipelined);
  }
};

}  // namespace SolderTest
