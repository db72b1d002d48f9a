// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <solder/io/detail/whole_file.hpp>

#include "columns.hpp"
#include "counts.hpp"
#include "methods.hpp"
#include "roofline.hpp"
#include "schema.hpp"
#include "text.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

constexpr std::size_t gap = 2;

using Runs = std::vector<RunConfig const*>;

/// Whether a value is the same in all runs.
template <class Get>
bool same_in(Runs const& runs, Get const& get) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](RunConfig const* run) { return get(*run) == get(*runs[0]); });
}

template <class Get>
std::size_t widest(Runs const& runs, Get const& get) {
  std::size_t width = 0;
  for (RunConfig const* run : runs) width = std::max(width, characters(get(*run)));
  return width;
}

std::string given(RunConfig const& run, std::string_view key) {
  auto const found = run.given.find(key);
  return found == run.given.end() ? "" : found->second;
}

/// The keys that are given other values in some runs than in others, or given in some alone.
std::vector<std::string> varied(Runs const& runs) {
  std::set<std::string, std::less<>> names;
  for (RunConfig const* run : runs)
    for (auto const& [key, text] : run->given) names.insert(key);
  std::vector<std::string> keys;
  for (std::string const& key : names)
    if (!same_in(runs, [&](RunConfig const& run) { return given(run, key); })) keys.push_back(key);
  return keys;
}

/// What of the runs is the same, and so stands in the head.
struct Shared {
  std::vector<std::string> keys;  ///< that differ
  bool problem, preconditioner;   ///< but for keys, which have columns of their own
  bool size, solver, scalar, space, runner, format;

  explicit Shared(Runs const& runs) : keys(varied(runs)) {
    using Run = RunConfig const&;
    auto const same = [&](auto const& get) { return same_in(runs, get); };
    problem = same([](Run run) { return std::pair(run.problem.generate, run.problem.matrix); });
    size = same([](Run run) { return std::pair(run.problem.name, run.problem.batch); });
    preconditioner = same([](Run run) { return run.preconditioner.name; }) &&
                     (runs.size() == 1 || runs[0]->preconditioner.name != "auto");
    solver = same([](Run run) { return solver_text(run); }) &&
             (preconditioner || form_of(runs[0]->solver) != "auto") &&
             (runs.size() == 1 || runs[0]->solver.name != "auto");
    scalar = same([](Run run) { return run.problem.scalar; });
    space = same([](Run run) { return run.execution.space; });
    runner = same([](Run run) { return run.execution.runner; }) &&
             (runs.size() == 1 || runs[0]->execution.runner != "auto");
    format = same([](Run run) { return run.execution.matrix_format; });
  }

