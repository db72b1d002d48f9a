// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
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
#include <solder/version.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "config.hpp"
#include "help.hpp"
#include "report_command.hpp"
#include "run.hpp"
#include "scalars.hpp"
#include "schema.hpp"
#include "signals.hpp"
#include "solve.hpp"
#include "streams.hpp"
#include "text.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

struct Arguments {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> assignments;
  std::vector<char*> kokkos;  ///< the program's name and the --kokkos-* options
  bool help = false, version = false, list = false, wide = false, explain = false;
  std::string topic{};  ///< of help

  bool need_no_file() const { return help || version || list; }
};

/// The program as it was called: a script that starts it says how it was called itself.
std::string program_name(char const* called) {
  char const* const by_script = std::getenv("SOLDER_CALLED_AS");
  return by_script != nullptr && *by_script != '\0' ? by_script : called;
}

/// An option of Kokkos's, as an argument and in the environment: with another value Kokkos aborts.
struct KokkosOption {
  std::string_view argument;
  char const* variable;
  std::string_view allowed;  ///< for people
  bool (*takes)(std::string_view value);
};

/// Kokkos's OpenMP has places for so many threads, and does not look.
constexpr int most_threads_of_kokkos = 512;

template <int Least, int Most>
bool is_count(std::string_view text) {
  int value = -1;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= Least &&
         value <= Most;
}
bool is_flag(std::string_view text) {
  std::string const small = lower_case(text);
  for (char const* const word : {"true", "false", "yes", "no", "1", "0"})
    if (small == word) return true;
  return false;
}

constexpr KokkosOption kokkos_options[] = {
    {"--kokkos-num-threads", "KOKKOS_NUM_THREADS", "a whole number from 1 to 512",
     is_count<1, most_threads_of_kokkos>},
    {"--kokkos-device-id", "KOKKOS_DEVICE_ID", "a whole number from 0 to 2147483647",
     is_count<0, std::numeric_limits<int>::max()>},
    {"--kokkos-disable-warnings", "KOKKOS_DISABLE_WARNINGS", "true or false", is_flag},
    {"--kokkos-print-configuration", "KOKKOS_PRINT_CONFIGURATION", "true or false", is_flag},
    {"--kokkos-tune-internals", "KOKKOS_TUNE_INTERNALS", "true or false", is_flag},
    {"--kokkos-map-device-id-by", "KOKKOS_MAP_DEVICE_ID_BY", "random or mpi_rank",
     [](std::string_view text) { return text == "random" || text == "mpi_rank"; }}};

/// What Kokkos would abort at. A flag needs no value.
void check_kokkos_argument(std::string_view argument, Errors& errors) {
  auto const equals = argument.find('=');
  for (KokkosOption const& option : kokkos_options) {
    if (argument.substr(0, equals) != option.argument) continue;
    bool const is_bare_flag = equals == std::string_view::npos && option.takes == is_flag;
    if (!is_bare_flag &&
        (equals == std::string_view::npos || !option.takes(argument.substr(equals + 1))))
      errors.add(argument, concat("needs '=' and ", option.allowed));
  }
}

/// The same of the environment; and of OpenMP's own number of threads, which Kokkos takes where it
/// is given none.
void check_environment(std::vector<char*> const& kokkos_arguments, Errors& errors) {
  bool has_threads = false;
  for (std::string_view const argument : kokkos_arguments)
    has_threads = has_threads || argument.starts_with("--kokkos-num-threads");
  for (KokkosOption const& option : kokkos_options) {
    char const* const value = std::getenv(option.variable);
    if (value == nullptr) continue;
    if (!option.takes(value))
      errors.add(concat(option.variable, "=", value), concat("must be ", option.allowed));
    has_threads = has_threads || option.argument == "--kokkos-num-threads";
  }
#if defined(_OPENMP)
  if (int const threads = omp_get_max_threads(); threads > most_threads_of_kokkos && !has_threads)
    errors.add("", concat("OpenMP would start ", std::to_string(threads),
                          " threads, and Kokkos has places for 512: set OMP_NUM_THREADS, or "
                          "--kokkos-num-threads=512"));
#endif
}

/// An option that is the name of a key was meant to set it.
void add_unknown(std::string_view option, Errors& errors) {
  auto const near =
      nearest(option, {"--help", "--version", "--list", "--wide", "--set", "--explain"});
  std::string name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  name.resize(std::min(name.find('='), name.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  std::string advice = near.empty() ? "" : concat("did you mean '", near, "'? ");
  for (std::string_view const section : sections())
    if (advice.empty() && !rows_of(section, name).empty())
      advice = concat("did you mean '--set ", section, ".", name, "=...'? ");
  errors.add(option, "unknown option; ", advice, "see --help");
}

Arguments read_arguments(int argc, char* argv[], Errors& errors) {
  Arguments arguments;
  arguments.kokkos.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      arguments.help = true;
      if (i + 1 < argc && argv[i + 1][0] != '-') arguments.topic = argv[++i];
    } else if (argument == "--version")
      arguments.version = true;
    else if (argument == "--explain")
      arguments.explain = true;
    else if (argument == "--list")
      arguments.list = true;
    else if (argument == "--wide")
      arguments.wide = true;
    else if (argument.starts_with("--kokkos-")) {
      check_kokkos_argument(argument, errors);
      arguments.kokkos.push_back(argv[i]);
    } else if (argument.starts_with("--set="))
      arguments.assignments.emplace_back(argument.substr(6));
    else if (argument == "--set" && i + 1 < argc)
      arguments.assignments.emplace_back(argv[++i]);
    else if (argument == "--set")
      errors.add("--set", "needs section.key=value after it");
    else if (argument.empty())
      errors.add("\"\"", "an empty argument is not the name of a file");
    else if (argument == "-")
      errors.add("-",
                 "a matrix is not read from standard input: save it as A.mtx, say, and give "
                 "that name; YAML is read from /dev/stdin");
    else if (argument.starts_with("-"))
      add_unknown(argument, errors);
    else
      arguments.files.emplace_back(argument);
  }
  if (arguments.files.empty() && errors.empty() && !arguments.need_no_file())
    errors.add("", concat("no YAML file and no matrix given\nusage: ", program_name(argv[0]), " ",
                          usage_of_arguments, "\nSee --help."));
  return arguments;
}

