// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "output.hpp"
#include "text.hpp"

namespace Solder::Driver {

/// \brief A column of the table of runs.
struct Column {
  std::string heading;
  bool left = false;                                       ///< text, not a number
  std::function<std::string(RunResult const&)> cell{};     ///< to look at
  std::function<std::string(RunResult const&)> exactly{};  ///< to calculate with; empty: the same
  std::size_t content = 0;                                 ///< characters of the widest cell
  std::string brief{};  ///< a shorter heading, where there is little room
  int drop = 0;         ///< the column with the highest number is left out first; 0: never

  std::size_t width() const { return std::max(characters(heading), content); }
};

/// \brief All columns that say something of these runs.
std::vector<Column> all_columns(std::vector<RunConfig const*> const& runs);

/// \brief The table on standard output.
///
/// What is the same in all runs stands above it, once, some of it when the first run has ended. The
/// columns are those that differ, and what came out. Columns and texts that a line has no room for
/// are left out or shortened; a wide table has all of them, and no head.
class Table {
 public:
  /// \param files that outlive it
  Table(std::vector<FileConfig> const& files, Style const& style);

  /// \brief What is known before the first run: of what all runs share, or of a wide table the
  /// headings.
  std::string beginning() const;
  /// \brief The line of a run; behind the rest of the head and the headings where it is the first.
  std::string line(RunResult const& result);

 private:
  std::string rest_of_head(RunResult const& first) const;
  std::string heading() const;
  void fit();

  Style style_;
  std::vector<RunConfig const*> runs_;
  std::vector<Column> columns_;
  std::vector<std::string> dropped_;  ///< headings of columns that have no room
  bool has_begun_ = false;
};

/// \brief The solver of a run: its name, its form where one is given, and its cycle.
std::string solver_text(RunConfig const& run);

/// \brief Which run this is, for people: "fem_poisson_2d(size=31), cg classical, jacobi,
/// tolerance=1e-6".
std::string title(RunConfig const& run);

/// \brief Writes the table of these runs with all columns, as the ending of the file says: .md,
/// .tex or .csv. A cell of CSV has all digits, and each line begins with the run's number and
/// title. Otherwise like write_json.
void write_table(std::filesystem::path const& path, std::vector<RunResult> const& results);

/// \brief The same as text.
std::string table_text(std::string_view ending, std::vector<RunResult> const& results);

/// \brief The endings of a table's file.
inline constexpr std::string_view table_endings[] = {".md", ".tex", ".csv"};

}  // namespace Solder::Driver