  bool differs(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  std::string problem_text(RunConfig const& run) const {
    if (!run.problem.matrix.empty()) return run.problem.name;
    return with_given(run.problem.generate, run.given,
                      [&](std::string_view key) { return is_of_generator(key) && !differs(key); });
  }
  std::string preconditioner_text(RunConfig const& run) const {
    return with_given(run.preconditioner.name, run.given, [&](std::string_view key) {
      return key.starts_with("preconditioner.") && key != "preconditioner.name" && !differs(key);
    });
  }
  /// Whether a key that differs needs a column, for no other one says what it is.
  bool is_own_column(std::string_view key) const {
    static constexpr std::string_view others[] = {"problem.matrix",
                                                  "problem.generate",
                                                  "problem.rhs_count",
                                                  "problem.batch",
                                                  "problem.scalar",
                                                  "solver.name",
                                                  "solver.form",
                                                  "solver.restart",
                                                  "execution.space",
                                                  "execution.runner",
                                                  "solver.shadow_dimension",
                                                  "preconditioner.name",
                                                  "execution.matrix_format"};
    if (std::find(std::begin(others), std::end(others), key) != std::end(others)) return false;
    if (is_of_generator(key)) return problem;
    if (key.starts_with("preconditioner.")) return preconditioner;
    return !key.starts_with("output.");
  }
};

/// Seven characters at most up to a million, with three digits or more.
std::string short_number(double x) {
  return !std::isfinite(x) ? "-" : format(x < 10 ? "%.2f" : x < 1000 ? "%.1f" : "%.0f", x);
}
std::string exact_number(double x) { return std::isfinite(x) ? format("%.9g", x) : ""; }

double microseconds_per_iteration(RunResult const& result) {
  Report const& report = result.report;
  return report.iterations > 0 ? report.solve_seconds / report.iterations * 1e6 : std::nan("");
}

/// "gmres cgs2 30": the name, the form where there is one, and the cycle where there is one.
std::string solver_text(RunConfig const& run, std::string_view form) {
  std::string const& name = run.solver.name;
  int const cycle = name == "gmres" ? run.solver.gmres.restart
                    : name == "idr" ? run.solver.idr.shadow_dimension
                                    : 0;
  return concat(name, form.empty() ? "" : " ", form,
                cycle > 0 ? concat(" ", std::to_string(cycle)) : "");
}

std::string solver_that_ran(RunResult const& result) {
  if (result.config->chooses() && !result.report.attempts.empty())
    return concat(result.report.attempts.back().solver, " ", result.report.form);
  std::string_view const form =
      was_solved(result.report) ? std::string_view(result.report.form)
                                : form_of(result.config->solver);
  return solver_text(*result.config, form == "auto" ? "" : form);
}

/// The solver's text at its longest: its form may be chosen when it runs.
std::string longest_solver(RunConfig const& run) {
  std::string const& name = run.solver.name;
  std::string_view form = form_of(run.solver);
  if (name == "auto") return "bicgstab pipelined";
  if (name == "block_cg") form = "block";
  if (name == "idr") form = run.solver.idr.smoothing ? "smoothed" : "biorthogonal";
  return solver_text(run, form == "auto" ? "pipelined" : form);
}

std::string preconditioner_that_ran(RunResult const& result) {
  RunConfig const& run = *result.config;
  bool const is_chosen = run.preconditioner.name == "auto" && !result.report.attempts.empty();
  return is_chosen ? result.report.attempts.back().preconditioner : run.preconditioner.label;
}

std::string runner_of(RunResult const& result) {
  return was_solved(result.report) ? std::string(to_string(result.report.runner)) : "-";
}

template <class Get>
Column text_column(std::string heading, Runs const& runs, Get const& get) {
  return {std::move(heading),
          true,
          [get](RunResult const& r) { return get(*r.config); },
          {},
          widest(runs, get)};
}

Column count_column(std::string heading, double most,
                    std::function<std::string(RunResult const&)> cell) {
  return {std::move(heading),
          false,
          std::move(cell),
          {},
          std::to_string(static_cast<long long>(most)).size()};
}

Column number_column(std::string heading, std::size_t width,
                     std::function<double(RunResult const&)> const& get) {
  return {std::move(heading), false, [get](RunResult const& r) { return short_number(get(r)); },
          [get](RunResult const& r) { return exact_number(get(r)); }, width};
}

/// The columns that say which run it is: all of them, or those that the runs do not share.
std::vector<Column> columns_of_runs(Runs const& runs, Shared const* shared) {
  std::vector<Column> columns;
  auto const differs = [&](bool Shared::*what) { return shared == nullptr || !(shared->*what); };
  Counts most{0, 0, 0};
  std::int32_t batch = 0;
  for (RunConfig const* run : runs) {
    Counts const counts = promised_counts(run->problem);
    most = {std::max(most.rows, counts.rows), std::max(most.nonzeros, counts.nonzeros),
            std::max(most.right_hand_sides, counts.right_hand_sides)};
    batch = std::max(batch, run->problem.batch);
  }
  if (differs(&Shared::problem))
    columns.push_back(
        text_column("problem", runs, [](RunConfig const& run) { return run.problem.name; }));
  Shared const own = shared != nullptr ? *shared : Shared(runs);
  auto const add_keys = [&](std::string_view section) {
    for (std::string const& key : own.keys) {
      bool const is_said =
          shared == nullptr && (is_of_generator(key) || section == "preconditioner.");
      if (!key.starts_with(section) || !own.is_own_column(key) || is_said) continue;
      columns.push_back(
          text_column(key.substr(key.find('.') + 1), runs, [key](RunConfig const& run) {
            std::string const text = given(run, key);
            return text.empty() ? std::string("-") : text;
          }));
    }
  };
  add_keys("problem.");
  if (differs(&Shared::size)) {
    columns.push_back(count_column(
        "rows", most.rows, [](RunResult const& result) { return std::to_string(result.rows); }));
    columns.back().drop = 2;
    columns.push_back(count_column("nonzeros", most.nonzeros, [](RunResult const& result) {
      return std::to_string(result.nonzeros);
    }));
    columns.back().drop = 4;
  }
  auto const is_batch = [](RunResult const& result) { return result.config->problem.batch > 0; };
  if (batch > 0)
    columns.push_back(count_column("systems", batch, [=](RunResult const& result) {
      return std::to_string(is_batch(result) ? result.columns.size() : 1);
    }));
  if (most.right_hand_sides > 1)
    columns.push_back(count_column("rhs", most.right_hand_sides, [=](RunResult const& result) {
      return std::to_string(is_batch(result) ? 1 : result.columns.size());
    }));
  if (differs(&Shared::scalar))
    columns.push_back(text_column("scalar", runs, [](RunConfig const& run) {
      return std::string(to_string(run.problem.scalar));
    }));
  if (differs(&Shared::solver))
    columns.push_back({"solver", true, solver_that_ran, {}, widest(runs, longest_solver)});
  add_keys("solver.");
  if (differs(&Shared::preconditioner))
    columns.push_back(
        {"preconditioner",
         true,
         preconditioner_that_ran,
         {},
         widest(runs, [](RunConfig const& run) { return run.preconditioner.label; })});
  if (!columns.empty() && columns.back().heading == "preconditioner")
    columns.back().brief = "precond";
  add_keys("preconditioner.");
  if (differs(&Shared::space))
    columns.push_back({"space", true, [](RunResult const& r) { return r.space; }, {}, 7});
  if (differs(&Shared::runner))
    columns.push_back({"runner", true, runner_of, {}, 8, {}, shared != nullptr ? 5 : 0});
  if (differs(&Shared::format))
    columns.push_back({"format", true, [](RunResult const& r) { return r.matrix_format; }, {}, 6});
  add_keys("execution.");
  return columns;
}

/// The columns of what came out.
void add_results(std::vector<Column>& columns, Runs const& runs) {
  double most_iterations = 0;
  for (RunConfig const* run : runs)
    most_iterations = std::max<double>(most_iterations, shared_options(run->solver).max_iterations);
  columns.push_back(count_column("iterations", most_iterations, [](RunResult const& result) {
    return std::to_string(result.report.iterations);
  }));
  columns.back().brief = "iter";
  columns.push_back(
      {"residual", false,
       [](RunResult const& result) { return format("%.2e", result.report.true_relative_residual); },
       [](RunResult const& result) { return exact_number(result.report.true_relative_residual); },
       8});
  columns.push_back(number_column(
      "setup ms", 8, [](RunResult const& result) { return result.report.setup_seconds * 1e3; }));
  columns.back().drop = 1;
  columns.push_back(number_column(
      "solve ms", 8, [](RunResult const& result) { return result.report.solve_seconds * 1e3; }));
  columns.push_back(number_column("us/iter", 7, microseconds_per_iteration));
  columns.back().drop = 3;
  auto const has_roofline = [](RunConfig const* run) { return run->output.roofline; };
  if (std::any_of(runs.begin(), runs.end(), has_roofline))
    columns.push_back(
        {"of copy", false,
         [](RunResult const& result) {
           double const share = 100 * roofline(result).of_copy;
           return std::isfinite(share) ? format("%.1f%%", share) : "-";
         },
         [](RunResult const& result) { return exact_number(100 * roofline(result).of_copy); }, 7});
  columns.push_back(
      {"reason",
       true,
       [](RunResult const& result) { return std::string(to_string(result.report.reason)); },
       {},
       9});
}

std::size_t total_width(std::vector<Column> const& columns) {
  std::size_t width = 0;
  for (Column const& column : columns) width += column.width() + gap;
  return width - gap;
}

/// A cell of a file.
std::string quoted_for(std::string_view ending, std::string const& text) {
  if (ending == ".csv") return csv_cell(text);
  std::string quoted;
  for (char const c : text)
    if (ending == ".md")
      quoted += c == '|' ? std::string("\\|") : std::string(1, c);
    else if (c == '\\')
      quoted += "\\textbackslash{}";
    else if (c == '~' || c == '^')
      quoted += concat("\\", std::string(1, c), "{}");
    else
      quoted += concat(std::string_view("_%&#$}{").find(c) == std::string_view::npos ? "" : "\\",
                       std::string(1, c));
  return quoted;
}

}  // namespace

