// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <solder/io/detail/whole_file.hpp>
#include <solder/version.hpp>
#include <type_traits>
#include <utility>

#include "columns.hpp"
#include "json.hpp"
#include "methods.hpp"
#include "report/charts.hpp"
#include "report/page.hpp"
#include "roofline.hpp"
#include "solve.hpp"
#include "table.hpp"
#include "text.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

double seconds_per_iteration(Report const& report) {
  return report.iterations > 0 ? report.solve_seconds / report.iterations : std::nan("");
}

/// The value of an option.
template <class Options, class Owner, class Value>
Json value_json(Options const& options, Option<Owner, Value> const& option) {
  Value const value = options.*option.member;
  if constexpr (std::is_same_v<Value, bool>) {
    if (option.flag.yes == Flag{}.yes) return value;
  }
  if constexpr (Option<Owner, Value>::has_words)
    return option.word(value);
  else
    return value;
}

/// Adds all options of a preconditioner but those of its struct that are another one's; null where
/// they do not count.
template <class Options>
void add_options(Json& json, PreconditionerConfig const& config, Options const& options) {
  for_each_option<Options>([&](auto const& option) {
    if (option.selector == "name" && !option.is_for(config.name)) return;
    bool const is_said =
        counts(option, options, {{"near_nullspace", config.near_nullspace}, {"name", config.name}});
    json.add(option.name, is_said ? value_json(options, option) : Json(nullptr));
  });
}

