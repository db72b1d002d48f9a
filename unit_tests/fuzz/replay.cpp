// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instead of libFuzzer: gives a fuzz target every file of the folders named, once.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "target.hpp"

std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) { return size; }

int main(int argc, char* argv[]) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i)
    for (auto const& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry);
  std::sort(files.begin(), files.end());
  for (auto const& file : files) {
    std::cout << file.string() << std::endl;  // said before: the last one is the one that fails
    std::ifstream stream(file, std::ios::binary);
    std::vector<char> const input{std::istreambuf_iterator<char>(stream), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(input.data()), input.size());
  }
  return files.empty() ? 1 : 0;
}