std::string solver_text(RunConfig const& run) {
  std::string_view const form = form_of(run.solver);
  return solver_text(run, form == "auto" ? "" : form);
}

std::string title(RunConfig const& run) {
  std::string text = concat(run.problem.name, ", ", solver_text(run));
  if (run.preconditioner.name != "none" && run.preconditioner.name != "auto")
    text += concat(", ", run.preconditioner.label);
  for (std::string const& key : run.swept) {
    auto const name = key.substr(key.find('.') + 1);
    bool const is_said = is_of_generator(key) || key.starts_with("preconditioner.") ||
                         key == "problem.matrix" || key == "problem.generate" ||
                         key == "solver.name" || key == "solver.form" || key == "solver.restart" ||
                         key == "solver.shadow_dimension";
    if (!is_said && run.given.contains(key)) text += concat(", ", name, "=", given(run, key));
  }
  return text;
}

std::vector<Column> all_columns(std::vector<RunConfig const*> const& runs) {
  std::vector<Column> columns = columns_of_runs(runs, nullptr);
  add_results(columns, runs);
  columns.push_back(
      {"matrix format",
       true,
       [](RunResult const& r) { return concat(r.matrix_format, ": ", r.format_reason); },
       {},
       13});
  std::erase_if(columns, [](Column const& column) { return column.heading == "format"; });
  return columns;
}

