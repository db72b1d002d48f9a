// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief How an iteration of BiCGStab is computed. `classical`: van der Vorst's. `pipelined`: the
/// default, one kernel less.
enum class BiCgStabForm {
  classical,  ///< textbook recurrences
  pipelined   ///< one kernel less
};

/// \brief All values, with their words.
constexpr auto words_of(BiCgStabForm) {
  return std::array<Word<BiCgStabForm>, 2>{
      {{BiCgStabForm::classical, "classical"}, {BiCgStabForm::pipelined, "pipelined"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(BiCgStabForm form) { return word_of(form); }

/// \brief Options of BiCgStab.
struct BiCgStabOptions : SolverOptions {
  BiCgStabForm form = BiCgStabForm::pipelined;  ///< how an iteration is computed

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(Option("form", &BiCgStabOptions::form,
                             "textbook recurrences, or one kernel less per iteration (pipelined)"));
  }
};

}  // namespace Solder
