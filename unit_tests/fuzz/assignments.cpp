// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands after --set, an assignment a line, over a file of one run.
#include "runs.hpp"

using namespace Solder::Driver;

namespace {

/// The runs of the file with these assignments; none where something is wrong with them.
std::vector<FileConfig> read(std::vector<std::string> const& assignments) {
  static auto const file =
      folder().write("runs.yaml", "problem: {generate: random_spd, size: 8}\n");
  Errors errors;
  auto files = read_config({file}, assignments, errors);
  for (std::string const& message : errors.messages())
    claim_message(message, message.starts_with("--set ") ? "--set " : file.string() + ":");
  return errors.empty() ? files : std::vector<FileConfig>{};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return mutate_with_schema(data, size, most, seed);
}

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::istringstream lines{std::string(text_of(data, size))};
  std::vector<std::string> assignments;
  std::vector<Entry> entries;
  Errors ignored;
  for (std::string line; std::getline(lines, line);) {
    assignments.push_back(line);
    if (auto const entry = read_assignment(line, ignored)) entries.push_back(*entry);
  }
  if (combinations(entries) > most_combinations) return 0;
  auto const files = read(assignments);
  if (files.empty()) return 0;
  std::reverse(assignments.begin(), assignments.end());
  auto const reversed = read(assignments);
  claim(!reversed.empty() && files[0].runs.size() == reversed[0].runs.size(),
        "the order of assignments does not matter");
  return 0;
}
