// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <charconv>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "config.hpp"
#include "run.hpp"
#include "schema.hpp"
#include "solve.hpp"

namespace Solder::Driver {
namespace {

struct Arguments {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> assignments;
  std::vector<char*> kokkos;  ///< the program's name and --kokkos-*
  bool help = false, version = false;
};

constexpr std::string_view usage =
    "usage: solder-driver FILE.yaml [more.yaml ...] [--set section.key=value ...]\n";

/// An option of Kokkos's with a number, without which it aborts.
struct Counted {
  std::string_view name;
  int least, most;
};
constexpr Counted counted_options[] = {
    {"--kokkos-num-threads", 1, 512},  // Kokkos's OpenMP has places for so many, and does not look
    {"--kokkos-device-id", 0, std::numeric_limits<int>::max()}};

/// Whether text is "=" and a whole number in the option's range.
bool is_count(std::string_view text, Counted const& option) {
  if (!text.starts_with('=')) return false;
  text.remove_prefix(1);
  int value = -1;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= option.least &&
         value <= option.most;
}

Arguments read_arguments(int argc, char* argv[], Errors& errors) {
  Arguments arguments;
  arguments.kokkos.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument == "--help" || argument == "-h")
      arguments.help = true;
    else if (argument == "--version")
      arguments.version = true;
    else if (argument.starts_with("--kokkos-")) {
      for (Counted const& option : counted_options)
        if (argument.starts_with(option.name) &&
            !is_count(argument.substr(option.name.size()), option))
          errors.add(argument,
                     concat("needs '=' and a whole number from ", std::to_string(option.least),
                            " to ", std::to_string(option.most), ", as in ", option.name, "=2"));
      arguments.kokkos.push_back(argv[i]);
    } else if (argument.starts_with("--set="))
      arguments.assignments.emplace_back(argument.substr(6));
    else if (argument == "--set" && i + 1 < argc)
      arguments.assignments.emplace_back(argv[++i]);
    else if (argument == "--set")
      errors.add("--set", "needs section.key=value after it");
    else if (argument.starts_with("-"))
      errors.add(argument, "unknown option; see --help");
    else
      arguments.files.emplace_back(argument);
  }
  if (arguments.files.empty() && errors.empty() && !arguments.help && !arguments.version)
    errors.add("", "no YAML file given\n" + std::string(usage) + "See --help.");
  return arguments;
}

int fail(Errors const& errors) {
  for (std::string const& message : errors.messages()) std::cerr << "error: " << message << "\n";
  return invalid_input;
}

int run(int argc, char* argv[]) {
  Errors errors;
  Arguments arguments = read_arguments(argc, argv, errors);
  if (!errors.empty()) return fail(errors);
  if (arguments.help) {
    std::cout
        << usage
        << "\nSolves the linear systems that the files describe; docs/yaml.md explains every key.\n"
           "A list in place of a value makes a run of each of its values; --set overrides a key "
           "in\n"
           "all files (--set section.key= removes it). --kokkos-* options go to Kokkos.\n"
           "Exit code: 0 every run converged, 1 some run did not, 2 invalid input.\n\n"
        << schema_text();
    return all_converged;
  }
  if (arguments.version) {
    std::cout << "solder " << SOLDER_VERSION << ", Kokkos " << kokkos_version()
              << ", execution spaces: " << join(space_names(), ", ") << "\n";
    return all_converged;
  }
  auto const files = read_config(arguments.files, arguments.assignments, errors);
  if (!errors.empty()) return fail(errors);
  SystemStore store;
  check_runs(files, store, errors);
  if (!errors.empty()) return fail(errors);
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  return run_all(files, store);
}

}  // namespace
}  // namespace Solder::Driver

int main(int argc, char* argv[]) {
  try {
    return Solder::Driver::run(argc, argv);
  } catch (std::exception const& error) {
    std::cerr << "error: " << Solder::Driver::what_of(error) << std::endl;
    return Solder::Driver::invalid_input;
  }
}