Table::Table(std::vector<FileConfig> const& files, Style const& style) : style_(style) {
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs) runs_.push_back(&run);
  if (style_.wide || runs_.empty()) {
    if (!runs_.empty()) columns_ = all_columns(runs_);
    return;
  }
  Shared const shared(runs_);
  columns_ = columns_of_runs(runs_, &shared);
  add_results(columns_, runs_);
  fit();
}

/// Until a line fits: shortens headings, leaves out columns that tell least, shortens texts, leaves
/// out texts.
void Table::fit() {
  auto const is_too_wide = [&] { return total_width(columns_) > style_.width; };
  for (Column& column : columns_)
    if (!column.brief.empty() && is_too_wide()) column.heading = column.brief;
  auto const drop_down_to = [&](int least) {
    for (int drop = 5; drop >= least && is_too_wide(); --drop) {
      auto const first = std::find_if(columns_.begin(), columns_.end(),
                                      [&](Column const& column) { return column.drop == drop; });
      if (first == columns_.end()) continue;
      dropped_.push_back(first->heading);
      columns_.erase(first);
    }
  };
  auto const shrink_to = [&](std::size_t least) {
    while (is_too_wide()) {
      Column* widest = nullptr;
      for (Column& column : columns_)
        if (column.left && column.width() > least &&
            (widest == nullptr || column.width() > widest->width()))
          widest = &column;
      if (widest == nullptr) return;
      widest->content = widest->width() - 1;
      widest->heading = shortened(widest->heading, widest->content);
    }
  };
  drop_down_to(3);
  shrink_to(16);
  drop_down_to(1);
  shrink_to(8);
  for (std::size_t i = columns_.size(); i-- > 0 && is_too_wide();)
    if (columns_[i].left && columns_[i].heading != "reason") {
      dropped_.push_back(columns_[i].heading);
      columns_.erase(columns_.begin() + std::ptrdiff_t(i));
    }
}

std::string Table::beginning() const {
  if (runs_.empty()) return {};
  if (style_.wide) return heading();
  Shared const shared(runs_);
  RunConfig const& run = *runs_[0];
  std::string text;
  auto const add = [&](std::string_view name, std::vector<std::string_view> const& parts) {
    if (!parts.empty()) text += wrapped(padded(name, 16, true), join(parts, ", "), style_.width);
  };
  std::string const problem = shared.problem_text(run), solver = solver_text(run),
                    tolerance =
                        concat("tolerance ",
                               Solder::Impl::number_text(shared_options(run.solver).tolerance)),
                    preconditioner = shared.preconditioner_text(run),
                    repeats = concat("median of ", std::to_string(run.execution.repeat));
  std::string_view const scalar = to_string(run.problem.scalar);
  std::vector<std::string_view> of_problem, of_solver, of_preconditioner, of_execution;
  if (shared.problem) of_problem.push_back(problem);
  if (shared.scalar) (shared.problem ? of_problem : of_execution).push_back(scalar);
  if (shared.solver) of_solver.push_back(solver);
  if (!shared.differs("solver.tolerance")) of_solver.push_back(tolerance);
  if (shared.preconditioner) of_preconditioner.push_back(preconditioner);
  if (run.execution.repeat > 1 && !shared.differs("execution.repeat"))
    of_execution.push_back(repeats);
  add("problem", of_problem);
  add("solver", of_solver);
  add("preconditioner", of_preconditioner);
  add("execution", of_execution);
  if (!dropped_.empty()) {
    std::vector<std::string_view> const names(dropped_.begin(), dropped_.end());
    text += wrapped(padded("not shown", 16, true),
                    concat(join(names, " and "), "; --wide shows all"), style_.width);
  }
  return text;
}

