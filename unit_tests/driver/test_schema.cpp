// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/errors.hpp>
#include <driver/help.hpp>
#include <driver/schema.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
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
  std::string const help = help_text("solder", "all");
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

/// The lines of the tables of a section of docs/yaml.md that are of keys.
std::vector<std::string> table_lines(std::string_view section) {
  std::ifstream stream(std::string(SOLDER_SOURCE_DIR) + "/docs/yaml.md");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("## ")) inside = line == concat("## ", section);
    if (inside && line.starts_with("| `")) lines.push_back(line);
  }
  return lines;
}

/// "integer, 1 to 5", "number between 0 and 1", "`a`, `b`": what a key may be.
std::string value_cell(Key const& key) {
  std::string cell;
  for (auto const word : key.words) cell += concat(cell.empty() ? "" : ", ", "`", word, "`");
  if (!cell.empty()) return cell;
  if (key.kind == Kind::text) return "text";
  auto const text = [](double x) { return std::to_string(static_cast<long long>(x)); };
  std::string const kind = key.kind == Kind::integer ? "integer" : "number";
  if (key.is_open) return concat(kind, " between ", text(key.least), " and ", text(key.most));
  std::string const from = concat(kind, ", ", text(key.least));
  if (key.most == 9007199254740991) return concat(from, " to 2^53 - 1");
  return key.most >= 2147483647 ? concat(from, " or more") : concat(from, " to ", text(key.most));
}

/// ", for `a`, `b` and `c`": under which values of its selector there is a key.
std::string condition(Key const& key) {
  std::vector<std::string_view> const all_incomplete{"ic0", "ilu0", "ick", "iluk", "ict", "ilut"};
  if (std::equal(key.for_values.begin(), key.for_values.end(), all_incomplete.begin(),
                 all_incomplete.end()))
    return ", for the incomplete factorisations";
  std::size_t const dot = key.selector.find('.');
  std::string const of =
      key.selector.ends_with(".name") ? "" : concat(key.selector.substr(dot + 1), ": ");
  std::string text;
  for (auto const value : key.for_values)
    text += concat(value == key.for_values.front()  ? ", for `"
                   : value == key.for_values.back() ? " and `"
                                                    : ", `",
                   of, value, "`");
  return text;
}

/// The first three cells of a key's line, without an end where the default is said in words.
std::string cells(Key const& key) {
  std::string const line =
      concat("| `", key.name, "`", condition(key), " | ", value_cell(key), " | ");
  return key.default_value.empty() ? line : concat(line, "`", key.default_value, "` | ");
}

/// A line for each key, and none of any other; the line of a key under another preconditioner
/// counts for this one, too.
TEST(Schema, TablesOfTheReferenceSayWhatTheSchemaSays) {
  for (std::string_view const section : {"solver", "preconditioner", "execution"}) {
    std::vector<std::string> lines = table_lines(section);
    for (Key const& key : schema()) {
      if (key.section != section || key.selector == "preconditioner.inner") continue;
      std::string const expected = cells(key);
      EXPECT_EQ(
          std::erase_if(lines, [&](std::string const& line) { return line.starts_with(expected); }),
          1u)
          << "lines of docs/yaml.md that begin with " << expected;
    }
    for (std::string const& line : lines) ADD_FAILURE() << "a line of no key: " << line;
  }
}

}  // namespace
