// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <solder/io/matrix_market/write.hpp>
#include <stdexcept>

#include "output.hpp"
#include "progress.hpp"
#include "roofline.hpp"
#include "scalars.hpp"
#include "solve.hpp"

namespace Solder::Driver {
namespace {

/// Solves, and says how far it is where somebody looks.
template <class T>
Solved<T> solve_watched(RunConfig const& config, System<T> const& system) {
  if constexpr (!is_built(yaml_name<T>)) {
    throw std::logic_error("no scalar of this build");  // check_runs() refuses the others
  } else {
    if (!progress_wanted()) return solve<T>(config, system, {});
    ProgressLine line(std::cerr, config.problem.name);
    return solve<T>(config, system, [&](Progress const& progress) { line.show(progress); });
  }
}

template <class T>
RunResult run_one(RunConfig const& config, System<T> const& system) {
  Solved<T> solved = solve_watched(config, system);
  if (!config.output.solution.empty())
    write_matrix_market_columns<T>(config.output.solution.string(), solved.solution,
                                   system.right_hand_sides());
  if (!config.output.history.empty()) write_history(config.output.history, solved.columns);
  return {&config,
          system.matrix.rows,
          system.matrix.nonzeros(),
          solved.space,
          std::move(solved.report),
          solved.matrix_format,
          solved.format_reason,
          std::move(solved.columns)};
}

/// Says why a run failed; of several right-hand sides or systems, why the first that did.
void report_failure(RunResult const& result) {
  auto const& columns = result.columns;
  std::cerr << result.config->where("") << ": " << result.config->problem.name;
  auto const failed = [](Report const& column) { return column.reason != Reason::converged; };
  Report const& report = *std::find_if(columns.begin(), columns.end(), failed);
  if (columns.size() > 1)
    std::cerr << ": " << std::count_if(columns.begin(), columns.end(), failed) << " of "
              << columns.size()
              << (result.config->problem.batch > 0 ? " systems" : " right-hand sides")
              << " did not converge: the first of them, number " << &report - columns.data() + 1
              << " (counted from 1): ";
  else
    std::cerr << " did not converge: ";
  std::cerr << to_string(report.reason) << " after " << report.iterations
            << " iterations, true relative residual " << report.true_relative_residual
            << (report.detail.empty() ? "" : "; ") << report.detail << std::endl;
}

/// Says that FSAI is not what it should be: the solve may still converge.
void report_repairs(RunResult const& result) {
  SetupReport const& setup = result.report.preconditioner;
  if (setup.repaired_rows == 0) return;
  std::cerr << result.config->where("preconditioner.name") << ": " << result.config->problem.name
            << ": " << setup.repaired_rows << " of " << result.rows
            << " rows of fsai, the first of them row " << setup.first_repaired_row + 1
            << " (counted from 1), became diagonal: their local matrices are not positive "
               "definite, or their "
               "entries leave the range of the factor's precision"
            << std::endl;
}

/// Says that ic0 is not of the matrix itself. Where no shift did, the failure says it.
void report_shift(RunResult const& result) {
  SetupReport const& setup = result.report.preconditioner;
  if (setup.shift == 0 || setup.schedule.empty()) return;
  std::cerr << result.config->where("preconditioner.name") << ": " << result.config->problem.name
            << ": ic0 needed a diagonal that is " << 100 * setup.shift
            << "% larger: without, a pivot is not positive" << std::endl;
}

/// Solves a run. What goes wrong is thrown with the file and the name of the problem in front.
RunResult run_named(RunConfig const& config, SystemStore& store) {
  std::string const name = concat(config.where(""), ": ", config.problem.name, ": ");
  try {
    return std::visit(
        [&](auto const& system) {
          return Solder::Impl::with_memory_for("the run", system->matrix.rows,
                                               system->matrix.nonzeros(),
                                               [&] { return run_one(config, *system); });
        },
        store.get(config));
  } catch (InputError const&) {  // it says where by itself
    throw;
  } catch (std::exception const& error) {
    throw std::runtime_error(name + what_of(error));
  }
}

/// Measures what runs are compared with, before there is anything that could be lost.
void measure_copies(std::vector<FileConfig> const& files) {
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs)
      if (run.output.roofline) try {
          copy_bandwidth(run.execution.space);
        } catch (std::exception const& error) {
          throw InputError(concat(run.where("output.roofline"),
                                  ": output.roofline: a copy cannot be measured: ", error.what()));
        }
}

/// All runs of one file, then its JSON; adds whether any failed.
void run_file(FileConfig const& file, SystemStore& store, Table const& table, bool& failed) {
  std::vector<RunResult> results;
  for (RunConfig const& config : file.runs) {
    results.push_back(run_named(config, store));
    if (config.output.roofline)
      results.back().copy_bandwidth = copy_bandwidth(config.execution.space);
    std::cout << table.line(results.back());
    if (config.output.verbose) std::cout << setup_text(results.back().report.preconditioner);
    std::cout << std::flush;
    report_repairs(results.back());
    report_shift(results.back());
    if (results.back().report.reason != Reason::converged) {
      failed = true;
      report_failure(results.back());
    }
  }
  std::filesystem::path const& json = file.runs[0].output.json;
  if (!json.empty()) write_json(json, results, device_name());
}

}  // namespace

ExitCode run_all(std::vector<FileConfig> const& files, SystemStore& store) {
  Table const table(files);
  bool failed = false;
  try {
    measure_copies(files);
    std::cout << table.heading();
    for (FileConfig const& file : files) run_file(file, store, table, failed);
  } catch (std::exception const& error) {
    std::cerr << "error: " << what_of(error) << std::endl;
    return invalid_input;
  }
  return failed ? some_failed : all_converged;
}

}  // namespace Solder::Driver
