// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the README and the pages of docs show is true: C++ stands in an example that is compiled and
// run, YAML that has a problem is solved, and commands that begin with ./solder are carried out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "drive.hpp"

namespace {

std::filesystem::path const source = SOLDER_SOURCE_DIR;

struct Block {
  std::string page, language, text;
  int line;  ///< of the page
};

std::string read(std::filesystem::path const& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Block> blocks_of(std::filesystem::path const& page) {
  std::ifstream stream(page);
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.starts_with("```") && !inside)
      blocks.push_back({page.lexically_relative(source).string(), line.substr(3), "", number});
    else if (inside && line != "```")
      blocks.back().text += line + "\n";
    inside = line.starts_with("```") ? !inside : inside;
  }
  return blocks;
}

std::vector<Block> blocks_of_first_pages() {
  std::vector<Block> blocks = blocks_of(source / "README.md");
  for (Block& block : blocks_of(source / "docs/getting-started.md"))
    blocks.push_back(std::move(block));
  return blocks;
}

std::string where(Block const& block) { return block.page + ":" + std::to_string(block.line); }

/// Without the white space around lines, and without empty lines.
std::string lines_of(std::string const& text) {
  std::istringstream stream(text);
  std::string lines = "\n";
  for (std::string line; std::getline(stream, line);) {
    std::size_t const first = line.find_first_not_of(' ');
    if (first != std::string::npos) lines += line.substr(first) + "\n";
  }
  return lines;
}

/// A folder with all that a command of the pages may name.
void furnish(Scratch const& folder, std::string const& yaml) {
  folder.write("A.mtx", market("3 3 5\n1 1 4\n2 2 4\n3 3 4\n1 2 -1\n2 1 -1\n"));
  folder.write("A.mtx.gz", folder.read("A.mtx"));
  folder.write("b.mtx", market("3 1\n1\n2\n3\n", "array real general"));
  folder.write("mine.yaml", yaml);
  std::filesystem::create_directory_symlink(source / "inputs", folder.path("inputs"));
}

TEST(Pages, CppOfTheFirstPagesStandsInExamples) {
  std::string examples;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(source / "examples"))
    if (entry.path().extension() == ".cpp") examples += lines_of(read(entry.path()));
  int count = 0;
  for (Block const& block : blocks_of_first_pages()) {
    if (block.language != "cpp") continue;
    ++count;
    EXPECT_TRUE(contains(examples, lines_of(block.text)))
        << where(block) << ": no example has these lines";
  }
  EXPECT_GE(count, 2);
}

TEST(Pages, YamlThatHasAProblemIsSolved) {
  std::vector<Block> blocks = blocks_of_first_pages();
  for (auto const folder : {"docs/solvers", "docs/preconditioners"})
    for (auto const& entry : std::filesystem::directory_iterator(source / folder))
      for (Block& block : blocks_of(entry.path())) blocks.push_back(std::move(block));
  int count = 0;
  for (Block const& block : blocks) {
    if (block.language != "yaml" || !contains(block.text, "problem:")) continue;
    ++count;
    Scratch const folder;
    furnish(folder, block.text);
    Outcome const outcome = drive(folder, "mine.yaml");
    EXPECT_EQ(outcome.code, 0) << where(block) << "\n" << outcome.out << outcome.err;
  }
  EXPECT_GE(count, 13);
}

TEST(Pages, CommandsOfTheFirstPagesAreCarriedOut) {
  std::string yaml;
  int count = 0;
  for (Block const& block : blocks_of_first_pages()) {
    if (block.language == "yaml") yaml = block.text;
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        if (word.starts_with("inputs/") || word.starts_with("docs/")) {
          EXPECT_TRUE(std::filesystem::exists(source / word)) << where(block) << ": " << word;
        }
      }
      if (!line.starts_with("./solder ") || line.starts_with("./solder perf ")) continue;
      ++count;
      Scratch const folder;
      furnish(folder, yaml);
      Outcome const outcome = drive(folder, line.substr(9));
      EXPECT_EQ(outcome.code, 0) << where(block) << ": " << line << "\n"
                                 << outcome.out << outcome.err;
    }
  }
  EXPECT_GE(count, 3);
}

/// Targets, components and options of CMake that the pages name are there.
TEST(Pages, CMakeOfTheFirstPagesNamesWhatThereIs) {
  std::string cmake = read(source / "CMakeLists.txt");
  for (auto const folder : {"cmake", "src", "perf_tests"})
    if (std::filesystem::exists(source / folder))
      for (auto const& entry : std::filesystem::recursive_directory_iterator(source / folder))
        if (entry.path().filename() == "CMakeLists.txt" ||
            contains(entry.path().filename().string(), ".cmake"))
          cmake += read(entry.path());
  int count = 0;
  std::vector<Block> blocks = blocks_of_first_pages();
  for (char const* const page : {"docs/building.md", "docs/cpp.md", "docs/trilinos.md"})
    for (Block& block : blocks_of(source / page)) blocks.push_back(std::move(block));
  for (Block const& block : blocks) {
    if (block.language != "cmake" && block.language != "sh") continue;
    std::string text = block.text;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
    std::istringstream words(text);
    std::string last;
    for (std::string word; words >> word; last = word) {
      std::string wanted;
      if (last == "COMPONENTS") wanted = "Solder_" + word + "_FOUND TRUE";
      bool const is_there = word != "solder_perf" || std::filesystem::exists(source / "perf_tests");
      if (last == "--target" && is_there) wanted = "add_executable(" + word + " ";
      if (word.starts_with("Solder::")) wanted = "add_library(" + word + " ALIAS";
      if (word.starts_with("-DSolder_")) wanted = word.substr(2, word.find('=') - 2);
      if (wanted.empty()) continue;
      ++count;
      EXPECT_TRUE(contains(cmake, wanted)) << where(block) << ": " << word;
    }
  }
  EXPECT_GE(count, 4);
}

/// The two commands that a user types first.
TEST(Pages, ReadmeHasItsTwoCommandsAndIsShort) {
  std::string const readme = read(source / "README.md");
  EXPECT_TRUE(contains(readme, "\n./solder inputs/quickstart.yaml\n"));
  EXPECT_TRUE(contains(readme, "\n./test\n"));
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), 120);
}

}  // namespace
