// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

#include <solder/solvers/gmres.hpp>

namespace SolderTest {

using Solder::Gmres;
using Solder::GmresForm;
using Solder::GmresOptions;

inline std::string name_of(GmresOptions const& options) {
  return std::string(to_string(options.form)) + "(" + std::to_string(options.restart) + ")";
}

inline GmresOptions gmres(GmresForm form, int restart = 30) {
  GmresOptions options;
  options.form = form;
  options.restart = restart;
  return options;
}

/// \brief Short cycles, so that tests meet the ends of many.
template <>
struct Method<GmresOptions> {
  template <class Exec, class Matrix, class Preconditioner>
  using Solver = Gmres<Exec, Matrix, Preconditioner>;

  static std::vector<std::pair<std::string, GmresOptions>> forms(int restart = 8) {
    std::vector<std::pair<std::string, GmresOptions>> list;
    for (auto const form : {GmresForm::cgs2, GmresForm::cgs, GmresForm::mgs, GmresForm::pipelined})
      list.push_back({name_of(gmres(form, restart)), gmres(form, restart)});
    list.push_back({"cgs2, halved", gmres(GmresForm::cgs2, restart)});
    list.back().second.reorthogonalisation = Solder::GmresReorthogonalisation::halved;
    return list;
  }
  static bool has_whole_solve(GmresOptions const& options, bool) {
    return options.form != GmresForm::mgs && options.form != GmresForm::flexible;
  }
  /// \brief Those whose basis may be in single precision, and is.
  static std::vector<std::pair<std::string, GmresOptions>> forms_in_single(int restart = 8) {
    std::vector<std::pair<std::string, GmresOptions>> list;
    for (auto const& [name, form] : forms(restart))
      if (form.form != GmresForm::pipelined) list.push_back({name + ", single", form});
    list.push_back({"flexible, single", gmres(GmresForm::flexible, restart)});
    for (auto& [name, form] : list) form.basis = Solder::GmresBasis::single;
    return list;
  }
  static std::vector<std::pair<std::string, GmresOptions>> every_form() {
    auto list = forms();
    list.push_back({name_of(gmres(GmresForm::flexible, 8)), gmres(GmresForm::flexible, 8)});
    return list;
  }
};

}  // namespace SolderTest