/// A text, or null if it is empty.
Json text_or_null(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// The attempts of a solver that chooses; null of any other.
Json attempts_json(Report const& report) {
  if (report.attempts.empty()) return nullptr;
  Json attempts = Json::array();
  for (Attempt const& attempt : report.attempts)
    attempts.append({{"solver", attempt.solver},
                     {"preconditioner", attempt.preconditioner},
                     {"why", attempt.why},
                     {"reason", to_string(attempt.reason)},
                     {"ended", text_or_null(attempt.ended)},
                     {"iterations", attempt.iterations},
                     {"true_relative_residual", attempt.true_relative_residual},
                     {"setup_seconds", attempt.setup_seconds},
                     {"solve_seconds", attempt.solve_seconds}});
  return attempts;
}

/// Adds the options of all solvers, null where they are not the run's; but for the form, of which
/// the one that ran counts.
void add_solver_options(Json& json, SolverConfig const& solver) {
  std::vector<std::pair<std::string_view, Json>> members;
  for_each(solver_methods, [&](auto const& method) {
    auto const& options = solver.*method.options;
    for_each_option<typename std::remove_cvref_t<decltype(method)>::Options>(
        [&](auto const& option) {
          if (option.name == "form") return;
          bool const is_said = method.is(solver.name) && counts(option, options);
          auto const is_same = [&](auto const& member) { return member.first == option.name; };
          auto member = std::find_if(members.begin(), members.end(), is_same);
          if (member == members.end()) member = members.insert(member, {option.name, nullptr});
          if (is_said) member->second = value_json(options, option);
        });
    if (method.is(solver.name))
      for_each_option<SolverOptions>(
          [&](auto const& option) { json.add(option.name, value_json(options, option)); });
  });
  for (auto const& [name, value] : members) json.add(name, value);
  json.add("candidates", text_or_null(solver.automatic.candidates));
}

/// The set-up of an incomplete factorisation.
Json incomplete_json(PreconditionerConfig const& config, SetupReport const& setup, Json phases) {
  bool const is_made = !setup.schedule.empty();
  bool const is_exact = config.incomplete.trisolve == Trisolve::exact;
  Json json = Json::object();
  add_options(json, config, config.incomplete);
  Factorisation kind{};
  read_word(config.name, kind);
  if (is_hermitian(kind))
    json.add("shift_taken", is_made ? Json(setup.shift) : Json(nullptr));
  json.add({{"ordering_taken", text_or_null(setup.ordering)},
            {"schedule_taken", is_made && is_exact ? Json(setup.schedule) : Json(nullptr)},
            {"nonzeros", setup.nonzeros}});
  if (has_fill(kind))
    json.add({{"density", setup.density},
              {"dropped", setup.dropped},
              {"repaired_rows", setup.repaired_rows}});
  json.add("phase_seconds", std::move(phases));
  return json;
}

Json amg_json(PreconditionerConfig const& config, SetupReport const& setup, Json phases) {
  Json json = Json::object();
  add_options(json, config, config.amg);
  json.add({{"near_nullspace", config.near_nullspace},
            {"precision", config.precision},
            {"interpolation_taken", text_or_null(setup.interpolation)},
            {"level_rows", setup.level_rows},
            {"level_nonzeros", setup.level_nonzeros},
            {"nonzeros", setup.nonzeros},
            {"operator_complexity", setup.density},
            {"largest_eigenvalue", setup.largest_eigenvalue},
            {"phase_seconds", std::move(phases)}});
  return json;
}

/// A preconditioner's parameters, what its set-up took and what it gave; null if there is nothing
/// to say.
Json setup_json(PreconditionerConfig const& config, SetupReport const& setup) {
  if (config.name == "none" || config.name == "jacobi") return nullptr;
  Json phases = Json::object();
  for (auto const& [name, seconds] : setup.phases) phases.add(name, seconds);
  if (is_incomplete(config)) return incomplete_json(config, setup, std::move(phases));
  if (config.name == "amg") return amg_json(config, setup, std::move(phases));
  if (config.name == "auto")
    return {{"nonzeros", setup.nonzeros}, {"phase_seconds", std::move(phases)}};
  auto const add_polynomial = [&](Json& json) {
    json.add("inner", config.inner);
    add_options(json, config, config.chebyshev);
    json.add("largest_eigenvalue", setup.largest_eigenvalue);
  };
  if (config.name == "chebyshev" && config.inner != "fsai") {
    Json json = Json::object();
    add_polynomial(json);
    json.add("phase_seconds", phases);
    return json;
  }
  Json json = Json::object();
  add_options(json, config, config.fsai);
  json.add("precision", text_or_null(config.precision));
  json.add({{"nonzeros", setup.nonzeros},
            {"density", setup.density},
            {"repaired_rows", setup.repaired_rows},
            {"phase_seconds", std::move(phases)}});
  if (config.name == "chebyshev") add_polynomial(json);
  return json;
}

Json roofline_json(RunResult const& result) {
  if (result.copy_bandwidth == 0) return nullptr;
  Roofline const shares = roofline(result);
  return {{"copy_gb_s", result.copy_bandwidth * 1e-9},
          {"of_copy", shares.of_copy},
          {"of_model", shares.of_model}};
}

/// A row or column, counted from 1, or null if there is none.
Json counted_or_null(std::int32_t index) { return index < 0 ? Json(nullptr) : Json(index + 1); }

Json agreement_json(Agreement const& agreement, bool is_complex) {
  auto const value = [&](std::complex<double> const& entry) {
    return is_complex ? Json::array({entry.real(), entry.imag()}) : Json(entry.real());
  };
  Json worst = nullptr;
  if (!agreement.is_exact())
    worst = {{"row", counted_or_null(agreement.row)},
             {"column", counted_or_null(agreement.column)},
             {"entry", value(agreement.entry)},
             {"mirrored", value(agreement.mirrored)},
             {"difference", agreement.difference}};
  return {{"holds", agreement.holds()}, {"exact", agreement.is_exact()}, {"worst", worst}};
}

/// What ranks had and said to each other; null of one alone.
Json ranks_json(std::optional<RanksReport> const& ranks) {
  if (!ranks) return nullptr;
  return {{"count", ranks->rows.size()},
          {"rows", ranks->rows},
          {"nonzeros", ranks->nonzeros},
          {"ghosts", ranks->ghosts},
          {"all_reduces_per_iteration", ranks->sums_per_iteration},
          {"exchanges_per_iteration", ranks->exchanges_per_iteration},
          {"waited", ranks->waited}};
}

/// What was found out about the matrix's symmetry; null if it was not checked.
Json symmetry_json(std::optional<Symmetry> const& symmetry) {
  if (!symmetry) return nullptr;
  DiagonalSigns const& diagonal = symmetry->diagonal;
  return {{"hermitian", agreement_json(symmetry->hermitian, symmetry->is_complex)},
          {"symmetric", agreement_json(symmetry->symmetric, symmetry->is_complex)},
          {"pattern", symmetry->pattern},
          {"finite", symmetry->is_finite},
          {"diagonal",
           {{"positive", diagonal.is_positive()},
            {"missing", counted_or_null(diagonal.missing)},
            {"zero", counted_or_null(diagonal.zero)},
            {"negative", counted_or_null(diagonal.negative)},
            {"not_real", counted_or_null(diagonal.not_real)}}}};
}

/// All keys that apply, section by section.
Json input_json(RunConfig const& config) {
  Json input = Json::object(), section = Json::object();
  for (std::size_t i = 0; i < config.keys.size(); ++i) {
    KeyValue const& key = config.keys[i];
    std::visit([&](auto const& value) { section.add(key.name, value); }, key.value);
    if (i + 1 < config.keys.size() && config.keys[i + 1].section == key.section) continue;
    input.add(key.section, section);
    section = Json::object();
  }
  return input;
}

Json checks_json(std::vector<Report::Check> const& checks) {
  Json list = Json::array();
  for (Report::Check const& check : checks)
    list.append({{"iteration", check.iteration}, {"relative_residual", check.relative_residual}});
  return list;
}

Json json_of(RunResult const& result) {
  RunConfig const& config = *result.config;
  Report const& report = result.report;
  SolverConfig solver = config.solver;  // as it ran
  solver.idr.shadow_dimension = static_cast<int>(shadow_dimension(result));
  Json json = {
      {"problem",
       {{"name", config.problem.name},
        {"rows", result.rows},
        {"nonzeros", result.nonzeros},
        {"scalar", to_string(config.problem.scalar)},
        {"path", text_or_null(config.problem.matrix.string())},
        {"matrix_hash", text_or_null(result.matrix_hash)},
        {"rhs", text_or_null(config.problem.rhs_file.empty() ? config.problem.rhs
                                                             : config.problem.rhs_file.string())},
        {"rhs_hash", text_or_null(result.rhs_hash)},
        {"symmetry", symmetry_json(result.symmetry)}}},
      {"input", input_json(config)},
      {"solver", solver.name},
      {"form", text_or_null(report.form)}};
  add_solver_options(json, solver);
  auto const if_solved = [&](double value) {
    return was_solved(report) ? Json(value) : Json(nullptr);
  };
  json.add({{"preconditioner", config.preconditioner.name},
            {"preconditioner_label", config.preconditioner.label},
            {"scale", to_string(config.preconditioner.scaling.scale)},
            {"match", to_string(config.preconditioner.scaling.match)},
            {"preconditioner_setup", was_solved(report)
                                         ? setup_json(config.preconditioner, report.preconditioner)
                                         : Json(nullptr)},
            {"space", result.space},
            {"ranks", ranks_json(result.ranks)},
            {"runner", was_solved(report) ? Json(to_string(report.runner)) : Json(nullptr)},
            {"runner_reason", text_or_null(report.runner_because)},
            {"matrix_format", result.matrix_format},
            {"matrix_format_reason", result.format_reason},
            {"reason", to_string(report.reason)},
            {"detail", text_or_null(report.detail)},
            {"attempts", attempts_json(report)},
            {"iterations", report.iterations},
            {"relative_residual", report.relative_residual},
            {"true_relative_residual", report.true_relative_residual},
            {"setup_seconds", report.setup_seconds},
            {"solve_seconds", report.solve_seconds},
            {"solve_seconds_each", result.seconds},
            {"busy_cores", report.busy_cores},
            {"seconds_per_iteration", seconds_per_iteration(report)},
            {"kernels_per_iteration", if_solved(report.kernels_per_iteration)},
            {"words_per_iteration", if_solved(report.words_per_iteration)},
            {"roofline", roofline_json(result)},
            {"checks", checks_json(report.checks)},
            {"history", report.history}});
  return json;
}

/// For several right-hand sides or a batch: how many there are, and how each one ended.
void add_columns(Json& run, RunResult const& result) {
  bool const is_batch = result.config->problem.batch > 0;
  if (!is_batch && result.columns.size() < 2) return;
  Json columns = Json::array();
  for (Report const& column : result.columns)
    columns.append({{"reason", to_string(column.reason)},
                    {"detail", text_or_null(column.detail)},
                    {"iterations", column.iterations},
                    {"relative_residual", column.relative_residual},
                    {"true_relative_residual", column.true_relative_residual}});
  run.add(is_batch ? "batch" : "right_hand_sides", result.columns.size());
  run.add(is_batch ? "systems" : "columns", columns);
}

void write_text(fs::path const& path, std::string const& text) {
  Solder::Impl::write_whole_file(path.string(), [&](auto& file) { file.text(text); });
}

}  // namespace

