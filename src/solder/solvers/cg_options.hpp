// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief How an iteration of CG is computed. `classical`: Hestenes & Stiefel's. `pipelined`: beta
/// is predicted, and an iteration has one point where all sums are needed. `automatic`: pipelined
/// where M is pointwise, else classical; Report::form tells which.
enum class CgForm {
  automatic,  ///< pipelined where M is pointwise, else classical
  classical,  ///< textbook recurrences
  pipelined   ///< all sums at one point of an iteration
};

/// \brief All values, with their words.
constexpr auto words_of(CgForm) {
  return std::array<Word<CgForm>, 3>{{{CgForm::automatic, "auto"},
                                      {CgForm::classical, "classical"},
                                      {CgForm::pipelined, "pipelined"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(CgForm form) { return word_of(form); }

/// \brief Options of Cg.
struct CgOptions : SolverOptions {
  CgForm form = CgForm::automatic;  ///< how an iteration is computed

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(Option("form", &CgOptions::form,
                             "textbook recurrences, or all sums at one point (pipelined); auto: "
                             "pipelined with none and jacobi"));
  }
};

}  // namespace Solder
