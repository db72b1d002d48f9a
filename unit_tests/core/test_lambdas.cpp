// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who makes a KOKKOS_LAMBDA in a header says so: see SOLDER_MAKES_LAMBDAS.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// Without comments: in their place is a blank line, if they had one to themselves.
std::string code_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
}

/// The text before an opening brace, from the last blank line on.
std::string head_of(std::string const& code, std::size_t brace) {
  static std::regex const blank("\n[ \t]*\n");
  std::size_t begin = 0;
  std::string const before = code.substr(0, brace);
  for (std::sregex_iterator at(before.begin(), before.end(), blank), end; at != end; ++at)
    begin = std::size_t(at->position());
  return before.substr(begin);
}

bool is_scope(std::string const& head) {
  return std::regex_search(head, std::regex("\\b(namespace|struct|class)\\b[^()]*$"));
}

TEST(KokkosLambdas, AreMadeByFunctionsThatAreNotInlined) {
  int lambdas = 0;
  for (auto const& entry :
       std::filesystem::recursive_directory_iterator(SOLDER_SOURCE_DIR "/src")) {
    if (entry.path().extension() != ".hpp") continue;
    std::string const code = code_of(entry.path());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i] == '{') open.push_back(i);
      if (code[i] == '}' && !open.empty()) open.pop_back();
      if (code.compare(i, 14, "KOKKOS_LAMBDA(") != 0 &&
          code.compare(i, 20, "KOKKOS_CLASS_LAMBDA(") != 0)
        continue;
      ++lambdas;
      for (std::size_t const brace : open) {
        std::string const head = head_of(code, brace);
        if (is_scope(head)) continue;
        EXPECT_NE(head.find("SOLDER_MAKES_LAMBDAS"), std::string::npos)
            << entry.path().string() << ": write SOLDER_MAKES_LAMBDAS before the function" << head;
        break;
      }
    }
  }
  EXPECT_GT(lambdas, 50);
}

}  // namespace