std::int64_t shadow_dimension(RunResult const& result) {
  SolverConfig const& solver = result.config->solver;
  return solver.name == "idr" ? std::min<std::int64_t>(solver.idr.shadow_dimension, result.rows)
                              : 0;
}

std::string json_text(std::vector<RunResult> const& results, Provenance const& provenance,
                      std::string_view stopped) {
  Json runs = Json::array();
  for (RunResult const& result : results) {
    Json run = json_of(result);
    add_columns(run, result);
    runs.append(run);
  }
  Json document = provenance_json(provenance);
  if (!stopped.empty()) document.add("stopped", stopped);
  document.add("runs", runs);
  return document.text() + "\n";
}

void write_results(OutputConfig const& output, std::vector<RunResult> const& results,
                   Provenance const& provenance, std::string_view stopped) {
  std::string const text = json_text(results, provenance, stopped);
  if (!output.json.empty()) write_text(output.json, text);
  write_pictures(output, provenance.file, text);
}

void write_pictures(OutputConfig const& output, std::string const& name, std::string const& json,
                    std::vector<Charts::Record> const& old) {
  if (output.report.empty() && output.plot.empty()) return;
  std::vector<Charts::Record> const records = {Charts::read_record(name, json)};
  if (!output.report.empty()) write_text(output.report, Charts::html(records, old));
  if (output.plot.empty()) return;
  Charts::Kind const kind = Charts::kind_of(output.plot_kind);
  write_text(output.plot, Charts::svg_file(Charts::pictures(kind, Charts::all_runs(records))));
}

