// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include <solder/core/options.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/chebyshev_options.hpp>
#include <solder/preconditioners/fsai_options.hpp>
#include <solder/preconditioners/incomplete_options.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/block_cg_options.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/gmres_options.hpp>
#include <solder/solvers/idr_options.hpp>

namespace {

using namespace Solder;

enum class Colour { red, green };
constexpr auto words_of(Colour) {
  return std::array<Word<Colour>, 2>{{{Colour::red, "red"}, {Colour::green, "green"}}};
}

struct Paint {
  Colour colour = Colour::green;
  bool shiny = false;
  int coats = 2;
  double thickness = 0.1;
  std::uint64_t seed = 1;

  static constexpr auto described() {
    return std::tuple(Option("colour", &Paint::colour, "what it looks like"),
                      Option("finish", &Paint::shiny, Flag{"matt", "gloss"}, "how it reflects"),
                      Option("coats", &Paint::coats, from_to(1, 5), "how often").formerly("layers"),
                      Option("thickness", &Paint::thickness, between(0, 1), "of a coat")
                          .only_with("colour", Colour::red),
                      Option("seed", &Paint::seed, "of the spots"));
  }
};

std::string refusal(Paint const& paint) {
  try {
    check(paint, "Painter");
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "none";
}

TEST(Options, OutOfRangeAreRefusedByName) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal({}), "none");
  EXPECT_EQ(refusal({.coats = 0}), "Painter: coats must be an integer from 1 to 5, not 0");
  EXPECT_EQ(refusal({.coats = 6}), "Painter: coats must be an integer from 1 to 5, not 6");
  EXPECT_EQ(refusal({.coats = 1}), "none");
  EXPECT_EQ(refusal({.coats = 5}), "none");
  EXPECT_EQ(refusal({.thickness = 0}),
            "Painter: thickness must be a number between 0 and 1, not 0");
  EXPECT_EQ(refusal({.thickness = 1}),
            "Painter: thickness must be a number between 0 and 1, not 1");
  EXPECT_EQ(refusal({.thickness = nan}),
            "Painter: thickness must be a number between 0 and 1, not NaN");
  EXPECT_EQ(refusal({.thickness = 1e-300}), "none");
  EXPECT_EQ(refusal({.colour = Colour(7)}), "Painter: colour must be red or green, not 7");
  EXPECT_EQ(refusal({.seed = std::numeric_limits<std::uint64_t>::max()}), "none");
}

TEST(Options, AreReadByTheirWords) {
  auto const& [colour, finish, coats, thickness, seed] = Paint::described();
  Paint paint;
  EXPECT_TRUE(colour.read("red", paint.colour));
  EXPECT_EQ(paint.colour, Colour::red);
  EXPECT_FALSE(colour.read("blue", paint.colour));
  EXPECT_EQ(paint.colour, Colour::red);
  EXPECT_TRUE(finish.read("gloss", paint.shiny));
  EXPECT_TRUE(paint.shiny);
  EXPECT_FALSE(finish.read("true", paint.shiny));
  EXPECT_EQ(finish.word(false), "matt");
  EXPECT_EQ(finish.words(), (std::vector<std::string_view>{"matt", "gloss"}));
  EXPECT_EQ(coats.former_name, "layers");
  EXPECT_TRUE(thickness.is_for("red"));
  EXPECT_FALSE(thickness.is_for("green"));
  EXPECT_FALSE(thickness.is_for(""));
  EXPECT_TRUE(seed.selector.empty());
}

TEST(Options, NumbersAreWrittenInTheirShortestWay) {
  using Impl::number_text;
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-3), "-3");
  EXPECT_EQ(number_text(2147483647), "2147483647");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_EQ(number_text(1e-8), "1e-8");
  EXPECT_EQ(number_text(1e-10), "1e-10");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(Impl::range_text(at_least(0), false), "a number of at least 0");
  EXPECT_EQ(Impl::range_text({}, true), "an integer");
}

template <class Options>
struct Described : testing::Test {};
using All =
    testing::Types<SolverOptions, CgOptions, BlockCgOptions, BiCgStabOptions, GmresOptions,
                   IdrOptions, FsaiOptions, ChebyshevOptions, IncompleteOptions, AmgOptions>;
TYPED_TEST_SUITE(Described, All);

/// Each has a name and a line of help, and its default is allowed.
TYPED_TEST(Described, OptionsAreComplete) {
  EXPECT_NO_THROW(check(TypeParam(), "defaults"));
  std::vector<std::string_view> names;
  for_each_option<TypeParam>([&](auto const& option) {
    EXPECT_FALSE(option.name.empty());
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_EQ(option.help.find('\n'), std::string_view::npos) << option.name;
    EXPECT_LE(option.range.least, option.range.most) << option.name;
    for (std::string_view const other : names) EXPECT_NE(option.name, other);
    names.push_back(option.name);
  });
}

}  // namespace