int fail(Errors const& errors) {
  for (std::string const& message : errors.messages()) std::cerr << "error: " << message << "\n";
  return invalid_input;
}

/// The same where any rank has found something: all end.
int fail_with_all(Errors const& errors) {
  auto const messages = world().messages_of_all(errors.messages());
  for (std::string const& message : messages) std::cerr << "error: " << message << "\n";
  return messages.empty() ? all_converged : invalid_input;
}

#if defined(__linux__) && defined(_OPENMP)
/// Starts a program in the place of this one. OMP_PROC_BIND has bound this thread to the first of
/// OpenMP's places before main, and the program would inherit that: all its threads would run on
/// one core. So it gets all places. Returns only if the program cannot be started.
void start_unbound(char const* program, char* const* arguments) {
  cpu_set_t before, all;
  CPU_ZERO(&all);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (int const id : ids) CPU_SET(id, &all);
  }
  bool const was_bound =
      CPU_COUNT(&all) > 0 && sched_getaffinity(0, sizeof before, &before) == 0 &&
      sched_setaffinity(0, sizeof all, &all) == 0;
  execv(program, arguments);
  if (was_bound) sched_setaffinity(0, sizeof before, &before);
}
#endif

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
  if (arguments.size() <= 1 || unknown) return;
  start_unbound(program.c_str(), arguments.data());
#endif
}

int help(std::string const& program, std::string const& topic) {
  std::string const text = topic.empty() ? help_text(program) : help_text(program, topic);
  if (!text.empty()) {
    print(text);
    return all_converged;
  }
  Errors errors;
  auto const near = nearest(topic, help_topics());
  errors.add(concat("--help ", topic), "there is no such topic; ",
             near.empty() ? "" : concat("did you mean '", near, "'? "), "see --help");
  return fail(errors);
}

int run(int argc, char* argv[]) {
  Errors errors;
  Arguments arguments = read_arguments(argc, argv, errors);
  if (!errors.empty() && (arguments.need_no_file() || arguments.files.empty())) return fail(errors);
  if (arguments.help) return help(program_name(argv[0]), arguments.topic);
  if (arguments.list) {
    print(list_text(space_names(), scalars_of_build()));
    return all_converged;
  }
  if (arguments.version) {
    print(concat("solder ", Solder::version(), ", Kokkos ", kokkos_version(),
                 ", execution spaces: ", join(space_names(), ", "), "\n"));
    return all_converged;
  }
  begin_with_short_waits();
  check_environment(arguments.kokkos, errors);
  if (arguments.explain && !world().is_alone())
    errors.add("--explain", "is for one process: leave out mpirun, or --ranks");
  Runs runs;
  SignalWatch const watch(
      [&](std::string_view signal) { runs.stop(concat("stopped by ", signal)); });
  auto const files = read_config(arguments.files, arguments.assignments, errors);
  SystemStore store;
  check_runs(files, store, errors);
  if (int const code = fail_with_all(errors); code != all_converged) return code;
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  if (arguments.explain) return runs.explain_all(files, store);
  std::vector<std::string> command(argv, argv + argc);
  command[0] = program_name(argv[0]);
  return runs.run_all(files, store, style_of_output(arguments.wide), command);
}

/// `--lacking ARGUMENT...`, for ./solder: prints what to build for these arguments. What is wrong
/// with them is said when they run.
int print_lacking(int argc, char* argv[]) {
  Errors errors;
  Arguments const arguments = read_arguments(argc, argv, errors);
  if (arguments.need_no_file() || (argc > 1 && std::string_view(argv[1]) == "report")) return 0;
  for (std::string const& part :
       lacking_parts(read_config(arguments.files, arguments.assignments, errors)))
    std::cout << part << " ";
  return 0;
}

/// What main() does once it has joined the other ranks.
int run_guarded(int argc, char* argv[]) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "report")
      return report_command({argv + 2, argv + argc});
    int const code = run(argc, argv);
    if (code != invalid_input) print("");  // flushes what Kokkos has printed, too
    return code;
  } catch (std::exception const& error) {
    if (!world().is_alone()) world().abort(what_of(error));  // the others may not know
    std::cerr << "error: " << what_of(error) << std::endl;
    return invalid_input;
  }
}

}  // namespace
}  // namespace Solder::Driver

int main(int argc, char* argv[]) {
  try {
    Solder::Driver::prepare_streams();
    if (argc > 1 && std::string_view(argv[1]) == "--lacking")
      return Solder::Driver::print_lacking(argc - 1, argv + 1);
    if (Solder::Driver::is_launched()) Solder::Driver::begin_with_short_waits();
    Solder::Driver::WorldGuard const guard(&argc, &argv);
    return Solder::Driver::run_guarded(argc, argv);
  } catch (std::exception const& error) {
    std::cerr << "error: " << Solder::Driver::what_of(error) << std::endl;
    return Solder::Driver::invalid_input;
  }
}
