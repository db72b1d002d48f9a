// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "batch.hpp"
#include "batched_cholesky.hpp"
#include "compare.hpp"
#include "copy.hpp"
#include "driver/check.hpp"
#include "driver/config.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "multi_dot.hpp"
#include "setups.hpp"
#include "solves.hpp"
#include "spmv.hpp"
#include "triangular.hpp"

namespace Solder::Perf {
namespace {

constexpr std::string_view usage =
    "usage: solder_perf FILE.yaml [more.yaml ...] [--set section.key=value ...] [--kokkos-...]\n"
    "Times what the files describe, as solder-driver reads them, and two keys more:\n"
    "  measure: solve (a fixed number of iterations; the default), setup (of fsai, phase by "
    "phase,\n"
    "           with its memory), spmv (y = A x alone), triangular (solves with the factors of "
    "ILU(0),\n"
    "           or with a matrix that is triangular), batch (all systems of problem.batch at once, "
    "to the\n"
    "           tolerance, beside one after another),\n"
    "           multi_dot (h = V^H y for a tall basis; in place of a problem: multi_dot: {rows: "
    "...,\n"
    "           columns: [...], scalar: double}),\n"
    "           batched_cholesky (in place of a problem: batched_cholesky: {matrices: ...,\n"
    "           orders: [...], scalar: double}) or\n"
    "           copy (b = a; in place of a problem: copy: {rows: [...], scalar: double})\n"
    "  compare: [viennacl, kokkos_kernels, vendor, eigen], or some of these: libraries to time "
    "beside it\n";

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
  for (Job const& job : jobs) {
    auto const peers = found(job.compare);
    if (job.measure == "multi_dot")
      time_multi_dot(job.sizes, peers, machine);
    else if (job.measure == "batched_cholesky")
      time_batched_cholesky(job.sizes, peers, machine);
    else if (job.measure == "copy")
      time_copy(job.sizes, machine);
    else if (job.measure == "setup")
      time_setups(files[job.number], store, machine);
    else if (job.measure == "spmv")
      time_products(files[job.number], peers, store, machine);
    else if (job.measure == "triangular")
      time_triangles(files[job.number], peers, store, machine);
    else if (job.measure == "kernels")
      time_kernels(files[job.number], store, machine);
    else if (job.measure == "batch")
      time_batch_solves(files[job.number], peers, store, machine);
    else
      time_solves(files[job.number], peers, store, machine);
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
