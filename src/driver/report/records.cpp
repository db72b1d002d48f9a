// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "records.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <solder/core/errors.hpp>

#include "text.hpp"

namespace Solder::Charts {
namespace {

using Json = nlohmann::ordered_json;

/// A member, or null where there is none.
Json const& at(Json const& json, char const* key) {
  static Json const null;
  if (!json.is_object()) return null;
  auto const found = json.find(key);
  return found == json.end() ? null : *found;
}
double number_of(Json const& json) { return json.is_number() ? json.get<double>() : unknown; }
double number_at(Json const& json, char const* key) { return number_of(at(json, key)); }
std::string text_at(Json const& json, char const* key) {
  Json const& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
/// A value as people read it.
std::string shown(Json const& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_float()) return number(json.get<double>(), 6);
  if (!json.is_array()) return json.is_structured() || json.is_null() ? "" : json.dump();
  std::string text;
  for (Json const& item : json) text += (text.empty() ? "" : ", ") + shown(item);
  return text;
}
std::vector<double> numbers_at(Json const& json, char const* key) {
  std::vector<double> values;
  if (Json const& list = at(json, key); list.is_array())
    for (Json const& item : list) values.push_back(number_of(item));
  return values;
}
/// The numbers of an object, with their names.
std::vector<std::pair<std::string, double>> named_numbers(Json const& json) {
  std::vector<std::pair<std::string, double>> values;
  if (json.is_object())
    for (auto const& [name, value] : json.items())
      if (value.is_number()) values.emplace_back(name, value.get<double>());
  return values;
}

/// "f(size=3,k=1)" without the size: "f(k=1)".
std::string family_of(std::string const& problem) {
  auto const begin = problem.find("size=");
  if (begin == std::string::npos || begin == 0) return problem;
  char const before = problem[begin - 1];
  if (before != '(' && before != ',') return problem;
  auto const end = problem.find_first_of(",)", begin);
  if (end == std::string::npos) return problem;
  bool const is_last = problem[end] == ')';
  std::string rest = problem.substr(0, is_last && before == ',' ? begin - 1 : begin) +
                     problem.substr(is_last ? end : end + 1);
  if (auto const empty = rest.find("()"); empty != std::string::npos) rest.erase(empty, 2);
  return rest;
}

double bytes_of(std::string const& scalar) {
  if (scalar == "float") return 4;
  return scalar == "double" || scalar == "complex_float" ? 8
         : scalar == "complex_double"                    ? 16
                                                         : unknown;
}

/// The members of an object's objects as "section.key", with their values.
std::vector<std::pair<std::string, std::string>> keys_of(Json const& json) {
  std::vector<std::pair<std::string, std::string>> keys;
  if (!json.is_object()) return keys;
  for (auto const& [section, members] : json.items())
    if (members.is_object())
      for (auto const& [key, value] : members.items())
        if (!value.is_null()) keys.emplace_back(section + "." + key, shown(value));
  return keys;
}

/// What auto tried: of each attempt all that it says, whatever that is.
std::vector<Run::Words> attempts_of(Json const& json) {
  std::vector<Run::Words> attempts;
  if (!json.is_array()) return attempts;
  for (Json const& attempt : json) {
    Run::Words& words = attempts.emplace_back();
    if (!attempt.is_object()) {
      words.emplace_back("what", shown(attempt));
      continue;
    }
    for (auto const& [key, value] : attempt.items()) {
      bool const is_time = key.ends_with("_seconds") && value.is_number();
      words.emplace_back(is_time ? key.substr(0, key.size() - 8) : key,
                         is_time ? seconds_text(value.get<double>()) : shown(value));
    }
  }
  return attempts;
}

/// What all forms of a run share.
Run begin_run(Json const& json) {
  Run run;
  run.who = "solder";
  Json const& problem = at(json, "problem");
  run.problem = problem.is_string() ? problem.get<std::string>() : text_at(problem, "name");
  if (std::string const triangle = text_at(json, "triangle"); !triangle.empty())
    run.problem += ", " + triangle;
  run.family = family_of(run.problem);
  run.scalar = text_at(problem, "scalar");
  run.rows = number_at(problem.is_object() ? problem : json, "rows");
  run.nonzeros = number_at(problem.is_object() ? problem : json, "nonzeros");
  run.columns = number_at(json, "columns");
  if (Json const& several = at(json, "right_hand_sides"); several.is_number())
    run.columns = several.get<double>();
  run.bandwidth = number_at(json, "copy_bandwidth_gb_s") * 1e9;
  run.bytes = number_at(json, "bytes");
  return run;
}

/// What ranks had and said to each other: "3 ranks with 21, 21, 22 rows ..."; empty of one alone.
std::string ranks_of(Json const& json) {
  double const count = number_at(json, "count");
  if (!(count > 0)) return {};
  auto const list = [&](char const* key) { return shown(at(json, key)); };
  std::string shares;
  for (double const share : numbers_at(json, "waited"))
    shares += (shares.empty() ? "" : ", ") + number(100 * share, 3) + "%";
  return number(count) + " ranks with " + list("rows") + " rows, " + list("nonzeros") +
         " nonzeros and " + list("ghosts") + " ghosts; an iteration had " +
         number(number_at(json, "all_reduces_per_iteration"), 3) + " all-reduces and " +
         number(number_at(json, "exchanges_per_iteration"), 3) + " exchanges; they waited for " +
         shares + " of the solve";
}

void add_solve(Record& record, Json const& json, double bandwidth) {
  Run run = begin_run(json);
  run.solver = text_at(json, "solver");
  if (std::string const form = text_at(json, "form"); !form.empty()) run.solver += " " + form;
  for (char const* const cycle : {"restart", "shadow_dimension"})
    if (double const length = number_at(json, cycle); length > 0)
      run.solver += "(" + number(length) + ")";
  run.preconditioner = text_at(json, "preconditioner_label");
  if (run.preconditioner.empty()) run.preconditioner = text_at(json, "preconditioner");
  run.space = text_at(json, "space");
  run.runner = text_at(json, "runner");
  run.format = text_at(json, "matrix_format");
  run.reason = text_at(json, "reason");
  run.detail = text_at(json, "detail");
  run.runner_reason = text_at(json, "runner_reason");
  run.format_reason = text_at(json, "matrix_format_reason");
  run.ranks = ranks_of(at(json, "ranks"));
  run.iterations = number_at(json, "iterations");
  run.residual = number_at(json, "relative_residual");
  run.true_residual = number_at(json, "true_relative_residual");
  run.tolerance = number_at(json, "tolerance");
  run.setup = number_at(json, "setup_seconds");
  run.solve = number_at(json, "solve_seconds");
  run.per_iteration = number_at(json, "seconds_per_iteration");
  run.busy_cores = number_at(json, "busy_cores");
  run.bytes = number_at(json, "words_per_iteration") * bytes_of(run.scalar);
  run.bandwidth = number_at(at(json, "roofline"), "copy_gb_s") * 1e9;
  if (!std::isfinite(run.bandwidth)) run.bandwidth = bandwidth;
  run.samples = numbers_at(json, "solve_seconds_each");
  run.history = numbers_at(json, "history");
  if (Json const& checks = at(json, "checks"); checks.is_array())
    for (Json const& check : checks)
      run.checks.push_back({number_at(check, "iteration"), number_at(check, "relative_residual")});
  run.parts = named_numbers(at(at(json, "preconditioner_setup"), "phase_seconds"));
  run.attempts = attempts_of(at(json, "attempts"));
  run.keys = keys_of(at(json, "input"));
  if (run.keys.empty())  // of an earlier version
    run.keys = {{"solver.name", run.solver},
                {"preconditioner.name", run.preconditioner},
                {"problem.scalar", run.scalar},
                {"execution.space", run.space}};
  Json const& peers = at(json, "peers");
  if (peers.is_object()) {  // a benchmark: so many iterations, however far they come
    run.tolerance = 0;
    run.reason.clear();
    for (double& sample : run.samples) sample /= run.iterations;
  }
  record.runs.push_back(run);
  if (!peers.is_object()) return;
  for (auto const& [name, peer] : peers.items()) {
    if (std::string const why = text_at(peer, "why_not"); !why.empty()) {
      std::string const text = name + ": " + why;
      if (std::find(record.absent.begin(), record.absent.end(), text) == record.absent.end())
        record.absent.push_back(text);
    }
    Json const& variants = at(peer, "variants");
    if (!variants.is_array()) continue;
    for (Json const& variant : variants) {
      Run other = run;
      other.who = name;
      other.runner = text_at(variant, "variant");
      other.format = other.runner_reason = other.format_reason = other.detail = other.ranks = "";
      other.keys.clear();
      other.iterations = number_at(variant, "iterations");
      other.per_iteration = number_at(variant, "seconds_per_iteration");
      other.samples = numbers_at(variant, "seconds_each");
      other.setup = other.solve = other.busy_cores = other.residual = other.true_residual = unknown;
      other.bytes = unknown;  // the words are Solder's
      if (at(variant, "agrees") == false) other.detail = "not the same residual: another method";
      other.history.clear();
      other.checks.clear();
      other.parts.clear();
      record.runs.push_back(other);
    }
  }
}

void add_contest(Record& record, Json const& json, double bandwidth) {
  Run run = begin_run(json);
  run.tolerance = 0;
  if (!std::isfinite(run.bandwidth)) run.bandwidth = bandwidth;
  for (Json const& contestant : at(json, "contestants")) {
    Run one = run;
    one.who = text_at(contestant, "who");
    one.runner = text_at(contestant, "how");
    one.per_iteration = number_at(contestant, "seconds");
    one.setup = number_at(contestant, "analysis_seconds");
    one.samples = numbers_at(contestant, "seconds_each");
    one.residual = number_at(contestant, "error");
    record.runs.push_back(one);
  }
  if (Json const& absent = at(json, "absent"); absent.is_array())
    for (Json const& why : absent)
      if (std::string const text = shown(why);
          std::find(record.absent.begin(), record.absent.end(), text) == record.absent.end())
        record.absent.push_back(text);
}

/// The kernels of an iteration, or the phases of a set-up.
void add_parts(Record& record, Json const& json, double bandwidth) {
  Run run = begin_run(json);
  run.tolerance = 0;
  run.bandwidth = bandwidth;
  run.solver = text_at(json, "solver");
  if (double const s = number_at(json, "shadow_dimension"); s > 0)
    run.solver += "(" + number(s) + ")";
  run.preconditioner = text_at(json, "preconditioner");
  run.iterations = number_at(json, "iterations");
  run.per_iteration = number_at(json, "seconds_per_iteration");
  run.setup = number_at(json, "seconds");
  run.parts = named_numbers(at(json, "phase_seconds"));
  if (Json const& kernels = at(json, "kernels"); kernels.is_array())
    for (Json const& kernel : kernels)
      run.parts.emplace_back(text_at(kernel, "label"), number_at(kernel, "seconds_per_iteration"));
  record.runs.push_back(run);
}

void add_facts(Record& record, Json const& json) {
  static constexpr std::pair<char const*, char const*> known[] = {
      {"device", "Device"},     {"date", "Date"},     {"solder", "Solder"}, {"commit", "Commit"},
      {"compiler", "Compiler"}, {"kokkos", "Kokkos"}, {"spaces", "Spaces"}};
  auto const add = [&](std::string const& name, Json const& value) {
    if (std::string const text = shown(value); !text.empty()) record.facts.emplace_back(name, text);
  };
  for (auto const& [key, name] : known) add(name, at(json, key));
  Json const& machine = at(json, "machine");
  add("CPU", at(machine, "cpu"));
  add("Cores", at(machine, "cores"));
  add("Threads", at(machine, "threads"));
  add("Load when it began (1, 5, 15 minutes)", at(machine, "load_average"));
  add("Host", at(machine, "host"));
  if (double const gb_s = number_at(json, "copy_bandwidth_gb_s"); std::isfinite(gb_s))
    record.facts.emplace_back("Bandwidth of a copy", number(gb_s) + " GB/s");
}

}  // namespace

std::string Run::what() const { return problem + "\n" + number(rows) + "\n" + number(columns); }

double Run::measured() const {
  if (is_fixed() || !std::isfinite(solve)) return per_iteration;
  return solve + (std::isfinite(setup) ? setup : 0);
}

Record read_record(std::string const& name, std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (Json::parse_error const& error) {
    throw InputError(name, 0, "is not JSON from byte " + std::to_string(error.byte) + " on");
  } catch (Json::exception const&) {
    throw InputError(name, 0, "is not JSON: it has a number that is too large");
  }
  Json const& runs = at(json, "runs");
  if (!runs.is_array())
    throw InputError(name, 0,
                     "has no list 'runs'; a report is made from what output.json or solder_perf "
                     "has written");
  Record record;
  record.name = name;
  record.device = text_at(json, "device");
  record.stopped = text_at(json, "stopped");
  record.yaml_name = text_at(json, "file");
  record.yaml = text_at(json, "yaml");
  if (Json const& command = at(json, "command"); command.is_array())
    for (Json const& word : command)
      if (word.is_string()) {
        std::string const argument = word.get<std::string>();
        bool const is_plain = argument.find_first_of(" '\"[]{}*$;&|<>()") == std::string::npos;
        record.command += (record.command.empty() ? "" : " ") +
                          (is_plain && !argument.empty() ? argument : "'" + argument + "'");
      }
  add_facts(record, json);
  record.cores = number_at(at(json, "machine"), "cores");
  if (auto const load = numbers_at(at(json, "machine"), "load_average"); !load.empty())
    record.load = load[0];
  double const bandwidth = number_at(json, "copy_bandwidth_gb_s") * 1e9;
  for (Json const& run : runs)
    if (at(run, "contestants").is_array())
      add_contest(record, run, bandwidth);
    else if (at(run, "kernels").is_array() || at(run, "phase_seconds").is_object())
      add_parts(record, run, bandwidth);
    else
      add_solve(record, run, bandwidth);
  return record;
}

Quartiles quartiles(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {unknown, unknown, unknown};
  std::sort(values.begin(), values.end());
  auto const at = [&](double share) {
    double const place = share * static_cast<double>(values.size() - 1);
    auto const below = static_cast<std::size_t>(place);
    std::size_t const above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace Solder::Charts