/// What is the same in all runs, and known only now.
std::string Table::rest_of_head(RunResult const& first) const {
  Shared const shared(runs_);
  std::vector<std::string> of_matrix, how;
  if (shared.size)
    of_matrix = {concat(counted(first.rows, "row"), ", ", counted(first.nonzeros, "nonzero"))};
  if (shared.format && was_solved(first.report))
    of_matrix.push_back(concat(first.matrix_format, ": ", first.format_reason));
  if (shared.solver) how.push_back(solver_that_ran(first));
  if (shared.preconditioner && first.config->preconditioner.name == "auto")
    how.push_back(preconditioner_that_ran(first));
  if (shared.runner && was_solved(first.report)) how.push_back(concat("runner ", runner_of(first)));
  if (shared.space) how.push_back(concat("on ", first.space));
  if (!world().is_alone()) how.push_back(concat(std::to_string(world().ranks()), " ranks"));
  std::string text;
  auto const add = [&](std::string_view name, std::vector<std::string> const& parts,
                       std::string_view between) {
    std::string all;
    for (std::string const& part : parts) all += concat(all.empty() ? "" : between, part);
    if (!all.empty()) text += wrapped(padded(name, 16, true), all, style_.width);
  };
  add("matrix", of_matrix, "; ");
  add("run as", how, ", ");
  return text + "\n";
}

std::string Table::heading() const {
  std::string text;
  for (Column const& column : columns_) {
    if (!text.empty()) text += std::string(gap, ' ');
    text += &column == &columns_.back() ? column.heading
                                        : padded(column.heading, column.width(), column.left);
  }
  return coloured(text, "1", style_) + "\n";
}

std::string Table::line(RunResult const& result) {
  std::string text, before;
  for (Column const& column : columns_) {
    std::string cell = column.cell(result);
    bool const is_last = &column == &columns_.back();
    std::size_t const room =
        !is_last      ? column.width()
        : style_.wide ? std::string::npos
                      : std::max(column.width(),
                                 style_.width - std::min(style_.width, characters(text) + gap));
    if (column.left && !style_.wide) cell = shortened(cell, room);
    if (!text.empty()) text += std::string(gap, ' ');
    bool const is_reason = column.heading == "reason";
    bool const is_good = result.report.reason == Reason::converged;
    text += coloured(is_last ? cell : padded(cell, column.width(), column.left),
                     is_good ? "32" : "31", is_reason ? style_ : Style{});
  }
  if (!has_begun_ && !style_.wide) before = rest_of_head(result) + heading();
  has_begun_ = true;
  return before + text + "\n";
}

std::string table_text(std::string_view ending, std::vector<RunResult> const& results) {
  if (results.empty()) return {};
  Runs runs;
  for (RunResult const& result : results) runs.push_back(result.config);
  std::vector<Column> columns = all_columns(runs);
  bool const is_csv = ending == ".csv", is_latex = ending == ".tex";
  std::string text, rule = "|", places;
  auto const add_line = [&](std::vector<std::string> const& cells) {
    std::string line;
    for (std::string const& cell : cells)
      line += concat(line.empty() ? (ending == ".md" ? "| " : "")
                     : is_csv     ? ","
                     : is_latex   ? " & "
                                  : " | ",
                     quoted_for(ending, cell));
    text += concat(line, is_csv ? "\n" : is_latex ? " \\\\\n" : " |\n");
  };
  std::vector<std::string> headings;
  if (is_csv) headings = {"run", "label"};
  for (Column const& column : columns) {
    std::string heading = column.heading;
    if (is_csv) std::replace(heading.begin(), heading.end(), ' ', '_');
    headings.push_back(std::move(heading));
    rule += column.left ? "---|" : "---:|";
    places += column.left ? "l" : "r";
  }
  if (is_latex) text = concat("\\begin{tabular}{", places, "}\n\\hline\n");
  add_line(headings);
  if (!is_csv) text += is_latex ? std::string("\\hline\n") : concat(rule, "\n");
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<std::string> cells;
    if (is_csv) cells = {std::to_string(i + 1), title(*results[i].config)};
    for (Column const& column : columns)
      cells.push_back(is_csv && column.exactly ? column.exactly(results[i])
                                               : column.cell(results[i]));
    add_line(cells);
  }
  return is_latex ? text + "\\hline\n\\end{tabular}\n" : text;
}

void write_table(std::filesystem::path const& path, std::vector<RunResult> const& results) {
  Solder::Impl::write_whole_file(path.string(), [&](auto& file) {
    file.text(table_text(path.extension().string(), results));
  });
}

}  // namespace Solder::Driver
