// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief `classical`: van der Vorst's. `pipelined`: the default, one kernel less.
enum class BiCgStabForm { classical, pipelined };

constexpr auto words_of(BiCgStabForm) {
  return std::array<Word<BiCgStabForm>, 2>{
      {{BiCgStabForm::classical, "classical"}, {BiCgStabForm::pipelined, "pipelined"}}};
}
constexpr std::string_view to_string(BiCgStabForm form) { return word_of(form); }

struct BiCgStabOptions : SolverOptions {
  BiCgStabForm form = BiCgStabForm::pipelined;

  static constexpr auto described() {
    return std::tuple(Option("form", &BiCgStabOptions::form,
                             "textbook recurrences, or fused into fewer kernels"));
  }
};

}  // namespace Solder
