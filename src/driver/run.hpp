// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "output.hpp"
#include "problem.hpp"
#include "solve.hpp"
#include "table.hpp"

namespace Solder::Driver {

enum ExitCode : int { all_converged = 0, some_failed = 1, invalid_input = 2 };

/// \brief Carries out checked runs: solves, writes the table to standard output, writes the output
/// files, and writes to standard error why a run did not converge.
class Runs {
 public:
  /// \brief Needs Kokkos initialised. A run that cannot be carried out (memory, disk, standard
  /// output) ends everything with invalid_input; the JSON of its file has the finished runs.
  /// \param command main's arguments, for the results
  ExitCode run_all(std::vector<FileConfig> const& files, SystemStore& store, Style const& style,
                   std::vector<std::string> const& command);

  /// \brief Prints what each run's matrix is, which candidates its solver has, and why. Solves
  /// nothing. Needs Kokkos initialised.
  ExitCode explain_all(std::vector<FileConfig> const& files, SystemStore& store);

  /// \brief For another thread, which then ends the process: writes the JSON of the finished runs,
  /// removes unfinished files and reports how far the runs were. No run continues after that.
  void stop(std::string_view why);

 private:
  template <class T>
  Solved<T> solve_watched(RunConfig const& config, System<T> const& system);
  template <class T>
  void run_one(RunConfig const& config, System<T> const& system);
  void run_named(RunConfig const& config, SystemStore& store);
  void print_beginning(Table const& table);
  void write_outputs(FileConfig const& file);
  void run_file(FileConfig const& file, SystemStore& store, Table& table);
  std::string place() const;
  std::string named(RunConfig const& config) const;
  void report(RunResult const& result) const;
  std::string keep_ended(std::string_view why);
  void keep_now_and_then();

  bool failed_ = false, has_begun_ = false;
  std::timed_mutex mutex_;  ///< guards what follows, and the progress line
  Provenance here_;
  std::size_t files_ = 0, begun_ = 0;  ///< how many there are, and have been begun
  FileConfig const* file_ = nullptr;
  std::vector<RunResult> ended_;                  ///< the finished runs of the file
  std::chrono::steady_clock::time_point kept_{};  ///< when these were written
};

}  // namespace Solder::Driver
