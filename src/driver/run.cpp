// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <solder/io/matrix_market/write.hpp>
#include <stdexcept>
#include <utility>

#include "fingerprint.hpp"
#include "methods.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "roofline.hpp"
#include "scalars.hpp"
#include "solve.hpp"
#include "streams.hpp"
#include "symmetry.hpp"
#include "text.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

/// What ends all ranks, which know it all.
struct Ended : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Why a run failed; with several right-hand sides or systems, why the first one failed.
std::string failure_of(RunResult const& result) {
  auto const& columns = result.columns;
  auto const failed = [](Report const& column) { return column.reason != Reason::converged; };
  Report const& report = *std::find_if(columns.begin(), columns.end(), failed);
  std::string const several =
      columns.size() == 1
          ? ""
          : concat(std::to_string(std::count_if(columns.begin(), columns.end(), failed)), " of ",
                   std::to_string(columns.size()),
                   result.config->problem.batch > 0 ? " systems" : " right-hand sides",
                   " did not converge: the first of them, number ",
                   std::to_string(&report - columns.data() + 1), " (counted from 1): ");
  std::string const next = advice(report);
  return concat(several.empty() ? "did not converge: " : several, to_string(report.reason),
                format(" after %d iteration%s, true relative residual %g", report.iterations,
                       report.iterations == 1 ? "" : "s", report.true_relative_residual),
                report.detail.empty() ? "" : "; ", report.detail, next.empty() ? "" : "; ", next);
}

/// That FSAI or an incomplete factorisation was repaired. The solve may still converge.
std::string repairs_of(RunResult const& result) {
  SetupReport const& setup = result.report.preconditioner;
  bool const is_singular = result.report.detail.find("structurally singular") != std::string::npos;
  if (setup.repaired_rows == 0 || is_singular || result.config->preconditioner.name == "auto")
    return {};
  bool const may_match = result.config->preconditioner.name == "ilut" &&
                         result.config->preconditioner.scaling.match == Match::none;
  if (is_incomplete(result.config->preconditioner))
    return concat(
        std::to_string(setup.repaired_rows), " of ", std::to_string(result.rows), " pivots of ",
        result.config->preconditioner.name, ", the first of them that of row ",
        std::to_string(setup.first_repaired_row + 1),
        " (counted from 1), were smaller than the entries that are dropped, and were replaced",
        may_match ? "; match: product may bring larger entries to the diagonal" : "");
  return concat(std::to_string(setup.repaired_rows), " of ", std::to_string(result.rows),
                " rows of fsai, the first of them row ",
                std::to_string(setup.first_repaired_row + 1),
                " (counted from 1), became diagonal: their local matrices are not positive "
                "definite, or their entries leave the range of the factor's precision");
}

/// That ic0, ick or ict was computed for a shifted matrix. If no shift helped, the failure says so.
std::string shift_of(RunResult const& result) {
  SetupReport const& setup = result.report.preconditioner;
  bool const is_chosen = result.config->preconditioner.name == "auto";  // its end says enough
  if (setup.shift == 0 || setup.schedule.empty() || is_chosen) return {};
  return format("%s needed a diagonal that is %g%% larger: otherwise a pivot is not positive",
                result.config->preconditioner.name.c_str(), 100 * setup.shift);
}

/// That other processes have slowed down a solve, by a tenth and by a millisecond at least.
std::string busy_cores_of(RunResult const& result) {
  double const share = result.report.busy_cores;
  if (share < 0.1 || share * result.report.solve_seconds < 1e-3) return {};
  return format(
      "other processes kept the cores busy: the first thread waited for a core for %ld%% of the "
      "solve",
      std::lround(100 * share));
}

/// Measures the bandwidths that runs are compared with, before there are results to lose.
void measure_copies(std::vector<FileConfig> const& files) {
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs)
      if (run.output.roofline) try {
          copy_bandwidth(run.execution.space);
        } catch (std::exception const& error) {
          throw InputError(concat(
              run.where("output.roofline"),
              ": output.roofline: cannot measure the bandwidth of a copy: ", what_of(error)));
        }
}

}  // namespace

/// Solves, and shows the progress on a terminal.
template <class T>
Solved<T> Runs::solve_watched(RunConfig const& config, System<T> const& system) {
  if constexpr (!is_built(yaml_name<T>)) {
    throw std::logic_error("no scalar of this build");  // check_runs() refuses the others
  } else {
    if (!progress_wanted()) return solve<T>(config, system, {});
    auto const& options = shared_options(config.solver);
    ProgressLine line(std::cerr, {named(config), options.tolerance, options.max_iterations,
                                  width_of(STDERR_FILENO)});
    return solve<T>(config, system, [&](Progress const& progress) {
      std::lock_guard const lock(mutex_);
      line.show(progress);
    });
  }
}

