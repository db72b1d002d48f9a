// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <solder/parameters_json.hpp>

namespace {

using nlohmann::json;
using Solder::Parameters;

TEST(ParametersJson, GoThereAndBack) {
  json const all = {
      {"name", "cg"},
      {"tolerance", 1e-10},
      {"max_iterations", 200},
      {"check_symmetry", false},
      {"preconditioner", {{"name", "chebyshev"}, {"inner", {{"name", "fsai"}, {"k", 2}}}}}};
  Parameters const parameters = Solder::parameters_of(all);
  EXPECT_EQ(*parameters.find("name")->as_word(), "cg");
  EXPECT_EQ(*parameters.find("tolerance")->as_real(), 1e-10);
  EXPECT_EQ(*parameters.find("max_iterations")->as_integer(), 200);
  EXPECT_EQ(*parameters.find("check_symmetry")->as_bool(), false);
  EXPECT_EQ(*parameters.find("preconditioner")
                 ->as_tree()
                 ->find("inner")
                 ->as_tree()
                 ->find("k")
                 ->as_integer(),
            2);
  EXPECT_EQ(Solder::json_of(parameters), all);
}

TEST(ParametersJson, WhatIsNoParameterIsNamed) {
  auto const error_of = [](json const& of) {
    try {
      Solder::parameters_of(of);
    } catch (std::invalid_argument const& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(json::array()), "Solder::parameters_of: this JSON must be an object, not []");
  EXPECT_EQ(error_of({{"preconditioner", {{"k", nullptr}}}}),
            "Solder::parameters_of: preconditioner.k must be a number, a word, true, false or an "
            "object, not null");
  EXPECT_EQ(error_of({{"seed", 18446744073709551615u}}),
            "Solder::parameters_of: seed is too large: 18446744073709551615");
}

}  // namespace
