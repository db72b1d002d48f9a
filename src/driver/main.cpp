// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#if defined(__linux__)
#include <unistd.h>
#endif

#include <Kokkos_Core.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "config.hpp"
#include "run.hpp"
#include "schema.hpp"
#include "signals.hpp"
#include "solve.hpp"
#include "streams.hpp"

namespace Solder::Driver {
namespace {

struct Arguments {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> assignments;
  std::vector<char*> kokkos;  ///< the program's name and the --kokkos-* options
  bool help = false, version = false;
};

constexpr std::string_view usage =
    "usage: solder-driver FILE.yaml [more.yaml ...] [--set section.key=value ...]\n";

/// A Kokkos option that takes a number. Kokkos aborts without a valid one.
struct Counted {
  std::string_view name;
  int least, most;
};
constexpr Counted counted_options[] = {
    {"--kokkos-num-threads", 1, 512},  // the limit of Kokkos's OpenMP, which it does not check
    {"--kokkos-device-id", 0, std::numeric_limits<int>::max()}};

/// Whether `text` is "=" followed by a whole number in the option's range.
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
    else if (argument.empty())
      errors.add("\"\"", "an empty argument is not the name of a file");
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

/// Makes the threads of GNU OpenMP sleep soon when they wait for each other, as the library's own
/// waits do. By default they spin for milliseconds, which become seconds if other processes want
/// the cores. GNU OpenMP reads the environment before main, so the program restarts itself as it
/// was called.
void begin_with_short_waits() {
#if defined(__linux__) && defined(_OPENMP)
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<char*> arguments;
  for (std::size_t k = 0; k < text.size(); k += std::strlen(&text[k]) + 1)
    arguments.push_back(&text[k]);
  arguments.push_back(nullptr);
  setenv("GOMP_SPINCOUNT", "300", 1);  // some microseconds
  std::error_code unknown;
  auto const program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (arguments.size() > 1 && !unknown) execv(program.c_str(), arguments.data());
#endif
}

int run(int argc, char* argv[]) {
  Errors errors;
  Arguments arguments = read_arguments(argc, argv, errors);
  if (!errors.empty() && (arguments.help || arguments.version || arguments.files.empty()))
    return fail(errors);
  if (arguments.help) {
    print(concat(
        usage,
        "\nSolves the linear systems that the files describe; docs/yaml.md explains every key.\n"
        "A list in place of a value makes one run for each value; --set overrides a key "
        "in\n"
        "all files (--set section.key= removes it). --kokkos-* options go to Kokkos.\n"
        "Exit code: 0 every run converged, 1 some run did not, 2 invalid input or a run could not "
        "be\ncarried out, 128 + n ended by signal n.\n\n",
        schema_text()));
    return all_converged;
  }
  if (arguments.version) {
    print(concat("solder ", SOLDER_VERSION, ", Kokkos ", kokkos_version(),
                 ", execution spaces: ", join(space_names(), ", "), "\n"));
    return all_converged;
  }
  begin_with_short_waits();
  Runs runs;
  SignalWatch const watch(
      [&](std::string_view signal) { runs.stop(concat("stopped by ", signal)); });
  auto const files = read_config(arguments.files, arguments.assignments, errors);
  SystemStore store;
  check_runs(files, store, errors);
  if (!errors.empty()) return fail(errors);
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  return runs.run_all(files, store);
}

}  // namespace
}  // namespace Solder::Driver

int main(int argc, char* argv[]) {
  try {
    Solder::Driver::prepare_streams();
    int const code = Solder::Driver::run(argc, argv);
    if (code != Solder::Driver::invalid_input)
      Solder::Driver::print("");  // flushes what Kokkos has printed, too
    return code;
  } catch (std::exception const& error) {
    std::cerr << "error: " << Solder::Driver::what_of(error) << std::endl;
    return Solder::Driver::invalid_input;
  }
}