/// Solves a run, notes it and writes its files: so after a signal no run has files but is not
/// noted.
template <class T>
void Runs::run_one(RunConfig const& config, System<T> const& system) {
  Solved<T> solved = solve_watched(config, system);
  RunResult result{&config,
                   system.rows(),
                   system.nonzeros,
                   solved.space,
                   std::move(solved.report),
                   solved.matrix_format,
                   solved.format_reason,
                   std::move(solved.columns),
                   std::move(solved.symmetry),
                   config.output.roofline ? copy_bandwidth(config.execution.space) : 0,
                   std::move(solved.seconds),
                   config.output.keeps_results() ? fingerprint(system.matrix) : "",
                   config.output.keeps_results() ? fingerprint(system.rhs) : "",
                   std::move(solved.ranks)};
  {
    std::lock_guard const lock(mutex_);
    ended_.push_back(std::move(result));
  }
  try {
    world().first_alone([&] {
      if (!config.output.solution.empty())
        write_matrix_market_columns<T>(config.output.solution.string(), solved.solution,
                                       system.right_hand_sides());
      if (!config.output.history.empty())
        write_history(config.output.history, title(config), ended_.back().columns);
    });
  } catch (...) {
    std::lock_guard const lock(mutex_);
    ended_.pop_back();
    throw;
  }
}

/// Carries out a run. Errors are rethrown with the file and the name of the problem in front.
void Runs::run_named(RunConfig const& config, SystemStore& store) {
  std::string const name = concat(config.where(""), ": ", named(config), ": ");
  try {
    std::visit(
        [&](auto const& system) {
          Solder::Impl::with_memory_for("the run", system->matrix.rows, system->matrix.nonzeros(),
                                        [&] { run_one(config, *system); });
        },
        store.get(config));
  } catch (InputError const&) {  // already says where
    throw;
  } catch (Solder::Impl::AnotherRankFailed const&) {  // that one says why
    throw;
  } catch (std::exception const& error) {
    throw std::runtime_error(name + what_of(error));
  }
}

/// Carries out all runs of one file, then writes its JSON. If a run cannot be carried out, the JSON
/// has the runs that finished before it.
void Runs::run_file(FileConfig const& file, SystemStore& store, Table& table) {
  {
    std::lock_guard const lock(mutex_);
    ended_.clear();
    kept_ = std::chrono::steady_clock::now();
    file_ = &file;
    ++begun_;
  }
  try {
    for (RunConfig const& config : file.runs) {
      run_named(config, store);
      world().together([&] {
        std::unique_lock lock(mutex_);
        RunResult const& ended = ended_.back();
        keep_now_and_then();
        lock.unlock();
        print_beginning(table);
        print(table.line(ended));
        print(narrowed(attempts_text(ended.report), width_of_output()));
        if (config.output.verbose)
          print(matrix_text(ended.symmetry) + narrowed(ranks_text(ended.ranks), width_of_output()) +
                setup_text(ended.report.preconditioner));
        report(ended);
        failed_ = failed_ || ended.report.reason != Reason::converged;
      });
    }
  } catch (std::exception const& error) {
    std::string const why = world().what_of_all(error);
    std::lock_guard const lock(mutex_);
    std::string const message = concat(why, "; stopped ", place());
    std::string const kept = keep_ended(message);
    file_ = nullptr;
    throw Ended(message + kept);
  }
  try {
    world().first_alone([&] { write_outputs(file); });
  } catch (std::exception const& error) {
    throw Ended(world().what_of_all(error));
  }
  std::lock_guard const lock(mutex_);
  file_ = nullptr;
}

/// Writes what all runs of a file have given.
void Runs::write_outputs(FileConfig const& file) {
  OutputConfig const& output = file.runs[0].output;
  std::lock_guard const lock(mutex_);
  if (output.keeps_results()) write_results(output, ended_, provenance_of(here_, file));
  if (!output.table.empty()) write_table(output.table, ended_);
}

/// Before the first line; after a run's own first words.
void Runs::print_beginning(Table const& table) {
  if (!std::exchange(has_begun_, true)) print(table.beginning());
}

/// Which run of its file this is: "bus"; of several "run 2 of 12, bus, cg, jacobi".
std::string Runs::named(RunConfig const& config) const {
  if (file_ == nullptr || file_->runs.size() == 1) return config.problem.name;
  return concat("run ", std::to_string(&config - file_->runs.data() + 1), " of ",
                std::to_string(file_->runs.size()), ", ", title(config));
}

