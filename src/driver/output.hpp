// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <solder/core/report.hpp>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief One finished run, as the table and the JSON file show it.
struct RunResult {
  RunConfig const* config;
  std::int64_t rows = 0, nonzeros = 0;
  std::string space;
  Report report;                             ///< of all right-hand sides
  std::string matrix_format, format_reason;  ///< see Solved
  std::vector<Report> columns{};             ///< of each right-hand side, or system
  std::optional<Symmetry> symmetry{};        ///< see Solved
  double copy_bandwidth = 0;                 ///< bytes per second; 0: it was not asked for
};

/// \brief Vectors of the shadow space of IDR(s), the ones that there were; 0 of other solvers.
std::int64_t shadow_dimension(RunResult const& result);

/// \brief All runs of a file as JSON (see docs/yaml.md). Numbers that are not finite become null.
/// \param stopped why these are not all runs; empty: they are
std::string json_text(std::vector<RunResult> const& results, std::string const& device,
                      std::string_view stopped = {});

/// \brief Writes json_text; the file appears whole or not at all. InputError if it cannot be
/// written.
void write_json(std::filesystem::path const& path, std::vector<RunResult> const& results,
                std::string const& device, std::string_view stopped = {});

/// \brief "iteration,relative_residual" and one line for each iteration; of several right-hand
/// sides "iteration,relative_residual_1,..." with nothing after the end of one; otherwise as
/// write_json.
void write_history(std::filesystem::path const& path, std::vector<Report> const& columns);

/// \brief What was seen of the matrix's symmetry, for people, an indented line; empty where nothing
/// was.
std::string matrix_text(std::optional<Symmetry> const& symmetry);

/// \brief A preconditioner's set-up, for people, indented lines: the levels that it has, and its
/// phases; empty where there is nothing to say.
std::string setup_text(SetupReport const& setup);

/// \brief The table on standard output: a heading, then a line for each run.
class Table {
 public:
  explicit Table(std::vector<FileConfig> const& files);
  std::string heading() const;
  std::string line(RunResult const& result) const;

 private:
  int name_width_, preconditioner_width_;
  bool shows_right_hand_sides_ = false, shows_systems_ = false;  ///< where some run has several
  bool shows_roofline_ = false;                                  ///< where some run has one
};

}  // namespace Solder::Driver
