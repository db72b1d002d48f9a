// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief `classical`: Hestenes & Stiefel's. `pipelined`: beta is predicted, and an iteration has
/// one point where all sums are needed. `automatic`: pipelined where M is pointwise, else
/// classical; Report::form tells which.
enum class CgForm { automatic, classical, pipelined };

constexpr auto words_of(CgForm) {
  return std::array<Word<CgForm>, 3>{{{CgForm::automatic, "auto"},
                                      {CgForm::classical, "classical"},
                                      {CgForm::pipelined, "pipelined"}}};
}
constexpr std::string_view to_string(CgForm form) { return word_of(form); }

struct CgOptions : SolverOptions {
  CgForm form = CgForm::automatic;

  static constexpr auto described() {
    return std::tuple(Option("form", &CgOptions::form,
                             "textbook recurrences, or all sums at one point; auto: pipelined with "
                             "none and jacobi"));
  }
};

}  // namespace Solder