/// Writes to standard error what is to be said of a run.
void Runs::report(RunResult const& result) const {
  RunConfig const& config = *result.config;
  auto const say = [&](std::string_view key, std::string const& what) {
    if (!what.empty())
      std::cerr << concat(config.where(key), ": ", named(config), ": ", what) << std::endl;
  };
  say("preconditioner.name", symmetry_word(config, result.symmetry));
  say("preconditioner.name", repairs_of(result));
  say("preconditioner.name", shift_of(result));
  say("", busy_cores_of(result));
  if (result.report.reason != Reason::converged) say("", failure_of(result));
}

/// Says how far the runs are.
std::string Runs::place() const {
  if (file_ == nullptr)
    return begun_ == 0       ? "before the first run"
           : begun_ < files_ ? "between two files"
                             : "at the end";
  std::size_t const runs = file_->runs.size(), ended = ended_.size();
  if (ended == runs) return concat("after the last run of ", file_->file.string());
  return concat("in run ", std::to_string(ended + 1), " of ", std::to_string(runs), " of ",
                file_->file.string(), ", ", title(file_->runs[ended]));
}

/// Writes the JSON of the finished runs of a file that is stopped: "; r.json has the 2 finished
/// runs".
std::string Runs::keep_ended(std::string_view why) {
  if (file_ == nullptr || !world().is_first()) return {};
  if (ended_.empty()) return "; no run had finished";
  OutputConfig const& output = file_->runs[0].output;
  std::string const those = ended_.size() == 1
                                ? "the one finished run"
                                : concat("the ", std::to_string(ended_.size()), " finished runs");
  if (!output.keeps_results()) return concat("; without output.json nothing is kept of ", those);
  try {
    write_results(output, ended_, provenance_of(here_, *file_), why);
  } catch (std::exception const& error) {
    return concat("; ", those, " could not be kept: ", what_of(error));
  }
  auto const& kept = !output.json.empty()     ? output.json
                     : !output.report.empty() ? output.report
                                              : output.plot;
  return concat("; ", kept.string(), " has ", those);
}

/// Writes what has ended so far, but not so often that it takes time: a program that is killed
/// loses little.
void Runs::keep_now_and_then() {
  if (!world().is_first()) return;
  constexpr auto every = std::chrono::seconds(10);
  auto const now = std::chrono::steady_clock::now();
  OutputConfig const& output = file_->runs[0].output;
  if (!output.keeps_results() || ended_.size() == file_->runs.size() || now - kept_ < every) return;
  write_results(output, ended_, provenance_of(here_, *file_), concat("not finished: ", place()));
  kept_ = std::chrono::steady_clock::now();
}

void Runs::stop(std::string_view why) {
  if (!mutex_.try_lock_for(std::chrono::seconds(1))) {  // never unlocked; fails if an output blocks
    Solder::Impl::UnfinishedFiles::abandon();
    std::cerr << "error: " << why << " while an output was being written" << std::endl;
    return;
  }
  std::string const where = concat(why, " ", place());
  std::string const kept = keep_ended(where);
  Solder::Impl::UnfinishedFiles::abandon();
  if (progress_wanted()) erase_progress(std::cerr);
  std::cerr << "error: " << where << kept << std::endl;
}

ExitCode Runs::explain_all(std::vector<FileConfig> const& files, SystemStore& store) {
  try {
    for (FileConfig const& file : files)
      for (RunConfig const& run : file.runs)
        print(narrowed(
            concat(run.problem.name, "\n",
                   std::visit(
                       [&]<class T>(std::shared_ptr<System<T> const> const& system) -> std::string {
                         if constexpr (is_built(yaml_name<T>))
                           return explain<T>(run, *system);
                         else
                           return {};
                       },
                       store.get(run))),
            width_of_output()));
  } catch (std::exception const& error) {
    std::cerr << "error: " << what_of(error) << std::endl;
    return invalid_input;
  }
  return all_converged;
}

ExitCode Runs::run_all(std::vector<FileConfig> const& files, SystemStore& store, Style const& style,
                       std::vector<std::string> const& command) {
  try {
    Table table(files, style);
    measure_copies(files);
    {
      std::lock_guard const lock(mutex_);
      here_ = provenance_here(command);
      files_ = files.size();
    }
    bool const introduces =
        !files.empty() && !files[0].runs.empty() && files[0].runs[0].output.introduces;
    if (!introduces) print_beginning(table);
    for (FileConfig const& file : files) run_file(file, store, table);
  } catch (Ended const& ended) {
    std::cerr << "error: " << ended.what() << std::endl;
    return invalid_input;
  } catch (std::exception const& error) {
    if (!world().is_alone()) world().abort(what_of(error));  // the others may not know
    std::cerr << "error: " << what_of(error) << std::endl;
    return invalid_input;
  }
  return failed_ ? some_failed : all_converged;
}

}  // namespace Solder::Driver
