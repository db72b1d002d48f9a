// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "compare.hpp"
#include "driver/check.hpp"
#include "driver/config.hpp"
#include "machine.hpp"
#include "solves.hpp"

namespace Solder::Perf {
namespace {

constexpr std::string_view usage =
    "usage: solder_perf FILE.yaml [more.yaml ...] [--set section.key=value ...] [--kokkos-...]\n"
    "Times a fixed number of iterations of what the files describe, as solder-driver reads them. A "
    "file\n"
    "may name other libraries to time beside Solder: compare: [viennacl, kokkos_kernels, vendor, "
    "eigen]\n";

struct Arguments {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> assignments;
  std::vector<char*> kokkos;  ///< the program's name and --kokkos-*
};

Arguments read_arguments(int argc, char* argv[], Driver::Errors& errors) {
  Arguments arguments;
  arguments.kokkos.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument.starts_with("--kokkos-"))
      arguments.kokkos.push_back(argv[i]);
    else if (argument == "--set" && i + 1 < argc)
      arguments.assignments.emplace_back(argv[++i]);
    else if (argument.starts_with("-"))
      errors.add(argument, "unknown option\n" + std::string(usage));
    else
      arguments.files.emplace_back(argument);
  }
  if (arguments.files.empty() && errors.empty())
    errors.add("", "no YAML file given\n" + std::string(usage));
  return arguments;
}

/// Of the peers that a file names those that were found; says which were not.
std::vector<std::string> found(std::vector<std::string> const& compare) {
  std::vector<std::string> peers;
  for (std::string const& peer : compare)
    if (was_found(peer))
      peers.push_back(peer);
    else
      std::cout << peer << ": not found when solder_perf was configured, not compared with\n";
  return peers;
}

int run(int argc, char* argv[]) {
  Driver::Errors errors;
  auto const fail = [&] {
    for (std::string const& message : errors.messages()) std::cerr << "error: " << message << "\n";
    return 2;
  };
  Arguments arguments = read_arguments(argc, argv, errors);
  if (!errors.empty()) return fail();
  auto const files =
      Driver::read_config(arguments.files, arguments.assignments, errors, {"compare", "measure"});
  if (!errors.empty()) return fail();
  std::vector<std::vector<std::string>> compare;
  std::vector<std::string> measure;
  for (auto const& file : files) {
    compare.push_back(read_compare(file.file, errors));
    measure.push_back(read_measure(file.file, errors));
  }
  Driver::SystemStore store;
  Driver::check_runs(files, store, errors);
  if (!errors.empty()) return fail();
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  Machine machine;
  for (std::size_t i = 0; i < files.size(); ++i)
    time_solves(files[i], found(compare[i]), store, machine);
  return 0;
}

}  // namespace
}  // namespace Solder::Perf

int main(int argc, char* argv[]) {
  try {
    return Solder::Perf::run(argc, argv);
  } catch (std::exception const& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}
