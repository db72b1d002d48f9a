// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief Options of make_solver()'s `name: auto`, beside those that every solver has:
/// max_iterations is of all candidates together.
struct AutoOptions : SolverOptions {
  double time_limit = 0;  ///< seconds of a solve, set-ups in it included; 0: none
  /// Those to try, in this order, in place of the table's: "cg+amg gmres+ilu0"; empty: the table's.
  std::string candidates;

  /// \brief Names, ranges and purposes of the options that are numbers; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(Option("time_limit", &AutoOptions::time_limit, at_least(0),
                             "seconds after which auto gives up; 0: never"));
  }
};

}  // namespace Solder
