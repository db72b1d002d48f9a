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
#include "provenance.hpp"
#include "report/records.hpp"
#include "solve.hpp"

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
  double copy_bandwidth = 0;                 ///< bytes per second; 0: not requested
  std::vector<double> seconds{};             ///< see Solved
  std::string matrix_hash{}, rhs_hash{};     ///< see fingerprint(); empty: not asked for
  std::optional<RanksReport> ranks{};        ///< see Solved
};

/// \brief Vectors of the shadow space of IDR(s), the ones that there were; 0 of other solvers.
std::int64_t shadow_dimension(RunResult const& result);

/// \brief All runs of a file as JSON (see docs/yaml.md). Numbers that are not finite become null.
/// \param stopped why some runs are missing; empty: none are
std::string json_text(std::vector<RunResult> const& results, Provenance const& provenance,
                      std::string_view stopped = {});

/// \brief Writes json_text, and the page and the picture that are made of it, to those files that
/// the output names. Each appears as a whole or not at all. InputError if one cannot be written.
void write_results(OutputConfig const& output, std::vector<RunResult> const& results,
                   Provenance const& provenance, std::string_view stopped = {});

/// \brief Writes the page and the picture, as far as the output names them, of results as JSON.
/// \param old earlier ones, with which the page compares them
void write_pictures(OutputConfig const& output, std::string const& name, std::string const& json,
                    std::vector<Charts::Record> const& old = {});

/// \brief Writes "run,iteration,relative_residual" and one line for each iteration; the run is its
/// label, in quotes. With several right-hand sides, "run,iteration,relative_residual_1,..."; a
/// column is empty after its end. Otherwise like write_json.
void write_history(std::filesystem::path const& path, std::string const& label,
                   std::vector<Report> const& columns);

/// \brief What was found out about the matrix's symmetry, as an indented line to display; empty if
/// it was not checked.
std::string matrix_text(std::optional<Symmetry> const& symmetry);

/// \brief What a solver that chooses has tried, an indented line each; empty of any other.
std::string attempts_text(Report const& report);

/// \brief What ranks had and said to each other, as an indented line to display; empty if there were
/// none.
std::string ranks_text(std::optional<RanksReport> const& ranks);

/// \brief A preconditioner's set-up, as indented lines to display: its levels and its phases; empty
/// if there is nothing to say.
std::string setup_text(SetupReport const& setup);

}  // namespace Solder::Driver