void write_history(fs::path const& path, std::string const& label,
                   std::vector<Report> const& columns) {
  std::string text = "run,iteration";
  std::size_t lines = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    lines = std::max(lines, columns[c].history.size());
    text += columns.size() == 1 ? ",relative_residual" : format(",relative_residual_%zu", c + 1);
  }
  text += "\n";
  for (std::size_t i = 0; i < lines; ++i) {
    text += concat(csv_cell(label), ",", std::to_string(i));
    for (Report const& column : columns)
      text += i < column.history.size() ? format(",%.17g", column.history[i]) : ",";
    text += "\n";
  }
  write_text(path, text);
}

std::string matrix_text(std::optional<Symmetry> const& symmetry) {
  if (!symmetry) return {};
  std::string text = "  " + describe(*symmetry) + "; its diagonal is ";
  if (symmetry->diagonal.is_positive()) return text + "positive\n";
  char const* before = "not: ";
  auto const add = [&](char const* what, std::int32_t row) {
    if (row < 0) return;
    text += format("%s%s in row %d", before, what, row + 1);
    before = ", ";
  };
  add("missing", symmetry->diagonal.missing);
  add("zero", symmetry->diagonal.zero);
  add("negative", symmetry->diagonal.negative);
  add("not real", symmetry->diagonal.not_real);
  return text + "\n";
}

std::string attempts_text(Report const& report) {
  std::string text;
  for (std::size_t k = 0; k < report.attempts.size(); ++k) {
    Attempt const& attempt = report.attempts[k];
    text += format("  %s %s + %s, because %s: %s", k == 0 ? "tried" : "then",
                   attempt.solver.c_str(), attempt.preconditioner.c_str(), attempt.why.c_str(),
                   std::string(to_string(attempt.reason)).c_str());
    if (!std::isnan(attempt.true_relative_residual))
      text += format(" after %d iteration%s, residual %.2e", attempt.iterations,
                     attempt.iterations == 1 ? "" : "s", attempt.true_relative_residual);
    text += format(", set-up %.2f ms, solve %.2f ms", attempt.setup_seconds * 1e3,
                   attempt.solve_seconds * 1e3);
    text += (attempt.ended.empty() ? "" : "; ") + attempt.ended + "\n";
  }
  return text;
}

std::string ranks_text(std::optional<RanksReport> const& ranks) {
  if (!ranks) return {};
  auto const range = [](auto const& each, double unit, char const* what) {
    auto const [least, most] = std::minmax_element(each.begin(), each.end());
    std::string const first = format("%.0f", double(*least) * unit),
                      last = format("%.0f", double(*most) * unit);
    return first == last ? concat(last, what) : concat(first, " to ", last, what);
  };
  return concat("  ", std::to_string(ranks->rows.size()), " ranks of ",
                range(ranks->rows, 1, " rows and "), range(ranks->ghosts, 1, " ghosts: "),
                format("%.2f all-reduces and %.2f exchanges an iteration; waited ",
                       ranks->sums_per_iteration, ranks->exchanges_per_iteration),
                range(ranks->waited, 100, "% of the solve\n"));
}

std::string setup_text(SetupReport const& setup) {
  std::string text;
  for (std::size_t l = 0; l < setup.level_rows.size(); ++l) {
    double const rows = setup.level_rows[l], nonzeros = double(setup.level_nonzeros[l]);
    text += format("  level %2zu: %10.0f row%s %11.0f nonzeros, %6.1f a row\n", l + 1, rows,
                   rows == 1 ? ", " : "s,", nonzeros, rows > 0 ? nonzeros / rows : 0);
  }
  if (!setup.level_rows.empty())
    text += format("  levels by interpolation: %s; nonzeros of all: %.2f times the matrix's\n",
                   setup.interpolation.c_str(), setup.density);
  char const* before = "  set-up: ";
  for (auto const& [name, seconds] : setup.phases) {
    text += format("%s%s %.2f ms", before, name.c_str(), seconds * 1e3);
    before = ", ";
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace Solder::Driver
