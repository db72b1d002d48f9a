// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bandwidth.hpp"
#include "compare.hpp"
#include "driver/check.hpp"
#include "driver/config.hpp"
#include "driver/spaces.hpp"
#include "measure.hpp"
#include "results.hpp"

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

/// The bandwidth of a space, measured when first asked for; and its threads.
class Machine {
 public:
  struct Space {
    Bandwidth bandwidth;
    int concurrency = 0;
  };

  Space const& at(std::string const& name) {
    auto const [place, is_new] = spaces_.try_emplace(name);
    if (is_new)
      Driver::with_space(name, [&](auto const& exec) {
        place->second = {measure_bandwidth(exec), exec.concurrency()};
      });
    return place->second;
  }

 private:
  std::map<std::string, Space> spaces_;
};

/// One peer on one run: what it did, or why it did nothing.
template <class T>
PeerResult compare_with(std::string const& peer, Driver::RunConfig const& config,
                        Driver::System<T> const& system, Measurement const& measured, int threads) {
  PeerResult result{peer, {}, {}};
  if constexpr (std::is_floating_point_v<T>) {
    PeerProblem<T> const problem{system.matrix.rows, system.matrix.row_offsets,
                                 system.matrix.columns, system.matrix.values, system.rhs};
    bool const host = Driver::on_host(config.execution.space);
    PeerRequest const request{config.solver.name, config.preconditioner,     measured.iterations,
                              measured.repeats,   measured.check_iterations, !host,
                              host ? threads : 0};
    try {
      result.timings = run_peer(peer, problem, request);
    } catch (std::exception const& error) {
      result.why_not = error.what();
    }
  }
  if (result.timings.empty() && result.why_not.empty())
    result.why_not = "does not take this problem, solver or space";
  return result;
}

template <class T>
Row measure_solder(Driver::RunConfig const& config, Driver::System<T> const& system,
                   Machine& machine) {
  auto const& space = machine.at(config.execution.space);
  return {&config,   system.matrix.rows, system.matrix.nonzeros(),
          sizeof(T), space.bandwidth,    measure(config, system),
          {}};
}

/// Solder runs everything before the first peer starts: the handles and contexts that GPU peers
/// leave behind slow later kernels of the process by a few per cent, Solder's and the peers' alike.
void run_file(Driver::FileConfig const& file, std::vector<std::string> const& compare,
              Driver::SystemStore& store, Machine& machine) {
  std::vector<std::string> peers;
  for (std::string const& peer : compare)
    if (was_found(peer))
      peers.push_back(peer);
    else
      std::cout << peer << ": not found when solder_perf was configured, not compared with\n";
  std::vector<Row> rows;
  std::vector<decltype(store.get(file.runs[0]))> systems;
  for (Driver::RunConfig const& config : file.runs) {
    systems.push_back(store.get(config));
    rows.push_back(
        std::visit([&](auto const& system) { return measure_solder(config, *system, machine); },
                   systems.back()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    for (std::string const& peer : peers)
      row.peers.push_back(std::visit(
          [&](auto const& system) {
            return compare_with(peer, *row.config, *system, row.solder,
                                machine.at(row.config->execution.space).concurrency);
          },
          systems[i]));
    if (i == 0) std::cout << heading(row);
    std::cout << lines(row) << std::flush;
  }
  std::filesystem::path const& json = file.runs[0].output.json;
  if (!json.empty()) write_json(json, rows);
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
      Driver::read_config(arguments.files, arguments.assignments, errors, {"compare"});
  if (!errors.empty()) return fail();
  std::vector<std::vector<std::string>> compare;
  for (auto const& file : files) compare.push_back(read_compare(file.file, errors));
  Driver::SystemStore store;
  Driver::check_runs(files, store, errors);
  if (!errors.empty()) return fail();
  int kokkos_argc = static_cast<int>(arguments.kokkos.size());
  arguments.kokkos.push_back(nullptr);
  Kokkos::ScopeGuard const kokkos(kokkos_argc, arguments.kokkos.data());
  Machine machine;
  for (std::size_t i = 0; i < files.size(); ++i) run_file(files[i], compare[i], store, machine);
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
