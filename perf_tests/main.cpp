// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "batch.hpp"
#include "batched_cholesky.hpp"
#include "compare.hpp"
#include "copy.hpp"
#include "document.hpp"
#include "driver/check.hpp"
#include "driver/config.hpp"
#include "driver/report_command.hpp"
#include "driver/solve.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "multi_dot.hpp"
#include "setups.hpp"
#include "solves.hpp"
#include "spmv.hpp"
#include "text.hpp"
#include "triangular.hpp"

namespace Solder::Perf {
namespace {

constexpr std::string_view usage =
    "usage: solder_perf FILE.yaml [more.yaml ...] [--set section.key=value ...]\n"
    "                   [--compare OLD.json] [--peers] [--kokkos-...]\n"
    "./solder perf --help says what the files may ask for.\n";

struct Arguments {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> assignments;
  std::vector<std::filesystem::path> old;
  std::vector<char*> kokkos;  ///< the program's name and --kokkos-*
  bool peers = false;
  bool help = false;
};

Arguments read_arguments(int argc, char* argv[], Driver::Errors& errors) {
  Arguments arguments;
  arguments.kokkos.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument.starts_with("--kokkos-"))
      arguments.kokkos.push_back(argv[i]);
    else if (argument == "--compare" && i + 1 < argc)
      arguments.old.emplace_back(argv[++i]);
    else if (argument == "--peers")
      arguments.peers = true;
    else if (argument == "--help" || argument == "-h")
      arguments.help = true;
    else if (argument == "--set" && i + 1 < argc)
      arguments.assignments.emplace_back(argv[++i]);
    else if (argument.starts_with("-"))
      errors.add(argument, "unknown option, or nothing after it; see --help");
    else
      arguments.files.emplace_back(argument);
  }
  if (arguments.files.empty() && errors.empty() && !arguments.peers && !arguments.help)
    errors.add("", "no YAML file given; see --help");
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

/// Which libraries were found when this program was configured, and which not.
std::string peers_text() {
  std::string with, without;
  for (std::string_view const peer : peer_names()) {
    std::string& list = was_found(peer) ? with : without;
    list += (list.empty() ? "" : ", ") + std::string(peer);
  }
  return "peers found: " + (with.empty() ? "none" : with) +
         (without.empty() ? "" : "; not found: " + without) + "\n";
}

/// Warns where other processes have the cores.
void report_load(Driver::Provenance const& here) {
  if (here.load.empty() || here.cores == 0 || here.load[0] < 0.5 * here.cores) return;
  std::cerr << format(
      "warning: the load is %.1f on %d cores before anything is timed: other processes are busy, "
      "and\nthese times are not Solder's own. GOMP_SPINCOUNT=300 before the command makes threads "
      "wait asleep.\n",
      here.load[0], here.cores);
}

/// Whether a measure has sizes in place of linear systems.
bool has_sizes(std::string const& measure) {
  return measure == "multi_dot" || measure == "batched_cholesky" || measure == "copy";
}

/// What one file asks for.
struct Job {
  std::string measure;
  std::vector<std::string> compare;
  SizesConfig sizes;   ///< where the measure has no linear systems
  std::size_t number;  ///< else among the files of runs
};

int run(int argc, char* argv[]) {
  Driver::Errors errors;
  auto const fail = [&] {
    for (std::string const& message : errors.messages()) std::cerr << "error: " << message << "\n";
    return 2;
  };
  Arguments arguments = read_arguments(argc, argv, errors);
  if (!errors.empty()) return fail();
  if (arguments.help) {
    std::cout << usage;
    return 0;
  }
  if (arguments.peers) {
    std::cout << peers_text();
    return 0;
  }
  auto const old = Driver::read_records(arguments.old, errors);
  std::vector<Job> jobs;
  std::vector<std::filesystem::path> of_runs;
  for (auto const& file : arguments.files) {
    Job& job = jobs.emplace_back(Job{read_measure(file, errors), {}, {}, of_runs.size()});
    if (job.measure == "multi_dot")
      job.sizes = read_multi_dot(file, arguments.assignments, errors);
    else if (job.measure == "batched_cholesky")
      job.sizes = read_batched_cholesky(file, arguments.assignments, errors);
    else if (job.measure == "copy")
      job.sizes = read_copy(file, arguments.assignments, errors);
    else
      of_runs.push_back(file);
  }
  if (of_runs.size() < jobs.size())
    std::erase_if(arguments.assignments, [](std::string const& a) {
      return a.starts_with("multi_dot.") || a.starts_with("batched_cholesky.") ||
             a.starts_with("copy.");
    });
  auto const files =
      Driver::read_config(of_runs, arguments.assignments, errors, {"compare", "measure"});
  if (!errors.empty()) return fail();
  for (std::size_t i = 0; i < jobs.size(); ++i)
    jobs[i].compare = read_compare(arguments.files[i], errors);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if ((jobs[i].measure == "copy" || jobs[i].measure == "kernels") && !jobs[i].compare.empty())
      errors.add(arguments.files[i].string(),
                 "compare does not apply to measure: ", jobs[i].measure);
  for (Job const& job : jobs)
    if (!has_sizes(job.measure)) {
      check_batches(job.measure, files[job.number], errors);
      if (job.measure == "kernels") check_kernels(files[job.number], errors);
    }
  Driver::SystemStore store;
  Driver::check_runs(files, store, errors);
  if (!errors.empty()) return fail();
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  Machine machine;
  Driver::Provenance const here = Driver::provenance_here({argv, argv + argc});
  report_load(here);
  std::cout << peers_text();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job const& job = jobs[i];
    auto const peers = found(job.compare);
    auto const time = [&]() -> nlohmann::ordered_json {
      if (job.measure == "multi_dot") return time_multi_dot(job.sizes, peers, machine);
      if (job.measure == "batched_cholesky")
        return time_batched_cholesky(job.sizes, peers, machine);
      if (job.measure == "copy") return time_copy(job.sizes, machine);
      Driver::FileConfig const& file = files[job.number];
      if (job.measure == "setup") return time_setups(file, store, machine);
      if (job.measure == "spmv") return time_products(file, peers, store, machine);
      if (job.measure == "triangular") return time_triangles(file, peers, store, machine);
      if (job.measure == "kernels") return time_kernels(file, store, machine);
      if (job.measure == "batch") return time_batch_solves(file, peers, store, machine);
      return time_solves(file, peers, store, machine);
    };
    Driver::FileConfig input;
    if (has_sizes(job.measure)) {
      input = {arguments.files[i], {}, job.sizes.text};
      input.runs.emplace_back().output = job.sizes.output;
    } else {
      input = files[job.number];
    }
    auto const output = complete(input.runs[0].output, input.file);
    write(time(), output, Driver::provenance_of(here, input), old);
    std::cout << output.json.string() << ", " << output.report.string() << ", "
              << output.plot.string() << "\n";
  }
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
