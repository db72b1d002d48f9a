// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <solder/io/matrix_market/write.hpp>
#include <stdexcept>

#include "output.hpp"
#include "progress.hpp"
#include "roofline.hpp"
#include "scalars.hpp"
#include "solve.hpp"
#include "streams.hpp"
#include "symmetry.hpp"

namespace Solder::Driver {
namespace {

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

/// Says that a preconditioner is made for other matrices: the solve may still converge.
void report_symmetry(RunResult const& result) {
  std::string const word = symmetry_word(*result.config, result.symmetry);
  if (!word.empty())
    std::cerr << result.config->where("preconditioner.name") << ": " << result.config->problem.name
              << ": " << word << std::endl;
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

/// Says that a solve's times are not its own.
void report_busy_cores(RunResult const& result) {
  if (result.report.busy_cores < 0.1) return;
  std::cerr << result.config->where("") << ": " << result.config->problem.name
            << ": others kept the cores busy: for " << std::lround(100 * result.report.busy_cores)
            << "% of the solve its first thread waited for one" << std::endl;
}

/// Measures what runs are compared with, before there is anything that could be lost.
void measure_copies(std::vector<FileConfig> const& files) {
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs)
      if (run.output.roofline) try {
          copy_bandwidth(run.execution.space);
        } catch (std::exception const& error) {
          throw InputError(
              concat(run.where("output.roofline"),
                     ": output.roofline: a copy cannot be measured: ", what_of(error)));
        }
}

}  // namespace

/// Solves, and says how far it is where somebody looks.
template <class T>
Solved<T> Runs::solve_watched(RunConfig const& config, System<T> const& system) {
  if constexpr (!is_built(yaml_name<T>)) {
    throw std::logic_error("no scalar of this build");  // check_runs() refuses the others
  } else {
    if (!progress_wanted()) return solve<T>(config, system, {});
    ProgressLine line(std::cerr, config.problem.name);
    return solve<T>(config, system, [&](Progress const& progress) {
      std::lock_guard const lock(mutex_);
      line.show(progress);
    });
  }
}

template <class T>
RunResult Runs::run_one(RunConfig const& config, System<T> const& system) {
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
          std::move(solved.columns),
          std::move(solved.symmetry),
          config.output.roofline ? copy_bandwidth(config.execution.space) : 0};
}

/// Solves a run. What goes wrong is thrown with the file and the name of the problem in front.
RunResult Runs::run_named(RunConfig const& config, SystemStore& store) {
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

/// All runs of one file, then its JSON; that of those that have ended where one cannot be carried
/// out.
void Runs::run_file(FileConfig const& file, SystemStore& store, Table const& table) {
  {
    std::lock_guard const lock(mutex_);
    ended_.clear();
    file_ = &file;
    ++begun_;
  }
  try {
    for (RunConfig const& config : file.runs) {
      RunResult result = run_named(config, store);
      std::unique_lock lock(mutex_);
      RunResult const& ended = ended_.emplace_back(std::move(result));
      lock.unlock();
      print(table.line(ended));
      if (config.output.verbose)
        print(matrix_text(ended.symmetry) + setup_text(ended.report.preconditioner));
      report_symmetry(ended);
      report_repairs(ended);
      report_shift(ended);
      report_busy_cores(ended);
      if (ended.report.reason != Reason::converged) {
        failed_ = true;
        report_failure(ended);
      }
    }
  } catch (std::exception const& error) {
    std::lock_guard const lock(mutex_);
    std::string const message = concat(what_of(error), "; stopped ", place());
    std::string const kept = keep_ended(message);
    file_ = nullptr;
    throw std::runtime_error(message + kept);
  }
  std::filesystem::path const& json = file.runs[0].output.json;
  std::lock_guard const lock(mutex_);
  if (!json.empty()) write_json(json, ended_, device_);
  file_ = nullptr;
}

/// Where the runs are.
std::string Runs::place() const {
  if (file_ == nullptr)
    return begun_ == 0 ? "before the first run" : begun_ < files_ ? "between two files" : "at the end";
  std::size_t const runs = file_->runs.size(), ended = ended_.size();
  if (ended == runs) return concat("after the last run of ", file_->file.string());
  return concat("in run ", std::to_string(ended + 1), " of ", std::to_string(runs), " of ",
                file_->file.string(), ", ", file_->runs[ended].problem.name);
}

/// Writes the JSON of the runs that have ended of a file that will not: "; r.json has the 2 that
/// had ended".
std::string Runs::keep_ended(std::string_view why) {
  if (file_ == nullptr) return {};
  if (ended_.empty()) return "; none had ended";
  std::filesystem::path const& json = file_->runs[0].output.json;
  std::string const those = ended_.size() == 1
                                ? "the one that had ended"
                                : concat("the ", std::to_string(ended_.size()), " that had ended");
  if (json.empty()) return concat("; without output.json nothing is kept of ", those);
  try {
    write_json(json, ended_, device_, why);
  } catch (std::exception const& error) {
    return concat("; of ", those, " nothing is kept: ", what_of(error));
  }
  return concat("; ", json.string(), " has ", those);
}

void Runs::stop(std::string_view why) {
  if (!mutex_.try_lock_for(std::chrono::seconds(1))) {  // for good, unless an output blocks
    Solder::Impl::UnfinishedFiles::abandon();
    std::cerr << "error: " << why << " while an output was written" << std::endl;
    return;
  }
  std::string const where = concat(why, " ", place());
  std::string const kept = keep_ended(where);
  Solder::Impl::UnfinishedFiles::abandon();
  if (progress_wanted()) erase_progress(std::cerr);
  std::cerr << "error: " << where << kept << std::endl;
}

ExitCode Runs::run_all(std::vector<FileConfig> const& files, SystemStore& store) {
  try {
    Table const table(files);
    measure_copies(files);
    {
      std::lock_guard const lock(mutex_);
      device_ = device_name();
      files_ = files.size();
    }
    print(table.heading());
    for (FileConfig const& file : files) run_file(file, store, table);
  } catch (std::exception const& error) {
    std::cerr << "error: " << what_of(error) << std::endl;
    return invalid_input;
  }
  return failed_ ? some_failed : all_converged;
}

}  // namespace Solder::Driver
