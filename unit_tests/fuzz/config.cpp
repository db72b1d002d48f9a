// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A YAML file of runs: read, and checked as far as its problems are small. Nothing is solved.
#include "runs.hpp"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return mutate_with_schema(data, size, most, seed);
}

namespace {

/// Whether lists make so many runs that they take their time.
bool is_long_sweep(std::filesystem::path const& file) {
  using namespace Solder::Driver;
  Errors ignored;
  for (Document const& document : read_documents(file, ignored))
    if (combinations(document.entries) > most_combinations) return true;
  return false;
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace Solder::Driver;
  [[maybe_unused]] static bool const once = write_named_files();
  auto const file = folder().write("runs.yaml", text_of(data, size));
  if (is_long_sweep(file)) return 0;
  Errors errors;
  auto const files = read_config({file}, {}, errors);
  if (errors.empty()) claim_runs(files);
  check_small(files, errors);
  for (std::string const& message : errors.messages()) claim_message(message, file.string() + ":");
  return 0;
}
