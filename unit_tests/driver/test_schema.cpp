// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/errors.hpp>
#include <driver/schema.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "scratch.hpp"

using namespace Solder::Driver;

namespace {

using Names = std::vector<std::string_view>;

TEST(Schema, NearestFindsWhatWasMeant) {
  Names const valid = {"name", "form", "tolerance", "max_iterations"};
  EXPECT_EQ(nearest("tolerence", valid), "tolerance");
  EXPECT_EQ(nearest("Tolerance", valid), "tolerance");
  EXPECT_EQ(nearest("tol", valid), "tolerance");  // a beginning
  EXPECT_EQ(nearest("max-iterations", valid), "max_iterations");
  EXPECT_EQ(nearest("maxiter", valid), "max_iterations");
  EXPECT_EQ(nearest("from", valid), "form");  // neighbours swapped
  EXPECT_EQ(nearest("nmae", valid), "name");
  EXPECT_EQ(nearest("formt", valid), "form");
}

TEST(Schema, NearestFindsNothingFarAway) {
  Names const valid = {"name", "form", "tolerance"};
  EXPECT_EQ(nearest("fast", valid), "");
  EXPECT_EQ(nearest("restart", valid), "");
  EXPECT_EQ(nearest("", valid), "");
  EXPECT_EQ(nearest("xy", valid), "");
  EXPECT_EQ(nearest(std::string(100000, 'n'), valid), "");
  EXPECT_EQ(nearest("a", {"k"}), "") << "all of it is another letter";
  EXPECT_EQ(nearest("", {"k"}), "");
  EXPECT_EQ(nearest("overlap", {"over"}), "") << "begins with what is no part of it";
  EXPECT_EQ(nearest("matrix_file", {"size", "matrix"}), "matrix");
}

TEST(Schema, JoinReadsAsASentence) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b"}), "a or b");
  EXPECT_EQ(join({"a", "b", "c"}, " and "), "a, b and c");
}

TEST(Schema, SelectorsNameKeysAndTheirWords) {
  for (Key const& key : schema()) {
    if (key.selector.empty()) continue;
    std::vector<std::string_view> words;  // of all rows of that key
    for (Key const& other : schema())
      if (other.full_name() == key.selector)
        words.insert(words.end(), other.words.begin(), other.words.end());
    EXPECT_FALSE(words.empty()) << key.full_name();
    EXPECT_FALSE(key.for_values.empty()) << key.full_name();
    for (auto const value : key.for_values)
      EXPECT_NE(std::find(words.begin(), words.end(), value), words.end())
          << key.full_name() << " is for " << value << ", which " << key.selector
          << " does not know";
  }
}

TEST(Schema, EveryWordKeyHasWordsAndEveryKeyHelp) {
  for (Key const& key : schema()) {
    EXPECT_EQ(key.kind == Kind::word || key.kind == Kind::word_or_path, !key.words.empty())
        << key.full_name();
    EXPECT_FALSE(key.help.empty()) << key.full_name();
    EXPECT_LE(key.least, key.most) << key.full_name();
  }
}

TEST(Schema, HelpAndReferenceNameEveryKeyAndWord) {
  std::ifstream stream(std::string(SOLDER_SOURCE_DIR) + "/docs/yaml.md");
  std::string const reference{std::istreambuf_iterator<char>(stream), {}};
  std::string const help = schema_text();
  ASSERT_FALSE(reference.empty());
  for (Key const& key : schema()) {
    EXPECT_TRUE(contains(reference, concat("`", key.name, "`")))
        << key.full_name() << " is not in docs/yaml.md";
    EXPECT_TRUE(contains(help, concat("  ", key.name, ":"))) << key.full_name();
    for (auto const word : key.words) {
      EXPECT_TRUE(contains(reference, concat("`", word, "`"))) << word << " is not in docs/yaml.md";
      EXPECT_TRUE(contains(help, word)) << word;
    }
    if (!key.default_value.empty()) {
      EXPECT_TRUE(contains(reference, concat("`", key.default_value, "`"))) << key.full_name();
    }
  }
}

}  // namespace
